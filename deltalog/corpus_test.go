package deltalog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/internal/corpus"
	"github.com/deltaskip/deltaskip/logstore"
)

// An expectation is a file of the golden corpus; its README explains the fields.
type expectation struct {
	Version  int64
	Protocol *struct {
		MinReaderVersion, MinWriterVersion int
		ReaderFeatures, WriterFeatures     []string
	}
	Schema           json.RawMessage
	PartitionColumns []string
	Configuration    map[string]string
	Files            []expectedFile
	Error            *string
	Disputed         string
}

type expectedFile struct {
	Path                    string
	PartitionValues         map[string]*string
	Size                    int64
	Stats                   json.RawMessage
	StatsRaw                *string
	StatsFrom               *string
	BaseRowID               *int64 `json:"baseRowId"`
	DefaultRowCommitVersion *int64
	ClusteringProvider      *string
	DV                      *struct {
		StorageType, PathOrInlineDv string
		Offset                      *int32
		SizeInBytes                 int32
		Cardinality                 int64
	}
}

// otherReason says why this reader refuses a table for another reason than the corpus names.
var otherReason = map[string]error{
	// It has no metaData, but also a path that leads out of the table, which comes first.
	"delta-golden/data-reader-absolute-paths-escaped-chars": action.ErrOutside,
}

