package predicate

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/internal/civil"
	"github.com/deltaskip/deltaskip/schema"
)

func (env *Env) zone() *time.Location {
	if env == nil || env.Zone == nil {
		return time.UTC
	}
	return env.Zone
}

// castAllowed says whether Spark's ANSI mode has a cast between two types at all (Cast.canAnsiCast). The error is a
// [*BindError].
func castAllowed(from, to schema.Type) error {
	f, t := from.Kind, to.Kind
	ok := false
	switch {
	case f == schema.Void || f == schema.Invalid || f == schema.Variant || f == schema.Unknown || t == schema.Unknown || from.Equal(to):
		ok = true
	case t == schema.String:
		ok = true
	case f == schema.String:
		ok = t <= schema.TimestampNTZ || t == schema.Interval || t == schema.Variant
	case numeric(f):
		ok = numeric(t) || t == schema.Boolean || t == schema.Timestamp || t == schema.Interval
	case f == schema.Boolean:
		ok = numeric(t)
	case f == schema.Date, f == schema.TimestampNTZ:
		ok = datetime(t)
	case f == schema.Timestamp:
		ok = datetime(t) || numeric(t)
	case f == schema.Interval:
		ok = t == schema.Interval || numeric(t)
	case f == t: // nested types cast by their parts, which are not looked at
		ok = true
	}
	if t == schema.Variant && f <= schema.TimestampNTZ {
		ok = true
	}
	if ok {
		return nil
	}
	class := "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"
	switch {
	case f == schema.Date && numeric(t), numeric(f) && t == schema.Date:
		class = "DATATYPE_MISMATCH.CAST_WITH_FUNC_SUGGESTION"
	case integral(f) && t == schema.Binary, f == schema.Boolean && t == schema.Timestamp,
		(f == schema.Timestamp || f == schema.Date) && t == schema.Boolean:
		class = "DATATYPE_MISMATCH.CAST_WITH_CONF_SUGGESTION"
	}
	return bindError(class, "a %s cannot be cast to %s", from, to)
}

// CastValue casts a value as Spark's ANSI mode does; env's zone is that of dates, timestamps and their texts. An error is an
// [*EvalError], or an [*UnsupportedError] for types that are not evaluated.
func CastValue(v Value, to schema.Type, env *Env) (Value, error) {
	from := v.Type
	if v.Null {
		return NullOf(to), nil
	}
	if from == to {
		return v, nil
	}
	switch to.Kind {
	case schema.Boolean:
		return castToBoolean(v)
	case schema.Byte, schema.Short, schema.Integer, schema.Long:
		return castToIntegral(v, to)
	case schema.Float, schema.Double:
		return castToFloat(v, to)
	case schema.Decimal:
		return castToDecimal(v, to)
	case schema.String:
		text, err := castToString(v, env)
		return Value{Type: to, S: text}, err
	case schema.Binary:
		if from.Kind == schema.String {
			return Value{Type: to, S: v.S}, nil
		}
	case schema.Date, schema.Timestamp, schema.TimestampNTZ:
		return castToDatetime(v, to, env)
	case schema.Interval:
		// Only to more units: fewer would cut, and Spark says what when it does.
		if wider, ok := widerInterval(from, to); ok && wider.Equal(to) {
			return Value{Type: wider, I: v.I}, nil
		}
	}
	return Value{}, &UnsupportedError{Reason: fmt.Sprintf("casts from %s to %s are not evaluated", from, to)}
}

func castInvalid(v Value, to schema.Type) error {
	return &EvalError{Class: "CAST_INVALID_INPUT", Message: fmt.Sprintf("%s cannot be cast to %s: it is malformed", v.SQL(), to)}
}

func castOverflow(v Value, to schema.Type) error {
	return &EvalError{Class: "CAST_OVERFLOW", Message: fmt.Sprintf("%s cannot be cast to %s: it is out of range", v.SQL(), to)}
}

func decimalOverflow(what string, to schema.Type) error {
	return &EvalError{Class: "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION", Message: fmt.Sprintf("%s does not fit %s", what, to)}
}

func castUnsupported(v Value, to schema.Type) error {
	return &UnsupportedError{Reason: fmt.Sprintf("casts from %s to %s are not evaluated", v.Type, to)}
}

func castToBoolean(v Value) (Value, error) {
	switch k := v.Type.Kind; {
	case k == schema.String:
		switch strings.ToLower(trimAll(v.S)) {
		case "t", "true", "y", "yes", "1":
			return BoolOf(true), nil
		case "f", "false", "n", "no", "0":
			return BoolOf(false), nil
		}
		return Value{}, castInvalid(v, booleanType)
	case integral(k):
		return BoolOf(v.I != 0), nil
	case k == schema.Float || k == schema.Double:
		return BoolOf(v.F != 0), nil
	case k == schema.Decimal:
		return BoolOf(v.D.Sign() != 0), nil
	}
	return Value{}, castUnsupported(v, booleanType)
}

