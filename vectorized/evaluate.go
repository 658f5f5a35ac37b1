package vectorized

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// A node is an expression prepared for evaluation over spans. Nodes are immutable; equal expressions share one node, so
// pointers compare.
type node struct {
	expr    predicate.Expr
	env     *predicate.Env
	args    []*node
	columns []int // the demands that the expression depends on, ascending
	ranged  []int // those of them whose bounds count, and not only their NULLs
	size    int   // nodes of the expression, a list of constants being one
	opaque  bool  // something inside cannot be evaluated

	column int    // of a Column: its demand
	point  span   // of a Literal
	whens  []when // of a Case; args holds conditions and results in order

	// step is the expression with a column of its own in place of each argument that is not a literal; holes are those
	// columns. It evaluates this one node for given values of its arguments.
	step  predicate.Expr
	holes []hole

	list     []predicate.Value // of an In: its constants, ascending if their type is ordered; args holds X and the other members
	listNull bool              // NULL is among the constants

	like *likePattern // of a Like or startswith with a constant pattern

	direction predicate.Direction // of a Cast or Call of one varying argument
	zoned     bool                // direction holds only while the zone's offset stays
	nullIn    bool                // a NULL argument makes it NULL
	inexact   bool                // Spark may compute a double next to it
	total     bool                // never fails, and is NULL only for a NULL argument
}

type when struct {
	cond, then *node
	notNull    bool // then is the expression that cond says is not NULL
}

type hole struct {
	arg int // index into node.args
	col *schema.Column
}

func (n *node) typ() schema.Type { return n.expr.Type() }

// An evaluator evaluates nodes over what is known of the columns in one file. It is the scalar twin of the kernels.
type evaluator struct {
	columns []span // by demand
	row     stepRow
	failed  bool // some evaluation of exact values ended in an ANSI error
}

// stepRow gives the values of a node's holes.
type stepRow struct {
	holes  []hole
	values [maxHoles]predicate.Value
}

// maxHoles and maxTries bound the point rule: so many varying arguments, so many combinations of their values.
const (
	maxHoles = 6
	maxTries = 64
)

func (r *stepRow) Value(c *schema.Column) predicate.Value {
	for i := range r.holes {
		if r.holes[i].col == c {
			return r.values[i]
		}
	}
	return predicate.NullOf(c.Type)
}

// tri evaluates a boolean node.
func (ev *evaluator) tri(n *node) tri {
	switch e := n.expr.(type) {
	case *predicate.And:
		r := ev.tri(n.args[0])
		for _, a := range n.args[1:] {
			r = r.and(ev.tri(a))
		}
		return r
	case *predicate.Or:
		r := ev.tri(n.args[0])
		for _, a := range n.args[1:] {
			r = r.or(ev.tri(a))
		}
		return r
	case *predicate.Not:
		return ev.tri(n.args[0]).not()
	case *predicate.IsNull:
		s := ev.span(n.args[0])
		return triIf(s.null, canTrue) | triIf(!s.empty, canFalse)
	case *predicate.Compare:
		return ev.compare(n, e.Op)
	case *predicate.In:
		return ev.in(n)
	}
	s := ev.span(n)
	return s.tri()
}

// span evaluates any node.
func (ev *evaluator) span(n *node) span {
	switch n.expr.(type) {
	case *predicate.Column:
		return ev.columns[n.column]
	case *predicate.Literal:
		return n.point
	case *predicate.And, *predicate.Or, *predicate.Not, *predicate.IsNull, *predicate.Compare, *predicate.In:
		return ev.tri(n).span()
	case *predicate.Case:
		return ev.choose(n)
	case *predicate.Opaque:
		for _, c := range n.columns { // those whose NULL makes it NULL
			if ev.columns[c].empty {
				return span{null: ev.columns[c].null, empty: true}
			}
		}
		return anything(n.typ())
	}
	args := make([]span, 0, 4)
	for _, a := range n.args {
		args = append(args, ev.span(a))
	}
	if n.nullIn && slices.ContainsFunc(args, func(a span) bool { return a.empty }) {
		return span{empty: true, null: slices.ContainsFunc(args, func(a span) bool { return a.null })}
	}
	if s, ok := ev.try(n, args); ok {
		if n.inexact {
			s.blur()
		}
		return s
	}
	if n.like != nil {
		return n.like.match(&args[0]).span()
	}
	switch e := n.expr.(type) {
	case *predicate.Call:
		if e.Name == "abs" {
			return ev.abs(n, &args[0])
		}
	case *predicate.Arith:
		return ev.corners(n, e, args)
	}
	if n.direction != predicate.Unordered && len(n.holes) == 1 {
		return ev.monotonic(n, &args[n.holes[0].arg])
	}
	return n.unknown(args)
}

