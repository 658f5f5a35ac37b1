package predicate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/deltaskip/deltaskip/schema"
)

// Eval evaluates the predicate on a row: TRUE, FALSE or NULL. See [Eval].
func (p *Predicate) Eval(row Row) (Value, error) { return Eval(p.Root, &p.Env, row) }

// Eval evaluates a bound expression on a row, slowly and plainly, by Spark's ANSI rules. row may be nil where e holds no
// column. An [*EvalError] is an ANSI runtime error, which Spark would raise too; an [*UnsupportedError] means that
// Spark may have any answer, which is what becomes of [Opaque].
//
// AND and OR look at their arguments from the left and stop where the result is certain; an error of an argument not looked at
// is none. Spark may evaluate them in another order and so raise an error where this finds an answer.
func Eval(e Expr, env *Env, row Row) (Value, error) {
	switch e := e.(type) {
	case *Literal:
		return e.Value, nil
	case *Column:
		if row == nil || e.Col == nil {
			return Value{}, &UnsupportedError{Reason: "there is no row to take " + e.String() + " from"}
		}
		return row.Value(e.Col), nil
	case *Opaque:
		return Value{}, &UnsupportedError{Reason: e.Reason}
	case *And:
		return evalJunction(e.Args, env, row, 0)
	case *Or:
		return evalJunction(e.Args, env, row, 1)
	case *Not:
		v, err := Eval(e.X, env, row)
		if err != nil || v.Null {
			return v, err
		}
		return BoolOf(v.I == 0), nil
	case *IsNull:
		v, _, err := evalNear(e.X, env, row)
		return BoolOf(v.Null), err
	case *Compare:
		return evalCompare(e, env, row)
	case *In:
		return evalIn(e, env, row)
	case *Like:
		return evalLike(e, env, row)
	case *Arith:
		return evalArith(e, env, row)
	case *Cast:
		return evalCast(e, env, row)
	case *Case:
		for _, w := range e.Whens {
			v, err := Eval(w.If, env, row)
			if err != nil {
				return Value{}, err
			}
			if !v.Null && v.I != 0 {
				return Eval(w.Then, env, row)
			}
		}
		if e.Else == nil {
			return NullOf(e.Typ), nil
		}
		return Eval(e.Else, env, row)
	case *Call:
		return evalCall(e, env, row)
	}
	return Value{}, &UnsupportedError{Reason: fmt.Sprintf("nodes of type %T are not evaluated", e)}
}

// evalJunction evaluates AND, whose deciding value is 0, or OR, whose deciding value is 1.
func evalJunction(args []Expr, env *Env, row Row, decides int64) (Value, error) {
	out := BoolOf(decides == 0)
	for _, a := range args {
		v, err := Eval(a, env, row)
		switch {
		case err != nil:
			return Value{}, err
		case v.Null:
			out = NullOf(booleanType)
		case v.I == decides:
			return v, nil
		}
	}
	return out, nil
}

// evalPair evaluates both operands.
func evalPair(l, r Expr, env *Env, row Row) (a, b Value, err error) {
	if a, err = Eval(l, env, row); err != nil {
		return a, b, err
	}
	b, err = Eval(r, env, row)
	return a, b, err
}

func evalCompare(e *Compare, env *Env, row Row) (Value, error) {
	// An operand that is NULL makes the result NULL, whatever the other is: also where that one has no answer.
	a, slackA, errA := evalNear(e.L, env, row)
	b, slackB, errB := evalNear(e.R, env, row)
	var doubt *UnsupportedError
	if e.Op != NullSafe && (errA == nil && a.Null && errors.As(errB, &doubt) || errB == nil && b.Null && errors.As(errA, &doubt)) {
		return NullOf(booleanType), nil
	}
	if err := cmp.Or(errA, errB); err != nil {
		return Value{}, err
	}
	if a.Null || b.Null {
		if e.Op == NullSafe {
			return BoolOf(a.Null && b.Null), nil
		}
		return NullOf(booleanType), nil
	}
	if !Comparable(a.Type) || a.Type.Kind != b.Type.Kind || a.Type.Nested != b.Type.Nested {
		return Value{}, &UnsupportedError{Reason: fmt.Sprintf("values of type %s are not compared", e.L.Type())}
	}
	if slack := slackA + slackB; slack > 0 && !(math.Abs(a.F-b.F) > slack) {
		return Value{}, errInexact
	}
	return BoolOf(e.Op.holds(a.Compare(b))), nil
}

