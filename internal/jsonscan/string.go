package jsonscan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote appends to dst the characters of the string literal data[start:end], quotes included, which [Value] has checked.
// It fails only on half a surrogate pair, which no Go string can hold.
func Unquote(dst, data []byte, start, end int) ([]byte, error) {
	at, end := start+1, end-1
	for at < end {
		next := bytes.IndexByte(data[at:end], '\\')
		if next < 0 {
			return append(dst, data[at:end]...), nil
		}
		dst = append(dst, data[at:at+next]...)
		at += next
		switch c := data[at+1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, n := unicodeEscape(data[at:end])
			if n == 0 {
				_, err := fail(at, "half a surrogate pair")
				return dst, err
			}
			dst = utf8.AppendRune(dst, r)
			at += n
			continue
		default: // a quote, a slash, a backslash
			dst = append(dst, c)
		}
		at += 2
	}
	return dst, nil
}

// unicodeEscape reads \uXXXX, or two of them that make a surrogate pair, at the start of text and returns the character
// and the bytes read, 0 for half a pair.
func unicodeEscape(text []byte) (rune, int) {
	r := fourHex(text[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(text) < 12 || text[6] != '\\' || text[7] != 'u' {
		return 0, 0
	}
	if r = utf16.DecodeRune(r, fourHex(text[8:])); r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

func fourHex(text []byte) (r rune) {
	for _, c := range text[:4] {
		d, _ := hex(c)
		r = r<<4 | d
	}
	return r
}

// unquoted is [Unquote] without a copy where the literal has no escapes.
func unquoted(data []byte, start, end int) ([]byte, error) {
	if literal := data[start+1 : end-1]; bytes.IndexByte(literal, '\\') < 0 {
		return literal, nil
	}
	return Unquote(nil, data, start, end)
}

// Quote appends s to dst as a string literal. Only what JSON demands is escaped, so the result is the same on every run
// and readable in a log. s must be valid UTF-8; invalid bytes become U+FFFD.
func Quote(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), string(utf8.RuneError)...)
				from = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}
