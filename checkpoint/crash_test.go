package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/internal/crash"
	"github.com/deltaskip/deltaskip/logstore"
)

// Of TestCheckpointForCrash: the table's folder, and which checkpoint it writes.
const (
	crashDir  = "DELTASKIP_CRASH_TABLE"
	crashName = "DELTASKIP_CRASH_NAME"
)

var crashShapes = map[string]checkpoint.WriteOptions{
	"multi-part": {Parts: 2, RowGroupRows: 2}, // a classic one is the same in one part
	"V2":         {V2: true},
}

// crashTable makes a table of four versions with a checkpoint at version 1.
func crashTable(t *testing.T, store logstore.Store) {
	features := []string{"v2Checkpoint"}
	_, m := testTable(t)
	protocol := &action.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: features, WriterFeatures: features}
	for v := range int64(4) {
		text := []byte(`{"commitInfo":{}}` + "\n")
		if v == 0 {
			text = append(action.Append(append(action.Append(text, protocol), '\n'), m), '\n')
		}
		text = append(action.Append(text, &action.Add{Path: fmt.Sprint("f", v), PartitionValues: map[string]*string{}, DataChange: true}), '\n')
		if err := store.PutIfAbsent(t.Context(), deltalog.CommitName(v), text); err != nil {
			t.Fatal(err)
		}
		if v == 1 {
			writeCrash(t, store, checkpoint.WriteOptions{})
		}
	}
}

// writeCrash writes a checkpoint of the newest version.
func writeCrash(t *testing.T, store logstore.Store, o checkpoint.WriteOptions) {
	t.Helper()
	s, err := deltalog.Open(store, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	state, err := s.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Write(t.Context(), store, state, o); err != nil {
		t.Fatal(err)
	}
}

// TestCheckpointForCrash is the program that TestCheckpointsThatAreKilled starts.
func TestCheckpointForCrash(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("SKIPPED: it is a process that another test starts")
	}
	store, err := logstore.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	writeCrash(t, store, crashShapes[os.Getenv(crashName)])
}

// TestCheckpointsThatAreKilled kills a program that writes a checkpoint before each of its system calls that change something,
// save those between two writes of a file that has no name of its own yet. Whenever that is, the table reads as before, with
// its commits, and without those that a checkpoint which can be seen replaces; and the next checkpoint can be written.
func TestCheckpointsThatAreKilled(t *testing.T) {
	for name := range crashShapes {
		if testing.Short() && name != "V2" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			whole := killCheckpoint(t, name, 0)
			if n := len(whole.Calls); n < 10 {
				t.Errorf("there are %d calls, too few for a checkpoint and its hint", n)
			}
			t.Logf("calls: %v", whole.Calls)
			for i, c := range whole.Calls {
				if i == 0 || c.Op != crash.Write || whole.Calls[i-1].Op != crash.Write {
					if r := killCheckpoint(t, name, i+1); !r.Killed {
						t.Errorf("there is no call %d", i+1)
					}
				}
			}
		})
	}
}

func killCheckpoint(t *testing.T, name string, n int) crash.Result {
	t.Helper()
	dir := t.TempDir()
	store, err := logstore.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	crashTable(t, store)
	r := crash.RunTest(t, "TestCheckpointForCrash", dir, n, crashDir+"="+dir, crashName+"="+name)
	reads := func(when string) {
		t.Helper()
		if got := livePaths(t, store); !slices.Equal(got, []string{"f0", "f1", "f2", "f3"}) {
			t.Errorf("killed after %v: %s the table has %v", r.Calls, when, got)
		}
	}
	reads("with its commits")
	if hasCheckpoint(t, store, 3) {
		dropCommits(t, store)
		reads("by the new checkpoint")
	} else if !r.Killed {
		t.Error("no checkpoint was written")
	}
	writeCrash(t, store, crashShapes[name])
	dropCommits(t, store)
	reads("by the next checkpoint")
	return r
}

func livePaths(t *testing.T, store logstore.Store) (paths []string) {
	t.Helper()
	s, err := deltalog.Open(store, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{})
	if err != nil {
		t.Error(err)
		return nil
	}
	defer s.Close()
	for a, err := range s.Adds(t.Context()) {
		if err != nil {
			t.Error(err)
			return nil
		}
		paths = append(paths, a.Path)
	}
	slices.Sort(paths)
	return paths
}

// hasCheckpoint reports whether a reader would take the table to have a checkpoint of a version.
func hasCheckpoint(t *testing.T, store logstore.Store, version int64) bool {
	parts, of := 0, 0
	for e, err := range store.List(t.Context(), deltalog.Dir, "") {
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := checkpoint.ParseName(strings.TrimPrefix(e.Name, deltalog.Dir+"/")); ok && n.Version == version {
			parts, of = parts+1, max(1, n.Parts)
		}
	}
	return of > 0 && parts == of
}

func dropCommits(t *testing.T, store logstore.Store) {
	for v := range int64(4) {
		if err := store.Delete(context.Background(), deltalog.CommitName(v)); err != nil && !errors.Is(err, logstore.ErrNotFound) {
			t.Fatal(err)
		}
	}
}
