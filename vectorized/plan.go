package vectorized

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// A planNode computes one bit per file. Nodes refer to nodes before them.
type planNode struct {
	kind planKind
	args []int32 // of planAnd and planOr: cheapest first

	column int // of planStep
	ask    ask
	test   test

	expr *node // of planScalar and planPair
	bit  tri
	pair pairTest
	memo byte // of planScalar over partition columns: its number, from 1 on; 0 remembers nothing

	cost   int
	shared bool // used more than once
}

type planKind uint8

const (
	planNever  planKind = iota // no file
	planAlways                 // every file
	planAnd
	planOr
	planStep   // a question to a step, by kernels
	planPair   // two columns compared, by kernels
	planScalar // anything else, file by file
)

// A compiler turns expressions into plan nodes, each distinct one once.
type compiler struct {
	demands []colstats.Demand
	index   map[*schema.Column]int
	envs    []*predicate.Env
	exprs   map[string]*node
	steps   map[string]*step
	stepsOf map[*node]*step // nil where making one was too much work
	plans   map[planKey]int32
	nodes   []planNode
	byKey   map[string]int32
	memos   int
	ev      evaluator // columns are set as needed
}

// The two constants are always the first nodes.
const never, always = int32(0), int32(1)

func newCompiler() *compiler {
	return &compiler{
		index: map[*schema.Column]int{},
		exprs: map[string]*node{},
		steps: map[string]*step{}, stepsOf: map[*node]*step{}, plans: map[planKey]int32{},
		nodes: []planNode{{kind: planNever}, {kind: planAlways}},
		byKey: map[string]int32{},
	}
}

// place returns the plan node of that key, making it if it is new.
func (c *compiler) place(key string, make func() planNode) int32 {
	if id, ok := c.byKey[key]; ok {
		return id
	}
	n := make()
	id := int32(len(c.nodes))
	c.nodes = append(c.nodes, n)
	c.byKey[key] = id
	return id
}

// all is the AND of nodes, any their OR.
func (c *compiler) all(args ...int32) int32 { return c.connect(planAnd, always, never, args) }
func (c *compiler) any(args ...int32) int32 { return c.connect(planOr, never, always, args) }

func (c *compiler) connect(kind planKind, neutral, decisive int32, args []int32) int32 {
	args = slices.DeleteFunc(slices.Clone(args), func(a int32) bool { return a == neutral })
	if slices.Contains(args, decisive) {
		return decisive
	}
	slices.SortFunc(args, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.nodes[a].cost, c.nodes[b].cost), cmp.Compare(a, b))
	})
	args = slices.Compact(args)
	switch len(args) {
	case 0:
		return neutral
	case 1:
		return args[0]
	}
	key := binary.LittleEndian.AppendUint32(nil, uint32(kind))
	cost := 0
	for _, a := range args {
		key = binary.LittleEndian.AppendUint32(key, uint32(a))
		cost += c.nodes[a].cost
	}
	return c.place(string(key), func() planNode { return planNode{kind: kind, args: args, cost: cost} })
}

// plan returns the plan node that asks whether the boolean node n may be bit in a row that given allows.
func (c *compiler) plan(n *node, bit tri, given *premise) int32 {
	given = given.only(n.columns)
	key := planKey{n, bit, given.key()}
	id, ok := c.plans[key]
	if !ok {
		id = c.planAnew(n, bit, given)
		c.plans[key] = id
	}
	return id
}

// A planKey says what plan was asked for.
type planKey struct {
	n     *node
	bit   tri
	given string
}

