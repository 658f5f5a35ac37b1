package vectorized_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/internal/corpus"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
	"github.com/deltaskip/deltaskip/vectorized"
)

// A skippingCase is a line of cases.jsonl: what Spark kept, and what truly matches.
type skippingCase struct {
	ID, Predicate string
	Tags          []string
	Candidates    []string
	Matching      []string
	Error         *string
}

// lies are files that hold rows which their statistics deny, where Spark, unlike us, asks nothing of these statistics.
var lies = []struct{ path, predicate string }{
	{"part-00032-63ddb877-2f60-4160-a6e5-a5799f60875f-c000.snappy.parquet", "`b`"}, // nullCount = numRecords
}

// TestCorpus holds the engine to matching ⊆ ours ⊆ candidates, and every way of running it to one answer.
func TestCorpus(t *testing.T) {
	tables, err := filepath.Glob(filepath.Join(corpus.Dir(t, "skipping"), "*", "cases.jsonl"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	var total, fewer int
	for _, file := range tables {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			table := openTable(t, filepath.Join(dir, "table"))
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(data) {
				var c skippingCase
				if err := json.Unmarshal(line, &c); err != nil {
					t.Fatal(err)
				}
				if total++; testing.Short() && total%8 != 0 {
					continue
				}
				if table.check(t, filepath.Base(dir), &c) {
					fewer++
				}
			}
		})
	}
	t.Logf("%d cases, strictly fewer files than Spark in %d", total, fewer)
}

// check checks one case and says whether we keep strictly fewer files than Spark.
func (table *openedTable) check(t *testing.T, name string, c *skippingCase) (fewer bool) {
	o := colstats.Options{NaN: colstats.NaNOrdered}
	ours, err := table.survivors(t, c.Predicate, o, vectorized.Options{Workers: 1})
	if c.Error != nil {
		// Spark reads this table with a setting that evaluates predicates of data columns while planning.
		if err == nil && !(name == "clustered_plike" && *c.Error == "CAST_INVALID_INPUT") {
			t.Errorf("%s: %s: no error, Spark says %s", c.ID, c.Predicate, *c.Error)
		}
		return false
	}
	if err != nil {
		t.Errorf("%s: %s: %v", c.ID, c.Predicate, err)
		return false
	}
	for _, other := range []vectorized.Options{{Workers: 3}, {Reference: true}} {
		again, err := table.survivors(t, c.Predicate, o, other)
		if err != nil || !slices.Equal(ours, again) {
			t.Errorf("%s: %s: %+v gives %d files instead of %d (%v)", c.ID, c.Predicate, other, len(again), len(ours), err)
		}
	}
	for _, path := range c.Matching {
		lie := slices.ContainsFunc(lies, func(l struct{ path, predicate string }) bool {
			return l.path == path && strings.Contains(c.Predicate, l.predicate)
		})
		if !slices.Contains(ours, path) && !lie && !slices.Contains(c.Tags, "false-stats") {
			t.Errorf("%s: %s: lost %s", c.ID, c.Predicate, path)
		}
	}
	extra := 0
	for _, path := range ours {
		if !slices.Contains(c.Candidates, path) {
			extra++
		}
	}
	if extra > 0 && !strings.HasPrefix(name, "malformed") && !slices.Contains(c.Tags, "spark-unsound") {
		t.Errorf("%s: %s: kept %d files that Spark skips", c.ID, c.Predicate, extra)
	}
	return extra == 0 && len(ours) < len(c.Candidates)
}

// TestBugs holds the engine to inputs that have broken other implementations.
func TestBugs(t *testing.T) {
	inputs, err := filepath.Glob(filepath.Join(corpus.Dir(t, "bugs"), "*", "expected.json"))
	if err != nil || len(inputs) == 0 {
		t.Fatal(inputs, err)
	}
	for _, file := range inputs {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var input struct {
			Check  string
			Checks []struct {
				File, SQL, Expected, Note string
				ReaderTimeZone            *string
			}
			ReaderTimeZone string
			Hardening      bool
		}
		if err := json.Unmarshal(data, &input); err != nil {
			// The checks of other areas have other shapes.
			continue
		}
		if input.Check != "skipping" {
			continue
		}
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			table := openTable(t, filepath.Dir(file))
			zoned := bytes.Contains(data, []byte(`"readerTimeZone"`))
			for _, c := range input.Checks {
				o := colstats.Options{}
				if c.Expected == "skip" { // as sharp as can be; what must be kept must be kept whoever wrote it
					o.NaN = colstats.NaNOrdered
				}
				zone := input.ReaderTimeZone
				if c.ReaderTimeZone != nil {
					zone = *c.ReaderTimeZone
				}
				switch {
				case zone != "":
					if o.Zone, err = time.LoadLocation(zone); err != nil {
						t.Fatal(err)
					}
				case zoned:
					o.Zone = colstats.UnknownZone
				}
				ours, err := table.survivors(t, c.SQL, o, vectorized.Options{})
				kept := slices.Contains(ours, c.File)
				switch {
				case err != nil && c.Expected != "keep-or-error":
					t.Errorf("%s: %v", c.SQL, err)
				case strings.HasPrefix(c.Expected, "keep") && err == nil && !kept:
					t.Errorf("%s: lost %s (%s)", c.SQL, c.File, c.Note)
				case c.Expected == "skip" && kept:
					t.Errorf("%s: kept %s (%s)", c.SQL, c.File, c.Note)
				}
			}
		})
	}
}

type openedTable struct {
	snapshot *deltalog.Snapshot
	table    *schema.Table
}

func openTable(t *testing.T, dir string) *openedTable {
	t.Helper()
	store, err := logstore.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := deltalog.Open(store, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	table, err := s.Table()
	if err != nil {
		t.Fatal(err)
	}
	return &openedTable{s, table}
}

// survivors returns the paths that a predicate keeps, in log order.
func (table *openedTable) survivors(t *testing.T, sql string, stats colstats.Options, o vectorized.Options) (paths []string, err error) {
	e, err := predicate.Parse(sql, predicate.ParseOptions{})
	if err != nil {
		return nil, err
	}
	bound, err := predicate.Bind(e, table.table, predicate.Env{})
	if err != nil {
		return nil, err
	}
	p, err := vectorized.Compile([]*predicate.Predicate{bound}, o)
	if err != nil {
		return nil, err
	}
	batches := table.snapshot.Batches(t.Context(), p.Layout(), deltalog.BatchOptions{Stats: stats})
	_, err = p.Scan(t.Context(), batches, func(b *colstats.Batch, _ int64, r vectorized.Result) error {
		for i := range b.Len() {
			if r.May[i/64]>>(i%64)&1 == 0 {
				continue
			}
			path, err := b.Path(i)
			if err != nil {
				return err
			}
			paths = append(paths, strings.Clone(path))
		}
		return nil
	})
	return paths, err
}
