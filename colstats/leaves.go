package colstats

import (
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/internal/civil"
	"github.com/deltaskip/deltaskip/schema"
)

// counts reads a count: a record or null count that is negative or not an integer is missing, -1.
func counts(a arrow.Array) func(row int) int64 {
	read := integersOf(a)
	return func(row int) int64 {
		if read != nil && a.IsValid(row) {
			if n, ok := read(row); ok && n >= 0 {
				return n
			}
		}
		return -1
	}
}

// setter returns the function that takes a row of an array as a bound of the column.
func (c *column) setter(a arrow.Array) func(row int, s side) {
	if a == nil {
		return nil
	}
	var set func(row int, s side)
	switch c.class {
	case integers:
		set = c.integerSetter(a)
	case floats:
		set = c.floatSetter(a)
	case decimals:
		set = c.decimalSetter(a)
	case texts:
		set = c.textSetter(a)
	}
	if set == nil {
		return nil
	}
	return func(row int, s side) {
		if a.IsValid(row) {
			set(row, s)
		}
	}
}

func (c *column) integerSetter(a arrow.Array) func(row int, s side) {
	kind := c.demand.Column.Type.Kind
	var read func(row int) (int64, bool)
	cut := false // to milliseconds
	switch kind {
	case schema.Boolean:
		read = booleansOf(a)
	case schema.Date:
		read = daysOf(a)
	case schema.Timestamp, schema.TimestampNTZ:
		if read = microsOf(a); read != nil {
			cut = !c.exact
		} else if kind == schema.TimestampNTZ && c.maybeDate {
			read = midnightsOf(a)
		}
	default:
		read = integersOf(a)
	}
	if read == nil {
		return nil
	}
	return func(row int, s side) {
		v, ok := read(row)
		if !ok || !inRange(kind, v) {
			return
		}
		hi := v
		if cut {
			hi = raisedMillisecond(v)
		}
		c.setSide(row, s, v, hi)
	}
}

func booleansOf(a arrow.Array) func(row int) (int64, bool) {
	booleans, ok := a.(*array.Boolean)
	if !ok {
		return nil
	}
	return func(row int) (int64, bool) {
		if booleans.Value(row) {
			return 1, true
		}
		return 0, true
	}
}

// integersOf reads an array of integers of any width, or returns nil.
func integersOf(a arrow.Array) func(row int) (int64, bool) {
	switch a := a.(type) {
	case *array.Int8:
		return func(row int) (int64, bool) { return int64(a.Value(row)), true }
	case *array.Int16:
		return func(row int) (int64, bool) { return int64(a.Value(row)), true }
	case *array.Int32:
		return func(row int) (int64, bool) { return int64(a.Value(row)), true }
	case *array.Int64:
		return func(row int) (int64, bool) { return a.Value(row), true }
	case *array.Uint8:
		return func(row int) (int64, bool) { return int64(a.Value(row)), true }
	case *array.Uint16:
		return func(row int) (int64, bool) { return int64(a.Value(row)), true }
	case *array.Uint32:
		return func(row int) (int64, bool) { return int64(a.Value(row)), true }
	case *array.Uint64:
		return func(row int) (int64, bool) { return int64(a.Value(row)), a.Value(row) <= math.MaxInt64 }
	}
	return nil
}

// daysOf reads an array of dates as days.
func daysOf(a arrow.Array) func(row int) (int64, bool) {
	switch a := a.(type) {
	case *array.Date32:
		return func(row int) (int64, bool) { return int64(a.Value(row)), true }
	case *array.Date64:
		return func(row int) (int64, bool) {
			const millisPerDay = secondsPerDay * 1000
			v := int64(a.Value(row))
			return v / millisPerDay, v%millisPerDay == 0
		}
	}
	return nil
}

// midnightsOf reads an array of dates as the microseconds at which they begin.
func midnightsOf(a arrow.Array) func(row int) (int64, bool) {
	days := daysOf(a)
	if days == nil {
		return nil
	}
	return func(row int) (int64, bool) {
		const most = maxSeconds / secondsPerDay
		d, ok := days(row)
		return d * secondsPerDay * microsPerSecond, ok && -most <= d && d <= most
	}
}