func (c *compiler) planAnew(n *node, bit tri, given *premise) int32 {
	if len(n.columns) == 0 {
		return constant(c.ev.tri(n)&bit != 0)
	}
	var s *step
	if len(n.columns) == 1 {
		if s = c.stepOf(n); s != nil && s.settled() {
			return c.askStep(s, bit, given)
		}
	}
	switch e := n.expr.(type) {
	case *predicate.Not:
		return c.plan(n.args[0], bit.not(), given)
	case *predicate.And:
		return c.conjunction(n, bit, canTrue, canFalse, given)
	case *predicate.Or:
		return c.conjunction(n, bit, canFalse, canTrue, given)
	case *predicate.IsNull:
		if x := n.args[0]; x.typ().Kind == schema.Boolean {
			switch bit {
			case canTrue:
				return c.plan(x, canNull, given)
			case canFalse:
				return c.any(c.plan(x, canTrue, given), c.plan(x, canFalse, given))
			}
			return never
		}
	case *predicate.Compare:
		if id, ok := c.planPair(n, e.Op, bit); ok {
			return id
		}
	}
	id := always
	if !n.hopeless() {
		id = c.planScalar(n, bit)
	}
	if s != nil { // the step knows the range, the scalar evaluator more of a file with one value
		id = c.all(c.askStep(s, bit, given), id)
	}
	return id
}

// hopeless reports that a file's bounds tell nothing that a step doesn't.
func (n *node) hopeless() bool {
	if _, ok := n.expr.(*predicate.Opaque); ok {
		return len(n.columns) < 2
	}
	return n.opaque && len(n.columns) < 2 && slices.ContainsFunc(n.args, (*node).hopeless)
}

func constant(b bool) int32 {
	if b {
		return always
	}
	return never
}

// conjunction plans an AND; with yes and no exchanged it plans an OR, its dual.
func (c *compiler) conjunction(n *node, bit, yes, no tri, given *premise) int32 {
	terms := c.terms(n)
	each := func(given *premise, bits ...tri) (ids []int32) {
		for _, t := range terms {
			var alternatives []int32
			for _, b := range bits {
				alternatives = append(alternatives, c.planTerm(t, b, given))
			}
			ids = append(ids, c.any(alternatives...))
		}
		return ids
	}
	switch bit {
	case yes:
		return c.agreement(terms, yes, given)
	case no:
		return c.any(each(given, no)...)
	}
	// NULL iff some term is NULL and all others are NULL or yes.
	return c.all(c.all(each(given, yes, canNull)...), c.any(each(given, canNull)...))
}

// A term is an argument of an AND or OR, or those over one column that have settled steps, as one step.
type term struct {
	nodes []*node
	step  *step // nil for a single node without
}

func (c *compiler) planTerm(t term, bit tri, given *premise) int32 {
	if t.step != nil {
		return c.askStep(t.step, bit, given)
	}
	return c.plan(t.nodes[0], bit, given)
}

// agreement asks whether a row may make all terms yes. Each term is looked at in the rows that the others leave: given
// x < 5, `y = 1 OR x > 10` is y = 1; given x = 5, `x + y = 7` is 5 + y = 7; given x = y as well, y < 5.
func (c *compiler) agreement(terms []term, yes tri, given *premise) int32 {
	if contradictory(terms) { // a AND NOT a is FALSE or NULL
		return never
	}
	var ids []int32
	for _, t := range terms {
		if t.step != nil {
			ids = append(ids, c.askStep(t.step, yes, given))
		}
	}
	for _, t := range terms {
		if t.step != nil {
			given = given.with(c, t.step, yes)
		}
	}
	for _, t := range terms {
		if t.step != nil {
			continue
		}
		n := t.nodes[0]
		ids = append(ids, c.plan(n, yes, given))
		for _, column := range n.columns {
			if v, ok := given.point(c, column); ok {
				n = c.substitute(n, column, &predicate.Literal{Value: v})
			}
		}
		if n != t.nodes[0] {
			ids = append(ids, c.plan(n, yes, given))
		}
		ids = append(ids, c.transfer(n, terms, yes)...)
	}
	return c.all(ids...)
}

// maxTransfer bounds the terms among which equalities pass on what is known.
const maxTransfer = 64

