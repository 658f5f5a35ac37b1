package logstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/internal/crash"
	"github.com/deltaskip/deltaskip/logstore"
)

// crashDir makes TestWriteForCrash write to the folder that it names, in the way that crashWay names.
const (
	crashDir = "LOGSTORE_CRASH_DIR"
	crashWay = "LOGSTORE_CRASH_WAY"
)

const crashName = "log/sub/7.json"

func crashData() []byte { return bytes.Repeat([]byte("all or nothing "), 20<<10) }

// ways are the ways to write a file, with what remains of a program that was killed on the way.
var ways = []struct {
	name   string
	write  func(s *logstore.Local) error
	begins bool // with a temporary name, which may stay
}{
	{"unnamed", func(s *logstore.Local) error { return s.PutIfAbsent(context.Background(), crashName, crashData()) }, false},
	{"named", func(s *logstore.Local) error {
		return s.PutIfAbsentNamed(context.Background(), crashName, crashData())
	}, true},
	{"put", func(s *logstore.Local) error { return s.Put(context.Background(), crashName, crashData()) }, true},
	{"upload", func(s *logstore.Local) error {
		u, err := s.Create(context.Background(), crashName)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(crashData(), 200<<10) {
			if _, err := u.Write(part); err != nil {
				return err
			}
		}
		return u.Commit()
	}, true},
}

// TestWriteForCrash is the program that TestCrashes kills.
func TestWriteForCrash(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("SKIPPED: it is a process that another test starts")
	}
	s, err := logstore.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range ways {
		if way.name == os.Getenv(crashWay) {
			if err := way.write(s); err != nil {
				t.Fatal(err)
			}
			fmt.Println("written")
		}
	}
}

// TestCrashes kills a program that writes a file before each of its system calls that change something, and looks at what is
// left: the file, whole, or none, and the next one can write.
func TestCrashes(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			for n := 1; ; n++ {
				dir := t.TempDir()
				r := crash.RunTest(t, "TestWriteForCrash", dir, n, crashDir+"="+dir, crashWay+"="+way.name)
				afterCrash(t, dir, way.begins, r)
				if !r.Killed {
					t.Logf("killed before each of %v", r.Calls)
					if n < 8 {
						t.Errorf("there are %d calls, too few to make a file in a folder, sync both, and say so", n-1)
					}
					return
				}
			}
		})
	}
}

func afterCrash(t *testing.T, dir string, begins bool, r crash.Result) {
	t.Helper()
	s, err := logstore.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for e, err := range s.List(t.Context(), "log/sub", "") {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name != crashName && !(begins && strings.HasPrefix(e.Name, "log/sub/.7.json.")) {
			t.Errorf("killed after %v: left behind %s", r.Calls, e.Name)
		}
	}
	data, _, err := s.Get(t.Context(), crashName, 1<<20)
	switch said := strings.HasPrefix(r.Stdout, "written"); {
	case err == nil && !bytes.Equal(data, crashData()):
		t.Errorf("killed after %v: the file holds %d bytes", r.Calls, len(data))
	case said && err != nil:
		t.Errorf("killed after %v: the file was written: %v", r.Calls, err)
	case err != nil && !errors.Is(err, logstore.ErrNotFound):
		t.Error(err)
	}
	there := err == nil
	err = s.PutIfAbsent(t.Context(), crashName, crashData())
	if there != errors.Is(err, logstore.ErrExists) || !there && err != nil {
		t.Errorf("killed after %v: the next one, with the file there %t, has %v", r.Calls, there, err)
	}
}
