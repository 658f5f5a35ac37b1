package conflict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// A pair is a row of the table that the writers of this test work on: columns id and x.
type pair struct{ id, x int }

// A world is a table with its rows, which no parquet file needs to hold.
type world struct {
	store *storetest.Mem

	mu    sync.Mutex
	files map[string][]pair    // by path
	done  map[string]*workload // by transaction id
}

// A workload is what one transaction did: it read the rows that its condition matches at version r.
type workload struct {
	r    int64
	sql  string
	test func(pair) bool // nil for a blind append
	read []pair
}

// rows returns the rows of a version that match, sorted, and the paths of the files that hold some.
func (w *world) rows(files []string, test func(pair) bool) (rows []pair, paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range files {
		n := len(rows)
		for _, r := range w.files[path] {
			if test(r) {
				rows = append(rows, r)
			}
		}
		if len(rows) > n {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(rows, func(a, b pair) int { return 1000*(a.id-b.id) + a.x - b.x })
	return rows, paths
}

// active replays the log and returns the files of a version.
func (w *world) active(version int64) (files []string, err error) {
	for v := range version + 1 {
		data, _, err := w.store.Get(context.Background(), deltalog.CommitName(v), 1<<30)
		if err != nil {
			return nil, err
		}
		for a, err := range action.All(bytes.NewReader(data), 0) {
			if err != nil {
				return nil, err
			}
			switch a := a.(type) {
			case *action.Remove:
				i := slices.Index(files, a.Path)
				if i < 0 {
					return nil, fmt.Errorf("version %d removes %s, which is not there", v, a.Path)
				}
				files = slices.Delete(files, i, i+1)
			case *action.Add:
				if slices.Contains(files, a.Path) {
					return nil, fmt.Errorf("version %d adds %s again", v, a.Path)
				}
				files = append(files, a.Path)
			}
		}
	}
	return files, nil
}

func (w *world) newest() int64 {
	version := int64(-1)
	for range w.store.List(context.Background(), deltalog.Dir, "") {
		version++
	}
	return version
}

// add makes an add action of a new file.
func (w *world) add(path string, rows []pair, withStats bool) *action.Add {
	w.mu.Lock()
	w.files[path] = rows
	w.mu.Unlock()
	a := &action.Add{Path: path, DataChange: true}
	if withStats {
		id := func(a, b pair) int { return a.id - b.id }
		x := func(a, b pair) int { return a.x - b.x }
		a.Stats = fmt.Sprintf(`{"numRecords":%d,"minValues":{"id":%d,"x":%d},"maxValues":{"id":%d,"x":%d},"nullCount":{"id":0,"x":0}}`, len(rows),
			slices.MinFunc(rows, id).id, slices.MinFunc(rows, x).x, slices.MaxFunc(rows, id).id, slices.MaxFunc(rows, x).x)
	}
	return a
}

// work makes a random transaction on a recent version: an INSERT, or an UPDATE or DELETE of a range.
func (w *world) work(random *rand.Rand, name string) (*Transaction, *workload, error) {
	r := max(0, w.newest()-int64(random.IntN(3)))
	txn, err := txnAt(context.Background(), w.store, &r)
	if err != nil {
		return nil, nil, err
	}
	load := &workload{r: r}
	txn.CommitInfo = &action.CommitInfo{}
	txn.CommitInfo.SetString("txnId", name)
	if random.IntN(3) == 0 {
		low := random.IntN(95)
		rows := []pair{{low, random.IntN(20)}, {low + random.IntN(5), random.IntN(20)}}
		txn.Actions = append(txn.Actions, w.add(name+"-new", rows, random.IntN(10) > 0))
		return txn, load, nil
	}
	low, limit := random.IntN(90), random.IntN(20)
	high := low + random.IntN(10)
	load.sql = fmt.Sprintf("id BETWEEN %d AND %d AND x >= %d", low, high, limit)
	load.test = func(p pair) bool { return low <= p.id && p.id <= high && p.x >= limit }
	files, err := w.active(r)
	if err != nil {
		return nil, nil, err
	}
	var touched []string
	load.read, touched = w.rows(files, load.test)
	txn.Reads = []Read{{SQL: load.sql}}
	update := random.IntN(2) == 0
	w.mu.Lock()
	contents := make([][]pair, len(touched))
	for i, path := range touched {
		contents[i] = w.files[path]
	}
	w.mu.Unlock()
	for i, path := range touched {
		txn.ReadFiles = append(txn.ReadFiles, ReadFile{Path: path})
		txn.Actions = append(txn.Actions, &action.Remove{Path: path, DataChange: true})
		var left []pair
		for _, p := range contents[i] {
			if !load.test(p) {
				left = append(left, p)
			} else if update {
				left = append(left, pair{p.id, (p.x + 7) % 20})
			}
		}
		if len(left) > 0 {
			txn.Actions = append(txn.Actions, w.add(fmt.Sprint(name, "-", i), left, true))
		}
	}
	if len(touched) == 0 { // note down what was found: nothing
		txn.Actions = append(txn.Actions, w.add(name+"-log", []pair{{99, 0}}, true))
	}
	return txn, load, nil
}

// verify replays the log and checks that every transaction would have read, right before its commit, what it did read.
func (w *world) verify(t *testing.T) (commits int) {
	t.Helper()
	for v := int64(1); v <= w.newest(); v++ {
		info := parse(t, lines(t, w.store, v)[0])[0].(*action.CommitInfo)
		load := w.done[info.TxnID()]
		if load == nil || load.test == nil { // a group, or an append: nothing was read
			commits++
			continue
		}
		files, err := w.active(v - 1)
		if err != nil {
			t.Fatal(err)
		}
		if now, _ := w.rows(files, load.test); !slices.Equal(now, load.read) {
			t.Errorf("version %d (%s) read %v where %s at version %d, but would have read %v", v, info.TxnID(), load.read, load.sql, load.r, now)
		}
		commits++
	}
	if _, err := w.active(w.newest()); err != nil {
		t.Error(err)
	}
	return commits
}

// TestHistoriesAreSerializable has writers with random INSERT, UPDATE and DELETE race on one table, alone and in groups, on
// stores with and without faults, and replays what came of it.
func TestHistoriesAreSerializable(t *testing.T) {
	runs := 12
	if long() {
		runs = 2000
	}
	outcomes := map[string]int{}
	for seed := range runs {
		kind, faults := []string{"alone", "group"}[seed%2], seed%4 >= 2
		t.Run(fmt.Sprintf("%s/faults=%t/%d", kind, faults, seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{store: tableOf(t, basicProtocol, metadataLine(`{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},`+
					`{"name":"x","type":"integer","nullable":true,"metadata":{}}]}`)), files: map[string][]pair{}, done: map[string]*workload{}}
				var late sync.WaitGroup
				var store logstore.Store = w.store
				if faults {
					store = storetest.Faulty(w.store, randomFaults(uint64(seed), &late))
				}
				o := CommitOptions{Options: Options{Mode: Stats}, Retries: 1000, AppendBudget: time.Hour}
				commit := newCommitter(t, store, o).Commit
				if kind == "group" {
					commit = newGroup(t, store, GroupOptions{CommitOptions: o}).Commit
				}
				var mu sync.Mutex
				count := map[string]int{}
				acknowledged := map[string]int64{}
				var group sync.WaitGroup
				for g := range 6 {
					random := rand.New(rand.NewPCG(uint64(seed), uint64(g)))
					group.Go(func() {
						for i := range 8 {
							time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
							name := fmt.Sprintf("%d-%d", g, i)
							txn, load, err := w.work(random, name)
							if err != nil {
								t.Error(err)
								return
							}
							w.mu.Lock()
							w.done[name] = load
							w.mu.Unlock()
							got, err := commit(context.Background(), txn)
							mu.Lock()
							switch {
							case err == nil:
								count["committed"]++
								for _, a := range txn.Actions {
									if a, ok := a.(*action.Add); ok {
										acknowledged[a.Path] = got.Version
									}
								}
							case errors.Is(err, ErrConflict):
								count["conflict"]++
							case errors.Is(err, ErrOutcomeUnknown):
								count["unknown"]++
							default:
								count["refused"]++
								if !faults {
									t.Errorf("%s: %v", name, err)
								}
							}
							mu.Unlock()
						}
					})
				}
				group.Wait()
				late.Wait()
				checkLog(t, w.store, acknowledged)
				commits := w.verify(t)
				if kind == "alone" && (commits < count["committed"] || commits > count["committed"]+count["unknown"]) {
					t.Errorf("%d commits in the log, %v acknowledged", commits, count)
				}
				for k, n := range count {
					outcomes[kind+" "+k] += n
				}
			})
		})
	}
	t.Logf("outcomes: %v", outcomes)
}
