// Package cloud opens tables in object stores: Amazon S3 and what speaks its protocol, Google Cloud Storage, Azure Blob
// Storage.
//
//	Open("s3://bucket/path?region=…") ──► Store ──► backend: s3, gcs, azure      (list, read a range, put, delete)
//	                                        └──── ranges read of a file, coalesced and kept while it is open
//
// URLs and credentials are those of gocloud.dev/blob, so each vendor's standard chain applies. The requests are made with
// the vendors' own libraries: what a write that failed means is told by statuses and conditions that a common layer hides,
// and names must be stored as the log spells them.
//
// Invariants:
//
//  1. A write is sent once. The libraries' retries are off for it, for they turn a lost success into "exists already";
//     what follows from a lost answer is for the caller to decide, who knows the transaction.
//  2. A write fails with an error other than [logstore.ErrOutcomeUnknown] only if the server said that it did not take
//     place, or no request was sent.
//  3. Reads are retried as each vendor's library does by default.
//
// Sources: Amazon S3 User Guide, "How to prevent object overwrites with conditional writes"; Google Cloud Storage, "Request
// preconditions"; Azure Blob Storage, "Specify conditional headers for Blob service operations".
package cloud