// unknown is what is left to say of a node when no rule applies.
func (n *node) unknown(args []span) span {
	s := anything(n.typ())
	if n.total {
		s.null = slices.ContainsFunc(args, func(a span) bool { return a.null })
	}
	if cast, ok := n.expr.(*predicate.Cast); ok && cast.To.Kind == schema.String && n.total {
		switch from := cast.X.Type(); {
		case isNumeric(from), from.Kind == schema.Date, from.Kind == schema.Timestamp, from.Kind == schema.TimestampNTZ:
			// A sign or a digit begins the text, or Infinity, or NaN.
			s.lo, s.hi, s.hasLo, s.hasHi = predicate.StringOf("+"), predicate.StringOf("NaN"), true, true
		}
	}
	return s
}

// try applies the point rule: with few possible values of the arguments, evaluate each combination.
func (ev *evaluator) try(n *node, args []span) (span, bool) {
	if n.step == nil {
		return span{}, false
	}
	var values [maxHoles][4]predicate.Value
	var counts, at [maxHoles]int
	tries := 1
	for i, h := range n.holes {
		count, few := args[h.arg].members(&values[i], h.col.Type)
		if !few || tries*count > maxTries {
			return span{}, false
		}
		counts[i] = count
		tries *= count
	}
	result := span{empty: true}
	for range tries {
		for i := range n.holes {
			ev.row.values[i] = values[i][at[i]]
		}
		v, ok := ev.step(n)
		if !ok { // a value that is too doubtful, such as the text of 3.4e38, is still NULL only where the rules for ranges say so
			return n.unknown(args), true
		}
		p := pointSpan(v)
		result.union(&p)
		for i := range n.holes { // the next combination
			if at[i]++; at[i] < counts[i] {
				break
			}
			at[i] = 0
		}
	}
	return result, true
}

// step evaluates n for the arguments in ev.row.values. It fails where Spark would fail, and where nobody knows.
func (ev *evaluator) step(n *node) (predicate.Value, bool) {
	ev.row.holes = n.holes
	v, err := n.evalStep(&ev.row)
	if err != nil {
		var failed *predicate.EvalError
		ev.failed = ev.failed || errors.As(err, &failed)
	}
	return v, err == nil
}

func (n *node) evalStep(row predicate.Row) (predicate.Value, error) {
	if n.inexact {
		return predicate.Approximate(n.step.(*predicate.Call), n.env, row)
	}
	return predicate.Eval(n.step, n.env, row)
}

// monotonic maps the bounds of the one varying argument. Where both ends evaluate, so does all between them: what a
// monotonic function cannot take lies at the ends of its domain.
func (ev *evaluator) monotonic(n *node, arg *span) span {
	if !arg.hasLo || !arg.hasHi || n.zoned && offsetChanges(n.env.Zone, arg) ||
		n.direction == predicate.NonIncreasing && math.IsNaN(arg.hi.F) { // NaN stays the greatest
		return n.unknown([]span{*arg})
	}
	ends := [3]predicate.Value{arg.lo, arg.hi, {Type: arg.lo.Type, F: math.NaN()}}
	if n.direction == predicate.NonIncreasing {
		ends[0], ends[1] = ends[1], ends[0]
	}
	result := span{null: arg.null && n.nullIn}
	for i, end := range ends[:2] {
		ev.row.values[0] = end
		v, ok := ev.step(n)
		if !ok || v.Null || math.IsNaN(v.F) && !math.IsNaN(end.F) {
			return anything(n.typ())
		}
		if i == 0 {
			result.lo, result.hasLo = v, true
		} else {
			result.hi, result.hasHi = v, true
		}
	}
	order := result.lo.Compare(result.hi)
	if order > 0 { // Spark's arithmetic wrapped around
		return anything(n.typ())
	}
	result.exact = !isFloat(n.typ()) && order == 0
	apart := [2]struct { // what is not between the ends
		any bool
		v   predicate.Value
	}{{arg.nan, ends[2]}, {arg.null && !n.nullIn, predicate.NullOf(arg.lo.Type)}}
	for _, a := range apart {
		if !a.any {
			continue
		}
		ev.row.values[0] = a.v
		v, ok := ev.step(n)
		if !ok {
			return anything(n.typ())
		}
		p := pointSpan(v)
		result.union(&p)
	}
	return result
}

