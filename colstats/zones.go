package colstats

import (
	"cmp"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// ZoneLen is how many files of a batch make a zone; the last one of a batch may have fewer.
const ZoneLen = 4096

// Zones are batches that stay in memory, with a zone map over them: what is proven about all files of a zone, as if they were
// one file that had all their rows. What cannot be in the zone is in none of its files, so that a question to millions of
// files that lie in some order is answered by looking at few of them (small materialized aggregates: Moerkotte, VLDB 1998).
//
//	files  ┌ 4096 ┐┌ 4096 ┐┌ 17 ┐  ┌ 4096 ┐…      batches
//	zones     0       1      2        3           maps, up to MaxBatchLen zones in each
//
// They are immutable and safe for concurrent use.
type Zones struct {
	batches []*Batch
	maps    []*Batch
}

// NewZones makes a zone map over batches of one layout, which it retains. It reads every bound once.
func NewZones(batches []*Batch, mem memory.Allocator) (*Zones, error) {
	if mem == nil {
		mem = memory.DefaultAllocator
	}
	z := &Zones{}
	var zones []zone
	for i, b := range batches {
		if b.layout != batches[0].layout {
			return nil, fmt.Errorf("colstats: batch %d has another layout than the first", i)
		}
		for from := 0; from < b.n; from += ZoneLen {
			zones = append(zones, zone{b, from, min(from+ZoneLen, b.n)})
		}
	}
	for len(zones) > 0 {
		n := min(len(zones), MaxBatchLen)
		z.maps = append(z.maps, newZoneMap(batches[0].layout, zones[:n], mem))
		zones = zones[n:]
	}
	for _, b := range batches {
		b.Retain()
		z.batches = append(z.batches, b)
	}
	return z, nil
}

// Batches returns the batches, in order. The caller borrows them.
func (z *Zones) Batches() []*Batch { return z.batches }

// Maps returns batches without paths whose files are the zones, those of the first batch first. The caller borrows them.
func (z *Zones) Maps() []*Batch { return z.maps }

// Release gives the batches and the zone map back.
func (z *Zones) Release() {
	for _, b := range z.batches {
		b.Release()
	}
	for _, m := range z.maps {
		m.Release()
	}
}

// A zone is some files of a batch.
type zone struct {
	batch    *Batch
	from, to int
}

// newZoneMap makes a batch of zones.
func newZoneMap(layout *Layout, zones []zone, mem memory.Allocator) *Batch {
	m := &Batch{layout: layout, n: len(zones), facts: make([]Facts, len(layout.Demands)), mem: mem}
	m.refs.Store(1)
	for d, demand := range layout.Demands {
		f := &m.facts[d]
		f.Column, f.NoNull, f.AllNull = demand.Column, bitmap(m.n), bitmap(m.n)
		for i, z := range zones {
			of := z.batch.Facts(d)
			setTo(f.NoNull, i, every(of.NoNull, z.from, z.to))
			setTo(f.AllNull, i, every(of.AllNull, z.from, z.to))
			if of.MayNaN != nil {
				if f.MayNaN == nil {
					f.MayNaN = bitmap(m.n)
				}
				setTo(f.MayNaN, i, some(of.MayNaN, z.from, z.to))
			}
		}
		if want, ordered := ArrowType(demand.Column.Type); demand.Bounds && ordered {
			f.Bounded = bitmap(m.n)
			f.Lower, f.Upper = hulls(f.Bounded, want, zones, d, mem)
			f.addHeads()
		}
		if f.Lower == nil {
			f.Bounded = nil
		}
	}
	return m
}

// every reports whether all bits of a bitmap from one up to another are set.
func every(b []uint64, from, to int) bool {
	for i := from; i < to; i++ {
		if !IsSet(b, i) {
			return false
		}
	}
	return true
}

func some(b []uint64, from, to int) bool {
	for i := from; i < to; i++ {
		if IsSet(b, i) {
			return true
		}
	}
	return false
}

// hulls makes the arrays of the zones' bounds and marks those that have some; none for types that are not worth it.
func hulls(bounded []uint64, t arrow.DataType, zones []zone, demand int, mem memory.Allocator) (lower, upper arrow.Array) {
	switch t.ID() {
	case arrow.INT8:
		return fixedHulls(bounded, t, zones, demand, mem, (*array.Int8).Int8Values)
	case arrow.INT16:
		return fixedHulls(bounded, t, zones, demand, mem, (*array.Int16).Int16Values)
	case arrow.INT32:
		return fixedHulls(bounded, t, zones, demand, mem, (*array.Int32).Int32Values)
	case arrow.DATE32:
		return fixedHulls(bounded, t, zones, demand, mem, (*array.Date32).Date32Values)
	case arrow.INT64:
		return fixedHulls(bounded, t, zones, demand, mem, (*array.Int64).Int64Values)
	case arrow.TIMESTAMP:
		return fixedHulls(bounded, t, zones, demand, mem, (*array.Timestamp).TimestampValues)
	case arrow.FLOAT32:
		return fixedHulls(bounded, t, zones, demand, mem, (*array.Float32).Float32Values)
	case arrow.FLOAT64:
		return fixedHulls(bounded, t, zones, demand, mem, (*array.Float64).Float64Values)
	case arrow.DECIMAL128:
		values := func(a arrow.Array) []decimal128.Num { return a.(*array.Decimal128).Values() }
		lo, hi := hullsOf(bounded, zones, demand, values, decimal128.Num.Less)
		return fixedArray(mem, t, lo), fixedArray(mem, t, hi)
	case arrow.STRING, arrow.BINARY:
		values := func(a arrow.Array) []string {
			out := make([]string, a.Len())
			for i := range out {
				out[i] = textAt(a, i)
			}
			return out
		}
		lo, hi := hullsOf(bounded, zones, demand, values, cmp.Less[string])
		return textArray(mem, t, lo), textArray(mem, t, hi)
	}
	return nil, nil
}

// fixedHulls is hulls for the numbers.
func fixedHulls[A arrow.Array, T interface {
	arrow.FixedWidthType
	cmp.Ordered
}](bounded []uint64, t arrow.DataType, zones []zone, demand int, mem memory.Allocator, values func(A) []T) (lower, upper arrow.Array) {
	// NaN is the greatest, as in Spark's order, and no bound unless it is both (see Facts): +Inf stands for it above others.
	less := func(a, b T) bool { return a < b || b != b && a == a }
	lo, hi := hullsOf(bounded, zones, demand, func(a arrow.Array) []T { return values(a.(A)) }, less)
	for i := range hi {
		if lo[i] == lo[i] && hi[i] != hi[i] {
			hi[i] = T(infinity)
		}
	}
	return fixedArray(mem, t, lo), fixedArray(mem, t, hi)
}

var infinity = math.Inf(1) // a variable, for as a constant it would not convert to integers, which never ask for it

// hullsOf computes the zones' bounds. A zone has some if each of its files has, those aside that hold nothing but NULL.
func hullsOf[T any](bounded []uint64, zones []zone, demand int, values func(arrow.Array) []T, less func(a, b T) bool) (lower, upper []T) {
	lower, upper = make([]T, len(zones)), make([]T, len(zones))
	var of *Facts
	var los, his []T
	for i, z := range zones {
		if f := z.batch.Facts(demand); f != of {
			if of = f; f.Lower == nil || f.Bounded == nil {
				continue
			}
			los, his = values(f.Lower), values(f.Upper)
		}
		if of.Lower == nil || of.Bounded == nil {
			continue
		}
		found := false
		for at := z.from; at < z.to; at++ {
			if IsSet(of.AllNull, at) {
				continue
			}
			if !IsSet(of.Bounded, at) {
				found = false
				break
			}
			if !found || less(los[at], lower[i]) {
				lower[i] = los[at]
			}
			if !found || less(upper[i], his[at]) {
				upper[i] = his[at]
			}
			found = true
		}
		setTo(bounded, i, found)
	}
	return lower, upper
}

// textArray makes an array of strings or bytes.
func textArray(mem memory.Allocator, t arrow.DataType, v []string) arrow.Array {
	b := array.NewBinaryBuilder(mem, t.(arrow.BinaryDataType))
	defer b.Release()
	for _, s := range v {
		b.AppendString(s)
	}
	return b.NewArray()
}
