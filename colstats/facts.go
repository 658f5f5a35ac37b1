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
	for i := range in.n {
		usable := c.exact && c.partitionFacts(&f, i) || !c.exact && c.statisticFacts(&f, i, in)
		if usable && c.known[i]&(hasLower|hasUpper) != 0 && c.close(&f, i, (c.exact || isSet(in.nanOrdered, i)) && !in.hull) {
			setBit(f.Bounded, i)
		} else if f.MayNaN != nil {
			setBit(f.MayNaN, i)
		}
	}
	if c.demand.Bounds && c.class != noBounds {
		f.Lower, f.Upper = c.arrays(mem, f.Bounded, in.n)
	}
	return f
}

// statisticFacts concludes from the counts, and says whether bounds are usable.
//
// Wide bounds (tightBounds false) change nothing here. Of their null counts only those are certain that say that all or
// none of the rows are NULL, and no other is used; and bounds are never taken for attained.
func (c *column) statisticFacts(f *Facts, i int, in rows) (usable bool) {
	records, nulls := in.records[i], c.nulls[i]
	switch {
	case nulls < 0:
		// A column that the schema declares NOT NULL, and every struct around it, holds none: writers enforce it.
		setTo(f.NoNull, i, !c.demand.Column.Nullable)
		return false
	case in.hull:
		setTo(f.NoNull, i, nulls == 0 && c.known[i]&maybeNull == 0)
		return records >= 0
	case records < 0:
		setTo(f.NoNull, i, nulls == 0)
		return false
	case records == 0 && c.known[i] != 0: // no rows, and yet bounds
		return false
	}
	setTo(f.NoNull, i, nulls == 0)
	setTo(f.AllNull, i, nulls == records)
	return nulls < records
}

// partitionFacts concludes from a partition value, and says whether there is one.
func (c *column) partitionFacts(f *Facts, i int) (usable bool) {
	switch k := c.known[i]; {
	case k&isNull != 0:
		setBit(f.AllNull, i)
		return false
	case k&hasLower == 0 || k&hasUpper == 0:
		setTo(f.NoNull, i, !c.demand.Column.Nullable)
		return false
	default:
		setTo(f.NoNull, i, k&maybeNull == 0)
		return true
	}
}

// close makes bounds of the one or two that are known in a row: a side that is missing becomes the outermost value of
// the type. It says whether they are any good; a minimum above the maximum is not. nanKnown is for closeFloat.
func (c *column) close(f *Facts, i int, nanKnown bool) bool {
	known := c.known[i]
	switch c.class {
	case noBounds:
		return false
	case integers:
		least, greatest := extremes(c.demand.Column.Type.Kind)
		if known&hasLower == 0 {
			c.lower[i] = least
		}
		if known&hasUpper == 0 {
			c.upper[i] = greatest
		}
		return c.lower[i] <= c.upper[i]
	case floats:
		return c.closeFloat(f, i, nanKnown)
	case decimals:
		greatest := decimal128.GetMaxValue(int32(c.demand.Column.Type.Precision))
		if known&hasLower == 0 {
			c.lower128[i] = greatest.Negate()
		}
		if known&hasUpper == 0 {
			c.upper128[i] = greatest
		}
		return c.lower128[i].LessEqual(c.upper128[i])
	default:
		// A missing maximum is set when the array is built; a missing minimum is "" already.
		return known&hasUpper == 0 || bytes.Compare(c.lowerText.at(i), c.upperText.at(i)) <= 0
	}
}

// closeFloat does what close does for a float or double column. Where NaN is known it is one of the bounds if it is there
// at all; elsewhere it may hide behind any.
func (c *column) closeFloat(f *Facts, i int, nanKnown bool) bool {
	lower, upper := math.Inf(-1), math.NaN()
	if c.known[i]&hasLower != 0 {
		lower = math.Float64frombits(uint64(c.lower[i]))
	}
	if c.known[i]&hasUpper != 0 {
		upper = math.Float64frombits(uint64(c.upper[i]))
	}
	if !nanKnown {
		setBit(f.MayNaN, i)
		// A writer that does not order NaN keeps it as a bound only by accident.
		if math.IsNaN(lower) || math.IsNaN(upper) && c.known[i]&hasUpper != 0 {
			return false
		}
	}
	switch {
	case !math.IsNaN(upper):
		if math.IsNaN(lower) {
			return false
		}
	case math.IsNaN(lower): // every value is NaN
		setBit(f.MayNaN, i)
	default:
		setBit(f.MayNaN, i)
		upper = math.Inf(1)
	}
	c.lower[i], c.upper[i] = int64(math.Float64bits(lower)), int64(math.Float64bits(upper))
	return !(lower > upper)
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
