package conflict

import (
	"context"
	"iter"
	"runtime/pprof"
	"sync"
	"testing"

	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// labelled notes which profiler labels its calls come with.
type labelled struct {
	*storetest.Mem
	mu   sync.Mutex
	seen map[string]bool
}

func (s *labelled) note(ctx context.Context, call string) {
	table, _ := pprof.Label(ctx, "deltaskip.table")
	phase, _ := pprof.Label(ctx, "deltaskip.phase")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[call+" "+table+" "+phase] = true
}

func (s *labelled) List(ctx context.Context, dir, startAfter string) iter.Seq2[logstore.Entry, error] {
	s.note(ctx, "List")
	return s.Mem.List(ctx, dir, startAfter)
}

func (s *labelled) Get(ctx context.Context, name string, limit int64) ([]byte, logstore.Entry, error) {
	s.note(ctx, "Get")
	return s.Mem.Get(ctx, name, limit)
}

func TestProfilerLabels(t *testing.T) {
	store := &labelled{Mem: &storetest.Mem{}}
	for v, text := range []string{
		`{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}` + "\n" + `{"metaData":{"id":"m","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}`,
		`{"commitInfo":{"operation":"WRITE"}}`,
	} {
		if err := store.PutIfAbsent(t.Context(), deltalog.CommitName(int64(v)), []byte(text+"\n")); err != nil {
			t.Fatal(err)
		}
	}
	log := deltalog.Open(store, deltalog.Options{})
	first := int64(0)
	store.seen = map[string]bool{}
	s, err := log.Snapshot(t.Context(), deltalog.SnapshotOptions{Version: &first})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	txn := &Transaction{Reads: []Read{{SQL: "id = 1"}}}
	if err := txn.ReadFrom(s); err != nil {
		t.Fatal(err)
	}
	store.seen = map[string]bool{}
	if _, err := checker(t, log, Options{Table: "events"}).Check(t.Context(), txn, Newest); err != nil {
		t.Fatal(err)
	}
	if !store.seen["List events list"] || !store.seen["Get events check"] {
		t.Errorf("calls %v", store.seen)
	}
}
