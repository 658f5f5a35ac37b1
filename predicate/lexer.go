package predicate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A SyntaxError points at what is wrong in a SQL text.
type SyntaxError struct {
	SQL     string
	Offset  int    // in bytes
	Class   string // Spark's error class: PARSE_SYNTAX_ERROR, or what is wrong with a literal
	Message string
}

// errorContext bounds how much of the line is shown on either side of the place.
const errorContext = 60

func (e *SyntaxError) Error() string {
	line := e.SQL[strings.LastIndexByte(e.SQL[:e.Offset], '\n')+1:]
	number := 1 + strings.Count(e.SQL[:e.Offset], "\n")
	at := e.Offset - (len(e.SQL) - len(line))
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	before, after := []rune(line[:at]), []rune(line[at:])
	column := len(before) + 1
	if len(before) > errorContext {
		before = append([]rune("…"), before[len(before)-errorContext:]...)
	}
	if len(after) > errorContext {
		after = append(after[:errorContext:errorContext], '…')
	}
	shown := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, string(before)+string(after))
	return fmt.Sprintf("predicate: syntax error at line %d, column %d: %s\n  %s\n  %s^",
		number, column, e.Message, shown, strings.Repeat(" ", len(before)))
}

type tokenKind uint8

const (
	tokenEOF tokenKind = iota
	tokenWord
	tokenQuoted  // a name in back quotes; text is the name
	tokenString  // text is the value
	tokenNumber  // an integer, decimal or float literal with its suffix
	tokenSymbol  // an operator or punctuation
	tokenInvalid // only inside parts that become opaque, such as a subquery
)

type token struct {
	kind  tokenKind
	start int // in bytes
	end   int
	text  string
}

// is says whether the token is the given keyword, in any case, or symbol.
func (t token) is(text string) bool {
	switch t.kind {
	case tokenWord:
		return strings.EqualFold(t.text, text)
	case tokenSymbol:
		return t.text == text
	}
	return false
}

// symbols are the operators, the longer before their prefixes.
var symbols = []string{
	"<=>", ">>>", "->", "::", "<=", ">=", "<>", "!=", "!<", "!>", "==", "||", "<<", ">>",
	"=", "<", ">", "+", "-", "*", "/", "%", "~", "&", "|", "^", "!", "(", ")", "[", "]", ",", ".", ":", "?", ";",
}

// A lexer cuts SQL into tokens as Spark's SqlBaseLexer.g4 does. It is written by hand because that grammar looks ahead and
// behind (1.e2 and 1.end differ, comments nest), which the regular expressions of a lexer library cannot say.
type lexer struct {
	sql string
	pos int
}

func (l *lexer) fail(offset int, format string, args ...any) error {
	return &SyntaxError{SQL: l.sql, Offset: offset, Class: "PARSE_SYNTAX_ERROR", Message: fmt.Sprintf(format, args...)}
}

func (l *lexer) next() (token, error) {
	if err := l.skipBlank(); err != nil {
		return token{}, err
	}
	start := l.pos
	if start == len(l.sql) {
		return token{kind: tokenEOF, start: start, end: start}, nil
	}
	rest := l.sql[start:]
	c := rest[0]
	switch {
	case c == '\'' || c == '"':
		return l.stringToken(false)
	case (c == 'r' || c == 'R') && len(rest) > 1 && (rest[1] == '\'' || rest[1] == '"'):
		return l.stringToken(true)
	case c == '`':
		return l.quotedName()
	}
	if n := numberLength(rest); n > 0 {
		// A longer word wins: 1a is a name, 1L a number.
		if w := wordLength(rest); w <= n {
			l.pos += n
			return token{kind: tokenNumber, start: start, end: l.pos, text: rest[:n]}, nil
		}
	}
	if n := wordLength(rest); n > 0 {
		l.pos += n
		return token{kind: tokenWord, start: start, end: l.pos, text: rest[:n]}, nil
	}
	for _, s := range symbols {
		if strings.HasPrefix(rest, s) {
			l.pos += len(s)
			return token{kind: tokenSymbol, start: start, end: l.pos, text: s}, nil
		}
	}
	r, n := utf8.DecodeRuneInString(rest)
	l.pos += n
	return token{kind: tokenInvalid, start: start, end: l.pos, text: string(r)}, nil
}

// skipBlank skips white space, -- comments and nested /* */ comments.
func (l *lexer) skipBlank() error {
	for l.pos < len(l.sql) {
		rest := l.sql[l.pos:]
		switch {
		case strings.HasPrefix(rest, "--"):
			end := strings.IndexAny(rest, "\r\n")
			if end < 0 {
				end = len(rest)
			}
			l.pos += end
		case strings.HasPrefix(rest, "/*"):
			start := l.pos
			for depth := 0; ; {
				rest = l.sql[l.pos:]
				if rest == "" {
					return &SyntaxError{SQL: l.sql, Offset: start, Class: "UNCLOSED_BRACKETED_COMMENT", Message: "the comment is not closed"}
				}
				switch {
				case strings.HasPrefix(rest, "/*"):
					depth++
					l.pos += 2
				case strings.HasPrefix(rest, "*/"):
					depth--
					l.pos += 2
				default:
					l.pos++
				}
				if depth == 0 {
					break
				}
			}
		default:
			r, n := utf8.DecodeRuneInString(rest)
			if r != '\uFEFF' && !unicode.IsSpace(r) {
				return nil
			}
			l.pos += n
		}
	}
	return nil
}

