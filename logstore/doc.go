// Package logstore is the little that deltaskip asks of a place where tables live: list a folder, read a file, create a
// file unless it exists.
//
//	deltalog, checkpoint, conflict ──► Store ◄── Local, storetest.Mem, object stores (module cloud)
//	                                     ▲
//	                             storetest.Faulty: any of them on a bad day
//
// Source: Delta protocol, "Delta Log Entries"; the conditional writes of object stores.
//
// Invariants:
//  1. Names are relative to the table's root, with slashes, such as "_delta_log/00000000000000000007.json". A name that
//     is absolute or leaves the root is [ErrInvalidName] in every store; see [CheckName].
//  2. PutIfAbsent is atomic: of any number of calls for one name exactly one takes effect, and a reader sees nothing or
//     all of the data. This is what makes a commit a commit. [Probe] finds stores where it isn't so.
//  3. A write that returns an error other than [ErrOutcomeUnknown] had no effect and won't have one later.
//  4. A listing is complete when it ends without an error. It is sorted by name, bytewise.
package logstore
