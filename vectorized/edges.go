package vectorized

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// A test is one ask of a step, made ready for kernels: which files may give the answer.
type test struct {
	start       bool  // the answer may hold below the first edge
	edges       edges // where it turns
	anywhere    bool  // some value may give it: what counts where bounds are missing
	nan         bool  // NaN may give it
	null        bool  // NULL may give it
	bounds      bool  // it depends on the value, so that bounds tell something
	numbersOnly bool  // a float column, of which NaN may not give it but what lies above all edges may: NaN as a bound is not below any
}

func (q ask) test(t schema.Type) test {
	start, at := q.edges()
	float := isFloat(t)
	r := test{
		start: start, anywhere: q.anywhere(), null: q.step.null&q.bit != 0,
		nan: float && q.nan(),
	}
	r.bounds = len(at) > 0 || float && r.start != r.nan
	r.numbersOnly = float && r.bounds && !r.nan && r.start == (len(at)%2 == 0)
	r.edges = edgesOf(t, at)
	return r
}

// edgesOf converts values of a column to the physical type of its bounds.
func edgesOf(t schema.Type, at []predicate.Value) edges {
	switch t.Kind {
	case schema.Byte:
		return intEdges[int8](at)
	case schema.Short:
		return intEdges[int16](at)
	case schema.Integer, schema.Date:
		return intEdges[int32](at)
	case schema.Long, schema.Timestamp, schema.TimestampNTZ:
		return intEdges[int64](at)
	case schema.Float:
		return floatEdges[float32](at)
	case schema.Double:
		return floatEdges[float64](at)
	case schema.Decimal:
		e := make(decimalEdges, len(at))
		for i, v := range at {
			e[i] = v.D
		}
		return e
	case schema.String, schema.Binary:
		e := make(stringEdges, len(at))
		for i, v := range at {
			e[i] = stringEdgeOf(v.S)
		}
		return e
	}
	return boolEdges(len(at)) // Boolean; types without order have no edges
}

func intEdges[T int8 | int16 | int32 | int64](at []predicate.Value) fixedEdges[T] {
	e := make(fixedEdges[T], len(at))
	for i, v := range at {
		e[i] = T(v.I)
	}
	return e
}

func floatEdges[T float32 | float64](at []predicate.Value) numberEdges[T] {
	e := make(numberEdges[T], len(at))
	for i, v := range at {
		e[i] = T(v.F)
	}
	return e
}

// run sets the bits of the files lo … hi-1 that may give the answer, as far as need has them: other bits mean nothing. lo is
// a multiple of 64; dst and need, which are not one, hold their words, of which there are no more than a chunk has. spare
// holds two chunks' words.
func (q *test) run(dst, need, spare []uint64, f *colstats.Facts, lo, hi int) {
	bounded := noBits[:len(dst)]
	if q.bounds && boundedOf(f) != nil {
		bounded = window(f.Bounded, lo, hi)
		q.within(dst, need, spare, f, lo, hi)
	}
	var unbounded, nan, null uint64 // all bits, or none
	if q.anywhere {
		unbounded = ^unbounded
	}
	if q.nan {
		nan = ^nan
	}
	if q.null {
		null = ^null
	}
	mayNaN, allNull, noNull := window(f.MayNaN, lo, hi), window(f.AllNull, lo, hi), window(f.NoNull, lo, hi)
	for i, b := range bounded[:len(dst)] { // one pass: beside the kernels, this is what takes time
		dst[i] = (dst[i]&b|unbounded&^b|nan&mayNaN[i])&^allNull[i] | null&^noNull[i]
	}
}

// within is run where there are bounds: it sets the bits of the files between whose bounds the answer may hold.
func (q *test) within(dst, need, spare []uint64, f *colstats.Facts, lo, hi int) {
	lower, upper := lowerOf(f), upperOf(f)
	if n := q.edges.len(); n > q.edges.few() {
		q.edges.crosses(dst, lower, upper, lo, hi, q.start)
	} else {
		// The answer holds from edge i-1 to edge i, for every second i. What has no edge on one side has no end there.
		clear(dst)
		into := dst
		for i := int(1 - b2u(q.start)); i <= n; i += 2 {
			q.reach(into, need, spare[chunkWords:][:len(dst)], lower, upper, lo, hi, i)
			if i < 2 {
				into = spare[:len(dst)]
				continue
			}
			for w, yes := range into {
				dst[w] |= yes
			}
		}
	}
	if q.numbersOnly { // bounds of NaN: all values are NaN
		number := spare[:len(dst)]
		q.edges.number(number, lower, lo, hi)
		for w := range dst {
			dst[w] &= number[w]
		}
	}
}

