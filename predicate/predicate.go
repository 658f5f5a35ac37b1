package predicate

import (
	"slices"

	"github.com/deltaskip/deltaskip/schema"
)

// A Predicate is a boolean expression bound to a table: columns are resolved, types agree, constants are folded. It is
// immutable and may be shared.
type Predicate struct {
	Root  Expr
	Table *schema.Table
	Env   Env
	SQL   string // as asked; of a part that Split made, as bound
	asked Expr   // what Bind was given; nil for a part
}

// Asked returns the top-level conjuncts as they were asked, each bound alone, with the SQL text that [Text] gives: what to
// tell people about. Binding them together may have joined, split or dropped some.
func (p *Predicate) Asked() []*Predicate {
	var list []*Predicate
	if p.asked != nil {
		for _, e := range Conjuncts(p.asked) {
			alone, err := Bind(e, p.Table, p.Env)
			if err != nil { // it binds beside the others only
				list = nil
				break
			}
			alone.SQL = Text(e)
			list = append(list, alone)
		}
	}
	if list == nil {
		for _, e := range Conjuncts(p.Root) {
			list = append(list, &Predicate{Root: e, Table: p.Table, Env: p.Env, SQL: Text(e)})
		}
	}
	return list
}

// Columns are the columns that the predicate mentions, each once, in order.
func (p *Predicate) Columns() []*schema.Column { return mentioned(p.Root) }

// Deterministic says whether the same row always gives the same answer, as far as is known here.
func (p *Predicate) Deterministic() bool { return deterministic(p.Root) }

func deterministic(e Expr) bool {
	if _, ok := e.(*Opaque); ok {
		return false
	}
	return !slices.ContainsFunc(e.Children(), func(c Expr) bool { return !deterministic(c) })
}

// Split divides the top-level conjuncts into those over partition columns alone, which hold for all rows of a file or for none,
// and the others. Constants count as partition conjuncts; what is opaque is left with the data, since it may differ from
// row to row. A part without conjuncts is nil.
func (p *Predicate) Split() (partition, data *Predicate) {
	var conjuncts [2][]Expr
	for _, e := range Conjuncts(p.Root) {
		i := 0
		if !deterministic(e) || slices.ContainsFunc(mentioned(e), func(c *schema.Column) bool { return !c.Partition }) {
			i = 1
		}
		conjuncts[i] = append(conjuncts[i], e)
	}
	if len(conjuncts[0]) == 0 {
		return nil, p
	}
	if len(conjuncts[1]) == 0 {
		return p, nil
	}
	part := func(list []Expr) *Predicate {
		root := AllOf(list...)
		return &Predicate{Root: root, Table: p.Table, Env: p.Env, SQL: root.String()}
	}
	return part(conjuncts[0]), part(conjuncts[1])
}

// Conjuncts lists the top-level conjuncts of an expression, which is its own where it is no AND.
func Conjuncts(e Expr) []Expr {
	and, ok := e.(*And)
	if !ok {
		return []Expr{e}
	}
	var list []Expr
	for _, a := range and.Args {
		list = append(list, Conjuncts(a)...)
	}
	return list
}
