package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
	"github.com/deltaskip/deltaskip/vectorized"
)

// testTable has columns id, s, d and ts, and is partitioned by p and q.
func testTable(t testing.TB) (*schema.Table, *action.Metadata) {
	t.Helper()
	m := &action.Metadata{ID: "x", Format: action.Format{Provider: "parquet"}, PartitionColumns: []string{"p", "q"}}
	var fields []string
	for _, f := range [][2]string{{"id", "long"}, {"s", "string"}, {"d", "double"}, {"ts", "timestamp"}, {"p", "integer"}, {"q", "timestamp"}} {
		fields = append(fields, fmt.Sprintf(`{"name":%q,"type":%q,"nullable":true,"metadata":{}}`, f[0], f[1]))
	}
	m.SchemaString = `{"type":"struct","fields":[` + strings.Join(fields, ",") + `]}`
	table, err := schema.Parse(m.SchemaString, m.PartitionColumns, nil)
	if err != nil {
		t.Fatal(err)
	}
	return table, m
}

// testAdds makes adds whose ids ascend, some of which lack statistics, or some of them.
func testAdds(rnd *rand.Rand, n int) []*action.Add {
	adds := make([]*action.Add, n)
	for i := range adds {
		a := &action.Add{Path: fmt.Sprintf("part-%05d.parquet", i), Size: int64(i), DataChange: true, PartitionValues: map[string]*string{}}
		p, q := fmt.Sprint(i/20), fmt.Sprintf("2024-01-%02d 00:00:00", 1+i%28)
		a.PartitionValues["p"], a.PartitionValues["q"] = &p, &q
		switch rnd.IntN(20) {
		case 0:
			a.PartitionValues["p"] = nil
		case 1:
			p = "no number"
		case 2:
			delete(a.PartitionValues, "p")
		}
		missing := func() bool { return rnd.IntN(40) == 0 }
		var mins, maxs, nulls []string
		for _, c := range []struct{ name, min, max string }{
			{"id", fmt.Sprint(i * 10), fmt.Sprint(i*10 + 9)},
			{"s", fmt.Sprintf(`"%05d"`, i), fmt.Sprintf(`"%05dz"`, i)},
			{"d", fmt.Sprintf("%d.5", i), fmt.Sprintf("%d.75", i)},
			{"ts", fmt.Sprintf(`"2024-01-01T00:%02d:%02d.000Z"`, i/60%60, i%60), fmt.Sprintf(`"2024-01-01T00:%02d:%02d.999Z"`, i/60%60, i%60)},
		} {
			if c.name == "d" && missing() {
				c.min = `"NaN"`
			}
			if !missing() {
				mins = append(mins, fmt.Sprintf("%q:%s", c.name, c.min))
			}
			if !missing() {
				maxs = append(maxs, fmt.Sprintf("%q:%s", c.name, c.max))
			}
			if !missing() {
				nulls = append(nulls, fmt.Sprintf("%q:%d", c.name, rnd.IntN(2)*rnd.IntN(2)*10))
			}
		}
		a.Stats = fmt.Sprintf(`{"numRecords":10,"minValues":{%s},"maxValues":{%s},"nullCount":{%s}}`,
			strings.Join(mins, ","), strings.Join(maxs, ","), strings.Join(nulls, ","))
		if missing() {
			a.Stats = ""
		}
		if rnd.IntN(10) == 0 {
			offset := int32(i)
			a.DeletionVector = &action.DeletionVector{StorageType: "u", PathOrInlineDV: "ab^-aqEH.-t@S}K{vb[*k^", Offset: &offset, SizeInBytes: 40, Cardinality: 1}
		}
		adds[i] = a
	}
	return adds
}

