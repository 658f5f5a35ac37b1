package predicate

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/deltaskip/deltaskip/schema"
)

var mathAliases = map[string]string{
	"ceiling": "ceil", "signum": "sign", "power": "pow",
	"<<": "shiftleft", ">>": "shiftright", ">>>": "shiftrightunsigned", "getbit": "bit_get",
}

var mathFunctions = []Function{
	{Name: "abs", NullIn: true, Resolve: signature(asFirst, 0, aNumber), Eval: func(env *Env, a []Value, t schema.Type) (Value, error) {
		if v := a[0]; v.I < 0 || v.F < 0 || v.D.Sign() < 0 {
			return negative(env, a, t)
		}
		return Value{Type: t, I: a[0].I, F: math.Abs(a[0].F), D: a[0].D}, nil
	}},
	{Name: "negative", NullIn: true, Resolve: signature(asFirst, 0, aNumber), Eval: negative, Monotonic: moves(NonIncreasing)},
	{Name: "positive", NullIn: true, Resolve: signature(asFirst, 0, aNumber), Eval: pure(func(a []Value) Value { return a[0] }), Monotonic: moves(NonDecreasing)},
	{Name: "sign", NullIn: true, Resolve: signature(toDouble, 0, aDouble), Eval: onDouble(func(x float64) float64 {
		if x == 0 || math.IsNaN(x) {
			return x
		}
		return math.Copysign(1, x)
	}), Monotonic: moves(NonDecreasing)},

	{Name: "ceil", NullIn: true, Resolve: resolveFloor, Eval: toWhole(math.Ceil, up), Monotonic: moves(NonDecreasing)},
	{Name: "floor", NullIn: true, Resolve: resolveFloor, Eval: toWhole(math.Floor, down), Monotonic: moves(NonDecreasing)},
	{Name: "round", NullIn: true, Resolve: resolveRound, Eval: round(halfUp), Monotonic: moves(NonDecreasing)},
	{Name: "bround", NullIn: true, Resolve: resolveRound, Eval: round(halfEven), Monotonic: moves(NonDecreasing)},
	{Name: "rint", NullIn: true, Resolve: signature(toDouble, 0, aDouble), Eval: onDouble(math.RoundToEven), Monotonic: moves(NonDecreasing)},

	{Name: "sqrt", NullIn: true, Resolve: signature(toDouble, 0, aDouble), Eval: onDouble(math.Sqrt)},
	{Name: "cbrt", NullIn: true, Resolve: signature(toDouble, 0, aDouble), Eval: onDouble(math.Cbrt), Inexact: true},
	{Name: "exp", NullIn: true, Resolve: signature(toDouble, 0, aDouble), Eval: onDouble(exp), Inexact: true},
	{Name: "expm1", NullIn: true, Resolve: signature(toDouble, 0, aDouble), Eval: onDouble(math.Expm1), Inexact: true},
	{Name: "ln", NullIn: true, Resolve: signature(toDouble, 0, aDouble), Eval: logarithm(log, 0), Inexact: true},
	{Name: "log10", NullIn: true, Resolve: signature(toDouble, 0, aDouble), Eval: logarithm(func(x float64) float64 { return log(x) / math.Ln10 }, 0), Inexact: true},
	{Name: "log2", NullIn: true, Resolve: signature(toDouble, 0, aDouble), Eval: logarithm(func(x float64) float64 { return log(x) / math.Ln2 }, 0), Inexact: true},
	{Name: "log1p", NullIn: true, Resolve: signature(toDouble, 0, aDouble), Eval: logarithm(math.Log1p, -1), Inexact: true},
	{Name: "log", NullIn: true, Resolve: signature(toDouble, 1, aDouble, aDouble), Eval: func(env *Env, a []Value, t schema.Type) (Value, error) {
		if len(a) == 1 {
			return logarithm(log, 0)(env, a, t)
		}
		if a[0].F <= 0 || a[1].F <= 0 {
			return NullOf(t), nil
		}
		return FloatOf(schema.Double, log(a[1].F)/log(a[0].F)), nil
	}, Inexact: true},
	{Name: "pow", NullIn: true, Resolve: signature(toDouble, 0, aDouble, aDouble), Eval: pure(func(a []Value) Value {
		return FloatOf(schema.Double, pow(a[0].F, a[1].F))
	}), Inexact: true},
	{Name: "pi", Resolve: signature(toDouble, 0), Eval: pure(func([]Value) Value { return FloatOf(schema.Double, math.Pi) })},
	{Name: "e", Resolve: signature(toDouble, 0), Eval: pure(func([]Value) Value { return FloatOf(schema.Double, math.E) })},
	{Name: "factorial", NullIn: true, Resolve: signature(toLong, 0, anInteger), Eval: pure(func(a []Value) Value {
		n := a[0].I
		if n < 0 || n > 20 {
			return NullOf(schema.Type{Kind: schema.Long})
		}
		return IntOf(schema.Long, new(big.Int).MulRange(1, n).Int64())
	})},
	{Name: "width_bucket", NullIn: true, Resolve: signature(toLong, 0, aDouble, aDouble, aDouble, aLong), Eval: pure(widthBucket), Monotonic: func(args []Expr) Direction {
		low, _ := literalAt(args, 1)
		high, _ := literalAt(args, 2)
		switch {
		case low.Type.Kind != schema.Double || high.Type.Kind != schema.Double || !isLiteral(args[3]):
			return Unordered
		case low.F < high.F:
			return NonDecreasing
		case low.F > high.F:
			return NonIncreasing
		}
		return Unordered
	}},

	{Name: "pmod", NullIn: true, Resolve: resolvePmod, Eval: pmod},
	{Name: "greatest", Resolve: resolveExtreme, Eval: extreme(1), Monotonic: rising},
	{Name: "least", Resolve: resolveExtreme, Eval: extreme(-1), Monotonic: rising},

	{Name: "isnan", Resolve: signature(toBoolean, 0, oneOf(schema.Double, schema.Float)), Eval: pure(func(a []Value) Value {
		return BoolOf(!a[0].Null && math.IsNaN(a[0].F))
	})},
	{Name: "nanvl", Resolve: resolveNanvl, Eval: pure(func(a []Value) Value {
		if !a[0].Null && math.IsNaN(a[0].F) {
			return a[1]
		}
		return a[0]
	})},

	{Name: "&", NullIn: true, Resolve: resolveBits, Eval: onBits(func(a, b int64) int64 { return a & b })},
	{Name: "|", NullIn: true, Resolve: resolveBits, Eval: onBits(func(a, b int64) int64 { return a | b })},
	{Name: "^", NullIn: true, Resolve: resolveBits, Eval: onBits(func(a, b int64) int64 { return a ^ b })},
	{Name: "~", NullIn: true, Resolve: signature(asFirst, 0, anIntegral), Eval: pure(func(a []Value) Value {
		return Value{Type: a[0].Type, I: ^a[0].I}
	}), Monotonic: moves(NonIncreasing)},
	{Name: "shiftleft", NullIn: true, Resolve: signature(asFirst, 0, anIntegerOrLong, anInteger), Eval: shift(
		func(i int64, n uint) int64 { return i << n }, func(i int32, n uint) int32 { return i << n })},
	{Name: "shiftright", NullIn: true, Resolve: signature(asFirst, 0, anIntegerOrLong, anInteger), Eval: shift(
		func(i int64, n uint) int64 { return i >> n }, func(i int32, n uint) int32 { return i >> n }), Monotonic: moves(NonDecreasing)},
	{Name: "shiftrightunsigned", NullIn: true, Resolve: signature(asFirst, 0, anIntegerOrLong, anInteger), Eval: shift(
		func(i int64, n uint) int64 { return int64(uint64(i) >> n) }, func(i int32, n uint) int32 { return int32(uint32(i) >> n) })},
	{Name: "bit_count", NullIn: true, Resolve: signature(toInteger, 0, only(schema.Integer, schema.Byte, schema.Short, schema.Long, schema.Boolean)), Eval: pure(func(a []Value) Value {
		return integer(bits.OnesCount64(uint64(a[0].I)))
	})},
	{Name: "bit_get", NullIn: true, Resolve: signature(always(schema.Byte), 0, anIntegral, anInteger), Eval: func(_ *Env, a []Value, t schema.Type) (Value, error) {
		if a[1].I < 0 || a[1].I >= 8*sizeOf(a[0].Type.Kind) {
			return Value{}, &EvalError{Class: "INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE", Message: "there is no bit " + strconv.FormatInt(a[1].I, 10)}
		}
		return Value{Type: t, I: a[0].I >> a[1].I & 1}, nil
	}},
}

