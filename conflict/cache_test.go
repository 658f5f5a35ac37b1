package conflict

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// countedWinners returns a log of winners in a store that counts how often commits are read.
func countedWinners(t testing.TB, winners int, plan func(storetest.Call) storetest.Fault) (log *deltalog.Log, mem *storetest.Mem, reads func() int) {
	mem = &storetest.Mem{}
	for v := range winners {
		if err := mem.PutIfAbsent(context.Background(), deltalog.CommitName(int64(v)+2), []byte(add(fmt.Sprint("w", v), ids(1000, 1099)))); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	n := 0
	store := storetest.Faulty(mem, func(c storetest.Call) storetest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if c.Op == storetest.Get {
			n++
		}
		if plan != nil {
			return plan(c)
		}
		return nil
	})
	return deltalog.Open(store, deltalog.Options{}), mem, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func reader(t testing.TB, sql string) *Transaction {
	return race{loser: []string{remove("f")}, reads: func(txn *Transaction) { txn.Reads = []Read{{SQL: sql}} }}.transaction(t)
}

func TestEachWinnerIsReadOnce(t *testing.T) {
	log, _, reads := countedWinners(t, 20, nil)
	mem := checkedAllocator(t)
	cache := NewWinnerCache(0)
	t.Cleanup(cache.Close)
	var group sync.WaitGroup
	for g := range 8 { // several checkers, several goroutines each, different columns
		c := checker(t, log, Options{Mode: Stats, Table: "t", Cache: cache, Memory: mem})
		group.Go(func() {
			for range 5 {
				if r, err := c.Check(context.Background(), reader(t, fmt.Sprintf("id < %d", g+1)), Newest); err != nil || r.Outcome != Clear {
					t.Errorf("%v, %v", r.Outcome, err)
				}
			}
		})
	}
	group.Wait()
	if n := reads(); n != 20 {
		t.Errorf("%d reads of 20 winners", n)
	}
}

func TestTheCacheKeepsItsBudget(t *testing.T) {
	log, _, reads := countedWinners(t, 20, nil)
	mem := checkedAllocator(t)
	cache := NewWinnerCache(1500) // of a few winners
	t.Cleanup(cache.Close)
	c := checker(t, log, Options{Mode: Stats, Cache: cache, Memory: mem})
	for range 3 {
		if r, err := c.Check(context.Background(), reader(t, "id < 5"), Newest); err != nil || r.Outcome != Clear {
			t.Errorf("%v, %v", r.Outcome, err)
		}
		if cache.bytes > cache.budget || cache.bytes < 0 {
			t.Errorf("%d bytes are held", cache.bytes)
		}
	}
	if n := reads(); n < 40 {
		t.Errorf("%d reads: nothing was evicted", n)
	}
	cache.Close()
	if cache.bytes != 0 || len(cache.entries) != 0 {
		t.Errorf("closed, and holds %d bytes in %d entries", cache.bytes, len(cache.entries))
	}
}

func TestATableMadeAnewIsReadAnew(t *testing.T) {
	log, mem, _ := countedWinners(t, 1, nil)
	c := checker(t, log, Options{Mode: Stats})
	check := func() Outcome {
		r, err := c.Check(context.Background(), reader(t, "id < 5"), Newest)
		if err != nil {
			t.Fatal(err)
		}
		return r.Outcome
	}
	if o := check(); o != Clear {
		t.Fatal(o)
	}
	name := deltalog.CommitName(2)
	line := strings.Replace(add("w0", ids(1000, 1099)), `{\"id\":1000}`, `{\"id\":0000}`, 1) // same size
	line = strings.Replace(line, "0000", "   0", 1)
	if err := mem.Put(context.Background(), name, []byte(line)); err != nil {
		t.Fatal(err)
	}
	if o := check(); o != Conflicting {
		t.Errorf("%v of a commit that was replaced", o)
	}
}

// TestImpatienceIsNotShared has one caller give up while it reads a commit that another waits for.
func TestImpatienceIsNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		log, _, _ := countedWinners(t, 1, storetest.OnCall(storetest.Get, 1, storetest.Delay(gate)))
		c := checker(t, log, Options{Mode: Stats})
		ctx, cancel := context.WithCancel(context.Background())
		first := make(chan error)
		go func() {
			_, err := c.Check(ctx, reader(t, "id < 5"), Newest)
			first <- err
		}()
		synctest.Wait()
		second := make(chan error)
		go func() {
			r, err := c.Check(context.Background(), reader(t, "id < 5"), Newest)
			if err == nil && r.Outcome != Clear {
				err = errors.New(r.Outcome.String())
			}
			second <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the one who gave up: %v", err)
		}
		if err := <-second; err != nil {
			t.Errorf("the one who waited: %v", err)
		}
		close(gate)
	})
}

