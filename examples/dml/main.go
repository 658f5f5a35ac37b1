// Command dml deletes rows of a table whose other writers may get in first: after a real conflict it reads the table again, does
// its work again, and commits that, waiting longer each time. Here a DELETE drops the files that lie in its range; a job that
// rewrites files does that in their place.
//
//	go run ./examples/dml TABLE id 0 999
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/vectorized"
)

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: dml TABLE COLUMN LOW HIGH")
	}
	store, err := logstore.OpenLocal(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	where := fmt.Sprintf("%s BETWEEN %s AND %s", os.Args[2], os.Args[3], os.Args[4])
	committed, tries, err := deleteWhere(context.Background(), deltalog.Open(store, deltalog.Options{}), where, func() {})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("version %d after %d tries\n", committed.Version, tries)
}

var errPartly = errors.New("some files hold other rows as well: they would have to be rewritten")

// deleteWhere deletes the rows that a predicate matches. between is called between the work and its commit.
func deleteWhere(ctx context.Context, table *deltalog.Log, where string, between func()) (committed conflict.Committed, tries int, err error) {
	committer, err := conflict.NewCommitter(ctx, table, conflict.CommitOptions{Options: conflict.Options{Mode: conflict.Stats}})
	if err != nil {
		return committed, 0, err
	}
	wait := backoff.NewExponentialBackOff() // with jitter, so that losers don't meet again
	wait.InitialInterval = 50 * time.Millisecond
	committed, err = backoff.Retry(ctx, func() (conflict.Committed, error) {
		tries++
		txn, err := work(ctx, table, where)
		if err != nil {
			return conflict.Committed{}, backoff.Permanent(err)
		}
		between()
		committed, err := committer.Commit(ctx, txn)
		if errors.Is(err, conflict.ErrConflict) || errors.Is(err, conflict.ErrRetriesExhausted) {
			return committed, err // nothing was written: do the work again
		}
		if err != nil {
			// That includes an outcome that nobody knows: trying again might delete what it must not.
			return committed, backoff.Permanent(err)
		}
		return committed, nil
	}, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(time.Minute))
	return committed, tries, err
}

// work reads the newest version and removes the files all of whose rows match.
func work(ctx context.Context, table *deltalog.Log, where string) (*conflict.Transaction, error) {
	snapshot, err := table.Snapshot(ctx, deltalog.SnapshotOptions{})
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	txn := &conflict.Transaction{Reads: []conflict.Read{{SQL: where}}, CommitInfo: &action.CommitInfo{}}
	txn.CommitInfo.SetString("operation", "DELETE")
	if err := txn.ReadFrom(snapshot); err != nil {
		return nil, err
	}
	schema, err := snapshot.Table()
	if err != nil {
		return nil, err
	}
	expr, err := predicate.Parse(where, predicate.ParseOptions{})
	if err != nil {
		return nil, err
	}
	read, err := predicate.Bind(expr, schema, predicate.Env{})
	if err != nil {
		return nil, err
	}
	program, err := vectorized.Compile([]*predicate.Predicate{read}, vectorized.Options{Verdicts: true})
	if err != nil {
		return nil, err
	}
	_, err = program.Scan(ctx, snapshot.Batches(ctx, program.Layout(), deltalog.BatchOptions{}), func(b *colstats.Batch, _ int64, r vectorized.Result) error {
		for row := range b.Len() {
			path, err := b.Path(row)
			switch v := r.Verdict(row); {
			case err != nil:
				return err
			case v == vectorized.Some:
				return errPartly
			case v == vectorized.All:
				path = strings.Clone(path)
				txn.ReadFiles = append(txn.ReadFiles, conflict.ReadFile{Path: path})
				txn.Actions = append(txn.Actions, &action.Remove{Path: path, DataChange: true})
			}
		}
		return nil
	})
	return txn, err
}
