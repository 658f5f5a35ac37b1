package bench

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/vectorized"
)

// predicates are what the benchmarks ask, on the columns of a [Workload].
var predicates = []struct{ name, sql string }{
	{"range", "id BETWEEN 500000 AND 500999"},
	{"pairs", "(country = 'DE' AND quantity < 1000) OR (tiny = 3 AND sequence < 4000000000000000)"},
	{"prefix", "user LIKE 'user-0000%'"},
	{"timestamp", "ts >= TIMESTAMP '2026-01-01 12:00:00' AND ts < TIMESTAMP '2026-01-01 13:00:00'"},
	{"isnull", "amount IS NULL"},
}

// size returns how many adds a benchmark has: a tenth of n under -short, so that checking that it runs is cheap.
func size(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// writeLog writes a workload to a folder of the benchmark and opens its log.
func writeLog(b *testing.B, w Workload, perCommit int) *deltalog.Log {
	b.Helper()
	dir := b.TempDir()
	if _, err := w.WriteLog(dir, perCommit, nil); err != nil {
		b.Fatal(err)
	}
	store, err := logstore.OpenLocal(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	return deltalog.Open(store, deltalog.Options{})
}

func snapshotOf(b *testing.B, log *deltalog.Log) *deltalog.Snapshot {
	b.Helper()
	s, err := log.Snapshot(context.Background(), deltalog.SnapshotOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// compile binds a predicate to a snapshot's table and compiles it.
func compile(b *testing.B, s *deltalog.Snapshot, sql string, o vectorized.Options) *vectorized.Program {
	b.Helper()
	table, err := s.Table()
	if err != nil {
		b.Fatal(err)
	}
	expr, err := predicate.Parse(sql, predicate.ParseOptions{})
	if err != nil {
		b.Fatal(err)
	}
	read, err := predicate.Bind(expr, table, predicate.Env{})
	if err != nil {
		b.Fatal(err)
	}
	program, err := vectorized.Compile([]*predicate.Predicate{read}, o)
	if err != nil {
		b.Fatal(err)
	}
	return program
}

// report adds the units that people compare by.
func report(b *testing.B, adds int) {
	b.ReportMetric(float64(adds)*float64(b.N)/b.Elapsed().Seconds(), "adds/s")
	b.ReportMetric(float64(PeakRSS())/(1<<20), "peak-MiB")
}

// BenchmarkDecode times JSON commits to batches of the demanded statistics.
func BenchmarkDecode(b *testing.B) {
	adds := size(100_000)
	log := writeLog(b, Workload{Adds: adds, Seed: 1, Shuffled: true}, 0)
	s := snapshotOf(b, log)
	commit, err := log.Commit(context.Background(), 1)
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range predicates {
		b.Run("columns="+p.name, func(b *testing.B) {
			layout := compile(b, s, p.sql, vectorized.Options{}).Layout()
			b.SetBytes(commit.Entry.Size)
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range commit.Batches(context.Background(), layout, colstats.Options{}) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			report(b, adds)
		})
	}
}

// BenchmarkKernel times programs over batches in memory, on one goroutine.
func BenchmarkKernel(b *testing.B) {
	adds := size(1_000_000)
	s := snapshotOf(b, writeLog(b, Workload{Adds: adds, Seed: 1, Shuffled: true}, 0))
	for _, p := range predicates {
		b.Run("predicate="+p.name, func(b *testing.B) {
			program := compile(b, s, p.sql, vectorized.Options{Workers: 1})
			var batches []*colstats.Batch
			for batch, err := range s.Batches(context.Background(), program.Layout(), deltalog.BatchOptions{}) {
				if err != nil {
					b.Fatal(err)
				}
				batch.Retain()
				defer batch.Release()
				batches = append(batches, batch)
			}
			var scratch vectorized.Scratch
			b.ReportAllocs()
			for b.Loop() {
				for _, batch := range batches {
					if _, err := program.Eval(batch, &scratch); err != nil {
						b.Fatal(err)
					}
				}
			}
			report(b, adds)
		})
	}
}

// BenchmarkFiles times a log on disk to the files that may match: listing, replay, decoding, evaluation.
func BenchmarkFiles(b *testing.B) {
	adds := size(100_000)
	for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
		b.Run(fmt.Sprintf("source=json/workers=%d", workers), func(b *testing.B) {
			log := writeLog(b, Workload{Adds: adds, Seed: 1, Shuffled: true}, 10_000)
			b.ReportAllocs()
			for b.Loop() {
				s, err := log.Snapshot(context.Background(), deltalog.SnapshotOptions{})
				if err != nil {
					b.Fatal(err)
				}
				program := compile(b, s, predicates[0].sql, vectorized.Options{Workers: workers})
				stats, err := program.Scan(context.Background(), s.Batches(context.Background(), program.Layout(), deltalog.BatchOptions{}),
					func(*colstats.Batch, int64, vectorized.Result) error { return nil })
				if err != nil || stats.Considered != int64(adds) {
					b.Fatal(stats, err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			report(b, adds)
		})
	}
}

// BenchmarkCheck times one loser against winners: one small, many small ones, and one large. Cold, the winners are read from disk;
// warm, the checker has seen them before.
func BenchmarkCheck(b *testing.B) {
	for _, shape := range []struct{ winners, adds int }{{1, 100}, {1000, 100}, {1, 100_000}} {
		adds := size(shape.winners * shape.adds)
		log := writeLog(b, Workload{Adds: adds, Seed: 1, Shuffled: true}, max(1, adds/shape.winners))
		at := int64(0)
		s, err := log.Snapshot(context.Background(), deltalog.SnapshotOptions{Version: &at})
		if err != nil {
			b.Fatal(err)
		}
		txn := &conflict.Transaction{
			Reads: []conflict.Read{{SQL: "id < 0"}},
			Actions: []action.Action{
				&action.Add{Path: "new.parquet", PartitionValues: map[string]*string{}, DataChange: true},
			},
			CommitInfo: &action.CommitInfo{},
		}
		txn.CommitInfo.SetBool("isBlindAppend", false)
		if err := txn.ReadFrom(s); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		check := func(b *testing.B, c *conflict.Checker) {
			r, err := c.Check(context.Background(), txn, conflict.Newest)
			if err != nil || r.Outcome != conflict.Clear {
				b.Fatal(r.Outcome, err, r.Conflict)
			}
		}
		newChecker := func(b *testing.B) *conflict.Checker {
			c, err := conflict.NewChecker(log, conflict.Options{Mode: conflict.Stats, Cache: conflict.NewWinnerCache(1 << 30)})
			if err != nil {
				b.Fatal(err)
			}
			return c
		}
		perSecond := func(b *testing.B) {
			report(b, adds)
			b.ReportMetric(float64(shape.winners)*float64(b.N)/b.Elapsed().Seconds(), "winners/s")
		}
		b.Run(fmt.Sprintf("winners=%d/adds=%d/cache=cold", shape.winners, shape.adds), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				check(b, newChecker(b))
			}
			perSecond(b)
		})
		b.Run(fmt.Sprintf("winners=%d/adds=%d/cache=warm", shape.winners, shape.adds), func(b *testing.B) {
			c := newChecker(b)
			check(b, c)
			b.ReportAllocs()
			for b.Loop() {
				check(b, c)
			}
			perSecond(b)
		})
	}
}
