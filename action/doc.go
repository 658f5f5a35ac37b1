// Package action has the actions of the Delta protocol as Go types, and their JSON.
//
//	one text of a commit file           Parse          *Add, *Remove, *Metadata, *Protocol, *Txn, *CommitInfo,
//	{"add":{"path":"a","size":1,…}}  ── ─────► ──────  *DomainMetadata, *CDC, *Sidecar, *CheckpointMetadata,
//	                                 ◄─ Append ◄─────  *Unknown
//
// Source: Delta protocol, "Actions".
//
// Invariants:
//  1. Parse then Append loses nothing: fields and actions that this package does not know are written back as they were
//     read, and no number passes through a float. What changes is white space, the order of known fields and of keys in
//     maps, and that an explicit null becomes an absent field.
//  2. Append is deterministic: equal actions give equal bytes, on one line.
//  3. A known field of the wrong type is a [CorruptError], with one exception: statistics that are not a string count as
//     missing, as every other doubt about statistics does.
//  4. Bytes from a table never panic and never allocate more than a small multiple of their length.
//
// The JSON is read by internal/jsonscan and not by a general library: those match names in any letter case, replace
// invalid UTF-8 and forget unknown fields.
package action
