package conflict

import (
	"testing"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
)

// FuzzBelowFiles checks a loser that marks a row against winners of any bytes, with all that looks below whole files: their
// deletion vectors, records of compactions, statistics and row tracking are read and rewritten. There is an answer or an error,
// and what is clear is a commit that can be written.
func FuzzBelowFiles(f *testing.F) {
	r, file, g, h := compactedTable(f)
	theirs := r.without(file, 0, 1, 4)
	loser := r.without(file, 0, 1, 7)
	for _, winner := range [][]action.Action{
		marking(file, theirs),
		append([]action.Action{compactionOf(h, file, g)}, still(gone(file), gone(g), h)...),
		append([]action.Action{infoOf("OPTIMIZE")}, still(gone(file), h)...),
		{infoOf("DELETE"), gone(file)},
		{infoOf("WRITE"), newFile("x"), &action.DomainMetadata{Domain: rowTrackingDomain, Configuration: `{"rowIdHighWaterMark":7}`}},
	} {
		f.Add([]byte(text(winner)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := r.store.Put(t.Context(), deltalog.CommitName(2), data); err != nil {
			t.Fatal(err)
		}
		r := &rowTable{t: t, store: r.store}
		log := deltalog.Open(r.store, deltalog.Options{})
		for _, o := range []Options{
			{Mode: Exact, RowLevel: true, RemovedRows: true, Rearranged: true, Compaction: true}, {Mode: Stats, Compaction: true}, {Mode: Stats, RowLevel: true},
		} {
			result, err := checker(t, log, o).Check(t.Context(), r.txn("DELETE", []string{"id = 7"}, marking(file, loser)...), Newest)
			if (err != nil) != (result.Outcome == Undetermined) {
				t.Errorf("%s: %v", result.Outcome, err)
			}
			for _, a := range result.Actions {
				if _, err := action.Parse(action.Append(nil, a)); err != nil {
					t.Errorf("it would write %s: %v", action.Append(nil, a), err)
				}
			}
		}
	})
}
