package rows

import (
	"errors"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

func TestFilesElsewhereAreOpenedWhereARootAllowsIt(t *testing.T) {
	holding := func(name string) logstore.Store {
		s := &storetest.Mem{}
		if err := s.Put(t.Context(), name, []byte(name)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	strict := Source{Table: holding("d/a b")}
	open := Source{Table: strict.Table, Roots: []Root{
		{URI: "/base/t/", Store: holding("p=1/f")}, {URI: "s3://bucket/base", Store: holding("f")}, {URI: "file:///q", Store: holding("f")},
	}}
	for _, tt := range []struct {
		path    string
		allowed bool // by open alone
		inside  bool // by both
	}{
		{path: "d/a%20b", inside: true},
		{path: "/base/t/p=1/f", allowed: true},
		{path: "file:/base/t/p=1/f", allowed: true},
		{path: "file:///base/t/p%3D1/f", allowed: true},
		{path: "s3://bucket/base/f", allowed: true},
		{path: "s3a://bucket/base/f", allowed: true},
		{path: "s3n://bucket/base/./f", allowed: true},
		{path: "/q/f", allowed: true},
		{path: "/base/t/../secret"},
		{path: "/base/t/%2e%2e/secret"},
		{path: "/base/t"},
		{path: "/base/tx/f"},
		{path: "file://host/base/t/p=1/f"},
		{path: "s3://other/base/f"},
		{path: "s3://bucket/base/../f"},
		{path: "gs://bucket/base/f"},
		{path: "../f"},
		{path: "d/../../f"},
		{path: ""},
		{path: "/base/t/f%00"},
	} {
		for _, s := range []Source{strict, open} {
			_, closeFile, err := s.Open(t.Context(), &action.Add{Path: tt.path})
			if err == nil {
				closeFile()
			}
			want := tt.inside || tt.allowed && len(s.Roots) > 0
			if want != (err == nil) || !want && !errors.Is(err, action.ErrOutside) {
				t.Errorf("%q with %d roots: %v", tt.path, len(s.Roots), err)
			}
			if err != nil && !strings.Contains(err.Error(), "option Roots (--also-read)") {
				t.Errorf("the error names no option: %v", err)
			}
			_, err = s.Vector(t.Context(), &action.DeletionVector{StorageType: "p", PathOrInlineDV: tt.path, SizeInBytes: 1, Cardinality: 1}, -1)
			if outside := errors.Is(err, action.ErrOutside); outside == want && tt.path != "" {
				t.Errorf("a vector in %q with %d roots: %v", tt.path, len(s.Roots), err)
			}
		}
	}
}
