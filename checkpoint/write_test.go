package checkpoint_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/google/go-cmp/cmp"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/internal/corpus"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// A content is what a snapshot says, in a form that can be compared.
type content struct {
	Protocol *action.Protocol
	Metadata *action.Metadata
	Txns     map[string]*action.Txn
	Domains  map[string]*action.DomainMetadata
	Adds     []*action.Add
	Removes  []*action.Remove
}

func contentOf(t *testing.T, s *deltalog.Snapshot) *content {
	t.Helper()
	c := &content{Protocol: s.Protocol, Metadata: s.Metadata, Txns: s.Txns, Domains: s.Domains}
	for a, err := range s.Adds(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		a.Rest = action.Rest{} // a checkpoint has no place for unknown fields
		c.Adds = append(c.Adds, a)
	}
	for r, err := range s.Removes(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		r.Rest = action.Rest{}
		r.Stats, r.Tags = "", nil // checkpoints leave these out
		c.Removes = append(c.Removes, r)
	}
	return c
}

// facts describes all files of a snapshot.
func facts(t *testing.T, s *deltalog.Snapshot, layout *colstats.Layout) []string {
	t.Helper()
	var lines []string
	for b, err := range s.Batches(t.Context(), layout, deltalog.BatchOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, describe(t, b)...)
	}
	return lines
}

