package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// testSchema has a name with a space, one that is also a literal in tests, and a struct.
func testSchema(t testing.TB) *schema.Table {
	t.Helper()
	field := func(name, typ string) string {
		return fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{}}`, name, typ)
	}
	fields := []string{
		field("id", `"long"`), field("x", `"integer"`), field("the x", `"integer"`), field("name", `"string"`), field("day", `"date"`),
		field("at", `"timestamp"`), field("flag", `"boolean"`), field("amount", `"decimal(10,2)"`), field("f", `"double"`),
		field("a", `{"type":"struct","fields":[`+field("b", `"long"`)+`,`+field("s", `"string"`)+`]}`),
	}
	table, err := schema.Parse(`{"type":"struct","fields":[`+strings.Join(fields, ",")+`]}`, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestParseConjunct(t *testing.T) {
	table := testSchema(t)
	for _, tt := range []struct {
		text, usable string
		dropped      bool
	}{
		// As Catalyst prints trees.
		{text: "(id#1503L = 2)", usable: "id = 2"},
		{text: "id#39L IN (5,6,7)", usable: "id IN (5, 6, 7)"},
		{text: "((id#4468 > 6) AND (id#4468 < 9))", usable: "id > 6 | id < 9"},
		{text: "((id#697L % cast(2 as bigint)) = cast(0 as bigint))", usable: "(id % CAST(2 AS bigint)) = CAST(0 AS bigint)"},
		{text: "(the x#58533 > 100)", usable: "`the x` > 100"},
		{text: "(a#4224.b >= 505)", usable: "a.b >= 505"},
		{text: "(a#4224.s = du bist)", usable: "a.s = 'du bist'"},
		{text: "(ID#1 < -5)", usable: "ID < -5"},
		{text: "(f#1 < -1.0E300)", usable: "f < -1E+300D"},
		{text: "(flag#12 = false)", usable: "flag = FALSE"},
		{text: "NOT flag#12", usable: "NOT flag"},
		{text: "isnull(name#103768)", usable: "isnull(name)"},
		{text: "(name#40 = Dennis)", usable: "name = 'Dennis'"},
		{text: "(name#40 = name)", usable: "name = 'name'"},
		{text: "(name#40 = New York)", usable: "name = 'New York'"},
		{text: "NOT (name#40 = )", usable: "NOT (name = '')"},
		{text: "(name#40 > 5)", usable: "name > '5'"},
		{text: "(abc < name#40)", usable: "'abc' < name"},
		{text: "(name#40 = null)", usable: "name = 'null'"},
		{text: "(name#40 = a AND b)", usable: "name = 'a AND b'"},
		{text: "name#1 IN (a,b)", usable: "name IN ('a', 'a,b', 'b')"},
		{text: "Contains(name#7, zz)", usable: "contains(name, 'zz')"},
		{text: "(day#5 >= 2024-02-01)", usable: "day >= '2024-02-01'"},
		{text: "(at#5 > 2024-01-01 00:00:00.1241)", usable: "at > '2024-01-01 00:00:00.1241'"},
		{text: "((id#1L < 5) AND (name#2 LIKE a%))", dropped: true},
		{text: "(name#40 = it's)", dropped: true},
		{text: "(name#40 = '')", dropped: true},
		{text: `(name#40 = "(")`, dropped: true},
		{text: "(name#40 = )--)", dropped: true},
		{text: "(name#40 = )/*)", dropped: true},
		{text: "(name#40 = f(x))", dropped: true},
		{text: "(cast(id#165024L as string) = 7)", dropped: true},
		{text: "(cast(day#1 as string) = 2024-01-01)", dropped: true},
		{text: "(day#5 >= someday)", dropped: true},
		{text: "(upper(name#40) = EU)", dropped: true},
		{text: "(upper(name#40) = name)", dropped: true},
		{text: "(id#199933L < cast(scalar-subquery#199935 [] as bigint))", dropped: true},
		{text: "(gone#7 = 1)", dropped: true},
		{text: "(id#6633 = source_id#6635)", dropped: true},
		// As SQL.
		{text: "id > 5 AND name = 'x'", usable: "id > 5 | name = 'x'"},
		{text: "((`id` % CAST(2 AS BIGINT)) = CAST(0 AS BIGINT))", usable: "(id % CAST(2 AS bigint)) = CAST(0 AS bigint)"},
		{text: "(spark_catalog.delta.`/tmp/t`.id IN (0, 9))", usable: "id IN (0, 9)"},
		{text: "(spark_catalog.delta.`/tmp/t`.name = 'spark_catalog.a.b.c')", dropped: true},
		{text: "true", usable: "TRUE"},
		{text: "id > 5 AND gone = 3", usable: "id > 5", dropped: true},
		{text: "id > ", dropped: true},
		{text: "", dropped: true},
	} {
		t.Run(tt.text, func(t *testing.T) {
			usable, dropped := parseConjunct(tt.text, table, predicate.Env{})
			var texts []string
			for _, e := range usable {
				texts = append(texts, e.String())
			}
			if got := strings.Join(texts, " | "); got != tt.usable || (len(dropped) > 0) != tt.dropped {
				t.Errorf("usable %q, want %q; dropped %q", got, tt.usable, dropped)
			}
		})
	}
}