// corners bounds arithmetic over ranges. + - * / and DIV move one way with each argument while the other is held (and
// the divisor keeps clear of zero), so that their extremes lie at the corners.
func (ev *evaluator) corners(n *node, e *predicate.Arith, args []span) span {
	a, b := &args[0], &args[1]
	divides := e.Op == predicate.Div || e.Op == predicate.IntDiv
	switch {
	case e.Op == predicate.Mod, !isNumeric(a.lo.Type), !isNumeric(b.lo.Type),
		!a.hasLo || !a.hasHi || !b.hasLo || !b.hasHi,
		a.nan || b.nan,
		// Infinities make NaN out of numbers between the corners: 0 * Inf.
		isFloat(n.typ()) && (infinite(a) || infinite(b)),
		divides && sign(b.lo)*sign(b.hi) <= 0:
		return anything(n.typ())
	}
	result := span{empty: true}
	for _, x := range [2]predicate.Value{a.lo, a.hi} {
		for _, y := range [2]predicate.Value{b.lo, b.hi} {
			for i, h := range n.holes {
				ev.row.values[i] = x
				if h.arg == 1 {
					ev.row.values[i] = y
				}
			}
			v, ok := ev.step(n)
			if !ok || v.Null {
				return anything(n.typ())
			}
			p := pointSpan(v)
			result.union(&p)
		}
	}
	result.null = a.null || b.null
	result.exact = result.exact && !isFloat(n.typ())
	return result
}

// abs grows above zero and falls below it.
func (ev *evaluator) abs(n *node, arg *span) span {
	if !arg.hasLo || !arg.hasHi || !isNumeric(arg.lo.Type) {
		return anything(n.typ())
	}
	ev.row.values[0] = arg.lo
	lo, ok := ev.step(n)
	ev.row.values[0] = arg.hi
	hi, ok2 := ev.step(n)
	if !ok || !ok2 {
		return anything(n.typ())
	}
	if lo.Compare(hi) > 0 {
		lo, hi = hi, lo
	}
	if zero := (predicate.Value{Type: arg.lo.Type}); arg.lo.Compare(zero) < 0 && arg.hi.Compare(zero) > 0 {
		lo = predicate.Value{Type: lo.Type}
	}
	return span{null: arg.null, nan: arg.nan, lo: lo, hi: hi, hasLo: true, hasHi: true}
}

// choose evaluates a Case: the union of the arms that some row may take.
func (ev *evaluator) choose(n *node) span {
	result := span{empty: true}
	for _, w := range n.whens {
		c := tri(canTrue)
		if w.cond != nil { // the last arm is the ELSE
			c = ev.tri(w.cond)
		}
		if c&canTrue != 0 {
			s := ev.span(w.then)
			if w.notNull {
				s.null = false
			}
			result.union(&s)
		}
		if c&(canFalse|canNull) == 0 {
			break
		}
	}
	return result
}

func (ev *evaluator) compare(n *node, op predicate.CompareOp) tri {
	a := ev.span(n.args[0])
	if n.args[0] == n.args[1] && !n.opaque { // an expression compared with itself
		return selfCompare(op, &a)
	}
	b := ev.span(n.args[1])
	t := n.args[0].typ()
	if !domainOf(t).unordered {
		return compare(op, t, &a, &b)
	}
	if s, ok := ev.try(n, []span{a, b}); ok {
		return s.tri()
	}
	if op == predicate.NullSafe {
		return triIf(!a.empty && !b.empty || a.null && b.null, canTrue) | canFalse
	}
	return triIf(!a.empty && !b.empty, canTrue|canFalse) | triIf(a.null || b.null, canNull)
}

