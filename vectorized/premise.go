package vectorized

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deltaskip/deltaskip/predicate"
)

// A premise says which rows a question is about: those whose values of some columns make the column's step TRUE. It
// comes from the other terms of an AND. The nil premise allows every row. Premises are immutable.
type premise struct {
	steps []*step // by column, ascending; each column at most once
}

// with also demands that s answer yes.
func (g *premise) with(c *compiler, s *step, yes tri) *premise {
	allows := c.merge(s, s, func(a, _ tri) tri { return triIf(a&yes != 0, canTrue) | triIf(a&yes == 0, canFalse) })
	r := &premise{}
	if g != nil {
		r.steps = slices.Clone(g.steps)
	}
	i, ok := slices.BinarySearchFunc(r.steps, s.column, func(s *step, column int) int { return s.column - column })
	if ok {
		r.steps[i] = c.merge(r.steps[i], allows, tri.and)
	} else {
		r.steps = slices.Insert(r.steps, i, allows)
	}
	return r
}

// only keeps what is said of some columns, so that plans are shared where the rest doesn't matter.
func (g *premise) only(columns []int) *premise {
	if g == nil {
		return nil
	}
	var steps []*step
	for _, s := range g.steps {
		if slices.Contains(columns, s.column) {
			steps = append(steps, s)
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return &premise{steps}
}

// key tells premises of one compiler apart.
func (g *premise) key() string {
	if g == nil {
		return ""
	}
	var b strings.Builder
	for _, s := range g.steps {
		fmt.Fprintf(&b, "%p ", s)
	}
	return b.String()
}

// of returns what is said of a column, or nil.
func (g *premise) of(column int) *step {
	if g != nil {
		for _, s := range g.steps {
			if s.column == column {
				return s
			}
		}
	}
	return nil
}

// point returns the one value that the premise leaves a column, if it does. A zero of a float column is two.
func (g *premise) point(c *compiler, column int) (v predicate.Value, ok bool) {
	s := g.of(column)
	d := domainOf(c.demands[column].Column.Type)
	if s == nil || s.null&canTrue != 0 || d.unordered {
		return v, false
	}
	at := -1
	for i, a := range s.answers {
		if a&canTrue != 0 {
			if at >= 0 {
				return v, false
			}
			at = i
		}
	}
	if at < 0 {
		return v, false
	}
	known := s.segment(d, at)
	return known.lo, known.exact
}
