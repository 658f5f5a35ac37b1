package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

const create = `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":"m","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":false,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}
`

func add(path string, low, high int) string {
	return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":10,\"minValues\":{\"id\":%d},\"maxValues\":{\"id\":%d},\"nullCount\":{\"id\":0}}"}}`, path, low, high)
}

// TestDeleteIsDoneAgain: a file that appears in its range in between is deleted as well, one that appears elsewhere is no matter.
func TestDeleteIsDoneAgain(t *testing.T) {
	store := &storetest.Mem{}
	put := func(v int64, text string) {
		if err := store.PutIfAbsent(t.Context(), deltalog.CommitName(v), []byte(text+"\n")); err != nil {
			t.Fatal(err)
		}
	}
	put(0, create+add("a", 0, 99))
	others := []string{add("in", 50, 60), add("out", 500, 600)}
	table := deltalog.Open(store, deltalog.Options{})
	version := int64(0)
	committed, tries, err := deleteWhere(t.Context(), table, "id BETWEEN 0 AND 99", func() {
		if len(others) > 0 {
			version++
			put(version, others[0])
			others = others[1:]
		}
	})
	if err != nil || tries != 2 || committed.Version != 3 {
		t.Fatalf("version %d after %d tries: %v", committed.Version, tries, err)
	}
	s, err := table.Snapshot(t.Context(), deltalog.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var left []string
	for a, err := range s.Adds(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, a.Path)
	}
	if fmt.Sprint(left) != "[out]" {
		t.Errorf("left are %v", left)
	}
	if _, tries, err := deleteWhere(t.Context(), table, "id < 550", func() {}); !errors.Is(err, errPartly) || tries != 1 {
		t.Errorf("%d tries: %v", tries, err)
	}
}
