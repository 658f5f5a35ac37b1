// Command ingest is a service in which many goroutines append to one table through a group committer, while others delete
// what is old. It runs once as engines decide today, by partition, and once by statistics, and prints what came of both.
//
//	go run ./examples/ingest -for 2s
//	go run ./examples/ingest -for 10s -cpuprofile cpu.prof && go tool pprof -tagfocus=mode=stats cpu.prof
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
)

func main() {
	lasting := flag.Duration("for", 2*time.Second, "how long each mode runs")
	writers := flag.Int("writers", 16, "goroutines that append")
	profile := flag.String("cpuprofile", "", "write a CPU profile, labelled by mode and task")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			log.Fatal(err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			log.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	for _, mode := range []conflict.Mode{conflict.Off, conflict.Stats} {
		var came *outcome
		var err error
		pprof.Do(context.Background(), pprof.Labels("mode", mode.String()), func(ctx context.Context) {
			came, err = run(ctx, mode, *writers, *lasting)
		})
		if err != nil {
			log.Fatal(err)
		}
		seconds := lasting.Seconds()
		fmt.Printf("mode %-5s  %6.0f appends/s in %.0f versions/s   deletes: %d committed, %d aborted\n",
			mode, float64(came.appends.Load())/seconds, float64(came.version.Load())/seconds, came.deletes.Load(), came.aborts.Load())
	}
}

// An outcome counts what came of a run.
type outcome struct{ appends, deletes, aborts, version atomic.Int64 }

// Ids below oldest are what the deletes ask for. New rows have larger ones, as times and sequences do.
const oldest = 1_000_000

// run has writers append to a new table for a while, with one goroutine that deletes.
func run(ctx context.Context, mode conflict.Mode, writers int, lasting time.Duration) (came *outcome, err error) {
	came = new(outcome)
	dir, err := os.MkdirTemp("", "ingest-")
	if err != nil {
		return came, err
	}
	defer os.RemoveAll(dir)
	store, err := logstore.CreateLocal(dir)
	if err != nil {
		return came, err
	}
	defer store.Close()
	if err := create(ctx, store); err != nil {
		return came, err
	}
	table := deltalog.Open(store, deltalog.Options{})
	o := conflict.CommitOptions{Options: conflict.Options{Mode: mode}}
	group, err := conflict.NewGroupCommitter(ctx, table, conflict.GroupOptions{CommitOptions: o})
	if err != nil {
		return came, err
	}
	defer group.Close()
	// The deletes come from elsewhere: another service, or a job that somebody runs.
	alone, err := conflict.NewCommitter(ctx, table, o)
	if err != nil {
		return came, err
	}
	base, err := read(ctx, table)
	if err != nil {
		return came, err
	}

	ctx, cancel := context.WithTimeout(ctx, lasting)
	defer cancel()
	var ids atomic.Int64
	ids.Store(oldest)
	tasks := []func(context.Context) error{func(ctx context.Context) error { return remove(ctx, table, alone, came) }}
	for range writers {
		tasks = append(tasks, func(ctx context.Context) error { return ingest(ctx, group, *base, &ids, came) })
	}
	errs := make([]error, len(tasks))
	var wait sync.WaitGroup
	for i, task := range tasks {
		wait.Go(func() {
			name := "ingest"
			if i == 0 {
				name = "delete"
			}
			pprof.Do(ctx, pprof.Labels("task", name), func(ctx context.Context) { errs[i] = task(ctx) })
		})
	}
	wait.Wait()
	return came, errors.Join(errs...)
}

// ingest appends files of a thousand rows each until ctx ends. The data files themselves are left out: a service writes them
// before it commits, and deltaskip does not open them in these modes.
func ingest(ctx context.Context, group *conflict.GroupCommitter, txn conflict.Transaction, ids *atomic.Int64, came *outcome) error {
	for ctx.Err() == nil {
		txn.Actions = []action.Action{file(ids.Add(1000) - 1000)}
		committed, err := group.Commit(ctx, &txn)
		switch {
		case err == nil:
			txn.ReadVersion = committed.Version
			came.appends.Add(1)
			came.version.Store(max(came.version.Load(), committed.Version))
		case ctx.Err() == nil:
			return err
		}
	}
	return nil
}

// remove adds a file of old rows, reads the table, takes its time as a job does, and deletes the file, again and again. By
// partition every append that came in between conflicts with it, though none has a row that it asked for.
func remove(ctx context.Context, table *deltalog.Log, committer *conflict.Committer, came *outcome) error {
	for id := int64(0); ctx.Err() == nil; id += 1000 {
		old := file(id % oldest)
		txn, err := read(ctx, table)
		if err == nil {
			txn.Actions = []action.Action{old}
			_, err = committer.Commit(ctx, txn)
		}
		if err == nil {
			txn, err = read(ctx, table)
		}
		if err == nil {
			time.Sleep(20 * time.Millisecond)
			txn.Reads = []conflict.Read{{SQL: fmt.Sprintf("id < %d", oldest)}}
			txn.ReadFiles = []conflict.ReadFile{{Path: old.Path}}
			txn.Actions = []action.Action{&action.Remove{Path: old.Path, DataChange: true}}
			txn.CommitInfo = &action.CommitInfo{}
			txn.CommitInfo.SetString("operation", "DELETE")
			_, err = committer.Commit(ctx, txn)
		}
		switch {
		case err == nil:
			came.deletes.Add(1)
		case errors.Is(err, conflict.ErrConflict), errors.Is(err, conflict.ErrRetriesExhausted):
			came.aborts.Add(1)
		case ctx.Err() == nil:
			return err
		}
	}
	return nil
}

// read begins a transaction on the newest version.
func read(ctx context.Context, table *deltalog.Log) (*conflict.Transaction, error) {
	snapshot, err := table.Snapshot(ctx, deltalog.SnapshotOptions{})
	if err != nil {
		return nil, err
	}
	txn := &conflict.Transaction{}
	return txn, errors.Join(txn.ReadFrom(snapshot), snapshot.Close())
}

// file is a new file with a thousand ids.
func file(id int64) *action.Add {
	return &action.Add{
		Path: fmt.Sprintf("part-%s.parquet", uuid.NewString()), PartitionValues: map[string]*string{}, Size: 4096,
		ModificationTime: time.Now().UnixMilli(), DataChange: true,
		Stats: fmt.Sprintf(`{"numRecords":1000,"minValues":{"id":%d},"maxValues":{"id":%d},"nullCount":{"id":0}}`, id, id+999),
	}
}

// create makes a table that is not partitioned, at the level at which appends count as well.
func create(ctx context.Context, store logstore.Store) error {
	text := action.Append(nil, &action.Protocol{MinReaderVersion: 1, MinWriterVersion: 2})
	text = action.Append(append(text, '\n'), &action.Metadata{
		ID: uuid.NewString(), Format: action.Format{Provider: "parquet", Options: map[string]string{}}, PartitionColumns: []string{},
		SchemaString:  `{"type":"struct","fields":[{"name":"id","type":"long","nullable":false,"metadata":{}}]}`,
		Configuration: map[string]string{"delta.isolationLevel": "Serializable"},
	})
	return store.PutIfAbsent(ctx, deltalog.CommitName(0), append(text, '\n'))
}