// transfer plans what an equality `a = x`, x being a column or a cast of one, tells of x by what other terms say of a.
func (c *compiler) transfer(n *node, terms []term, yes tri) (ids []int32) {
	e, ok := n.expr.(*predicate.Compare)
	if !ok || e.Op != predicate.EQ || yes != canTrue || len(terms) > maxTransfer {
		return nil
	}
	for i, side := range n.args {
		other := n.args[1-i]
		if _, ok := side.expr.(*predicate.Column); !ok || !columnOrCast(other) || domainOf(side.typ()).unordered {
			continue
		}
		for _, t := range terms {
			for _, about := range t.nodes {
				// Equal floats may be zeros of different signs, which functions tell apart.
				if len(about.columns) == 1 && about.columns[0] == side.column && (!isFloat(side.typ()) || comparesOnly(about)) {
					ids = append(ids, c.plan(c.substitute(about, side.column, other.expr), yes, nil))
				}
			}
		}
	}
	return ids
}

func columnOrCast(n *node) bool {
	if _, ok := n.expr.(*predicate.Cast); ok {
		n = n.args[0]
	}
	_, ok := n.expr.(*predicate.Column)
	return ok
}

// comparesOnly reports an expression that cannot tell equal values of a column apart.
func comparesOnly(n *node) bool {
	switch n.expr.(type) {
	case *predicate.Cast, *predicate.Call, *predicate.Arith, *predicate.Case, *predicate.Like, *predicate.Opaque:
		return false
	}
	return !slices.ContainsFunc(n.args, func(a *node) bool { return !comparesOnly(a) })
}

// substitute returns n with e in place of a column.
func (c *compiler) substitute(n *node, column int, e predicate.Expr) *node {
	if _, ok := n.expr.(*predicate.Column); ok && n.column == column {
		return c.node(e, n.env)
	}
	if !slices.Contains(n.columns, column) || n.opaque {
		return n
	}
	args := make([]*node, len(n.args))
	for i, a := range n.args {
		args[i] = c.substitute(a, column, e)
	}
	switch n.expr.(type) {
	case *predicate.And, *predicate.Or:
		return c.join(n.expr, args)
	}
	exprs := make([]predicate.Expr, len(args))
	for i, a := range args {
		exprs[i] = a.expr
	}
	r := c.node(withArgs(n.expr, exprs), n.env)
	if len(r.columns) == 0 && !r.opaque {
		if v, err := predicate.Eval(r.expr, r.env, nil); err == nil {
			return c.node(&predicate.Literal{Value: v}, r.env)
		}
	}
	return r
}

func contradictory(terms []term) bool {
	for _, t := range terms {
		n := t.nodes[0]
		if _, ok := n.expr.(*predicate.Not); ok && !n.opaque && slices.ContainsFunc(terms, func(u term) bool { return u.nodes[0] == n.args[0] }) {
			return true
		}
	}
	return false
}

// terms returns the arguments of nested ANDs (or ORs) as one list, in which settled steps over one column are joined:
// `x > 5 AND x < 3` is one step, and never TRUE.
func (c *compiler) terms(n *node) []term {
	_, and := n.expr.(*predicate.And)
	var terms []term
	byColumn := map[int]int{} // places in terms
	for _, a := range n.flatten(nil) {
		var s *step
		if len(a.columns) == 1 {
			s = c.stepOf(a)
		}
		if s == nil || !s.settled() {
			terms = append(terms, term{nodes: []*node{a}})
			continue
		}
		i, ok := byColumn[s.column]
		switch {
		case !ok:
			byColumn[s.column] = len(terms)
			terms = append(terms, term{[]*node{a}, s})
			continue
		case and:
			terms[i].step = c.merge(terms[i].step, s, tri.and)
		default:
			terms[i].step = c.merge(terms[i].step, s, tri.or)
		}
		terms[i].nodes = append(terms[i].nodes, a)
	}
	return terms
}

