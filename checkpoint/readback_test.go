package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/internal/corpus"
	"github.com/deltaskip/deltaskip/logstore"
)

// pythonVariable names a Python that has the packages of testdata/requirements.txt.
const pythonVariable = "DELTASKIP_PYTHON"

// A readback is what testdata/readback.py is told of a table.
type readback struct {
	Dir      string        `json:"dir"`
	Original string        `json:"original"`
	Files    []string      `json:"files"`
	Adds     []readbackAdd `json:"adds"`
}

type readbackAdd struct {
	Path            string             `json:"path"`
	PartitionValues map[string]*string `json:"partitionValues"`
	Size            int64              `json:"size"`
	Stats           *string            `json:"stats"`
	DeletionVector  map[string]any     `json:"deletionVector"`
}

// TestReadback has other people's readers read what we write: every table that there is, as a checkpoint of one shape or another.
func TestReadback(t *testing.T) {
	python := os.Getenv(pythonVariable)
	if python == "" && os.Getenv("CI") != "" {
		t.Fatalf("%s does not say which Python is to read our checkpoints", pythonVariable)
	}
	if python == "" {
		t.Skipf("NOT TESTED: whether PyArrow, DuckDB and delta-rs read our checkpoints. Set %s to a Python with testdata/requirements.txt.", pythonVariable)
	}
	var lines bytes.Buffer
	written := 0
	for _, dir := range []string{"../testdata/tables", corpus.Dir(t, "golden")} {
		for i, root := range tables(t, dir) {
			if testing.Short() && i%20 != 0 {
				continue
			}
			for _, o := range []checkpoint.WriteOptions{
				{Stats: checkpoint.StatsAsBoth, RowGroupRows: 3 + i%2*50, Parts: i % 3},
				{Stats: checkpoint.StatsAsBoth, RowGroupRows: 3, SidecarRows: 5, V2: true},
			} {
				if r := rewrite(t, root, o); r != nil {
					line, err := json.Marshal(r)
					if err != nil {
						t.Fatal(err)
					}
					lines.Write(append(line, '\n'))
					written++
				}
			}
		}
	}
	cmd := exec.Command(python, "testdata/readback.py")
	cmd.Stdin = &lines
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, &stderr)
	}
	var counts map[string]map[string]int
	if err := json.Unmarshal(out, &counts); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, &stderr)
	}
	for _, reader := range []string{"pyarrow", "duckdb", "deltalake"} {
		c := counts[reader]
		t.Logf("%s: %v of %d checkpoints", reader, c, written)
		if written == 0 || c["tables"]+c["refused"] != written || c["tables"]*2 < written || c["values"] < 10*c["tables"] {
			t.Errorf("%s has not read them all: %v", reader, c)
		}
	}
}

// rewrite writes the newest version of a table as a checkpoint alone, in a folder of its own. It returns nil for tables that we
// refuse to read, and for V2 checkpoints of those that may not have any.
func rewrite(t *testing.T, root string, o checkpoint.WriteOptions) *readback {
	t.Helper()
	from, err := logstore.OpenLocal(root)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	s, err := deltalog.Open(from, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{})
	if err != nil {
		return nil
	}
	defer s.Close()
	state, err := s.State(t.Context())
	if err != nil || o.V2 && !slices.Contains(s.Protocol.ReaderFeatures, "v2Checkpoint") {
		return nil
	}
	r := &readback{Dir: t.TempDir(), Adds: []readbackAdd{}}
	if r.Original, err = filepath.Abs(root); err != nil {
		t.Fatal(err)
	}
	to, err := logstore.OpenLocal(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	o.Allocator = checkedAllocator(t)
	if _, err := checkpoint.Write(t.Context(), to, state, o); err != nil {
		t.Fatalf("%s: %v", root, err)
	}
	for _, dir := range []string{"_delta_log", "_delta_log/_sidecars"} {
		for e, err := range to.List(t.Context(), dir, "") {
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(e.Name, ".parquet") {
				r.Files = append(r.Files, filepath.Join(r.Dir, e.Name))
			}
		}
	}
	for a, err := range s.Adds(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		r.Adds = append(r.Adds, newReadbackAdd(a))
	}
	if len(r.Files) == 0 { // V2 of an empty table
		return nil
	}
	return r
}

func newReadbackAdd(a *action.Add) readbackAdd {
	r := readbackAdd{Path: a.Path, PartitionValues: a.PartitionValues, Size: a.Size}
	if r.PartitionValues == nil {
		r.PartitionValues = map[string]*string{}
	}
	if a.Stats != "" {
		r.Stats = &a.Stats
	}
	if dv := a.DeletionVector; dv != nil {
		r.DeletionVector = map[string]any{
			"storageType": dv.StorageType, "pathOrInlineDv": dv.PathOrInlineDV, "sizeInBytes": dv.SizeInBytes, "cardinality": dv.Cardinality,
		}
		if dv.Offset != nil {
			r.DeletionVector["offset"] = *dv.Offset
		}
	}
	return r
}
