// Package conflict decides whether a transaction may commit after the ones that got in before it, rewrites it as if it had
// started after them, and commits it exactly once.
//
//	            Transaction: read at R, wants to be R+1 (the loser)
//	                 │
//	R+1 ─ winner ─► protocol ► metadata ► domains ► txn ► row ids ► settle ► added files ► removed files ► timestamp
//	R+2 ─ winner ─►    │           │                         │           │
//	 …               adopt       adopt                     rebase     vectorized: may a read predicate be
//	 W  ─ winner ─►                                                   TRUE in a file that the winner added?
//	                 │
//	            Result: clear to commit as W+1, with the rebased actions; or a Conflict with the first winner that stands
//	            in the way; or an error, which means undetermined
//	                 │
//	            Committer: put W+1 if absent; where it exists, check the new winners and go on
//
// [Checker.Check] is the place to begin reading. Each check of a winner is a file of its own (check_*.go), each rewriting
// too (rebase_*.go), and they run in the order of Delta's own checker, whose answers are the reference: mode [Off] gives
// the same answers, mode [Stats] conflicts less often where statistics prove that nothing was missed.
//
// Invariants:
//
//  1. Clear is a proof. Any doubt (a missing statistic, an unknown type, a predicate that cannot be evaluated, a panic)
//     ends as a conflict or as an error, and callers treat an error as a conflict. The zero Result is undetermined.
//  2. Statistics only ever remove conflicts: what is clear in mode Off is clear in mode Stats, and a failure of skipping
//     gives the answer of Off.
//  3. Winners are judged in version order, each for itself, whatever order they were loaded in; the winner, the file and
//     the read that a Conflict names don't depend on scheduling.
//  4. A winner's operation never excuses its added files: an UPDATE can move a row into the loser's predicate. The one
//     exception is asked for (Options.Rearranged, Compaction) and takes an operation that only moves rows and dataChange
//     false on every file.
//  5. The caller's Transaction is never changed. Rebasing replaces actions, it doesn't write to them.
//  6. A transaction that Commit was called for ends in exactly one of three ways: committed at a version, in conflict (or
//     refused) with nothing written, or of unknown outcome. It is in the log at most once.
//  7. A file of merged deletion vectors is written before the commit that names it, and deleted only when no write that
//     names it took or can take effect.
//  8. What rows settle (mode Exact, Options.RowLevel, RemovedRows, Compaction) they settle by what is in the files as the
//     log stands at that winner; nothing that was read from a data file is kept from one winner to the next.
package conflict
