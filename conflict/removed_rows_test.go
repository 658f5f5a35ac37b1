package conflict

import (
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
)

func TestRemovedRows(t *testing.T) {
	for _, tt := range []struct {
		name   string
		winner func(r *rowTable, f *action.Add) []action.Action // of f, whose row i has id i
		loser  func(r *rowTable, f *action.Add) []action.Action // nil for an append
		reads  []string
		change func(*Transaction)
		kind   Kind // of the conflict; 0 for none
		reason Reason
		says   string
	}{
		{name: "rows that were not read", winner: func(r *rowTable, f *action.Add) []action.Action { return marking(f, r.without(f, 8, 9)) },
			reads: []string{"id = 5"}},
		{name: "a row that was read", winner: func(r *rowTable, f *action.Add) []action.Action { return marking(f, r.without(f, 5, 9)) },
			reads: []string{"id = 1", "id = 5"}, kind: ConcurrentDeleteRead, reason: RowsMatch, says: "row 5"},
		{name: "a file without rows that were read", winner: func(r *rowTable, f *action.Add) []action.Action {
			b := r.file("g", 0, 9)
			return []action.Action{gone(f), b}
		}, reads: []string{"id > 3 AND id % 20 = 11"}},
		{name: "a file with rows that were read", winner: func(r *rowTable, f *action.Add) []action.Action { return []action.Action{gone(f)} },
			reads: []string{"id > 8"}, kind: ConcurrentDeleteRead, reason: RowsMatch, says: "row 9"},
		{name: "rows gone before did not disappear", winner: func(r *rowTable, f *action.Add) []action.Action { return []action.Action{gone(r.without(f, 9))} },
			reads: []string{"id > 8"}},
		{name: "a row that came back", winner: func(r *rowTable, f *action.Add) []action.Action {
			return []action.Action{gone(r.without(f, 5)), r.without(f, 8)}
		}, reads: []string{"id = 5"}, kind: ConcurrentAppend, reason: RowsMatch, says: "row 5"},

		// Both sides would carry the rows of f on.
		{name: "the loser rewrites the file too", winner: func(r *rowTable, f *action.Add) []action.Action {
			return []action.Action{gone(f), r.file("f2", 0, 9)}
		}, loser: func(r *rowTable, f *action.Add) []action.Action { return []action.Action{gone(f), newFile("f3")} },
			reads: []string{"id > 3 AND id % 20 = 11"}, kind: ConcurrentDeleteRead, reason: FileRemoved},
		{name: "the loser marks the file", winner: func(r *rowTable, f *action.Add) []action.Action {
			return []action.Action{gone(f), r.file("f2", 0, 9)}
		}, loser: func(r *rowTable, f *action.Add) []action.Action { return marking(f, r.without(f, 1)) },
			reads: []string{"id > 3 AND id % 20 = 11"}, kind: ConcurrentDeleteRead, reason: FileRemoved},
		{name: "the loser adds the file again", winner: func(r *rowTable, f *action.Add) []action.Action {
			return []action.Action{gone(f), r.file("f2", 0, 9)}
		}, loser: func(r *rowTable, f *action.Add) []action.Action { return []action.Action{f} },
			reads: []string{"id > 3 AND id % 20 = 11"}, kind: ConcurrentDeleteRead, reason: FileRemoved},

		{name: "no predicates", winner: func(r *rowTable, f *action.Add) []action.Action { return []action.Action{gone(f)} },
			kind: ConcurrentDeleteRead, reason: FileRemoved, says: errNoPredicate.Error()},
		{name: "the whole table was read", winner: func(r *rowTable, f *action.Add) []action.Action { return []action.Action{gone(f)} },
			reads: []string{"id = 50"}, change: func(t *Transaction) { t.ReadWholeTable = true }, kind: ConcurrentDeleteRead, reason: FileRemoved, says: errWholeTable.Error()},
		{name: "something is not evaluated", winner: func(r *rowTable, f *action.Add) []action.Action { return []action.Action{gone(f)} },
			reads: []string{"id = 50 AND id > (SELECT avg(id) FROM t)"}, kind: ConcurrentDeleteRead, reason: FileRemoved, says: errOpaque.Error()},
		{name: "no predicate tells why the file was read", winner: func(r *rowTable, f *action.Add) []action.Action { return []action.Action{gone(f)} },
			reads: []string{"id = 50"}, kind: ConcurrentDeleteRead, reason: FileRemoved, says: errNotTold.Error()},
		{name: "a file that cannot be read", winner: func(r *rowTable, f *action.Add) []action.Action {
			missing := *f
			missing.Path = "missing"
			return []action.Action{gone(&missing)}
		}, change: func(t *Transaction) { t.ReadFiles = []ReadFile{{Path: "missing"}} },
			reads: []string{"id = 5"}, kind: ConcurrentDeleteRead, reason: FileRemoved, says: "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRowTable(t)
			f := ten(r, "f")
			r.commit(infoOf("DELETE"), tt.winner(r, f)...)
			actions := []action.Action{newFile("new")}
			if tt.loser != nil {
				actions = tt.loser(r, f)
			}
			txn := r.txn("WRITE", tt.reads, actions...)
			txn.ReadFiles = []ReadFile{{Path: "f"}}
			if tt.change != nil {
				tt.change(txn)
			}
			if result := r.check(Options{Mode: Exact}, txn); result.Outcome != Conflicting {
				t.Errorf("without the switch: %s", result.Outcome)
			}
			result := r.check(Options{Mode: Exact, RemovedRows: true}, txn)
			if tt.kind == 0 {
				wantClear(t, result)
				return
			}
			if result.Outcome != Conflicting {
				t.Fatalf("%s, want %s", result.Outcome, tt.kind)
			}
			if got := result.Conflict; got.Kind != tt.kind || got.Reason != tt.reason || !strings.Contains(got.Error(), tt.says) {
				t.Errorf("want %s because of %s, and %q: %v", tt.kind, tt.reason, tt.says, got)
			}
		})
	}
}

func TestRemovedRowsNeedModeExact(t *testing.T) {
	for _, mode := range []Mode{Off, Stats} {
		if _, err := NewChecker(deltalog.Open(newRowTable(t).store, deltalog.Options{}), Options{Mode: mode, RemovedRows: true}); err == nil {
			t.Errorf("mode %s: no error", mode)
		}
	}
}
