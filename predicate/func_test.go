package predicate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/schema"
)

func TestLookup(t *testing.T) {
	upper, ok := Lookup("UPPER")
	if !ok || upper.Name != "upper" {
		t.Fatalf("UPPER is %v", upper)
	}
	if alias, _ := Lookup("Ucase"); alias != upper {
		t.Error("ucase is another function than upper")
	}
	if _, ok := Lookup("no such function"); ok {
		t.Error("found a function that there is not")
	}
	evaluated := 0
	for name, f := range registry {
		if name != strings.ToLower(name) {
			t.Errorf("%s cannot be found", name)
		}
		if f.Eval != nil || f.Rewrite != nil {
			evaluated++
		}
		switch {
		case f.Rewrite == nil && f.Eval == nil && f.Reason == "":
			t.Errorf("%s does nothing and does not say why", name)
		case f.Eval != nil && f.Resolve == nil:
			t.Errorf("%s has no types", name)
		case f.Eval != nil && (f.Reason != "" || f.Volatile || f.Rejected != ""):
			t.Errorf("%s is evaluated and is not", name)
		}
	}
	if evaluated < 200 || len(registry) < 500 {
		t.Errorf("%d functions of %d are evaluated", evaluated, len(registry))
	}
}

// TestBindOpaqueFunctions holds functions that are not evaluated to their types, reasons and errors.
func TestBindOpaqueFunctions(t *testing.T) {
	table := testTable(t)
	for sql, want := range map[string]string{
		"rand() > 0.5":            "its value may differ",
		"array_contains(arr, 1)":  "functions of arrays",
		"get_json_object(s, '$')": "documents inside values",
		"sin(d) > 0":              "trigonometry",
		"my_udf(i) = 1":           "my_udf is not known here",
		"upper(lc) = 'A'":         "collated strings",
		"rand()":                  "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
		"uuid()":                  "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
		"max(i) > 1":              "INVALID_WHERE_CONDITION",
		"explode(arr) = 1":        "UNSUPPORTED_GENERATOR.OUTSIDE_SELECT",
		"row_number() = 1":        "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE",
		"grouping(i) = 1":         "UNSUPPORTED_GROUPING_EXPRESSION",
		"range(1) = 1":            "UNRESOLVED_ROUTINE",
	} {
		e, err := Parse(sql, ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		p, err := Bind(e, table, Env{})
		var rejected *BindError
		if errors.As(err, &rejected) {
			got = rejected.Class
		} else if err == nil {
			var visit func(Expr)
			visit = func(e Expr) {
				if o, ok := e.(*Opaque); ok {
					got = o.Reason
				}
				for _, c := range e.Children() {
					visit(c)
				}
			}
			visit(p.Root)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q instead of %q", sql, got, want)
		}
	}
}

// movingCalls has a call for each function that claims to move one way, and for each way. $i, $l … are columns.
var movingCalls = []string{
	"negative(i)", "negative(l)", "negative(d)", "negative(dec)", "positive(i)", "sign(d)", "sign(l)", "ceil(d)", "ceil(dec)", "floor(d)", "floor(dec)", "floor(l)",
	"ceil(dec, 1)", "floor(d, -1)", "round(d)", "round(d, 1)", "round(f, 1)", "round(dec)", "round(dec, 1)", "round(i, -1)", "bround(d, 1)", "bround(dec, 1)", "rint(d)",
	"width_bucket(d, 0, 10, 5)", "width_bucket(d, 10, 0, 5)", "greatest(i, 3)", "greatest(NULL, d)", "least(l, 3L)", "least(s, 'm')", "~i", "~l", "shiftright(i, 3)",
	"substring(s, 1, 2)", "substring(s, 0, 3)", "left(s, 2)", "concat('a', s)", "s LIKE 'a' OR left(s, 1) = 'a'",
	"year(dt)", "date_part('year', dt)", "date_part('yearofweek', dt)", "date_add(dt, 5)", "date_add(DATE'2020-01-01', i)", "date_sub(dt, 5)", "date_sub(DATE'2020-01-01', i)",
	"datediff(dt, DATE'2020-01-01')", "datediff(DATE'2020-01-01', dt)", "add_months(dt, 1)", "add_months(DATE'2020-01-31', i)", "last_day(dt)", "next_day(dt, 'MO')",
	"trunc(dt, 'week')", "trunc(dt, 'quarter')", "date_trunc('hour', ts)", "date_trunc('day', ts)", "date_trunc('week', ts)", "date_trunc('minute', ts)", "date_trunc('second', ts)",
	"timestampadd(HOUR, 1, ts)", "timestampadd(MONTH, 1, ts)", "timestampadd(DAY, 1, ntz)", "timestampadd(DAY, l, TIMESTAMP'2021-06-01 00:00:00')",
	"timestampdiff(MONTH, ts, TIMESTAMP'2021-06-30 12:00:00')", "timestampdiff(HOUR, TIMESTAMP'2021-06-30 12:00:00', ts)", "timestampdiff(YEAR, TIMESTAMP'2021-06-30 12:00:00', ts)",
	"date_from_unix_date(i)", "unix_date(dt)", "unix_seconds(ts)", "unix_millis(ts)", "unix_micros(ts)", "timestamp_seconds(l)", "timestamp_seconds(dec)", "timestamp_millis(l)",
	"timestamp_micros(l)", "unix_timestamp(ts)", "unix_timestamp(dt)", "unix_timestamp(ntz)",
}

// TestFunctionsMove is the promise of Function.Monotonic: a <= b implies f(a) <= f(b), or the other way, while the
// zone's offset does not change.
func TestFunctionsMove(t *testing.T) {
	table := testTable(t)
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	unchecked := map[string]bool{}
	for _, f := range registry {
		unchecked[f.Name] = f.Monotonic != nil
	}
	maps.DeleteFunc(unchecked, func(_ string, moves bool) bool { return !moves })
	for _, sql := range movingCalls {
		e, err := Parse(sql, ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, zone := range []*time.Location{time.UTC, time.FixedZone("", -16200), newYork} {
			env := &Env{Zone: zone}
			bound, err := (&binder{table: table, env: env}).bind(e)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			call, ok := bound.(*Call)
			if !ok {
				continue
			}
			delete(unchecked, call.Fn.Name)
			column := mentioned(bound)[0]
			way := call.Fn.Monotonic(call.Args)
			if way == Unordered {
				t.Errorf("%s does not move", sql)
			}
			t.Run(sql+" "+zone.String(), func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					a, b := drawMoving(t, column.Type), drawMoving(t, column.Type)
					if a.Compare(b) > 0 {
						a, b = b, a
					}
					fa, errA := Eval(bound, env, oneValue{a})
					fb, errB := Eval(bound, env, oneValue{b})
					if errA != nil || errB != nil || fa.Null || fb.Null {
						t.Skip(errA, errB)
					}
					if way == NonIncreasing {
						fa, fb = fb, fa
					}
					if fa.Compare(fb) > 0 {
						t.Fatalf("of %s and %s: %s and %s", a.SQL(), b.SQL(), fa.SQL(), fb.SQL())
					}
				})
			})
		}
	}
	if len(unchecked) > 0 {
		t.Errorf("no call of %v", slices.Sorted(maps.Keys(unchecked)))
	}
}

