package clustering

import (
	"context"
	"fmt"
	"slices"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/internal/cell"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// Options say what is measured. The zero Options works.
type Options struct {
	Columns  []*schema.Column // nil means all of the table
	Stats    colstats.Options
	MaxBytes int64 // of bounds in memory at a time, about; 0 means 512 MiB
}

// A Report is what was measured of a table.
type Report struct {
	Version int64
	Files   int64
	Columns []Column // in the order of the schema, or of Options.Columns
}

// A Column says how well statistics tell files apart by one column.
type Column struct {
	Column *schema.Column
	Files  int64 // of the table

	Bounded int64 // files with bounds
	AllNull int64 // files in which every row is NULL: as good as bounds
	NoNull  int64 // files without a NULL
	Points  int64 // of Bounded, those with one value only

	Low, High predicate.Value // of all bounds; valid if Bounded > 0
	// Width is the median width of the files' ranges, as a share of the way from Low to High. It is negative for types whose
	// values have no distance, and where there are no bounds.
	Width float64
	// Depth is how many files a lookup of one value keeps, on average over the values that bound some file; MaxDepth is the
	// most for any value. Without bounds both are the files that may hold a value.
	Depth    float64
	MaxDepth int64

	Reason string // why some files have no bounds; empty if all have

	lacking int64 // the first file without bounds, in log order
}

// Unbounded is how many files have nothing that a comparison could use.
func (c *Column) Unbounded() int64 { return c.Files - c.Bounded - c.AllNull }

// Measure measures the columns of a table.
func Measure(ctx context.Context, s *deltalog.Snapshot, o Options) (*Report, error) {
	table, err := s.Table()
	if err != nil {
		return nil, fmt.Errorf("clustering: %w", err)
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 512 << 20
	}
	if o.Columns == nil {
		o.Columns = Columns(table)
	}
	m := &measurer{snapshot: s, table: table, o: o, report: &Report{Version: s.Version}, indexed: map[*schema.Column]bool{}}
	for _, c := range table.StatisticsColumns() {
		m.indexed[c] = true
	}
	if err := m.run(ctx); err != nil {
		return nil, fmt.Errorf("clustering: %w", err)
	}
	return m.report, nil
}

// Columns returns the columns that files may have statistics of, fields of structs one by one, in the order of the schema.
func Columns(table *schema.Table) (columns []*schema.Column) {
	var walk func(path []string, fields []*schema.Field)
	walk = func(path []string, fields []*schema.Field) {
		for _, f := range fields {
			path := append(slices.Clone(path), f.Name)
			if f.Type.Kind == schema.Struct {
				walk(path, f.Type.Nested.Fields)
			} else if c, err := table.Lookup(path...); err == nil { // else two differ in case only, and no query can name it
				columns = append(columns, c)
			}
		}
	}
	walk(nil, table.Fields)
	return columns
}

type measurer struct {
	snapshot *deltalog.Snapshot
	table    *schema.Table
	o        Options
	report   *Report
	indexed  map[*schema.Column]bool
}

func (m *measurer) run(ctx context.Context) error {
	err := m.each(ctx, &colstats.Layout{Table: m.table}, func(b *colstats.Batch) { m.report.Files += int64(b.Len()) })
	if err != nil {
		return err
	}
	for rest := m.o.Columns; len(rest) > 0; {
		layout := &colstats.Layout{Table: m.table}
		room := m.o.MaxBytes
		for len(rest) > 0 && (len(layout.Demands) == 0 || room >= m.cost(rest[0])) {
			room -= m.cost(rest[0])
			layout.Demands = append(layout.Demands, colstats.Demand{Column: rest[0], Bounds: true, Nulls: true})
			rest = rest[1:]
		}
		if err := m.pass(ctx, layout); err != nil {
			return err
		}
	}
	return m.explain(ctx)
}

// cost is about what a column's bounds take.
func (m *measurer) cost(c *schema.Column) int64 {
	switch c.Type.Kind {
	case schema.String, schema.Binary:
		return m.report.Files * 2 * (16 + 32)
	case schema.Decimal:
		return m.report.Files * 2 * 16
	}
	return m.report.Files * 2 * 8
}

func (m *measurer) each(ctx context.Context, layout *colstats.Layout, fn func(*colstats.Batch)) error {
	for b, err := range m.snapshot.Batches(ctx, layout, deltalog.BatchOptions{Stats: m.o.Stats}) {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		fn(b)
	}
	return nil
}

// pass measures the columns of a layout in one pass over the files.
func (m *measurer) pass(ctx context.Context, layout *colstats.Layout) error {
	ranges := make([]ranges, len(layout.Demands))
	columns := make([]Column, len(layout.Demands))
	for i, d := range layout.Demands {
		columns[i] = Column{Column: d.Column, Files: m.report.Files, Width: -1, lacking: -1}
		ranges[i] = newRanges(d.Column.Type.Kind)
	}
	var base int64
	err := m.each(ctx, layout, func(b *colstats.Batch) {
		for i := range columns {
			columns[i].add(b.Facts(i), base, b.Len(), ranges[i])
		}
		base += int64(b.Len())
	})
	if err != nil {
		return err
	}
	for i := range columns {
		c := &columns[i]
		unbounded := c.Unbounded()
		c.Depth, c.MaxDepth = float64(unbounded), unbounded
		if c.Bounded > 0 {
			ranges[i].measure(c)
		}
	}
	m.report.Columns = append(m.report.Columns, columns...)
	return nil
}

// add counts what is known of a batch's files, of which base is the first in log order.
func (c *Column) add(f *colstats.Facts, base int64, files int, r ranges) {
	for i := range files {
		if colstats.IsSet(f.NoNull, i) {
			c.NoNull++
		}
		switch {
		case colstats.IsSet(f.AllNull, i):
			c.AllNull++
		case colstats.IsSet(f.Bounded, i) && f.Lower != nil:
			low, high := cell.At(f.Lower, c.Column.Type, i), cell.At(f.Upper, c.Column.Type, i)
			c.Bounded++
			if !colstats.IsSet(f.MayNaN, i) && low.Compare(high) == 0 {
				c.Points++
			}
			r.add(low, high)
		case c.lacking < 0:
			c.lacking = base + int64(i)
		}
	}
}
