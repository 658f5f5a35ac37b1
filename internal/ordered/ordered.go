// Package ordered works on the items of a stream in parallel and hands the results out in the order of the items.
//
//	source ──► item 0 ──► worker ──┐
//	           item 1 ──► worker ──┼──► result 0, result 1, …   at most a window of them is begun or waits
//	           item 2 ──► worker ──┘
//
// Invariants:
//  1. Results come in the order of the source, whatever the number of workers.
//  2. When the loop over the results ends, early or not, every goroutine that it started has ended.
//  3. The first error, in the order of the source, is the last thing that is yielded.
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
