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

// Text is the expression for people who asked it: literals stand as they were written. Where they were not, or an
// expression was bound, it may read back as another type, which that of [Expr].String never does.
func Text(e Expr) string { return printer(true).text(e) }

// A printer prints expressions; a true one does for people.
type printer bool

func (e *Column) String() string  { return printer(false).text(e) }
func (e *Literal) String() string { return printer(false).text(e) }
func (e *Compare) String() string { return printer(false).text(e) }
func (e *And) String() string     { return printer(false).text(e) }
func (e *Or) String() string      { return printer(false).text(e) }
func (e *Not) String() string     { return printer(false).text(e) }
func (e *IsNull) String() string  { return printer(false).text(e) }
func (e *In) String() string      { return printer(false).text(e) }
func (e *Like) String() string    { return printer(false).text(e) }
func (e *Arith) String() string   { return printer(false).text(e) }
func (e *Cast) String() string    { return printer(false).text(e) }
func (e *Case) String() string    { return printer(false).text(e) }
func (e *Call) String() string    { return printer(false).text(e) }
func (e *Opaque) String() string  { return printer(false).text(e) }

func (p printer) text(e Expr) string {
	switch e := e.(type) {
	case *Column:
		return columnText(e)
	case *Literal:
		switch {
		case !bool(p):
			return e.Value.SQL()
		case e.text != "":
			return e.text
		}
		return e.Value.String()
	case *Compare:
		return p.operand(e.L) + " " + e.Op.String() + " " + p.operand(e.R)
	case *And:
		return p.operands(e.Args, " AND ")
	case *Or:
		return p.operands(e.Args, " OR ")
	case *Not:
		return "NOT " + p.operand(e.X)
	case *IsNull:
		return p.operand(e.X) + " IS NULL"
	case *In:
		return p.operand(e.X) + " IN (" + strings.Join(p.texts(e.List), ", ") + ")"
	case *Like:
		return p.like(e)
	case *Arith:
		if e.Try {
			return tryNames[e.Op] + "(" + p.text(e.L) + ", " + p.text(e.R) + ")"
		}
		return p.operand(e.L) + " " + e.Op.String() + " " + p.operand(e.R)
	case *Cast:
		name := "CAST("
		if e.Try {
			name = "TRY_CAST("
		}
		return name + p.text(e.X) + " AS " + e.To.String() + ")"
	case *Case:
		return p.cases(e)
	case *Call:
		return p.call(e)
	case *Opaque:
		return e.SQL
	}
	return ""
}

// operand prints an operand of an operator, in parentheses unless it needs none wherever it stands.
func (p printer) operand(e Expr) string {
	switch e := e.(type) {
	case *Column, *Literal, *Cast, *Case:
		return p.text(e)
	case *Call:
		if !infixCalls[e.Name] || bool(p) && e.Name == indexName {
			return p.text(e)
		}
	case *Arith:
		if e.Try {
			return p.text(e)
		}
	}
	return "(" + p.text(e) + ")"
}

// infixCalls are the calls whose text is not name(arguments).
var infixCalls = map[string]bool{
	"<<": true, ">>": true, ">>>": true, "&": true, "^": true, "|": true, "~": true, "collate": true, "rlike": true,
	indexName: true, fieldName: true, "between": true,
}

// operands prints operands with an operator between them.
func (p printer) operands(list []Expr, operator string) string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = p.operand(e)
	}
	return strings.Join(out, operator)
}

func (p printer) texts(list []Expr) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = p.text(e)
	}
	return out
}

func columnText(e *Column) string {
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

func (p printer) like(e *Like) string {
	keyword := " LIKE "
	if e.Fold {
		keyword = " ILIKE "
	}
	text := p.operand(e.X) + keyword + p.operand(e.Pattern)
	if e.Escape != '\\' {
		text += " ESCAPE " + quoteString(string(e.Escape))
	}
	return text
}

func (p printer) cases(e *Case) string {
	var b strings.Builder
	b.WriteString("CASE")
	for _, w := range e.Whens {
		b.WriteString(" WHEN " + p.text(w.If) + " THEN " + p.text(w.Then))
	}
	if e.Else != nil {
		b.WriteString(" ELSE " + p.text(e.Else))
	}
	b.WriteString(" END")
	return b.String()
}

func (p printer) call(e *Call) string {
	if infixCalls[e.Name] {
		switch {
		case e.Name == indexName && len(e.Args) == 2:
			return p.operand(e.Args[0]) + "[" + p.operand(e.Args[1]) + "]"
		case (e.Name == fieldName || e.Name == "collate") && len(e.Args) == 2:
			name, ok := e.Args[1].(*Literal)
			if !ok {
				break
			}
			if e.Name == "collate" {
				return p.operand(e.Args[0]) + " COLLATE " + schema.QuoteName(name.Value.S)
			}
			// In parentheses, or it would read as a longer name.
			return "(" + p.text(e.Args[0]) + ")." + quoteName(name.Value.S)
		case e.Name == "between" && len(e.Args) == 3:
			return p.operand(e.Args[0]) + " BETWEEN " + p.operand(e.Args[1]) + " AND " + p.operand(e.Args[2])
		case len(e.Args) == 1:
			return e.Name + p.operand(e.Args[0])
		case len(e.Args) == 2:
			return p.operand(e.Args[0]) + " " + strings.ToUpper(e.Name) + " " + p.operand(e.Args[1])
		}
	}
	if _, ok := argumentKeywords[e.Name]; ok && len(e.Args) > 0 {
		// IN would be taken for the keyword of position(a IN b).
		rest := append([]string{p.operand(e.Args[0])}, p.texts(e.Args[1:])...)
		return e.Name + "(" + strings.Join(rest, ", ") + ")"
	}
	return quoteName(e.Name) + "(" + strings.Join(p.texts(e.Args), ", ") + ")"
}

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
