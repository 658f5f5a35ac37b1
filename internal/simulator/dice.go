package simulator

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// dice are the random choices of one writer's one transaction, or of the scheduler.
type dice struct{ *rand.Rand }

func newDice(seed uint64, streams ...uint64) dice {
	h := uint64(14695981039346656037) // FNV-1a over the streams' words
	for _, s := range streams {
		h = (h ^ s) * 1099511628211
		h ^= h >> 29
	}
	return dice{rand.New(rand.NewPCG(seed, h))}
}

// once in n is true.
func (d dice) once(n int) bool { return d.IntN(n) == 0 }

func (d dice) small(n int) int32 { return int32(d.IntN(n)) }

func pick[T any](d dice, list ...T) T { return list[d.IntN(len(list))] }

// longPrefix is as long as what writers keep of a string in statistics.
const longPrefix = "a common prefix of 32 characters"

// text draws a string, sometimes one whose statistics are cut off.
func (d dice) text() string {
	s := string(rune('a'+d.IntN(6))) + string(rune('a'+d.IntN(3)))
	switch d.IntN(8) {
	case 0:
		return longPrefix + s
	case 1:
		return s + "é\U0001F600"[:pick(d, 2, 6)]
	}
	return s
}

func (d dice) float() double {
	if d.once(8) {
		return doubleOf(math.NaN())
	}
	return doubleOf(float64(d.IntN(24)-8) / 4)
}

// row draws a row near a centre, so that files differ in their ranges.
func (d dice) row(id int64, centre int32, partition int32, by string) row {
	r := row{id: id, k: (centre + d.small(4)) % keys, by: by}
	if !d.once(6) {
		r.x = some(centre + d.small(4))
	}
	if !d.once(5) {
		r.f = some(d.float())
	}
	if !d.once(5) {
		r.s = some(d.text())
	}
	if partition >= 0 {
		r.p = some(partition)
	}
	return r
}

const (
	keys       = 24 // values of k are below
	partitions = 3  // values of p are below, or NULL
)

// partition draws a value of p, with -1 for NULL.
func (d dice) partition() int32 {
	if d.once(10) {
		return -1
	}
	return d.small(partitions)
}

var comparisons = []string{"<", "<=", "=", ">", ">=", "<>", "<=>"}

// leaf draws a comparison.
func (d dice) leaf(ids int64) condition {
	switch d.IntN(16) {
	case 0, 1, 2:
		low := d.Int64N(ids)
		high := low + d.Int64N(250)
		return condition{fmt.Sprintf("id BETWEEN %d AND %d", low, high), func(r *row) tri { return truth(low <= r.id && r.id <= high) }}
	case 3, 4:
		low := d.small(keys)
		high := low + d.small(3)
		return and(ints("k", columnK, ">=", low), ints("k", columnK, "<=", high))
	case 5:
		return in([]int32{d.small(keys), d.small(keys)})
	case 6, 7, 8:
		return ints("x", columnX, pick(d, comparisons...), d.small(keys+4))
	case 9:
		c := isNull("x", columnX)
		if d.once(3) {
			c = not(c)
		}
		return c
	case 10, 11:
		v := doubleOf(float64(d.IntN(24)-8) / 4)
		return compare("f", columnF, pick(d, comparisons...), v, fmt.Sprintf("%gD", v.float()), compareDoubles)
	case 12:
		v := d.text()
		return compare("s", columnS, pick(d, comparisons...), v, "'"+v+"'", cmp.Compare[string])
	case 13:
		prefix := pick(d, "a", "b", "ca", "d", longPrefix, longPrefix+"c")
		return condition{"s LIKE '" + prefix + "%'", func(r *row) tri {
			if !r.s.ok {
				return unknown
			}
			return truth(strings.HasPrefix(r.s.v, prefix))
		}}
	case 14:
		return condition{"x < k", func(r *row) tri {
			if !r.x.ok {
				return unknown
			}
			return truth(r.x.v < r.k)
		}}
	}
	if d.once(4) {
		return isNull("p", columnP)
	}
	return ints("p", columnP, pick(d, "=", "=", "<>", "<"), d.small(partitions))
}

// condition draws a predicate that a few of the rows match. ids is above all ids.
func (d dice) condition(ids int64) condition {
	c := d.leaf(ids)
	for d.once(2) {
		switch d.IntN(6) {
		case 0:
			c = or(c, d.leaf(ids))
		case 1:
			c = not(c)
		default:
			c = and(c, d.leaf(ids))
		}
	}
	if d.once(3) {
		c = and(ints("p", columnP, "=", d.small(partitions)), c)
	}
	return c
}
