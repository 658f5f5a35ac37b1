package conflict

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

func TestExactReadsTheRowsOfAddedFiles(t *testing.T) {
	for _, tt := range []struct {
		name   string
		reads  []string
		files  func(r *rowTable) []action.Action
		reason Reason // of the conflict; empty for none
		path   string
		says   string
		counts Counts
	}{
		{name: "no row matches", reads: []string{"id = 5"},
			files:  func(r *rowTable) []action.Action { return []action.Action{r.file("a", 1, 9)} },
			counts: Counts{Winners: 1, FilesConsidered: 1, SkippedByRows: 1, FilesRead: 1, RowsRead: 2}},
		{name: "a row matches", reads: []string{"id = 3", "id = 5"},
			files:  func(r *rowTable) []action.Action { return []action.Action{r.file("a", 1, 5, 9)} },
			reason: RowsMatch, path: "a", says: "row 1 matches read 1 (id = 5)",
			counts: Counts{Winners: 1, FilesConsidered: 1, FilesRead: 1, RowsRead: 3}},
		{name: "a deleted row is no match", reads: []string{"id = 5"},
			files: func(r *rowTable) []action.Action {
				a := r.file("a", 1, 5, 9)
				return []action.Action{gone(a), r.without(a, 1)}
			},
			counts: Counts{Winners: 1, FilesConsidered: 1, SkippedByRows: 1, FilesRead: 1, RowsRead: 3}},
		{name: "the first file in log order", reads: []string{"id = 5"},
			files: func(r *rowTable) []action.Action {
				return []action.Action{r.file("a", 1, 9), r.file("b", 100, 200), r.file("c", 4, 5, 6), r.file("d", 5)}
			},
			reason: RowsMatch, path: "c",
			counts: Counts{Winners: 1, FilesConsidered: 3, SkippedByStats: 1, SkippedByRows: 1, FilesRead: 2, RowsRead: 5}},
		{name: "a predicate that statistics say nothing about", reads: []string{"CAST(id AS STRING) LIKE '%7%'"},
			files:  func(r *rowTable) []action.Action { return []action.Action{r.file("a", 1, 9), r.file("b", 16, 18)} },
			counts: Counts{Winners: 1, FilesConsidered: 2, SkippedByRows: 2, FilesRead: 2, RowsRead: 4}},
		{name: "a file that cannot be read", reads: []string{"id = 5"},
			files: func(r *rowTable) []action.Action {
				a := r.file("a", 1, 9)
				a.Path = "missing"
				return []action.Action{a}
			},
			reason: RangesOverlap, path: "missing", says: "Its rows did not settle it",
			counts: Counts{Winners: 1, FilesConsidered: 1, FilesRead: 1}},
		{name: "a vector that cannot be read", reads: []string{"id = 5"},
			files: func(r *rowTable) []action.Action {
				a := r.without(r.file("a", 1, 9), 0)
				a.DeletionVector.Cardinality++
				return []action.Action{a}
			},
			reason: RangesOverlap, path: "a", says: "cardinality",
			counts: Counts{Winners: 1, FilesConsidered: 1, FilesRead: 1}},
		{name: "a predicate that is not evaluated", reads: []string{"rand() < 0.5 AND id < 5"},
			files:  func(r *rowTable) []action.Action { return []action.Action{r.file("a", 1, 9)} },
			reason: RangesOverlap, path: "a", says: "row 0: the predicate holds something that is not evaluated",
			counts: Counts{Winners: 1, FilesConsidered: 1, FilesRead: 1, RowsRead: 2}},
		{name: "a predicate that fails on a row", reads: []string{"1 / (id - 5) > 2"},
			files:  func(r *rowTable) []action.Action { return []action.Action{r.file("a", 1, 5)} },
			reason: RangesOverlap, path: "a", says: "DIVIDE_BY_ZERO",
			counts: Counts{Winners: 1, FilesConsidered: 1, FilesRead: 1, RowsRead: 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRowTable(t)
			r.commit(infoOf("UPDATE"), tt.files(r)...)
			var events removedLog
			result := r.check(Options{Mode: Exact, Observer: &events}, r.txn("DELETE", tt.reads, newFile("new")))
			if tt.reason == "" {
				wantClear(t, result)
				if len(events) == 0 || events[0].Tier != Exact || events[0].FilesSkipped != tt.counts.FilesConsidered {
					t.Errorf("events %+v", events)
				}
			} else if f := wantConflict(t, result, ConcurrentAppend, tt.reason, tt.path); !strings.Contains(f.Error(), tt.says) {
				t.Errorf("%q lacks %q", f.Error(), tt.says)
			}
			result.Counts.BytesDecoded = 0
			if result.Counts != tt.counts {
				t.Errorf("counts %+v, want %+v", result.Counts, tt.counts)
			}
		})
	}
}

// A removedLog keeps what it is told of removed conflicts.
type removedLog []NoConflict

func (l *removedLog) Observe(_ context.Context, e Event) {
	if e, ok := e.(NoConflict); ok {
		*l = append(*l, e)
	}
}

func TestExactEndsWithItsContext(t *testing.T) {
	r := newRowTable(t)
	r.commit(infoOf("UPDATE"), r.file("a", 1, 9))
	ctx, cancel := context.WithCancel(context.Background())
	store := storetest.Faulty(r.store, func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.Open {
			cancel()
		}
		return nil
	})
	result, err := checker(t, deltalog.Open(store, deltalog.Options{}), Options{Mode: Exact}).Check(ctx, r.txn("DELETE", []string{"id = 5"}, newFile("new")), Newest)
	if !errors.Is(err, context.Canceled) || result.Outcome != Undetermined {
		t.Errorf("%v, %v", result.Outcome, err)
	}
}
