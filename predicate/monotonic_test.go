package predicate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/schema"
)

// ends are values of a type from end to end, ascending.
func ends(t schema.Type) []Value {
	integers := func(least, most int64) (list []Value) {
		for _, v := range []int64{least, least + 1, least + 86_399, -86_400_000_001, -1, 0, 1, 59, 3600, 86_400, 1 << 24, 1_577_836_800_000_000, most - 86_399, most - 1, most} {
			if v >= least && v <= most {
				list = append(list, IntOf(t.Kind, v))
			}
		}
		return list
	}
	var list []Value
	switch t.Kind {
	case schema.Integer, schema.Date:
		list = integers(math.MinInt32, math.MaxInt32)
	case schema.Long, schema.Timestamp, schema.TimestampNTZ:
		list = integers(math.MinInt64, math.MaxInt64)
	case schema.Double:
		for _, v := range []float64{math.Inf(-1), -math.MaxFloat64, -1e19, -1.5, 0, 5e-324, 0.5, 1e19, math.MaxFloat64, math.Inf(1)} {
			list = append(list, FloatOf(schema.Double, v))
		}
	case schema.Decimal:
		for _, v := range []int64{-99999, -150, -1, 0, 1, 50, 99999} {
			list = append(list, DecimalOf(decimal128.FromI64(v), t.Precision, t.Scale))
		}
	}
	slices.SortFunc(list, Value.Compare)
	return list
}

// TestMonotonicFunctions holds every function that claims to move one way with an argument to it, up to the ends of the
// argument's type: what wraps around there would let files be skipped that match.
func TestMonotonicFunctions(t *testing.T) {
	table := testTable(t)
	checked := map[string]bool{}
	for name := range registry {
		for _, column := range []string{"i", "l", "d", "dec", "dt", "ts", "ntz"} {
			for _, call := range []string{"%s(%s)", "%s(%s, 1)", "%s(%s, -3)", "%s(1, %s)", "%s('MONTH', %s)", "%s('HOUR', %s)", "%s(%s, 'YEAR')", "%s(%s, 'MO')", "%s('DAY', 1, %s)",
				"%s('DAY', %s, TIMESTAMP'2020-01-01')", "%s(%s, DATE'2020-01-01')", "%s(DATE'2020-01-01', %s)"} {
				e, err := Parse(fmt.Sprintf(call, name, column)+" IS NULL", ParseOptions{})
				if err != nil {
					continue
				}
				if p, err := Bind(e, table, Env{}); err == nil && monotonic(t, p) {
					checked[name] = true
				}
			}
		}
	}
	for _, name := range []string{"date_trunc", "trunc", "year", "add_months", "timestampadd", "floor", "round"} {
		if !checked[name] {
			t.Errorf("%s was not checked", name)
		}
	}
	t.Logf("%d functions checked", len(checked))
}

// monotonic checks the outermost call of f(…) IS NULL, and reports whether it claims anything.
func monotonic(t *testing.T, p *Predicate) bool {
	t.Helper()
	isNull, ok := p.Root.(*IsNull)
	if !ok {
		return false
	}
	call, ok := isNull.X.(*Call)
	if !ok || call.Fn == nil || call.Fn.Monotonic == nil || call.Fn.Eval == nil {
		return false
	}
	direction := call.Fn.Monotonic(call.Args)
	if direction == Unordered {
		return false
	}
	for i, arg := range call.Args {
		if _, constant := arg.(*Literal); constant {
			continue
		}
		var last *Value
		var at Value
		for _, v := range ends(arg.Type()) {
			args := slices.Clone(call.Args)
			args[i] = &Literal{Value: v}
			got, err := Eval(&Call{Name: call.Name, Args: args, Fn: call.Fn, Typ: call.Typ}, &p.Env, nil)
			if err != nil || got.Null {
				continue
			}
			if last != nil {
				if c := last.Compare(got); direction == NonDecreasing && c > 0 || direction == NonIncreasing && c < 0 {
					t.Errorf("%s: %s at %s, %s at %s", strings.TrimSuffix(p.SQL, " IS NULL"), last.SQL(), at.SQL(), got.SQL(), v.SQL())
				}
			}
			last, at = &got, v
		}
	}
	return true
}
