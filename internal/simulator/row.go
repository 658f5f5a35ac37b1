package simulator

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// An opt is a value or, when ok is false, NULL.
type opt[T comparable] struct {
	v  T
	ok bool
}

func some[T comparable](v T) opt[T] { return opt[T]{v, true} }

func (o opt[T]) String() string {
	if !o.ok {
		return "NULL"
	}
	return fmt.Sprint(o.v)
}

// A double is the bits of a float64, so that rows with NaN compare as equal.
type double uint64

func doubleOf(f float64) double { return double(math.Float64bits(f)) }

func (d double) float() float64 { return math.Float64frombits(uint64(d)) }
func (d double) String() string { return fmt.Sprint(d.float()) }

// compareDoubles is Spark's order: NaN comes last and equals itself.
func compareDoubles(a, b double) int {
	x, y := a.float(), b.float()
	switch {
	case math.IsNaN(x) && math.IsNaN(y):
		return 0
	case math.IsNaN(x):
		return 1
	case math.IsNaN(y):
		return -1
	}
	return cmp.Compare(x, y)
}

// A row is one row of the table. No two rows have the same id, whoever inserted them, and an update keeps it.
type row struct {
	id int64
	k  int32 // what MERGE joins by
	x  opt[int32]
	f  opt[double]
	s  opt[string]
	p  opt[int32] // the partition column, where there is one
	by string     // the transaction that wrote the row's values
}

func (r row) String() string {
	return fmt.Sprintf("{%d k=%d x=%s f=%s s=%s p=%s by %s}", r.id, r.k, r.x, r.f, r.s, r.p, r.by)
}

// Changes are what a transaction does to rows, by id: the row as it is afterwards, or NULL for one that is gone.
type changes map[int64]opt[row]

// apply returns what rows, which stay as they are, become.
func (c changes) apply(rows map[int64]row) map[int64]row {
	after := make(map[int64]row, len(rows)+len(c))
	for id, r := range rows {
		after[id] = r
	}
	for id, r := range c {
		if r.ok {
			after[id] = r.v
		} else {
			delete(after, id)
		}
	}
	return after
}

// tri is three-valued logic: no < unknown < yes, so that AND is the lesser and OR the greater.
type tri int8

const (
	no      tri = -1
	unknown tri = 0
	yes     tri = 1
)

func truth(b bool) tri {
	if b {
		return yes
	}
	return no
}

// A condition is a predicate as SQL, and as a function that owes nothing to the project's own evaluators.
type condition struct {
	sql string
	of  func(*row) tri
}

func (c condition) matches(r *row) bool { return c.of(r) == yes }

func and(a, b condition) condition {
	return condition{fmt.Sprintf("(%s) AND (%s)", a.sql, b.sql), func(r *row) tri { return min(a.of(r), b.of(r)) }}
}

func or(a, b condition) condition {
	return condition{fmt.Sprintf("(%s) OR (%s)", a.sql, b.sql), func(r *row) tri { return max(a.of(r), b.of(r)) }}
}

func not(a condition) condition {
	return condition{fmt.Sprintf("NOT (%s)", a.sql), func(r *row) tri { return -a.of(r) }}
}

func isNull[T comparable](name string, get func(*row) opt[T]) condition {
	return condition{name + " IS NULL", func(r *row) tri { return truth(!get(r).ok) }}
}

// compare makes the condition that a column is in some relation to a constant, spelt as literal.
func compare[T comparable](name string, get func(*row) opt[T], op string, v T, literal string, order func(a, b T) int) condition {
	return condition{name + " " + op + " " + literal, func(r *row) tri {
		c := get(r)
		if !c.ok {
			if op == "<=>" {
				return no
			}
			return unknown
		}
		n := order(c.v, v)
		switch op {
		case "<":
			return truth(n < 0)
		case "<=":
			return truth(n <= 0)
		case ">":
			return truth(n > 0)
		case ">=":
			return truth(n >= 0)
		case "<>":
			return truth(n != 0)
		}
		return truth(n == 0)
	}}
}

func ints(name string, get func(*row) opt[int32], op string, v int32) condition {
	return compare(name, get, op, v, fmt.Sprint(v), cmp.Compare[int32])
}

// in makes the condition that k is one of some keys.
func in(keys []int32) condition {
	var list []string
	has := map[int32]bool{}
	for _, k := range keys {
		list = append(list, fmt.Sprint(k))
		has[k] = true
	}
	return condition{"k IN (" + strings.Join(list, ", ") + ")", func(r *row) tri { return truth(has[r.k]) }}
}

// idIn is the condition that a row is one of those with the given ids.
func idIn(ids []int64) condition {
	var list []string
	has := map[int64]bool{}
	for _, id := range ids {
		list = append(list, fmt.Sprint(id))
		has[id] = true
	}
	return condition{"id IN (" + strings.Join(list, ", ") + ")", func(r *row) tri { return truth(has[r.id]) }}
}

func columnK(r *row) opt[int32]  { return some(r.k) }
func columnX(r *row) opt[int32]  { return r.x }
func columnF(r *row) opt[double] { return r.f }
func columnS(r *row) opt[string] { return r.s }
func columnP(r *row) opt[int32]  { return r.p }
