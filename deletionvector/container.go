package deletionvector

import (
	"encoding/binary"
	"math/bits"
	"sort"
)

// A form is how a container is serialised. Everything is little-endian:
//
//	array   n ascending uint16, at most maxArray
//	bitset  1024 uint64, value v being bit v%64 of word v/64
//	runs    a uint16 count, then so many pairs of a first value and a length less one, apart from each other
type form uint8

const (
	array form = iota
	bitset
	runs
)

// Limits and sizes of the roaring format.
const (
	maxArray      = 4096
	bitsetBytes   = 8192
	containerSpan = 1 << 16
)

// smallest returns the form that takes the fewest bytes, as all roaring libraries choose it.
func smallest(n, runCount int) form {
	if 2+4*runCount < min(bitsetBytes, 2*n) {
		return runs
	}
	if n <= maxArray {
		return array
	}
	return bitset
}

// A payload is a container's values, 1 to 65536 of them, as serialised. They were checked when they were decoded.
type payload struct {
	data []byte // starts with the payload, and may go on after it
	n    int    // number of values
	form form
}

// size returns the length of the payload in bytes.
func (p payload) size() int {
	switch p.form {
	case array:
		return 2 * p.n
	case bitset:
		return bitsetBytes
	default:
		return 2 + 4*p.runCount()
	}
}

func (p payload) value(i int) int   { return int(binary.LittleEndian.Uint16(p.data[2*i:])) }
func (p payload) word(i int) uint64 { return binary.LittleEndian.Uint64(p.data[8*i:]) }
func (p payload) runCount() int     { return int(binary.LittleEndian.Uint16(p.data)) }
func (p payload) run(i int) span {
	first := int(binary.LittleEndian.Uint16(p.data[2+4*i:]))
	return span{first, first + int(binary.LittleEndian.Uint16(p.data[4+4*i:]))}
}

// countRuns returns how many runs of consecutive values there are.
func (p payload) countRuns() int {
	switch p.form {
	case array:
		n, next := 1, p.value(0)+1
		for i := 1; i < p.n; i++ {
			v := p.value(i)
			if v != next {
				n++
			}
			next = v + 1
		}
		return n
	case bitset:
		n, carry := 0, uint64(0)
		for i := range len(words{}) {
			word := p.word(i)
			n += bits.OnesCount64(word &^ (word<<1 | carry))
			carry = word >> 63
		}
		return n
	default:
		return p.runCount()
	}
}

// A span is a range of values within a container, both ends included.
type span struct{ first, last int }

// spans returns how many spans a walker yields.
func (p payload) spans() int {
	if p.form == runs {
		return p.runCount()
	}
	return p.n
}

// A walker yields a payload's values in ascending order: runs as they are, of the other forms one value a span.
type walker struct {
	payload
	i    int    // of the next value, word or run
	rest uint64 // bitset: the bits of word i-1 still to come
}

// done is the span after the last one: beyond every other.
var done = span{containerSpan, containerSpan}

// next returns the next span, or done.
func (w *walker) next() span {
	switch w.form {
	case array:
		if w.i == w.n {
			return done
		}
		v := w.value(w.i)
		w.i++
		return span{v, v}
	case runs:
		if w.i == w.runCount() {
			return done
		}
		w.i++
		return w.run(w.i - 1)
	}
	for ; w.rest == 0; w.i++ {
		if w.i == len(words{}) {
			return done
		}
		w.rest = w.word(w.i)
	}
	v := 64*(w.i-1) + bits.TrailingZeros64(w.rest)
	w.rest &= w.rest - 1
	return span{v, v}
}

// contains says whether v is among the values.
func (p payload) contains(v int) bool {
	switch p.form {
	case array:
		i := p.below(v)
		return i < p.n && p.value(i) == v
	case bitset:
		return p.word(v/64)>>(v%64)&1 != 0
	default:
		i := sort.Search(p.runCount(), func(i int) bool { return p.run(i).last >= v })
		return i < p.runCount() && p.run(i).first <= v
	}
}

// below returns how many values are less than v.
func (p payload) below(v int) int {
	switch p.form {
	case array:
		return sort.Search(p.n, func(i int) bool { return p.value(i) >= v })
	case bitset:
		return p.count(span{0, v - 1})
	}
	n := 0
	for w := (walker{payload: p}); ; {
		s := w.next()
		if s.first >= v {
			return n
		}
		n += min(s.last+1, v) - s.first
	}
}

