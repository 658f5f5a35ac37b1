package action

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/deltaskip/deltaskip/internal/jsonscan"
)

// ErrCorrupt matches every error about bytes that are not the actions they should be.
var ErrCorrupt = errors.New("corrupt action")

// A CorruptError says where the text of an action is wrong. It matches [ErrCorrupt].
type CorruptError struct {
	Line   int    // counted from 1 in what was read; 0 when one text was parsed on its own
	Offset int    // bytes from the start of the text, or of the line where the text begins
	Field  string // such as "add.size"; empty when the JSON itself is broken
	Reason string
}

func (e *CorruptError) Error() string {
	s := "action: "
	if e.Line > 0 {
		s += fmt.Sprintf("line %d, ", e.Line)
	}
	s += fmt.Sprintf("byte %d: ", e.Offset)
	if e.Field != "" {
		s += e.Field + ": "
	}
	return s + e.Reason
}

// Is reports whether target is [ErrCorrupt].
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// ErrEmpty is what [Parse] returns for an object without an action in it, such as {} or {"add":null}. It says nothing about
// the table, so readers pass over it.
var ErrEmpty = errors.New("no action")

// Parse reads one action, usually one line of a commit file. Nothing of the result refers to text.
//
// Every error but [ErrEmpty] is a [CorruptError].
func Parse(text []byte) (Action, error) {
	start := jsonscan.Space(text, 0)
	d := decoder{text: text}
	var known Action
	var at int
	var beside []Field
	end, err := jsonscan.Object(text, start, func(key []byte, from, to int) error {
		if d.null(from) {
			return nil
		}
		a := blank(string(key))
		switch {
		case a == nil:
			beside = append(beside, Field{Name: string(key), Value: oneLine(text[from:to])})
			return nil
		case known != nil:
			return &CorruptError{Offset: from, Reason: fmt.Sprintf("two actions in one text: %s and %s", known.Name(), a.Name())}
		}
		known, at = a, from
		return nil
	})
	if err == nil && jsonscan.Space(text, end) < len(text) {
		err = &jsonscan.Error{Offset: jsonscan.Space(text, end), Reason: "more text after the action"}
	}
	if err != nil {
		return nil, corrupt(err)
	}
	switch {
	case known == nil && len(beside) == 0:
		return nil, ErrEmpty
	case known == nil:
		return &Unknown{Key: beside[0].Name, Text: beside[0].Value, Rest: Rest{Siblings: beside[1:]}}, nil
	}
	d.path = known.Name()
	d.at = at
	if text[at] != '{' {
		d.fail("not an object")
	} else {
		known.decode(&d)
		known.rest().Siblings = beside
	}
	if d.err != nil {
		return nil, d.err
	}
	return known, nil
}

// corrupt gives an error of jsonscan its place among ours.
func corrupt(err error) error {
	var syntax *jsonscan.Error
	if errors.As(err, &syntax) {
		return &CorruptError{Offset: syntax.Offset, Reason: "invalid JSON: " + syntax.Reason}
	}
	return err
}

// oneLine copies a checked JSON value without line breaks, which can only be white space in it.
func oneLine(value []byte) []byte {
	if bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0 {
		return bytes.Clone(value)
	}
	line := make([]byte, 0, len(value))
	for _, c := range value {
		if c != '\n' && c != '\r' {
			line = append(line, c)
		}
	}
	return line
}

// A decoder reads the members of checked JSON objects. It keeps the first error.
type decoder struct {
	text    []byte
	at, end int    // the value being read is text[at:end]
	path    string // its name, for errors
	err     error
}

func (d *decoder) null(at int) bool { return d.text[at] == 'n' }

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = &CorruptError{Offset: d.at, Field: d.path, Reason: fmt.Sprintf(format, args...)}
	}
}

// object calls member with the name of every member that is not null; member reads it, or returns false to have it kept
// among unknown.
func (d *decoder) object(unknown *[]Field, member func(name string) bool) {
	if d.err != nil {
		return
	}
	if d.text[d.at] != '{' {
		d.fail("not an object")
		return
	}
	start, path := d.at, d.path
	_, err := jsonscan.Object(d.text, start, func(key []byte, from, to int) error {
		if d.null(from) {
			return nil
		}
		d.at, d.end, d.path = from, to, path+"."+string(key)
		if !member(string(key)) && unknown != nil {
			*unknown = append(*unknown, Field{Name: string(key), Value: oneLine(d.text[from:to])})
		}
		return d.err
	})
	if d.err == nil && err != nil { // a name with half a surrogate pair: the rest was checked before
		d.err = corrupt(err)
	}
	d.at, d.path = start, path
}

func (d *decoder) string(to *string) {
	if d.text[d.at] != '"' {
		d.fail("not a string")
		return
	}
	text, err := jsonscan.Unquote(nil, d.text, d.at, d.end)
	if err != nil {
		d.fail("half a surrogate pair")
		return
	}
	*to = string(text)
}

func (d *decoder) optionalString(to **string) {
	var s string
	if d.string(&s); d.err == nil {
		*to = &s
	}
}

func (d *decoder) int64(to *int64) { d.integer(to, 64) }

func (d *decoder) integer(to *int64, bits int) {
	v, err := strconv.ParseInt(string(d.text[d.at:d.end]), 10, bits)
	if err != nil {
		d.fail("%s is not a %d-bit integer", excerpt(d.text[d.at:d.end]), bits)
		return
	}
	*to = v
}

func (d *decoder) int(to *int) {
	var v int64
	if d.integer(&v, 32); d.err == nil {
		*to = int(v)
	}
}

func (d *decoder) int32(to *int32) {
	var v int64
	if d.integer(&v, 32); d.err == nil && v <= math.MaxInt32 {
		*to = int32(v)
	}
}

func (d *decoder) optionalInt64(to **int64) {
	var v int64
	if d.int64(&v); d.err == nil {
		*to = &v
	}
}

func (d *decoder) bool(to *bool) {
	switch string(d.text[d.at:d.end]) {
	case "true":
		*to = true
	case "false":
		*to = false
	default:
		d.fail("not a boolean")
	}
}

func (d *decoder) strings(to *[]string) {
	if d.text[d.at] != '[' {
		d.fail("not an array")
		return
	}
	*to = []string{}
	_, err := jsonscan.Array(d.text, d.at, func(from, end int) error {
		d.at, d.end = from, end
		var s string
		d.string(&s)
		*to = append(*to, s)
		return d.err
	})
	if d.err == nil && err != nil {
		d.err = corrupt(err)
	}
}

// stringMap reads a map of strings in which a null is a value of its own.
func (d *decoder) stringMap(to *map[string]*string) {
	if d.text[d.at] != '{' {
		d.fail("not an object")
		return
	}
	m := map[string]*string{}
	path := d.path
	_, err := jsonscan.Object(d.text, d.at, func(key []byte, from, end int) error {
		if d.null(from) {
			m[string(key)] = nil
			return nil
		}
		d.at, d.end, d.path = from, end, path+"."+string(key)
		var s *string
		d.optionalString(&s)
		m[string(key)] = s
		return d.err
	})
	if d.err == nil && err != nil {
		d.err = corrupt(err)
	}
	*to = m
}

// settings reads a map of strings in which a null is as good as no entry.
func (d *decoder) settings(to *map[string]string) {
	m := map[string]string{}
	d.object(nil, func(name string) bool {
		var s string
		d.string(&s)
		m[name] = s
		return true
	})
	*to = m
}

// excerpt shortens bytes of a table for an error message.
func excerpt(text []byte) string {
	if len(text) > 40 {
		return string(text[:40]) + "…"
	}
	return string(text)
}
