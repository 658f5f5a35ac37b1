package predicate

import (
	"slices"

	"github.com/deltaskip/deltaskip/schema"
)

// Conjuncts are judged one by one where statistics are all that is known, so what they say together must be put into
// each of them beforehand: i = 1 AND i > 5 is never TRUE, though a file may hold a 1 and a 6. What follows does that as Spark's
// optimiser does (ConstantPropagation, BooleanSimplification), and for ranges beyond it.
//
// Everything here keeps for which rows an expression is TRUE, but may turn NULL into FALSE: it is for filters, and goes through
// AND and OR only. NOT is pushed down first.

// negated is NOT e with the same value for every row, the NOT pushed down as far as it goes.
func negated(e Expr) Expr {
	switch e := e.(type) {
	case *Not:
		return e.X
	case *Literal:
		if e.Value.Null {
			return e
		}
		return Lit(e.Value.I == 0)
	case *And, *Or:
		args := make([]Expr, len(e.Children()))
		for i, a := range e.Children() {
			args[i] = negated(a)
		}
		if _, ok := e.(*And); ok {
			return &Or{Args: args}
		}
		return &And{Args: args}
	case *Compare:
		if op, ok := e.Op.negated(); ok {
			return &Compare{Op: op, L: e.L, R: e.R}
		}
	}
	return &Not{X: e}
}

// negated is the operator that holds where op doesn't; there is none for <=>.
func (op CompareOp) negated() (CompareOp, bool) {
	switch op {
	case EQ:
		return NE, true
	case NE:
		return EQ, true
	case LT:
		return GE, true
	case LE:
		return GT, true
	case GT:
		return LE, true
	case GE:
		return LT, true
	}
	return op, false
}

// sharpen rewrites a bound filter. Spark's optimiser folds constants after this, so an error of one is a [*BindError].
func (b *binder) sharpen(e Expr) (Expr, error) {
	switch x := e.(type) {
	case *Not:
		switch x.X.(type) {
		case *Not, *Literal, *And, *Or, *Compare:
			if pushed := negated(x.X); !isNot(pushed) {
				return b.sharpen(pushed)
			}
		}
	case *Or:
		args, err := b.sharpenAll(x.Args)
		if err != nil {
			return nil, err
		}
		return disjunction(args), nil
	case *And:
		return b.sharpenAnd(x)
	}
	return e, nil
}

func isNot(e Expr) bool { _, ok := e.(*Not); return ok }

