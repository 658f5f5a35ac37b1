package predicate

import (
	"cmp"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/schema"
)

// A Value is one SQL value of an atomic type, or NULL. Which member holds it depends on Type.Kind.
type Value struct {
	Type schema.Type
	Null bool
	I    int64          // Boolean (0 or 1), Byte, Short, Integer, Long, Date (days), Timestamp and TimestampNTZ (microseconds)
	F    float64        // Float (a float32, widened) and Double
	D    decimal128.Num // Decimal, unscaled
	S    string         // String, and Binary as its bytes
}

// NullOf returns the NULL of type t.
func NullOf(t schema.Type) Value { return Value{Type: t, Null: true} }

// BoolOf returns a Boolean.
func BoolOf(b bool) Value {
	v := Value{Type: schema.Type{Kind: schema.Boolean}}
	if b {
		v.I = 1
	}
	return v
}

// IntOf returns a value of a kind that Value.I holds: an integer, a date in days, a timestamp in microseconds.
func IntOf(k schema.Kind, i int64) Value { return Value{Type: schema.Type{Kind: k}, I: i} }

// FloatOf returns a value of kind Float or Double. A Float must hold a float32.
func FloatOf(k schema.Kind, f float64) Value { return Value{Type: schema.Type{Kind: k}, F: f} }

// StringOf returns a String.
func StringOf(s string) Value { return Value{Type: schema.Type{Kind: schema.String}, S: s} }

// BinaryOf returns a Binary of the bytes of s.
func BinaryOf(s string) Value { return Value{Type: schema.Type{Kind: schema.Binary}, S: s} }

// DecimalOf returns the decimal of the given unscaled value.
func DecimalOf(unscaled decimal128.Num, precision, scale uint8) Value {
	return Value{Type: schema.Type{Kind: schema.Decimal, Precision: precision, Scale: scale}, D: unscaled}
}

// A Row gives a row's values, the columns being those of the bound predicate.
type Row interface {
	// Value returns the value of c in this row, of type c.Type.
	Value(c *schema.Column) Value
}

// An EvalError is an ANSI runtime error: a cast that fails, an overflow, a division by zero.
type EvalError struct {
	Class   string // Spark's error class, such as CAST_INVALID_INPUT
	Message string
}

func (e *EvalError) Error() string { return "predicate: [" + e.Class + "] " + e.Message }

// Compare orders v and w, which are of one type and not NULL, as Spark does: false before true, NaN after every number and equal to
// itself, -0.0 equal to 0.0, strings and binaries by unsigned bytes, decimals by value. Strings of a collation other than the
// binary one have no order here; see [Comparable].
func (v Value) Compare(w Value) int {
	switch v.Type.Kind {
	case schema.Float, schema.Double:
		return compareFloats(v.F, w.F)
	case schema.Decimal:
		return compareDecimals(v.D, v.Type.Scale, w.D, w.Type.Scale)
	case schema.String, schema.Binary:
		return strings.Compare(v.S, w.S)
	}
	return cmp.Compare(v.I, w.I)
}

// Comparable says whether [Value.Compare] orders values of a type as Spark does.
func Comparable(t schema.Type) bool {
	if _, _, ok := intervalRange(t); ok {
		return true
	}
	return t.Kind >= schema.Boolean && t.Kind <= schema.TimestampNTZ && t.Collation == ""
}

func compareFloats(a, b float64) int {
	switch aNaN, bNaN := a != a, b != b; {
	case aNaN && bNaN:
		return 0
	case aNaN:
		return 1
	case bNaN:
		return -1
	}
	return cmp.Compare(a, b)
}
