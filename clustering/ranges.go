package clustering

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// ranges are the bounds of one column.
type ranges interface {
	add(low, high predicate.Value)
	// measure adds what the bounds say to c, once they are all there.
	measure(c *Column)
}

func newRanges(k schema.Kind) ranges {
	switch k {
	case schema.Float, schema.Double:
		return &rangesOf[float64]{
			of: func(v predicate.Value) float64 { return ordered(v.F) }, value: func(f float64) predicate.Value { return predicate.Value{F: f} },
			compare: cmp.Compare[float64], distance: func(a, b float64) float64 { return b - a },
		}
	case schema.Decimal:
		return &rangesOf[decimal128.Num]{
			of: func(v predicate.Value) decimal128.Num { return v.D }, value: func(d decimal128.Num) predicate.Value { return predicate.Value{D: d} },
			compare: decimal128.Num.Cmp, distance: func(a, b decimal128.Num) float64 { return b.Sub(a).ToFloat64(0) },
		}
	case schema.String, schema.Binary:
		return &rangesOf[string]{
			of: func(v predicate.Value) string { return strings.Clone(v.S) }, value: func(s string) predicate.Value { return predicate.Value{S: s} },
			compare: cmp.Compare[string],
		}
	}
	return &rangesOf[int64]{
		of: func(v predicate.Value) int64 { return v.I }, value: func(i int64) predicate.Value { return predicate.Value{I: i} },
		compare: cmp.Compare[int64], distance: func(a, b int64) float64 { return float64(uint64(b) - uint64(a)) },
	}
}

// ordered makes NaN, which a bound is where every value is, the greatest number, as in Spark's order.
func ordered(f float64) float64 {
	if math.IsNaN(f) {
		return math.Inf(1)
	}
	return f
}

// rangesOf are ranges by the part of a value that holds it.
type rangesOf[T any] struct {
	lows, highs []T
	of          func(predicate.Value) T
	value       func(T) predicate.Value
	compare     func(a, b T) int
	distance    func(a, b T) float64 // from a to b, not less than a; nil where values have none
}

func (r *rangesOf[T]) add(low, high predicate.Value) {
	r.lows, r.highs = append(r.lows, r.of(low)), append(r.highs, r.of(high))
}

func (r *rangesOf[T]) measure(c *Column) {
	least, greatest := slices.MinFunc(r.lows, r.compare), slices.MaxFunc(r.highs, r.compare)
	c.Low, c.High = r.value(least), r.value(greatest)
	c.Low.Type, c.High.Type = c.Column.Type, c.Column.Type
	c.Width = r.width(least, greatest)

	slices.SortFunc(r.lows, r.compare) // which files they are of doesn't matter any more
	slices.SortFunc(r.highs, r.compare)
	var sum float64
	var deepest int
	for _, bounds := range [...][]T{r.lows, r.highs} {
		begun, ended := 0, 0 // ranges that begin at or before the bound, and that end before it
		for _, b := range bounds {
			for begun < len(r.lows) && r.compare(r.lows[begun], b) <= 0 {
				begun++
			}
			for r.compare(r.highs[ended], b) < 0 {
				ended++
			}
			sum += float64(begun - ended)
			deepest = max(deepest, begun-ended)
		}
	}
	c.Depth += sum / float64(2*len(r.lows))
	c.MaxDepth += int64(deepest)
}

// width is the median width of a range as a share of the domain.
func (r *rangesOf[T]) width(least, greatest T) float64 {
	if r.distance == nil {
		return -1
	}
	domain := r.distance(least, greatest)
	widths := make([]float64, len(r.lows))
	for i := range widths {
		if w := r.distance(r.lows[i], r.highs[i]); w > 0 {
			widths[i] = min(w/domain, 1)
		}
		if math.IsNaN(widths[i]) { // infinite bounds in an infinite domain
			widths[i] = 1
		}
	}
	slices.Sort(widths)
	n := len(widths)
	return (widths[(n-1)/2] + widths[n/2]) / 2
}
