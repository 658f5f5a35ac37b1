package predicate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// Spark maps case by the rules of ICU for whole strings: ß becomes SS, a final Σ becomes ς. Its Unicode, 16, is newer than
// that of the library here, so that characters that changed since have no known case.

func upper(s string) (string, error) { return mapCase(s, cases.Upper) }
func lower(s string) (string, error) { return mapCase(s, cases.Lower) }

func mapCase(s string, mapping func(language.Tag, ...cases.Option) cases.Caser) (string, error) {
	for _, r := range s {
		if !caseKnown(r) {
			return "", &UnsupportedError{Reason: "the case of a character on which versions of Unicode differ"}
		}
	}
	return mapping(language.Und).String(s), nil
}

func caseKnown(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return true
	case r == '\u019B', r == '\u0264', r == '\U0001171E': // changed with Unicode 16
		return false
	case r == '\u0345': // a mark with an upper case: whether a Σ after it is final, libraries differ
		return false
	}
	return !unicode.Is(unicode.Cn, r)
}

// initcap raises the first character of each word to title case and lowers the others. Only a space ends a word.
func initcap(s string) (string, error) {
	words := strings.Split(s, " ")
	for i, w := range words {
		if w == "" {
			continue
		}
		low, err := lower(w)
		if err != nil {
			return "", err
		}
		first := string([]rune(w)[:1])
		lowFirst, _ := lower(first)
		// The rest is cut from the word as a whole because a Σ is lowered by what comes before it.
		words[i] = cases.Title(language.Und, cases.NoLower).String(first) + strings.TrimPrefix(low, lowFirst)
	}
	return strings.Join(words, " "), nil
}
