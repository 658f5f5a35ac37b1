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
	table   *schema.Table
	demands []colstats.Demand
	index   map[*schema.Column]int
	envs    []*predicate.Env
	exprs   map[string]*node
	steps   map[*node]*step
	nodes   []planNode
	byKey   map[string]int32
	ev      evaluator // columns are set as needed
}

// The two constants are always the first nodes.
const never, always = int32(0), int32(1)

func newCompiler() *compiler {
	return &compiler{
		index: map[*schema.Column]int{},
		exprs: map[string]*node{},
		steps: map[*node]*step{},
		nodes: []planNode{{kind: planNever}, {kind: planAlways}},
		byKey: map[string]int32{},
	}
}

// intern returns the node of that key, making it if it is new.
func (c *compiler) intern(key string, make func() planNode) int32 {
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
	return c.intern(string(key), func() planNode { return planNode{kind: kind, args: args, cost: cost} })
}

// plan returns the plan node that asks whether the boolean node n may be bit.
func (c *compiler) plan(n *node, bit tri) int32 {
	if len(n.columns) == 0 {
		return constant(c.ev.tri(n)&bit != 0)
	}
	var s *step
	if len(n.columns) == 1 {
		if s = c.stepOf(n); s != nil && s.settled() {
			return c.askStep(s, bit)
		}
	}
	switch e := n.expr.(type) {
	case *predicate.Not:
		return c.plan(n.args[0], bit.not())
	case *predicate.And:
		return c.conjunction(c.terms(n), bit, canTrue, canFalse)
	case *predicate.Or:
		return c.conjunction(c.terms(n), bit, canFalse, canTrue)
	case *predicate.IsNull:
		if x := n.args[0]; x.typ().Kind == schema.Boolean {
			switch bit {
			case canTrue:
				return c.plan(x, canNull)
			case canFalse:
				return c.any(c.plan(x, canTrue), c.plan(x, canFalse))
			}
			return never
		}
	case *predicate.Compare:
		if id, ok := c.planPair(n, e.Op, bit); ok {
			return id
		}
	}
	id := c.planScalar(n, bit)
	if s != nil { // the step knows the range, the scalar evaluator more of a file with one value
		id = c.all(c.askStep(s, bit), id)
	}
	return id
}

func constant(b bool) int32 {
	if b {
		return always
	}
	return never
}

// conjunction plans an AND of independent terms; with yes and no exchanged it plans an OR, its dual.
func (c *compiler) conjunction(terms []*node, bit, yes, no tri) int32 {
	ids := func(bits ...tri) (ids []int32) {
		for _, t := range terms {
			var alternatives []int32
			for _, b := range bits {
				alternatives = append(alternatives, c.plan(t, b))
			}
			ids = append(ids, c.any(alternatives...))
		}
		return ids
	}
	switch bit {
	case yes:
		if contradictory(terms) { // a AND NOT a is FALSE or NULL
			return never
		}
		return c.all(ids(yes)...)
	case no:
		return c.any(ids(no)...)
	}
	// NULL iff some term is NULL and all others are NULL or yes.
	return c.all(c.all(ids(yes, canNull)...), c.any(ids(canNull)...))
}

func contradictory(terms []*node) bool {
	for _, t := range terms {
		if _, ok := t.expr.(*predicate.Not); ok && !t.opaque && slices.Contains(terms, t.args[0]) {
			return true
		}
	}
	return false
}

// terms returns the arguments of nested ANDs (or ORs) as one list, in which those over one column that have steps are
// joined: `x > 5 AND x < 3` is one step, and never TRUE.
func (c *compiler) terms(n *node) []*node {
	var terms []*node
	byColumn := map[int][]*node{}
	for _, a := range n.flatten(nil) {
		if len(a.columns) == 1 {
			if s := c.stepOf(a); s != nil && s.settled() {
				byColumn[a.columns[0]] = append(byColumn[a.columns[0]], a)
				continue
			}
		}
		terms = append(terms, a)
	}
	for column := range c.demands {
		group := byColumn[column]
		if len(group) > 1 {
			joined := c.join(n.expr, group)
			if s := c.stepOf(joined); s != nil && s.settled() {
				group = []*node{joined}
			}
		}
		terms = append(terms, group...)
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

func (c *compiler) stepOf(n *node) *step {
	s, ok := c.steps[n]
	if !ok {
		s = c.makeStep(n)
		c.steps[n] = s
	}
	return s
}

// askStep plans a question to a step.
func (c *compiler) askStep(s *step, bit tri) int32 {
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
	return c.intern(key.String(), func() planNode {
		return planNode{kind: planStep, column: s.column, ask: q, test: t, cost: 1 + t.cost()}
	})
}

func (c *compiler) planScalar(n *node, bit tri) int32 {
	if _, ok := n.expr.(*predicate.Opaque); ok {
		return always
	}
	return c.intern(fmt.Sprintf("scalar %p %d", n, bit), func() planNode {
		return planNode{kind: planScalar, expr: n, bit: bit, cost: 1000 * n.size}
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
	return c.intern(fmt.Sprintf("pair %p %d", n, bit), func() planNode {
		return planNode{kind: planPair, expr: n, bit: bit, pair: makePair(t, op, bit), cost: 10}
	}), true
}

// node prepares an expression; equal ones share a node.
func (c *compiler) node(e predicate.Expr, env *predicate.Env) *node {
	var args []*node
	for _, child := range e.Children() {
		args = append(args, c.node(child, env))
	}
	n := &node{expr: e, env: env, args: args}
	var detail string // what tells e from other expressions of its type with the same arguments
	switch e := e.(type) {
	case *predicate.Column:
		n.column = c.demand(e.Col)
		n.columns = []int{n.column}
		detail = strconv.Itoa(n.column)
	case *predicate.Literal:
		n.point = pointSpan(e.Value)
		detail = valueKey(e.Value)
	case *predicate.Opaque: // never shared: it may be rand()
		n.opaque = true
		detail = fmt.Sprintf("%p", e)
	case *predicate.Compare:
		detail = e.Op.String()
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
	return c.plan(n, canTrue)
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
			d.Bounds = d.Bounds && (d.Column.Partition || usable)
			p.layout.Demands = append(p.layout.Demands, d)
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
