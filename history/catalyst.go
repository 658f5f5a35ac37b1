package history

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// Spark writes predicates to the log as Catalyst prints them: "(id#1503L = 2)", "(name#40 = New York)", "Contains(s#7, zz)".
// Columns carry an expression id; literals have no quotes. An analysed tree has one type on both sides of a comparison, so
// what is compared with a string, date or timestamp column by itself is a literal of that type, up to the parenthesis.

// catalystID is the expression id behind a column's name.
var catalystID = regexp.MustCompile(`#\d+L?`)

// sqlOnly is what Catalyst never prints but inside literals: quotes, escapes, comments.
var sqlOnly = regexp.MustCompile("['\"`\\\\]|--|/\\*")

// qualifier is how Spark writes the table in front of a column in some versions.
var qualifier = regexp.MustCompile("\\bspark_catalog\\.(?:`[^`]+`|\\w+)\\.(?:`[^`]+`|\\w+)\\.")

// parseConjunct reads one text of an operation's predicate and returns its conjuncts: those that count, and those that are
// dropped because they cannot be read, or not in one way only.
func parseConjunct(text string, table *schema.Table, env predicate.Env) (usable []predicate.Expr, dropped []string) {
	sql, marked := text, ""
	if catalystID.MatchString(text) {
		if sqlOnly.MatchString(text) { // SQL would take it for more than a part of a literal
			return nil, []string{text}
		}
		c := newCatalyst(table)
		text := c.quoteLiterals(text)
		sql, marked = c.rename(text, false), c.rename(text, true)
	} else if !strings.Contains(text, "'") {
		sql = qualifier.ReplaceAllString(text, "")
	}
	e, err := predicate.Parse(sql, predicate.ParseOptions{})
	if err != nil {
		return nil, []string{text}
	}
	conjuncts := predicate.Conjuncts(e)
	var marks []predicate.Expr
	if marked != "" {
		m, err := predicate.Parse(marked, predicate.ParseOptions{})
		if err != nil {
			return nil, []string{text}
		}
		marks = predicate.Conjuncts(m)
	}
	for i, conjunct := range conjuncts {
		_, err := predicate.Bind(conjunct, table, env)
		if err != nil || marks != nil && !(reading{table}).truth(marks[i]) {
			dropped = append(dropped, conjunct.String())
		} else {
			usable = append(usable, conjunct)
		}
	}
	return usable, dropped
}

// A catalyst reads expressions over one table as Catalyst prints them.
type catalyst struct {
	table                     *schema.Table
	column                    *regexp.Regexp // 1 what is before, 2 the name, 3 the id
	right, left, list, prefix *regexp.Regexp // places of literals
}

