package conflict

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
)

// GroupOptions say how transactions of one process are committed together. The zero GroupOptions works.
type GroupOptions struct {
	CommitOptions

	// MaxDelay is how long a group of appends waits for more of them; 0 means not at all: those that arrive while a commit
	// is being written form the next group. Clock measures it.
	MaxDelay   time.Duration
	MaxMembers int // of a group; 0 means 1000
	MaxBytes   int // of a group's commit, as long as it has more than one member; 0 means 8 MiB
}

// ErrClosed is returned by a [GroupCommitter] that has been closed.
var ErrClosed = errors.New("conflict: the committer is closed")

// maxRemembered bounds how many bytes of a GroupCommitter's own commits it remembers.
const maxRemembered = 32 << 20

// A GroupCommitter commits the transactions of one process one after the other, so that they don't race with each other:
// many goroutines call Commit, blind appends that wait together become one version, every other transaction has a version of
// its own. They are served in the order in which they came. Each is checked against those before it, in memory, and against
// other writers as by a [Committer].
//
//	Commit ─► prepared by its caller ─► queue ─► append, append, append ─► one version
//	                                             DELETE                 ─► the next one
//	                                             append, …
//
// A member that is invalid or in conflict does not sink the others of its group. A caller who leaves early takes its
// transaction out of the queue; if that is being written just then, the outcome is unknown to it.
type GroupCommitter struct {
	c *Committer
	o GroupOptions

	mu      sync.Mutex
	queue   []*member
	arrival chan struct{} // closed and made anew when something joins the queue
	busy    bool          // a goroutine is serving the queue
	closed  bool
	idle    *sync.Cond

	// Of the goroutine that serves the queue:
	own      []*winner // this committer's newest commits, of consecutive versions
	ownBytes int64
}

// NewGroupCommitter is [NewCommitter] for a group committer. The caller closes it.
func NewGroupCommitter(ctx context.Context, log *deltalog.Log, o GroupOptions) (*GroupCommitter, error) {
	if o.MaxMembers == 0 {
		o.MaxMembers = 1000
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 8 << 20
	}
	if o.MaxMembers < 0 || o.MaxBytes < 0 || o.MaxDelay < 0 {
		return nil, errors.New("conflict: a negative limit of groups")
	}
	c, err := NewCommitter(ctx, log, o.CommitOptions)
	if err != nil {
		return nil, err
	}
	g := &GroupCommitter{c: c, o: o, arrival: make(chan struct{})}
	g.idle = sync.NewCond(&g.mu)
	return g, nil
}

// Close waits until every transaction in the queue has its answer and refuses new ones.
func (g *GroupCommitter) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for g.busy {
		g.idle.Wait()
	}
	for _, w := range g.own {
		w.release()
	}
	g.own = nil
}

// Commit is [Committer.Commit]. When ctx ends while the transaction is being written, the error is an
// [*OutcomeUnknownError]; before that nothing is written.
func (g *GroupCommitter) Commit(ctx context.Context, txn *Transaction) (Committed, error) {
	m, err := g.c.prepare(ctx, txn)
	if err != nil {
		return Committed{}, err
	}
	m.ticket = &ticket{ctx: ctx, done: make(chan struct{}), bytes: len(encode(m.candidate))}
	if err := g.join(m); err != nil {
		return Committed{}, err
	}
	select {
	case <-m.ticket.done:
	case <-ctx.Done():
		if err, left := m.ticket.leave(); left {
			g.withdraw(m)
			return Committed{}, err
		}
	}
	return m.committed, m.err
}

// A ticket is what a caller and the unit that its transaction is in agree by.
type ticket struct {
	ctx   context.Context
	done  chan struct{} // closed when the member's answer is there
	bytes int           // of the member's own commit

	mu      sync.Mutex
	left    bool
	boarded *unit // writing, or about to; nil before
	version int64 // that it writes
}

// board says that the member is about to be written. It is false when the caller has left.
func (t *ticket) board(u *unit, version int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left {
		return false
	}
	t.boarded, t.version = u, version
	return true
}

// arrive hands the answer to the caller, if it is still there.
func (t *ticket) arrive() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.done)
}

// leave ends the caller's wait, unless the answer has come. A member that was not being written never will be.
func (t *ticket) leave() (err error, left bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.done:
		return nil, false
	default:
	}
	t.left = true
	if t.boarded != nil {
		return &OutcomeUnknownError{Version: t.version, TxnID: t.boarded.id, Err: t.ctx.Err()}, true
	}
	return notCommitted(t.ctx.Err()), true
}

