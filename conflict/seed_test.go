package conflict

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// A recorder keeps events.
type recorder struct {
	mu     sync.Mutex
	events []Event
}

func (r *recorder) Observe(_ context.Context, e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func of[E Event](r *recorder) (list []E) {
	for _, e := range r.events {
		if e, ok := e.(E); ok {
			list = append(list, e)
		}
	}
	return list
}

// ids returns statistics of a file whose column id lies in [low, high]; more are members of the statistics.
func ids(low, high int, more ...string) string {
	text := fmt.Sprintf(`{"numRecords":10,"minValues":{"id":%d},"maxValues":{"id":%d},"nullCount":{"id":0}%s}`, low, high, strings.Join(append([]string{""}, more...), ","))
	return fmt.Sprintf(`"stats":%q`, text)
}

// inPartition returns a line that adds a file of partition p.
func inPartition(p int, path string, more ...string) string {
	return strings.Replace(add(path, more...), `"partitionValues":{}`, fmt.Sprintf(`"partitionValues":{"p":"%d"}`, p), 1)
}

// partitionedTable returns a metaData line of a table with columns id and x, partitioned by p.
func partitionedTable(properties ...string) string {
	m := metadataLine(`{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},`+
		`{"name":"x","type":"integer","nullable":true,"metadata":{}},{"name":"p","type":"integer","nullable":true,"metadata":{}}]}`, properties...)
	return strings.Replace(m, `"partitionColumns":[]`, `"partitionColumns":["p"]`, 1)
}

// TestSeedExamples are the examples of the discussion that this project began with, by name.
func TestSeedExamples(t *testing.T) {
	var files []string // ids 0 to 999, a hundred in each; those that may match id < 50 come last
	for i := 9; i >= 0; i-- {
		files = append(files, add(fmt.Sprint("f", i), ids(i*100, i*100+99)))
	}
	var huge []string // values for the column that the list of a MERGE would have
	for i := range 2000 {
		huge = append(huge, fmt.Sprint(100+2*i))
	}
	crossTerms := []string{"p = 1 AND id < 50", "p = 2 AND id >= 100"}
	for _, tt := range []struct {
		name    string
		mode    Mode // Stats when not said otherwise
		off     bool
		table   string
		reads   []string
		whole   bool
		files   []ReadFile
		winner  []string
		kind    Kind
		reason  Reason
		says    string
		skipped int64
		removed bool // a noConflict event is due
		fell    int  // fallback events
	}{
		{name: "disjoint", reads: []string{"id < 50"}, winner: []string{add("w", ids(1000, 1099))}, skipped: 1, removed: true},
		{name: "overlap", reads: []string{"id >= 950"}, winner: []string{add("w", ids(1000, 1099))}, kind: ConcurrentAppend, reason: RangesOverlap,
			says: "w may hold rows of read 0 (id >= 950), as it has id in [1000, 1099]"},
		{name: "feature off", off: true, reads: []string{"id < 50"}, winner: []string{add("w", ids(1000, 1099))}, kind: ConcurrentAppend, reason: UnpartitionedTable},
		{name: "no statistics", reads: []string{"id < 50"}, winner: []string{add("w")}, kind: ConcurrentAppend, reason: StatisticsMissing},
		{name: "ten files with statistics and one without", reads: []string{"id < 50"}, winner: append(files[:9:9], add("null"), files[9]),
			kind: ConcurrentAppend, reason: StatisticsMissing, says: "null may hold", skipped: 9},
		{name: "nine files that statistics exclude and one that they don't", reads: []string{"id < 50"}, winner: files,
			kind: ConcurrentAppend, reason: RangesOverlap, says: "f0 may hold", skipped: 9},
		{name: "cross terms: neither read", table: partitionedTable(), reads: crossTerms, winner: []string{inPartition(1, "w", ids(150, 150))}, skipped: 1, removed: true},
		{name: "cross terms: the other way", table: partitionedTable(), reads: crossTerms, winner: []string{inPartition(2, "w", ids(20, 20))}, skipped: 1, removed: true},
		{name: "cross terms: the first read", table: partitionedTable(), reads: crossTerms, winner: []string{inPartition(1, "w", ids(20, 20))},
			kind: ConcurrentAppend, reason: RangesOverlap, says: "read 0"},
		{name: "cross terms: the second read", table: partitionedTable(), reads: crossTerms, winner: []string{inPartition(2, "w", ids(150, 150))},
			kind: ConcurrentAppend, reason: RangesOverlap, says: "read 1"},
		{name: "cross terms with the feature off", off: true, table: partitionedTable(), reads: crossTerms, winner: []string{inPartition(1, "w", ids(150, 150))},
			kind: ConcurrentAppend, reason: PartitionsOverlap, says: "partition [p=1]"},
		{name: "partitioned, disjoint on a data column", table: partitionedTable(), reads: []string{"id < 50"}, winner: []string{inPartition(1, "w", ids(100, 150))}, skipped: 1, removed: true},
		{name: "partitioned, another partition", table: partitionedTable(), reads: []string{"p = 2"}, winner: []string{inPartition(1, "w", ids(100, 150))}},
		{name: "whole-table read", whole: true, reads: []string{"id < 50"}, winner: []string{add("w", ids(1000, 1099))}, kind: ConcurrentAppend, reason: WholeTableRead},
		{name: "no read predicates on a transaction that is not blind", files: []ReadFile{{Path: "f"}}, winner: []string{add("w", ids(1000, 1099))},
			kind: ConcurrentAppend, reason: EmptyReadPredicates},
		{name: "a read of everything beside one of a range", reads: []string{"id < 50", "true"}, winner: []string{add("w", ids(1000, 1099))},
			kind: ConcurrentAppend, reason: PredicateNotUsable, says: "read 1 (true)"},
		{name: "evaluation fails", reads: []string{"id < 'abc'"}, winner: []string{add("w", ids(1000, 1099))}, kind: ConcurrentAppend, reason: SkippingFailed, fell: 1},
		{name: "evaluation fails beside a read that skips", reads: []string{"id < 50", "id < 'abc'"}, winner: []string{add("w", ids(1000, 1099))},
			kind: ConcurrentAppend, reason: SkippingFailed, fell: 1},
		{name: "evaluation fails, but not where partitions decide", table: partitionedTable(), reads: []string{"p = 2 AND id < 'abc'"},
			winner: []string{inPartition(1, "w")}, fell: 1},
		{name: "a partition predicate that fails", table: partitionedTable(), reads: []string{"p < 'abc'"}, winner: []string{inPartition(1, "w")},
			kind: ConcurrentAppend, reason: SkippingFailed, fell: 1},
		{name: "a predicate that is no SQL", reads: []string{"id <"}, winner: []string{add("w", ids(1000, 1099))}, kind: ConcurrentAppend, reason: SkippingFailed, fell: 1},
		{name: "nothing to evaluate, nothing to fall back from", reads: []string{"id < 'abc'"}, winner: []string{remove("g")}},
		{name: "a comparison with the source of a MERGE", reads: []string{"id = (SELECT max(k) FROM s)"}, winner: []string{add("w", ids(1000, 1099))},
			kind: ConcurrentAppend, reason: PredicateNotUsable, says: "bounds nothing"},
		{name: "a long IN list, tested value by value", reads: []string{"id IN (" + strings.Join(huge, ",") + ")"}, winner: []string{add("w", ids(101, 101))}, skipped: 1, removed: true},
		{name: "write skew: the winner moved a row into the predicate", reads: []string{"id > 10"},
			winner: []string{`{"commitInfo":{"operation":"UPDATE"}}`, remove("g"), add("w", ids(15, 15))}, kind: ConcurrentAppend, reason: RangesOverlap, says: "UPDATE"},
		{name: "wide bounds", reads: []string{"id < 50"}, winner: []string{add("w", ids(40, 1099, `"tightBounds":false`))}, kind: ConcurrentAppend, reason: RangesOverlap},
		{name: "wide bounds that still exclude", reads: []string{"id < 40"}, winner: []string{add("w", ids(40, 1099, `"tightBounds":false`))}, skipped: 1, removed: true},
		{name: "wide bounds say nothing about nulls", reads: []string{"id IS NULL"},
			winner: []string{add("w", `"stats":"{\"numRecords\":10,\"tightBounds\":false,\"nullCount\":{\"id\":3}}"`)}, kind: ConcurrentAppend, reason: StatisticsMissing},
		{name: "a blind append under Serializable", reads: []string{"id >= 950"}, winner: []string{`{"commitInfo":{"isBlindAppend":true}}`, add("w", ids(1000, 1099))},
			kind: ConcurrentAppend, reason: RangesOverlap, says: "Under WriteSerializable this winner"},
		{name: "nothing is said of a winner that conflicts otherwise", reads: []string{"id < 50"}, files: []ReadFile{{Path: "f"}},
			winner: []string{add("w", ids(1000, 1099)), remove("f")}, kind: ConcurrentDeleteRead, reason: FileRemoved, skipped: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mode := Stats
			if tt.off {
				mode = Off
			}
			r := race{table: tt.table, loser: []string{`{"commitInfo":{"txnId":"me"}}`, add("mine"), remove("g2")}, reads: func(txn *Transaction) {
				txn.ReadWholeTable, txn.ReadFiles = tt.whole, tt.files
				for _, sql := range tt.reads {
					txn.Reads = append(txn.Reads, Read{SQL: sql})
				}
			}}
			var seen recorder
			c := checker(t, logOf(t, 2, tt.winner), Options{Mode: mode, Observer: &seen})
			got, err := c.Check(context.Background(), r.transaction(t), Newest)
			if err != nil {
				t.Fatal(err)
			}
			if tt.kind == 0 && got.Outcome != Clear || tt.kind != 0 && (got.Outcome != Conflicting || got.Conflict.Kind != tt.kind || got.Conflict.Reason != tt.reason) {
				t.Fatalf("%v, want %v because of %q: %v", got.Outcome, tt.kind, tt.reason, got.Conflict)
			}
			if tt.says != "" && !strings.Contains(got.Conflict.Error(), tt.says) {
				t.Errorf("message lacks %q:\n%v", tt.says, got.Conflict)
			}
			if got.Counts.SkippedByStats != tt.skipped {
				t.Errorf("%d files skipped by statistics, want %d", got.Counts.SkippedByStats, tt.skipped)
			}
			removed, fell := of[NoConflict](&seen), of[Fallback](&seen)
			if (len(removed) == 1) != tt.removed || len(fell) != tt.fell {
				t.Errorf("events %v and %v, want noConflict %t and %d fallbacks", removed, fell, tt.removed, tt.fell)
			}
			for _, e := range removed {
				if e.TxnID != "me" || e.Winner != 2 || e.Tier != Stats || e.FilesSkipped != tt.skipped || e.FilesConsidered < e.FilesSkipped {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

func TestFallbackNamesTheFailure(t *testing.T) {
	var seen recorder
	r := race{loser: []string{remove("g")}, reads: func(txn *Transaction) { txn.Reads = []Read{{SQL: "id < 'abc'"}} }}
	c := checker(t, logOf(t, 2, []string{remove("x")}, []string{add("w")}), Options{Mode: Stats, Observer: &seen})
	if _, err := c.Check(context.Background(), r.transaction(t), Newest); err != nil {
		t.Fatal(err)
	}
	if e := of[Fallback](&seen); len(e) != 1 || e[0].Winner != 3 || e[0].Class != "CAST_INVALID_INPUT" || !strings.Contains(e[0].Message, "abc") {
		t.Errorf("%+v", e)
	}
}

// A bomb is an expression that goes off when it is looked into.
type bomb struct{}

func (bomb) Type() schema.Type          { return schema.Type{} }
func (bomb) String() string             { return "bomb" }
func (bomb) Children() []predicate.Expr { panic("bang") }

func TestAPanicIsAFallback(t *testing.T) {
	var seen recorder
	r := race{loser: []string{remove("g")}, reads: func(txn *Transaction) { txn.Reads = []Read{{Expr: bomb{}}} }}
	got, err := checker(t, logOf(t, 2, []string{add("w")}), Options{Mode: Stats, Observer: &seen}).Check(context.Background(), r.transaction(t), Newest)
	if err != nil || got.Outcome != Conflicting || got.Conflict.Reason != SkippingFailed {
		t.Errorf("%v, %v", got, err)
	}
	if e := of[Fallback](&seen); len(e) != 1 {
		t.Errorf("%+v", seen.events)
	}
}

func TestNaNIsTrustedToWritersThatOrderIt(t *testing.T) {
	table := metadataLine(`{"type":"struct","fields":[{"name":"d","type":"double","nullable":true,"metadata":{}}]}`)
	file := func(more ...string) string {
		return add("w", append([]string{`"stats":"{\"numRecords\":3,\"minValues\":{\"d\":1.0},\"maxValues\":{\"d\":3.0},\"nullCount\":{\"d\":0}}"`}, more...)...)
	}
	info := func(engine, operation string) string {
		return fmt.Sprintf(`{"commitInfo":{"engineInfo":%q,"operation":%q}}`, engine, operation)
	}
	const spark = "Apache-Spark/4.1.0 Delta-Lake/4.4.0"
	for name, tt := range map[string]struct {
		lines []string
		clear bool
	}{
		"Spark's own":                {[]string{info(spark, "WRITE"), file()}, true},
		"Spark marked rows":          {[]string{info(spark, "DELETE"), file(`"deletionVector":{"storageType":"i","pathOrInlineDv":"x","sizeInBytes":1,"cardinality":1}`)}, false},
		"Spark carried it over":      {[]string{info(spark, "OPTIMIZE"), file(`"dataChange":false`)}, false},
		"Spark restored it":          {[]string{info(spark, "RESTORE"), file()}, false},
		"Spark cloned it":            {[]string{info(spark, "CLONE"), file()}, false},
		"Spark converted it":         {[]string{info(spark, "CONVERT"), file()}, false},
		"another engine":             {[]string{info("delta-rs:1.0", "WRITE"), file()}, false},
		"an engine like Spark":       {[]string{info("Databricks-Runtime/15.4", "WRITE"), file()}, false},
		"an engine that doesn't say": {[]string{file()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := race{table: table, loser: []string{remove("g")}, reads: func(txn *Transaction) { txn.Reads = []Read{{SQL: "d > 5"}} }}
			got, err := checker(t, logOf(t, 2, tt.lines), Options{Mode: Stats}).Check(context.Background(), r.transaction(t), Newest)
			if err != nil || (got.Outcome == Clear) != tt.clear {
				t.Errorf("%v, %v; want clear %t", got.Outcome, err, tt.clear)
			}
		})
	}
}

// TestAdoptedMetadataBindsTheReadsAnew has a winner turn column mapping on: statistics written after it go by physical names.
func TestAdoptedMetadataBindsTheReadsAnew(t *testing.T) {
	mapped := metadataLine(`{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"col-1"}}]}`,
		propColumnMappingMode+"=name")
	protocol := `{"protocol":{"minReaderVersion":2,"minWriterVersion":7,"writerFeatures":["columnMapping","invariants","appendOnly"]}}`
	physical := func(low, high int) string { return strings.ReplaceAll(ids(low, high), `\"id\"`, `\"col-1\"`) }
	for name, tt := range map[string]struct {
		stats string
		clear bool
	}{
		"by the physical name":              {physical(100, 200), true},
		"the logical name is no name there": {ids(100, 200), false},
	} {
		r := race{loser: []string{remove("g")}, reads: func(txn *Transaction) { txn.Reads = []Read{{SQL: "id < 50"}} }}
		log := logOf(t, 2, []string{add("v", ids(100, 200))}, []string{protocol, mapped}, []string{add("w", tt.stats)})
		got, err := checker(t, log, Options{Mode: Stats}).Check(context.Background(), r.transaction(t), Newest)
		if err != nil || (got.Outcome == Clear) != tt.clear {
			t.Errorf("%s: %v, %v: %v", name, got.Outcome, err, got.Conflict)
		}
	}
}
