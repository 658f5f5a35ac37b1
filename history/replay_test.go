package history_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/history"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

const create = `{"commitInfo":{"operation":"CREATE TABLE","txnId":"t0"}}
{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":"m","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}`

// commit returns the text of a commit of engine "test" that read a version; negative doesn't say.
func commit(operation string, read int, members string, actions ...string) string {
	if read >= 0 {
		members += fmt.Sprintf(`,"readVersion":%d`, read)
	}
	return fmt.Sprintf(`{"commitInfo":{"operation":%q,"engineInfo":"test"%s}}`, operation, members) + "\n" + strings.Join(actions, "\n")
}

func add(path string, low, high int) string {
	stats, err := json.Marshal(fmt.Sprintf(`{"numRecords":10,"minValues":{"id":%d},"maxValues":{"id":%d},"nullCount":{"id":0}}`, low, high))
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,"stats":%s}}`, path, stats)
}

func remove(path string) string { return fmt.Sprintf(`{"remove":{"path":%q,"dataChange":true}}`, path) }

const (
	blind   = `,"isBlindAppend":true`
	lowIDs  = `,"operationParameters":{"predicate":"[\"(id#7L < 50)\"]"}`
	highIDs = `,"operationParameters":{"predicate":"[\"(id#8L > 1500)\"]"}`
	onKey   = `,"operationParameters":{"predicate":"[\"(id#8L = id#9L)\"]"}`
)

// busy is a log in which 3, 4, 6 and 7 raced.
var busy = []string{
	create,
	commit("WRITE", 0, blind+`,"txnId":"t1"`, add("a", 0, 99)),
	commit("WRITE", 1, blind, add("b", 1000, 1999)),
	commit("DELETE", 1, lowIDs+`,"txnId":"t3","deltaskip.members":["m1","m2"]`, remove("a"), add("a2", 50, 99)), // beside b
	commit("DELETE", 1, highIDs, remove("gone"), add("b2", 1000, 1500)),                                         // b is in its way
	commit("WRITE", 4, `,"isBlindAppend":false`, add("c", 1, 2)),
	commit("WRITE", 1, blind, add("d", 1, 2)),
	commit("MERGE", 5, onKey, remove("c"), add("c2", 1, 2)),
	commit("OPTIMIZE", -1, ``),
}

func openLog(t testing.TB, commits ...string) (*deltalog.Log, *storetest.Mem) {
	t.Helper()
	store := &storetest.Mem{}
	for v, text := range commits {
		if err := store.PutIfAbsent(t.Context(), deltalog.CommitName(int64(v)), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return deltalog.Open(store, deltalog.Options{}), store
}

// words are the verdicts of a race, in the order of the questions.
func words(r *history.Race) string {
	var list []string
	for _, v := range r.Verdicts {
		list = append(list, v.Outcome.String())
	}
	return strings.Join(list, " ")
}

// inFull is all that a race tells.
func inFull(r *history.Race) string {
	text := fmt.Sprint(r.Commit, r.ReadVersion, r.Isolation, r.Reads, words(r))
	for _, v := range r.Verdicts {
		if v.Conflict != nil {
			text += v.Conflict.Error()
		}
		text += fmt.Sprint(v.Err)
	}
	return text
}

func TestReplay(t *testing.T) {
	log, _ := openLog(t, busy...)
	report, err := history.Replay(t.Context(), log, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if report.From != 1 || report.To != 8 || report.Commits() != 8 || report.Untold != 1 {
		t.Errorf("%+v", report)
	}
	got := map[int64]string{}
	for _, r := range report.Races {
		got[r.Commit.Version] = words(r)
	}
	want := map[int64]string{
		3: "conflicting clear clear clear",
		4: "conflicting conflicting conflicting clear", // version 3, no blind append, counts under both levels; only b holds its rows
		6: "clear clear clear clear",
		7: "undetermined clear undetermined clear", // version 6 is a blind append
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts, want -, got +:\n%s", diff)
	}
	group := report.Groups[0]
	if group.Operation != "DELETE" || group.Engine != "test" || group.Commits != 2 || group.Races != 2 || group.Conflicting != 2 || group.Avoidable != 1 {
		t.Errorf("%+v", group)
	}
	if total := report.Total(); total.Commits != 8 || total.Races != 4 || total.Conflicting != 2 || total.Undetermined[0] != 1 {
		t.Errorf("%+v", total)
	}
	if first := report.Races[0]; first.Winners() != 1 || first.Isolation.Level != conflict.Serializable || first.Verdicts[0].Conflict.Winner.Version != 2 {
		t.Errorf("%+v", first)
	}
}

// TestReplayOfAPart: which commits are asked about changes no verdict, also where one read a version before them.
func TestReplayOfAPart(t *testing.T) {
	log, _ := openLog(t, busy...)
	whole, err := history.Replay(t.Context(), log, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for from := int64(1); from <= 8; from++ {
		for to := from; to <= 8; to++ {
			part, err := history.Replay(t.Context(), log, history.Options{From: from, To: &to})
			if err != nil {
				t.Fatal(err)
			}
			if part.From != from || part.To != to {
				t.Errorf("%d to %d, asked for %d to %d", part.From, part.To, from, to)
			}
			var got, want []string
			for _, r := range whole.Races {
				if from <= r.Commit.Version && r.Commit.Version <= to {
					want = append(want, inFull(r))
				}
			}
			for _, r := range part.Races {
				got = append(got, inFull(r))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d to %d: whole -, part +:\n%s", from, to, diff)
			}
		}
	}
	if _, err := history.Replay(t.Context(), log, history.Options{From: 100}); err == nil {
		t.Error("versions that don't exist are no error")
	}
}

func TestReplayAfterCleanup(t *testing.T) {
	log, store := openLog(t, busy...)
	version := int64(3)
	s, err := log.Snapshot(t.Context(), deltalog.SnapshotOptions{Version: &version})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	table, err := s.Table()
	if err != nil {
		t.Fatal(err)
	}
	state := &checkpoint.State{Version: version, Protocol: s.Protocol, Metadata: s.Metadata, Table: table, Adds: s.Adds(t.Context()), Removes: s.Removes(t.Context())}
	if _, err := checkpoint.Write(t.Context(), store, state, checkpoint.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for v := range version {
		if err := store.Delete(t.Context(), deltalog.CommitName(v)); err != nil {
			t.Fatal(err)
		}
	}
	report, err := history.Replay(t.Context(), log, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if report.From != 4 || len(report.Races) != 3 {
		t.Fatalf("%+v", report)
	}
	for _, r := range report.Races {
		gone := r.Commit.Version != 7 // the others read version 1
		if (r.Verdicts[0].Err != nil) != gone || gone && !strings.Contains(r.Verdicts[0].Err.Error(), "no longer has version 1") {
			t.Errorf("version %d: %v", r.Commit.Version, r.Verdicts[0])
		}
	}
	found, err := history.Find(t.Context(), log, "t3", history.Options{})
	if err != nil || found.Commit == nil || found.Commit.Version != 3 {
		t.Errorf("the commit that the checkpoint is of: %+v, %v", found, err)
	}
	found, err = history.Find(t.Context(), log, "t1", history.Options{})
	if err != nil || found.Commit != nil || found.From != 3 || found.To != 8 {
		t.Errorf("a commit that is gone: %+v, %v", found, err)
	}
}

func TestFind(t *testing.T) {
	log, _ := openLog(t, busy...)
	to := int64(2)
	for _, tt := range []struct {
		name, id string
		o        history.Options
		version  int64 // -1: none
		from, to int64
	}{
		{"the first commit", "t0", history.Options{}, 0, 0, 8},
		{"one in the middle", "t3", history.Options{}, 3, 0, 8},
		{"a member of a group", "m2", history.Options{}, 3, 0, 8},
		{"none", "t", history.Options{}, -1, 0, 8},
		{"before what is searched", "t3", history.Options{From: 4}, -1, 4, 8},
		{"behind what is searched", "t3", history.Options{To: &to}, -1, 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Workers = 1 // so that what was searched is the same every time
			found, err := history.Find(t.Context(), log, tt.id, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			version := int64(-1)
			if found.Commit != nil {
				version = found.Commit.Version
			}
			if version != tt.version || found.From != tt.from || found.To != tt.to {
				t.Errorf("version %d among %d to %d, want %+v", version, found.From, found.To, tt)
			}
		})
	}
}
