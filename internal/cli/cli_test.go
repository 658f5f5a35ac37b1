package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/bench"
)

const (
	eventsTable  = "../../testdata/tables/events"
	transactions = "../../testdata/transactions"
)

func TestCheckTellsModesApart(t *testing.T) {
	for _, tt := range []struct {
		txn, mode string
		code      int
		says      []string
	}{
		{"delete_low_ids.json", "off", exitConflict, []string{"ConcurrentAppendException", "DELTA_CONCURRENT_APPEND", "UNPARTITIONED_TABLE", "version 3"}},
		{"delete_low_ids.json", "stats", exitDone, []string{"skipped 0 by partition, 1 by statistics", "may commit as version 5"}},
		{"delete_middle_ids.json", "off", exitConflict, []string{"ConcurrentAppendException"}},
		{"delete_middle_ids.json", "stats", exitConflict, []string{"RANGES_OVERLAP", "id in [1000", "id BETWEEN 900 AND 1100", "version 4, UPDATE"}},
	} {
		t.Run(tt.txn+" "+tt.mode, func(t *testing.T) {
			out, stderr, code := deltaskip(t, "check", eventsTable, "--txn", filepath.Join(transactions, tt.txn), "--mode", tt.mode)
			if code != tt.code || stderr != "" {
				t.Errorf("exit %d, want %d; stderr %q", code, tt.code, stderr)
			}
			for _, want := range tt.says {
				if !strings.Contains(out, want) {
					t.Errorf("the answer lacks %q:\n%s", want, out)
				}
			}
		})
	}
}

func TestCheckByFlags(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		code int
	}{
		{"disjoint range", []string{"--where", "id < 500"}, exitDone},
		{"overlapping range", []string{"--where", "id = 2500"}, exitConflict},
		{"one of two reads overlaps", []string{"--where", "id < 500", "--where", "id = 1500"}, exitConflict},
		{"whole table", []string{"--whole-table"}, exitConflict},
		{"an earlier last winner", []string{"--where", "id = 1500", "--version", "3"}, exitDone},
		{"weaker isolation passes over a blind append", []string{"--where", "id = 2500", "--isolation", "WriteSerializable"}, exitDone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"check", eventsTable, "--read-version", "2", "--mode", "stats"}, tt.args...)
			out, stderr, code := deltaskip(t, args...)
			if code != tt.code || stderr != "" {
				t.Errorf("exit %d, want %d; stdout %s; stderr %s", code, tt.code, out, stderr)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	out, _, code := deltaskip(t, "files", eventsTable, "--where", "id < 500", "--format", "json")
	var got filesJSON
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitDone {
		t.Fatal(code, err, out)
	}
	if got.Version != 4 || got.Total != 3 || len(got.Candidates) != 1 || got.Skipped.Stats != 2 || got.Skipped.Partition != 0 || len(got.Unusable) != 0 {
		t.Errorf("%+v", got)
	}
	out, _, _ = deltaskip(t, "files", eventsTable, "--where", "id < 500")
	if !strings.Contains(out, "id in [0") || !strings.Contains(out, "kept 1 of 3 (partition 0, statistics 2)") {
		t.Errorf("text says %q", out)
	}
	out, _, _ = deltaskip(t, "files", eventsTable, "--where", "id < 500", "--where", "id = 2999", "--count", "--format", "json")
	if strings.TrimSpace(out) != `{"version":4,"total":3,"count":2}` {
		t.Errorf("count %s", out)
	}
	out, _, _ = deltaskip(t, "files", eventsTable, "--where", "id >= 0", "--first")
	if strings.TrimSpace(out) != got.Candidates[0] {
		t.Errorf("first %s, want %s", out, got.Candidates[0])
	}
	out, _, _ = deltaskip(t, "files", eventsTable, "--where", "rand() > 0.5 AND id < 0", "--format", "json")
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Candidates) != 0 || len(got.Unusable) != 1 || !strings.Contains(got.Unusable[0].Conjunct, "rand") {
		t.Errorf("unusable: %v %s", err, out)
	}
	out, _, _ = deltaskip(t, "files", eventsTable, "--where", "id < 1500", "--verdict", "--format", "json")
	var verdicts filesJSON
	if err := json.Unmarshal([]byte(out), &verdicts); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, v := range verdicts.Verdicts {
		counts[v]++
	}
	if counts["All"] != 1 || counts["Some"] != 1 || counts["None"] != 1 {
		t.Errorf("verdicts %v", verdicts.Verdicts)
	}
}

func TestQueriesAnswerErrorsInTheirLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "queries.jsonl")
	text := `{"id":1,"predicate":"id = 7"}` + "\n\n" + `{"id":"two","predicate":"nope = 1"}` + "\n" + `{"id":3,"predicate":"id <"}` + "\n" + `{"id":4,"predicate":"id < 'abc'"}` + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := deltaskip(t, "files", eventsTable, "--queries", file)
	if code != exitDone {
		t.Fatal(code, stderr)
	}
	var classes []string
	for line := range strings.Lines(out) {
		var got answer
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if (got.Error == nil) != (got.Candidates != nil) {
			t.Errorf("candidates and error: %s", line)
		}
		class := ""
		if got.Error != nil {
			class = got.Error.Class
		}
		classes = append(classes, class)
	}
	if want := "[ UNRESOLVED_COLUMN.WITH_SUGGESTION PARSE_SYNTAX_ERROR CAST_INVALID_INPUT]"; fmt.Sprint(classes) != want {
		t.Errorf("classes %v, want %s", classes, want)
	}
}

// TestBadInput: one clear error each, exit 1, nothing else.
func TestBadInput(t *testing.T) {
	table := func(t *testing.T, commits ...string) string {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "_delta_log"), 0o700); err != nil {
			t.Fatal(err)
		}
		for v, text := range commits {
			if text != "" {
				if err := os.WriteFile(filepath.Join(dir, "_delta_log", fmt.Sprintf("%020d.json", v)), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		return dir
	}
	const create = `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}` + "\n" +
		`{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}` + "\n"
	const add = `{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}` + "\n"
	for _, tt := range []struct {
		name string
		args func(t *testing.T) []string
		says []string
	}{
		{"truncated commit line", func(t *testing.T) []string {
			return []string{"snapshot", table(t, create, add[:len(add)-20])}
		}, []string{"00000000000000000001.json", "line 1"}},
		{"invalid UTF-8", func(t *testing.T) []string {
			return []string{"snapshot", table(t, create, strings.Replace(add, `"a"`, "\"\xff\"", 1))}
		}, []string{"00000000000000000001.json", "UTF-8"}},
		{"wrong type in an action", func(t *testing.T) []string {
			return []string{"snapshot", table(t, create, strings.Replace(add, `"size":1`, `"size":"x"`, 1))}
		}, []string{"00000000000000000001.json", "size"}},
		{"missing version in the log", func(t *testing.T) []string {
			return []string{"snapshot", table(t, create, "", add)}
		}, []string{"1"}},
		{"version that does not exist", func(*testing.T) []string {
			return []string{"snapshot", eventsTable, "--version", "99"}
		}, []string{"99", "4"}},
		{"no table", func(t *testing.T) []string {
			return []string{"snapshot", t.TempDir()}
		}, []string{"no Delta table"}},
		{"no folder", func(t *testing.T) []string {
			return []string{"files", filepath.Join(t.TempDir(), "nowhere"), "--where", "id = 1"}
		}, []string{"nowhere"}},
		{"unknown column", func(*testing.T) []string {
			return []string{"files", eventsTable, "--where", "ident = 1"}
		}, []string{"ident", "id"}},
		{"syntax error", func(*testing.T) []string {
			return []string{"files", eventsTable, "--where", "id = = 1"}
		}, []string{"syntax error", "column 6", "id = = 1"}},
		{"literal of a wrong type", func(*testing.T) []string {
			return []string{"files", eventsTable, "--where", "id < 'abc'"}
		}, []string{"CAST_INVALID_INPUT", "abc"}},
		{"transaction that is no JSON", func(t *testing.T) []string {
			file := filepath.Join(t.TempDir(), "txn.json")
			if err := os.WriteFile(file, []byte(`{"readVersion":`), 0o600); err != nil {
				t.Fatal(err)
			}
			return []string{"check", eventsTable, "--txn", file}
		}, []string{"txn.json", "not a transaction"}},
		{"read version that does not exist", func(*testing.T) []string {
			return []string{"check", eventsTable, "--read-version", "99", "--whole-table"}
		}, []string{"99"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, stderr, code := deltaskip(t, tt.args(t)...)
			if code != exitError || out != "" {
				t.Errorf("exit %d, stdout %q", code, out)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "deltaskip: ") {
				t.Errorf("not one line: %q", stderr)
			}
			for _, want := range tt.says {
				if !strings.Contains(stderr, want) {
					t.Errorf("the error lacks %q: %s", want, stderr)
				}
			}
		})
	}
}

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{
		{"nonsense"},
		{"files"},
		{"files", eventsTable},
		{"files", eventsTable, "--where", "id = 1", "--queries", "x"},
		{"files", eventsTable, "--where", "id = 1", "--first", "--count"},
		{"files", eventsTable, "--where", "id = 1", "--workers", "-1"},
		{"files", eventsTable, "--nonsense"},
		{"files", eventsTable, "--where", "id = 1", "--format", "xml"},
		{"files", eventsTable, "--where", "id = 1", "--zone", "Nowhere/Land"},
		{"check", eventsTable},
		{"check", eventsTable, "--read-version", "1"},
		{"check", eventsTable, "--read-version", "1", "--whole-table", "--mode", "hopeful"},
		{"snapshot", eventsTable, "--version", "-7"},
		{"gen"},
		{"gen", "x", "--checkpoint", "v3"},
		{"gen", "x", "--checkpoint", "v2", "--per-commit", "5"},
		{"gen", "x", "--checkpoint", "v2", "--stats", "none"},
		{"gen", "x", "--checkpoint", "multipart", "--parts", "0"},
	} {
		out, stderr, code := deltaskip(t, args...)
		if code != exitUsage || out != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "--help") {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, code, out, stderr)
		}
	}
}

