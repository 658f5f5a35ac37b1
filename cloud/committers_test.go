package cloud

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

var (
	committers = flag.Int("committers", 8, "how many committers race in TestCommittersBehindFaults")
	lasting    = flag.Duration("lasting", time.Second, "how long they do")
	commits    = flag.Int("commits", 40, "how many commits each of them makes at most: who begins late has to read them all")
	seed       = flag.Uint64("seed", 1, "of the faults")
	share      = flag.Float64("faults", 0.05, "the share of requests that meet one in TestCommittersBehindFaults")
)

// Whatever befalls the requests of committers that race for one table: what was acknowledged is in the log exactly once, at the
// version that was said; what was refused is not in it; versions have no gaps.
func TestCommittersBehindFaults(t *testing.T) {
	eachServer(t, func(t *testing.T, s *server) {
		direct := s.start(t)
		folder := fmt.Sprintf("tables/%d/t", folders.Add(1))
		p, base := behind(t, direct, *seed, *share, late, lostBefore, lostAfter, unavailable, throttled, failedAfter, truncated, duplicated)
		open := func() logstore.Store { return s.at(t, base, folder) }
		race(t, s.at(t, direct, folder), open, func() (faults, requests int64) {
			for f := range p.did {
				n := p.did[f].Load()
				if requests += n; fault(f) != none {
					faults += n
				}
			}
			return faults, requests
		})
	})
	t.Run("file", func(t *testing.T) {
		plain, err := logstore.OpenLocal(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		var faults, calls atomic.Int64
		r := rand.New(rand.NewPCG(*seed, 0))
		var mu sync.Mutex
		lost := fmt.Errorf("%w: the answer was lost", logstore.ErrOutcomeUnknown)
		store := storetest.Faulty(plain, func(c storetest.Call) storetest.Fault {
			calls.Add(1)
			mu.Lock()
			defer mu.Unlock()
			if r.Float64() >= *share {
				return nil
			}
			faults.Add(1)
			kinds := []storetest.Fault{storetest.Fail(errors.New("down"))}
			if c.Op == storetest.PutIfAbsent {
				kinds = []storetest.Fault{storetest.Fail(lost), storetest.LoseAnswer(lost), storetest.Retry()}
			}
			return kinds[r.IntN(len(kinds))]
		})
		race(t, plain, func() logstore.Store { return store }, func() (int64, int64) { return faults.Load(), calls.Load() })
	})
}

// race has committers race for a table that it makes in plain, which they reach by stores that open returns, and looks at the log.
// faults says how many requests met one, of how many.
func race(t *testing.T, plain logstore.Store, open func() logstore.Store, faults func() (met, of int64)) {
	ctx := context.Background()
	if err := plain.PutIfAbsent(ctx, deltalog.CommitName(0), createTable()); err != nil {
		t.Fatal(err)
	}
	var (
		mu           sync.Mutex
		acknowledged = map[string]int64{} // version by path
		refused      = map[string]error{}
		attempts     int
		latencies    []time.Duration
		group        sync.WaitGroup
		begin        = time.Now()
	)
	for i := range *committers {
		store := open()
		group.Go(func() {
			log := deltalog.Open(store, deltalog.Options{})
			c, err := conflict.NewCommitter(ctx, log, conflict.CommitOptions{SkipProbe: true})
			if err != nil {
				t.Error(err)
				return
			}
			txn := &conflict.Transaction{}
			for {
				snapshot, err := log.Snapshot(ctx, deltalog.SnapshotOptions{})
				if err == nil {
					err = errors.Join(txn.ReadFrom(snapshot), snapshot.Close())
					if err != nil {
						t.Error(err)
					}
					break
				}
			}
			for n := 0; time.Since(begin) < *lasting && n < *commits; n++ {
				path := fmt.Sprintf("%d-%d.parquet", i, n)
				txn.Actions = []action.Action{&action.Add{Path: path, PartitionValues: map[string]*string{}, Size: 1, DataChange: true}}
				from := time.Now()
				got, err := c.Commit(ctx, txn)
				took := time.Since(from)
				var unknown *conflict.OutcomeUnknownError
				mu.Lock()
				switch {
				case err == nil:
					acknowledged[path], txn.ReadVersion = got.Version, got.Version
					attempts += got.Attempts
					latencies = append(latencies, took)
				case !errors.As(err, &unknown):
					refused[path] = err
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	elapsed := time.Since(begin)
	inLog := commitsOf(t, plain)
	for path, version := range acknowledged {
		if got := inLog[path]; !slices.Equal(got, []int64{version}) {
			t.Errorf("%s was acknowledged as version %d, and is in %v", path, version, got)
		}
	}
	for path, err := range refused {
		if got := inLog[path]; len(got) > 0 {
			t.Errorf("%s was refused with %q, and is in %v", path, err, got)
		}
	}
	for path, versions := range inLog {
		if len(versions) != 1 {
			t.Errorf("%s is in %v", path, versions)
		}
	}
	if len(acknowledged) == 0 {
		t.Fatal("nothing was committed")
	}
	slices.Sort(latencies)
	quantile := func(q float64) time.Duration {
		return latencies[int(q*float64(len(latencies)-1))].Round(time.Millisecond)
	}
	met, requests := faults()
	t.Logf("%d committers, seed %d: %d acknowledged in %v (%.0f/s), %d refused, %d unknown; %d attempts; p50 %v, p99 %v; %d faults in %d requests",
		*committers, *seed, len(acknowledged), elapsed.Round(time.Millisecond), float64(len(acknowledged))/elapsed.Seconds(), len(refused),
		len(inLog)-len(acknowledged), attempts, quantile(0.5), quantile(0.99), met, requests)
}

// at opens a folder by way of the server at base.
func (s *server) at(t *testing.T, base *url.URL, folder string) *Store {
	t.Helper()
	t.Setenv("STORAGE_EMULATOR_HOST", base.Host)
	store, err := Open(context.Background(), s.table(base, folder))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func createTable() []byte {
	text := action.Append(nil, &action.Protocol{MinReaderVersion: 1, MinWriterVersion: 2})
	text = action.Append(append(text, '\n'), &action.Metadata{
		ID: "t", Format: action.Format{Provider: "parquet", Options: map[string]string{}}, PartitionColumns: []string{},
		SchemaString:  `{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}`,
		Configuration: map[string]string{},
	})
	return append(text, '\n')
}

// commitsOf reads the whole log without help from the code under test: the versions that add each path.
func commitsOf(t *testing.T, store logstore.Store) map[string][]int64 {
	t.Helper()
	out := map[string][]int64{}
	next := int64(0)
	for e, err := range store.List(context.Background(), "_delta_log", "") {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name != deltalog.CommitName(next) {
			t.Fatalf("%s follows version %d", e.Name, next-1)
		}
		data, _, err := store.Get(context.Background(), e.Name, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if _, rest, ok := strings.Cut(line, `{"add":{"path":"`); ok {
				path, _, _ := strings.Cut(rest, `"`)
				out[path] = append(out[path], next)
			}
		}
		next++
	}
	return out
}
