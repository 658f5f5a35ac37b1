package rows

import (
	"fmt"

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
// the file's footer.
func (s *scan) prune(g int, rows stretch) ([]part, error) {
	sums := make([][]summary, len(s.columns))
	for i := range s.columns {
		c := &s.columns[i]
		sums[i] = []summary{{nulls: someNull}}
		switch {
		case c.Partition:
		case c.leaf == nil:
			sums[i][0].nulls = allNull
		case c.ordered:
			chunks, err := s.parquet.Chunks(g, c.leaf)
			if err != nil {
				return nil, fmt.Errorf("column %s: %w", c, err)
			}
			sums[i][0] = summarise(chunks[0].Min, chunks[0].Max, chunks[0].Nulls, chunks[0].Entries)
		}
	}
	return s.judge([]stretch{rows}, sums)
}

// judge asks each read which of the stretches it may match. sums holds what is known about them, by column.
func (s *scan) judge(stretches []stretch, sums [][]summary) ([]part, error) {
	parts := make([]part, len(stretches))
	for i, rows := range stretches {
		parts[i].stretch = rows
	}
	for i, r := range s.reads {
		may, err := s.mayMatch(r, len(stretches), sums)
		if err != nil {
			return nil, err
		}
		for j := range parts {
			if may[j/64]>>(j%64)&1 != 0 {
				parts[j].reads = append(parts[j].reads, i)
			}
		}
	}
	kept := parts[:0]
	for _, p := range parts {
		if len(p.reads) > 0 {
			kept = append(kept, p)
		}
	}
	return kept, nil
}

// mayMatch returns a bit for each of n stretches: whether a read may match a row of it. To the program they are files.
func (s *scan) mayMatch(r read, n int, sums [][]summary) ([]uint64, error) {
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
	layout := r.program.Layout()
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
		return nil, err
	}
	defer batch.Release()
	result, err := r.program.Eval(batch, &s.scratch)
	return result.May, err
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
