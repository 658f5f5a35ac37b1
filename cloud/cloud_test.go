package cloud

import (
	"context"
	"errors"
	"testing"

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
