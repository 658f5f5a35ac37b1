package predicate

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deltaskip/deltaskip/schema"
)

var stringAliases = map[string]string{
	"ucase": "upper", "lcase": "lower",
	"char_length": "length", "character_length": "length", "len": "length",
	"substr": "substring", "char": "chr", "position": "locate", "sha": "sha1", "||": "concat",
}

var stringFunctions = []Function{
	{Name: "upper", NullIn: true, Resolve: signature(toString, 0, aString), Eval: validText(upper)},
	{Name: "lower", NullIn: true, Resolve: signature(toString, 0, aString), Eval: validText(lower)},
	{Name: "initcap", NullIn: true, Resolve: signature(toString, 0, aString), Eval: validText(initcap)},

	{Name: "length", NullIn: true, Resolve: signature(toInteger, 0, aStringOrBinary), Eval: pure(func(a []Value) Value {
		return integer(countUnits(a[0]))
	})},
	{Name: "octet_length", NullIn: true, Resolve: signature(toInteger, 0, aStringOrBinary), Eval: pure(func(a []Value) Value {
		return integer(len(a[0].S))
	})},
	{Name: "bit_length", NullIn: true, Resolve: signature(toInteger, 0, aStringOrBinary), Eval: pure(func(a []Value) Value {
		return integer(8 * len(a[0].S))
	})},

	{
		Name: "substring", NullIn: true, Resolve: signature(asFirst, 1, aStringOrBinary, anInteger, anInteger),
		Eval: pure(func(a []Value) Value {
			length := int64(math.MaxInt32)
			if len(a) > 2 {
				length = a[2].I
			}
			return substring(a[0], a[1].I, length)
		}),
		// A prefix by characters keeps the order of UTF-8 bytes.
		Monotonic: func(args []Expr) Direction {
			if pos, ok := integerAt(args, 1); ok && (pos == 0 || pos == 1) && len(args) > 2 && isLiteral(args[2]) {
				return NonDecreasing
			}
			return Unordered
		},
	},
	{
		Name: "left", NullIn: true, Resolve: signature(asFirst, 0, aStringOrBinary, anInteger),
		Eval:      pure(func(a []Value) Value { return substring(a[0], 1, a[1].I) }),
		Monotonic: moves(NonDecreasing),
	},
	{Name: "right", NullIn: true, Resolve: signature(toString, 0, aString, anInteger), Eval: pure(func(a []Value) Value {
		if a[1].I <= 0 {
			return StringOf("")
		}
		return substring(a[0], -a[1].I, math.MaxInt32)
	})},
	{Name: "split_part", NullIn: true, Resolve: signature(toString, 0, aString, aString, anInteger), Eval: splitPart},
	{Name: "substring_index", NullIn: true, Resolve: signature(toString, 0, aString, aString, anInteger), Eval: pure(func(a []Value) Value {
		return StringOf(substringIndex(a[0].S, a[1].S, a[2].I))
	})},
	{Name: "overlay", NullIn: true, Resolve: resolveOverlay, Eval: pure(overlay)},

	{Name: "trim", NullIn: true, Resolve: signature(toString, 1, aString, aString), Eval: trimSetFirst(trimBoth)},
	{Name: "ltrim", NullIn: true, Resolve: signature(toString, 1, aString, aString), Eval: trimSetFirst(trimLeft)},
	{Name: "rtrim", NullIn: true, Resolve: signature(toString, 1, aString, aString), Eval: trimSetFirst(trimRight)},
	{Name: "btrim", NullIn: true, Resolve: resolveBtrim, Eval: pure(func(a []Value) Value {
		if len(a) == 1 {
			return trimBoth(a[0], " ")
		}
		return trimBoth(a[0], a[1].S)
	})},
	{Name: "lpad", NullIn: true, Resolve: resolvePad, Eval: pad(func(s, padding string) string { return padding + s })},
	{Name: "rpad", NullIn: true, Resolve: resolvePad, Eval: pad(func(s, padding string) string { return s + padding })},
	{Name: "space", NullIn: true, Resolve: signature(toString, 0, anInteger), Eval: func(_ *Env, a []Value, t schema.Type) (Value, error) {
		return repeated(t, " ", a[0].I)
	}},
	{Name: "repeat", NullIn: true, Resolve: signature(toString, 0, aString, anInteger), Eval: func(_ *Env, a []Value, t schema.Type) (Value, error) {
		return repeated(t, a[0].S, a[1].I)
	}},

	{
		Name: "concat", NullIn: true, Resolve: resolveConcat,
		Eval: func(_ *Env, a []Value, t schema.Type) (Value, error) {
			var b strings.Builder
			for _, v := range a {
				b.WriteString(v.S)
			}
			return Value{Type: t, S: b.String()}, nil
		},
		// What comes before the varying argument is common to all results; what comes after would reorder them.
		Monotonic: func(args []Expr) Direction {
			return moves(append(make([]Direction, max(len(args)-1, 0)), NonDecreasing)...)(args)
		},
	},
	{Name: "concat_ws", Resolve: variadic(toString, aString, aString), Eval: pure(func(a []Value) Value {
		if a[0].Null {
			return NullOf(a[0].Type)
		}
		var parts []string
		for _, v := range a[1:] {
			if !v.Null {
				parts = append(parts, v.S)
			}
		}
		return StringOf(strings.Join(parts, a[0].S))
	})},
	{Name: "replace", NullIn: true, Resolve: signature(toString, 1, aString, aString, aString), Eval: replace},
	{Name: "translate", NullIn: true, Resolve: signature(toString, 0, aString, aString, aString), Eval: translate},
	{Name: "reverse", NullIn: true, Resolve: signature(toString, 0, aString), Eval: pure(func(a []Value) Value {
		s, out := a[0].S, make([]byte, len(a[0].S))
		for i := 0; i < len(s); {
			n := advance(a[0], i, 1)
			copy(out[len(s)-n:], s[i:n])
			i = n
		}
		return StringOf(string(out))
	})},
	{Name: "quote", NullIn: true, Resolve: signature(toString, 0, aString), Eval: pure(func(a []Value) Value {
		return StringOf("'" + strings.ReplaceAll(a[0].S, "'", `\'`) + "'")
	})},

	{Name: "instr", NullIn: true, Resolve: signature(toInteger, 0, aString, aString), Eval: pure(func(a []Value) Value {
		return integer(indexOf(a[0], a[1].S, 0))
	})},
	{Name: "locate", Resolve: signature(toInteger, 1, aString, aString, anInteger), Eval: pure(locate)},
	{Name: "startswith", NullIn: true, Resolve: twoTexts, Eval: pure(func(a []Value) Value {
		return BoolOf(strings.HasPrefix(a[0].S, a[1].S))
	})},
	{Name: "endswith", NullIn: true, Resolve: twoTexts, Eval: pure(func(a []Value) Value {
		return BoolOf(strings.HasSuffix(a[0].S, a[1].S))
	})},
	{Name: "contains", NullIn: true, Resolve: twoTexts, Eval: pure(func(a []Value) Value {
		return BoolOf(strings.Contains(a[0].S, a[1].S))
	})},
	{Name: "find_in_set", NullIn: true, Resolve: signature(toInteger, 0, aString, aString), Eval: pure(func(a []Value) Value {
		if strings.Contains(a[0].S, ",") {
			return integer(0)
		}
		return integer(1 + slices.Index(strings.Split(a[1].S, ","), a[0].S))
	})},
	{Name: "elt", Resolve: resolveElt, Eval: func(_ *Env, a []Value, t schema.Type) (Value, error) {
		switch n := a[0].I; {
		case a[0].Null:
			return NullOf(t), nil
		case n < 1 || n >= int64(len(a)):
			return Value{}, &EvalError{Class: "INVALID_ARRAY_INDEX", Message: fmt.Sprintf("index %d of %d", n, len(a)-1)}
		default:
			return a[n], nil
		}
	}},

	{Name: "ascii", NullIn: true, Resolve: signature(toInteger, 0, aString), Eval: pure(func(a []Value) Value {
		if a[0].S == "" {
			return integer(0)
		}
		r, _ := utf8.DecodeRuneInString(a[0].S)
		return integer(int(r))
	})},
	{Name: "chr", NullIn: true, Resolve: signature(toString, 0, aLong), Eval: pure(func(a []Value) Value {
		if a[0].I < 0 {
			return StringOf("")
		}
		return StringOf(string(rune(a[0].I & 0xFF)))
	})},
	{Name: "hex", NullIn: true, Resolve: signature(toString, 0, oneOf(schema.Long, schema.Binary, schema.String)), Eval: pure(func(a []Value) Value {
		if a[0].Type.Kind == schema.Long {
			return StringOf(strings.ToUpper(strconv.FormatUint(uint64(a[0].I), 16)))
		}
		return StringOf(strings.ToUpper(hex.EncodeToString([]byte(a[0].S))))
	})},
	{Name: "unhex", NullIn: true, Resolve: signature(toBinary, 0, aString), Eval: pure(func(a []Value) Value {
		s := a[0].S
		if len(s)%2 == 1 {
			s = "0" + s
		}
		b, err := hex.DecodeString(s)
		if err != nil {
			return NullOf(schema.Type{Kind: schema.Binary})
		}
		return BinaryOf(string(b))
	})},
	{Name: "bin", NullIn: true, Resolve: signature(toString, 0, aLong), Eval: pure(func(a []Value) Value {
		return StringOf(strconv.FormatUint(uint64(a[0].I), 2))
	})},
	{Name: "conv", NullIn: true, Resolve: signature(toString, 0, aString, anInteger, anInteger), Eval: conv},
	{Name: "base64", NullIn: true, Resolve: signature(toString, 0, aBinary), Eval: pure(func(a []Value) Value {
		text := base64.StdEncoding.EncodeToString([]byte(a[0].S))
		var lines []string // of MIME
		for ; len(text) > 76; text = text[76:] {
			lines = append(lines, text[:76])
		}
		return StringOf(strings.Join(append(lines, text), "\r\n"))
	})},
	{Name: "unbase64", NullIn: true, Resolve: signature(toBinary, 0, aString), Eval: unbase64},
	{Name: "url_encode", NullIn: true, Resolve: signature(toString, 0, aString), Eval: validText(func(s string) (string, error) {
		// Java leaves * alone and escapes ~; Go does the opposite.
		return strings.NewReplacer("%2A", "*", "~", "%7E").Replace(url.QueryEscape(s)), nil
	})},
	{Name: "url_decode", NullIn: true, Resolve: signature(toString, 0, aString), Eval: validText(urlDecode)},
	{Name: "try_url_decode", NullIn: true, Resolve: signature(toString, 0, aString), Eval: func(_ *Env, a []Value, t schema.Type) (Value, error) {
		s, err := urlDecode(a[0].S)
		if _, failed := err.(*EvalError); failed {
			return NullOf(t), nil
		}
		return StringOf(s), err
	}},
	{Name: "is_valid_utf8", NullIn: true, Resolve: signature(toBoolean, 0, aString), Eval: pure(func(a []Value) Value {
		return BoolOf(utf8.ValidString(a[0].S))
	})},
	{Name: "try_validate_utf8", NullIn: true, Resolve: signature(toString, 0, aString), Eval: pure(func(a []Value) Value {
		if !utf8.ValidString(a[0].S) {
			return NullOf(a[0].Type)
		}
		return a[0]
	})},
	{Name: "validate_utf8", NullIn: true, Resolve: signature(toString, 0, aString), Eval: func(_ *Env, a []Value, _ schema.Type) (Value, error) {
		if !utf8.ValidString(a[0].S) {
			return Value{}, &EvalError{Class: "INVALID_UTF8_STRING", Message: "the string is no valid UTF-8"}
		}
		return a[0], nil
	}},
	{Name: "make_valid_utf8", NullIn: true, Resolve: signature(toString, 0, aString), Eval: validText(func(s string) (string, error) { return s, nil })},

	{Name: "md5", NullIn: true, Resolve: signature(toString, 0, aBinary), Eval: pure(func(a []Value) Value {
		h := md5.Sum([]byte(a[0].S))
		return StringOf(hex.EncodeToString(h[:]))
	})},
	{Name: "sha1", NullIn: true, Resolve: signature(toString, 0, aBinary), Eval: pure(func(a []Value) Value {
		h := sha1.Sum([]byte(a[0].S))
		return StringOf(hex.EncodeToString(h[:]))
	})},
	{Name: "sha2", NullIn: true, Resolve: signature(toString, 0, aBinary, anInteger), Eval: pure(sha2)},
	{Name: "crc32", NullIn: true, Resolve: signature(toLong, 0, aBinary), Eval: pure(func(a []Value) Value {
		return IntOf(schema.Long, int64(crc32.ChecksumIEEE([]byte(a[0].S))))
	})},
	{Name: "levenshtein", NullIn: true, Resolve: signature(toInteger, 1, aString, aString, anInteger), Eval: levenshtein},
	{Name: "soundex", NullIn: true, Resolve: signature(toString, 0, aString), Eval: pure(func(a []Value) Value {
		return StringOf(soundex(a[0].S))
	})},
	{Name: "luhn_check", NullIn: true, Resolve: signature(toBoolean, 0, aString), Eval: pure(func(a []Value) Value {
		return BoolOf(luhn(a[0].S))
	})},
}

