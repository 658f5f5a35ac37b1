package checkpoint_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// read opens a checkpoint and reads all of it.
func read(t *testing.T, store logstore.Store, name string, o checkpoint.Options) error {
	o.Allocator = checkedAllocator(t)
	c, err := checkpoint.Open(t.Context(), store, []string{name}, o)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, err := range c.Actions(t.Context()) {
		if err != nil {
			return err
		}
	}
	for _, err := range c.Adds(t.Context(), nil) {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestLimits reads a checkpoint that asks for more than each limit allows. The error names the limit.
func TestLimits(t *testing.T) {
	adds := testAdds(rand.New(rand.NewPCG(1, 2)), 100)
	_, _, classic := written(t, memory.DefaultAllocator, adds, checkpoint.WriteOptions{})
	_, _, v2 := written(t, memory.DefaultAllocator, adds, checkpoint.WriteOptions{V2: true, SidecarRows: 30})
	for _, tt := range []struct {
		option string
		store  logstore.Store
		o      checkpoint.Options
	}{
		{"MaxPageBytes", classic, checkpoint.Options{MaxPageBytes: 100}},
		{"MaxFooterBytes", classic, checkpoint.Options{MaxFooterBytes: 100}},
		{"MaxRows", classic, checkpoint.Options{MaxRows: 50}},
		{"MaxRows", v2, checkpoint.Options{MaxRows: 20}},
		{"MaxJSONBytes", v2, checkpoint.Options{MaxJSONBytes: 100}},
		{"MaxSidecars", v2, checkpoint.Options{MaxSidecars: 3}},
		{"", classic, checkpoint.Options{}},
		{"", v2, checkpoint.Options{MaxSidecars: 4}},
	} {
		err := read(t, tt.store, topLevel(t, tt.store), tt.o)
		var limit *action.LimitError
		if !errors.As(err, &limit) {
			if tt.option != "" || err != nil {
				t.Errorf("%+v: %v", tt.o, err)
			}
			continue
		}
		var where *checkpoint.Error
		if limit.Option != tt.option || !errors.Is(err, action.ErrLimit) || !errors.As(err, &where) || !strings.Contains(err.Error(), "option "+tt.option+" allows") {
			t.Errorf("%+v: %v", tt.o, err)
		}
	}
}

// TestSidecarsThatNameThemselves: what a checkpoint says of sidecars ends, and none counts twice.
func TestSidecarsThatNameThemselves(t *testing.T) {
	const name = "_delta_log/00000000000000000003.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
	_, _, classic := written(t, memory.DefaultAllocator, testAdds(rand.New(rand.NewPCG(1, 2)), 10), checkpoint.WriteOptions{})
	data, _, err := classic.Get(t.Context(), topLevel(t, classic), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	sidecar := func(path string) string {
		return fmt.Sprintf(`{"sidecar":{"path":%q,"sizeInBytes":1,"modificationTime":1}}`, path)
	}
	for _, tt := range []struct {
		lines string
		want  error // nil is none
	}{
		{sidecar("a.parquet"), nil},
		{sidecar("a.parquet") + "\n" + sidecar("a.parquet"), checkpoint.ErrCorrupt},
		{sidecar("a.parquet") + "\n" + sidecar("file:/elsewhere/%61.parquet"), checkpoint.ErrCorrupt},
		{sidecar("../" + name[len("_delta_log/"):]), logstore.ErrNotFound}, // by its last name alone
		{sidecar(".."), checkpoint.ErrCorrupt},
	} {
		store := &storetest.Mem{}
		for name, data := range map[string]string{name: tt.lines, "_delta_log/_sidecars/a.parquet": string(data)} {
			if err := store.Put(t.Context(), name, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
		if err := read(t, store, name, checkpoint.Options{}); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.lines, err, tt.want)
		}
	}
}
