package conflict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

const (
	basicProtocol = `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`
	rowTracking   = `{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["domainMetadata","rowTracking","invariants","appendOnly"]}}`
	timestamps    = `{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["inCommitTimestamp","invariants","appendOnly"]}}`
)

// table returns a metaData line of a table with column id, given properties as "key=value".
func table(properties ...string) string {
	return metadataLine(`{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}`, properties...)
}

func metadataLine(schemaString string, properties ...string) string {
	m := &action.Metadata{ID: "t", Format: action.Format{Provider: "parquet"}, SchemaString: schemaString, Configuration: map[string]string{}}
	for _, p := range properties {
		key, value, _ := strings.Cut(p, "=")
		m.Configuration[key] = value
	}
	return string(action.Append(nil, m))
}

// add and remove return lines of file actions; more are JSON members.
func add(path string, more ...string) string {
	return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":1,"modificationTime":0%s}}`, path, members("dataChange", more))
}

func remove(path string, more ...string) string {
	return fmt.Sprintf(`{"remove":{"path":%q%s}}`, path, members("dataChange", more))
}

func members(dataChange string, more []string) string {
	if !slices.ContainsFunc(more, func(m string) bool { return strings.HasPrefix(m, `"`+dataChange+`"`) }) {
		more = append([]string{`"` + dataChange + `":true`}, more...)
	}
	return "," + strings.Join(more, ",")
}

func stats(records int) string { return fmt.Sprintf(`"stats":"{\"numRecords\":%d}"`, records) }

func domain(name, configuration string) string {
	return string(action.Append(nil, &action.DomainMetadata{Domain: name, Configuration: configuration}))
}

func mark(n int) string { return string(action.Append(nil, markAction(int64(n)))) }

