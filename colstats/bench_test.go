package colstats_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	goccy "github.com/goccy/go-json"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/bench"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/schema"
)

// A workload is a synthetic commit of adds with sixteen statistics columns.
type workload struct {
	lines [][]byte // whole {"add":…} actions
	stats [][]byte // their statistics
	bytes int64    // of the lines
	table *schema.Table
}

func newWorkload(tb testing.TB, adds int) *workload {
	tb.Helper()
	w := bench.Workload{Adds: adds, Seed: 1}
	files, err := w.Files()
	if err != nil {
		tb.Fatal(err)
	}
	out := &workload{}
	for add := range files {
		line := action.Append(nil, add)
		out.lines = append(out.lines, line)
		out.stats = append(out.stats, []byte(add.Stats))
		out.bytes += int64(len(line))
	}
	metadata, err := w.Metadata()
	if err != nil {
		tb.Fatal(err)
	}
	if out.table, err = schema.Parse(metadata.SchemaString, metadata.PartitionColumns, metadata.Configuration); err != nil {
		tb.Fatal(err)
	}
	return out
}

// layout demands the first n columns that are named, all sixteen for none.
func (w *workload) layout(tb testing.TB, columns ...string) *colstats.Layout {
	tb.Helper()
	layout := &colstats.Layout{Table: w.table}
	if len(columns) == 0 {
		for _, f := range w.table.Fields {
			columns = append(columns, f.Name)
		}
	}
	for _, name := range columns {
		c, err := w.table.Lookup(name)
		if err != nil {
			tb.Fatal(err)
		}
		layout.Demands = append(layout.Demands, colstats.Demand{Column: c, Bounds: true, Nulls: true})
	}
	return layout
}

func (w *workload) report(b *testing.B) {
	b.SetBytes(w.bytes)
	b.ReportAllocs()
	b.ReportMetric(float64(len(w.lines))*float64(b.N)/b.Elapsed().Seconds(), "adds/s")
}

// columnSets are what the benchmarks demand: nothing but paths, the two columns of a typical conflict check, all.
var columnSets = []struct {
	name    string
	columns []string
}{
	{"1", []string{"id"}},
	{"2", []string{"id", "ts"}},
	{"16", nil},
}

// BenchmarkActionLine reads whole action lines, as a commit has them, into batches.
func BenchmarkActionLine(b *testing.B) {
	w := newWorkload(b, 8192)
	b.Logf("%d bytes a line, for instance %s", w.bytes/int64(len(w.lines)), w.lines[0])
	b.Run("columns=0", func(b *testing.B) {
		var l colstats.Line
		for b.Loop() {
			for _, line := range w.lines {
				if err := l.Scan(line); err != nil {
					b.Fatal(err)
				}
			}
		}
		w.report(b)
	})
	for _, set := range columnSets {
		b.Run("columns="+set.name, func(b *testing.B) {
			builder := colstats.NewBuilder(w.layout(b, set.columns...), colstats.Options{})
			var l colstats.Line
			for b.Loop() {
				for _, line := range w.lines {
					if err := builder.AppendLine(line, &l); err != nil {
						b.Fatal(err)
					}
				}
				builder.Flush().Release()
			}
			w.report(b)
		})
	}
}

// BenchmarkStatsText reads the same statistics as a checkpoint has them, unescaped.
func BenchmarkStatsText(b *testing.B) {
	w := newWorkload(b, 8192)
	w.bytes = 0
	for _, s := range w.stats {
		w.bytes += int64(len(s))
	}
	for _, set := range columnSets {
		b.Run("columns="+set.name, func(b *testing.B) {
			builder := colstats.NewBuilder(w.layout(b, set.columns...), colstats.Options{})
			var f colstats.File
			texts := make([]string, len(w.stats))
			for i, s := range w.stats {
				texts[i] = string(s)
			}
			for b.Loop() {
				for _, text := range texts {
					f.Stats = text
					if err := builder.Append(&f); err != nil {
						b.Fatal(err)
					}
				}
				builder.Flush().Release()
			}
			w.report(b)
		})
	}
}