func newCatalyst(table *schema.Table) *catalyst {
	var names []string
	for _, f := range table.Fields {
		names = append(names, regexp.QuoteMeta(f.Name))
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	name := `(?i:` + strings.Join(names, "|") + `)`
	column := `((?:` + name + `)#\d+L?(?:\.\w+)*)`
	const literal = "([^()#]*)"
	const operator = `(=|<=>|<=|>=|<|>)`
	return &catalyst{
		table:  table,
		column: regexp.MustCompile(`(^|[^\w#.])(` + name + `)(#\d+L?)`),
		right:  regexp.MustCompile(`\(` + column + ` ` + operator + ` ` + literal + `\)`),
		left:   regexp.MustCompile(`\(` + literal + ` ` + operator + ` ` + column + `\)`),
		list:   regexp.MustCompile(column + ` IN \(` + literal + `\)`),
		prefix: regexp.MustCompile(`(StartsWith|EndsWith|Contains)\(` + column + `, ` + literal + `\)`),
	}
}

// quoteLiterals puts quotes around the literals that are compared with columns of text-like types.
func (c *catalyst) quoteLiterals(text string) string {
	text = replace(c.right, text, func(m []string) string {
		if !c.textual(m[1]) {
			return m[0]
		}
		return "(" + m[1] + " " + m[2] + " '" + m[3] + "')"
	})
	text = replace(c.left, text, func(m []string) string {
		if !c.textual(m[3]) {
			return m[0]
		}
		return "('" + m[1] + "' " + m[2] + " " + m[3] + ")"
	})
	text = replace(c.list, text, func(m []string) string {
		if !c.textual(m[1]) {
			return m[0]
		}
		return m[1] + " IN (" + members(m[2]) + ")"
	})
	return replace(c.prefix, text, func(m []string) string {
		return m[1] + "(" + m[2] + ", '" + m[3] + "')"
	})
}

func replace(re *regexp.Regexp, text string, with func(groups []string) string) string {
	return re.ReplaceAllStringFunc(text, func(match string) string { return with(re.FindStringSubmatch(match)) })
}

// members quotes the members of an IN list. A comma may be part of one, so every run of members counts as one, too.
func members(list string) string {
	parts := strings.Split(list, ",")
	const most = 40
	if len(parts) > most {
		return list // unquoted, it will not be understood
	}
	var quoted []string
	for i := range parts {
		for j := i + 1; j <= len(parts); j++ {
			quoted = append(quoted, "'"+strings.Join(parts[i:j], ",")+"'")
		}
	}
	return strings.Join(quoted, ", ")
}

// textual reports whether a column, with its id, is of a type whose literals Catalyst prints as bare text.
func (c *catalyst) textual(column string) bool {
	col, err := c.table.Lookup(strings.Split(catalystID.ReplaceAllString(column, ""), ".")...)
	return err == nil && isTextual(col.Type.Kind)
}

// rename makes SQL of the columns of an expression: by their names, or marked, by name and id.
func (c *catalyst) rename(text string, marked bool) string {
	return replace(c.column, text, func(m []string) string {
		name := m[2]
		if marked {
			name += m[3]
		}
		return m[1] + "`" + strings.ReplaceAll(name, "`", "``") + "`"
	})
}

// A reading decides whether marked expressions over one table can mean nothing else than what they were parsed to: every name is
// a column's, and bare texts stand only where they were quoted.
type reading struct{ table *schema.Table }

// truth is about expressions that are TRUE or FALSE.
func (r reading) truth(e predicate.Expr) bool {
	switch e := e.(type) {
	case *predicate.And, *predicate.Or, *predicate.Not:
		return all(e.Children(), r.truth)
	case *predicate.IsNull:
		return r.value(e.X)
	case *predicate.Compare:
		return r.number(e.L) && r.number(e.R) ||
			r.text(e.L) && (quoted(e.R) || r.text(e.R)) ||
			quoted(e.L) && r.text(e.R)
	case *predicate.In:
		return r.number(e.X) && all(e.List, r.number) || r.text(e.X) && all(e.List, quoted)
	case *predicate.Call:
		switch e.Name {
		case "isnull", "isnotnull":
			return all(e.Args, r.value)
		case "startswith", "endswith", "contains":
			return len(e.Args) == 2 && r.kind(e.Args[0]) == schema.String && quoted(e.Args[1])
		}
	case *predicate.Literal:
		return e.Value.Null || e.Value.Type.Kind == schema.Boolean
	case *predicate.Column:
		return r.kind(e) == schema.Boolean
	}
	return false
}

// number is about expressions of numbers and booleans, whose literals Catalyst prints as SQL does.
func (r reading) number(e predicate.Expr) bool {
	switch e := e.(type) {
	case *predicate.Literal:
		return e.Value.Null || isNumber(e.Value.Type.Kind)
	case *predicate.Column:
		return isNumber(r.kind(e))
	case *predicate.Arith:
		return r.number(e.L) && r.number(e.R)
	case *predicate.Cast:
		return isNumber(e.To.Kind) && r.number(e.X)
	case *predicate.Call:
		return e.Name == "negative" && all(e.Args, r.number)
	}
	return false
}

func (r reading) value(e predicate.Expr) bool { return r.kind(e) != schema.Invalid || r.number(e) }
func (r reading) text(e predicate.Expr) bool  { return isTextual(r.kind(e)) }

// kind is that of an expression that is a marked column, or Invalid.
func (r reading) kind(e predicate.Expr) schema.Kind {
	c, ok := e.(*predicate.Column)
	if !ok || !catalystID.MatchString(c.Name[0]) {
		return schema.Invalid
	}
	path := slices.Clone(c.Name)
	path[0] = catalystID.ReplaceAllString(path[0], "")
	column, err := r.table.Lookup(path...)
	if err != nil {
		return schema.Invalid
	}
	return column.Type.Kind
}

func quoted(e predicate.Expr) bool {
	l, ok := e.(*predicate.Literal)
	return ok && l.Value.Type.Kind == schema.String && !l.Value.Null
}

func all(list []predicate.Expr, ok func(predicate.Expr) bool) bool {
	return !slices.ContainsFunc(list, func(e predicate.Expr) bool { return !ok(e) })
}

func isTextual(k schema.Kind) bool {
	switch k {
	case schema.String, schema.Date, schema.Timestamp, schema.TimestampNTZ:
		return true
	}
	return false
}

func isNumber(k schema.Kind) bool {
	switch k {
	case schema.Boolean, schema.Byte, schema.Short, schema.Integer, schema.Long, schema.Float, schema.Double, schema.Decimal:
		return true
	}
	return false
}
