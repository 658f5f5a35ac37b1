// Package checkpoint reads checkpoints of every shape into batches of adds and into actions, and writes them.
//
//	N.checkpoint.parquet ───────────┐            ┌── Actions: protocol, metaData, txn, domainMetadata, …
//	N.checkpoint.o.p.parquet ───────┤            │
//	N.checkpoint.<uuid>.json ───────┼── Open ────┼── Batches: demanded leaves of adds ──► colstats.Batch
//	N.checkpoint.<uuid>.parquet ────┤            │      row groups ── Prune ── leaves ── Seen ── late paths
//	      └─ _sidecars/*.parquet ───┘            ├── Adds, Removes: whole actions
//	                                             └── Report: row groups read and pruned
//
// Invariants:
//
//  1. Whatever is read comes in checkpoint order (part by part, row by row), whatever the number of workers.
//  2. A row group is left out only if its footer proves that no add in it survives: for every leaf of the proof no add of
//     the group lacks it. Whoever counts adds, and does not prune, sees all of them.
//  3. Columns that nobody asked for are not read: a batch costs its demanded leaves, and paths are read for those who
//     ask. Only a replay that has seen files needs the paths of all adds.
//  4. Bytes from a file never panic, and never allocate more than the limits in [Options]. They fail as an [*Error].
//     A failure is never a shorter result.
//  5. A statistic of an odd type, unit or encoding is a missing one, not an error.
package checkpoint