func selfCompare(op predicate.CompareOp, a *span) tri {
	switch op {
	case predicate.NullSafe:
		return triIf(a.null || !a.empty, canTrue)
	case predicate.EQ, predicate.LE, predicate.GE:
		return triIf(!a.empty, canTrue) | triIf(a.null, canNull)
	}
	return triIf(!a.empty, canFalse) | triIf(a.null, canNull)
}

// in is the OR of the equalities with the constants of a list and with its other members.
func (ev *evaluator) in(n *node) tri {
	x := ev.span(n.args[0])
	t := n.args[0].typ()
	ordered := !domainOf(t).unordered
	equal := func(member *span) tri {
		if ordered {
			return compare(predicate.EQ, t, &x, member)
		}
		return triIf(!x.empty && !member.empty, canTrue|canFalse) | triIf(x.null || member.null, canNull)
	}
	var r tri
	switch {
	case len(n.list) > 0 && ordered:
		r = n.inConstants(&x)
	case len(n.list) > 0:
		r = equal(&span{null: n.listNull})
	case n.listNull:
		r = equal(&span{null: true, empty: true})
	}
	for i, a := range n.args[1:] {
		member := ev.span(a)
		if eq := equal(&member); i == 0 && len(n.list) == 0 && !n.listNull {
			r = eq
		} else {
			r = r.or(eq)
		}
	}
	return r
}

// inConstants looks a range up in the sorted constants of a list.
func (n *node) inConstants(x *span) tri {
	r := triIf(x.null, canNull)
	if x.empty {
		return r
	}
	hit, miss := withinList(n.list, x)
	if x.nan {
		if math.IsNaN(n.list[len(n.list)-1].F) {
			hit = true
		} else {
			miss = true
		}
	}
	if miss && n.listNull { // not among the constants, so perhaps equal to the NULL
		return r | triIf(hit, canTrue) | canNull
	}
	return r | triIf(hit, canTrue) | triIf(miss, canFalse)
}

// withinList says whether a value of lo … hi may be in the sorted list, and whether one may not be.
func withinList(list []predicate.Value, x *span) (hit, miss bool) {
	i := 0
	if x.hasLo {
		i, _ = slices.BinarySearchFunc(list, x.lo, predicate.Value.Compare)
	}
	if i < len(list) {
		v := pointSpan(list[i])
		hit = mayReach(x, &v)
	}
	return hit, !hit || !x.isPoint()
}

func isNumeric(t schema.Type) bool { return t.Kind >= schema.Byte && t.Kind <= schema.Decimal }

func sign(v predicate.Value) int {
	switch {
	case v.Type.Kind == schema.Decimal:
		return v.D.Sign()
	case isFloat(v.Type):
		switch {
		case v.F > 0:
			return 1
		case v.F < 0:
			return -1
		}
		return 0
	case v.I > 0:
		return 1
	case v.I < 0:
		return -1
	}
	return 0
}

func infinite(s *span) bool {
	return math.IsInf(s.lo.F, 0) || math.IsInf(s.hi.F, 0) || math.IsNaN(s.hi.F)
}

// offsetChanges reports that local time may go back somewhere within the span of instants, or jump either way within the
// span of wall clock readings: functions of local time are not monotonic there. Midnights are in order whatever the zone
// does.
func offsetChanges(zone *time.Location, s *span) bool {
	if constantOffset(zone) || s.lo.Type.Kind == schema.Date {
		return false
	}
	const day, most = 24 * 60 * 60, 1000 // most transitions looked at
	from, to := s.lo.I/1e6-day, s.hi.I/1e6+day
	for range most {
		at := time.Unix(from, 0).In(zone)
		_, end := at.ZoneBounds()
		if end.IsZero() || end.Unix() > to {
			return false
		}
		_, before := at.Zone()
		if _, after := end.Zone(); after < before || s.lo.Type.Kind != schema.Timestamp {
			return true
		}
		from = end.Unix()
	}
	return true
}

func constantOffset(zone *time.Location) bool {
	if zone == nil || zone == time.UTC {
		return true
	}
	start, end := time.Unix(0, 0).In(zone).ZoneBounds()
	return start.IsZero() && end.IsZero()
}
