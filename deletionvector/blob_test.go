package deletionvector

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unhex reads hex in which spaces part fields and # starts a comment.
func unhex(t testing.TB, text string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	goldenArray = `
		d1d33964          # portable magic
		0100000000000000  # one bitmap
		00000000          # high half 0
		3a300000 01000000 # no runs, one container
		0000 0200         # key 0, three values
		10000000          # which start at byte 16 of the bitmap
		0100 0500 0900`
	goldenRuns = `
		d1d33964 0200000000000000 # two bitmaps
		00000000                  # high half 0
		3b30 0100                 # with runs, two containers
		03                        # both hold runs; no offsets below four containers
		0000 2c01  0100 ffff      # key 0 with 301 values, key 1 with 65536
		0200 0a00 6300 e803 c800  # two runs: 10 to 109, 1000 to 1200
		0100 0000 ffff            # one run: everything
		07000000                  # high half 7
		3a300000 01000000 0000 0000 10000000 2a00`
	goldenNative = `
		d0d33964 02000000 # native magic, two bitmaps, numbered
		08000000          # the first has 8 bytes
		3a300000 00000000 # and no container
		12000000          # the second has 18
		3a300000 01000000 0000 0000 10000000 0700`
	// The protocol's third example: native with big-endian numbers.
	goldenBigEndian = `
		6439d3d0 00000001 0000001c
		3a300000 01000000 0000 0500 10000000 0300 0400 0700 0b00 1200 1d00`
)

func TestDecodeGolden(t *testing.T) {
	runs := slices.Collect(func(yield func(int64) bool) {
		for _, r := range [][2]int64{{10, 109}, {1000, 1200}, {65536, 131071}, {7<<32 + 42, 7<<32 + 42}} {
			for row := r[0]; row <= r[1]; row++ {
				yield(row)
			}
		}
	})
	tests := []struct {
		name, hex string
		rows      []int64
		own       bool // the bytes are those that we write
	}{
		{"array", goldenArray, []int64{1, 5, 9}, true},
		{"runs and two high halves", goldenRuns, runs, true},
		{"no bitmap", "d1d33964 0000000000000000", nil, true},
		{"empty bitmaps fill gaps", "d1d33964 0200000000000000 00000000 3a300000 00000000 01000000 3a300000 01000000 0000 0000 10000000 0700", []int64{1<<32 + 7}, false},
		{"last high half", "d1d33964 0100000000000000 ffffff7f 3a300000 01000000 ffff 0000 10000000 ffff", []int64{math.MaxInt64}, true},
		{"native", goldenNative, []int64{1<<32 + 7}, false},
		{"native, big-endian", goldenBigEndian, []int64{3, 4, 7, 11, 18, 29}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			blob := unhex(t, tt.hex)
			v, err := Decode(blob)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.rows, rowsIn(v)); d != "" {
				t.Errorf("rows (-want +got):\n%s", d)
			}
			if written := v.AppendBlob(nil); bytes.Equal(written, blob) != tt.own {
				t.Errorf("written as %x", written)
			}
		})
	}
}

