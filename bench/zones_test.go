package bench

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
	"github.com/deltaskip/deltaskip/vectorized"
)

// BenchmarkZones times a selective range over batches in memory, with a zone map and without, on files that lie in the order
// of the column and on shuffled ones; and what making the map costs.
func BenchmarkZones(b *testing.B) {
	adds := size(10_000_000) / colstats.MaxBatchLen * colstats.MaxBatchLen
	table, err := schema.Parse(`{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}`, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	expr, err := predicate.Parse("id BETWEEN 400000000 AND 400000999", predicate.ParseOptions{})
	if err != nil {
		b.Fatal(err)
	}
	read, err := predicate.Bind(expr, table, predicate.Env{})
	if err != nil {
		b.Fatal(err)
	}
	p, err := vectorized.Compile([]*predicate.Predicate{read}, vectorized.Options{Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	for _, order := range []string{"clustered", "shuffled"} {
		batches := idBatches(b, p.Layout(), adds, order == "shuffled")
		b.Run("order="+order+"/build", func(b *testing.B) {
			for b.Loop() {
				z, err := colstats.NewZones(batches, nil)
				if err != nil {
					b.Fatal(err)
				}
				z.Release()
			}
			report(b, adds)
		})
		z, err := colstats.NewZones(batches, nil)
		if err != nil {
			b.Fatal(err)
		}
		none := func(*colstats.Batch, int64, vectorized.Result) error { return nil }
		for _, way := range []struct {
			name string
			scan func() (vectorized.Stats, error)
		}{
			{"linear", func() (vectorized.Stats, error) {
				return p.Scan(context.Background(), func(yield func(*colstats.Batch, error) bool) {
					for _, batch := range batches {
						if !yield(batch, nil) {
							return
						}
					}
				}, none)
			}},
			{"zones", func() (vectorized.Stats, error) { return p.ScanIn(context.Background(), z, none) }},
		} {
			b.Run("order="+order+"/scan="+way.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					stats, err := way.scan()
					if err != nil || stats.Considered != int64(adds) || stats.SkippedByStats != int64(adds)-1 {
						b.Fatal(stats, err)
					}
				}
				report(b, adds)
			})
		}
		z.Release()
		for _, batch := range batches {
			batch.Release()
		}
	}
}

// idBatches makes batches of files that hold a thousand ids each.
func idBatches(b *testing.B, layout *colstats.Layout, adds int, shuffled bool) (batches []*colstats.Batch) {
	order := make([]int64, adds)
	for i := range order {
		order[i] = int64(i)
	}
	if shuffled {
		rng := rand.New(rand.NewPCG(1, 0))
		rng.Shuffle(adds, func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	column := func(from int, value func(at int64) int64) arrow.Array {
		builder := array.NewInt64Builder(memory.DefaultAllocator)
		defer builder.Release()
		for _, at := range order[from : from+colstats.MaxBatchLen] {
			builder.Append(value(at))
		}
		return builder.NewArray()
	}
	for from := 0; from < adds; from += colstats.MaxBatchLen {
		batch, err := colstats.NewBatch(layout, &colstats.Raw{
			Len:        colstats.MaxBatchLen,
			NumRecords: column(from, func(int64) int64 { return RowsPerFile }),
			Demands: []colstats.RawDemand{{
				Min:       column(from, func(at int64) int64 { return at * RowsPerFile }),
				Max:       column(from, func(at int64) int64 { return at*RowsPerFile + RowsPerFile - 1 }),
				NullCount: column(from, func(int64) int64 { return 0 }),
			}},
		}, colstats.Options{})
		if err != nil {
			b.Fatal(err)
		}
		batches = append(batches, batch)
	}
	return batches
}