var errInexact = &UnsupportedError{Reason: "engines differ in the last digits of exp, log and their like"}

// evalNear evaluates an operand that may be a call of an Inexact function: Spark's value lies within slack.
func evalNear(e Expr, env *Env, row Row) (v Value, slack float64, err error) {
	call, ok := e.(*Call)
	if !ok || call.Fn == nil || !call.Fn.Inexact {
		v, err = Eval(e, env, row)
		return v, 0, err
	}
	v, err = Approximate(call, env, row)
	if err == nil && !v.Null && !math.IsNaN(v.F) {
		slack = Slack(v.F)
	}
	return v, slack, err
}

// Slack is how far Spark's result may lie from f, that of a function that is [Function.Inexact].
func Slack(f float64) float64 { return math.Abs(f)*0x1p-40 + 0x1p-1000 }

// holds says whether the operator is true of operands that compare as order says.
func (op CompareOp) holds(order int) bool {
	switch op {
	case EQ, NullSafe:
		return order == 0
	case NE:
		return order != 0
	case LT:
		return order < 0
	case LE:
		return order <= 0
	case GT:
		return order > 0
	}
	return order >= 0
}

// evalIn stops at the first match, as Spark does. Not being found among NULLs is NULL.
func evalIn(e *In, env *Env, row Row) (Value, error) {
	x, err := Eval(e.X, env, row)
	if err != nil || x.Null {
		return NullOf(booleanType), err
	}
	if !Comparable(x.Type) {
		return Value{}, &UnsupportedError{Reason: fmt.Sprintf("values of type %s are not compared", x.Type)}
	}
	null := false
	for _, m := range e.List {
		v, err := Eval(m, env, row)
		switch {
		case err != nil:
			return Value{}, err
		case v.Null:
			null = true
		case x.Compare(v) == 0:
			return BoolOf(true), nil
		}
	}
	if null {
		return NullOf(booleanType), nil
	}
	return BoolOf(false), nil
}

func evalLike(e *Like, env *Env, row Row) (Value, error) {
	x, pattern, err := evalPair(e.X, e.Pattern, env, row)
	if err != nil || x.Null || pattern.Null {
		return NullOf(booleanType), err
	}
	if x.Type.Collation != "" || pattern.Type.Collation != "" {
		return Value{}, &UnsupportedError{Reason: "LIKE under a collation is not evaluated"}
	}
	text, p := x.S, pattern.S
	if !utf8.ValidString(text) || !utf8.ValidString(p) {
		return Value{}, errInvalidUTF8
	}
	if e.Fold {
		if text, err = lower(text); err != nil {
			return Value{}, err
		}
		if p, err = lower(p); err != nil {
			return Value{}, err
		}
	}
	tokens, err := parseLike(p, e.Escape)
	if err != nil {
		return Value{}, err
	}
	return BoolOf(matchLike(text, tokens)), nil
}

func evalCast(e *Cast, env *Env, row Row) (Value, error) {
	v, err := Eval(e.X, env, row)
	if err != nil {
		return Value{}, err
	}
	out, err := CastValue(v, e.To, env)
	var failed *EvalError
	if e.Try && errors.As(err, &failed) {
		return NullOf(e.To), nil
	}
	return out, err
}