func each[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, x := range list {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// written writes adds as a checkpoint and opens it.
func written(t testing.TB, mem memory.Allocator, adds []*action.Add, o checkpoint.WriteOptions) (*checkpoint.Checkpoint, *schema.Table, logstore.Store) {
	t.Helper()
	table, m := testTable(t)
	removes := make([]*action.Remove, len(adds)/10)
	for i := range removes {
		removes[i] = &action.Remove{Path: fmt.Sprintf("old-%d.parquet", i)}
	}
	features := []string{"v2Checkpoint"}
	state := &checkpoint.State{
		Version: 3, Protocol: &action.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: features, WriterFeatures: features},
		Metadata: m, Table: table, Adds: each(adds), Removes: each(removes),
		Others: []action.Action{&action.Txn{AppID: "app", Version: 1}, &action.DomainMetadata{Domain: "d", Configuration: "{}"}},
	}
	for i, name := range o.ClusterBy {
		c, err := table.Lookup(name.Path...)
		if err != nil {
			t.Fatal(err)
		}
		o.ClusterBy[i] = c
	}
	store := &storetest.Mem{}
	if _, err := checkpoint.Write(context.Background(), store, state, o); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Open(context.Background(), store, topLevels(t, store), checkpoint.Options{Allocator: mem, Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, table, store
}

func topLevel(t testing.TB, store logstore.Store) string { return topLevels(t, store)[0] }

func topLevels(t testing.TB, store logstore.Store) (names []string) {
	t.Helper()
	for e, err := range store.List(context.Background(), "_delta_log", "") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(e.Name, ".checkpoint.") {
			names = append(names, e.Name)
		}
	}
	if len(names) == 0 {
		t.Fatal("no checkpoint")
	}
	return names
}

func compile(t testing.TB, table *schema.Table, sql string) *vectorized.Program {
	t.Helper()
	e, err := predicate.Parse(sql, predicate.ParseOptions{})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	p, err := predicate.Bind(e, table, predicate.Env{})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	program, err := vectorized.Compile([]*predicate.Predicate{p}, vectorized.Options{})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return program
}

// survivors returns the paths of the adds that a program keeps.
func survivors(t testing.TB, c *checkpoint.Checkpoint, p *vectorized.Program, s checkpoint.Scan) []string {
	t.Helper()
	s.Layout = p.Layout()
	var paths []string
	var scratch vectorized.Scratch
	for b, err := range c.Batches(context.Background(), s) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Eval(b, &scratch)
		if err != nil {
			t.Fatal(err)
		}
		for row := range b.Len() {
			if is(r.May, row) {
				path, err := b.Path(row)
				if err != nil {
					t.Fatal(err)
				}
				paths = append(paths, strings.Clone(path))
			}
		}
	}
	return paths
}

// counts counts the adds that a program is shown.
func counts(t testing.TB, c *checkpoint.Checkpoint, p *vectorized.Program, s checkpoint.Scan) vectorized.Stats {
	t.Helper()
	s.Layout = p.Layout()
	stats, err := p.Scan(t.Context(), c.Batches(t.Context(), s), func(*colstats.Batch, int64, vectorized.Result) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

// predicates are asked of the test table.
func randomPredicate(rnd *rand.Rand, n int) string {
	i := rnd.IntN(n)
	atoms := []string{
		fmt.Sprintf("id < %d", i*10), fmt.Sprintf("id >= %d", i*10), fmt.Sprintf("id = %d", i*10+5), "id IS NULL", "id IS NOT NULL",
		fmt.Sprintf("id BETWEEN %d AND %d", i*10, i*10+30), fmt.Sprintf("s = '%05d'", i), fmt.Sprintf("s LIKE '%04d%%'", i/10),
		fmt.Sprintf("d > %d.6", i), fmt.Sprintf("d < %d.6", i), "d = double('NaN')", fmt.Sprintf("d IN (%d.6, %d.7)", i, i/2),
		fmt.Sprintf("ts >= TIMESTAMP '2024-01-01 00:%02d:%02d'", i/60%60, i%60), fmt.Sprintf("p = %d", i/20), fmt.Sprintf("p < %d", i/20),
		"p IS NULL", fmt.Sprintf("p IN (%d, %d)", i/20, i/40), fmt.Sprintf("q = TIMESTAMP '2024-01-%02d 00:00:00'", 1+i%28), fmt.Sprintf("id <=> %d", i),
	}
	a, b := atoms[rnd.IntN(len(atoms))], atoms[rnd.IntN(len(atoms))]
	switch rnd.IntN(5) {
	case 0:
		return a + " AND " + b
	case 1:
		return a + " OR " + b
	case 2:
		return "NOT (" + a + ")"
	case 3:
		return "NOT (" + a + " AND NOT (" + b + "))"
	}
	return a
}

// TestPruningChangesNothing compares survivors with and without pruning, for every form of statistics, cut and number of workers;
// and all forms with each other.
func TestPruningChangesNothing(t *testing.T) {
	mem := checkedAllocator(t)
	pruned, rowsPruned := int64(0), int64(0)
	seeds := uint64(20)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 0))
		adds := testAdds(rnd, 1+rnd.IntN(200))
		o := checkpoint.WriteOptions{RowGroupRows: 1 + rnd.IntN(len(adds)), SidecarRows: 1 + rnd.IntN(100), V2: rnd.IntN(2) == 0}
		if !o.V2 {
			o.Parts = rnd.IntN(4)
		}
		if rnd.IntN(2) == 0 {
			o.ClusterBy = []*schema.Column{{Path: []string{[]string{"id", "s", "d", "ts", "p"}[rnd.IntN(5)]}}}
		}
		checkpoint.SmallPages(seed%2 == 1)
		defer checkpoint.SmallPages(false)
		var forms []*checkpoint.Checkpoint
		var table *schema.Table
		for _, o.Stats = range []checkpoint.StatsForm{checkpoint.StatsAsJSON, checkpoint.StatsAsStruct, checkpoint.StatsAsBoth} {
			var c *checkpoint.Checkpoint
			c, table, _ = written(t, mem, adds, o)
			forms = append(forms, c)
		}
		seen := func(path, _ []byte) bool { return path[len(path)-9] == '7' } // the last digit
		for range 10 {
			sql := randomPredicate(rnd, len(adds))
			p := compile(t, table, sql)
			for _, seen := range []checkpoint.Seen{nil, seen} {
				want := survivors(t, forms[0], p, checkpoint.Scan{Seen: seen}) // all forms have one order
				for i, c := range forms {
					var report checkpoint.Report
					got := survivors(t, c, p, checkpoint.Scan{Seen: seen, Prune: p.Prune(), Report: &report})
					pruned += report.Pruned.Load()
					rowsPruned += report.RowsPruned.Load()
					if !slices.Equal(got, want) {
						t.Errorf("seed %d, %s, form %d: kept\n%v\nwant\n%v", seed, sql, i, got, want)
					}
					census := p.Census()
					left := &checkpoint.Left{Layout: census.Layout(), Take: census.Count}
					counted := counts(t, c, p, checkpoint.Scan{Seen: seen, Prune: p.Prune(), Left: left})
					counted.Add(census.Stats())
					if all := counts(t, c, p, checkpoint.Scan{Seen: seen}); counted != all {
						t.Errorf("seed %d, %s, form %d: counted %+v, without pruning %+v", seed, sql, i, counted, all)
					}
				}
			}
		}
	}
	if pruned == 0 || rowsPruned == 0 && !testing.Short() { // few seeds have row groups of several pages
		t.Errorf("%d row groups were pruned, and %d rows of others", pruned, rowsPruned)
	}
}

