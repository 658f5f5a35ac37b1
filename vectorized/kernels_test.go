package vectorized

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// TestKernels runs every kernel of every type over all lengths that matter, at odd offsets of the arrays and into
// words full of garbage, against a comparison of values one by one.
func TestKernels(t *testing.T) {
	for _, name := range []string{"bo", "by", "sh", "i", "l", "f", "d", "e", "big", "s", "bin", "dt", "ts", "tn"} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			typ := testColumn(name).Type
			n := rapid.SampledFrom([]int{1, 2, 63, 64, 65, 127, 128, 129, 1000, chunkFiles}).Draw(t, "files")
			k := harness{T: t, typ: typ, n: n}
			k.lower, k.upper = k.draw(), k.draw()
			for i := range k.lower {
				if k.lower[i].Compare(k.upper[i]) > 0 {
					k.lower[i], k.upper[i] = k.upper[i], k.lower[i]
				}
			}
			k.check()
		}))
	}
}

type harness struct {
	*rapid.T
	typ          schema.Type
	n            int // files
	lower, upper []predicate.Value
}

// draw draws values; after the first few they repeat.
func (k *harness) draw() []predicate.Value {
	values := make([]predicate.Value, k.n)
	drawn := min(k.n, rapid.IntRange(1, 70).Draw(k.T, "drawn"))
	for i := range values {
		if i < drawn {
			values[i] = drawValue(k.T, k.typ)
		} else {
			values[i] = values[(i*7)%drawn]
		}
	}
	return values
}

func (k *harness) check() {
	garbage := drawValue(k.T, k.typ)
	offset := rapid.IntRange(0, 9).Draw(k.T, "offset")
	pad := slices.Repeat([]predicate.Value{garbage}, offset)
	facts := &colstats.Facts{Column: &schema.Column{Type: k.typ}}
	facts.Lower = makeArray(k.typ, append(slices.Clone(pad), k.lower...), offset)
	facts.Upper = makeArray(k.typ, append(slices.Clone(pad), k.upper...), offset)
	addHeads(facts)
	lower, upper := lowerOf(facts), upperOf(facts)

	var at []predicate.Value
	for range rapid.IntRange(1, 12).Draw(k.T, "edges") {
		if v := drawValue(k.T, k.typ); !math.IsNaN(v.F) && !slices.ContainsFunc(at, func(u predicate.Value) bool { return sameOrder(u, v) }) {
			at = append(at, v)
		}
	}
	if k.typ.Kind == schema.Boolean {
		at = []predicate.Value{predicate.BoolOf(true)}
	}
	if len(at) == 0 {
		return
	}
	slices.SortFunc(at, predicate.Value.Compare)
	e := edgesOf(k.typ, at)
	lo := rapid.IntRange(0, k.n/64).Draw(k.T, "first word") * 64
	if lo == k.n {
		return // kernels are not called for nothing
	}
	for edge := range at {
		need := k.need(lo)
		k.compare("less", lo, func(dst []uint64) {
			e.less(dst, need, lower, lo, k.n, edge)
			for w := range dst {
				dst[w] &= need[w]
			}
		}, func(i int) bool { return colstats.IsSet(need, i-lo) && k.lower[i].Compare(at[edge]) < 0 })
	}
	for edge := 1; edge < len(at); edge++ {
		if dst := make([]uint64, (k.n-lo+63)/64); !e.between(dst, lower, upper, lo, k.n, edge) {
			break
		}
		k.compare("between", lo, func(dst []uint64) { e.between(dst, lower, upper, lo, k.n, edge) }, func(i int) bool {
			return k.lower[i].Compare(at[edge]) < 0 && k.upper[i].Compare(at[edge-1]) >= 0
		})
	}
	k.compare("lessOther", lo, func(dst []uint64) { e.lessOther(dst, lower, upper, lo, k.n) }, func(i int) bool { return k.lower[i].Compare(k.upper[i]) < 0 })
	k.compare("lessOther", lo, func(dst []uint64) { e.lessOther(dst, upper, lower, lo, k.n) }, func(i int) bool { return k.upper[i].Compare(k.lower[i]) < 0 })
	k.compare("number", lo, func(dst []uint64) { e.number(dst, lower, lo, k.n) }, func(i int) bool { return !math.IsNaN(k.lower[i].F) })
	if k.typ.Kind == schema.Boolean {
		return
	}
	for _, start := range []bool{false, true} {
		k.compare("crosses", lo, func(dst []uint64) { e.crosses(dst, lower, upper, lo, k.n, start) }, func(i int) bool {
			answer := start
			for j := range len(at) + 1 { // segment j, and whether the file's range meets it
				meets := (j == 0 || k.upper[i].Compare(at[j-1]) >= 0) && (j == len(at) || k.lower[i].Compare(at[j]) < 0)
				if meets && answer {
					return true
				}
				answer = !answer
			}
			return false
		})
	}
}