// oneValue is a row of one column.
type oneValue struct{ v Value }

func (r oneValue) Value(*schema.Column) Value { return r.v }

// drawMoving draws a value; a date or time is of the summer of 2021, when no zone of the test changes its offset.
func drawMoving(t *rapid.T, typ schema.Type) Value {
	const from, days = 18720, 120 // 2021-04-03
	switch typ.Kind {
	case schema.Date:
		return IntOf(typ.Kind, from+rapid.Int64Range(0, days).Draw(t, "day"))
	case schema.Timestamp, schema.TimestampNTZ:
		micros := rapid.OneOf(rapid.Int64Range(0, days*microsPerDay), rapid.Map(rapid.Int64Range(0, days*24), func(h int64) int64 { return h * microsPerHour }))
		return IntOf(typ.Kind, from*microsPerDay+micros.Draw(t, "micros"))
	case schema.Integer:
		return IntOf(typ.Kind, int64(rapid.OneOf(rapid.Int32(), rapid.Int32Range(-50, 50)).Draw(t, "int")))
	case schema.Long:
		return IntOf(typ.Kind, rapid.OneOf(rapid.Int64(), rapid.Int64Range(-50, 50)).Draw(t, "long"))
	case schema.Float:
		return FloatOf(typ.Kind, float64(rapid.OneOf(rapid.Float32(), rapid.Float32Range(-20, 20)).Draw(t, "float")))
	case schema.Double:
		tenths := rapid.Map(rapid.IntRange(-500, 500), func(i int) float64 { return float64(i) / 20 })
		return FloatOf(typ.Kind, rapid.OneOf(rapid.Float64(), rapid.Float64Range(-20, 20), tenths).Draw(t, "double"))
	case schema.Decimal:
		return DecimalOf(decimal128.FromI64(rapid.Int64Range(-99999, 99999).Draw(t, "decimal")), typ.Precision, typ.Scale)
	case schema.String:
		return StringOf(rapid.OneOf(rapid.StringOfN(rapid.SampledFrom([]rune("abé日😀")), 0, 4, -1), rapid.String()).Draw(t, "string"))
	}
	t.Fatalf("no values of %s", typ)
	return Value{}
}

// TestFunctionsBoundMemory holds calls that would take gigabytes to being left without an answer.
func TestFunctionsBoundMemory(t *testing.T) {
	nested := "'abcdefgh'"
	for range 30 {
		nested = "hex(" + nested + ")"
	}
	for _, sql := range []string{
		"repeat('ab', 2147483647)", "space(2147483647)", "lpad('a', 2147483647, 'x')", "rpad('a', 2147483647, 'x')", nested,
		"replace(repeat('a', 100000), 'a', repeat('b', 100000))", "regexp_replace(repeat('a', 100000), 'a', repeat('b', 100000))",
		"concat(repeat('a', 1000000), repeat('a', 1000000))", "levenshtein(repeat('a', 100000), repeat('b', 100000))",
		"round(1e-5D, 2147483647) + length(repeat('a', 2147483647))",
	} {
		if got := answer(sql, testTable(t), &Env{}); got != "opaque" {
			t.Errorf("%.60s is %.60s", sql, got)
		}
	}
}

