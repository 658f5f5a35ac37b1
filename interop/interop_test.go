package interop

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

const testSchema = `{"type":"struct","fields":[
	{"name":"id","type":"long","nullable":true,"metadata":{}},
	{"name":"small","type":"integer","nullable":true,"metadata":{}},
	{"name":"site","type":"string","nullable":true,"metadata":{}},
	{"name":"at","type":"timestamp","nullable":true,"metadata":{}},
	{"name":"local","type":"timestamp_ntz","nullable":true,"metadata":{}},
	{"name":"day","type":"date","nullable":true,"metadata":{}},
	{"name":"amount","type":"decimal(10,2)","nullable":true,"metadata":{}},
	{"name":"x","type":"double","nullable":true,"metadata":{}},
	{"name":"f","type":"float","nullable":true,"metadata":{}},
	{"name":"flag","type":"boolean","nullable":true,"metadata":{}},
	{"name":"padded","type":"string","nullable":true,"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"char(5)"}},
	{"name":"nested","type":{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]},"nullable":true,"metadata":{}}]}`

func testTable(t testing.TB) *schema.Table {
	t.Helper()
	table, err := schema.Parse(testSchema, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// opaques lists the reasons of what a tree does not understand.
func opaques(e predicate.Expr) (reasons []string) {
	if o, ok := e.(*predicate.Opaque); ok {
		reasons = append(reasons, o.Reason)
	}
	for _, c := range e.Children() {
		reasons = append(reasons, opaques(c)...)
	}
	return reasons
}

func TestFromSubstrait(t *testing.T) {
	table := testTable(t)
	for _, tt := range []struct{ name, want, opaque string }{
		{"and", "id < 50L AND site = 'a'", ""},
		{"or", "id < 5L OR id >= 100L", ""},
		{"not", "id IS NULL OR id <> 3L", ""},
		{"not_equal", "id IS NULL OR id <> 3L", ""},
		{"isin", "id IN (1L, 2L, 3L)", ""},
		{"not_isin", "site IS NULL OR NOT site IN ('a', 'b')", ""},
		{"null", "site IS NULL", ""},
		{"not_null", "NOT site IS NULL", ""},
		{"timestamp", "at > TIMESTAMP '2026-01-01 00:00:00Z'", ""},
		{"date", "day <= DATE '2026-01-31'", ""},
		{"decimal", "amount > 1.50", ""},
		{"float", "x > 1.5D", ""},
		{"not_float", "", "NaN is compared otherwise"},
		{"starts_with", `site LIKE 'a\\_\\%%' ESCAPE '\\'`, ""},
		{"mixed", "small < 7L", ""},
		{"arithmetic", "", "not of a column with a literal"},
		{"nested", "", "not of a column with a literal"},
		{"flipped", "id < 10L", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata/pyarrow", tt.name+".substrait"))
			if err != nil {
				t.Fatal(err)
			}
			e, err := FromSubstrait(data, table)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(opaques(e)); tt.opaque != "" && !strings.Contains(got, tt.opaque) || tt.opaque == "" && got != "[]" {
				t.Errorf("%s is not understood for %s", e, got)
			}
			if tt.opaque == "" {
				want, err := predicate.Parse(tt.want, predicate.ParseOptions{})
				if err != nil {
					t.Fatal(err)
				}
				checkSame(t, table, e, want)
			}
		})
	}
}

// checkSame compares two trees as they are once bound.
func checkSame(t *testing.T, table *schema.Table, got, want predicate.Expr) {
	t.Helper()
	g, err := predicate.Bind(got, table, predicate.Env{})
	if err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	w, err := predicate.Bind(want, table, predicate.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if g.Root.String() != w.Root.String() {
		t.Errorf("%s, want %s", g.Root, w.Root)
	}
}

func TestFromJSON(t *testing.T) {
	table := testTable(t)
	for _, tt := range []struct{ text, want, opaque string }{
		{`true`, "TRUE", ""},
		{`{"type":"false"}`, "FALSE", ""},
		{`{"type":"and","left":{"type":"lt","term":"id","value":50},"right":{"type":"in","term":"site","values":["a","b"]}}`, "id < 50L AND site IN ('a', 'b')", ""},
		{`{"type":"or","left":{"type":"lt-eq","term":"nested.a","value":-7},"right":{"type":"is-null","term":"site"}}`, "nested.a <= -7L OR site IS NULL", ""},
		{`{"type":"not","child":{"type":"gt-eq","term":"id","value":9223372036854775807}}`, "id IS NULL OR id < 9223372036854775807L", ""},
		{`{"type":"not-eq","term":"id","value":5}`, "id IS NULL OR id <> 5L", ""},
		{`{"type":"not","child":{"type":"not","child":{"type":"eq","term":"id","value":5}}}`, "id IS NULL OR id = 5L", ""},
		{`{"type":"not-in","term":"id","values":[1]}`, "id IS NULL OR NOT id IN (1L)", ""},
		{`{"type":"in","term":"id","values":[]}`, "FALSE", ""},
		{`{"type":"not-null","term":"id"}`, "NOT id IS NULL", ""},
		{`{"type":"starts-with","term":"site","value":"a%"}`, `site LIKE 'a\\%%' ESCAPE '\\'`, ""},
		{`{"type":"eq","term":"day","value":"2026-01-31"}`, "day = DATE '2026-01-31'", ""},
		{`{"type":"gt","term":"at","value":"2026-01-31T12:00:00.000001+01:00"}`, "at > TIMESTAMP '2026-01-31 11:00:00.000001Z'", ""},
		{`{"type":"gt","term":"local","value":"2026-01-31T12:00:00"}`, "local > TIMESTAMP_NTZ '2026-01-31 12:00:00'", ""},
		{`{"type":"eq","term":"amount","value":"14.20"}`, "amount = 14.20BD", ""},
		{`{"type":"eq","term":"flag","value":true}`, "flag = TRUE", ""},
		{`{"type":"lt","term":"f","value":0.5}`, "f < 0.5D", ""},
		{`{"type":"lt","term":"f","value":0.1}`, "", "no float is equal to"},
		{`{"type":"not-eq","term":"x","value":1}`, "", "NaN"},
		{`{"type":"eq","term":"amount","value":"14.205"}`, "", "no value of type decimal(10,2)"},
		{`{"type":"eq","term":"at","value":"2026-01-31T12:00:00"}`, "", "no value of type timestamp"},
		{`{"type":"eq","term":"id","value":1.5}`, "", "no value of type bigint"},
		{`{"type":"eq","term":"id","value":"1"}`, "", "no value of type bigint"},
		{`{"type":"eq","term":"padded","value":"a"}`, "", "char columns are padded"},
		{`{"type":"is-nan","term":"x"}`, "", "is-nan"},
		{`{"type":"eq","term":{"type":"transform","transform":"bucket[16]","term":"id"},"value":3}`, "", "no column's name"},
	} {
		e, err := FromJSON([]byte(tt.text), table)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got := fmt.Sprint(opaques(e)); tt.opaque != "" && !strings.Contains(got, tt.opaque) || tt.opaque == "" && got != "[]" {
			t.Errorf("%s becomes %s, not understood for %s", tt.text, e, got)
		}
		if tt.opaque == "" {
			want, err := predicate.Parse(tt.want, predicate.ParseOptions{})
			if err != nil {
				t.Fatal(err)
			}
			checkSame(t, table, e, want)
		}
	}
}

func TestMalformed(t *testing.T) {
	table := testTable(t)
	deep := strings.Repeat(`{"type":"not","child":`, 1000) + "true" + strings.Repeat("}", 1000)
	for _, text := range []string{``, `{`, `7`, `"x"`, `[]`, `{}`, `{"type":"and","left":true}`, `{"type":"lt","term":"id"}`, `{"type":"lt","value":1}`, `{"type":"in","term":"id"}`, `true true`, deep, strings.Repeat(" ", MaxBytes+1)} {
		var malformed *MalformedError
		if e, err := FromJSON([]byte(text), table); !errors.Is(err, ErrMalformed) || !errors.As(err, &malformed) {
			t.Errorf("%.40s: %v, %v", text, e, err)
		}
	}
	whole, err := os.ReadFile("testdata/pyarrow/and.substrait")
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{nil, []byte("no protobuf"), whole[:len(whole)-9], append(whole[:len(whole):len(whole)], whole...), make([]byte, MaxBytes+1)} {
		if e, err := FromSubstrait(data, table); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d bytes: %v, %v", len(data), e, err)
		}
	}
	// A column that is not there is the caller's mistake, not the format's.
	if _, err := FromJSON([]byte(`{"type":"is-null","term":"nowhere"}`), table); err == nil || errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("%v", err)
	}
}

