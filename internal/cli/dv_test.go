package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/internal/corpus"
)

// inlineVector is a file of 30 rows whose rows 3, 4, 7, 11, 18 and 29 are deleted, the protocol's own example of an inline vector.
const inlineVector = `{"add":{"path":"a%20b.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,` +
	`"stats":"{\"numRecords\":30}","deletionVector":{"storageType":"i","pathOrInlineDv":"wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L","sizeInBytes":40,"cardinality":6}}}`

func TestDV(t *testing.T) {
	table := writeTable(t, strings.Replace(testCreate, `"minReaderVersion":1,"minWriterVersion":2`,
		`"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":["deletionVectors"]`, 1)+
		"\n"+inlineVector+"\n"+testAdd("whole", 0, 9)+"\n"+strings.NewReplacer(`numRecords\":30`, `numRecords\":10`, "a%20b", "short").Replace(inlineVector))
	for _, tt := range []struct {
		path string
		says []string
	}{
		{"a%20b.parquet", []string{"6 deleted of 30 rows (20.0 %)", "stored in the log itself, 40 bytes", "positions 3 to 4 7 11 18 29"}},
		{"a b.parquet", []string{"6 deleted of 30 rows"}}, // as a person may spell it
		{"whole", []string{"no deletion vector: all of 10 rows are there"}},
		{"short.parquet", []string{"6 deleted of 10 rows", "3 positions are past the end of the file"}},
	} {
		out, stderr, code := deltaskip(t, "dv", table, tt.path)
		if code != exitDone || stderr != "" {
			t.Errorf("%s: exit %d, %s", tt.path, code, stderr)
		}
		checkSays(t, out, tt.says...)
	}
	out, _, _ := deltaskip(t, "dv", table, "a%20b.parquet", "--format", "json")
	want := `{"version":0,"path":"a%20b.parquet","numRecords":30,"cardinality":6,"storage":{"storageType":"i",` +
		`"pathOrInlineDv":"wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L","sizeInBytes":40,"cardinality":6},"ranges":[[3,4],[7,7],[11,11],[18,18],[29,29]]}`
	if strings.TrimSpace(out) != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
	if _, stderr, code := deltaskip(t, "dv", table, "nope"); code != exitError || !strings.Contains(stderr, "version 0 has no file nope") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if _, _, code := deltaskip(t, "dv", table); code != exitUsage {
		t.Errorf("exit %d without a path", code)
	}
}

func TestRanges(t *testing.T) {
	var got [][2]int64
	for first, last := range ranges(deletionvector.Of(0, 1, 2, 5, 7, 8, 1<<40)) {
		got = append(got, [2]int64{first, last})
	}
	if want := [][2]int64{{0, 2}, {5, 5}, {7, 8}, {1 << 40, 1 << 40}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for range ranges(deletionvector.Of()) {
		t.Error("a range of nothing")
	}
}

// TestDVGolden compares with the deleted rows that other readers found.
func TestDVGolden(t *testing.T) {
	golden := corpus.Dir(t, "golden")
	files, err := filepath.Glob(filepath.Join(golden, "expected", "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	vectors := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Error *string
			Files []struct {
				Path   string
				DV     *struct{ StorageType string }
				DVRows json.RawMessage
			}
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		name, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "@")
		for _, f := range want.Files {
			var rows []int64
			if f.DV == nil || f.DV.StorageType == "p" || json.Unmarshal(f.DVRows, &rows) != nil || rows == nil {
				continue // without a vector, or one that is too large to be listed, or is not there
			}
			args := []string{"dv", filepath.Join(golden, filepath.Base(filepath.Dir(file)), name), f.Path, "--all", "--format", "json"}
			if version != "" {
				args = append(args, "--version", version)
			}
			out, stderr, code := deltaskip(t, args...)
			var got dvJSON
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Errorf("%s %s: exit %d, %s", file, f.Path, code, stderr)
				continue
			}
			var listed []int64
			for _, r := range got.Ranges {
				for p := r[0]; p <= r[1]; p++ {
					listed = append(listed, p)
				}
			}
			if !slices.Equal(listed, rows) || got.Cardinality != int64(len(rows)) || got.PastEnd != 0 {
				t.Errorf("%s %s: %v, want %v", file, f.Path, listed, rows)
			}
			vectors++
		}
	}
	if vectors < 20 {
		t.Errorf("only %d vectors were compared", vectors)
	}
}
