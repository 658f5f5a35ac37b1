package predicate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deltaskip/deltaskip/schema"
)

// Lookup finds a function by its name or an alias, in any case. The same function is the same pointer.
func Lookup(name string) (*Function, bool) {
	f, ok := registry[strings.ToLower(name)]
	return f, ok
}

var registry = map[string]*Function{}

func init() {
	register(stringFunctions, stringAliases)
	register(regexpFunctions, regexpAliases)
	register(mathFunctions, mathAliases)
	register(datetimeFunctions, datetimeAliases)
	register(hashFunctions, nil)
	register(rewrittenFunctions(), rewrittenAliases)
	register(opaqueFunctions(), nil)
}

// register adds functions under their names, and under the aliases that name them.
func register(functions []Function, aliases map[string]string) {
	for i := range functions {
		f := &functions[i]
		if f.Eval != nil {
			f.Eval = bounded(f.Eval)
		}
		registry[f.Name] = f
	}
	for alias, name := range aliases {
		registry[alias] = registry[name]
	}
}

type evalFunc = func(env *Env, args []Value, result schema.Type) (Value, error)

// maxText is how many bytes a string may have and still be worked on. Functions whose result is not linear in their
// arguments check it themselves; for all others it bounds what nesting can build.
const maxText = 1 << 20

var errTooLong = &UnsupportedError{Reason: "a string of more than 1 MiB"}

func bounded(eval evalFunc) evalFunc {
	return func(env *Env, args []Value, result schema.Type) (Value, error) {
		total := 0
		for _, a := range args {
			total += len(a.S)
		}
		if total > maxText {
			return Value{}, errTooLong
		}
		return eval(env, args, result)
	}
}

// A param says to which type an argument of type t is cast, if a parameter takes it at all.
type param func(t schema.Type) (schema.Type, bool)

// A result says what comes out of parameters of these types.
type result func(params []schema.Type) schema.Type

type resolveFunc = func(args []Expr) ([]schema.Type, schema.Type, error)

// signature is the Resolve of fixed parameters, of which the last optional ones may be left out.
func signature(out result, optional int, params ...param) resolveFunc {
	return func(args []Expr) ([]schema.Type, schema.Type, error) {
		types, err := resolveParams(args, len(params)-optional, params)
		if err != nil {
			return nil, schema.Type{}, err
		}
		return types, out(types), nil
	}
}

// variadic is the Resolve of parameters of which the last may be given any number of times, or not at all.
func variadic(out result, params ...param) resolveFunc {
	return func(args []Expr) ([]schema.Type, schema.Type, error) {
		least := len(params) - 1
		all := params
		for len(all) < len(args) {
			all = append(all[:len(all):len(all)], params[least])
		}
		types, err := resolveParams(args, least, all)
		if err != nil {
			return nil, schema.Type{}, err
		}
		return types, out(types), nil
	}
}

func resolveParams(args []Expr, least int, params []param) ([]schema.Type, error) {
	if len(args) > len(params) || len(args) < least {
		return nil, wrongCount(len(args), least, len(params))
	}
	types := make([]schema.Type, len(args))
	for i, a := range args {
		switch a.Type().Kind {
		case schema.Invalid, schema.Unknown:
			return nil, &UnsupportedError{Reason: fmt.Sprintf("%s is of a type that is not known", a)}
		case schema.Interval, schema.Variant:
			return nil, &UnsupportedError{Reason: "functions of " + a.Type().String() + " are not evaluated"}
		}
		t, ok := params[i](a.Type())
		switch {
		case !ok:
			return nil, &BindError{
				Class:   "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
				Message: fmt.Sprintf("%s, a %s, cannot be argument %d", a, a.Type(), i+1),
			}
		case t.Kind > schema.TimestampNTZ && t.Kind != schema.Void:
			return nil, &UnsupportedError{Reason: "functions of " + t.String() + " are not evaluated"}
		case t.Collation != "":
			return nil, &UnsupportedError{Reason: "functions of collated strings are not evaluated"}
		}
		types[i] = t
	}
	return types, nil
}

