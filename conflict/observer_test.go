package conflict

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestObservers(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var counters Counters
	store := newTable(t)
	c := newCommitter(t, store, CommitOptions{Clock: fixedClock{time.UnixMilli(1)}, Options: Options{Mode: Stats, Observer: Observers(Log(log), &counters)}})
	reader := func(sql string, lines ...string) *Transaction {
		txn := readTxn(t, store, lines...)
		txn.Reads = []Read{{SQL: sql}}
		return txn
	}
	skips, falls, loses := reader("id < 5", remove("f")), reader("id < 'abc'", remove("g")), reader("id > 5", remove("h"))
	if _, err := c.Commit(context.Background(), readTxn(t, store, add("a", ids(10, 20)))); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(context.Background(), skips); err != nil {
		t.Fatal(err)
	}
	for _, txn := range []*Transaction{falls, loses} {
		if _, err := c.Commit(context.Background(), txn); err == nil {
			t.Fatal("no conflict")
		}
	}
	for name, tt := range map[string]struct{ got, want int64 }{
		"checks":      {counters.Checks.Load(), 4}, // before and after the wait
		"conflicts":   {counters.Conflicts.Load(), 2},
		"appends":     {counters.OfKind(ConcurrentAppend), 2},
		"fallbacks":   {counters.Fallbacks.Load(), 1},
		"noConflicts": {counters.NoConflicts.Load(), 1},
		"skipped":     {counters.SkippedByStats.Load(), 2},
		"attempts":    {counters.Attempts.Load(), 5},
		"members":     {counters.Members.Load(), 2},
		"commits":     {counters.Commits.Load(), 2},
		"failed":      {counters.Failed.Load(), 2},
		"unknown":     {counters.Unknown.Load(), 0},
		"passed":      {counters.VersionsPassed.Load(), 1},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %d, want %d", name, tt.got, tt.want)
		}
	}
	for _, says := range []string{
		"level=WARN msg=\"data skipping failed, falling back to partitions\"", "class=CAST_INVALID_INPUT",
		"level=INFO msg=\"no conflict, by data skipping\"", "filesSkipped=1", "level=WARN msg=conflict", "kind=ConcurrentAppendException reason=RANGES_OVERLAP",
		"level=INFO msg=committed", "level=DEBUG msg=\"commit attempt\"", "level=DEBUG msg=\"waiting before the next attempt\"", "level=WARN msg=\"not committed\"",
	} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("the log lacks %s:\n%s", says, out.String())
		}
	}
}
