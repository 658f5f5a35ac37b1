package checkpoint

import (
	"github.com/deltaskip/deltaskip/internal/jsonscan"
	"github.com/deltaskip/deltaskip/internal/leaf"
)

// An emitter writes one field of an action as JSON, from the columns below a node of the schema.
type emitter struct {
	name  []byte // as JSON, with its colon
	node  *leaf.Node
	shape shape
	first *cursor    // any column below node: its levels tell what is there
	all   []*cursor  // all columns below
	parts []*emitter // fields of an object, the element of a list, key and value of a map

	again *leaf.Node // of a list or map: the node that repeats
	stats *lane      // of a statistics: what to write where there is no text
}

type shape uint8

const (
	single shape = iota
	object
	list
	mapping
	statistics // the text of add.stats, or what stats_parsed says
)

// emitter builds the emitter of a node, and of all below, and adds their columns to the lane. What has no JSON form that an action
// could have is left out. stats replaces the missing text of statistics, and may be nil.
func (l *lane) emitter(n *leaf.Node, stats *lane) *emitter {
	e := &emitter{name: append(jsonscan.Quote(nil, n.Name), ':'), node: n}
	from := len(l.cursors)
	switch again := repeating(n); {
	case n.Leaf >= 0:
		l.cursors = append(l.cursors, &cursor{node: n})
	case again == nil:
		e.shape = object
		for _, c := range n.Children {
			if c.Repeated || parsedTwin(c) {
				continue
			}
			if part := l.emitter(c, nil); part != nil {
				e.parts = append(e.parts, part)
			}
		}
	case len(again.Children) == 2:
		e.shape, e.again = mapping, again
		for _, c := range again.Children {
			if c.Leaf < 0 || c.Repeated {
				l.cursors = l.cursors[:from]
				return nil
			}
			e.parts = append(e.parts, l.emitter(c, nil))
		}
	default:
		e.shape, e.again = list, again
		element := again
		if element.Leaf < 0 {
			element = again.Children[0]
		}
		if element.Leaf < 0 || element != again && element.Repeated {
			return nil
		}
		e.parts = []*emitter{l.emitter(element, nil)}
	}
	if stats != nil {
		e.addStatistics(stats)
	}
	if e.all = l.cursors[from:len(l.cursors):len(l.cursors)]; len(e.all) == 0 {
		return nil
	}
	e.first = e.all[0]
	return e
}

// parsedTwin says whether a node holds again, typed, what another field of the action says as text.
func parsedTwin(n *leaf.Node) bool {
	return n.Parent.Parent != nil && n.Parent.Parent.Parent == nil && (n.Name == "stats_parsed" || n.Name == "partitionValues_parsed")
}

// addStatistics makes the field stats of an add fall back on stats.
func (e *emitter) addStatistics(stats *lane) {
	if stats.root == nil {
		return
	}
	for _, part := range e.parts {
		if string(part.name) == `"stats":` && part.shape == single {
			part.shape, part.stats = statistics, stats
			return
		}
	}
	e.parts = append(e.parts, &emitter{name: []byte(`"stats":`), shape: statistics, stats: stats})
}

// repeating returns the repeated node below a list or map, or nil for a plain group. Old writers leave the annotation out, but
// no plain group has a repeated only child.
func repeating(n *leaf.Node) *leaf.Node {
	if len(n.Children) != 1 || !n.Children[0].Repeated {
		return nil
	}
	again := n.Children[0]
	if again.Leaf < 0 && len(again.Children) != 1 && len(again.Children) != 2 {
		return nil
	}
	return again
}

// member appends the field with its name, and nothing where it is null.
func (e *emitter) member(dst []byte) ([]byte, error) {
	from := len(dst)
	dst = append(dst, e.name...)
	start := len(dst)
	dst, err := e.value(dst)
	if len(dst) == start {
		dst = dst[:from]
	}
	return dst, err
}

// value appends the field's value in the row at hand, and nothing where it is null. It moves all columns on.
func (e *emitter) value(dst []byte) ([]byte, error) {
	if e.shape == statistics {
		return e.statistics(dst)
	}
	level, err := e.first.level()
	if err != nil {
		return dst, err
	}
	if level < e.node.Def {
		for _, c := range e.all {
			if _, err := c.level(); err != nil {
				return dst, err
			}
			c.next()
		}
		return dst, nil
	}
	switch e.shape {
	case object:
		return e.object(dst)
	case list:
		return e.list(dst, level)
	case mapping:
		return e.mapping(dst, level)
	}
	dst = e.first.appendJSON(dst)
	e.first.next()
	return dst, nil
}

func (e *emitter) object(dst []byte) ([]byte, error) {
	dst = append(dst, '{')
	start := len(dst)
	var err error
	for _, part := range e.parts {
		if len(dst) > start && dst[len(dst)-1] != ',' {
			dst = append(dst, ',')
		}
		if dst, err = part.member(dst); err != nil {
			return dst, err
		}
	}
	if dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '}'), nil
}

func (e *emitter) list(dst []byte, level uint8) ([]byte, error) {
	dst = append(dst, '[')
	if level < e.again.Def {
		e.first.next()
		return append(dst, ']'), nil
	}
	for {
		var err error
		if dst, err = orNull(dst, e.parts[0]); err != nil {
			return dst, err
		}
		again, err := e.first.repeats()
		if err != nil {
			return dst, err
		}
		if again < e.again.Rep {
			return append(dst, ']'), nil
		}
		dst = append(dst, ',')
	}
}

func (e *emitter) mapping(dst []byte, level uint8) ([]byte, error) {
	dst = append(dst, '{')
	key, value := e.parts[0], e.parts[1]
	if level < e.again.Def {
		for _, c := range e.all {
			if _, err := c.level(); err != nil {
				return dst, err
			}
			c.next()
		}
		return append(dst, '}'), nil
	}
	for {
		var err error
		at := len(dst)
		if dst, err = key.value(dst); err != nil {
			return dst, err
		}
		if len(dst) == at {
			return dst, key.first.fail(corrupt("a map's key is null"))
		}
		dst = append(dst, ':')
		if dst, err = orNull(dst, value); err != nil {
			return dst, err
		}
		again, err := key.first.repeats()
		if err != nil {
			return dst, err
		}
		if too, err := value.first.repeats(); err != nil {
			return dst, err
		} else if too != again {
			return dst, value.first.fail(corrupt("not as many values as keys in a map"))
		}
		if again < e.again.Rep {
			return append(dst, '}'), nil
		}
		dst = append(dst, ',')
	}
}

// orNull appends the value of an element or entry, where a null is written.
func orNull(dst []byte, e *emitter) ([]byte, error) {
	at := len(dst)
	dst, err := e.value(dst)
	if len(dst) == at {
		dst = append(dst, "null"...)
	}
	return dst, err
}

// statistics appends the text of the statistics as a JSON string: as it is, or made from the struct.
func (e *emitter) statistics(dst []byte) ([]byte, error) {
	if e.first != nil {
		there, err := e.first.there()
		if err != nil {
			return dst, err
		}
		if there {
			dst = e.first.appendJSON(dst)
			e.stats.behind++
		}
		if e.first.next(); there {
			return dst, nil
		}
	}
	if err := e.stats.catchUp(); err != nil {
		return dst, err
	}
	text, err := e.stats.root.value(nil)
	if err != nil || len(text) == 0 {
		return dst, err
	}
	return jsonscan.Quote(dst, string(text)), nil
}
