package predicate

import (
	"strings"
	"unicode/utf8"

	"github.com/deltaskip/deltaskip/schema"
)

// Values of a char(n) column are padded with spaces to n characters when they are read, so a reference to one is bound to
// a padding call around the column, and what it is compared with is padded likewise (ApplyCharTypePadding).

// padName names the padding call. No SQL can spell it, so it is Spark's own name for it.
const padName = "readSidePadding"

var padFunction = &Function{
	Name: padName, NullIn: true,
	Eval: func(_ *Env, args []Value, result schema.Type) (Value, error) {
		return Value{Type: result, S: padRight(args[0].S, int(args[1].I))}, nil
	},
}

func padRight(s string, n int) string {
	if missing := n - utf8.RuneCountInString(s); missing > 0 {
		return s + strings.Repeat(" ", missing)
	}
	return s
}

func padCall(x Expr, n int) Expr {
	if literal, ok := x.(*Literal); ok && !literal.Value.Null {
		v := literal.Value
		v.S = padRight(v.S, n)
		return &Literal{Value: v}
	}
	return &Call{Name: padName, Args: []Expr{x, &Literal{Value: IntOf(schema.Integer, int64(n))}}, Fn: padFunction, Typ: x.Type()}
}

// padded makes the padding of a char column explicit.
func padded(c *Column) Expr {
	if n := c.Col.Field.Char; n > 0 && c.Col.Type.Kind == schema.String {
		return padCall(c, n)
	}
	return c
}

// charLength is n where e is a char(n) column at the root, else 0.
func charLength(e Expr) int {
	call, ok := e.(*Call)
	if !ok || call.Name != padName {
		return 0
	}
	if c := call.Args[0].(*Column); len(c.Col.Path) == 1 {
		return c.Col.Field.Char
	}
	return 0
}

// stringLength is the length in characters of a string constant, or -1.
func stringLength(e Expr) int {
	literal, ok := e.(*Literal)
	if !ok || literal.Value.Null || literal.Value.Type.Kind != schema.String {
		return -1
	}
	return utf8.RuneCountInString(literal.Value.S)
}

// padComparison pads the shorter of a char column and what it is compared with.
func padComparison(l, r Expr) (Expr, Expr) {
	ln, rn := charLength(l), charLength(r)
	switch {
	case ln > 0 && rn == 0:
		rn = stringLength(r)
	case rn > 0 && ln == 0:
		ln = stringLength(l)
	}
	switch {
	case ln <= 0 && rn <= 0 || ln < 0 || rn < 0:
	case ln < rn:
		l = padCall(l, rn)
	case rn < ln:
		r = padCall(r, ln)
	}
	return l, r
}

// padIn pads a char column and the constants that it is looked up in to the longest of them.
func padIn(x Expr, list []Expr) (Expr, []Expr) {
	longest := charLength(x)
	if longest == 0 {
		return x, list
	}
	own := longest
	for _, e := range list {
		n := stringLength(e)
		if n < 0 && !isNullLiteral(e) {
			return x, list
		}
		longest = max(longest, n)
	}
	if longest > own {
		x = padCall(x, longest)
	}
	padded := make([]Expr, len(list))
	for i, e := range list {
		if padded[i] = e; !isNullLiteral(e) {
			padded[i] = padCall(e, longest)
		}
	}
	return x, padded
}
