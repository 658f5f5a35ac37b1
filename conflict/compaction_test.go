package conflict

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deltaskip/deltaskip/action"
)

// compactionOf records that h has the live rows of some files.
func compactionOf(h *action.Add, sources ...*action.Add) *action.CommitInfo {
	info := infoOf("OPTIMIZE")
	RecordCompaction(info, []CompactedFile{compacted(h, sources...)})
	return info
}

func compacted(h *action.Add, sources ...*action.Add) CompactedFile {
	f := CompactedFile{Path: h.Path}
	for _, s := range sources {
		n, _ := numRecords(s.Stats)
		f.Sources = append(f.Sources, CompactionSource{Path: s.Path, DeletionVector: s.DeletionVector, NumRecords: n})
	}
	return f
}

func TestCompactionRecordsRoundTrip(t *testing.T) {
	r := newRowTable(t)
	f := r.without(ten(r, "f"), 3)
	inline := *f.DeletionVector
	inline.StorageType, inline.Offset = "i", nil
	want := []CompactedFile{{Path: "h", Sources: []CompactionSource{{"f", f.DeletionVector, 10}, {"a b%20c", nil, 0}}}, {Path: "k", Sources: []CompactionSource{{"g", &inline, 7}}}}
	info := &action.CommitInfo{}
	RecordCompaction(info, want)
	got, err := CompactionOf(info)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{`7`, `{"files":[{"path":"h"}]}`, `{"files":[{"path":"h","sources":[{"path":"f"},{"path":"./f"}]}]}`,
		`{"files":[{"path":"h","sources":[{"path":"f","numRecords":-1}]}]}`} {
		info.Set(compactionKey, []byte(bad))
		if got, err := CompactionOf(info); err == nil {
			t.Errorf("%s: %+v", bad, got)
		}
	}
}

// The tables of these tests: f and g, each of ten rows of which f has lost rows 0 and 1, compacted to h.
func compactedTable(t testing.TB) (r *rowTable, f, g, h *action.Add) {
	r = newRowTable(t)
	f, g = r.without(ten(r, "f"), 0, 1), r.file("g", 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)
	h = r.file("h", 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)
	return r, f, g, h
}

var compacting = Options{Mode: Stats, Compaction: true}

func TestMarksMoveToTheCompactedFile(t *testing.T) {
	r, f, g, h := compactedTable(t)
	r.commit(compactionOf(h, f, g), still(gone(f), gone(g), h)...)
	plain := func(name string) *action.Add { a := *f; a.DeletionVector = nil; a.Path = name; return &a }
	for _, tt := range []struct {
		name  string
		loser []action.Action
		want  []int64 // rows of h
	}{
		{"of the first source", marking(f, r.without(plain("f"), 0, 1, 5, 9)), []int64{3, 7}},
		{"of the second source", marking(g, r.without(g, 0, 9)), []int64{8, 17}},
		{"of both", append(marking(f, r.without(plain("f"), 0, 1, 2)), marking(g, r.without(g, 1))...), []int64{0, 9}},
		{"a source that the loser removes", []action.Action{gone(g), newFile("new")}, []int64{8, 9, 10, 11, 12, 13, 14, 15, 16, 17}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result := r.check(compacting, r.txn("DELETE", []string{"id > 100"}, tt.loser...))
			wantClear(t, result)
			if got := r.vectorAfter(result, "h"); got != positions(tt.want...) {
				t.Errorf("h lacks %s, want %v", got, tt.want)
			}
			if got := removedAs(t, result, "h"); got != "" {
				t.Errorf("h is removed with vector %s", got)
			}
			for _, a := range result.Actions {
				switch a := a.(type) {
				case *action.Add:
					if a.Path == "f" || a.Path == "g" || !a.DataChange || a.Path == "h" && !strings.Contains(a.Stats, `"tightBounds":false`) {
						t.Errorf("adds %s", text([]action.Action{a}))
					}
				case *action.Remove:
					if a.Path != "h" || !a.DataChange {
						t.Errorf("removes %s", text([]action.Action{a}))
					}
				}
			}
		})
	}
	t.Run("a row that is marked twice in the end", func(t *testing.T) {
		r, f, g, h := compactedTable(t)
		r.commit(compactionOf(h, f, g), still(gone(f), gone(g), h)...)
		r.commit(infoOf("DELETE"), marking(h, r.without(h, 3))...)
		o := Options{Mode: Stats, Compaction: true, RowLevel: true}
		wantConflict(t, r.check(o, r.txn("DELETE", []string{"id = 5"}, marking(f, r.without(plain("f"), 0, 1, 5))...)), ConcurrentDeleteRead, SameRows, "h")
		result := r.check(o, r.txn("DELETE", []string{"id = 6"}, marking(f, r.without(plain("f"), 0, 1, 6))...))
		wantClear(t, result)
		if got := r.vectorAfter(result, "h"); got != positions(3, 4) {
			t.Errorf("h lacks %s", got)
		}
	})
}

