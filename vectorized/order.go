package vectorized

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// An ordinal numbers the values of a type in Spark's order, densely: neighbours differ by one. It is an unsigned 128-bit
// number. Strings have no ordinals, since between two of them lie infinitely many.
type ordinal struct{ hi, lo uint64 }

func (a ordinal) less(b ordinal) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

func (a ordinal) next() ordinal {
	lo, carry := bits.Add64(a.lo, 1, 0)
	return ordinal{a.hi + carry, lo}
}

func (a ordinal) prev() ordinal {
	lo, borrow := bits.Sub64(a.lo, 1, 0)
	return ordinal{a.hi - borrow, lo}
}

// middle returns the ordinal halfway from a to b, rounded down; a <= b.
func (a ordinal) middle(b ordinal) ordinal {
	lo, borrow := bits.Sub64(b.lo, a.lo, 0)
	hi, _ := bits.Sub64(b.hi, a.hi, borrow)
	lo, hi = lo>>1|hi<<63, hi>>1
	lo, carry := bits.Add64(a.lo, lo, 0)
	return ordinal{a.hi + hi + carry, lo}
}

const signBit = 1 << 63

func ordinalOfInt(i int64) ordinal { return ordinal{0, uint64(i) ^ signBit} }

func ordinalOfDecimal(d decimal128.Num) ordinal {
	return ordinal{uint64(d.HighBits()) ^ signBit, d.LowBits()}
}

// Floats: positive numbers count up from signBit, negative ones down from it, so that both zeros are signBit itself, and
// the one NaN follows +Inf.
func ordinalOfFloat(k schema.Kind, f float64) ordinal {
	var b, sign, inf uint64
	if k == schema.Float {
		b, sign, inf = uint64(math.Float32bits(float32(f))), 1<<31, 0x7f80_0000
	} else {
		b, sign, inf = math.Float64bits(f), signBit, 0x7ff0_0000_0000_0000
	}
	switch {
	case math.IsNaN(f):
		return ordinal{0, signBit + inf + 1}
	case b&sign != 0:
		return ordinal{0, signBit - b&^sign}
	}
	return ordinal{0, signBit + b}
}

func floatOfOrdinal(k schema.Kind, o ordinal) float64 {
	negative, magnitude := o.lo < signBit, o.lo-signBit
	if negative {
		magnitude = signBit - o.lo
	}
	f := math.Float64frombits(magnitude) // past +Inf every pattern is a NaN
	if k == schema.Float {
		f = float64(math.Float32frombits(uint32(magnitude)))
	}
	if negative {
		return -f
	}
	return f
}

// A domain is the ordered set of the values of a type. Only types with usable bounds have one.
type domain struct {
	t         schema.Type
	least     predicate.Value
	most      predicate.Value // not of text, which has no greatest value
	unordered bool            // the type's values are not compared: no cuts, no segments
}

func domainOf(t schema.Type) domain {
	d := domain{t: t}
	between := func(least, most int64) domain {
		d.least, d.most = predicate.Value{Type: t, I: least}, predicate.Value{Type: t, I: most}
		return d
	}
	switch t.Kind {
	case schema.Boolean:
		return between(0, 1)
	case schema.Byte:
		return between(math.MinInt8, math.MaxInt8)
	case schema.Short:
		return between(math.MinInt16, math.MaxInt16)
	case schema.Integer, schema.Date:
		return between(math.MinInt32, math.MaxInt32)
	case schema.Long, schema.Timestamp, schema.TimestampNTZ:
		return between(math.MinInt64, math.MaxInt64)
	case schema.Float, schema.Double:
		d.least, d.most = predicate.Value{Type: t, F: math.Inf(-1)}, predicate.Value{Type: t, F: math.NaN()}
		return d
	case schema.Decimal:
		most := decimal128.GetMaxValue(int32(t.Precision))
		d.least, d.most = predicate.Value{Type: t, D: most.Negate()}, predicate.Value{Type: t, D: most}
		return d
	case schema.String, schema.Binary:
		if t.Collation == "" {
			d.least = predicate.Value{Type: t}
			return d
		}
	}
	d.unordered = true
	return d
}

// text reports a domain without ordinals and without a greatest value: strings and binaries.
func (d domain) text() bool { return d.t.Kind == schema.String || d.t.Kind == schema.Binary }

func isFloat(t schema.Type) bool { return t.Kind == schema.Float || t.Kind == schema.Double }

// ordinal numbers a value of the domain; the domain is not text.
func (d domain) ordinal(v predicate.Value) ordinal {
	switch d.t.Kind {
	case schema.Float, schema.Double:
		return ordinalOfFloat(d.t.Kind, v.F)
	case schema.Decimal:
		return ordinalOfDecimal(v.D)
	}
	return ordinalOfInt(v.I)
}

// value is the inverse of ordinal.
func (d domain) value(o ordinal) predicate.Value {
	v := predicate.Value{Type: d.t}
	switch d.t.Kind {
	case schema.Float, schema.Double:
		v.F = floatOfOrdinal(d.t.Kind, o)
	case schema.Decimal:
		v.D = decimal128.New(int64(o.hi^signBit), o.lo)
	default:
		v.I = int64(o.lo ^ signBit)
	}
	return v
}

// after returns the least value that is greater than v, if there is one.
func (d domain) after(v predicate.Value) (predicate.Value, bool) {
	if d.text() {
		v.S += "\x00"
		return v, true
	}
	if v.Compare(d.most) >= 0 {
		return v, false
	}
	return d.value(d.ordinal(v).next()), true
}

// afterPrefix returns the least string that is greater than all strings that start with p, if there is one.
func afterPrefix(p string) (string, bool) {
	for n := len(p); n > 0; n-- {
		if p[n-1] < 0xff {
			return p[:n-1] + string([]byte{p[n-1] + 1}), true
		}
	}
	return "", false
}