func (g *GroupCommitter) join(m *member) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	g.queue = append(g.queue, m)
	close(g.arrival)
	g.arrival = make(chan struct{})
	if !g.busy {
		g.busy = true
		go g.serve()
	}
	return nil
}

func (g *GroupCommitter) withdraw(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = slices.DeleteFunc(g.queue, func(o *member) bool { return o == m })
}

// serve answers the queue until it is empty. Nobody's patience but the committer's own options ends what it does: a unit
// belongs to many callers.
func (g *GroupCommitter) serve() {
	ctx := context.Background()
	for {
		members := g.take()
		if members == nil {
			return
		}
		id := members[0].candidate.info.TxnID()
		if len(members) > 1 {
			id = g.c.o.NewID()
			for _, m := range members {
				m.candidate.ids = append(m.candidate.ids, id)
			}
		}
		u := g.c.unit(id, members...)
		u.before = func(ctx context.Context) { g.align(ctx, u) }
		u.committed = g.remember
		u.commit(ctx)
	}
}

// take takes the next unit from the queue: a transaction that must be alone, or a run of appends. It is nil when there is
// none, and nobody serves the queue then.
func (g *GroupCommitter) take() (members []*member) {
	var f folding
	var deadline <-chan struct{}
	for {
		g.mu.Lock()
		for len(g.queue) > 0 && len(members) < g.o.MaxMembers && (len(members) == 0 || f.takes(g.queue[0], g.o.MaxBytes)) {
			m := g.queue[0]
			g.queue = g.queue[1:]
			f.add(m)
			members = append(members, m)
			if !foldable(m) {
				break
			}
		}
		if len(members) == 0 {
			g.busy = false
			g.idle.Broadcast()
			g.mu.Unlock()
			return nil
		}
		full := len(g.queue) > 0 || len(members) == g.o.MaxMembers || !foldable(members[0])
		arrival := g.arrival
		g.mu.Unlock()
		if full || g.o.MaxDelay == 0 {
			return members
		}
		if deadline == nil {
			ctx, cancel := context.WithCancel(context.Background())
			passed := make(chan struct{})
			go func() {
				defer close(passed)
				_ = g.c.o.Clock.Sleep(ctx, g.o.MaxDelay)
			}()
			defer func() { cancel(); <-passed }()
			deadline = passed
		}
		select {
		case <-arrival:
		case <-deadline:
			return members
		}
	}
}

// foldable reports whether a transaction may share a version with others: a blind append that changes nothing else.
func foldable(m *member) bool {
	return m.candidate.blind && !slices.ContainsFunc(m.candidate.actions, func(a action.Action) bool {
		switch a := a.(type) {
		case *action.Add, *action.Txn:
			return false
		case *action.DomainMetadata:
			return a.Domain != rowTrackingDomain
		}
		return true
	})
}

// A folding knows what the members of a group have so far.
type folding struct {
	paths, appIDs map[string]bool
	bytes         int
}

// takes reports whether a member may join the group without doing what one commit must not, or missing what a member before
// it did.
func (f *folding) takes(m *member, maxBytes int) bool {
	if !foldable(m) || f.bytes+m.ticket.bytes > maxBytes {
		return false
	}
	if slices.ContainsFunc(m.candidate.appIDs, func(id string) bool { return f.appIDs[id] }) {
		return false
	}
	return !slices.ContainsFunc(m.candidate.actions, func(a action.Action) bool {
		switch a := a.(type) {
		case *action.Add:
			return f.paths[action.CanonicalPath(a.Path)]
		case *action.Txn:
			return f.appIDs[a.AppID]
		}
		return false
	})
}

func (f *folding) add(m *member) {
	if f.paths == nil {
		f.paths, f.appIDs = map[string]bool{}, map[string]bool{}
	}
	f.bytes += m.ticket.bytes
	for _, a := range m.candidate.actions {
		switch a := a.(type) {
		case *action.Add:
			f.paths[action.CanonicalPath(a.Path)] = true
		case *action.Txn:
			f.appIDs[a.AppID] = true
		}
	}
}

