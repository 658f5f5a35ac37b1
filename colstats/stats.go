package colstats

import (
	"bytes"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A node is an object in the statistics: their root, or minValues, maxValues, nullCount and the structs in them, which
// share the nodes of the demanded columns. Keys are physical names.
type node struct {
	entries map[string]*entry
	// guesses has, for each side of the statistics, the keys of the object in the order in which they came last time.
	guesses [3][]guess
}

// An entry says what a key of an object leads to.
type entry struct {
	columns []int // the demands that the value itself is for
	child   *node // the demanded fields below it
	visit   [3]uint64
}

// A guess is a key as it stands in the text, from its opening quote to the colon, and its entry, nil when nobody demands
// it. Writers put the same keys in the same order into every action, so that comparing a few bytes finds most keys
// without looking for their end.
type guess struct {
	key   []byte
	entry *entry
}

// Bounds of what is remembered of the keys of an object, and how far ahead a key is looked for: a column that is all NULL
// is left out of some objects.
const (
	maxGuesses   = 4096
	maxGuessSize = 512
	lookahead    = 3
)

func (n *node) entry(name string) *entry {
	if n.entries == nil {
		n.entries = make(map[string]*entry)
	}
	e := n.entries[name]
	if e == nil {
		e = new(entry)
		n.entries[name] = e
	}
	return e
}

// A partition is a key of partitionValues.
type partition struct {
	columns []int // the demands for it
	visit   uint64
}

// A reader reads the statistics and partition values of adds into the rows of columns.
type reader struct {
	columns    []column
	records    []int64               // numRecords by row, or -1
	root       *node                 // of the columns that statistics have
	partitions map[string]*partition // by physical name
	limit      int                   // of statistics, in bytes
	zone       *time.Location        // of partition values that name none

	row     int
	visit   uint64
	broken  [3]bool // the sides of the current row of which a key came twice
	scratch []byte  // unescaped statistics
	token   []byte  // unescaped key or value
}

func newReader(layout *Layout, o Options) *reader {
	r := &reader{root: new(node), partitions: make(map[string]*partition), limit: o.maxStatsBytes(), zone: o.Zone}
	for i, d := range layout.Demands {
		r.columns = append(r.columns, newColumn(d, layout.Table))
		path := d.Column.Physical
		if d.Column.Partition {
			if r.partitions[path[0]] == nil {
				r.partitions[path[0]] = new(partition)
			}
			p := r.partitions[path[0]]
			p.columns = append(p.columns, i)
			continue
		}
		n := r.root
		for _, name := range path[:len(path)-1] {
			e := n.entry(name)
			if e.child == nil {
				e.child = new(node)
			}
			n = e.child
		}
		e := n.entry(path[len(path)-1])
		e.columns = append(e.columns, i)
	}
	return r
}

// grow makes room for n rows.
func (r *reader) grow(n int) {
	r.records = grown(r.records, n)
	for i := range r.columns {
		r.columns[i].grow(n)
	}
}

// begin starts a row of which nothing is known.
func (r *reader) begin(row int) {
	r.row = row
	r.visit++
	r.records[row] = -1
	for i := range r.columns {
		r.columns[i].reset(row)
	}
}

// forget drops what was read of the current row's statistics, or of its partition values.
func (r *reader) forget(partition bool) {
	if !partition {
		r.records[r.row] = -1
	}
	for i := range r.columns {
		if c := &r.columns[i]; c.exact == partition {
			c.reset(r.row)
		}
	}
}

// statistics reads the text of an add's statistics into the current row. A text that is not one JSON object, or is longer
// than the limit, says nothing.
func (r *reader) statistics(text []byte) {
	if len(text) > r.limit {
		return
	}
	if end := r.object(text, space(text, 0, plain), plain); end < 0 || space(text, end, plain) != len(text) {
		r.forget(false)
	}
}

// escapedStatistics reads statistics where they stand in an action, as a string whose opening quote is at i.
func (r *reader) escapedStatistics(s []byte, i int) int {
	end := r.object(s, space(s, i+1, escaped), escaped)
	if end >= 0 {
		end = space(s, end, escaped)
	}
	if end >= 0 && at(s, end) == '"' && end-i <= r.limit {
		return end + 1
	}
	r.forget(false)
	start := i + 1
	end, plainText := characters(s, start, plain)
	if end < 0 {
		return end
	}
	text, broken := s[start:end], false
	if !plainText {
		r.scratch, broken = unescape(r.scratch[:0], text)
		text = r.scratch
	}
	if !broken {
		r.statistics(text)
	}
	return end + 1
}

// object reads statistics that start at i.
func (r *reader) object(s []byte, i int, quote byte) int {
	r.visit++
	r.broken = [3]bool{}
	records, sections := 0, [3]int{}
	end := members(s, i, quote, &r.token, func(key []byte, i int) int {
		sd := minimum
		switch string(key) {
		case "minValues":
		case "maxValues":
			sd = maximum
		case "nullCount":
			sd = nullCount
		case "numRecords":
			end := value(s, i, quote, maxDepth-1)
			if records++; end >= 0 && records == 1 {
				if n, ok := parseInt(s[i:end]); ok && n >= 0 {
					r.records[r.row] = n
				}
			}
			return end
		default:
			return value(s, i, quote, maxDepth-1)
		}
		if sections[sd]++; at(s, i) == '{' {
			return r.fields(r.root, sd, s, i, quote, maxDepth-1)
		}
		return value(s, i, quote, maxDepth-1)
	})
	if records > 1 {
		r.records[r.row] = -1
	}
	for sd, times := range sections {
		if times > 1 || r.broken[sd] {
			r.drop(side(sd))
		}
	}
	return end
}

// partitionValues reads the object of an add's partition values, which starts at i.
func (r *reader) partitionValues(s []byte, i int) int {
	r.visit++
	return members(s, i, plain, &r.token, func(key []byte, i int) int {
		p := r.partitions[asString(key)]
		end := value(s, i, plain, maxDepth-2)
		if p == nil || end < 0 {
			return end
		}
		switch at(s, i) {
		case '"':
			text, broken := s[i+1:end-1], false
			if bytes.IndexByte(text, '\\') >= 0 {
				r.token, broken = unescape(r.token[:0], text)
				text = r.token
			}
			if broken {
				r.partitionUnknown(p)
			} else {
				r.partitionValue(p, text)
			}
		case 'n':
			r.partitionNull(p)
		default: // readers disagree on values that are not strings
			r.partitionUnknown(p)
		}
		return end
	})
}

// partitionValue takes a partition value of the current row.
func (r *reader) partitionValue(p *partition, text []byte) {
	if !r.again(p) {
		for _, i := range p.columns {
			r.columns[i].setPartition(r.row, text, r.zone)
		}
	}
}

// partitionNull says that a partition value of the current row is NULL.
func (r *reader) partitionNull(p *partition) {
	if !r.again(p) {
		for _, i := range p.columns {
			r.columns[i].known[r.row] |= isNull
		}
	}
}

// partitionUnknown says that a partition value of the current row is anything.
func (r *reader) partitionUnknown(p *partition) {
	p.visit = r.visit
	for _, i := range p.columns {
		r.columns[i].reset(r.row)
	}
}

// again notes a value of a partition column. When it is not the first one of the row, the column becomes unknown.
func (r *reader) again(p *partition) bool {
	if p.visit != r.visit {
		p.visit = r.visit
		return false
	}
	r.partitionUnknown(p)
	return true
}

// drop forgets one side of the current row's statistics, because a key came twice in it and readers disagree on what
// that means.
func (r *reader) drop(sd side) {
	for i := range r.columns {
		if c := &r.columns[i]; !c.exact {
			c.drop(r.row, sd)
		}
	}
}

// fields reads an object of the demanded columns, which starts at i.
func (r *reader) fields(n *node, sd side, s []byte, i int, quote byte, depth int) int {
	if depth == 0 {
		return ^i
	}
	if i = space(s, i+1, quote); at(s, i) == '}' {
		return i + 1
	}
	guesses := n.guesses[sd]
	for g := 0; ; g++ {
		var e *entry
		hit := false
		for k := g; k < len(guesses) && k <= g+lookahead; k++ {
			if key := guesses[k].key; len(s)-i >= len(key) && string(s[i:i+len(key)]) == string(key) {
				e, hit = guesses[k].entry, true
				g = k
				i += len(key)
				break
			}
		}
		if !hit {
			start := i
			end, plainText := stringAt(s, i, quote)
			if end < 0 {
				return end
			}
			l := quoteLen(quote)
			e = n.entries[string(keyOf(s[start+l:end-l], plainText, &r.token))]
			if i = space(s, end, quote); at(s, i) != ':' {
				return ^i
			}
			i++
			if g < maxGuesses && i-start <= maxGuessSize {
				guesses = learn(guesses, g, s[start:i], e)
				n.guesses[sd] = guesses
			}
		}
		if c := at(s, i); c <= ' ' {
			i = space(s, i, quote)
		}
		if e == nil {
			i = value(s, i, quote, depth-1)
		} else {
			i = r.field(e, sd, s, i, quote, depth-1)
		}
		if i < 0 {
			return i
		}
		c := at(s, i)
		if c <= ' ' {
			i = space(s, i, quote)
			c = at(s, i)
		}
		switch c {
		case ',':
			if i++; at(s, i) <= ' ' {
				i = space(s, i, quote)
			}
		case '}':
			return i + 1
		default:
			return ^i
		}
	}
}

// learn remembers that the key in the given position was this one.
func learn(guesses []guess, position int, key []byte, e *entry) []guess {
	g := guess{key: bytes.Clone(key), entry: e}
	if position < len(guesses) {
		guesses[position] = g
		return guesses
	}
	return append(guesses, g)
}

// field reads the value of a demanded column, or of a struct with demanded fields, which starts at i.
func (r *reader) field(e *entry, sd side, s []byte, i int, quote byte, depth int) int {
	if e.visit[sd] == r.visit {
		r.broken[sd] = true
	}
	e.visit[sd] = r.visit
	start, c := i, at(s, i)
	switch {
	case c == quote:
		end, plainText := stringAt(s, i, quote)
		if end < 0 || len(e.columns) == 0 {
			return end
		}
		n := quoteLen(quote)
		text, broken := s[start+n:end-n], false
		if !plainText {
			r.token, broken = unescape(r.token[:0], text)
			text = r.token
		}
		if !broken {
			for _, d := range e.columns {
				r.columns[d].setJSON(r.row, sd, text, true)
			}
		}
		return end
	case c == '{' && e.child != nil:
		return r.fields(e.child, sd, s, i, quote, depth)
	case c == '{' || c == '[':
		return nested(s, i, quote, depth)
	}
	if i = value(s, i, quote, depth); i >= 0 {
		for _, d := range e.columns {
			r.columns[d].setJSON(r.row, sd, s[start:i], false)
		}
	}
	return i
}

// facts draws the conclusions for every demand.
func (r *reader) facts(mem memory.Allocator, in rows) []Facts {
	facts := make([]Facts, len(r.columns))
	for i := range r.columns {
		facts[i] = r.columns[i].facts(mem, in)
	}
	return facts
}
