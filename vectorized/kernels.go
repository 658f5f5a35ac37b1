package vectorized

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// The kernels compare one bound of many files with a constant, or with another bound. Each fills the words of dst that
// its files need, LSB first, bits past the last file cleared; allocates nothing, retains nothing, cannot fail, and knows
// neither Delta nor nulls: what a bit means where a bound is missing is the caller's to say, once a word.
//
// All of them are asked "less than?", since every type here is totally ordered: a <= b is not b < a, and a <= lit is
// a < the value that follows lit.

// lessThan sets the bits of the values that are less than lit. dst must hold (len(values)+63)/64 words. A NaN is less
// than nothing, and lit is never NaN: see isNumber.
func lessThan[T cmp.Ordered](dst []uint64, values []T, lit T) {
	w := lessThanFast(dst, values, lit)
	for ; w < len(values)/64; w++ {
		chunk := (*[64]T)(values[w*64:])
		var less uint64
		for i := 0; i < 64; i += 8 { // constant shifts, and no branch per file: b2u compiles to a flag set
			c := (*[8]T)(chunk[i:])
			less |= (b2u(c[0] < lit) | b2u(c[1] < lit)<<1 | b2u(c[2] < lit)<<2 | b2u(c[3] < lit)<<3 |
				b2u(c[4] < lit)<<4 | b2u(c[5] < lit)<<5 | b2u(c[6] < lit)<<6 | b2u(c[7] < lit)<<7) << i
		}
		dst[w] = less
	}
	if rest := values[w*64:]; len(rest) > 0 {
		var less uint64
		for i, v := range rest {
			less |= b2u(v < lit) << i
		}
		dst[w] = less
	}
}

// between sets the bits of the files whose lower bound is less than below and whose upper bound is not less than from. The
// slices of bounds have one length.
func between[T cmp.Ordered](dst []uint64, lowers, uppers []T, from, below T) {
	w := betweenFast(dst, lowers, uppers, from, below)
	for ; w < len(lowers)/64; w++ {
		los, his := (*[64]T)(lowers[w*64:]), (*[64]T)(uppers[w*64:])
		var in uint64
		for i := 0; i < 64; i += 4 { // as in lessThan
			l, h := (*[4]T)(los[i:]), (*[4]T)(his[i:])
			in |= (b2u(l[0] < below)&^b2u(h[0] < from) | (b2u(l[1] < below)&^b2u(h[1] < from))<<1 |
				(b2u(l[2] < below)&^b2u(h[2] < from))<<2 | (b2u(l[3] < below)&^b2u(h[3] < from))<<3) << i
		}
		dst[w] = in
	}
	if rest := lowers[w*64:]; len(rest) > 0 {
		var in uint64
		for i, lo := range rest {
			in |= (b2u(lo < below) &^ b2u(uppers[w*64+i] < from)) << i
		}
		dst[w] = in
	}
}

// isNumber sets the bits of the values that are not NaN: "less than NaN" in Spark's order.
func isNumber[T float32 | float64](dst []uint64, values []T) {
	for w := range (len(values) + 63) / 64 {
		chunk := values[w*64 : min(w*64+64, len(values))]
		var number uint64
		for i, v := range chunk {
			number |= b2u(v == v) << (i & 63)
		}
		dst[w] = number
	}
}

// lessThanDecimal is lessThan for decimals of one scale.
func lessThanDecimal(dst []uint64, values []decimal128.Num, lit decimal128.Num) {
	hi, lo := uint64(lit.HighBits())^signBit, lit.LowBits()
	for w := range (len(values) + 63) / 64 {
		chunk := values[w*64 : min(w*64+64, len(values))]
		var less uint64
		for i, v := range chunk {
			_, borrow := bits.Sub64(v.LowBits(), lo, 0)
			_, borrow = bits.Sub64(uint64(v.HighBits())^signBit, hi, borrow)
			less |= borrow << (i & 63)
		}
		dst[w] = less
	}
}

// lessThanString is lessThan for strings in byte order, of the files that need has: other bits mean nothing. Value i is
// data[offsets[i]:offsets[i+1]], and its head is heads[i], see [colstats.Heads]. dst is not need.
//
// Only where the heads are equal, and then mostly not, do the strings themselves have to be looked at.
func lessThanString(dst, need []uint64, heads []int64, offsets []int32, data []byte, lit stringEdge) {
	lessThan(dst, heads, lit.head)
	if lit.decisive {
		return
	}
	var most [chunkWords]uint64 // the strings that are less, or have the same head
	if lit.head == math.MaxInt64 {
		fill(most[:], true)
	} else {
		lessThan(most[:len(dst)], heads, lit.head+1)
	}
	for w, less := range dst {
		for same := need[w] & most[w] &^ less & lowBits(len(heads)-w*64); same != 0; same &= same - 1 {
			i := bits.TrailingZeros64(same)
			text := data[offsets[w*64+i]:offsets[w*64+i+1]]
			dst[w] |= b2u(string(text) < lit.text) << i
		}
	}
}

