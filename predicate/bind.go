package predicate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/schema"
)

// Bind resolves and types a parsed or built expression against a table as Spark 4.1 does in ANSI mode: it inserts Spark's implicit
// casts, folds constants and simplifies comparisons. Like Spark's optimiser it fails where folding a constant
// raises an error that no CASE guards. An error is a [*BindError].
func Bind(e Expr, t *schema.Table, env Env) (*Predicate, error) {
	b := &binder{table: t, env: &env}
	root, err := b.bind(e)
	if err != nil {
		return nil, err
	}
	switch root.Type().Kind {
	case schema.Boolean:
	case schema.Invalid: // opaque: of a type that we can't know
	default:
		return nil, bindError("DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN", "a filter is boolean, but %s is %s", e, root.Type())
	}
	if root, err = b.sharpen(root); err != nil {
		return nil, err
	}
	return &Predicate{Root: root, Table: t, Env: env, SQL: e.String(), asked: e}, nil
}

func bindError(class, format string, args ...any) *BindError {
	return &BindError{Class: class, Message: fmt.Sprintf(format, args...)}
}

// opaque stands for a bound expression that is not evaluated.
func opaque(e Expr, reason string, t schema.Type) *Opaque {
	return &Opaque{SQL: e.String(), Reason: reason, Columns: mentioned(e), Typ: t}
}

type binder struct {
	table *schema.Table
	env   *Env
	// guarded is positive inside a conditional expression that is not constant. Spark folds there too, but an error may
	// belong to a branch that is never taken, so the expression stays as it is.
	guarded int
	nodes   int // bound so far
	depth   int // of the node being bound
}

// maxDepth bounds how deep trees nest that are bound; those of the parser nest less.
const maxDepth = 2000

// maxNodes bounds the work of binding: functions that are written as a CASE repeat their arguments, nested ones repeat the
// repetitions.
const maxNodes = 1 << 20

// constant says whether an expression is the same for every row.
func constant(e Expr) bool {
	switch e := e.(type) {
	case *Literal:
		return true
	case *Column, *Opaque:
		return false
	case *Call:
		// A folded COLLATE would forget that the collation was asked for, which decides against a column's own.
		if e.Fn == nil || e.Fn.Eval == nil || e.Fn.Volatile || e.Fn.Inexact || e.Fn == collateFunction {
			return false
		}
	}
	for _, c := range e.Children() {
		if !constant(c) {
			return false
		}
	}
	return true
}

// fold evaluates a bound expression of constants, or of one CASE of constants and constants.
func (b *binder) fold(e Expr) (Expr, error) {
	switch e.(type) {
	case *Literal:
		return e, nil
	case *Case:
		if !constant(e) {
			return e, nil
		}
	default:
		// Children are folded already, so one that is no literal is not constant, or failed under a guard.
		if slices.ContainsFunc(e.Children(), func(c Expr) bool { _, ok := c.(*Literal); return !ok }) || !constant(e) {
			return b.pushIntoCase(e), nil
		}
	}
	v, err := Eval(e, b.env, nil)
	var failed *EvalError
	var unsupported *UnsupportedError
	switch {
	case err == nil:
		v.Type = e.Type()
		return &Literal{Value: v}, nil
	case errors.As(err, &failed) && b.guarded == 0:
		return nil, &BindError{Class: failed.Class, Message: failed.Message}
	case errors.As(err, &unsupported):
		return opaque(e, unsupported.Reason, e.Type()), nil
	}
	return e, nil
}

func (b *binder) bindAll(list []Expr) ([]Expr, error) {
	bound := make([]Expr, len(list))
	for i, e := range list {
		var err error
		if bound[i], err = b.bind(e); err != nil {
			return nil, err
		}
	}
	return bound, nil
}

func (b *binder) bind(e Expr) (Expr, error) {
	out, err := b.node(e)
	if err != nil {
		return nil, err
	}
	return b.fold(out)
}

