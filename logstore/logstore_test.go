package logstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
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
		os.Symlink(filepath.Dir(outside), filepath.Join(dir, "folder")),
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
		data, _, err := s.Get(ctx, name, 10)
		if !errors.Is(err, logstore.ErrOutside) || !strings.Contains(err.Error(), "option follow of OpenLocal") {
			t.Errorf("%s: read %q, %v", name, data, err)
		}
	}
	for _, err := range s.List(ctx, "folder", "") {
		if !errors.Is(err, logstore.ErrOutside) {
			t.Errorf("listing a folder elsewhere: %v", err)
		}
	}
	if err := s.Put(ctx, "folder/x", nil); !errors.Is(err, logstore.ErrOutside) {
		t.Errorf("writing to a folder elsewhere: %v", err)
	}
}

// A folder that links may lead to is one to read: nothing is written there, and links from there lead no further.
func TestLocalFollowsLinksToFoldersThatAreAllowed(t *testing.T) {
	ctx := context.Background()
	dir, outside, secret := t.TempDir(), t.TempDir(), t.TempDir()
	for _, err := range []error{
		os.WriteFile(filepath.Join(outside, "data"), []byte("data"), 0o666),
		os.WriteFile(filepath.Join(secret, "secret"), []byte("secret"), 0o666),
		os.Symlink(filepath.Join(outside, "data"), filepath.Join(dir, "file")),
		os.Symlink(outside, filepath.Join(dir, "folder")),
		os.Symlink(filepath.Join(secret, "secret"), filepath.Join(outside, "further")),
	} {
		if err != nil {
			t.Skip(err)
		}
	}
	s, err := logstore.OpenLocal(dir, outside)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, name := range []string{"file", "folder/data"} {
		if data, _, err := s.Get(ctx, name, 10); string(data) != "data" || err != nil {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	var listed []string
	for e, err := range s.List(ctx, "folder", "") {
		if err != nil {
			if !errors.Is(err, logstore.ErrOutside) {
				t.Error(err)
			}
			break
		}
		listed = append(listed, e.Name)
	}
	if !slices.Equal(listed, []string{"folder/data"}) {
		t.Errorf("listed %q", listed)
	}
	if data, _, err := s.Get(ctx, "folder/further", 10); !errors.Is(err, logstore.ErrOutside) {
		t.Errorf("a link further out: %q, %v", data, err)
	}
	if err := s.PutIfAbsent(ctx, "folder/x", nil); !errors.Is(err, logstore.ErrOutside) {
		t.Errorf("writing there: %v", err)
	}
	if _, err := logstore.OpenLocal(dir, filepath.Join(dir, "missing")); !errors.Is(err, logstore.ErrNotFound) {
		t.Errorf("a folder that is missing: %v", err)
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