// at returns value number i in ascending order.
func (p payload) at(i int) int {
	switch p.form {
	case array:
		return p.value(i)
	case bitset:
		for w := 0; ; w++ {
			word := p.word(w)
			if n := bits.OnesCount64(word); i >= n {
				i -= n
				continue
			}
			for ; i > 0; i-- {
				word &= word - 1
			}
			return 64*w + bits.TrailingZeros64(word)
		}
	}
	for w := (walker{payload: p}); ; {
		s := w.next()
		if n := s.last - s.first + 1; i >= n {
			i -= n
			continue
		}
		return s.first + i
	}
}

// count returns how many bits of a bitset are set within s, which may be empty.
func (p payload) count(s span) int {
	n := 0
	for s.first <= s.last {
		i := s.first / 64
		n += bits.OnesCount64(p.word(i) & mask(s, i))
		s.first = 64 * (i + 1)
	}
	return n
}

// mask returns the bits of word i that lie within s, which must reach into it.
func mask(s span, i int) uint64 {
	low, high := max(s.first-64*i, 0), min(s.last-64*i, 63)
	return ^uint64(0) << low & (^uint64(0) >> (63 - high))
}

// common returns how many values p and q have in common.
func (p payload) common(q payload) int {
	switch {
	case p.form == bitset && q.form == bitset:
		return commonBits(p.data[:bitsetBytes], q.data[:bitsetBytes])
	case p.form == bitset:
		return q.common(p)
	case q.form == bitset:
		n := 0
		w := walker{payload: p}
		for s := w.next(); s != done; s = w.next() {
			n += q.count(s)
		}
		return n
	case p.form == array && q.form == array:
		return commonValues(p.data[:2*p.n], q.data[:2*q.n])
	}
	n := 0
	a, b := walker{payload: p}, walker{payload: q}
	s, t := a.next(), b.next()
	for s != done && t != done {
		n += max(0, min(s.last, t.last)-max(s.first, t.first)+1)
		if s.last < t.last {
			s = a.next()
		} else {
			t = b.next()
		}
	}
	return n
}

// commonBits returns how many bits are set in both of two bitsets.
func commonBits(a, b []byte) int {
	if assembly {
		return commonWords(&a[0], &b[0], bitsetBytes)
	}
	n := 0
	for len(a) >= 8 && len(b) >= 8 {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(a) & binary.LittleEndian.Uint64(b))
		a, b = a[8:], b[8:]
	}
	return n
}

// commonValues returns how many values two arrays have in common. No branch depends on values: they are scattered, and
// every branch would be a guess.
func commonValues(a, b []byte) int {
	n := 0
	switch {
	case assembly:
		// The blocks take a 0, which only the first value can be, for the end.
		zeroA, zeroB := a[0]|a[1] == 0, b[0]|b[1] == 0
		if zeroA && zeroB {
			n++
		}
		if zeroA {
			a = a[2:]
		}
		if zeroB {
			b = b[2:]
		}
		if len(a) < 16 || len(b) < 16 {
			break
		}
		found, i, j := commonBlocks(&a[0], len(a), &b[0], len(b))
		n, a, b = n+found, a[i:], b[j:]
	case len(a)+len(b) >= 2*fewSpans:
		var w words
		w.setValues(a)
		for ; len(b) >= 8; b = b[8:] {
			four := binary.LittleEndian.Uint64(b)
			for range 4 {
				n += int(w[four>>6&1023] >> (four & 63) & 1)
				four >>= 16
			}
		}
		for ; len(b) >= 2; b = b[2:] {
			v := binary.LittleEndian.Uint16(b)
			n += int(w[v>>6] >> (v & 63) & 1)
		}
		return n
	}
	for i, j := 0, 0; i+1 < len(a) && j+1 < len(b); {
		x, y := int(a[i])|int(a[i+1])<<8, int(b[j])|int(b[j+1])<<8
		below, above := less(x, y), less(y, x)
		n += 1 - below - above
		i += 2 - 2*above
		j += 2 - 2*below
	}
	return n
}

// less returns 1 if x < y and else 0, without a branch.
func less(x, y int) int { return int(uint(x-y) >> (bits.UintSize - 1)) }

