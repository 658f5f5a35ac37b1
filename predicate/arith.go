package predicate

import (
	"fmt"

	"github.com/deltaskip/deltaskip/schema"
)

// arith types an arithmetic operation on bound operands and casts them.
func (b *binder) arith(e *Arith, l, r Expr) (Expr, error) {
	if l.Type().Kind == schema.Invalid || r.Type().Kind == schema.Invalid {
		return &Opaque{SQL: (&Arith{Op: e.Op, L: l, R: r, Try: e.Try}).String(), Reason: "an operand is not known", Columns: mentioned(l, r)}, nil
	}
	if out, err := b.datetimeArith(e, l, r); out != nil || err != nil {
		return out, err
	}
	fail := func() (Expr, error) {
		class := "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"
		if l.Type().Equal(r.Type()) {
			class = "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE"
		}
		return nil, &BindError{Class: class, Message: fmt.Sprintf("%s does not take a %s and a %s", e.Op, l.Type(), r.Type())}
	}
	lt, rt := literalDecimal(l, r), literalDecimal(r, l)
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
		// Decimals keep their own precisions, of which the result's is made.
		sides := []*Expr{&l, &r}
		for i, t := range []schema.Type{lt, rt} {
			switch {
			case integral(t.Kind):
				t = decimalOfKind(t.Kind)
			case t.Kind == schema.Void:
				t = common
			}
			if *sides[i], err = b.cast(*sides[i], t, false); err != nil {
				return nil, err
			}
		}
		result := decimalResult(e.Op, l.Type(), r.Type())
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
	return &Arith{Op: e.Op, L: l, R: r, Try: e.Try, Typ: common}, nil
}

// datetimeArith types + and - with a date, a timestamp or an interval; it returns nil where there is none.
func (b *binder) datetimeArith(e *Arith, l, r Expr) (Expr, error) {
	special := func(t schema.Type) bool { return datetime(t.Kind) || t.Kind == schema.Interval }
	lt, rt := l.Type(), r.Type()
	if !special(lt) && !special(rt) {
		return nil, nil
	}
	opaque := func(t schema.Type) (Expr, error) {
		return &Opaque{SQL: (&Arith{Op: e.Op, L: l, R: r, Try: e.Try}).String(), Reason: "arithmetic with intervals is not evaluated", Columns: mentioned(l, r), Typ: t}, nil
	}
	if e.Op == Add && special(rt) && !datetime(lt.Kind) {
		l, r, lt, rt = r, l, rt, lt
	}
	switch {
	case e.Op != Add && e.Op != Sub:
		if lt.Kind == schema.Interval || rt.Kind == schema.Interval {
			return opaque(schema.Type{})
		}
	case lt.Kind == schema.Date && (rt.Kind == schema.Byte || rt.Kind == schema.Short || rt.Kind == schema.Integer):
		name := "date_add"
		if e.Op == Sub {
			name = "date_sub"
		}
		return b.call(&Call{Name: name, Args: []Expr{l, r}}) // which never fails, so Try changes nothing
	case lt.Kind == schema.Date && integral(rt.Kind):
		return nil, &BindError{Class: "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", Message: fmt.Sprintf("a bigint cannot be added to a date: %s", r)}
	case datetime(lt.Kind) && rt.Kind == schema.Interval:
		if interval, ok := r.(*Literal); ok && !interval.Value.Null && !e.Try {
			return b.moved(e.Op, l, interval.Value)
		}
		return opaque(schema.Type{})
	case e.Op == Sub && datetime(lt.Kind) && (datetime(rt.Kind) || rt.Kind == schema.String), e.Op == Sub && lt.Kind == schema.String && datetime(rt.Kind):
		return opaque(schema.Type{})
	case lt.Kind == schema.Interval || rt.Kind == schema.Interval:
		return opaque(schema.Type{})
	}
	return nil, nil
}

// moved binds a date or timestamp plus or minus an interval as the function that adds it.
func (b *binder) moved(op ArithOp, x Expr, interval Value) (Expr, error) {
	n := interval.I
	if op == Sub {
		n = -n
	}
	unit, date := "MICROSECOND", x.Type().Kind == schema.Date
	switch {
	case date && interval.Type == yearMonthInterval:
		return b.call(&Call{Name: "add_months", Args: []Expr{x, &Literal{Value: IntOf(schema.Integer, n)}}})
	case date && interval.Type == dayInterval:
		return b.call(&Call{Name: "date_add", Args: []Expr{x, &Literal{Value: IntOf(schema.Integer, n/microsPerDay)}}})
	case interval.Type == yearMonthInterval:
		unit = "MONTH"
	}
	return b.call(&Call{Name: "timestampadd", Args: []Expr{&Literal{Value: StringOf(unit)}, &Literal{Value: IntOf(schema.Long, n)}, x}})
}
