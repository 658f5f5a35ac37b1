package conflict

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// An Observer is told what checks and commits do. Observe is called by many goroutines at once and must not block. What it
// is told of a check against a winner it is told when that check is over.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// An Event is one of the event types of this package. More may be added; ignore what you don't know.
type Event interface{ event() }

// Fallback says that skipping failed against a winner, so that the answer of mode Off was taken. There is one for each such
// winner.
type Fallback struct {
	TxnID   string
	Winner  int64
	Class   string // of the failure: Spark's error class where there is one, otherwise a Go type
	Message string
}

// NoConflict says that statistics (or rows) removed a conflict that mode Off would have seen, and that no other check against
// this winner found one.
type NoConflict struct {
	TxnID           string
	Winner          int64
	FilesConsidered int64 // added by the winner and counted at the isolation level
	FilesSkipped    int64 // of these, by statistics or rows: some read may touch their partition
	Tier            Mode
}

// Judged says what the check against one winner looked at, whatever it found.
type Judged struct {
	TxnID         string
	Winner        WinnerInfo
	Adds, Removes int    // file actions of the winner
	Counted       bool   // its added files count at the transaction's isolation level
	Settled       int    // of its file actions, those that go together with the transaction by what is in the files
	Counts        Counts // of this winner alone
	Err           error  // nil if the transaction passed; a [*Conflict] if it may not commit
}

// Checked says how the check of a transaction ended.
type Checked struct {
	TxnID    string
	From, To int64 // the winners; To < From for none
	Outcome  Outcome
	Conflict *Conflict // if Outcome is Conflicting
	Err      error     // if Outcome is Undetermined
	Counts   Counts
	Reading  time.Duration // waiting for winners to be read and decoded
	Duration time.Duration
}

// Attempted says how an attempt to write a commit ended.
type Attempted struct {
	TxnID   string
	Version int64
	Attempt int // counted from 1
	// Err is nil if the version was written, matches [logstore.ErrExists] if it was taken, [logstore.ErrOutcomeUnknown] if
	// nobody knows.
	Err      error
	Members  int           // transactions in the commit
	Duration time.Duration // of the write
}

// Waited says that a committer slept before its next attempt.
type Waited struct {
	TxnID    string
	Attempt  int // the one that follows
	Duration time.Duration
}

// Finished says how a transaction ended that was to be committed.
type Finished struct {
	TxnID    string
	Version  int64 // if Err is nil
	Err      error
	Attempts int
	Passed   int64 // versions that others took meanwhile
	Duration time.Duration
	Slept    time.Duration // of it
}

func (Fallback) event()   {}
func (NoConflict) event() {}
func (Judged) event()     {}
func (Checked) event()    {}
func (Attempted) event()  {}
func (Waited) event()     {}
func (Finished) event()   {}

// Observers combines several observers.
func Observers(list ...Observer) Observer { return observers(list) }

type observers []Observer

func (o observers) Observe(ctx context.Context, e Event) {
	for _, one := range o {
		one.Observe(ctx, e)
	}
}

// Counters are an [Observer] that counts. The zero value is ready; read the fields at any time.
type Counters struct {
	Checks, Conflicts, Undetermined     atomic.Int64
	Fallbacks, NoConflicts              atomic.Int64
	Winners, FilesConsidered            atomic.Int64
	SkippedByPartition, SkippedByStats  atomic.Int64
	SkippedByRows, FilesRead, RowsRead  atomic.Int64
	BytesDecoded                        atomic.Int64
	CheckNanos, ReadNanos               atomic.Int64
	Attempts, Commits, Unknown, Failed  atomic.Int64
	Members, VersionsPassed, SleepNanos atomic.Int64

	kinds [len(kinds)]atomic.Int64
}

// OfKind returns the number of conflicts of a kind.
func (c *Counters) OfKind(k Kind) int64 { return c.kinds[k].Load() }

