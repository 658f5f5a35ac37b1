package vectorized

import (
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/cell"
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
	s.lo, s.hi = cell.At(f.Lower, t, file), cell.At(f.Upper, t, file)
	s.hasLo, s.hasHi = true, true
	s.exact = s.lo.Compare(s.hi) == 0 && !(isFloat(t) && s.lo.F == 0 && !f.ExactZero)
	return s
}

func bitSet(bitmap []uint64, i int) bool { return bitmap != nil && bitmap[i/64]>>(i%64)&1 != 0 }
