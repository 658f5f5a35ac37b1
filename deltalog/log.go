package deltalog

import (
	"context"
	"fmt"
	"runtime"

	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/logstore"
)

// Dir is the folder of the log.
const Dir = "_delta_log"

// CommitName returns the name of the commit file of a version.
func CommitName(version int64) string { return fmt.Sprintf("%s/%020d.json", Dir, version) }

// Options say how a log is read. The zero Options works.
type Options struct {
	Workers        int   // goroutines that read and decode at once; 0 means GOMAXPROCS
	MaxActionBytes int   // one line of a commit; 0 means [action.DefaultMaxBytes]. A longer one is an error.
	MaxCommitBytes int64 // a commit that is read whole (Log.Commit, not snapshots); 0 means 1 GiB. A larger one is an error.
	Checkpoint     checkpoint.Options
}

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.MaxCommitBytes <= 0 {
		o.MaxCommitBytes = 1 << 30
	}
	if o.Checkpoint.Workers <= 0 {
		o.Checkpoint.Workers = o.Workers
	}
	return o
}

// A Log is the log of one table. It holds no state of the table; many goroutines may use it at once.
type Log struct {
	store logstore.Store
	o     Options
}

// Open returns the log of the table in a store. It reads nothing yet.
func Open(store logstore.Store, o Options) *Log { return &Log{store: store, o: o.withDefaults()} }

// Store returns the store that the log is in.
func (l *Log) Store() logstore.Store { return l.store }

// A CommitFile is a commit in a listing.
type CommitFile struct {
	Version int64
	Entry   logstore.Entry
}

// Since lists the commits after a version, in order. There is none missing between them, or after the given version, or
// it is a [GapError].
func (l *Log) Since(ctx context.Context, version int64) ([]CommitFile, error) {
	ls, err := l.list(ctx, version+1)
	if err != nil {
		return nil, err
	}
	if len(ls.commits) == 0 {
		return nil, nil
	}
	newest := ls.commits[len(ls.commits)-1].Version
	if missing := gaps(ls.commits, version+1, newest); missing != nil {
		return nil, &GapError{Version: newest, Missing: missing}
	}
	return ls.commits, nil
}
