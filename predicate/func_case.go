package predicate

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// Spark maps case by ICU's rules for whole strings: ß becomes SS, a final Σ becomes ς. Its Unicode is newer than Go's, so
// characters that Go does not know have no known case.

func upper(s string) (string, error) { return mapCase(s, cases.Upper) }
func lower(s string) (string, error) { return mapCase(s, cases.Lower) }

func mapCase(s string, mapping func(language.Tag, ...cases.Option) cases.Caser) (string, error) {
	for _, r := range s {
		if !assigned(r) {
			return "", &UnsupportedError{Reason: "the case of a character that Unicode " + unicode.Version + " does not have"}
		}
	}
	return mapping(language.Und).String(s), nil
}

func assigned(r rune) bool {
	return r < 0x80 || unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.C)
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
