package conflict

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// disjointWinners returns a log of winners whose files all lie beyond id 1000, and a loser that reads below it.
func disjointWinners(b testing.TB, winners, adds int) (*deltalog.Log, *Transaction) {
	store := &storetest.Mem{}
	for w := range winners {
		var lines []string
		for f := range adds {
			lines = append(lines, add(fmt.Sprintf("part-%05d-%05d.parquet", w, f), ids(1000+f, 2000+f)))
		}
		if err := store.PutIfAbsent(context.Background(), deltalog.CommitName(int64(w)+2), []byte(strings.Join(lines, "\n"))); err != nil {
			b.Fatal(err)
		}
	}
	r := race{loser: []string{remove("f"), add("n")}, reads: func(txn *Transaction) { txn.Reads = []Read{{SQL: "id < 1000"}} }}
	return deltalog.Open(store, deltalog.Options{}), r.transaction(b)
}

// BenchmarkCheckMany checks many pending transactions against the same winners.
func BenchmarkCheckMany(b *testing.B) {
	log, txn := disjointWinners(b, 100, 100)
	c, err := NewChecker(log, Options{Mode: Stats})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("losers=%d", n), func(b *testing.B) {
			txns := make([]*Transaction, n)
			for i := range txns {
				txns[i] = txn
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range c.CheckMany(context.Background(), txns, Newest) {
					if r.Outcome != Clear {
						b.Fatal(r.Outcome, r.Err)
					}
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "checks/s")
		})
	}
}

// BenchmarkCommit has committers append to one table, each for itself and as a group, in memory and in a local folder, where
// every commit is synced to the disk.
func BenchmarkCommit(b *testing.B) {
	stores := map[string]func(b *testing.B) logstore.Store{
		"memory": func(b *testing.B) logstore.Store { return newTable(b) },
		"local": func(b *testing.B) logstore.Store {
			store, err := logstore.CreateLocal(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { store.Close() })
			if err := store.PutIfAbsent(context.Background(), deltalog.CommitName(0), []byte(basicProtocol+"\n"+table()+"\n")); err != nil {
				b.Fatal(err)
			}
			return store
		},
	}
	for _, name := range []string{"memory", "local"} {
		for kind, open := range committers(b) {
			for _, n := range []int{1, 8, 64} {
				b.Run(fmt.Sprintf("store=%s/committers=%d/%s", name, n, kind), func(b *testing.B) {
					store := stores[name](b)
					commit := open(context.Background(), store)
					base := readTxn(b, store)
					var mu sync.Mutex
					left, versions := b.N, int64(0)
					next := func() (int, bool) {
						mu.Lock()
						defer mu.Unlock()
						left--
						return left, left >= 0
					}
					b.ReportAllocs()
					b.ResetTimer()
					var group sync.WaitGroup
					for range n {
						group.Go(func() {
							txn := *base
							for i, ok := next(); ok; i, ok = next() {
								txn.Actions = []action.Action{&action.Add{Path: fmt.Sprint(i), DataChange: true}}
								got, err := commit(context.Background(), &txn)
								if err != nil {
									b.Error(err)
									return
								}
								mu.Lock()
								versions = max(versions, got.Version)
								mu.Unlock()
								txn.ReadVersion = got.Version
							}
						})
					}
					group.Wait()
					b.StopTimer()
					b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
					b.ReportMetric(float64(b.N)/float64(versions), "commits/version")
					runtime.GC()
				})
			}
		}
	}
}
