package vectorized

import (
	"slices"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// An Unusable names a conjunct of a read that skips no file, or only files in which a column is all NULL; or only files that
// have statistics which the table does not ask its writers for.
type Unusable struct {
	Read     int    // index into the reads of Compile
	Conjunct string // SQL text as it was asked
	Reason   string // in plain words
}

// Unusable lists the conjuncts that are of no use for skipping, in the order of the reads. A conjunct that is not listed may
// still have no statistics to go by in a file.
func (p *Program) Unusable() []Unusable { return p.unusable() }

// unusable judges the conjuncts of reads, each alone.
func unusable(reads []*predicate.Predicate) (list []Unusable) {
	for i, r := range reads {
		if r == nil {
			continue
		}
		j := judge{compiler: newCompiler(), gathered: r.Table.StatisticsColumns()}
		for _, conjunct := range r.Asked() {
			if reason := j.reason(conjunct); reason != "" {
				list = append(list, Unusable{i, conjunct.SQL, reason})
			}
		}
	}
	return list
}

const notGathered = "the table does not ask its writers for statistics of this column (delta.dataSkippingStatsColumns, delta.dataSkippingNumIndexedCols)"

// A judge looks for what keeps conjuncts from skipping files.
type judge struct {
	*compiler
	gathered []*schema.Column // that the table asks its writers for statistics of
}

// reason says why a conjunct is of no use, or "" if it is of some.
func (j *judge) reason(conjunct *predicate.Predicate) (reason string) {
	defer func() {
		if recover() != nil { // our fault, and no reason to keep a commit from going on
			reason = "it could not be examined"
		}
	}()
	n := j.node(conjunct.Root, &conjunct.Env)
	if reason = j.doubt(n); j.tells(j.plan(n, canTrue, nil), reason) {
		return ""
	}
	if reason == "" {
		reason = "it may be TRUE whatever the statistics say"
	}
	return reason
}

// usable says whether files may have bounds of a column that count, and if not why.
func (j *judge) usable(c *schema.Column) (ok bool, reason string) {
	if ok, reason = c.BoundsUsable(); ok && !c.Partition && !slices.Contains(j.gathered, c) {
		return false, notGathered
	}
	return ok, reason
}

// doubt says what in an expression statistics cannot help with, or "". A null test of a column needs none but counts.
func (j *judge) doubt(n *node) string {
	switch e := n.expr.(type) {
	case *predicate.Opaque:
		return e.Reason
	case *predicate.Column:
		if ok, reason := j.usable(e.Col); !ok {
			return e.Col.String() + ": " + reason
		}
	case *predicate.IsNull:
		if c, ok := e.X.(*predicate.Column); ok {
			if !c.Col.Partition && !slices.Contains(j.gathered, c.Col) {
				return c.Col.String() + ": " + notGathered
			}
			return ""
		}
	}
	for _, a := range n.args {
		if reason := j.doubt(a); reason != "" {
			return reason
		}
	}
	return ""
}

// tells reports that a plan can prove something by more than the NULLs of a column about which there is doubt.
func (j *judge) tells(id int32, doubt string) bool {
	usable := func(column int) bool {
		ok, _ := j.usable(j.demands[column].Column)
		return ok
	}
	switch n := &j.nodes[id]; n.kind {
	case planNever:
		return true
	case planAnd:
		for _, a := range n.args {
			if j.tells(a, doubt) {
				return true
			}
		}
	case planOr: // an arm that proves nothing keeps every file
		for _, a := range n.args {
			if !j.tells(a, doubt) {
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
