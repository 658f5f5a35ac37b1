// Package deletionvector reads, writes and computes with Delta Lake's deletion vectors: sets of row positions of one
// data file that are no longer in the table.
//
//	action.DeletionVector ── u, p: file ── frame ──┐
//	           │                                   ├─ blob ─ Decode ─ Vector ─ Union, AndNot, Rank …
//	           └──────── i: Z85 text ──────────────┘                    │      Merge, Rebase
//	                                                                    │
//	                descriptors, and files to put before the commit ── Pack
//
// The formats are those of the Delta protocol, sections "Deletion Vectors" and "Deletion Vector Format". A blob is a
// magic number and a 64-bit roaring bitmap; a file is a version byte and then, for each vector, its size, blob and CRC.
//
// Invariants:
//
//  1. A position is a physical row of the data file, counted from 0, and fits an int64.
//  2. A Vector never changes once it is made, so it may be shared by goroutines; a nil *Vector is the empty vector, that
//     of a file without one.
//  3. Bytes become a Vector only when every length, order, count and checksum in them holds. Anything else is a
//     [*CorruptError], never a panic and never a vector with other rows.
//  4. No length read from bytes reserves memory before it is known that so many bytes are there.
//  5. Equal vectors have equal encodings, however they were computed.
//  6. This package opens, writes, syncs and deletes no file: callers do, and sync a packed file before any commit names it.
package deletionvector