// reach sets the bits of the files whose bounds reach into what lies from edge-1 to edge.
func (q *test) reach(dst, need, over []uint64, lower, upper bound, lo, hi, edge int) {
	n := q.edges.len()
	switch {
	case edge == n:
		copy(dst, need)
	case edge > 0 && q.edges.between(dst, lower, upper, lo, hi, edge):
		return
	default:
		q.edges.less(dst, need, lower, lo, hi, edge)
	}
	if edge > 0 {
		q.edges.less(over, dst, upper, lo, hi, edge-1)
		for w := range dst {
			dst[w] &^= over[w]
		}
	}
}

// cost compares tests: strings are slow, and so are many edges.
func (q *test) cost() int {
	cost := min(q.edges.len(), 3)
	if _, ok := q.edges.(stringEdges); ok {
		cost *= 4
	}
	return cost
}

// A bound is one of the two that files have of a column: the array, and the heads of strings.
type bound struct {
	arrow.Array
	heads []int64
}

func lowerOf(f *colstats.Facts) bound { return bound{f.Lower, f.LowerHeads} }
func upperOf(f *colstats.Facts) bound { return bound{f.Upper, f.UpperHeads} }

// edges are column values in ascending order, of the physical type of their column's bounds. They run the kernels of
// that type over the files lo … hi-1 of Arrow arrays.
type edges interface {
	len() int
	few() int                                           // up to so many edges are faster one by one than by crosses
	less(dst, need []uint64, b bound, lo, hi, edge int) // dst is not need
	// between sets the bits of the files whose bounds reach into what lies from edge-1 to edge, if that is faster than by less.
	between(dst []uint64, lower, upper bound, lo, hi, edge int) bool
	crosses(dst []uint64, lower, upper bound, lo, hi int, start bool)
	number(dst []uint64, b bound, lo, hi int)
	lessOther(dst []uint64, a, b bound, lo, hi int)
}

type (
	fixedEdges[T int8 | int16 | int32 | int64] []T
	numberEdges[T float32 | float64]           []T
	decimalEdges                               []decimal128.Num
	stringEdges                                []stringEdge
	boolEdges                                  int // one edge, true, or none
)

func values[T arrow.FixedWidthType](b bound, lo, hi int) []T {
	return arrow.GetValues[T](b.Data(), 1)[lo:hi]
}

func (e fixedEdges[T]) len() int { return len(e) }
func (fixedEdges[T]) few() int   { return 16 }

func (e fixedEdges[T]) less(dst, _ []uint64, b bound, lo, hi, edge int) {
	lessThan(dst, values[T](b, lo, hi), e[edge])
}

func (e fixedEdges[T]) between(dst []uint64, lower, upper bound, lo, hi, edge int) bool {
	between(dst, values[T](lower, lo, hi), values[T](upper, lo, hi), e[edge-1], e[edge])
	return true
}

func (decimalEdges) between([]uint64, bound, bound, int, int, int) bool { return false }
func (boolEdges) between([]uint64, bound, bound, int, int, int) bool    { return false }

func (e fixedEdges[T]) crosses(dst []uint64, lower, upper bound, lo, hi int, start bool) {
	crosses(dst, values[T](lower, lo, hi), values[T](upper, lo, hi), e, start)
}

func (e fixedEdges[T]) lessOther(dst []uint64, a, b bound, lo, hi int) {
	lessThanOther(dst, values[T](a, lo, hi), values[T](b, lo, hi))
}

func (fixedEdges[T]) number(dst []uint64, _ bound, lo, hi int) { fill(dst, true) }

func (e numberEdges[T]) len() int { return len(e) }
func (numberEdges[T]) few() int   { return 16 }

func (e numberEdges[T]) less(dst, _ []uint64, b bound, lo, hi, edge int) {
	lessThan(dst, values[T](b, lo, hi), e[edge])
}

func (e numberEdges[T]) between(dst []uint64, lower, upper bound, lo, hi, edge int) bool {
	between(dst, values[T](lower, lo, hi), values[T](upper, lo, hi), e[edge-1], e[edge])
	return true
}

func (e numberEdges[T]) crosses(dst []uint64, lower, upper bound, lo, hi int, start bool) {
	crosses(dst, values[T](lower, lo, hi), values[T](upper, lo, hi), e, start)
}

func (e numberEdges[T]) lessOther(dst []uint64, a, b bound, lo, hi int) {
	lessThanOther(dst, values[T](a, lo, hi), values[T](b, lo, hi))
}

func (numberEdges[T]) number(dst []uint64, b bound, lo, hi int) {
	isNumber(dst, values[T](b, lo, hi))
}

func (e decimalEdges) len() int { return len(e) }
func (decimalEdges) few() int   { return 6 }

func (e decimalEdges) less(dst, _ []uint64, b bound, lo, hi, edge int) {
	lessThanDecimal(dst, values[decimal128.Num](b, lo, hi), e[edge])
}

