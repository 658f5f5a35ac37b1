package conflict

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/internal/crash"
	"github.com/deltaskip/deltaskip/logstore"
)

// A crasher is a program that commits to a table and is killed.
type crasher struct {
	table  func(t *testing.T, store logstore.Store) // makes the table
	txns   func(t *testing.T, store logstore.Store) []*Transaction
	commit func(t *testing.T, log *deltalog.Log, txns []*Transaction, done func(i int, c Committed))
}

var crashers = map[string]crasher{
	"alone":   {plainTable, appends, commitAlone},
	"group":   {plainTable, appends, commitTogether},
	"vectors": {markedTable, marksRow, commitAlone},
}

func plainTable(t *testing.T, store logstore.Store) {
	(&rowTable{t: t, store: store}).put(deltalog.CommitName(0), []byte(basicProtocol+"\n"+table()+"\n"))
}

// markedTable is a table where a winner has marked row 1 of file f, after version 1; what a loser does that marks row 5 is in
// the file loser.
func markedTable(t *testing.T, store logstore.Store) {
	r := &rowTable{t: t, store: store}
	f := ten(r, "f")
	r.put(deltalog.CommitName(0), []byte(vectorProtocol+"\n"+table(propDeletionVectors+"=true")+"\n"))
	r.next = 1
	r.commit(infoOf("WRITE"), f)
	r.commit(infoOf("DELETE"), marking(f, r.without(f, 1))...)
	r.put("loser", []byte(text(marking(f, r.without(f, 5)))))
}

// appends are transactions of two files and an application id each.
func appends(t *testing.T, store logstore.Store) (txns []*Transaction) {
	first := int64(0)
	for i := range 2 {
		txn, err := txnAt(t.Context(), store, &first)
		if err != nil {
			t.Fatal(err)
		}
		txn.CommitInfo = infoOf("WRITE")
		txn.CommitInfo.SetString("txnId", fmt.Sprint("txn", i))
		for part := range 2 {
			txn.Actions = append(txn.Actions, newFile(fmt.Sprintf("txn%d-%d", i, part)))
		}
		txn.Actions = append(txn.Actions, &action.Txn{AppID: fmt.Sprint("app", i), Version: 1})
		txns = append(txns, txn)
	}
	return txns
}

// marksRow is the loser of markedTable. It adds a file as well.
func marksRow(t *testing.T, store logstore.Store) []*Transaction {
	loser, _, err := store.Get(t.Context(), "loser", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	r := &rowTable{t: t, store: store}
	txn := r.txn("DELETE", []string{"id = 5"}, append(parse(t, strings.Split(string(loser), "\n")...), newFile("txn0-0"), newFile("txn0-1"))...)
	txn.CommitInfo.SetString("txnId", "txn0")
	return []*Transaction{txn}
}

func commitAlone(t *testing.T, log *deltalog.Log, txns []*Transaction, done func(int, Committed)) {
	c, err := NewCommitter(t.Context(), log, rowLevel())
	if err != nil {
		t.Fatal(err)
	}
	for i, txn := range txns {
		got, err := c.Commit(t.Context(), txn)
		if err != nil {
			t.Fatal(err)
		}
		done(i, got)
	}
}

// commitTogether makes one group of all transactions.
func commitTogether(t *testing.T, log *deltalog.Log, txns []*Transaction, done func(int, Committed)) {
	g, err := NewGroupCommitter(t.Context(), log, GroupOptions{MaxMembers: len(txns), MaxDelay: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var group sync.WaitGroup
	for i, txn := range txns {
		group.Go(func() {
			got, err := g.Commit(t.Context(), txn)
			if err != nil {
				t.Error(err)
				return
			}
			done(i, got)
		})
	}
	group.Wait()
}

// Of the program: the table's folder, and which crasher it is.
const (
	crashDir  = "DELTASKIP_CRASH_TABLE"
	crashName = "DELTASKIP_CRASH_NAME"
)

// TestCommitForCrash is the program that TestCommittersThatAreKilled starts.
func TestCommitForCrash(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("SKIPPED: it is a process that another test starts")
	}
	store, err := logstore.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	k := crashers[os.Getenv(crashName)]
	k.commit(t, deltalog.Open(store, deltalog.Options{}), k.txns(t, store), func(i int, c Committed) {
		fmt.Printf("committed %d %d\n", i, c.Version)
	})
}

// TestCommittersThatAreKilled kills committers before each of their system calls that change something. Whenever that is: the
// table opens, its log has no gap, each acknowledged transaction is in it once, each other one once or not at all and never in
// part, and who comes after commits the rest, once.
func TestCommittersThatAreKilled(t *testing.T) {
	for name, k := range crashers {
		if testing.Short() && name != "group" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				dir := t.TempDir()
				store, err := logstore.OpenLocal(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				k.table(t, store)
				r := crash.RunTest(t, "TestCommitForCrash", dir, n, crashDir+"="+dir, crashName+"="+name)
				k.after(t, store, r)
				if t.Failed() {
					t.Fatalf("killed after %v", r.Calls)
				}
				if !r.Killed {
					t.Logf("killed before each of %v", r.Calls)
					if n < 15 {
						t.Errorf("there are %d calls, too few for a probe and a commit", n-1)
					}
					return
				}
			}
		})
	}
}

