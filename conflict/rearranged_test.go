package conflict

import (
	"testing"

	"github.com/deltaskip/deltaskip/action"
)

func TestRearranged(t *testing.T) {
	type files struct{ f, g, h *action.Add }
	optimize := func(x files) []action.Action { return still(gone(x.f), gone(x.g), x.h) }
	appends := func(x files) []action.Action { return []action.Action{newFile("new")} }
	for _, tt := range []struct {
		name      string
		operation string // of the winner; OPTIMIZE when empty
		winner    func(x files) []action.Action
		loser     func(x files) []action.Action
		change    func(*Transaction) // the loser has read f by id = 5
		reason    Reason             // of the conflict; empty for none
		path      string
	}{
		{name: "an append that read a compacted file", winner: optimize, loser: appends},
		{name: "an append that read the whole table", winner: optimize, loser: appends, change: func(t *Transaction) { t.ReadWholeTable = true }},
		{name: "REORG", operation: "REORG", winner: optimize, loser: appends},
		{name: "another operation", operation: "WRITE", winner: optimize, loser: appends, reason: RowsMatch, path: "h"},
		{name: "not all of it is without data change", winner: func(x files) []action.Action { return append(still(gone(x.f), x.h), gone(x.g)) }, loser: appends,
			reason: RowsMatch, path: "h"},
		{name: "it only adds", winner: func(x files) []action.Action { return still(x.h) }, loser: appends, reason: RowsMatch, path: "h"},
		{name: "it only removes", winner: func(x files) []action.Action { return still(gone(x.f)) }, loser: appends, reason: FileRemoved, path: "f"},

		// Adding f again would bring back what h holds as well.
		{name: "a known path is added again", winner: optimize, loser: func(x files) []action.Action { return []action.Action{x.f} }, reason: RowsMatch, path: "h"},
		{name: "a known path is added again, not read", winner: optimize, loser: func(x files) []action.Action { return []action.Action{x.f} },
			change: func(t *Transaction) { t.Reads, t.ReadFiles = []Read{{SQL: "id = 50"}}, nil }, reason: ReaddedFile, path: "f"},

		{name: "a change of other files", winner: optimize, loser: func(x files) []action.Action { return []action.Action{gone(newFile("other")), newFile("new")} },
			change: func(t *Transaction) { t.ReadFiles = []ReadFile{{Path: "other"}} }},
		{name: "a change that read a compacted file", winner: optimize,
			loser:  func(x files) []action.Action { return []action.Action{gone(newFile("other")), newFile("new")} },
			reason: RowsMatch, path: "h"},
		{name: "a change of a compacted file", winner: optimize, loser: func(x files) []action.Action { return []action.Action{gone(x.g), newFile("new")} },
			change: func(t *Transaction) { t.ReadFiles = nil }, reason: RowsMatch, path: "h"},
		{name: "a change that tells nothing of what it read", winner: optimize, loser: func(x files) []action.Action { return []action.Action{gone(newFile("other"))} },
			change: func(t *Transaction) { t.ReadWholeTable = true }, reason: WholeTableRead, path: "h"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRowTable(t)
			x := files{r.file("f", 1, 5), r.file("g", 7), r.file("h", 1, 5, 7)}
			operation := "OPTIMIZE"
			if tt.operation != "" {
				operation = tt.operation
			}
			r.commit(infoOf(operation), tt.winner(x)...)
			txn := r.txn("WRITE", []string{"id = 5"}, tt.loser(x)...)
			txn.ReadFiles = []ReadFile{{Path: "f"}}
			if tt.change != nil {
				tt.change(txn)
			}
			if result := r.check(Options{Mode: Exact}, txn); result.Outcome != Conflicting {
				t.Errorf("without the switch: %s", result.Outcome)
			}
			result := r.check(Options{Mode: Exact, Rearranged: true}, txn)
			if tt.reason == "" {
				wantClear(t, result)
			} else if result.Outcome != Conflicting || result.Conflict.Reason != tt.reason || result.Conflict.Path != tt.path {
				t.Errorf("%s, want %s at %s: %v", result.Outcome, tt.reason, tt.path, result.Conflict)
			}
		})
	}
}

// The rows that were read are in other files now: who deletes those deletes what was read.
func TestRearrangedFilesAreReadFiles(t *testing.T) {
	r := newRowTable(t)
	f, h := r.file("f", 1, 5), r.file("h", 1, 5)
	r.commit(infoOf("OPTIMIZE"), still(gone(f), h)...)
	r.commit(infoOf("DELETE"), marking(h, r.without(h, 0))...)
	txn := r.txn("WRITE", []string{"id = 1"}, newFile("new"))
	txn.ReadFiles = []ReadFile{{Path: "f"}}
	wantConflict(t, r.check(Options{Mode: Exact, Rearranged: true}, txn), ConcurrentDeleteRead, FileRemoved, "h")
	wantConflict(t, r.check(Options{Mode: Exact, Rearranged: true, RemovedRows: true}, txn), ConcurrentDeleteRead, RowsMatch, "h")
	txn.Reads = []Read{{SQL: "id = 5"}}
	wantClear(t, r.check(Options{Mode: Exact, Rearranged: true, RemovedRows: true}, txn))
}

// Under WriteSerializable a row of a blind append is nobody's to see, until it is written again by a commit that counts.
func TestRowsOfBlindAppendsAreUnseen(t *testing.T) {
	for _, marks := range []bool{false, true} {
		r := newRowTable(t)
		f, blind, h := r.file("f", 1, 5), r.file("b", 5, 6), r.file("h", 1, 5, 5, 6)
		info := infoOf("WRITE")
		info.SetBool("isBlindAppend", true)
		r.commit(info, blind)
		r.commit(infoOf("OPTIMIZE"), still(gone(f), gone(blind), h)...)
		if marks {
			r.commit(infoOf("DELETE"), marking(h, r.without(h, 3))...)
		}
		txn := r.txn("WRITE", []string{"id = 5"}, newFile("new"))
		txn.Metadata = parse(t, table(propDeletionVectors+"=true", isolationProperty+"=WriteSerializable"))[0].(*action.Metadata)
		txn.ReadFiles = []ReadFile{{Path: "f"}}
		result := r.check(Options{Mode: Exact, Rearranged: true, RemovedRows: true}, txn)
		if marks {
			wantConflict(t, result, ConcurrentAppend, RowsMatch, "h")
		} else {
			wantClear(t, result)
		}
	}
}