// TestDecodeBroken has a blob for each rule that a reader relies on.
func TestDecodeBroken(t *testing.T) {
	const head = "d1d33964 0100000000000000 00000000 "
	tests := []struct {
		name, hex string
		offset    int64
	}{
		{"nothing", "", 0},
		{"magic number cut", "d1d339", 0},
		{"unknown magic number", "d2d33964 0000000000000000", 0},
		{"count cut", "d1d33964 00000000000000", 4},
		{"bytes after the end", "d1d33964 0000000000000000 00", 12},
		{"huge count", "d1d33964 ffffffffffffffff", 12},
		{"top bit of a high half", "d1d33964 0100000000000000 00000080 3a300000 00000000", 12},
		{"high halves out of order", "d1d33964 0200000000000000 01000000 3a300000 00000000 00000000 3a300000 00000000", 24},
		{"high half twice", "d1d33964 0200000000000000 01000000 3a300000 00000000 01000000 3a300000 00000000", 24},
		{"unknown cookie", head + "39300000 01000000", 16},
		{"cookie cut", head + "3a3000", 16},
		{"container count above 65536", head + "3a300000 01000100", 20},
		{"run flags cut", head + "3b30ffff 00", 20},
		{"descriptors cut", head + "3b300000 01 0000 00", 21},
		{"offsets cut", head + "3a300000 01000000 0000 0000 100000", 28},
		{"array cut", head + "3a300000 01000000 0000 0100 10000000 0100 02", 32},
		{"offset that leads elsewhere", head + "3a300000 01000000 0000 0000 11000000 0100", 32},
		{"array out of order", head + "3a300000 01000000 0000 0100 10000000 0200 0100", 32},
		{"array with a value twice", head + "3a300000 01000000 0000 0100 10000000 0100 0100", 32},
		{"container keys out of order", head + "3b300100 03 0100 0000 0000 0000 0100 0000 0000 0100 0000 0000", 35},
		{"container key twice", head + "3b300100 03 0000 0000 0000 0000 0100 0000 0000 0100 0000 0000", 35},
		{"bit set cut", head + "3a300000 01000000 0000 0010 10000000 0100", 32},
		{"bit set with another number of values", head + "3a300000 01000000 0000 0010 10000000" + strings.Repeat("00", bitsetBytes), 32},
		{"run count cut", head + "3b300000 01 0000 0000 01", 25},
		{"runs cut", head + "3b300000 01 0000 0000 ffff 0000 0000", 27},
		{"no runs", head + "3b300000 01 0000 0000 0000", 25},
		{"runs out of order", head + "3b300000 01 0000 0100 0200 0500 0000 0100 0000", 25},
		{"runs that overlap", head + "3b300000 01 0000 0300 0200 0100 0100 0200 0100", 25},
		{"runs that touch", head + "3b300000 01 0000 0300 0200 0100 0100 0300 0100", 25},
		{"run past the container", head + "3b300000 01 0000 0100 0100 ffff 0100", 25},
		{"fewer values in runs than said", head + "3b300000 01 0000 0200 0100 0100 0100", 25},
		{"more values in runs than said", head + "3b300000 01 0000 0000 0100 0100 0100", 25},
		{"native: huge count", "d0d33964 ffffffff", 4},
		{"native: more bitmaps than bytes", "d0d33964 ffffff7f 08000000 3a300000 00000000", 20},
		{"native: size", "d0d33964 01000000 09000000 3a300000 00000000", 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Decode(unhex(t, tt.hex))
			broken, ok := errors.AsType[*CorruptError](err)
			if !ok || v != nil || !errors.Is(err, ErrCorrupt) {
				t.Fatalf("vector %v, error %v", v, err)
			}
			if broken.Offset != tt.offset || broken.Path != "" {
				t.Errorf("%v; want it at byte %d", err, tt.offset)
			}
		})
	}
}

// TestDecodeFlippedBytes flips every byte of small blobs: no panic, no vector that contradicts itself.
func TestDecodeFlippedBytes(t *testing.T) {
	for _, text := range []string{goldenArray, goldenRuns, goldenNative, goldenBigEndian} {
		good := unhex(t, text)
		for i := range good {
			for bit := range 8 {
				blob := slices.Clone(good)
				blob[i] ^= 1 << bit
				exercise(t, blob)
			}
			if _, err := Decode(good[:i]); !errors.Is(err, ErrCorrupt) {
				t.Errorf("cut at %d: error %v", i, err)
			}
		}
	}
}

// exercise decodes blob and, where that works, checks that everything the vector says fits together.
func exercise(t *testing.T, blob []byte) {
	v, err := Decode(blob)
	if err != nil {
		if broken, ok := errors.AsType[*CorruptError](err); !ok || broken.Offset > int64(len(blob)) {
			t.Fatalf("%x: error %v", blob, err)
		}
		return
	}
	const enough = 1 << 11 // a few bytes can say very many rows
	n, last := int64(0), int64(-1)
	for row := range v.All() {
		if n++; n == enough {
			break
		}
		if row <= last || !v.Contains(row) || v.Rank(row) != n-1 && n < 100 {
			t.Fatalf("%x: row %d after %d", blob, row, last)
		}
		last = row
	}
	if n < enough && n != v.Cardinality() {
		t.Fatalf("%x: %d rows, cardinality %d", blob, n, v.Cardinality())
	}
	again, err := Decode(v.AppendBlob(nil))
	if err != nil || !again.Equal(v) || !v.Union(again).Equal(v) || v.AndNot(again).Cardinality() != 0 {
		t.Fatalf("%x: not the same after a trip through bytes: %v", blob, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range []string{goldenArray, goldenRuns, goldenNative, goldenBigEndian} {
		f.Add(unhex(f, text))
	}
	dense := make([]int64, 5000)
	for i := range dense {
		dense[i] = int64(2 * i)
	}
	f.Add(Of(dense...).AppendBlob(nil))
	f.Add(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, portableMagic), math.MaxUint64))
	f.Fuzz(exercise)
}
