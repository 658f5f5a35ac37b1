package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

const sitesSchema = `{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}},{\"name\":\"site\",\"type\":\"string\",\"nullable\":true,\"metadata\":{}},{\"name\":\"ts\",\"type\":\"timestamp\",\"nullable\":true,\"metadata\":{}}]}`

// sitesMetadata is of a table with the columns id, site and ts.
func sitesMetadata(partitions, configuration string) string {
	return `{"metaData":{"id":"m","format":{"provider":"parquet","options":{}},"schemaString":"` + sitesSchema + `","partitionColumns":[` + partitions + `],"configuration":{` + configuration + `}}}`
}

func sites(partitions, configuration string) string {
	return `{"commitInfo":{"operation":"CREATE TABLE"}}` + "\n" + `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}` + "\n" + sitesMetadata(partitions, configuration)
}

// siteAdd adds a file of a site's partition.
func siteAdd(path, site string, low, high int) string {
	return strings.Replace(testAdd(path, low, high), `"partitionValues":{}`, fmt.Sprintf(`"partitionValues":{"site":%q}`, site), 1)
}

func info(operation string, members ...string) string {
	return `{"commitInfo":{"operation":"` + operation + `"` + strings.Join(append([]string{""}, members...), ",") + `}}`
}

func lines(l ...string) string { return strings.Join(l, "\n") }

// rearranged makes adds and removes those of a commit that changes no data.
func rearranged(line string) string {
	return strings.Replace(line, `"dataChange":true`, `"dataChange":false`, 1)
}

func testRemove(path string) string {
	return fmt.Sprintf(`{"remove":{"path":%q,"dataChange":true}}`, path)
}

// A call is a command of deltaskip and what it has to say.
type call struct {
	args []string
	code int
	says []string
}

