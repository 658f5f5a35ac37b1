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
