package deletionvector

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// A Vector is an immutable set of row positions. A nil *Vector is the empty one.
type Vector struct {
	buckets     []bucket // by ascending high, none of them empty
	cardinality int64
	tight       bool // every container is in its smallest form
}

// A bucket holds the positions with one high half.
type bucket struct {
	high uint32 // at most maxHigh
	low  *roaring.Bitmap
}

// maxHigh keeps positions within an int64: the protocol wants the top bit 0.
const maxHigh = 1<<31 - 1

func split(position int64) (high, low uint32) {
	return uint32(position >> 32), uint32(position)
}

func join(high, low uint32) int64 { return int64(high)<<32 | int64(low) }

// Of returns the vector of the given positions, in any order. It panics when one is negative.
func Of(positions ...int64) *Vector {
	positions = slices.Clone(positions)
	slices.Sort(positions)
	var b builder
	for _, position := range positions {
		b.add(position)
	}
	return b.vector()
}

// Range returns the vector of all positions from first up to, and without, end. It panics when one is negative.
func Range(first, end int64) *Vector {
	var b builder
	b.addRange(first, end)
	return b.vector()
}

// A builder makes a vector of positions that come in ascending order.
type builder struct {
	buckets []bucket
	values  []uint32 // of the last bucket, not in it yet
}

// at returns the bucket for positions with that high half, which must not be below the last one's.
func (b *builder) at(high uint32) *roaring.Bitmap {
	if high > maxHigh {
		panic("deletionvector: negative position")
	}
	if n := len(b.buckets); n == 0 || b.buckets[n-1].high != high {
		b.flush()
		b.buckets = append(b.buckets, bucket{high, roaring.New()})
	}
	return b.buckets[len(b.buckets)-1].low
}

func (b *builder) add(position int64) {
	high, low := split(position)
	b.at(high)
	if b.values = append(b.values, low); len(b.values) == 4096 {
		b.flush()
	}
}

func (b *builder) addRange(first, end int64) {
	for first < end {
		high, low := split(first)
		n := min(end-first, 1<<32-int64(low))
		b.at(high).AddRange(uint64(low), uint64(low)+uint64(n))
		first += n
	}
}

func (b *builder) flush() {
	if len(b.values) > 0 {
		b.buckets[len(b.buckets)-1].low.AddMany(b.values)
		b.values = b.values[:0]
	}
}

// vector returns what was added. The builder must not be used any more.
func (b *builder) vector() *Vector {
	b.flush()
	return newVector(b.buckets)
}

// newVector takes buckets over, drops the empty ones and brings the others into their smallest form.
func newVector(buckets []bucket) *Vector {
	v := &Vector{tight: true}
	for _, b := range buckets {
		if n := b.low.GetCardinality(); n > 0 {
			b.low.RunOptimize()
			v.buckets = append(v.buckets, b)
			v.cardinality += int64(n)
		}
	}
	return v
}

// optimised returns v with every container in its smallest form, so that equal vectors are encoded alike.
func (v *Vector) optimised() *Vector {
	if v == nil {
		return &Vector{}
	}
	if v.tight {
		return v
	}
	buckets := make([]bucket, len(v.buckets))
	for i, b := range v.buckets {
		buckets[i] = bucket{b.high, b.low.Clone()}
	}
	return newVector(buckets)
}

// list is v.buckets, of a nil vector too.
func (v *Vector) list() []bucket {
	if v == nil {
		return nil
	}
	return v.buckets
}

// bucket returns the positions with that high half, or nil.
func (v *Vector) bucket(high uint32) *roaring.Bitmap {
	list := v.list()
	i, found := slices.BinarySearchFunc(list, high, func(b bucket, high uint32) int { return cmp.Compare(b.high, high) })
	if !found {
		return nil
	}
	return list[i].low
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
	list := v.list()
	if len(list) == 0 {
		return 0, false
	}
	last := list[len(list)-1]
	return join(last.high, last.low.Maximum()), true
}

