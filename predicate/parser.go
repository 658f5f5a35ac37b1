package predicate

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deltaskip/deltaskip/schema"
)

// ParseOptions bound what [Parse] takes.
type ParseOptions struct {
	MaxLength int // of the text in bytes; 0 means 1 MiB
	MaxDepth  int // of nesting, and of the tree; 0 means 500
}

// Parse reads a Spark SQL boolean or scalar expression as a WHERE clause holds it (SqlBaseParser.g4, "booleanExpression").
// What is legal SQL but no expression over a row, such as a subquery, becomes [Opaque]. An error is a [*SyntaxError].
func Parse(sql string, o ParseOptions) (Expr, error) {
	if o.MaxLength == 0 {
		o.MaxLength = 1 << 20
	}
	if o.MaxDepth == 0 {
		o.MaxDepth = 500
	}
	p := &parser{lexer: lexer{sql: sql}, maxDepth: o.MaxDepth}
	if len(sql) > o.MaxLength {
		return nil, &SyntaxError{Class: "PARSE_SYNTAX_ERROR", Message: fmt.Sprintf("the text has %d bytes, more than the %d allowed", len(sql), o.MaxLength)}
	}
	for i, r := range sql {
		if r == utf8.RuneError && !strings.HasPrefix(sql[i:], "\uFFFD") {
			return nil, p.lexer.fail(i, "the text is not valid UTF-8")
		}
	}
	p.advance()
	e, err := p.whole()
	if err = cmp.Or(p.lexical, err); err != nil {
		return nil, err
	}
	return e, nil
}

// parser is a precedence climbing parser with one token of lookahead. Each method consumes what it is named after.
type parser struct {
	lexer    lexer
	tok      token // the next one
	prevEnd  int   // where the last consumed token ended
	depth    int
	maxDepth int
	lexical  error // the first text that is no token; there the tokens end
}

// whole parses all of the text.
func (p *parser) whole() (Expr, error) {
	if p.tok.kind == tokenEOF {
		return nil, p.fail("PARSE_EMPTY_STATEMENT", 0, "there is no expression")
	}
	e, err := p.expression()
	if err == nil && p.tok.kind != tokenEOF {
		err = p.unexpected("the end of the expression")
	}
	return e, err
}

func (p *parser) advance() {
	p.prevEnd = p.tok.end
	tok, err := p.lexer.next()
	if err != nil {
		p.lexical = cmp.Or(p.lexical, err)
		tok = token{kind: tokenEOF, start: len(p.lexer.sql), end: len(p.lexer.sql)}
		p.lexer.pos = len(p.lexer.sql)
	}
	p.tok = tok
}

// peek is the token after the next one.
func (p *parser) peek() token {
	ahead := p.lexer
	tok, err := ahead.next()
	if err != nil {
		return token{kind: tokenInvalid}
	}
	return tok
}

func (p *parser) unexpected(wanted string) error {
	found := "the end of the text"
	if p.tok.kind != tokenEOF {
		found = strconv.Quote(p.lexer.sql[p.tok.start:p.tok.end])
	}
	return p.lexer.fail(p.tok.start, "expected %s, found %s", wanted, found)
}

func (p *parser) fail(class string, offset int, format string, args ...any) error {
	return &SyntaxError{SQL: p.lexer.sql, Offset: offset, Class: class, Message: fmt.Sprintf(format, args...)}
}

// accept consumes a keyword or symbol if it is next.
func (p *parser) accept(text string) bool {
	if !p.tok.is(text) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return p.unexpected(strconv.Quote(text))
	}
	return nil
}

// deeper accounts for one level of nesting, of the text or of the tree; its caller undoes it with p.depth--.
func (p *parser) deeper() error {
	if p.depth++; p.depth > p.maxDepth {
		return p.lexer.fail(p.tok.start, "the expression nests more than %d deep", p.maxDepth)
	}
	return nil
}

// source is the text from an offset to the last consumed token.
func (p *parser) source(start int) string { return p.lexer.sql[start:p.prevEnd] }

