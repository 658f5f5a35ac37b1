package vectorized

import "github.com/deltaskip/deltaskip/predicate"

// An Unusable names a conjunct of a read that skips no file, or only files in which a column is all NULL.
type Unusable struct {
	Read     int    // index into the reads of Compile
	Conjunct string // SQL text
	Reason   string // in plain words
}

// Unusable lists the conjuncts that skip no file, or only files in which a column is all NULL, in the order of the reads.
// A conjunct that is not listed may still have no statistics to go by.
func (p *Program) Unusable() []Unusable { return p.unusable }

// judge returns the unusable conjuncts of one half of a read.
func (c *compiler) judge(half *predicate.Predicate, read int) (list []Unusable) {
	if half == nil {
		return nil
	}
	for _, e := range predicate.Conjuncts(half.Root) {
		n := c.node(e, &half.Env)
		if reason := c.doubt(n); !c.tells(c.plan(n, canTrue, nil), reason) {
			if reason == "" {
				reason = "it may be TRUE whatever the statistics say"
			}
			list = append(list, Unusable{read, e.String(), reason})
		}
	}
	return list
}

// doubt says what in an expression statistics cannot help with, or "". A null test of a column needs none but counts.
func (c *compiler) doubt(n *node) string {
	switch e := n.expr.(type) {
	case *predicate.Opaque:
		return e.Reason
	case *predicate.Column:
		if ok, reason := e.Col.BoundsUsable(); !ok {
			return e.Col.String() + ": " + reason
		}
	case *predicate.IsNull:
		if _, ok := e.X.(*predicate.Column); ok {
			return ""
		}
	}
	for _, a := range n.args {
		if reason := c.doubt(a); reason != "" {
			return reason
		}
	}
	return ""
}

// tells reports that a plan can prove something by more than the NULLs of a column about which there is doubt.
func (c *compiler) tells(id int32, doubt string) bool {
	usable := func(column int) bool {
		ok, _ := c.demands[column].Column.BoundsUsable()
		return ok
	}
	switch n := &c.nodes[id]; n.kind {
	case planNever:
		return true
	case planAnd:
		for _, a := range n.args {
			if c.tells(a, doubt) {
				return true
			}
		}
	case planOr: // an arm that proves nothing keeps every file
		for _, a := range n.args {
			if !c.tells(a, doubt) {
				return false
			}
		}
		return true
	case planStep:
		return n.test.bounds && usable(n.column) || !n.test.bounds && doubt == ""
	case planPair, planScalar:
		if n.expr.opaque {
			return false
		}
		for _, i := range n.expr.ranged {
			if !usable(i) {
				return false
			}
		}
		return true
	}
	return false
}
