package predicate

import (
	"time"

	"github.com/deltaskip/deltaskip/schema"
)

// Env is what evaluation depends on besides the row.
type Env struct {
	Zone *time.Location // session time zone; nil is UTC
	Now  time.Time      // of current_date, current_timestamp and now; zero leaves them opaque
}

// A Function is a deterministic scalar function of the evaluator, with Spark's ANSI semantics.
type Function struct {
	Name string // lower case; aliases are entries of their own
	// Resolve checks the number and types of the arguments and says to which types they are cast and what comes out.
	Resolve func(args []schema.Type) (params []schema.Type, result schema.Type, err error)
	// Eval computes the result; args have the types that Resolve asked for. An ANSI runtime error is an [*EvalError].
	Eval func(env *Env, args []Value, result schema.Type) (Value, error)
	// NullIn says that any NULL argument makes the result NULL; Eval is then never called with one.
	NullIn bool
	// Monotonic, if set, says how the function moves with its one varying argument (the others being literals).
	Monotonic func(args []Expr) Direction
	// Volatile functions depend on more than their arguments and Env.Zone: rand, uuid, input_file_name … They bind to Opaque.
	Volatile bool
	// Zoned says that the result depends on Env.Zone: monotonic only while the zone's offset is constant.
	Zoned bool
}

// A Direction says how a function's value moves when its argument grows.
type Direction int8

// The directions. Unordered is the zero value: nothing is known.
const (
	Unordered     Direction = iota
	NonDecreasing           // a <= b implies f(a) <= f(b)
	NonIncreasing
)
