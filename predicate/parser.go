package predicate

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

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
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == tokenEOF {
		return nil, p.fail("PARSE_EMPTY_STATEMENT", 0, "there is no expression")
	}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokenEOF {
		return nil, p.unexpected("the end of the expression")
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
}

func (p *parser) advance() error {
	p.prevEnd = p.tok.end
	tok, err := p.lexer.next()
	p.tok = tok
	return err
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
func (p *parser) accept(text string) (bool, error) {
	if !p.tok.is(text) {
		return false, nil
	}
	return true, p.advance()
}

func (p *parser) expect(text string) error {
	ok, err := p.accept(text)
	if err == nil && !ok {
		err = p.unexpected(strconv.Quote(text))
	}
	return err
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
		if err := p.advance(); err != nil {
			return nil, err
		}
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
		if err := p.advance(); err != nil {
			return nil, err
		}
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
	negated := false
	if next := p.peek(); (p.tok.is("NOT") || p.tok.is("!")) && (next.is("BETWEEN") || next.is("IN") || next.is("LIKE") ||
		next.is("ILIKE") || next.is("RLIKE") || next.is("REGEXP")) {
		negated = true
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	parse := map[string]func(Expr, bool) (Expr, error){
		"BETWEEN": p.between, "IN": p.in, "LIKE": p.like, "ILIKE": p.like, "RLIKE": p.rlike, "REGEXP": p.rlike,
	}[strings.ToUpper(p.tok.text)]
	if p.tok.kind != tokenWord || parse == nil {
		return x, nil
	}
	return parse(x, negated)
}

func negate(e Expr, negated bool) Expr {
	if negated {
		return &Not{X: e}
	}
	return e
}

func (p *parser) is(x Expr) (Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	negated := false
	for _, not := range []string{"NOT", "!"} {
		ok, err := p.accept(not)
		if err != nil {
			return nil, err
		}
		negated = negated || ok
	}
	word := p.tok
	if word.kind != tokenWord {
		return nil, p.unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
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
	if err := p.advance(); err != nil {
		return nil, err
	}
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
	if err := p.advance(); err != nil {
		return nil, err
	}
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
		if ok, err := p.accept(","); err != nil {
			return nil, err
		} else if !ok {
			return list, p.expect(")")
		}
	}
}

func (p *parser) like(x Expr, negated bool) (Expr, error) {
	fold := p.tok.is("ILIKE")
	if err := p.advance(); err != nil {
		return nil, err
	}
	if (p.tok.is("ANY") || p.tok.is("SOME") || p.tok.is("ALL")) && p.peek().is("(") {
		all := p.tok.is("ALL")
		if err := p.advance(); err != nil {
			return nil, err
		}
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
	if ok, err := p.accept("ESCAPE"); err != nil {
		return nil, err
	} else if ok {
		tok := p.tok
		if tok.kind != tokenString {
			return nil, p.unexpected("the escape character as a string")
		}
		if utf8.RuneCountInString(tok.text) != 1 {
			return nil, p.fail("INVALID_ESC", tok.start, "the escape string %q is not one character", tok.text)
		}
		like.Escape, _ = utf8.DecodeRuneInString(tok.text)
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	return negate(like, negated), nil
}

func (p *parser) rlike(x Expr, negated bool) (Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
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
		if err := p.advance(); err != nil {
			return nil, err
		}
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
		e, err := p.primary()
		if err != nil {
			return nil, err
		}
		return p.suffixes(e)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
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
			if err := p.advance(); err != nil {
				return nil, err
			}
			to, err := p.dataType()
			if err != nil {
				return nil, err
			}
			e = &Cast{X: e, To: to}
		case p.tok.is("COLLATE") && isName(p.peek()):
			if err := p.advance(); err != nil {
				return nil, err
			}
			name, err := p.qualifiedName()
			if err != nil {
				return nil, err
			}
			e = &Call{Name: "collate", Args: []Expr{e, &Literal{Value: StringOf(name[len(name)-1])}}}
		case p.tok.is("["):
			if err := p.advance(); err != nil {
				return nil, err
			}
			index, err := p.value(0)
			if err != nil {
				return nil, err
			}
			if err := p.expect("]"); err != nil {
				return nil, err
			}
			e = &Call{Name: indexName, Args: []Expr{e, index}}
		case p.tok.is("."):
			if err := p.advance(); err != nil {
				return nil, err
			}
			if !isName(p.tok) {
				return nil, p.unexpected("a field's name")
			}
			e = &Call{Name: fieldName, Args: []Expr{e, &Literal{Value: StringOf(p.tok.text)}}}
			if err := p.advance(); err != nil {
				return nil, err
			}
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
		return p.stringLiteral()
	case tokenNumber:
		return p.number("")
	case tokenQuoted:
		return p.reference()
	case tokenSymbol:
		switch tok.text {
		case "(":
			return p.group()
		case "-":
			if err := p.advance(); err != nil {
				return nil, err
			}
			return p.number("-")
		case "?", ":":
			return nil, p.fail("UNBOUND_SQL_PARAMETER", tok.start, "a parameter has no value here")
		}
	case tokenWord:
		return p.word()
	}
	return nil, p.unexpected("an expression")
}

// stringLiteral parses one or more adjacent strings, which are one.
func (p *parser) stringLiteral() (Expr, error) {
	text, err := p.str()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokenString {
		return &Literal{Value: StringOf(text)}, nil
	}
	var b strings.Builder
	b.WriteString(text)
	for p.tok.kind == tokenString {
		text, err := p.str()
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	return &Literal{Value: StringOf(b.String())}, nil
}

func (p *parser) str() (string, error) {
	text := p.tok.text
	return text, p.advance()
}

// number parses a numeric literal with the type that Spark gives it: the narrowest of int, bigint and decimal for digits, a
// decimal of just its digits with a point, a double with an exponent, or what the suffix says.
func (p *parser) number(sign string) (Expr, error) {
	tok := p.tok
	if tok.kind != tokenNumber {
		return nil, p.unexpected("a number")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	text := strings.ToUpper(tok.text)
	suffix := strings.TrimLeft(text, "0123456789.E+-")
	digits := sign + strings.TrimSuffix(text, suffix)
	outOfRange := func(name string) error {
		return p.fail("INVALID_NUMERIC_LITERAL_RANGE", tok.start, "%s is out of the range of %s", sign+tok.text, name)
	}
	integer := func(kind schema.Kind, bits int) (Expr, error) {
		n, err := strconv.ParseInt(digits, 10, bits)
		if err != nil {
			return nil, outOfRange(kind.String())
		}
		return &Literal{Value: IntOf(kind, n)}, nil
	}
	float := func(kind schema.Kind, bits int) (Expr, error) {
		f, err := strconv.ParseFloat(digits, bits)
		if exact, _ := strconv.ParseFloat(digits, 64); err != nil || bits == 32 && math.Abs(exact) > math.MaxFloat32 {
			return nil, outOfRange(kind.String())
		}
		return &Literal{Value: FloatOf(kind, f)}, nil
	}
	switch suffix {
	case "Y":
		return integer(schema.Byte, 8)
	case "S":
		return integer(schema.Short, 16)
	case "L":
		return integer(schema.Long, 64)
	case "F":
		return float(schema.Float, 32)
	case "D":
		return float(schema.Double, 64)
	case "":
		switch {
		case strings.Contains(digits, "E"):
			return float(schema.Double, 64)
		case !strings.Contains(digits, "."):
			if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
				kind := schema.Long
				if n == int64(int32(n)) {
					kind = schema.Integer
				}
				return &Literal{Value: IntOf(kind, n)}, nil
			}
		}
	}
	v, ok := decimalLiteral(digits)
	if !ok {
		return nil, p.fail("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", tok.start, "%s has more than 38 digits", sign+tok.text)
	}
	return &Literal{Value: v}, nil
}

// decimalLiteral reads digits with an optional point and exponent as the decimal of just these digits.
func decimalLiteral(text string) (Value, bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToUpper(text), "E")
	scale := 0
	if exponent != "" {
		n, err := strconv.Atoi(exponent)
		if err != nil || n < -100 || n > 100 {
			return Value{}, false
		}
		scale = -n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	scale += len(fraction)
	unscaled, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok || unscaled.BitLen() > 256 {
		return Value{}, false
	}
	if scale < 0 {
		unscaled.Mul(unscaled, pow10(-scale))
		scale = 0
	}
	precision := max(decimalDigits(unscaled), scale, 1)
	if precision > maxPrecision {
		return Value{}, false
	}
	return DecimalOf(decimal128.FromBigInt(unscaled), uint8(precision), uint8(scale)), true
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
		if err := p.advance(); err != nil {
			return err
		}
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
		return &Literal{Value: NullOf(schema.Type{Kind: schema.Void})}, p.advance()
	case "TRUE", "FALSE":
		return &Literal{Value: BoolOf(upper == "TRUE")}, p.advance()
	case "CASE":
		return p.caseWhen()
	case "CAST", "TRY_CAST":
		if next.is("(") {
			return p.cast(upper == "TRY_CAST")
		}
	case "EXISTS":
		if ahead := *p; next.is("(") && ahead.advance() == nil && isQuery(ahead.peek()) {
			if err := p.advance(); err != nil {
				return nil, err
			}
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

// typedLiteral parses DATE '…' and its like.
func (p *parser) typedLiteral(name string) (Expr, error) {
	at := p.tok.start
	if err := p.advance(); err != nil {
		return nil, err
	}
	text, err := p.str()
	if err != nil {
		return nil, err
	}
	invalid := p.fail("INVALID_TYPED_LITERAL", at, "%q is not a %s", text, strings.ToLower(name))
	literal := &Literal{Value: StringOf(text)}
	switch name {
	case "DATE":
		if isSpecialDatetime(text) {
			return &Cast{X: literal, To: schema.Type{Kind: schema.Date}}, nil
		}
		if days, ok := parseDate(text); ok {
			return &Literal{Value: IntOf(schema.Date, days)}, nil
		}
	case "TIMESTAMP", "TIMESTAMP_LTZ":
		// Without a zone it means an instant of the session's zone, which binding knows.
		if _, ok := parseTimestamp(text, nil); ok || isSpecialDatetime(text) || isTimeAlone(text) {
			return &Cast{X: literal, To: schema.Type{Kind: schema.Timestamp}}, nil
		}
	case "TIMESTAMP_NTZ":
		if isSpecialDatetime(text) {
			return &Cast{X: literal, To: schema.Type{Kind: schema.TimestampNTZ}}, nil
		}
		if micros, zoned, ok := parseTimestampNTZ(text); ok && !zoned {
			return &Literal{Value: IntOf(schema.TimestampNTZ, micros)}, nil
		}
	case "X":
		if len(text)%2 == 1 {
			text = "0" + text
		}
		if data, err := hex.DecodeString(text); err == nil {
			return &Literal{Value: BinaryOf(string(data))}, nil
		}
	case "TIME":
		return &Opaque{SQL: p.source(at), Reason: "the type time is not known to this version"}, nil
	default:
		return nil, p.fail("UNSUPPORTED_TYPED_LITERAL", at, "there are no literals of type %s", strings.ToLower(name))
	}
	return nil, invalid
}

func (p *parser) caseWhen() (Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	var operand Expr
	if !p.tok.is("WHEN") {
		var err error
		if operand, err = p.expression(); err != nil {
			return nil, err
		}
	}
	c := &Case{}
	for {
		if ok, err := p.accept("WHEN"); err != nil {
			return nil, err
		} else if !ok {
			break
		}
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
	if ok, err := p.accept("ELSE"); err != nil {
		return nil, err
	} else if ok {
		if c.Else, err = p.expression(); err != nil {
			return nil, err
		}
	}
	return c, p.expect("END")
}

func (p *parser) cast(try bool) (Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
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
	if err := p.advance(); err != nil {
		return schema.Type{}, err
	}
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
			if err := p.advance(); err != nil {
				return schema.Type{}, err
			}
			if depth <= 0 {
				break
			}
		}
	case interval && p.tok.kind == tokenWord && p.peek().is("TO"):
		for range 3 { // DAY TO SECOND
			if err := p.advance(); err != nil {
				return schema.Type{}, err
			}
		}
	case interval && p.tok.kind == tokenWord:
		if err := p.advance(); err != nil {
			return schema.Type{}, err
		}
	case str && p.tok.is("COLLATE"):
		for range 2 {
			if err := p.advance(); err != nil {
				return schema.Type{}, err
			}
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

func (p *parser) qualifiedName() ([]string, error) {
	if !isName(p.tok) {
		return nil, p.unexpected("a name")
	}
	var name []string
	for {
		name = append(name, p.tok.text)
		if err := p.advance(); err != nil {
			return nil, err
		}
		if !p.tok.is(".") || !isName(p.peek()) {
			return name, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
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
		return &Opaque{SQL: "*", Reason: "all columns"}, false, p.advance()
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
	parenthesis := p.tok.is("(")
	if parenthesis && p.advance() != nil {
		return nil, false
	}
	for isName(p.tok) {
		names = append(names, p.tok.text)
		if p.advance() != nil {
			return nil, false
		}
		if !parenthesis || !p.tok.is(",") {
			break
		}
		if p.advance() != nil {
			return nil, false
		}
	}
	if parenthesis && (!p.tok.is(")") || p.advance() != nil) {
		return nil, false
	}
	return names, len(names) > 0 && p.tok.is("->") && p.advance() == nil
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
	if ok, err := p.accept(")"); err != nil || ok {
		return false, err
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
		if err := p.advance(); err != nil {
			return false, err
		}
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
			if err := p.advance(); err != nil {
				return false, err
			}
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
		if err := p.advance(); err != nil {
			return err
		}
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
		ok, err := p.accept(keyword)
		if err != nil {
			return err
		}
		if !ok {
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
	if err := p.advance(); err != nil {
		return true, err
	}
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

// interval parses INTERVAL '1' DAY, INTERVAL 1 DAY 2 HOURS, INTERVAL '1-2' YEAR TO MONTH or INTERVAL '1 day 2 hours'.
func (p *parser) interval() (Expr, error) {
	start := p.tok.start
	if err := p.advance(); err != nil {
		return nil, err
	}
	var parts []intervalPart
	for {
		part := intervalPart{}
		if p.tok.is("-") || p.tok.is("+") {
			part.sign = p.tok.text
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
		if p.tok.kind != tokenString && p.tok.kind != tokenNumber {
			return nil, p.unexpected("an interval's value")
		}
		part.value, part.quoted = p.tok.text, p.tok.kind == tokenString
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.tok.kind == tokenWord && isIntervalUnit(p.tok.text) {
			part.unit = p.tok.text
			if err := p.advance(); err != nil {
				return nil, err
			}
			if p.tok.is("TO") {
				if err := p.advance(); err != nil {
					return nil, err
				}
				part.to = p.tok.text
				if !isIntervalUnit(part.to) {
					return nil, p.unexpected("an interval's unit")
				}
				if err := p.advance(); err != nil {
					return nil, err
				}
			}
		}
		parts = append(parts, part)
		if part.unit == "" || part.to != "" || !p.startsIntervalPart() {
			break
		}
	}
	v, err := intervalValue(parts)
	var invalid *intervalError
	if errors.As(err, &invalid) {
		return nil, p.fail(invalid.class, start, "%s", invalid.message)
	}
	return &Literal{Value: v}, err
}

// startsIntervalPart says whether a value with a unit follows, as against the rest of the expression.
func (p *parser) startsIntervalPart() bool {
	ahead := *p
	if (ahead.tok.is("-") || ahead.tok.is("+")) && ahead.advance() != nil {
		return false
	}
	next := ahead.peek()
	return (ahead.tok.kind == tokenString || ahead.tok.kind == tokenNumber) && next.kind == tokenWord && isIntervalUnit(next.text)
}