// flatten appends the arguments of n, those of nested nodes of its kind in their place.
func (n *node) flatten(dst []*node) []*node {
	_, and := n.expr.(*predicate.And)
	for _, a := range n.args {
		nested := false
		switch a.expr.(type) {
		case *predicate.And:
			nested = and
		case *predicate.Or:
			nested = !and
		}
		if nested {
			dst = a.flatten(dst)
		} else {
			dst = append(dst, a)
		}
	}
	return dst
}

// stepOf returns the step of an expression over one column, or nil where making one is too much work.
func (c *compiler) stepOf(n *node) *step {
	s, ok := c.stepsOf[n]
	if ok {
		return s
	}
	switch n.expr.(type) {
	case *predicate.Not:
		if s = c.stepOf(n.args[0]); s != nil {
			s = c.merge(s, s, func(a, _ tri) tri { return a.not() })
		}
	case *predicate.And:
		s = c.mergeAll(n.args, canTrue, tri.and)
	case *predicate.Or:
		s = c.mergeAll(n.args, canFalse, tri.or)
	default:
		if s = c.makeStep(n); s != nil {
			s = c.intern(s)
		}
	}
	c.stepsOf[n] = s
	return s
}

// mergeAll merges the steps of expressions of which each has one column, the same, or none.
func (c *compiler) mergeAll(args []*node, neutral tri, f func(a, b tri) tri) *step {
	var steps []*step
	constants := neutral
	for _, a := range args {
		if len(a.columns) == 0 {
			constants = f(constants, c.ev.tri(a))
			continue
		}
		s := c.stepOf(a)
		if s == nil {
			return nil
		}
		steps = append(steps, s)
	}
	for len(steps) > 1 { // in pairs, so that long lists stay short of quadratic
		for i := range len(steps) / 2 {
			steps[i] = c.merge(steps[2*i], steps[2*i+1], f)
		}
		if n := len(steps); n%2 == 1 {
			steps[n/2] = steps[n-1]
		}
		steps = steps[:(len(steps)+1)/2]
	}
	return c.merge(steps[0], steps[0], func(a, _ tri) tri { return f(a, constants) })
}

// askStep plans a question to a step.
func (c *compiler) askStep(s *step, bit tri, given *premise) int32 {
	if allows := given.of(s.column); allows != nil {
		s = c.merge(s, allows, func(a, allowed tri) tri {
			if allowed&canTrue == 0 {
				return 0
			}
			return a
		})
	}
	q := ask{s, bit}
	col := c.demands[s.column].Column
	t := q.test(col.Type)
	switch {
	case t.null && t.start && !t.bounds:
		return always // of a file without rows too, which is harmless
	case !t.null && !t.anywhere:
		return never
	}
	var key strings.Builder
	fmt.Fprintf(&key, "step %d %t %t %t", s.column, t.start, t.nan, t.null)
	_, edges := q.edges()
	for _, e := range edges {
		key.WriteString(valueKey(e))
	}
	return c.place(key.String(), func() planNode {
		return planNode{kind: planStep, column: s.column, ask: q, test: t, cost: 1 + t.cost()}
	})
}

func (c *compiler) planScalar(n *node, bit tri) int32 {
	return c.place(fmt.Sprintf("scalar %p %d", n, bit), func() planNode {
		p := planNode{kind: planScalar, expr: n, bit: bit, cost: 1000 * n.size}
		data := slices.ContainsFunc(n.columns, func(i int) bool { return !c.demands[i].Column.Partition })
		if !data && c.memos < 255 {
			c.memos++
			p.memo = byte(c.memos)
		}
		return p
	})
}

