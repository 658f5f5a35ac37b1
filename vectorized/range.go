package vectorized

import (
	"fmt"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/schema"
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
	upper := r.Upper.String()
	if r.Upper.Type.Kind == schema.String && r.Upper.S == colstats.MaxString {
		upper = "…" // unknown
	}
	s := fmt.Sprintf("%s in [%s, %s]", name, r.Lower, upper)
	if r.MayNaN {
		s += " or NaN"
	}
	return s
}
