package predicate

import (
	"errors"

	"github.com/deltaskip/deltaskip/schema"
)

func (b *binder) call(e *Call) (Expr, error) {
	switch e.Name {
	case indexName, fieldName, "collate":
		if len(e.Args) != 2 {
			return nil, bindError("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "%s takes two arguments", e.Name)
		}
	}
	switch e.Name {
	case indexName:
		return b.index(e)
	case fieldName:
		return b.fieldOf(e)
	case "collate":
		return b.collate(e)
	case "between":
		return b.between(e)
	case padName:
		if e.Fn == padFunction {
			return e, nil // bound already
		}
	}
	fn, known := Lookup(e.Name)
	if known && fn.Rejected != "" {
		return nil, bindError(fn.Rejected, "a filter cannot hold %s", e)
	}
	var unsupported *UnsupportedError
	if e.Name == "nullif" {
		args, err := b.bindAll(e.Args)
		if err != nil {
			return nil, err
		}
		if err := uniformCollation(args); err != nil {
			return nil, err
		}
	}
	if known && fn.Rewrite != nil {
		switch out, err := fn.Rewrite(e.Args); {
		case err == nil && out != nil:
			return b.bind(out)
		case err != nil && !errors.As(err, &unsupported):
			return nil, err
		}
	}
	args, err := b.bindAll(e.Args)
	if err != nil {
		return nil, err
	}
	unknown := func(reason string, t schema.Type) Expr {
		o := opaque(&Call{Name: e.Name, Args: args}, reason, t)
		if known && fn.NullIn && !fn.Volatile {
			o.Strict = strict(nil, args...)
		}
		return o
	}
	switch {
	case !known:
		return unknown("the function "+e.Name+" is not known here", schema.Type{}), nil
	case unsupported != nil:
		return unknown(unsupported.Reason, schema.Type{}), nil
	}
	var result schema.Type
	var params []schema.Type
	if fn.Resolve != nil {
		params, result, err = fn.Resolve(args)
		if errors.As(err, &unsupported) {
			return unknown(unsupported.Reason, result), nil
		}
		if err != nil {
			return nil, err
		}
	}
	if fn.Eval == nil {
		return unknown(fn.Reason, result), nil
	}
	for i, t := range params {
		if args[i], err = b.cast(args[i], t, false); err != nil {
			return nil, err
		}
	}
	return &Call{Name: e.Name, Args: args, Fn: fn, Typ: result}, nil
}

// between binds BETWEEN, two comparisons. Other than these, it does not let a collated column and a constant meet.
func (b *binder) between(e *Call) (Expr, error) {
	if len(e.Args) != 3 {
		return nil, bindError("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "between takes three arguments")
	}
	bound, err := b.bindAll(e.Args)
	if err != nil {
		return nil, err
	}
	if err := uniformCollation(bound); err != nil {
		return nil, err
	}
	args := make([]Expr, 2)
	for i, op := range []CompareOp{GE, LE} {
		compared, err := b.compareBound(op, bound[0], bound[i+1])
		if err != nil {
			return nil, err
		}
		if args[i], err = b.fold(compared); err != nil {
			return nil, err
		}
	}
	return &And{Args: args}, nil
}

// index binds x[i].
func (b *binder) index(e *Call) (Expr, error) {
	args, err := b.bindAll(e.Args)
	if err != nil {
		return nil, err
	}
	x, i := args[0], args[1]
	t := x.Type()
	switch t.Kind {
	case schema.Struct:
		name, ok := i.(*Literal)
		if !ok || name.Value.Null || name.Value.Type.Kind != schema.String {
			return nil, bindError("INVALID_EXTRACT_FIELD_TYPE", "the field of %s is not named by a constant", x)
		}
		return b.member(x, name.Value.S)
	case schema.Array:
		if k := i.Type().Kind; !integral(k) && k != schema.Void && k != schema.Invalid {
			return nil, bindError("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "an element of %s is taken by number, not by %s", x, i.Type())
		}
		t = t.Nested.Elem
	case schema.Map:
		t = t.Nested.Elem
	case schema.Invalid, schema.Unknown:
		t = schema.Type{}
	default:
		return nil, bindError("INVALID_EXTRACT_BASE_FIELD_TYPE", "%s is a %s and has no elements", x, t)
	}
	out := opaque(&Call{Name: indexName, Args: args}, "what is inside arrays and maps has no statistics", t)
	out.Strict = strict(nil, x)
	return out, nil
}

// fieldOf binds (x).f.
func (b *binder) fieldOf(e *Call) (Expr, error) {
	x, err := b.bind(e.Args[0])
	if err != nil {
		return nil, err
	}
	name, ok := e.Args[1].(*Literal)
	if !ok || name.Value.Null {
		return nil, bindError("INVALID_EXTRACT_FIELD_TYPE", "the field of %s is not named by a constant", x)
	}
	return b.member(x, name.Value.S)
}
