package conflict_test

import (
	"context"
	"fmt"
	"log"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
)

// A DELETE of the ids below 500 read version 2. Two commits beat it; their statistics prove that it missed nothing.
func Example() {
	ctx := context.Background()
	store, err := logstore.OpenLocal("../testdata/tables/events")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	table := deltalog.Open(store, deltalog.Options{})
	readVersion := int64(2)
	snapshot, err := table.Snapshot(ctx, deltalog.SnapshotOptions{Version: &readVersion})
	if err != nil {
		log.Fatal(err)
	}
	defer snapshot.Close()

	txn := &conflict.Transaction{
		Reads:   []conflict.Read{{SQL: "id < 500"}},
		Actions: []action.Action{&action.Remove{Path: "part-0.parquet", DataChange: true}},
	}
	if err := txn.ReadFrom(snapshot); err != nil {
		log.Fatal(err)
	}
	checker, err := conflict.NewChecker(table, conflict.Options{Mode: conflict.Stats})
	if err != nil {
		log.Fatal(err)
	}
	result, err := checker.Check(ctx, txn, conflict.Newest)
	if err != nil {
		log.Fatal(err) // no answer: treat it as a conflict
	}
	fmt.Println(result.Outcome, result.Version, "skipped by statistics:", result.Counts.SkippedByStats)
	// Output: clear 5 skipped by statistics: 2
}
