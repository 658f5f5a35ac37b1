package colstats

import (
	"bytes"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/schema"
)

func bitmap(n int) []uint64 { return make([]uint64, (n+63)/64) }

func setBit(b []uint64, i int) { b[i/64] |= 1 << (i % 64) }

// IsSet reports bit i of a bitmap as [Facts] has them: one that is nil or ends before has no such bit set.
func IsSet(b []uint64, i int) bool { return wordOf(b, i/64)>>(i%64)&1 != 0 }

// wordOf returns a word of a bitmap that may be too short.
func wordOf(b []uint64, w int) uint64 {
	if w < len(b) {
		return b[w]
	}
	return 0
}

func setTo(b []uint64, i int, v bool) {
	if v {
		setBit(b, i)
	}
}

// conclude draws the conclusions from n rows of cells, from a multiple of 64 on: the one place where it is decided what
// statistics and partition values prove.
func (r *reader) conclude(from, n int) {
	for i := range r.columns {
		c := &r.columns[i]
		var bounded, noNull, allNull, mayNaN, open uint64
		for row := from; row < from+n; row++ {
			x := c.cell(row)
			var k conclusion
			if c.exact {
				k = c.partition(x)
			} else {
				k = c.statistics(x, r.records[row], r.hull)
			}
			if k&boundsCount != 0 {
				k |= c.close(x, row, c.exact && !r.hull || r.likeSpark(row))
			}
			bit := row % 64
			bounded |= uint64(k&isBounded/isBounded) << bit
			noNull |= uint64(k&isNoNull/isNoNull) << bit
			allNull |= uint64(k&isAllNull/isAllNull) << bit
			mayNaN |= uint64(k&maybeNaN/maybeNaN) << bit
			open |= uint64(k&isOpen/isOpen) << bit
			if c.class == integers || c.class == floats {
				c.bounds[minimum][row], c.bounds[maximum][row] = x.bounds[minimum], x.bounds[maximum]
			}
		}
		w := from / 64
		c.bounded[w], c.noNull[w], c.allNull[w], c.mayNaN[w], c.open[w] = bounded, noNull, allNull, mayNaN, open
	}
}

// likeSpark says whether the writer of a row's statistics is known to write floats and decimals as Spark does.
func (r *reader) likeSpark(row int) bool {
	return !r.hull && (r.nan == NaNOrdered || r.nan == NaNOrderedIfOwn && IsSet(r.own, row))
}

// facts returns the facts of n rows, all of them concluded.
func (c *column) facts(mem memory.Allocator, n int, hull bool) Facts {
	words := (n + 63) / 64
	f := Facts{
		Column:    c.demand.Column,
		Bounded:   slices.Clone(c.bounded[:words]),
		NoNull:    slices.Clone(c.noNull[:words]),
		AllNull:   slices.Clone(c.allNull[:words]),
		ExactZero: c.exact && !hull,
	}
	if c.class == floats {
		f.MayNaN = slices.Clone(c.mayNaN[:words])
	}
	if c.demand.Bounds && c.class != noBounds {
		f.Lower, f.Upper = c.arrays(mem, n)
		f.addHeads()
	} else {
		f.Bounded, f.MayNaN = nil, nil
	}
	return f
}

// A conclusion is what is proven of a column in one row.
type conclusion uint8

const (
	isBounded   conclusion = 1 << iota // the bounds hold
	isNoNull                           // no row is NULL
	isAllNull                          // all rows are NULL
	maybeNaN                           // a NaN may hide outside the bounds
	isOpen                             // the maximum of a text is missing
	boundsCount                        // bounds, if they are any good, hold
)

// statistics concludes from the counts.
//
// Wide bounds (tightBounds false) change nothing here. Of their null counts only those are certain that say that all or
// none of the rows are NULL, and no other is used; and bounds are never taken for attained.
func (c *column) statistics(x *cell, records int64, hull bool) conclusion {
	nulls := x.nulls
	k := conclusion(0)
	if nulls == 0 && x.known&maybeNull == 0 {
		k = isNoNull
	}
	switch {
	case nulls < 0 && !c.demand.Column.Nullable:
		// A column that the schema declares NOT NULL, and every struct around it, holds none: writers enforce it.
		return isNoNull
	case nulls < 0 || records < 0:
		return k
	case hull:
		return k | boundsCount
	case nulls > records, records == 0 && !c.empty(x):
		return 0
	case nulls == records:
		return k | isAllNull
	}
	return k | boundsCount
}

// empty reports whether a row's claim to hold no rows is believed: Spark does add empty files, but a file that claims to be
// one and has bounds is not. Where nobody looks for bounds, or writers keep none, nothing backs the claim.
func (c *column) empty(x *cell) bool {
	return c.demand.Bounds && c.class != noBounds && x.known&(hasLower|hasUpper) == 0
}

// partition concludes from a partition value.
func (c *column) partition(x *cell) conclusion {
	switch k := x.known; {
	case k&isNull != 0:
		return isAllNull
	case k&hasLower != 0 && k&hasUpper != 0 && k&maybeNull != 0:
		return boundsCount
	case k&hasLower != 0 && k&hasUpper != 0:
		return boundsCount | isNoNull
	case !c.demand.Column.Nullable:
		return isNoNull
	}
	return 0
}

