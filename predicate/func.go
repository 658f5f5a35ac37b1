package predicate

import (
	"fmt"
	"strings"

	"github.com/deltaskip/deltaskip/schema"
)

// Lookup finds a function by its name or an alias, in any case. The same function is the same pointer.
func Lookup(name string) (*Function, bool) {
	f, ok := registry[strings.ToLower(name)]
	return f, ok
}

var registry = map[string]*Function{}

// register adds functions under their names, and under the aliases that name them.
func register(functions []Function, aliases map[string]string) {
	for i := range functions {
		registry[functions[i].Name] = &functions[i]
	}
	for alias, name := range aliases {
		registry[alias] = registry[name]
	}
}

func init() {
	register(stringFunctions, stringAliases)
}

// A param says to which type an argument of type t is cast, if a parameter takes it at all.
type param func(t schema.Type) (schema.Type, bool)

// signature is a Resolve of fixed parameters, of which the last optional ones may be left out.
func signature(result schema.Kind, optional int, params ...param) func([]Expr) ([]schema.Type, schema.Type, error) {
	return func(args []Expr) ([]schema.Type, schema.Type, error) {
		types, err := resolveParams(args, optional, params...)
		return types, schema.Type{Kind: result}, err
	}
}

func resolveParams(args []Expr, optional int, params ...param) ([]schema.Type, error) {
	if len(args) > len(params) || len(args) < len(params)-optional {
		return nil, &BindError{
			Class:   "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
			Message: fmt.Sprintf("%d arguments where %d to %d are expected", len(args), len(params)-optional, len(params)),
		}
	}
	types := make([]schema.Type, len(args))
	for i, a := range args {
		t, ok := params[i](a.Type())
		if !ok {
			return nil, &BindError{
				Class:   "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
				Message: fmt.Sprintf("argument %d is of the wrong type", i+1),
			}
		}
		types[i] = t
	}
	return types, nil
}

// exactly takes what Spark casts implicitly to a type without parameters: the type itself, NULL, a string, and whatever
// may be stored in a column of the type.
func exactly(k schema.Kind) param {
	return func(t schema.Type) (schema.Type, bool) {
		return schema.Type{Kind: k}, t.Kind == k || t.Kind == schema.Void || t.Kind == schema.String || storable(t.Kind, k)
	}
}

// storable says whether Spark's store assignment allows a column of kind to to hold a value of another kind.
func storable(from, to schema.Kind) bool {
	switch {
	case to == schema.String:
		return from >= schema.Boolean && from <= schema.TimestampNTZ
	case numeric(from):
		return numeric(to)
	case datetime(from):
		return datetime(to)
	}
	return false
}

func integral(k schema.Kind) bool { return k >= schema.Byte && k <= schema.Long }
func numeric(k schema.Kind) bool  { return k >= schema.Byte && k <= schema.Decimal }
func datetime(k schema.Kind) bool { return k >= schema.Date && k <= schema.TimestampNTZ }
