package vectorized

import (
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// unusableTable asks for statistics of all columns but the last.
var unusableTable = func() *schema.Table {
	var fields []string
	for _, f := range [][2]string{
		{"l", `"long"`}, {"l2", `"long"`}, {"d", `"double"`}, {"s", `"string"`}, {"ts", `"timestamp"`}, {"bin", `"binary"`}, {"bo", `"boolean"`},
		{"ch", `"string"`}, {"lc", `"string"`}, {"arr", `{"type":"array","elementType":"long","containsNull":true}`},
		{"p", `"integer"`}, {"ps", `"string"`}, {"late", `"long"`},
	} {
		metadata := map[string]string{"ch": `"__CHAR_VARCHAR_TYPE_STRING":"char(4)"`, "lc": `"__COLLATIONS":{"lc":"spark.UTF8_LCASE"}`}[f[0]]
		fields = append(fields, `{"name":"`+f[0]+`","type":`+f[1]+`,"nullable":true,"metadata":{`+metadata+`}}`)
	}
	t, err := schema.Parse(`{"type":"struct","fields":[`+strings.Join(fields, ",")+`]}`, []string{"p", "ps"}, map[string]string{"delta.dataSkippingNumIndexedCols": "10"})
	if err != nil {
		panic(err)
	}
	return t
}()

func TestUnusable(t *testing.T) {
	const binary = "bin: writers disagree on how to write bounds of binary values"
	tests := []struct{ sql, conjunct, reason string }{
		{sql: "l < 5"},
		{sql: "l IS NULL AND bin IS NOT NULL"},
		{sql: "length(s) = 3"},
		{sql: "p = 3 AND ps LIKE 'a%'"},
		{sql: "l < 5 OR d > 3"},
		{sql: "l BETWEEN 1 AND 3 AND ch = 'a'", conjunct: "ch = 'a'", reason: "ch: char(4) values are padded when they are read, their bounds are not"},
		{"bin = X'00' AND l < 5", "bin = X'00'", binary},
		{"l < 5 AND l IN (SELECT 1)", "l IN (SELECT 1)", "a subquery is evaluated by the engine that runs it"},
		{"l < 5 OR length(bin) = 3", "(l < 5) OR (length(bin) = 3)", binary},
		{"l < 5 AND rand() > 0.5", "rand() > 0.5", "its value may differ from row to row and from run to run"},
		{"l < 5 AND my_function(l) = 1e3", "my_function(l) = 1e3", "the function my_function is not known here"},
		{"bo", "bo", "bo: bounds of boolean values are not relied on: most writers write none"},
		{"lc = 'a'", "lc = 'a'", "lc: bounds follow the binary order of strings, not the collation UTF8_LCASE"},
		{"p = 1 AND late = 3L", "late = 3L", "late: " + notGathered},
		{"late IS NULL", "late IS NULL", "late: " + notGathered},
		{"arr IS NOT NULL AND arr[0] = 1", "arr[0] = 1", "what is inside arrays and maps has no statistics"},
		{"_metadata.file_name = 'a'", "_metadata.file_name = 'a'", "metadata columns are known to the reader only"},
	}
	for _, tt := range tests {
		t.Run(tt.sql, func(t *testing.T) {
			e, err := predicate.Parse(tt.sql, predicate.ParseOptions{})
			if err != nil {
				t.Fatal(err)
			}
			bound, err := predicate.Bind(e, unusableTable, predicate.Env{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := Compile([]*predicate.Predicate{bound}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := p.Unusable()
			switch {
			case tt.conjunct == "" && len(got) == 0:
			case len(got) != 1:
				t.Errorf("got %+v, want %q", got, tt.conjunct)
			case got[0].Reason != tt.reason || got[0].Conjunct != tt.conjunct:
				t.Errorf("got %q: %q, want %q: %q", got[0].Conjunct, got[0].Reason, tt.conjunct, tt.reason)
			}
		})
	}
}