func (b *binder) sharpenAll(list []Expr) ([]Expr, error) {
	out := make([]Expr, len(list))
	for i, e := range list {
		var err error
		if out[i], err = b.sharpen(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// truth is what a constant filter comes to: 1 TRUE, -1 FALSE or NULL, 0 no constant.
func truth(e Expr) int {
	literal, ok := e.(*Literal)
	switch {
	case !ok:
		return 0
	case literal.Value.Null || literal.Value.I == 0:
		return -1
	}
	return 1
}

// disjunction is the OR of filters, without those that are never TRUE.
func disjunction(args []Expr) Expr {
	var kept []Expr
	for _, a := range args {
		switch or, isOr := a.(*Or); {
		case truth(a) > 0:
			return a
		case truth(a) < 0:
		case isOr:
			kept = append(kept, or.Args...)
		default:
			kept = append(kept, a)
		}
	}
	return AnyOf(kept...)
}

// conjunction is the AND of filters, without those that are always TRUE.
func conjunction(args []Expr) Expr {
	var kept []Expr
	for _, a := range args {
		switch truth(a) {
		case -1:
			return Lit(false)
		case 0:
			kept = append(kept, Conjuncts(a)...)
		}
	}
	return AllOf(kept...)
}

func (b *binder) sharpenAnd(e *And) (Expr, error) {
	args := make([]Expr, 0, len(e.Args))
	for _, a := range Conjuncts(e) {
		// Nested conjunctions come out of a pushed NOT.
		if not, ok := a.(*Not); ok {
			a = negated(not.X)
		}
		args = append(args, Conjuncts(a)...)
	}
	args, err := b.propagate(args)
	if err != nil {
		return nil, err
	}
	if args, err = b.sharpenAll(args); err != nil {
		return nil, err
	}
	out := conjunction(args)
	and, ok := out.(*And)
	if !ok {
		return out, nil
	}
	if contradictory(and.Args) {
		return Lit(false), nil
	}
	return b.factor(and.Args)
}

// propagate puts the constants that columns are equal to into the other conjuncts.
func (b *binder) propagate(args []Expr) ([]Expr, error) {
	constants := map[*schema.Column]Value{}
	sources := map[Expr]bool{}
	for _, a := range args {
		c, ok := a.(*Compare)
		if !ok || c.Op != EQ && c.Op != NullSafe {
			continue
		}
		column, isColumn := c.L.(*Column)
		literal, isLiteral := c.R.(*Literal)
		if isColumn && isLiteral && len(column.Col.Path) == 1 && !literal.Value.Null && !isZeroFloat(literal.Value) {
			constants[column.Col] = literal.Value
			sources[a] = true
		}
	}
	if len(constants) == 0 {
		return args, nil
	}
	out := make([]Expr, len(args))
	for i, a := range args {
		if out[i] = a; sources[a] {
			continue // two equalities of one column are a contradiction, which is found later
		}
		var err error
		if out[i], err = b.substitute(a, constants, false); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// isZeroFloat says whether a value is 0.0 or -0.0, which are equal, but not the same to every function.
func isZeroFloat(v Value) bool {
	return (v.Type.Kind == schema.Float || v.Type.Kind == schema.Double) && v.F == 0
}

// substitute puts constants for columns and folds. As in Spark, an error in a comparison is an error of the query, unless a CASE
// guards it; elsewhere the expression stays as it is.
func (b *binder) substitute(e Expr, constants map[*schema.Column]Value, compared bool) (Expr, error) {
	if b.nodes++; b.nodes > maxNodes {
		return e, nil
	}
	switch e := e.(type) {
	case *Column:
		if v, ok := constants[e.Col]; ok {
			return &Literal{Value: v}, nil
		}
		return e, nil
	case *Compare:
		compared = true
	case *Case:
		b.guarded++
		defer func() { b.guarded-- }()
	}
	children := e.Children()
	if len(children) == 0 {
		return e, nil
	}
	replaced := make([]Expr, len(children))
	changed := false
	for i, c := range children {
		var err error
		if replaced[i], err = b.substitute(c, constants, compared); err != nil {
			return nil, err
		}
		changed = changed || replaced[i] != c
	}
	if !changed {
		return e, nil
	}
	if !compared {
		b.guarded++
		defer func() { b.guarded-- }()
	}
	out := withChildren(e, replaced)
	switch x := out.(type) {
	case *Compare:
		out = b.simplifyCompare(x.Op, x.L, x.R)
	case *Case:
		out = simplifyCase(x)
	}
	folded, err := b.fold(out)
	if opaque, ok := folded.(*Opaque); ok && err == nil && opaque != out {
		return e, nil // not evaluated: no reason to know less than before
	}
	return folded, err
}

// A bounds holds what the conjuncts say of one expression.
type bounds struct {
	lower, upper *Value
	strictLower  bool
	strictUpper  bool
	not          []Value // <> these
	null         bool    // IS NULL
	notNull      bool    // something that is never TRUE of a NULL
}

// contradictory says whether conjuncts can never be TRUE together, by what they say of the same expressions.
func contradictory(args []Expr) bool {
	said := map[string]*bounds{}
	about := func(x Expr) *bounds {
		key := x.String()
		if said[key] == nil {
			said[key] = &bounds{}
		}
		return said[key]
	}
	texts := map[string]bool{}
	for _, a := range args {
		if !deterministic(a) {
			continue
		}
		texts[a.String()] = true
		if texts[negated(a).String()] {
			return true
		}
		switch x := a.(type) {
		case *IsNull:
			about(x.X).null = true
		case *Not:
			if null, ok := x.X.(*IsNull); ok {
				about(null.X).notNull = true
			}
		case *In:
			about(x.X).notNull = true
		case *Like:
			about(x.X).notNull = true
		case *Compare:
			literal, ok := x.R.(*Literal)
			if ok && Comparable(literal.Value.Type) && !literal.Value.Null {
				about(x.L).add(x.Op, literal.Value)
			} else if x.Op != NullSafe {
				about(x.L).notNull = true
				about(x.R).notNull = true
			}
		}
	}
	for _, a := range args {
		in, ok := a.(*In)
		if !ok || said[in.X.String()] == nil {
			continue
		}
		if b := said[in.X.String()]; !slices.ContainsFunc(in.List, func(m Expr) bool {
			literal, ok := m.(*Literal)
			return !ok || !literal.Value.Null && b.allows(literal.Value)
		}) {
			return true
		}
	}
	for _, b := range said {
		if b.null && b.notNull || b.empty() {
			return true
		}
	}
	return false
}

func (b *bounds) add(op CompareOp, v Value) {
	b.notNull = true
	if op == NE {
		b.not = append(b.not, v)
	}
	if op == EQ || op == NullSafe || op == GT || op == GE {
		strict := op == GT
		if b.lower == nil || v.Compare(*b.lower) > 0 || strict && v.Compare(*b.lower) == 0 {
			b.lower, b.strictLower = &v, strict
		}
	}
	if op == EQ || op == NullSafe || op == LT || op == LE {
		strict := op == LT
		if b.upper == nil || v.Compare(*b.upper) < 0 || strict && v.Compare(*b.upper) == 0 {
			b.upper, b.strictUpper = &v, strict
		}
	}
}

// allows says whether a value is within the bounds.
func (b *bounds) allows(v Value) bool {
	if b.lower != nil {
		if order := v.Compare(*b.lower); order < 0 || order == 0 && b.strictLower {
			return false
		}
	}
	if b.upper != nil {
		if order := v.Compare(*b.upper); order > 0 || order == 0 && b.strictUpper {
			return false
		}
	}
	return !slices.ContainsFunc(b.not, func(n Value) bool { return n.Compare(v) == 0 })
}

// empty says whether no value is within the bounds.
func (b *bounds) empty() bool {
	if b.lower == nil || b.upper == nil {
		return false
	}
	order := b.lower.Compare(*b.upper)
	return order > 0 || order == 0 && !b.allows(*b.lower)
}

// factor takes what two ORs have in common out of them: (a OR b) AND (a OR c) is a OR (b AND c), and b and c may contradict
// each other.
func (b *binder) factor(args []Expr) (Expr, error) {
	for i := range args {
		left, ok := args[i].(*Or)
		if !ok {
			continue
		}
		for j := i + 1; j < len(args); j++ {
			right, ok := args[j].(*Or)
			if !ok {
				continue
			}
			common, restLeft, restRight := inCommon(left.Args, right.Args)
			if len(common) == 0 {
				continue
			}
			if len(restLeft) > 0 && len(restRight) > 0 {
				both, err := b.sharpen(&And{Args: []Expr{AnyOf(restLeft...), AnyOf(restRight...)}})
				if err != nil {
					return nil, err
				}
				common = append(common, both)
			}
			rest := slices.Concat(args[:i], args[i+1:j], args[j+1:], []Expr{disjunction(common)})
			return b.sharpen(conjunction(rest))
		}
	}
	return AllOf(args...), nil
}

func inCommon(left, right []Expr) (common, restLeft, restRight []Expr) {
	texts := map[string]bool{}
	for _, e := range left {
		if deterministic(e) {
			texts[e.String()] = true
		}
	}
	shared := map[string]bool{}
	for _, e := range right {
		if text := e.String(); texts[text] {
			shared[text] = true
		} else {
			restRight = append(restRight, e)
		}
	}
	for _, e := range left {
		if shared[e.String()] {
			common = append(common, e)
		} else {
			restLeft = append(restLeft, e)
		}
	}
	return common, restLeft, restRight
}
