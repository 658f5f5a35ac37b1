// Package leaf reads single leaf columns of parquet files as Arrow arrays, and nothing else of them.
//
//	tail ── Open ──► File: schema tree, row groups ── Chunks ──► where a leaf lies, its null count, minimum, maximum
//	                                                    │
//	                              pages ── codec ── levels + values ──► Column.Read ──► arrow.Array
//	                                                                    Column.Entries ──► nested columns, entry by entry
//
// It exists beside Arrow's own reader because a checkpoint is read for a few leaves deep inside structs, out of hundreds,
// and because its bytes may be hostile.
//
// Source: the Apache Parquet format 2.11 (parquet.thrift, Encodings.md, Compression.md).
//
// Invariants:
//
//  1. No bytes make it panic, and memory is bounded by [Limits] before it is allocated, also for what compressed,
//     dictionary-encoded or delta-encoded bytes claim to expand to.
//  2. A damaged file is an error that matches [ErrCorrupt] or, where it asks for too much, [action.ErrLimit]; what it cannot read
//     because nobody has taught it is an error that matches [ErrUnsupported]. Other errors are those of the file's ReaderAt.
//  3. A column chunk yields as many entries as its footer promised, or an error; pages whose checksum is there and does not
//     fit are errors.
//  4. A value that the Arrow type cannot hold is null: who reads statistics takes it as missing.
package leaf