func TestMarksThatDoNotMove(t *testing.T) {
	for _, tt := range []struct {
		name   string
		commit func(r *rowTable, f, g, h *action.Add)
		loser  func(r *rowTable, f, g *action.Add) []action.Action
		change func(*Transaction)
		says   string
	}{
		{name: "no record", commit: func(r *rowTable, f, g, h *action.Add) { r.commit(infoOf("OPTIMIZE"), still(gone(f), gone(g), h)...) }, says: errNoRecord.Error()},
		{name: "a record of other files", commit: func(r *rowTable, f, g, h *action.Add) {
			r.commit(compactionOf(h, g), still(gone(f), gone(g), h)...)
		}, says: errNoRecord.Error()},
		{name: "a record that does not add up", commit: func(r *rowTable, f, g, h *action.Add) {
			short := *h
			short.Stats = strings.Replace(h.Stats, `"numRecords":18`, `"numRecords":17`, 1)
			r.commit(compactionOf(h, f, g), still(gone(f), gone(g), &short)...)
		}, says: "17 rows by its statistics, its sources 18"},
		{name: "a commit that also changes data", commit: func(r *rowTable, f, g, h *action.Add) {
			r.commit(compactionOf(h, f, g), append(still(gone(f), gone(g)), h)...)
		}},
		{name: "another vector", commit: func(r *rowTable, f, g, h *action.Add) {
			r.commit(compactionOf(h, f, g), still(gone(r.without(f, 0, 1)), gone(g), h)...)
		}, says: errOtherVector.Error()},
		{name: "a loser that gives rows back", loser: func(r *rowTable, f, g *action.Add) []action.Action { return marking(f, r.without(f, 1, 5)) }, says: errShrunk.Error()},
		{name: "a loser that adds a source again", loser: func(r *rowTable, f, g *action.Add) []action.Action { return []action.Action{g} }},
		{name: "a table without deletion vectors", change: func(t *Transaction) { t.Metadata = &action.Metadata{SchemaString: t.Metadata.SchemaString} }, says: errNoVectors.Error()},
		{name: "rows deleted meanwhile are back", commit: func(r *rowTable, f, g, h *action.Add) {
			whole := *f
			whole.DeletionVector = nil
			all := r.file("all", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)
			r.commit(compactionOf(all, &whole, g), still(gone(f), gone(g), all)...)
		}, says: "are back in its file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, f, g, h := compactedTable(t)
			if tt.commit == nil {
				tt.commit = func(r *rowTable, f, g, h *action.Add) { r.commit(compactionOf(h, f, g), still(gone(f), gone(g), h)...) }
			}
			tt.commit(r, f, g, h)
			loser := marking(f, r.without(f, 0, 1, 5))
			if tt.loser != nil {
				loser = tt.loser(r, f, g)
			}
			txn := r.txn("DELETE", []string{"id > 100"}, loser...)
			if tt.change != nil {
				tt.change(txn)
			}
			result := r.check(Options{Mode: Stats, Compaction: true, Rearranged: true, RowLevel: true}, txn)
			if result.Outcome != Conflicting || !strings.Contains(result.Conflict.Error(), tt.says) {
				t.Errorf("%s, want a conflict that says %q: %v", result.Outcome, tt.says, result.Conflict)
			}
		})
	}
}