func TestFailuresOfReadingAreNoAnswer(t *testing.T) {
	for _, op := range []storetest.Op{storetest.List, storetest.Get} {
		for n := int64(1); n <= 4; n++ {
			log, _, _ := countedWinners(t, 5, storetest.OnCall(op, n, storetest.Fail(errors.New("service unavailable"))))
			c := checker(t, log, Options{Mode: Stats, Workers: 2})
			r, err := c.Check(context.Background(), reader(t, "id < 5"), Newest)
			if (err == nil) != (r.Outcome == Clear) || err != nil && r.Outcome != Undetermined {
				t.Errorf("%s %d: %v, %v", op, n, r.Outcome, err)
			}
			if op == storetest.Get && err == nil {
				t.Errorf("%s %d: no error", op, n)
			}
		}
	}
}

func TestCancellation(t *testing.T) {
	log, _, _ := countedWinners(t, 5, nil)
	c := checker(t, log, Options{Mode: Stats})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 2 {
		if r, err := c.Check(ctx, reader(t, "id < 5"), Newest); !errors.Is(err, context.Canceled) || r.Outcome != Undetermined {
			t.Errorf("%v, %v", r.Outcome, err)
		}
		if _, err := c.Check(context.Background(), reader(t, "id < 5"), Newest); err != nil { // and again with all of it cached
			t.Error(err)
		}
	}
}

func TestCachedWinnersCostFewAllocations(t *testing.T) {
	perCheck := func(winners int) float64 {
		log, txn := disjointWinners(t, winners, 20)
		c, err := NewChecker(log, Options{Mode: Stats, Cache: NewWinnerCache(1 << 30)})
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(5, func() {
			if r, err := c.Check(context.Background(), txn, Newest); err != nil || r.Outcome != Clear {
				t.Fatal(r.Outcome, err)
			}
		})
	}
	if each := (perCheck(300) - perCheck(100)) / 200; each > 8 {
		t.Errorf("%.1f allocations for each further winner", each)
	}
}

// FuzzWinner checks a loser against commits of any bytes: an answer or an error, and never clear where the parsed commit
// removes the file that was read.
func FuzzWinner(f *testing.F) {
	for _, lines := range [][]string{
		{add("w", ids(1000, 1099))}, {add("w", ids(0, 9)), remove("f")}, {basicProtocol, table("x=1")}, {rowTracking, mark(4)},
		{`{"commitInfo":{"isBlindAppend":true,"deltaskip.members":["a"]}}`, domain("d", "{}"), `{"txn":{"appId":"s","version":1}}`},
		{metadataLine(`{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{"delta.identity.highWaterMark":4}}]}`)},
		{`{"add":{"path":"w","partitionValues":{},"size":1,"modificationTime":0,"dataChange":true,"stats":"{\"numRecords\":1e400"}}`},
	} {
		f.Add([]byte(strings.Join(lines, "\n")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		store := &storetest.Mem{}
		if err := store.PutIfAbsent(context.Background(), deltalog.CommitName(2), data); err != nil {
			t.Fatal(err)
		}
		txn := reader(t, "id < 5")
		txn.ReadFiles = []ReadFile{{Path: "f"}}
		log := deltalog.Open(store, deltalog.Options{})
		removed := false
		if commit, err := log.Commit(context.Background(), 2); err == nil {
			for _, r := range commit.Removes {
				removed = removed || r.Path == "f"
			}
		}
		for _, mode := range []Mode{Off, Stats} {
			r, err := checker(t, log, Options{Mode: mode}).Check(context.Background(), txn, Newest)
			if (err != nil) != (r.Outcome == Undetermined) || r.Outcome == Clear && removed {
				t.Errorf("%s: %v, %v", mode, r.Outcome, err)
			}
			if r.Conflict != nil && r.Conflict.Error() == "" {
				t.Error("a conflict without words")
			}
		}
	})
}

// TestSharedWinnersAreReadByEachCheckersRules has checkers with different zones share a cache: a partition value without a
// zone means another time to each of them.
func TestSharedWinnersAreReadByEachCheckersRules(t *testing.T) {
	m := strings.Replace(metadataLine(`{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},{"name":"p","type":"timestamp","nullable":true,"metadata":{}}]}`),
		`"partitionColumns":[]`, `"partitionColumns":["p"]`, 1)
	log := logOf(t, 2, []string{strings.Replace(add("w"), `"partitionValues":{}`, `"partitionValues":{"p":"2024-01-01 12:00:00"}`, 1)})
	mem := checkedAllocator(t)
	cache := NewWinnerCache(0)
	t.Cleanup(cache.Close)
	for name, tt := range map[string]struct {
		zone *time.Location
		want Outcome
	}{"UTC": {nil, Conflicting}, "two hours east": {time.FixedZone("east", 7200), Clear}, "unknown": {colstats.UnknownZone, Conflicting}} {
		c := checker(t, log, Options{Mode: Stats, Table: "t", Cache: cache, Memory: mem, PartitionZone: tt.zone})
		txn := race{table: m, loser: []string{remove("f")}, reads: func(txn *Transaction) { txn.Reads = []Read{{SQL: "p = TIMESTAMP '2024-01-01 12:00:00'"}} }}.transaction(t)
		if r, err := c.Check(context.Background(), txn, Newest); err != nil || r.Outcome != tt.want {
			t.Errorf("%s: %v, %v; want %v", name, r.Outcome, err, tt.want)
		}
	}
}
