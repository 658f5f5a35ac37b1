package conflict

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
)

// CommitOptions say how transactions are committed. The zero CommitOptions works.
type CommitOptions struct {
	Options // of the checks

	// Retries is how often a transaction that reads is attempted again after its first attempt; 0 means 3, negative never.
	Retries int
	// AppendBudget is how long a blind append goes on trying, which has nothing to fear from others but the queue; 0 means
	// a minute, negative that it has Retries like the others.
	AppendBudget time.Duration
	// MinWait and MaxWait bound the ceiling below which the wait before an attempt is drawn (exponential backoff with full
	// jitter); 0 means 20 ms and 2 s.
	MinWait, MaxWait time.Duration
	// IgnoreWrittenAppIDs makes application ids (txn) that a transaction only writes no reason for a conflict, as in Delta.
	// Otherwise they count as read, for two runs of one source would both commit.
	IgnoreWrittenAppIDs bool
	// Engine is written to commitInfo where a transaction doesn't name one; empty means "deltaskip".
	Engine string
	// SkipProbe trusts the store to refuse the second creation of a name without trying it out.
	SkipProbe bool
	// PartialCompaction lets a compaction that lost some of its sources to winners commit the rest: the groups, each an added
	// file with its sources as recorded by [RecordCompaction], that the winners left alone. Metrics in commitInfo stay as
	// the caller gave them.
	PartialCompaction bool

	Clock  Clock          // nil means the machine's
	Random func() float64 // at least 0, below 1; many goroutines call it; nil means math/rand/v2
	NewID  func() string  // makes transaction ids; nil means random UUIDs
}

// A Clock is where a committer has its time from.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or with ctx.Err() when ctx ends before.
	Sleep(ctx context.Context, d time.Duration) error
}

type machineClock struct{}

func (machineClock) Now() time.Time { return time.Now() }

