package vectorized

import (
	"strings"
	"unicode/utf8"

	"github.com/deltaskip/deltaskip/predicate"
)

// A likePattern is what a LIKE pattern, or the argument of startswith, says about the order of its matches.
type likePattern struct {
	prefix string
	starts span // the strings that start with prefix
	open   bool // whatever starts with prefix matches
	whole  bool // nothing but prefix itself matches
}

// prefixPattern is the pattern of startswith.
func prefixPattern(prefix string) *likePattern {
	p := &likePattern{prefix: prefix, open: true}
	p.starts = span{lo: predicate.StringOf(prefix), hasLo: true}
	if end, ok := afterPrefix(prefix); ok {
		p.starts.hi, p.starts.hasHi, p.starts.open = predicate.StringOf(end), true, true
	}
	return p
}

// parseLike reads a LIKE pattern. It returns nil for one that Spark rejects, or whose characters are not UTF-8.
func parseLike(pattern string, escape rune) *likePattern {
	var prefix strings.Builder
	wild, tail := false, false // past the first wildcard; past a character that follows it, or a _
	for i := 0; i < len(pattern); {
		r, size := utf8.DecodeRuneInString(pattern[i:])
		i += size
		literal := true
		switch {
		case r == utf8.RuneError && size == 1:
			return nil
		case r == escape:
			r, size = utf8.DecodeRuneInString(pattern[i:])
			if size == 0 || r != '%' && r != '_' && r != escape {
				return nil
			}
			i += size
		case r == '%':
			wild, literal = true, false
		case r == '_':
			wild, tail, literal = true, true, false
		}
		switch {
		case literal && wild:
			tail = true
		case literal:
			prefix.WriteRune(r)
		}
	}
	p := prefixPattern(prefix.String())
	p.open, p.whole = wild && !tail, !wild
	return p
}

// match answers "x LIKE p" for the values of x.
func (p *likePattern) match(x *span) tri {
	r := triIf(x.null, canNull)
	switch {
	case x.empty:
		return r
	case p.whole:
		literal := pointSpan(p.starts.lo)
		return r | compareRanges(predicate.EQ, x, &literal)
	case p.prefix == "" && p.open:
		return r | canTrue
	}
	if mayReach(x, &p.starts) && mayReach(&p.starts, x) {
		r |= canTrue
	}
	if !p.open || !p.covers(x) {
		r |= canFalse
	}
	return r
}

// covers reports that every value of x starts with the prefix.
func (p *likePattern) covers(x *span) bool {
	if !x.hasLo || x.lo.Compare(p.starts.lo) < 0 {
		return false
	}
	if !p.starts.hasHi {
		return true
	}
	if !x.hasHi {
		return false
	}
	c := x.hi.Compare(p.starts.hi)
	return c < 0 || c == 0 && x.open
}