func tables(t *testing.T, dir string) []string {
	var tables []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "_delta_log" {
			tables = append(tables, filepath.Dir(path))
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func snapshot(t *testing.T, store logstore.Store) *deltalog.Snapshot {
	t.Helper()
	s, err := deltalog.Open(store, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestRoundTrip writes each snapshot as a checkpoint of each shape, and reads it back from that alone.
func TestRoundTrip(t *testing.T) {
	known, lost := 0, 0
	defer func() {
		t.Logf("structs lost %d of %d facts of text", lost, known)
		if lost*50 > known {
			t.Error("structs should hold nearly all facts")
		}
	}()
	for _, name := range []string{"golden", "skipping"} {
		dir := corpus.Dir(t, name)
		for i, root := range tables(t, dir) {
			rel, _ := filepath.Rel(dir, root)
			forms := []checkpoint.StatsForm{checkpoint.StatsAsBoth, checkpoint.StatsAsStruct}
			if i%7 == 0 {
				forms = append(forms, checkpoint.StatsAsJSON) // which is Both without the struct
			} else if testing.Short() {
				continue
			}
			t.Run(name+"/"+rel, func(t *testing.T) {
				store, err := logstore.OpenLocal(root)
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				before, err := deltalog.Open(store, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{})
				if err != nil {
					t.Skip(err)
				}
				defer before.Close()
				want := contentOf(t, before)
				table, err := before.Table()
				if err != nil {
					t.Skip(err)
				}
				layout := layoutOfTable(table)
				gathered := table.StatisticsColumns()
				layout.Demands = slices.DeleteFunc(layout.Demands, func(d colstats.Demand) bool {
					return !d.Column.Partition && !slices.Contains(gathered, d.Column)
				})
				wantFacts := facts(t, before, layout)
				for _, form := range forms {
					for _, v2 := range []bool{false, true} {
						if v2 && !slices.Contains(before.Protocol.ReaderFeatures, "v2Checkpoint") {
							continue
						}
						t.Run(fmt.Sprintf("stats=%d,v2=%t", form, v2), func(t *testing.T) {
							state, err := before.State(t.Context())
							if err != nil {
								t.Fatal(err)
							}
							copied := &storetest.Mem{}
							o := checkpoint.WriteOptions{Allocator: checkedAllocator(t), V2: v2, Stats: form, RowGroupRows: 3 + len(want.Adds)/3, SidecarRows: 5 + len(want.Adds)/2}
							last, err := checkpoint.Write(t.Context(), copied, state, o)
							if err != nil {
								t.Fatal(err)
							}
							if last.NumAdds != int64(len(want.Adds)) {
								t.Errorf("%d adds written of %d", last.NumAdds, len(want.Adds))
							}
							after := snapshot(t, copied)
							got := contentOf(t, after)
							if form == checkpoint.StatsAsStruct {
								checkWeaker(t, wantFacts, facts(t, after, layout), &known, &lost)
								for i := range got.Adds {
									got.Adds[i].Stats = want.Adds[i].Stats
								}
							}
							if diff := cmp.Diff(want, got); diff != "" {
								t.Errorf("-before +after:\n%s", diff)
							}
						})
					}
				}
			})
		}
	}
}

// checkWeaker checks that facts which went through a struct are the same or fewer: what the struct cannot hold exactly is missing.
func checkWeaker(t *testing.T, before, after []string, known, lost *int) {
	t.Helper()
	if len(before) != len(after) {
		t.Errorf("%d files, were %d", len(after), len(before))
		return
	}
	for i := range before {
		b, a := strings.Split(before[i], "; "), strings.Split(after[i], "; ")
		for j := range b {
			*known++
			b, a := strings.TrimSpace(b[j]), strings.TrimSpace(a[j])
			if a == b {
				continue
			}
			*lost++
			if !weaker(b, a) {
				t.Errorf("%s\nbecame\n%s", b, a)
			}
		}
	}
}

// weaker says whether facts, as describe writes them, say less than they did: a bit was cleared, or a bound gave way to the least or
// greatest value of the type.
func weaker(was, is string) bool {
	extremes := []string{"-9223372036854775808", "-2147483648", "-32768", "-128", "", "-Inf", "-5877641-06-23", "9223372036854775807",
		"2147483647", "32767", "127", "+Inf", "5881580-07-11"}
	was, wasBounds, _ := strings.Cut(was, " [")
	is, isBounds, bounded := strings.Cut(is, " [")
	w, i := strings.Fields(was), strings.Fields(is)
	if len(w) != len(i) || w[0] != i[0] {
		return false
	}
	for n := 1; n <= 2; n++ { // NoNull and AllNull; MayNaN matters beside bounds only, and stays there
		if i[n] == "true" && w[n] != "true" {
			return false
		}
	}
	if !bounded || i[3] != w[3] {
		return !bounded
	}
	w, i = strings.Split(strings.Trim(wasBounds, "]"), ","), strings.Split(strings.Trim(isBounds, "]"), ",")
	return len(w) == 2 && len(i) == 2 &&
		(w[0] == i[0] || slices.Contains(extremes, i[0])) && (w[1] == i[1] || slices.Contains(extremes, i[1]))
}

// TestParts deals the row groups of a multi-part checkpoint to files of a store that takes them bit by bit, and cleans up after
// adds that fail.
func TestParts(t *testing.T) {
	table, m := testTable(t)
	adds := testAdds(rand.New(rand.NewPCG(1, 2)), 100)
	dir := t.TempDir()
	store, err := logstore.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	state := &checkpoint.State{
		Version: 3, Protocol: &action.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}, Metadata: m, Table: table,
		Adds: each(adds), Removes: each([]*action.Remove{{Path: "old"}}), Others: []action.Action{&action.Txn{AppID: "app", Version: 1}},
	}
	last, err := checkpoint.Write(t.Context(), store, state, checkpoint.WriteOptions{Allocator: checkedAllocator(t), Parts: 3, RowGroupRows: 7})
	if err != nil {
		t.Fatal(err)
	}
	if last.Parts != 3 || last.NumAdds != 100 || last.Size != 104 {
		t.Errorf("last checkpoint %+v", last)
	}
	s := snapshot(t, store)
	got := contentOf(t, s)
	slices.SortFunc(got.Adds, func(a, b *action.Add) int { return strings.Compare(a.Path, b.Path) })
	if diff := cmp.Diff(adds, got.Adds); diff != "" || len(got.Removes) != 1 || len(got.Txns) != 1 {
		t.Errorf("%d removes, %d txns, adds -want +got:\n%s", len(got.Removes), len(got.Txns), diff)
	}
	if names := topLevels(t, store); len(names) != 3 || !strings.HasSuffix(names[1], "3.checkpoint.0000000002.0000000003.parquet") {
		t.Errorf("files %v", names)
	}

	broken := errors.New("broken")
	state.Version, state.Adds = 4, func(yield func(*action.Add, error) bool) {
		for _, a := range adds[:50] {
			if !yield(a, nil) {
				return
			}
		}
		yield(nil, broken)
	}
	if _, err := checkpoint.Write(t.Context(), store, state, checkpoint.WriteOptions{Allocator: checkedAllocator(t), Parts: 3, RowGroupRows: 7}); !errors.Is(err, broken) {
		t.Errorf("writing broken adds: %v", err)
	}
	if files, err := filepath.Glob(dir + "/_delta_log/*4*"); err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
	if _, err := checkpoint.Write(t.Context(), store, state, checkpoint.WriteOptions{Parts: -1}); err == nil {
		t.Error("-1 parts pass")
	}
}

// TestSameBytes writes a V2 checkpoint twice with the same names and times.
func TestSameBytes(t *testing.T) {
	table, m := testTable(t)
	write := func() map[string]string {
		store := &storetest.Mem{}
		features := []string{"v2Checkpoint"}
		state := &checkpoint.State{
			Version: 3, Protocol: &action.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: features, WriterFeatures: features},
			Metadata: m, Table: table, Adds: each(testAdds(rand.New(rand.NewPCG(1, 2)), 100)), Removes: each[*action.Remove](nil),
		}
		n := 0
		id := func() string { n++; return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
		o := checkpoint.WriteOptions{V2: true, Stats: checkpoint.StatsAsBoth, SidecarRows: 40, NewID: id, Now: time.UnixMilli(1e12)}
		if _, err := checkpoint.Write(t.Context(), store, state, o); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, dir := range []string{"_delta_log", "_delta_log/_sidecars"} {
			for e, err := range store.List(t.Context(), dir, "") {
				if err != nil {
					t.Fatal(err)
				}
				data, _, err := store.Get(t.Context(), e.Name, 1<<30)
				if err != nil {
					t.Fatal(err)
				}
				files[e.Name] = string(data)
			}
		}
		return files
	}
	one, two := write(), write()
	if len(one) != 5 || !maps.Equal(one, two) {
		t.Errorf("%d files, which differ", len(one))
	}
}

// TestBoundsOfNumbersAreWrittenAsTheyAre looks at a file as others do: bounds of numbers cost nothing to read, all else is compressed.
func TestBoundsOfNumbersAreWrittenAsTheyAre(t *testing.T) {
	c, _, store := written(t, checkedAllocator(t), testAdds(rand.New(rand.NewPCG(1, 2)), 50), checkpoint.WriteOptions{Stats: checkpoint.StatsAsStruct})
	defer c.Close()
	data, _, err := store.Get(t.Context(), topLevel(t, store), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	f, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	asTheyAre := 0
	group := f.MetaData().RowGroup(0)
	for i := range group.NumColumns() {
		chunk, err := group.ColumnChunk(i)
		if err != nil {
			t.Fatal(err)
		}
		path := chunk.PathInSchema().String()
		number := strings.Contains(path, ".minValues.") || strings.Contains(path, ".maxValues.")
		number = number && f.MetaData().Schema.Column(i).PhysicalType() != parquet.Types.ByteArray
		if number {
			asTheyAre++
		}
		if plain := chunk.Compression() == compress.Codecs.Uncompressed; plain != number {
			t.Errorf("%s: compression %s", path, chunk.Compression())
		}
		if number && chunk.HasDictionaryPage() {
			t.Errorf("%s has a dictionary", path)
		}
	}
	if asTheyAre < 4 {
		t.Errorf("only %d bounds of numbers", asTheyAre)
	}
}