// The peers decode the same lines into the smallest structs that hold the demanded leaves: the action, then its
// statistics. They leave out what the builder does beyond that: dates and timestamps stay text, decimals become floats,
// and nothing is checked or laid out in columns.
type peerAction struct {
	Add *struct {
		Path            string             `json:"path"`
		PartitionValues map[string]*string `json:"partitionValues"`
		DataChange      bool               `json:"dataChange"`
		Stats           string             `json:"stats"`
	} `json:"add"`
}

func BenchmarkActionLinePeers(b *testing.B) {
	w := newWorkload(b, 1024)
	peers := []struct {
		name      string
		unmarshal func([]byte, any) error
	}{{"goccy", goccy.Unmarshal}, {"encodingjson", json.Unmarshal}}
	for _, peer := range peers {
		b.Run(fmt.Sprintf("peer=%s/columns=2", peer.name), func(b *testing.B) {
			benchmarkPeer[bench.Statistics[bench.Values2, bench.Nulls2]](b, w, peer.unmarshal)
		})
		b.Run(fmt.Sprintf("peer=%s/columns=16", peer.name), func(b *testing.B) {
			benchmarkPeer[bench.Statistics[bench.Values16, bench.Nulls16]](b, w, peer.unmarshal)
		})
	}
}

func benchmarkPeer[S any](b *testing.B, w *workload, unmarshal func([]byte, any) error) {
	for b.Loop() {
		for _, line := range w.lines {
			var a peerAction
			if err := unmarshal(line, &a); err != nil {
				b.Fatal(err)
			}
			var s S
			if err := unmarshal([]byte(a.Add.Stats), &s); err != nil {
				b.Fatal(err)
			}
		}
	}
	w.report(b)
}

// What the benchmarks measure is worth something only if it is the same work: the peers must find every leaf.
func TestPeersReadTheWorkload(t *testing.T) {
	w := newWorkload(t, 8)
	for i, line := range w.lines {
		var a peerAction
		if err := goccy.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		if a.Add.Stats != string(w.stats[i]) {
			t.Errorf("statistics %s, want %s", a.Add.Stats, w.stats[i])
		}
		var s bench.Statistics[bench.Values16, bench.Nulls16]
		if err := goccy.Unmarshal(w.stats[i], &s); err != nil {
			t.Fatal(err)
		}
		if s.MinValues.Sequence == nil || s.MaxValues.Session == nil || s.NullCount.Latitude == nil || strings.Contains(a.Add.Stats, "null,") {
			t.Errorf("leaves are missing from %s", w.stats[i])
		}
	}
}

// BenchmarkStructLeaves turns the leaves of a checkpoint's stats_parsed into facts: numRecords, and the minimum, maximum
// and null count of one column.
func BenchmarkStructLeaves(b *testing.B) {
	const n = colstats.MaxBatchLen
	w := newWorkload(b, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	integers := func(f func() int64) arrow.Array {
		values := array.NewInt64Builder(memory.DefaultAllocator)
		defer values.Release()
		for range n {
			values.Append(f())
		}
		return values.NewArray()
	}
	least, greatest := integers(func() int64 { return rng.Int64N(1 << 40) }), integers(func() int64 { return 1<<40 + rng.Int64N(1<<40) })
	timestamps := func(a arrow.Array) arrow.Array {
		data := array.NewData(arrow.FixedWidthTypes.Timestamp_us, n, a.Data().Buffers(), nil, 0, 0)
		defer data.Release()
		return array.MakeFromData(data)
	}
	records, nulls := integers(func() int64 { return 1000 }), integers(func() int64 { return rng.Int64N(3) * 10 })
	for column, bounds := range map[string][2]arrow.Array{"id": {least, greatest}, "ts": {timestamps(least), timestamps(greatest)}} {
		b.Run("column="+column, func(b *testing.B) {
			raw := &colstats.Raw{Len: n, NumRecords: records, Demands: []colstats.RawDemand{{Min: bounds[0], Max: bounds[1], NullCount: nulls}}}
			layout := w.layout(b, column)
			b.SetBytes(4 * 8 * n)
			b.ReportAllocs()
			for b.Loop() {
				batch, err := colstats.NewBatch(layout, raw, colstats.Options{})
				if err != nil {
					b.Fatal(err)
				}
				batch.Release()
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "adds/s")
		})
	}
}
