package predicate

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/deltaskip/deltaskip/schema"
)

var regexpAliases = map[string]string{"rlike": "regexp_like", "regexp": "regexp_like"}

var regexpFunctions = []Function{
	{Name: "regexp_like", NullIn: true, Resolve: signature(toBoolean, 0, aString, aString), Eval: withPattern(false,
		func(p *pattern, a []Value) (Value, error) { return BoolOf(p.re.MatchString(a[0].S)), nil })},
	{Name: "regexp_count", NullIn: true, Resolve: signature(toInteger, 0, aString, aString), Eval: withPattern(true,
		func(p *pattern, a []Value) (Value, error) {
			if p.mayBeEmpty {
				return Value{}, errEmptyMatch
			}
			return integer(len(p.re.FindAllStringIndex(a[0].S, -1))), nil
		})},
	{Name: "regexp_instr", NullIn: true, Resolve: signature(toInteger, 1, aString, aString, anInteger), Eval: withPattern(true,
		func(p *pattern, a []Value) (Value, error) {
			if len(a) > 2 {
				return Value{}, &UnsupportedError{Reason: "regexp_instr with a group"}
			}
			at := p.re.FindStringIndex(a[0].S)
			if at == nil {
				return integer(0), nil
			}
			units := 0 // of UTF-16
			for _, r := range a[0].S[:at[0]] {
				units += utf16.RuneLen(r)
			}
			return integer(units + 1), nil
		})},
	{Name: "regexp_substr", NullIn: true, Resolve: signature(toString, 0, aString, aString), Eval: withPattern(true,
		func(p *pattern, a []Value) (Value, error) {
			found := p.re.FindString(a[0].S)
			if found == "" {
				return NullOf(a[0].Type), nil
			}
			return StringOf(found), nil
		})},
	{Name: "regexp_extract", NullIn: true, Resolve: signature(toString, 1, aString, aString, anInteger), Eval: withPattern(true, extract)},
	{Name: "regexp_replace", NullIn: true, Resolve: signature(toString, 1, aString, aString, aString, anInteger), Eval: withPattern(true, regexpReplace)},
}

func extract(p *pattern, a []Value) (Value, error) {
	group := int64(1)
	if len(a) > 2 {
		group = a[2].I
	}
	m := p.re.FindStringSubmatch(a[0].S)
	switch {
	case m == nil:
		return StringOf(""), nil
	case group < 0 || group >= int64(len(m)):
		return Value{}, &EvalError{
			Class:   "INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX",
			Message: fmt.Sprintf("the pattern has %d groups, not %d", len(m)-1, group),
		}
	}
	return StringOf(m[group]), nil
}

func regexpReplace(p *pattern, a []Value) (Value, error) {
	s, with := a[0].S, a[2].S
	if len(a) > 3 && a[3].I != 1 {
		return Value{}, &UnsupportedError{Reason: "regexp_replace from a position"}
	}
	if strings.ContainsAny(with, `\$`) {
		return Value{}, &UnsupportedError{Reason: `regexp_replace by a string with \ or $`}
	}
	if p.mayBeEmpty {
		return Value{}, errEmptyMatch
	}
	found := p.re.FindAllStringIndex(s, -1)
	if int64(len(s))+int64(len(found))*int64(len(with)) > maxText {
		return Value{}, errTooLong
	}
	return StringOf(p.re.ReplaceAllLiteralString(s, with)), nil
}

var errEmptyMatch = &UnsupportedError{Reason: "all matches of a regular expression that matches the empty string"}

// A pattern is a Java regular expression that RE2 understands the same way, as long as its conditions hold.
type pattern struct {
	re         *regexp.Regexp
	lines      bool // Java's line terminators in the subject would matter: . and $
	ascii      bool // other characters in the subject would matter: \b, (?i)
	loops      bool // a repeated group: whether there is a match is the same, how far it reaches need not be
	mayBeEmpty bool // may match the empty string: Java and Go resume differently after that
}

// withPattern is the Eval of a function of a string and a pattern. extent says that it matters what the pattern matches,
// not only whether it does.
func withPattern(extent bool, f func(p *pattern, a []Value) (Value, error)) evalFunc {
	return func(_ *Env, a []Value, _ schema.Type) (Value, error) {
		p, err := compilePattern(a[1].S)
		if err != nil {
			return Value{}, err
		}
		s := a[0].S
		switch {
		case !utf8.ValidString(s):
			return Value{}, errInvalidUTF8
		case p.lines && strings.ContainsAny(s, "\n\r\u0085\u2028\u2029"):
			return Value{}, &UnsupportedError{Reason: "a regular expression on several lines"}
		case p.ascii && strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0:
			return Value{}, &UnsupportedError{Reason: "a regular expression about words or case outside ASCII"}
		case extent && p.loops:
			return Value{}, &UnsupportedError{Reason: "what a regular expression with repeated groups matches"}
		}
		return f(p, a)
	}
}

// patterns holds what compiled lately: a pattern is nearly always a constant.
var patterns = struct {
	sync.Mutex
	m map[string]*pattern
}{m: map[string]*pattern{}}

func compilePattern(java string) (*pattern, error) {
	patterns.Lock()
	defer patterns.Unlock()
	if p, ok := patterns.m[java]; ok {
		return p, nil
	}
	p, err := translatePattern(java)
	if err != nil {
		return nil, err
	}
	if len(patterns.m) >= 256 {
		clear(patterns.m)
	}
	patterns.m[java] = p
	return p, nil
}

