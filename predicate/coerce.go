package predicate

import (
	"strings"

	"github.com/deltaskip/deltaskip/schema"
)

// widerType is the type to which values of two types are cast to be compared or united (AnsiTypeCoercion.findWiderTypeForTwo);
// false where there is none.
func widerType(a, b schema.Type) (schema.Type, bool) {
	switch {
	case a == b || a.Equal(b):
		return a, true
	case a.Kind == schema.Void:
		return b, true
	case b.Kind == schema.Void:
		return a, true
	case numeric(a.Kind) && numeric(b.Kind):
		return widerNumeric(a, b), true
	case datetime(a.Kind) && datetime(b.Kind):
		// date < timestamp_ntz < timestamp
		if a.Kind == schema.Timestamp || b.Kind == schema.Timestamp {
			return schema.Type{Kind: schema.Timestamp}, true
		}
		return schema.Type{Kind: schema.TimestampNTZ}, true
	case a.Kind == schema.String && b.Kind == schema.String:
		return schema.Type{}, false // of different collations
	case a.Kind == schema.String:
		return widerThanString(b)
	case b.Kind == schema.String:
		return widerThanString(a)
	case a.Kind == schema.Interval && b.Kind == schema.Interval:
		return widerInterval(a, b)
	case a.Kind == b.Kind && a.Kind == schema.Array:
		elem, ok := widerType(a.Nested.Elem, b.Nested.Elem)
		return schema.Type{Kind: schema.Array, Nested: &schema.Nested{Elem: elem}}, ok
	case a.Kind == b.Kind && a.Kind == schema.Map:
		key, okKey := widerType(a.Nested.Key, b.Nested.Key)
		elem, okElem := widerType(a.Nested.Elem, b.Nested.Elem)
		return schema.Type{Kind: schema.Map, Nested: &schema.Nested{Key: key, Elem: elem}}, okKey && okElem
	case a.Kind == schema.Unknown || b.Kind == schema.Unknown:
		return schema.Type{Kind: schema.Unknown, Nested: &schema.Nested{}}, true // who knows
	}
	return schema.Type{}, false
}

// widerThanString is what a string is cast to beside another type (AnsiTypeCoercion.findWiderTypeForString).
func widerThanString(t schema.Type) (schema.Type, bool) {
	switch {
	case integral(t.Kind):
		return longType, true
	case numeric(t.Kind):
		return doubleType, true
	case t.Kind == schema.Boolean || t.Kind == schema.Binary || datetime(t.Kind):
		return t, true
	}
	return schema.Type{}, false
}

func widerNumeric(a, b schema.Type) schema.Type {
	switch {
	case a.Kind == schema.Decimal && b.Kind == schema.Decimal:
		return widerDecimal(a, b)
	case a.Kind == schema.Decimal && integral(b.Kind):
		return widerDecimal(a, decimalOfKind(b.Kind))
	case b.Kind == schema.Decimal && integral(a.Kind):
		return widerDecimal(decimalOfKind(a.Kind), b)
	case integral(a.Kind) && integral(b.Kind), a.Kind == b.Kind:
		return schema.Type{Kind: max(a.Kind, b.Kind)}
	}
	// A float beside anything else is a double: an integer or a decimal would lose digits in it.
	return doubleType
}

// widerTypeOf is the type to which values of many types are cast (AnsiTypeCoercion.findWiderCommonType). Strings come
// last, as widening with them does not associate.
func widerTypeOf(types []schema.Type) (schema.Type, bool) {
	out := schema.Type{Kind: schema.Void}
	for _, strs := range []bool{true, false} {
		for _, t := range types {
			if (t.Kind == schema.String) != strs {
				continue
			}
			var ok bool
			if out, ok = widerType(out, t); !ok {
				return schema.Type{}, false
			}
		}
	}
	return out, true
}

// collations

// binaryCollation marks the default collation where it was asked for.
const binaryCollation = "UTF8_BINARY"

// How strongly an expression insists on its collation (CollationTypeCoercion).
const (
	collationDefault  = iota // literals, and what is made of them
	collationImplicit        // columns, and what is made of them
	collationExplicit        // COLLATE
)