// integralBits is the width of an integral kind.
func integralBits(k schema.Kind) int {
	switch k {
	case schema.Byte:
		return 8
	case schema.Short:
		return 16
	case schema.Integer, schema.Date:
		return 32
	}
	return 64
}

// fitsBits says whether n is a signed integer of the given width.
func fitsBits(n int64, bits int) bool {
	shift := 64 - bits
	return n<<shift>>shift == n
}

func castToIntegral(v Value, to schema.Type) (Value, error) {
	width := integralBits(to.Kind)
	var n int64
	switch k := v.Type.Kind; {
	case k == schema.Boolean || integral(k):
		n = v.I
	case k == schema.String:
		text := trimAll(v.S)
		digits := strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-")
		parsed, err := strconv.ParseInt(text, 10, width)
		if err != nil || len(text)-len(digits) > 1 {
			return Value{}, castInvalid(v, to)
		}
		n = parsed
	case k == schema.Float || k == schema.Double:
		// Rounded towards zero; the bounds are exact in a double, except that of long, which is one above.
		limit := math.Ldexp(1, width-1)
		f := math.Trunc(v.F)
		switch {
		case f >= -limit && f < limit:
			n = int64(f)
		case width == 64 && f == limit:
			n = math.MaxInt64 // Spark compares with (double) Long.MaxValue, which is 2^63
		default:
			return Value{}, castOverflow(v, to)
		}
	case k == schema.Decimal:
		whole := new(big.Int).Quo(v.D.BigInt(), pow10(int(v.Type.Scale)))
		if !whole.IsInt64() {
			return Value{}, castOverflow(v, to)
		}
		n = whole.Int64()
	case k == schema.Timestamp:
		n = civil.FloorDiv(v.I, microsPerSecond)
	default:
		return Value{}, castUnsupported(v, to)
	}
	if !fitsBits(n, width) {
		return Value{}, castOverflow(v, to)
	}
	return Value{Type: to, I: n}, nil
}

func castToFloat(v Value, to schema.Type) (Value, error) {
	size := 64
	if to.Kind == schema.Float {
		size = 32
	}
	var f float64
	switch k := v.Type.Kind; {
	case k == schema.Boolean:
		f = float64(v.I)
	case integral(k):
		f = float64(v.I)
		if size == 32 {
			f = float64(float32(v.I)) // not by way of a double, which would round twice
		}
	case k == schema.Float || k == schema.Double:
		f = v.F
		if size == 32 {
			f = float64(float32(f))
		}
	case k == schema.Decimal:
		f = decimalToFloat(v.D, v.Type.Scale, size)
	case k == schema.Timestamp:
		f = float64(v.I) / microsPerSecond
		if size == 32 {
			f = float64(float32(f))
		}
	case k == schema.String:
		var ok bool
		if f, ok = parseFloat(v.S, size); !ok {
			return Value{}, castInvalid(v, to)
		}
	default:
		return Value{}, castUnsupported(v, to)
	}
	return Value{Type: to, F: f}, nil
}

