package checkpoint

import (
	"strconv"

	"github.com/deltaskip/deltaskip/internal/leaf"
)

// keyLeaves name the leaf of each kind of action that is never null: a row holds such an action where it is there. So a writer
// that fills the structs of all other kinds with nulls does no harm.
var keyLeaves = map[string]string{
	"add": "path", "remove": "path", "protocol": "minReaderVersion", "metaData": "id", "txn": "appId", "domainMetadata": "domain",
	"sidecar": "path", "checkpointMetadata": "version",
}

// A rowReader reads the actions of one kind in one row group, row by row, as lines of JSON.
type rowReader struct {
	action lane
	stats  *lane // stats_parsed of an add, for where there is no text; nil without

	// What identifies a file; nil without such a leaf.
	path, storageType, pathOrInlineDV, offset *cursor

	line, vector []byte // lent to callers
}

// A lane is a subtree of the schema whose columns move together, and not before somebody needs them.
type lane struct {
	root    *emitter
	cursors []*cursor
	lead    *cursor // one of cursors that is moved from outside, or nil
	behind  int64   // rows not passed over yet, in which each column has a single entry
}

// catchUp moves the columns to the row at hand.
func (l *lane) catchUp() error {
	for _, c := range l.cursors {
		if c != l.lead {
			if err := c.skip(l.behind); err != nil {
				return err
			}
		}
		if again, err := c.repeats(); err != nil {
			return err
		} else if again > 0 {
			return c.fail(corrupt("its rows are not those of other columns"))
		}
	}
	l.behind = 0
	return nil
}

func (l *lane) close() {
	if l != nil {
		for _, c := range l.cursors {
			c.close()
		}
	}
}

// open finds the chunks of the lane's columns.
func (l *lane) open(p *part, group int, o Options) error {
	nodes := make([]*leaf.Node, len(l.cursors))
	for i, c := range l.cursors {
		nodes[i] = c.node
	}
	chunks, err := p.Chunks(group, nodes...)
	if err != nil {
		return p.fail(group, nil, err)
	}
	for i, c := range l.cursors {
		c.open(p, chunks[i], o)
	}
	return nil
}

// cursor returns the lane's cursor of a leaf, or nil.
func (l *lane) cursor(n *leaf.Node) *cursor {
	for _, c := range l.cursors {
		if c.node == n {
			return c
		}
	}
	return nil
}

// kindsIn returns those of some kinds of actions that a row group holds, as far as its footer tells.
func (p *part) kindsIn(group int, kinds []string) (in []string, err error) {
	if p.GroupRows(group) == 0 { // Arrow says that its column chunks lie at byte 0
		return nil, nil
	}
	var there []string
	var keys []*leaf.Node
	for _, kind := range kinds {
		root := p.Root.Child(kind)
		if root == nil {
			continue
		}
		key := root.Child(keyLeaves[kind])
		if root.Leaf >= 0 || root.Repeated || !key.FlatLeaf() {
			return nil, p.fail(group, root, corrupt("it is not what the protocol calls %s", kind))
		}
		there, keys = append(there, kind), append(keys, key)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	chunks, err := p.Chunks(group, keys...)
	if err != nil {
		return nil, p.fail(group, nil, err)
	}
	for i, chunk := range chunks {
		if chunk.Nulls != chunk.Entries {
			in = append(in, there[i])
		}
	}
	return in, nil
}

// newRowReader opens the columns of a kind of action that the row group holds.
func (c *Checkpoint) newRowReader(p *part, group int, kind string) (r *rowReader, err error) {
	root := p.Root.Child(kind)
	key := root.Child(keyLeaves[kind])
	r = &rowReader{}
	if parsed := root.Child("stats_parsed"); kind == "add" && parsed != nil && parsed.Leaf < 0 && parsed.Rep == 0 {
		r.stats = &lane{}
		r.stats.root = r.stats.emitter(parsed, nil)
	}
	r.action.root = r.action.emitter(root, r.stats)
	if err = r.action.open(p, group, c.o); err == nil && r.stats != nil {
		err = r.stats.open(p, group, c.o)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	r.action.lead = r.action.cursor(key)
	vector := root.Child("deletionVector")
	r.path, r.storageType = r.action.cursor(root.Child("path")), r.action.cursor(vector.Child("storageType"))
	r.pathOrInlineDV, r.offset = r.action.cursor(vector.Child("pathOrInlineDv")), r.action.cursor(vector.Child("offset"))
	return r, nil
}

func (r *rowReader) close() {
	r.action.close()
	r.stats.close()
}

// pass passes over n rows that hold no action of the kind, and that the leading cursor has read.
func (r *rowReader) pass(n int64) {
	r.action.lead.i += int(n)
	r.action.behind += n
	if r.stats != nil {
		r.stats.behind += n
	}
}

// next reads the next row. It returns nil where the row holds no action of the kind, or one of a file that was seen.
func (r *rowReader) next(seen Seen) ([]byte, error) {
	there, err := r.action.lead.there()
	if err != nil {
		return nil, err
	}
	if !there {
		r.pass(1)
		return nil, nil
	}
	if err := r.action.catchUp(); err != nil {
		return nil, err
	}
	dead := false
	if seen != nil {
		if dead, err = r.seen(seen); err != nil {
			return nil, err
		}
	}
	r.line = append(r.line[:0], '{')
	if r.line, err = r.action.root.member(r.line); err != nil || dead {
		return nil, err
	}
	r.line = append(r.line, '}')
	return r.line, nil
}

// seen asks about the file of the row at hand.
func (r *rowReader) seen(seen Seen) (bool, error) {
	r.vector = r.vector[:0]
	for _, c := range []*cursor{r.storageType, r.pathOrInlineDV, r.offset} {
		if c == nil {
			continue
		}
		there, err := c.there()
		switch {
		case err != nil:
			return false, err
		case !there:
		case c == r.offset:
			r.vector = strconv.AppendInt(append(r.vector, '@'), c.bits(), 10)
		default:
			r.vector = append(r.vector, c.bytes()...)
		}
	}
	return seen(r.path.bytes(), r.vector), nil
}
