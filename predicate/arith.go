package predicate

import (
	"math"

	"github.com/deltaskip/deltaskip/schema"
)

// arith types an arithmetic operation on bound operands and casts them.
func (b *binder) arith(e *Arith, l, r Expr) (Expr, error) {
	if l.Type().Kind == schema.Invalid || r.Type().Kind == schema.Invalid {
		return opaque(&Arith{Op: e.Op, L: l, R: r, Try: e.Try}, "an operand is not known", schema.Type{}), nil
	}
	if out, err := b.datetimeArith(e, l, r); out != nil || err != nil {
		return out, err
	}
	fail := func() (Expr, error) {
		class := "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"
		if l.Type().Equal(r.Type()) {
			class = "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE"
		}
		return nil, bindError(class, "%s does not take a %s and a %s", e.Op, l.Type(), r.Type())
	}
	// What is a literal only after folding counts with all digits of its type: dec / (1 + 2) has more of them than dec / 3.
	lt, rt := l.Type(), r.Type()
	if isLiteral(e.L) {
		lt = literalDecimal(l, r)
	}
	if isLiteral(e.R) {
		rt = literalDecimal(r, l)
	}
	if lt.Kind == schema.String && rt.Kind == schema.String {
		return fail()
	}
	common, ok := widerType(lt, rt)
	if common.Kind == schema.Void {
		common = doubleType
	}
	if !ok || !numeric(common.Kind) {
		return fail()
	}
	var err error
	if common.Kind == schema.Decimal {
		types := decimalOperands(lt, rt, common)
		if l, err = b.cast(l, types[0], false); err != nil {
			return nil, err
		}
		if r, err = b.cast(r, types[1], false); err != nil {
			return nil, err
		}
		result := decimalResult(e.Op, types[0], types[1])
		return &Arith{Op: e.Op, L: l, R: r, Try: e.Try, Typ: result}, nil
	}
	// Beside a string try_add and its like forgive the string, too.
	for _, side := range []*Expr{&l, &r} {
		if lt.Kind == schema.String || rt.Kind == schema.String {
			if *side, err = b.cast(*side, common, e.Try && (*side).Type().Kind == schema.String); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case e.Op == Div:
		common = doubleType
	case e.Op == IntDiv && !integral(common.Kind):
		return fail()
	case e.Op == IntDiv:
		common = longType
	}
	if l, r, err = b.castBoth(l, r, common); err != nil {
		return nil, err
	}
	return b.reassociated(&Arith{Op: e.Op, L: l, R: r, Try: e.Try, Typ: common})
}

// reassociated brings the constants of a chain of integer additions, or of multiplications, together, as Spark's optimiser does
// (ReorderAssociativeOperator): i + 1 + 2 is i + 3, and i + 2147483647 + 1 an error.
func (b *binder) reassociated(e *Arith) (Expr, error) {
	if e.Try || e.Op != Add && e.Op != Mul || !integral(e.Typ.Kind) {
		return e, nil
	}
	literal, ok := e.R.(*Literal)
	inner, okInner := e.L.(*Arith)
	if !ok {
		literal, ok = e.L.(*Literal)
		inner, okInner = e.R.(*Arith)
	}
	if !ok || !okInner || inner.Try || inner.Op != e.Op || inner.Typ != e.Typ {
		return e, nil
	}
	x, constant := inner.L, inner.R
	if _, ok := x.(*Literal); ok {
		x, constant = constant, x
	}
	if _, ok := constant.(*Literal); !ok {
		return e, nil
	}
	sum, err := b.fold(&Arith{Op: e.Op, L: constant, R: literal, Typ: e.Typ})
	if err != nil {
		return nil, err
	}
	if _, ok := sum.(*Literal); !ok {
		return e, nil // the sum overflows under a guard
	}
	return &Arith{Op: e.Op, L: x, R: sum, Typ: e.Typ}, nil
}

// datetimeArith types + and - with a date, a timestamp or an interval; it returns nil where there is none
// (AnsiTypeCoercion, BinaryArithmeticWithDatetimeResolver).
func (b *binder) datetimeArith(e *Arith, l, r Expr) (Expr, error) {
	special := func(x Expr) bool { return datetime(x.Type().Kind) || x.Type().Kind == schema.Interval }
	if !special(l) && !special(r) {
		return nil, nil
	}
	if e.Op == Add && !datetime(l.Type().Kind) {
		l, r = r, l // the date or the timestamp is the left one
	}
	lt, rt := l.Type(), r.Type()
	unknown := func(t schema.Type) (Expr, error) {
		return opaque(&Arith{Op: e.Op, L: l, R: r, Try: e.Try}, "this arithmetic with intervals is not evaluated", t), nil
	}
	switch {
	case e.Op != Add && e.Op != Sub:
		if lt.Kind == schema.Interval || rt.Kind == schema.Interval {
			return unknown(schema.Type{})
		}
	case lt.Kind == schema.Date && (rt.Kind == schema.Byte || rt.Kind == schema.Short || rt.Kind == schema.Integer):
		name := "date_add"
		if e.Op == Sub {
			name = "date_sub"
		}
		return b.call(&Call{Name: name, Args: []Expr{l, r}}) // which never fails, so Try changes nothing
	case lt.Kind == schema.Date && (numeric(rt.Kind) || e.Op == Add && rt.Kind == schema.String):
		return nil, bindError("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "%s is %s: days are counted in int", r, rt)
	case lt.Kind == schema.Date && rt.Kind == schema.Interval && !ofMonths(rt) && rt != dayInterval:
		x, err := b.cast(l, schema.Type{Kind: schema.Timestamp}, false)
		if err != nil {
			return nil, err
		}
		return b.datetimeArith(e, x, r)
	case datetime(lt.Kind) && rt.Kind == schema.Interval:
		if interval, ok := r.(*Literal); ok && !interval.Value.Null && !e.Try {
			return b.moved(e.Op, l, interval.Value)
		}
		return unknown(lt)
	case e.Op == Sub && (datetime(lt.Kind) || datetime(rt.Kind)) && lt.Kind != schema.Interval:
		return b.datetimeDifference(e, l, r)
	case lt.Kind == schema.Interval && rt.Kind == schema.Interval:
		common, ok := widerInterval(lt, rt)
		if !ok {
			return nil, nil
		}
		var err error
		if l, r, err = b.castBoth(l, r, common); err != nil {
			return nil, err
		}
		return &Arith{Op: e.Op, L: l, R: r, Try: e.Try, Typ: common}, nil
	case lt.Kind == schema.Interval && datetime(rt.Kind):
		return nil, bindError("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "%s cannot be subtracted from an interval", r)
	case lt.Kind == schema.String || lt.Kind == schema.Void || rt.Kind == schema.String || rt.Kind == schema.Void:
		return unknown(schema.Type{})
	}
	return nil, nil
}

// moved binds a date or timestamp plus or minus an interval as the functions that add months, days and less. Days are days of the
// calendar of the session's zone, whatever their length.
func (b *binder) moved(op ArithOp, x Expr, interval Value) (Expr, error) {
	if interval.I == math.MinInt64 {
		return nil, bindError("DATETIME_OVERFLOW", "%s is out of range", interval.SQL())
	}
	n := interval.I
	if op == Sub {
		n = -n
	}
	months, date := ofMonths(interval.Type), x.Type().Kind == schema.Date
	switch {
	case date && months:
		return b.call(&Call{Name: "add_months", Args: []Expr{x, &Literal{Value: IntOf(schema.Integer, n)}}})
	case date:
		return b.call(&Call{Name: "date_add", Args: []Expr{x, &Literal{Value: IntOf(schema.Integer, n/microsPerDay)}}})
	}
	steps := []struct {
		unit string
		n    int64
	}{{"DAY", n / microsPerDay}, {"MICROSECOND", n % microsPerDay}}
	if months {
		steps = steps[:1]
		steps[0].unit, steps[0].n = "MONTH", n
	}
	for i, step := range steps {
		if step.n == 0 && i > 0 {
			continue
		}
		var err error
		x, err = b.call(&Call{Name: "timestampadd", Args: []Expr{&Literal{Value: StringOf(step.unit)}, &Literal{Value: IntOf(schema.Long, step.n)}, x}})
		if err != nil {
			return nil, err
		}
		if x, err = b.fold(x); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// datetimeDifference types a - b where one is a date or a timestamp: the other is cast to the same.
func (b *binder) datetimeDifference(e *Arith, l, r Expr) (Expr, error) {
	lt, rt := l.Type(), r.Type()
	common, result := lt, dayTimeInterval
	switch {
	case lt.Kind == schema.String || lt.Kind == schema.Void:
		common = rt
	case rt.Kind == schema.String || rt.Kind == schema.Void || lt.Kind == rt.Kind:
	case !datetime(lt.Kind) || !datetime(rt.Kind):
		return nil, nil
	case lt.Kind == schema.TimestampNTZ || rt.Kind == schema.TimestampNTZ:
		common = schema.Type{Kind: schema.TimestampNTZ}
	default:
		common = schema.Type{Kind: schema.Timestamp}
	}
	if common.Kind == schema.Date {
		result = dayInterval
	}
	l, r, err := b.castBoth(l, r, common)
	return &Arith{Op: Sub, L: l, R: r, Try: e.Try, Typ: result}, err
}