// pure is the Eval of a function that neither fails nor depends on anything but its arguments.
func pure(f func(args []Value) Value) evalFunc {
	return func(_ *Env, args []Value, _ schema.Type) (Value, error) { return f(args), nil }
}

func integer(i int) Value { return IntOf(schema.Integer, int64(i)) }

// validText is the Eval of what Spark does on Java strings: invalid UTF-8 is decoded there in ways not followed here.
func validText(f func(string) (string, error)) evalFunc {
	return func(_ *Env, a []Value, _ schema.Type) (Value, error) {
		if !utf8.ValidString(a[0].S) {
			return Value{}, errInvalidUTF8
		}
		s, err := f(a[0].S)
		return StringOf(s), err
	}
}

var errInvalidUTF8 = &UnsupportedError{Reason: "invalid UTF-8 in a string function"}

// texts is the Resolve of n arguments that are all binary or else all strings, and more parameters after them.
func texts(n, optional int, more ...param) resolveFunc {
	return func(args []Expr) ([]schema.Type, schema.Type, error) {
		p := aBinary
		for _, a := range args[:min(n, len(args))] {
			if a.Type().Kind != schema.Binary {
				p = aString
			}
		}
		return signature(asFirst, optional, append(slices.Repeat([]param{p}, n), more...)...)(args)
	}
}

