package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/deltalog"
)

// writeTable makes a folder with a log of these commits.
func writeTable(t testing.TB, commits ...string) string {
	t.Helper()
	dir := t.TempDir()
	for v, text := range commits {
		name := filepath.Join(dir, deltalog.CommitName(int64(v)))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const testCreate = `{"commitInfo":{"operation":"CREATE TABLE","timestamp":1767225600000}}
{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":"m","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}`

// testAdd is an add of the ids from low to high.
func testAdd(path string, low, high int) string {
	return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,`+
		`"stats":"{\"numRecords\":10,\"minValues\":{\"id\":%d},\"maxValues\":{\"id\":%d},\"nullCount\":{\"id\":0}}"}}`, path, low, high)
}

// racingTable has a DELETE at version 3 that raced with an append, a MERGE at version 4 that raced with both, and a commit that
// tells nothing.
func racingTable(t testing.TB) string {
	return writeTable(t,
		testCreate,
		`{"commitInfo":{"operation":"WRITE","readVersion":0,"isBlindAppend":true,"engineInfo":"engine/1"}}`+"\n"+testAdd("a", 0, 99),
		`{"commitInfo":{"operation":"WRITE","readVersion":1,"isBlindAppend":true,"engineInfo":"engine/1"}}`+"\n"+testAdd("b", 1000, 1999),
		`{"commitInfo":{"operation":"DELETE","readVersion":1,"txnId":"abc","engineInfo":"engine/1","operationParameters":{"predicate":"[\"(id#7L < 50)\"]"}}}`+"\n"+
			`{"remove":{"path":"a","dataChange":true}}`+"\n"+testAdd("a2", 50, 99),
		`{"commitInfo":{"operation":"MERGE","readVersion":1,"engineInfo":"engine/2","operationParameters":{"predicate":"[\"(id#7L = id#8L)\"]"}}}`+"\n"+testAdd("c", 5, 6),
		`{"commitInfo":{"operation":"OPTIMIZE"}}`,
	)
}

func TestHistory(t *testing.T) {
	table := racingTable(t)
	out, stderr, code := deltaskip(t, "history", table)
	if code != exitDone || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	checkSays(t, out, "5 commits, 2 of them raced", "1 commit tells no version", "id < 50", "conflict ok ok ok", "unknown ? ? ? ?",
		"DELETE engine/1 1 1 1 1 (100 %)", "all 5 2 1 1 (100 %)", "only commits that succeeded", "not the aborts that people had")
	out, _, _ = deltaskip(t, "history", table, "--format", "json")
	var got historyJSON
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.From != 1 || got.To != 5 || got.Commits != 5 || got.Untold != 1 || len(got.Races) != 2 || !strings.Contains(got.Note, "aborted") {
		t.Errorf("%s", out)
	}
	race := got.Races[0]
	if race.Version != 3 || race.ReadVersion != 1 || race.Winners != 1 || race.Predicate != "id < 50" || race.Isolation != "Serializable" || len(race.Verdicts) != 4 {
		t.Errorf("%+v", race)
	}
	if v := race.Verdicts[0]; v.Mode != "off" || v.Isolation != "Serializable" || v.Outcome != "conflict" || v.Error != "ConcurrentAppendException" || v.Path != "b" || *v.Winner != 2 {
		t.Errorf("%+v", v)
	}
	if v := race.Verdicts[3]; v.Mode != "stats" || v.Isolation != "WriteSerializable" || v.Outcome != "commit" || v.Winner != nil {
		t.Errorf("%+v", v)
	}
	if merge := got.Races[1]; merge.ReadsFrom != "unknown" || !strings.Contains(merge.Note, "source") || merge.Verdicts[0].Outcome != "unknown" {
		t.Errorf("%+v", merge)
	}
	out, _, _ = deltaskip(t, "history", table, "--from", "1", "--to", "2")
	checkSays(t, out, "Versions 1 to 2", "2 commits, 0 of them raced")
}

func TestHistoryFindsATransaction(t *testing.T) {
	table := racingTable(t)
	for _, tt := range []struct {
		args []string
		says string
		json string
	}{
		{[]string{"abc"}, "Transaction abc is committed: version 3, DELETE by engine/1", `"version":3,"from":0,"to":5,"commit":{"version":3,"operation":"DELETE"`},
		{[]string{"abd"}, "Transaction abd is not in versions 0 to 5. If its writer never learned", `{"txnId":"abd","version":null,"from":0,"to":5}`},
		{[]string{"abc", "--from", "4"}, "not in versions 4 to 5", `"version":null,"from":4,"to":5`},
	} {
		args := append([]string{"history", table, "--txn-id"}, tt.args...)
		out, stderr, code := deltaskip(t, args...)
		if code != exitDone {
			t.Errorf("exit %d, %s", code, stderr)
		}
		checkSays(t, out, tt.says)
		if out, _, _ = deltaskip(t, append(args, "--format", "json")...); !strings.Contains(out, tt.json) {
			t.Errorf("%v: %s", tt.args, out)
		}
	}
}

func TestHistoryRefuses(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{eventsTable, "--from", "-3"}, exitUsage, "begin at 0"},
		{[]string{eventsTable, "--from", "3", "--to", "2"}, exitUsage, "before --from"},
		{[]string{eventsTable, "--from", "99"}, exitError, "no version 98"},
		{[]string{"no-such-folder"}, exitError, "not a table"},
	} {
		_, stderr, code := deltaskip(t, append([]string{"history"}, tt.args...)...)
		if code != tt.code || !strings.Contains(stderr, tt.says) {
			t.Errorf("%v: exit %d, %s", tt.args, code, stderr)
		}
	}
}
