package colstats

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A node is an object of columns: minValues, maxValues or nullCount, or a struct in them. Its fields are the demanded ones
// and the structs that hold demanded ones; their keys are physical names.
type node struct {
	fields  []field
	objects [3]object // one for each side, since they leave out different keys
}

// A field is a member of a node.
type field struct {
	columns []int     // the demands for the field itself
	child   *node     // the demanded fields below it
	visit   [3]uint64 // the statistics in which the field was last met, for each side
}

// field returns the field of a name, new or not.
func (n *node) field(name string) *field {
	wanted := n.objects[0].wanted
	if wanted == nil {
		wanted = make(map[string]int)
		for side := range n.objects {
			n.objects[side].wanted = wanted
		}
	}
	id, ok := wanted[name]
	if !ok {
		id = len(n.fields)
		wanted[name] = id
		n.fields = append(n.fields, field{})
	}
	return &n.fields[id]
}

// A partition is a key of partitionValues.
type partition struct {
	columns []int // the demands for it
	visit   uint64
}

// A reader reads the statistics and partition values of adds into the rows of columns.
type reader struct {
	columns []column
	records []int64        // numRecords by row, or -1
	limit   int            // of statistics, in bytes
	zone    *time.Location // of partition values that name none
	nan     NaNOrder
	own     []uint64 // rows that NaNOrderedIfOwn holds for
	hull    bool     // rows stand for many adds each, see Raw

	concluded int // rows whose cells have been drawn conclusions from

	root       node // of the columns that statistics have
	statistics object
	partitions []partition
	values     object // partitionValues; its keys are physical names

	row     int
	visit   uint64  // counts what is read, so that what comes twice is noticed
	broken  [3]bool // the sides of the current row of which a key came twice
	scratch []byte  // unescaped statistics
	token   []byte  // an unescaped value
}

// The keys of statistics.
const (
	minValuesKey  = int(minimum)
	maxValuesKey  = int(maximum)
	nullCountKey  = int(nullCount)
	numRecordsKey = 3
)

var statisticsKeys = map[string]int{
	"minValues": minValuesKey, "maxValues": maxValuesKey, "nullCount": nullCountKey, "numRecords": numRecordsKey,
}

