// Package rows finds the rows of a data file for which some read's predicate is TRUE: the last resort when statistics
// cannot rule a file out.
//
//	add action ── Open ──► File: data, deletion vector, partition values
//	                         │
//	reads ── Compile ──► Matcher ── row groups ── pages ──► stretches that may match        statistics in the footer
//	                                                          │
//	                                  the columns asked for ──┴─► blocks of rows ──► candidates    a row is a file
//	                                                                                   │
//	                                                          Predicate.Eval ──────────┴─► Hits
//
// Whatever rules out files rules out row groups, pages and rows, in this order, by the same program ([vectorized]). Values
// of rows are exact, so that few candidates are left for the slow evaluator, which has the last word.
//
// Sources: Delta protocol, "Column Mapping", "Type Widening", "Deletion Vectors"; the Apache Parquet format.
//
// Invariants:
//
//  1. A row of the deletion vector is never a hit, and a row for which a predicate is TRUE always is.
//  2. A row is also a hit when its predicate holds something that this engine does not evaluate, unless the rest of the
//     predicate rules the row out.
//  3. A file that cannot be read as the table's schema says, and a predicate that fails on a row, are errors: no answer.
//     A value that this package cannot represent is never taken for NULL.
//  4. Hits come in ascending order of rows, and with each row the first read that it matches.
//  5. No panic leaves the package; memory is bounded by a block of rows and the limits of the parquet reader.
package rows
