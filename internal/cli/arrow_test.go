package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// arrowTable has files of two partitions: with statistics, with some and with none.
func arrowTable(t *testing.T) string {
	bare := `{"add":{"path":"bare%20file","partitionValues":{"site":null},"size":7,"modificationTime":1,"dataChange":true}}`
	half := `{"add":{"path":"half","partitionValues":{"site":"b"},"size":9,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":3,\"minValues\":{\"id\":5,\"at\":\"x\"}}"}}`
	return writeTable(t, sites(`"site"`, ``), lines(siteAdd("low", "a", 0, 9), siteAdd("high", "b", 100, 109)), lines(half, bare))
}

// readArrow returns the rows of a stream, as JSON shows them.
func readArrow(t *testing.T, stream string) (names []string, rows []map[string]any, batches int) {
	t.Helper()
	r, err := ipc.NewReader(strings.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for _, f := range r.Schema().Fields() {
		names = append(names, f.Name)
	}
	for r.Next() {
		text, err := r.RecordBatch().MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var some []map[string]any
		if err := json.Unmarshal(text, &some); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, some...)
		batches++
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return names, rows, batches
}

var arrowArgs = []string{"--where", "id < 50 AND site <> 'x'", "--where", "rand() < 2", "--format", "arrow"}

func TestFilesAsArrow(t *testing.T) {
	table := arrowTable(t)
	stream, stderr, code := deltaskip(t, "files", table, "--where", "id < 50 AND site <> 'x'", "--format", "arrow")
	if code != exitDone || stderr != "" {
		t.Fatal(code, stderr)
	}
	names, rows, _ := readArrow(t, stream)
	for _, want := range []string{"path", "size", "numRecords", "verdict", "partitionValues", "id.lower", "id.upper", "id.noNull", "id.allNull"} {
		if !slices.Contains(names, want) {
			t.Errorf("no column %s in %q", want, names)
		}
	}
	got := map[string]string{}
	for _, r := range rows {
		got[r["path"].(string)] = fmt.Sprintln(r["verdict"], r["numRecords"], r["size"], r["partitionValues"], r["id.lower"], r["id.upper"])
	}
	want := map[string]string{
		"low":         "All 10 1 map[site:a] 0 9",
		"high":        "None 10 1 map[site:b] 100 109",
		"half":        "Some 3 9 map[site:b] <nil> <nil>", // one bound alone proves nothing here
		"bare%20file": "None <nil> 7 map[site:<nil>] <nil> <nil>",
	}
	for path, w := range want {
		if got[path] != w+"\n" {
			t.Errorf("%s: %s, want %s", path, got[path], w)
		}
	}
	if len(rows) != len(want) {
		t.Errorf("%d rows", len(rows))
	}
}

// TestArrowSaysWhatJSONSays on a log of several batches, whose strings may have no known maximum.
func TestArrowSaysWhatJSONSays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	adds := 70_000
	if testing.Short() {
		adds = 2_000
	}
	if _, stderr, code := deltaskip(t, "gen", dir, "--adds", fmt.Sprint(adds), "--checkpoint", "classic"); code != exitDone {
		t.Fatal(stderr)
	}
	args := []string{"files", dir, "--where", "id BETWEEN 100000 AND 250050", "--verdict", "--format"}
	stream, stderr, code := deltaskip(t, append(args, "arrow")...)
	if code != exitDone {
		t.Fatal(stderr)
	}
	out, _, _ := deltaskip(t, append(args, "json")...)
	var want filesJSON
	if err := json.Unmarshal([]byte(out), &want); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	r, err := ipc.NewReader(strings.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	batches := 0
	for ; r.Next(); batches++ {
		paths, verdicts := r.RecordBatch().Column(0).(*array.String), r.RecordBatch().Column(own-1).(*array.String)
		for i := range paths.Len() {
			got[paths.Value(i)] = verdicts.Value(i)
		}
	}
	if r.Err() != nil || len(got) != adds || (adds > 65536) != (batches > 1) {
		t.Fatalf("%d files in %d batches: %v", len(got), batches, r.Err())
	}
	for path, v := range want.Verdicts {
		if got[path] != v {
			t.Fatalf("%s: %s, want %s", path, got[path], v)
		}
	}
	if about := r.Schema().Metadata(); about.FindKey("deltaskip.version") < 0 {
		t.Errorf("%v", about)
	}
}

func TestArrowIsForFilesOnly(t *testing.T) {
	for _, args := range [][]string{
		{"snapshot", eventsTable}, {"stats", eventsTable}, {"files", eventsTable, "--where", "id = 1", "--count"},
		{"files", eventsTable, "--where", "id = 1", "--first"}, {"files", eventsTable, "--queries", "x"},
	} {
		if out, stderr, code := deltaskip(t, append(args, "--format", "arrow")...); code != exitUsage || out != "" || !strings.Contains(stderr, "--format arrow") {
			t.Errorf("%q: exit %d, %q, %s", args, code, out, stderr)
		}
	}
}

// TestOthersReadArrow has PyArrow and DuckDB read the stream.
func TestOthersReadArrow(t *testing.T) {
	python := os.Getenv("DELTASKIP_PYTHON")
	if python == "" && os.Getenv("CI") != "" {
		t.Fatal("DELTASKIP_PYTHON does not say which Python is to read Arrow streams")
	}
	if python == "" {
		t.Skip("NOT TESTED: whether PyArrow and DuckDB read our streams. Set DELTASKIP_PYTHON to a Python with checkpoint/testdata/requirements.txt.")
	}
	stream, stderr, code := deltaskip(t, append([]string{"files", arrowTable(t)}, arrowArgs...)...)
	if code != exitDone {
		t.Fatal(stderr)
	}
	cmd := exec.Command(python, "testdata/read_arrow.py")
	cmd.Stdin = strings.NewReader(stream)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	var got struct {
		Columns  []string
		Rows     []map[string]any
		Kept     []string
		Sums     []int64
		Metadata map[string]string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	names, rows, _ := readArrow(t, stream)
	if fmt.Sprint(got.Columns) != fmt.Sprint(names) || len(got.Rows) != len(rows) {
		t.Errorf("PyArrow finds %q, %d rows", got.Columns, len(got.Rows))
	}
	// The second predicate may be true of any row.
	if fmt.Sprint(got.Kept) != "[bare%20file half high low]" || !strings.Contains(got.Metadata["deltaskip.unusable"], "rand") || got.Metadata["deltaskip.version"] != "2" {
		t.Errorf("%v %v", got.Kept, got.Metadata)
	}
	if fmt.Sprint(got.Sums) != "[0 109 2 18 23]" {
		t.Errorf("DuckDB adds up to %v", got.Sums)
	}
}