// numberLength is the length of the number literal that text starts with, its suffix included; 0 if there is none.
func numberLength(text string) int {
	digits := func(i int) int {
		for i < len(text) && '0' <= text[i] && text[i] <= '9' {
			i++
		}
		return i
	}
	whole := digits(0)
	n, point := whole, false
	if n < len(text) && text[n] == '.' {
		fraction := digits(n + 1)
		// A point belongs to the number unless a word follows: 1.e is a name's qualifier, not a number.
		if whole > 0 || fraction > n+1 {
			n, point = fraction, true
		}
	}
	if n == 0 {
		return 0
	}
	exponent := false
	if n < len(text) && (text[n] == 'e' || text[n] == 'E') {
		i := n + 1
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if end := digits(i); end > i {
			n, exponent = end, true
		}
	}
	for _, suffix := range []string{"BD", "D", "F", "L", "S", "Y"} {
		if len(text) >= n+len(suffix) && strings.EqualFold(text[n:n+len(suffix)], suffix) {
			if len(suffix) == 1 && strings.Contains("LSY", suffix) && (point || exponent) {
				break
			}
			if end := n + len(suffix); wordLength(text[end:]) == 0 {
				return end
			}
		}
	}
	if (point || exponent) && wordLength(text[n:]) > 0 {
		// Not a number as a whole. Without its point it may be one.
		if point {
			return whole
		}
		return 0
	}
	return n
}

// wordLength is the length of the unquoted name that text starts with.
func wordLength(text string) int {
	for i, r := range text {
		if r != '_' && !('0' <= r && r <= '9') && !unicode.IsLetter(r) {
			return i
		}
	}
	return len(text)
}

func (l *lexer) quotedName() (token, error) {
	start := l.pos
	var name strings.Builder
	for i := start + 1; ; i++ {
		end := strings.IndexByte(l.sql[i:], '`')
		if end < 0 {
			return token{}, l.fail(start, "the back quote is not closed")
		}
		name.WriteString(l.sql[i : i+end])
		i += end
		if !strings.HasPrefix(l.sql[i:], "``") {
			l.pos = i + 1
			break
		}
		name.WriteByte('`')
		i++
	}
	if name.Len() == 0 {
		return token{}, l.fail(start, "a name is empty")
	}
	return token{kind: tokenQuoted, start: start, end: l.pos, text: name.String()}, nil
}

func (l *lexer) stringToken(raw bool) (token, error) {
	start := l.pos
	i := start
	if raw {
		i++
	}
	quote := l.sql[i]
	i++
	for body := i; i < len(l.sql); i++ {
		switch c := l.sql[i]; {
		case c == '\\' && !raw:
			i++
		case c == quote && !raw && i+1 < len(l.sql) && l.sql[i+1] == quote:
			i++
		case c == quote:
			l.pos = i + 1
			text := l.sql[body:i]
			if !raw {
				text = unescape(text, quote)
			}
			return token{kind: tokenString, start: start, end: l.pos, text: text}, nil
		}
	}
	return token{}, l.fail(start, "the string is not closed")
}

// unescape resolves the escapes of a string literal's body as Spark does: \n and its like, \uXXXX, \UXXXXXXXX, octal
// \ooo, a doubled quote; \% and \_ keep their backslash for LIKE; any other character stands for itself.
func unescape(body string, quote byte) string {
	if !strings.ContainsAny(body, `\`+string(quote)) {
		return body
	}
	var runes []rune
	for i := 0; i < len(body); {
		r, n := utf8.DecodeRuneInString(body[i:])
		i += n
		if r == rune(quote) && strings.HasPrefix(body[i:], string(quote)) {
			i++
		}
		if r != '\\' || i == len(body) {
			runes = append(runes, r)
			continue
		}
		if code, n := codeEscape(body[i:]); n > 0 {
			runes = append(runes, code)
			i += n
			continue
		}
		r, n = utf8.DecodeRuneInString(body[i:])
		i += n
		switch r {
		case '0':
			r = 0
		case 'b':
			r = '\b'
		case 'n':
			r = '\n'
		case 'r':
			r = '\r'
		case 't':
			r = '\t'
		case 'Z':
			r = 0x1A
		case '%', '_':
			runes = append(runes, '\\')
		}
		runes = append(runes, r)
	}
	return fromUTF16Halves(runes)
}

// codeEscape reads a numeric escape after its backslash and returns its length, 0 if it is none.
func codeEscape(text string) (code rune, length int) {
	number := func(from, digits, base int) bool {
		if len(text) < from+digits {
			return false
		}
		n, err := strconv.ParseUint(text[from:from+digits], base, 32)
		code, length = rune(n), from+digits
		return err == nil && n <= math.MaxInt32
	}
	switch {
	case text[0] == 'u' && number(1, 4, 16), text[0] == 'U' && number(1, 8, 16):
		return code, length
	case (text[0] == '0' || text[0] == '1') && number(0, 3, 8):
		return code, length
	}
	return 0, 0
}

// fromUTF16Halves joins surrogates that were escaped one by one. A lone one becomes a question mark, as in Java.
func fromUTF16Halves(runes []rune) string {
	var b strings.Builder
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case utf16.IsSurrogate(r) && i+1 < len(runes) && utf16.DecodeRune(r, runes[i+1]) != utf8.RuneError:
			b.WriteRune(utf16.DecodeRune(r, runes[i+1]))
			i++
		case utf16.IsSurrogate(r):
			b.WriteByte('?')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
