package predicate

import (
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