// TestSituations has one entry for each kind of trouble that people report with concurrent writers, and what they need to hear.
func TestSituations(t *testing.T) {
	txn := func(text string) string { return writeFile(t, "txn.json", text) }
	for _, tt := range []struct {
		name  string
		table []string
		calls []call // TABLE stands for the table
	}{
		{"01 parallel MERGE, one job for each site",
			[]string{sites(`"site"`, ``), siteAdd("a", "a", 0, 9), lines(info("MERGE"), siteAdd("b", "b", 0, 9))},
			[]call{
				{[]string{"check", "TABLE", "--read-version", "1", "--where", "t.site = s.site AND t.id = s.id", "--alias", "t", "--mode", "stats"}, exitConflict,
					[]string{"not usable: t.site = s.site: s.site is a column of another table, which bounds nothing in this one",
						"1 of 1 files of version 2 could hold a row of yours", "PREDICATE_NOT_USABLE", "Add a comparison of a column with literals, such as t.site IN ('a', 'b')"}},
				{[]string{"check", "TABLE", "--read-version", "1", "--where", "t.site = s.site AND t.id = s.id AND t.site IN ('a')", "--alias", "t"}, exitDone,
					[]string{"skipped 1 by partition", "may commit as version 3"}},
				{[]string{"check", "TABLE", "--read-version", "1", "--whole-table"}, exitConflict, []string{"WHOLE_TABLE_READ", "NOT MATCHED BY SOURCE"}},
			}},
		{"02 clustered table, writers in different key ranges",
			[]string{sites(``, ``), lines(testAdd("a", 0, 9), testAdd("b", 5, 15)), lines(info("UPDATE"), testAdd("c", 100, 109), testAdd("d", 0, 200), testAdd("e", 300, 309))},
			[]call{
				{[]string{"check", "TABLE", "--read-version", "1", "--where", "id = 105", "--mode", "stats"}, exitConflict,
					[]string{"2 of 3 files of version 2 could hold a row of yours (3 of 3 without statistics)", "Cluster or partition by the filtered columns"}},
				{[]string{"check", "TABLE", "--read-version", "1", "--where", "id = 250", "--mode", "stats"}, exitDone, []string{"mode off, Serializable: conflict with version 2"}},
				{[]string{"stats", "TABLE", "--where", "id = 105"}, exitDone, []string{"depth", "id = 105 keeps 2 of 5 files (40 %)"}},
			}},
		{"03 two jobs change rows of one file",
			[]string{sites(``, ``), testAdd("f", 0, 9), lines(info("DELETE"), testRemove("f"), testAdd("f2", 0, 8))},
			[]call{{[]string{"check", "TABLE", "--txn", txn(`{"readVersion":1,"readPredicates":["id = 500"],"readFiles":["f"],"actions":[{"remove":{"path":"f","dataChange":true}}]}`), "--mode", "stats"}, exitConflict,
				[]string{"ConcurrentDeleteReadException", "file f", "removed 1 file, 1 of the 1 that this transaction read, 1 that it removes too"}}}},
		{"04 OPTIMIZE against DML",
			[]string{sites(``, ``), lines(testAdd("a", 0, 9), testAdd("b", 10, 19), testAdd("c", 20, 29)), lines(info("OPTIMIZE"), rearranged(testRemove("a")), rearranged(testAdd("ab", 0, 19)))},
			[]call{
				{[]string{"check", "TABLE", "--read-version", "1", "--where", "id = 5", "--mode", "stats"}, exitConflict, []string{"version 2, OPTIMIZE", "only rearranged rows", "dataChange=false"}},
				{[]string{"check", "TABLE", "--txn", txn(`{"readVersion":1,"operation":"OPTIMIZE","readFiles":["a","b","c"],"actions":[{"remove":{"path":"a","dataChange":false}},{"remove":{"path":"b","dataChange":false}},{"remove":{"path":"c","dataChange":false}}]}`)}, exitConflict,
					[]string{"1 of the 3 that this transaction read, 1 that it removes too: the rearranging of the other 2 could be committed by itself"}},
			}},
		{"05 two maintenance jobs on one table",
			[]string{sites(``, ``), testAdd("a", 0, 9), lines(info("OPTIMIZE", `"engineInfo":"engine/2"`, `"txnId":"t-5"`), rearranged(testRemove("a")), rearranged(testAdd("b", 0, 9)))},
			[]call{{[]string{"check", "TABLE", "--txn", txn(`{"readVersion":1,"operation":"OPTIMIZE","readFiles":["a"],"actions":[{"remove":{"path":"a","dataChange":false}},{"add":{"path":"n","partitionValues":{},"size":1,"modificationTime":1,"dataChange":false}}]}`)}, exitConflict,
				[]string{"The winner is another maintenance job (OPTIMIZE), as this one is: two of them run on this table.", "Skip this one", "engine/2", "transaction t-5"}}}},
		{"06 erasure beside ingestion",
			[]string{sites(``, ``), testAdd("a", 0, 9), lines(info("WRITE", `"isBlindAppend":true`), testAdd("b", 100, 109)), lines(info("WRITE", `"isBlindAppend":true`), testAdd("c", 0, 109))},
			[]call{{[]string{"check", "TABLE", "--read-version", "1", "--where", "id = 7", "--mode", "stats"}, exitConflict,
				[]string{"All winners: 2 files added that count; 1 could hold a row of yours (2 without statistics)", "Under WriteSerializable this winner, a blind append, would not count"}}}},
		{"07 isolation level not understood",
			[]string{sites(``, `"delta.isolationLevel":"WriteSerializable"`), testAdd("a", 0, 9), lines(info("WRITE", `"isBlindAppend":true`), testAdd("b", 0, 9))},
			[]call{
				{[]string{"check", "TABLE", "--read-version", "1", "--where", "id = 5"}, exitDone,
					[]string{"isolation level WriteSerializable (table property delta.isolationLevel)", "which don't count: under WriteSerializable the files of a blind append",
						"mode off, Serializable: conflict with version 2", "mode stats, Serializable: conflict with version 2"}},
				{[]string{"check", "TABLE", "--read-version", "1", "--where", "id = 5", "--isolation", "Serializable"}, exitConflict,
					[]string{"isolation level Serializable (given by --isolation)", "Under WriteSerializable this winner, a blind append, would not count", "mode off, WriteSerializable: no conflict"}},
			}},
		{"10 it failed, but are the rows there",
			[]string{sites(``, ``), lines(info("WRITE", `"txnId":"lost-1"`), testAdd("a", 0, 9))},
			[]call{
				{[]string{"history", "TABLE", "--txn-id", "lost-1"}, exitDone, []string{"Transaction lost-1 is committed: version 1", "don't write them again"}},
				{[]string{"history", "TABLE", "--txn-id", "lost-2"}, exitDone, []string{"is not in versions", "may still be under way", "delete its files"}},
			}},
		{"12 metadata changed by what nobody thought a schema change",
			[]string{sites(``, ``), testAdd("a", 0, 9), lines(info("SET TBLPROPERTIES"), sitesMetadata(``, `"delta.x":"b"`))},
			[]call{
				{[]string{"check", "TABLE", "--read-version", "1", "--where", "id = 5"}, exitConflict,
					[]string{"MetadataChangedException", "DELTA_METADATA_CHANGED", `delta.x: unset, now "b"`, "the schema is the same"}},
				{[]string{"check", "TABLE", "--txn", txn(`{"readVersion":1,"actions":[` + sitesMetadata(``, ``) + `]}`)}, exitConflict,
					[]string{"METADATA_CHANGE_BOTH", "repeats what it read, unchanged: leave it out of the commit"}},
			}},
		{"13 several workers create the table",
			[]string{lines(`{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`, sitesMetadata(``, ``))},
			[]call{
				{[]string{"check", "TABLE", "--txn", txn(`{"readVersion":-1,"actions":[{"protocol":{"minReaderVersion":1,"minWriterVersion":2}},` + sitesMetadata(``, ``) + `]}`)}, exitConflict,
					[]string{"ProtocolChangedException", "version 0 already exists, with the same schema, partitioning and properties", "Read version 0 and append to it"}},
				{[]string{"check", "TABLE", "--txn", txn(`{"readVersion":-1,"actions":[{"protocol":{"minReaderVersion":1,"minWriterVersion":2}},` + sitesMetadata(`"site"`, ``) + `]}`)}, exitConflict,
					[]string{"version 0 already exists, which differs in partitionColumns"}},
			}},
		{"14 a predicate that is of no use",
			[]string{sites(``, ``), testAdd("a", 0, 9), lines(info("UPDATE"), testAdd("b", 0, 9), testAdd("c", 500, 509))},
			[]call{
				{[]string{"check", "TABLE", "--read-version", "1", "--where", "id < 100 AND id IN (SELECT id FROM other)", "--mode", "stats"}, exitConflict,
					[]string{"not usable:", "a subquery is evaluated by the engine that runs it", "1 of 2 files of version 2 could hold a row of yours (2 of 2 without statistics)"}},
				{[]string{"check", "TABLE", "--read-version", "1", "--where", "my_udf(id)", "--mode", "stats"}, exitConflict, []string{"PREDICATE_NOT_USABLE", "the function my_udf is not known here"}},
				{[]string{"check", "TABLE", "--read-version", "1", "--where", "id < 'abc'", "--mode", "stats"}, exitConflict, []string{"SKIPPING_FAILED", "CAST_INVALID_INPUT"}},
			}},
		{"15 skipping that cannot work",
			[]string{sites(``, `"delta.dataSkippingNumIndexedCols":"1"`), lines(testAdd("a", 0, 9), testAdd("b", 0, 9), `{"add":{"path":"bare","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`)},
			[]call{
				{[]string{"stats", "TABLE", "--where", "id = 5"}, exitDone,
					[]string{"bounds in", "width", "1 file has no bounds", "delta.dataSkippingNumIndexedCols", "id = 5 keeps 3 of 3 files (100 %)", "count against a transaction", "The table is not clustered by id"}},
			}},
		{"16 who beat me, when, and would it happen again",
			[]string{sites(``, ``), testAdd("a", 0, 9), lines(info("UPDATE", `"engineInfo":"engine/9"`, `"txnId":"t-16"`, `"timestamp":1767225600000`, `"readVersion":0`), testAdd("b", 0, 9))},
			[]call{
				{[]string{"check", "TABLE", "--read-version", "1", "--where", "id = 5", "--mode", "stats"}, exitConflict,
					[]string{"Conflict with version 2: ConcurrentAppendException [DELTA_CONCURRENT_APPEND.WITHOUT_HINT], SQLSTATE 2D521", "file b", "id in [0, 9]", "UPDATE by engine/9, transaction t-16, at 2026-01-01T00:00:00Z", "reason RANGES_OVERLAP"}},
				{[]string{"check", "TABLE", "--read-version", "1", "--where", "id = 5", "--mode", "stats", "--format", "json"}, exitConflict,
					[]string{`"error":"ConcurrentAppendException"`, `"winner":2`, `"winnerOperation":"UPDATE"`, `"winnerEngine":"engine/9"`, `"reason":"RANGES_OVERLAP"`, `"path":"b"`, `"predicate":"id = 5"`}},
				{[]string{"history", "TABLE"}, exitDone, []string{"1 of them raced", "transactions that were aborted left nothing in it", "contention and what-if, not the aborts that people had"}},
			}},
		{"17 parallel backfill, and small control tables",
			[]string{sites(``, ``), lines(testAdd("a", 0, 9), testAdd("b", 100, 109))},
			[]call{
				{[]string{"disjoint", "TABLE", "--where", "id < 50", "--where", "id BETWEEN 50 AND 150"}, exitDone, []string{"pairwise disjoint by statistics"}},
				{[]string{"disjoint", "TABLE", "--where", "id < 105", "--where", "id BETWEEN 105 AND 150"}, exitDone, []string{"1 of 1 pairs of predicates meet", "0 and 1 in 1 file, the first b"}},
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := writeTable(t, tt.table...)
			for _, c := range tt.calls {
				for i, arg := range c.args {
					if arg == "TABLE" {
						c.args[i] = table
					}
				}
				out, stderr, code := deltaskip(t, c.args...)
				if code != c.code {
					t.Errorf("%q: exit %d, want %d: %s%s", c.args, code, c.code, out, stderr)
				}
				if strings.HasPrefix(out, "{") {
					for _, want := range c.says {
						if !strings.Contains(out, want) {
							t.Errorf("%q lacks %q:\n%s", c.args, want, out)
						}
					}
					continue
				}
				checkSays(t, out, c.says...)
			}
		})
	}
}