func twoTexts(args []Expr) ([]schema.Type, schema.Type, error) {
	types, _, err := texts(2, 0)(args)
	return types, schema.Type{Kind: schema.Boolean}, err
}

// resolveBtrim takes binary only with a second argument that is binary too.
func resolveBtrim(args []Expr) ([]schema.Type, schema.Type, error) {
	if len(args) == 2 {
		return texts(2, 0)(args)
	}
	return signature(asFirst, 1, aString, aString)(args)
}

func resolveOverlay(args []Expr) ([]schema.Type, schema.Type, error) {
	if len(args) > 1 && (args[0].Type().Kind == schema.Binary) != (args[1].Type().Kind == schema.Binary) {
		return nil, schema.Type{}, &BindError{Class: "DATATYPE_MISMATCH.DATA_DIFF_TYPES", Message: "overlay takes two strings or two binaries"}
	}
	return texts(2, 1, anInteger, anInteger)(args)
}

func resolveConcat(args []Expr) ([]schema.Type, schema.Type, error) {
	if len(args) == 0 {
		return nil, schema.Type{Kind: schema.String}, nil
	}
	if t := args[0].Type(); t.Kind == schema.Array {
		return nil, t, &UnsupportedError{Reason: "arrays are not evaluated"}
	}
	return texts(len(args), 0)(args)
}

