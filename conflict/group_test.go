package conflict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// A queue is a group committer whose first write waits until it is released, so that a test can fill the queue behind it.
type queue struct {
	t       *testing.T
	store   *storetest.Mem
	faulty  *storetest.FaultyStore
	g       *GroupCommitter
	release func()
	answers map[string]chan answer
}

type answer struct {
	Committed
	err error
}

// newQueue is called inside a synctest bubble. plan meets the calls after the first write.
func newQueue(t *testing.T, store *storetest.Mem, o GroupOptions, plan func(storetest.Call) storetest.Fault, more ...string) *queue {
	gate := make(chan struct{})
	first := storetest.OnCall(storetest.PutIfAbsent, 1, storetest.Delay(gate))
	q := &queue{t: t, store: store, release: func() { close(gate) }, answers: map[string]chan answer{}}
	q.faulty = storetest.Faulty(store, func(c storetest.Call) storetest.Fault {
		if f := first(c); f != nil || plan == nil {
			return f
		}
		return plan(c)
	})
	q.g = newGroup(t, q.faulty, o)
	q.submit(context.Background(), "first", readTxn(t, store, add("first", more...)))
	return q
}

// submit hands over a transaction and returns when it is in the queue.
func (q *queue) submit(ctx context.Context, name string, txn *Transaction) {
	answers := make(chan answer, 1)
	q.answers[name] = answers
	go func() {
		got, err := q.g.Commit(ctx, txn)
		answers <- answer{got, err}
	}()
	synctest.Wait()
}

func (q *queue) version(name string) int64 {
	q.t.Helper()
	a := <-q.answers[name]
	if a.err != nil {
		q.t.Errorf("%s: %v", name, a.err)
	}
	return a.Version
}

func (q *queue) err(name string) error { return (<-q.answers[name]).err }

func paths(t testing.TB, store *storetest.Mem, version int64) (list []string) {
	for _, a := range parse(t, lines(t, store, version)...) {
		if a, ok := a.(*action.Add); ok {
			list = append(list, a.Path)
		}
	}
	return list
}

func TestAppendsThatWaitTogetherAreOneVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTable(t)
		q := newQueue(t, store, GroupOptions{}, nil)
		for i := range 5 {
			app := fmt.Sprintf(`{"txn":{"appId":"s%d","version":7}}`, i)
			q.submit(context.Background(), fmt.Sprint(i), readTxn(t, store, add(fmt.Sprint("f", i)), app, fmt.Sprintf(`{"commitInfo":{"txnId":"t%d"}}`, i)))
		}
		q.release()
		if v := q.version("first"); v != 1 {
			t.Errorf("the first is version %d", v)
		}
		var id string
		for i := range 5 {
			a := <-q.answers[fmt.Sprint(i)]
			if a.err != nil || a.Version != 2 {
				t.Errorf("member %d: %+v", i, a)
			}
			id = a.TxnID
		}
		if got, want := paths(t, store, 2), []string{"f0", "f1", "f2", "f3", "f4"}; !slices.Equal(got, want) {
			t.Errorf("added %v, want them in the order they came", got)
		}
		wrote := lines(t, store, 2)
		if n := strings.Count(strings.Join(wrote, "\n"), `{"txn":`); n != 5 {
			t.Errorf("%d application ids", n)
		}
		info := parse(t, wrote[0])[0].(*action.CommitInfo)
		if info.TxnID() != id || string(info.Get(membersKey)) != `["t0","t1","t2","t3","t4"]` || !*info.IsBlindAppend() || info.Operation() != "WRITE" {
			t.Errorf("commitInfo %s", wrote[0])
		}
		// A member that is committed again is found, alone, by its own id.
		again := readTxn(t, store, add("f3"), `{"commitInfo":{"txnId":"t3"}}`)
		again.ReadVersion = 0
		got, err := newCommitter(t, store, CommitOptions{}).Commit(context.Background(), again)
		if err != nil || got.Version != 2 {
			t.Errorf("again: %+v, %v", got, err)
		}
	})
}

