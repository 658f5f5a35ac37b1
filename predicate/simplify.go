package predicate

import (
	"math"
	"math/big"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/schema"
)

// What a comparison of x with a constant comes to where it is the same for every value of x: NULL for a NULL x, else FALSE
// or TRUE.
func neverUnlessNull(x Expr) Expr { return &And{Args: []Expr{&IsNull{X: x}, nullBoolean()}} }
func alwaysUnlessNull(x Expr) Expr {
	return &Or{Args: []Expr{&Not{X: &IsNull{X: x}}, nullBoolean()}}
}

func nullBoolean() Expr { return &Literal{Value: NullOf(booleanType)} }

func isNullLiteral(e Expr) bool {
	literal, ok := e.(*Literal)
	return ok && literal.Value.Null
}

// flipped is the operator with its operands exchanged.
func (op CompareOp) flipped() CompareOp {
	switch op {
	case LT:
		return GT
	case LE:
		return GE
	case GT:
		return LT
	case GE:
		return LE
	}
	return op
}

// simplifyCompare brings a comparison of operands of one type into the form that proves most: the constant on the right, the column
// without a cast. The result has the same value for every row.
func (b *binder) simplifyCompare(op CompareOp, l, r Expr) Expr {
	if _, ok := r.(*Literal); !ok || isNullLiteral(l) {
		if _, ok := l.(*Literal); ok {
			l, r, op = r, l, op.flipped()
		}
	}
	switch {
	case isNullLiteral(r) && op == NullSafe:
		return &IsNull{X: l}
	case isNullLiteral(r):
		return nullBoolean()
	}
	if literal, ok := r.(*Literal); ok {
		if cast, ok := l.(*Cast); ok && !cast.Try {
			if e := b.unwrap(op, cast.X, literal.Value); e != nil {
				return e
			}
		}
		return &Compare{Op: op, L: l, R: r}
	}
	if deterministic(l) && deterministic(r) && l.String() == r.String() {
		switch op {
		case NullSafe:
			return Lit(true)
		case EQ, LE, GE:
			return alwaysUnlessNull(l)
		}
		return neverUnlessNull(l)
	}
	return &Compare{Op: op, L: l, R: r}
}

// unwrap says CAST(x AS v's type) op v in terms of x itself, if the cast keeps every value and their order; nil if it doesn't.
func (b *binder) unwrap(op CompareOp, x Expr, v Value) Expr {
	floor, at, ok := b.floor(v, x.Type())
	if !ok {
		return nil
	}
	literal := &Literal{Value: floor}
	switch {
	case at == same || op == LE && at == between || op == GT && at == between:
		return &Compare{Op: op, L: x, R: literal}
	case at == between && op == LT:
		return &Compare{Op: LE, L: x, R: literal}
	case at == between && op == GE:
		return &Compare{Op: GT, L: x, R: literal}
	}
	switch op {
	case NullSafe:
		return Lit(false)
	case EQ:
		return neverUnlessNull(x)
	case NE:
		return alwaysUnlessNull(x)
	case LT, LE:
		if at == above {
			return alwaysUnlessNull(x)
		}
		return neverUnlessNull(x)
	}
	if at == above {
		return neverUnlessNull(x)
	}
	return alwaysUnlessNull(x)
}

// A position says where a value lies among the values of a narrower type.
type position uint8

const (
	same    position = iota // one of them
	between                 // above the floor, below the next one
	below                   // below all of them
	above                   // above all of them
)

// floor is the greatest value of type t that is not above v, where casting t to v's type keeps values and order.
func (b *binder) floor(v Value, t schema.Type) (Value, position, bool) {
	to := v.Type
	switch {
	case integral(t.Kind) && (integral(to.Kind) && to.Kind > t.Kind || to.Kind == schema.Decimal || to.Kind == schema.Double && t.Kind != schema.Long):
		n, exact, place := floorOf(v, 0)
		if place == between && n.IsInt64() && fitsBits(n.Int64(), integralBits(t.Kind)) {
			return Value{Type: t, I: n.Int64()}, placed(exact), true
		}
		if to.Kind == schema.Decimal && to.Precision-to.Scale < decimalOfKind(t.Kind).Precision {
			return Value{}, 0, false // the cast may overflow
		}
		return Value{}, beyond(n, place), true
	case t.Kind == schema.Decimal && to.Kind == schema.Decimal && to.Scale >= t.Scale && to.Precision-to.Scale >= t.Precision-t.Scale:
		n, exact, place := floorOf(v, int(t.Scale))
		if n.CmpAbs(pow10(int(t.Precision))) < 0 {
			return Value{Type: t, D: decimal128.FromBigInt(n)}, placed(exact), true
		}
		return Value{}, beyond(n, place), true
	case t.Kind == schema.Float && to.Kind == schema.Double:
		f := float32(v.F)
		if float64(f) > v.F {
			f = math.Nextafter32(f, float32(math.Inf(-1)))
		}
		return Value{Type: t, F: float64(f)}, placed(float64(f) == v.F || v.F != v.F), true
	case t.Kind == schema.Date && (to.Kind == schema.Timestamp || to.Kind == schema.TimestampNTZ):
		day, err := CastValue(v, t, b.env)
		if err != nil || !fitsBits(day.I-1, 32) || !fitsBits(day.I+1, 32) {
			return Value{}, 0, false
		}
		// Where the zone's clock skips midnight, days need not be a day apart: make sure of the neighbours.
		var micros [3]int64
		for i := range micros {
			midnight, err := CastValue(IntOf(schema.Date, day.I+int64(i)-1), to, b.env)
			if err != nil {
				return Value{}, 0, false
			}
			micros[i] = midnight.I
		}
		if micros[0] >= micros[1] || micros[1] > v.I || v.I >= micros[2] {
			return Value{}, 0, false
		}
		return day, placed(micros[1] == v.I), true
	}
	return Value{}, 0, false
}