// planPair plans a comparison of two columns by kernels.
func (c *compiler) planPair(n *node, op predicate.CompareOp, bit tri) (int32, bool) {
	_, ok := n.args[0].expr.(*predicate.Column)
	_, ok2 := n.args[1].expr.(*predicate.Column)
	t := n.args[0].typ()
	if !ok || !ok2 || domainOf(t).unordered || op == predicate.NullSafe || bit == canNull {
		return 0, false
	}
	return c.place(fmt.Sprintf("pair %p %d", n, bit), func() planNode {
		return planNode{kind: planPair, expr: n, bit: bit, pair: makePair(t, op, bit), cost: 10}
	}), true
}

// node prepares an expression; equal ones share a node.
func (c *compiler) node(e predicate.Expr, env *predicate.Env) *node {
	var args []*node
	for _, arg := range arguments(e) {
		args = append(args, c.node(arg, env))
	}
	n := &node{expr: e, env: env, args: args}
	var detail string // what tells e from other expressions of its type with the same arguments
	switch e := e.(type) {
	case *predicate.Column:
		n.column = c.demand(e.Col)
		n.columns = []int{n.column}
		n.ranged = n.columns
		detail = strconv.Itoa(n.column)
	case *predicate.Literal:
		n.point = pointSpan(e.Value)
		detail = valueKey(e.Value)
	case *predicate.Opaque: // never shared: it may be rand()
		n.opaque = true
		n.args = nil
		for _, col := range e.Strict {
			n.columns = append(n.columns, c.demand(col))
		}
		detail = fmt.Sprintf("%p", e)
	case *predicate.Compare:
		detail = e.Op.String()
	case *predicate.In:
		var b strings.Builder
		for _, member := range e.List {
			if l, ok := member.(*predicate.Literal); ok {
				b.WriteString(valueKey(l.Value))
			}
		}
		detail = b.String()
	case *predicate.Arith:
		detail = fmt.Sprintf("%v %t %d", e.Op, e.Try, c.envID(env))
	case *predicate.Cast:
		detail = fmt.Sprintf("%t %d", e.Try, c.envID(env))
	case *predicate.Like:
		detail = fmt.Sprintf("%d %t", e.Escape, e.Fold)
	case *predicate.Call:
		detail = fmt.Sprintf("%s %d", e.Name, c.envID(env))
	case *predicate.Case:
		detail = strconv.FormatBool(e.Else != nil)
	}
	return c.share(n, detail)
}

// share returns the node that equals n, which is n if there is none yet.
func (c *compiler) share(n *node, detail string) *node {
	var key strings.Builder
	fmt.Fprintf(&key, "%T %s %s", n.expr, n.expr.Type(), detail)
	for _, a := range n.args {
		fmt.Fprintf(&key, " %p", a)
	}
	if known, ok := c.exprs[key.String()]; ok {
		return known
	}
	c.exprs[key.String()] = n
	n.size = 1
	for _, a := range n.args {
		n.columns = union(n.columns, a.columns)
		n.ranged = union(n.ranged, a.ranged)
		n.opaque = n.opaque || a.opaque
		n.size += a.size
	}
	n.prepare()
	return n
}

// join returns the AND, or whatever n is, of other arguments.
func (c *compiler) join(n predicate.Expr, args []*node) *node {
	if len(args) == 1 {
		return args[0]
	}
	return c.share(&node{expr: n, args: args}, "")
}

func (c *compiler) demand(col *schema.Column) int {
	i, ok := c.index[col]
	if !ok {
		i = len(c.demands)
		c.index[col] = i
		c.demands = append(c.demands, colstats.Demand{Column: col, Nulls: true})
		c.ev.columns = append(c.ev.columns, span{})
	}
	return i
}

// envID numbers the environments that differ.
func (c *compiler) envID(env *predicate.Env) int {
	for i, known := range c.envs {
		if known == env || *known == *env {
			return i
		}
	}
	c.envs = append(c.envs, env)
	return len(c.envs) - 1
}

