package conflict

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/semaphore"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/internal/ordered"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/rows"
)

// Options say how transactions are checked. The zero Options works and decides as Delta does.
type Options struct {
	Mode Mode

	// What follows looks below whole files, each for itself. Each is off by default, as in Delta.

	// RemovedRows: a file that the transaction read and a winner removed, or marked rows in, is no conflict when no row that
	// disappeared makes a read predicate TRUE: the transaction would have read the same without it. It asks for mode Exact,
	// and for predicates that tell what was read: with none, with a whole-table read, with something that is not evaluated
	// in them, and for a file that none of them may match, the conflict stays. So it does for a file that the transaction
	// itself removes, marks or adds again: both sides would carry its rows on.
	RemovedRows bool
	// RowLevel: two transactions that marked different rows of one file by deletion vectors both commit: the loser's vector
	// becomes the union of both. It takes that both vectors only grew and that no row which the winner marked makes a read
	// predicate of the loser TRUE. The merged vectors are files to be written before the commit, see Result.Files.
	RowLevel bool
	// Rearranged: a winner that only moved rows from file to file (OPTIMIZE, REORG, or a compaction that is recorded by
	// RecordCompaction; all with dataChange false) is nothing to a transaction that only appends new files, or that has
	// read and removes none of its files.
	Rearranged bool
	// Compaction: a compaction and a transaction that deletes or changes rows of its sources both commit, whichever comes
	// first, when the compaction kept the rows' order and recorded its sources (RecordCompaction): what was taken out of a
	// source is taken out of the compacted file.
	Compaction bool

	// Table names the table in messages and in the cache.
	Table string
	// Features are the table features that the writer honours; nil means KnownFeatures. A winner that makes the table
	// depend on another one is a conflict.
	Features []string
	// Cache keeps winners from one check to the next; nil means a cache of 64 MiB of the checker's own.
	Cache    *WinnerCache
	Observer Observer // nil means none
	Workers  int      // batches evaluated, or files read, at once; 0 means GOMAXPROCS
	// ReadAhead is how many winners are read before their turn; 0 means 16, for where commits are far away.
	ReadAhead int
	Memory    memory.Allocator // makes every Arrow buffer; nil means memory.DefaultAllocator
	// MaxStatsBytes bounds one file's statistics; 0 means 1 MiB. Longer ones count as missing.
	MaxStatsBytes int
	// PartitionZone is where partition values of timestamps that name no zone were written; nil means UTC, and
	// [colstats.UnknownZone] that they prove nothing.
	PartitionZone *time.Location

	// Roots are folders outside the table whose files its actions may name, to be read in mode Exact and by what looks below
	// whole files. Without them a path that leads out of the table is never opened.
	Roots []rows.Root
	// MaxMemoryBytes bounds the commits that one check holds at a time beside the cache, with what is decoded of them, about; 0
	// means 4 GiB. A commit that needs more by itself is an error that matches [action.ErrLimit].
	MaxMemoryBytes int64
	// Limits bound what data files and deletion vectors can cost. A file that exceeds one is one that cannot be read.
	Limits rows.Limits
}

// Newest as the last winner means all there are.
const Newest = math.MaxInt64

// A Checker decides whether transactions on one table may commit after others. Many goroutines may use it at once.
type Checker struct {
	log      *deltalog.Log
	o        Options
	features map[string]bool
	partial  bool // as CommitOptions.PartialCompaction
}

