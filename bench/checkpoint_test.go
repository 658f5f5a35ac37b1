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
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/vectorized"
)

// checkpointLog writes a workload as a checkpoint and opens its log.
func checkpointLog(b *testing.B, w Workload, o checkpoint.WriteOptions, clusterBy ...string) (log *deltalog.Log, dir string) {
	b.Helper()
	dir = b.TempDir()
	store, err := logstore.OpenLocal(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	if err := w.WriteCheckpoint(context.Background(), store, o, clusterBy...); err != nil {
		b.Fatal(err)
	}
	return deltalog.Open(store, deltalog.Options{}), dir
}

// BenchmarkCheckpointLeaves times what it takes to get the demanded leaves of a checkpoint out of parquet, for ours with facts made
// of them, beside Arrow's reader of whole columns.
func BenchmarkCheckpointLeaves(b *testing.B) {
	adds := size(1_000_000)
	log, dir := checkpointLog(b, Workload{Adds: adds, Seed: 1, Shuffled: true}, checkpoint.WriteOptions{Stats: checkpoint.StatsAsStruct})
	s := snapshotOf(b, log)
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

// BenchmarkCheckpoint times a checkpoint on disk to the files that may match: opening, pruning, decoding, evaluation.
func BenchmarkCheckpoint(b *testing.B) {
	adds := size(1_000_000)
	for _, form := range []struct {
		name  string
		stats checkpoint.StatsForm
	}{{"struct", checkpoint.StatsAsStruct}, {"json", checkpoint.StatsAsJSON}} {
		log, _ := checkpointLog(b, Workload{Adds: adds, Seed: 1, Shuffled: true}, checkpoint.WriteOptions{Stats: form.stats}, "id")
		for _, p := range predicates {
			for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
				b.Run(fmt.Sprintf("stats=%s/predicate=%s/workers=%d", form.name, p.name, workers), func(b *testing.B) {
					b.ReportAllocs()
					var pruned float64
					for b.Loop() {
						s, err := log.Snapshot(context.Background(), deltalog.SnapshotOptions{})
						if err != nil {
							b.Fatal(err)
						}
						program := compile(b, s, p.sql, vectorized.Options{Workers: workers})
						var r checkpoint.Report
						batches := s.Batches(context.Background(), program.Layout(), deltalog.BatchOptions{Prune: program.Prune(), Report: &r})
						stats, err := program.Scan(context.Background(), batches, func(*colstats.Batch, int64, vectorized.Result) error { return nil })
						if err != nil || stats.Considered+r.AddsLeft.Load() != int64(adds) {
							b.Fatal(stats, err)
						}
						pruned = 100 * float64(r.Pruned.Load()) / float64(r.RowGroups.Load())
						if err := s.Close(); err != nil {
							b.Fatal(err)
						}
					}
					report(b, adds)
					b.ReportMetric(pruned, "%pruned")
				})
			}
		}
	}
}
