package deletionvector

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"sort"
)

// A Vector is an immutable set of row positions. A nil *Vector is the empty one.
//
// It is the bytes of its serialised containers and a directory of them: what comes from a file is used where it lies, and
// what is computed is ready to be written. The containers are roaring's, but not the library's: that makes an object of
// each, checks none, and takes many times as long over scattered rows, which is what most vectors hold.
type Vector struct {
	containers  []container // by ascending key
	data        []byte      // payloads, perhaps with other bytes between them
	cardinality int64
	tight       bool // every container has its smallest form, and data holds nothing but payloads in their order
}

// A container holds the positions that have the same upper 48 bits.
type container struct {
	key  uint64 // position >> 16
	at   int    // where its payload starts in the vector's data
	n    int32  // number of values
	form form
}

// maxHigh keeps positions within an int64: the protocol wants the top bit 0.
const maxHigh = 1<<31 - 1

func splitPosition(position int64) (key uint64, value int) {
	return uint64(position) >> 16, int(position & 0xFFFF)
}

func joinPosition(key uint64, value int) int64 { return int64(key<<16) + int64(value) }

// list is v.containers, of a nil vector too.
func (v *Vector) list() []container {
	if v == nil {
		return nil
	}
	return v.containers
}

func (v *Vector) payload(c container) payload {
	return payload{data: v.data[c.at:], n: int(c.n), form: c.form}
}

// find returns the index of the first container with at least that key, and whether it has just that.
func (v *Vector) find(key uint64) (int, bool) {
	list := v.list()
	i := sort.Search(len(list), func(i int) bool { return list[i].key >= key })
	return i, i < len(list) && list[i].key == key
}

// Of returns the vector of the given positions, in any order. It panics when one is negative.
func Of(positions ...int64) *Vector {
	positions = slices.Clone(positions)
	slices.Sort(positions)
	var b builder
	for _, position := range positions {
		b.addRange(position, 1)
	}
	return b.vector()
}

// Range returns the vector of all positions from first up to, and without, end. It panics when one is negative.
func Range(first, end int64) *Vector {
	var b builder
	b.addRange(first, max(0, end-first))
	return b.vector()
}

// Cardinality returns the number of positions.
func (v *Vector) Cardinality() int64 {
	if v == nil {
		return 0
	}
	return v.cardinality
}

// Max returns the greatest position, and false when there is none.
func (v *Vector) Max() (int64, bool) {
	return v.Select(v.Cardinality() - 1)
}

// Contains says whether position is in the vector.
func (v *Vector) Contains(position int64) bool {
	key, value := splitPosition(position)
	i, found := v.find(key)
	return found && v.payload(v.containers[i]).contains(value)
}

// Rank returns how many positions are below position.
func (v *Vector) Rank(position int64) int64 {
	key, value := splitPosition(max(position, 0))
	end, found := v.find(key)
	var rank int64
	for _, c := range v.list()[:end] {
		rank += int64(c.n)
	}
	if found {
		rank += int64(v.payload(v.containers[end]).below(value))
	}
	return rank
}

// Select returns the position below which exactly rank positions are, and false when there are no more than rank.
func (v *Vector) Select(rank int64) (int64, bool) {
	if rank < 0 {
		return 0, false
	}
	for _, c := range v.list() {
		if rank < int64(c.n) {
			return joinPosition(c.key, v.payload(c).at(int(rank))), true
		}
		rank -= int64(c.n)
	}
	return 0, false
}

// All yields the positions in ascending order.
func (v *Vector) All() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		c := cursor{v: v}
		for r, ok := c.next(); ok; r, ok = c.next() {
			for i := range r.n {
				if !yield(r.first + i) {
					return
				}
			}
		}
	}
}

// Bitmap sets bit i of dst, LSB first, to whether position first+i is in the vector, for all bits of dst. These positions
// must fit an int64.
func (v *Vector) Bitmap(dst []uint64, first int64) {
	clear(dst)
	end := first + 64*int64(len(dst))
	key, _ := splitPosition(first)
	i, _ := v.find(key)
	for c := (cursor{v: v, i: i}); ; {
		r, ok := c.next()
		if !ok || r.first >= end {
			return
		}
		for at := max(r.first, first); at < min(r.first+r.n, end); {
			word := (at - first) / 64
			s := span{int(at - first), int(min(r.first+r.n, end)-first) - 1}
			dst[word] |= mask(s, int(word))
			at = first + 64*(word+1)
		}
	}
}

// rows are n consecutive positions.
type rows struct{ first, n int64 }