// evalCall leaves inexact numbers without an answer, except where they are only compared.
func evalCall(e *Call, env *Env, row Row) (Value, error) {
	v, err := Approximate(e, env, row)
	if err == nil && e.Fn.Inexact && !v.Null && !math.IsNaN(v.F) {
		return Value{}, errInexact
	}
	return v, err
}

// Approximate evaluates a bound call like [Eval], but also that of a function that is [Function.Inexact]: Spark's result lies
// within [Slack].
func Approximate(e *Call, env *Env, row Row) (Value, error) {
	if e.Fn == nil || e.Fn.Eval == nil {
		return Value{}, &UnsupportedError{Reason: "the function " + e.Name + " is not evaluated"}
	}
	args := make([]Value, len(e.Args))
	var doubt error
	for i, a := range e.Args {
		v, err := Eval(a, env, row)
		var unsupported *UnsupportedError
		switch {
		case errors.As(err, &unsupported):
			doubt = err
		case err != nil:
			return Value{}, err
		case v.Null && e.Fn.NullIn:
			return NullOf(e.Typ), nil
		}
		args[i] = v
	}
	if doubt != nil {
		return Value{}, doubt
	}
	return e.Fn.Eval(env, args, e.Typ)
}

func divideByZero() error {
	return &EvalError{Class: "DIVIDE_BY_ZERO", Message: "division by zero"}
}

func arithOverflow(t schema.Type) error {
	class := "ARITHMETIC_OVERFLOW"
	if t.Kind == schema.Byte || t.Kind == schema.Short {
		class = "BINARY_ARITHMETIC_OVERFLOW"
	}
	return &EvalError{Class: class, Message: t.String() + " overflow"}
}

func evalArith(e *Arith, env *Env, row Row) (Value, error) {
	a, b, err := evalPair(e.L, e.R, env, row)
	if err != nil {
		return Value{}, err
	}
	if a.Null || b.Null {
		return NullOf(e.Typ), nil
	}
	var v Value
	if datetime(a.Type.Kind) {
		v, err = minusDatetime(a, b, e.Typ, env)
	} else {
		v, err = ArithValue(e.Op, a, b, e.Typ)
	}
	var failed *EvalError
	if e.Try && errors.As(err, &failed) {
		return NullOf(e.Typ), nil
	}
	return v, err
}

// ArithValue computes a op b, neither of which is NULL, with the types that binding gives an [Arith]: one for both, or decimals of
// any precision. An error is an [*EvalError] or an [*UnsupportedError].
func ArithValue(op ArithOp, a, b Value, result schema.Type) (Value, error) {
	switch k := a.Type.Kind; {
	case k == schema.Interval && a.Type == b.Type && op <= Sub:
		sign := int64(1)
		if op == Sub {
			sign = -1
		}
		n, ok := mulAdd(sign, b.I, a.I)
		if !ok || ofMonths(result) && !fitsBits(n, 32) {
			return Value{}, &EvalError{Class: "INTERVAL_ARITHMETIC_OVERFLOW", Message: "interval overflow"}
		}
		return Value{Type: result, I: n}, nil
	case k == schema.Decimal && b.Type.Kind == schema.Decimal:
		return arithDecimal(op, a, b, result)
	case k == schema.Float || k == schema.Double:
		return arithFloat(op, a.F, b.F, result)
	case integral(k):
		return arithIntegral(op, a.I, b.I, result)
	}
	return Value{}, &UnsupportedError{Reason: fmt.Sprintf("%s %s %s is not evaluated", a.Type, op, b.Type)}
}

// minusDatetime is the interval between two dates in days, or between two timestamps by their wall clocks.
func minusDatetime(a, b Value, result schema.Type, env *Env) (Value, error) {
	x, y, unit := a.I, b.I, int64(1)
	switch a.Type.Kind {
	case schema.Date:
		unit = microsPerDay
	case schema.Timestamp:
		x, y = localMicros(x, env.zone()), localMicros(y, env.zone())
	}
	n, ok := mulAdd(-1, y, x)
	if ok {
		n, ok = mulAdd(n, unit, 0)
	}
	if !ok {
		return Value{}, &EvalError{Class: "DATETIME_OVERFLOW", Message: fmt.Sprintf("%s minus %s is out of range", a.SQL(), b.SQL())}
	}
	return Value{Type: result, I: n}, nil
}

