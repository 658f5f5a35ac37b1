package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/vectorized"
)

// BenchmarkCheckpointLeaves times what it takes to get the demanded leaves of a checkpoint out of parquet, for ours with facts made
// of them, beside Arrow's reader of whole columns.
func BenchmarkCheckpointLeaves(b *testing.B) {
	adds := checkpointAdds(b)
	dir := fixture(b, "--adds", fmt.Sprint(adds), "--shuffled", "--checkpoint", "classic", "--stats", "struct")
	s := snapshotOf(b, openLog(b, dir, 0))
	for _, p := range predicates {
		program := compile(b, s, p.sql, vectorized.Options{})
		b.Run("columns="+p.name+"/reader=ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for batch, err := range s.Batches(context.Background(), program.Layout(), deltalog.BatchOptions{}) {
					if err != nil {
						b.Fatal(err)
					}
					n += batch.Len()
				}
				if n != adds {
					b.Fatal(n)
				}
			}
			report(b, adds)
		})
		b.Run("columns="+p.name+"/reader=pqarrow", func(b *testing.B) {
			var paths []string
			for _, d := range program.Layout().Demands {
				for _, kind := range []string{"minValues", "maxValues", "nullCount"} {
					paths = append(paths, fmt.Sprintf("add.stats_parsed.%s.%s", kind, d.Column.Physical[0]))
				}
			}
			paths = append(paths, "add.stats_parsed.numRecords")
			b.ReportAllocs()
			for b.Loop() {
				if n := readColumns(b, dir+"/_delta_log/00000000000000000001.checkpoint.parquet", paths); n != int64(adds)+2 {
					b.Fatal(n)
				}
			}
			report(b, adds)
		})
	}
}

// readColumns reads leaves with Arrow's own reader and returns the number of rows.
func readColumns(b *testing.B, name string, paths []string) int64 {
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	pf, err := file.NewParquetReader(f, file.WithReadProps(parquet.NewReaderProperties(memory.DefaultAllocator)))
	if err != nil {
		b.Fatal(err)
	}
	r, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: 64 << 10}, memory.DefaultAllocator)
	if err != nil {
		b.Fatal(err)
	}
	var columns []int
	for _, p := range paths {
		if i := pf.MetaData().Schema.ColumnIndexByName(p); i >= 0 {
			columns = append(columns, i)
		}
	}
	records, err := r.GetRecordReader(context.Background(), columns, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer records.Release()
	n := int64(0)
	for records.Next() {
		n += records.RecordBatch().NumRows()
	}
	return n
}

// maxPeak is what evaluating a checkpoint of any size may take.
const maxPeak = 1 << 30

// BenchmarkCheckpoint times a checkpoint on disk to the number of files that may match: opening, pruning, decoding, evaluation.
// Its adds are sorted by id. peak-MiB is the largest resident set of a process that does nothing else: deltaskip files --count.
func BenchmarkCheckpoint(b *testing.B) {
	adds := checkpointAdds(b)
	for _, shape := range []string{"classic", "multipart", "v2"} {
		for _, stats := range []string{"struct", "json", "both"} {
			for _, p := range predicates {
				for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
					b.Run(fmt.Sprintf("adds=%d/shape=%s/stats=%s/predicate=%s/workers=%d", adds, shape, stats, p.name, workers), func(b *testing.B) {
						dir := fixture(b, "--adds", fmt.Sprint(adds), "--shuffled", "--sort-by", "id", "--checkpoint", shape, "--stats", stats)
						log := openLog(b, dir, workers)
						var pruned float64
						var before, after runtime.MemStats
						runtime.ReadMemStats(&before)
						for b.Loop() {
							pruned = countFiles(b, log, p.sql, workers, adds)
						}
						runtime.ReadMemStats(&after)
						elapsed := b.Elapsed().Seconds()
						n := float64(adds) * float64(b.N)
						b.ReportMetric(n/elapsed, "adds/s")
						b.ReportMetric(float64(after.Mallocs-before.Mallocs)/n, "allocs/add")
						b.ReportMetric(pruned, "%pruned")
						peak := peakOf(b, deltaskip(b), "files", dir, "--count", "--where", p.sql, "--workers", fmt.Sprint(workers))
						b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
						if peak > maxPeak {
							b.Errorf("%d MiB at once: at most %d are promised", peak>>20, maxPeak>>20)
						}
					})
				}
			}
		}
	}
}

// countFiles counts the files that may match, and returns the percentage of row groups pruned.
func countFiles(b *testing.B, log *deltalog.Log, sql string, workers, adds int) float64 {
	s, err := log.Snapshot(context.Background(), deltalog.SnapshotOptions{})
	if err != nil {
		b.Fatal(err)
	}
	program := compile(b, s, sql, vectorized.Options{Workers: workers})
	census := program.Census()
	var r checkpoint.Report
	batches := s.Batches(context.Background(), program.Layout(), deltalog.BatchOptions{
		Prune: program.Prune(), Left: &checkpoint.Left{Layout: census.Layout(), Take: census.Count}, Report: &r,
	})
	stats, err := program.Scan(context.Background(), batches, func(*colstats.Batch, int64, vectorized.Result) error { return nil })
	if stats.Add(census.Stats()); err != nil || stats.Considered != int64(adds) {
		b.Fatal(stats, err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return 100 * float64(r.Pruned.Load()) / float64(r.RowGroups.Load())
}