// need draws which of the files from lo on a kernel is asked for: all, or few, or none in some words.
func (k *harness) need(lo int) []uint64 {
	masks := rapid.SliceOfN(rapid.SampledFrom([]uint64{0, 1, 1 << 63, 0x8000_0001_0000_0100, 0x5555_5555_5555_5555, ^uint64(0)}), 1, 4).Draw(k.T, "need")
	need := make([]uint64, (k.n-lo+63)/64)
	for w := range need {
		need[w] = masks[w%len(masks)]
	}
	return need
}

// compare runs a kernel for the files from lo on and holds it to want. Bits past the last file are free.
func (k *harness) compare(name string, lo int, run func(dst []uint64), want func(i int) bool) {
	k.Helper()
	words := (k.n - lo + 63) / 64
	dst := slices.Repeat([]uint64{0xcccc_cccc_cccc_cccc}, words+1)
	run(dst[:words])
	if dst[words] != 0xcccc_cccc_cccc_cccc {
		k.Fatalf("%s wrote past its words", name)
	}
	for i := lo; i < k.n; i++ {
		if got := colstats.IsSet(dst, i-lo); got != want(i) {
			k.Fatalf("%s of file %d in [%s, %s]: %t", name, i, k.lower[i].SQL(), k.upper[i].SQL(), got)
		}
	}
}

// TestEvaluationAllocatesNothing pins the paths that promise it.
func TestEvaluationAllocatesNothing(t *testing.T) {
	for _, sql := range []string{
		"l >= 5 AND l < 100", "NOT (i = 3 OR i2 > 7)", "s LIKE 'ab%' AND s2 IS NOT NULL", "d < 1.5", "l IN (1, 2, 3, 4, 5, 6, 7, 9, 11, 13)",
		"s IN ('a', 'b', 'c', 'd')", "e > 1.5 OR big < 3", "ts >= TIMESTAMP'2020-01-01' AND dt < DATE'2021-01-01'", "l < l2", "s = s2", "bo",
		"year(ts) = 2020", "p = 1 AND ps = 'a' AND l > 3",
	} {
		t.Run(sql, func(t *testing.T) {
			p := mustCompile(t, Options{}, sql)
			var r run
			for _, d := range p.layout.Demands {
				v := predicate.Value{Type: d.Column.Type}
				files := slices.Repeat([]fileFacts{{bounded: true, noNull: true, lower: v, upper: v}}, 1000)
				r.facts = append(r.facts, layFacts(d.Column, files, 0, true))
			}
			dst := make([]uint64, chunkWords)
			once := func() {
				if err := r.begin(p, 1000); err != nil {
					t.Fatal(err)
				}
				for files, ok := r.next(chunkFiles); ok; files, ok = r.next(chunkFiles) {
					if err := r.partitions(dst[:len(files)], files); err != nil {
						t.Fatal(err)
					}
					r.answer(dst[:len(files)], p.may, files)
				}
			}
			once()
			if n := testing.AllocsPerRun(100, once); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