func (p *parser) expression() (Expr, error) {
	first, err := p.negation()
	if err != nil {
		return nil, err
	}
	return p.restOfExpression(first)
}

// restOfExpression parses what AND and OR join to a first operand.
func (p *parser) restOfExpression(first Expr) (Expr, error) {
	first, err := p.chain(first, "AND", p.negation)
	if err != nil {
		return nil, err
	}
	return p.chain(first, "OR", func() (Expr, error) {
		operand, err := p.negation()
		if err != nil {
			return nil, err
		}
		return p.chain(operand, "AND", p.negation)
	})
}

// chain parses the operands that AND or OR joins to a first one.
func (p *parser) chain(first Expr, operator string, operand func() (Expr, error)) (Expr, error) {
	if !p.tok.is(operator) {
		return first, nil
	}
	args := []Expr{first}
	for p.tok.is(operator) {
		p.advance()
		arg, err := operand()
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	if operator == "OR" {
		return &Or{Args: args}, nil
	}
	return &And{Args: args}, nil
}

func (p *parser) negation() (Expr, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if p.tok.is("!") || p.tok.is("NOT") {
		p.advance()
		x, err := p.negation()
		if err != nil {
			return nil, err
		}
		return &Not{X: x}, nil
	}
	x, err := p.value(0)
	if err != nil {
		return nil, err
	}
	return p.predicate(x)
}

// predicate parses what may follow a value once: BETWEEN, IN, LIKE, IS …
func (p *parser) predicate(x Expr) (Expr, error) {
	if p.tok.is("IS") {
		return p.is(x)
	}
	ahead := *p
	negated := ahead.accept("NOT") || ahead.accept("!")
	var parse func(*parser, Expr, bool) (Expr, error)
	switch {
	case ahead.tok.is("BETWEEN"):
		parse = (*parser).between
	case ahead.tok.is("IN"):
		parse = (*parser).in
	case ahead.tok.is("LIKE"), ahead.tok.is("ILIKE"):
		parse = (*parser).like
	case ahead.tok.is("RLIKE"), ahead.tok.is("REGEXP"):
		parse = (*parser).rlike
	default:
		return x, nil
	}
	*p = ahead
	return parse(p, x, negated)
}

func negate(e Expr, negated bool) Expr {
	if negated {
		return &Not{X: e}
	}
	return e
}

func (p *parser) is(x Expr) (Expr, error) {
	p.advance()
	negated := false
	for _, not := range []string{"NOT", "!"} {
		negated = p.accept(not) || negated
	}
	word := p.tok
	if word.kind != tokenWord {
		return nil, p.unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
	}
	p.advance()
	switch strings.ToUpper(word.text) {
	case "NULL", "UNKNOWN":
		return negate(&IsNull{X: x}, negated), nil
	case "TRUE", "FALSE":
		want := &Literal{Value: BoolOf(strings.EqualFold(word.text, "TRUE"))}
		return negate(&Compare{Op: NullSafe, L: x, R: want}, negated), nil
	case "DISTINCT":
		if err := p.expect("FROM"); err != nil {
			return nil, err
		}
		y, err := p.value(0)
		if err != nil {
			return nil, err
		}
		return negate(&Compare{Op: NullSafe, L: x, R: y}, !negated), nil
	}
	return nil, p.lexer.fail(word.start, "expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM, found %q", word.text)
}

func (p *parser) between(x Expr, negated bool) (Expr, error) {
	p.advance()
	low, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if err := p.expect("AND"); err != nil {
		return nil, err
	}
	high, err := p.value(0)
	if err != nil {
		return nil, err
	}
	return negate(&Call{Name: "between", Args: []Expr{x, low, high}}, negated), nil
}

func (p *parser) in(x Expr, negated bool) (Expr, error) {
	p.advance()
	if p.tok.is("(") && isQuery(p.peek()) {
		start := p.tok.start
		if err := p.skipParentheses(); err != nil {
			return nil, err
		}
		sql := x.String() + " IN " + p.source(start)
		return negate(&Opaque{SQL: sql, Reason: "a subquery is evaluated by the engine that runs it", args: []Expr{x}, Typ: booleanType}, negated), nil
	}
	list, err := p.parenthesized()
	if err != nil {
		return nil, err
	}
	return negate(&In{X: x, List: list}, negated), nil
}

// parenthesized parses "(e1, …, en)" with at least one expression.
func (p *parser) parenthesized() ([]Expr, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var list []Expr
	for {
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if !p.accept(",") {
			return list, p.expect(")")
		}
	}
}

func (p *parser) like(x Expr, negated bool) (Expr, error) {
	fold := p.tok.is("ILIKE")
	p.advance()
	if (p.tok.is("ANY") || p.tok.is("SOME") || p.tok.is("ALL")) && p.peek().is("(") {
		all := p.tok.is("ALL")
		p.advance()
		patterns, err := p.parenthesized()
		if err != nil {
			return nil, err
		}
		args := make([]Expr, len(patterns))
		for i, pattern := range patterns {
			args[i] = negate(&Like{X: x, Pattern: pattern, Escape: '\\', Fold: fold}, negated)
		}
		switch {
		case len(args) == 1:
			return args[0], nil
		case all:
			return &And{Args: args}, nil
		}
		return &Or{Args: args}, nil
	}
	pattern, err := p.value(0)
	if err != nil {
		return nil, err
	}
	like := &Like{X: x, Pattern: pattern, Escape: '\\', Fold: fold}
	if p.accept("ESCAPE") {
		tok := p.tok
		if tok.kind != tokenString {
			return nil, p.unexpected("the escape character as a string")
		}
		if utf8.RuneCountInString(tok.text) != 1 {
			return nil, p.fail("INVALID_ESC", tok.start, "the escape string %q is not one character", tok.text)
		}
		like.Escape, _ = utf8.DecodeRuneInString(tok.text)
		p.advance()
	}
	return negate(like, negated), nil
}

func (p *parser) rlike(x Expr, negated bool) (Expr, error) {
	p.advance()
	pattern, err := p.value(0)
	if err != nil {
		return nil, err
	}
	return negate(&Call{Name: "rlike", Args: []Expr{x, pattern}}, negated), nil
}

// binaryOperators have Spark's precedence: the higher binds the tighter. All associate to the left.
var binaryOperators = map[string]struct {
	precedence int
	build      func(l, r Expr) Expr
}{
	"*": {7, arith(Mul)}, "/": {7, arith(Div)}, "%": {7, arith(Mod)}, "DIV": {7, arith(IntDiv)},
	"+": {6, arith(Add)}, "-": {6, arith(Sub)}, "||": {6, call("concat")},
	"<<": {5, call("<<")}, ">>": {5, call(">>")}, ">>>": {5, call(">>>")},
	"&": {4, call("&")}, "^": {3, call("^")}, "|": {2, call("|")},
	"=": {1, compare(EQ)}, "==": {1, compare(EQ)}, "<=>": {1, compare(NullSafe)}, "<>": {1, compare(NE)}, "!=": {1, compare(NE)},
	"<": {1, compare(LT)}, "<=": {1, compare(LE)}, "!>": {1, compare(LE)},
	">": {1, compare(GT)}, ">=": {1, compare(GE)}, "!<": {1, compare(GE)},
}

func arith(op ArithOp) func(l, r Expr) Expr {
	return func(l, r Expr) Expr { return &Arith{Op: op, L: l, R: r} }
}

func compare(op CompareOp) func(l, r Expr) Expr {
	return func(l, r Expr) Expr { return &Compare{Op: op, L: l, R: r} }
}

func call(name string) func(l, r Expr) Expr {
	return func(l, r Expr) Expr { return &Call{Name: name, Args: []Expr{l, r}} }
}

// value parses operators that bind tighter than the given precedence.
func (p *parser) value(precedence int) (Expr, error) {
	depth := p.depth
	defer func() { p.depth = depth }()
	left, err := p.unary()
	if err != nil {
		return nil, err
	}
	for {
		if p.tok.kind != tokenSymbol && !p.tok.is("DIV") {
			return left, nil
		}
		operator, ok := binaryOperators[strings.ToUpper(p.tok.text)]
		if !ok || operator.precedence <= precedence {
			return left, nil
		}
		// A chain of operators is a tree as deep as it is long.
		if err := p.deeper(); err != nil {
			return nil, err
		}
		p.advance()
		right, err := p.value(operator.precedence)
		if err != nil {
			return nil, err
		}
		left = operator.build(left, right)
	}
}

func (p *parser) unary() (Expr, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	symbol := p.tok.text
	name, ok := unaryOperators[symbol]
	if !ok || p.tok.kind != tokenSymbol || symbol == "-" && p.peek().kind == tokenNumber {
		start := p.tok.start
		e, err := p.primary()
		if err != nil {
			return nil, err
		}
		if literal, ok := e.(*Literal); ok {
			literal.text = p.lexer.sql[start:p.prevEnd]
		}
		return p.suffixes(e)
	}
	p.advance()
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	if literal, ok := x.(*Literal); ok && symbol == "-" && literal.Value.Type.Kind == schema.Interval && literal.Value.I != math.MinInt64 {
		v := literal.Value
		v.I = -v.I
		return &Literal{Value: v}, nil
	}
	return &Call{Name: name, Args: []Expr{x}}, nil
}

var unaryOperators = map[string]string{"-": "negative", "+": "positive", "~": "~"}

// suffixes parses what may follow a primary expression: a cast, a collation, an index, a field.
func (p *parser) suffixes(e Expr) (Expr, error) {
	depth := p.depth
	defer func() { p.depth = depth }()
	for {
		if err := p.deeper(); err != nil {
			return nil, err
		}
		switch {
		case p.tok.is("::"):
			p.advance()
			to, err := p.dataType()
			if err != nil {
				return nil, err
			}
			e = &Cast{X: e, To: to}
		case p.tok.is("COLLATE") && isName(p.peek()):
			p.advance()
			name, err := p.qualifiedName()
			if err != nil {
				return nil, err
			}
			e = &Call{Name: "collate", Args: []Expr{e, &Literal{Value: StringOf(name[len(name)-1])}}}
		case p.tok.is("["):
			p.advance()
			index, err := p.value(0)
			if err != nil {
				return nil, err
			}
			if err := p.expect("]"); err != nil {
				return nil, err
			}
			e = &Call{Name: indexName, Args: []Expr{e, index}}
		case p.tok.is("."):
			p.advance()
			if !isName(p.tok) {
				return nil, p.unexpected("a field's name")
			}
			e = &Call{Name: fieldName, Args: []Expr{e, &Literal{Value: StringOf(p.tok.text)}}}
			p.advance()
		default:
			return e, nil
		}
	}
}

// The names of calls that SQL spells x[i] and x.f.
const (
	indexName = "[]"
	fieldName = "."
)

func isName(t token) bool  { return t.kind == tokenWord || t.kind == tokenQuoted }
func isQuery(t token) bool { return t.is("SELECT") || t.is("WITH") }

func (p *parser) primary() (Expr, error) {
	tok := p.tok
	switch tok.kind {
	case tokenString:
		return p.stringLiteral(), nil
	case tokenNumber:
		return p.number("")
	case tokenQuoted:
		return p.reference()
	case tokenSymbol:
		switch tok.text {
		case "(":
			return p.group()
		case "-":
			p.advance()
			return p.number("-")
		case "?", ":":
			return nil, p.fail("UNBOUND_SQL_PARAMETER", tok.start, "a parameter has no value here")
		}
	case tokenWord:
		return p.word()
	}
	return nil, p.unexpected("an expression")
}

// group parses what starts with a parenthesis: a subquery, a row, an expression.
func (p *parser) group() (Expr, error) {
	start := p.tok.start
	if isQuery(p.peek()) {
		if err := p.skipParentheses(); err != nil {
			return nil, err
		}
		return &Opaque{SQL: p.source(start), Reason: "a subquery is evaluated by the engine that runs it"}, nil
	}
	list, err := p.parenthesized()
	if err != nil {
		return nil, err
	}
	if len(list) > 1 {
		return &Call{Name: "struct", Args: list}, nil
	}
	return list[0], nil
}

// skipParentheses skips a balanced pair of parentheses and what they hold.
func (p *parser) skipParentheses() error {
	start := p.tok.start
	for depth := 0; ; {
		switch {
		case p.tok.is("("):
			depth++
		case p.tok.is(")"):
			depth--
		case p.tok.kind == tokenEOF:
			return p.lexer.fail(start, "the parenthesis is not closed")
		}
		p.advance()
		if depth == 0 {
			return nil
		}
	}
}

// word parses what starts with an unquoted word. Spark reserves no words, so each is a name unless what follows says
// otherwise.
func (p *parser) word() (Expr, error) {
	start, next := p.tok.start, p.peek()
	upper := strings.ToUpper(p.tok.text)
	switch upper {
	case "NULL":
		p.advance()
		return Lit(nil), nil
	case "TRUE", "FALSE":
		p.advance()
		return Lit(upper == "TRUE"), nil
	case "CASE":
		return p.caseWhen()
	case "CAST", "TRY_CAST":
		if next.is("(") {
			return p.cast(upper == "TRY_CAST")
		}
	case "EXISTS":
		ahead := *p
		if ahead.advance(); next.is("(") && isQuery(ahead.peek()) {
			p.advance()
			if err := p.skipParentheses(); err != nil {
				return nil, err
			}
			return &Opaque{SQL: p.source(start), Reason: "a subquery is evaluated by the engine that runs it", Typ: booleanType}, nil
		}
	case "INTERVAL":
		if next.kind == tokenString || next.kind == tokenNumber || next.is("-") || next.is("+") {
			return p.interval()
		}
	case "BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "AND", "OR", "WHEN", "THEN", "ELSE", "END", "SELECT", "FROM", "AS", "IS":
		// Names by Spark's grammar, but nobody's columns: an error here points at the place that is wrong.
		if !next.is(".") && !(next.is("(") && strings.HasSuffix(upper, "LIKE")) {
			return nil, p.unexpected("an expression")
		}
	}
	if next.kind == tokenString {
		return p.typedLiteral(upper)
	}
	return p.reference()
}

func (p *parser) caseWhen() (Expr, error) {
	p.advance()
	var operand Expr
	if !p.tok.is("WHEN") {
		var err error
		if operand, err = p.expression(); err != nil {
			return nil, err
		}
	}
	c := &Case{}
	for p.accept("WHEN") {
		condition, err := p.expression()
		if err != nil {
			return nil, err
		}
		if operand != nil {
			condition = &Compare{Op: EQ, L: operand, R: condition}
		}
		if err := p.expect("THEN"); err != nil {
			return nil, err
		}
		then, err := p.expression()
		if err != nil {
			return nil, err
		}
		c.Whens = append(c.Whens, When{If: condition, Then: then})
	}
	if len(c.Whens) == 0 {
		return nil, p.unexpected(`"WHEN"`)
	}
	if p.accept("ELSE") {
		var err error
		if c.Else, err = p.expression(); err != nil {
			return nil, err
		}
	}
	return c, p.expect("END")
}

func (p *parser) qualifiedName() ([]string, error) {
	if !isName(p.tok) {
		return nil, p.unexpected("a name")
	}
	var name []string
	for {
		name = append(name, p.tok.text)
		p.advance()
		if !p.tok.is(".") || !isName(p.peek()) {
			return name, nil
		}
		p.advance()
	}
}

// reference parses a column's name or a function call.
func (p *parser) reference() (Expr, error) {
	start := p.tok.start
	name, err := p.qualifiedName()
	if err != nil {
		return nil, err
	}
	if len(name) > p.maxDepth {
		return nil, p.lexer.fail(start, "the name has more than %d parts", p.maxDepth)
	}
	if p.tok.is("(") {
		return p.functionCall(start, name)
	}
	if p.tok.is("->") {
		return nil, p.unexpected("an operator: a lambda stands only inside a call")
	}
	return &Column{Name: name}, nil
}
