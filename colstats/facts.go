package colstats

import (
	"bytes"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/schema"
)

// A rows says what is known of all rows of a batch, whatever the column.
type rows struct {
	n          int
	records    []int64  // numRecords, or -1
	nanOrdered []uint64 // rows whose writer let NaN count for the maximum
	hull       bool     // rows stand for many adds each
}

func bitmap(n int) []uint64 { return make([]uint64, (n+63)/64) }

func setBit(b []uint64, i int)     { b[i/64] |= 1 << (i % 64) }
func isSet(b []uint64, i int) bool { return i/64 < len(b) && b[i/64]>>(i%64)&1 != 0 }
func setTo(b []uint64, i int, v bool) {
	if v {
		setBit(b, i)
	}
}

// facts draws the conclusions from what a column holds: the one place where it is decided what a statistic or partition
// value proves.
func (c *column) facts(mem memory.Allocator, in rows) Facts {
	f := Facts{Column: c.demand.Column, Bounded: bitmap(in.n), NoNull: bitmap(in.n), AllNull: bitmap(in.n), ExactZero: c.exact && !in.hull}
	if c.class == floats {
		f.MayNaN = bitmap(in.n)
	}
	for w := range f.Bounded {
		var bounded, noNull, allNull, mayNaN uint64
		for i := w * 64; i < min(in.n, w*64+64); i++ {
			k := c.conclude(i, in)
			if k&boundsCount != 0 {
				k |= c.close(i, (c.exact || isSet(in.nanOrdered, i)) && !in.hull)
			}
			bounded |= uint64(k&isBounded/isBounded) << (i % 64)
			noNull |= uint64(k&isNoNull/isNoNull) << (i % 64)
			allNull |= uint64(k&isAllNull/isAllNull) << (i % 64)
			mayNaN |= uint64(k&maybeNaN/maybeNaN) << (i % 64)
		}
		f.Bounded[w], f.NoNull[w], f.AllNull[w] = bounded, noNull, allNull
		if f.MayNaN != nil {
			f.MayNaN[w] = mayNaN
		}
	}
	if c.demand.Bounds && c.class != noBounds {
		f.Lower, f.Upper = c.arrays(mem, f.Bounded, in.n)
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
	boundsCount                        // bounds, if they are any good, hold
)

// conclude concludes from everything but the bounds.
func (c *column) conclude(i int, in rows) conclusion {
	if c.exact {
		return c.partition(i)
	}
	return c.statistics(i, in)
}

// statistics concludes from the counts.
//
// Wide bounds (tightBounds false) change nothing here. Of their null counts only those are certain that say that all or
// none of the rows are NULL, and no other is used; and bounds are never taken for attained.
func (c *column) statistics(i int, in rows) conclusion {
	records, nulls := in.records[i], c.nulls[i]
	k := conclusion(0)
	if nulls == 0 && c.known[i]&maybeNull == 0 {
		k = isNoNull
	}
	switch {
	case nulls < 0 && !c.demand.Column.Nullable:
		// A column that the schema declares NOT NULL, and every struct around it, holds none: writers enforce it.
		return isNoNull
	case nulls < 0 || records < 0:
		return k
	case in.hull:
		return k | boundsCount
	case nulls > records, records == 0 && !c.empty(i):
		return 0
	case nulls == records:
		return k | isAllNull
	}
	return k | boundsCount
}

// empty reports whether a row's claim to hold no rows is believed: Spark does add empty files, but a file that claims to be
// one and has bounds is not. Where nobody looks for bounds, or writers keep none, nothing backs the claim.
func (c *column) empty(i int) bool {
	return c.demand.Bounds && c.class != noBounds && c.known[i]&(hasLower|hasUpper) == 0
}

// partition concludes from a partition value.
func (c *column) partition(i int) conclusion {
	switch k := c.known[i]; {
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
// the type. A minimum above the maximum makes none. nanKnown is for closeFloat.
func (c *column) close(i int, nanKnown bool) conclusion {
	known := c.known[i] & (hasLower | hasUpper)
	ordered := true
	switch {
	case known == 0:
		return 0
	case c.class == integers:
		if known != hasLower|hasUpper {
			least, greatest := extremes(c.demand.Column.Type.Kind)
			if known&hasLower == 0 {
				c.bounds[minimum][i] = least
			} else {
				c.bounds[maximum][i] = greatest
			}
		}
		ordered = c.bounds[minimum][i] <= c.bounds[maximum][i]
	case c.class == floats:
		return c.closeFloat(i, nanKnown)
	case c.class == decimals:
		greatest := decimal128.GetMaxValue(int32(c.demand.Column.Type.Precision))
		if known&hasLower == 0 {
			c.lower128[i] = greatest.Negate()
		}
		if known&hasUpper == 0 {
			c.upper128[i] = greatest
		}
		ordered = c.lower128[i].LessEqual(c.upper128[i])
	case c.class == texts:
		// A missing maximum is set when the array is built; a missing minimum is "" already.
		ordered = known&hasUpper == 0 || bytes.Compare(c.lowerText.at(i), c.upperText.at(i)) <= 0
	default:
		return 0 // noBounds
	}
	if !ordered {
		return 0
	}
	return isBounded
}

// closeFloat does what close does for a float or double column. Where NaN is known it is one of the bounds if it is there
// at all. Elsewhere it may hide behind any, and a bound that is NaN is an accident, so missing.
func (c *column) closeFloat(i int, nanKnown bool) conclusion {
	hasLower, hasUpper := c.known[i]&hasLower != 0, c.known[i]&hasUpper != 0
	lower, upper := math.Float64frombits(uint64(c.bounds[minimum][i])), math.Float64frombits(uint64(c.bounds[maximum][i]))
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
	c.bounds[minimum][i], c.bounds[maximum][i] = int64(math.Float64bits(lower)), int64(math.Float64bits(upper))
	return k
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