func resolveElt(args []Expr) ([]schema.Type, schema.Type, error) {
	if len(args) < 2 {
		return nil, schema.Type{}, wrongCount(len(args), 2, math.MaxInt32)
	}
	types, t, err := texts(len(args)-1, 0)(args[1:])
	if err != nil {
		return nil, t, err
	}
	index, err := resolveParams(args[:1], 1, []param{anInteger})
	return append(index, types...), t, err
}

func resolvePad(args []Expr) ([]schema.Type, schema.Type, error) {
	if len(args) == 3 && args[0].Type().Kind == schema.Binary && args[2].Type().Kind == schema.Binary {
		return signature(asFirst, 0, aBinary, anInteger, aBinary)(args)
	}
	if len(args) == 2 && args[0].Type().Kind == schema.Binary {
		return signature(asFirst, 0, aBinary, anInteger)(args)
	}
	return signature(asFirst, 1, aString, anInteger, aString)(args)
}

// charWidth is how many bytes Spark takes a character to have by its first byte, in valid and in invalid UTF-8.
func charWidth(lead byte) int {
	switch {
	case lead < 0xC2 || lead > 0xF4:
		return 1
	case lead < 0xE0:
		return 2
	case lead < 0xF0:
		return 3
	}
	return 4
}

// advance returns the offset n units after byte i of v: characters of a string, bytes of a binary.
func advance(v Value, i int, n int64) int {
	if v.Type.Kind == schema.Binary {
		return i + int(min(max(n, 0), int64(len(v.S)-i)))
	}
	for ; n > 0 && i < len(v.S); n-- {
		i += charWidth(v.S[i])
	}
	return min(i, len(v.S))
}

