// Package colstats turns what a Delta log says about files into proven facts about columns.
//
//	{"add":{…,"stats":"{…}"}} ── Builder.AppendLine ──┐
//	a file's statistics text ─── Builder.Append ──────┤                 ┌── Facts(0): Lower, Upper, NoNull, …
//	stats_parsed leaves ──────── NewBatch(Raw) ───────┼── facts.go ── Batch ── Facts(1)
//	row group footers ────────── NewBatch(Raw.Hull) ──┘                 └── Path(row)
//	rows of a data file ──────── BatchFromValues ─────────────── Batch of rows ── Facts(0)
//
// A [Layout] lists what a program wants to know. Readers decode those leaves and nothing else, and one place (facts.go)
// decides what a leaf proves, following the Delta protocol's "Per-file Statistics" and "Partition Value Serialization".
//
// Invariants:
//
//  1. A [Facts] bit that is set is a proof about every live row of the file. Whatever is missing, malformed, out of
//     range, contradictory or of a doubtful writer clears bits; nothing of the sort is an error.
//  2. Dropping one of a file's consistent statistics, nulling it, or widening a bound only ever clears bits or moves bounds
//     outwards.
//  3. The same statistics give the same facts as JSON text, as an action line, and as struct leaves (where the struct
//     can hold what the text says), row by row (facts.go) or a column at a time (columnar.go).
//  4. Integers and decimals never pass through a float.
//  5. A line that is not JSON is a [*SyntaxError]; statistics that are not JSON are no statistics.
//  6. A [Batch] holds at most [MaxBatchLen] files and is immutable; its arrays come from Options.Allocator.
package colstats
