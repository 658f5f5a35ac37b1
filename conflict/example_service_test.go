package conflict_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
)

// Many goroutines of a service append; those that wait together become one version, and each has its own answer.
func ExampleGroupCommitter() {
	ctx := context.Background()
	log := deltalog.Open(exampleTable(), deltalog.Options{})
	snapshot, err := log.Snapshot(ctx, deltalog.SnapshotOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer snapshot.Close()

	group, err := conflict.NewGroupCommitter(ctx, log, conflict.GroupOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer group.Close()
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			txn := &conflict.Transaction{Actions: []action.Action{
				&action.Add{Path: fmt.Sprintf("batch-%d.parquet", i), PartitionValues: map[string]*string{}, DataChange: true},
				&action.Txn{AppID: fmt.Sprintf("source-%d", i), Version: 1}, // so that a batch that is sent again is noticed
			}}
			if err := txn.ReadFrom(snapshot); err != nil {
				fmt.Println(err)
				return
			}
			if _, err := group.Commit(ctx, txn); err != nil {
				fmt.Println(err)
			}
		})
	}
	writers.Wait()
	after, err := log.Snapshot(ctx, deltalog.SnapshotOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer after.Close()
	fmt.Println(len(after.Txns), "sources in no more than 8 versions:", after.Version <= 8)
	// Output: 8 sources in no more than 8 versions: true
}

// A conflict is an error with the facts in it.
func ExampleConflict() {
	ctx := context.Background()
	store := exampleTable()
	log := deltalog.Open(store, deltalog.Options{})
	snapshot, err := log.Snapshot(ctx, deltalog.SnapshotOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer snapshot.Close()
	txn := &conflict.Transaction{
		Reads:   []conflict.Read{{SQL: "id BETWEEN 1005 AND 1100"}},
		Actions: []action.Action{&action.Remove{Path: "part-0.parquet", DataChange: true}},
	}
	if err := txn.ReadFrom(snapshot); err != nil {
		fmt.Println(err)
		return
	}
	appendMeanwhile(ctx, store)
	committer, err := conflict.NewCommitter(ctx, log, conflict.CommitOptions{Options: conflict.Options{Mode: conflict.Stats}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = committer.Commit(ctx, txn)
	var c *conflict.Conflict
	if errors.As(err, &c) {
		fmt.Println(c.Kind, c.Reason)
		fmt.Println("version", c.Winner.Version, "added", c.Path, "with", c.Ranges)
		fmt.Println("read", c.Read, "was", c.Predicate)
	}
	fmt.Println("an append that should have been seen:", errors.Is(err, conflict.ConcurrentAppend))
	// Output:
	// ConcurrentAppendException RANGES_OVERLAP
	// version 1 added part-1.parquet with id in [1000, 1009]
	// read 0 was id BETWEEN 1005 AND 1100
	// an append that should have been seen: true
}

// The keys of a MERGE's source bound what it reads.
func ExampleReadKeys() {
	ids := array.NewInt64Builder(memory.DefaultAllocator)
	defer ids.Release()
	ids.AppendValues([]int64{7, 9, 8, 7}, nil)
	column := ids.NewArray()
	defer column.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	source := array.NewRecordBatch(schema, []arrow.Array{column}, int64(column.Len()))
	defer source.Release()

	read, err := conflict.ReadKeys([]string{"id"}, source)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(read)
	// Output: id IN (7L, 8L, 9L)
}

// Counters are for metrics, a logger is for people; both see every event.
func ExampleObservers() {
	ctx := context.Background()
	store := exampleTable()
	log := deltalog.Open(store, deltalog.Options{})
	var counters conflict.Counters
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	checker, err := conflict.NewChecker(log, conflict.Options{
		Mode:     conflict.Stats,
		Observer: conflict.Observers(&counters, conflict.Log(logger)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	snapshot, err := log.Snapshot(ctx, deltalog.SnapshotOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer snapshot.Close()
	txn := &conflict.Transaction{
		Reads:   []conflict.Read{{SQL: "id < 50"}},
		Actions: []action.Action{&action.Remove{Path: "part-0.parquet", DataChange: true}},
	}
	if err := txn.ReadFrom(snapshot); err != nil {
		fmt.Println(err)
		return
	}
	appendMeanwhile(ctx, store)
	if _, err := checker.Check(ctx, txn, conflict.Newest); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("avoided:", counters.NoConflicts.Load(), "conflicts:", counters.Conflicts.Load(), "files skipped:", counters.SkippedByStats.Load())
	// Output: avoided: 1 conflicts: 0 files skipped: 1
}