// NewChecker returns a checker of transactions on the table with the given log.
func NewChecker(log *deltalog.Log, o Options) (*Checker, error) {
	if o.Mode > Exact {
		return nil, fmt.Errorf("%w: %s", ErrUnsupportedMode, o.Mode)
	}
	if o.RemovedRows && o.Mode != Exact {
		return nil, fmt.Errorf("conflict: RemovedRows reads rows, which mode %s does not: use it with mode %s", o.Mode, Exact)
	}
	if o.Workers < 0 || o.ReadAhead < 0 || o.MaxStatsBytes < 0 {
		return nil, fmt.Errorf("conflict: negative option: %d workers, %d winners ahead, %d bytes of statistics", o.Workers, o.ReadAhead, o.MaxStatsBytes)
	}
	if o.MaxMemoryBytes < 0 {
		return nil, fmt.Errorf("conflict: negative option: %d bytes of memory", o.MaxMemoryBytes)
	}
	if o.MaxMemoryBytes == 0 {
		o.MaxMemoryBytes = 4 << 30
	}
	if o.ReadAhead == 0 {
		o.ReadAhead = 16
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Features == nil {
		o.Features = KnownFeatures()
	}
	if o.Cache == nil {
		o.Cache = NewWinnerCache(0)
	}
	c := &Checker{log: log, o: o, features: map[string]bool{}}
	for _, name := range o.Features {
		c.features[name] = true
	}
	return c, nil
}

// Check checks a transaction against the commits after its read version, up to version last. An error means that there is
// no answer; whoever cannot do without takes it for a conflict.
func (c *Checker) Check(ctx context.Context, txn *Transaction, last int64) (Result, error) {
	r := c.CheckMany(ctx, []*Transaction{txn}, last)[0]
	return r, r.Err
}

// CheckMany is [Checker.Check] for several transactions, each against the winners alone and not against the others, in one
// pass over the winners. The results are in the order of the transactions.
func (c *Checker) CheckMany(ctx context.Context, txns []*Transaction, last int64) []Result {
	start := time.Now()
	results := make([]Result, len(txns))
	runs := make([]*run, 0, len(txns))
	from := int64(math.MaxInt64)
	for i, txn := range txns {
		t, err := c.newCandidate(txn)
		if err != nil {
			results[i] = Result{Err: err}
			continue
		}
		runs = append(runs, &run{candidate: t, result: &results[i]})
		from = min(from, t.next)
	}
	if len(runs) == 0 {
		return results
	}
	var files []deltalog.CommitFile
	var err error
	c.labelled(ctx, "list", func(ctx context.Context) { files, err = c.since(ctx, from-1) })
	files = slices.DeleteFunc(files, func(f deltalog.CommitFile) bool { return f.Version > last })
	var reading time.Duration
	c.labelled(ctx, "check", func(ctx context.Context) { reading = c.follow(ctx, runs, c.winners(ctx, runs, files)) })
	for _, r := range runs {
		if r.err == nil {
			r.err = err // of the listing
		}
		*r.result = r.candidate.result(r.err)
		c.observe(ctx, r.checked(*r.result, r.candidate.txn.ReadVersion+1, reading, time.Since(start)))
	}
	return results
}

// labelled runs a phase under profiler labels, which the goroutines that it starts inherit: once a check, not once a file.
func (c *Checker) labelled(ctx context.Context, phase string, fn func(context.Context)) {
	pprof.Do(ctx, pprof.Labels("deltaskip.table", c.o.Table, "deltaskip.phase", phase), fn)
}

// since lists the commits after a version. A gap may come from listing while others commit, and is looked at again.
func (c *Checker) since(ctx context.Context, version int64) (files []deltalog.CommitFile, err error) {
	var gap *deltalog.GapError
	for range 3 {
		if files, err = c.log.Since(ctx, version); !errors.As(err, &gap) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("conflict: listing the winners: %w", err)
	}
	return files, nil
}

// A run is a candidate on its way through the winners.
type run struct {
	candidate *candidate
	result    *Result // where the caller has its answer from
	err       error   // what ended it: a [*Conflict], or anything else
}

// checked tells an observer of the winners from a version on.
func (r *run) checked(result Result, from int64, reading, duration time.Duration) Checked {
	return Checked{
		TxnID: r.candidate.info.TxnID(), From: from, To: r.candidate.next - 1, Outcome: result.Outcome, Conflict: result.Conflict,
		Err: result.Err, Counts: result.Counts, Reading: reading, Duration: duration,
	}
}

// follow leads candidates through winners in version order, each from the version it wants to be. It returns the time that was
// spent waiting for winners.
func (c *Checker) follow(ctx context.Context, runs []*run, winners iter.Seq2[*winner, error]) (reading time.Duration) {
	waiting := time.Now()
	for w, err := range winners {
		reading += time.Since(waiting)
		if err == nil {
			c.step(ctx, runs, w)
			w.release()
		}
		alive := runs[:0:0]
		for _, r := range runs {
			if r.err == nil {
				r.err = err
			}
			if r.err == nil {
				alive = append(alive, r)
			}
		}
		if runs = alive; len(runs) == 0 {
			break
		}
		waiting = time.Now()
	}
	return reading
}

// winners yields commits with what the runs will ask of their files: those that are in the cache at once, the others read
// some ahead of their turn. Who gets a winner releases it.
func (c *Checker) winners(ctx context.Context, runs []*run, files []deltalog.CommitFile) iter.Seq2[*winner, error] {
	questions := make([]*question, len(runs)) // as of now: adopting metadata may change them
	for i, r := range runs {
		if len(files) > 0 {
			questions[i] = c.asks(r.candidate)
		}
	}
	each := func(w *winner, do func(q *question) bool) bool {
		for i, q := range questions {
			if q != nil && runs[i].candidate.countsAdds(w) && !do(q) {
				return false
			}
		}
		return true
	}
	read := func(ctx context.Context, f deltalog.CommitFile) (*winner, error) {
		w, err := c.o.Cache.winner(ctx, c.cacheTable(), f, func() (*deltalog.Commit, error) { return c.log.Commit(ctx, f.Version) })
		if err == nil {
			each(w, func(q *question) bool {
				// A failure is met again, and dealt with, when it is the winner's turn.
				_, _ = w.batches(ctx, q, c.colstats())
				return true
			})
		}
		return w, err
	}
	return func(yield func(*winner, error) bool) {
		rest := files
		for ; len(rest) > 0; rest = rest[1:] {
			w := c.o.Cache.present(c.cacheTable(), rest[0])
			if w == nil {
				break
			}
			if !each(w, w.hasDecoded) {
				w.release()
				break
			}
			if err := ctx.Err(); err != nil {
				w.release()
				yield(nil, err)
				return
			}
			if !yield(w, nil) {
				return
			}
		}
		held := semaphore.NewWeighted(c.o.MaxMemoryBytes)
		for w, err := range ordered.Map(ctx, c.o.ReadAhead, c.affordable(rest, held), read, (*winner).release) {
			if !yield(w, err) || err != nil {
				return
			}
			held.Release(heldBytes(rest[0].Entry)) // as it was acquired: the commit may say otherwise than the listing
			rest = rest[1:]
		}
	}
}

// affordable is a source of commits that waits with each until there is memory for it.
func (c *Checker) affordable(files []deltalog.CommitFile, held *semaphore.Weighted) func(context.Context) iter.Seq2[deltalog.CommitFile, error] {
	return func(ctx context.Context) iter.Seq2[deltalog.CommitFile, error] {
		return func(yield func(deltalog.CommitFile, error) bool) {
			for _, f := range files {
				var err error
				if n := heldBytes(f.Entry); n > c.o.MaxMemoryBytes { // it would be waited for in vain
					err = &action.LimitError{What: fmt.Sprintf("version %d", f.Version), Size: n, Unit: "bytes in memory", Max: c.o.MaxMemoryBytes, Option: "MaxMemoryBytes"}
				} else {
					err = held.Acquire(ctx, n)
				}
				if !yield(f, err) || err != nil {
					return
				}
			}
		}
	}
}

// heldBytes is about what a commit takes: its text, and as much again for what is decoded of it.
func heldBytes(e logstore.Entry) int64 { return 2 * max(e.Size, 0) }

// cacheTable tells the table apart from others in the cache.
func (c *Checker) cacheTable() any {
	if c.o.Table != "" {
		return c.o.Table
	}
	return c.log.Store()
}

// step checks every run against one winner, some at once.
func (c *Checker) step(ctx context.Context, runs []*run, w *winner) {
	if len(runs) == 1 {
		runs[0].err = c.against(ctx, runs[0].candidate, w)
		return
	}
	var group sync.WaitGroup
	next := make(chan *run)
	for range min(len(runs), c.o.Workers) {
		group.Go(func() {
			for r := range next {
				r.err = c.against(ctx, r.candidate, w)
			}
		})
	}
	for _, r := range runs {
		next <- r
	}
	close(next)
	group.Wait()
}

// The checks and rewritings of a winner, in Delta's order, around that of the files it added.
var (
	beforeFiles = []func(*candidate, *winner) error{
		checkProtocol, checkMetadata, checkAddedFeatures, checkDomains, rebaseDomains, checkTxn,
		rebaseBackfill, rebaseRowIDs, rebaseRowVersions, rebaseTypeWidening,
	}
	afterFiles = []func(*candidate, *winner) error{rebaseTimestamp}
)

// against checks the loser against one winner and rebases it. It returns a [*Conflict] or, where there is no answer, any
// other error.
func (c *Checker) against(ctx context.Context, t *candidate, w *winner) (err error) {
	if w.Version < t.next {
		return nil // of another transaction's range
	}
	if w.Version > t.next {
		return fmt.Errorf("conflict: version %d is missing from the log: the next winner is version %d", t.next, w.Version)
	}
	var settled *settlement
	if c.o.Observer != nil {
		before := t.counts
		defer func() {
			c.observe(ctx, Judged{
				TxnID: t.info.TxnID(), Winner: w.info(), Adds: w.NumAdds(), Removes: len(w.Removes), Counted: t.countsAdds(w),
				Settled: settled.files(), Counts: t.counts.since(before), Err: err,
			})
		}()
	}
	defer recoverTo(&err)
	if id, own := heldBy(w.Commit, t.ids); own {
		return &landedError{w.Version, id}
	}
	t.counts.Winners++
	t.counts.BytesDecoded += w.Entry.Size
	for _, check := range beforeFiles {
		if err := check(t, w); err != nil {
			return err
		}
	}
	if settled, err = c.settle(ctx, t, w); err != nil {
		return err
	}
	skipped, err := c.checkAddedFiles(ctx, t, w, settled)
	if err != nil {
		return err
	}
	if err := c.checkRemovedFiles(ctx, t, w, settled); err != nil {
		return err
	}
	for _, rebase := range settled.rebase {
		rebase()
	}
	for _, check := range afterFiles {
		if err := check(t, w); err != nil {
			return err
		}
	}
	t.next = w.Version + 1
	if skipped != nil {
		skipped.TxnID = t.info.TxnID()
		c.observe(ctx, *skipped)
	}
	return nil
}

// result makes the answer of a finished check: err is what ended it, if anything did.
func (c *candidate) result(err error) Result {
	r := Result{Counts: c.counts}
	if errors.As(err, &r.Conflict) {
		r.Outcome = Conflicting
		return r
	}
	if err == nil {
		err = c.pack()
	}
	if err == nil {
		err = c.checkInvariants()
	}
	if err != nil {
		r.Err = err
		return r
	}
	r.Outcome, r.Version, r.Actions, r.Files = Clear, c.next, append([]action.Action{c.info}, c.actions...), c.packed
	return r
}

func (c *Checker) observe(ctx context.Context, e Event) {
	if c.o.Observer != nil {
		c.o.Observer.Observe(ctx, e)
	}
}

// source is where the files that actions name are read from.
func (c *Checker) source() rows.Source {
	return rows.Source{Table: c.log.Store(), Roots: c.o.Roots, Limits: c.o.Limits}
}

func (c *Checker) colstats() colstats.Options {
	return colstats.Options{Allocator: c.o.Memory, MaxStatsBytes: c.o.MaxStatsBytes, Zone: c.o.PartitionZone}
}