// TestPruning pins what is pruned and what is not.
func TestPruning(t *testing.T) {
	adds := make([]*action.Add, 100)
	for i := range adds {
		p := fmt.Sprint(i / 10)
		adds[i] = &action.Add{Path: fmt.Sprint(i), PartitionValues: map[string]*string{"p": &p, "q": nil}, Stats: fmt.Sprintf(
			`{"numRecords":10,"minValues":{"id":%d,"s":"%03d","d":%d},"maxValues":{"id":%d,"s":"%03d","d":%d},"nullCount":{"id":0,"s":%d,"d":0}}`,
			i*10, i, i, i*10+9, i, i+1, i%2)}
	}
	o := checkpoint.WriteOptions{Stats: checkpoint.StatsAsBoth, RowGroupRows: 10}
	mem := checkedAllocator(t)
	c, table, _ := written(t, mem, adds, o)
	run := func(t *testing.T, sql string, want int64) {
		t.Helper()
		var report checkpoint.Report
		p := compile(t, table, sql)
		survivors(t, c, p, checkpoint.Scan{Prune: p.Prune(), Report: &report})
		if got := report.Pruned.Load(); got != want || report.RowGroups.Load() != 10 {
			t.Errorf("%s: %d of %d row groups pruned, want %d", sql, got, report.RowGroups.Load(), want)
		}
		if report.AddsLeft.Load() != 10*want {
			t.Errorf("%s: %d adds left out", sql, report.AddsLeft.Load())
		}
	}
	run(t, "id < 50", 9)
	run(t, "id < 50 OR id > 950", 8)
	run(t, "id IS NULL", 10)
	run(t, "s IS NULL", 0)
	run(t, "s LIKE '02%'", 9)
	run(t, "p = 3", 9)
	run(t, "p = 3 AND id < 100", 10)
	run(t, "p IS NULL", 10)
	run(t, "q IS NULL", 0)
	run(t, "d < 5", 9)
	run(t, "d > 95", 0) // a NaN may hide anywhere
	run(t, "rand() < 0.5", 0)

	adds[55].Stats = "" // one add without statistics protects its group
	c, table, _ = written(t, mem, adds, o)
	run(t, "id < 50", 8)
	run(t, "id < 50 AND p = 0", 9)
	adds[55].PartitionValues = map[string]*string{"q": nil}
	adds[65].Stats = strings.Replace(adds[64].Stats, `"d":64`, `"d":"NaN"`, 1)
	c, table, _ = written(t, mem, adds, o)
	run(t, "id < 50 AND p = 0", 8)
	run(t, "d < 5", 7)
}