// valueKey writes a value so that two differ iff their texts do.
func valueKey(v predicate.Value) string {
	if v.Null {
		return " null"
	}
	return " " + strconv.Quote(v.S) + strconv.FormatInt(v.I, 36) + strconv.FormatFloat(v.F, 'x', -1, 64) +
		strconv.FormatInt(v.D.HighBits(), 36) + strconv.FormatUint(v.D.LowBits(), 36)
}

// half plans the partition or the data half of a read: may it be TRUE? A missing half is.
func (c *compiler) half(r *read, half *predicate.Predicate) int32 {
	if half == nil {
		return always
	}
	n := c.node(half.Root, &half.Env)
	r.columns = union(r.columns, n.columns)
	return c.plan(n, canTrue, nil)
}

// whole returns a read as one expression again.
func (c *compiler) whole(halves ...*predicate.Predicate) *node {
	var args []*node
	for _, h := range halves {
		if h != nil {
			args = append(args, c.node(h.Root, &h.Env))
		}
	}
	if len(args) == 0 {
		return c.literal(true)
	}
	return c.join(&predicate.And{}, args)
}

func (c *compiler) literal(b bool) *node {
	return c.node(&predicate.Literal{Value: predicate.BoolOf(b)}, nil)
}

func union(a, b []int) []int {
	a = append(slices.Clone(a), b...)
	slices.Sort(a)
	return slices.Compact(a)
}

// finish moves into the program the plan nodes that its roots need and the demands that those need.
func (c *compiler) finish(p *Program) {
	used := make([]int, len(c.nodes))
	columns := make([]int, len(c.demands)) // renumbered, from 1 on
	visit := func(id int32) {
		if used[id]++; used[id] > 1 {
			return
		}
		n := &c.nodes[id]
		switch n.kind {
		case planStep:
			columns[n.column] = 1
			c.demands[n.column].Bounds = c.demands[n.column].Bounds || n.test.bounds
		case planPair, planScalar:
			for _, i := range n.expr.columns {
				columns[i] = 1
			}
			for _, i := range n.expr.ranged {
				c.demands[i].Bounds = true
			}
		}
	}
	roots := []*int32{&p.partition, &p.may, &p.partial}
	for i := range p.reads {
		roots = append(roots, &p.reads[i].partition, &p.reads[i].data)
	}
	visit(never)
	visit(always)
	for _, id := range roots {
		visit(*id)
	}
	for id := len(c.nodes) - 1; id >= 0; id-- { // arguments come before what uses them
		if used[id] > 0 {
			for _, a := range c.nodes[id].args {
				visit(a)
			}
		}
	}

	for i := range columns {
		if columns[i] > 0 {
			d := c.demands[i]
			usable, _ := d.Column.BoundsUsable()
			d.Bounds = d.Bounds && usable
			p.layout.Demands = append(p.layout.Demands, d)
			typ, _ := colstats.ArrowType(d.Column.Type)
			p.types = append(p.types, typ)
			columns[i] = len(p.layout.Demands)
		}
	}
	for _, n := range c.exprs {
		if _, ok := n.expr.(*predicate.Column); ok {
			n.column = columns[n.column] - 1
		}
		n.columns = renumber(n.columns, columns)
	}
	for i := range p.reads {
		p.reads[i].columns = renumber(p.reads[i].columns, columns)
	}
	ids := make([]int32, len(c.nodes))
	for id, n := range c.nodes {
		if used[id] == 0 {
			continue
		}
		ids[id] = int32(len(p.nodes))
		for i, a := range n.args {
			n.args[i] = ids[a]
		}
		if n.kind == planStep {
			n.column = columns[n.column] - 1
		}
		n.shared = used[id] > 1
		p.nodes = append(p.nodes, n)
	}
	for _, id := range roots {
		*id = ids[*id]
	}
}

// renumber maps demands, leaving out those that are not needed.
func renumber(demands, to []int) []int {
	var r []int
	for _, i := range demands {
		if to[i] > 0 {
			r = append(r, to[i]-1)
		}
	}
	return r
}
