// Package simulator plays writers who race for one table and checks that what came of it is what some order of them, one
// after another, would have made.
//
//	               seed
//	                │ decides who takes the next step, what transactions do, and what goes wrong in the store
//	writers ── read a version ► plan: rows change ► files and vectors ► conflict.Committer ──► log, in a faulty store
//	                              │                                          │ conflict          │
//	                              │ the same, as a function of rows          ▼                   ▼ this package's own replay
//	                              └────────► run again at each ◄──────── oracle: needless?   rows of each version
//	                                         place in the log                                    │
//	                                                └───────────────── must be equal ────────────┘
//
// A transaction is a function of the rows that it sees (work.does) and the file actions that an engine makes of it at the
// version that was read: data files in parquet written anew, deletion vectors, statistics that may be missing, wide, cut off or
// recomputed, compactions, restores. The rows have ids that are never given twice, and tell who wrote them.
//
// What is checked after each run (the project's specification of conflicts, section 6):
//
//  1. The log has no gaps and holds nothing but commits. Each transaction is in it at most once; once, at the version that
//     its writer was told, if it was acknowledged; not at all, if it was refused. What an outcome that stayed unknown
//     really was is told right by Committer.Resolve.
//  2. Each version's rows are those that its transaction makes of the version before it, from the rows that its isolation
//     level lets it see: all of them under Serializable; under WriteSerializable not those that blind appends added after
//     its read version, unless a commit that changes data wrote their file again; those of its read version if it runs at
//     SnapshotIsolation.
//  3. What add actions say about their files is true: statistics are bounds, and tight ones exact.
//  4. Of every conflict an oracle that knows the rows says whether it was needless: the transaction would have done the
//     same to the rows of the newest version, and its actions could have been brought to bear there. Conflicts that name
//     rows must be true.
//
// Invariants of the simulator itself: a seed and a mode decide a run wholly, whatever the checker's goroutines do; and
// nothing that is checked is computed by the code that is being tested, but for deletion vectors and the JSON of actions.
//
// TestSimulator plays a few hundred runs; -runs, -seed and -mode play others. TestPlantedBugs, with -planted, shows that
// bugs planted in package conflict are found.
package simulator
