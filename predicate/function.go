package predicate

import (
	"time"

	"github.com/deltaskip/deltaskip/schema"
)

// Env is what evaluation depends on besides the row.
type Env struct {
	Zone *time.Location // session time zone; nil is UTC
	Now  time.Time      // of current_date, current_timestamp and now; zero leaves them opaque
	// Alias is what the query calls the table: t in t.site. Names that it qualifies are the table's, any case.
	Alias string
	// Joined says that the query is about other tables as well, such as the source of a MERGE. A name that is qualified by
	// neither Alias nor a column of structs is a column of theirs: opaque. Without it such a name is an error.
	Joined bool
}

// A Function is a scalar function that Spark knows, with Spark's ANSI semantics. It is written in terms of
// other nodes (Rewrite), evaluated (Eval), or left alone (Reason).
type Function struct {
	Name string // lower case; an alias is another name of the same function

	// Rewrite says the call in other nodes, such as coalesce in a Case, which decides what is evaluated lazily. It
	// takes arguments as parsed; the result is bound in place of the call. A nil result leaves the call to Eval.
	Rewrite func(args []Expr) (Expr, error)

	// Resolve checks the bound, folded arguments and says to which types they are cast and what comes out. It
	// returns a [*BindError] for a call that Spark rejects, an [*UnsupportedError] for one that must bind to Opaque.
	Resolve func(args []Expr) (params []schema.Type, result schema.Type, err error)
	// Eval computes the result; args have the types that Resolve asked for. An ANSI runtime error is an [*EvalError];
	// an [*UnsupportedError] means that Spark may have an answer and we have none.
	Eval func(env *Env, args []Value, result schema.Type) (Value, error)
	// NullIn says that any NULL argument makes the result NULL; Eval is then never called with one.
	NullIn bool
	// Monotonic, if set, says how the function moves with its one varying argument (the others being literals). It holds
	// between two values for which Eval neither fails nor gives NULL. NULL and NaN have no place in the order, whatever
	// they are mapped to.
	Monotonic func(args []Expr) Direction
	// Zoned says that the result depends on Env.Zone: monotonic only while the zone's offset is constant.
	Zoned bool
	// Inexact says that Spark's result, a double, may lie apart from Eval's by up to [Slack]: no equality with it proves
	// anything, and it is not folded into a literal.
	Inexact bool

	// Reason, in plain words, is why a call binds to Opaque instead: Spark knows the function, we don't evaluate it.
	// Resolve may be set to type the call.
	Reason string
	// Volatile functions depend on more than their arguments and Env: rand, uuid, input_file_name … They have a Reason.
	Volatile bool
	// Rejected is the error class by which binding refuses functions that no WHERE clause may hold: aggregates,
	// generators, window functions.
	Rejected string
}

// A Direction says how a function's value moves when its argument grows.
type Direction int8

// The directions. Unordered is the zero value: nothing is known.
const (
	Unordered     Direction = iota
	NonDecreasing           // a <= b implies f(a) <= f(b)
	NonIncreasing
)

// A BindError says why Spark would refuse an expression over this schema.
type BindError struct {
	Class   string // Spark's error class, such as UNRESOLVED_COLUMN
	Message string
}

func (e *BindError) Error() string { return "predicate: [" + e.Class + "] " + e.Message }

// An UnsupportedError says that an expression means something to Spark that this engine does not evaluate. It never
// surfaces from [Bind], which makes such an expression Opaque; from evaluation it is a doubt: any value is possible.
type UnsupportedError struct {
	Reason string // in plain words
}

func (e *UnsupportedError) Error() string { return "predicate: not evaluated: " + e.Reason }
