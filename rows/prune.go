package rows

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/leaf"
)

// A part is a stretch of a row group with the reads that may match some row of it.
type part struct {
	stretch
	reads []int
}

// nulls says how many of some rows are NULL.
type nulls int64

const (
	noNull   nulls = iota
	someNull       // or not known
	allNull
)

// A summary is what the file says about a column in some rows. Bounds are as leaf.Chunk has them.
type summary struct {
	min, max []byte
	nulls    nulls
}

func summarise(min, max []byte, nullCount, rows int64) summary {
	sum := summary{min: min, max: max, nulls: someNull}
	switch nullCount {
	case 0:
		sum.nulls = noNull
	case rows:
		sum.nulls = allNull
	}
	return sum
}

// prune returns the parts of row group g, which holds the given rows, that some read may match, going by the statistics in
// the file's footer and then by its page index.
func (s *scan) prune(g int, rows stretch) ([]part, error) {
	chunks := make([]*leaf.Chunk, len(s.columns)) // nil for columns that are not read, or of no single value a row
	sums := make([][]summary, len(s.columns))
	for i := range s.columns {
		c := &s.columns[i]
		sums[i] = []summary{c.unread()}
		if !c.ordered || c.leaf == nil {
			continue
		}
		found, err := s.parquet.Chunks(g, c.leaf)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c, err)
		}
		chunks[i] = &found[0]
		sums[i][0] = summarise(found[0].Min, found[0].Max, found[0].Nulls, found[0].Entries)
	}
	parts, err := s.judge([]stretch{rows}, sums)
	if err != nil || len(parts) == 0 {
		return parts, err
	}
	return s.prunePages(rows, parts, chunks)
}

// unread is what is known about a column without reading it. The value of a partition column is told apart.
func (c *column) unread() summary {
	if c.leaf == nil && !c.Partition {
		return summary{nulls: allNull}
	}
	return summary{nulls: someNull}
}

// prunePages cuts a row group, of which the parts may match as far as its footer knows, at the ends of its pages. Those of
// different columns end at different rows, so a stretch lies within one page of each.
func (s *scan) prunePages(rows stretch, parts []part, chunks []*leaf.Chunk) ([]part, error) {
	pages := make([][]leaf.Page, len(chunks))
	cuts := []int64{0, rows.end - rows.first}
	for i, c := range chunks {
		if c == nil {
			continue
		}
		var err error
		if pages[i], err = s.parquet.Pages(c); err != nil {
			return nil, err
		}
		for _, p := range pages[i] {
			cuts = append(cuts, p.First)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	n := len(cuts) - 1
	if n == 1 || n > colstats.MaxBatchLen {
		return parts, nil
	}
	stretches := make([]stretch, n)
	for j := range stretches {
		stretches[j] = stretch{rows.first + cuts[j], rows.first + cuts[j+1]}
	}
	sums := make([][]summary, len(chunks))
	for i := range chunks {
		page := 0
		for _, cut := range cuts[:n] {
			sum := s.columns[i].unread()
			if len(pages[i]) > 0 {
				for cut >= pages[i][page].First+pages[i][page].Rows {
					page++
				}
				p := &pages[i][page]
				sum = summarise(p.Min, p.Max, p.Nulls, p.Rows)
			}
			sums[i] = append(sums[i], sum)
		}
	}
	return s.judge(stretches, sums)
}

// judge asks each read which of the stretches it may match. sums holds what is known about them, by column.
func (s *scan) judge(stretches []stretch, sums [][]summary) ([]part, error) {
	if err := s.evaluateSums(len(stretches), sums); err != nil {
		return nil, err
	}
	var parts []part
	for j, rows := range stretches {
		p := part{stretch: rows}
		for read, may := range s.may {
			if may[j/64]>>(j%64)&1 != 0 {
				p.reads = append(p.reads, read)
			}
		}
		switch last := len(parts) - 1; {
		case len(p.reads) == 0:
		case last >= 0 && parts[last].end == p.first && slices.Equal(parts[last].reads, p.reads):
			parts[last].end = p.end
		default:
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// evaluateSums sets s.may to which of n stretches each read may match. To the program they are files.
func (s *scan) evaluateSums(n int, sums [][]summary) error {
	raw := &colstats.Raw{Len: n}
	var made []arrow.Array
	defer func() {
		for _, a := range made {
			a.Release()
		}
	}()
	keep := func(a arrow.Array) arrow.Array {
		made = append(made, a)
		return a
	}
	// Counts that say no more than nulls does: with two rows a stretch, the number of NULLs is just that.
	raw.NumRecords = keep(s.repeatInt(int64(allNull), n))
	layout := s.program.Layout()
	for _, d := range layout.Demands {
		var demand colstats.RawDemand
		for i := range s.columns {
			c := &s.columns[i]
			if c.Column != d.Column {
				continue
			}
			if c.Partition {
				demand.ValueText, demand.HasValueText = keep(s.repeatText(s.file.PartitionValues[c.Physical[0]], n)), ones(n)
				continue
			}
			counts := array.NewInt64Builder(s.o.Allocator)
			mins, maxs := make([][]byte, n), make([][]byte, n)
			for j, sum := range sums[i] {
				counts.Append(int64(sum.nulls))
				mins[j], maxs[j] = sum.min, sum.max
			}
			demand.NullCount = keep(counts.NewArray())
			counts.Release()
			if c.ordered && c.leaf != nil {
				demand.Min = keep(leaf.Bounds(c.leaf, mins, s.o.Allocator))
				demand.Max = keep(leaf.Bounds(c.leaf, maxs, s.o.Allocator))
			}
		}
		raw.Demands = append(raw.Demands, demand)
	}
	batch, err := colstats.NewBatch(layout, raw, colstats.Options{Allocator: s.o.Allocator, Zone: s.o.Zone})
	if err != nil {
		return err
	}
	defer batch.Release()
	return s.program.EvalEach(s.may, batch, &s.scratch)
}

func ones(n int) []uint64 {
	bitmap := make([]uint64, (n+63)/64)
	for i := range n {
		bitmap[i/64] |= 1 << (i % 64)
	}
	return bitmap
}

func (s *scan) repeatInt(v int64, n int) arrow.Array {
	b := array.NewInt64Builder(s.o.Allocator)
	defer b.Release()
	for range n {
		b.Append(v)
	}
	return b.NewArray()
}

// repeatText returns n times a text, nil being null.
func (s *scan) repeatText(text *string, n int) arrow.Array {
	b := array.NewStringBuilder(s.o.Allocator)
	defer b.Release()
	for range n {
		if text == nil {
			b.AppendNull()
		} else {
			b.Append(*text)
		}
	}
	return b.NewArray()
}