func placed(exact bool) position {
	if exact {
		return same
	}
	return between
}

// beyond is the place of a number that is out of a type's range.
func beyond(n *big.Int, place position) position {
	if place != between {
		return place
	}
	if n.Sign() < 0 {
		return below
	}
	return above
}

// floorOf is a numeric value times 10^scale, rounded down, and whether that is exact. A NaN or infinite one is only above or
// below all.
func floorOf(v Value, scale int) (n *big.Int, exact bool, place position) {
	switch {
	case integral(v.Type.Kind):
		return rescale(big.NewInt(v.I), 0, scale), true, between
	case v.Type.Kind == schema.Decimal:
		n = v.D.BigInt()
		if diff := int(v.Type.Scale) - scale; diff > 0 {
			_, rest := n.DivMod(n, pow10(diff), new(big.Int)) // Euclidean: rounds down for a positive divisor
			return n, rest.Sign() == 0, between
		}
		return rescale(n, int(v.Type.Scale), scale), true, between
	}
	switch {
	case v.F != v.F || math.IsInf(v.F, 1):
		return new(big.Int), false, above
	case math.IsInf(v.F, -1):
		return new(big.Int), false, below
	}
	floor := math.Floor(v.F)
	n, _ = big.NewFloat(floor).Int(nil)
	return n, floor == v.F, between
}

// simplifyIn drops repetitions and casts from x IN (constants). The result has the same value for every row.
func (b *binder) simplifyIn(x Expr, list []Expr) Expr {
	if isNullLiteral(x) {
		return nullBoolean()
	}
	if slices.ContainsFunc(list, func(e Expr) bool { _, ok := e.(*Literal); return !ok }) || !Comparable(x.Type()) {
		return &In{X: x, List: list}
	}
	inner := x
	if cast, ok := x.(*Cast); ok && !cast.Try {
		if _, _, ok := b.floor(firstValue(list), cast.X.Type()); ok {
			inner = cast.X
		}
	}
	null := false
	var kept []Expr
	seen := map[string]bool{}
	for _, e := range list {
		v := e.(*Literal).Value
		if v.Null {
			null = true
			continue
		}
		if inner != x {
			floor, at, ok := b.floor(v, inner.Type())
			switch {
			case !ok:
				return &In{X: x, List: list}
			case at != same:
				continue
			}
			v = floor
		}
		if key := v.SQL(); !seen[key] {
			seen[key] = true
			kept = append(kept, &Literal{Value: v})
		}
	}
	switch {
	case len(kept) == 0 && null:
		return nullBoolean()
	case len(kept) == 0:
		return neverUnlessNull(inner)
	case null:
		kept = append(kept, &Literal{Value: NullOf(inner.Type())})
	case len(kept) == 1:
		return &Compare{Op: EQ, L: inner, R: kept[0]}
	}
	return &In{X: inner, List: kept}
}

func firstValue(list []Expr) Value {
	for _, e := range list {
		if v := e.(*Literal).Value; !v.Null {
			return v
		}
	}
	return Value{}
}

// simplifyCase drops arms that are never taken.
func simplifyCase(e *Case) Expr {
	out := &Case{Else: e.Else, Typ: e.Typ}
	for _, w := range e.Whens {
		literal, ok := w.If.(*Literal)
		switch {
		case !ok:
			out.Whens = append(out.Whens, w)
			continue
		case literal.Value.Null || literal.Value.I == 0:
			continue
		}
		out.Else = w.Then
		break
	}
	switch {
	case len(out.Whens) > 0:
		return out
	case out.Else != nil:
		return out.Else
	}
	return &Literal{Value: NullOf(e.Typ)}
}

// pushIntoCase computes an expression over a CASE of constants in each of its arms, so that CASE WHEN c THEN 'a' ELSE 'b' END = 'c' is never
// TRUE. It returns e where that is not possible.
func (b *binder) pushIntoCase(e Expr) Expr {
	if _, ok := e.(*Opaque); ok {
		return e
	}
	children := e.Children()
	at := -1
	for i, c := range children {
		switch c.(type) {
		case *Literal:
		case *Case:
			if at >= 0 {
				return e
			}
			at = i
		default:
			return e
		}
	}
	if at < 0 {
		return e
	}
	inner := children[at].(*Case)
	arm := func(value Expr) (*Literal, bool) {
		if value == nil {
			value = &Literal{Value: NullOf(inner.Typ)}
		}
		if _, ok := value.(*Literal); !ok {
			return nil, false
		}
		replaced := slices.Clone(children)
		replaced[at] = value
		whole := withChildren(e, replaced)
		if !constant(whole) {
			return nil, false
		}
		v, err := Eval(whole, b.env, nil)
		if err != nil {
			return nil, false // it would belong to the rows that take the arm
		}
		v.Type = e.Type()
		return &Literal{Value: v}, true
	}
	other, ok := arm(inner.Else)
	if !ok {
		return e
	}
	out := &Case{Whens: make([]When, len(inner.Whens)), Else: other, Typ: e.Type()}
	same := true
	for i, w := range inner.Whens {
		value, ok := arm(w.Then)
		if !ok {
			return e
		}
		out.Whens[i] = When{If: w.If, Then: value}
		same = same && value.Value == other.Value
	}
	if same {
		return other
	}
	return out
}
