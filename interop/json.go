package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// FromJSON reads a predicate in the JSON of Iceberg's REST catalog ("Expression" in its OpenAPI description):
//
//	{"type":"and","left":{"type":"lt","term":"id","value":50},"right":{"type":"in","term":"site","values":["a","b"]}}
//
// Types are true, false, and, or, not (child), is-null, not-null, lt, lt-eq, gt, gt-eq, eq, not-eq, in, not-in, starts-with and
// not-starts-with; a term is a column's name, dotted below the root. Values are spelled as Iceberg does: numbers, strings, dates
// as "2026-01-31", timestamps as "2026-01-31T12:00:00.000000", with "+00:00" behind them if they have a zone, decimals as "14.20".
// Transforms and other types are opaque. The error matches [ErrMalformed], or is about a column.
func FromJSON(data []byte, t *schema.Table) (predicate.Expr, error) {
	malformed := func(err error) error { return &MalformedError{Format: "Iceberg JSON", Err: err} }
	if len(data) > MaxBytes {
		return nil, malformed(fmt.Errorf("%d bytes, more than %d", len(data), MaxBytes))
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var text json.RawMessage
	if err := decoder.Decode(&text); err != nil {
		return nil, malformed(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, malformed(errors.New("more than one value"))
	}
	n, err := jsonNode(text, t, 0)
	var lookup *lookupError
	if errors.As(err, &lookup) {
		return nil, lookup.err
	}
	if err != nil {
		return nil, malformed(err)
	}
	return n.mayHold(), nil
}

// A lookupError is about a column that the table does not have: the input itself is well-formed.
type lookupError struct{ err error }

func (e *lookupError) Error() string { return e.err.Error() }

var jsonOps = map[string]predicate.CompareOp{
	"lt": predicate.LT, "lt-eq": predicate.LE, "gt": predicate.GT, "gt-eq": predicate.GE, "eq": predicate.EQ, "not-eq": predicate.NE,
}

func jsonNode(text json.RawMessage, t *schema.Table, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	switch strings.TrimSpace(string(text)) { // the older spelling
	case "true":
		return &node{kind: always}, nil
	case "false":
		return &node{kind: never}, nil
	}
	var e struct {
		Type               string
		Left, Right, Child json.RawMessage
		Term, Value        json.RawMessage
		Values             []json.RawMessage
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, err
	}
	children := func(k kind, texts ...json.RawMessage) (*node, error) {
		n := &node{kind: k}
		for _, text := range texts {
			if len(text) == 0 {
				return nil, fmt.Errorf("%q lacks an argument", e.Type)
			}
			arg, err := jsonNode(text, t, depth+1)
			if err != nil {
				return nil, err
			}
			n.args = append(n.args, arg)
		}
		return n, nil
	}
	switch e.Type {
	case "":
		return nil, errors.New("an expression has no type")
	case "true":
		return &node{kind: always}, nil
	case "false":
		return &node{kind: never}, nil
	case "and":
		return children(and, e.Left, e.Right)
	case "or":
		return children(or, e.Left, e.Right)
	case "not":
		return children(not, e.Child)
	}
	var name string
	if len(e.Term) == 0 {
		return nil, fmt.Errorf("%q has no term", e.Type)
	}
	if err := json.Unmarshal(e.Term, &name); err != nil {
		return opaque(string(text), "a term that is no column's name"), nil
	}
	column, err := lookup(t, name)
	if err != nil {
		return nil, err
	}
	negated := func(n *node) *node { return &node{kind: not, args: []*node{n}} }
	op, isComparison := jsonOps[e.Type]
	switch {
	case isComparison, e.Type == "starts-with", e.Type == "not-starts-with":
		if len(e.Value) == 0 {
			return nil, fmt.Errorf("%q has no value", e.Type)
		}
		v, ok := jsonValue(e.Value, column.Type)
		switch {
		case !ok:
			return opaque(string(text), fmt.Sprintf("%.40s is no value of type %s", e.Value, column.Type)), nil
		case isComparison:
			return comparison(op, column, v), nil
		}
		n := prefixed(column, v)
		if e.Type == "not-starts-with" {
			n = negated(n)
		}
		return n, nil
	case e.Type == "is-null":
		return &node{kind: isNull, left: column}, nil
	case e.Type == "not-null":
		return negated(&node{kind: isNull, left: column}), nil
	case e.Type == "in", e.Type == "not-in":
		if e.Values == nil {
			return nil, fmt.Errorf("%q has no values", e.Type)
		}
		var values []predicate.Value
		for _, text := range e.Values {
			v, ok := jsonValue(text, column.Type)
			if !ok {
				return opaque(name+" IN (…)", fmt.Sprintf("%.40s is no value of type %s", text, column.Type)), nil
			}
			values = append(values, v)
		}
		n := membership(column, values)
		if e.Type == "not-in" {
			n = negated(n)
		}
		return n, nil
	}
	return opaque(string(text), fmt.Sprintf("%.40q is not known here", e.Type)), nil
}

func prefixed(c *schema.Column, v predicate.Value) *node {
	if n := comparison(predicate.EQ, c, v); n.kind != compare || v.Type.Kind != schema.String {
		return opaque(c.String()+" starts with …", "prefixes are of strings")
	}
	return &node{kind: startsWith, left: c, pattern: v.S}
}

// lookup finds a column by its whole name, or by the parts between its dots.
func lookup(t *schema.Table, name string) (*schema.Column, error) {
	if c, err := t.Lookup(name); err == nil {
		return c, nil
	}
	c, err := t.Lookup(strings.Split(name, ".")...)
	if err != nil {
		return nil, &lookupError{err}
	}
	return c, nil
}

// jsonValue reads a value of a column's type. What is not exactly one has none.
func jsonValue(text json.RawMessage, t schema.Type) (v predicate.Value, ok bool) {
	if k := class(t.Kind); k == class(schema.Long) || k == class(schema.Double) {
		number := string(text)
		if k == class(schema.Long) {
			i, err := strconv.ParseInt(number, 10, 64)
			return predicate.IntOf(schema.Long, i), err == nil
		}
		f, err := strconv.ParseFloat(number, 64)
		return predicate.FloatOf(schema.Double, f), err == nil && !math.IsInf(f, 0)
	}
	if t.Kind == schema.Boolean {
		var b *bool
		if json.Unmarshal(text, &b) != nil || b == nil {
			return v, false
		}
		return predicate.BoolOf(*b), true
	}
	var s *string
	if json.Unmarshal(text, &s) != nil || s == nil {
		return v, false
	}
	at := func(layout string) (time.Time, bool) {
		at, err := time.Parse(layout, *s)
		return at, err == nil && at.Nanosecond()%1000 == 0
	}
	switch t.Kind {
	case schema.String:
		return predicate.StringOf(*s), true
	case schema.Date:
		day, ok := at(time.DateOnly)
		return predicate.IntOf(schema.Date, day.Unix()/(24*60*60)), ok
	case schema.Timestamp:
		when, ok := at("2006-01-02T15:04:05Z07:00")
		return predicate.IntOf(schema.Timestamp, when.UnixMicro()), ok
	case schema.TimestampNTZ:
		when, ok := at("2006-01-02T15:04:05")
		return predicate.IntOf(schema.TimestampNTZ, when.UnixMicro()), ok
	case schema.Decimal:
		return decimalValue(*s, t)
	}
	return v, false
}

// decimalValue reads digits with at most one point. A value that the type would round is none.
func decimalValue(s string, t schema.Type) (v predicate.Value, ok bool) {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if len(s) > 80 || whole == "" || strings.Trim(whole+fraction, "0123456789") != "" || len(fraction) > int(t.Scale) {
		return v, false
	}
	v, err := predicate.CastValue(predicate.StringOf(s), t, &predicate.Env{})
	return v, err == nil && !v.Null
}
