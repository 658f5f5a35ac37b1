package vectorized_test

import (
	"context"
	"fmt"
	"log"

	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/vectorized"
)

// Which files of a table may hold a row that a predicate matches? The layout says which statistics are worth decoding, and
// nothing else is.
func Example() {
	ctx := context.Background()
	store, err := logstore.OpenLocal("../testdata/tables/events")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	snapshot, err := deltalog.Open(store, deltalog.Options{}).Snapshot(ctx, deltalog.SnapshotOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer snapshot.Close()
	table, err := snapshot.Table()
	if err != nil {
		log.Fatal(err)
	}

	expr, err := predicate.Parse("id < 500", predicate.ParseOptions{})
	if err != nil {
		log.Fatal(err)
	}
	read, err := predicate.Bind(expr, table, predicate.Env{})
	if err != nil {
		log.Fatal(err)
	}
	program, err := vectorized.Compile([]*predicate.Predicate{read}, vectorized.Options{})
	if err != nil {
		log.Fatal(err)
	}
	hit, stats, err := program.First(ctx, snapshot.Batches(ctx, program.Layout(), deltalog.BatchOptions{}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the first file that may match is one:", hit != nil, "skipped before it:", stats.SkippedByStats)
	// Output: the first file that may match is one: true skipped before it: 0
}