// A cursor steps through a vector in ascending order.
type cursor struct {
	v      *Vector
	i      int // the container after the one in hand
	key    uint64
	values walker // what is left of the one in hand; the zero walker has nothing
}

// next returns the next rows. They may touch those before.
func (c *cursor) next() (rows, bool) {
	for {
		if s := c.values.next(); s != done {
			return rows{joinPosition(c.key, s.first), int64(s.last - s.first + 1)}, true
		}
		list := c.v.list()
		if c.i == len(list) {
			return rows{}, false
		}
		c.key, c.values = list[c.i].key, walker{payload: c.v.payload(list[c.i])}
		c.i++
	}
}

// common returns how many positions v and w have in common.
func (v *Vector) common(w *Vector) int64 {
	var n int64
	for i, j := range matches(v, w) {
		n += int64(v.payload(v.containers[i]).common(w.payload(w.containers[j])))
	}
	return n
}

// matches yields the indexes of containers that have the same key in v and w.
func matches(v, w *Vector) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		a, b := v.list(), w.list()
		for i, j := 0, 0; i < len(a) && j < len(b); {
			switch {
			case a[i].key < b[j].key:
				i++
			case a[i].key > b[j].key:
				j++
			default:
				if !yield(i, j) {
					return
				}
				i++
				j++
			}
		}
	}
}

// Equal says whether v and w hold the same positions.
func (v *Vector) Equal(w *Vector) bool {
	return v.Cardinality() == w.Cardinality() && v.SubsetOf(w)
}

// SubsetOf says whether w holds every position of v.
func (v *Vector) SubsetOf(w *Vector) bool { return v.common(w) == v.Cardinality() }

// Intersects says whether v and w have a position in common.
func (v *Vector) Intersects(w *Vector) bool {
	for i, j := range matches(v, w) {
		if v.payload(v.containers[i]).common(w.payload(w.containers[j])) > 0 {
			return true
		}
	}
	return false
}

// Union returns the positions that v or w holds.
func (v *Vector) Union(w *Vector) *Vector {
	a, b := v.list(), w.list()
	u := newBuilder(v, w)
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].key < b[0].key:
			u.keep(v, a[0])
			a = a[1:]
		case a[0].key > b[0].key:
			u.keep(w, b[0])
			b = b[1:]
		default:
			u.addUnion(a[0].key, v.payload(a[0]), w.payload(b[0]))
			a, b = a[1:], b[1:]
		}
	}
	for _, c := range a {
		u.keep(v, c)
	}
	for _, c := range b {
		u.keep(w, c)
	}
	return u.vector()
}

// AndNot returns the positions that v holds and w does not.
func (v *Vector) AndNot(w *Vector) *Vector {
	u := newBuilder(v, nil)
	for _, c := range v.list() {
		i, found := w.find(c.key)
		if !found {
			u.keep(v, c)
			continue
		}
		p, q := v.payload(c), w.payload(w.containers[i])
		if p.spans()+q.spans() <= fewSpans {
			u.spans = p.andNot(q, u.spans[:0])
			u.addSpans(c.key)
			continue
		}
		var rest, less words
		rest.set(p)
		less.set(q)
		for i := range rest {
			rest[i] &^= less[i]
		}
		u.addWords(c.key, &rest)
	}
	return u.vector()
}

// optimised returns v with every container in its smallest form, so that equal vectors are encoded alike.
func (v *Vector) optimised() *Vector {
	if v == nil {
		return &Vector{}
	}
	if v.tight {
		return v
	}
	b := newBuilder(v, nil)
	for _, c := range v.containers {
		b.keep(v, c)
	}
	return b.vector()
}

// String lists the positions, at most eight of them.
func (v *Vector) String() string {
	const shown = 8
	text := []byte{'{'}
	n := 0
	for position := range v.All() {
		if n++; n > 1 {
			text = append(text, ' ')
		}
		text = fmt.Append(text, position)
		if n == shown && v.Cardinality() > shown {
			text = fmt.Appendf(text, " … %d in all", v.Cardinality())
			break
		}
	}
	return string(append(text, '}'))
}

// A builder makes a vector of containers that come in ascending order, each in its smallest form.
type builder struct {
	v     Vector
	key   uint64 // of the container that spans belongs to
	spans []span // positions added, of one container, not in v yet
}

// newBuilder returns a builder with room for the union of v and w.
func newBuilder(v, w *Vector) *builder {
	count, size := len(v.list())+len(w.list()), 0
	for range matches(v, w) {
		count--
	}
	for _, u := range [2]*Vector{v, w} {
		if u != nil {
			size += len(u.data)
		}
	}
	return &builder{v: Vector{containers: make([]container, 0, count), data: make([]byte, 0, min(size, count*bitsetBytes))}}
}

