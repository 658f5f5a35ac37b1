package action

import (
	"maps"
	"slices"
	"strconv"

	"github.com/deltaskip/deltaskip/internal/jsonscan"
)

// Append appends a as one line of a commit file, without the line's end, and returns the extended buffer. Strings that a
// program put into a must be valid UTF-8.
func Append(dst []byte, a Action) []byte {
	e := encoder{dst: append(dst, '{'), first: true}
	r := a.rest()
	if u, ok := a.(*Unknown); ok {
		e.fields([]Field{{Name: u.Key, Value: u.Text}})
	} else {
		e.object(a.Name(), func() {
			a.encode(&e)
			e.fields(r.Fields)
		})
	}
	e.fields(r.Siblings)
	return append(e.dst, '}')
}

// An encoder writes the members of JSON objects.
type encoder struct {
	dst   []byte
	first bool // no member of the current object has been written
}

func (e *encoder) name(name string) {
	if !e.first {
		e.dst = append(e.dst, ',')
	}
	e.first = false
	e.dst = append(jsonscan.Quote(e.dst, name), ':')
}

func (e *encoder) object(name string, members func()) {
	e.name(name)
	e.dst = append(e.dst, '{')
	e.first = true
	members()
	e.dst = append(e.dst, '}')
	e.first = false
}

func (e *encoder) fields(fields []Field) {
	for _, f := range fields {
		e.name(f.Name)
		e.dst = append(e.dst, f.Value...)
	}
}

func (e *encoder) string(name, s string) {
	e.name(name)
	e.dst = jsonscan.Quote(e.dst, s)
}

func (e *encoder) optionalString(name string, s *string) {
	if s != nil {
		e.string(name, *s)
	}
}

func (e *encoder) int64(name string, v int64) {
	e.name(name)
	e.dst = strconv.AppendInt(e.dst, v, 10)
}

func (e *encoder) optionalInt64(name string, v *int64) {
	if v != nil {
		e.int64(name, *v)
	}
}

func (e *encoder) bool(name string, v bool) {
	e.name(name)
	e.dst = strconv.AppendBool(e.dst, v)
}

func (e *encoder) strings(name string, list []string) {
	e.name(name)
	e.dst = append(e.dst, '[')
	for i, s := range list {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.dst = jsonscan.Quote(e.dst, s)
	}
	e.dst = append(e.dst, ']')
}

func (e *encoder) stringMap(name string, m map[string]*string) {
	e.object(name, func() {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if v := m[key]; v != nil {
				e.string(key, *v)
				continue
			}
			e.name(key)
			e.dst = append(e.dst, "null"...)
		}
	})
}

func (e *encoder) optionalMap(name string, m map[string]*string) {
	if m != nil {
		e.stringMap(name, m)
	}
}

func (e *encoder) settings(name string, m map[string]string) {
	e.object(name, func() {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			e.string(key, m[key])
		}
	})
}
