package deletionvector

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// positions draws sets that make every kind of container: scattered rows, runs, dense blocks, several high halves.
func positions() *rapid.Generator[[]int64] {
	return rapid.Custom(func(t *rapid.T) []int64 {
		set := map[int64]bool{}
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			base := rapid.SampledFrom([]int64{0, 0, 0, 65_000, 1 << 20, 1<<32 - 70_000, 1 << 32, 5 << 33, math.MaxInt64 - 200_000}).Draw(t, "base")
			switch rapid.SampledFrom([]string{"rows", "run", "dense"}).Draw(t, "kind") {
			case "rows":
				for _, p := range rapid.SliceOfN(rapid.Int64Range(0, 99), 0, 20).Draw(t, "rows") {
					set[base+p] = true
				}
			case "run":
				first := rapid.Int64Range(0, 70_000).Draw(t, "first")
				for p := range rapid.Int64Range(0, 300).Draw(t, "length") {
					set[base+first+p] = true
				}
			case "dense":
				step := rapid.Int64Range(2, 5).Draw(t, "step")
				for p := int64(0); p < rapid.SampledFrom([]int64{100, 30_000}).Draw(t, "span"); p += step {
					set[base+p] = true
				}
			}
		}
		return slices.Sorted(maps.Keys(set))
	})
}

func rowsIn(v *Vector) []int64 { return slices.Collect(v.All()) }

// decoded returns v as it is after a trip through its bytes: views of them instead of containers of its own.
func decoded(t interface {
	Helper()
	Fatal(...any)
}, v *Vector) *Vector {
	t.Helper()
	w, err := Decode(v.AppendBlob(nil))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func toSet(list []int64) map[int64]bool {
	set := map[int64]bool{}
	for _, p := range list {
		set[p] = true
	}
	return set
}

func filter(list []int64, keep func(int64) bool) []int64 {
	return slices.Collect(func(yield func(int64) bool) {
		for _, p := range list {
			if keep(p) && !yield(p) {
				return
			}
		}
	})
}

func TestVectorIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y, z := positions().Draw(t, "x"), positions().Draw(t, "y"), positions().Draw(t, "z")
		inX, inY, inZ := toSet(x), toSet(y), toSet(z)
		a, b, c := Of(x...), Of(y...), Of(z...)
		if rapid.Bool().Draw(t, "decoded") {
			a, b, c = decoded(t, a), decoded(t, b), decoded(t, c)
		}
		blobA, blobB := a.AppendBlob(nil), b.AppendBlob(nil)

		same := func(what string, got *Vector, want []int64) {
			t.Helper()
			if d := cmp.Diff(want, rowsIn(got)); d != "" {
				t.Fatalf("%s (-want +got):\n%s", what, d)
			}
			if got.Cardinality() != int64(len(want)) {
				t.Fatalf("%s: cardinality %d, want %d", what, got.Cardinality(), len(want))
			}
			if !slices.Equal(got.AppendBlob(nil), Of(want...).AppendBlob(nil)) {
				t.Fatalf("%s: bytes depend on how the set was made", what)
			}
			if !got.Equal(decoded(t, got)) {
				t.Fatalf("%s: bytes do not give the set back", what)
			}
		}
		union := slices.Sorted(maps.Keys(toSet(slices.Concat(x, y))))
		same("a", a, x)
		same("a ∪ b", a.Union(b), union)
		same("b ∪ a", b.Union(a), union)
		same("a ∪ a", a.Union(a), x)
		same("(a ∪ b) ∪ c", a.Union(b).Union(c), slices.Sorted(maps.Keys(toSet(slices.Concat(x, y, z)))))
		same("a ∪ (b ∪ c)", a.Union(b.Union(c)), slices.Sorted(maps.Keys(toSet(slices.Concat(x, y, z)))))
		same("a \\ b", a.AndNot(b), filter(x, func(p int64) bool { return !inY[p] }))

		both := filter(x, func(p int64) bool { return inY[p] })
		if got := a.Intersects(b); got != (len(both) > 0) {
			t.Fatalf("a.Intersects(b) = %t, the common rows are %v", got, both)
		}
		if got, want := a.SubsetOf(b), len(both) == len(x); got != want {
			t.Fatalf("a.SubsetOf(b) = %t", got)
		}
		if got, want := a.Equal(b), slices.Equal(x, y); got != want {
			t.Fatalf("a.Equal(b) = %t", got)
		}
		clash := filter(both, func(p int64) bool { return !inZ[p] })
		wantOverlap := Overlap{Count: int64(len(clash)), Rows: clash[:min(len(clash), overlapShown)]}
		if len(clash) == 0 {
			wantOverlap.Rows = nil
		}
		if d := cmp.Diff(wantOverlap, OverlapOf(a, b, c)); d != "" {
			t.Fatalf("overlap (-want +got):\n%s", d)
		}

		probe := rapid.SampledFrom(append(slices.Clone(x), 0, 1, 65_535, 65_536, 1<<32, math.MaxInt64)).Draw(t, "probe")
		if a.Contains(probe) != inX[probe] {
			t.Fatalf("a.Contains(%d) = %t", probe, a.Contains(probe))
		}
		rank, found := slices.BinarySearch(x, probe)
		if got := a.Rank(probe); got != int64(rank) {
			t.Fatalf("a.Rank(%d) = %d, want %d", probe, got, rank)
		}
		if found {
			if got, ok := a.Select(int64(rank)); !ok || got != probe {
				t.Fatalf("a.Select(%d) = %d, %t, want %d", rank, got, ok, probe)
			}
		}
		if _, ok := a.Select(int64(len(x))); ok {
			t.Fatal("a.Select(len) found a position")
		}
		bitmap := make([]uint64, rapid.IntRange(0, 300).Draw(t, "words"))
		from := max(0, min(probe, 1<<62)-rapid.Int64Range(0, 10_000).Draw(t, "before"))
		for i := range bitmap {
			bitmap[i] = 0xCC
		}
		a.Bitmap(bitmap, from)
		for i := range 64 * len(bitmap) {
			if got := bitmap[i/64]>>(i%64)&1 != 0; got != inX[from+int64(i)] {
				t.Fatalf("bitmap from %d: bit %d is %t", from, i, got)
			}
		}
		if last, ok := a.Max(); ok != (len(x) > 0) || ok && last != x[len(x)-1] {
			t.Fatalf("a.Max() = %d, %t", last, ok)
		}
		if !slices.Equal(blobA, a.AppendBlob(nil)) || !slices.Equal(blobB, b.AppendBlob(nil)) {
			t.Fatal("an operation changed its operand")
		}
	})
}

