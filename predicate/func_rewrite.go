package predicate

import (
	"math"
	"unicode/utf8"

	"github.com/deltaskip/deltaskip/schema"
)

var rewrittenAliases = map[string]string{"nvl": "coalesce", "ifnull": "coalesce"}

// rewrittenFunctions are those that other nodes say as well: what is lazy in Spark is a Case here.
func rewrittenFunctions() []Function {
	functions := []Function{
		{Name: "coalesce", Rewrite: counted(1, math.MaxInt32, func(a []Expr) (Expr, error) {
			c := &Case{Else: a[len(a)-1]}
			for _, x := range a[:len(a)-1] {
				c.Whens = append(c.Whens, When{If: &Not{X: &IsNull{X: x}}, Then: x})
			}
			if len(c.Whens) == 0 {
				return c.Else, nil
			}
			return c, nil
		})},
		{Name: "nvl2", Rewrite: counted(3, 3, func(a []Expr) (Expr, error) {
			return &Case{Whens: []When{{If: &Not{X: &IsNull{X: a[0]}}, Then: a[1]}}, Else: a[2]}, nil
		})},
		{Name: "nullif", Rewrite: counted(2, 2, func(a []Expr) (Expr, error) {
			return nullIf(a[0], a[1]), nil
		})},
		{Name: "nullifzero", Rewrite: counted(1, 1, func(a []Expr) (Expr, error) {
			return nullIf(a[0], &Literal{Value: integer(0)}), nil
		})},
		{Name: "zeroifnull", Rewrite: counted(1, 1, func(a []Expr) (Expr, error) {
			return &Case{Whens: []When{{If: &Not{X: &IsNull{X: a[0]}}, Then: a[0]}}, Else: &Literal{Value: integer(0)}}, nil
		})},
		{Name: "if", Rewrite: counted(3, 3, func(a []Expr) (Expr, error) {
			if isNullLiteral(a[0]) {
				return &Case{Whens: []When{{If: nullBoolean(), Then: a[1]}}, Else: a[2]}, nil
			}
			return &Case{Whens: []When{{If: a[0], Then: a[1]}}, Else: a[2]}, nil
		})},
		{Name: "decode", Rewrite: counted(2, math.MaxInt32, func(a []Expr) (Expr, error) {
			if len(a) == 2 {
				return nil, &UnsupportedError{Reason: "decoding binary with a character set"}
			}
			c := &Case{}
			for rest := a[1:]; len(rest) > 0; rest = rest[2:] {
				if len(rest) == 1 {
					c.Else = rest[0]
					break
				}
				c.Whens = append(c.Whens, When{If: &Compare{Op: NullSafe, L: a[0], R: rest[0]}, Then: rest[1]})
			}
			return c, nil
		})},
		{Name: "equal_null", Rewrite: counted(2, 2, func(a []Expr) (Expr, error) {
			return &Compare{Op: NullSafe, L: a[0], R: a[1]}, nil
		})},
		{Name: "isnull", Rewrite: counted(1, 1, func(a []Expr) (Expr, error) { return &IsNull{X: a[0]}, nil })},
		{Name: "isnotnull", Rewrite: counted(1, 1, func(a []Expr) (Expr, error) { return &Not{X: &IsNull{X: a[0]}}, nil })},

		{Name: "like", Rewrite: counted(2, 3, like(false))},
		{Name: "ilike", Rewrite: counted(2, 3, like(true))},
	}
	for name, op := range map[string]ArithOp{"mod": Mod, "div": IntDiv} {
		functions = append(functions, Function{Name: name, Rewrite: counted(2, 2, func(a []Expr) (Expr, error) {
			return &Arith{Op: op, L: a[0], R: a[1]}, nil
		})})
	}
	for name, op := range map[string]ArithOp{"try_add": Add, "try_subtract": Sub, "try_multiply": Mul, "try_divide": Div, "try_mod": Mod} {
		functions = append(functions, Function{Name: name, Rewrite: counted(2, 2, func(a []Expr) (Expr, error) {
			return &Arith{Op: op, L: a[0], R: a[1], Try: true}, nil
		})})
	}
	for name, t := range map[string]schema.Type{
		"boolean": {Kind: schema.Boolean}, "tinyint": {Kind: schema.Byte}, "smallint": {Kind: schema.Short}, "int": {Kind: schema.Integer},
		"bigint": {Kind: schema.Long}, "float": {Kind: schema.Float}, "double": {Kind: schema.Double},
		"decimal": {Kind: schema.Decimal, Precision: 10}, "string": {Kind: schema.String}, "binary": {Kind: schema.Binary},
		"date": {Kind: schema.Date}, "timestamp": {Kind: schema.Timestamp},
	} {
		functions = append(functions, Function{Name: name, Rewrite: counted(1, 1, func(a []Expr) (Expr, error) {
			return &Cast{X: a[0], To: t}, nil
		})})
	}
	return functions
}

// counted checks the number of arguments before a rewrite.
func counted(least, most int, rewrite func([]Expr) (Expr, error)) func([]Expr) (Expr, error) {
	return func(args []Expr) (Expr, error) {
		if len(args) < least || len(args) > most {
			return nil, wrongCount(len(args), least, most)
		}
		return rewrite(args)
	}
}

func nullIf(x, y Expr) Expr {
	return &Case{Whens: []When{{If: &Compare{Op: EQ, L: x, R: y}, Then: &Literal{Value: NullOf(schema.Type{Kind: schema.Void})}}}, Else: x}
}

func like(fold bool) func([]Expr) (Expr, error) {
	return func(a []Expr) (Expr, error) {
		l := &Like{X: a[0], Pattern: a[1], Escape: '\\', Fold: fold}
		if len(a) > 2 {
			escape, ok := literalAt(a, 2)
			if !ok || escape.Type.Kind != schema.String || utf8.RuneCountInString(escape.S) != 1 {
				return nil, &BindError{Class: "INVALID_ESCAPE_CHAR", Message: "the escape must be one character, as a constant"}
			}
			l.Escape, _ = utf8.DecodeRuneInString(escape.S)
		}
		return l, nil
	}
}
