package leaf

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
)

// randomStruct appends a Thrift struct of all types that there are.
func randomStruct(r *rand.Rand, b []byte, depth int) []byte {
	for range r.IntN(6) {
		t := wireType(1 + r.IntN(13))
		if delta := r.IntN(16); delta > 0 {
			b = append(b, byte(delta<<4)|byte(t))
		} else {
			b = binary.AppendVarint(append(b, byte(t)), int64(r.IntN(1<<15)))
		}
		b = randomValue(r, b, t, depth)
	}
	return append(b, 0)
}

func randomValue(r *rand.Rand, b []byte, t wireType, depth int) []byte {
	if depth == 0 && t >= wireList && t <= wireStruct {
		return append(b, 0) // an empty one of any of these
	}
	switch t {
	case wireByte:
		return append(b, byte(r.Uint32()))
	case wireI16, wireI32, wireI64:
		return binary.AppendUvarint(b, r.Uint64()>>r.IntN(64))
	case wireDouble:
		return append(b, make([]byte, 8)...)
	case wireUUID:
		return append(b, make([]byte, 16)...)
	case wireBinary:
		n := r.IntN(200)
		return append(binary.AppendUvarint(b, uint64(n)), make([]byte, n)...)
	case wireList, wireSet:
		n, elem := r.IntN(20), wireType(1+r.IntN(13))
		if n < 15 {
			b = append(b, byte(n<<4)|byte(elem))
		} else {
			b = binary.AppendUvarint(append(b, 0xf0|byte(elem)), uint64(n))
		}
		for range n {
			b = randomElement(r, b, elem, depth-1)
		}
	case wireMap:
		n, k, v := 1+r.IntN(3), wireType(1+r.IntN(13)), wireType(1+r.IntN(13))
		b = append(b, byte(n), byte(k<<4)|byte(v))
		for range n {
			b = randomElement(r, randomElement(r, b, k, depth-1), v, depth-1)
		}
	case wireStruct:
		return randomStruct(r, b, depth-1)
	}
	return b
}

func randomElement(r *rand.Rand, b []byte, t wireType, depth int) []byte {
	if t == wireTrue || t == wireFalse {
		return append(b, 1)
	}
	return randomValue(r, b, t, depth)
}

// TestSkipStruct passes over structs that end where they end, and that end too early.
func TestSkipStruct(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		b := randomStruct(r, nil, 3)
		w := wire{buf: append(b[:len(b):len(b)], 0xff, 0xff)}
		if w.skipStruct(0); w.err != nil || w.pos != len(b) {
			t.Fatalf("%x: ends at %d of %d: %v", b, w.pos, len(b), w.err)
		}
		cut := r.IntN(len(b))
		w = wire{buf: b[:cut:cut]}
		if w.skipStruct(0); !errors.Is(w.err, errShort) || w.pos > cut {
			t.Fatalf("%x, cut at %d: ends at %d: %v", b, cut, w.pos, w.err)
		}
	}
	deep := make([]byte, 1000)
	for i := range deep {
		deep[i] = 0x10 | byte(wireStruct)
	}
	w := wire{buf: deep}
	if w.skipStruct(0); !errors.Is(w.err, ErrCorrupt) {
		t.Errorf("a thousand structs within each other: %v", w.err)
	}
}