func TestGoldenTables(t *testing.T) {
	dir := corpus.Dir(t, "golden")
	var names []string
	err := filepath.WalkDir(filepath.Join(dir, "expected"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".json") {
			name, _ := filepath.Rel(filepath.Join(dir, "expected"), path)
			names = append(names, strings.TrimSuffix(name, ".json"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, "expected", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var want expectation
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			table, version, historic := strings.Cut(name, "@")
			var o deltalog.SnapshotOptions
			if historic {
				v, err := strconv.ParseInt(version, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				o.Version = &v
			}
			s, adds, err := open(t, filepath.Join(dir, table), o)
			switch {
			case want.Error != nil && err == nil:
				t.Errorf("opened, though it should fail: %s", *want.Error)
			case want.Error != nil:
				t.Logf("refused as it should be (%s): %v", *want.Error, err)
				if reason, ok := otherReason[name]; !ok || !errors.Is(err, reason) {
					checkRefusal(t, *want.Error, err)
				}
			case err != nil:
				t.Errorf("%v\ndisputed: %q", err, want.Disputed)
			default:
				compare(t, &want, s, adds)
				// The checksum file of crc-full was made up: it tells of files that no commit adds.
				if err := s.Validate(t.Context()); (err != nil) != (name == "kernel-rs/crc-full") {
					t.Errorf("against the checksum file: %v", err)
				}
			}
		})
	}
}

func open(t *testing.T, dir string, o deltalog.SnapshotOptions) (*deltalog.Snapshot, []*action.Add, error) {
	t.Helper()
	store, err := logstore.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s, err := deltalog.Open(store, deltalog.Options{}).Snapshot(t.Context(), o)
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() { s.Close() })
	var adds []*action.Add
	for a, err := range s.Adds(t.Context()) {
		if err != nil {
			return nil, nil, err
		}
		adds = append(adds, a)
	}
	sort.Slice(adds, func(i, j int) bool {
		a, b := adds[i].Key(), adds[j].Key()
		return a.Path < b.Path || a.Path == b.Path && a.DV < b.DV
	})
	return s, adds, nil
}

// checkRefusal holds the type of an error to the class that the corpus names.
func checkRefusal(t *testing.T, class string, err error) {
	t.Helper()
	class, detail, _ := strings.Cut(class, ": ")
	var unsupported *deltalog.UnsupportedError
	ok := true
	switch class {
	case "missing-protocol":
		ok = errors.Is(err, deltalog.ErrNoProtocol)
	case "missing-metadata":
		ok = errors.Is(err, deltalog.ErrNoMetadata)
	case "no-commits":
		ok = errors.Is(err, deltalog.ErrNoTable)
	case "missing-commits":
		var gap *deltalog.GapError
		ok = errors.As(err, &gap)
	case "corrupt-commit-json":
		ok = errors.Is(err, deltalog.ErrCorrupt)
	case "catalog-managed":
		ok = errors.Is(err, deltalog.ErrCatalogManaged)
	case "unsupported-reader-version":
		ok = errors.As(err, &unsupported) && strconv.Itoa(unsupported.ReaderVersion) == detail
	case "unsupported-reader-feature":
		ok = errors.As(err, &unsupported) && strings.Join(unsupported.Features, ", ") == detail
	default:
		ok = false
	}
	if !ok {
		t.Errorf("%T (%v) is no %s", err, err, class)
	}
}

func compare(t *testing.T, want *expectation, s *deltalog.Snapshot, adds []*action.Add) {
	t.Helper()
	equal := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	equal("version", s.Version, want.Version)
	equal("reader version", s.Protocol.MinReaderVersion, want.Protocol.MinReaderVersion)
	equal("writer version", s.Protocol.MinWriterVersion, want.Protocol.MinWriterVersion)
	equal("reader features", set(s.Protocol.ReaderFeatures), set(want.Protocol.ReaderFeatures))
	equal("writer features", set(s.Protocol.WriterFeatures), set(want.Protocol.WriterFeatures))
	equal("partition columns", fmt.Sprint(s.Metadata.PartitionColumns), fmt.Sprint(want.PartitionColumns))
	equal("configuration", fmt.Sprint(s.Metadata.Configuration), fmt.Sprint(want.Configuration))
	equal("schema", parsed(t, []byte(s.Metadata.SchemaString)), parsed(t, want.Schema))
	if s.Metadata.SchemaString != "" {
		if _, err := s.Table(); err != nil {
			t.Error(err)
		}
	}
	sort.Slice(want.Files, func(i, j int) bool { // the corpus sorts by path alone
		a, b := want.Files[i], want.Files[j]
		return a.Path < b.Path || a.Path == b.Path && vectorOf(a).UniqueID() < vectorOf(b).UniqueID()
	})
	if len(adds) != len(want.Files) {
		t.Fatalf("%d files, want %d", len(adds), len(want.Files))
	}
	for i, w := range want.Files {
		a := adds[i]
		equal("path", a.Path, w.Path)
		equal(a.Path+": partition values", a.PartitionValues, w.PartitionValues)
		equal(a.Path+": size", a.Size, w.Size)
		equal(a.Path+": deletion vector", a.DeletionVector.UniqueID(), vectorOf(w).UniqueID())
		if w.DV != nil && a.DeletionVector != nil {
			equal(a.Path+": vector size", a.DeletionVector.SizeInBytes, w.DV.SizeInBytes)
			equal(a.Path+": cardinality", a.DeletionVector.Cardinality, w.DV.Cardinality)
		}
		equal(a.Path+": base row id", a.BaseRowID, w.BaseRowID)
		equal(a.Path+": row commit version", a.DefaultRowCommitVersion, w.DefaultRowCommitVersion)
		equal(a.Path+": clustering provider", a.ClusteringProvider, w.ClusteringProvider)
		switch {
		case w.StatsFrom == nil:
			equal(a.Path+": statistics", a.Stats, "")
		case *w.StatsFrom == "json":
			equal(a.Path+": statistics", a.Stats, *w.StatsRaw)
		default:
			equal(a.Path+": statistics", parsed(t, []byte(a.Stats)), parsed(t, w.Stats))
		}
	}
}

func vectorOf(f expectedFile) *action.DeletionVector {
	if f.DV == nil {
		return nil
	}
	return &action.DeletionVector{StorageType: f.DV.StorageType, PathOrInlineDV: f.DV.PathOrInlineDv, Offset: f.DV.Offset}
}

func set(names []string) map[string]bool {
	m := map[string]bool{}
	for _, name := range names {
		m[name] = true
	}
	return m
}

// parsed is the value of a JSON text, numbers as they are spelled; nil for an empty one.
func parsed(t *testing.T, text []byte) any {
	t.Helper()
	if len(text) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestTablesThatBrokeOthers opens the corpus inputs about snapshots.
func TestTablesThatBrokeOthers(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(corpus.Dir(t, "bugs"), "*", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range cases {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			ID, Check   string
			Expected    any
			ActiveFiles []string
			OrError     bool
			Variants    []string
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(want.Check, "snapshot") {
			continue
		}
		dirs := map[string]string{want.ID: filepath.Dir(name)}
		for _, v := range want.Variants { // the table with files swapped in
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Dir(name))); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(dir, "variants", v, "*"))
			if err != nil || len(files) == 0 {
				t.Fatalf("variant %s: %q, %v", v, files, err)
			}
			for _, file := range files { // checkpoint.parquet stands for 0…040.checkpoint.parquet
				targets, err := filepath.Glob(filepath.Join(dir, deltalog.Dir, "*"+filepath.Base(file)))
				if err != nil || len(targets) != 1 {
					t.Fatalf("variant %s: %q, %v", v, targets, err)
				}
				if err := os.Rename(file, targets[0]); err != nil {
					t.Fatal(err)
				}
			}
			dirs[want.ID+"/"+v] = dir
		}
		for name, dir := range dirs {
			t.Run(name, func(t *testing.T) {
				_, adds, err := open(t, dir, deltalog.SnapshotOptions{})
				if err != nil {
					if want.Expected != "error" && !want.OrError {
						t.Error(err)
					}
					return
				}
				if want.Expected == "error" && want.ActiveFiles == nil {
					t.Errorf("opened with %d files, though it should fail", len(adds))
					return
				}
				var got []string
				for _, a := range adds {
					got = append(got, a.Path)
				}
				sort.Strings(want.ActiveFiles)
				if diff := cmp.Diff(want.ActiveFiles, got); diff != "" {
					t.Errorf("files (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestBatchesAndAddsAgree opens every golden table, also those that the corpus expects nothing of: it must give a clear
// error, or batches with the files that reading whole actions gives, in the same order.
func TestBatchesAndAddsAgree(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join(corpus.Dir(t, "golden"), "*", "*", deltalog.Dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		dir := filepath.Dir(log)
		t.Run(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir), func(t *testing.T) {
			store, err := logstore.OpenLocal(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			s, err := deltalog.Open(store, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{})
			if err != nil {
				t.Log(err)
				return
			}
			defer s.Close()
			var want []string
			for a, err := range s.Adds(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, a.Path)
			}
			layout := &colstats.Layout{}
			if table, err := s.Table(); err == nil {
				layout.Table = table
				for _, f := range table.Fields {
					if c, err := table.Lookup(f.Name); err == nil {
						layout.Demands = append(layout.Demands, colstats.Demand{Column: c, Bounds: true, Nulls: true})
					}
				}
			}
			checked := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer checked.AssertSize(t, 0)
			var got []string
			for b, err := range s.Batches(t.Context(), layout, deltalog.BatchOptions{Stats: colstats.Options{Allocator: checked}}) {
				if err != nil {
					t.Fatal(err)
				}
				for i := range b.Len() {
					path, err := b.Path(i)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, strings.Clone(path))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("paths (-Adds +Batches):\n%s", diff)
			}
		})
	}
}
