package predicate

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/deltaskip/deltaskip/schema"
)

var compareSymbols = [...]string{EQ: "=", NE: "<>", LT: "<", LE: "<=", GT: ">", GE: ">=", NullSafe: "<=>"}

func (op CompareOp) String() string { return compareSymbols[op] }

var arithSymbols = [...]string{Add: "+", Sub: "-", Mul: "*", Div: "/", IntDiv: "DIV", Mod: "%"}

func (op ArithOp) String() string { return arithSymbols[op] }

var tryNames = [...]string{Add: "try_add", Sub: "try_subtract", Mul: "try_multiply", Div: "try_divide", IntDiv: "try_div", Mod: "try_mod"}

// operand prints an operand of an operator, in parentheses unless it needs none wherever it stands.
func operand(e Expr) string {
	switch e := e.(type) {
	case *Column, *Literal, *Cast, *Case:
		return e.String()
	case *Call:
		if !infixCalls[e.Name] {
			return e.String()
		}
	case *Arith:
		if e.Try {
			return e.String()
		}
	}
	return "(" + e.String() + ")"
}

// infixCalls are the calls whose text is not name(arguments).
var infixCalls = map[string]bool{
	"<<": true, ">>": true, ">>>": true, "&": true, "^": true, "|": true, "~": true, "collate": true, "rlike": true,
	indexName: true, fieldName: true, "between": true,
}

// operands prints operands with an operator between them.
func operands(list []Expr, operator string) string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = operand(e)
	}
	return strings.Join(out, operator)
}

func spelled(list []Expr) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.String()
	}
	return out
}

func (e *Column) String() string {
	quoted := make([]string, len(e.Name))
	for i, name := range e.Name {
		quoted[i] = quoteName(name)
	}
	return strings.Join(quoted, ".")
}

// quoteName quotes what would read as something else than a name, keywords included.
func quoteName(name string) string {
	switch strings.ToUpper(name) {
	case "NULL", "TRUE", "FALSE", "CASE", "BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "AND", "OR", "NOT", "WHEN", "THEN", "ELSE",
		"END", "SELECT", "FROM", "AS", "IS", "DIV", "INTERVAL", "CAST", "TRY_CAST", "EXISTS", "COLLATE", "ESCAPE", "DISTINCT", "WITH",
		"VALUES", "TABLE", "ANY", "SOME", "ALL", "OVER", "FOR", "PLACING", "BOTH", "LEADING", "TRAILING", "R":
		return "`" + name + "`"
	}
	return schema.QuoteName(name)
}

func (e *Compare) String() string {
	return operand(e.L) + " " + e.Op.String() + " " + operand(e.R)
}
func (e *And) String() string    { return operands(e.Args, " AND ") }
func (e *Or) String() string     { return operands(e.Args, " OR ") }
func (e *Not) String() string    { return "NOT " + operand(e.X) }
func (e *IsNull) String() string { return operand(e.X) + " IS NULL" }

func (e *In) String() string {
	return operand(e.X) + " IN (" + strings.Join(spelled(e.List), ", ") + ")"
}

func (e *Like) String() string {
	keyword := " LIKE "
	if e.Fold {
		keyword = " ILIKE "
	}
	text := operand(e.X) + keyword + operand(e.Pattern)
	if e.Escape != '\\' {
		text += " ESCAPE " + quoteString(string(e.Escape))
	}
	return text
}

func (e *Arith) String() string {
	if e.Try {
		return tryNames[e.Op] + "(" + e.L.String() + ", " + e.R.String() + ")"
	}
	return operand(e.L) + " " + e.Op.String() + " " + operand(e.R)
}

func (e *Cast) String() string {
	name := "CAST("
	if e.Try {
		name = "TRY_CAST("
	}
	return name + e.X.String() + " AS " + e.To.String() + ")"
}

func (e *Case) String() string {
	var b strings.Builder
	b.WriteString("CASE")
	for _, w := range e.Whens {
		b.WriteString(" WHEN " + w.If.String() + " THEN " + w.Then.String())
	}
	if e.Else != nil {
		b.WriteString(" ELSE " + e.Else.String())
	}
	b.WriteString(" END")
	return b.String()
}