// Parameters of numbers.
var (
	aDouble         = exactly(schema.Double)
	toDouble        = always(schema.Double)
	anIntegerOrLong = oneOf(schema.Integer, schema.Long)
	anIntegral      = only(schema.Integer, schema.Byte, schema.Short, schema.Long)
)

// aNumber takes numbers as they are, and what else there is as a double.
func aNumber(t schema.Type) (schema.Type, bool) {
	if numeric(t.Kind) {
		return t, true
	}
	return doubleType, t.Kind == schema.String || t.Kind == schema.Void
}

// aDecimal casts numbers to the decimals that hold their kind.
func aDecimal(t schema.Type) (schema.Type, bool) {
	switch t.Kind {
	case schema.Decimal:
		return t, true
	case schema.Byte, schema.Short, schema.Integer, schema.Long:
		return decimalOfKind(t.Kind), true
	case schema.Float:
		return decimalType(14, 7), true
	case schema.Double:
		return decimalType(30, 15), true
	case schema.String:
		return decimalType(38, 18), true
	}
	return decimalType(38, 18), t.Kind == schema.Void
}

func sizeOf(k schema.Kind) int64 { // in bytes, of an integral kind
	return 1 << (k - schema.Byte)
}

func onDouble(f func(float64) float64) evalFunc {
	return pure(func(a []Value) Value { return FloatOf(schema.Double, f(a[0].F)) })
}

