package predicate

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/schema"
)

func TestValueString(t *testing.T) {
	for _, tt := range []struct {
		v    Value
		want string
	}{
		{IntOf(schema.Long, 1000), "1000"},
		{IntOf(schema.Byte, -1), "-1"},
		{IntOf(schema.Integer, 7), "7"},
		{BoolOf(true), "TRUE"},
		{FloatOf(schema.Double, 1.5), "1.5"},
		{FloatOf(schema.Float, 0.1), "0.1"},
		{DecimalOf(decimal128.FromI64(-150), 10, 2), "-1.50"},
		{StringOf("it's"), `'it\'s'`},
		{BinaryOf("\x01\xff"), "X'01FF'"},
		{IntOf(schema.Date, 0), "1970-01-01"},
		{IntOf(schema.Timestamp, 1), "1970-01-01 00:00:00.000001Z"},
		{IntOf(schema.TimestampNTZ, 0), "1970-01-01 00:00:00"},
		{NullOf(schema.Type{Kind: schema.Long}), "NULL"},
	} {
		if got := tt.v.String(); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}
