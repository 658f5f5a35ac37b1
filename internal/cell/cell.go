// Package cell takes single values out of Arrow arrays.
package cell

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// At returns value i of an array that has the Arrow type of t ([colstats.ArrowType]), whether it is valid or not. The
// value's string is good as long as the array.
func At(a arrow.Array, t schema.Type, i int) predicate.Value {
	v := predicate.Value{Type: t}
	switch a := a.(type) {
	case *array.Boolean:
		if a.Value(i) {
			v.I = 1
		}
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