// TestTranslatePattern holds patterns to RE2's spelling, or to being refused. What they match is in testdata/functions.tsv.
func TestTranslatePattern(t *testing.T) {
	for java, want := range map[string]string{
		`a.b$`:        `a.b$`,
		`\s+\S`:       `[\t-\r ]+[^\t-\r ]`,
		`[\s\d_-]`:    `[\t-\r \d_-]`,
		`\.\-\_\"`:    `\.-_"`,
		`[\.\]]`:      `[\.\]]`,
		`(?:a|b){2,}`: `(?:a|b){2,}`,
		`a{3}?`:       `a{3}?`,
		`^日本`:         `^日本`,
	} {
		p, err := translatePattern(java)
		if err != nil {
			t.Errorf("%s: %v", java, err)
		} else if got := p.re.String(); got != want {
			t.Errorf("%s is written %s instead of %s", java, got, want)
		}
	}
	for _, java := range []string{
		`(?=a)`, `(?<n>a)`, `(a)\1`, `a++`, `a?+`, `a{2}+`, `[a[b]]`, `[a&&b]`, `[]a]`, `[a-\d]`, `[a-c-e]`, `\p{L}`, `\Qa\E`, `\Z`, `\x41`, `a{,3}`, `a{1001}`,
		`(`, `a)`, `[a`, `a\`, `*a`, `(?m)^a`, `(?i)é`, `\h`, "\xff", `a**`, `[a^]`, `\k<n>`, `\cA`, `\07`,
	} {
		var unsupported *UnsupportedError
		if p, err := translatePattern(java); !errors.As(err, &unsupported) {
			t.Errorf("%s is written %v, %v", java, p, err)
		}
	}
}

// FuzzFunctions calls every function with odd arguments: no panic, no runaway.
func FuzzFunctions(f *testing.F) {
	names := slices.Sorted(maps.Keys(registry))
	f.Add(uint16(0), "a", "b", int64(1), 1.5)
	f.Add(uint16(7), "yyyy-MM-dd HH:mm:ss.SSS", "2020-01-01 00:00:00.1", int64(-1), 0.0)
	f.Add(uint16(99), "\xff\xe6", "(a|b)*?[^c-d]$", int64(-1<<63), 1e308)
	table := testTable(f)
	f.Fuzz(func(t *testing.T, n uint16, a, b string, i int64, d float64) {
		env := &Env{}
		l := func(v Value) Expr { return &Literal{Value: v} }
		pool := []Expr{
			l(StringOf(a)), l(StringOf(b)), l(IntOf(schema.Long, i)), l(IntOf(schema.Integer, int64(int32(i)))), l(FloatOf(schema.Double, d)),
			l(IntOf(schema.Date, int64(int32(i)))), l(IntOf(schema.Timestamp, i)), l(BinaryOf(a)),
		}
		name := names[int(n)%len(names)]
		for shift := range pool {
			args := append(slices.Clone(pool[shift:]), pool[:shift]...)
			for k := range 4 {
				bound, err := (&binder{table: table, env: env}).bind(&Call{Name: name, Args: args[:k]})
				var rejected *BindError
				if err != nil && !errors.As(err, &rejected) {
					t.Fatal(err)
				}
				if err == nil && bound.Type().Kind == schema.String {
					if literal, ok := bound.(*Literal); ok && len(literal.Value.S) > 8*maxText {
						t.Fatalf("%s made %d bytes", name, len(literal.Value.S))
					}
				}
			}
		}
	})
}

// TestInexactFunctions holds comparisons with exp and its like to answers that no engine's last digit could turn.
func TestInexactFunctions(t *testing.T) {
	table := testTable(t)
	for sql, want := range map[string]string{
		"exp(d) > 2.7D":                "true",
		"exp(d) > 2.8D":                "false",
		"exp(d) > 2.718281828459045D":  "doubt",
		"exp(d) <> 2.718281828459045D": "doubt",
		"exp(d) = exp(d + 0D)":         "doubt",
		"exp(1) > 2.7D":                "true",
		"ln(d - 1) > 0":                "null",
		"ln(d - 1) IS NULL":            "true",
		"ln(d) IS NULL":                "false",
		"floor(exp(d)) = 2":            "doubt",
		"exp(d * 1000) > 5D":           "doubt", // whether that is infinite is decided by the last digit, too
		"pow(d, 'NaN') > 5D":           "true",
	} {
		e, err := Parse(sql, ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Bind(e, table, Env{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.Eval(oneValue{FloatOf(schema.Double, 1)})
		got := fmt.Sprint(v.I == 1)
		var doubt *UnsupportedError
		switch {
		case errors.As(err, &doubt):
			got = "doubt"
		case err != nil:
			t.Fatal(err)
		case v.Null:
			got = "null"
		}
		if got != want {
			t.Errorf("%s is %s instead of %s", sql, got, want)
		}
	}
}
