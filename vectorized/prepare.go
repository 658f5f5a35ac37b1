package vectorized

import (
	"fmt"
	"slices"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// prepare works out what the rules of the evaluator need to know of a node whose arguments are there.
func (n *node) prepare() {
	if n.expr.Type().Kind == schema.Struct { // not evaluated
		return
	}
	switch e := n.expr.(type) {
	case *predicate.Compare:
		n.dig()
	case *predicate.In:
		n.prepareIn(e)
	case *predicate.Case:
		n.prepareCase(e)
	case *predicate.Like:
		n.nullIn = true
		n.dig()
		if pattern := n.args[1]; pattern.constant() && !e.Fold && binaryOrder(n.args[0]) {
			n.like = parseLike(pattern.point.lo.S, e.Escape)
			n.total = n.like != nil
		}
	case *predicate.Arith:
		n.nullIn = true
		n.dig()
	case *predicate.Cast:
		n.nullIn = true
		n.dig()
		n.direction, n.zoned = castDirection(e.X.Type(), e.To)
		n.total = castTotal(e.X.Type(), e.To)
	case *predicate.Call:
		n.prepareCall(e)
	}
}

// arguments are the children of an expression that become nodes: all but the constants of a list.
func arguments(e predicate.Expr) []predicate.Expr {
	in, ok := e.(*predicate.In)
	if !ok {
		return e.Children()
	}
	args := []predicate.Expr{in.X}
	for _, member := range in.List {
		if _, ok := member.(*predicate.Literal); !ok {
			args = append(args, member)
		}
	}
	return args
}

// withArgs returns e with other arguments, in their order. It is not for leaves, AND and OR.
func withArgs(e predicate.Expr, args []predicate.Expr) predicate.Expr {
	switch e := e.(type) {
	case *predicate.Compare:
		return &predicate.Compare{Op: e.Op, L: args[0], R: args[1]}
	case *predicate.Not:
		return &predicate.Not{X: args[0]}
	case *predicate.IsNull:
		return &predicate.IsNull{X: args[0]}
	case *predicate.In:
		r := &predicate.In{X: args[0], List: slices.Clone(args[1:])}
		for _, member := range e.List {
			if _, ok := member.(*predicate.Literal); ok {
				r.List = append(r.List, member)
			}
		}
		return r
	case *predicate.Like:
		return &predicate.Like{X: args[0], Pattern: args[1], Escape: e.Escape, Fold: e.Fold}
	case *predicate.Arith:
		return &predicate.Arith{Op: e.Op, L: args[0], R: args[1], Try: e.Try, Typ: e.Typ}
	case *predicate.Cast:
		return &predicate.Cast{X: args[0], To: e.To, Try: e.Try}
	case *predicate.Call:
		return &predicate.Call{Name: e.Name, Args: args, Fn: e.Fn, Typ: e.Typ}
	case *predicate.Case:
		r := &predicate.Case{Typ: e.Typ}
		for len(args) > 1 {
			r.Whens = append(r.Whens, predicate.When{If: args[0], Then: args[1]})
			args = args[2:]
		}
		if len(args) == 1 {
			r.Else = args[0]
		}
		return r
	}
	panic(fmt.Sprintf("%T has no arguments", e))
}

// dig makes n.step, n with a column of its own in place of each argument that is not a literal.
func (n *node) dig() {
	if n.opaque {
		return
	}
	exprs := make([]predicate.Expr, len(n.args))
	var holes []hole
	for i, a := range n.args {
		exprs[i] = a.expr
		if _, ok := a.expr.(*predicate.Literal); !ok {
			h := hole{arg: i, col: &schema.Column{Type: a.typ(), Nullable: true}}
			holes = append(holes, h)
			exprs[i] = &predicate.Column{Col: h.col}
		}
	}
	if len(holes) <= maxHoles {
		n.holes, n.step = holes, withArgs(n.expr, exprs)
	}
}

func (n *node) prepareIn(e *predicate.In) {
	n.dig()
	for _, member := range e.List {
		l, ok := member.(*predicate.Literal)
		switch {
		case !ok:
		case l.Value.Null:
			n.listNull = true
		default:
			n.list = append(n.list, l.Value)
		}
	}
	if !domainOf(n.args[0].typ()).unordered {
		slices.SortFunc(n.list, predicate.Value.Compare)
		n.list = slices.CompactFunc(n.list, sameOrder)
	}
}

func (n *node) prepareCase(e *predicate.Case) {
	for i := range e.Whens {
		w := when{cond: n.args[2*i], then: n.args[2*i+1]}
		if _, ok := w.cond.expr.(*predicate.Not); ok && !w.then.opaque {
			_, isNull := w.cond.args[0].expr.(*predicate.IsNull)
			w.notNull = isNull && w.cond.args[0].args[0] == w.then // coalesce
		}
		n.whens = append(n.whens, w)
	}
	if e.Else != nil {
		n.whens = append(n.whens, when{then: n.args[2*len(e.Whens)]})
	} else {
		null := &predicate.Literal{Value: predicate.NullOf(e.Typ)}
		n.whens = append(n.whens, when{then: &node{expr: null, point: pointSpan(null.Value), size: 1}})
	}
}

func (n *node) prepareCall(e *predicate.Call) {
	if e.Fn == nil || e.Fn.Eval == nil {
		n.opaque = true
		return
	}
	n.nullIn, n.inexact = e.Fn.NullIn, e.Fn.Inexact
	n.dig()
	if e.Fn.Monotonic != nil && len(n.holes) == 1 {
		n.direction, n.zoned = e.Fn.Monotonic(e.Args), e.Fn.Zoned
	}
	if e.Name == "startswith" && n.args[1].constant() && binaryOrder(n.args[0]) {
		n.like = prefixPattern(n.args[1].point.lo.S)
		n.total = true
	}
}

// constant reports a literal that is not NULL.
func (n *node) constant() bool {
	_, ok := n.expr.(*predicate.Literal)
	return ok && !n.point.empty
}

func binaryOrder(n *node) bool { t := n.typ(); return t.Kind == schema.String && t.Collation == "" }

// castDirection says how a cast that succeeds moves with its argument, and whether the zone has a say. What is not here
// (text to anything, numbers to text or boolean) is in no order.
func castDirection(from, to schema.Type) (d predicate.Direction, zoned bool) {
	number, instant := isNumeric(to), to.Kind == schema.Timestamp
	switch from.Kind {
	case schema.Boolean:
		if number || to.Kind == schema.String || to.Kind == schema.Boolean {
			d = predicate.NonDecreasing
		}
	case schema.Byte, schema.Short, schema.Integer, schema.Long, schema.Float, schema.Double, schema.Decimal:
		if number || instant {
			d = predicate.NonDecreasing
		}
	case schema.Date:
		if to.Kind == schema.Date || to.Kind == schema.TimestampNTZ || instant {
			d = predicate.NonDecreasing
		}
	case schema.Timestamp:
		switch {
		case number || instant:
			d = predicate.NonDecreasing
		case to.Kind == schema.Date || to.Kind == schema.TimestampNTZ:
			d, zoned = predicate.NonDecreasing, true
		}
	case schema.TimestampNTZ:
		switch {
		case to.Kind == schema.Date || to.Kind == schema.TimestampNTZ:
			d = predicate.NonDecreasing
		case instant:
			d, zoned = predicate.NonDecreasing, true
		}
	case schema.String:
		if to.Kind == schema.String && from.Collation == "" && to.Collation == "" {
			d = predicate.NonDecreasing
		}
	}
	return d, zoned
}

// castTotal reports a cast that takes every value.
func castTotal(from, to schema.Type) bool {
	integral := func(t schema.Type) bool { return t.Kind >= schema.Byte && t.Kind <= schema.Long }
	switch {
	case to.Kind == schema.String:
		return from.Kind >= schema.Boolean && from.Kind <= schema.TimestampNTZ
	case integral(from) && integral(to):
		return from.Kind <= to.Kind
	case integral(from) && isFloat(to), isFloat(from) && to.Kind == schema.Double, from.Kind == to.Kind && isFloat(to):
		return true
	}
	return false
}

// zonedWithin reports that somewhere in the node the zone's changes of offset matter.
func (n *node) zonedWithin() bool {
	return n.zoned && !constantOffset(n.env.Zone) || slices.ContainsFunc(n.args, (*node).zonedWithin)
}
