package vectorized_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
	"github.com/deltaskip/deltaskip/vectorized"
)

// TestEvalEachIsEachReadAlone holds EvalEach to programs of one read, across words, chunks, and reads that share nodes.
func TestEvalEachIsEachReadAlone(t *testing.T) {
	const text = `{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},` +
		`{"name":"p","type":"integer","nullable":true,"metadata":{}}]}`
	table, err := schema.Parse(text, []string{"p"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var reads []*predicate.Predicate
	for _, sql := range []string{
		"id < 50", "id < 50 AND p = 1", "p = 2", "id < 50 OR id >= 40000", "id BETWEEN 630 AND 640", "false", "true", "rand() > 0.5 AND p = 0",
	} {
		e, err := predicate.Parse(sql, predicate.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := predicate.Bind(e, table, predicate.Env{})
		if err != nil {
			t.Fatal(err)
		}
		reads = append(reads, p)
	}
	compile := func(reads ...*predicate.Predicate) *vectorized.Program {
		p, err := vectorized.Compile(reads, vectorized.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	batch := func(p *vectorized.Program, n int) *colstats.Batch {
		b := colstats.NewBuilder(p.Layout(), colstats.Options{})
		for i := range n {
			partition := fmt.Sprint(i % 3)
			f := &colstats.File{Path: "f", PartitionValues: map[string]*string{"p": &partition}}
			if i%7 != 0 {
				f.Stats = fmt.Sprintf(`{"numRecords":10,"minValues":{"id":%d},"maxValues":{"id":%d},"nullCount":{"id":0}}`, i*10, i*10+9)
			}
			if err := b.Append(f); err != nil {
				t.Fatal(err)
			}
		}
		return b.Flush()
	}
	all := compile(reads...)
	dst := make([][]uint64, len(reads))
	var together, alone vectorized.Scratch
	for _, n := range []int{5000, 1, 64, 65} { // the largest first, so that memory used again holds other bits
		b := batch(all, n)
		if err := all.EvalEach(dst, b, &together); err != nil {
			t.Fatal(err)
		}
		b.Release()
		for i, read := range reads {
			one := compile(read)
			b := batch(one, n)
			want, err := one.Eval(b, &alone)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(dst[i], want.May) {
				t.Errorf("%d files, read %d (%s): %x, alone %x", n, i, read.SQL, dst[i], want.May)
			}
			b.Release()
		}
	}
}
