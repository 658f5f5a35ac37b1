package checkpoint_test

import (
	"context"
	"fmt"
	"log"

	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// A checkpoint of a table's newest version, with statistics as a struct, from which readers leave out what a predicate cannot
// match. It goes to memory here; a committer gives Write the table's own store.
func ExampleWrite() {
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
	state, err := snapshot.State(ctx)
	if err != nil {
		log.Fatal(err)
	}
	last, err := checkpoint.Write(ctx, &storetest.Mem{}, state, checkpoint.WriteOptions{Stats: checkpoint.StatsAsStruct})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("version", last.Version, "with", last.NumAdds, "adds")
	// Output: version 4 with 3 adds
}
