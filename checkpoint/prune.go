package checkpoint

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/leaf"
)

// prune asks which row groups may hold a survivor. It gives a bitmap over groups, or nil for all.
func (p *part) prune(s *Scan, groups []*groupPlan) ([]uint64, error) {
	if s.Prune == nil || len(groups) == 0 || len(s.Layout.Demands) == 0 {
		return nil, nil
	}
	keep := make([]uint64, 0, (len(groups)+63)/64)
	for len(groups) > 0 {
		n := min(len(groups), colstats.MaxBatchLen)
		b, err := p.hulls(s, groups[:n])
		if err != nil {
			return nil, p.fail(-1, nil, err)
		}
		words := s.Prune(b)
		b.Release()
		if words == nil {
			return nil, nil
		}
		keep = append(keep, words[:(n+63)/64]...)
		groups = groups[n:]
	}
	return keep, nil
}

// hulls presents row groups as adds of wide bounds, from what the footer says about the leaves of their adds.
func (p *part) hulls(s *Scan, groups []*groupPlan) (*colstats.Batch, error) {
	raw := &colstats.Raw{Len: len(groups), Hull: true, Demands: make([]colstats.RawDemand, len(s.Layout.Demands))}
	var made []arrow.Array
	defer func() {
		for _, a := range made {
			a.Release()
		}
	}()
	// least and greatest make an array of a leaf's minima or maxima, null for groups in which some add may lack the leaf, or
	// has its statistics as text.
	bounds := func(n *leaf.Node, usable func(*groupPlan) bool, of func(leaf.Chunk) []byte) arrow.Array {
		if n == nil {
			return nil
		}
		values := make([][]byte, len(groups))
		for i, g := range groups {
			if g.complete(n) && usable(g) && p.ordered(g.chunks[n]) {
				values[i] = of(g.chunks[n])
			}
		}
		a := leaf.Bounds(n, values, s.Stats.Allocator)
		made = append(made, a)
		return a
	}
	least := func(c leaf.Chunk) []byte { return c.Min }
	greatest := func(c leaf.Chunk) []byte { return c.Max }
	structs := func(g *groupPlan) bool { return g.complete(g.numRecords) }
	f := groups[0].filePlan
	raw.NumRecords = bounds(f.numRecords, structs, least)
	for i := range f.demands {
		d, r := &f.demands[i], &raw.Demands[i]
		if d.column.Partition {
			parsed := func(g *groupPlan) bool { return g.trustParsed(d) }
			r.Min, r.Max = bounds(d.parsed, parsed, least), bounds(d.parsed, parsed, greatest)
			continue
		}
		r.Min, r.Max = bounds(d.min, structs, least), bounds(d.max, structs, greatest)
		r.NullCount, r.LeastNullCount = bounds(d.nulls, structs, greatest), bounds(d.nulls, structs, least)
	}
	return colstats.NewBatch(s.Layout, raw, s.Stats)
}

// ordered says whether a chunk's bounds bound all its values. Floats are the exception: most writers leave NaN out and do not say
// so, and an add whose minimum is NaN may hold anything. The Java writer counts NaN as the greatest, so that it shows; and our own
// has none among bounds.
func (p *part) ordered(c leaf.Chunk) bool {
	switch c.Node.Physical {
	case leaf.Float, leaf.Double:
	default:
		return true
	}
	return p.CreatedBy == createdBy || strings.HasPrefix(p.CreatedBy, "parquet-mr ") && !isNaN(c.Min) && !isNaN(c.Max)
}

func isNaN(b []byte) bool {
	switch len(b) {
	case 4:
		return math.IsNaN(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	case 8:
		return math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return true
}