func (machineClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (o CommitOptions) withDefaults() (CommitOptions, error) {
	if o.Retries == 0 {
		o.Retries = 3
	}
	o.Retries = max(o.Retries, 0)
	if o.AppendBudget == 0 {
		o.AppendBudget = time.Minute
	}
	if o.MinWait == 0 {
		o.MinWait = 20 * time.Millisecond
	}
	if o.MaxWait == 0 {
		o.MaxWait = max(2*time.Second, o.MinWait)
	}
	if o.MinWait < 0 || o.MaxWait < o.MinWait {
		return o, fmt.Errorf("conflict: waits from %s to %s", o.MinWait, o.MaxWait)
	}
	if o.Engine == "" {
		o.Engine = "deltaskip"
	}
	if o.Clock == nil {
		o.Clock = machineClock{}
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	return o, nil
}

// A Committer commits transactions to one table. Many goroutines may use it at once, but each of them then races with the
// others: see [GroupCommitter].
type Committer struct {
	log     *deltalog.Log
	checker *Checker
	o       CommitOptions
}

// NewCommitter returns a committer to the table with the given log. Unless told not to it tries out whether the table's
// store refuses the second creation of a name, and fails with [logstore.ErrNotExclusive] where it doesn't. Writers that
// take turns by another scheme, such as a lock table, would not be seen.
func NewCommitter(ctx context.Context, log *deltalog.Log, o CommitOptions) (*Committer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	checker, err := NewChecker(log, o.Options)
	if err != nil {
		return nil, err
	}
	checker.partial = o.PartialCompaction
	if !o.SkipProbe {
		if err := logstore.Probe(ctx, log.Store(), deltalog.Dir); err != nil {
			return nil, fmt.Errorf("conflict: this store cannot be committed to: %w", err)
		}
	}
	return &Committer{log: log, checker: checker, o: o}, nil
}

// Committed says what became of a transaction that was committed.
type Committed struct {
	Version  int64
	TxnID    string // of the commit: of a group's, where the transaction is a member of one
	Attempts int
	Passed   int64         // versions that others took between the first attempt and this one
	Slept    time.Duration // between attempts
	Counts   Counts        // of the checks
}

// Commit commits a transaction exactly once: prepared for the version after the one it read, it is written if nobody has
// taken that version; otherwise it is checked against whoever did, rebased, and written as the version after the newest.
//
// The error is a [*Conflict], which is final for this transaction; a [*TransactionError]; a [*RetriesExhaustedError]; one
// that wraps ctx.Err() or comes from the store: nothing was written and nothing will be. Or it is an
// [*OutcomeUnknownError]: nobody knows.
//
// A commit's transaction id is that of its commitInfo, or a fresh one. A caller who commits a transaction of known id again,
// as it was and with the read version that it had, gets the version that it has already been committed as.
func (c *Committer) Commit(ctx context.Context, txn *Transaction) (Committed, error) {
	m, err := c.prepare(ctx, txn)
	if err != nil {
		return Committed{}, err
	}
	u := c.unit(m.candidate.info.TxnID(), m)
	u.commit(ctx)
	return m.committed, m.err
}

// A member is a transaction that is to be committed, alone or with others.
type member struct {
	run
	committed Committed // if err is nil
	ticket    *ticket   // of a caller who may leave early; nil where the caller runs the unit
}

// prepare makes a transaction ready for its first attempt.
func (c *Committer) prepare(ctx context.Context, txn *Transaction) (*member, error) {
	t, err := c.checker.newCandidate(txn)
	if err != nil {
		return nil, err
	}
	if err := refuseCatalogs(t); err != nil {
		return nil, err
	}
	c.describe(t)
	t.ids = []string{t.info.TxnID()}
	if !c.o.IgnoreWrittenAppIDs {
		t.appIDs = slices.Clone(t.appIDs)
		for _, a := range t.actions {
			if a, ok := a.(*action.Txn); ok {
				t.appIDs = append(t.appIDs, a.AppID)
			}
		}
	}
	if err := t.number(); err != nil {
		return nil, err
	}
	if err := c.stamp(ctx, t); err != nil {
		return nil, err
	}
	if err := t.checkInvariants(); err != nil {
		return nil, err
	}
	return &member{run: run{candidate: t}}, nil
}

// describe completes commitInfo with what every commit says.
func (c *Committer) describe(t *candidate) {
	info := t.info
	if info.Timestamp() == nil {
		info.SetInt("timestamp", c.o.Clock.Now().UnixMilli())
	}
	if info.Operation() == "" {
		info.SetString("operation", "WRITE")
	}
	if info.Get("operationParameters") == nil {
		info.Set("operationParameters", []byte("{}"))
	}
	if t.txn.ReadVersion >= 0 && info.ReadVersion() == nil {
		info.SetInt("readVersion", t.txn.ReadVersion)
	}
	info.SetString("isolationLevel", t.isolation.Level.String())
	info.SetBool("isBlindAppend", t.blind)
	if info.EngineInfo() == "" {
		info.SetString("engineInfo", c.o.Engine)
	}
	if info.TxnID() == "" {
		info.SetString("txnId", c.o.NewID())
	}
}

// number gives row ids and row commit versions to the files that need them, as a writer does before its first attempt.
func (t *candidate) number() error {
	before := t.mark
	after, err := t.assignRowIDs(before)
	if err == nil && after != noMark && after != before {
		t.setMark(after)
	}
	t.assignRowVersions(math.MinInt64, t.next) // the versions that the caller gave stay
	return err
}

// stamp gives an in-commit timestamp to a commit that needs one: after that of the version that was read.
func (c *Committer) stamp(ctx context.Context, t *candidate) error {
	if !enabled(t.metadata, propInCommitTimestamps) {
		return nil
	}
	stamp := c.o.Clock.Now().UnixMilli()
	if own := t.info.InCommitTimestamp(); own != nil {
		stamp = *own
	}
	read := t.txn.ReadTimestamp
	if read == nil && enabled(t.txn.Metadata, propInCommitTimestamps) {
		commit, err := c.log.Commit(ctx, t.txn.ReadVersion)
		switch {
		case err == nil:
			read = ptr(commit.Timestamp())
		case !errors.Is(err, logstore.ErrNotFound): // cleaned up, so it is long past
			return fmt.Errorf("conflict: reading the in-commit timestamp of version %d: %w", t.txn.ReadVersion, err)
		}
	}
	if read != nil {
		stamp = max(stamp, *read+1)
	}
	t.info.SetInt("inCommitTimestamp", stamp)
	t.recordEnablement(t.txn.Metadata, t.next, stamp)
	return nil
}

// refuseCatalogs refuses tables whose commits a catalog arbitrates: a file in the log is not a commit there.
func refuseCatalogs(t *candidate) error {
	for _, p := range []*action.Protocol{t.txn.Protocol, t.protocol} {
		for _, name := range []string{"catalogManaged", "catalogOwned-preview"} {
			if supports(p, name) {
				return fmt.Errorf("conflict: table feature %s: commit through the table's catalog: %w", name, deltalog.ErrCatalogManaged)
			}
		}
	}
	for _, m := range []*action.Metadata{t.txn.Metadata, t.metadata} {
		if m != nil && m.Configuration["delta.coordinatedCommits.commitCoordinator-preview"] != "" {
			return fmt.Errorf("conflict: coordinated commits: commit through the table's coordinator: %w", deltalog.ErrCatalogManaged)
		}
	}
	return nil
}

// A unit is what becomes one commit: one transaction, or several that are folded.
type unit struct {
	c       *Committer
	id      string // the commit's transaction id
	members []*member

	begun    time.Time
	first    int64 // the version that was tried first
	attempts int
	pauses   int
	slept    time.Duration
	ceiling  *backoff.ExponentialBackOff
	// open says that a write of version tried may have taken effect, or may still: no other version may be written before
	// it is known.
	open  bool
	late  bool // a write that is open may still take effect: that its version is not there yet doesn't settle it
	tried int64
	// Of deletion vectors: the files that this unit wrote, those that the write of version tried names, and whether some write
	// is known to have taken effect.
	written []string
	named   []deletionvector.PackedFile
	landed  bool
	// before is called first, and committed with the commit that was written, before the members are told; nil where there is
	// nothing to do.
	before    func(context.Context)
	committed func(version int64, data []byte)
}

func (c *Committer) unit(id string, members ...*member) *unit {
	ceiling := &backoff.ExponentialBackOff{InitialInterval: c.o.MinWait, Multiplier: 2, MaxInterval: c.o.MaxWait}
	ceiling.Reset()
	return &unit{c: c, id: id, members: members, begun: c.o.Clock.Now(), first: members[0].candidate.next, ceiling: ceiling}
}

// commit answers every member.
func (u *unit) commit(ctx context.Context) {
	defer u.sweep(ctx)
	defer func() {
		if err := recovered(recover()); err != nil {
			u.refuse(err)
		}
	}()
	if u.before != nil {
		u.before(ctx)
	}
	for {
		t, err := u.fold()
		if err != nil {
			u.refuse(err)
		}
		if len(u.members) == 0 {
			return
		}
		err = u.put(ctx, t)
		switch {
		case err == nil:
			for _, m := range slices.Clone(u.members) {
				u.succeed(ctx, m, t.next, u.id)
			}
			return
		case errors.Is(err, logstore.ErrOutcomeUnknown): // u.open
		case !errors.Is(err, logstore.ErrExists):
			u.refuse(err)
			return
		}
		// Whose is the version? "Exists" may be the answer to a library's own second try. Conflicts are found before the
		// wait; what came during the wait is looked at after it, so that the version is free when it is tried.
		failure := u.catchUp(ctx)
		for {
			if failure != nil && !passing(failure) {
				u.refuse(failure)
			}
			if len(u.members) == 0 {
				return
			}
			if failure != nil {
				err = failure
			}
			if gaveUp := u.pause(ctx, err); gaveUp != nil {
				u.refuse(gaveUp)
				return
			}
			if failure = u.catchUp(ctx); failure == nil {
				break
			}
		}
	}
}

// fold returns what is to be written: the only member, or all of them in one. Members whose callers have left are left out,
// unless a write that names them is still open.
func (u *unit) fold() (*candidate, error) {
	if !u.open {
		for _, m := range slices.Clone(u.members) {
			if m.ticket != nil && !m.ticket.board(u, m.candidate.next) {
				m.err = notCommitted(m.ticket.ctx.Err())
				u.answer(m.ticket.ctx, m)
			}
		}
	}
	switch len(u.members) {
	case 0:
		return nil, nil
	case 1:
		return u.members[0].candidate, nil
	}
	return foldMembers(u.id, u.members)
}

// put writes the unit's commit if its version is free.
func (u *unit) put(ctx context.Context, t *candidate) error {
	if err := refuseCatalogs(t); err != nil {
		return err
	}
	if err := t.pack(); err != nil {
		return err
	}
	if err := t.checkInvariants(); err != nil {
		return err
	}
	if err := u.writeVectors(ctx, t.packed); err != nil {
		return err
	}
	u.attempts++
	u.named = t.packed
	u.tried = t.next
	data := encode(t)
	start := u.c.o.Clock.Now()
	open := u.open
	u.open = true // until there is an answer
	err := u.c.log.Store().PutIfAbsent(ctx, deltalog.CommitName(t.next), data)
	u.late = open || errors.Is(err, logstore.ErrOutcomeUnknown)
	u.open = u.late || errors.Is(err, logstore.ErrExists) // until the log has been read: it may be the unit's own
	u.c.checker.observe(ctx, Attempted{
		TxnID: u.id, Version: t.next, Attempt: u.attempts, Err: err, Members: len(u.members), Duration: u.c.o.Clock.Now().Sub(start),
	})
	if err == nil && u.committed != nil {
		u.committed(t.next, data)
	}
	return err
}

// encode returns the text of a commit.
func encode(t *candidate) []byte {
	data := append(action.Append(nil, t.info), '\n')
	for _, a := range t.actions {
		data = append(action.Append(data, a), '\n')
	}
	return data
}

// catchUp checks the members against the commits that are there by now, the first of which may be the unit's own. Members
// that conflict are answered; the error is about reading.
func (u *unit) catchUp(ctx context.Context) error {
	from := u.members[0].candidate.next
	for _, m := range u.members {
		from = min(from, m.candidate.next)
	}
	files, err := u.c.checker.since(ctx, from-1)
	if err != nil {
		return err
	}
	err = u.follow(ctx, from, u.c.checker.winners(ctx, u.runs(), files))
	if err != nil && len(u.members) > 0 && u.members[0].candidate.next > from {
		u.ceiling.Reset() // one request failed, not the store: whoever is far behind would never catch up by long waits
	}
	return err
}

func (u *unit) runs() []*run {
	runs := make([]*run, len(u.members))
	for i, m := range u.members {
		runs[i] = &m.run
	}
	return runs
}

// follow checks the members against winners from a version on.
func (u *unit) follow(ctx context.Context, from int64, winners iter.Seq2[*winner, error]) error {
	start := u.c.o.Clock.Now()
	reading := u.c.checker.follow(ctx, u.runs(), winners)
	duration := u.c.o.Clock.Now().Sub(start)
	var failure error
	for _, m := range slices.Clone(u.members) {
		var landed *landedError
		if errors.As(m.err, &landed) {
			u.succeed(ctx, m, landed.version, landed.id)
			continue
		}
		u.c.checker.observe(ctx, m.checked(m.candidate.result(m.err), from, reading, duration))
		switch {
		case errors.Is(m.err, ErrConflict), errors.Is(m.err, ErrTransaction):
			u.open = u.open && m.candidate.next < u.tried // the winner in the way is not the unit's own, nor is any before it
			u.answer(ctx, m)
		case m.err != nil:
			failure, m.err = m.err, nil
		}
	}
	if len(u.members) > 0 && (u.members[0].candidate.next > u.tried || failure == nil && !u.late) {
		u.open = false // somebody else has the version, or nobody
	}
	return failure
}

// passing reports whether an error of reading the log may go away by itself.
func passing(err error) bool {
	for _, lasting := range []error{
		context.Canceled, context.DeadlineExceeded, action.ErrCorrupt, action.ErrLimit, logstore.ErrTooLarge, logstore.ErrInvalidName, deltalog.ErrCatalogManaged,
	} {
		if errors.Is(err, lasting) {
			return false
		}
	}
	var gap *deltalog.GapError // a listing that raced with new commits
	var broken *PanicError
	return errors.As(err, &gap) || !errors.Is(err, deltalog.ErrCorrupt) && !errors.As(err, &broken)
}

// pause sleeps before the next attempt, or says why there is none.
func (u *unit) pause(ctx context.Context, cause error) error {
	elapsed := u.c.o.Clock.Now().Sub(u.begun)
	u.pauses++
	patient := u.c.o.AppendBudget > 0 && u.blind()
	if patient && elapsed >= u.c.o.AppendBudget || !patient && u.pauses > u.c.o.Retries {
		return &RetriesExhaustedError{Attempts: u.attempts, Elapsed: elapsed, Version: u.members[0].candidate.next, Err: cause}
	}
	d := time.Duration(u.c.o.Random() * float64(u.ceiling.NextBackOff()))
	if patient {
		d = min(d, u.c.o.AppendBudget-elapsed)
	}
	u.c.checker.observe(ctx, Waited{TxnID: u.id, Attempt: u.attempts + 1, Duration: d})
	u.slept += d
	return u.c.o.Clock.Sleep(ctx, d)
}

func (u *unit) blind() bool {
	return !slices.ContainsFunc(u.members, func(m *member) bool { return !m.candidate.blind })
}

// refuse answers every member with an error.
func (u *unit) refuse(err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = notCommitted(err)
	}
	if u.open {
		err = &OutcomeUnknownError{Version: u.tried, TxnID: u.id, Err: err}
	}
	for _, m := range slices.Clone(u.members) {
		m.err = err
		u.answer(context.Background(), m)
	}
}

func notCommitted(err error) error { return fmt.Errorf("conflict: not committed: %w", err) }

// succeed answers a member that is committed as version, by the commit of the given transaction id.
func (u *unit) succeed(ctx context.Context, m *member, version int64, id string) {
	m.err = nil
	u.landed = true
	m.committed = Committed{
		Version: version, TxnID: id, Attempts: u.attempts, Passed: max(version-u.first, 0), Slept: u.slept, Counts: m.candidate.counts,
	}
	u.answer(ctx, m)
}

// answer takes a member, whose answer is there, out of the unit.
func (u *unit) answer(ctx context.Context, m *member) {
	u.members = slices.DeleteFunc(slices.Clone(u.members), func(o *member) bool { return o == m })
	u.c.checker.observe(ctx, Finished{
		TxnID: m.candidate.info.TxnID(), Version: m.committed.Version, Err: m.err, Attempts: u.attempts, Passed: m.committed.Passed,
		Duration: u.c.o.Clock.Now().Sub(u.begun), Slept: u.slept,
	})
	if m.ticket != nil {
		m.ticket.arrive()
	}
}

// A Fate is what became of a transaction whose outcome was unknown.
type Fate uint8

// The fates. The zero Fate says nothing.
const (
	StillOpen Fate = iota // its version is not there: the write may still take effect
	Landed                // it is committed
	Lost                  // another transaction has its version: it is not committed and never will be
)

// Resolve tells what became of the transaction that an [OutcomeUnknownError] is about.
func (c *Committer) Resolve(ctx context.Context, e *OutcomeUnknownError) (Fate, error) {
	commit, err := c.log.Commit(ctx, e.Version)
	switch {
	case errors.Is(err, logstore.ErrNotFound):
		return StillOpen, nil
	case err != nil:
		return StillOpen, err
	}
	if Holds(commit, e.TxnID) {
		return Landed, nil
	}
	return Lost, nil
}