// logarithm is NULL at and below the pole. It is not for math.Log2 and math.Log10, which lose digits next to 1.
func logarithm(f func(float64) float64, pole float64) evalFunc {
	return pure(func(a []Value) Value {
		if a[0].F <= pole {
			return NullOf(doubleType)
		}
		return FloatOf(schema.Double, f(a[0].F))
	})
}

func overflow(what string) error {
	return &EvalError{Class: "ARITHMETIC_OVERFLOW", Message: what + " exceeds its type"}
}

func negative(_ *Env, a []Value, t schema.Type) (Value, error) {
	v := a[0]
	if integral(t.Kind) && v.I == math.MinInt64>>(64-8*sizeOf(t.Kind)) {
		return Value{}, overflow("the negation of " + strconv.FormatInt(v.I, 10))
	}
	if t.Kind == schema.Decimal && v.D.BigInt().CmpAbs(pow10(34)) >= 0 {
		// Scala's unary minus rounds to the 34 digits of its default context.
		return Value{}, &UnsupportedError{Reason: "the negation of a decimal of more than 34 digits"}
	}
	return Value{Type: t, I: -v.I, F: -v.F, D: v.D.Negate()}, nil
}

// exp and log are those of math where these keep their word: on some machines math.Exp overflows too early, and math.Log
// takes subnormal numbers for others.

func exp(x float64) float64 {
	if math.Abs(x) > 700 {
		half := math.Exp(x / 2)
		return half * half
	}
	return math.Exp(x)
}

func log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// pow is Java's, which finds NaN where others find 1. It stays within the error that Inexact allows: math.Pow multiplies
// errors with a large exponent.
func pow(x, y float64) float64 {
	switch whole := y == math.Trunc(y); {
	case math.IsNaN(y), math.IsInf(y, 0) && math.Abs(x) == 1:
		return math.NaN()
	case math.Abs(y) <= 1024, x == 0, math.IsInf(x, 0), math.IsInf(y, 0), x < 0 && !whole:
		return math.Pow(x, y)
	}
	power := exp(y * log(math.Abs(x)))
	if x < 0 && math.Mod(y, 2) != 0 {
		return -power
	}
	return power
}

// A rounding says whether the quotient of a division that left a rest is moved away from zero. half compares the rest
// with half the divisor.
type rounding func(negative bool, quotient *big.Int, half int) bool

func up(negative bool, _ *big.Int, _ int) bool   { return !negative }
func down(negative bool, _ *big.Int, _ int) bool { return negative }
func halfUp(_ bool, _ *big.Int, half int) bool   { return half >= 0 }
func halfEven(_ bool, quotient *big.Int, half int) bool {
	return half > 0 || half == 0 && quotient.Bit(0) == 1
}

// roundTo divides n by 10 to the digits, digits from 0.
func roundTo(n *big.Int, digits int, mode rounding) *big.Int {
	divisor := pow10(digits)
	quotient, rest := new(big.Int).QuoRem(n, divisor, new(big.Int))
	if rest.Sign() == 0 {
		return quotient
	}
	half := rest.Lsh(rest, 1).CmpAbs(divisor)
	if mode(n.Sign() < 0, quotient, half) {
		quotient.Add(quotient, big.NewInt(int64(n.Sign())))
	}
	return quotient
}

