package leaf

import (
	"encoding/binary"
)

// plainify rewrites the values of a page in an uncommon encoding as PLAIN, so that only PLAIN and dictionaries need fast code.
// It gives at most limit bytes.
func plainify(e encoding, n *Node, src []byte, limit int) ([]byte, error) {
	switch {
	case e == rle && n.Physical == Boolean:
		return plainBooleans(src, limit)
	case e == deltaBinaryPacked && (n.Physical == Int32 || n.Physical == Int64):
		values, _, err := deltas(src, limit/n.fixedWidth())
		if err != nil {
			return nil, err
		}
		dst := make([]byte, 0, len(values)*n.fixedWidth())
		for _, v := range values {
			if n.Physical == Int32 {
				dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
			} else {
				dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
			}
		}
		return dst, nil
	case e == deltaLengthByteArray && n.Physical == ByteArray:
		lengths, src, err := deltas(src, limit/8)
		if err != nil {
			return nil, err
		}
		var dst []byte
		for _, l := range lengths {
			if l < 0 || l > int64(len(src)) {
				return nil, corrupt("a value of %d bytes, %d are left", l, len(src))
			}
			dst = binary.LittleEndian.AppendUint32(dst, uint32(l))
			dst = append(dst, src[:l]...)
			src = src[l:]
		}
		return dst, nil
	case e == deltaByteArray && (n.Physical == ByteArray || n.Physical == FixedLenByteArray):
		return plainDeltaByteArray(n, src, limit)
	case e == byteStreamSplit && n.fixedWidth() > 1:
		width := n.fixedWidth()
		if len(src)%width != 0 {
			return nil, corrupt("%d bytes of values of %d", len(src), width)
		}
		count := len(src) / width
		dst := make([]byte, len(src))
		for i, b := range src {
			dst[i%count*width+i/count] = b
		}
		return dst, nil
	}
	return nil, unsupported("encoding %d", e)
}

// plainBooleans reads booleans in the RLE hybrid, whose length goes before.
func plainBooleans(src []byte, limit int) ([]byte, error) {
	if len(src) < 4 || uint64(binary.LittleEndian.Uint32(src)) > uint64(len(src)-4) {
		return nil, corrupt("run-length encoded booleans without their length")
	}
	h := newHybrid(src[4:4+binary.LittleEndian.Uint32(src)], 1)
	var dst []byte
	var bits [8]uint8
	have := 0
	for h.run > 0 || h.packed > 0 || len(h.buf) > 0 {
		if h.run == 0 && h.packed == 0 {
			if err := h.next(); err != nil {
				return nil, err
			}
		}
		n := min(8-have, h.run+h.packed)
		if err := decodeHybrid(&h, bits[have:have+n]); err != nil {
			return nil, err
		}
		if have += n; have < 8 && len(h.buf) > 0 {
			continue
		}
		var b byte
		for i := range have {
			b |= bits[i] << i
		}
		if len(dst) == limit {
			return nil, tooLarge("a page of booleans", int64(len(dst))+1, int64(limit), maxPageBytes)
		}
		dst = append(dst, b)
		have = 0
	}
	return dst, nil
}

// deltas reads the integers of DELTA_BINARY_PACKED, at most most of them, and returns what follows.
func deltas(src []byte, most int) (values []int64, rest []byte, err error) {
	w := &wire{buf: src}
	blockSize, miniblocks, total := w.uvarint(), w.uvarint(), w.uvarint()
	first := w.int()
	switch {
	case w.err != nil:
		return nil, nil, corrupt("delta encoding: %v", w.err)
	case miniblocks == 0 || miniblocks > 1<<16 || blockSize > 1<<24 || blockSize%miniblocks != 0 || blockSize/miniblocks%8 != 0:
		return nil, nil, corrupt("delta encoding with %d values in %d parts a block", blockSize, miniblocks)
	case total > uint64(most):
		return nil, nil, tooLarge("a delta-encoded page", int64(min(total, 1<<40))*8, int64(most)*8, maxPageBytes)
	}
	perMini := int(blockSize / miniblocks)
	if total == 0 {
		return nil, src[w.pos:], nil
	}
	values = append(values, first)
	last := first
	for len(values) < int(total) {
		least := w.int()
		at := w.pos
		w.take(int(miniblocks))
		if w.err != nil {
			return nil, nil, corrupt("delta encoding: %v", w.err)
		}
		for _, width := range src[at : at+int(miniblocks)] {
			if len(values) == int(total) {
				break // the widths of parts without values mean nothing, and the parts aren't there
			}
			if width > 64 {
				return nil, nil, corrupt("deltas of %d bits", width)
			}
			at := w.pos
			// The last part is padded by most writers, and cut short by some.
			have := min(perMini*int(width)/8, len(src)-at)
			n := min(perMini, int(total)-len(values))
			if n*int(width) > have*8 {
				return nil, nil, corrupt("the bytes end inside a delta-encoded block")
			}
			w.take(have)
			for i := range n {
				last += least + int64(bitsAt(src[at:at+have], i*int(width), uint(width)))
				values = append(values, last)
			}
		}
	}
	return values, src[w.pos:], nil
}

// bitsAt reads width bits from bit on, LSB first. src must hold them.
func bitsAt(src []byte, bit int, width uint) uint64 {
	var v uint64
	for got := uint(0); got < width; {
		b := uint64(src[bit>>3]) >> (bit & 7)
		n := min(8-uint(bit&7), width-got)
		v |= b & (1<<n - 1) << got
		got += n
		bit += int(n)
	}
	return v
}

// plainDeltaByteArray reads DELTA_BYTE_ARRAY, in which a value is a prefix of the one before and bytes of its own.
func plainDeltaByteArray(n *Node, src []byte, limit int) ([]byte, error) {
	prefixes, src, err := deltas(src, limit/8)
	if err != nil {
		return nil, err
	}
	lengths, src, err := deltas(src, limit/8)
	if err != nil {
		return nil, err
	}
	if len(prefixes) != len(lengths) {
		return nil, corrupt("%d prefixes of %d values", len(prefixes), len(lengths))
	}
	var dst []byte
	var last []byte // the value before; within dst, or in what dst was before it grew
	for i, prefix := range prefixes {
		own := lengths[i]
		if prefix < 0 || prefix > int64(len(last)) || own < 0 || own > int64(len(src)) {
			return nil, corrupt("a value of %d bytes of the one before and %d of its own", prefix, own)
		}
		if size := int64(len(dst)) + 4 + prefix + own; size > int64(limit) {
			return nil, tooLarge("a delta-encoded page", size, int64(limit), maxPageBytes)
		}
		if n.Physical == ByteArray {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(prefix+own))
		} else if prefix+own != int64(n.Width) {
			return nil, corrupt("a value of %d bytes among values of %d", prefix+own, n.Width)
		}
		at := len(dst)
		dst = append(dst, last[:prefix]...)
		dst = append(dst, src[:own]...)
		src, last = src[own:], dst[at:]
	}
	return dst, nil
}