func collationStrength(e Expr) int {
	switch e := e.(type) {
	case *Literal, *Opaque:
		return collationDefault
	case *Column:
		return collationImplicit
	case *Call:
		if e.Name == "collate" {
			return collationExplicit
		}
	case *Cast:
		return collationImplicit
	}
	strength := collationDefault
	for _, c := range e.Children() {
		if c.Type().Kind == schema.String {
			strength = max(strength, min(collationStrength(c), collationImplicit))
		}
	}
	return strength
}

// collations is the collation of strings that meet, binaryCollation for the default one, or "" where no string is among them.
func collations(list ...Expr) (string, error) {
	strongest, name := -1, ""
	for _, e := range list {
		if e.Type().Kind != schema.String {
			continue
		}
		own := e.Type().Collation
		if own == "" {
			own = binaryCollation
		}
		switch strength := collationStrength(e); {
		case strength > strongest:
			strongest, name = strength, own
		case strength < strongest || own == name:
		case strength == collationExplicit:
			return "", bindError("COLLATION_MISMATCH.EXPLICIT", "the collations %s and %s meet", name, own)
		case strength == collationImplicit:
			return "", bindError("INDETERMINATE_COLLATION_IN_EXPRESSION", "the collations %s and %s meet, and neither is stated by COLLATE", name, own)
		default:
			name = max(name, own)
		}
	}
	return name, nil
}

// uniformCollation refuses strings of different collations where none is stated by COLLATE, constants included: the arguments of
// BETWEEN and nullif, which Spark writes out before it looks at collations.
func uniformCollation(list []Expr) error {
	names := map[string]bool{}
	for _, e := range list {
		if e.Type().Kind != schema.String {
			continue
		}
		if collationStrength(e) == collationExplicit {
			return nil
		}
		names[e.Type().Collation] = true
	}
	if len(names) > 1 {
		return bindError("INDETERMINATE_COLLATION_IN_EXPRESSION", "strings of different collations meet, and none is stated by COLLATE")
	}
	return nil
}

// collate binds x COLLATE name.
func (b *binder) collate(e *Call) (Expr, error) {
	x, err := b.bind(e.Args[0])
	if err != nil {
		return nil, err
	}
	name, ok := e.Args[1].(*Literal)
	if !ok || name.Value.Type.Kind != schema.String {
		return nil, bindError("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "a collation is named by a constant")
	}
	collation := strings.ToUpper(name.Value.S)
	if !knownCollation(collation) {
		return nil, bindError("COLLATION_INVALID_NAME", "there is no collation %s", quoteName(name.Value.S))
	}
	switch x.Type().Kind {
	case schema.String:
	case schema.Void:
		if x, err = b.cast(x, stringType, false); err != nil {
			return nil, err
		}
	case schema.Invalid:
		return x, nil
	default:
		return nil, bindError("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "COLLATE takes a string, but %s is %s", x, x.Type())
	}
	if collation == binaryCollation {
		collation = ""
	}
	return &Call{Name: "collate", Args: []Expr{x, name}, Fn: collateFunction, Typ: schema.Type{Kind: schema.String, Collation: collation}}, nil
}

var collateFunction = &Function{
	Name: "collate", NullIn: true,
	Eval: func(_ *Env, args []Value, result schema.Type) (Value, error) {
		return Value{Type: result, S: args[0].S}, nil
	},
}

// knownCollation says whether a name has the form of Spark's collations: UTF8_BINARY, UTF8_LCASE, UNICODE or a locale, with
// modifiers.
func knownCollation(name string) bool {
	name = strings.TrimSuffix(name, "_RTRIM")
	switch name {
	case "UTF8_BINARY", "UTF8_LCASE":
		return true
	}
	for {
		trimmed := name
		for _, modifier := range []string{"_CI", "_CS", "_AI", "_AS"} {
			trimmed = strings.TrimSuffix(trimmed, modifier)
		}
		if trimmed == name {
			break
		}
		name = trimmed
	}
	if name == "UNICODE" {
		return true
	}
	// A locale: two or three letters, a script of four, a country of two or three.
	for i, part := range strings.Split(name, "_") {
		if n := len(part); i == 0 && n != 2 && n != 3 || i > 0 && (n < 2 || n > 4) || i > 2 {
			return false
		}
	}
	return true
}
