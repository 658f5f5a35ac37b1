package deltalog_test

import (
	"context"
	"fmt"

	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
)

// A snapshot is the table at a version: its files in log order.
func ExampleLog_Snapshot() {
	ctx := context.Background()
	store, err := logstore.OpenLocal("../testdata/tables/events")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	version := int64(2)
	s, err := deltalog.Open(store, deltalog.Options{}).Snapshot(ctx, deltalog.SnapshotOptions{Version: &version})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	files, bytes := 0, int64(0)
	for add, err := range s.Adds(ctx) {
		if err != nil {
			fmt.Println(err) // the snapshot cannot be read: what came before is not all
			return
		}
		files++
		bytes += add.Size
	}
	fmt.Println("version", s.Version, "has", files, "files of", bytes, "bytes")
	// Output: version 2 has 2 files of 35881 bytes
}