// Contains says whether position is in the vector.
func (v *Vector) Contains(position int64) bool {
	high, low := split(position)
	b := v.bucket(high)
	return b != nil && b.Contains(low)
}

// Rank returns how many positions are below position.
func (v *Vector) Rank(position int64) int64 {
	high, low := split(max(position, 0))
	var rank uint64
	for _, b := range v.list() {
		if b.high < high {
			rank += b.low.GetCardinality()
		} else if b.high == high {
			rank += b.low.CardinalityInRange(0, uint64(low))
		}
	}
	return int64(rank)
}

// Select returns the position below which exactly rank positions are, and false when there are no more than rank.
func (v *Vector) Select(rank int64) (int64, bool) {
	if rank < 0 {
		return 0, false
	}
	for _, b := range v.list() {
		n := int64(b.low.GetCardinality())
		if rank < n {
			low, err := b.low.Select(uint32(rank))
			return join(b.high, low), err == nil
		}
		rank -= n
	}
	return 0, false
}

// All yields the positions in ascending order.
func (v *Vector) All() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, b := range v.list() {
			more := true
			b.low.Iterate(func(low uint32) bool {
				more = yield(join(b.high, low))
				return more
			})
			if !more {
				return
			}
		}
	}
}

// Equal says whether v and w hold the same positions.
func (v *Vector) Equal(w *Vector) bool {
	return slices.EqualFunc(v.list(), w.list(), func(a, b bucket) bool { return a.high == b.high && a.low.Equals(b.low) })
}

// SubsetOf says whether w holds every position of v.
func (v *Vector) SubsetOf(w *Vector) bool { return v.common(w) == v.Cardinality() }

// Intersects says whether v and w have a position in common.
func (v *Vector) Intersects(w *Vector) bool {
	for _, b := range v.list() {
		if other := w.bucket(b.high); other != nil && b.low.Intersects(other) {
			return true
		}
	}
	return false
}

// common returns how many positions v and w have in common.
func (v *Vector) common(w *Vector) int64 {
	var n uint64
	for _, b := range v.list() {
		if other := w.bucket(b.high); other != nil {
			n += b.low.AndCardinality(other)
		}
	}
	return int64(n)
}

// Union returns the positions that v or w holds.
func (v *Vector) Union(w *Vector) *Vector {
	var buckets []bucket
	a, b := v.list(), w.list()
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].high < b[0].high:
			buckets, a = append(buckets, a[0].clone()), a[1:]
		case a[0].high > b[0].high:
			buckets, b = append(buckets, b[0].clone()), b[1:]
		default:
			buckets = append(buckets, bucket{a[0].high, roaring.Or(a[0].low, b[0].low)})
			a, b = a[1:], b[1:]
		}
	}
	for _, rest := range slices.Concat(a, b) {
		buckets = append(buckets, rest.clone())
	}
	return newVector(buckets)
}

// AndNot returns the positions that v holds and w does not.
func (v *Vector) AndNot(w *Vector) *Vector {
	var buckets []bucket
	for _, b := range v.list() {
		if other := w.bucket(b.high); other != nil {
			buckets = append(buckets, bucket{b.high, roaring.AndNot(b.low, other)})
		} else {
			buckets = append(buckets, b.clone())
		}
	}
	return newVector(buckets)
}

// clone returns a bucket that may be changed.
func (b bucket) clone() bucket { return bucket{b.high, b.low.Clone()} }

// String lists the positions, at most eight of them.
func (v *Vector) String() string {
	const shown = 8
	text := []byte{'{'}
	for position := range v.All() {
		if len(text) > 1 {
			text = append(text, ' ')
		}
		text = fmt.Append(text, position)
		if v.Cardinality() > shown && v.Rank(position) == shown-1 {
			text = fmt.Appendf(text, " … %d in all", v.Cardinality())
			break
		}
	}
	return string(append(text, '}'))
}