// notSet is lessThan(true) for n booleans packed LSB first, the first of them being bit offset of packed.
func notSet(dst []uint64, packed []byte, offset, n int) {
	for w := range (n + 63) / 64 {
		dst[w] = ^loadBits(packed, offset+w*64, min(64, n-w*64)) & lowBits(n-w*64)
	}
}

// lessThanOther sets the bits of the files whose a is less than their b, in Spark's order: NaN is the greatest. The
// slices have one length.
func lessThanOther[T cmp.Ordered](dst []uint64, a, b []T) {
	for w := range (len(a) + 63) / 64 {
		as := a[w*64 : min(w*64+64, len(a))]
		bs := b[w*64:][:len(as)]
		var less uint64
		for i, v := range as { // v == v fails for NaN only
			u := bs[i]
			less |= (b2u(v < u) | b2u(v == v)&b2u(u != u)) << (i & 63)
		}
		dst[w] = less
	}
}

// lessThanOtherDecimal is lessThanOther for decimals of one scale.
func lessThanOtherDecimal(dst []uint64, a, b []decimal128.Num) {
	for w := range (len(a) + 63) / 64 {
		as := a[w*64 : min(w*64+64, len(a))]
		bs := b[w*64:][:len(as)]
		var less uint64
		for i, v := range as {
			_, borrow := bits.Sub64(v.LowBits(), bs[i].LowBits(), 0)
			_, borrow = bits.Sub64(uint64(v.HighBits())^signBit, uint64(bs[i].HighBits())^signBit, borrow)
			less |= borrow << (i & 63)
		}
		dst[w] = less
	}
}

// lessThanOtherString is lessThanOther for strings in byte order.
func lessThanOtherString(dst []uint64, aOffsets []int32, aData []byte, bOffsets []int32, bData []byte) {
	n := len(aOffsets) - 1
	for w := range (n + 63) / 64 {
		var less uint64
		first := w * 64
		for i := range min(64, n-first) {
			a := aData[aOffsets[first+i]:aOffsets[first+i+1]]
			b := bData[bOffsets[first+i]:bOffsets[first+i+1]]
			less |= b2u(string(a) < string(b)) << (i & 63)
		}
		dst[w] = less
	}
}

// lessThanOtherBit is lessThanOther for packed booleans: false and true.
func lessThanOtherBit(dst []uint64, a []byte, aOffset int, b []byte, bOffset, n int) {
	for w := range (n + 63) / 64 {
		m := min(64, n-w*64)
		dst[w] = ^loadBits(a, aOffset+w*64, m) & loadBits(b, bOffset+w*64, m)
	}
}

// crosses sets the bits of the files between whose bounds a predicate's answer is "yes" somewhere. The answer to a value
// below edges[0] is start, and it turns at each edge; edges ascend. The slices of bounds have one length.
func crosses[T cmp.Ordered](dst []uint64, lowers, uppers, edges []T, start bool) {
	for w := range (len(lowers) + 63) / 64 {
		los := lowers[w*64 : min(w*64+64, len(lowers))]
		his := uppers[w*64:][:len(los)]
		var yes uint64
		for i, lo := range los {
			k := passed(len(edges), func(j int) bool { return lo < edges[j] })
			here := (k&1 == 1) != start
			yes |= b2u(here || k < len(edges) && !(his[i] < edges[k])) << (i & 63)
		}
		dst[w] = yes
	}
}

// crossesFunc is crosses for n files of any type: below says whether a file's lower or upper bound is less than an edge.
func crossesFunc(dst []uint64, n, edges int, start bool, lowerBelow, upperBelow func(i, edge int) bool) {
	for w := range (n + 63) / 64 {
		var yes uint64
		for i := w * 64; i < min(w*64+64, n); i++ {
			k := passed(edges, func(edge int) bool { return lowerBelow(i, edge) })
			here := (k&1 == 1) != start
			yes |= b2u(here || k < edges && !upperBelow(i, k)) << (i & 63)
		}
		dst[w] = yes
	}
}

// passed returns how many of n ascending edges a value has reached, below saying whether it is below one of them.
func passed(n int, below func(i int) bool) int {
	lo, hi := 0, n
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if below(m) {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return lo
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// lowBits returns a word with the n lowest bits set, all of them from 64 on.
func lowBits(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<n - 1
}

// loadBits returns n <= 64 bits of packed, from bit offset on.
func loadBits(packed []byte, offset, n int) uint64 {
	first, shift := offset/8, offset%8
	last := (offset + n + 7) / 8
	var word uint64
	for i, b := range packed[first:min(last, first+8)] {
		word |= uint64(b) << (8 * i)
	}
	word >>= shift
	if first+8 < last { // the bits of a ninth byte
		word |= uint64(packed[first+8]) << (64 - shift)
	}
	return word & lowBits(n)
}
