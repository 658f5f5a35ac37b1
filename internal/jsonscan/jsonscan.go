package jsonscan

import (
	"fmt"
	"unicode/utf8"
)

// MaxDepth is the deepest nesting of arrays and objects that is read.
const MaxDepth = 1000

// An Error says at which byte a JSON text goes wrong.
type Error struct {
	Offset int
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Reason) }

func fail(at int, reason string) (int, error) { return at, &Error{Offset: at, Reason: reason} }

// Space returns the offset of the first byte of data, from at on, that is not JSON white space.
func Space(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\t' || data[at] == '\n' || data[at] == '\r') {
		at++
	}
	return at
}

// Text checks that data is one JSON value with nothing but white space around it, and returns the value.
func Text(data []byte) ([]byte, error) {
	start := Space(data, 0)
	end, err := Value(data, start)
	if err != nil {
		return nil, err
	}
	if rest := Space(data, end); rest < len(data) {
		_, err := fail(rest, "more text after the value")
		return nil, err
	}
	return data[start:end], nil
}

// Value returns the offset just past the JSON value that starts at data[at], having checked all of it.
func Value(data []byte, at int) (end int, err error) { return value(data, at, 0) }

func value(data []byte, at, depth int) (int, error) {
	if at >= len(data) {
		return fail(len(data), "the text ends where a value is expected")
	}
	switch c := data[at]; {
	case c == '"':
		return str(data, at)
	case c == '{':
		return object(data, at, depth+1, nil)
	case c == '[':
		return array(data, at, depth+1, nil)
	case c == '-' || '0' <= c && c <= '9':
		return number(data, at)
	case c == 't':
		return word(data, at, "true")
	case c == 'f':
		return word(data, at, "false")
	case c == 'n':
		return word(data, at, "null")
	}
	return fail(at, "not the start of a value")
}

// Object calls member for each member of the object that starts at data[at], in order and duplicates included, and returns
// the offset just past it. data[start:end] is the member's value, checked already. key has its escapes resolved and is
// lent for the call. It stops at the first error of member and returns it.
func Object(data []byte, at int, member func(key []byte, start, end int) error) (end int, err error) {
	if at >= len(data) || data[at] != '{' {
		return fail(at, "not an object")
	}
	return object(data, at, 1, member)
}

func object(data []byte, at, depth int, member func(key []byte, start, end int) error) (int, error) {
	if depth > MaxDepth {
		return fail(at, "nested too deeply")
	}
	at = Space(data, at+1)
	if at < len(data) && data[at] == '}' {
		return at + 1, nil
	}
	for {
		if at >= len(data) || data[at] != '"' {
			return fail(at, "a member's name is expected")
		}
		keyStart := at
		keyEnd, err := str(data, at)
		if err != nil {
			return keyEnd, err
		}
		if at = Space(data, keyEnd); at >= len(data) || data[at] != ':' {
			return fail(at, "a colon is expected")
		}
		start := Space(data, at+1)
		end, err := value(data, start, depth)
		if err != nil {
			return end, err
		}
		if member != nil {
			key, err := unquoted(data, keyStart, keyEnd)
			if err != nil {
				return keyStart, err
			}
			if err := member(key, start, end); err != nil {
				return start, err
			}
		}
		if at = Space(data, end); at < len(data) && data[at] == '}' {
			return at + 1, nil
		}
		if at >= len(data) || data[at] != ',' {
			return fail(at, "a comma or the end of the object is expected")
		}
		at = Space(data, at+1)
	}
}

// Array calls element for each element of the array that starts at data[at] and returns the offset just past it, as
// [Object] does for objects.
func Array(data []byte, at int, element func(start, end int) error) (end int, err error) {
	if at >= len(data) || data[at] != '[' {
		return fail(at, "not an array")
	}
	return array(data, at, 1, element)
}

func array(data []byte, at, depth int, element func(start, end int) error) (int, error) {
	if depth > MaxDepth {
		return fail(at, "nested too deeply")
	}
	at = Space(data, at+1)
	if at < len(data) && data[at] == ']' {
		return at + 1, nil
	}
	for {
		end, err := value(data, at, depth)
		if err != nil {
			return end, err
		}
		if element != nil {
			if err := element(at, end); err != nil {
				return at, err
			}
		}
		if at = Space(data, end); at < len(data) && data[at] == ']' {
			return at + 1, nil
		}
		if at >= len(data) || data[at] != ',' {
			return fail(at, "a comma or the end of the array is expected")
		}
		at = Space(data, at+1)
	}
}

func word(data []byte, at int, want string) (int, error) {
	for i := range len(want) {
		if at+i >= len(data) || data[at+i] != want[i] {
			return fail(min(at+i, len(data)), "not a value")
		}
	}
	return at + len(want), nil
}

func number(data []byte, at int) (int, error) {
	if data[at] == '-' {
		at++
	}
	if at < len(data) && data[at] == '0' {
		at++ // a leading zero stands alone
	} else if end := digits(data, at); end > at {
		at = end
	} else {
		return fail(at, "a digit is expected")
	}
	if at < len(data) && data[at] == '.' {
		end := digits(data, at+1)
		if end == at+1 {
			return fail(end, "a digit is expected")
		}
		at = end
	}
	if at < len(data) && data[at]|0x20 == 'e' {
		at++
		if at < len(data) && (data[at] == '+' || data[at] == '-') {
			at++
		}
		end := digits(data, at)
		if end == at {
			return fail(end, "a digit is expected")
		}
		at = end
	}
	return at, nil
}

func digits(data []byte, at int) int {
	for at < len(data) && '0' <= data[at] && data[at] <= '9' {
		at++
	}
	return at
}

// plain has the bytes that stand for themselves in a string and need no further look.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// str returns the offset just past the string whose opening quote is data[at].
func str(data []byte, at int) (int, error) {
	at++
	for at < len(data) {
		c := data[at]
		switch {
		case plain[c]:
			at++
		case c == '"':
			return at + 1, nil
		case c == '\\':
			end, err := escape(data, at)
			if err != nil {
				return end, err
			}
			at = end
		case c < utf8.RuneSelf:
			return fail(at, "a control character inside a string")
		default:
			r, n := utf8.DecodeRune(data[at:])
			if r == utf8.RuneError && n == 1 {
				return fail(at, "invalid UTF-8")
			}
			at += n
		}
	}
	return fail(len(data), "the text ends inside a string")
}

func escape(data []byte, at int) (int, error) {
	if at+1 >= len(data) {
		return fail(len(data), "the text ends inside a string")
	}
	switch data[at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at + 2, nil
	case 'u':
		for i := at + 2; i < at+6; i++ {
			if i >= len(data) {
				return fail(len(data), "the text ends inside a string")
			}
			if _, ok := hex(data[i]); !ok {
				return fail(i, "not a hexadecimal digit")
			}
		}
		return at + 6, nil
	}
	return fail(at+1, "an unknown escape")
}

func hex(c byte) (rune, bool) {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0'), true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10, true
	}
	return 0, false
}
