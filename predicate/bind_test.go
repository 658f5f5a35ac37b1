package predicate

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/deltaskip/deltaskip/schema"
)

func testTable(t testing.TB) *schema.Table {
	t.Helper()
	table, err := schema.Parse(`{"type":"struct","fields":[
		{"name":"b","type":"byte"},{"name":"sh","type":"short"},{"name":"i","type":"integer"},{"name":"l","type":"long"},
		{"name":"f","type":"float"},{"name":"d","type":"double"},{"name":"dec","type":"decimal(5,2)"},{"name":"dec2","type":"decimal(10,4)"},
		{"name":"bigdec","type":"decimal(38,10)"},{"name":"s","type":"string"},{"name":"s2","type":"string"},{"name":"bin","type":"binary"},
		{"name":"bo","type":"boolean"},{"name":"dt","type":"date"},{"name":"ts","type":"timestamp"},{"name":"ntz","type":"timestamp_ntz"},
		{"name":"st","type":{"type":"struct","fields":[{"name":"x","type":"integer"},{"name":"y","type":"string"},{"name":"a.b","type":"long"}]}},
		{"name":"arr","type":{"type":"array","elementType":"integer","containsNull":true}},
		{"name":"m","type":{"type":"map","keyType":"string","valueType":"integer","valueContainsNull":true}},
		{"name":"lc","type":"string","metadata":{"__COLLATIONS":{"lc":"spark.UTF8_LCASE"}}},
		{"name":"un","type":"string","metadata":{"__COLLATIONS":{"un":"icu.UNICODE"}}},
		{"name":"c","type":"string","metadata":{"__CHAR_VARCHAR_TYPE_STRING":"char(3)"}},
		{"name":"p","type":"integer"},{"name":"q","type":"string"}
	]}`, []string{"p", "q"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestBindPrints(t *testing.T) {
	table := testTable(t)
	for sql, want := range map[string]string{
		"l < '50'":                            "l < 50L",
		"b = 128":                             "FALSE",
		"b < 128":                             "NOT (b IS NULL)",
		"l < 9223372036854775808":             "TRUE", // also where l is NULL: Spark forgets
		"l <= 9223372036854775807.5":          "TRUE",
		"-9223372036854775809 >= i":           "FALSE",
		"l = 9223372036854775808":             "FALSE",
		"q < 'abc' COLLATE UTF8_LCASE":        "CAST(q AS string collate UTF8_LCASE) < ('abc' COLLATE UTF8_LCASE)",
		"f = 0.1D":                            "FALSE",
		"f < 0.1D":                            "f <= 0.099999994F",
		"i < 2.5":                             "i <= 2",
		"I IN (1, 2.5, '3', 1)":               "i IN (1, 3)",
		"dt = '2020-01-01'":                   "dt = DATE'2020-01-01'",
		"dec = 1":                             "dec = CAST(1.00BD AS decimal(5,2))",
		"dec > 1.555":                         "dec > CAST(1.55BD AS decimal(5,2))",
		"c = 'a'":                             "readSidePadding(c, 3) = 'a  '",
		"5 > i":                               "i < 5",
		"i = i":                               "NOT (i IS NULL)",
		"i <=> NULL":                          "i IS NULL",
		"CASE WHEN bo THEN l < 'abc' END":     "CASE WHEN bo THEN l < CAST('abc' AS bigint) END",
		"arr[0] = 3":                          "(arr[0]) = 3",
		"st.`A.B` = 1":                        "st.`a.b` = 1L",
		"ts < TIMESTAMP'2020-01-01 00:00:00'": "ts < CAST('2020-01-01 00:00:00Z' AS timestamp)",
	} {
		e, err := Parse(sql, ParseOptions{})
		if err != nil {
			t.Error(err)
			continue
		}
		p, err := Bind(e, table, Env{})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if got := p.Root.String(); got != want {
			t.Errorf("%s:\n got %s\nwant %s", sql, got, want)
		}
	}
}

// TestBindingAgainstSpark binds the expressions of testdata/binding.tsv over testTable's columns. A line is an expression,
// or a filter after WHERE, and the type that Spark 4.1 gives it, or ! and the class of its error. A third column says how we differ on
// purpose: our answer, or "opaque" where the expression is of a type that we don't know.
func TestBindingAgainstSpark(t *testing.T) {
	data, err := os.ReadFile("testdata/binding.tsv")
	if err != nil {
		t.Fatal(err)
	}
	table := testTable(t)
	for line := range strings.Lines(string(data)) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		want := columns[len(columns)-1]
		if got := binding(columns[0], table); got != want {
			t.Errorf("%s\n got %s\nwant %s", columns[0], got, want)
		}
	}
}

func binding(sql string, table *schema.Table) string {
	filter, isFilter := strings.CutPrefix(sql, "WHERE ")
	e, err := Parse(filter, ParseOptions{})
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		return "!" + syntax.Class
	}
	env := Env{Now: time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)}
	if err == nil && isFilter {
		var p *Predicate
		if p, err = Bind(e, table, env); err == nil {
			e = p.Root
		}
	} else if err == nil {
		e, err = (&binder{table: table, env: &env}).bind(e)
	}
	var rejected *BindError
	switch {
	case errors.As(err, &rejected):
		return "!" + rejected.Class
	case err != nil:
		return "?" + err.Error()
	case e.Type().Kind == schema.Invalid:
		return "opaque"
	}
	return e.Type().String()
}