// sitesLog is a log in memory with the table at version 0, and a blind append to it.
func sitesLog(t *testing.T) (*storetest.Mem, *deltalog.Log, func(path string) *conflict.Transaction) {
	t.Helper()
	store := &storetest.Mem{}
	if err := store.PutIfAbsent(t.Context(), deltalog.CommitName(0), []byte(sites(``, ``))); err != nil {
		t.Fatal(err)
	}
	log := deltalog.Open(store, deltalog.Options{})
	s, err := log.Snapshot(t.Context(), deltalog.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return store, log, func(path string) *conflict.Transaction {
		txn := &conflict.Transaction{Actions: []action.Action{&action.Add{Path: path, PartitionValues: map[string]*string{}, DataChange: true}}}
		if err := txn.ReadFrom(s); err != nil {
			t.Fatal(err)
		}
		return txn
	}
}

// neverSleeping is a clock on which every sleep takes its time at once.
type neverSleeping struct {
	mu  sync.Mutex
	now time.Time
}

func (c *neverSleeping) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *neverSleeping) Sleep(_ context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return nil
}

// taken is a store whose next versions are always somebody else's by the time that they are put.
type taken struct {
	*storetest.Mem
	left int
}

func (s *taken) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	if s.left > 0 && strings.HasSuffix(name, ".json") && !strings.Contains(name, "probe") {
		s.left--
		if err := s.Mem.PutIfAbsent(ctx, name, []byte(lines(info("WRITE", `"isBlindAppend":true`), testAdd(fmt.Sprint("other", s.left), 0, 9)))); err != nil {
			return err
		}
	}
	return s.Mem.PutIfAbsent(ctx, name, data)
}