// Observe implements [Observer].
func (c *Counters) Observe(_ context.Context, e Event) {
	switch e := e.(type) {
	case Fallback:
		c.Fallbacks.Add(1)
	case NoConflict:
		c.NoConflicts.Add(1)
	case Checked:
		c.Checks.Add(1)
		c.Winners.Add(e.Counts.Winners)
		c.FilesConsidered.Add(e.Counts.FilesConsidered)
		c.SkippedByPartition.Add(e.Counts.SkippedByPartition)
		c.SkippedByStats.Add(e.Counts.SkippedByStats)
		c.SkippedByRows.Add(e.Counts.SkippedByRows)
		c.FilesRead.Add(e.Counts.FilesRead)
		c.RowsRead.Add(e.Counts.RowsRead)
		c.BytesDecoded.Add(e.Counts.BytesDecoded)
		c.CheckNanos.Add(int64(e.Duration))
		c.ReadNanos.Add(int64(e.Reading))
		switch e.Outcome {
		case Conflicting:
			c.Conflicts.Add(1)
			c.kinds[e.Conflict.Kind].Add(1)
		case Undetermined:
			c.Undetermined.Add(1)
		}
	case Attempted:
		c.Attempts.Add(1)
		if e.Err == nil {
			c.Members.Add(int64(e.Members))
		}
	case Waited:
		c.SleepNanos.Add(int64(e.Duration))
	case Finished:
		c.VersionsPassed.Add(e.Passed)
		switch {
		case e.Err == nil:
			c.Commits.Add(1)
		case errors.Is(e.Err, ErrOutcomeUnknown):
			c.Unknown.Add(1)
		default:
			c.Failed.Add(1)
		}
	}
}

// Log returns an [Observer] that writes events to a logger: what a person may have to act on as warnings, what ends a
// transaction as information, and the rest as debugging.
func Log(l *slog.Logger) Observer { return logger{l} }

type logger struct{ *slog.Logger }

func (l logger) Observe(ctx context.Context, e Event) {
	switch e := e.(type) {
	case Fallback:
		l.WarnContext(ctx, "data skipping failed, falling back to partitions", "txnId", e.TxnID, "winner", e.Winner, "class", e.Class, "message", e.Message)
	case NoConflict:
		l.InfoContext(ctx, "no conflict, by data skipping", "txnId", e.TxnID, "winner", e.Winner, "tier", e.Tier.String(),
			"filesConsidered", e.FilesConsidered, "filesSkipped", e.FilesSkipped)
	case Checked:
		l.checked(ctx, e)
	case Attempted:
		l.DebugContext(ctx, "commit attempt", "txnId", e.TxnID, "version", e.Version, "attempt", e.Attempt, "members", e.Members,
			"duration", e.Duration, "err", e.Err)
	case Waited:
		l.DebugContext(ctx, "waiting before the next attempt", "txnId", e.TxnID, "attempt", e.Attempt, "duration", e.Duration)
	case Finished:
		attrs := []any{"txnId", e.TxnID, "attempts", e.Attempts, "passed", e.Passed, "duration", e.Duration, "slept", e.Slept}
		if e.Err != nil {
			l.WarnContext(ctx, "not committed", append(attrs, "err", e.Err)...)
			return
		}
		l.InfoContext(ctx, "committed", append(attrs, "version", e.Version)...)
	}
}

func (l logger) checked(ctx context.Context, e Checked) {
	attrs := []any{
		"txnId", e.TxnID, "outcome", e.Outcome.String(), "from", e.From, "to", e.To, "winners", e.Counts.Winners,
		"filesConsidered", e.Counts.FilesConsidered, "skippedByPartition", e.Counts.SkippedByPartition,
		"skippedByStats", e.Counts.SkippedByStats, "skippedByRows", e.Counts.SkippedByRows, "filesRead", e.Counts.FilesRead,
		"rowsRead", e.Counts.RowsRead, "bytesDecoded", e.Counts.BytesDecoded, "reading", e.Reading, "duration", e.Duration,
	}
	switch {
	case e.Conflict != nil:
		f := e.Conflict
		l.WarnContext(ctx, "conflict", append(attrs, "kind", f.Kind.Exception(), "reason", string(f.Reason), "winner", f.Winner.Version,
			"operation", f.Winner.Operation, "engine", f.Winner.Engine, "path", f.Path, "predicate", f.Predicate)...)
	case e.Err != nil:
		l.WarnContext(ctx, "check without an answer", append(attrs, "err", e.Err)...)
	default:
		l.DebugContext(ctx, "checked", attrs...)
	}
}
