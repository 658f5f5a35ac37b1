package vectorized

import (
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/cell"
)

// spanOf returns what the facts say of a column's values in one file.
func spanOf(f *colstats.Facts, file int) span {
	t := f.Column.Type
	s := span{
		null:  !colstats.IsSet(f.NoNull, file),
		empty: colstats.IsSet(f.AllNull, file),
		nan:   colstats.IsSet(f.MayNaN, file),
	}
	if !colstats.IsSet(f.Bounded, file) || f.Lower == nil {
		s.nan = isFloat(t)
		return s
	}
	s.lo, s.hi = cell.At(f.Lower, t, file), cell.At(f.Upper, t, file)
	s.hasLo, s.hasHi = true, true
	s.exact = s.lo.Compare(s.hi) == 0 && !(isFloat(t) && s.lo.F == 0 && !f.ExactZero)
	return s
}
