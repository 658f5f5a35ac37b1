package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// FuzzParquet reads whatever can be read of a damaged checkpoint.
func FuzzParquet(f *testing.F) {
	for _, form := range []checkpoint.StatsForm{checkpoint.StatsAsJSON, checkpoint.StatsAsBoth} {
		_, _, store := written(f, memory.DefaultAllocator, testAdds(rand.New(rand.NewPCG(1, 2)), 5), checkpoint.WriteOptions{Stats: form, RowGroupRows: 3})
		data, _, err := store.Get(context.Background(), topLevel(f, store), 1<<20)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		readDamaged(t, "_delta_log/00000000000000000003.checkpoint.parquet", data)
	})
}

// FuzzJSON does the same for a V2 checkpoint's top level in JSON, which names a sidecar that is missing, or there.
func FuzzJSON(f *testing.F) {
	_, _, store := written(f, memory.DefaultAllocator, testAdds(rand.New(rand.NewPCG(1, 2)), 5), checkpoint.WriteOptions{V2: true})
	data, _, err := store.Get(context.Background(), topLevel(f, store), 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"checkpointMetadata":{"version":3}}
{"add":{"path":"a","partitionValues":{"p":"1"},"size":1,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":1}"}}
{"sidecar":{"path":"../../x%2e%2e/%2fy.parquet","sizeInBytes":1,"modificationTime":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		readDamaged(t, "_delta_log/00000000000000000003.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json", data)
	})
}

// readDamaged reads all that a checkpoint of one file has to offer. Errors are of a kind that damage explains.
func readDamaged(t *testing.T, name string, data []byte) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	ctx := t.Context()
	store := &storetest.Mem{}
	if err := store.Put(ctx, name, data); err != nil {
		t.Fatal(err)
	}
	known := func(err error) {
		if !errors.Is(err, checkpoint.ErrCorrupt) && !errors.Is(err, action.ErrLimit) && !errors.Is(err, logstore.ErrNotFound) {
			t.Errorf("%T: %v", err, err)
		}
		var e *checkpoint.Error
		if !errors.As(err, &e) || bytes.Contains([]byte(e.Error()), []byte("panicked")) {
			t.Errorf("%T: %v", err, err)
		}
	}
	o := checkpoint.Options{Allocator: mem, Workers: 2, MaxPageBytes: 1 << 20, MaxRows: 1 << 10, MaxJSONBytes: 1 << 20}
	c, err := checkpoint.Open(ctx, store, []string{name}, o)
	if err != nil {
		known(err)
		return
	}
	defer c.Close()
	table, _ := testTable(t)
	for _, seen := range []checkpoint.Seen{nil, func(path, _ []byte) bool { return len(path)%2 == 0 }} {
		for b, err := range c.Batches(ctx, checkpoint.Scan{Layout: layoutOfTable(table), Seen: seen}) {
			if err != nil {
				known(err)
				break
			}
			for i := range b.Len() {
				if _, err := b.Path(i); err != nil {
					known(err)
					break
				}
			}
		}
		for _, lines := range []iter.Seq2[[]byte, error]{c.Actions(ctx), c.Adds(ctx, seen), c.Removes(ctx, seen)} {
			for _, err := range lines {
				if err != nil {
					known(err)
				}
			}
		}
	}
}

// TestDamage flips bytes all over a checkpoint, and cuts it.
func TestDamage(t *testing.T) {
	_, _, store := written(t, memory.DefaultAllocator, testAdds(rand.New(rand.NewPCG(1, 2)), 5), checkpoint.WriteOptions{Stats: checkpoint.StatsAsBoth, RowGroupRows: 3})
	name := topLevel(t, store)
	good, _, err := store.Get(t.Context(), name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	steps := 1500
	if testing.Short() {
		steps = 150
	}
	for i := 0; i < len(good); i += 1 + len(good)/steps {
		bad := bytes.Clone(good)
		bad[i] ^= byte(1 << (i % 8))
		readDamaged(t, name, bad)
		if i%5 == 0 {
			readDamaged(t, name, good[:i])
		}
	}
}

// FuzzWrite writes checkpoints of adds with any statistics and partition values, which come from other writers' logs. What is
// written can be read, and holds the adds.
func FuzzWrite(f *testing.F) {
	f.Add(`{"numRecords":3,"minValues":{"id":1,"s":"a","d":1.5,"ts":"2020-01-01T00:00:00.000Z"},"maxValues":{"id":9,"s":"b"},"nullCount":{"id":0,"s":1},"tightBounds":true}`, "1", "2020-01-01")
	f.Add(`{"numRecords":1e400,"minValues":{"id":9223372036854775808,"d":"NaN"},"nullCount":{"id":-1}}`, "", "x")
	f.Add(`{"minValues":[],"x":{"y":"\ud800"}}`, "\x00", "\xff")
	f.Fuzz(func(t *testing.T, stats, p, q string) {
		mem := checkedAllocator(t)
		adds := []*action.Add{
			{Path: "a", PartitionValues: map[string]*string{"p": &p, "q": &q}, Stats: stats, DataChange: true},
			{Path: "b", PartitionValues: map[string]*string{"p": nil, "q": nil}},
		}
		table, m := testTable(t)
		state := &checkpoint.State{
			Version: 3, Protocol: &action.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}, Metadata: m, Table: table,
			Adds: each(adds), Removes: each[*action.Remove](nil),
		}
		store := &storetest.Mem{}
		if _, err := checkpoint.Write(t.Context(), store, state, checkpoint.WriteOptions{Allocator: mem, Stats: checkpoint.StatsAsBoth}); err != nil {
			t.Fatal(err)
		}
		c, err := checkpoint.Open(t.Context(), store, topLevels(t, store), checkpoint.Options{Allocator: mem, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		n := 0
		for _, err := range c.Adds(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		for b, err := range c.Batches(t.Context(), checkpoint.Scan{Layout: layoutOfTable(table)}) {
			if err != nil {
				t.Fatal(err)
			}
			n += b.Len()
		}
		if n != 4 {
			t.Errorf("%d adds, read twice", n)
		}
	})
}