func (e decimalEdges) crosses(dst []uint64, lower, upper bound, lo, hi int, start bool) {
	lowers, uppers := values[decimal128.Num](lower, lo, hi), values[decimal128.Num](upper, lo, hi)
	crossesFunc(dst, hi-lo, len(e), start,
		func(i, edge int) bool { return lowers[i].Less(e[edge]) },
		func(i, edge int) bool { return uppers[i].Less(e[edge]) })
}

func (decimalEdges) lessOther(dst []uint64, a, b bound, lo, hi int) {
	lessThanOtherDecimal(dst, values[decimal128.Num](a, lo, hi), values[decimal128.Num](b, lo, hi))
}

func (decimalEdges) number(dst []uint64, _ bound, lo, hi int) { fill(dst, true) }

// texts returns the offsets of the strings lo … hi-1 of a bound and what they point into.
func texts(b bound, lo, hi int) (offsets []int32, data []byte) {
	d := b.Data()
	if bytes := d.Buffers()[2]; bytes != nil {
		data = bytes.Bytes()
	}
	return arrow.GetOffsets[int32](d, 1)[lo : hi+1], data
}

func (e stringEdges) len() int { return len(e) }
func (stringEdges) few() int   { return 4 }

// A stringEdge is an edge with its head.
type stringEdge struct {
	text string
	head int64
	// decisive says that a string that has the same head is not less.
	decisive bool
}

func stringEdgeOf(s string) stringEdge {
	return stringEdge{s, colstats.Head(s), len(s) <= 8 && !strings.HasSuffix(s, "\x00")}
}

func (e stringEdges) less(dst, need []uint64, b bound, lo, hi, edge int) {
	offsets, data := texts(b, lo, hi)
	lessThanString(dst, need, b.heads[lo:hi], offsets, data, e[edge])
}

func (e stringEdges) between(dst []uint64, lower, upper bound, lo, hi, edge int) bool {
	from, below := e[edge-1], e[edge]
	if from.decisive && below.decisive {
		between(dst, lower.heads[lo:hi], upper.heads[lo:hi], from.head, below.head)
		return true
	}
	return false
}

func (e stringEdges) crosses(dst []uint64, lower, upper bound, lo, hi int, start bool) {
	loOffsets, loData := texts(lower, lo, hi)
	hiOffsets, hiData := texts(upper, lo, hi)
	crossesFunc(dst, hi-lo, len(e), start,
		func(i, edge int) bool { return string(loData[loOffsets[i]:loOffsets[i+1]]) < e[edge].text },
		func(i, edge int) bool { return string(hiData[hiOffsets[i]:hiOffsets[i+1]]) < e[edge].text })
}

func (stringEdges) lessOther(dst []uint64, a, b bound, lo, hi int) {
	aOffsets, aData := texts(a, lo, hi)
	bOffsets, bData := texts(b, lo, hi)
	lessThanOtherString(dst, aOffsets, aData, bOffsets, bData)
}

func (stringEdges) number(dst []uint64, _ bound, lo, hi int) { fill(dst, true) }

func (e boolEdges) len() int { return int(e) }
func (boolEdges) few() int   { return 1 }

func (boolEdges) less(dst, _ []uint64, b bound, lo, hi, _ int) {
	d := b.Data()
	notSet(dst, d.Buffers()[1].Bytes(), d.Offset()+lo, hi-lo)
}

// crosses is for more edges than booleans can have.
func (boolEdges) crosses(dst []uint64, _, _ bound, _, _ int, _ bool) { fill(dst, true) }

func (boolEdges) lessOther(dst []uint64, a, b bound, lo, hi int) {
	x, y := a.Data(), b.Data()
	lessThanOtherBit(dst, x.Buffers()[1].Bytes(), x.Offset()+lo, y.Buffers()[1].Bytes(), y.Offset()+lo, hi-lo)
}

func (boolEdges) number(dst []uint64, _ bound, lo, hi int) { fill(dst, true) }

// boundedOf returns the bitmap of the files with bounds.
func boundedOf(f *colstats.Facts) []uint64 {
	if f.Lower == nil { // the layout demands none, or the column has none that are usable
		return nil
	}
	return f.Bounded
}

var noBits [chunkWords]uint64 // of a chunk; never written

// window returns the words of a bitmap for the files lo … hi-1 of a chunk; one that is nil has none set.
func window(bitmap []uint64, lo, hi int) []uint64 {
	if bitmap == nil {
		return noBits[:(hi-lo+63)/64]
	}
	return bitmap[lo/64 : (hi+63)/64]
}

func fill(dst []uint64, b bool) {
	var word uint64
	if b {
		word = ^word
	}
	for i := range dst {
		dst[i] = word
	}
}
