package colstats

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// The functions of this file walk JSON text (RFC 8259) without building anything. Each takes the text and the index of
// what it reads, and returns the index behind it, or ^i when the text is wrong at i.
//
// Statistics are a JSON string that holds JSON. As long as the only escapes of the outer string are the \" that quote the
// inner ones, the inner text is walked where it stands, with `quote` being the backslash that a quote then starts with.
// Anything else in there (another escape, an early end) also returns ^i: the caller unescapes the text and walks it
// with the plain quote, `"`.

const (
	plain   = '"'  // quotes are "
	escaped = '\\' // quotes are \"
)

// maxDepth bounds the nesting of arrays and objects, as Jackson does.
const maxDepth = 1000

// at returns the byte at i, or 0, which no JSON text has outside strings.
func at(s []byte, i int) byte {
	if uint(i) < uint(len(s)) {
		return s[i]
	}
	return 0
}

// space returns the index of the first byte from i on that is not white space. Inside a string only a blank can be there
// unescaped.
func space(s []byte, i int, quote byte) int {
	for i < len(s) && (s[i] == ' ' || quote == plain && (s[i] == '\n' || s[i] == '\t' || s[i] == '\r')) {
		i++
	}
	return i
}

// quoteAt says whether a quote starts at i.
func quoteAt(s []byte, i int, quote byte) bool {
	return at(s, i) == quote && (quote == plain || at(s, i+1) == '"')
}

// quoteLen is the length of a quote in bytes.
func quoteLen(quote byte) int {
	if quote == plain {
		return 1
	}
	return 2
}

// load reads the eight bytes from i on, which must be there.
func load(s []byte, i int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), i))[:])
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// special marks, by its high bit, the first byte of w that a string cannot just contain: a quote, a backslash, or a
// control character. Bits above the first one set may be wrong.
func special(w uint64) uint64 {
	quote, backslash := w^'"'*lowBits, w^'\\'*lowBits
	return ((quote - lowBits) | (backslash - lowBits) | (w - ' '*lowBits)) & ^w & highBits
}

// characters reads the characters of a string from i, which is behind its opening quote, up to the closing quote, whose
// index it returns. plainText says that they have no escape.
func characters(s []byte, i int, quote byte) (end int, plainText bool) {
	start, high := i, uint64(0)
	plainText = true
	for {
		if len(s)-i >= 8 {
			w := load(s, i)
			m := special(w)
			if m == 0 {
				high |= w
				i += 8
				continue
			}
			n := bits.TrailingZeros64(m) &^ 7
			high |= w & (1<<n - 1)
			i += n / 8
		}
		c := at(s, i)
		switch {
		case c >= ' ' && c != '"' && c != '\\': // in the last bytes of the text
			high |= uint64(c)
			i++
		case c == '"' && quote == plain, c == '\\' && quote == escaped && at(s, i+1) == '"':
			if high&highBits != 0 {
				if bad := invalidUTF8(s[start:i]); bad >= 0 {
					return ^(start + bad), false
				}
			}
			return i, plainText
		case c == '\\' && quote == plain:
			plainText = false
			switch at(s, i+1) {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				for j := i + 2; j < i+6; j++ {
					if hexDigit(at(s, j)) < 0 {
						return ^j, false
					}
				}
				i += 6
			default:
				return ^(i + 1), false
			}
		default:
			return ^i, false
		}
	}
}

// invalidUTF8 returns the index of the first byte of b that is not UTF-8, or -1.
func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		if len(b)-i >= 8 {
			high := load(b, i) & highBits
			if high == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(high) / 8
		} else if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return -1
}