func (e *Call) String() string {
	if infixCalls[e.Name] {
		switch {
		case e.Name == indexName && len(e.Args) == 2:
			return operand(e.Args[0]) + "[" + operand(e.Args[1]) + "]"
		case (e.Name == fieldName || e.Name == "collate") && len(e.Args) == 2:
			name, ok := e.Args[1].(*Literal)
			if !ok {
				break
			}
			if e.Name == "collate" {
				return operand(e.Args[0]) + " COLLATE " + schema.QuoteName(name.Value.S)
			}
			// In parentheses, or it would read as a longer name.
			return "(" + e.Args[0].String() + ")." + quoteName(name.Value.S)
		case e.Name == "between" && len(e.Args) == 3:
			return operand(e.Args[0]) + " BETWEEN " + operand(e.Args[1]) + " AND " + operand(e.Args[2])
		case len(e.Args) == 1:
			return e.Name + operand(e.Args[0])
		case len(e.Args) == 2:
			return operand(e.Args[0]) + " " + strings.ToUpper(e.Name) + " " + operand(e.Args[1])
		}
	}
	if _, ok := argumentKeywords[e.Name]; ok && len(e.Args) > 0 {
		// IN would be taken for the keyword of position(a IN b).
		rest := append([]string{operand(e.Args[0])}, spelled(e.Args[1:])...)
		return e.Name + "(" + strings.Join(rest, ", ") + ")"
	}
	return quoteName(e.Name) + "(" + strings.Join(spelled(e.Args), ", ") + ")"
}

func (e *Opaque) String() string { return e.SQL }

func (e *Literal) String() string { return e.Value.SQL() }

// SQL spells the value as a literal, or as a cast of one, that reads as this value and type in every session.
func (v Value) SQL() string {
	t := v.Type
	if v.Null {
		if t.Kind == schema.Void || t.Kind == schema.Invalid {
			return "NULL"
		}
		return "CAST(NULL AS " + t.String() + ")"
	}
	switch t.Kind {
	case schema.Boolean:
		return strings.ToUpper(strconv.FormatBool(v.I != 0))
	case schema.Byte:
		return strconv.FormatInt(v.I, 10) + "Y"
	case schema.Short:
		return strconv.FormatInt(v.I, 10) + "S"
	case schema.Integer:
		return strconv.FormatInt(v.I, 10)
	case schema.Long:
		return strconv.FormatInt(v.I, 10) + "L"
	case schema.Float, schema.Double:
		if math.IsNaN(v.F) || math.IsInf(v.F, 0) {
			return "CAST('" + formatFloat(v.F, 64) + "' AS " + t.String() + ")"
		}
		if t.Kind == schema.Float && math.Abs(v.F) == math.MaxFloat32 {
			// Spark takes the shortest text of the greatest float for a number beyond it.
			return "CAST(" + strconv.FormatFloat(v.F, 'G', -1, 64) + "D AS float)"
		}
		if t.Kind == schema.Float {
			return strconv.FormatFloat(v.F, 'G', -1, 32) + "F"
		}
		return strconv.FormatFloat(v.F, 'G', -1, 64) + "D"
	case schema.Decimal:
		text := formatDecimal(v.D, t.Scale)
		if natural, ok := decimalLiteral(text); ok && natural.Type == t {
			return text + "BD"
		}
		return "CAST(" + text + "BD AS " + t.String() + ")"
	case schema.String:
		if t.Collation != "" {
			return quoteString(v.S) + " COLLATE " + t.Collation
		}
		return quoteString(v.S)
	case schema.Binary:
		return "X'" + strings.ToUpper(hex.EncodeToString([]byte(v.S))) + "'"
	case schema.Date:
		return "DATE'" + formatDate(v.I) + "'"
	case schema.Timestamp:
		return "CAST('" + formatTimestamp(v.I, nil) + "Z' AS timestamp)"
	case schema.TimestampNTZ:
		return "TIMESTAMP_NTZ'" + formatTimestamp(v.I, nil) + "'"
	case schema.Interval:
		return formatInterval(v)
	}
	return "CAST(NULL AS " + t.String() + ")"
}

// String is the value for people: the literal without suffix, cast or type. It does not read back as the same type.
func (v Value) String() string {
	switch k := v.Type.Kind; {
	case v.Null:
		return "NULL"
	case k == schema.Byte, k == schema.Short, k == schema.Long:
		return strconv.FormatInt(v.I, 10)
	case k == schema.Float:
		return formatFloat(v.F, 32)
	case k == schema.Double:
		return formatFloat(v.F, 64)
	case k == schema.Decimal:
		return formatDecimal(v.D, v.Type.Scale)
	case k == schema.String:
		return quoteString(v.S)
	case k == schema.Date:
		return formatDate(v.I)
	case k == schema.Timestamp:
		return formatTimestamp(v.I, nil) + "Z"
	case k == schema.TimestampNTZ:
		return formatTimestamp(v.I, nil)
	}
	return v.SQL()
}

// quoteString spells a string literal.
func quoteString(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s {
		switch r {
		case '\'', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case 0:
			b.WriteString(`\u0000`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
