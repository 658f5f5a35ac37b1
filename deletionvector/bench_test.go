package deletionvector

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// benchRows is how many rows the data file of the benchmarks has.
const benchRows = 10_000_000

// benchPair makes two vectors of n rows each, without a common row: the case in which every row must be looked at.
func benchPair(n int, runs bool) (a, b *Vector) {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	length := 1
	if runs {
		length = min(1000, n)
	}
	blocks := r.Perm(benchRows / length)[:2*n/length]
	expand := func(blocks []int) *Vector {
		slices.Sort(blocks)
		var b builder
		for _, block := range blocks {
			b.addRange(int64(block*length), int64(length))
		}
		return b.vector()
	}
	return expand(blocks[:n/length]), expand(blocks[n/length:])
}

func eachPair(b *testing.B, f func(b *testing.B, x, y *Vector)) {
	for _, shape := range []string{"random", "runs"} {
		for _, n := range []int{10, 1000, 100_000, 1_000_000} {
			x, y := benchPair(n, shape == "runs")
			b.Run(fmt.Sprintf("shape=%s/rows=%d", shape, n), func(b *testing.B) {
				b.ReportAllocs()
				f(b, x, y)
				b.ReportMetric(float64(2*n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// bitmapOf returns the one 32-bit bitmap in v's blob.
func bitmapOf(v *Vector) []byte { return v.AppendBlob(nil)[16:] }

func BenchmarkDecode(b *testing.B) {
	eachPair(b, func(b *testing.B, x, _ *Vector) {
		blob := x.AppendBlob(nil)
		b.SetBytes(int64(len(blob)))
		for b.Loop() {
			if _, err := Decode(blob); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkOverlap(b *testing.B) {
	eachPair(b, func(b *testing.B, x, y *Vector) {
		for b.Loop() {
			if o := OverlapOf(x, y, nil); o.Count != 0 {
				b.Fatal(o)
			}
		}
	})
}

// BenchmarkClashFromBytes is what the first look at a winner costs: two blobs to the answer.
func BenchmarkClashFromBytes(b *testing.B) {
	eachPair(b, func(b *testing.B, x, y *Vector) {
		p, q := x.AppendBlob(nil), y.AppendBlob(nil)
		for b.Loop() {
			v, err := Decode(p)
			if err != nil {
				b.Fatal(err)
			}
			w, err := Decode(q)
			if err != nil {
				b.Fatal(err)
			}
			if o := OverlapOf(v, w, nil); o.Count != 0 {
				b.Fatal(o)
			}
		}
	})
}

// BenchmarkClashFromBytesFound is the same where the vectors do have rows in common, some of which are named.
func BenchmarkClashFromBytesFound(b *testing.B) {
	eachPair(b, func(b *testing.B, x, y *Vector) {
		last, _ := x.Max()
		p, q := x.AppendBlob(nil), y.Union(Of(last)).AppendBlob(nil)
		for b.Loop() {
			v, err := Decode(p)
			if err != nil {
				b.Fatal(err)
			}
			w, err := Decode(q)
			if err != nil {
				b.Fatal(err)
			}
			if o := OverlapOf(v, w, nil); o.Count != 1 || len(o.Rows) != 1 {
				b.Fatal(o)
			}
		}
	})
}

// BenchmarkClashFromBytesRoaring is the same with roaring alone, which checks nothing of what it reads.
func BenchmarkClashFromBytesRoaring(b *testing.B) {
	eachPair(b, func(b *testing.B, x, y *Vector) {
		p, q := bitmapOf(x), bitmapOf(y)
		for b.Loop() {
			v, w := roaring.New(), roaring.New()
			if _, err := v.FromUnsafeBytes(p); err != nil {
				b.Fatal(err)
			}
			if _, err := w.FromUnsafeBytes(q); err != nil {
				b.Fatal(err)
			}
			if v.AndCardinality(w) != 0 {
				b.Fatal("clash")
			}
		}
	})
}

func BenchmarkMerge(b *testing.B) {
	eachPair(b, func(b *testing.B, x, y *Vector) {
		for b.Loop() {
			if _, o, err := Merge(x, y, nil); err != nil || o.Count != 0 {
				b.Fatal(o, err)
			}
		}
	})
}

// BenchmarkMergeRoaring is the same with roaring alone.
func BenchmarkMergeRoaring(b *testing.B) {
	eachPair(b, func(b *testing.B, x, y *Vector) {
		v, w := roaring.New(), roaring.New()
		if _, err := v.FromBuffer(bitmapOf(x)); err != nil {
			b.Fatal(err)
		}
		if _, err := w.FromBuffer(bitmapOf(y)); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if v.AndCardinality(w) != 0 {
				b.Fatal("clash")
			}
			roaring.Or(v, w).RunOptimize()
		}
	})
}

func BenchmarkRebase(b *testing.B) {
	eachPair(b, func(b *testing.B, x, y *Vector) {
		sources := []Source{{NumRecords: benchRows, Deleted: y}}
		for b.Loop() {
			if _, o, err := Rebase(sources, 0, x); err != nil || o.Count != 0 {
				b.Fatal(o, err)
			}
		}
	})
}

func BenchmarkAppendBlob(b *testing.B) {
	eachPair(b, func(b *testing.B, x, _ *Vector) {
		var blob []byte
		for b.Loop() {
			blob = x.AppendBlob(blob[:0])
		}
	})
}