func hexDigit(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// decimalDigits returns the index of the first byte from i on that is not a digit.
func decimalDigits(s []byte, i int) int {
	for len(s)-i >= 8 {
		if other := nonDigits(load(s, i)); other != 0 {
			return i + bits.TrailingZeros64(other)/8
		}
		i += 8
	}
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

// fewDigits reads a number of up to seven digits that a comma or brace follows. It returns no index for any other value,
// be it right or wrong.
func fewDigits(s []byte, i int) (v int64, end int) {
	if len(s)-i < 8 {
		return 0, 0
	}
	w := load(s, i)
	n := bits.TrailingZeros64(nonDigits(w)) / 8
	if next := byte(w >> (8 * n)); n == 0 || next != ',' && next != '}' || byte(w) == '0' && n > 1 {
		return 0, 0 // next is 0 for eight digits
	}
	return int64(eightDigits(w << (64 - 8*n))), i + n
}

// nonDigits marks, by its high bit, each byte of w that is not a digit.
func nonDigits(w uint64) uint64 {
	w ^= '0' * lowBits // digits become 0 to 9
	return (w&^highBits + (0x7f-9)*lowBits | w) & highBits
}

// number reads a number.
func number(s []byte, i int) int {
	if at(s, i) == '-' {
		i++
	}
	end := decimalDigits(s, i)
	if end == i || s[i] == '0' && end > i+1 {
		return ^i
	}
	i = end
	if at(s, i) == '.' {
		if end = decimalDigits(s, i+1); end == i+1 {
			return ^end
		}
		i = end
	}
	if at(s, i)|0x20 == 'e' {
		i++
		if c := at(s, i); c == '+' || c == '-' {
			i++
		}
		if end = decimalDigits(s, i); end == i {
			return ^i
		}
		i = end
	}
	return i
}

// literal reads true, false or null.
func literal(s []byte, i int) int {
	word := "null"
	switch at(s, i) {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	}
	if len(s)-i < len(word) || string(s[i:i+len(word)]) != word {
		for j := range len(word) {
			if at(s, i+j) != word[j] {
				return ^(i + j)
			}
		}
	}
	return i + len(word)
}

// value reads any value, with arrays and objects nested up to depth.
func value(s []byte, i int, quote byte, depth int) int {
	switch c := at(s, i); {
	case c == quote:
		end, _ := stringAt(s, i, quote)
		return end
	case c == '-' || isDigit(c):
		return number(s, i)
	case c == '{' || c == '[':
		return nested(s, i, quote, depth)
	}
	return literal(s, i)
}

// stringAt reads a string whose opening quote is at i.
func stringAt(s []byte, i int, quote byte) (end int, plainText bool) {
	if !quoteAt(s, i, quote) {
		return ^i, false
	}
	n := quoteLen(quote)
	end, plainText = characters(s, i+n, quote)
	if end < 0 {
		return end, false
	}
	return end + n, plainText
}

// nested reads an array or object.
func nested(s []byte, i int, quote byte, depth int) int {
	if depth == 0 {
		return ^i
	}
	isObject := s[i] == '{'
	closing := s[i] + 2 // ']' is '[' + 2, '}' is '{' + 2
	if i = space(s, i+1, quote); at(s, i) == closing {
		return i + 1
	}
	for {
		if isObject {
			end, _ := stringAt(s, i, quote)
			if end < 0 {
				return end
			}
			if i = space(s, end, quote); at(s, i) != ':' {
				return ^i
			}
			i = space(s, i+1, quote)
		}
		if i = value(s, i, quote, depth-1); i < 0 {
			return i
		}
		i = space(s, i, quote)
		switch at(s, i) {
		case ',':
			i = space(s, i+1, quote)
		case closing:
			return i + 1
		default:
			return ^i
		}
	}
}

// unescape appends to dst the characters of a string that [characters] has read. Half a surrogate pair becomes U+FFFD and
// is reported as broken: readers make different things of it.
func unescape(dst, s []byte) (out []byte, broken bool) {
	for i := 0; i < len(s); {
		c := s[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		i += 2
		switch c = s[i-1]; c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := hex4(s[i:])
			i += 4
			if 0xD800 <= r && r < 0xE000 {
				low := rune(0)
				if r < 0xDC00 && len(s)-i >= 6 && s[i] == '\\' && s[i+1] == 'u' {
					low = hex4(s[i+2:])
				}
				if low < 0xDC00 || low >= 0xE000 {
					r, broken = utf8.RuneError, true
				} else {
					r = 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
	return dst, broken
}

func hex4(s []byte) rune {
	r := 0
	for _, c := range s[:4] {
		r = r<<4 | hexDigit(c)
	}
	return rune(r)
}
