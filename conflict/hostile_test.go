package conflict

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
	"github.com/deltaskip/deltaskip/rows"
)

// TestHostileFiles checks against winners whose files ask for what is not allowed, in mode Exact: by default the answer is a
// conflict that names the option, and with the option the rows are read.
func TestHostileFiles(t *testing.T) {
	elsewhere := &storetest.Mem{}
	r := &rowTable{t: t, store: elsewhere, next: 2}
	r.file("t/f", 1, 9)
	vector := r.without(r.file("t/marked", 1, 9), 0)
	data, _, err := elsewhere.Get(t.Context(), "t/f", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	vectorFile, _, err := deletionvector.Path(vector.DeletionVector)
	if err != nil {
		t.Fatal(err)
	}
	vectorData, _, err := elsewhere.Get(t.Context(), vectorFile, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	roots := []rows.Root{{URI: "/base", Store: elsewhere}, {URI: "s3://bucket", Store: elsewhere}}
	stats := `{"numRecords":2,"minValues":{"id":1},"maxValues":{"id":9},"nullCount":{"id":0},"tightBounds":true}`
	for _, tt := range []struct {
		name   string
		change func(a *action.Add)
		strict Options // refuses
		says   string
		open   Options // allows
	}{
		{"an absolute path", func(a *action.Add) { a.Path = "/base/t/f" }, Options{}, "option Roots (--also-read)", Options{Roots: roots}},
		{"a file URI", func(a *action.Add) { a.Path = "file:///base/t/f" }, Options{}, "option Roots (--also-read)", Options{Roots: roots}},
		{"another bucket", func(a *action.Add) { a.Path = "s3a://bucket/t/f" }, Options{}, "option Roots (--also-read)", Options{Roots: roots}},
		{"more rows", nil, Options{Limits: rows.Limits{MaxRows: 1}}, "option MaxRows", Options{}},
		{"a longer footer", nil, Options{Limits: rows.Limits{MaxFooterBytes: 10}}, "option MaxFooterBytes", Options{}},
		{"a larger page", func(a *action.Add) { a.Path = "long" },
			Options{Limits: rows.Limits{MaxPageBytes: 10}}, "option MaxPageBytes", Options{}},
		{"a larger vector", func(a *action.Add) { a.DeletionVector = vector.DeletionVector },
			Options{Limits: rows.Limits{MaxVectorBytes: 10}}, "option MaxVectorBytes", Options{}},
		{"a vector of too many rows", func(a *action.Add) {
			d := *vector.DeletionVector
			d.Cardinality = 1 << 40
			a.DeletionVector = &d
		}, Options{}, "option MaxVectorRows", Options{Limits: rows.Limits{MaxVectorRows: 1 << 41}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newRowTable(t)
			m.put("f", data)
			m.file("long", slices.Repeat([]int64{1, 9}, 1000)...)
			m.put(vectorFile, vectorData)
			a := &action.Add{Path: "f", PartitionValues: map[string]*string{}, Size: 1, DataChange: true, Stats: stats}
			if tt.change != nil {
				tt.change(a)
			}
			m.commit(infoOf("UPDATE"), a)
			loser := m.txn("DELETE", []string{"id = 5"}, newFile("new"))
			tt.strict.Mode, tt.open.Mode = Exact, Exact
			if c := wantConflict(t, m.check(tt.strict, loser), ConcurrentAppend, RangesOverlap, a.Path); !strings.Contains(c.Error(), tt.says) {
				t.Errorf("%q lacks %q", c.Error(), tt.says)
			}
			if tt.open.Limits.MaxVectorRows > 0 { // which is not what the vector holds
				wantConflict(t, m.check(tt.open, loser), ConcurrentAppend, RangesOverlap, a.Path)
				return
			}
			wantClear(t, m.check(tt.open, loser))
		})
	}
}

// TestHostileLogs checks against logs that ask for what is not allowed: there is no answer, and the error names the option.
func TestHostileLogs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		commit string
		o      Options
		log    deltalog.Options
		want   error
		says   string
	}{
		{"a path that leads out", `{"add":{"path":"a/../../b","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`, Options{}, deltalog.Options{}, action.ErrOutside, "a/../../b"},
		{"a long line", add("a"), Options{}, deltalog.Options{MaxActionBytes: 20}, action.ErrLimit, "option MaxActionBytes"},
		{"a large commit", add("a"), Options{}, deltalog.Options{MaxCommitBytes: 20}, action.ErrLimit, "option MaxCommitBytes"},
		{"a commit beyond the memory of a check", add("a"), Options{MaxMemoryBytes: 20}, deltalog.Options{}, action.ErrLimit, "option MaxMemoryBytes"},
		{"nesting", `{"add":{"path":"a","tags":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `}}`, Options{}, deltalog.Options{}, deltalog.ErrCorrupt, "line 1"},
		{"a megabyte of nothing in one line", strings.Repeat(" ", 1<<20) + "{", Options{}, deltalog.Options{}, deltalog.ErrCorrupt, "line 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRowTable(t)
			r.put(deltalog.CommitName(2), []byte(tt.commit+"\n"))
			check := func(o Options, lo deltalog.Options) (Result, error) {
				return checker(t, deltalog.Open(r.store, lo), o).Check(context.Background(), r.txn("DELETE", []string{"id = 5"}, newFile("new")), Newest)
			}
			result, err := check(tt.o, tt.log)
			if result.Outcome != Undetermined || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s, %v, want %v that says %q", result.Outcome, err, tt.want, tt.says)
			}
			if errors.Is(tt.want, action.ErrLimit) {
				if result, err := check(Options{}, deltalog.Options{}); err != nil || result.Outcome != Conflicting {
					t.Errorf("with the option: %s, %v", result.Outcome, err)
				}
			}
		})
	}
}

// TestMemoryOfACheck: winners wait for each other where they don't fit together.
func TestMemoryOfACheck(t *testing.T) {
	r := newRowTable(t)
	for range 20 {
		r.commit(infoOf("UPDATE"), newFile("a"))
	}
	wantClear(t, r.check(Options{MaxMemoryBytes: 1000, ReadAhead: 8}, r.txn("WRITE", nil, newFile("new"))))
}

// TestMemoryOfACheckTakesTheListingsWord: a listing that is wrong about sizes does no harm.
func TestMemoryOfACheckTakesTheListingsWord(t *testing.T) {
	r := newRowTable(t)
	for range 20 {
		r.commit(infoOf("UPDATE"), newFile("a"))
	}
	log := deltalog.Open(modest{r.store}, deltalog.Options{})
	result, err := checker(t, log, Options{MaxMemoryBytes: 100, ReadAhead: 8}).Check(t.Context(), r.txn("WRITE", nil, newFile("new")), Newest)
	if err != nil {
		t.Fatal(err)
	}
	wantClear(t, result)
}

// modest lists every file as one of a byte.
type modest struct{ logstore.Store }

func (s modest) List(ctx context.Context, dir, startAfter string) iter.Seq2[logstore.Entry, error] {
	return func(yield func(logstore.Entry, error) bool) {
		for e, err := range s.Store.List(ctx, dir, startAfter) {
			e.Size = min(e.Size, 1)
			if !yield(e, err) {
				return
			}
		}
	}
}