// parseFloat reads a float as Java does, with Spark's words for infinity and NaN.
func parseFloat(s string, size int) (float64, bool) {
	s = trimAll(s)
	switch strings.ToLower(s) {
	case "inf", "+inf", "infinity", "+infinity":
		return math.Inf(1), true
	case "-inf", "-infinity":
		return math.Inf(-1), true
	case "nan":
		return math.NaN(), true
	}
	lower := strings.ToLower(s)
	hexadecimal := strings.Contains(lower, "x")
	if !hexadecimal || strings.Contains(lower, "p") {
		lower = strings.TrimSuffix(strings.TrimSuffix(lower, "d"), "f")
		if len(lower) < len(s)-1 {
			return 0, false // both suffixes
		}
	}
	// Go takes underscores, words and hexadecimal floats without an exponent; Java doesn't.
	if strings.Trim(lower, "0123456789+-.e") != "" && !hexadecimal || hexadecimal && !strings.Contains(lower, "p") || strings.Contains(lower, "_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(lower, size)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

func castToDecimal(v Value, to schema.Type) (Value, error) {
	var n *big.Int
	scale := 0
	switch k := v.Type.Kind; {
	case k == schema.Boolean || integral(k):
		n = big.NewInt(v.I)
	case k == schema.Decimal:
		n, scale = v.D.BigInt(), int(v.Type.Scale)
	case k == schema.Timestamp:
		n, scale = big.NewInt(v.I), 6
	case k == schema.Float || k == schema.Double:
		if math.IsNaN(v.F) || math.IsInf(v.F, 0) {
			return NullOf(to), nil // Spark's conversion finds no number and has no error for it
		}
		// By way of the shortest text that reads back, as Double.toString gives it.
		var ok bool
		if n, scale, ok = parseDecimal(strconv.FormatFloat(v.F, 'e', -1, 64)); !ok {
			return Value{}, decimalOverflow(v.SQL(), to)
		}
	case k == schema.String:
		var ok bool
		if n, scale, ok = parseDecimal(trimAll(v.S)); !ok {
			return Value{}, castInvalid(v, to)
		}
		if n.Sign() != 0 && decimalDigits(n)-scale > maxPrecision {
			return Value{}, &EvalError{Class: "NUMERIC_OUT_OF_SUPPORTED_RANGE", Message: v.SQL() + " has more than 38 digits"}
		}
	default:
		return Value{}, castUnsupported(v, to)
	}
	// A number with far more whole digits than any decimal has never fits; don't write it out.
	if n.Sign() != 0 && decimalDigits(n)-scale > maxPrecision {
		return Value{}, decimalOverflow(v.SQL(), to)
	}
	if n.Sign() == 0 || scale-decimalDigits(n) > maxPrecision {
		return Value{Type: to, D: decimal128.Num{}}, nil
	}
	out, ok := fitDecimal(n, scale, to)
	if !ok {
		return Value{}, decimalOverflow(v.SQL(), to)
	}
	return out, nil
}

// parseDecimal reads digits with an optional sign, point and exponent as java.math.BigDecimal does: the number is
// n / 10^scale.
func parseDecimal(s string) (n *big.Int, scale int, ok bool) {
	mantissa := s
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exponent, err := strconv.ParseInt(s[i+1:], 10, 32)
		if err != nil {
			return nil, 0, false
		}
		mantissa, scale = s[:i], -int(exponent)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole, "+-")
	if len(whole)-len(digits) > 1 || digits == "" && fraction == "" || strings.Trim(digits+fraction, "0123456789") != "" {
		return nil, 0, false
	}
	if len(mantissa) > 4096 {
		return nil, 0, false // no number that anybody writes, and reading it is quadratic
	}
	n, ok = new(big.Int).SetString(whole[:len(whole)-len(digits)]+digits+fraction, 10)
	return n, scale + len(fraction), ok
}

func castToString(v Value, env *Env) (string, error) {
	switch v.Type.Kind {
	case schema.Boolean:
		return strconv.FormatBool(v.I != 0), nil
	case schema.Byte, schema.Short, schema.Integer, schema.Long:
		return strconv.FormatInt(v.I, 10), nil
	case schema.Float, schema.Double:
		size := 64
		if v.Type.Kind == schema.Float {
			size = 32
		}
		if text := formatFloat(v.F, size); !javaDependent(v.F, text, size) {
			return text, nil
		}
		return "", &UnsupportedError{Reason: "the text of " + v.SQL() + " depends on the version of Java"}
	case schema.Decimal:
		return formatDecimal(v.D, v.Type.Scale), nil
	case schema.String, schema.Binary:
		return v.S, nil
	case schema.Date:
		return formatDate(v.I), nil
	case schema.Timestamp:
		return formatTimestamp(v.I, env.zone()), nil
	case schema.TimestampNTZ:
		return formatTimestamp(v.I, nil), nil
	case schema.Interval:
		return formatInterval(v), nil
	}
	return "", castUnsupported(v, stringType)
}

// formatFloat writes a float as Java's toString does: at least one digit after the point, and an exponent below 0.001
// and from 10000000 on.
func formatFloat(f float64, size int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0:
		if math.Signbit(f) {
			return "-0.0"
		}
		return "0.0"
	}
	if a := math.Abs(f); a >= 1e-3 && a < 1e7 {
		text := strconv.FormatFloat(f, 'f', -1, size)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, size), "E")
	if !strings.Contains(mantissa, ".") {
		// Java writes two digits, and the nearest two: 4.9E-324 where 5E-324 would do.
		text := strconv.FormatFloat(f, 'E', 1, size)
		if nearest, err := strconv.ParseFloat(text, size); err == nil && nearest == f {
			mantissa, exponent, _ = strings.Cut(text, "E")
		} else {
			mantissa += ".0"
		}
	}
	sign := ""
	if exponent[0] == '-' {
		sign = "-"
	}
	return mantissa + "E" + sign + strings.TrimLeft(exponent[1:], "0")
}

