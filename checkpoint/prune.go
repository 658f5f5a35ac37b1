package checkpoint

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/leaf"
)

// A region is rows of a row group for which there are bounds: all of them, or some by the page index.
type region struct {
	g        *groupPlan
	from, to int64 // rows
	// pages are, for a leaf with a page index, the chunk with the bounds of the page that holds the rows.
	pages map[*leaf.Node]leaf.Chunk
}

// chunk returns what is known about a leaf.
func (r *region) chunk(n *leaf.Node) leaf.Chunk {
	if c, ok := r.pages[n]; ok {
		return c
	}
	return r.g.chunk(n)
}

// prune asks which row groups may hold a survivor. It gives a bitmap over groups, or nil for all.
func (p *part) prune(s *Scan, groups []*groupPlan) ([]uint64, error) {
	if s.Prune == nil || len(s.Layout.Demands) == 0 {
		return nil, nil
	}
	regions := make([]region, len(groups))
	for i, g := range groups {
		regions[i] = region{g: g, to: g.rows}
	}
	return p.pruneRegions(s, regions)
}

// prunePages asks which rows of a row group may hold a survivor, by the page index of its leaves. It gives the regions and a
// bitmap over them, or no regions when all rows may.
func (p *part) prunePages(s *Scan, g *groupPlan) ([]region, []uint64, error) {
	if s.Prune == nil || len(s.Layout.Demands) == 0 || g.readsMap() {
		return nil, nil, nil
	}
	pages := map[*leaf.Node][]leaf.Page{}
	starts := []int64{0}
	for _, n := range g.bounded() {
		c := g.chunk(n)
		if !g.complete(n) || !c.Paged() {
			continue
		}
		list, err := p.Pages(&c)
		if err != nil {
			return nil, nil, p.fail(g.group, n, err)
		}
		if len(list) == 0 {
			continue
		}
		pages[n] = list
		for _, page := range list {
			starts = append(starts, page.First)
		}
	}
	slices.Sort(starts)
	if starts = slices.Compact(starts); len(starts) == 1 {
		return nil, nil, nil
	}
	regions := make([]region, len(starts))
	for i, from := range starts {
		r := region{g: g, from: from, to: g.rows, pages: make(map[*leaf.Node]leaf.Chunk, len(pages))}
		if i+1 < len(starts) {
			r.to = starts[i+1]
		}
		for n, list := range pages {
			for len(list) > 1 && list[1].First <= from {
				list = list[1:]
			}
			pages[n] = list
			c := g.chunk(n)
			c.Min, c.Max = list[0].Min, list[0].Max
			r.pages[n] = c
		}
		regions[i] = r
	}
	keep, err := p.pruneRegions(s, regions)
	if keep == nil || err != nil {
		return nil, nil, err
	}
	return regions, keep, nil
}

// bounded lists the leaves whose bounds prove something.
func (f *filePlan) bounded() (nodes []*leaf.Node) {
	all := []*leaf.Node{f.numRecords}
	for _, d := range f.demands {
		all = append(all, d.min, d.max, d.nulls, d.parsed)
	}
	for _, n := range all {
		if n != nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// pruneRegions asks which regions may hold a survivor. It gives a bitmap, or nil for all.
func (p *part) pruneRegions(s *Scan, regions []region) ([]uint64, error) {
	if len(regions) == 0 {
		return nil, nil
	}
	keep := make([]uint64, 0, (len(regions)+63)/64)
	for len(regions) > 0 {
		n := min(len(regions), colstats.MaxBatchLen)
		b, err := p.hulls(s, regions[:n])
		if err != nil {
			return nil, p.fail(-1, nil, err)
		}
		words := s.Prune(b)
		b.Release()
		if words == nil {
			return nil, nil
		}
		keep = append(keep, words[:(n+63)/64]...)
		regions = regions[n:]
	}
	return keep, nil
}

// hulls presents regions as adds of wide bounds, from what the footer and the page index say about the leaves of their adds. That no
// add of a whole group lacks a leaf, which only its footer can say, holds for every part of it.
func (p *part) hulls(s *Scan, regions []region) (*colstats.Batch, error) {
	raw := &colstats.Raw{Len: len(regions), Hull: true, Demands: make([]colstats.RawDemand, len(s.Layout.Demands))}
	var made []arrow.Array
	defer func() {
		for _, a := range made {
			a.Release()
		}
	}()
	// bounds makes an array of a leaf's minima or maxima, null for regions in which some add may lack the leaf, or has its
	// statistics as text.
	bounds := func(n *leaf.Node, usable func(*groupPlan) bool, of func(leaf.Chunk) []byte) arrow.Array {
		if n == nil {
			return nil
		}
		values := make([][]byte, len(regions))
		for i := range regions {
			if r := &regions[i]; r.g.complete(n) && usable(r.g) && p.ordered(r.chunk(n)) {
				values[i] = of(r.chunk(n))
			}
		}
		a := leaf.Bounds(n, values, s.Stats.Allocator)
		made = append(made, a)
		return a
	}
	least := func(c leaf.Chunk) []byte { return c.Min }
	greatest := func(c leaf.Chunk) []byte { return c.Max }
	structs := func(g *groupPlan) bool { return g.complete(g.numRecords) }
	f := regions[0].g.filePlan
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
