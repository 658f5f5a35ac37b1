package interop

import (
	"errors"
	"fmt"
	"strings"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// ErrMalformed matches every error about input that breaks its format.
var ErrMalformed = errors.New("malformed predicate")

// A MalformedError says what was wrong. It matches [ErrMalformed].
type MalformedError struct {
	Format string // "Iceberg JSON" or "Substrait"
	Err    error
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("interop: not a predicate in %s: %v", e.Format, e.Err)
}
func (e *MalformedError) Unwrap() []error { return []error{ErrMalformed, e.Err} }

const (
	// MaxBytes bounds the input of both formats.
	MaxBytes = 1 << 20
	maxDepth = 200
)

// A node is what the formats have in common. kind says which members count.
type node struct {
	kind    kind
	args    []*node // of and, or (any number), not (one)
	op      predicate.CompareOp
	left    *schema.Column
	right   *schema.Column // nil: a comparison with values[0]
	values  []predicate.Value
	pattern string // of startsWith
	text    string // of unknown: how the input spells it
	reason  string
}

type kind uint8

const (
	unknown kind = iota // the zero node proves nothing
	and
	or
	not
	always
	never
	compare
	in
	isNull
	startsWith
)

func opaque(text, reason string) *node { return &node{kind: unknown, text: text, reason: reason} }

// maxText bounds what messages show of an input.
const maxText = 80

func (n *node) opaque() predicate.Expr {
	text := strings.ToValidUTF8(n.text, "?")
	if r := []rune(text); len(r) > maxText {
		text = string(r[:maxText]) + "…"
	}
	return &predicate.Opaque{SQL: text, Reason: n.reason, Typ: schema.Type{Kind: schema.Boolean}}
}

// comparison is left op value, or unknown where the two could be compared in more than one way.
func comparison(op predicate.CompareOp, left *schema.Column, v predicate.Value) *node {
	if reason := incomparable(left, v.Type); reason != "" {
		return opaque(fmt.Sprintf("%s %s %s", left, op, v), reason)
	}
	if left.Type.Kind == schema.Float && float64(float32(v.F)) != v.F {
		// Some round it to the column's type, some widen the column.
		return opaque(fmt.Sprintf("%s %s %s", left, op, v), "a value that no float is equal to")
	}
	if v.Null { // by some rules never true, by others a test for NULL
		return opaque(fmt.Sprintf("%s %s NULL", left, op), "a comparison with NULL")
	}
	return &node{kind: compare, op: op, left: left, values: []predicate.Value{v}}
}

// incomparable says why a column must not be compared with a value of type t: whoever asks may convert one of them otherwise
// than Spark. Empty where both mean the same number, text or time whoever compares.
func incomparable(c *schema.Column, t schema.Type) string {
	a := c.Type
	switch {
	case a.Kind == schema.String && (a.Collation != "" || t.Collation != ""):
		return "strings of a collation are compared otherwise elsewhere"
	case a.Kind == schema.String && c.Field != nil && c.Field.Char > 0:
		return "char columns are padded in Spark alone"
	case class(a.Kind) != 0 && class(a.Kind) == class(t.Kind):
		if a.Kind == schema.Decimal {
			scale, whole := max(a.Scale, t.Scale), max(int(a.Precision)-int(a.Scale), int(t.Precision)-int(t.Scale))
			if whole+int(scale) > 38 {
				return "decimals that have no type in common"
			}
		}
		return ""
	}
	return fmt.Sprintf("a column of type %s with a value of type %s", a, t)
}

// class numbers the groups of types whose values compare without a doubt; 0 is none.
func class(k schema.Kind) int {
	switch k {
	case schema.Boolean:
		return 1
	case schema.Byte, schema.Short, schema.Integer, schema.Long:
		return 2
	case schema.Float, schema.Double:
		return 3
	case schema.Decimal:
		return 4
	case schema.String:
		return 5
	case schema.Date:
		return 6
	case schema.Timestamp:
		return 7
	case schema.TimestampNTZ:
		return 8
	}
	return 0
}

var inverse = map[predicate.CompareOp]predicate.CompareOp{
	predicate.EQ: predicate.NE, predicate.NE: predicate.EQ, predicate.LT: predicate.GE,
	predicate.GE: predicate.LT, predicate.GT: predicate.LE, predicate.LE: predicate.GT,
}

// mayHold is TRUE at least for the rows for which n is true by any rules.
func (n *node) mayHold() predicate.Expr {
	switch n.kind {
	case always:
		return predicate.Lit(true)
	case never:
		return predicate.Lit(false)
	case and:
		return predicate.AllOf(each(n.args, (*node).mayHold)...)
	case or:
		return predicate.AnyOf(each(n.args, (*node).mayHold)...)
	case not:
		return n.args[0].mayFail()
	case compare:
		if n.op == predicate.NE {
			// Iceberg's holds for NULL, and NaN <> NaN holds everywhere but in Spark.
			return (&node{kind: compare, op: predicate.EQ, left: n.left, right: n.right, values: n.values}).mayFail()
		}
		return n.comparison(n.op)
	case in:
		return predicate.OneOf(column(n.left), literals(n.values)...)
	case isNull:
		return predicate.Null(column(n.left))
	case startsWith:
		return n.prefix()
	}
	return n.opaque()
}

// mayFail is TRUE at least for the rows for which n is not true, false or NULL, by any rules.
func (n *node) mayFail() predicate.Expr {
	switch n.kind {
	case always:
		return predicate.Lit(false)
	case never:
		return predicate.Lit(true)
	case and:
		return predicate.AnyOf(each(n.args, (*node).mayFail)...)
	case or:
		return predicate.AllOf(each(n.args, (*node).mayFail)...)
	case not: // which is NULL where its argument is
		x := n.args[0]
		return predicate.AnyOf(append(x.nulls(nil), x.mayHold())...)
	case isNull:
		return predicate.Negate(predicate.Null(column(n.left)))
	case compare, in, startsWith:
		if class(n.left.Type.Kind) == class(schema.Double) {
			// Where NaN stands is Spark's own opinion, so that the opposite of a comparison is not one.
			return opaque("NOT ("+n.mayHoldText()+")", "NaN is compared otherwise elsewhere").opaque()
		}
		var against predicate.Expr
		if n.kind == compare {
			against = n.comparison(inverse[n.op])
		} else {
			against = predicate.Negate(n.mayHold())
		}
		return predicate.AnyOf(append(n.nulls(nil), against)...)
	}
	return n.opaque()
}

func (n *node) mayHoldText() string {
	if n.kind == compare {
		return n.comparison(n.op).String()
	}
	return n.mayHold().String()
}

func (n *node) comparison(op predicate.CompareOp) predicate.Expr {
	var right predicate.Expr
	if n.right != nil {
		right = column(n.right)
	} else {
		right = predicate.Lit(n.values[0])
	}
	return &predicate.Compare{Op: op, L: column(n.left), R: right}
}

func (n *node) prefix() predicate.Expr {
	escaped := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(n.pattern)
	return &predicate.Like{X: column(n.left), Pattern: predicate.Lit(escaped + "%"), Escape: '\\'}
}

// nulls adds to list, for every column below n, that it is NULL.
func (n *node) nulls(list []predicate.Expr) []predicate.Expr {
	for _, c := range []*schema.Column{n.left, n.right} {
		if c != nil {
			list = append(list, predicate.Null(column(c)))
		}
	}
	for _, a := range n.args {
		list = a.nulls(list)
	}
	return list
}

func column(c *schema.Column) predicate.Expr { return predicate.Col(c.Path...) }

func each(args []*node, f func(*node) predicate.Expr) (list []predicate.Expr) {
	for _, a := range args {
		list = append(list, f(a))
	}
	return list
}

func literals(values []predicate.Value) (list []predicate.Expr) {
	for _, v := range values {
		list = append(list, predicate.Lit(v))
	}
	return list
}

// membership is column IN (values).
func membership(c *schema.Column, values []predicate.Value) *node {
	for _, v := range values {
		if one := comparison(predicate.EQ, c, v); one.kind != compare {
			return opaque(c.String()+" IN (…)", one.reason)
		}
	}
	if len(values) == 0 {
		return &node{kind: never}
	}
	return &node{kind: in, left: c, values: values}
}