// javaDependent says whether a Java before 19 may write more digits than are needed (JDK-4511638): of powers of two and of whole
// numbers too large for the type to count one by one, unless the text is exact and the number fits a long.
func javaDependent(f float64, text string, size int) bool {
	if !strings.Contains(text, "E") {
		return false
	}
	mantissa, _ := math.Frexp(math.Abs(f))
	whole := f == math.Trunc(f) && (size == 32 || math.Abs(f) >= 1<<53)
	if mantissa != 0.5 && !whole {
		return false
	}
	exact, ok := new(big.Rat).SetString(text)
	return !ok || math.Abs(f) >= 1<<63 || exact.Cmp(new(big.Rat).SetFloat64(f)) != 0
}

func castToDatetime(v Value, to schema.Type, env *Env) (Value, error) {
	zone := env.zone()
	out := Value{Type: to}
	switch v.Type.Kind {
	case schema.String:
		if isSpecialDatetime(v.S) {
			return specialDatetime(v.S, to, env)
		}
		ok := false
		switch to.Kind {
		case schema.Date:
			out.I, ok = parseDate(v.S)
		case schema.Timestamp:
			if out.I, ok = parseTimestamp(v.S, zone); !ok && isTimeAlone(v.S) {
				return Value{}, &UnsupportedError{Reason: "a time without a date is of the day of evaluation"}
			}
		case schema.TimestampNTZ:
			out.I, _, ok = parseTimestampNTZ(v.S)
		}
		if !ok {
			return Value{}, castInvalid(v, to)
		}
		return out, nil
	case schema.Date:
		local, ok := mulAdd(v.I, microsPerDay, 0)
		if !ok {
			return Value{}, castOverflow(v, to)
		}
		if out.I = local; to.Kind == schema.Timestamp {
			out.I = instantMicros(local, zone)
		}
		return out, nil
	case schema.Timestamp, schema.TimestampNTZ:
		local := v.I
		if v.Type.Kind == schema.Timestamp {
			local = localMicros(v.I, zone)
		}
		switch to.Kind {
		case schema.Date:
			out.I = civil.FloorDiv(local, microsPerDay)
		case schema.Timestamp:
			out.I = instantMicros(local, zone)
		default:
			out.I = local
		}
		return out, nil
	}
	if to.Kind != schema.Timestamp {
		return Value{}, castUnsupported(v, to)
	}
	switch k := v.Type.Kind; {
	case integral(k):
		// java.util.concurrent.TimeUnit.SECONDS.toMicros saturates.
		if micros, ok := mulAdd(v.I, microsPerSecond, 0); ok {
			out.I = micros
		} else if out.I = math.MaxInt64; v.I < 0 {
			out.I = math.MinInt64
		}
		return out, nil
	case k == schema.Float || k == schema.Double:
		micros := v.F * microsPerSecond
		switch {
		case math.IsNaN(v.F) || math.IsInf(v.F, 0):
			return Value{}, castInvalid(v, to)
		case micros >= math.MaxInt64 || micros < math.MinInt64:
			return Value{}, castOverflow(v, to)
		default:
			out.I = int64(micros)
		}
		return out, nil
	case k == schema.Decimal:
		n := v.D.BigInt()
		n.Mul(n, pow10(6)).Quo(n, pow10(int(v.Type.Scale)))
		if !n.IsInt64() {
			return Value{}, castOverflow(v, to)
		}
		out.I = n.Int64()
		return out, nil
	}
	return Value{}, castUnsupported(v, to)
}

// specialDatetime reads 'today' and its like, which Spark replaces while optimising a constant cast.
func specialDatetime(s string, to schema.Type, env *Env) (Value, error) {
	word := strings.ToLower(trimAll(s))
	if word != "epoch" && (env == nil || env.Now.IsZero()) {
		return Value{}, &UnsupportedError{Reason: fmt.Sprintf("%q depends on the time of evaluation", word)}
	}
	zone := env.zone()
	local := int64(0) // the wall clock
	if word != "epoch" {
		local = localMicros(env.Now.UnixMicro(), zone)
	}
	today := civil.FloorDiv(local, microsPerDay)
	switch word {
	case "today":
		local = today * microsPerDay
	case "tomorrow":
		local = (today + 1) * microsPerDay
	case "yesterday":
		local = (today - 1) * microsPerDay
	}
	out := Value{Type: to, I: local}
	switch {
	case to.Kind == schema.Date:
		out.I = civil.FloorDiv(local, microsPerDay)
	case to.Kind == schema.Timestamp && word == "epoch":
		out.I = 0
	case to.Kind == schema.Timestamp && word == "now":
		out.I = env.Now.UnixMicro()
	case to.Kind == schema.Timestamp:
		out.I = instantMicros(local, zone)
	}
	return out, nil
}