func TestSnapshot(t *testing.T) {
	out, stderr, code := deltaskip(t, "snapshot", eventsTable, "--format", "json", "--version", "2")
	if code != exitDone {
		t.Fatal(stderr)
	}
	var got struct {
		Version  int64
		NumFiles int
		Protocol struct{ MinReaderVersion int }
		Metadata struct{ SchemaString string }
		Files    []fileJSON
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != 2 || got.NumFiles != 2 || len(got.Files) != 2 || got.Protocol.MinReaderVersion != 1 || !strings.Contains(got.Metadata.SchemaString, "amount") {
		t.Errorf("%+v", got)
	}
	if got.Files[0].Path >= got.Files[1].Path || got.Files[0].Stats == nil {
		t.Errorf("files %+v", got.Files)
	}
	out, _, _ = deltaskip(t, "snapshot", eventsTable)
	for _, want := range []string{"version 4", "files 3", "amount decimal(10,2)"} {
		if !strings.Contains(out, want) {
			t.Errorf("text lacks %q:\n%s", want, out)
		}
	}
}

func TestGenMakesATableThatOpens(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	if _, stderr, code := deltaskip(t, "gen", dir, "--adds", "500", "--per-commit", "100", "--partitions", "5", "--dv-share", "0.2"); code != exitDone {
		t.Fatal(stderr)
	}
	lower := 100 * bench.RowsPerFile
	out, stderr, code := deltaskip(t, "files", dir, "--where", fmt.Sprintf("p = 1 AND id BETWEEN %d AND %d", lower, lower+bench.RowsPerFile-1), "--format", "json")
	if code != exitDone {
		t.Fatal(stderr)
	}
	var got filesJSON
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Total != 500 || len(got.Candidates) != 1 || got.Skipped.Partition != 400 || got.Skipped.Stats != 99 {
		t.Errorf("%+v", got)
	}
}

func TestProfilesAreWritten(t *testing.T) {
	dir := t.TempDir()
	cpu, mem, trace := filepath.Join(dir, "cpu"), filepath.Join(dir, "mem"), filepath.Join(dir, "trace")
	if _, stderr, code := deltaskip(t, "snapshot", eventsTable, "--cpuprofile", cpu, "--memprofile", mem, "--trace", trace); code != exitDone {
		t.Fatal(stderr)
	}
	for _, name := range []string{cpu, mem, trace} {
		if info, err := os.Stat(name); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
