package deltalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/logstore"
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

// TestLargeCommits reads commits of several pieces and batches, which are worked on in parallel.
func TestLargeCommits(t *testing.T) {
	const adds = 3*batchFiles + 5
	var data bytes.Buffer
	for i := range adds {
		fmt.Fprintf(&data, `{"add":{"path":"part-%07d","partitionValues":{},"size":1,"modificationTime":2,"dataChange":true,"tags":{"pad":"%0100d"}}}`+"\n", i, i)
		if i%1000 == 0 {
			fmt.Fprintf(&data, `{"remove":{"path":"gone-%d","dataChange":true}}`+"\n\n", i)
		}
	}
	if data.Len() < 3*pieceBytes {
		t.Fatalf("%d bytes are too few for this test", data.Len())
	}
	c, err := ParseCommit(1, logstore.Entry{Name: CommitName(1)}, data.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if c.NumAdds() != adds || len(c.Removes) != (adds+999)/1000 || c.Removes[3].Path != "gone-3000" {
		t.Errorf("%d adds and %d removes", c.NumAdds(), len(c.Removes))
	}
	n := 0
	for b, err := range c.Batches(context.Background(), &colstats.Layout{}, colstats.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len() {
			if path, err := b.Path(i); err != nil || path != fmt.Sprintf("part-%07d", n) {
				t.Fatalf("file %d is %s, %v", n, path, err)
			}
			n++
		}
	}
	if n != adds {
		t.Errorf("%d files in batches", n)
	}
	lines := bytes.Count(data.Bytes(), []byte("\n"))
	data.WriteString(`{"add":`)
	var corrupt *CorruptError
	if _, err := ParseCommit(1, logstore.Entry{Name: CommitName(1)}, data.Bytes()); !errors.As(err, &corrupt) || corrupt.Line != lines+1 {
		t.Errorf("%v, want line %d", err, lines+1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range c.Batches(ctx, &colstats.Layout{}, colstats.Options{}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}
