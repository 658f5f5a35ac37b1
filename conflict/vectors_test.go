package conflict

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
	"github.com/deltaskip/deltaskip/rows"
)

// A markingRace is a loser that marks row 5 of a file in which a winner has marked row 1.
type markingRace struct {
	*rowTable
	f, theirs *action.Add
	loser     *Transaction
	before    map[string]bool // files before the loser's first attempt
	wrote     []string        // vectors that were put since, in order
	deleted   []string
}

func newMarkingRace(t testing.TB) *markingRace {
	m := &markingRace{rowTable: newRowTable(t), before: map[string]bool{}}
	m.f = ten(m.rowTable, "f")
	m.theirs = m.without(m.f, 1)
	m.commit(infoOf("DELETE"), marking(m.f, m.theirs)...)
	m.loser = m.txn("DELETE", []string{"id = 5"}, marking(m.f, m.without(m.f, 5))...)
	return m
}

// winMore is another winner, which marks more rows, just before the loser's put of a version.
func (m *markingRace) winMore(positions ...int64) {
	after := m.without(m.theirs, positions...)
	m.commit(infoOf("DELETE"), marking(m.theirs, after)...)
	m.theirs = after
}

// faulty notes what is done to vectors and lets plan decide the rest.
func (m *markingRace) faulty(plan func(storetest.Call) storetest.Fault) logstore.Store {
	return storetest.Faulty(m.store, func(c storetest.Call) storetest.Fault {
		if strings.HasPrefix(c.Name, "deletion_vector_") {
			switch c.Op {
			case storetest.PutIfAbsent:
				m.wrote = append(m.wrote, c.Name)
			case storetest.Delete:
				m.deleted = append(m.deleted, c.Name)
			}
		}
		if plan == nil {
			return nil
		}
		return plan(c)
	})
}

// onPut is a plan that does something before the n-th write of a commit.
func onPut(n int, fault func() storetest.Fault) func(storetest.Call) storetest.Fault {
	seen := 0
	return func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.PutIfAbsent && strings.HasPrefix(c.Name, deltalog.Dir) {
			if seen++; seen == n {
				return fault()
			}
		}
		return nil
	}
}

// lacks returns the rows that f lacks by the commit of a version.
func (m *markingRace) lacks(version int64) string {
	m.t.Helper()
	for _, a := range parse(m.t, lines(m.t, m.store, version)...) {
		if a, ok := a.(*action.Add); ok && a.Path == "f" {
			v, err := rows.Source{Table: m.store}.Vector(context.Background(), a.DeletionVector, 10)
			if err != nil {
				m.t.Fatal(err)
			}
			return v.String()
		}
	}
	m.t.Fatalf("version %d does not add f", version)
	return ""
}

func rowLevel() CommitOptions {
	return CommitOptions{Options: Options{Mode: Stats, RowLevel: true}, Clock: &noWait{}}
}

// noWait is a clock on which waits take no time.
type noWait struct{ machineClock }

func (*noWait) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func TestMergedVectorsAreWrittenBeforeTheCommit(t *testing.T) {
	for _, grouped := range []bool{false, true} {
		m := newMarkingRace(t)
		var there bool
		store := m.faulty(onPut(2, func() storetest.Fault {
			_, _, err := m.store.Get(context.Background(), m.wrote[0], 1<<20)
			there = err == nil
			return nil
		}))
		commit := newCommitter(t, store, rowLevel()).Commit
		if grouped {
			g := newGroup(t, store, GroupOptions{CommitOptions: rowLevel()})
			defer g.Close()
			commit = g.Commit
		}
		got, err := commit(context.Background(), m.loser)
		if err != nil || got.Version != 3 {
			t.Fatalf("%+v, %v", got, err)
		}
		if !there || len(m.wrote) != 1 || len(m.deleted) != 0 {
			t.Errorf("wrote %v, there before the commit: %t, deleted %v", m.wrote, there, m.deleted)
		}
		if rows := m.lacks(3); rows != positions(1, 5) {
			t.Errorf("f lacks %s", rows)
		}
	}
}