// microsOf reads an array of timestamps as microseconds, cut towards the past.
func microsOf(a arrow.Array) func(row int) (int64, bool) {
	timestamps, ok := a.(*array.Timestamp)
	if !ok {
		return nil
	}
	times, divided := int64(1), int64(1)
	switch timestamps.DataType().(*arrow.TimestampType).Unit {
	case arrow.Second:
		times = 1_000_000
	case arrow.Millisecond:
		times = 1000
	case arrow.Nanosecond:
		divided = 1000
	}
	return func(row int) (int64, bool) {
		v := int64(timestamps.Value(row))
		return civil.FloorDiv(v, divided) * times, math.MinInt64/times <= v && v <= math.MaxInt64/times
	}
}

func (c *column) floatSetter(a arrow.Array) func(row int, s side) {
	var read func(row int) (float64, bool)
	switch a := a.(type) {
	case *array.Float32:
		read = func(row int) (float64, bool) { return float64(a.Value(row)), true }
	case *array.Float64:
		read = func(row int) (float64, bool) { return a.Value(row), true }
	default: // of a column that was of an integral type
		integers := integersOf(a)
		if integers == nil {
			return nil
		}
		read = func(row int) (float64, bool) {
			v, ok := integers(row)
			return float64(v), ok && -1<<53 <= v && v <= 1<<53
		}
	}
	isFloat := c.demand.Column.Type.Kind == schema.Float
	return func(row int, s side) {
		v, ok := read(row)
		if !ok {
			return
		}
		// The float nearest to a bound bounds every float that the bound does. And a double may be the reading of a text
		// that was printed from a float, see readFloat.
		lo, hi, nearest := v, v, float64(float32(v))
		switch {
		case isFloat:
			lo, hi = nearest, nearest
		case c.maybeFloat && !math.IsInf(nearest, 0):
			lo, hi = min(v, nearest), max(v, nearest)
		}
		c.setSide(row, s, int64(math.Float64bits(lo)), int64(math.Float64bits(hi)))
	}
}

func (c *column) decimalSetter(a arrow.Array) func(row int, s side) {
	scale := int32(c.demand.Column.Type.Scale)
	var read func(row int) *big.Int
	switch a := a.(type) {
	case *array.Decimal128:
		if a.DataType().(arrow.DecimalType).GetScale() == scale {
			return func(row int, s side) { c.setDecimal(row, s, a.Value(row), a.Value(row)) }
		}
		read = func(row int) *big.Int { return a.Value(row).BigInt() }
	case *array.Decimal256:
		read = func(row int) *big.Int { return a.Value(row).BigInt() }
	case *array.Decimal64:
		read = func(row int) *big.Int { return big.NewInt(int64(a.Value(row))) }
	case *array.Decimal32:
		read = func(row int) *big.Int { return big.NewInt(int64(a.Value(row))) }
	default: // of a column that was of an integral type
		integers := integersOf(a)
		if integers == nil {
			return nil
		}
		read = func(row int) *big.Int {
			v, ok := integers(row)
			if !ok {
				return nil
			}
			return big.NewInt(v)
		}
	}
	shift := int64(scale)
	if t, ok := a.DataType().(arrow.DecimalType); ok {
		shift -= int64(t.GetScale())
	}
	if shift > 38 || shift < -76 {
		return nil
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(shift, -shift)), nil)
	return func(row int, s side) {
		v := read(row)
		if v == nil {
			return
		}
		lo, hi := v, v
		if shift >= 0 {
			lo = new(big.Int).Mul(v, unit)
			hi = lo
		} else {
			floor, rest := new(big.Int).DivMod(v, unit, new(big.Int))
			if lo, hi = floor, floor; rest.Sign() != 0 {
				hi = new(big.Int).Add(floor, big.NewInt(1))
			}
		}
		if lo.BitLen() < 127 && hi.BitLen() < 127 {
			c.setDecimal(row, s, decimal128.FromBigInt(lo), decimal128.FromBigInt(hi))
		}
	}
}

func (c *column) textSetter(a arrow.Array) func(row int, s side) {
	if !isText(a.DataType()) {
		return nil
	}
	isString := c.demand.Column.Type.Kind == schema.String
	return func(row int, s side) {
		value := asBytes(textAt(a, row))
		if isString && !utf8.Valid(value) {
			return
		}
		if c.exact {
			value = padded(value, c.demand.Column)
			if isString && len(value) == 0 {
				c.cell(row).known |= maybeNull // see setPartition
			}
		}
		c.setText(row, s, value)
	}
}