func countUnits(v Value) int {
	n := 0
	for i := 0; i < len(v.S); n++ {
		i = advance(v, i, 1)
	}
	return n
}

// substring takes length units from position pos: from 1, or from the end where negative. The part that lies before
// the start counts towards the length.
func substring(v Value, pos, length int64) Value {
	start := max(pos-1, 0)
	if pos < 0 {
		start = int64(countUnits(v)) + pos
	}
	end := start + length
	from := advance(v, 0, start)
	to := max(from, advance(v, from, end-max(start, 0)))
	return Value{Type: v.Type, S: v.S[from:to]}
}

func splitPart(_ *Env, a []Value, _ schema.Type) (Value, error) {
	n := a[2].I
	if n == 0 {
		return Value{}, &EvalError{Class: "INVALID_INDEX_OF_ZERO", Message: "split_part counts from 1"}
	}
	parts := []string{a[0].S}
	if a[1].S != "" {
		parts = strings.Split(a[0].S, a[1].S)
	}
	if n < 0 {
		n += int64(len(parts)) + 1
	}
	if n < 1 || n > int64(len(parts)) {
		return StringOf(""), nil
	}
	return StringOf(parts[n-1]), nil
}

// substringIndex is what comes before the n-th delimiter, or after the n-th from the end where n is negative. Like
// Spark's, it counts overlapping delimiters.
func substringIndex(s, delim string, n int64) string {
	if delim == "" || n == 0 {
		return ""
	}
	if n > 0 {
		at := -1
		for ; n > 0; n-- {
			next := strings.Index(s[at+1:], delim)
			if next < 0 {
				return s
			}
			at += 1 + next
		}
		return s[:at]
	}
	end := len(s) // of the last occurrence that may still be found
	at := 0
	for ; n < 0; n++ {
		if at = strings.LastIndex(s[:max(end, 0)], delim); at < 0 {
			return s
		}
		end = at + len(delim) - 1
	}
	return s[at+len(delim):]
}

func overlay(a []Value) Value {
	pos, length := a[2].I, int64(-1)
	if len(a) > 3 {
		length = a[3].I
	}
	if length < 0 {
		length = int64(countUnits(a[1]))
	}
	return Value{
		Type: a[0].Type,
		S:    substring(a[0], 1, int64(int32(pos-1))).S + a[1].S + substring(a[0], int64(int32(pos+length)), math.MaxInt32).S,
	}
}

// trimSetFirst is the Eval of the trim functions: one argument, or the characters to trim and the string.
func trimSetFirst(trim func(v Value, set string) Value) evalFunc {
	return pure(func(a []Value) Value {
		if len(a) == 1 {
			return trim(a[0], " ")
		}
		return trim(a[1], a[0].S)
	})
}

func trimLeft(v Value, set string) Value {
	i := 0
	for i < len(v.S) {
		n := advance(v, i, 1)
		if !strings.Contains(set, v.S[i:n]) {
			break
		}
		i = n
	}
	return Value{Type: v.Type, S: v.S[i:]}
}

func trimRight(v Value, set string) Value {
	end := 0 // after the last unit to keep
	for i := 0; i < len(v.S); {
		n := advance(v, i, 1)
		if !strings.Contains(set, v.S[i:n]) {
			end = n
		}
		i = n
	}
	return Value{Type: v.Type, S: v.S[:end]}
}

func trimBoth(v Value, set string) Value { return trimRight(trimLeft(v, set), set) }

