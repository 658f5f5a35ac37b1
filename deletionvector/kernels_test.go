package deletionvector

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// bothWays calls f with the assembly, where there is some, and with its twins in Go.
func bothWays(t *rapid.T, f func(way string)) {
	if assembly {
		f("assembly")
		assembly = false
		defer func() { assembly = true }()
	}
	f("Go")
}

// values draws ascending values of a container, as an array.
func values(t *rapid.T, label string) ([]uint16, []byte) {
	set := map[uint16]bool{}
	n := rapid.SampledFrom([]int{1, 7, 8, 9, 15, 16, 17, 18, 33, 100, 700, 4096}).Draw(t, label+" up to")
	spread := rapid.SampledFrom([]uint16{10, 300, 5000, 65535}).Draw(t, label+" spread")
	x := rapid.Uint16().Draw(t, label+" seed")
	for range n {
		x = x*25173 + 13849
		set[x%spread] = true
	}
	list := slices.Sorted(maps.Keys(set))
	var data []byte
	for _, v := range list {
		data = binary.LittleEndian.AppendUint16(data, v)
	}
	return list, data
}

func TestKernels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, a := values(t, "a")
		y, b := values(t, "b")
		common := 0
		for _, v := range x {
			if _, ok := slices.BinarySearch(y, v); ok {
				common++
			}
		}
		var v, w words
		v.setValues(a)
		w.setValues(b)
		bitsA, bitsB := make([]byte, bitsetBytes), make([]byte, bitsetBytes)
		for i := range v {
			binary.LittleEndian.PutUint64(bitsA[8*i:], v[i])
			binary.LittleEndian.PutUint64(bitsB[8*i:], w[i])
		}
		broken := slices.Clone(a)
		at := rapid.IntRange(0, len(x)-1).Draw(t, "broken at")
		binary.LittleEndian.PutUint16(broken[2*at:], x[max(0, at-1)])
		bothWays(t, func(way string) {
			if n := commonValues(a, b); n != common {
				t.Fatalf("%s: %d common values, want %d", way, n, common)
			}
			if n := commonBits(bitsA, bitsB); n != common {
				t.Fatalf("%s: %d common bits, want %d", way, n, common)
			}
			if err := checkArray(a); err != nil {
				t.Fatalf("%s: %v", way, err)
			}
			if err := checkArray(broken); (err != nil) != (at > 0) {
				t.Fatalf("%s: value %d of %d repeats the one before it: %v", way, at, len(x), err)
			}
		})
	})
}