// translatePattern writes a Java pattern for RE2. It knows the part of the syntax that both share; for anything else,
// wrong patterns included, it returns an [*UnsupportedError].
func translatePattern(java string) (*pattern, error) {
	unsupported := func(what string) (*pattern, error) {
		return nil, &UnsupportedError{Reason: "a regular expression with " + what}
	}
	if !utf8.ValidString(java) || len(java) > 1<<12 {
		return unsupported("invalid UTF-8 or more than 4096 bytes")
	}
	p := &pattern{}
	var out strings.Builder
	rest := java
	dotAll := false
	if after, ok := strings.CutPrefix(rest, "(?i)"); ok {
		rest, p.ascii = after, true
		out.WriteString("(?i)")
		if !isASCII(java) {
			return unsupported("letters to fold outside ASCII")
		}
	} else if after, ok := strings.CutPrefix(rest, "(?s)"); ok {
		rest, dotAll = after, true
		out.WriteString("(?s)")
	}
	group := false // the last item is a group
	for rest != "" {
		r, n := utf8.DecodeRuneInString(rest)
		item := rest[:n]
		wasGroup := group
		group = false
		switch r {
		case '\\':
			esc, size, ok := translateEscape(rest)
			if !ok {
				return unsupported("the escape " + rest[:min(2, len(rest))])
			}
			p.ascii = p.ascii || esc == `\b` || esc == `\B`
			out.WriteString(esc)
			n = size
		case '[':
			class, size, ok := translateClass(rest)
			if !ok {
				return unsupported("an involved character class")
			}
			out.WriteString(class)
			n = size
		case '(':
			if strings.HasPrefix(rest, "(?") && !strings.HasPrefix(rest, "(?:") {
				return unsupported("a group of the form (?")
			}
			out.WriteString(item)
		case ')':
			group = true
			out.WriteString(item)
		case '*', '+', '?', '{':
			if r == '{' {
				if n = len(repetition.FindString(rest)); n == 0 {
					return unsupported("a lone {")
				}
			}
			if strings.HasPrefix(rest[n:], "+") {
				return unsupported("a possessive quantifier")
			}
			p.loops = p.loops || wasGroup && r != '?'
			out.WriteString(rest[:n])
		case '.':
			p.lines = p.lines || !dotAll
			out.WriteString(item)
		case '$':
			p.lines = true
			out.WriteString(item)
		default: // ^ and | included
			out.WriteString(item)
		}
		rest = rest[n:]
	}
	tree, err := syntax.Parse(out.String(), syntax.Perl)
	if err != nil {
		return unsupported("syntax beyond RE2: " + err.Error())
	}
	p.mayBeEmpty = mayBeEmpty(tree)
	if p.re, err = regexp.Compile(out.String()); err != nil {
		return unsupported("syntax beyond RE2: " + err.Error())
	}
	return p, nil
}

var repetition = regexp.MustCompile(`^\{[0-9]+(,[0-9]*)?\}`)

// translateEscape writes the escape at the start of s, and says how long it is there.
func translateEscape(s string) (out string, size int, ok bool) {
	if len(s) < 2 {
		return "", 0, false
	}
	switch c := s[1]; {
	case c == 's':
		return `[\t-\r ]`, 2, true
	case c == 'S':
		return `[^\t-\r ]`, 2, true
	case strings.IndexByte(`dDwWbBtnrfAz`, c) >= 0:
		return s[:2], 2, true
	case c < utf8.RuneSelf && !isLetterOrDigit(c):
		return regexp.QuoteMeta(s[1:2]), 2, true
	}
	return "", 0, false
}

// translateClass writes the character class at the start of s: characters, ranges and simple escapes. Java's unions and
// intersections, and the positions where ] and - mean different things, are left alone.
func translateClass(s string) (out string, size int, ok bool) {
	var b strings.Builder
	b.WriteByte('[')
	i := 1
	if strings.HasPrefix(s[i:], "^") {
		b.WriteByte('^')
		i++
	}
	for first := i; i < len(s); {
		switch c := s[i]; c {
		case ']':
			if i == first {
				return "", 0, false
			}
			b.WriteByte(']')
			return b.String(), i + 1, true
		case '[', '&', '^':
			return "", 0, false
		case '-':
			// A range only between two plain characters, a minus only at the end.
			plain := i > first && isLetterOrDigit(s[i-1]) && (i-2 < first || s[i-2] != '\\' && s[i-2] != '-')
			next := i+1 < len(s) && isLetterOrDigit(s[i+1])
			last := i+1 < len(s) && s[i+1] == ']'
			if !last && !(plain && next) {
				return "", 0, false
			}
			b.WriteByte('-')
			i++
		case '\\':
			if i+1 >= len(s) {
				return "", 0, false
			}
			switch e := s[i+1]; {
			case e == 's':
				b.WriteString(`\t-\r `)
			case strings.IndexByte(`dwtnrf`, e) >= 0:
				b.WriteString(s[i : i+2])
			case e < utf8.RuneSelf && !isLetterOrDigit(e):
				b.WriteString(`\` + string(e))
			default:
				return "", 0, false
			}
			i += 2
		default:
			b.WriteByte(c)
			i++
		}
	}
	return "", 0, false
}

func mayBeEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoMatch:
		return false
	case syntax.OpCapture, syntax.OpPlus:
		return mayBeEmpty(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || mayBeEmpty(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !mayBeEmpty(sub) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if mayBeEmpty(sub) {
				return true
			}
		}
		return false
	}
	return true
}

func isLetterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}