func TestGroupsHaveLimits(t *testing.T) {
	for name, o := range map[string]GroupOptions{"members": {MaxMembers: 2}, "bytes": {MaxBytes: 900}} {
		synctest.Test(t, func(t *testing.T) {
			store := newTable(t)
			q := newQueue(t, store, o, nil)
			for i := range 5 {
				q.submit(context.Background(), fmt.Sprint(i), readTxn(t, store, add(fmt.Sprint("f", i))))
			}
			q.release()
			for i, want := range []int64{2, 2, 3, 3, 4} {
				if v := q.version(fmt.Sprint(i)); v != want {
					t.Errorf("%s: member %d is version %d, want %d", name, i, v, want)
				}
			}
		})
	}
}

func TestAGroupWaitsForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTable(t)
		g := newGroup(t, store, GroupOptions{MaxDelay: time.Second})
		start := time.Now()
		versions := make(chan int64, 3)
		for i := range 3 {
			txn := readTxn(t, store, add(fmt.Sprint("f", i)))
			go func() {
				time.Sleep(time.Duration(i) * 300 * time.Millisecond)
				got, err := g.Commit(context.Background(), txn)
				if err != nil {
					t.Error(err)
				}
				versions <- got.Version
			}()
		}
		for range 3 {
			if v := <-versions; v != 1 {
				t.Errorf("version %d", v)
			}
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// A stoppedClock stands still: who sleeps by it sleeps until wake is closed.
type stoppedClock struct {
	now  time.Time
	wake chan struct{}
	asks chan time.Duration
}

func (c stoppedClock) Now() time.Time { return c.now }

func (c stoppedClock) Sleep(ctx context.Context, d time.Duration) error {
	c.asks <- d
	select {
	case <-c.wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestAGroupWaitsByItsClock: the machine's time does not end the delay, the committer's clock does; and a group that is full
// leaves its sleeper behind.
func TestAGroupWaitsByItsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := stoppedClock{time.UnixMilli(1), make(chan struct{}), make(chan time.Duration, 8)}
		store := newTable(t)
		g := newGroup(t, store, GroupOptions{MaxDelay: time.Second, MaxMembers: 3, CommitOptions: CommitOptions{Clock: clock}})
		versions := make(chan int64, 8)
		submit := func(path string) {
			txn := readTxn(t, store, add(path))
			go func() {
				got, err := g.Commit(context.Background(), txn)
				if err != nil {
					t.Error(err)
				}
				versions <- got.Version
			}()
			synctest.Wait()
		}
		for i := range 3 {
			submit(fmt.Sprint("full", i))
		}
		for range 3 {
			if v := <-versions; v != 1 {
				t.Errorf("version %d of a full group", v)
			}
		}
		submit("a")
		time.Sleep(time.Hour)
		submit("b")
		if len(versions) != 0 {
			t.Fatal("the group was written although its clock stands still")
		}
		close(clock.wake)
		for range 2 {
			if v := <-versions; v != 2 {
				t.Errorf("version %d", v)
			}
		}
		if n := len(clock.asks); n != 2 {
			t.Errorf("%d sleeps, want one for each group", n)
		}
		if d := <-clock.asks; d != time.Second {
			t.Errorf("slept %s", d)
		}
	})
}

func TestABadMemberSinksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTable(t)
		q := newQueue(t, store, GroupOptions{}, nil)
		// Another writer moves application s while the queue waits.
		if err := store.PutIfAbsent(context.Background(), deltalog.CommitName(1), []byte(`{"txn":{"appId":"s","version":3}}`)); err != nil {
			t.Fatal(err)
		}
		base := readTxn(t, newTable(t))
		member := func(lines ...string) *Transaction {
			txn := *base
			txn.Actions = parse(t, lines...)
			return &txn
		}
		q.submit(context.Background(), "good", member(add("a")))
		q.submit(context.Background(), "bad", member(add("b"), `{"txn":{"appId":"s","version":4}}`))
		q.submit(context.Background(), "invalid", member(add("c"), add("c")))
		q.submit(context.Background(), "good too", member(add("d")))
		q.release()
		if err := q.err("bad"); !errors.Is(err, ConcurrentTransaction) {
			t.Errorf("bad: %v", err)
		}
		if err := q.err("invalid"); !errors.Is(err, ErrTransaction) {
			t.Errorf("invalid: %v", err)
		}
		q.version("first")
		if a, b := q.version("good"), q.version("good too"); a != b {
			t.Errorf("versions %d and %d", a, b)
		}
		checkLog(t, store, map[string]int64{"a": 3, "d": 3})
	})
}

func TestMembersThatMustNotShareAVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTable(t)
		q := newQueue(t, store, GroupOptions{}, nil)
		app := `{"txn":{"appId":"s","version":1}}`
		q.submit(context.Background(), "app", readTxn(t, store, add("a"), app))
		q.submit(context.Background(), "same app", readTxn(t, store, add("b"), app))
		q.submit(context.Background(), "same path", readTxn(t, store, add("a")))
		q.submit(context.Background(), "metadata", readTxn(t, store, table("delta.x=1")))
		q.submit(context.Background(), "after metadata", readTxn(t, store, add("c")))
		q.release()
		q.version("first")
		if v := q.version("app"); v != 2 {
			t.Errorf("app: %d", v)
		}
		if err := q.err("same app"); !errors.Is(err, ConcurrentTransaction) {
			t.Errorf("same app: %v", err)
		}
		if v := q.version("same path"); v != 3 {
			t.Errorf("same path: %d", v)
		}
		if v := q.version("metadata"); v != 4 {
			t.Errorf("metadata: %d", v)
		}
		if err := q.err("after metadata"); !errors.Is(err, MetadataChanged) {
			t.Errorf("after metadata: %v", err)
		}
	})
}

// TestReadersAreCheckedInMemory has transactions that read wait together: each gets its version or its conflict, and nothing
// that this process has written is read back.
func TestReadersAreCheckedInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTable(t)
		q := newQueue(t, store, GroupOptions{CommitOptions: CommitOptions{Options: Options{Mode: Stats}}}, nil)
		reader := func(sql string, lines ...string) *Transaction {
			txn := readTxn(t, store, lines...)
			txn.ReadVersion = 1 // of the first, which is about to be written
			txn.Reads = []Read{{SQL: sql}}
			return txn
		}
		q.submit(context.Background(), "append", readTxn(t, store, add("a", ids(0, 9))))
		q.submit(context.Background(), "disjoint", reader("id >= 100", add("b", ids(100, 109))))
		q.submit(context.Background(), "overlaps the append", reader("id < 5", add("c", ids(3, 3))))
		q.submit(context.Background(), "overlaps the reader", reader("id = 105", add("d", ids(105, 105))))
		q.submit(context.Background(), "last", reader("id BETWEEN 20 AND 30", add("e", ids(20, 30))))
		q.release()
		q.version("first")
		if a, b, c := q.version("append"), q.version("disjoint"), q.version("last"); a != 2 || b != 3 || c != 4 {
			t.Errorf("versions %d, %d, %d", a, b, c)
		}
		for _, name := range []string{"overlaps the append", "overlaps the reader"} {
			if err := q.err(name); !errors.Is(err, ConcurrentAppend) {
				t.Errorf("%s: %v", name, err)
			}
		}
		checkLog(t, store, map[string]int64{"first": 1, "a": 2, "b": 3, "e": 4})
		if n := q.faulty.Calls(); n != 4 {
			t.Errorf("%d calls of the store, want one for each version", n)
		}
	})
}

func TestRowIDsOfAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := tableOf(t, rowTracking, table(), mark(9))
		q := newQueue(t, store, GroupOptions{}, nil, stats(2))
		q.submit(context.Background(), "a", readTxn(t, store, add("a", stats(5))))
		q.submit(context.Background(), "b", readTxn(t, store, add("b", stats(3)), add("c", stats(4))))
		q.release()
		q.version("first")
		q.version("a")
		q.version("b")
		want := []string{mark(23), add("a", stats(5), `"baseRowId":12`, `"defaultRowCommitVersion":2`),
			add("b", stats(3), `"baseRowId":17`, `"defaultRowCommitVersion":2`), add("c", stats(4), `"baseRowId":20`, `"defaultRowCommitVersion":2`)}
		if got := lines(t, store, 2)[1:]; text(parse(t, got...)) != text(parse(t, want...)) {
			t.Errorf("wrote\n%s", strings.Join(got, "\n"))
		}
	})
}

func TestCallersWhoLeaveEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTable(t)
		gate := make(chan struct{})
		slow := storetest.OnCall(storetest.PutIfAbsent, 1, storetest.Delay(gate)) // the second of all writes
		q := newQueue(t, store, GroupOptions{}, slow)
		waiting, leaveQueue := context.WithCancel(context.Background())
		writing, leaveWrite := context.WithCancel(context.Background())
		q.submit(waiting, "waiting", readTxn(t, store, add("w")))
		q.submit(writing, "writing", readTxn(t, store, add("a")))
		q.submit(context.Background(), "patient", readTxn(t, store, add("b")))
		leaveQueue()
		if err := q.err("waiting"); !errors.Is(err, context.Canceled) || errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("left the queue: %v", err)
		}
		q.release()
		q.version("first")
		synctest.Wait() // the group is being written
		leaveWrite()
		err := q.err("writing")
		var unknown *OutcomeUnknownError
		if !errors.As(err, &unknown) || !errors.Is(err, context.Canceled) || unknown.Version != 2 {
			t.Errorf("left while it was written: %v", err)
		}
		close(gate)
		if v := q.version("patient"); v != 2 {
			t.Errorf("patient: %d", v)
		}
		if fate, err := q.g.c.Resolve(context.Background(), unknown); fate != Landed || err != nil {
			t.Errorf("%v, %v", fate, err)
		}
		if got := paths(t, store, 2); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("added %v", got)
		}
	})
}

// TestACallerWhoLeftIsNotWrittenLater has a group lose its version after one of its callers has left: the next attempt must
// go without it, for its caller was told of this version only.
func TestACallerWhoLeftIsNotWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTable(t)
		gate := make(chan struct{})
		slow := storetest.OnCall(storetest.PutIfAbsent, 1, storetest.Delay(gate))
		q := newQueue(t, store, GroupOptions{}, slow)
		ctx, leave := context.WithCancel(context.Background())
		q.submit(ctx, "leaves", readTxn(t, store, add("a")))
		q.submit(context.Background(), "stays", readTxn(t, store, add("b")))
		q.release()
		q.version("first")
		synctest.Wait()
		leave()
		var unknown *OutcomeUnknownError
		if err := q.err("leaves"); !errors.As(err, &unknown) {
			t.Fatal(err)
		}
		if err := store.PutIfAbsent(context.Background(), deltalog.CommitName(2), []byte(add("other"))); err != nil {
			t.Fatal(err)
		}
		close(gate)
		if v := q.version("stays"); v != 3 {
			t.Errorf("stays: %d", v)
		}
		if fate, err := q.g.c.Resolve(context.Background(), unknown); fate != Lost || err != nil {
			t.Errorf("%v, %v", fate, err)
		}
		checkLog(t, store, map[string]int64{"b": 3})
		if got := paths(t, store, 3); !slices.Equal(got, []string{"b"}) {
			t.Errorf("added %v", got)
		}
	})
}

func TestClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTable(t)
		q := newQueue(t, store, GroupOptions{}, nil)
		q.submit(context.Background(), "a", readTxn(t, store, add("a")))
		go func() { time.Sleep(time.Second); q.release() }()
		start := time.Now()
		q.g.Close()
		if took := time.Since(start); took != time.Second {
			t.Errorf("closed after %s", took)
		}
		q.version("first")
		q.version("a")
		if _, err := q.g.Commit(context.Background(), readTxn(t, store, add("b"))); !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}