// node binds an expression and what is below it.
func (b *binder) node(e Expr) (Expr, error) {
	if b.nodes++; b.nodes > maxNodes {
		return nil, bindError("EXPRESSION_TOO_LARGE", "the expression has more than %d nodes when its functions are written out", maxNodes)
	}
	if b.depth++; b.depth > maxDepth {
		return nil, bindError("EXPRESSION_TOO_LARGE", "the expression nests more than %d deep", maxDepth)
	}
	defer func() { b.depth-- }()
	switch e := e.(type) {
	case *Literal:
		return e, nil
	case *Column:
		return b.column(e)
	case *Opaque:
		return b.opaque(e)
	case *Not:
		x, err := b.bind(e.X)
		if err != nil {
			return nil, err
		}
		x, err = b.boolean(x, "NOT", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE")
		return &Not{X: x}, err
	case *And:
		args, err := b.junction(e.Args, "AND")
		return &And{Args: args}, err
	case *Or:
		args, err := b.junction(e.Args, "OR")
		return &Or{Args: args}, err
	case *IsNull:
		x, err := b.bind(e.X)
		return &IsNull{X: x}, err
	case *Compare:
		return b.compare(e)
	case *In:
		return b.in(e)
	case *Like:
		return b.like(e)
	case *Arith:
		l, err := b.bind(e.L)
		if err != nil {
			return nil, err
		}
		r, err := b.bind(e.R)
		if err != nil {
			return nil, err
		}
		return b.arith(e, l, r)
	case *Cast:
		x, err := b.bind(e.X)
		if err != nil {
			return nil, err
		}
		if err := castAllowed(x.Type(), e.To); err != nil {
			return nil, err
		}
		return b.cast(x, e.To, e.Try)
	case *Case:
		return b.caseWhen(e)
	case *Call:
		return b.call(e)
	}
	return nil, bindError("INTERNAL_ERROR", "nodes of type %T cannot be bound", e)
}

// boolean casts an operand of a connective to boolean, if Spark does.
func (b *binder) boolean(x Expr, operator, class string) (Expr, error) {
	switch x.Type().Kind {
	case schema.Boolean, schema.Invalid:
		return x, nil
	case schema.String, schema.Void:
		return b.cast(x, booleanType, false)
	}
	return nil, bindError(class, "%s takes booleans, but %s is %s", operator, x, x.Type())
}

func (b *binder) junction(args []Expr, operator string) ([]Expr, error) {
	bound, err := b.bindAll(args)
	if err != nil {
		return nil, err
	}
	class := "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"
	if !slices.ContainsFunc(bound, func(e Expr) bool { return e.Type().Kind == schema.Boolean }) {
		class = "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE"
	}
	for i, x := range bound {
		if bound[i], err = b.boolean(x, operator, class); err != nil {
			return nil, err
		}
	}
	return bound, nil
}

// cast inserts a cast where the type changes, and folds it.
func (b *binder) cast(x Expr, to schema.Type, try bool) (Expr, error) {
	if x.Type() == to || x.Type().Kind == schema.Invalid && !try {
		return x, nil
	}
	if x.Type().Equal(to) {
		return x, nil
	}
	if to.Kind == schema.Unknown {
		return opaque(&Cast{X: x, To: to, Try: try}, "the type "+to.String()+" is not known to this version", to), nil
	}
	return b.fold(&Cast{X: x, To: to, Try: try})
}

func (b *binder) castBoth(l, r Expr, to schema.Type) (Expr, Expr, error) {
	l, err := b.cast(l, to, false)
	if err != nil {
		return nil, nil, err
	}
	r, err = b.cast(r, to, false)
	return l, r, err
}

func (b *binder) compare(e *Compare) (Expr, error) {
	l, err := b.bind(e.L)
	if err != nil {
		return nil, err
	}
	r, err := b.bind(e.R)
	if err != nil {
		return nil, err
	}
	if answer, ok := beyondLongs(e, l, r); ok {
		return answer, nil
	}
	return b.compareBound(e.Op, l, r)
}

// beyondLongs answers the comparison of an integer with a decimal literal that no long reaches. Spark does so before it looks
// at rows, and forgets that the integer may be NULL (integralAndDecimalLiteral of its DecimalPrecision coercion).
func beyondLongs(e *Compare, l, r Expr) (answer Expr, ok bool) {
	op := e.Op
	literal, isLiteral := e.R.(*Literal)
	if !isLiteral || !integral(l.Type().Kind) {
		if literal, isLiteral = e.L.(*Literal); !isLiteral || !integral(r.Type().Kind) {
			return nil, false
		}
		op = op.flipped()
	}
	v := literal.Value
	if v.Null || v.Type.Kind != schema.Decimal || v.Type.Scale > 19 { // 18 digits before the point are a long
		return nil, false
	}
	scale := int32(v.Type.Scale)
	above := v.D.Cmp(decimal128.FromI64(math.MaxInt64).IncreaseScaleBy(scale)) > 0
	below := v.D.Cmp(decimal128.FromI64(math.MinInt64).IncreaseScaleBy(scale)) < 0
	if !above && !below {
		return nil, false
	}
	switch op {
	case LT, LE:
		return &Literal{Value: BoolOf(above)}, true
	case GT, GE:
		return &Literal{Value: BoolOf(below)}, true
	}
	return nil, false
}

// compareBound types a comparison of bound operands and casts them.
func (b *binder) compareBound(op CompareOp, l, r Expr) (Expr, error) {
	l, r = padComparison(l, r)
	lt, rt := l.Type(), r.Type()
	if lt.Kind == schema.Invalid || rt.Kind == schema.Invalid {
		return &Compare{Op: op, L: l, R: r}, nil
	}
	common, err := b.common(op.String(), l, r)
	if err != nil {
		return nil, err
	}
	if common.Kind == schema.Map || common.Kind == schema.Variant {
		return nil, bindError("DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", "values of type %s have no order", common)
	}
	if l, r, err = b.castBoth(l, r, common); err != nil {
		return nil, err
	}
	return b.simplifyCompare(op, l, r), nil
}

// common is the type to which both operands of a comparison are cast.
func (b *binder) common(operator string, l, r Expr) (schema.Type, error) {
	if t, err := collations(l, r); err != nil || t != "" {
		if l.Type().Kind == schema.String && r.Type().Kind == schema.String {
			return schema.Type{Kind: schema.String, Collation: strings.TrimPrefix(t, binaryCollation)}, err
		}
	}
	lt, rt := literalDecimal(l, r), literalDecimal(r, l)
	if t, ok := widerType(lt, rt); ok {
		return t, nil
	}
	return schema.Type{}, bindError("DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", "the operands of %s have the types %s and %s", operator, l.Type(), r.Type())
}

// literalDecimal is the type of e beside another operand: an integer literal beside a decimal is the decimal of just its digits.
func literalDecimal(e, beside Expr) schema.Type {
	t := e.Type()
	if literal, ok := e.(*Literal); ok && integral(t.Kind) && beside.Type().Kind == schema.Decimal && !literal.Value.Null {
		if v, ok := decimalLiteral(fmt.Sprint(literal.Value.I)); ok {
			return v.Type
		}
	}
	return t
}

func (b *binder) in(e *In) (Expr, error) {
	x, err := b.bind(e.X)
	if err != nil {
		return nil, err
	}
	list, err := b.bindAll(e.List)
	if err != nil {
		return nil, err
	}
	x, list = padIn(x, list)
	all := append([]Expr{x}, list...)
	if slices.ContainsFunc(all, func(e Expr) bool { return e.Type().Kind == schema.Invalid }) {
		return opaque(&In{X: x, List: list}, "a value of the list is not known", booleanType), nil
	}
	common, ok, err := b.commonAll(all)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, bindError("DATATYPE_MISMATCH.DATA_DIFF_TYPES", "the values of %s are of types that cannot be compared", &In{X: x, List: list})
	}
	if common.Kind == schema.Map || common.Kind == schema.Variant {
		return nil, bindError("DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", "values of type %s have no order", common)
	}
	for i := range all {
		if all[i], err = b.cast(all[i], common, false); err != nil {
			return nil, err
		}
	}
	return b.simplifyIn(all[0], all[1:]), nil
}

