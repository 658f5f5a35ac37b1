package ordered

import (
	"context"
	"iter"
	"sync"
)

// Map applies f to every item of source with up to workers goroutines. source runs in a goroutine of its own; it and f get
// a context that ends with the loop. Results that nobody will see, because the loop ended before, go to drop, which may be
// nil.
func Map[In, Out any](
	ctx context.Context, workers int, source func(context.Context) iter.Seq2[In, error],
	f func(context.Context, In) (Out, error), drop func(Out),
) iter.Seq2[Out, error] {
	type result struct {
		out Out
		err error
	}
	return func(yield func(Out, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		window := make(chan chan result, workers) // results in order; its capacity bounds what is in flight
		running.Go(func() {
			defer close(window)
			slots := make(chan struct{}, workers)
			for in, err := range source(ctx) {
				r := make(chan result, 1)
				select {
				case window <- r:
				case <-ctx.Done():
					return
				}
				if err != nil {
					r <- result{err: err}
					return
				}
				slots <- struct{}{}
				running.Go(func() {
					out, err := f(ctx, in)
					r <- result{out, err}
					<-slots
				})
			}
		})
		defer func() {
			cancel()
			for r := range window {
				if late := <-r; drop != nil && late.err == nil {
					drop(late.out)
				}
			}
			running.Wait()
		}()
		for r := range window {
			got := <-r
			if !yield(got.out, got.err) || got.err != nil {
				return
			}
		}
		if err := ctx.Err(); err != nil { // the source may have been cut short
			var none Out
			yield(none, err)
		}
	}
}

// Items is a source of what a slice holds.
func Items[T any](items []T) func(context.Context) iter.Seq2[T, error] {
	return func(context.Context) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}
