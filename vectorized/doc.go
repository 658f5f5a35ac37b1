// Package vectorized proves that files hold no row that a read may have seen.
//
//	reads ──► P_i AND D_i ──► nodes ──► plan: AND / OR over leaves, one bit per file
//	                                      │      step    a column's range meets a set of values   kernels
//	                                      │      pair    two columns' ranges                      kernels
//	                                      │      scalar  anything else                            file by file
//	colstats.Batch ── chunks of 4096 ─────┴──► Result{Partition, May}, verdicts ──► First, Scan
//
// For a boolean expression e and a file there are three questions: may e be TRUE for some row, FALSE, NULL? (tri). A file
// is kept iff the OR of the reads may be TRUE; it is All if that OR may be neither FALSE nor NULL. A plan asks only
// what its root needs: NOT asks its argument the other question, IS NULL asks for NULL.
//
// Whatever an expression over one column is made of, it is a step function of the column's value (step), so that one
// question to it is: does [lower, upper] meet a union of intervals? And as every type here is totally ordered, that is
// a matter of "is a bound less than a constant?", the one question that the kernels answer. The scalar evaluator
// computes with ranges of values instead (span): exact values through [predicate.Eval], monotonic functions by their ends.
// It makes the steps, at compile time, and takes what is no step, file by file; over a whole plan it is the reference that
// the kernels are tested against.
//
// Invariants:
//
//  1. A cleared bit is a proof. What is missing, unknown, undecidable, or fails to evaluate sets bits.
//  2. No answer depends on how batches are cut, on a zone map over them, on the number of workers, or on what Scratch was
//     used for before.
//  3. Kernels and reference give the same bits, for every plan and all facts.
//  4. Knowing less of a file only sets bits; another read only sets bits, but for files without rows: these are known by the
//     bounds that they lack, which the other read may be the first to demand.
//  5. Reads are never mixed: P_1 AND D_2 keeps no file.
//  6. Programs are immutable. Evaluation by kernels allocates nothing.
//  7. No panic leaves the package, and no goroutine outlives the call that started it.
package vectorized