// TestForeignFunctions: what another extension calls lt may be anything.
func TestForeignFunctions(t *testing.T) {
	data, err := os.ReadFile("testdata/pyarrow/flipped.substrait")
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(data), "https://github.com/substrait-io/", "https://github.com/substrait-xx/", 1)
	e, err := FromSubstrait([]byte(changed), testTable(t))
	if err != nil || len(opaques(e)) != 1 || !strings.Contains(opaques(e)[0], "another extension") {
		t.Errorf("%v, %v", e, err)
	}
}

// testRow has values of id, x and site.
type testRow map[string]predicate.Value

func (r testRow) Value(c *schema.Column) predicate.Value { return r[c.Path[0]] }

// A verdict of the rules that others have: +1 true, 0 NULL, -1 false.
func (n *node) others(row testRow, iceberg bool) int {
	truth := func(b bool) int {
		if b {
			return 1
		}
		return -1
	}
	switch n.kind {
	case and, or:
		result := 1
		for _, a := range n.args {
			v := a.others(row, iceberg)
			if n.kind == or {
				v = -v
			}
			result = min(result, v)
		}
		if n.kind == or {
			result = -result
		}
		return result
	case not:
		return -n.args[0].others(row, iceberg)
	case isNull:
		return truth(row.Value(n.left).Null)
	}
	v := row.Value(n.left)
	if v.Null {
		if iceberg { // two values: what is negative holds
			return truth(n.kind == compare && n.op == predicate.NE)
		}
		return 0
	}
	switch n.kind {
	case in:
		for _, w := range n.values {
			if v.Compare(w) == 0 && !math.IsNaN(v.F) {
				return 1
			}
		}
		return -1
	case startsWith:
		return truth(strings.HasPrefix(v.S, n.pattern))
	}
	w := n.values[0]
	if math.IsNaN(v.F) || math.IsNaN(w.F) { // as IEEE has it
		return truth(n.op == predicate.NE)
	}
	c := v.Compare(w)
	return truth(map[predicate.CompareOp]bool{
		predicate.EQ: c == 0, predicate.NE: c != 0, predicate.LT: c < 0, predicate.LE: c <= 0, predicate.GT: c > 0, predicate.GE: c >= 0,
	}[n.op])
}

