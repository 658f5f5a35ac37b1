package deltalog_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// benchTable has n adds of about 500 bytes, in commits of 1000.
func benchTable(b *testing.B, n int) (*storetest.Mem, int64) {
	b.Helper()
	mem := &storetest.Mem{}
	size := int64(0)
	for v := 0; v*1000 < n; v++ {
		var lines []string
		if v == 0 {
			lines = append(lines, protocolLine, metadataLine)
		}
		for i := v * 1000; i < min(n, (v+1)*1000); i++ {
			lines = append(lines, fmt.Sprintf(`{"add":{"path":"part-%05d-6a24d0ea-5e59-4bc3-a3c5-d1ba5cf3a1c5-c000.snappy.parquet","partitionValues":{"p":"1"},"size":123456,"modificationTime":1700000000000,"dataChange":true,"stats":"{\"numRecords\":100,\"minValues\":{\"x\":%d,\"name\":\"aaaa\",\"ts\":\"2024-01-01T00:00:00.000Z\"},\"maxValues\":{\"x\":%d,\"name\":\"zzzz\",\"ts\":\"2024-01-01T00:00:00.000Z\"},\"nullCount\":{\"x\":0,\"name\":0,\"ts\":0}}"}}`, i, i, i+100))
		}
		put(b, mem, deltalog.CommitName(int64(v)), lines...)
		size += int64(len(strings.Join(lines, "\n")))
	}
	return mem, size
}

// BenchmarkSnapshot reads a log without a checkpoint: what it takes to know which adds count, and to decode one column of
// their statistics or all of them.
func BenchmarkSnapshot(b *testing.B) {
	const n = 100_000
	mem, size := benchTable(b, n)
	run := func(name string, f func(b *testing.B)) {
		b.Run(fmt.Sprintf("%s/adds=%d", name, n), func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			f(b)
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "adds/s")
		})
	}
	run("read=replay", func(b *testing.B) {
		for b.Loop() {
			snapshot(b, mem, deltalog.SnapshotOptions{})
		}
	})
	s := snapshot(b, mem, deltalog.SnapshotOptions{})
	run("read=batches", func(b *testing.B) {
		l := layout(b, s)
		for b.Loop() {
			for _, err := range s.Batches(b.Context(), l, deltalog.BatchOptions{}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	run("read=adds", func(b *testing.B) {
		for b.Loop() {
			for _, err := range s.Adds(b.Context()) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprintf("adds=%d", n), func(b *testing.B) {
			mem := newTable(b, nil)
			one, _ := benchTable(b, n)
			var lines []string
			for v := 0; v*1000 < n; v++ {
				data, _, err := one.Get(b.Context(), deltalog.CommitName(int64(v)), 1<<30)
				if err != nil {
					b.Fatal(err)
				}
				lines = append(lines, string(data))
			}
			put(b, mem, deltalog.CommitName(1), lines...)
			log := deltalog.Open(mem, deltalog.Options{})
			l := layout(b, snapshot(b, mem, at(0)))
			b.ReportAllocs()
			for b.Loop() {
				c, err := log.Commit(b.Context(), 1)
				if err != nil {
					b.Fatal(err)
				}
				for _, err := range c.Batches(b.Context(), l, colstats.Options{}) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "adds/s")
		})
	}
}

// TestReplayMemory pins what a key costs to the bytes that doc.go promises.
func TestReplayMemory(t *testing.T) {
	const n = 200_000
	if testing.Short() {
		t.Skip("makes many adds")
	}
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf(`{"add":{"path":"part-%09d-and-a-long-name-so-that-keeping-paths-would-show-up-in-the-figures-of-memory.parquet"}}`, i))
	}
	mem := newTable(t, nil, lines)
	put(t, mem, checkpointName(0), checkpointLines(0)...) // whose adds have to be looked up among the keys
	lines = nil
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // the second one empties pools
	runtime.ReadMemStats(&before)
	s := snapshot(t, mem, deltalog.SnapshotOptions{})
	runtime.GC()
	runtime.GC() // the second one empties pools
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(s)
	if perKey := float64(after.HeapAlloc-before.HeapAlloc) / n; perKey > 100 && after.HeapAlloc > before.HeapAlloc {
		t.Errorf("%.0f bytes for each key", perKey)
	} else {
		t.Logf("%.1f bytes for each key", perKey)
	}
}
