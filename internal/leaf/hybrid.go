package leaf

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// A hybrid decodes the RLE/bit-packing hybrid of levels, dictionary indexes and booleans (Encodings.md, "RLE = 3").
type hybrid struct {
	buf   []byte
	width uint // bits of a value, at most 32

	run   int    // values left of a repeated value
	value uint32 // that value

	packed int // values left of a bit-packed stretch
	bit    int // position in buf of the stretch's next value, in bits
	after  int // position in buf after the stretch
}

func newHybrid(buf []byte, width uint) hybrid { return hybrid{buf: buf, width: width} }

// next begins the next run or stretch.
func (h *hybrid) next() error {
	header, n := binary.Uvarint(h.buf)
	count := header >> 1
	if n <= 0 || count == 0 || count > math.MaxInt32 {
		return corrupt("a run of levels or indexes has no length")
	}
	h.buf = h.buf[n:]
	if header&1 == 0 {
		size := int(h.width+7) / 8
		if size > len(h.buf) {
			return corrupt("the bytes end inside a run")
		}
		h.run, h.value = int(count), 0
		for i := range size {
			h.value |= uint32(h.buf[i]) << (8 * i)
		}
		h.buf = h.buf[size:]
		return nil
	}
	h.bit = 0
	if h.width == 0 {
		h.packed, h.after = int(min(count, math.MaxInt32/8))*8, 0
		return nil
	}
	// The last stretch may be cut short: then it has as many values as its bytes hold.
	h.packed, h.after = len(h.buf)*8/int(h.width), len(h.buf)
	if groups := len(h.buf) / int(h.width); count <= uint64(groups) {
		h.packed, h.after = int(count)*8, int(count)*int(h.width)
	}
	if h.packed == 0 {
		return corrupt("the bytes end before a bit-packed stretch")
	}
	return nil
}

// repeats takes up to n values if they are all one and the same, and reports how many it took and which value it is. It takes
// none where bit-packed values come next.
func (h *hybrid) repeats(n int) (int, uint32, error) {
	if h.packed > 0 {
		return 0, 0, nil
	}
	if h.run == 0 {
		if err := h.next(); err != nil {
			return 0, 0, err
		}
	}
	n = min(n, h.run)
	h.run -= n
	return n, h.value, nil
}

// decodeHybrid fills dst.
func decodeHybrid[T uint8 | uint32](h *hybrid, dst []T) error {
	for len(dst) > 0 {
		if h.run == 0 && h.packed == 0 {
			if err := h.next(); err != nil {
				return err
			}
		}
		if h.run > 0 {
			n := min(len(dst), h.run)
			for i := range dst[:n] {
				dst[i] = T(h.value)
			}
			h.run -= n
			dst = dst[n:]
			continue
		}
		n := min(len(dst), h.packed)
		unpack(dst[:n], h.buf[:h.after], h.bit, h.width)
		h.bit += n * int(h.width)
		if h.packed -= n; h.packed == 0 {
			h.buf = h.buf[h.after:]
		}
		dst = dst[n:]
	}
	return nil
}

// unpack reads values of width bits, LSB first, from bit on. src must hold them.
func unpack[T uint8 | uint32](dst []T, src []byte, bit int, width uint) {
	if width == 0 {
		clear(dst)
		return
	}
	mask := uint64(1)<<width - 1
	i := 0
	for ; i < len(dst) && bit>>3+8 <= len(src); i++ {
		dst[i] = T(binary.LittleEndian.Uint64(src[bit>>3:]) >> (bit & 7) & mask)
		bit += int(width)
	}
	for ; i < len(dst); i++ { // near the end, byte by byte
		var v uint64
		for j, b := range src[bit>>3:] {
			v |= uint64(b) << (8 * j)
		}
		dst[i] = T(v >> (bit & 7) & mask)
		bit += int(width)
	}
}

// bitWidth returns the bits that values up to most take.
func bitWidth(most uint8) uint { return uint(bits.Len8(most)) }
