package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestForeignPredicates(t *testing.T) {
	low := writeFile(t, "low.json", `{"type":"lt","term":"id","value":500}`)
	doubtful := writeFile(t, "doubtful.json", `{"type":"and","left":{"type":"lt","term":"id","value":500},"right":{"type":"is-nan","term":"amount"}}`)
	broken := writeFile(t, "broken.json", `{"type":"lt"`)
	elsewhere := writeFile(t, "elsewhere.json", `{"type":"is-null","term":"nowhere"}`)
	substrait := filepath.Join("..", "..", "interop", "testdata", "pyarrow")
	for _, tt := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"files", eventsTable, "--where-json", low}, exitDone, []string{"id in [0, 999]", "kept 1 of 3"}},
		{[]string{"files", eventsTable, "--where-json", doubtful}, exitDone, []string{"kept 1 of 3", "not usable", "is-nan"}},
		{[]string{"files", eventsTable, "--where-json", low, "--where", "id > 2500", "--count"}, exitDone, []string{"2 of 3"}},
		{[]string{"files", eventsTable, "--where-substrait", filepath.Join(substrait, "and.substrait")}, exitDone, []string{"kept 0 of 3"}},
		{[]string{"files", eventsTable, "--where-substrait", filepath.Join(substrait, "isin.substrait")}, exitDone, []string{"kept 1 of 3"}},
		{[]string{"files", eventsTable, "--where-json", broken}, exitError, []string{"broken.json", "not a predicate in Iceberg JSON"}},
		{[]string{"files", eventsTable, "--where-json", elsewhere}, exitError, []string{"elsewhere.json", "nowhere"}},
		{[]string{"files", eventsTable, "--where-substrait", low}, exitError, []string{"low.json", "not a predicate in Substrait"}},
		{[]string{"check", eventsTable, "--read-version", "2", "--where-json", low, "--mode", "stats"}, exitDone, []string{"may commit as version 5"}},
		{[]string{"check", eventsTable, "--read-version", "2", "--where-json", doubtful, "--mode", "stats"}, exitDone, []string{"not usable", "is-nan"}},
		{[]string{"check", eventsTable, "--txn", filepath.Join(transactions, "delete_low_ids.json"), "--where-json", low}, exitUsage, []string{"leave out the other flags"}},
	} {
		out, stderr, code := deltaskip(t, tt.args...)
		if code != tt.code {
			t.Errorf("%q: exit %d: %s%s", tt.args, code, out, stderr)
		}
		for _, want := range tt.says {
			if !strings.Contains(out+stderr, want) {
				t.Errorf("%q lacks %q:\n%s%s", tt.args, want, out, stderr)
			}
		}
	}
}
