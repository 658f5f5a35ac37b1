package predicate

import "github.com/deltaskip/deltaskip/schema"

// A Predicate is a boolean expression bound to a table. It is immutable.
type Predicate struct {
	Root  Expr // typed, constants folded
	Table *schema.Table
	Env   Env
	SQL   string // as given, for people
}