func TestVectorsOfLostAttemptsAreDeleted(t *testing.T) {
	m := newMarkingRace(t)
	got, err := newCommitter(t, m.faulty(onPut(2, func() storetest.Fault { m.winMore(1, 3); return nil })), rowLevel()).Commit(context.Background(), m.loser)
	if err != nil || got.Version != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	if rows := m.lacks(4); rows != positions(1, 3, 5) {
		t.Errorf("f lacks %s", rows)
	}
	if len(m.wrote) != 2 || !slices.Equal(m.deleted, m.wrote[:1]) {
		t.Errorf("wrote %v, deleted %v", m.wrote, m.deleted)
	}
}

func TestVectorsOfAConflictAreDeleted(t *testing.T) {
	m := newMarkingRace(t)
	_, err := newCommitter(t, m.faulty(onPut(2, func() storetest.Fault { m.winMore(1, 5); return nil })), rowLevel()).Commit(context.Background(), m.loser)
	var f *Conflict
	if !errors.As(err, &f) || f.Reason != SameRows {
		t.Fatal(err)
	}
	if len(m.wrote) != 1 || !slices.Equal(m.deleted, m.wrote) {
		t.Errorf("wrote %v, deleted %v", m.wrote, m.deleted)
	}
}

// The attempt may still take effect, and does, after the committer has given up.
func TestVectorsOfAnOpenAttemptStay(t *testing.T) {
	m := newMarkingRace(t)
	release, done := make(chan struct{}), make(chan struct{})
	o := rowLevel()
	o.Retries = 1
	late := onPut(2, func() storetest.Fault { return storetest.Late(logstore.ErrOutcomeUnknown, release, done) })
	_, err := newCommitter(t, m.faulty(late), o).Commit(context.Background(), m.loser)
	if !errors.Is(err, ErrOutcomeUnknown) {
		t.Fatal(err)
	}
	if len(m.wrote) != 1 || len(m.deleted) != 0 {
		t.Errorf("wrote %v, deleted %v", m.wrote, m.deleted)
	}
	close(release)
	<-done
	if rows := m.lacks(3); rows != positions(1, 5) {
		t.Errorf("f lacks %s", rows)
	}
}

// A lost answer turns into "exists", and the version is found to be the loser's own.
func TestVectorsOfACommitWhoseAnswerWasLostStay(t *testing.T) {
	for name, fault := range map[string]storetest.Fault{"unknown": storetest.LoseAnswer(logstore.ErrOutcomeUnknown), "retried": storetest.Retry()} {
		m := newMarkingRace(t)
		got, err := newCommitter(t, m.faulty(onPut(2, func() storetest.Fault { return fault })), rowLevel()).Commit(context.Background(), m.loser)
		if err != nil || got.Version != 3 || len(m.deleted) != 0 {
			t.Errorf("%s: %+v, %v, deleted %v", name, got, err, m.deleted)
		}
		if rows := m.lacks(3); rows != positions(1, 5) {
			t.Errorf("%s: f lacks %s", name, rows)
		}
	}
}

func TestAVectorThatCannotBeWrittenIsNoCommit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fault  storetest.Fault
		commit bool
	}{
		{"disk full", storetest.Fail(errors.New("disk full")), false},
		{"nobody knows, and it is there", storetest.LoseAnswer(logstore.ErrOutcomeUnknown), true},
		{"the library's second try", storetest.Retry(), true},
		{"nobody knows, and it is not", storetest.Fail(logstore.ErrOutcomeUnknown), true},
	} {
		m := newMarkingRace(t)
		store := m.faulty(func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.PutIfAbsent && strings.HasPrefix(c.Name, "deletion_vector_") {
				return tt.fault
			}
			return nil
		})
		_, err := newCommitter(t, store, rowLevel()).Commit(context.Background(), m.loser)
		if (err == nil) != tt.commit || errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if _, _, err := m.store.Get(context.Background(), deltalog.CommitName(3), 1<<20); (err == nil) != tt.commit {
			t.Errorf("%s: version 3: %v", tt.name, err)
		}
	}
}
