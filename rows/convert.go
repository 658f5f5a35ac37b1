package rows

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/schema"
)

const microsPerDay = 24 * 60 * 60 * 1_000_000

// convert makes values of type t, whose Arrow type is to, of what a parquet file holds: of the same type, or of an
// earlier type of the column (Delta protocol, "Type Widening"), or as other writers encode it. A value that t cannot hold
// exactly, and a type that has no one meaning for t, are errors.
func convert(from arrow.Array, t schema.Type, to arrow.DataType, mem memory.Allocator) (arrow.Array, error) {
	if arrow.TypeEqual(from.DataType(), to) {
		from.Retain()
		return from, nil
	}
	b := array.NewBuilder(mem, to)
	defer b.Release()
	put := converter(from, t, b)
	if put == nil {
		return nil, fmt.Errorf("the file holds %s, the table %s", from.DataType(), t)
	}
	b.Reserve(from.Len())
	for i := range from.Len() {
		switch {
		case from.IsNull(i):
			b.AppendNull()
		case !put(i):
			return nil, fmt.Errorf("the file's %s %s is no %s", from.DataType(), from.ValueStr(i), t)
		}
	}
	return b.NewArray(), nil
}

// converter returns what appends value i of from to b, and whether b can hold it; or nil where there is no conversion.
func converter(from arrow.Array, t schema.Type, b array.Builder) func(i int) bool {
	integer := integers(from)
	switch b := b.(type) {
	case *array.Int8Builder:
		if integer != nil {
			return func(i int) bool {
				v, ok := integer(i)
				b.Append(int8(v))
				return ok && v == int64(int8(v))
			}
		}
	case *array.Int16Builder:
		if integer != nil {
			return func(i int) bool {
				v, ok := integer(i)
				b.Append(int16(v))
				return ok && v == int64(int16(v))
			}
		}
	case *array.Int32Builder:
		if integer != nil {
			return func(i int) bool {
				v, ok := integer(i)
				b.Append(int32(v))
				return ok && v == int64(int32(v))
			}
		}
	case *array.Int64Builder:
		if integer != nil {
			return func(i int) bool {
				v, ok := integer(i)
				b.Append(v)
				return ok
			}
		}
	case *array.Float64Builder:
		switch from := from.(type) {
		case *array.Float32:
			return func(i int) bool {
				b.Append(float64(from.Value(i)))
				return true
			}
		case *array.Int32:
			return func(i int) bool {
				b.Append(float64(from.Value(i)))
				return true
			}
		}
	case *array.Decimal128Builder:
		return decimals(from, t, b)
	case *array.StringBuilder:
		if from, ok := from.(*array.Binary); ok {
			return func(i int) bool {
				b.Append(from.ValueString(i))
				return true
			}
		}
	case *array.BinaryBuilder:
		switch from := from.(type) {
		case *array.String:
			return func(i int) bool {
				b.AppendString(from.Value(i))
				return true
			}
		case *array.FixedSizeBinary:
			return func(i int) bool {
				b.Append(from.Value(i))
				return true
			}
		}
	case *array.TimestampBuilder:
		return timestamps(from, t, b)
	}
	return nil
}

// integers returns what reads from as integers and says whether they fit; or nil where it holds none.
func integers(from arrow.Array) func(i int) (int64, bool) {
	switch from := from.(type) {
	case *array.Int32:
		return func(i int) (int64, bool) { return int64(from.Value(i)), true }
	case *array.Int64:
		return func(i int) (int64, bool) { return from.Value(i), true }
	case *array.Uint32:
		return func(i int) (int64, bool) { return int64(from.Value(i)), true }
	case *array.Uint64:
		return func(i int) (int64, bool) { return int64(from.Value(i)), from.Value(i) <= math.MaxInt64 }
	}
	return nil
}

// decimals converts decimals of a smaller or the same scale, and integers.
func decimals(from arrow.Array, t schema.Type, b *array.Decimal128Builder) func(i int) bool {
	var value func(i int) (decimal128.Num, bool)
	grow := int(t.Scale)
	if d, ok := from.(*array.Decimal128); ok {
		grow -= int(from.DataType().(*arrow.Decimal128Type).Scale)
		value = func(i int) (decimal128.Num, bool) { return d.Value(i), true }
	} else if integer := integers(from); integer != nil {
		value = func(i int) (decimal128.Num, bool) {
			v, ok := integer(i)
			return decimal128.FromI64(v), ok
		}
	}
	if value == nil || grow < 0 {
		return nil
	}
	return func(i int) bool {
		v, ok := value(i)
		// What fits before growing, by as many digits, fits afterwards.
		if !ok || !v.FitsInPrecision(int32(t.Precision)-int32(grow)) {
			return false
		}
		b.Append(v.IncreaseScaleBy(int32(grow)))
		return true
	}
}

// timestamps converts times of another unit, and for clock readings dates.
func timestamps(from arrow.Array, t schema.Type, b *array.TimestampBuilder) func(i int) bool {
	switch from := from.(type) {
	case *array.Date32:
		if t.Kind != schema.TimestampNTZ {
			return nil
		}
		return func(i int) bool {
			b.Append(arrow.Timestamp(from.Value(i)) * microsPerDay)
			return true
		}
	case *array.Timestamp:
		unit := from.DataType().(*arrow.TimestampType)
		if (unit.TimeZone == "") != (t.Kind == schema.TimestampNTZ) {
			return nil
		}
		switch unit.Unit {
		case arrow.Millisecond:
			return func(i int) bool {
				v := from.Value(i)
				b.Append(v * 1000)
				return v >= math.MinInt64/1000 && v <= math.MaxInt64/1000
			}
		case arrow.Nanosecond:
			return func(i int) bool {
				v := from.Value(i)
				b.Append(v / 1000)
				return v%1000 == 0
			}
		}
	}
	return nil
}
