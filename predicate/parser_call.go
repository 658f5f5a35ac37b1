package predicate

import (
	"slices"
	"strings"

	"github.com/deltaskip/deltaskip/schema"
)

func (p *parser) cast(try bool) (Expr, error) {
	p.advance()
	if err := p.expect("("); err != nil {
		return nil, err
	}
	x, err := p.expression()
	if err != nil {
		return nil, err
	}
	if err := p.expect("AS"); err != nil {
		return nil, err
	}
	to, err := p.dataType()
	if err != nil {
		return nil, err
	}
	return &Cast{X: x, To: to, Try: try}, p.expect(")")
}

// dataType parses a type's name with its arguments.
func (p *parser) dataType() (schema.Type, error) {
	start := p.tok.start
	if p.tok.kind != tokenWord {
		return schema.Type{}, p.unexpected("a type")
	}
	interval, str := p.tok.is("INTERVAL"), p.tok.is("STRING")
	p.advance()
	switch {
	case p.tok.is("("):
		if err := p.skipParentheses(); err != nil {
			return schema.Type{}, err
		}
	case p.tok.is("<"), p.tok.is("<>"):
		for depth := 0; ; {
			if p.tok.kind == tokenEOF {
				return schema.Type{}, p.unexpected(`">"`)
			}
			if p.tok.kind == tokenSymbol {
				depth += strings.Count(p.tok.text, "<") - strings.Count(p.tok.text, ">")
			}
			p.advance()
			if depth <= 0 {
				break
			}
		}
	case interval && p.tok.kind == tokenWord && p.peek().is("TO"):
		for range 3 { // DAY TO SECOND
			p.advance()
		}
	case interval && p.tok.kind == tokenWord:
		p.advance()
	case str && p.tok.is("COLLATE"):
		for range 2 {
			p.advance()
		}
	}
	t, err := schema.ParseType(p.source(start))
	if err != nil {
		class := "UNSUPPORTED_DATATYPE"
		if strings.HasPrefix(strings.ToLower(p.source(start)), "dec") {
			class = "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION"
		}
		return schema.Type{}, p.fail(class, start, "%q is not a type", p.source(start))
	}
	return t, nil
}

// castFunctions are the types whose names are functions that cast.
var castFunctions = map[string]bool{
	"boolean": true, "tinyint": true, "smallint": true, "int": true, "bigint": true, "float": true, "double": true, "decimal": true,
	"date": true, "timestamp": true, "binary": true, "string": true,
}

