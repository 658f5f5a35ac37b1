package predicate

import "github.com/deltaskip/deltaskip/schema"

// An Expr is a node of an expression tree. The parser and the builder make untyped trees, in which
// column names are unresolved and Type is Invalid; [Bind] makes typed ones. Trees are immutable.
type Expr interface {
	Type() schema.Type
	String() string // SQL text that parses to this tree again
	Children() []Expr
}

// The nodes. In a bound tree both sides of a Compare, and all members of an In, have one type:
// binding inserts the casts that Spark's ANSI coercion inserts and folds constants.
type (
	// Column is a reference. Name is as written; Col is set by binding.
	Column struct {
		Name []string
		Col  *schema.Column
	}
	// Literal is a constant.
	Literal struct {
		Value Value
		text  string // as written, of what was parsed
	}
	// Compare is L op R.
	Compare struct {
		Op   CompareOp
		L, R Expr
	}
	// And and Or are n-ary, never of fewer than two arguments.
	And struct{ Args []Expr }
	Or  struct{ Args []Expr }
	Not struct{ X Expr }
	// IsNull is X IS NULL. IS NOT NULL is its Not.
	IsNull struct{ X Expr }
	// In is X IN (List). NOT IN is its Not.
	In struct {
		X    Expr
		List []Expr
	}
	// Like is X LIKE Pattern ESCAPE Escape; Fold is ILIKE.
	Like struct {
		X, Pattern Expr
		Escape     rune
		Fold       bool
	}
	// Arith is L op R; when Try, an overflow or a division by zero of this operation is NULL (try_add …). A unary
	// minus is a Call of negative.
	Arith struct {
		Op   ArithOp
		L, R Expr
		Try  bool
		Typ  schema.Type
	}
	// Cast is CAST(X AS To), or TRY_CAST when Try.
	Cast struct {
		X   Expr
		To  schema.Type
		Try bool
	}
	// Case is CASE WHEN … THEN … ELSE … END; a CASE with an operand is parsed to comparisons.
	Case struct {
		Whens []When
		Else  Expr // nil is NULL
		Typ   schema.Type
	}
	// Call is a call of a function that the evaluator knows.
	Call struct {
		Name string // lower case
		Args []Expr
		Fn   *Function // set by binding
		Typ  schema.Type
	}
	// Opaque is an expression that is legal SQL but that this engine cannot, or must not, evaluate: a subquery,
	// a nondeterministic or unknown function, a metadata column. It may be TRUE, FALSE or NULL for any row.
	Opaque struct {
		SQL     string
		Reason  string           // in plain words, for people
		Columns []*schema.Column // mentioned inside
		Strict  []*schema.Column // those of Columns that make it NULL where they are NULL
		Typ     schema.Type      // Invalid where it is not known
		args    []Expr           // parsed parts, which binding resolves to Columns
	}
)

// When is one arm of a Case.
type When struct{ If, Then Expr }

// A CompareOp is a comparison operator.
type CompareOp uint8

// The comparison operators.
const (
	EQ       CompareOp = iota // =
	NE                        // <>
	LT                        // <
	LE                        // <=
	GT                        // >
	GE                        // >=
	NullSafe                  // <=>, never NULL
)

// An ArithOp is an arithmetic operator.
type ArithOp uint8

// The arithmetic operators.
const (
	Add ArithOp = iota
	Sub
	Mul
	Div    // / : fractional division
	IntDiv // DIV
	Mod    // %
)

func (e *Column) Type() schema.Type {
	if e.Col == nil {
		return schema.Type{}
	}
	return e.Col.Type
}
func (e *Literal) Type() schema.Type { return e.Value.Type }
func (e *Compare) Type() schema.Type { return booleanType }
func (e *And) Type() schema.Type     { return booleanType }
func (e *Or) Type() schema.Type      { return booleanType }
func (e *Not) Type() schema.Type     { return booleanType }
func (e *IsNull) Type() schema.Type  { return booleanType }
func (e *In) Type() schema.Type      { return booleanType }
func (e *Like) Type() schema.Type    { return booleanType }
func (e *Arith) Type() schema.Type   { return e.Typ }
func (e *Cast) Type() schema.Type    { return e.To }
func (e *Case) Type() schema.Type    { return e.Typ }
func (e *Call) Type() schema.Type    { return e.Typ }
func (e *Opaque) Type() schema.Type  { return e.Typ }

func (e *Column) Children() []Expr  { return nil }
func (e *Literal) Children() []Expr { return nil }
func (e *Compare) Children() []Expr { return []Expr{e.L, e.R} }
func (e *And) Children() []Expr     { return e.Args }
func (e *Or) Children() []Expr      { return e.Args }
func (e *Not) Children() []Expr     { return []Expr{e.X} }
func (e *IsNull) Children() []Expr  { return []Expr{e.X} }
func (e *In) Children() []Expr      { return append([]Expr{e.X}, e.List...) }
func (e *Like) Children() []Expr    { return []Expr{e.X, e.Pattern} }
func (e *Arith) Children() []Expr   { return []Expr{e.L, e.R} }
func (e *Cast) Children() []Expr    { return []Expr{e.X} }
func (e *Call) Children() []Expr    { return e.Args }
func (e *Opaque) Children() []Expr  { return e.args }
func (e *Case) Children() []Expr {
	children := make([]Expr, 0, 2*len(e.Whens)+1)
	for _, w := range e.Whens {
		children = append(children, w.If, w.Then)
	}
	if e.Else != nil {
		children = append(children, e.Else)
	}
	return children
}

var (
	booleanType = schema.Type{Kind: schema.Boolean}
	stringType  = schema.Type{Kind: schema.String}
	longType    = schema.Type{Kind: schema.Long}
	doubleType  = schema.Type{Kind: schema.Double}
)

// withChildren is e with other children, in the order of Children.
func withChildren(e Expr, children []Expr) Expr {
	switch e := e.(type) {
	case *Compare:
		return &Compare{Op: e.Op, L: children[0], R: children[1]}
	case *And:
		return &And{Args: children}
	case *Or:
		return &Or{Args: children}
	case *Not:
		return &Not{X: children[0]}
	case *IsNull:
		return &IsNull{X: children[0]}
	case *In:
		return &In{X: children[0], List: children[1:]}
	case *Like:
		return &Like{X: children[0], Pattern: children[1], Escape: e.Escape, Fold: e.Fold}
	case *Arith:
		return &Arith{Op: e.Op, L: children[0], R: children[1], Try: e.Try, Typ: e.Typ}
	case *Cast:
		return &Cast{X: children[0], To: e.To, Try: e.Try}
	case *Call:
		return &Call{Name: e.Name, Args: children, Fn: e.Fn, Typ: e.Typ}
	case *Case:
		out := &Case{Whens: make([]When, len(e.Whens)), Typ: e.Typ}
		for i := range e.Whens {
			out.Whens[i] = When{If: children[2*i], Then: children[2*i+1]}
		}
		if e.Else != nil {
			out.Else = children[len(children)-1]
		}
		return out
	}
	return e
}