// commonAll is the type to which the values of an IN, a CASE or a coalesce are cast; false where there is none.
func (b *binder) commonAll(list []Expr) (schema.Type, bool, error) {
	var strs []Expr
	types := make([]schema.Type, len(list))
	for i, e := range list {
		types[i] = e.Type()
		if types[i].Kind == schema.String {
			strs = append(strs, e)
		}
	}
	if len(strs) > 1 {
		collation, err := collations(strs...)
		if err != nil {
			return schema.Type{}, false, err
		}
		for i := range types {
			if types[i].Kind == schema.String {
				types[i].Collation = strings.TrimPrefix(collation, binaryCollation)
			}
		}
	}
	t, ok := widerTypeOf(types)
	return t, ok, nil
}

func (b *binder) like(e *Like) (Expr, error) {
	x, err := b.bind(e.X)
	if err != nil {
		return nil, err
	}
	pattern, err := b.bind(e.Pattern)
	if err != nil {
		return nil, err
	}
	for i, operand := range []*Expr{&x, &pattern} {
		t := (*operand).Type()
		switch {
		case t.Kind == schema.String && i == 0 && t.Collation != "" && t.Collation != "UTF8_LCASE":
			return nil, bindError("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "LIKE does not take strings of the collation %s", t.Collation)
		case t.Kind == schema.String:
			continue
		case t.Kind >= schema.Struct && t.Kind <= schema.Map, t.Kind == schema.Interval, t.Kind == schema.Variant:
			return nil, bindError("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "LIKE takes strings, but %s is %s", *operand, t)
		}
		if *operand, err = b.cast(*operand, stringType, false); err != nil {
			return nil, err
		}
	}
	return &Like{X: x, Pattern: pattern, Escape: e.Escape, Fold: e.Fold}, nil
}

// caseWhen binds a CASE. Errors of constants inside are left to rows that take the branch, and a branch that is never taken
// goes.
func (b *binder) caseWhen(e *Case) (Expr, error) {
	b.guarded++
	defer func() { b.guarded-- }()
	out := &Case{}
	var values []Expr
	for _, w := range e.Whens {
		condition, err := b.bind(w.If)
		if err != nil {
			return nil, err
		}
		switch condition.Type().Kind {
		case schema.Boolean, schema.Invalid:
		default:
			return nil, bindError("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "WHEN takes a boolean, but %s is %s", w.If, condition.Type())
		}
		then, err := b.bind(w.Then)
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, When{If: condition, Then: then})
		values = append(values, then)
	}
	if e.Else != nil {
		other, err := b.bind(e.Else)
		if err != nil {
			return nil, err
		}
		out.Else = other
		values = append(values, other)
	}
	if slices.ContainsFunc(values, func(e Expr) bool { return e.Type().Kind == schema.Invalid }) {
		out.Typ = schema.Type{}
		return opaque(out, "a branch of CASE is not evaluated", schema.Type{}), nil
	}
	common, ok, err := b.commonAll(values)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, bindError("DATATYPE_MISMATCH.DATA_DIFF_TYPES", "the branches of %s have different types", e)
	}
	out.Typ = common
	for i := range out.Whens {
		if out.Whens[i].Then, err = b.cast(out.Whens[i].Then, common, false); err != nil {
			return nil, err
		}
	}
	if out.Else != nil {
		if out.Else, err = b.cast(out.Else, common, false); err != nil {
			return nil, err
		}
	}
	return simplifyCase(out), nil
}
