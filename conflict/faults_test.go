package conflict

import (
	"strings"
	"testing"
)

// TestFaults are races that other implementations got wrong, each with the rest of its kind: made for this test after faults
// that people reported of such software.
func TestFaults(t *testing.T) {
	where := func(sql ...string) func(*Transaction) {
		return func(t *Transaction) {
			for _, s := range sql {
				t.Reads = append(t.Reads, Read{SQL: s})
			}
		}
	}
	read := func(files []string, sql ...string) func(*Transaction) {
		return func(t *Transaction) {
			for _, f := range files {
				t.ReadFiles = append(t.ReadFiles, ReadFile{Path: f})
			}
			where(sql...)(t)
		}
	}
	whole := func(t *Transaction) { t.ReadWholeTable = true }
	const (
		blind     = `{"commitInfo":{"isBlindAppend":true}}`
		optimized = `"dataChange":false`
		xNull     = `"stats":"{\"numRecords\":5,\"minValues\":{\"id\":100},\"maxValues\":{\"id\":200},\"nullCount\":{\"id\":1}}"`
	)
	weak := table("delta.isolationLevel=WriteSerializable")
	out := []string{add("out", ids(1000, 1000))}

	moved := [][]string{{remove("f"), add("g", ids(50, 50))}} // an UPDATE of the row with id 5
	beyond := [][]string{{add("w", xNull)}}
	half := [][]string{{add("ok", ids(100, 200))}, {add("nothing")}}
	overwrite := [][]string{{remove("f"), inPartition(1, "w", ids(3, 5))}}
	elsewhere := [][]string{{inPartition(2, "w", ids(1, 3))}}
	compacted := [][]string{{remove("f", optimized), remove("g", optimized), add("c", optimized, ids(1, 20))}}
	appended := [][]string{{blind, add("b", ids(1, 10))}}

	for _, r := range []race{
		// A winner moves a row out of the range that was read: what it adds does not match, what it removes was read.
		{name: "row moved out of the predicate", loser: out, reads: read([]string{"f"}, "id = 5"), winners: moved, kind: ConcurrentDeleteRead, reason: FileRemoved},
		{name: "row moved out of one predicate of two", loser: out, reads: read([]string{"f"}, "id > 1000", "id = 5"), winners: moved, kind: ConcurrentDeleteRead, reason: FileRemoved},
		{name: "row moved within what was not read", loser: out, reads: read([]string{"h"}, "id = 15"), winners: moved},
		{name: "row moved into the predicate", loser: out, reads: read([]string{"h"}, "id = 50"), winners: moved, kind: ConcurrentAppend, reason: RangesOverlap},
		{name: "row moved, and moved on by the next winner", loser: out, reads: read([]string{"h"}, "id = 15"),
			winners: [][]string{{remove("f"), add("g", ids(50, 50))}, {remove("g"), add("k", ids(15, 15))}}, kind: ConcurrentAppend, reason: RangesOverlap},

		// Both sides remove a file.
		{name: "both remove one file", loser: []string{remove("f")}, reads: where("id > 500"), winners: [][]string{{remove("f")}}, kind: ConcurrentDeleteDelete, reason: FileRemovedTwice},
		{name: "they remove different files", loser: []string{remove("f")}, reads: read([]string{"f"}, "id > 500"), winners: [][]string{{remove("g")}}},
		{name: "one removes, one appends blindly", loser: out, winners: [][]string{{remove("f")}}},
		{name: "one removes what the other only read", loser: out, reads: read([]string{"f"}, "id > 500"), winners: [][]string{{remove("f")}}, kind: ConcurrentDeleteRead, reason: FileRemoved},
		{name: "the second winner removes it", loser: []string{remove("f")}, reads: where("id > 500"), winners: [][]string{{remove("g")}, {remove("f")}}, kind: ConcurrentDeleteDelete, reason: FileRemovedTwice},
		{name: "a full removal under a new deletion vector", loser: []string{remove("f"), add("f", `"deletionVector":{"storageType":"i","pathOrInlineDv":"x","sizeInBytes":1,"cardinality":1}`)},
			reads: read([]string{"f"}, "id = 1000"), winners: [][]string{{remove("f")}}, kind: ConcurrentDeleteRead, reason: FileRemoved},
		{name: "a compaction loses to a delete", loser: []string{remove("f", optimized), remove("g", optimized), add("c", optimized)}, reads: read([]string{"f", "g"}),
			winners: [][]string{{remove("f")}}, kind: ConcurrentDeleteRead, reason: FileRemoved},

		// The winner's file lies in another range; every alternative and every arm counts for itself.
		{name: "append beyond the range", loser: out, reads: where("id < 50"), winners: beyond},
		{name: "append within it", loser: out, reads: where("id = 150"), winners: beyond, kind: ConcurrentAppend, reason: RangesOverlap},
		{name: "its bound is in the range", loser: out, reads: where("id <= 100"), winners: beyond, kind: ConcurrentAppend, reason: RangesOverlap},
		{name: "its NULL matches", loser: out, reads: where("coalesce(id, 0) < 50"), winners: beyond, kind: ConcurrentAppend, reason: RangesOverlap},
		{name: "one alternative matches", loser: out, reads: where("id < 50", "id = 200"), winners: beyond, kind: ConcurrentAppend, reason: RangesOverlap},
		{name: "one arm excludes it", table: partitionedTable(), loser: out, reads: where("id < 50 AND x = 1"), winners: [][]string{{inPartition(1, "w", ids(100, 200))}}},
		{name: "no statistics for the column", table: partitionedTable(), loser: out, reads: where("x = 1"), winners: [][]string{{inPartition(1, "w", ids(100, 200))}}, kind: ConcurrentAppend, reason: StatisticsMissing},
		{name: "an alternative without statistics", table: partitionedTable(), loser: out, reads: where("id < 50", "x = 1"), winners: [][]string{{inPartition(1, "w", ids(100, 200))}},
			kind: ConcurrentAppend, reason: StatisticsMissing},
		{name: "everything was read", loser: out, reads: whole, winners: beyond, kind: ConcurrentAppend, reason: WholeTableRead},

		// Of several winners, and of several files, one has no statistics.
		{name: "the second winner has no statistics", loser: out, reads: where("id < 50"), winners: half, kind: ConcurrentAppend, reason: StatisticsMissing, says: "nothing"},
		{name: "the first winner matches", loser: out, reads: where("id = 150"), winners: half, kind: ConcurrentAppend, reason: RangesOverlap, says: "ok"},
		{name: "the second file of a winner has none", loser: out, reads: where("id < 50"), winners: [][]string{{add("ok", ids(100, 200)), add("nothing", `"stats":"{}"`)}},
			kind: ConcurrentAppend, reason: StatisticsMissing, says: "nothing"},
		{name: "broken statistics are none", loser: out, reads: where("id < 50"), winners: [][]string{{add("nothing", `"stats":"{\"numRecords\":"`)}}, kind: ConcurrentAppend, reason: StatisticsMissing},

		// Two overwrites of one partition.
		{name: "overwrites of one partition", table: partitionedTable(), loser: []string{remove("f"), inPartition(1, "l", ids(1, 3))}, reads: where("p = 1 AND id < 100"), winners: overwrite,
			kind: ConcurrentAppend, reason: RangesOverlap},
		{name: "overwrites that remove one file", table: partitionedTable(), loser: []string{remove("f"), inPartition(1, "l", ids(1, 3))}, reads: where("p = 1 AND id > 100"), winners: overwrite,
			kind: ConcurrentDeleteDelete, reason: FileRemovedTwice},
		{name: "overwrites of two partitions", table: partitionedTable(), loser: []string{remove("g"), inPartition(2, "l", ids(1, 3))}, reads: where("p = 2"), winners: overwrite},

		// Appends to a partition that was not read.
		{name: "append to another partition", table: partitionedTable(), loser: out, reads: where("p = 1"), winners: elsewhere},
		{name: "append to the partition", table: partitionedTable(), loser: out, reads: where("p = 2"), winners: elsewhere, kind: ConcurrentAppend, reason: RangesOverlap},
		{name: "append to the second read's partition", table: partitionedTable(), loser: out, reads: where("p = 1", "p = 2 AND id = 2"), winners: elsewhere, kind: ConcurrentAppend, reason: RangesOverlap},
		{name: "append to it, in another range", table: partitionedTable(), loser: out, reads: where("p = 1", "p = 2 AND id > 100"), winners: elsewhere},
		{name: "an OR reaches across partitions", table: partitionedTable(), loser: out, reads: where("p = 1 OR id = 2"), winners: elsewhere, kind: ConcurrentAppend, reason: RangesOverlap},
		{name: "append to the NULL partition", table: partitionedTable(), loser: out, reads: where("p <=> NULL"), winners: [][]string{{strings.Replace(inPartition(0, "w", ids(1, 3)), `"0"`, "null", 1)}},
			kind: ConcurrentAppend, reason: RangesOverlap},

		// The metadata changed.
		{name: "a column was added", loser: out, reads: where("id = 1"), winners: [][]string{{partitionedTable()}}, kind: MetadataChanged, reason: MetadataChange},
		{name: "a column was added under a blind append", loser: out, winners: [][]string{{partitionedTable()}}, kind: MetadataChanged, reason: MetadataChange},
		{name: "it was the second winner's", loser: out, winners: [][]string{{add("b")}, {partitionedTable()}}, kind: MetadataChanged, reason: MetadataChange},

		// A compaction is the winner.
		{name: "rows are changed in a compacted file", loser: []string{remove("f"), add("n", ids(1, 10))}, reads: where("id > 500"), winners: compacted, kind: ConcurrentDeleteDelete, reason: FileRemovedTwice},
		{name: "append after a blind compaction", loser: out, winners: compacted},
		{name: "both compact one file", loser: []string{remove("f", optimized), add("d", optimized)}, winners: compacted, kind: ConcurrentDeleteDelete, reason: FileRemovedTwice},

		// A blind append meets three kinds of losers.
		{name: "blind append under WriteSerializable", table: weak, loser: out, reads: where("id = 5"), winners: appended},
		{name: "blind append under Serializable", loser: out, reads: where("id = 5"), winners: appended, kind: ConcurrentAppend, reason: RangesOverlap},
		{name: "blind append and a compaction", loser: []string{remove("f", optimized), add("c", optimized)}, reads: read([]string{"f"}, "id = 5"), winners: appended},
		{name: "an append that only says it is blind", table: weak, loser: out, reads: where("id = 5"), winners: [][]string{{blind, remove("g"), add("b", ids(1, 10))}},
			kind: ConcurrentAppend, reason: RangesOverlap},

		// One application commits twice.
		{name: "a higher number of one application", loser: []string{add("a"), `{"txn":{"appId":"s","version":6}}`}, reads: func(t *Transaction) { t.ReadAppIDs = []string{"s"} },
			winners: [][]string{{`{"txn":{"appId":"s","version":5}}`}}, kind: ConcurrentTransaction, reason: ApplicationAdvanced},
		{name: "a lower number", loser: []string{add("a"), `{"txn":{"appId":"s","version":4}}`}, reads: func(t *Transaction) { t.ReadAppIDs = []string{"s"} },
			winners: [][]string{{`{"txn":{"appId":"s","version":5}}`}}, kind: ConcurrentTransaction, reason: ApplicationAdvanced},
		{name: "the same number", loser: []string{add("a"), `{"txn":{"appId":"s","version":5}}`}, reads: func(t *Transaction) { t.ReadAppIDs = []string{"s"} },
			winners: [][]string{{`{"txn":{"appId":"s","version":5}}`}}, kind: ConcurrentTransaction, reason: ApplicationAdvanced},
		{name: "application ids differ by case", loser: []string{add("a"), `{"txn":{"appId":"S","version":5}}`}, reads: func(t *Transaction) { t.ReadAppIDs = []string{"S"} },
			winners: [][]string{{`{"txn":{"appId":"s","version":5}}`}}},
	} {
		r.mode = Stats
		t.Run(r.name, r.run)
	}
}
