package vectorized

import (
	"math"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// A tri answers the three questions about a boolean expression over the rows of a file: a set bit says "may".
// The zero tri says that there is no row.
type tri uint8

const (
	canTrue tri = 1 << iota
	canFalse
	canNull
	unknown = canTrue | canFalse | canNull
)

func triIf(cond bool, bit tri) tri {
	if cond {
		return bit
	}
	return 0
}

// not, and, or are the three-valued connectives over "may" (spec: the algebra). The arguments are taken as independent.
func (a tri) not() tri {
	return a&canNull | triIf(a&canTrue != 0, canFalse) | triIf(a&canFalse != 0, canTrue)
}

func (a tri) and(b tri) tri {
	return a&b&canTrue | (a|b)&canFalse |
		triIf(a&canNull != 0 && b&(canTrue|canNull) != 0 || b&canNull != 0 && a&(canTrue|canNull) != 0, canNull)
}

func (a tri) or(b tri) tri { return a.not().and(b.not()).not() }

// single reports that the answer is settled: every row gives the same one.
func (a tri) single() bool { return a == canTrue || a == canFalse || a == canNull }

// A span is what is known about the values of an expression over the rows of a file: each is NULL (if null), or NaN (if
// nan), or one of lo … hi (unless empty). It is an upper bound throughout. The zero span says any value but NULL or NaN.
//
// lo … hi holds NaN only if it holds nothing else: NaN is the greatest number in comparisons, but functions that are
// monotonic over numbers need not put it there.
type span struct {
	null  bool // a NULL is possible
	empty bool // nothing but NULL is possible; the other members mean nothing then
	nan   bool // a NaN is possible besides lo … hi
	exact bool // lo = hi is the very value of every other row, down to the sign of a zero
	hasLo bool
	hasHi bool
	open  bool // hi itself is not among the values (strings, which have no predecessors)
	lo    predicate.Value
	hi    predicate.Value
}

// anything is the span of an expression about which nothing is known, not even that evaluating it succeeds.
func anything(t schema.Type) span { return span{null: true, nan: isFloat(t)} }

// pointSpan is the span of a constant.
func pointSpan(v predicate.Value) span {
	if v.Null {
		return span{null: true, empty: true}
	}
	return span{lo: v, hi: v, hasLo: true, hasHi: true, exact: true}
}

// isPoint reports that all values but NULL and NaN compare equal.
func (s *span) isPoint() bool {
	return s.hasLo && s.hasHi && !s.open && (s.exact || s.lo.Compare(s.hi) == 0)
}

// union widens s to hold what u holds.
func (s *span) union(u *span) {
	s.null = s.null || u.null
	switch {
	case u.empty:
		return
	case s.empty:
		null := s.null
		*s = *u
		s.null = null
		return
	}
	s.nan = s.nan || u.nan
	switch sNaN, uNaN := s.onlyNaN(), u.onlyNaN(); {
	case sNaN && uNaN:
		return
	case uNaN:
		s.nan = true
		return
	case sNaN:
		null := s.null
		*s = *u
		s.null, s.nan = null, true
		return
	}
	s.exact = s.exact && u.exact && sameValue(s.lo, u.lo)
	if s.hasLo = s.hasLo && u.hasLo; s.hasLo && u.lo.Compare(s.lo) < 0 {
		s.lo = u.lo
	}
	if s.hasHi = s.hasHi && u.hasHi; s.hasHi {
		switch c := u.hi.Compare(s.hi); {
		case c > 0:
			s.hi, s.open = u.hi, u.open
		case c == 0:
			s.open = s.open && u.open
		}
	}
}

// blur widens a span of doubles by what a function that is [predicate.Function.Inexact] may be off.
func (s *span) blur() {
	if s.empty {
		return
	}
	if s.exact = false; s.hasLo {
		s.lo.F = min(s.lo.F, math.MaxFloat64)
		s.lo.F -= predicate.Slack(s.lo.F)
	}
	if s.hasHi {
		s.hi.F = max(s.hi.F, -math.MaxFloat64)
		s.hi.F += predicate.Slack(s.hi.F)
	}
}

func (s *span) onlyNaN() bool { return s.hasLo && math.IsNaN(s.lo.F) }

// sameValue reports that two values of one type are the same in every respect, zeros of either sign included.
func sameValue(a, b predicate.Value) bool {
	return a.Compare(b) == 0 && math.Signbit(a.F) == math.Signbit(b.F)
}

// members lists the values of s if they are few enough to try each: NULL, a point, both signs of a zero, NaN.
func (s *span) members(dst *[4]predicate.Value, t schema.Type) (n int, few bool) {
	add := func(v predicate.Value) {
		dst[n] = v
		n++
	}
	if s.null {
		add(predicate.NullOf(t))
	}
	if s.empty {
		return n, true
	}
	switch {
	case t.Kind == schema.Boolean:
		lo, hi := s.truth()
		if lo {
			add(predicate.BoolOf(false))
		}
		if hi {
			add(predicate.BoolOf(true))
		}
		return n, true
	case !s.hasLo || !s.hasHi || s.open:
		return 0, false
	case s.exact:
		add(s.lo)
	case s.lo.Compare(s.hi) != 0:
		return 0, false
	default:
		add(s.lo)
		if isFloat(t) && s.lo.F == 0 { // equal bounds, but of which sign nobody knows
			v := s.lo
			v.F = -v.F
			add(v)
		}
	}
	if s.nan {
		add(predicate.Value{Type: t, F: math.NaN()})
	}
	return n, true
}

// truth says which of FALSE and TRUE a boolean span holds.
func (s *span) truth() (hasFalse, hasTrue bool) {
	if s.empty {
		return false, false
	}
	return !s.hasLo || s.lo.I == 0, !s.hasHi || s.hi.I != 0
}

// tri turns a boolean span into the three answers.
func (s *span) tri() tri {
	f, t := s.truth()
	return triIf(t, canTrue) | triIf(f, canFalse) | triIf(s.null, canNull)
}

// span turns the three answers into a boolean span.
func (a tri) span() span {
	s := span{
		null:  a&canNull != 0,
		empty: a&(canTrue|canFalse) == 0,
		lo:    predicate.BoolOf(a&canFalse == 0), hasLo: true,
		hi: predicate.BoolOf(a&canTrue != 0), hasHi: true,
	}
	s.exact = s.lo.I == s.hi.I
	return s
}

// compare answers a op b for rows whose values lie anywhere in the spans, all of type t, which has an order.
func compare(op predicate.CompareOp, t schema.Type, a, b *span) tri {
	var r tri
	if !a.empty && !b.empty {
		r = compareRanges(op, a, b)
		if a.nan || b.nan {
			nan := pointSpan(predicate.Value{Type: t, F: math.NaN()})
			if a.nan {
				r |= compareRanges(op, &nan, b)
			}
			if b.nan {
				r |= compareRanges(op, a, &nan)
			}
			if a.nan && b.nan {
				r |= compareRanges(op, &nan, &nan)
			}
		}
	}
	if op == predicate.NullSafe {
		return r | triIf(a.null && b.null, canTrue) | triIf(a.null && !b.empty || b.null && !a.empty, canFalse)
	}
	return r | triIf(a.null || b.null, canNull)
}

// compareRanges answers a op b for values within lo … hi of either side.
func compareRanges(op predicate.CompareOp, a, b *span) tri {
	switch op {
	case predicate.LT:
		return triIf(mayBeLess(a, b), canTrue) | triIf(mayReach(a, b), canFalse)
	case predicate.GE:
		return triIf(mayReach(a, b), canTrue) | triIf(mayBeLess(a, b), canFalse)
	case predicate.GT:
		return triIf(mayBeLess(b, a), canTrue) | triIf(mayReach(b, a), canFalse)
	case predicate.LE:
		return triIf(mayReach(b, a), canTrue) | triIf(mayBeLess(b, a), canFalse)
	}
	meet := mayReach(a, b) && mayReach(b, a)
	differ := !(meet && a.isPoint() && b.isPoint())
	if op == predicate.NE {
		return triIf(differ, canTrue) | triIf(meet, canFalse)
	}
	return triIf(meet, canTrue) | triIf(differ, canFalse)
}

// mayBeLess reports that some value of a may be less than some value of b.
func mayBeLess(a, b *span) bool {
	return !a.hasLo || !b.hasHi || a.lo.Compare(b.hi) < 0
}

// mayReach reports that some value of a may be at least some value of b.
func mayReach(a, b *span) bool {
	if !a.hasHi || !b.hasLo {
		return true
	}
	c := a.hi.Compare(b.lo)
	return c > 0 || c == 0 && !a.open
}