// close makes bounds of the one or two that are known in a row: a side that is missing becomes the outermost value of
// the type. A minimum above the maximum makes none. likeSpark is for closeFloat and slack.
func (c *column) close(x *cell, row int, likeSpark bool) conclusion {
	known := x.known & (hasLower | hasUpper)
	if known == 0 {
		return 0
	}
	ordered := true
	switch c.class {
	case noBounds:
		return 0
	case integers:
		least, greatest := x.bounds[minimum], x.bounds[maximum]
		if known&hasLower == 0 {
			least, _ = extremes(c.demand.Column.Type.Kind)
		}
		if known&hasUpper == 0 {
			_, greatest = extremes(c.demand.Column.Type.Kind)
		}
		ordered = least <= greatest
		x.bounds = [2]int64{least, greatest}
	case floats:
		return closeFloat(x, likeSpark)
	case decimals:
		bounds := c.decimals[row%ringRows]
		if known == hasLower|hasUpper && bounds[maximum].Less(bounds[minimum]) {
			return 0
		}
		greatest := decimal128.GetMaxValue(int32(c.demand.Column.Type.Precision))
		if known&hasLower == 0 {
			bounds[minimum] = greatest.Negate()
		}
		if known&hasUpper == 0 {
			bounds[maximum] = greatest
		}
		if !likeSpark {
			bounds[minimum] = atLeast(bounds[minimum].Sub(c.slack(bounds[minimum])), greatest.Negate())
			bounds[maximum] = atMost(bounds[maximum].Add(c.slack(bounds[maximum])), greatest)
		}
		c.bounds128[minimum][row], c.bounds128[maximum][row] = bounds[minimum], bounds[maximum]
	case texts:
		if known&hasUpper == 0 { // a missing minimum is "" already
			return isBounded | isOpen
		}
		ordered = bytes.Compare(c.texts[minimum].at(row), c.texts[maximum].at(row)) <= 0
	}
	if !ordered {
		return 0
	}
	return isBounded
}

// closeFloat does what close does for a float or double column. Where NaN is known it is one of the bounds if it is there
// at all. Elsewhere it may hide behind any, and a bound that is NaN is an accident, so missing.
func closeFloat(x *cell, nanKnown bool) conclusion {
	hasLower, hasUpper := x.known&hasLower != 0, x.known&hasUpper != 0
	lower, upper := math.Float64frombits(uint64(x.bounds[minimum])), math.Float64frombits(uint64(x.bounds[maximum]))
	if !nanKnown {
		hasLower, hasUpper = hasLower && !math.IsNaN(lower), hasUpper && !math.IsNaN(upper)
	}
	if !hasLower {
		lower = math.Inf(-1)
	}
	if !hasUpper {
		upper = math.NaN() // the greatest number
	}
	k := isBounded
	switch {
	case !hasLower && !hasUpper:
		return 0
	case math.IsNaN(lower) && math.IsNaN(upper): // every value is NaN
		k |= maybeNaN
	case math.IsNaN(upper):
		k |= maybeNaN
		upper = math.Inf(1)
	case !nanKnown:
		k |= maybeNaN
	}
	if lower > upper || math.IsNaN(lower) && !math.IsNaN(upper) {
		return 0
	}
	x.bounds = [2]int64{int64(math.Float64bits(lower)), int64(math.Float64bits(upper))}
	return k
}

// slack returns how far from a decimal bound, in units of the column's scale, the values may lie that it was made from.
//
// delta-rs writes decimals as doubles: 123456789012345.67 as 123456789012345.69, which as a minimum proves what is not so.
// The unscaled value, and the power of ten if it is beyond 10^22, are rounded, then their quotient is; up to 15 digits
// come through unharmed. The slack grows more slowly than the bound, so that a wider bound never proves more.
func (c *column) slack(v decimal128.Num) decimal128.Num {
	v = v.Abs()
	shift, more := uint(50), int64(0) // eight roundings to 53 bits
	switch {
	case c.demand.Column.Type.Scale > 22:
		shift = 46
	case decimal128.FromU64(1e15).LessEqual(v):
		more = 1
	}
	return decimal128.New(v.HighBits()>>shift, v.LowBits()>>shift|uint64(v.HighBits())<<(64-shift)).Add(decimal128.FromI64(more))
}

func atLeast(v, least decimal128.Num) decimal128.Num {
	if v.Less(least) {
		return least
	}
	return v
}

func atMost(v, most decimal128.Num) decimal128.Num {
	if most.Less(v) {
		return most
	}
	return v
}

// extremes returns the outermost values of a fixed-width type.
func extremes(kind schema.Kind) (least, greatest int64) {
	switch kind {
	case schema.Boolean:
		return 0, 1
	case schema.Byte:
		return math.MinInt8, math.MaxInt8
	case schema.Short:
		return math.MinInt16, math.MaxInt16
	case schema.Integer, schema.Date:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}