// pad is the Eval of lpad and rpad.
func pad(join func(s, padding string) string) evalFunc {
	return func(_ *Env, a []Value, t schema.Type) (Value, error) {
		filler := Value{Type: t, S: " "}
		switch {
		case len(a) > 2:
			filler.S = a[2].S
		case t.Kind == schema.Binary:
			filler.S = "\x00"
		}
		missing := a[1].I - int64(countUnits(a[0]))
		if missing <= 0 || filler.S == "" {
			return substring(a[0], 1, a[1].I), nil
		}
		whole := int64(countUnits(filler))
		padding, err := repeated(t, filler.S, missing/whole)
		padding.S += filler.S[:advance(filler, 0, missing%whole)]
		return Value{Type: t, S: join(a[0].S, padding.S)}, err
	}
}

func repeated(t schema.Type, s string, n int64) (Value, error) {
	n = max(n, 0)
	if len(s) > 0 && n > int64(maxText/len(s)) {
		return Value{}, errTooLong
	}
	if s == "" {
		n = 0
	}
	return Value{Type: t, S: strings.Repeat(s, int(n))}, nil
}

func replace(_ *Env, a []Value, _ schema.Type) (Value, error) {
	s, old, new := a[0].S, a[1].S, ""
	if len(a) > 2 {
		new = a[2].S
	}
	if s == "" || old == "" {
		return a[0], nil
	}
	if int64(len(s))+int64(strings.Count(s, old))*int64(len(new)) > maxText {
		return Value{}, errTooLong
	}
	return StringOf(strings.ReplaceAll(s, old, new)), nil
}

func translate(_ *Env, a []Value, _ schema.Type) (Value, error) {
	for _, v := range a {
		if !utf8.ValidString(v.S) {
			return Value{}, errInvalidUTF8
		}
	}
	to := []rune(a[2].S)
	dict := map[rune]rune{}
	for i, r := range []rune(a[1].S) {
		if _, dup := dict[r]; dup {
			continue
		}
		dict[r] = -1 // strings.Map drops it
		if i < len(to) && to[i] != 0 {
			dict[r] = to[i]
		}
	}
	return StringOf(strings.Map(func(r rune) rune {
		if t, ok := dict[r]; ok {
			return t
		}
		return r
	}, a[0].S)), nil
}

// indexOf returns at which character of v, from 1, sub begins at or after character start, from 0. It is 0 where sub
// does not occur, and always 1 for an empty sub.
func indexOf(v Value, sub string, start int64) int {
	if sub == "" {
		return 1
	}
	n := 0
	for i := 0; i < len(v.S); n++ {
		if int64(n) >= start && strings.HasPrefix(v.S[i:], sub) {
			return n + 1
		}
		i = advance(v, i, 1)
	}
	return 0
}

// locate is never NULL for a NULL start.
func locate(a []Value) Value {
	start := int64(1)
	if len(a) > 2 {
		if a[2].Null {
			return integer(0)
		}
		start = a[2].I
	}
	switch {
	case a[0].Null || a[1].Null:
		return NullOf(schema.Type{Kind: schema.Integer})
	case start < 1:
		return integer(0)
	}
	return integer(indexOf(a[1], a[0].S, start-1))
}

// conv converts a number between bases 2 to 36, by way of 64 bits; a negative target base asks for a signed result.
func conv(_ *Env, a []Value, t schema.Type) (Value, error) {
	digits, from, to := strings.Trim(a[0].S, " "), a[1].I, a[2].I
	if digits == "" || from < 2 || from > 36 || max(to, -to) < 2 || max(to, -to) > 36 {
		return NullOf(t), nil
	}
	digits, negative := strings.CutPrefix(digits, "-")
	var n uint64
	for _, c := range []byte(digits) {
		d := strings.IndexByte("0123456789abcdefghijklmnopqrstuvwxyz", c|0x20)
		if c >= '0' && c <= '9' {
			d = int(c - '0')
		}
		if d < 0 || int64(d) >= from {
			break
		}
		high, low := bits.Mul64(n, uint64(from))
		sum, carry := bits.Add64(low, uint64(d), 0)
		if high != 0 || carry != 0 {
			return Value{}, &EvalError{Class: "ARITHMETIC_OVERFLOW", Message: "conv: " + a[0].S + " exceeds 64 bits"}
		}
		n = sum
	}
	if negative && to > 0 {
		if int64(n) < 0 {
			n = math.MaxUint64
		} else {
			n = -n
		}
	}
	if to < 0 && int64(n) < 0 {
		n, negative = -n, true
	}
	text := strings.ToUpper(strconv.FormatUint(n, int(max(to, -to))))
	if negative && to < 0 {
		text = "-" + text
	}
	return StringOf(text), nil
}

