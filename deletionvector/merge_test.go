package deletionvector

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMerge(t *testing.T) {
	tests := []struct {
		name                  string
		winner, current, base *Vector
		merged                []int64 // nil: no vector
		overlap               Overlap
		shrunk                *ShrunkError
	}{
		{name: "other rows", winner: Of(1, 2), current: Of(7), merged: []int64{1, 2, 7}},
		{name: "what was marked before is no overlap", winner: Of(0, 1), current: Of(0, 7), base: Of(0), merged: []int64{0, 1, 7}},
		{name: "one common row", winner: Of(1, 2), current: Of(2, 3), overlap: Overlap{1, []int64{2}}},
		{name: "common rows beside those of the base", winner: Of(0, 1, 2), current: Of(0, 2), base: Of(0), overlap: Overlap{1, []int64{2}}},
		{name: "many common rows", winner: Range(0, 100), current: Range(50, 200), overlap: Overlap{50, []int64{50, 51, 52, 53, 54, 55, 56, 57}}},
		{name: "in different high halves", winner: Of(5), current: Of(5 + 1<<32), merged: []int64{5, 5 + 1<<32}},
		{name: "in the same container of different high halves", winner: Of(5, 1<<33), current: Of(6, 1<<33), overlap: Overlap{1, []int64{1 << 33}}},
		{name: "a RESTORE gave a row back", winner: Of(1), current: Of(1, 2, 5), base: Of(1, 2), shrunk: &ShrunkError{Winner: true, Count: 1}},
		{name: "the loser gave rows back", winner: Of(1, 2, 3), current: nil, base: Of(1, 2), shrunk: &ShrunkError{Count: 2}},
		{name: "nobody marked anything", base: Of(3), winner: Of(3), current: Of(3), merged: []int64{3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			merged, overlap, err := Merge(tt.winner, tt.current, tt.base)
			if d := cmp.Diff(tt.overlap, overlap); d != "" {
				t.Errorf("overlap (-want +got):\n%s", d)
			}
			if tt.merged == nil != (merged == nil) || merged != nil && !slices.Equal(rowsIn(merged), tt.merged) {
				t.Errorf("merged %v, want %v", merged, tt.merged)
			}
			shrunk, _ := errors.AsType[*ShrunkError](err)
			if d := cmp.Diff(tt.shrunk, shrunk); d != "" {
				t.Errorf("error %v (-want +got):\n%s", err, d)
			}
		})
	}
}

func TestMergeIsSymmetricAndExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := Of(positions().Draw(t, "base")...)
		winner := Of(positions().Draw(t, "winner")...).Union(base)
		current := Of(positions().Draw(t, "current")...).Union(base)
		merged, overlap, err := Merge(winner, current, base)
		if err != nil {
			t.Fatal(err)
		}
		other, overlapOther, err := Merge(current, winner, base)
		if err != nil || !cmp.Equal(overlap, overlapOther) || (merged == nil) != (other == nil) || !merged.Equal(other) {
			t.Fatalf("one way %v, the other %v, %v", overlap, overlapOther, err)
		}
		if merged == nil {
			if overlap.Count == 0 {
				t.Fatal("neither a vector nor an overlap")
			}
			return
		}
		if got, want := merged.Cardinality(), winner.Cardinality()+current.Cardinality()-base.Cardinality(); got != want {
			t.Fatalf("%d rows merged, want %d", got, want)
		}
		if !winner.SubsetOf(merged) || !current.SubsetOf(merged) {
			t.Fatal("the merged vector lost rows")
		}
	})
}

func TestMergeAllocatesOnlyItsResult(t *testing.T) {
	winner, current, base := rowsOf(t, 10_000, 2, 0), rowsOf(t, 10_000, 2, 1), Of()
	for name, f := range map[string]func(){
		"count":      func() { winner.common(current) },
		"overlap":    func() { OverlapOf(winner, current, base) },
		"subset":     func() { winner.SubsetOf(current) },
		"intersects": func() { winner.Intersects(current) },
		"rank":       func() { winner.Rank(5000) },
		"contains":   func() { winner.Contains(5000) },
	} {
		if n := testing.AllocsPerRun(10, f); n != 0 {
			t.Errorf("%s allocates %.0f times", name, n)
		}
	}
	// The vector, its directory and its bytes.
	if n := testing.AllocsPerRun(10, func() { Merge(winner, current, base) }); n > 3 {
		t.Errorf("merging allocates %.0f times", n)
	}
}

// rowsOf returns n rows, every step-th from first on, decoded from bytes.
func rowsOf(t testing.TB, n, step, first int64) *Vector {
	t.Helper()
	var b builder
	for i := range n {
		b.addRange(first+i*step, 1)
	}
	return decoded(t, b.vector())
}

// TestRebase compacts sources by hand: the n-th live row of all is row n of the new file.
func TestRebase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type origin struct {
			source int
			row    int64
		}
		var sources []Source
		moved := map[origin]int64{}
		for i := range rapid.IntRange(1, 4).Draw(t, "sources") {
			n := rapid.Int64Range(0, 40).Draw(t, "records")
			var deleted []int64
			for row := range n {
				if rapid.Bool().Draw(t, "deleted") {
					deleted = append(deleted, row)
				} else {
					moved[origin{i, row}] = int64(len(moved))
				}
			}
			sources = append(sources, Source{NumRecords: n, Deleted: Of(deleted...)})
		}
		index := rapid.IntRange(0, len(sources)-1).Draw(t, "index")
		var marked, want, clash []int64
		for row := range sources[index].NumRecords {
			if !rapid.Bool().Draw(t, "marked") {
				continue
			}
			marked = append(marked, row)
			if to, live := moved[origin{index, row}]; live {
				want = append(want, to)
			} else {
				clash = append(clash, row)
			}
		}
		got, overlap, err := Rebase(sources, index, Of(marked...))
		if err != nil {
			t.Fatal(err)
		}
		if overlap.Count != int64(len(clash)) {
			t.Fatalf("overlap %v, want %v", overlap, clash)
		}
		if len(clash) == 0 && !slices.Equal(rowsIn(got), want) {
			t.Fatalf("rows %v moved to %v, want %v", marked, got, want)
		}
	})
}

func TestRebaseRefusesRowsThatTheSourceDoesNotHave(t *testing.T) {
	_, _, err := Rebase([]Source{{NumRecords: 3}, {NumRecords: 3}}, 0, Of(3))
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

func TestOverlapString(t *testing.T) {
	for want, o := range map[string]Overlap{
		"1 rows: 7":       {1, []int64{7}},
		"3 rows: 1, 2, 5": {3, []int64{1, 2, 5}},
		"9 rows: 1, 2, …": {9, []int64{1, 2}},
	} {
		if got := o.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