func newReader(layout *Layout, o Options) *reader {
	r := &reader{limit: o.maxStatsBytes(), zone: o.Zone, nan: o.NaN}
	cells := make([]cell, ringRows*len(layout.Demands))
	r.statistics.wanted = statisticsKeys
	r.values.wanted = make(map[string]int)
	for i, d := range layout.Demands {
		r.columns = append(r.columns, newColumn(d, layout.Table))
		c := &r.columns[i]
		c.cells, c.first, c.columns = cells, i, len(layout.Demands)
		path := d.Column.Physical
		if d.Column.Partition {
			id, ok := r.values.wanted[path[0]]
			if !ok {
				id = len(r.partitions)
				r.values.wanted[path[0]] = id
				r.partitions = append(r.partitions, partition{})
			}
			r.partitions[id].columns = append(r.partitions[id].columns, i)
			continue
		}
		n := &r.root
		for _, name := range path[:len(path)-1] {
			f := n.field(name)
			if f.child == nil {
				f.child = new(node)
			}
			n = f.child
		}
		f := n.field(path[len(path)-1])
		f.columns = append(f.columns, i)
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
	if row-r.concluded == ringRows {
		r.conclude(r.concluded, 64)
		r.concluded += 64
	}
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

// statisticsText reads the text of an add's statistics into the current row. A text that is not one JSON object, or is
// longer than the limit, says nothing.
func (r *reader) statisticsText(text []byte) {
	if len(text) > r.limit {
		return
	}
	if end := r.statisticsAt(text, space(text, 0, plain), plain); end < 0 || space(text, end, plain) != len(text) {
		r.forget(false)
	}
}

// statisticsString reads statistics where they stand in an action, as a string whose opening quote is at i.
func (r *reader) statisticsString(s []byte, i int) int {
	end := r.statisticsAt(s, space(s, i+1, escaped), escaped)
	if end >= 0 {
		end = space(s, end, escaped)
	}
	if end >= 0 && at(s, end) == '"' && end-i <= r.limit {
		return end + 1
	}
	r.forget(false)
	start := i + 1
	end, plainText := longCharacters(s, start)
	if end < 0 {
		return end
	}
	text, broken := s[start:end], false
	if !plainText && len(text) <= 6*r.limit { // an escape has at most six bytes
		r.scratch, broken = unescape(r.scratch[:0], text)
		text = r.scratch
	}
	if !broken {
		r.statisticsText(text)
	}
	return end + 1
}

// statisticsAt reads statistics that start at i.
func (r *reader) statisticsAt(s []byte, i int, quote byte) int {
	r.visit++
	r.broken = [3]bool{}
	var times [4]int // that each key came
	end := r.statistics.read(s, i, quote, maxDepth, func(id, i int) int {
		times[id]++
		if id == numRecordsKey {
			end := value(s, i, quote, maxDepth-1)
			if end >= 0 {
				if n, ok := parseInt(s[i:end]); ok && n >= 0 {
					r.records[r.row] = n
				}
			}
			return end
		}
		if at(s, i) == '{' {
			return r.fieldsAt(&r.root, side(id), s, i, quote, maxDepth-1)
		}
		return value(s, i, quote, maxDepth-1)
	})
	if times[numRecordsKey] > 1 {
		r.records[r.row] = -1
	}
	for _, sd := range [...]side{minimum, maximum, nullCount} {
		if times[sd] > 1 || r.broken[sd] {
			r.drop(sd)
		}
	}
	return end
}

// fieldsAt reads an object of columns that starts at i.
func (r *reader) fieldsAt(n *node, sd side, s []byte, i int, quote byte, depth int) int {
	return n.objects[sd].read(s, i, quote, depth, func(id, i int) int {
		f := &n.fields[id]
		if f.visit[sd] == r.visit {
			r.broken[sd] = true
		}
		f.visit[sd] = r.visit
		c := at(s, i)
		if c == '{' && f.child != nil {
			return r.fieldsAt(f.child, sd, s, i, quote, depth-1)
		}
		if c == quote {
			return r.stringAt(f, sd, s, i, quote)
		}
		if v, end := fewDigits(s, i); end > 0 && len(f.columns) == 1 && r.columns[f.columns[0]].setInteger(r.row, sd, v) {
			return end
		}
		end := value(s, i, quote, depth-1)
		if end >= 0 && c != '{' && c != '[' {
			for _, d := range f.columns {
				r.columns[d].setJSON(r.row, sd, s[i:end], false)
			}
		}
		return end
	})
}

// stringAt reads a string of a column that starts at i.
func (r *reader) stringAt(f *field, sd side, s []byte, i int, quote byte) int {
	end, plainText := stringAt(s, i, quote)
	if end < 0 {
		return end
	}
	n := quoteLen(quote)
	text, broken := s[i+n:end-n], false
	if !plainText {
		r.token, broken = unescape(r.token[:0], text)
		text = r.token
	}
	if !broken {
		for _, d := range f.columns {
			r.columns[d].setJSON(r.row, sd, text, true)
		}
	}
	return end
}

// partitionValuesAt reads the object of an add's partition values, which starts at i.
func (r *reader) partitionValuesAt(s []byte, i int) int {
	r.visit++
	return r.values.read(s, i, plain, maxDepth-2, func(id, i int) int {
		p := &r.partitions[id]
		switch at(s, i) {
		case '"':
			end, plainText := stringAt(s, i, plain)
			if end < 0 {
				return end
			}
			text, broken := s[i+1:end-1], false
			if !plainText {
				r.token, broken = unescape(r.token[:0], text)
				text = r.token
			}
			if broken {
				r.partitionUnknown(p)
			} else {
				r.partitionValue(p, text)
			}
			return end
		case 'n':
			r.partitionNull(p)
		default: // readers disagree on values that are not strings
			r.partitionUnknown(p)
		}
		return value(s, i, plain, maxDepth-3)
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
			r.columns[i].cell(r.row).known |= isNull
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

// facts returns what is proven in the first n rows for the demands that `wanted` marks, all for nil, and starts anew.
func (r *reader) facts(mem memory.Allocator, n int, wanted []bool) []Facts {
	for ; r.concluded < n; r.concluded += 64 {
		r.conclude(r.concluded, min(64, n-r.concluded))
	}
	r.concluded = 0
	facts := make([]Facts, len(r.columns))
	for i := range r.columns {
		if wanted == nil || wanted[i] {
			facts[i] = r.columns[i].facts(mem, n, r.hull)
		}
	}
	return facts
}