func wrongCount(got, least, most int) error {
	return &BindError{
		Class:   "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
		Message: fmt.Sprintf("%d arguments instead of %d to %d", got, least, most),
	}
}

// exactly takes what Spark casts implicitly to a type without parameters: the type itself, NULL, a string, and whatever
// may be stored in a column of the type.
func exactly(k schema.Kind) param {
	return func(t schema.Type) (schema.Type, bool) {
		switch {
		case t.Kind == k:
			return t, true
		case t.Kind == schema.Void, t.Kind == schema.String, storable(t.Kind, k):
			return schema.Type{Kind: k}, true
		}
		return schema.Type{}, false
	}
}

// oneOf takes each of the kinds as it is, and casts others to the first kind that can be cast to.
func oneOf(kinds ...schema.Kind) param {
	return func(t schema.Type) (schema.Type, bool) {
		for _, k := range kinds {
			if t.Kind == k {
				return t, true
			}
		}
		for _, k := range kinds {
			if c, ok := exactly(k)(t); ok {
				return c, true
			}
		}
		return schema.Type{}, false
	}
}

// only takes the kinds as they are, and NULL as the first of them: parameters of functions for which Spark casts nothing.
func only(kinds ...schema.Kind) param {
	return func(t schema.Type) (schema.Type, bool) {
		if t.Kind == schema.Void {
			return schema.Type{Kind: kinds[0]}, true
		}
		return t, slices.Contains(kinds, t.Kind)
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

// The parameters and results that functions have most often.
var (
	aString         = exactly(schema.String)
	aBinary         = exactly(schema.Binary)
	anInteger       = exactly(schema.Integer)
	aLong           = exactly(schema.Long)
	aStringOrBinary = oneOf(schema.String, schema.Binary)

	toString  = always(schema.String)
	toBoolean = always(schema.Boolean)
	toInteger = always(schema.Integer)
	toLong    = always(schema.Long)
	toBinary  = always(schema.Binary)
)

func always(k schema.Kind) result {
	return func([]schema.Type) schema.Type { return schema.Type{Kind: k} }
}
func asFirst(params []schema.Type) schema.Type { return params[0] }

func integral(k schema.Kind) bool { return k >= schema.Byte && k <= schema.Long }
func numeric(k schema.Kind) bool  { return k >= schema.Byte && k <= schema.Decimal }
func datetime(k schema.Kind) bool { return k >= schema.Date && k <= schema.TimestampNTZ }

// checked is a Resolve that also looks at the constants among the arguments.
func checked(resolve resolveFunc, check func(args []Expr) error) resolveFunc {
	return func(args []Expr) ([]schema.Type, schema.Type, error) {
		params, t, err := resolve(args)
		if err == nil {
			err = check(args)
		}
		return params, t, err
	}
}

func isLiteral(e Expr) bool {
	_, ok := e.(*Literal)
	return ok
}

// moves is the Monotonic of a function that moves so with its i-th argument while all others are constant.
func moves(directions ...Direction) func([]Expr) Direction {
	return func(args []Expr) Direction {
		varying := -1
		for i, a := range args {
			if isLiteral(a) {
				continue
			}
			if varying >= 0 {
				return Unordered
			}
			varying = i
		}
		if varying < 0 || varying >= len(directions) {
			return Unordered
		}
		return directions[varying]
	}
}

// integerAt returns the integer constant that argument i is, if it is one and not NULL.
func integerAt(args []Expr, i int) (int64, bool) {
	v, ok := literalAt(args, i)
	return v.I, ok && integral(v.Type.Kind)
}

// literalAt returns the constant that argument i is, if it is one and not NULL.
func literalAt(args []Expr, i int) (Value, bool) {
	if i >= len(args) {
		return Value{}, false
	}
	l, ok := args[i].(*Literal)
	if !ok || l.Value.Null {
		return Value{}, false
	}
	return l.Value, true
}
