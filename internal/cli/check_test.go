package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// checkWidth fails for text lines over 100 columns that could have been broken.
func checkWidth(t testing.TB, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if utf8.RuneCountInString(line) > width && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
}

func TestCheckExplains(t *testing.T) {
	table := writeTable(t,
		testCreate,
		testAdd("mine", 0, 99)+"\n"+testAdd("other", 100, 199),
		`{"commitInfo":{"operation":"WRITE","isBlindAppend":true,"engineInfo":"engine/1","txnId":"t-2"}}`+"\n"+testAdd("far", 5000, 5999)+"\n"+testAdd("farther", 6000, 6999),
		`{"commitInfo":{"operation":"MERGE"}}`+"\n"+testAdd("w1", 10, 20)+"\n"+testAdd("w2", 30, 40)+"\n"+testAdd("w3", 50, 60)+"\n"+testAdd("w4", 70, 80)+"\n"+testAdd("w5", 7000, 7100)+"\n"+
			`{"remove":{"path":"mine","dataChange":true}}`+"\n"+`{"remove":{"path":"other","dataChange":true}}`,
		`{"commitInfo":{"operation":"OPTIMIZE"}}`+"\n"+`{"remove":{"path":"w1","dataChange":false}}`+"\n"+
			strings.Replace(testAdd("w6", 10, 20), `"dataChange":true`, `"dataChange":false`, 1),
	)
	txn := writeFile(t, "txn.json", `{"readVersion":1,"readPredicates":["id < 100 AND id = s.id"],"readFiles":["mine"],"operation":"DELETE",
		"actions":[{"remove":{"path":"mine","dataChange":true}}]}`)
	out, stderr, code := deltaskip(t, "check", table, "--txn", txn, "--mode", "stats")
	if code != exitConflict || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	checkWidth(t, out)
	checkSays(t, out,
		"DELETE that read version 1", "checked in mode stats", "isolation level Serializable (default, delta.isolationLevel is unset)",
		"read 0: id < 100 AND id = s.id", "not usable: id = s.id: s.id is a column of another table", "looked into 1 file",
		"version 2, WRITE by engine/1, transaction t-2", "a blind append", "added 2 files: skipped 0 by partition, 2 by statistics",
		"0 of 2 files of version 2 could hold a row of yours (2 of 2 without statistics)", "passed",
		"4 of 5 files of version 3 could hold a row of yours (5 of 5 without statistics)",
		"w1 has id in [10, 20]: RANGES_OVERLAP, read 0", "and 1 more",
		"removed 2 files, 1 of the 1 that this transaction read, 1 that it removes too",
		"stands in the way: ConcurrentAppendException, RANGES_OVERLAP",
		"version 4, OPTIMIZE", "only rearranged rows", "not judged: an earlier winner stands in the way",
		"All winners: 8 files added that count; 5 could hold a row of yours (8 without statistics)",
		"Conflict with version 3: ConcurrentAppendException [DELTA_CONCURRENT_APPEND.WITHOUT_HINT], SQLSTATE 2D521",
		"file w1", "range id in [10, 20]", "read 0 id < 100 AND id = s.id", "reason RANGES_OVERLAP", "what to do",
		"What if:", "mode off, Serializable: conflict with version 2: ConcurrentAppendException, UNPARTITIONED_TABLE",
		"mode off, WriteSerializable: conflict with version 3", "mode stats, WriteSerializable: conflict with version 3",
	)
	out, _, _ = deltaskip(t, "check", table, "--txn", txn, "--mode", "stats", "--format", "json")
	var got checkJSON
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Winners) != 3 || got.Winners[1].Reached != 4 || got.Winners[1].Adds != 5 || got.Winners[1].RemovedRead != 1 || len(got.Winners[1].Files) != 4 || !got.Winners[2].Rearranged {
		t.Errorf("winners %+v", got.Winners)
	}
	if len(got.Unusable) != 1 || got.Unusable[0].Conjunct != "id = s.id" || len(got.WhatIf) != 3 || got.WhatIf[0].Outcome != "conflict" {
		t.Errorf("unusable %+v, what if %+v", got.Unusable, got.WhatIf)
	}
	out, _, _ = deltaskip(t, "check", table, "--read-version", "1", "--where", "id = 9000", "--mode", "stats")
	checkSays(t, out, "No conflict: it may commit as version 5.", "mode off, Serializable: conflict with version 2", "mode stats, WriteSerializable: no conflict")
	out, _, _ = deltaskip(t, "check", table, "--read-version", "1", "--where", "nope = 1", "--mode", "stats")
	checkSays(t, out, "skipping failed, so partitions decide", "nope", "SKIPPING_FAILED")
}

