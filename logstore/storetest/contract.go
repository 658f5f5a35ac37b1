package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/deltaskip/deltaskip/logstore"
)

// TestStore checks the contract of [logstore.Store] on stores that open makes, each empty.
func TestStore(t *testing.T, open func(t *testing.T) logstore.Store) {
	ctx := context.Background()
	put := func(t *testing.T, s logstore.Store, name, data string) {
		t.Helper()
		if err := s.PutIfAbsent(ctx, name, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("a listing is sorted, flat, and starts after the name given", func(t *testing.T) {
		s := open(t)
		for _, name := range []string{"log/2", "log/10", "log/1", "log/sub/3", "log/_last", "logs/4", "5"} {
			put(t, s, name, name)
		}
		for _, tt := range []struct {
			after string
			want  []string
		}{
			{"", []string{"log/1", "log/10", "log/2", "log/_last"}},
			{"log/10", []string{"log/2", "log/_last"}},
			{"log/11", []string{"log/2", "log/_last"}},
			{"log/_last", nil},
		} {
			var got []string
			for e, err := range s.List(ctx, "log", tt.after) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Size != int64(len(e.Name)) || e.ModTime.IsZero() {
					t.Errorf("entry %+v", e)
				}
				got = append(got, e.Name)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("after %q: got %q, want %q", tt.after, got, tt.want)
			}
		}
		for range s.List(ctx, "log", "") {
			break
		}
		for e, err := range s.List(ctx, "missing", "") {
			t.Errorf("a missing folder lists %v, %v", e, err)
		}
	})
	t.Run("what is put can be read, whole and in part", func(t *testing.T) {
		s := open(t)
		put(t, s, "a/b", "0123456789")
		data, e, err := s.Get(ctx, "a/b", 10)
		if err != nil || string(data) != "0123456789" || e.Name != "a/b" || e.Size != 10 {
			t.Errorf("got %q, %+v, %v", data, e, err)
		}
		if _, _, err := s.Get(ctx, "a/b", 9); !errors.Is(err, logstore.ErrTooLarge) {
			t.Errorf("above the limit: %v", err)
		}
		f, err := s.Open(ctx, "a/b")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if f.Entry() != e {
			t.Errorf("Open has %+v, Get %+v", f.Entry(), e)
		}
		p := make([]byte, 4)
		if n, err := f.ReadAt(p, 3); n != 4 || err != nil || string(p) != "3456" {
			t.Errorf("got %d, %q, %v", n, p, err)
		}
		if n, err := f.ReadAt(p, 8); n != 2 || err != io.EOF {
			t.Errorf("past the end: got %d, %v", n, err)
		}
		if all, err := io.ReadAll(logstore.NewReader(f)); err != nil || string(all) != "0123456789" {
			t.Errorf("got %q, %v", all, err)
		}
	})
	t.Run("a name that is taken is refused and keeps its data", func(t *testing.T) {
		s := open(t)
		put(t, s, "a/b", "first")
		if err := s.PutIfAbsent(ctx, "a/b", []byte("second")); !errors.Is(err, logstore.ErrExists) {
			t.Errorf("got %v", err)
		}
		if data, _, err := s.Get(ctx, "a/b", 100); string(data) != "first" || err != nil {
			t.Errorf("got %q, %v", data, err)
		}
		if err := s.Put(ctx, "a/b", []byte("third")); err != nil {
			t.Error(err)
		}
		if data, _, err := s.Get(ctx, "a/b", 100); string(data) != "third" || err != nil {
			t.Errorf("got %q, %v", data, err)
		}
		if err := logstore.Probe(ctx, s, "a"); err != nil {
			t.Error(err)
		}
		for e, err := range s.List(ctx, "a", "") {
			if e.Name != "a/b" || err != nil {
				t.Errorf("left behind: %v, %v", e.Name, err)
			}
		}
	})
	t.Run("what is missing is not found", func(t *testing.T) {
		s := open(t)
		put(t, s, "a/b", "x")
		if err := s.Delete(ctx, "a/b"); err != nil {
			t.Error(err)
		}
		if _, _, err := s.Get(ctx, "a/b", 1); !errors.Is(err, logstore.ErrNotFound) {
			t.Errorf("Get: %v", err)
		}
		if _, err := s.Open(ctx, "c"); !errors.Is(err, logstore.ErrNotFound) {
			t.Errorf("Open: %v", err)
		}
	})
	t.Run("a name outside the table is refused", func(t *testing.T) {
		s := open(t)
		for _, name := range []string{"", ".", "..", "../x", "a/../../x", "/etc/passwd", "a//b", "a/", "./a"} {
			_, _, get := s.Get(ctx, name, 1)
			_, open := s.Open(ctx, name)
			for _, err := range []error{get, open, s.Put(ctx, name, nil), s.PutIfAbsent(ctx, name, nil), s.Delete(ctx, name)} {
				if !errors.Is(err, logstore.ErrInvalidName) {
					t.Errorf("%q: %v", name, err)
				}
			}
		}
	})
	t.Run("nothing is done once the context has ended", func(t *testing.T) {
		s := open(t)
		put(t, s, "a/b", "x")
		ctx, cancel := context.WithCancel(ctx)
		f, err := s.Open(ctx, "a/b")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cancel()
		_, _, get := s.Get(ctx, "a/b", 1)
		_, read := f.ReadAt(make([]byte, 1), 0)
		var list error
		for _, list = range s.List(ctx, "a", "") {
			break
		}
		for i, err := range []error{get, read, list, s.Put(ctx, "c", nil), s.PutIfAbsent(ctx, "c", nil), s.Delete(ctx, "a/b")} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if _, _, err := s.Get(context.Background(), "c", 1); !errors.Is(err, logstore.ErrNotFound) {
			t.Errorf("c: %v", err)
		}
	})
	t.Run("of many who create one name one wins, and readers see all of it or nothing", func(t *testing.T) {
		const writers, rounds = 16, 8
		s := open(t)
		for round := range rounds {
			name := fmt.Sprintf("log/%020d.json", round)
			var won atomic.Int64
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					data := bytes.Repeat([]byte{byte('a' + w)}, 10_000+w)
					switch err := s.PutIfAbsent(ctx, name, data); {
					case err == nil:
						won.Add(1)
					case !errors.Is(err, logstore.ErrExists):
						t.Error(err)
					}
					data, e, err := s.Get(ctx, name, 1<<20)
					if err != nil || int64(len(data)) != e.Size || len(data) != 10_000+int(data[0]-'a') {
						t.Errorf("read %d bytes, %+v, %v", len(data), e, err)
					}
				})
			}
			wg.Wait()
			if won.Load() != 1 {
				t.Errorf("%s was created %d times", name, won.Load())
			}
		}
		n := 0
		for range s.List(ctx, "log", "") {
			n++
		}
		if n != rounds {
			t.Errorf("%d files, want %d", n, rounds)
		}
	})
}
