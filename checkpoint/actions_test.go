package checkpoint_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// mixed writes adds and all other actions of a table into row groups that they share, as other writers do.
func mixed(tb testing.TB, adds, groupRows int) *checkpoint.Checkpoint {
	tb.Helper()
	ctx := context.Background()
	_, _, store := written(tb, memory.DefaultAllocator, testAdds(rand.New(rand.NewPCG(1, 2)), adds), checkpoint.WriteOptions{})
	name := topLevel(tb, store)
	data, _, err := store.Get(ctx, name, 1<<30)
	if err != nil {
		tb.Fatal(err)
	}
	table, err := pqarrow.ReadTable(ctx, bytes.NewReader(data), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		tb.Fatal(err)
	}
	defer table.Release()
	var out bytes.Buffer
	props := parquet.NewWriterProperties(parquet.WithMaxRowGroupLength(int64(groupRows)), parquet.WithDataPageSize(16<<10))
	if err := pqarrow.WriteTable(table, &out, int64(groupRows), props, pqarrow.DefaultWriterProps()); err != nil {
		tb.Fatal(err)
	}
	copied := &storetest.Mem{}
	if err := copied.Put(ctx, name, out.Bytes()); err != nil {
		tb.Fatal(err)
	}
	c, err := checkpoint.Open(ctx, copied, []string{name}, checkpoint.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// TestMixedRowGroups finds every action of every kind, wherever the borders of row groups lie.
func TestMixedRowGroups(t *testing.T) {
	for _, rows := range []int{3, 1023, 1024, 1025, 1 << 20} {
		c := mixed(t, 3000, rows)
		counts := []int{len(collect(t, c.Actions(t.Context()))), len(collect(t, c.Adds(t.Context(), nil))), len(collect(t, c.Removes(t.Context(), nil)))}
		if want := []int{4, 3000, 300}; fmt.Sprint(counts) != fmt.Sprint(want) {
			t.Errorf("row groups of %d: %v, want %v", rows, counts, want)
		}
	}
}

// BenchmarkActions finds the few actions that are no adds in row groups that are full of adds.
func BenchmarkActions(b *testing.B) {
	const adds = 100_000
	c := mixed(b, adds, 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range c.Actions(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 4 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(adds*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
