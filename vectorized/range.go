package vectorized

import (
	"fmt"

	"github.com/deltaskip/deltaskip/predicate"
)

// String says what is known, for people: "id in [0, 99]", "id without bounds", "id all NULL".
func (r Range) String() string {
	name := r.Column.String()
	switch {
	case r.AllNull:
		return name + " all NULL"
	case !r.Bounded:
		return name + " without bounds"
	}
	s := fmt.Sprintf("%s in [%s, %s]", name, &predicate.Literal{Value: r.Lower}, &predicate.Literal{Value: r.Upper})
	if r.MayNaN {
		s += " or NaN"
	}
	return s
}