func (p *parser) functionCall(start int, qualified []string) (Expr, error) {
	name := strings.ToLower(qualified[len(qualified)-1])
	c := &Call{Name: name}
	if len(qualified) > 1 {
		if err := p.skipParentheses(); err != nil {
			return nil, err
		}
		return &Opaque{SQL: p.source(start), Reason: "the function " + strings.Join(qualified, ".") + " is not known here"}, nil
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	lambda, err := p.arguments(c)
	if err != nil {
		return nil, err
	}
	switch {
	case p.tok.is("OVER") && (p.peek().is("(") || isName(p.peek())):
		return nil, p.fail("_LEGACY_ERROR_TEMP_1034", start, "a WHERE clause cannot hold the window function %s", name)
	case lambda:
		return &Opaque{SQL: p.source(start), Reason: "functions that take lambdas are not evaluated", args: c.Args}, nil
	case castFunctions[name] && len(c.Args) == 1:
		to, err := schema.ParseType(name)
		return &Cast{X: c.Args[0], To: to}, err
	}
	p.unitArgument(c)
	return c, nil
}

// argument parses a function's argument. Of a lambda the text is kept, and the columns of the row that it mentions.
func (p *parser) argument() (arg Expr, lambda bool, err error) {
	start := p.tok.start
	if p.tok.is("*") {
		p.advance()
		return &Opaque{SQL: "*", Reason: "all columns"}, false, nil
	}
	ahead := *p
	if parameters, ok := ahead.lambdaParameters(); ok {
		*p = ahead
		body, err := p.expression()
		if err != nil {
			return nil, false, err
		}
		return &Opaque{SQL: p.source(start), Reason: "a lambda", args: freeColumns(body, parameters)}, true, nil
	}
	arg, err = p.expression()
	return arg, false, err
}

// lambdaParameters consumes "x ->" or "(x, y) ->" and says whether it was there.
func (p *parser) lambdaParameters() (names []string, ok bool) {
	parenthesis := p.accept("(")
	for isName(p.tok) {
		names = append(names, p.tok.text)
		p.advance()
		if !parenthesis || !p.accept(",") {
			break
		}
	}
	if parenthesis && !p.accept(")") {
		return nil, false
	}
	return names, len(names) > 0 && p.accept("->")
}

// freeColumns lists the names in an expression that are none of a lambda's parameters.
func freeColumns(e Expr, parameters []string) []Expr {
	if c, ok := e.(*Column); ok {
		if slices.ContainsFunc(parameters, func(p string) bool { return strings.EqualFold(p, c.Name[0]) }) {
			return nil
		}
		return []Expr{c}
	}
	var free []Expr
	for _, child := range e.Children() {
		free = append(free, freeColumns(child, parameters)...)
	}
	return free
}

// datetimeUnits are the words that stand as the first argument of timestampadd and its like.
var datetimeUnits = map[string]bool{
	"YEAR": true, "QUARTER": true, "MONTH": true, "WEEK": true, "DAY": true, "DAYOFYEAR": true, "HOUR": true,
	"MINUTE": true, "SECOND": true, "MILLISECOND": true, "MICROSECOND": true,
}

// unitArgument makes a string of the unit of a three-argument DATEADD(DAY, 1, ts) or DATEDIFF(DAY, a, b).
func (p *parser) unitArgument(c *Call) {
	if len(c.Args) != 3 {
		return
	}
	column, ok := c.Args[0].(*Column)
	if !ok || len(column.Name) != 1 || !datetimeUnits[strings.ToUpper(column.Name[0])] {
		return
	}
	switch c.Name {
	case "timestampadd", "dateadd", "date_add":
		c.Name = "timestampadd"
	case "timestampdiff", "datediff", "date_diff", "timediff":
		c.Name = "timestampdiff"
	default:
		return
	}
	c.Args[0] = &Literal{Value: StringOf(strings.ToUpper(column.Name[0]))}
}

// arguments parses a call's arguments and the closing parenthesis, and says whether a lambda is among them.
func (p *parser) arguments(c *Call) (lambda bool, err error) {
	if p.accept(")") {
		return false, nil
	}
	switch c.Name {
	case "extract":
		if isName(p.tok) && p.peek().is("FROM") {
			return false, p.extractArguments(c)
		}
	case "trim":
		if ok, err := p.trimOption(c); err != nil || ok {
			return false, err
		}
	}
	if p.tok.is("DISTINCT") && p.peek().kind != tokenSymbol {
		if fn, ok := Lookup(c.Name); ok && fn.Rejected == "" {
			return false, p.fail("INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX", p.tok.start, "%s does not take DISTINCT", c.Name)
		}
		p.advance()
	}
	// Where a keyword may stand for a comma, IN among them, the first argument must not eat it.
	keywords := argumentKeywords[c.Name]
	if len(keywords) > 0 && !p.tok.is("NOT") && !p.tok.is("!") {
		first, err := p.value(0)
		if err != nil {
			return false, err
		}
		if p.tok.is(keywords[0]) {
			c.Args = []Expr{first}
			if c.Name == "trim" {
				return false, p.trimSource(c, "btrim")
			}
			return false, p.keywordArguments(c, keywords)
		}
		if first, err = p.predicate(first); err != nil {
			return false, err
		}
		if first, err = p.restOfExpression(first); err != nil {
			return false, err
		}
		c.Args = append(c.Args, first)
	}
	for len(c.Args) == 0 || p.tok.is(",") {
		if len(c.Args) > 0 {
			p.advance()
		}
		arg, isLambda, err := p.argument()
		if err != nil {
			return false, err
		}
		lambda = lambda || isLambda
		c.Args = append(c.Args, arg)
	}
	return lambda, p.expect(")")
}

// argumentKeywords are what stands between the arguments of calls that SQL gives a syntax of their own; the last may be left out.
var argumentKeywords = map[string][]string{
	"substr": {"FROM", "FOR"}, "substring": {"FROM", "FOR"}, "position": {"IN"}, "overlay": {"PLACING", "FROM", "FOR"}, "trim": {"FROM"},
}

// extractArguments parses "YEAR FROM x)".
func (p *parser) extractArguments(c *Call) error {
	field := &Literal{Value: StringOf(strings.ToUpper(p.tok.text))}
	for range 2 {
		p.advance()
	}
	source, err := p.value(0)
	if err != nil {
		return err
	}
	c.Name, c.Args = "date_part", []Expr{field, source}
	return p.expect(")")
}

// keywordArguments parses "KEYWORD b KEYWORD c)" after the first argument.
func (p *parser) keywordArguments(c *Call, keywords []string) error {
	for _, keyword := range keywords {
		if !p.accept(keyword) {
			break
		}
		arg, err := p.value(0)
		if err != nil {
			return err
		}
		c.Args = append(c.Args, arg)
	}
	return p.expect(")")
}

// trimOption parses "BOTH 'x' FROM s)" and its like, and "FROM s)"; it says whether one of them is there.
func (p *parser) trimOption(c *Call) (bool, error) {
	function, ok := map[string]string{"BOTH": "btrim", "LEADING": "ltrim", "TRAILING": "rtrim"}[strings.ToUpper(p.tok.text)]
	next := p.peek()
	switch {
	case p.tok.is("FROM"):
		return true, p.trimSource(c, "btrim")
	case !ok || p.tok.kind != tokenWord || next.kind == tokenSymbol && !next.is("(") && !next.is("-") || next.kind == tokenEOF:
		return false, nil // a column of that name
	}
	p.advance()
	if !p.tok.is("FROM") {
		characters, err := p.value(0)
		if err != nil {
			return true, err
		}
		c.Args = []Expr{characters}
	}
	return true, p.trimSource(c, function)
}

// trimSource parses "FROM s)" after the characters, if any, which are c's argument so far.
func (p *parser) trimSource(c *Call, function string) error {
	if err := p.expect("FROM"); err != nil {
		return err
	}
	source, err := p.value(0)
	if err != nil {
		return err
	}
	c.Args = append(c.Args, source) // ltrim and rtrim take the characters first
	if c.Name = function; function == "btrim" {
		slices.Reverse(c.Args)
	}
	return p.expect(")")
}
