package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/internal/corpus"
)

func TestDisjoint(t *testing.T) {
	for _, tt := range []struct {
		name  string
		where []string
		says  []string
	}{
		{"ranges of different files", []string{"id < 500", "id BETWEEN 1000 AND 1100", "id = 2500"}, []string{
			"These 3 predicates are pairwise disjoint by statistics", "Of 3 files", "0 keeps 1: id < 500"}},
		{"different rows of one file", []string{"id < 500", "id BETWEEN 600 AND 700"}, []string{
			"1 of 1 pairs of predicates meet in version 4", "0 and 1 in 1 file, the first part-00000-9581"}},
		{"one that meets two", []string{"id < 500", "id >= 0", "id = 2500"}, []string{
			"2 of 3 pairs", "0 and 1 in 1 file", "1 and 2 in 1 file", "1 keeps 3"}},
		{"nothing can match", []string{"false", "id = id"}, []string{"pairwise disjoint", "0 keeps 0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"disjoint", eventsTable}
			for _, sql := range tt.where {
				args = append(args, "--where", sql)
			}
			out, stderr, code := deltaskip(t, args...)
			if code != exitDone || stderr != "" {
				t.Fatalf("exit %d, %s", code, stderr)
			}
			checkSays(t, out, tt.says...)
		})
	}
}

func TestDisjointQueries(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.jsonl")
	if err := os.WriteFile(file, []byte(`{"id":"low","predicate":"id < 1500"}`+"\n"+`{"id":7,"predicate":"id > 1400"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, _ := deltaskip(t, "disjoint", eventsTable, "--queries", file)
	checkSays(t, out, "low and 7 in 1 file", "low keeps 2: id < 1500")
	out, stderr, code := deltaskip(t, "disjoint", eventsTable, "--queries", file, "--format", "json", "--version", "2")
	var got disjointJSON
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitDone {
		t.Fatal(code, err, stderr)
	}
	if got.Version != 2 || got.Total != 2 || got.Disjoint || len(got.Meetings) != 1 || got.Meetings[0].Files != 1 || got.Predicates[0].ID != "low" {
		t.Errorf("%+v", got)
	}
}

func TestDisjointRefuses(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--where", "id < 5"}, exitUsage, "at least two"},
		{[]string{"--where", "id < 5", "--where", "id < 6", "--queries", "-"}, exitUsage, "not both"},
		{[]string{"--where", "id < 5", "--where", "idd < 6"}, exitError, "predicate 1"},
		{[]string{"--queries", os.DevNull}, exitError, "0 predicates"},
	} {
		_, stderr, code := deltaskip(t, append([]string{"disjoint", eventsTable}, tt.args...)...)
		if code != tt.code || !strings.Contains(stderr, tt.says) {
			t.Errorf("%v: exit %d, %s", tt.args, code, stderr)
		}
	}
}

// TestDisjointAgreesWithFiles holds the pairs to what the candidates of each predicate alone have in common.
func TestDisjointAgreesWithFiles(t *testing.T) {
	table := filepath.Join(corpus.Dir(t, "skipping"), "basic", "table")
	cases := readCases(t, filepath.Join(filepath.Dir(table), "cases.jsonl"))
	cases = slices.DeleteFunc(cases, func(c skippingCase) bool { return c.Error != nil })
	rapid.Check(t, func(rt *rapid.T) {
		file := filepath.Join(t.TempDir(), "queries.jsonl")
		var lines []byte
		for range rapid.IntRange(2, 6).Draw(rt, "n") {
			c := rapid.SampledFrom(cases).Draw(rt, "case")
			line, err := json.Marshal(query{ID: c.ID, Predicate: c.Predicate})
			if err != nil {
				rt.Fatal(err)
			}
			lines = append(append(lines, line...), '\n')
		}
		if err := os.WriteFile(file, lines, 0o600); err != nil {
			rt.Fatal(err)
		}
		out, stderr, code := deltaskip(t, "disjoint", table, "--queries", file, "--format", "json")
		var got disjointJSON
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitDone {
			rt.Fatal(code, err, stderr)
		}
		out, _, _ = deltaskip(t, "files", table, "--queries", file)
		var kept [][]string
		for line := range strings.Lines(out) {
			var ans answer
			if err := json.Unmarshal([]byte(line), &ans); err != nil || ans.Error != nil {
				rt.Fatal(err, line)
			}
			kept = append(kept, ans.Candidates)
		}
		var want, found []string
		for i := range kept {
			if n := int64(len(kept[i])); got.Predicates[i].Files != n {
				rt.Fatalf("predicate %d keeps %d, files says %d", i, got.Predicates[i].Files, n)
			}
			for j := i + 1; j < len(kept); j++ {
				if common := len(kept[i]) - len(without(kept[i], kept[j])); common > 0 {
					want = append(want, fmt.Sprint(i, j, common))
				}
			}
		}
		for _, m := range got.Meetings {
			found = append(found, fmt.Sprint(m.A, m.B, m.Files))
			if !slices.Contains(kept[m.A], m.First) || !slices.Contains(kept[m.B], m.First) {
				rt.Fatalf("%s is not of both", m.First)
			}
		}
		if !slices.Equal(found, want) {
			rt.Fatalf("meetings %v, want %v", found, want)
		}
	})
}

// checkSays checks that the answer of a command has these parts, however its lines are broken, and fits a terminal.
func checkSays(t testing.TB, out string, parts ...string) {
	t.Helper()
	flat := strings.Join(strings.Fields(out), " ")
	for _, part := range parts {
		if !strings.Contains(flat, part) {
			t.Errorf("the answer lacks %q:\n%s", part, out)
		}
	}
	for line := range strings.Lines(out) {
		if line = strings.TrimRight(line, "\n"); len([]rune(line)) > width && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("a line of %d columns: %s", len([]rune(line)), line)
		}
	}
}
