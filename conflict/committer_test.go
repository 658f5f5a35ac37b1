package conflict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

var errNetwork = fmt.Errorf("connection reset: %w", logstore.ErrOutcomeUnknown)

// newTable returns a store with version 0 of a table.
func newTable(t testing.TB, properties ...string) *storetest.Mem {
	t.Helper()
	return tableOf(t, basicProtocol, table(properties...))
}

func tableOf(t testing.TB, lines ...string) *storetest.Mem {
	t.Helper()
	store := &storetest.Mem{}
	if err := store.PutIfAbsent(context.Background(), deltalog.CommitName(0), []byte(strings.Join(lines, "\n")+"\n")); err != nil {
		t.Fatal(err)
	}
	return store
}

func newCommitter(t testing.TB, store logstore.Store, o CommitOptions) *Committer {
	t.Helper()
	o.SkipProbe = true
	c, err := NewCommitter(context.Background(), deltalog.Open(store, deltalog.Options{}), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// readTxn returns a transaction that read the newest version of a table.
func readTxn(t testing.TB, store logstore.Store, lines ...string) *Transaction {
	t.Helper()
	txn, err := txnAt(context.Background(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range parse(t, lines...) {
		if info, ok := a.(*action.CommitInfo); ok {
			txn.CommitInfo = info
		} else {
			txn.Actions = append(txn.Actions, a)
		}
	}
	return txn
}

func txnAt(ctx context.Context, store logstore.Store, version *int64) (*Transaction, error) {
	s, err := deltalog.Open(store, deltalog.Options{}).Snapshot(ctx, deltalog.SnapshotOptions{Version: version})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	txn := &Transaction{}
	return txn, txn.ReadFrom(s)
}

// lines returns the actions of a commit that is there.
func lines(t testing.TB, store logstore.Store, version int64) []string {
	t.Helper()
	data, _, err := store.Get(context.Background(), deltalog.CommitName(version), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// checkLog checks that versions have no gaps, that nothing but commits lies in the log, and that each acknowledged path was
// added exactly once.
func checkLog(t testing.TB, store logstore.Store, acknowledged map[string]int64) {
	t.Helper()
	added := map[string][]int64{}
	version := int64(0)
	for e, err := range store.List(context.Background(), deltalog.Dir, "") {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name != deltalog.CommitName(version) {
			t.Fatalf("%s where version %d should be", e.Name, version)
		}
		data, _, err := store.Get(context.Background(), e.Name, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		for a, err := range action.All(bytes.NewReader(data), 0) {
			if err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			if a, ok := a.(*action.Add); ok {
				added[a.Path] = append(added[a.Path], version)
			}
		}
		version++
	}
	for path, v := range acknowledged {
		if len(added[path]) != 1 || added[path][0] != v {
			t.Errorf("%s was acknowledged as version %d, and is in %v", path, v, added[path])
		}
	}
	for path, versions := range added {
		if len(versions) > 1 {
			t.Errorf("%s was added by versions %v", path, versions)
		}
	}
}

func TestCommitWritesAPreparedTransaction(t *testing.T) {
	store := tableOf(t, rowTracking, table("delta.enableInCommitTimestamps=true"), `{"commitInfo":{"inCommitTimestamp":5000}}`, mark(9))
	now := time.UnixMilli(7000)
	c := newCommitter(t, store, CommitOptions{Engine: "test", NewID: func() string { return "id" }, Clock: fixedClock{now}})
	got, err := c.Commit(context.Background(), readTxn(t, store, add("a", stats(5)), `{"commitInfo":{"operation":"MERGE","userMetadata":"x"}}`))
	if err != nil || got.Version != 1 || got.Attempts != 1 || got.TxnID != "id" {
		t.Fatalf("%+v, %v", got, err)
	}
	want := text(parse(t,
		`{"commitInfo":{"operation":"MERGE","userMetadata":"x","timestamp":7000,"operationParameters":{},"readVersion":0,"isolationLevel":"Serializable","isBlindAppend":true,"engineInfo":"test","txnId":"id","inCommitTimestamp":7000}}`,
		mark(14), add("a", stats(5), `"baseRowId":10`, `"defaultRowCommitVersion":1`)))
	if got := strings.Join(lines(t, store, 1), "\n"); got != want {
		t.Errorf("wrote\n%s\nwant\n%s", got, want)
	}
}

type fixedClock struct{ now time.Time }

func (c fixedClock) Now() time.Time                             { return c.now }
func (c fixedClock) Sleep(context.Context, time.Duration) error { return nil }

func TestCommitRebasesOverWinners(t *testing.T) {
	store := newTable(t)
	c := newCommitter(t, store, CommitOptions{})
	late := readTxn(t, store, add("late"))
	for i := range 3 {
		if _, err := c.Commit(context.Background(), readTxn(t, store, add(fmt.Sprint("early", i)))); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.Commit(context.Background(), late)
	if err != nil || got.Version != 4 || got.Attempts != 2 || got.Passed != 3 || got.Counts.Winners != 3 {
		t.Fatalf("%+v, %v: it should jump to the newest version at once", got, err)
	}
	checkLog(t, store, map[string]int64{"late": 4, "early0": 1, "early1": 2, "early2": 3})
}

func TestAConflictIsFinal(t *testing.T) {
	store := newTable(t)
	c := newCommitter(t, store, CommitOptions{})
	loser := readTxn(t, store, add("b"))
	loser.ReadWholeTable = true
	if _, err := c.Commit(context.Background(), readTxn(t, store, add("a"))); err != nil {
		t.Fatal(err)
	}
	_, err := c.Commit(context.Background(), loser)
	var f *Conflict
	if !errors.As(err, &f) || !errors.Is(err, ConcurrentAppend) || f.Path != "a" {
		t.Errorf("%v", err)
	}
	checkLog(t, store, map[string]int64{"a": 1})
}

func TestWrittenApplicationIDsCountAsRead(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		store := newTable(t)
		c := newCommitter(t, store, CommitOptions{IgnoreWrittenAppIDs: ignore})
		second := readTxn(t, store, add("b"), `{"txn":{"appId":"s","version":1}}`)
		if _, err := c.Commit(context.Background(), readTxn(t, store, add("a"), `{"txn":{"appId":"s","version":1}}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Commit(context.Background(), second); errors.Is(err, ConcurrentTransaction) == ignore {
			t.Errorf("ignore %t: %v", ignore, err)
		}
	}
}

func TestUnsafePlacesAreRefused(t *testing.T) {
	ctx := context.Background()
	if _, err := NewCommitter(ctx, deltalog.Open(overwriting{&storetest.Mem{}}, deltalog.Options{}), CommitOptions{}); !errors.Is(err, logstore.ErrNotExclusive) {
		t.Errorf("a store that overwrites: %v", err)
	}
	catalog := `{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["catalogManaged"],"writerFeatures":["catalogManaged"]}}`
	store := &storetest.Mem{}
	txn := &Transaction{Protocol: parse(t, catalog)[0].(*action.Protocol), Metadata: parse(t, table())[0].(*action.Metadata), Actions: parse(t, add("a"))}
	if _, err := newCommitter(t, store, CommitOptions{}).Commit(ctx, txn); !errors.Is(err, deltalog.ErrCatalogManaged) || !strings.Contains(err.Error(), "catalogManaged") {
		t.Errorf("a catalog's table: %v", err)
	}
	upgraded := newTable(t)
	late := readTxn(t, upgraded, add("a"))
	if err := upgraded.PutIfAbsent(ctx, deltalog.CommitName(1), []byte(strings.Replace(catalog, `"writerFeatures":["`, `"writerFeatures":["appendOnly","invariants","`, 1))); err != nil {
		t.Fatal(err)
	}
	if _, err := newCommitter(t, upgraded, CommitOptions{}).Commit(ctx, late); !errors.Is(err, deltalog.ErrCatalogManaged) {
		t.Errorf("a table that a winner gave to a catalog: %v", err)
	}
}

// overwriting is a store without conditional writes.
type overwriting struct{ *storetest.Mem }

func (s overwriting) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return s.Put(ctx, name, data)
}

func TestRacersWhoCreateATable(t *testing.T) {
	store := &storetest.Mem{}
	c := newCommitter(t, store, CommitOptions{})
	create := func(m string) *Transaction { return &Transaction{ReadVersion: -1, Actions: parse(t, basicProtocol, m)} }
	if got, err := c.Commit(context.Background(), create(table())); err != nil || got.Version != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := c.Commit(context.Background(), create(table())); !errors.Is(err, ProtocolChanged) || !strings.Contains(err.Error(), "version 0 already exists, with the same schema") {
		t.Errorf("%v", err)
	}
	if _, err := c.Commit(context.Background(), create(table("delta.x=1"))); !strings.Contains(err.Error(), "delta.x") {
		t.Errorf("%v", err)
	}
}

// TestLostAnswers loses the answer to a write, or all of it, in the ways that networks and libraries do.
func TestLostAnswers(t *testing.T) {
	taken := func(store *storetest.Mem) { // another writer gets in first
		err := store.PutIfAbsent(context.Background(), deltalog.CommitName(1), []byte(add("other")+"\n"))
		if err != nil {
			panic(err)
		}
	}
	for _, tt := range []struct {
		name     string
		before   func(*storetest.Mem)
		fault    storetest.Fault
		version  int64
		attempts int
	}{
		{"the answer to a success is lost", nil, storetest.LoseAnswer(errNetwork), 1, 1},
		{"a library tries twice and sees its own file", nil, storetest.Retry(), 1, 1},
		{"the write is lost", nil, storetest.Fail(errNetwork), 1, 2},
		{"the write is lost and another takes the version", taken, storetest.Fail(errNetwork), 2, 2},
		{"a definite no, but another's", taken, nil, 2, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mem := newTable(t)
			txn := readTxn(t, mem, add("a"))
			if tt.before != nil {
				tt.before(mem)
			}
			store := storetest.Faulty(mem, storetest.OnCall(storetest.PutIfAbsent, 1, tt.fault))
			c := newCommitter(t, store, CommitOptions{Clock: fixedClock{time.UnixMilli(1)}})
			got, err := c.Commit(context.Background(), txn)
			if err != nil || got.Version != tt.version || got.Attempts != tt.attempts {
				t.Errorf("%+v, %v; want version %d in %d attempts", got, err, tt.version, tt.attempts)
			}
			checkLog(t, mem, map[string]int64{"a": tt.version})
		})
	}
}

func TestAWriteThatLandsAfterItsCallerGaveUp(t *testing.T) {
	mem := newTable(t)
	release, landed := make(chan struct{}), make(chan struct{})
	store := storetest.Faulty(mem, func(c storetest.Call) storetest.Fault {
		switch {
		case c.Op == storetest.PutIfAbsent && c.N == 1:
			return storetest.Late(errNetwork, release, landed)
		case c.Op == storetest.PutIfAbsent:
			return storetest.Fail(errNetwork)
		}
		return nil
	})
	c := newCommitter(t, store, CommitOptions{AppendBudget: -1, Clock: fixedClock{time.UnixMilli(1)}})
	txn := readTxn(t, mem, add("a"))
	_, err := c.Commit(context.Background(), txn)
	var unknown *OutcomeUnknownError
	if !errors.As(err, &unknown) || !errors.Is(err, ErrOutcomeUnknown) || unknown.Version != 1 {
		t.Fatalf("%v, want an unknown outcome of version 1", err)
	}
	if fate, err := c.Resolve(context.Background(), unknown); fate != StillOpen || err != nil {
		t.Errorf("before it lands: %v, %v", fate, err)
	}
	close(release)
	<-landed
	if fate, err := c.Resolve(context.Background(), unknown); fate != Landed || err != nil {
		t.Errorf("after it landed: %v, %v", fate, err)
	}
	// Whoever commits it again under its id learns that it is there.
	txn.CommitInfo = &action.CommitInfo{}
	txn.CommitInfo.SetString("txnId", unknown.TxnID)
	if got, err := newCommitter(t, mem, CommitOptions{}).Commit(context.Background(), txn); err != nil || got.Version != 1 {
		t.Errorf("again: %+v, %v", got, err)
	}
	checkLog(t, mem, map[string]int64{"a": 1})
	if fate, err := c.Resolve(context.Background(), &OutcomeUnknownError{Version: 0, TxnID: unknown.TxnID}); fate != Lost || err != nil {
		t.Errorf("another's version: %v, %v", fate, err)
	}
}

// TestAnUnreadableLogAfterExists has a library try twice and see its own file, and the log go out of reach right then.
func TestAnUnreadableLogAfterExists(t *testing.T) {
	mem := newTable(t)
	store := storetest.Faulty(mem, func(c storetest.Call) storetest.Fault {
		switch c.Op {
		case storetest.PutIfAbsent:
			return storetest.Retry()
		case storetest.List:
			return storetest.Fail(errors.New("service unavailable"))
		}
		return nil
	})
	c := newCommitter(t, store, CommitOptions{AppendBudget: -1, Clock: fixedClock{time.UnixMilli(1)}})
	_, err := c.Commit(context.Background(), readTxn(t, mem, add("a")))
	var unknown *OutcomeUnknownError
	if !errors.As(err, &unknown) || unknown.Version != 1 {
		t.Errorf("%v, want an unknown outcome: the commit is version 1", err)
	}
	checkLog(t, mem, map[string]int64{"a": 1})
}

func TestPatience(t *testing.T) {
	exists := storetest.Faulty(&storetest.Mem{}, func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.PutIfAbsent {
			return storetest.Fail(logstore.ErrExists)
		}
		return nil
	})
	synctest.Test(t, func(t *testing.T) {
		base := newTable(t)
		ctx := context.Background()

		reader := readTxn(t, base, add("a"))
		reader.ReadFiles = []ReadFile{{Path: "f"}}
		start := time.Now()
		_, err := newCommitter(t, exists, CommitOptions{Random: func() float64 { return 0.999999 }}).Commit(ctx, reader)
		var tired *RetriesExhaustedError
		if !errors.As(err, &tired) || tired.Attempts != 4 || !errors.Is(err, ErrRetriesExhausted) {
			t.Errorf("a transaction that reads: %v, want 4 attempts", err)
		}
		if slept := time.Since(start); slept < 139*time.Millisecond || slept > 140*time.Millisecond {
			t.Errorf("slept %s, want 20+40+80 ms", slept)
		}

		start = time.Now()
		_, err = newCommitter(t, exists, CommitOptions{}).Commit(ctx, readTxn(t, base, add("a")))
		if !errors.As(err, &tired) || tired.Attempts < 10 {
			t.Errorf("a blind append: %v", err)
		}
		if took := time.Since(start); took < time.Minute || took > time.Minute+time.Millisecond {
			t.Errorf("a blind append went on for %s, want a minute", took)
		}

		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err = newCommitter(t, exists, CommitOptions{}).Commit(ctx, readTxn(t, base, add("a")))
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("past its deadline: %v", err)
		}
	})
}

// TestManyCommitters has goroutines race for versions.
func TestManyCommitters(t *testing.T) {
	for _, n := range []int{2, 64} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			store := newTable(t)
			race64(t, store, store, n, 5, func(ctx context.Context, s logstore.Store) commitFunc {
				return newCommitter(t, s, CommitOptions{}).Commit
			})
		})
	}
}

type commitFunc func(context.Context, *Transaction) (Committed, error)

// race64 has n goroutines commit appends through stores of their own view, and checks the log, read through truth.
func race64(t *testing.T, truth, store logstore.Store, n, each int, open func(context.Context, logstore.Store) commitFunc) {
	t.Helper()
	ctx := context.Background()
	commit := open(ctx, store)
	var mu sync.Mutex
	acknowledged := map[string]int64{}
	var group sync.WaitGroup
	base := readTxn(t, truth)
	for g := range n {
		group.Go(func() {
			for i := range each {
				txn := *base
				path := fmt.Sprintf("%d-%d", g, i)
				txn.Actions = []action.Action{&action.Add{Path: path, DataChange: true, Stats: `{"numRecords":1}`}}
				got, err := commit(ctx, &txn)
				switch {
				case err == nil:
					mu.Lock()
					acknowledged[path] = got.Version
					mu.Unlock()
				case !errors.Is(err, ErrOutcomeUnknown):
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
	group.Wait()
	checkLog(t, truth, acknowledged)
}

// TestFaultyStores has committers race on stores that fail, delay, lose answers or land writes late at random.
func TestFaultyStores(t *testing.T) {
	runs := 20
	if testing.Short() {
		runs = 5
	}
	for seed := range runs {
		for name, open := range committers(t) {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					mem := newTable(t)
					var late sync.WaitGroup
					store := storetest.Faulty(mem, randomFaults(uint64(seed), &late))
					race64(t, mem, store, 8, 5, open)
					late.Wait()
				})
			})
		}
	}
}

func committers(t testing.TB) map[string]func(context.Context, logstore.Store) commitFunc {
	o := CommitOptions{AppendBudget: time.Hour}
	return map[string]func(context.Context, logstore.Store) commitFunc{
		"alone": func(_ context.Context, s logstore.Store) commitFunc { return newCommitter(t, s, o).Commit },
		"group": func(_ context.Context, s logstore.Store) commitFunc {
			return newGroup(t, s, GroupOptions{CommitOptions: o}).Commit
		},
	}
}

func newGroup(t testing.TB, store logstore.Store, o GroupOptions) *GroupCommitter {
	t.Helper()
	o.SkipProbe = true
	g, err := NewGroupCommitter(context.Background(), deltalog.Open(store, deltalog.Options{}), o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// randomFaults meets every fifth call with some fault.
func randomFaults(seed uint64, late *sync.WaitGroup) func(storetest.Call) storetest.Fault {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 1))
	return func(c storetest.Call) storetest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if random.IntN(5) > 0 {
			return nil
		}
		if c.Op != storetest.PutIfAbsent {
			return storetest.Fail(errors.New("service unavailable"))
		}
		wait := time.Duration(random.IntN(1000)) * time.Millisecond
		released := func() <-chan struct{} {
			release := make(chan struct{})
			late.Go(func() { time.Sleep(wait); close(release) })
			return release
		}
		switch random.IntN(5) {
		case 0:
			return storetest.Fail(errNetwork)
		case 1:
			return storetest.LoseAnswer(errNetwork)
		case 2:
			return storetest.Retry()
		case 3:
			return storetest.Delay(released())
		}
		done := make(chan struct{})
		late.Go(func() { <-done })
		return storetest.Late(errNetwork, released(), done)
	}
}

// TestFailingReadsAreNoReasonToWaitLong: a committer far behind the others reads them although a request in ten fails.
func TestFailingReadsAreNoReasonToWaitLong(t *testing.T) {
	mem := newTable(t)
	txn := readTxn(t, mem, add("mine"))
	for v := range int64(200) {
		if err := mem.Put(t.Context(), deltalog.CommitName(v+1), []byte(add(fmt.Sprint("w", v)))); err != nil {
			t.Fatal(err)
		}
	}
	var reads atomic.Int64
	store := storetest.Faulty(mem, func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.Get && reads.Add(1)%10 == 0 {
			return storetest.Fail(errors.New("down"))
		}
		return nil
	})
	c := newCommitter(t, store, CommitOptions{Options: Options{ReadAhead: 1}, Clock: &noWait{}, Random: func() float64 { return 0.9 }})
	got, err := c.Commit(t.Context(), txn)
	if err != nil || got.Version != 201 || got.Slept == 0 || got.Slept > 5*time.Second {
		t.Errorf("%+v, %v", got, err)
	}
}
