// Package deltalog reads the log of a Delta table: which files it consists of, single commits, and the table's state at a
// version.
//
//	_last_checkpoint (a hint) ─► listing ─► segment: a checkpoint and the commits after it
//	                                            │
//	            Log.Snapshot ◄── replay ◄───────┤        protocol, metadata, txns, domains: in memory
//	                 │                          │        adds and removes: which lines of which commit count, one bit each
//	                 ├─ Batches ◄── checkpoint.Batches(Seen), then the commits' live lines ──► colstats.Batch
//	                 └─ Adds, Removes ◄─ the same as whole actions
//	            Log.Commit ◄── one commit, adds kept as text ──► Commit.Batches, Commit.Adds
//
// Sources: Delta protocol, "Delta Log Entries", "Checkpoints", "Action Reconciliation".
//
// Invariants:
//  1. Log order is: the checkpoint's adds as its files hold them, then the commits' by version, line by line. Batches, Adds
//     and Removes keep to it whatever runs in parallel.
//  2. The files of a snapshot have distinct keys (path, deletion vector). Of several actions for one key the last counts,
//     by version and then by line. Paths are compared by [action.CanonicalPath].
//  3. Commits after the checkpoint are read from the commit files, all of them: one that is missing is a [GapError].
//     Compacted files are passed over. They hold nothing that the commits don't, and some in the wild were made without
//     reconciling their lines, which brings removed files back.
//  4. A failure is an error that names the file, and the line where there is one. It is never a smaller table.
//  5. A table that asks its readers for a feature that is not in [ReaderFeatures] does not open.
//  6. Replay costs less than 100 bytes of memory for each file action in the commits after the checkpoint, and none for
//     those in it.
package deltalog
