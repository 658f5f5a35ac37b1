package rows

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/cell"
	"github.com/deltaskip/deltaskip/internal/leaf"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// A block holds the values of consecutive rows of a row group, as columns. It reads the group front to back. As a
// [predicate.Row] it is the row that it stands at.
type block struct {
	scan    *scan
	start   int64         // of the group, in rows of the file
	readers []*reader     // parallel to scan.columns; nil for columns that are not read
	values  []arrow.Array // parallel to scan.columns
	n       int           // rows
	row     int           // that it stands at
}

// newBlock begins to read row group g, whose first row is start.
func (s *scan) newBlock(g int, start int64) (b *block, err error) {
	b = &block{scan: s, start: start, readers: make([]*reader, len(s.columns)), values: make([]arrow.Array, len(s.columns))}
	for i := range s.columns {
		if c := &s.columns[i]; c.leaf != nil {
			chunks, err := s.parquet.Chunks(g, c.leaf)
			if err != nil {
				b.close()
				return nil, fmt.Errorf("column %s: %w", c, err)
			}
			b.readers[i] = &reader{column: c, chunk: s.parquet.Column(chunks[0], s.o.Allocator), mem: s.o.Allocator}
		}
	}
	return b, nil
}

func (b *block) close() {
	b.clear()
	for _, r := range b.readers {
		if r != nil {
			r.chunk.Close()
			r.entries.Release()
		}
	}
}

func (b *block) clear() {
	for i, v := range b.values {
		if v != nil {
			v.Release()
			b.values[i] = nil
		}
	}
}

// load reads the given rows, which must not be before those read last.
func (b *block) load(rows stretch) error {
	b.clear()
	b.n = int(rows.end - rows.first)
	for i := range b.scan.columns {
		c := &b.scan.columns[i]
		var err error
		switch {
		case b.readers[i] != nil:
			b.values[i], err = b.readers[i].read(rows.first-b.start, b.n)
		case c.constant != nil:
			b.values[i], err = b.scan.repeat(c.constant, b.n)
		default:
			b.values[i] = array.MakeArrayOfNull(b.scan.o.Allocator, c.arrow, b.n)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", c, err)
		}
	}
	return nil
}

// of returns the values of a column that some read mentions.
func (b *block) of(c *schema.Column) arrow.Array {
	for i := range b.scan.columns {
		if b.scan.columns[i].Column == c {
			return b.values[i]
		}
	}
	return nil
}

// Value returns the value of a column in the row that b stands at.
func (b *block) Value(c *schema.Column) predicate.Value {
	values := b.of(c)
	if values.IsNull(b.row) {
		return predicate.NullOf(c.Type)
	}
	return cell.At(values, c.Type, b.row)
}

// evaluate sets s.may to which rows of a block each read may match.
func (s *scan) evaluate(b *block) error {
	layout := s.program.Layout()
	values := make([]arrow.Array, len(layout.Demands))
	for i, d := range layout.Demands {
		values[i] = b.of(d.Column)
	}
	batch, err := colstats.BatchFromValues(layout, b.n, values)
	if err != nil {
		return err
	}
	defer batch.Release()
	return s.program.EvalEach(s.may, batch, &s.scratch)
}

// A reader reads one column of a row group, row by row.
type reader struct {
	column *column
	chunk  *leaf.Column
	mem    memory.Allocator
	at     int64 // next row of the group

	// Of a leaf with several entries a row, what was read ahead: whether the next rows are other than NULL. The last of
	// them may still have entries to come, which tell nothing more.
	entries leaf.Entries
	ahead   []bool
}

// read returns the values of n rows from the given one on, which must not be before the next.
func (r *reader) read(from int64, n int) (arrow.Array, error) {
	if r.column.leaf.Rep > 0 {
		present, err := r.presence(from, n)
		if err != nil {
			return nil, err
		}
		return r.flags(present), nil
	}
	if err := r.chunk.Skip(from - r.at); err != nil {
		return nil, err
	}
	r.at = from + int64(n)
	var parts []arrow.Array
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	for n > 0 {
		values, levels, err := r.chunk.ReadArray(n)
		if err != nil {
			return nil, err
		}
		if values.Len() == 0 {
			values.Release()
			return nil, fmt.Errorf("the column ends %d rows early", n)
		}
		n -= values.Len()
		part, err := r.convert(values, levels)
		values.Release()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	if len(parts) == 1 {
		parts[0].Retain()
		return parts[0], nil
	}
	return array.Concatenate(parts, r.mem)
}

// convert makes values of the column's type of what the file holds.
func (r *reader) convert(values arrow.Array, levels []uint8) (arrow.Array, error) {
	if !r.column.ordered {
		present := make([]bool, values.Len())
		for i := range present {
			present[i] = len(levels) == 0 || levels[i] >= r.column.node.Def
		}
		return r.flags(present), nil
	}
	nulls := 0
	for _, level := range levels {
		if level < r.column.leaf.Def {
			nulls++
		}
	}
	if values.NullN() != nulls {
		return nil, fmt.Errorf("the file holds values that a %s of ours cannot", r.column.Type)
	}
	return convert(values, r.column.Type, r.column.arrow, r.mem)
}

// flags makes an array of which only NULL or not is of interest.
func (r *reader) flags(present []bool) arrow.Array {
	b := array.NewBooleanBuilder(r.mem)
	defer b.Release()
	b.AppendValues(present, present)
	return b.NewArray()
}

// presence reads a leaf with several entries a row.
func (r *reader) presence(from int64, n int) ([]bool, error) {
	skip := int(from - r.at)
	for len(r.ahead) < skip+n {
		if err := r.chunk.Read(&r.entries, blockRows); err != nil {
			return nil, err
		}
		if r.entries.Len == 0 {
			return nil, fmt.Errorf("the column ends %d rows early", skip+n-len(r.ahead))
		}
		for i := range r.entries.Len {
			if len(r.entries.Rep) == 0 || r.entries.Rep[i] == 0 { // the first of a row
				r.ahead = append(r.ahead, len(r.entries.Def) == 0 || r.entries.Def[i] >= r.column.node.Def)
			}
		}
	}
	present := r.ahead[skip : skip+n]
	r.ahead = r.ahead[skip+n:]
	r.at = from + int64(n)
	return present, nil
}
