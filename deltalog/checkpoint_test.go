package deltalog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// checkpointName names a V2 checkpoint in JSON, which tests can write by hand.
func checkpointName(version int64) string {
	return fmt.Sprintf("%s/%020d.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json", deltalog.Dir, version)
}

func checkpointLines(version int64, lines ...string) []string {
	return append([]string{fmt.Sprintf(`{"checkpointMetadata":{"version":%d}}`, version), protocolLine, metadataLine}, lines...)
}

const hintName = deltalog.Dir + "/_last_checkpoint"

// checkpointed is a table of five versions: a, b, c, d, e are added in turn, and there is a checkpoint at version 2.
func checkpointed(t testing.TB) *storetest.Mem {
	mem := newTable(t, []string{addLine("a")}, []string{addLine("b")}, []string{addLine("c")}, []string{addLine("d")}, []string{addLine("e")})
	put(t, mem, checkpointName(2), checkpointLines(2, addLine("a"), addLine("b"), addLine("c"), removeLine("z"), `{"txn":{"appId":"x","version":1}}`)...)
	return mem
}

func forget(t testing.TB, mem *storetest.Mem, versions ...int64) {
	t.Helper()
	for _, v := range versions {
		if err := mem.Delete(context.Background(), deltalog.CommitName(v)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCommitsComeAfterTheCheckpoint(t *testing.T) {
	mem := checkpointed(t)
	forget(t, mem, 0, 1, 2)
	put(t, mem, deltalog.CommitName(5), removeLine("%61"), addLine("b"), removeLine("e"), addLine("z"), `{"txn":{"appId":"y","version":2}}`)
	s := snapshot(t, mem, deltalog.SnapshotOptions{})
	want := []string{"c", "d", "b", "z"}
	if got, err := paths(s.Adds(t.Context())); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if got := batchPaths(t, s, deltalog.BatchOptions{}); !slices.Equal(got, want) {
		t.Errorf("got batches with %q, want %q", got, want)
	}
	var removes []string
	for r, err := range s.Removes(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		removes = append(removes, r.Path)
	}
	if want := []string{"%61", "e"}; !slices.Equal(removes, want) {
		t.Errorf("got removes %q, want %q", removes, want)
	}
	if len(s.Txns) != 2 || s.Info != nil {
		t.Errorf("got %+v", s)
	}
}

// TestAnyHintWillDo gives the newest version with every _last_checkpoint, sound or not.
func TestAnyHintWillDo(t *testing.T) {
	for _, hint := range []string{
		"", `{"version":2,"size":7}`, `{"version":1,"size":7}`, `{"version":3}`, `{"version":99}`, `{"version":-1}`, `{"version":"2"}`, `{"version":2,"parts":5}`,
		`[]`, `{`, "\x00", `{"version":9223372036854775807}`, `{"version":2,"checksum":"0"}`,
	} {
		mem := checkpointed(t)
		put(t, mem, hintName, hint)
		s := snapshot(t, mem, deltalog.SnapshotOptions{})
		if got, err := paths(s.Adds(t.Context())); s.Version != 4 || err != nil || !slices.Equal(got, []string{"a", "b", "c", "d", "e"}) {
			t.Errorf("hint %q: version %d, %q, %v", hint, s.Version, got, err)
		}
		if s := snapshot(t, mem, at(1)); s.Version != 1 {
			t.Errorf("hint %q: version %d, want 1", hint, s.Version)
		}
	}
}

func TestAHintSavesListing(t *testing.T) {
	mem := checkpointed(t)
	put(t, mem, hintName, `{"version":2,"size":7}`)
	forget(t, mem, 1) // a gap that a full listing would show, and nobody needs
	s := snapshot(t, mem, deltalog.SnapshotOptions{})
	if s.Version != 4 {
		t.Errorf("version %d", s.Version)
	}
}

func TestADamagedCheckpointIsAvoided(t *testing.T) {
	for _, hint := range []string{"", `{"version":4,"size":7}`} {
		mem := checkpointed(t)
		put(t, mem, checkpointName(4), checkpointLines(4, `{"add":`)...)
		put(t, mem, hintName, hint)
		s := snapshot(t, mem, deltalog.SnapshotOptions{})
		if got, err := paths(s.Adds(t.Context())); s.Version != 4 || err != nil || len(got) != 5 {
			t.Errorf("version %d, %q, %v", s.Version, got, err)
		}
		put(t, mem, checkpointName(2), "garbage") // back to the first commit
		s = snapshot(t, mem, deltalog.SnapshotOptions{})
		if got, err := paths(s.Adds(t.Context())); s.Version != 4 || err != nil || len(got) != 5 {
			t.Errorf("version %d, %q, %v", s.Version, got, err)
		}
		forget(t, mem, 0)
		if _, err := deltalog.Open(mem, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{}); !errors.Is(err, checkpoint.ErrCorrupt) {
			t.Errorf("nothing left to avoid it: %v", err)
		}
	}
}

func TestAMissingSidecar(t *testing.T) {
	mem := checkpointed(t)
	put(t, mem, checkpointName(3), checkpointLines(3, `{"sidecar":{"path":"gone.parquet","sizeInBytes":1,"modificationTime":1}}`)...)
	s := snapshot(t, mem, deltalog.SnapshotOptions{})
	if got, err := paths(s.Adds(t.Context())); err == nil && len(got) != 5 {
		t.Errorf("got %q", got)
	}
	forget(t, mem, 0, 1, 2)
	if err := mem.Delete(t.Context(), checkpointName(2)); err != nil {
		t.Fatal(err)
	}
	s, err := deltalog.Open(mem, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{})
	if err == nil {
		_, err = paths(s.Adds(t.Context()))
		s.Close()
	}
	if !errors.Is(err, logstore.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestCleanedUpLogs(t *testing.T) {
	mem := checkpointed(t)
	forget(t, mem, 0, 1)
	for v := int64(2); v <= 4; v++ {
		if s := snapshot(t, mem, at(v)); s.Version != v {
			t.Errorf("version %d, want %d", s.Version, v)
		}
	}
	var missing *deltalog.VersionError
	if _, err := deltalog.Open(mem, deltalog.Options{}).Snapshot(t.Context(), at(1)); !errors.As(err, &missing) || *missing != (deltalog.VersionError{Version: 1, Oldest: 2, Newest: 4}) {
		t.Errorf("got %v", err)
	}
	forget(t, mem, 2, 3, 4)
	if s := snapshot(t, mem, deltalog.SnapshotOptions{}); s.Version != 2 || s.Info != nil {
		t.Errorf("a checkpoint and no commit: %+v", s)
	}
}

func TestTheCommitOfTheCheckpointTellsItsInfo(t *testing.T) {
	mem := checkpointed(t)
	put(t, mem, deltalog.CommitName(2), `{"commitInfo":{"operation":"WRITE"}}`, addLine("c"))
	if s := snapshot(t, mem, at(2)); s.Info == nil || s.Info.Operation() != "WRITE" {
		t.Errorf("got %+v", s.Info)
	}
	put(t, mem, deltalog.CommitName(2), "garbage") // which the checkpoint stands for
	if s := snapshot(t, mem, at(2)); s.Info != nil {
		t.Errorf("got %+v", s.Info)
	}
}

// TestReplayFromACheckpointAgainstAModel is TestReplayAgainstAModel for logs with a checkpoint, cleaned up or not.
func TestReplayFromACheckpointAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := &storetest.Mem{}
		write := func(name string, lines []string) {
			if err := mem.Put(context.Background(), name, []byte(strings.Join(lines, "\n"))); err != nil {
				t.Fatal(err)
			}
		}
		type file struct{ key, line string }
		var model []file // in log order
		last := rapid.Int64Range(0, 6).Draw(t, "last")
		checkpointAt := rapid.Int64Range(0, last).Draw(t, "checkpoint")
		cleaned := rapid.Bool().Draw(t, "cleaned")
		for v := range last + 1 {
			lines := []string{protocolLine, metadataLine}
			for range rapid.IntRange(0, 6).Draw(t, "lines") {
				key := rapid.SampledFrom([]string{"a", "b", "c%20d", "e uv@1", "a uv@1", "a uw@1"}).Draw(t, "key")
				path, vector, _ := strings.Cut(key, " u")
				line := addLine(path)
				add := rapid.Bool().Draw(t, "add")
				if !add {
					line = removeLine(path)
				}
				if vector != "" {
					line = withVector(line, strings.TrimSuffix(vector, "@1"))
				}
				lines = append(lines, line)
				model = slices.DeleteFunc(model, func(f file) bool { return f.key == key })
				if add {
					model = append(model, file{key, line})
				}
			}
			if !cleaned || v >= checkpointAt {
				write(deltalog.CommitName(v), lines)
			}
			if v == checkpointAt {
				var state []string
				for _, f := range model {
					state = append(state, f.line)
				}
				write(checkpointName(v), checkpointLines(v, state...))
			}
		}
		s, err := deltalog.Open(mem, deltalog.Options{Workers: rapid.IntRange(1, 4).Draw(t, "workers")}).Snapshot(context.Background(), deltalog.SnapshotOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var want []string
		for _, f := range model {
			want = append(want, f.key)
		}
		got, err := paths(s.Adds(context.Background()))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
	})
}