// resolveFloor types ceil and floor: whole numbers of a number, or decimals when a scale is given.
func resolveFloor(args []Expr) ([]schema.Type, schema.Type, error) {
	if len(args) > 1 {
		if isNullLiteral(args[1]) {
			return nil, schema.Type{}, &BindError{Class: "NON_FOLDABLE_ARGUMENT", Message: "the scale must be an integer constant"}
		}
		return resolveScale(aDecimal, args)
	}
	types, err := resolveParams(args, 1, []param{oneOf(schema.Double, schema.Decimal, schema.Long)})
	if err != nil {
		return nil, schema.Type{}, err
	}
	t := types[0]
	switch {
	case t.Kind != schema.Decimal:
		return types, longType, nil
	case t.Scale == 0:
		return types, t, nil
	}
	return types, decimalType(min(int(t.Precision-t.Scale)+1, maxPrecision), 0), nil
}

// resolveRound types round and bround.
func resolveRound(args []Expr) ([]schema.Type, schema.Type, error) {
	return resolveScale(aNumber, args)
}

// resolveScale types the rounding of a number to a scale that is a constant (RoundBase.dataType).
func resolveScale(number param, args []Expr) ([]schema.Type, schema.Type, error) {
	types, err := resolveParams(args, 1, []param{number, anInteger})
	if err != nil {
		return nil, schema.Type{}, err
	}
	t := types[0]
	if len(args) > 1 && !isLiteral(args[1]) {
		return nil, t, &BindError{Class: "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", Message: "the scale must be a constant"}
	}
	if t.Kind != schema.Decimal {
		return types, t, nil
	}
	scale := 0
	if v, ok := literalAt(args, 1); ok {
		if v, err = CastValue(v, schema.Type{Kind: schema.Integer}, nil); err != nil {
			return nil, t, &UnsupportedError{Reason: "a scale that is no integer"}
		}
		scale = int(max(min(v.I, maxPrecision), -maxPrecision))
	}
	// Rounding may need one more digit before the point: 9.9 becomes 10.
	whole := int(t.Precision-t.Scale) + 1
	if scale < 0 {
		return types, decimalType(min(max(whole, 1-scale), maxPrecision), 0), nil
	}
	scale = min(scale, int(t.Scale))
	return types, decimalType(min(whole+scale, maxPrecision), scale), nil
}

// toWhole is the Eval of ceil and floor. Like Java's casts, it makes 0 of NaN and the largest number of what exceeds it.
func toWhole(f func(float64) float64, mode rounding) evalFunc {
	rounded := round(mode)
	return func(env *Env, a []Value, t schema.Type) (Value, error) {
		switch v := a[0]; v.Type.Kind {
		case schema.Decimal:
			return rounded(env, a, t)
		case schema.Long:
			return v, nil
		default:
			return IntOf(schema.Long, saturate(f(v.F))), nil
		}
	}
}

