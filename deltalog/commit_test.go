package deltalog

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

func TestACommitInMemoryReadsLikeItsFile(t *testing.T) {
	data := []byte(`{"commitInfo":{"operation":"WRITE"}}
{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":2,"dataChange":true}}
{"remove":{"path":"b","dataChange":true}}
{"add":{"path":"c","partitionValues":{},"size":3,"modificationTime":4,"dataChange":false}}
`)
	ctx := context.Background()
	var store storetest.Mem
	if err := store.PutIfAbsent(ctx, CommitName(7), data); err != nil {
		t.Fatal(err)
	}
	read, err := Open(&store, Options{}).Commit(ctx, 7)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := ParseCommit(7, read.Entry, data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(read, parsed, cmp.AllowUnexported(Commit{}, addText{})); diff != "" {
		t.Errorf("in memory (-file +memory):\n%s", diff)
	}
	i := 0
	for want, err := range parsed.Adds() {
		if err != nil {
			t.Fatal(err)
		}
		got, err := parsed.Add(i)
		if err != nil || string(action.Append(nil, got)) != string(action.Append(nil, want)) {
			t.Errorf("add %d: %v, %v", i, got, err)
		}
		i++
	}
	if i != 2 || i != parsed.NumAdds() {
		t.Errorf("%d adds", i)
	}
}