// addRange adds n positions from first on, none of them below the last one added.
func (b *builder) addRange(first, n int64) {
	if first < 0 {
		panic("deletionvector: negative position")
	}
	for n > 0 {
		key, value := splitPosition(first)
		if key != b.key {
			b.addSpans(b.key)
			b.key = key
		}
		here := min(n, int64(containerSpan-value))
		b.spans = appendSpan(b.spans, span{value, value + int(here) - 1})
		first += here
		n -= here
	}
}

// vector returns what was added. The builder must not be used any more.
func (b *builder) vector() *Vector {
	b.addSpans(b.key)
	b.v.tight = true
	return &b.v
}

// open begins a container whose payload is appended to the data next.
func (b *builder) open(key uint64, n int, f form) {
	b.v.containers = append(b.v.containers, container{key: key, at: len(b.v.data), n: int32(n), form: f})
	b.v.cardinality += int64(n)
}

// addSpans adds a container of b.spans, which are apart from each other, and forgets them. Without any it adds nothing.
func (b *builder) addSpans(key uint64) {
	spans := b.spans
	b.spans = spans[:0]
	n := 0
	for _, s := range spans {
		n += s.last - s.first + 1
	}
	if n == 0 {
		return
	}
	f := smallest(n, len(spans))
	if f == bitset {
		var w words
		for _, s := range spans {
			w.setSpan(s)
		}
		b.addWords(key, &w)
		return
	}
	b.open(key, n, f)
	data := b.v.data
	if f == runs {
		data = binary.LittleEndian.AppendUint16(data, uint16(len(spans)))
	}
	for _, s := range spans {
		if f == runs {
			data = binary.LittleEndian.AppendUint16(data, uint16(s.first))
			data = binary.LittleEndian.AppendUint16(data, uint16(s.last-s.first))
			continue
		}
		for value := s.first; value <= s.last; value++ {
			data = binary.LittleEndian.AppendUint16(data, uint16(value))
		}
	}
	b.v.data = data
}

// addUnion adds a container of the values of p and q.
func (b *builder) addUnion(key uint64, p, q payload) {
	if p.form == array && q.form == array && p.n+q.n <= maxArray {
		start := len(b.v.data)
		n, runCount := mergeValues(b.extend(2*(p.n+q.n)), p.data[:2*p.n], q.data[:2*q.n])
		b.v.data = b.v.data[:start]
		if smallest(n, runCount) == array {
			b.open(key, n, array)
			b.v.data = b.v.data[:start+2*n]
			return
		}
	}
	if p.spans()+q.spans() <= fewSpans {
		b.spans = p.union(q, b.spans[:0])
		b.addSpans(key)
		return
	}
	var w words
	w.set(p)
	w.set(q)
	b.addWords(key, &w)
}

// addWords adds a container of the values in w. Without any it adds nothing.
func (b *builder) addWords(key uint64, w *words) {
	n, runCount := w.measure()
	if n == 0 {
		return
	}
	f := smallest(n, runCount)
	b.open(key, n, f)
	switch f {
	case array:
		to := b.extend(2 * n)
		for i, word := range w {
			for ; word != 0 && len(to) >= 2; word &= word - 1 {
				binary.LittleEndian.PutUint16(to, uint16(64*i+bits.TrailingZeros64(word)))
				to = to[2:]
			}
		}
	case bitset:
		to := b.extend(bitsetBytes)
		for i, word := range w {
			binary.LittleEndian.PutUint64(to[8*i:], word)
		}
	case runs:
		to := b.extend(2 + 4*runCount)
		binary.LittleEndian.PutUint16(to, uint16(runCount))
		for first := w.next(0, 0); first < containerSpan; {
			to = to[2:]
			end := w.next(first, ^uint64(0))
			binary.LittleEndian.PutUint16(to, uint16(first))
			to = to[2:]
			binary.LittleEndian.PutUint16(to, uint16(end-1-first))
			first = w.next(end, 0)
		}
	}
}

// extend appends n bytes to the data and returns them, to be written.
func (b *builder) extend(n int) []byte {
	start := len(b.v.data)
	b.v.data = slices.Grow(b.v.data, n)[:start+n]
	return b.v.data[start:]
}

// keep adds container c of v, in its smallest form.
func (b *builder) keep(v *Vector, c container) {
	p := v.payload(c)
	if !v.tight && smallest(p.n, p.countRuns()) != p.form {
		var w words
		w.set(p)
		b.addWords(c.key, &w)
		return
	}
	b.open(c.key, p.n, p.form)
	b.v.data = append(b.v.data, p.data[:p.size()]...)
}