// TestPagePruning pins which rows of a row group are passed over by their pages, and that an add which lacks statistics protects all.
func TestPagePruning(t *testing.T) {
	checkpoint.SmallPages(true)
	defer checkpoint.SmallPages(false)
	adds := make([]*action.Add, 800)
	for i := range adds {
		p := fmt.Sprint(i / 80)
		adds[i] = &action.Add{Path: fmt.Sprint(i), PartitionValues: map[string]*string{"p": &p, "q": nil}, Stats: fmt.Sprintf(
			`{"numRecords":10,"minValues":{"id":%d,"s":"%03d"},"maxValues":{"id":%d,"s":"%03d"},"nullCount":{"id":0,"s":%d}}`,
			i*10, i, i*10+9, i, i/400)}
	}
	mem := checkedAllocator(t)
	run := func(t *testing.T, sql string, least, most int64) {
		t.Helper()
		c, table, _ := written(t, mem, adds, checkpoint.WriteOptions{Stats: checkpoint.StatsAsStruct})
		p := compile(t, table, sql)
		var report checkpoint.Report
		got := survivors(t, c, p, checkpoint.Scan{Prune: p.Prune(), Report: &report})
		if want := survivors(t, c, p, checkpoint.Scan{}); !slices.Equal(got, want) {
			t.Errorf("%s: kept %v, want %v", sql, got, want)
		}
		if n := report.RowsPruned.Load(); n < least || n > most || report.AddsLeft.Load() != n || report.Pruned.Load() != 0 {
			t.Errorf("%s: %d rows pruned, want %d to %d; %d adds left out", sql, n, least, most, report.AddsLeft.Load())
		}
	}
	run(t, "id BETWEEN 4000 AND 4009", 750, 799)
	run(t, "s = '123'", 700, 799)
	run(t, "s IS NULL", 380, 400)
	run(t, "p = 3", 640, 720)
	run(t, "id >= 0", 0, 0)
	adds[700].Stats = ""
	run(t, "id BETWEEN 4000 AND 4009", 0, 0)
	run(t, "p = 3", 640, 720)
}

