package simulator

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"path"
	"slices"
	"time"

	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// A stage is where writers take turns: one runs until it pauses, and then the dice choose who goes on. Nothing else decides
// in which order they reach the log, so a seed tells all of it.
type stage struct {
	d    dice
	now  time.Time
	late []func() // writes that a store will still make though their callers have an answer
}

// An actor is a writer on the stage.
type actor struct {
	stage  *stage
	number int
	faulty bool
	d      dice // for what befalls its calls

	resume func() (struct{}, bool)
	yield  func(struct{}) bool
	cancel context.CancelFunc // of the transaction that it commits
	epoch  int                // listings of the log by this transaction
	down   int                // listings that will fail still
	seed   uint64
}

// play runs actors until all have finished and all late writes were made.
func (s *stage) play(actors []*actor, body func(a *actor)) {
	active := slices.Clone(actors)
	for _, a := range actors {
		var stop func()
		a.resume, stop = iter.Pull(func(yield func(struct{}) bool) {
			a.yield = yield
			body(a)
		})
		defer stop()
	}
	for len(active)+len(s.late) > 0 {
		if n := s.d.IntN(len(active) + len(s.late)); n < len(active) {
			if _, more := active[n].resume(); !more {
				active = slices.Delete(active, n, n+1)
			}
		} else {
			n -= len(active)
			write := s.late[n]
			s.late = slices.Delete(s.late, n, n+1)
			write()
		}
	}
}

// pause lets others go on. It must be called from the actor's own goroutine.
func (a *actor) pause() { a.yield(struct{}{}) }

// Now and Sleep make an actor a clock that only sleeping moves.
func (a *actor) Now() time.Time { return a.stage.now }

// Sleep implements [conflict.Clock].
func (a *actor) Sleep(ctx context.Context, d time.Duration) error {
	a.stage.now = a.stage.now.Add(d)
	a.pause()
	return ctx.Err()
}

var (
	errDown  = errors.New("service unavailable")
	errReset = fmt.Errorf("connection reset: %w", logstore.ErrOutcomeUnknown)
)

// store returns the store as the actor sees it: it pauses where the log is listed or written, and things go wrong there if
// the actor is faulty.
func (a *actor) store(s logstore.Store) logstore.Store {
	return storetest.Faulty(s, func(c storetest.Call) storetest.Fault {
		inLog := path.Dir(c.Name) == deltalog.Dir
		switch {
		case c.Op == storetest.List:
			a.epoch++
			a.pause()
			if a.faulty && a.isDown() {
				return storetest.Fail(errDown)
			}
		case c.Op == storetest.PutIfAbsent && inLog:
			a.pause()
			if a.faulty {
				return a.write()
			}
		case !a.faulty:
		// Commits and data files are read by goroutines of the checker, whose order is nobody's business: whether a call
		// fails may depend on nothing but its name and the transaction's progress. A commit may be in the winners' cache
		// after the first listing.
		case inLog && a.epoch > 1:
		case a.hash(string(c.Op), c.Name)%16 == 0:
			return storetest.Fail(errDown)
		}
		return nil
	})
}

// isDown draws whether the store answers; an outage lasts for some calls.
func (a *actor) isDown() bool {
	switch {
	case a.down > 0:
		a.down--
	case a.d.once(15):
		a.down = a.d.IntN(8)
	default:
		return false
	}
	return true
}

func (a *actor) hash(parts ...string) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, a.seed, a.number, a.epoch, parts)
	return h.Sum64() >> 7
}

// write draws what befalls the creation of a commit.
func (a *actor) write() storetest.Fault {
	switch a.d.IntN(16) {
	case 0:
		return storetest.Fail(errReset)
	case 1:
		return storetest.Fail(errDown)
	case 2:
		return storetest.LoseAnswer(errReset)
	case 3:
		return storetest.Retry()
	case 4: // it will be made when the dice say so
		return func(_ context.Context, do func() error) error {
			a.stage.late = append(a.stage.late, func() { _ = do() })
			if a.d.once(2) {
				a.cancel()
			}
			return errReset
		}
	case 5: // made later and twice
		return func(_ context.Context, do func() error) error {
			a.stage.late = append(a.stage.late, func() { _ = do() }, func() { _ = do() })
			return errReset
		}
	case 6: // the caller loses patience meanwhile
		return func(ctx context.Context, do func() error) error {
			if a.d.once(2) {
				a.cancel()
			}
			return do()
		}
	}
	return nil
}
