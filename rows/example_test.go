package rows_test

import (
	"context"
	"fmt"
	"log"

	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/rows"
)

// Which row of a table does a predicate match first? Statistics say which files may have one; the rows themselves tell.
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
	expr, err := predicate.Parse("site = 'moved' AND id > 1504", predicate.ParseOptions{})
	if err != nil {
		log.Fatal(err)
	}
	read, err := predicate.Bind(expr, table, predicate.Env{})
	if err != nil {
		log.Fatal(err)
	}
	matcher, err := rows.Compile([]*predicate.Predicate{read}, rows.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for add, err := range snapshot.Adds(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		file, closeFile, err := rows.Source{Table: store}.Open(ctx, add)
		if err != nil {
			log.Fatal(err)
		}
		hit, found, err := matcher.First(ctx, file)
		if err != nil {
			log.Fatal(err)
		}
		if found {
			fmt.Println("row", hit.Row, "of a file; rows looked at:", file.Evaluated)
		}
		if err := closeFile(); err != nil {
			log.Fatal(err)
		}
	}
	// Output: row 505 of a file; rows looked at: 1000
}