func drawNode(t *rapid.T, table *schema.Table, depth int) *node {
	k := rapid.SampledFrom([]kind{and, or, not, not, compare, compare, in, isNull, startsWith})
	n := &node{kind: k.Draw(t, "kind")}
	if depth == 0 && n.kind < compare {
		n.kind = compare
	}
	switch n.kind {
	case and, or:
		n.args = []*node{drawNode(t, table, depth-1), drawNode(t, table, depth-1)}
		return n
	case not:
		n.args = []*node{drawNode(t, table, depth-1)}
		return n
	}
	name := rapid.SampledFrom([]string{"id", "x", "site"}).Draw(t, "column")
	if n.kind == startsWith {
		name = "site"
	}
	var err error
	if n.left, err = table.Lookup(name); err != nil {
		t.Fatal(err)
	}
	n.pattern = rapid.SampledFrom([]string{"", "a", "%", "_", `\`}).Draw(t, "prefix")
	n.op = rapid.SampledFrom([]predicate.CompareOp{predicate.EQ, predicate.NE, predicate.LT, predicate.LE, predicate.GT, predicate.GE}).Draw(t, "op")
	known := someValues[name][1:] // the front ends let neither NULL nor NaN through
	for range rapid.IntRange(1, 3).Draw(t, "values") {
		n.values = append(n.values, rapid.SampledFrom(known[:len(known)-1]).Draw(t, "value"))
	}
	return n
}

// someValues of each column begin with NULL; those of x end in NaN.
var someValues = map[string][]predicate.Value{"id": {predicate.NullOf(schema.Type{Kind: schema.Long})}, "x": {predicate.NullOf(schema.Type{Kind: schema.Double})}, "site": {predicate.NullOf(schema.Type{Kind: schema.String})}}

func init() {
	for i := range int64(4) {
		someValues["id"] = append(someValues["id"], predicate.IntOf(schema.Long, i))
	}
	for _, x := range []float64{0, 1, math.Inf(1), math.Inf(-1), math.NaN()} {
		someValues["x"] = append(someValues["x"], predicate.FloatOf(schema.Double, x))
	}
	for _, site := range []string{"", "a", "ab", "%a", "_", `\a`} {
		someValues["site"] = append(someValues["site"], predicate.StringOf(site))
	}
}

// TestNeverLessThanOthers: what holds for a row by the rules of Arrow or Iceberg holds here as well.
func TestNeverLessThanOthers(t *testing.T) {
	table := testTable(t)
	rapid.Check(t, func(t *rapid.T) {
		n := drawNode(t, table, 3)
		p, err := predicate.Bind(n.mayHold(), table, predicate.Env{})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range someValues["id"] {
			for _, x := range someValues["x"] {
				for _, site := range someValues["site"] {
					checkHolds(t, n, p, testRow{"id": id, "x": x, "site": site})
				}
			}
		}
	})
}

func checkHolds(t *rapid.T, n *node, p *predicate.Predicate, row testRow) {
	got, err := p.Eval(row)
	var doubt *predicate.UnsupportedError
	if errors.As(err, &doubt) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, iceberg := range []bool{false, true} {
		if n.others(row, iceberg) > 0 && (got.Null || got.I == 0) {
			t.Fatalf("%s is %v for %v, but holds elsewhere (Iceberg: %t)", p.Root, got, row, iceberg)
		}
	}
}

func FuzzFromJSON(f *testing.F) {
	table := testTable(f)
	f.Add([]byte(`{"type":"and","left":{"type":"lt","term":"id","value":50},"right":{"type":"not","child":{"type":"in","term":"site","values":["a","b"]}}}`))
	f.Add([]byte(`{"type":"eq","term":"at","value":"2026-01-31T12:00:00.000001+01:00"}`))
	f.Add([]byte(`{"type":"eq","term":"amount","value":"-14.2"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := FromJSON(data, table)
		checkBinds(t, table, e, err)
	})
}

func FuzzFromSubstrait(f *testing.F) {
	table := testTable(f)
	files, err := filepath.Glob("testdata/pyarrow/*.substrait")
	if err != nil || len(files) == 0 {
		f.Fatal("no predicates", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := FromSubstrait(data, table)
		checkBinds(t, table, e, err)
	})
}

// checkBinds: what is understood can be used.
func checkBinds(t *testing.T, table *schema.Table, e predicate.Expr, err error) {
	if (err == nil) != (e != nil) {
		t.Fatalf("%v, %v", e, err)
	}
	if err != nil {
		return
	}
	if _, err := predicate.Bind(e, table, predicate.Env{}); err != nil {
		t.Fatalf("%s: %v", e, err)
	}
}
