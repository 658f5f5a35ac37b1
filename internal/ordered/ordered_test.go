package ordered

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"sync/atomic"
	"testing"
)

func count(n int) func(context.Context) iter.Seq2[int, error] {
	return func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				if !yield(i, nil) {
					return
				}
			}
		}
	}
}

func TestResultsComeInOrder(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		next := 0
		for got, err := range Map(t.Context(), workers, count(100), func(_ context.Context, i int) (int, error) {
			if i%3 == 0 {
				runtime.Gosched()
			}
			return i * i, nil
		}, nil) {
			if err != nil || got != next*next {
				t.Fatalf("%d workers, item %d: got %d, %v", workers, next, got, err)
			}
			next++
		}
		if next != 100 {
			t.Errorf("%d workers: %d results", workers, next)
		}
	}
}

func TestTheFirstErrorInOrderEndsTheResults(t *testing.T) {
	bad := errors.New("bad")
	var seen []int
	var last error
	for got, err := range Map(t.Context(), 4, count(100), func(_ context.Context, i int) (int, error) {
		if i >= 10 {
			return 0, bad
		}
		return i, nil
	}, nil) {
		if last = err; err == nil {
			seen = append(seen, got)
		}
	}
	if len(seen) != 10 || last != bad {
		t.Errorf("got %v, %v", seen, last)
	}
}

func TestAnErrorOfTheSourceComesAfterWhatItYielded(t *testing.T) {
	bad := errors.New("bad")
	source := func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			_ = yield(1, nil) && yield(0, bad)
		}
	}
	n := 0
	var last error
	for _, err := range Map(t.Context(), 4, source, func(_ context.Context, i int) (int, error) { return i, nil }, nil) {
		n++
		last = err
	}
	if n != 2 || last != bad {
		t.Errorf("%d results, %v", n, last)
	}
}

func TestStoppingEarlyDropsWhatWasMade(t *testing.T) {
	var made, dropped atomic.Int64
	n := 0
	for range Map(t.Context(), 4, count(100), func(_ context.Context, i int) (int, error) {
		made.Add(1)
		return i, nil
	}, func(int) { dropped.Add(1) }) {
		if n++; n == 5 {
			break
		}
	}
	if made.Load() != dropped.Load()+5 {
		t.Errorf("made %d, dropped %d, used 5", made.Load(), dropped.Load())
	}
}

func TestACancelledContextIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range Map(ctx, 2, count(1000), func(_ context.Context, i int) (int, error) { return i, nil }, nil) {
		if last = err; err == nil {
			n++
		}
		if n == 3 {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) || n == 1000 {
		t.Errorf("%d results, %v", n, last)
	}
}
