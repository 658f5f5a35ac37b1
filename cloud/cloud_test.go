package cloud

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

func TestStoresKeepTheContract(t *testing.T) {
	eachServer(t, func(t *testing.T, s *server) {
		base := s.start(t)
		storetest.TestStore(t, func(t *testing.T) logstore.Store { return s.open(t, base) })
	})
}

// Names are stored as the log spells them, whatever a common layer would do to them.
func TestNamesStayWhatTheyAre(t *testing.T) {
	eachServer(t, func(t *testing.T, s *server) {
		store := s.open(t, s.start(t))
		ctx := context.Background()
		for _, name := range []string{"p=a%20b/x.parquet", "p=ä/ö.parquet", "p=a b/+#?&.parquet", `p="q"/x'y.parquet`} {
			if err := store.Put(ctx, name, []byte(name)); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if data, _, err := store.Get(ctx, name, 100); err != nil || string(data) != name {
				t.Errorf("%s: got %q, %v", name, data, err)
			}
			dir, listed := name[:len(name)-len(base(name))-1], ""
			for e, err := range store.List(ctx, dir, "") {
				if err != nil {
					t.Fatal(err)
				}
				listed = e.Name
			}
			if listed != name {
				t.Errorf("%s is listed as %q", name, listed)
			}
		}
	})
}

func base(name string) string {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '/' {
			return name[i+1:]
		}
	}
	return name
}

func TestWhatIsNoTable(t *testing.T) {
	for _, u := range []string{"", "x", "http://b/x", "s3:///x", "s3://b/../x", "s3://b//x/./y", "file://host/x", "%"} {
		if _, err := Open(context.Background(), u); !errors.Is(err, ErrURL) {
			t.Errorf("%q: %v", u, err)
		}
	}
}

func TestLocalFolder(t *testing.T) {
	store, err := Open(context.Background(), "file://"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.PutIfAbsent(context.Background(), "a", nil); err != nil {
		t.Error(err)
	}
}

// The command opens what Open opens.
func TestCommandOpensURLs(t *testing.T) {
	eachServer(t, func(t *testing.T, s *server) {
		base := s.start(t)
		folder := fmt.Sprintf("tables/%d/t", folders.Add(1))
		store := s.at(t, base, folder)
		if err := store.PutIfAbsent(t.Context(), deltalog.CommitName(0), createTable()); err != nil {
			t.Fatal(err)
		}
		add := `{"add":{"path":"a.parquet","partitionValues":{},"size":1,"modificationTime":0,"dataChange":true,"stats":"{\"numRecords\":1,\"minValues\":{\"id\":%d},\"maxValues\":{\"id\":%d},\"nullCount\":{\"id\":0}}"}}`
		if err := store.PutIfAbsent(t.Context(), deltalog.CommitName(1), fmt.Appendf(nil, add+"\n"+strings.Replace(add, "a.parquet", "b.parquet", 1), 1, 1, 7, 9)); err != nil {
			t.Fatal(err)
		}
		run := exec.Command(buildCommand(t), "files", s.table(base, folder), "--where", "id = 8", "--count", "--format", "json")
		out, err := run.CombinedOutput()
		if want := `{"version":1,"total":2,"count":1}`; err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%v, %s, want %s", err, out, want)
		}
	})
}

var built struct {
	once sync.Once
	name string
	err  error
}

func buildCommand(t *testing.T) string {
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "")
		built.name, built.err = filepath.Join(dir, "deltaskip"), err
		if err == nil {
			var out []byte
			if out, err = exec.Command("go", "build", "-o", built.name, "./cmd/deltaskip").CombinedOutput(); err != nil {
				built.err = fmt.Errorf("%w: %s", err, out)
			}
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.name
}