// align brings members that read different versions to the same next one, past all that this committer knows of.
func (g *GroupCommitter) align(ctx context.Context, u *unit) {
	from, to := u.members[0].candidate.next, u.members[0].candidate.next
	for _, m := range u.members {
		from, to = min(from, m.candidate.next), max(to, m.candidate.next)
	}
	if n := len(g.own); n > 0 {
		to = max(to, g.own[n-1].Version+1)
	}
	if from == to {
		return
	}
	var err error
	if len(g.own) > 0 && g.own[0].Version <= from && g.own[len(g.own)-1].Version == to-1 {
		err = u.follow(ctx, from, g.remembered(from))
	} else {
		err = u.catchUp(ctx)
	}
	for err != nil && len(u.members) > 0 {
		if !passing(err) {
			u.refuse(err)
			return
		}
		if gaveUp := u.pause(ctx, err); gaveUp != nil {
			u.refuse(gaveUp)
			return
		}
		err = u.catchUp(ctx)
	}
}

// remembered yields the committer's own commits from a version on.
func (g *GroupCommitter) remembered(from int64) iter.Seq2[*winner, error] {
	return func(yield func(*winner, error) bool) {
		for _, w := range g.own[from-g.own[0].Version:] {
			w.retain()
			if !yield(w, nil) {
				return
			}
		}
	}
}

// remember keeps a commit that this committer wrote, so that the transactions after it need not read it.
func (g *GroupCommitter) remember(version int64, data []byte) {
	entry := logstore.Entry{Name: deltalog.CommitName(version), Size: int64(len(data)), ModTime: g.c.o.Clock.Now()}
	commit, err := deltalog.ParseCommit(version, entry, data)
	if n := len(g.own); err != nil || n > 0 && g.own[n-1].Version != version-1 {
		g.forget(n) // others committed in between: whoever needs those reads them
	}
	if err != nil {
		return
	}
	g.own = append(g.own, newWinner(commit))
	g.ownBytes += entry.Size
	old := 0
	for bytes := g.ownBytes; bytes > maxRemembered; old++ {
		bytes -= g.own[old].Entry.Size
	}
	g.forget(old)
}

// forget drops the oldest n commits.
func (g *GroupCommitter) forget(n int) {
	for _, w := range g.own[:n] {
		g.ownBytes -= w.Entry.Size
		w.release()
	}
	g.own = slices.Delete(g.own, 0, n)
}

// foldMembers makes one transaction of blind appends that are all rebased to the same version.
func foldMembers(id string, members []*member) (*candidate, error) {
	newest := members[0].candidate // its view of the table is as good as any, but the last one read knows most
	for _, m := range members {
		if m.candidate.txn.ReadVersion > newest.txn.ReadVersion {
			newest = m.candidate
		}
	}
	t := *newest
	t.actions, t.info = nil, &action.CommitInfo{}
	var ids []string
	for _, m := range members {
		t.mark = max(t.mark, m.candidate.mark)
		ids = append(ids, m.candidate.ids[0])
		for _, a := range m.candidate.actions {
			if d, ok := a.(*action.DomainMetadata); !ok || d.Domain != rowTrackingDomain {
				t.actions = append(t.actions, a)
			}
		}
	}
	describeGroup(t.info, id, ids, members)
	// Each member was given row ids as if it were alone. What has numRecords once has it again.
	after, err := t.assignRowIDs(t.mark)
	if after != noMark {
		t.setMark(after)
	}
	return &t, err
}

// describeGroup writes the commitInfo of a group: what all members agree on, and who they are.
func describeGroup(info *action.CommitInfo, id string, ids []string, members []*member) {
	first := members[0].candidate.info
	for _, f := range first.Fields {
		if !slices.ContainsFunc(members, func(m *member) bool { return string(m.candidate.info.Get(f.Name)) != string(f.Value) }) {
			info.Set(f.Name, f.Value)
		}
	}
	latest := func(name string, get func(*action.CommitInfo) *int64, pick func(a, b int64) int64) {
		var value *int64
		for _, m := range members {
			if v := get(m.candidate.info); v != nil && (value == nil || pick(*v, *value) == *v) {
				value = v
			}
		}
		if value != nil {
			info.SetInt(name, *value)
		}
	}
	latest("timestamp", (*action.CommitInfo).Timestamp, func(a, b int64) int64 { return max(a, b) })
	latest("inCommitTimestamp", (*action.CommitInfo).InCommitTimestamp, func(a, b int64) int64 { return max(a, b) })
	latest("readVersion", (*action.CommitInfo).ReadVersion, func(a, b int64) int64 { return min(a, b) })
	if info.Operation() == "" {
		info.SetString("operation", "WRITE")
	}
	if slices.ContainsFunc(members, func(m *member) bool { return m.candidate.info.Tags()[rowTrackingPreservedTag] == "false" }) {
		setTag(info, rowTrackingPreservedTag, "false")
	}
	info.SetString("txnId", id)
	list, _ := json.Marshal(ids) // strings marshal
	info.Set(membersKey, list)
}