// saturate is Java's cast of a double to a long.
func saturate(f float64) int64 {
	switch {
	case math.IsNaN(f):
		return 0
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

// round is the Eval of rounding to a scale, which is 0 unless there is a second argument.
func round(mode rounding) evalFunc {
	return func(_ *Env, a []Value, t schema.Type) (Value, error) {
		v, scale := a[0], int64(0)
		if len(a) > 1 {
			scale = a[1].I
		}
		switch {
		case t.Kind == schema.Decimal:
			return roundDecimal(v, scale, t, mode)
		case integral(t.Kind):
			return roundInteger(v, scale, mode)
		}
		return roundFloat(v, scale, mode)
	}
}

func roundDecimal(v Value, scale int64, t schema.Type, mode rounding) (Value, error) {
	n := v.D.BigInt()
	if drop := int64(v.Type.Scale) - scale; drop > 2*maxPrecision {
		n = roundTo(n, 2*maxPrecision, mode) // all digits are gone anyway
		n.Mul(n, pow10(maxPrecision))
	} else if drop > 0 {
		n = roundTo(n, int(drop), mode)
		if scale < 0 {
			n.Mul(n, pow10(int(-scale)))
		}
	}
	out, ok := fitDecimal(n, int(t.Scale), t)
	if !ok {
		return Value{}, &EvalError{Class: "NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION", Message: "the rounded number has more digits than " + t.String()}
	}
	return out, nil
}

func roundInteger(v Value, scale int64, mode rounding) (Value, error) {
	switch {
	case scale >= 0:
		return v, nil
	case scale < -19:
		return Value{Type: v.Type}, nil
	}
	n := roundTo(big.NewInt(v.I), int(-scale), mode)
	n.Mul(n, pow10(int(-scale)))
	limit := big.NewInt(1)
	limit.Lsh(limit, uint(8*sizeOf(v.Type.Kind)-1))
	if n.CmpAbs(limit) > 0 || n.Cmp(limit) == 0 {
		return Value{}, overflow("a rounded integer")
	}
	return Value{Type: v.Type, I: n.Int64()}, nil
}

// roundFloat rounds the shortest decimal that reads as the double, as Spark does: 1.005 to two digits is 1.01, although
// the double lies below. A float is made a double before.
func roundFloat(v Value, scale int64, mode rounding) (Value, error) {
	switch {
	case v.F == 0:
		return Value{Type: v.Type}, nil // decimals have no -0
	case math.IsNaN(v.F), math.IsInf(v.F, 0):
		return v, nil
	}
	if math.Abs(v.F) < 1e-300 {
		// Java writes subnormal numbers with other digits.
		return Value{}, &UnsupportedError{Reason: "rounding a number next to zero"}
	}
	bitSize := 64
	if v.Type.Kind == schema.Float {
		bitSize = 32
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v.F, 'e', -1, 64), "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	exp, _ := strconv.ParseInt(exponent, 10, 64)
	exp -= int64(len(strings.TrimLeft(digits, "-")) - 1) // v = digits * 10^exp
	drop := -exp - scale
	if drop <= 0 {
		return v, nil
	}
	n, _ := new(big.Int).SetString(digits, 10)
	if drop > 400 {
		n.SetInt64(0)
	} else {
		n = roundTo(n, int(drop), mode)
	}
	f, err := strconv.ParseFloat(n.String()+"e"+strconv.FormatInt(-scale, 10), bitSize)
	if err != nil {
		return v, nil // beyond the largest number: Spark keeps it then
	}
	return Value{Type: v.Type, F: f}, nil
}

func widthBucket(a []Value) Value {
	x, from, to, buckets := a[0].F, a[1].F, a[2].F, a[3].I
	if buckets <= 0 || buckets == math.MaxInt64 || math.IsNaN(x) || from == to ||
		math.IsNaN(from) || math.IsInf(from, 0) || math.IsNaN(to) || math.IsInf(to, 0) {
		return NullOf(longType)
	}
	low, high := min(from, to), max(from, to)
	covered, past := x-low, x < low // from the first bucket's edge
	if from > to {
		covered, past = high-x, x > high
	}
	switch {
	case past:
		return IntOf(schema.Long, 0)
	case from < to && x >= high, from > to && x <= low:
		return IntOf(schema.Long, buckets+1)
	}
	return IntOf(schema.Long, saturate(float64(buckets)*covered/(high-low))+1)
}

// resolvePmod types pmod like the remainder.
func resolvePmod(args []Expr) ([]schema.Type, schema.Type, error) {
	if len(args) != 2 {
		return nil, schema.Type{}, wrongCount(len(args), 2, 2)
	}
	l, r := literalDecimal(args[0], args[1]), literalDecimal(args[1], args[0])
	common, ok := widerType(l, r)
	if common.Kind == schema.Void {
		common = doubleType
	}
	switch {
	case l.Kind == schema.Invalid || r.Kind == schema.Invalid:
		return nil, schema.Type{}, &UnsupportedError{Reason: "an operand is not known"}
	case !ok || !numeric(common.Kind):
		return nil, schema.Type{}, &BindError{Class: "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", Message: fmt.Sprintf("pmod does not take a %s and a %s", l, r)}
	case common.Kind != schema.Decimal:
		return []schema.Type{common, common}, common, nil
	}
	params := decimalOperands(l, r, common)
	return params, decimalResult(Mod, params[0], params[1]), nil
}

// pmod is the remainder, brought between zero and the divisor where it is negative.
func pmod(_ *Env, a []Value, t schema.Type) (Value, error) {
	r, err := ArithValue(Mod, a[0], a[1], t)
	if err != nil || !(r.I < 0 || r.F < 0 || r.D.Sign() < 0) {
		return r, err
	}
	switch t.Kind {
	case schema.Integer:
		r.I = int64(int32(r.I + a[1].I)) // Java's sum of ints, which wraps
	case schema.Decimal:
		if r, err = ArithValue(Add, r, a[1], decimalResult(Add, t, a[1].Type)); err != nil {
			return r, err
		}
	default:
		r.I, r.F = r.I+a[1].I, r.F+a[1].F
		if t.Kind == schema.Float {
			r.F = float64(float32(r.F))
		}
	}
	return ArithValue(Mod, r, a[1], t)
}

// resolveExtreme types greatest and least, which unlike other functions do not cast text to anything else.
func resolveExtreme(args []Expr) ([]schema.Type, schema.Type, error) {
	if len(args) < 2 {
		return nil, schema.Type{}, wrongCount(len(args), 2, math.MaxInt32)
	}
	types, err := resolveParams(args, len(args), slices.Repeat([]param{asItIs}, len(args)))
	if err != nil {
		return nil, schema.Type{}, err
	}
	isText := func(t schema.Type) bool { return t.Kind == schema.String }
	isOther := func(t schema.Type) bool { return t.Kind != schema.String && t.Kind != schema.Void }
	common, ok := widerTypeOf(types)
	if !ok || slices.ContainsFunc(types, isText) && slices.ContainsFunc(types, isOther) {
		return nil, schema.Type{}, &BindError{Class: "DATATYPE_MISMATCH.DATA_DIFF_TYPES", Message: "the arguments have different types"}
	}
	return slices.Repeat([]schema.Type{common}, len(args)), common, nil
}

// extreme is the Eval of greatest and least: NULLs count only where there is nothing else.
func extreme(sign int) evalFunc {
	return func(_ *Env, a []Value, t schema.Type) (Value, error) {
		best := NullOf(t)
		for _, v := range a {
			if !v.Null && (best.Null || sign*v.Compare(best) > 0) {
				best = v
			}
		}
		return best, nil
	}
}

// rising is the Monotonic of a function that does not fall when any one of its arguments rises.
func rising(args []Expr) Direction {
	return moves(slices.Repeat([]Direction{NonDecreasing}, len(args))...)(args)
}

// resolveNanvl makes floats of floats and doubles of anything else.
func resolveNanvl(args []Expr) ([]schema.Type, schema.Type, error) {
	p := oneOf(schema.Double, schema.Float)
	types, err := resolveParams(args, 2, []param{p, p})
	if err != nil {
		return nil, schema.Type{}, err
	}
	switch {
	case types[0].Kind == types[1].Kind:
	case args[0].Type().Kind == schema.Void:
		types[0] = types[1]
	case args[1].Type().Kind == schema.Void:
		types[1] = types[0]
	default:
		types[0], types[1] = doubleType, doubleType
	}
	return types, types[0], nil
}

// resolveBits types the bitwise operators by the wider of two integers.
func resolveBits(args []Expr) ([]schema.Type, schema.Type, error) {
	if len(args) != 2 {
		return nil, schema.Type{}, wrongCount(len(args), 2, 2)
	}
	l, r := args[0].Type(), args[1].Type()
	common, ok := widerType(l, r)
	if common.Kind == schema.Void {
		common.Kind = schema.Integer
	}
	class := "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"
	switch {
	case l.Kind == schema.Invalid || r.Kind == schema.Invalid:
		return nil, schema.Type{}, &UnsupportedError{Reason: "an operand is not known"}
	case ok && integral(common.Kind):
		return []schema.Type{common, common}, common, nil
	case l.Kind == r.Kind:
		class = "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE"
	}
	return nil, schema.Type{}, &BindError{Class: class, Message: fmt.Sprintf("bitwise operators take integers, not %s and %s", l, r)}
}

func onBits(f func(a, b int64) int64) evalFunc {
	return pure(func(a []Value) Value { return Value{Type: a[0].Type, I: f(a[0].I, a[1].I)} })
}

// shift is the Eval of the shifts. Java takes the distance modulo the width.
func shift(long func(int64, uint) int64, integer func(int32, uint) int32) evalFunc {
	return pure(func(a []Value) Value {
		if a[0].Type.Kind == schema.Long {
			return Value{Type: a[0].Type, I: long(a[0].I, uint(a[1].I&63))}
		}
		return Value{Type: a[0].Type, I: int64(integer(int32(a[0].I), uint(a[1].I&31)))}
	})
}
