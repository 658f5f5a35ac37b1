package predicate

import (
	"fmt"
	"time"

	"github.com/deltaskip/deltaskip/schema"
)

// Col is a reference to a column by its path, one name a part.
func Col(path ...string) Expr { return &Column{Name: path} }

// Lit is a constant: a Go boolean, integer, float, string, []byte (binary), time.Time (timestamp), [Value], or nil for
// NULL. Integers have the type that SQL gives their digits, int and int32 the narrowest of int and bigint. It panics
// with any other type, which is a mistake in the program.
func Lit(v any) Expr {
	value := func(v Value) Expr { return &Literal{Value: v} }
	switch v := v.(type) {
	case nil:
		return value(NullOf(schema.Type{Kind: schema.Void}))
	case Value:
		return value(v)
	case bool:
		return value(BoolOf(v))
	case int8:
		return value(IntOf(schema.Byte, int64(v)))
	case int16:
		return value(IntOf(schema.Short, int64(v)))
	case int32:
		return value(IntOf(schema.Integer, int64(v)))
	case int64:
		return value(IntOf(schema.Long, v))
	case int:
		if int(int32(v)) == v {
			return value(IntOf(schema.Integer, int64(v)))
		}
		return value(IntOf(schema.Long, int64(v)))
	case float32:
		return value(FloatOf(schema.Float, float64(v)))
	case float64:
		return value(FloatOf(schema.Double, v))
	case string:
		return value(StringOf(v))
	case []byte:
		return value(BinaryOf(string(v)))
	case time.Time:
		return value(IntOf(schema.Timestamp, v.UnixMicro()))
	}
	panic(fmt.Sprintf("predicate: Lit(%T): there is no SQL literal of this type", v))
}

// Eq, Ne, Lt, Le, Gt and Ge compare; EqNullSafe is <=>, which is never NULL.
func Eq(l, r Expr) Expr         { return &Compare{Op: EQ, L: l, R: r} }
func Ne(l, r Expr) Expr         { return &Compare{Op: NE, L: l, R: r} }
func Lt(l, r Expr) Expr         { return &Compare{Op: LT, L: l, R: r} }
func Le(l, r Expr) Expr         { return &Compare{Op: LE, L: l, R: r} }
func Gt(l, r Expr) Expr         { return &Compare{Op: GT, L: l, R: r} }
func Ge(l, r Expr) Expr         { return &Compare{Op: GE, L: l, R: r} }
func EqNullSafe(l, r Expr) Expr { return &Compare{Op: NullSafe, L: l, R: r} }

// AllOf is the AND of its arguments; of none it is TRUE.
func AllOf(args ...Expr) Expr {
	switch len(args) {
	case 0:
		return Lit(true)
	case 1:
		return args[0]
	}
	return &And{Args: args}
}

// AnyOf is the OR of its arguments; of none it is FALSE.
func AnyOf(args ...Expr) Expr {
	switch len(args) {
	case 0:
		return Lit(false)
	case 1:
		return args[0]
	}
	return &Or{Args: args}
}

// Negate is NOT x.
func Negate(x Expr) Expr { return &Not{X: x} }

// Null is x IS NULL.
func Null(x Expr) Expr { return &IsNull{X: x} }

// OneOf is x IN (list).
func OneOf(x Expr, list ...Expr) Expr { return &In{X: x, List: list} }