// compactionTxn is a compaction that read version 1.
func (r *rowTable) compactionTxn(info *action.CommitInfo, actions ...action.Action) *Transaction {
	txn := r.txn("OPTIMIZE", nil, still(actions...)...)
	txn.CommitInfo = info
	return txn
}

func TestCompactionsTakeOverMarks(t *testing.T) {
	type commit func(r *rowTable, f, g *action.Add)
	marks := func(rows ...int64) commit {
		return func(r *rowTable, f, g *action.Add) { r.commit(infoOf("DELETE"), marking(f, r.without(f, rows...))...) }
	}
	for _, tt := range []struct {
		name    string
		winners []commit
		want    []int64 // rows of h; nil for a conflict
		says    string
	}{
		{name: "rows of a source", winners: []commit{marks(0, 1, 5)}, want: []int64{3}},
		{name: "twice", winners: []commit{func(r *rowTable, f, g *action.Add) {
			next := r.without(f, 0, 1, 5)
			r.commit(infoOf("DELETE"), marking(f, next)...)
			r.commit(infoOf("DELETE"), append(marking(next, r.without(f, 0, 1, 2, 5)), marking(g, r.without(g, 9))...)...)
		}}, want: []int64{0, 3, 17}},
		{name: "a source that is gone", winners: []commit{func(r *rowTable, f, g *action.Add) { r.commit(infoOf("DELETE"), gone(f)) }},
			want: []int64{0, 1, 2, 3, 4, 5, 6, 7}},
		{name: "rows that came back", winners: []commit{marks(1)}, says: errShrunk.Error()},
		{name: "everything is gone", winners: []commit{func(r *rowTable, f, g *action.Add) { r.commit(infoOf("TRUNCATE"), gone(f), gone(g)) }}, says: errNothingLeft.Error()},
		{name: "another compaction", winners: []commit{func(r *rowTable, f, g *action.Add) {
			r.commit(infoOf("OPTIMIZE"), still(gone(f), newFile("k"))...)
		}}, says: "rearranges"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, f, g, h := compactedTable(t)
			for _, w := range tt.winners {
				w(r, f, g)
			}
			txn := r.compactionTxn(compactionOf(h, f, g), gone(f), gone(g), h)
			if result := r.check(Options{Mode: Stats}, txn); result.Outcome != Conflicting {
				t.Errorf("without the switch: %s", result.Outcome)
			}
			result := r.check(compacting, txn)
			if tt.want == nil {
				if result.Outcome != Conflicting || !strings.Contains(result.Conflict.Error(), tt.says) {
					t.Errorf("%s, want a conflict that says %q: %v", result.Outcome, tt.says, result.Conflict)
				}
				return
			}
			wantClear(t, result)
			if got := r.vectorAfter(result, "h"); got != positions(tt.want...) {
				t.Errorf("h lacks %s, want %v", got, tt.want)
			}
			if a := first[*action.Add](result.Actions); a.DataChange || !strings.Contains(a.Stats, `"tightBounds":false`) {
				t.Errorf("adds %s", text([]action.Action{a}))
			}
		})
	}
}

