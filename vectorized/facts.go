package vectorized

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// spanOf returns what the facts say of a column's values in one file.
func spanOf(f *colstats.Facts, file int) span {
	t := f.Column.Type
	s := span{
		null:  !bitSet(f.NoNull, file),
		empty: bitSet(f.AllNull, file),
		nan:   bitSet(f.MayNaN, file),
	}
	if !bitSet(f.Bounded, file) || f.Lower == nil {
		s.nan = isFloat(t)
		return s
	}
	s.lo, s.hi = valueAt(f.Lower, t, file), valueAt(f.Upper, t, file)
	s.hasLo, s.hasHi = true, true
	s.exact = s.lo.Compare(s.hi) == 0 && !(isFloat(t) && s.lo.F == 0 && !f.ExactZero)
	return s
}

func bitSet(bitmap []uint64, i int) bool { return bitmap != nil && bitmap[i/64]>>(i%64)&1 != 0 }

// valueAt reads a bound. The string is good as long as the array.
func valueAt(a arrow.Array, t schema.Type, i int) predicate.Value {
	v := predicate.Value{Type: t}
	switch a := a.(type) {
	case *array.Boolean:
		v.I = int64(b2u(a.Value(i)))
	case *array.Int8:
		v.I = int64(a.Value(i))
	case *array.Int16:
		v.I = int64(a.Value(i))
	case *array.Int32:
		v.I = int64(a.Value(i))
	case *array.Int64:
		v.I = a.Value(i)
	case *array.Date32:
		v.I = int64(a.Value(i))
	case *array.Timestamp:
		v.I = int64(a.Value(i))
	case *array.Float32:
		v.F = float64(a.Value(i))
	case *array.Float64:
		v.F = a.Value(i)
	case *array.Decimal128:
		v.D = a.Value(i)
	case *array.String:
		v.S = a.Value(i)
	case *array.Binary:
		v.S = a.ValueString(i)
	}
	return v
}