// TestBytesAreRoaring compares with the library that other Go programs read vectors with.
func TestBytesAreRoaring(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := positions().Draw(t, "positions")
		other := roaring64.New()
		for _, p := range list {
			other.Add(uint64(p))
		}
		other.RunOptimize()
		want, err := other.ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		blob := Of(list...).AppendBlob(nil)
		if !bytes.Equal(want, blob[4:]) {
			t.Fatalf("%v: %x, roaring writes %x", list, blob[4:], want)
		}
		// Without run optimisation the library writes other forms, which must mean the same.
		plain := roaring64.New()
		for _, p := range list {
			plain.Add(uint64(p))
		}
		if want, err = plain.ToBytes(); err != nil {
			t.Fatal(err)
		}
		v, err := Decode(append(blob[:4:4], want...))
		if err != nil || !slices.Equal(rowsIn(v), rowsIn(Of(list...))) || !bytes.Equal(v.AppendBlob(nil), blob) {
			t.Fatalf("%v decoded from other forms: %v, %v", list, v, err)
		}
	})
}

func TestNilVectorIsEmpty(t *testing.T) {
	var none *Vector
	some := Of(1, 5)
	if none.Cardinality() != 0 || none.Contains(0) || none.Rank(9) != 0 || none.Intersects(some) || some.Intersects(none) {
		t.Error("a nil vector holds a row")
	}
	if !none.SubsetOf(some) || some.SubsetOf(none) || !none.Equal(Of()) || !none.SubsetOf(nil) {
		t.Error("a nil vector is not the empty set")
	}
	if !none.Union(some).Equal(some) || !some.Union(none).Equal(some) || !some.AndNot(none).Equal(some) || none.AndNot(some).Cardinality() != 0 {
		t.Error("a nil vector changes others")
	}
	if !slices.Equal(none.AppendBlob(nil), Of().AppendBlob(nil)) {
		t.Error("a nil vector is encoded as if it were not empty")
	}
}

func TestRange(t *testing.T) {
	tests := []struct {
		name       string
		first, end int64
		want       int64
	}{
		{"empty", 5, 5, 0},
		{"backwards", 5, 3, 0},
		{"one", 5, 6, 1},
		{"over a container's end", 65_530, 65_540, 10},
		{"over a high half's end", 1<<32 - 3, 1<<32 + 4, 7},
		{"over two high halves' ends", 1<<32 - 1, 1<<33 + 1, 1<<32 + 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := Range(tt.first, tt.end)
			if v.Cardinality() != tt.want {
				t.Fatalf("%d positions, want %d", v.Cardinality(), tt.want)
			}
			if tt.want == 0 {
				return
			}
			last, _ := v.Max()
			first, _ := v.Select(0)
			if first != tt.first || last != tt.end-1 || v.Contains(tt.end) || tt.first > 0 && v.Contains(tt.first-1) {
				t.Errorf("from %d to %d", first, last)
			}
		})
	}
}

func TestString(t *testing.T) {
	for want, v := range map[string]*Vector{
		"{}":                               nil,
		"{3 4}":                            Of(4, 3, 4),
		"{0 1 2 3 4 5 6 7}":                Range(0, 8),
		"{0 1 2 3 4 5 6 7 … 9 in all}":     Range(0, 9),
		"{4294967296 9223372036854775807}": Of(1<<32, math.MaxInt64),
	} {
		if got := v.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestOfPanicsOnNegativePositions(t *testing.T) {
	for name, f := range map[string]func(){"Of": func() { Of(3, -1) }, "Range": func() { Range(-1, 1) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s took a negative position", name)
				}
			}()
			f()
		}()
	}
}