// TestCheckOfATransactionThatFoundNoTable: read version -1 is no version of the table, and not the latest either.
func TestCheckOfATransactionThatFoundNoTable(t *testing.T) {
	create := strings.Join(strings.Split(testCreate, "\n")[1:], ",")
	txn := writeFile(t, "txn.json", `{"readVersion":-1,"operation":"CREATE TABLE","actions":[`+create+`]}`)
	out, stderr, code := deltaskip(t, "check", writeTable(t, testCreate, testAdd("a", 0, 9)), "--txn", txn)
	if code != exitConflict {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	checkSays(t, out, "CREATE TABLE that found no table", "Conflict with version 0: ProtocolChangedException", "version 0 already exists", "TABLE_CREATED", "Read version 0 and append to it")
	checkWidth(t, out)
	out, stderr, code = deltaskip(t, "check", t.TempDir(), "--txn", txn)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	checkSays(t, out, "may commit as version 0")
	for _, v := range []string{"-1", "-2"} {
		if _, stderr, code := deltaskip(t, "check", eventsTable, "--read-version", v, "--whole-table"); code != exitUsage || !strings.Contains(stderr, "--read-version "+v) {
			t.Errorf("--read-version %s: exit %d, %s", v, code, stderr)
		}
	}
	out, stderr, code = deltaskip(t, "check", eventsTable, "--txn", writeFile(t, "txn.json", `{"readVersion":-2}`))
	if code != exitError || !strings.Contains(stderr, "read version -2") {
		t.Errorf("exit %d, %s%s", code, out, stderr)
	}
}

func TestTransactionFromStandardInput(t *testing.T) {
	in, err := os.Open(filepath.Join(transactions, "delete_low_ids.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer func(old *os.File) { os.Stdin = old }(os.Stdin)
	os.Stdin = in
	if out, stderr, code := deltaskip(t, "check", eventsTable, "--txn", "-", "--mode", "stats"); code != exitDone {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
}

func TestCheckSwitches(t *testing.T) {
	rearranged := func(line string) string { return strings.Replace(line, `"dataChange":true`, `"dataChange":false`, 1) }
	table := writeTable(t, testCreate, testAdd("f", 0, 99),
		`{"commitInfo":{"operation":"OPTIMIZE"}}`+"\n"+`{"remove":{"path":"f","dataChange":false}}`+"\n"+rearranged(testAdd("h", 0, 99)))
	txn := writeFile(t, "txn.json", `{"readVersion":1,"readPredicates":["id < 50"],"readFiles":["f"],"operation":"WRITE",
		"actions":[`+testAdd("new", 0, 1)+`]}`)
	if out, _, code := deltaskip(t, "check", table, "--txn", txn, "--mode", "stats"); code != exitConflict {
		t.Errorf("without the switch: exit %d: %s", code, out)
	}
	out, stderr, code := deltaskip(t, "check", table, "--txn", txn, "--mode", "stats", "--rearranged")
	if code != exitDone {
		t.Fatalf("exit %d: %s%s", code, out, stderr)
	}
	checkWidth(t, out)
	checkSays(t, out, "passed: 2 of its file actions go together with yours by the rows in them")
	for _, more := range []string{"--row-level", "--compaction"} {
		if out, _, code := deltaskip(t, "check", table, "--txn", txn, "--mode", "stats", more); code != exitConflict {
			t.Errorf("%s: exit %d: %s", more, code, out)
		}
	}
	if _, stderr, code := deltaskip(t, "check", table, "--txn", txn, "--mode", "stats", "--removed-rows"); code != exitUsage || !strings.Contains(stderr, "--mode exact") {
		t.Errorf("--removed-rows without mode exact: exit %d: %s", code, stderr)
	}
}