// forgetful is a store that lets names be created twice.
type forgetful struct{ *storetest.Mem }

func (s forgetful) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return s.Mem.Put(ctx, name, data)
}

// TestSituationsOfPrograms are the situations in which people call the library rather than the command.
func TestSituationsOfPrograms(t *testing.T) {
	t.Run("08 append-only fleet", func(t *testing.T) {
		store, _, blind := sitesLog(t)
		var counters conflict.Counters
		busy := deltalog.Open(&taken{store, 40}, deltalog.Options{})
		o := conflict.CommitOptions{Clock: &neverSleeping{now: time.UnixMilli(1)}, Options: conflict.Options{Observer: &counters}}
		c, err := conflict.NewCommitter(t.Context(), busy, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Commit(t.Context(), blind("mine"))
		if err != nil || got.Version != 41 || got.Attempts != 41 || got.Passed != 40 {
			t.Fatalf("%+v, %v: a blind append gives up for lack of attempts", got, err)
		}
		if counters.Attempts.Load() != 41 || counters.VersionsPassed.Load() != 40 || counters.SleepNanos.Load() == 0 {
			t.Errorf("attempts %d, versions passed %d", counters.Attempts.Load(), counters.VersionsPassed.Load())
		}
		o.AppendBudget, o.Retries = -1, 2
		if c, err = conflict.NewCommitter(t.Context(), deltalog.Open(&taken{store, 40}, deltalog.Options{}), o); err != nil {
			t.Fatal(err)
		}
		_, err = c.Commit(t.Context(), blind("more"))
		if !errors.Is(err, conflict.ErrRetriesExhausted) || !strings.Contains(err.Error(), "failed to commit transaction: 3 attempts") || !strings.Contains(err.Error(), "group commits") {
			t.Errorf("%v", err)
		}
	})
	t.Run("09 streaming with many tiny commits", func(t *testing.T) {
		_, log, blind := sitesLog(t)
		g, err := conflict.NewGroupCommitter(t.Context(), log, conflict.GroupOptions{MaxDelay: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		var group sync.WaitGroup
		for i := range 20 {
			txn := blind(fmt.Sprint("f", i))
			txn.Actions = append(txn.Actions, &action.Txn{AppID: fmt.Sprint("source-", i), Version: 1})
			group.Go(func() {
				if got, err := g.Commit(context.Background(), txn); err != nil || got.Version < 1 {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
		group.Wait()
		s, err := log.Snapshot(t.Context(), deltalog.SnapshotOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if s.Version >= 20 || len(s.Txns) != 20 {
			t.Errorf("version %d with %d sources after 20 commits: nothing was folded, or a source is lost", s.Version, len(s.Txns))
		}
	})
	t.Run("10 an outcome that nobody knows", func(t *testing.T) {
		store, _, blind := sitesLog(t)
		lost := storetest.Faulty(store, func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.PutIfAbsent && c.Name == deltalog.CommitName(1) {
				return storetest.Fail(fmt.Errorf("timeout: %w", logstore.ErrOutcomeUnknown))
			}
			return nil
		})
		c, err := conflict.NewCommitter(t.Context(), deltalog.Open(lost, deltalog.Options{}), conflict.CommitOptions{
			Clock: &neverSleeping{now: time.UnixMilli(1)}, AppendBudget: -1, NewID: func() string { return "id-10" },
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Commit(t.Context(), blind("a"))
		var unknown *conflict.OutcomeUnknownError
		if !errors.As(err, &unknown) || unknown.Version != 1 || unknown.TxnID != "id-10" {
			t.Fatalf("%v", err)
		}
		for _, want := range []string{"version 1", "id-10", "before retrying or cleaning up"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q lacks %q", err, want)
			}
		}
	})
	t.Run("11 a store without put-if-absent", func(t *testing.T) {
		store, _, _ := sitesLog(t)
		_, err := conflict.NewCommitter(t.Context(), deltalog.Open(forgetful{store}, deltalog.Options{}), conflict.CommitOptions{})
		if !errors.Is(err, logstore.ErrNotExclusive) || !strings.Contains(err.Error(), "does not refuse a second creation") {
			t.Errorf("%v", err)
		}
	})
	t.Run("16 counters by kind", func(t *testing.T) {
		store, log, blind := sitesLog(t)
		if err := store.PutIfAbsent(t.Context(), deltalog.CommitName(1), []byte(lines(info("UPDATE"), testAdd("w", 0, 9)))); err != nil {
			t.Fatal(err)
		}
		var counters conflict.Counters
		c, err := conflict.NewChecker(log, conflict.Options{Observer: &counters})
		if err != nil {
			t.Fatal(err)
		}
		txn := blind("mine")
		txn.Reads = []conflict.Read{{SQL: "id = 5"}}
		if r, err := c.Check(t.Context(), txn, conflict.Newest); err != nil || !errors.Is(r.Conflict, conflict.ConcurrentAppend) {
			t.Fatal(r, err)
		}
		if counters.OfKind(conflict.ConcurrentAppend) != 1 {
			t.Error("not counted by kind")
		}
	})
	t.Run("18 catalog-managed tables", func(t *testing.T) {
		_, log, blind := sitesLog(t)
		txn := blind("a")
		txn.Protocol = &action.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"catalogManaged"}, WriterFeatures: []string{"catalogManaged"}}
		c, err := conflict.NewCommitter(t.Context(), log, conflict.CommitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Commit(t.Context(), txn)
		if !errors.Is(err, deltalog.ErrCatalogManaged) || !strings.Contains(err.Error(), "catalogManaged") || !strings.Contains(err.Error(), "through the table's catalog") {
			t.Errorf("%v", err)
		}
	})
}
