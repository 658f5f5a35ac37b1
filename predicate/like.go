package predicate

import (
	"fmt"
	"unicode/utf8"
)

// A likeToken is one element of a LIKE pattern: a character, any character, or any string.
type likeToken struct {
	char rune
	kind byte // 'c', '_' or '%'
}

// parseLike cuts a pattern into its tokens. An escape must stand before _, % or itself
// (StringUtils.escapeLikeRegex).
func parseLike(pattern string, escape rune) ([]likeToken, error) {
	tokens := make([]likeToken, 0, len(pattern))
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			if r != '_' && r != '%' && r != escape {
				return nil, &EvalError{Class: "INVALID_FORMAT.ESC_IN_THE_MIDDLE", Message: fmt.Sprintf("in the pattern %s, %q cannot be escaped", quoteString(pattern), r)}
			}
			tokens = append(tokens, likeToken{r, 'c'})
			escaped = false
		case r == escape:
			escaped = true
		case r == '_':
			tokens = append(tokens, likeToken{kind: '_'})
		case r == '%':
			if n := len(tokens); n == 0 || tokens[n-1].kind != '%' {
				tokens = append(tokens, likeToken{kind: '%'})
			}
		default:
			tokens = append(tokens, likeToken{r, 'c'})
		}
	}
	if escaped {
		return nil, &EvalError{Class: "INVALID_FORMAT.ESC_AT_THE_END", Message: fmt.Sprintf("the pattern %s ends in its escape character", quoteString(pattern))}
	}
	return tokens, nil
}

// matchLike says whether all of s matches. It goes back only to the last %, so its time is bounded by len(s)·len(tokens).
func matchLike(s string, tokens []likeToken) bool {
	at, star, resume := 0, -1, 0
	for i := 0; i < len(s) || at < len(tokens); {
		if at < len(tokens) {
			switch t := tokens[at]; t.kind {
			case '%':
				star, resume = at, i
				at++
				continue
			default:
				if i < len(s) {
					r, n := utf8.DecodeRuneInString(s[i:])
					if t.kind == '_' || r == t.char {
						at++
						i += n
						continue
					}
				}
			}
		}
		if star < 0 || resume >= len(s) {
			return false
		}
		_, n := utf8.DecodeRuneInString(s[resume:])
		resume += n
		at, i = star+1, resume
	}
	return true
}