// unbase64 decodes MIME, which skips foreign characters and does not insist on padding at the end.
func unbase64(_ *Env, a []Value, _ schema.Type) (Value, error) {
	keep := func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '+' || r == '/' || r == '=' {
			return r
		}
		return -1
	}
	text := strings.Map(keep, a[0].S)
	data := strings.TrimRight(text, "=")
	padding := len(text) - len(data)
	switch {
	case strings.Contains(data, "="), padding > 0 && len(text)%4 != 0:
		return Value{}, &UnsupportedError{Reason: "unbase64 of irregular padding"}
	case len(data)%4 == 1:
		return Value{}, &EvalError{Class: "IllegalArgumentException", Message: "unbase64: the last unit does not have enough bits"}
	}
	b, err := base64.RawStdEncoding.DecodeString(data)
	if err != nil {
		return Value{}, &UnsupportedError{Reason: "unbase64: " + err.Error()}
	}
	return BinaryOf(string(b)), nil
}

func urlDecode(s string) (string, error) {
	s, err := url.QueryUnescape(s)
	if err != nil {
		return "", &EvalError{Class: "CANNOT_DECODE_URL", Message: err.Error()}
	}
	if !utf8.ValidString(s) {
		return "", errInvalidUTF8
	}
	return s, nil
}

func sha2(a []Value) Value {
	in := []byte(a[0].S)
	var sum []byte
	switch a[1].I {
	case 224:
		h := sha256.Sum224(in)
		sum = h[:]
	case 0, 256:
		h := sha256.Sum256(in)
		sum = h[:]
	case 384:
		h := sha512.Sum384(in)
		sum = h[:]
	case 512:
		h := sha512.Sum512(in)
		sum = h[:]
	default:
		return NullOf(schema.Type{Kind: schema.String})
	}
	return StringOf(hex.EncodeToString(sum))
}

// levenshtein is the edit distance in characters; -1 where it exceeds the threshold, if one is given.
func levenshtein(_ *Env, a []Value, _ schema.Type) (Value, error) {
	x, y := split(a[0]), split(a[1])
	if int64(len(x))*int64(len(y)) > 16*maxText {
		return Value{}, &UnsupportedError{Reason: "levenshtein of very long strings"}
	}
	row := make([]int, len(y)+1) // distances of the prefix of x so far to each prefix of y
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			d := diagonal
			if x[i] != y[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	d := row[len(y)]
	if len(a) > 2 && int64(d) > a[2].I {
		d = -1
	}
	return integer(d), nil
}

// split returns the units of v.
func split(v Value) []string {
	var units []string
	for i := 0; i < len(v.S); {
		n := advance(v, i, 1)
		units = append(units, v.S[i:n])
		i = n
	}
	return units
}

// soundex is the code of a string that begins with an ASCII letter, and any other string itself.
func soundex(s string) string {
	const codes = "01230127022455012623017202" // of A to Z; 7 is skipped, as if it were not there
	letter := func(b byte) (byte, bool) {
		b &^= 0x20
		return b, b >= 'A' && b <= 'Z'
	}
	if s == "" {
		return s
	}
	first, ok := letter(s[0])
	if !ok {
		return s
	}
	out := []byte{first}
	last := codes[first-'A']
	for i := 1; i < len(s) && len(out) < 4; i++ {
		b, ok := letter(s[i])
		if !ok {
			last = '0'
			continue
		}
		code := codes[b-'A']
		if code == '7' {
			continue
		}
		if code != '0' && code != last {
			out = append(out, code)
		}
		last = code
	}
	return (string(out) + "000")[:4]
}

// luhn says whether s is a number with a valid last check digit.
func luhn(s string) bool {
	sum := 0
	for i := range len(s) {
		c := s[len(s)-1-i]
		if c < '0' || c > '9' {
			return false
		}
		d := int(c - '0')
		if i%2 == 1 {
			d *= 2
			d = d/10 + d%10
		}
		sum += d
	}
	return s != "" && sum%10 == 0
}
