package logstore_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

func openLocal(t *testing.T) *logstore.Local {
	t.Helper()
	s, err := logstore.CreateLocal(filepath.Join(t.TempDir(), "table"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestLocal(t *testing.T) {
	storetest.TestStore(t, func(t *testing.T) logstore.Store { return openLocal(t) })
}

func TestLocalOfAMissingFolder(t *testing.T) {
	if _, err := logstore.OpenLocal(filepath.Join(t.TempDir(), "no")); !errors.Is(err, logstore.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestLocalFollowsLinksInsideTheTableOnly(t *testing.T) {
	ctx := context.Background()
	outside := filepath.Join(t.TempDir(), "secret")
	dir := t.TempDir()
	for _, err := range []error{
		os.WriteFile(outside, []byte("secret"), 0o666),
		os.WriteFile(filepath.Join(dir, "data"), []byte("data"), 0o666),
		os.Symlink("data", filepath.Join(dir, "inside")),
		os.Symlink(outside, filepath.Join(dir, "absolute")),
		os.Symlink("../"+filepath.Base(filepath.Dir(outside))+"/secret", filepath.Join(dir, "relative")),
	} {
		if err != nil {
			t.Skip(err)
		}
	}
	s, err := logstore.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if data, _, err := s.Get(ctx, "inside", 10); string(data) != "data" || err != nil {
		t.Errorf("got %q, %v", data, err)
	}
	for _, name := range []string{"absolute", "relative"} {
		if data, _, err := s.Get(ctx, name, 10); err == nil {
			t.Errorf("%s: read %q", name, data)
		}
	}
}

// forgetful lets the second creation of a name win, as a store without conditional writes does.
type forgetful struct{ storetest.Mem }

func (f *forgetful) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return f.Put(ctx, name, data)
}

func TestProbeFindsAStoreThatOverwrites(t *testing.T) {
	ctx := context.Background()
	if err := logstore.Probe(ctx, &forgetful{}, "_delta_log"); !errors.Is(err, logstore.ErrNotExclusive) {
		t.Errorf("got %v", err)
	}
	down := errors.New("down")
	s := storetest.Faulty(&storetest.Mem{}, storetest.OnCall(storetest.PutIfAbsent, 2, storetest.Fail(down)))
	if err := logstore.Probe(ctx, s, "_delta_log"); !errors.Is(err, down) || errors.Is(err, logstore.ErrNotExclusive) {
		t.Errorf("got %v", err)
	}
}

// named is Local without the way by unnamed files, which not every system has.
type named struct{ *logstore.Local }

func (n named) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return n.Local.PutIfAbsentNamed(ctx, name, data)
}

func TestLocalByTemporaryNames(t *testing.T) {
	storetest.TestStore(t, func(t *testing.T) logstore.Store { return named{openLocal(t)} })
}

// TestKilledWriters kills processes that write one version after another, and looks at what they leave.
func TestKilledWriters(t *testing.T) {
	if dir := os.Getenv("LOGSTORE_WRITE_TO"); dir != "" {
		writeUntilKilled(t, dir)
	}
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	s, err := logstore.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for round := range 10 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriters$")
		cmd.Env = append(os.Environ(), "LOGSTORE_WRITE_TO="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var acknowledged []string
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if acknowledged = append(acknowledged, lines.Text()); len(acknowledged) == 3+round {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		cmd.Wait()
		for _, name := range acknowledged {
			data, _, err := s.Get(t.Context(), name, 1<<20)
			if err != nil || !bytes.Equal(data, commitOf(name)) {
				t.Errorf("%s was acknowledged, and holds %d bytes, %v", name, len(data), err)
			}
		}
	}
	next := 0
	for e, err := range s.List(t.Context(), "log", "") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(e.Name, "log/.") {
			if runtime.GOOS == "linux" {
				t.Errorf("left behind: %s", e.Name)
			}
			continue
		}
		if want := fmt.Sprintf("log/%020d.json", next); e.Name != want || e.Size != int64(len(commitOf(want))) {
			t.Errorf("got %s of %d bytes, want %s", e.Name, e.Size, want)
		}
		next++
	}
}

func commitOf(name string) []byte { return bytes.Repeat([]byte(name), 4096) }

func writeUntilKilled(t *testing.T, dir string) {
	s, err := logstore.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	for v := 0; ; v++ {
		name := fmt.Sprintf("log/%020d.json", v)
		switch err := s.PutIfAbsent(context.Background(), name, commitOf(name)); {
		case err == nil:
			fmt.Println(name)
		case !errors.Is(err, logstore.ErrExists):
			t.Fatal(err)
		}
	}
}
