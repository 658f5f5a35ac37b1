package conflict_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// A DELETE reads ids below 50 and commits after somebody has appended ids from 1000 on: statistics show that it missed
// nothing.
func ExampleCommitter() {
	ctx := context.Background()
	store := exampleTable() // for a real table: logstore.OpenLocal(dir)
	log := deltalog.Open(store, deltalog.Options{})
	committer, err := conflict.NewCommitter(ctx, log, conflict.CommitOptions{Options: conflict.Options{Mode: conflict.Stats}})
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
		Reads:     []conflict.Read{{SQL: "id < 50"}},
		ReadFiles: []conflict.ReadFile{{Path: "part-0.parquet"}},
		Actions:   []action.Action{&action.Remove{Path: "part-0.parquet", DataChange: true}},
	}
	if err := txn.ReadFrom(snapshot); err != nil {
		fmt.Println(err)
		return
	}

	appendMeanwhile(ctx, store)
	committed, err := committer.Commit(ctx, txn)
	switch {
	case errors.Is(err, conflict.ErrConflict):
		fmt.Println("do the work again:", err)
	case errors.Is(err, conflict.ErrOutcomeUnknown):
		fmt.Println("neither retry nor clean up:", err)
	case err != nil:
		fmt.Println("nothing was written:", err)
	default:
		fmt.Println("committed as version", committed.Version)
	}
	// Output: committed as version 2
}

func exampleTable() *storetest.Mem {
	store := &storetest.Mem{}
	put(context.Background(), store, 0, `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}
{"add":{"path":"part-0.parquet","partitionValues":{},"size":1,"modificationTime":0,"dataChange":true,"stats":"{\"numRecords\":50,\"minValues\":{\"id\":0},\"maxValues\":{\"id\":49},\"nullCount\":{\"id\":0}}"}}`)
	return store
}

func appendMeanwhile(ctx context.Context, store *storetest.Mem) {
	put(ctx, store, 1, `{"add":{"path":"part-1.parquet","partitionValues":{},"size":1,"modificationTime":0,"dataChange":true,"stats":"{\"numRecords\":10,\"minValues\":{\"id\":1000},\"maxValues\":{\"id\":1009},\"nullCount\":{\"id\":0}}"}}`)
}

func put(ctx context.Context, store *storetest.Mem, version int64, lines string) {
	if err := store.PutIfAbsent(ctx, deltalog.CommitName(version), []byte(lines+"\n")); err != nil {
		panic(err)
	}
}
