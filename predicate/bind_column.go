package predicate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deltaskip/deltaskip/schema"
)

// column resolves a name as Spark does: the longest path into structs; what is left are fields of something that has no
// columns inside.
func (b *binder) column(e *Column) (Expr, error) {
	if len(e.Name) == 0 {
		return nil, bindError("UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", "a column has no name")
	}
	if b.env.Alias != "" && len(e.Name) > 1 && strings.EqualFold(e.Name[0], b.env.Alias) {
		if _, err := b.table.Lookup(e.Name[1]); err == nil { // otherwise a column of structs may have the alias's name
			e = &Column{Name: e.Name[1:]}
		}
	}
	c, err := b.table.Lookup(e.Name...)
	var lookup *schema.LookupError
	switch {
	case err == nil:
		return padded(&Column{Name: c.Path, Col: c}), nil
	case !errors.As(err, &lookup):
		return nil, &BindError{Class: "INTERNAL_ERROR", Message: err.Error()}
	}
	first := strings.ToLower(e.Name[0])
	switch parent := lookup.Parent; {
	case len(lookup.Matches) > 0 && parent == nil:
		return nil, &BindError{Class: "AMBIGUOUS_REFERENCE", Message: err.Error()}
	case len(lookup.Matches) > 0:
		return nil, &BindError{Class: "AMBIGUOUS_REFERENCE_TO_FIELDS", Message: err.Error()}
	case parent == nil && first == "_metadata":
		return &Opaque{SQL: e.String(), Reason: "metadata columns are known to the reader only"}, nil
	case parent == nil && len(e.Name) == 1 && namelessCalls[first]:
		return b.bind(&Call{Name: first})
	case parent == nil && len(e.Name) > 1 && b.env.Joined && first != strings.ToLower(b.env.Alias):
		return &Opaque{SQL: e.String(), Reason: fmt.Sprintf("%s is a column of another table, which bounds nothing in this one", e)}, nil
	case parent == nil:
		class := "UNRESOLVED_COLUMN.WITH_SUGGESTION"
		if len(lookup.Suggestions) == 0 {
			class = "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"
		}
		return nil, &BindError{Class: class, Message: err.Error()}
	case parent.Type.Kind == schema.Struct:
		return nil, &BindError{Class: "FIELD_NOT_FOUND", Message: err.Error()}
	default:
		return b.field(&Column{Name: parent.Path, Col: parent}, e.Name[lookup.At:])
	}
}

// namelessCalls are the functions that are called without parentheses, where no column has the name.
var namelessCalls = map[string]bool{
	"current_date": true, "current_timestamp": true, "current_time": true, "current_user": true, "user": true, "session_user": true,
}

// field takes fields of an expression that is no column of structs: legal for arrays of structs, maps and variants, whose
// insides have no statistics.
func (b *binder) field(x Expr, path []string) (Expr, error) {
	t := x.Type()
	for _, name := range path {
		switch {
		case t.Kind == schema.Map:
			t = t.Nested.Elem
		case t.Kind == schema.Array && t.Nested.Elem.Kind == schema.Struct, t.Kind == schema.Struct:
			fields := t.Nested.Fields
			if t.Kind == schema.Array {
				fields = t.Nested.Elem.Nested.Fields
			}
			i := slices.IndexFunc(fields, func(f *schema.Field) bool { return strings.EqualFold(f.Name, name) })
			if i < 0 {
				return nil, bindError("FIELD_NOT_FOUND", "%s has no field %s", x, quoteName(name))
			}
			if t.Kind == schema.Struct {
				t = fields[i].Type
			} else {
				t = schema.Type{Kind: schema.Array, Nested: &schema.Nested{Elem: fields[i].Type}}
			}
		case t.Kind == schema.Array:
			return nil, bindError("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "an element of %s is taken by number, not by %s", x, quoteName(name))
		case t.Kind == schema.Invalid || t.Kind == schema.Unknown || t.Kind == schema.Variant:
			t = schema.Type{}
		default:
			return nil, bindError("INVALID_EXTRACT_BASE_FIELD_TYPE", "%s is a %s and has no fields", x, t)
		}
		x = &Call{Name: fieldName, Args: []Expr{x, &Literal{Value: StringOf(name)}}, Typ: t}
	}
	return opaque(x, "what is inside arrays, maps and variants has no statistics", t), nil
}

// strict appends the columns whose NULL makes one of the expressions NULL.
func strict(dst []*schema.Column, list ...Expr) []*schema.Column {
	for _, e := range list {
		switch e := e.(type) {
		case *Column:
			if !slices.Contains(dst, e.Col) {
				dst = append(dst, e.Col)
			}
		case *Opaque:
			dst = append(dst, e.Strict...)
		case *Call:
			if e.Fn != nil && e.Fn.NullIn {
				dst = strict(dst, e.Args...)
			}
		case *Cast, *Arith, *Like, *Not:
			dst = strict(dst, e.Children()...)
		}
	}
	return dst
}

// mentioned lists the columns in an expression, each once, in order.
func mentioned(list ...Expr) []*schema.Column {
	var columns []*schema.Column
	add := func(c *schema.Column) {
		if !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	var visit func(Expr)
	visit = func(e Expr) {
		switch e := e.(type) {
		case *Column:
			add(e.Col)
		case *Opaque:
			for _, c := range e.Columns {
				add(c)
			}
		default:
			for _, c := range e.Children() {
				visit(c)
			}
		}
	}
	for _, e := range list {
		visit(e)
	}
	return columns
}

// opaque resolves the columns that are known to be inside.
func (b *binder) opaque(e *Opaque) (Expr, error) {
	args, err := b.bindAll(e.args)
	if err != nil {
		return nil, err
	}
	out := *e
	out.Columns, out.args = append(slices.Clone(e.Columns), mentioned(args...)...), nil
	return &out, nil
}

// member takes one field: of a column that is a struct it is a column.
func (b *binder) member(x Expr, name string) (Expr, error) {
	if c, ok := x.(*Column); ok && c.Type().Kind == schema.Struct {
		return b.column(&Column{Name: append(slices.Clone(c.Name), name)})
	}
	return b.field(x, []string{name})
}