// after looks at what a killed committer left, and commits again.
func (k crasher) after(t *testing.T, store *logstore.Local, r crash.Result) {
	t.Helper()
	txns := k.txns(t, store)
	acknowledged := map[int]int64{}
	for line := range strings.Lines(r.Stdout) {
		var i int
		var version int64
		if _, err := fmt.Sscanf(line, "committed %d %d", &i, &version); err == nil {
			acknowledged[i] = version
		}
	}
	before := k.landed(t, store, txns)
	for i := range txns {
		want, ok := acknowledged[i]
		if got := before[i]; len(got) > 1 || ok && !slices.Equal(got, []int64{want}) {
			t.Errorf("transaction %d, acknowledged %t as version %d, is in %v", i, ok, want, got)
		}
	}
	if !r.Killed && len(acknowledged) != len(txns) {
		t.Errorf("%d of %d transactions were acknowledged", len(acknowledged), len(txns))
	}
	again := map[int]int64{}
	var mu sync.Mutex
	k.commit(t, deltalog.Open(store, deltalog.Options{}), txns, func(i int, c Committed) {
		mu.Lock()
		defer mu.Unlock()
		again[i] = c.Version
	})
	for i, versions := range k.landed(t, store, txns) {
		if !slices.Equal(versions, []int64{again[i]}) || len(before[i]) == 1 && before[i][0] != again[i] {
			t.Errorf("transaction %d was in %v, is committed again as version %d, and is in %v", i, before[i], again[i], versions)
		}
	}
	if _, _, err := store.Get(t.Context(), "loser", 1<<20); err == nil {
		m := markingRace{rowTable: &rowTable{t: t, store: store}}
		if got := m.lacks(again[0]); got != positions(1, 5) {
			t.Errorf("f lacks rows %s", got)
		}
	}
}

// landed reads the log and returns the versions that hold each transaction, with all of its files.
func (k crasher) landed(t *testing.T, store logstore.Store, txns []*Transaction) [][]int64 {
	t.Helper()
	log := deltalog.Open(store, deltalog.Options{})
	s, err := log.Snapshot(t.Context(), deltalog.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	live := map[string]bool{}
	for a, err := range s.Adds(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		live[a.Path] = true
	}
	next := int64(0)
	landed := make([][]int64, len(txns))
	for e, err := range store.List(t.Context(), deltalog.Dir, "") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(path.Base(e.Name), ".") {
			continue // the probe, or a file that was to become one
		}
		if e.Name != deltalog.CommitName(next) {
			t.Fatalf("%s where version %d should be", e.Name, next)
		}
		commit, err := log.Commit(context.Background(), next)
		if err != nil {
			t.Fatal(err)
		}
		if commit.Info == nil && next > 0 {
			t.Errorf("version %d is not whole: it has no commitInfo", next)
		}
		added := map[string]bool{}
		for a, err := range commit.Adds() {
			if err != nil {
				t.Fatal(err)
			}
			added[a.Path] = true
		}
		for i := range txns {
			id := fmt.Sprint("txn", i)
			holds := Holds(commit, id)
			for part := range 2 {
				if name := fmt.Sprintf("%s-%d", id, part); added[name] != holds || holds && !live[name] {
					t.Errorf("version %d holds transaction %d: %t, its file %s: %t, live: %t", next, i, holds, name, added[name], live[name])
				}
			}
			if holds {
				landed[i] = append(landed[i], next)
			}
		}
		next++
	}
	return landed
}