func arithIntegral(op ArithOp, a, b int64, result schema.Type) (Value, error) {
	var n int64
	ok := true
	switch op {
	case Add:
		n, ok = mulAdd(1, a, b)
	case Sub:
		n = a - b
		ok = (n < a) == (b > 0)
	case Mul:
		n, ok = mulAdd(a, b, 0)
		if a == math.MinInt64 || b == math.MinInt64 {
			n = a * b
			ok = a == 1 || b == 1 || a == 0 || b == 0
		}
	case IntDiv:
		if b == 0 {
			return Value{}, divideByZero()
		}
		n, ok = a/b, !(a == math.MinInt64 && b == -1)
	case Mod:
		if b == 0 {
			return Value{}, &EvalError{Class: "REMAINDER_BY_ZERO", Message: "remainder by zero"}
		}
		if b != -1 {
			n = a % b
		}
	}
	if !ok || !fitsBits(n, integralBits(result.Kind)) {
		return Value{}, arithOverflow(result)
	}
	return Value{Type: result, I: n}, nil
}

func arithFloat(op ArithOp, a, b float64, result schema.Type) (Value, error) {
	var f float64
	switch op {
	case Add:
		f = a + b
	case Sub:
		f = a - b
	case Mul:
		f = a * b
	case Div:
		if b == 0 {
			return Value{}, divideByZero()
		}
		f = a / b
	case Mod:
		if b == 0 {
			return Value{}, &EvalError{Class: "REMAINDER_BY_ZERO", Message: "remainder by zero"}
		}
		f = math.Mod(a, b)
	default:
		return Value{}, &UnsupportedError{Reason: "DIV of floats is not evaluated"}
	}
	if result.Kind == schema.Float {
		f = float64(float32(f)) // the double result of two floats rounds to the float result
	}
	return Value{Type: result, F: f}, nil
}

func arithDecimal(op ArithOp, a, b Value, result schema.Type) (Value, error) {
	x, y := a.D.BigInt(), b.D.BigInt()
	scale := int(max(a.Type.Scale, b.Type.Scale))
	switch op {
	case Add, Sub:
		x, y = rescale(x, int(a.Type.Scale), scale), rescale(y, int(b.Type.Scale), scale)
		if op == Sub {
			y.Neg(y)
		}
		x.Add(x, y)
	case Mul:
		x.Mul(x, y)
		scale = int(a.Type.Scale) + int(b.Type.Scale)
	case Div:
		if y.Sign() == 0 {
			return Value{}, divideByZero()
		}
		// Spark divides to this scale, rounding, and then rounds again to the result's.
		scale = maxPrecision + 1
		x.Mul(x, pow10(scale+int(b.Type.Scale)))
		x = divideHalfUp(x, y.Mul(y, pow10(int(a.Type.Scale))))
	case Mod, IntDiv:
		if y.Sign() == 0 {
			if op == Mod {
				return Value{}, &EvalError{Class: "REMAINDER_BY_ZERO", Message: "remainder by zero"}
			}
			return Value{}, divideByZero()
		}
		x, y = rescale(x, int(a.Type.Scale), scale), rescale(y, int(b.Type.Scale), scale)
		if op == Mod {
			x = new(big.Int).Rem(x, y)
			break
		}
		x = new(big.Int).Quo(x, y)
		if !x.IsInt64() {
			return Value{}, arithOverflow(result)
		}
		return Value{Type: result, I: x.Int64()}, nil
	}
	v, ok := fitDecimal(x, scale, result)
	if !ok {
		return Value{}, decimalOverflow(fmt.Sprintf("the result of %s %s %s", a.SQL(), op, b.SQL()), result)
	}
	return v, nil
}