// TestCatalystTextIsNeverNarrower: what a literal of any text may have been, the row that it matches is matched by what is
// read back.
func TestCatalystTextIsNeverNarrower(t *testing.T) {
	table := testSchema(t)
	name, err := table.Lookup("name")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringMatching(`[a-c ,.()#'"\\0-9-]{0,6}|''|\)--|\)/\*|"\("|null|name|id|x AND y|2024-01-01`), 1, 4).Draw(t, "literals")
		var printed string
		switch form := rapid.SampledFrom([]string{"=", "<=", ">=", "IN", "StartsWith", "left"}).Draw(t, "form"); form {
		case "IN":
			printed = "name#7 IN (" + strings.Join(texts, ",") + ")"
		case "StartsWith":
			printed = "StartsWith(name#7, " + texts[0] + ")"
		case "left":
			printed = "(" + texts[0] + " <= name#7)"
		default:
			printed = "(name#7 " + form + " " + texts[0] + ")"
		}
		usable, _ := parseConjunct(printed, table, predicate.Env{})
		for _, e := range usable {
			p, err := predicate.Bind(e, table, predicate.Env{})
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range texts[:1] {
				v, err := p.Eval(row{name: predicate.StringOf(text)})
				if err != nil || v.Null || v.I == 0 {
					t.Fatalf("%s was read as %s, which is not TRUE for %q (%v)", printed, e, text, err)
				}
			}
		}
	})
}

type row map[*schema.Column]predicate.Value

func (r row) Value(c *schema.Column) predicate.Value { return r[c] }

func TestReadsOf(t *testing.T) {
	table := testSchema(t)
	const (
		add      = `{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`
		remove   = `{"remove":{"path":"b","dataChange":true}}`
		moved    = `{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":false}}`
		removed  = `{"remove":{"path":"b","dataChange":false}}`
		metadata = `{"txn":{"appId":"a","version":1}}`
	)
	info := func(operation, parameters, more string) string {
		return fmt.Sprintf(`{"commitInfo":{"operation":%q,"operationParameters":{%s}%s}}`, operation, parameters, more)
	}
	for _, tt := range []struct {
		name    string
		commit  []string
		source  Source
		reads   string
		noteHas string
	}{
		{"no commitInfo", []string{add}, Unknown, "unknown", "no commitInfo"},
		{"a blind append", []string{info("WRITE", `"mode":"Append"`, `,"isBlindAppend":true`), add}, Nothing, "nothing", ""},
		{"a flag that lies", []string{info("WRITE", `"mode":"Overwrite"`, `,"isBlindAppend":true`), add, remove}, Whole, "whole table", ""},
		{"an append that read", []string{info("WRITE", `"mode":"Append"`, `,"isBlindAppend":false`), add}, Unknown, "unknown", "WRITE"},
		{"an append that doesn't say", []string{info("WRITE", `"mode":"Append"`, ``), add}, Unknown, "unknown", "WRITE"},
		{"replaceWhere", []string{info("WRITE", `"mode":"Overwrite","predicate":"(id = 2)"`, ``), add, remove}, Predicate, "id = 2", ""},
		{"DELETE by predicate", []string{info("DELETE", `"predicate":"[\"(id#1L = 2)\",\"(x#2 > 1)\"]"`, ``), add, remove}, Predicate, "(id = 2) AND (x > 1)", ""},
		{"DELETE that found nothing", []string{info("DELETE", `"predicate":"[\"(id#1L = 2)\"]"`, ``)}, Predicate, "id = 2", ""},
		{"DELETE of everything", []string{info("DELETE", `"predicate":"[]"`, ``), remove}, Whole, "whole table", ""},
		{"UPDATE by half a predicate", []string{info("UPDATE", `"predicate":"[\"(id#1L = 2)\",\"(upper(name#3) = A)\"]"`, ``), add, remove}, Predicate, "id = 2", "cannot be read back"},
		{"UPDATE by nothing usable", []string{info("UPDATE", `"predicate":"[\"(upper(name#3) = A)\"]"`, ``), add, remove}, Unknown, "unknown", "upper(name) = A"},
		{"MERGE", []string{info("MERGE", `"predicate":"[\"(id#1L = id#2L)\"]"`, ``), add, remove}, Unknown, "unknown", "source"},
		{"OPTIMIZE", []string{info("OPTIMIZE", `"predicate":"[]"`, ``), moved, removed}, Files, "files", ""},
		{"no files", []string{info("SET TBLPROPERTIES", ``, ``), metadata}, Nothing, "nothing", ""},
		{"RESTORE", []string{info("RESTORE", ``, ``), add, remove}, Unknown, "unknown", "RESTORE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := deltalog.ParseCommit(7, logstore.Entry{}, []byte(strings.Join(tt.commit, "\n")))
			if err != nil {
				t.Fatal(err)
			}
			reads, err := readsOf(c, table, predicate.Env{Zone: time.UTC})
			if err != nil {
				t.Fatal(err)
			}
			if reads.Source != tt.source || reads.String() != tt.reads || (reads.Note == "") != (tt.noteHas == "") || !strings.Contains(reads.Note, tt.noteHas) {
				t.Errorf("%+v", reads)
			}
		})
	}
}

func FuzzReadsOf(f *testing.F) {
	table := testSchema(f)
	for _, s := range []string{`["(id#1L = 2)"]`, `(name#7 = a'b)`, "[", "[1]", "`#1", "id#", strings.Repeat("(", 1000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parameter, err := json.Marshal(text)
		if err != nil {
			t.Skip()
		}
		line := fmt.Sprintf(`{"commitInfo":{"operation":"DELETE","operationParameters":{"predicate":%s}}}`, parameter)
		c, err := deltalog.ParseCommit(1, logstore.Entry{}, []byte(line))
		if err != nil {
			t.Skip()
		}
		reads, err := readsOf(c, table, predicate.Env{})
		if err != nil {
			t.Fatal(err)
		}
		if reads.Source == Predicate {
			e, err := predicate.Parse(reads.Predicate, predicate.ParseOptions{})
			if err == nil {
				_, err = predicate.Bind(e, table, predicate.Env{})
			}
			if err != nil {
				t.Fatalf("%q was read as %q: %v", text, reads.Predicate, err)
			}
		}
	})
}
