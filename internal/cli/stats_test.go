package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestStats(t *testing.T) {
	out, stderr, code := deltaskip(t, "stats", eventsTable, "--where", "id < 500", "--where", "site = 'site-1' AND rand() > 0.5")
	if code != exitDone || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	checkSays(t, out, "version 4, 3 files", "id bigint 100 % 0 33 % 1.0 1 0 2999", "site string 100 % 0 - 2.7 3",
		"id < 500 keeps 1 of 3 files (33 %)", "site = 'site-1' AND rand() > 0.5 keeps 3 of 3 files (100 %)", "not usable:",
		"not clustered by site: a value lies in the ranges of 2.7 of 3 files")
	out, _, _ = deltaskip(t, "stats", eventsTable, "--column", "SITE", "--column", "id", "--where", "id < 500", "--format", "json")
	var got statsJSON
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != 4 || got.Files != 3 || len(got.Columns) != 2 || got.Columns[0].Column != "site" || *got.Columns[0].Low != "moved" || got.Columns[0].Width != nil {
		t.Errorf("%s", out)
	}
	if id := got.Columns[1]; id.Bounded != 3 || id.NoNull != 3 || id.MaxDepth != 1 || *id.High != "2999" || *id.Width > 0.34 {
		t.Errorf("%+v", id)
	}
	if k := got.Where[0]; k.Kept != 1 || k.Skipped.Stats != 2 || k.Share < 0.33 || k.Share > 0.34 {
		t.Errorf("%+v", k)
	}
}

func TestStatsSaysWhyNot(t *testing.T) {
	table := writeTable(t, testCreate, testAdd("a", 0, 9), `{"add":{"path":"b","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`)
	out, _, _ := deltaskip(t, "stats", table)
	checkSays(t, out, "id bigint 50 % 0 100 % 2.0 2 0 9", "id: 1 file has no bounds: the writer gathered no statistics (as in b)")
}

func TestStatsRefuses(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--column", "nope"}, exitError, "nope"},
		{[]string{"--column", "id + 1"}, exitUsage, "give a column's name"},
		{[]string{"--where", "id <"}, exitError, "syntax error"},
	} {
		_, stderr, code := deltaskip(t, append([]string{"stats", eventsTable}, tt.args...)...)
		if code != tt.code || !strings.Contains(stderr, tt.says) {
			t.Errorf("%v: exit %d, %s", tt.args, code, stderr)
		}
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0 %", 1e-9: "<0.1 %", 0.01: "1.0 %", 0.5: "50 %", 0.9999: ">99 %", 1: "100 %"} {
		if got := percent(share); got != want {
			t.Errorf("%g: %s, want %s", share, got, want)
		}
	}
}
