package vectorized

import (
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// A pairTest asks of a op b, two columns of one type, whether it may be TRUE, or FALSE, by their bounds.
//
//	may a < b:   lower(a) < upper(b)          may a >= b:  not upper(a) < lower(b)
//	may a = b:   may a >= b and may b >= a    may a <> b:  may a < b or may b < a
type pairTest struct {
	edges edges // none, but it knows the kernels of the type
	op    predicate.CompareOp
}

// makePair makes the test of "a op b may be TRUE", or with bit canFalse of its negation.
func makePair(t schema.Type, op predicate.CompareOp, bit tri) pairTest {
	if bit == canFalse {
		op = [...]predicate.CompareOp{
			predicate.EQ: predicate.NE, predicate.NE: predicate.EQ, predicate.LT: predicate.GE,
			predicate.GE: predicate.LT, predicate.LE: predicate.GT, predicate.GT: predicate.LE,
		}[op]
	}
	return pairTest{edges: edgesOf(t, nil), op: op}
}

// run sets the bits of the files lo … hi-1. Both columns have bounds; where a file has none the bit means nothing. spare
// may hold as many words as dst.
func (p *pairTest) run(dst, spare []uint64, a, b *colstats.Facts, lo, hi int) {
	if p.op == predicate.GT || p.op == predicate.LE {
		a, b = b, a
	}
	switch p.op {
	case predicate.LT, predicate.GT:
		p.edges.lessOther(dst, lowerOf(a), upperOf(b), lo, hi)
		return
	case predicate.GE, predicate.LE:
		p.edges.lessOther(dst, upperOf(a), lowerOf(b), lo, hi)
		for i := range dst {
			dst[i] = ^dst[i]
		}
		return
	}
	more := spare[:len(dst)]
	if p.op == predicate.EQ {
		p.edges.lessOther(dst, upperOf(a), lowerOf(b), lo, hi)
		p.edges.lessOther(more, upperOf(b), lowerOf(a), lo, hi)
		for i := range dst {
			dst[i] = ^(dst[i] | more[i])
		}
		return
	}
	p.edges.lessOther(dst, lowerOf(a), upperOf(b), lo, hi)
	p.edges.lessOther(more, lowerOf(b), upperOf(a), lo, hi)
	for i := range dst {
		dst[i] |= more[i]
	}
}
