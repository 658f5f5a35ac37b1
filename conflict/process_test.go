package conflict

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
)

// childEnv makes TestChild commit to the table in the folder that it names, until childCommits are done.
const (
	childEnv     = "DELTASKIP_TEST_TABLE"
	childName    = "DELTASKIP_TEST_NAME"
	childCommits = "DELTASKIP_TEST_COMMITS"
)

// long reports whether the tests that take minutes are asked for.
func long() bool { return os.Getenv("DELTASKIP_LONG") != "" }

// TestChild is the body of the processes that the tests below start.
func TestChild(t *testing.T) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		t.Skip("SKIPPED: it is a process that other tests start")
	}
	n, err := strconv.Atoi(os.Getenv(childCommits))
	if err != nil {
		t.Fatal(err)
	}
	store, err := logstore.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	commit := newCommitter(t, store, CommitOptions{}).Commit
	if strings.HasSuffix(os.Getenv(childName), "g") {
		commit = newGroup(t, store, GroupOptions{}).Commit
	}
	base := readTxn(t, store)
	var group sync.WaitGroup
	var out sync.Mutex
	for g := range 4 {
		group.Go(func() {
			for i := range n / 4 {
				txn, path := *base, fmt.Sprintf("%s-%d-%d", os.Getenv(childName), g, i)
				txn.Actions = []action.Action{&action.Add{Path: path, DataChange: true}}
				got, err := commit(context.Background(), &txn)
				if err != nil {
					t.Errorf("%s: %v", path, err)
					return
				}
				out.Lock()
				fmt.Fprintf(os.Stderr, "committed %s %d\n", path, got.Version)
				out.Unlock()
			}
		})
	}
	group.Wait()
}

// runChildren has processes commit to one table and returns what they acknowledged. Those for whom kill returns a time are
// killed, without warning, after it.
func runChildren(t *testing.T, dir string, n, commits int, kill func(i int) time.Duration) map[string]int64 {
	t.Helper()
	acknowledged := map[string]int64{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range n {
		name := fmt.Sprint("p", i)
		if i%2 == 1 {
			name += "g"
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
		cmd.Env = append(os.Environ(), childEnv+"="+dir, childName+"="+name, fmt.Sprint(childCommits, "=", commits))
		out, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after := kill(i)
		if after > 0 {
			time.AfterFunc(after, func() { cmd.Process.Kill() })
		}
		group.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				var path string
				var version int64
				if _, err := fmt.Sscanf(lines.Text(), "committed %s %d", &path, &version); err == nil {
					mu.Lock()
					acknowledged[path] = version
					mu.Unlock()
				}
			}
			if err := cmd.Wait(); err != nil && after == 0 {
				t.Errorf("process %s: %v", name, err)
			}
		})
	}
	group.Wait()
	return acknowledged
}

func localTable(t *testing.T) (*logstore.Local, string) {
	t.Helper()
	dir := t.TempDir()
	store, err := logstore.CreateLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if err := store.PutIfAbsent(context.Background(), deltalog.CommitName(0), []byte(basicProtocol+"\n"+table()+"\n")); err != nil {
		t.Fatal(err)
	}
	return store, dir
}

func TestProcessesOnOneFolder(t *testing.T) {
	processes, commits := 3, 8
	if long() {
		processes, commits = 8, 200
	}
	store, dir := localTable(t)
	acknowledged := runChildren(t, dir, processes, commits, func(int) time.Duration { return 0 })
	if len(acknowledged) != processes*commits {
		t.Errorf("%d commits were acknowledged, want %d", len(acknowledged), processes*commits)
	}
	checkLog(t, store, acknowledged)
}

func TestProcessesThatAreKilled(t *testing.T) {
	rounds, processes := 1, 3
	if long() {
		rounds, processes = 50, 8
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	total := 0
	for range rounds {
		store, dir := localTable(t)
		acknowledged := runChildren(t, dir, processes, 100000, func(int) time.Duration {
			return time.Duration(50+random.IntN(400)) * time.Millisecond
		})
		checkLog(t, store, acknowledged)
		total += len(acknowledged)
	}
	t.Logf("%d commits acknowledged before their processes were killed", total)
}

// TestGoroutinesOnOneFolder is the race of goroutines on a real file system.
func TestGoroutinesOnOneFolder(t *testing.T) {
	goroutines := 8
	if long() {
		goroutines = 64
	}
	for name, open := range committers(t) {
		t.Run(name, func(t *testing.T) {
			store, _ := localTable(t)
			race64(t, store, store, goroutines, 4, open)
		})
	}
}