// A compaction that took over marks is a winner for the next loser, whose vector is on top of those marks.
func TestMarksMoveThroughARebasedCompaction(t *testing.T) {
	r, f, g, h := compactedTable(t)
	five := r.without(f, 0, 1, 5)
	r.commit(infoOf("DELETE"), marking(f, five)...)
	r.apply(r.check(compacting, r.compactionTxn(compactionOf(h, f, g), gone(f), gone(g), h)))
	o := Options{Mode: Stats, Compaction: true, RowLevel: true}
	result := r.check(o, r.txn("DELETE", []string{"id = 7"}, marking(f, r.without(f, 0, 1, 7))...))
	wantClear(t, result)
	if got := r.vectorAfter(result, "h"); got != positions(3, 5) {
		t.Errorf("h lacks %s", got)
	}
	wantConflict(t, r.check(o, r.txn("DELETE", []string{"id = 5"}, marking(f, r.without(f, 0, 1, 5))...)), ConcurrentDeleteRead, SameRows, "f")
}

func TestPartialCompaction(t *testing.T) {
	r, f, g, h := compactedTable(t)
	a, b := r.file("a", 100, 101), r.file("b", 100, 101)
	r.commit(infoOf("DELETE"), gone(g))
	info := infoOf("OPTIMIZE")
	RecordCompaction(info, []CompactedFile{compacted(h, f, g), compacted(b, a)})
	txn := r.compactionTxn(info, gone(f), gone(g), h, gone(a), b)
	o := CommitOptions{Options: Options{Mode: Stats}, PartialCompaction: true}
	got, err := newCommitter(t, r.store, o).Commit(t.Context(), txn)
	if err != nil || got.Version != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	var did []string
	for _, x := range parse(t, lines(t, r.store, 3)...) {
		switch x := x.(type) {
		case *action.Add:
			did = append(did, "add "+x.Path)
		case *action.Remove:
			did = append(did, "remove "+x.Path)
		case *action.CommitInfo:
			if record, err := CompactionOf(x); err != nil || len(record) != 1 || record[0].Path != "b" {
				t.Errorf("record %+v, %v", record, err)
			}
		}
	}
	if !slices.Equal(did, []string{"remove a", "add b"}) {
		t.Errorf("%v", did)
	}
	if len(txn.Actions) != 5 {
		t.Error("the caller's transaction changed")
	}

	r.next++ // past what was committed
	r.commit(infoOf("DELETE"), gone(f))
	r.commit(infoOf("DELETE"), gone(b))
	late := r.compactionTxn(info, gone(f), gone(g), h, gone(a), b)
	if _, err := newCommitter(t, r.store, o).Commit(t.Context(), late); !errors.Is(err, ErrConflict) {
		t.Errorf("nothing is left, but %v", err)
	}
	o.Compaction = true
	r2, f2, g2, h2 := compactedTable(t)
	r2.commit(infoOf("DELETE"), marking(f2, r2.without(f2, 0, 1, 2))...)
	if _, err := newCommitter(t, r2.store, o).Commit(t.Context(), r2.compactionTxn(compactionOf(h2, f2, g2), gone(f2), gone(g2), h2)); err != nil {
		t.Errorf("marks that can be taken over lose no group: %v", err)
	}
}

func TestRecordsThatContradictTheirCommit(t *testing.T) {
	r, f, g, h := compactedTable(t)
	whole := *f
	whole.DeletionVector = nil
	for name, txn := range map[string]*Transaction{
		"a file that is not added":     r.compactionTxn(compactionOf(newFile("k"), f, g), gone(f), gone(g), h),
		"a source that is not removed": r.compactionTxn(compactionOf(h, f, g), gone(f), h),
		"another vector":               r.compactionTxn(compactionOf(h, &whole, g), gone(f), gone(g), h),
		"data change":                  r.txn("OPTIMIZE", nil, gone(f), gone(g), h),
	} {
		if txn.CommitInfo.Get(compactionKey) == nil {
			txn.CommitInfo = compactionOf(h, f, g)
		}
		_, err := checker(t, logOf(t, 2), compacting).Check(t.Context(), txn, Newest)
		if !errors.Is(err, ErrTransaction) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
