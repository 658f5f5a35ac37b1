package vectorized

import (
	"fmt"
	"math"
	"slices"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// A step is a boolean expression over one column as a step function: the column's values are cut into segments, and each
// segment has one answer. `c BETWEEN 3 AND 5` on an int is
//
//	        3           6
//	────────┼───────────┼────────
//	 FALSE  │   TRUE    │  FALSE      NULL → NULL
//
// However the expression is spelled, with NOT, IN, LIKE 'p%', casts, year(c) or CASE, a file with bounds [lo, hi] can make
// it TRUE iff a TRUE segment meets [lo, hi]. Segments are closed below and open above, so that every question about a
// bound is whether it is less than a cut.
//
// For a float column the last segment is NaN alone.
type step struct {
	column  int
	cuts    []predicate.Value // ascending, above the least value of the type
	answers []tri             // of len(cuts)+1 segments; neighbours differ, except that NaN's may equal the one below
	null    tri               // the answer for NULL
}

// maxStepWork bounds cuts times nodes, the work of making one step.
const maxStepWork = 1 << 21

// makeStep cuts the column's values where the answer of n may turn, and evaluates n over each segment. Where to cut is a
// heuristic: any cuts make a sound step, good ones a settled one. It returns nil when that is too much work.
func (c *compiler) makeStep(n *node) *step {
	s := &step{column: n.columns[0]}
	d := domainOf(c.demands[s.column].Column.Type)
	if !d.unordered {
		c.cut(s, d, n)
		if len(s.cuts)*n.size > maxStepWork {
			return nil
		}
	}
	known := &c.ev.columns[s.column]
	*known = span{null: true, empty: true}
	s.null = c.ev.tri(n)
	r := step{column: s.column, null: s.null}
	for i := range len(s.cuts) + 1 {
		*known = s.segment(d, i)
		r.extend(s.cuts, i, c.ev.tri(n))
	}
	return &r
}

// extend appends the segment from cuts[i-1] on, which continues the one before it if it has the same answer.
func (s *step) extend(cuts []predicate.Value, i int, answer tri) {
	switch {
	case i == 0:
	case answer != s.answers[len(s.answers)-1], math.IsNaN(cuts[i-1].F):
		s.cuts = append(s.cuts, cuts[i-1])
	default:
		return
	}
	s.answers = append(s.answers, answer)
}

// merge makes the step whose answers are f of the answers of a and b, steps over one column.
func (c *compiler) merge(a, b *step, f func(a, b tri) tri) *step {
	cuts := append(slices.Clone(a.cuts), b.cuts...)
	slices.SortFunc(cuts, predicate.Value.Compare)
	cuts = slices.CompactFunc(cuts, sameOrder)
	r := &step{column: a.column, null: f(a.null, b.null)}
	for i := range len(cuts) + 1 {
		x, y := 0, 0
		if i > 0 {
			x, y = segmentOf(a.cuts, cuts[i-1]), segmentOf(b.cuts, cuts[i-1])
		}
		r.extend(cuts, i, f(a.answers[x], b.answers[y]))
	}
	return c.intern(r)
}

// intern returns the step that equals s, which is s if there is none yet.
func (c *compiler) intern(s *step) *step {
	key := fmt.Appendf(nil, "%d %d %v", s.column, s.null, s.answers)
	for _, v := range s.cuts {
		key = append(key, valueKey(v)...)
	}
	known, ok := c.steps[string(key)]
	if !ok {
		known = s
		c.steps[string(key)] = s
	}
	return known
}

func sameOrder(a, b predicate.Value) bool { return a.Compare(b) == 0 }

// segment returns the values between two cuts.
func (s *step) segment(d domain, i int) span {
	if d.unordered {
		return span{nan: isFloat(d.t)}
	}
	r := span{lo: d.least, hasLo: true}
	if i > 0 {
		r.lo = s.cuts[i-1]
	}
	switch last := i == len(s.cuts); {
	case !d.text() && last:
		r.hi, r.hasHi = d.most, true
	case !d.text():
		r.hi, r.hasHi = d.value(d.ordinal(s.cuts[i]).prev()), true
	case !last && s.cuts[i].S == r.lo.S+"\x00": // one string
		r.hi, r.hasHi = r.lo, true
	case !last:
		r.hi, r.hasHi, r.open = s.cuts[i], true, true
	}
	r.exact = r.isPoint() && !(isFloat(d.t) && r.lo.F == 0)
	return r
}

// settled reports that each segment has one answer, so that no look at a single file could tell more.
func (s *step) settled() bool {
	for _, a := range s.answers {
		if !a.single() {
			return false
		}
	}
	return s.null.single()
}

// cut collects where the answer of n may turn.
func (c *compiler) cut(s *step, d domain, n *node) {
	k := cutter{compiler: c, domain: d, column: s.column}
	k.visit(n)
	if isFloat(d.t) {
		k.add(d.most)
	}
	slices.SortFunc(k.cuts, predicate.Value.Compare)
	s.cuts = slices.CompactFunc(k.cuts, sameOrder)
}

type cutter struct {
	*compiler
	domain domain
	column int
	cuts   []predicate.Value
}

func (k *cutter) add(v predicate.Value) {
	if v.Compare(k.domain.least) <= 0 {
		return
	}
	if v.F == 0 {
		v.F = 0 // zeros of either sign are one value
	}
	k.cuts = append(k.cuts, v)
}

// addAround cuts below v and above it.
func (k *cutter) addAround(v predicate.Value) {
	k.add(v)
	if next, ok := k.domain.after(v); ok {
		k.add(next)
	}
}

func (k *cutter) visit(n *node) {
	for _, a := range n.args {
		k.visit(a)
	}
	switch n.expr.(type) {
	case *predicate.Column:
		if k.domain.t.Kind == schema.Boolean {
			k.add(k.domain.most)
		}
	case *predicate.Compare:
		for i, side := range n.args {
			if other := n.args[1-i]; other.constant() {
				k.invert(side, other.point.lo)
			}
		}
	case *predicate.In:
		for _, v := range n.list {
			k.invert(n.args[0], v)
		}
	}
	if n.like != nil {
		if _, ok := n.args[0].expr.(*predicate.Column); ok {
			if n.like.whole {
				k.addAround(n.like.starts.lo)
			} else {
				k.add(n.like.starts.lo)
				if n.like.starts.hasHi {
					k.add(n.like.starts.hi)
				}
			}
		}
	}
}

// invert cuts where the value of n passes v: at the first column value for which it is at least v, and at the first for
// which it is more.
func (k *cutter) invert(n *node, v predicate.Value) {
	switch n.expr.(type) {
	case *predicate.Column:
		k.addAround(v)
		return
	case *predicate.Case:
		for _, w := range n.whens {
			k.invert(w.then, v)
		}
		return
	}
	if trend := n.trend(); trend != 0 && !k.domain.text() && !n.zonedWithin() {
		k.search(n, v, trend)
	}
}

// trend says how n moves when the one column in it grows: 1 never down, -1 never up, 0 unknown. At the ends of the
// domain n may fail, or wrap around.
func (n *node) trend() int {
	if _, ok := n.expr.(*predicate.Column); ok {
		return 1
	}
	if len(n.holes) != 1 {
		return 0
	}
	h := n.holes[0].arg
	sense := 0
	switch e := n.expr.(type) {
	case *predicate.Arith:
		switch other := n.args[1-h]; {
		case e.Op == predicate.Add, e.Op == predicate.Sub && h == 0:
			sense = 1
		case e.Op == predicate.Sub:
			sense = -1
		case e.Op == predicate.Mul, e.Op != predicate.Mod && h == 0:
			sense = sign(other.point.lo)
		}
	default:
		switch n.direction {
		case predicate.NonDecreasing:
			sense = 1
		case predicate.NonIncreasing:
			sense = -1
		}
	}
	return sense * n.args[h].trend()
}

// search finds the cuts of n by bisection, n having a trend.
func (k *cutter) search(n *node, v predicate.Value, trend int) {
	d := k.domain
	value := func(o ordinal) (predicate.Value, bool) { // of n, for a value of the column
		x := pointSpan(d.value(o))
		x.exact = !(isFloat(d.t) && x.lo.F == 0)
		k.ev.columns[k.column] = x
		s := k.ev.span(n)
		return s.lo, !s.null && !s.empty && !s.nan && s.isPoint()
	}
	middle, ok := k.pivot(n, v, value)
	if !ok {
		return
	}
	atMiddle, _ := value(middle)
	fails := func(o ordinal) bool {
		x, ok := value(o)
		c := x.Compare(atMiddle) * trend
		return !ok || o.less(middle) && c > 0 || middle.less(o) && c < 0
	}
	// first returns the least ordinal in (lo, hi] for which yes holds; it doesn't for lo and does for hi.
	first := func(lo, hi ordinal, yes func(ordinal) bool) ordinal {
		for m := lo.middle(hi); m != lo; m = lo.middle(hi) {
			if yes(m) {
				hi = m
			} else {
				lo = m
			}
		}
		return hi
	}
	lo, hi := d.ordinal(d.least), d.ordinal(d.most)
	if isFloat(d.t) {
		hi = hi.prev() // NaN has a segment of its own
	}
	if fails(lo) {
		lo = first(lo, middle, func(o ordinal) bool { return !fails(o) })
		k.add(d.value(lo))
	}
	if fails(hi) {
		end := first(middle, hi, fails)
		k.add(d.value(end))
		hi = end.prev()
	}
	for _, least := range [2]int{0, 1} { // where n comes to v, and where it leaves v behind
		yes := func(o ordinal) bool {
			x, _ := value(o)
			return x.Compare(v)*trend >= least
		}
		if !yes(lo) && yes(hi) {
			k.add(d.value(first(lo, hi, yes)))
		}
	}
}

// pivot finds a column value for which n evaluates, if possible one near v.
func (k *cutter) pivot(n *node, v predicate.Value, value func(ordinal) (predicate.Value, bool)) (ordinal, bool) {
	d := k.domain
	var tries []predicate.Value
	if near, err := predicate.CastValue(v, d.t, n.env); err == nil && !near.Null {
		tries = append(tries, near)
	}
	tries = append(tries, predicate.Value{Type: d.t}, predicate.Value{Type: d.t, I: 1}, d.least, d.most)
	for _, t := range tries {
		o := d.ordinal(t)
		if _, ok := value(o); ok {
			return o, true
		}
	}
	return ordinal{}, false
}

// an ask is one question put to a step: may its answer be bit?
type ask struct {
	step *step
	bit  tri
}

// edges returns the column values at which "the answer may be bit" turns, and whether it holds below the first. The
// segment of NaN is left out.
func (q ask) edges() (start bool, edges []predicate.Value) {
	answers := q.step.answers[:q.step.numbers()]
	start = answers[0]&q.bit != 0
	now := start
	for i, a := range answers[1:] {
		if here := a&q.bit != 0; here != now {
			edges = append(edges, q.step.cuts[i])
			now = here
		}
	}
	return start, edges
}

// numbers returns the number of segments without the one of NaN.
func (s *step) numbers() int {
	n := len(s.answers)
	if len(s.cuts) > 0 && isFloat(s.cuts[n-2].Type) {
		n--
	}
	return n
}

// nan says whether NaN may give the answer; only for float columns.
func (q ask) nan() bool { return q.step.answers[len(q.step.answers)-1]&q.bit != 0 }

// anywhere says whether some value may give the answer.
func (q ask) anywhere() bool {
	return slices.ContainsFunc(q.step.answers, func(a tri) bool { return a&q.bit != 0 })
}

// of answers for a file: the scalar twin of the kernels.
func (q ask) of(known *span) bool {
	s := q.step
	if known.null && s.null&q.bit != 0 {
		return true
	}
	if known.empty {
		return false
	}
	if known.nan && q.nan() {
		return true
	}
	first, last := 0, len(s.answers)-1
	if known.hasLo {
		first = segmentOf(s.cuts, known.lo)
	}
	if known.hasHi {
		last = segmentOf(s.cuts, known.hi)
	}
	return slices.ContainsFunc(s.answers[first:last+1], func(a tri) bool { return a&q.bit != 0 })
}

func segmentOf(cuts []predicate.Value, v predicate.Value) int {
	return passed(len(cuts), func(i int) bool { return v.Compare(cuts[i]) < 0 })
}
