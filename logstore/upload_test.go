package logstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/deltaskip/deltaskip/logstore"
)

// TestUpload writes a file in parts: it is there when it is complete, and nothing else stays behind.
func TestUpload(t *testing.T) {
	store, err := logstore.OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	names := func() (names []string) {
		for e, err := range store.List(t.Context(), "a", "") {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, e.Name)
		}
		return names
	}
	write := func(ctx context.Context, name string) logstore.Upload {
		t.Helper()
		u, err := store.Create(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"one", "two"} {
			if _, err := u.Write([]byte(s)); err != nil {
				t.Fatal(err)
			}
		}
		return u
	}
	read := func() string {
		data, _, err := store.Get(t.Context(), "a/b", 100)
		if errors.Is(err, logstore.ErrNotFound) {
			return ""
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}

	u := write(t.Context(), "a/b")
	if got := read(); got != "" {
		t.Errorf("an unfinished file holds %q", got)
	}
	u.Discard()
	if got := names(); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
	u = write(t.Context(), "a/b")
	if err := u.Commit(); err != nil {
		t.Fatal(err)
	}
	u.Discard()
	if got := read(); got != "onetwo" {
		t.Errorf("the file holds %q", got)
	}
	u, err = store.Create(t.Context(), "a/b")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := names(); len(got) != 1 || read() != "" {
		t.Errorf("%v after replacing the file by an empty one", got)
	}

	ctx, cancel := context.WithCancel(t.Context())
	u = write(ctx, "a/c")
	cancel()
	if _, err := u.Write(nil); !errors.Is(err, context.Canceled) {
		t.Errorf("write after the end: %v", err)
	}
	if err := u.Commit(); !errors.Is(err, context.Canceled) {
		t.Errorf("commit after the end: %v", err)
	}
	if got := names(); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
	if _, err := store.Create(t.Context(), "../a"); !errors.Is(err, logstore.ErrInvalidName) {
		t.Errorf("a name outside: %v", err)
	}
}
