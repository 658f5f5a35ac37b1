package storetest

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync/atomic"

	"github.com/deltaskip/deltaskip/logstore"
)

// An Op is a method of a store, or of a file that it opened.
type Op string

// The operations that can be made to fail.
const (
	List        Op = "List"
	Get         Op = "Get"
	Open        Op = "Open"
	ReadAt      Op = "ReadAt"
	PutIfAbsent Op = "PutIfAbsent"
	Put         Op = "Put"
	Delete      Op = "Delete"
)

// A Call is one use of a store.
type Call struct {
	N    int64 // counted from 1 over all operations
	Op   Op
	Name string
}

// A Fault stands between a call and the store. do makes the call on the store underneath and can be called any number of
// times, also after the fault has returned; what the fault returns is what the caller sees. For an operation that reads,
// nil without a call of do means an empty answer.
type Fault func(ctx context.Context, do func() error) error

// Fail gives up before anything happens.
func Fail(err error) Fault {
	return func(context.Context, func() error) error { return err }
}

// LoseAnswer lets the call succeed and tells that it failed.
func LoseAnswer(err error) Fault {
	return func(_ context.Context, do func() error) error {
		if failed := do(); failed != nil {
			return failed
		}
		return err
	}
}

// Retry makes the call, loses its answer, makes it again and returns the second answer, as the libraries of object stores
// do by themselves.
func Retry() Fault {
	return func(_ context.Context, do func() error) error {
		_ = do()
		return do()
	}
}

// Delay waits until release is closed or the caller gives up, before the call.
func Delay(release <-chan struct{}) Fault {
	return func(ctx context.Context, do func() error) error {
		select {
		case <-release:
			return do()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Late returns err at once and makes the call when release is closed; done is closed after that.
func Late(err error, release <-chan struct{}, done chan<- struct{}) Fault {
	return func(_ context.Context, do func() error) error {
		go func() {
			<-release
			_ = do()
			close(done)
		}()
		return err
	}
}

// Faulty is a store that has plan decide for every call what befalls it; nil is nothing. plan may be called by many
// goroutines at once.
func Faulty(s logstore.Store, plan func(Call) Fault) *FaultyStore {
	return &FaultyStore{store: s, plan: plan}
}

// OnCall is a plan in which the n-th call of an operation, counted from 1, meets a fault.
func OnCall(op Op, n int64, f Fault) func(Call) Fault {
	var seen atomic.Int64
	return func(c Call) Fault {
		if c.Op == op && seen.Add(1) == n {
			return f
		}
		return nil
	}
}

// A FaultyStore is made by [Faulty].
type FaultyStore struct {
	store logstore.Store
	plan  func(Call) Fault
	calls atomic.Int64
}

// Calls returns how many calls have been made.
func (s *FaultyStore) Calls() int64 { return s.calls.Load() }

func (s *FaultyStore) call(ctx context.Context, op Op, name string, do func(ctx context.Context) error) error {
	fault := s.plan(Call{N: s.calls.Add(1), Op: op, Name: name})
	if fault == nil {
		return do(ctx)
	}
	// What a fault does later must not end with the caller's patience.
	return fault(ctx, func() error { return do(context.WithoutCancel(ctx)) })
}

// List implements [logstore.Store]. A fault befalls its first step.
func (s *FaultyStore) List(ctx context.Context, dir, startAfter string) iter.Seq2[logstore.Entry, error] {
	return func(yield func(logstore.Entry, error) bool) {
		var entries []logstore.Entry
		err := s.call(ctx, List, dir, func(ctx context.Context) error {
			entries = nil
			for e, err := range s.store.List(ctx, dir, startAfter) {
				if err != nil {
					return err
				}
				entries = append(entries, e)
			}
			return nil
		})
		if err != nil {
			yield(logstore.Entry{}, err)
			return
		}
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Get implements [logstore.Store].
func (s *FaultyStore) Get(ctx context.Context, name string, limit int64) (data []byte, e logstore.Entry, err error) {
	err = s.call(ctx, Get, name, func(ctx context.Context) (err error) {
		data, e, err = s.store.Get(ctx, name, limit)
		return err
	})
	if err != nil {
		return nil, e, err
	}
	return data, e, nil
}

// Open implements [logstore.Store].
func (s *FaultyStore) Open(ctx context.Context, name string) (logstore.File, error) {
	var f logstore.File
	err := s.call(ctx, Open, name, func(ctx context.Context) (err error) {
		f, err = s.store.Open(ctx, name)
		return err
	})
	switch {
	case err != nil && f != nil:
		f.Close()
		return nil, err
	case err == nil && f == nil:
		return nil, fmt.Errorf("storetest: %s: a fault returned nothing", name)
	case err != nil:
		return nil, err
	}
	return &faultyFile{File: f, store: s, ctx: ctx}, nil
}

type faultyFile struct {
	logstore.File
	store *FaultyStore
	ctx   context.Context
}

func (f *faultyFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.store.call(f.ctx, ReadAt, f.Entry().Name, func(context.Context) (err error) {
		n, err = f.File.ReadAt(p, off)
		return err
	})
	if err != nil && err != io.EOF {
		return 0, err
	}
	if err == nil && n < len(p) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// PutIfAbsent implements [logstore.Store].
func (s *FaultyStore) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return s.call(ctx, PutIfAbsent, name, func(ctx context.Context) error { return s.store.PutIfAbsent(ctx, name, data) })
}

// Put implements [logstore.Store].
func (s *FaultyStore) Put(ctx context.Context, name string, data []byte) error {
	return s.call(ctx, Put, name, func(ctx context.Context) error { return s.store.Put(ctx, name, data) })
}

// Delete implements [logstore.Store].
func (s *FaultyStore) Delete(ctx context.Context, name string) error {
	return s.call(ctx, Delete, name, func(ctx context.Context) error { return s.store.Delete(ctx, name) })
}
