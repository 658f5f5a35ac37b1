package rows

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/internal/corpus"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// checkedAllocator fails the test when a buffer is still held at its end.
func checkedAllocator(t testing.TB) *memory.CheckedAllocator {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

// A skippingCase is a line of cases.jsonl, see the corpus's README.
type skippingCase struct {
	ID        string
	Predicate string
	Tags      []string
	Matching  []string
	Error     *string
	EvalError *string `json:"eval_error"`
}

func readCases(t *testing.T, name string) []skippingCase {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []skippingCase
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c skippingCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

// A table is a snapshot of a table of the corpus.
type table struct {
	schema *schema.Table
	adds   []*action.Add
	files  []*File
}

// openTable opens the newest version of the table in dir, with all its files.
func openTable(t *testing.T, dir string) *table {
	t.Helper()
	store, err := logstore.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s, err := deltalog.Open(store, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	opened := &table{}
	if opened.schema, err = s.Table(); err != nil {
		t.Fatal(err)
	}
	for add, err := range s.Adds(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		f, closeFile, err := Source{Table: store}.Open(t.Context(), add)
		if err != nil {
			t.Fatalf("%s: %v", add.Path, err)
		}
		t.Cleanup(func() { closeFile() })
		opened.adds, opened.files = append(opened.adds, add), append(opened.files, f)
	}
	return opened
}

// TestSkippingCorpus evaluates every case of the corpus on the rows themselves: the files with a matching row must be
// exactly those that Spark finds.
func TestSkippingCorpus(t *testing.T) {
	root := corpus.Dir(t, "skipping")
	names, err := filepath.Glob(filepath.Join(root, "*", "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	total, compared := 0, 0
	t.Run("tables", func(t *testing.T) {
		for _, name := range names {
			dir := filepath.Dir(name)
			t.Run(filepath.Base(dir), func(t *testing.T) {
				t.Parallel()
				opened := openTable(t, filepath.Join(dir, "table"))
				cases := readCases(t, name)
				if testing.Short() {
					cases = cases[:len(cases)/10+1]
				}
				n := 0
				for _, c := range cases {
					if checkCase(t, opened, c) {
						n++
					}
				}
				mu.Lock()
				defer mu.Unlock()
				total, compared = total+len(cases), compared+n
			})
		}
	})
	t.Logf("%d cases, %d compared row by row", total, compared)
}

// checkCase reports whether the case has rows to compare.
func checkCase(t *testing.T, opened *table, c skippingCase) bool {
	t.Helper()
	mem := checkedAllocator(t)
	expr, err := predicate.Parse(c.Predicate, predicate.ParseOptions{})
	var bound *predicate.Predicate
	if err == nil {
		bound, err = predicate.Bind(expr, opened.schema, predicate.Env{})
	}
	if err != nil {
		if c.Error == nil {
			t.Errorf("%s %s: %v", c.ID, c.Predicate, err)
		}
		return false
	}
	m, err := Compile([]*predicate.Predicate{bound}, Options{Allocator: mem})
	if err != nil {
		t.Errorf("%s %s: %v", c.ID, c.Predicate, err)
		return false
	}
	var certain, possible []string
	var failed error
	for i, f := range opened.files {
		path := opened.adds[i].Path
		hit, found, err := m.First(t.Context(), f)
		switch {
		case err != nil:
			failed = fmt.Errorf("%s: %w", path, err)
		case found && f.Deleted.Contains(hit.Row):
			t.Errorf("%s %s: deleted row %d of %s", c.ID, c.Predicate, hit.Row, path)
		case found:
			possible = append(possible, path)
			if !hit.Unsure {
				certain = append(certain, path)
			}
		}
	}
	if want := cmp.Or(c.Error, c.EvalError); want != nil {
		// We stop at the first match and Spark at the first error, and we know the error only on rows.
		if e, ok := errors.AsType[*predicate.EvalError](failed); failed != nil && (!ok || e.Class != *want) {
			t.Errorf("%s %s: error %v, Spark's is %s", c.ID, c.Predicate, failed, *want)
		}
		if failed == nil && len(possible) == 0 {
			t.Errorf("%s %s: neither a match nor an error, Spark's is %s", c.ID, c.Predicate, *want)
		}
		return false
	}
	if failed != nil {
		t.Errorf("%s %s: %v", c.ID, c.Predicate, failed)
		return false
	}
	if c.Matching == nil {
		return false
	}
	for _, path := range c.Matching {
		if !slices.Contains(possible, path) {
			t.Errorf("%s %s: no match in %s", c.ID, c.Predicate, path)
		}
	}
	for _, path := range certain {
		if !slices.Contains(c.Matching, path) {
			t.Errorf("%s %s: a match in %s", c.ID, c.Predicate, path)
		}
	}
	return len(certain) == len(possible)
}