// mergeValues writes the values of two arrays to dst, which must have room for all of them, and returns how many there
// are and in how many runs. It branches on no value either.
func mergeValues(dst, a, b []byte) (n, runCount int) {
	i, j := 0, 0
	next := 0 // what would go on the last run; 0 at the start, which a first 0 then mends
	for i+1 < len(a) && j+1 < len(b) {
		x, y := int(a[i])|int(a[i+1])<<8, int(b[j])|int(b[j+1])<<8
		i += 2 - 2*less(y, x)
		j += 2 - 2*less(x, y)
		x = min(x, y)
		runCount += less(next, x)
		binary.LittleEndian.PutUint16(dst[2*n:], uint16(x))
		n, next = n+1, x+1
	}
	rest := a[i:]
	if len(rest) == 0 {
		rest = b[j:]
	}
	for ; len(rest) >= 2; rest = rest[2:] {
		x := int(binary.LittleEndian.Uint16(rest))
		if x != next {
			runCount++
		}
		binary.LittleEndian.PutUint16(dst[2*n:], uint16(x))
		n, next = n+1, x+1
	}
	if binary.LittleEndian.Uint16(dst) == 0 {
		runCount++
	}
	return n, runCount
}

// fewSpans is up to how many spans are combined one by one, rather than in words.
const fewSpans = 128

// union appends the spans that p or q has, as long as can be.
func (p payload) union(q payload, to []span) []span {
	a, b := walker{payload: p}, walker{payload: q}
	for s, t := a.next(), b.next(); s != done || t != done; {
		if s.first <= t.first {
			to, s = appendSpan(to, s), a.next()
		} else {
			to, t = appendSpan(to, t), b.next()
		}
	}
	return to
}

// andNot appends the spans that p has and q has not, as long as can be.
func (p payload) andNot(q payload, to []span) []span {
	a, b := walker{payload: p}, walker{payload: q}
	t := b.next()
	for s := a.next(); s != done; s = a.next() {
		for ; t.first <= s.last; t = b.next() {
			if s.first < t.first {
				to = appendSpan(to, span{s.first, t.first - 1})
			}
			s.first = max(s.first, t.last+1)
			if t.last > s.last {
				break // t reaches into the next span
			}
		}
		if s.first <= s.last {
			to = appendSpan(to, s)
		}
	}
	return to
}

// appendSpan appends a span that starts no earlier than the last one, and joins it to that where they touch.
func appendSpan(to []span, s span) []span {
	if n := len(to); n > 0 && s.first <= to[n-1].last+1 {
		to[n-1].last = max(to[n-1].last, s.last)
		return to
	}
	return append(to, s)
}

// words is a bitset in memory, where many values are combined.
type words [containerSpan / 64]uint64

// set adds the values of p.
func (w *words) set(p payload) {
	switch p.form {
	case array:
		w.setValues(p.data[:2*p.n])
	case bitset:
		data := p.data[:bitsetBytes]
		for i := range w {
			w[i] |= binary.LittleEndian.Uint64(data[8*i:])
		}
	default:
		for i := range p.runCount() {
			w.setSpan(p.run(i))
		}
	}
}

// setValues adds the values of an array.
func (w *words) setValues(data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		four := binary.LittleEndian.Uint64(data)
		for range 4 {
			w[four>>6&1023] |= 1 << (four & 63)
			four >>= 16
		}
	}
	for ; len(data) >= 2; data = data[2:] {
		v := binary.LittleEndian.Uint16(data)
		w[v>>6] |= 1 << (v & 63)
	}
}

func (w *words) setSpan(s span) {
	for i := s.first / 64; i <= s.last/64; i++ {
		w[i] |= mask(s, i)
	}
}

// measure returns the numbers of values and of runs.
func (w *words) measure() (n, runCount int) {
	var carry uint64
	for _, word := range w {
		n += bits.OnesCount64(word)
		runCount += bits.OnesCount64(word &^ (word<<1 | carry))
		carry = word >> 63
	}
	return n, runCount
}

// next returns the first value from v on that is in w, or with flip = ^0 the first that is not; or containerSpan.
func (w *words) next(v int, flip uint64) int {
	i := v / 64
	if i == len(w) {
		return containerSpan
	}
	rest := (w[i] ^ flip) >> (v % 64) << (v % 64)
	for rest == 0 {
		if i++; i == len(w) {
			return containerSpan
		}
		rest = w[i] ^ flip
	}
	return 64*i + bits.TrailingZeros64(rest)
}
