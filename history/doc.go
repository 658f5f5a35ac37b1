// Package history replays a table's log and asks of every commit that raced what each mode and isolation level would have
// said about it.
//
//	commit v, readVersion r < v-1 ──► Reads: what it is taken to have read ──► a transaction at r
//	                                                                              │
//	commits r+1 … v-1, the winners ───────────────────────────────────► conflict.Checker, Off and Stats,
//	                                                                    Serializable and WriteSerializable
//	                                                                              │
//	                                                                       Race.Verdicts ──► Groups
//
// The log holds commits that succeeded. A transaction that was aborted left nothing in it, so this shows contention and
// what-if, not the aborts that people had; a process's own events (conflict.Observer) count those.
//
// Invariants:
//  1. Clear is said only if what the commit may have read, as far as the log tells, meets no winner. Where the log doesn't
//     tell what it read, that is taken to be the whole table, and what conflicts then is Undetermined: it may be due to that.
//  2. A predicate from the log counts only where its text has one reading. Catalyst prints literals without quotes; what
//     could be a column or another literal drops its conjunct, which only widens the read.
//  3. Files that a commit read and left alone are not in the log, nor is what it read beside its operation: a conflict over
//     one of those is not seen.
//  4. Commits are read in version order, some ahead of their turn; memory holds the commits at work and one record each of
//     the others.
package history