// TestLeftFails ends a scan with the error of those who count what it leaves out.
func TestLeftFails(t *testing.T) {
	c, table, _ := written(t, checkedAllocator(t), testAdds(rand.New(rand.NewPCG(1, 2)), 300), checkpoint.WriteOptions{Stats: checkpoint.StatsAsStruct, RowGroupRows: 100})
	nobody := errors.New("nobody counts")
	left := &checkpoint.Left{Take: func(*colstats.Batch) error { return nobody }}
	none := func(b *colstats.Batch) []uint64 { return make([]uint64, (b.Len()+63)/64) }
	var got error
	for _, err := range c.Batches(t.Context(), checkpoint.Scan{Layout: layoutOfTable(table), Prune: none, Left: left}) {
		got = err
	}
	if got != nobody {
		t.Errorf("the scan ends with %v", got)
	}
}

// TestEmptyRowGroup reads a checkpoint of which Arrow wrote one part: a row group without rows, whose columns it places at byte 0.
func TestEmptyRowGroup(t *testing.T) {
	ctx := t.Context()
	adds := testAdds(rand.New(rand.NewPCG(1, 2)), 5)
	_, table, store := written(t, memory.DefaultAllocator, adds, checkpoint.WriteOptions{})
	data, _, err := store.Get(ctx, topLevel(t, store), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pqarrow.ReadTable(ctx, bytes.NewReader(data), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Release()
	none := array.NewTableFromRecords(all.Schema(), nil)
	defer none.Release()
	var empty bytes.Buffer
	if err := pqarrow.WriteTable(none, &empty, 1, nil, pqarrow.DefaultWriterProps()); err != nil {
		t.Fatal(err)
	}
	names := []string{"_delta_log/00000000000000000003.checkpoint.0000000001.0000000002.parquet", "_delta_log/00000000000000000003.checkpoint.0000000002.0000000002.parquet"}
	for i, part := range [][]byte{empty.Bytes(), data} {
		if err := store.Put(ctx, names[i], part); err != nil {
			t.Fatal(err)
		}
	}
	c, err := checkpoint.Open(ctx, store, names, checkpoint.Options{Allocator: checkedAllocator(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lines, batched := 0, 0
	for _, err := range c.Adds(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		lines++
	}
	for b, err := range c.Batches(ctx, checkpoint.Scan{Layout: layoutOfTable(table)}) {
		if err != nil {
			t.Fatal(err)
		}
		batched += b.Len()
	}
	if lines != len(adds) || batched != len(adds) {
		t.Errorf("%d and %d adds, want %d", lines, batched, len(adds))
	}
}

// TestStopping ends reading at every point and in every way, and looks for what is left behind.
func TestStopping(t *testing.T) {
	mem := checkedAllocator(t)
	c, table, _ := written(t, mem, testAdds(rand.New(rand.NewPCG(1, 2)), 300), checkpoint.WriteOptions{Stats: checkpoint.StatsAsBoth, RowGroupRows: 7})
	defer c.Close()
	layout := layoutOfTable(table)
	before := runtime.NumGoroutine()
	for stop := range 60 {
		n := 0
		for b, err := range c.Batches(t.Context(), checkpoint.Scan{Layout: layout}) {
			if err != nil {
				t.Fatal(err)
			}
			if n == stop {
				if _, err := b.Path(0); err != nil {
					t.Fatal(err)
				}
				break
			}
			n++
		}
		ctx, cancel := context.WithCancel(t.Context())
		n = 0
		var last error
		if stop == 0 {
			cancel()
		}
		for _, err := range c.Batches(ctx, checkpoint.Scan{Layout: layout}) {
			if n++; n == stop {
				cancel()
			}
			last = err
		}
		cancel()
		if !errors.Is(last, context.Canceled) && n < 43 {
			t.Errorf("cancelled after %d of %d batches: %v", stop, n, last)
		}
		for _, lines := range []iter.Seq2[[]byte, error]{c.Adds(ctx, nil), c.Removes(ctx, nil), c.Actions(ctx)} {
			for _, err := range lines {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled before: %v", err)
				}
			}
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, were %d", runtime.NumGoroutine(), before)
}

// TestRetainedBatches keeps batches beyond their step and asks them for paths in any order, from many goroutines.
func TestRetainedBatches(t *testing.T) {
	adds := testAdds(rand.New(rand.NewPCG(1, 2)), 3000)
	c, table, _ := written(t, checkedAllocator(t), adds, checkpoint.WriteOptions{Stats: checkpoint.StatsAsStruct, RowGroupRows: 1000})
	defer c.Close()
	var kept []*colstats.Batch
	for b, err := range c.Batches(t.Context(), checkpoint.Scan{Layout: layoutOfTable(table)}) {
		if err != nil {
			t.Fatal(err)
		}
		b.Retain()
		kept = append(kept, b)
	}
	var wg sync.WaitGroup
	base := 0
	for _, b := range kept {
		for g := range 3 {
			wg.Go(func() {
				for _, row := range rand.New(rand.NewPCG(7, uint64(g))).Perm(b.Len()) {
					if path, err := b.Path(row); err != nil || path != adds[base+row].Path {
						t.Errorf("row %d: %s, %v", base+row, path, err)
						return
					}
				}
			})
		}
		wg.Wait()
		base += b.Len()
		b.Release()
	}
	if base != len(adds) {
		t.Errorf("%d adds of %d", base, len(adds))
	}
}

// TestFailingStore lets each call of a store fail in turn: what comes is an error or the right answer.
func TestFailingStore(t *testing.T) {
	mem := checkedAllocator(t)
	adds := testAdds(rand.New(rand.NewPCG(1, 2)), 40)
	broken := errors.New("broken")
	for _, v2 := range []bool{false, true} {
		_, table, store := written(t, mem, adds, checkpoint.WriteOptions{Stats: checkpoint.StatsAsBoth, RowGroupRows: 10, SidecarRows: 20, V2: v2})
		names := []string{topLevel(t, store)}
		read := func(store logstore.Store) (n int, err error) {
			c, err := checkpoint.Open(t.Context(), store, names, checkpoint.Options{Allocator: mem})
			if err != nil {
				return 0, err
			}
			defer c.Close()
			for b, err := range c.Batches(t.Context(), checkpoint.Scan{Layout: layoutOfTable(table)}) {
				if err != nil {
					return n, err
				}
				n += b.Len()
				for i := range b.Len() {
					if _, err := b.Path(i); err != nil {
						return n, err
					}
				}
			}
			for _, lines := range []iter.Seq2[[]byte, error]{c.Adds(t.Context(), nil), c.Removes(t.Context(), nil), c.Actions(t.Context())} {
				for _, err := range lines {
					if err != nil {
						return n, err
					}
					n++
				}
			}
			return n, nil
		}
		want, err := read(store)
		if err != nil {
			t.Fatal(err)
		}
		for _, fail := range []error{broken, io.ErrUnexpectedEOF, logstore.ErrNotFound} {
			for call := int64(1); ; call += 7 {
				var failed atomic.Bool
				faulty := storetest.Faulty(store, func(c storetest.Call) storetest.Fault {
					if c.N == call {
						failed.Store(true)
						return storetest.Fail(fail)
					}
					return nil
				})
				n, err := read(faulty)
				if !failed.Load() {
					break
				}
				if err == nil && n != want || err != nil && !errors.Is(err, fail) {
					t.Errorf("call %d failed with %v: %d things, %v", call, fail, n, err)
				}
			}
		}
	}
}
