// Package interop takes predicates that other programs hand over: Iceberg's expressions in JSON, and Substrait's extended
// expressions, which PyArrow makes of its own.
//
//	Iceberg REST JSON ── FromJSON ───────┐
//	                                     ├─► node: AND, OR, NOT over leaves ── weaken ──► predicate.Expr
//	Substrait bytes ──── FromSubstrait ──┘        (column op literal)
//
// The programs disagree about NULL and NaN: in Iceberg, id <> 5 holds for NULL; in Arrow no comparison with NaN does, in Spark
// NaN is the greatest number; PyArrow's NOT isin holds for NULL. Skipping must be right for the program that asks.
//
// Invariants:
//  1. The result is TRUE at least for the rows for which the predicate is true by any of these rules: it may keep more files
//     than the same predicate in SQL, never fewer.
//  2. What is not understood (functions, casts, transforms, types that differ) is [predicate.Opaque] with a reason: it may hold
//     for every row. Only input that breaks its own format is an error, which matches [ErrMalformed], and a column that the
//     table does not have.
//  3. Input is bounded before it is read; nothing panics.
package interop