func parse(t testing.TB, lines ...string) []action.Action {
	t.Helper()
	var actions []action.Action
	for _, line := range lines {
		a, err := action.Parse([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		actions = append(actions, a)
	}
	return actions
}

// A race is a loser that read version 1 and the winners that are versions 2, 3 and so on.
type race struct {
	name     string
	mode     Mode
	protocol string // line; basicProtocol when empty
	table    string // line; table() when empty
	mark     *int64
	loser    []string // lines, commitInfo among them
	reads    func(*Transaction)
	winners  [][]string

	kind   Kind   // of the conflict, 0 for none
	reason Reason // likewise
	says   string // part of the conflict's message
	want   []string
}

func (r race) transaction(t testing.TB) *Transaction {
	protocol, metadata := basicProtocol, table()
	if r.protocol != "" {
		protocol = r.protocol
	}
	if r.table != "" {
		metadata = r.table
	}
	txn := &Transaction{
		ReadVersion: 1, RowIDHighWaterMark: r.mark,
		Protocol: parse(t, protocol)[0].(*action.Protocol), Metadata: parse(t, metadata)[0].(*action.Metadata),
	}
	for _, a := range parse(t, r.loser...) {
		if info, ok := a.(*action.CommitInfo); ok {
			txn.CommitInfo = info
		} else {
			txn.Actions = append(txn.Actions, a)
		}
	}
	if r.reads != nil {
		r.reads(txn)
	}
	return txn
}

var winnerTime = time.UnixMilli(1_000_000)

// logOf returns a log whose commits from a version on are the given ones, written at winnerTime.
func logOf(t testing.TB, first int64, commits ...[]string) *deltalog.Log {
	t.Helper()
	store := &storetest.Mem{}
	for i, lines := range commits {
		name := deltalog.CommitName(first + int64(i))
		if err := store.PutIfAbsent(context.Background(), name, []byte(strings.Join(lines, "\n")+"\n")); err != nil {
			t.Fatal(err)
		}
		store.SetModTime(name, winnerTime)
	}
	return deltalog.Open(store, deltalog.Options{})
}

func checker(t testing.TB, log *deltalog.Log, o Options) *Checker {
	t.Helper()
	if o.Memory == nil {
		o.Memory = checkedAllocator(t)
	}
	if o.Cache == nil {
		o.Cache = NewWinnerCache(0)
		t.Cleanup(o.Cache.Close)
	}
	c, err := NewChecker(log, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkedAllocator fails the test when a buffer is still held at its end.
func checkedAllocator(t testing.TB) *memory.CheckedAllocator {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

func (r race) run(t *testing.T) {
	t.Helper()
	result, err := checker(t, logOf(t, 2, r.winners...), Options{Mode: r.mode}).Check(context.Background(), r.transaction(t), Newest)
	if err != nil {
		t.Fatal(err)
	}
	if r.kind != 0 {
		if result.Outcome != Conflicting {
			t.Fatalf("%s, want %s", result.Outcome, r.kind)
		}
		got := result.Conflict
		if got.Kind != r.kind || got.Reason != r.reason {
			t.Errorf("%s because of %s, want %s because of %s", got.Kind, got.Reason, r.kind, r.reason)
		}
		if !strings.Contains(got.Error(), r.says) {
			t.Errorf("message %q lacks %q", got, r.says)
		}
		if !errors.Is(got, ErrConflict) || !errors.Is(got, r.kind) || errors.Is(got, Kind(0)) {
			t.Errorf("%v does not match its sentinels", got)
		}
		return
	}
	if result.Outcome != Clear {
		t.Fatalf("%s, want clear: %v", result.Outcome, result.Conflict)
	}
	if want := int64(len(r.winners)) + 2; result.Version != want {
		t.Errorf("version %d, want %d", result.Version, want)
	}
	if r.want != nil {
		if diff := cmp.Diff(strings.Join(r.want, "\n"), text(result.Actions)); diff != "" {
			t.Errorf("rebased actions (-want +got):\n%s", diff)
		}
	}
}

func text(actions []action.Action) string {
	var lines [][]byte
	for _, a := range actions {
		lines = append(lines, action.Append(nil, a))
	}
	return string(bytes.Join(lines, []byte("\n")))
}

func TestChecks(t *testing.T) {
	serializable := func(t *Transaction) { t.ReadFiles = []ReadFile{{Path: "f"}} }
	for _, r := range []race{
		{name: "two blind appends", loser: []string{add("a")}, winners: [][]string{{add("b")}}, want: []string{`{"commitInfo":{}}`, add("a")}},
		{name: "a read without predicates counts every file", loser: []string{add("a")}, reads: serializable, winners: [][]string{{add("b")}},
			kind: ConcurrentAppend, reason: EmptyReadPredicates, says: "files were added to the root of the table by a concurrent update: b"},
		{name: "whole table read", loser: []string{add("a")}, reads: func(t *Transaction) { t.ReadWholeTable = true }, winners: [][]string{{add("b")}},
			kind: ConcurrentAppend, reason: WholeTableRead, says: "DELTA_CONCURRENT_APPEND.WITHOUT_HINT"},
		{name: "off looks at partitions only", loser: []string{add("a")}, reads: func(t *Transaction) { t.Reads = []Read{{SQL: "id < 5"}} },
			winners: [][]string{{add("b")}}, kind: ConcurrentAppend, reason: UnpartitionedTable, says: "2D521"},
		{name: "blind winners don't count under WriteSerializable", table: table("delta.isolationLevel=WriteSerializable"), loser: []string{add("a")},
			reads: serializable, winners: [][]string{{`{"commitInfo":{"isBlindAppend":true}}`, add("b")}}},
		{name: "unless the loser changes metadata", table: table("delta.isolationLevel=WriteSerializable"), loser: []string{table("x=1")},
			reads: serializable, winners: [][]string{{`{"commitInfo":{"isBlindAppend":true}}`, add("b")}}, kind: ConcurrentAppend, reason: EmptyReadPredicates},
		{name: "a blind flag is not believed beside a remove", table: table("delta.isolationLevel=WriteSerializable"), loser: []string{add("a")},
			reads: serializable, winners: [][]string{{`{"commitInfo":{"isBlindAppend":true}}`, add("b"), remove("g")}}, kind: ConcurrentAppend, reason: EmptyReadPredicates},
		{name: "a flag that is absent is not blind", table: table("delta.isolationLevel=WriteSerializable"), loser: []string{add("a")},
			reads: serializable, winners: [][]string{{add("b")}}, kind: ConcurrentAppend, reason: EmptyReadPredicates},
		{name: "rearranging losers don't see added files", loser: []string{remove("f", `"dataChange":false`), add("a", `"dataChange":false`)},
			reads: serializable, winners: [][]string{{add("b")}}},

		{name: "winner removes a file that was read", loser: []string{add("a")}, reads: serializable, winners: [][]string{{remove("f")}},
			kind: ConcurrentDeleteRead, reason: FileRemoved, says: "ConcurrentDeleteReadException"},
		{name: "paths are compared unescaped", loser: []string{add("a")}, reads: func(t *Transaction) { t.ReadFiles = []ReadFile{{Path: "p=%20/f"}} },
			winners: [][]string{{remove("p= /f")}}, kind: ConcurrentDeleteRead, reason: FileRemoved},
		{name: "a new deletion vector removes the file as it was read", loser: []string{add("a")}, reads: serializable,
			winners: [][]string{{remove("f", `"deletionVector":{"storageType":"i","pathOrInlineDv":"x","sizeInBytes":1,"cardinality":1}`)}},
			kind:    ConcurrentDeleteRead, reason: FileRemoved},
		{name: "any removed file counts for a whole-table read", loser: []string{add("a")}, reads: func(t *Transaction) { t.ReadWholeTable = true },
			winners: [][]string{{remove("g")}}, kind: ConcurrentDeleteRead, reason: WholeTableRead},
		{name: "both remove a file", loser: []string{remove("f")}, winners: [][]string{{remove("f")}},
			kind: ConcurrentDeleteDelete, reason: FileRemovedTwice, says: "DELTA_CONCURRENT_DELETE_DELETE"},
		{name: "the loser adds a removed file again", loser: []string{add("f")}, winners: [][]string{{remove("f")}},
			kind: ConcurrentDeleteRead, reason: ReaddedFile},
		{name: "other files may go", loser: []string{remove("f")}, reads: serializable, winners: [][]string{{remove("g")}}},

		{name: "an application id that was read", loser: []string{add("a"), `{"txn":{"appId":"s","version":5}}`},
			reads: func(t *Transaction) { t.ReadAppIDs = []string{"s"} }, winners: [][]string{{`{"txn":{"appId":"s","version":4}}`}},
			kind: ConcurrentTransaction, reason: ApplicationAdvanced, says: `application "s"`},
		{name: "an application id that was only written", loser: []string{`{"txn":{"appId":"s","version":5}}`}, winners: [][]string{{`{"txn":{"appId":"s","version":5}}`}}},
		{name: "another application", loser: []string{add("a")}, reads: func(t *Transaction) { t.ReadAppIDs = []string{"s"} }, winners: [][]string{{`{"txn":{"appId":"r","version":4}}`}}},

		{name: "both set a domain", loser: []string{domain("d", "1")}, winners: [][]string{{domain("d", "2")}},
			kind: ConcurrentTransaction, reason: DomainChanged, says: `metadata domain "d"`},
		{name: "a domain that was read", loser: []string{add("a")}, reads: func(t *Transaction) { t.ReadDomains = []string{"d"} }, winners: [][]string{{domain("d", "2")}},
			kind: ConcurrentTransaction, reason: DomainChanged},
		{name: "a replaced table loses the clustering that a winner gave it, and no other domain",
			loser:   []string{`{"commitInfo":{"operation":"CREATE OR REPLACE TABLE AS SELECT"}}`, table("x=1"), remove("f"), add("a")},
			winners: [][]string{{domain("delta.clustering", "{}"), domain("mine", "1")}},
			want: []string{`{"commitInfo":{"operation":"CREATE OR REPLACE TABLE AS SELECT"}}`, table("x=1"), remove("f"), add("a"),
				`{"domainMetadata":{"domain":"delta.clustering","configuration":"{}","removed":true}}`}},
		{name: "whose next winner clusters it again", loser: []string{`{"commitInfo":{"operation":"REPLACE TABLE"}}`, table("x=1")},
			winners: [][]string{{domain("delta.clustering", "{}")}, {domain("delta.clustering", "[]")}}, kind: ConcurrentTransaction, reason: DomainChanged, says: "delta.clustering"},
		{name: "a replacement with a clustering of its own", loser: []string{`{"commitInfo":{"operation":"REPLACE TABLE"}}`, table("x=1"), domain("delta.clustering", "{}")},
			winners: [][]string{{domain("delta.clustering", "[]")}}, kind: ConcurrentTransaction, reason: DomainChanged},
		{name: "a write leaves a winner's clustering alone", loser: []string{`{"commitInfo":{"operation":"WRITE"}}`, add("a")},
			winners: [][]string{{domain("delta.clustering", "{}")}}, want: []string{`{"commitInfo":{"operation":"WRITE"}}`, add("a")}},
		{name: "domains of similar names", loser: []string{domain("d", "1")}, winners: [][]string{{domain("d.e", "2")}}},

		{name: "first conflict of several winners", loser: []string{add("a")}, reads: serializable,
			winners: [][]string{{remove("g")}, {remove("f")}, {add("b")}}, kind: ConcurrentDeleteRead, reason: FileRemoved, says: "version 3"},
		{name: "the winner is described", loser: []string{add("a")}, reads: serializable,
			winners: [][]string{{`{"commitInfo":{"timestamp":1700000000000,"operation":"MERGE","engineInfo":"Engine/1","txnId":"abc"}}`, remove("f")}},
			kind:    ConcurrentDeleteRead, reason: FileRemoved, says: "version 2, MERGE by Engine/1, transaction abc, at 2023-11-14T22:13:20Z"},
		{name: "where the isolation level came from", loser: []string{add("a")}, reads: serializable, winners: [][]string{{remove("f")}},
			kind: ConcurrentDeleteRead, reason: FileRemoved, says: "Serializable (default, delta.isolationLevel is unset)"},
	} {
		t.Run(r.name, func(t *testing.T) { r.run(t) })
	}
}

func TestProtocolChecks(t *testing.T) {
	writer := func(features string) string {
		return `{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":[` + features + `]}}`
	}
	const base = `"invariants","appendOnly"`
	for _, r := range []race{
		{name: "a feature that works through metadata is adopted", loser: []string{add("a")}, winners: [][]string{{writer(base + `,"domainMetadata"`)}}},
		{name: "the same protocol spelled as features", loser: []string{add("a")}, winners: [][]string{{writer(base)}}},
		{name: "a feature that binds every writer", loser: []string{add("a")}, winners: [][]string{{writer(base + `,"materializePartitionColumns"`)}},
			kind: ProtocolChanged, reason: FeatureAdded, says: "materializePartitionColumns"},
		{name: "an unknown feature", loser: []string{add("a")}, winners: [][]string{{writer(base + `,"teleportation"`)}},
			kind: UnsupportedFeature, reason: FeatureUnknown, says: "teleportation"},
		{name: "an unknown version", loser: []string{add("a")}, winners: [][]string{{`{"protocol":{"minReaderVersion":4,"minWriterVersion":8}}`}},
			kind: UnsupportedFeature, reason: FeatureUnknown},
		{name: "a removed feature", protocol: writer(base + `,"domainMetadata"`), loser: []string{add("a")}, winners: [][]string{{basicProtocol}},
			kind: ProtocolChanged, reason: FeatureRemoved, says: "domainMetadata"},
		{name: "both change it", loser: []string{writer(base + `,"domainMetadata"`)}, winners: [][]string{{writer(base)}},
			kind: ProtocolChanged, reason: ProtocolChangeBoth},
		{name: "only the loser raises it", loser: []string{writer(base + `,"domainMetadata"`)}, winners: [][]string{{add("b")}}},
		{name: "the loser drops a feature", protocol: writer(base + `,"domainMetadata"`), loser: []string{writer(base)}, winners: [][]string{{add("b")}},
			kind: ProtocolChanged, reason: FeatureDropped},
		{name: "a constraint is reported as a metadata change", loser: []string{add("a")},
			winners: [][]string{{`{"protocol":{"minReaderVersion":1,"minWriterVersion":3}}`, table("delta.constraints.c=id > 0")}},
			kind:    MetadataChanged, reason: MetadataChange, says: `delta.constraints.c: unset, now "id > 0"`},
	} {
		t.Run(r.name, func(t *testing.T) { r.run(t) })
	}
}

func TestLostCreation(t *testing.T) {
	txn := &Transaction{ReadVersion: -1, Actions: parse(t, basicProtocol, table())}
	for other, says := range map[string]string{
		table():                   "version 0 already exists, with the same schema, partitioning and properties.",
		table("delta.x=1"):        `which differs in delta.x: unset, now "1"`,
		metadataLine("{\"a\":1}"): "which differs in schemaString",
		strings.Replace(table(), `"id":"t"`, `"id":"other"`, 1): "with the same schema",
	} {
		log := logOf(t, 0, []string{basicProtocol, other, add("b")})
		result, err := checker(t, log, Options{}).Check(context.Background(), txn, Newest)
		if err != nil || result.Conflict == nil || result.Conflict.Reason != TableCreated || !strings.Contains(result.Conflict.Error(), says) {
			t.Errorf("%v, %v; want %q", result.Conflict, err, says)
		}
	}
}

func TestMetadataChecks(t *testing.T) {
	const (
		mapped = `{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"id"}}]}`
		other  = `{"type":"struct","fields":[{"name":"id","type":"string","nullable":true,"metadata":{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"id"}}]}`
		mark4  = `{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{"delta.identity.highWaterMark":4}}]}`
	)
	features := func(names string) string {
		return `{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":["invariants","appendOnly",` + names + `]}}`
	}
	identity := `{"commitInfo":{"tags":{"delta.identity.schemaUpdate":"true"}}}`
	loser := []string{add("a")}
	for _, r := range []race{
		{name: "the same metadata again", loser: loser, winners: [][]string{{table()}}},
		{name: "the loser repeats it", loser: []string{table()}, winners: [][]string{{table("x=1")}}, kind: MetadataChanged, reason: MetadataChangeBoth, says: "leave it out"},
		{name: "only the loser changes it", loser: []string{table("x=1")}, winners: [][]string{{add("b")}}},
		{name: "a free property", loser: loser, winners: [][]string{{table("x=1")}}, kind: MetadataChanged, reason: MetadataChange, says: `x: unset, now "1"`},
		{name: "a property that was taken away", table: table("x=1"), loser: loser, winners: [][]string{{table()}}, kind: MetadataChanged, reason: MetadataChange, says: `x: "1", now unset`},
		{name: "an empty property that was taken away", table: table("x="), loser: loser, winners: [][]string{{table()}}, kind: MetadataChanged, reason: MetadataChange},
		{name: "deletion vectors on", loser: loser, winners: [][]string{{features(`"deletionVectors"`), table("delta.enableDeletionVectors=true")}}},
		{name: "deletion vectors off", table: table("delta.enableDeletionVectors=true"), protocol: features(`"deletionVectors"`), loser: loser,
			winners: [][]string{{table("delta.enableDeletionVectors=false")}}, kind: MetadataChanged, reason: MetadataChange},
		{name: "deletion vectors on without the feature", loser: loser, winners: [][]string{{table("delta.enableDeletionVectors=true")}}, kind: MetadataChanged, reason: MetadataChange},
		{name: "V2 checkpoints", loser: loser, winners: [][]string{{features(`"v2Checkpoint"`), table("delta.checkpointPolicy=v2")}}},
		{name: "classic checkpoints", table: table("delta.checkpointPolicy=v2"), protocol: features(`"v2Checkpoint"`), loser: loser,
			winners: [][]string{{table("delta.checkpointPolicy=classic")}}, kind: MetadataChanged, reason: MetadataChange},
		{name: "column mapping by name", loser: loser,
			winners: [][]string{{features(`"columnMapping"`), metadataLine(mapped, "delta.columnMapping.mode=name", "delta.columnMapping.maxColumnId=1")}}},
		{name: "column mapping by id", loser: loser,
			winners: [][]string{{features(`"columnMapping"`), metadataLine(mapped, "delta.columnMapping.mode=id", "delta.columnMapping.maxColumnId=1")}},
			kind:    MetadataChanged, reason: MetadataChange},
		{name: "column mapping with a new type", loser: loser,
			winners: [][]string{{features(`"columnMapping"`), metadataLine(other, "delta.columnMapping.mode=name")}}, kind: MetadataChanged, reason: MetadataChange},
		{name: "another schema", loser: loser, winners: [][]string{{metadataLine(mapped)}}, kind: MetadataChanged, reason: MetadataChange, says: "schemaString"},
		{name: "identity marks", loser: loser, winners: [][]string{{identity, metadataLine(mark4)}}},
		{name: "identity marks without the tag", loser: loser, winners: [][]string{{metadataLine(mark4)}}, kind: MetadataChanged, reason: MetadataChange},
		{name: "the identity tag does not excuse more", loser: loser, winners: [][]string{{identity, metadataLine(mark4, "x=1")}}, kind: MetadataChanged, reason: MetadataChange},
		{name: "row tracking on", loser: []string{`{"commitInfo":{"tags":{"a":"b"}}}`, remove("f")},
			winners: [][]string{{features(`"rowTracking","domainMetadata"`), table("delta.enableRowTracking=true", propRowIDColumn+"=i", propRowVersionColumn+"=v")}},
			want:    []string{`{"commitInfo":{"tags":{"a":"b","delta.rowTracking.preserved":"false"}}}`, remove("f")}},
		{name: "enabled step by step", loser: loser, winners: [][]string{
			{features(`"deletionVectors","v2Checkpoint"`), table("delta.enableDeletionVectors=true")},
			{table("delta.enableDeletionVectors=true", "delta.checkpointPolicy=v2")}}},
	} {
		t.Run(r.name, func(t *testing.T) { r.run(t) })
	}
}

func TestRebases(t *testing.T) {
	const info = `{"commitInfo":{}}`
	rt := func(base, version int) []string {
		return []string{stats(5), fmt.Sprintf(`"baseRowId":%d`, base), fmt.Sprintf(`"defaultRowCommitVersion":%d`, version)}
	}
	ict := "delta.enableInCommitTimestamps=true"
	widened := func(version int) string {
		return metadataLine(fmt.Sprintf(`{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{`+
			`"tableVersion":2,"delta.typeChanges":[{"toType":"long","fromType":"integer","tableVersion":%d},{"toType":"integer","fromType":"short","tableVersion":1}]}}]}`, version),
			propTypeWidening+"=true")
	}
	for _, r := range []race{
		{name: "row ids move past the winner's", protocol: rowTracking, mark: ptr(int64(99)),
			loser:   []string{add("a", rt(100, 2)...), mark(104)},
			winners: [][]string{{add("b", rt(100, 2)...), mark(104)}},
			want:    []string{info, mark(109), add("a", rt(105, 3)...)}},
		{name: "copied row ids stay", protocol: rowTracking, mark: ptr(int64(99)),
			table: table("delta.isolationLevel=WriteSerializable"), loser: []string{remove("f"), add("g", rt(10, 1)...)},
			winners: [][]string{{`{"commitInfo":{"isBlindAppend":true}}`, add("b", rt(100, 2)...), mark(104)}},
			want:    []string{info, mark(104), remove("f"), add("g", rt(10, 1)...)}},
		{name: "each winner moves them on", protocol: rowTracking, mark: ptr(int64(99)),
			loser:   []string{add("a", rt(100, 2)...), mark(104)},
			winners: [][]string{{add("b", rt(100, 2)...), mark(104)}, {remove("f")}, {add("c", rt(105, 4)...), mark(109)}},
			want:    []string{info, mark(114), add("a", rt(110, 5)...)}},
		{name: "row tracking turned on by a winner", loser: []string{add("a", stats(5))},
			winners: [][]string{{rowTracking}, {`{"commitInfo":{"operation":"ROW TRACKING BACKFILL"}}`, add("f", append(rt(0, 3), `"dataChange":false`)...), mark(4)}},
			want:    []string{info, mark(9), add("a", rt(5, 4)...)}},
		{name: "ids that a backfill gave are taken over", protocol: rowTracking, loser: []string{remove("f"), add("a", stats(5))},
			winners: [][]string{{`{"commitInfo":{"operation":"ROW TRACKING BACKFILL"}}`, add("f", append(rt(0, 2), `"dataChange":false`)...), mark(4)}},
			want:    []string{info, mark(9), remove("f", `"baseRowId":0`, `"defaultRowCommitVersion":2`), add("a", rt(5, 3)...)}},
		{name: "a backfill leaves out what the winner dealt with", protocol: rowTracking,
			loser: []string{`{"commitInfo":{"operation":"ROW TRACKING BACKFILL"}}`, add("f", append(rt(0, 2), `"dataChange":false`)...),
				add("g", append(rt(5, 2), `"dataChange":false`)...), add("h", append(rt(10, 2), `"dataChange":false`)...), mark(14)},
			reads:   func(t *Transaction) { t.ReadFiles = []ReadFile{{Path: "f"}, {Path: "g"}, {Path: "h"}} },
			winners: [][]string{{remove("f"), add("g", rt(0, 2)...), mark(4)}},
			want:    []string{`{"commitInfo":{"operation":"ROW TRACKING BACKFILL"}}`, mark(9), add("h", `"dataChange":false`, stats(5), `"baseRowId":5`, `"defaultRowCommitVersion":3`)}},
		{name: "an unbackfill clears what the winner numbered", protocol: rowTracking, table: table(propRowTrackingSuspended + "=true"),
			loser:   []string{`{"commitInfo":{"operation":"ROW TRACKING UNBACKFILL"}}`, add("f", `"dataChange":false`)},
			winners: [][]string{{add("g", rt(0, 2)...)}},
			want:    []string{`{"commitInfo":{"operation":"ROW TRACKING UNBACKFILL"}}`, add("f", `"dataChange":false`), add("g", `"dataChange":false`, stats(5))}},
		{name: "an unbackfill against a backfill", protocol: rowTracking,
			loser:   []string{`{"commitInfo":{"operation":"ROW TRACKING UNBACKFILL"}}`, add("f", `"dataChange":false`)},
			winners: [][]string{{`{"commitInfo":{"operation":"ROW TRACKING BACKFILL"}}`, add("g", append(rt(0, 2), `"dataChange":false`)...)}},
			kind:    ConcurrentWrite, reason: BackfillRunning},
		{name: "a backfill that changes data is none", protocol: rowTracking, loser: []string{add("a", stats(5))},
			reads:   func(t *Transaction) { t.ReadWholeTable = true },
			winners: [][]string{{`{"commitInfo":{"operation":"ROW TRACKING BACKFILL"}}`, add("g", rt(0, 2)...)}},
			kind:    ConcurrentAppend, reason: WholeTableRead},
		{name: "suspended row tracking", protocol: rowTracking, table: table(propRowTrackingSuspended + "=true"), loser: []string{add("a")},
			winners: [][]string{{add("b", rt(0, 2)...), mark(4)}}, want: []string{info, add("a")}},

		{name: "in-commit timestamps grow", protocol: timestamps, table: table(ict), loser: []string{`{"commitInfo":{"inCommitTimestamp":5}}`, add("a")},
			winners: [][]string{{`{"commitInfo":{"inCommitTimestamp":9}}`, add("b")}, {`{"commitInfo":{"inCommitTimestamp":10}}`}},
			want:    []string{`{"commitInfo":{"inCommitTimestamp":11}}`, add("a")}},
		{name: "a timestamp that is ahead stays", protocol: timestamps, table: table(ict), loser: []string{`{"commitInfo":{"inCommitTimestamp":50}}`, add("a")},
			winners: [][]string{{`{"commitInfo":{"inCommitTimestamp":9}}`}}, want: []string{`{"commitInfo":{"inCommitTimestamp":50}}`, add("a")}},
		{name: "timestamps turned on by the winner", loser: []string{`{"commitInfo":{"timestamp":7}}`, add("a")},
			winners: [][]string{{`{"commitInfo":{"inCommitTimestamp":3}}`, timestamps, table(ict, propTimestampsVersion+"=2", propTimestampsTimestamp+"=3")}},
			want:    []string{`{"commitInfo":{"timestamp":7,"inCommitTimestamp":7}}`, add("a")}},
		{name: "timestamps turned on by the loser", loser: []string{`{"commitInfo":{"inCommitTimestamp":7}}`, timestamps, table(ict, propTimestampsVersion+"=2", propTimestampsTimestamp+"=7")},
			winners: [][]string{{add("b")}},
			want: []string{`{"commitInfo":{"inCommitTimestamp":1000001}}`, timestamps,
				table(ict, propTimestampsVersion+"=3", propTimestampsTimestamp+"=1000001")}},
		{name: "the enablement is kept by a loser that rewrites metadata", protocol: timestamps, table: table(ict, propTimestampsVersion+"=1", propTimestampsTimestamp+"=2"),
			loser: []string{`{"commitInfo":{"inCommitTimestamp":7}}`, table(ict, "x=1")}, winners: [][]string{{`{"commitInfo":{"inCommitTimestamp":3}}`}},
			want: []string{`{"commitInfo":{"inCommitTimestamp":7}}`, table(ict, "x=1", propTimestampsVersion+"=1", propTimestampsTimestamp+"=2")}},

		{name: "type changes move on", table: table(propTypeWidening + "=true"), loser: []string{widened(2)}, winners: [][]string{{add("b")}, {add("c")}},
			want: []string{info, widened(4)}},
		{name: "older type changes stay", table: table(propTypeWidening + "=true"), loser: []string{widened(1)}, winners: [][]string{{add("b")}},
			want: []string{info, widened(1)}},
	} {
		t.Run(r.name, func(t *testing.T) {
			for i, line := range r.want { // spell as Append does
				r.want[i] = text(parse(t, line))
			}
			r.run(t)
		})
	}
}

func TestRebasingLeavesTheTransactionAlone(t *testing.T) {
	r := race{protocol: rowTracking, mark: ptr(int64(99)), table: table("delta.enableInCommitTimestamps=true", "delta.isolationLevel=WriteSerializable"),
		loser:   []string{`{"commitInfo":{"inCommitTimestamp":5,"tags":{"a":"b"}}}`, add("a", stats(5), `"baseRowId":100`), remove("f"), mark(104)},
		winners: [][]string{{`{"commitInfo":{"inCommitTimestamp":9,"isBlindAppend":true}}`, add("b", stats(5), `"baseRowId":100`), mark(104)}}}
	txn := r.transaction(t)
	before := text(append([]action.Action{txn.CommitInfo}, txn.Actions...))
	if _, err := checker(t, logOf(t, 2, r.winners...), Options{}).Check(context.Background(), txn, Newest); err != nil {
		t.Fatal(err)
	}
	if after := text(append([]action.Action{txn.CommitInfo}, txn.Actions...)); after != before {
		t.Errorf("the transaction changed:\n%s\n%s", before, after)
	}
}

func TestInvalidTransactions(t *testing.T) {
	for name, r := range map[string]race{
		"a blind append that removes":     {loser: []string{`{"commitInfo":{"isBlindAppend":true}}`, remove("f")}},
		"a blind append that reads":       {loser: []string{`{"commitInfo":{"isBlindAppend":true}}`, add("a")}, reads: func(t *Transaction) { t.ReadWholeTable = true }},
		"two metadata":                    {loser: []string{table(), table()}},
		"one application twice":           {loser: []string{`{"txn":{"appId":"s","version":4}}`, `{"txn":{"appId":"s","version":5}}`}},
		"one domain twice":                {loser: []string{domain("d", "1"), domain("d", "2")}},
		"a file added twice":              {loser: []string{add("a"), add("a")}},
		"a file removed twice":            {loser: []string{remove("a"), remove("a")}},
		"a file added and removed":        {loser: []string{remove("a"), add("a")}},
		"data change and no data change":  {loser: []string{remove("a"), add("b", `"dataChange":false`)}},
		"row tracking without numRecords": {protocol: rowTracking, loser: []string{add("a")}, winners: [][]string{{add("b")}}},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := checker(t, logOf(t, 2, r.winners...), Options{}).Check(context.Background(), r.transaction(t), Newest)
			if !errors.Is(err, ErrTransaction) || result.Outcome != Undetermined {
				t.Errorf("%v, %v; want an invalid transaction", result.Outcome, err)
			}
		})
	}
}

func TestAGapBetweenVersionsIsAnError(t *testing.T) {
	result, err := checker(t, logOf(t, 3, []string{add("b")}), Options{}).Check(context.Background(), race{loser: []string{add("a")}}.transaction(t), Newest)
	if err == nil || result.Outcome != Undetermined {
		t.Errorf("%v, %v", result.Outcome, err)
	}
}
