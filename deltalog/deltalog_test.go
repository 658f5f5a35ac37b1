package deltalog_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

const (
	protocolLine = `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`
	metadataLine = `{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"x\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}`
)

func addLine(path string) string {
	return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":1,\"minValues\":{\"x\":%d},\"maxValues\":{\"x\":%[2]d},\"nullCount\":{\"x\":0}}"}}`, path, len(path))
}

func removeLine(path string) string {
	return fmt.Sprintf(`{"remove":{"path":%q,"deletionTimestamp":1,"dataChange":true}}`, path)
}

func withVector(line, id string) string {
	return strings.TrimSuffix(line, "}}") + fmt.Sprintf(`,"deletionVector":{"storageType":"u","pathOrInlineDv":%q,"offset":1,"sizeInBytes":1,"cardinality":1}}}`, id)
}

// newTable puts commits 0, 1, … into a store in memory. The first one begins with a protocol and a schema.
func newTable(t testing.TB, commits ...[]string) *storetest.Mem {
	t.Helper()
	mem := &storetest.Mem{}
	for v, lines := range commits {
		if v == 0 {
			lines = append([]string{protocolLine, metadataLine}, lines...)
		}
		put(t, mem, deltalog.CommitName(int64(v)), lines...)
	}
	return mem
}

func put(t testing.TB, s logstore.Store, name string, lines ...string) {
	t.Helper()
	if err := s.Put(context.Background(), name, []byte(strings.Join(lines, "\n"))); err != nil {
		t.Fatal(err)
	}
}

// paths lists the files of a snapshot in log order, each followed by its vector.
func paths(adds iter.Seq2[*action.Add, error]) ([]string, error) {
	var list []string
	for a, err := range adds {
		if err != nil {
			return nil, err
		}
		key := a.Key()
		list = append(list, strings.TrimSuffix(key.Path+" "+key.DV, " "))
	}
	return list, nil
}

func snapshot(t testing.TB, s logstore.Store, o deltalog.SnapshotOptions) *deltalog.Snapshot {
	t.Helper()
	got, err := deltalog.Open(s, deltalog.Options{}).Snapshot(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { got.Close() })
	return got
}

func at(v int64) deltalog.SnapshotOptions { return deltalog.SnapshotOptions{Version: &v} }

func TestReplay(t *testing.T) {
	tests := []struct {
		name    string
		commits [][]string
		files   []string
		removes []string
	}{
		{"log order is by version and line", [][]string{{addLine("c"), addLine("a")}, {}, {addLine("b")}}, []string{"c", "a", "b"}, nil},
		{"a remove ends a file", [][]string{{addLine("a"), addLine("b")}, {removeLine("a")}}, []string{"b"}, []string{"a"}},
		{"a file comes back at its new place", [][]string{{addLine("a"), addLine("b")}, {removeLine("a")}, {addLine("a")}}, []string{"b", "a"}, nil},
		{"a second add replaces the first", [][]string{{addLine("a"), addLine("b")}, {addLine("a")}}, []string{"b", "a"}, nil},
		{"the last line of a commit counts: add", [][]string{{addLine("a")}, {removeLine("a"), addLine("a")}}, []string{"a"}, nil},
		{"the last line of a commit counts: remove", [][]string{{addLine("a"), removeLine("a")}}, nil, []string{"a"}},
		{"a remove of what was never there is a tombstone", [][]string{{removeLine("z")}, {addLine("a")}}, []string{"a"}, []string{"z"}},
		{"spellings of one path are one file", [][]string{{addLine("a%20b"), addLine("/x")}, {removeLine("a b"), removeLine("file:///x")}}, nil, []string{"a b", "file:///x"}},
		{"needless elements of a path make no other file", [][]string{{addLine("d/a"), addLine("b")}, {removeLine("d//a"), removeLine("./b")}}, nil, []string{"d//a", "./b"}},
		{"paths that differ in case are two files", [][]string{{addLine("a")}, {removeLine("A")}}, []string{"a"}, []string{"A"}},
		{"a deletion vector makes another file", [][]string{{addLine("a")}, {removeLine("a"), withVector(addLine("a"), "v")}}, []string{"a uv@1"}, []string{"a"}},
		{"order within the commit does not matter for different vectors", [][]string{{addLine("a")}, {withVector(addLine("a"), "v"), removeLine("a")}}, []string{"a uv@1"}, []string{"a"}},
		{"a remove without the vector leaves the file", [][]string{{withVector(addLine("a"), "v")}, {removeLine("a")}}, []string{"a uv@1"}, []string{"a"}},
		{"no files", [][]string{{}}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := snapshot(t, newTable(t, tt.commits...), deltalog.SnapshotOptions{})
			files, err := paths(s.Adds(t.Context()))
			if err != nil || !slices.Equal(files, tt.files) {
				t.Errorf("got files %q, %v; want %q", files, err, tt.files)
			}
			var removes []string
			for r, err := range s.Removes(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				removes = append(removes, r.Path)
			}
			if !slices.Equal(removes, tt.removes) {
				t.Errorf("got removes %q, want %q", removes, tt.removes)
			}
			if got := batchPaths(t, s, deltalog.BatchOptions{}); !slices.Equal(got, stripVectors(tt.files)) {
				t.Errorf("got batches with %q, want %q", got, tt.files)
			}
		})
	}
}

func stripVectors(files []string) []string {
	var list []string
	for _, f := range files {
		path, _, _ := strings.Cut(f, " u")
		list = append(list, path)
	}
	return list
}

// batchPaths reads the paths of all batches, with a layout that demands the bounds of x.
func batchPaths(t testing.TB, s *deltalog.Snapshot, o deltalog.BatchOptions) []string {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	o.Stats.Allocator = mem
	var list []string
	for b, err := range s.Batches(context.Background(), layout(t, s), o) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len() {
			path, err := b.Path(i)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, strings.Clone(path))
			if facts := b.Facts(0); facts.Bounded[i/64]>>(i%64)&1 == 0 || facts.Lower.ValueStr(i) != fmt.Sprint(len(path)) {
				t.Errorf("%s: not the bounds that the statistics have", path)
			}
		}
	}
	return list
}

func layout(t testing.TB, s *deltalog.Snapshot) *colstats.Layout {
	t.Helper()
	table, err := s.Table()
	if err != nil {
		t.Fatal(err)
	}
	x, err := table.Lookup("x")
	if err != nil {
		t.Fatal(err)
	}
	return &colstats.Layout{Table: table, Demands: []colstats.Demand{{Column: x, Bounds: true}}}
}

// TestReplayAgainstAModel compares random logs, read with any number of workers, with a map.
func TestReplayAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var commits [][]string
		var model []string // in log order
		drop := func(key string) {
			if i := slices.Index(model, key); i >= 0 {
				model = slices.Delete(model, i, i+1)
			}
		}
		for range rapid.IntRange(1, 8).Draw(t, "commits") {
			var lines []string
			for range rapid.IntRange(0, 10).Draw(t, "lines") {
				key := rapid.SampledFrom([]string{"a", "b", "c%20d", "e uv@1", "a uv@1", "a uw@1"}).Draw(t, "key")
				path, vector, _ := strings.Cut(key, " u")
				line := addLine(path)
				drop(key)
				if rapid.Bool().Draw(t, "add") {
					model = append(model, key)
				} else {
					line = removeLine(path)
				}
				if vector != "" {
					line = withVector(line, strings.TrimSuffix(vector, "@1"))
				}
				lines = append(lines, line)
			}
			commits = append(commits, lines)
		}
		mem := &storetest.Mem{}
		for v, lines := range commits {
			if v == 0 {
				lines = append([]string{protocolLine, metadataLine}, lines...)
			}
			if err := mem.Put(context.Background(), deltalog.CommitName(int64(v)), []byte(strings.Join(lines, "\n"))); err != nil {
				t.Fatal(err)
			}
		}
		l := deltalog.Open(mem, deltalog.Options{Workers: rapid.IntRange(1, 5).Draw(t, "workers")})
		s, err := l.Snapshot(context.Background(), deltalog.SnapshotOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		got, err := paths(s.Adds(context.Background()))
		if err != nil || !slices.Equal(got, model) {
			t.Fatalf("got %q, %v; want %q", got, err, model)
		}
	})
}

func TestManyFilesComeInOrderAndInFullBatches(t *testing.T) {
	const n = 3 * colstats.MaxBatchLen / 2
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf(`{"add":{"path":"%d"}}`, i)) // short, so that a chunk is full of lines and not of bytes
	}
	half := len(lines) / 2
	s := snapshot(t, newTable(t, lines[:half], lines[half:]), deltalog.SnapshotOptions{})
	next, largest := 0, 0
	for b, err := range s.Batches(t.Context(), &colstats.Layout{}, deltalog.BatchOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len() {
			if path, _ := b.Path(i); path != fmt.Sprint(next) {
				t.Fatalf("file %d is %s", next, path)
			}
			next++
		}
		largest = max(largest, b.Len())
	}
	if next != n || largest > colstats.MaxBatchLen {
		t.Errorf("%d files, largest batch %d", next, largest)
	}
}

func TestStoppingEarlyAndCancelling(t *testing.T) {
	mem := newTable(t, []string{addLine("a")}, []string{addLine("b")}, []string{addLine("c")})
	s := snapshot(t, mem, deltalog.SnapshotOptions{})
	for a, err := range s.Adds(t.Context()) {
		if err != nil || a.Path != "a" {
			t.Errorf("got %v, %v", a, err)
		}
		break
	}
	checked := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer checked.AssertSize(t, 0)
	for range s.Batches(t.Context(), layout(t, s), deltalog.BatchOptions{Stats: colstats.Options{Allocator: checked}}) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := paths(s.Adds(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("Adds: %v", err)
	}
	if _, err := deltalog.Open(mem, deltalog.Options{}).Snapshot(ctx, deltalog.SnapshotOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Snapshot: %v", err)
	}
}

func TestStateBesideFiles(t *testing.T) {
	mem := newTable(t,
		[]string{`{"txn":{"appId":"a","version":1}}`, `{"txn":{"appId":"b","version":5}}`, `{"domainMetadata":{"domain":"d","configuration":"1","removed":false}}`},
		[]string{`{"commitInfo":{"operation":"FIRST"}}`, `{"txn":{"appId":"a","version":7}}`, `{"domainMetadata":{"domain":"d","configuration":"1","removed":true}}`, `{"domainMetadata":{"domain":"e","configuration":"2","removed":false}}`},
		[]string{`{"commitInfo":{"operation":"SECOND"}}`, `{"protocol":{"minReaderVersion":1,"minWriterVersion":4}}`, strings.Replace(metadataLine, `"configuration":{}`, `"configuration":{"k":"v"}`, 1)},
	)
	s := snapshot(t, mem, deltalog.SnapshotOptions{})
	if s.Version != 2 || s.Txns["a"].Version != 7 || s.Txns["b"].Version != 5 || len(s.Txns) != 2 || len(s.Domains) != 1 || s.Domains["e"] == nil {
		t.Errorf("got %+v", s)
	}
	if s.Info.Operation() != "SECOND" || s.Protocol.MinWriterVersion != 4 || s.Metadata.Configuration["k"] != "v" {
		t.Errorf("got %+v, %+v, %+v", s.Info, s.Protocol, s.Metadata)
	}
	s = snapshot(t, mem, at(1))
	if s.Version != 1 || s.Info.Operation() != "FIRST" || s.Protocol.MinWriterVersion != 2 || len(s.Metadata.Configuration) != 0 {
		t.Errorf("got %+v", s)
	}
	if s = snapshot(t, mem, at(0)); s.Info != nil || s.Txns["a"].Version != 1 || s.Domains["d"] == nil {
		t.Errorf("got %+v", s)
	}
}

func TestSnapshotErrors(t *testing.T) {
	table := func(lines ...string) *storetest.Mem {
		mem := &storetest.Mem{}
		put(t, mem, deltalog.CommitName(0), lines...)
		return mem
	}
	with := func(mem *storetest.Mem, change func(*storetest.Mem)) *storetest.Mem {
		change(mem)
		return mem
	}
	three := func() *storetest.Mem { return newTable(t, []string{}, []string{}, []string{}) }
	tests := []struct {
		name  string
		store *storetest.Mem
		o     deltalog.SnapshotOptions
		want  any // an error to match or to be equal to, but for pointers inside
	}{
		{"no log", &storetest.Mem{}, at(0), deltalog.ErrNoTable},
		{"no protocol", table(metadataLine), at(0), deltalog.ErrNoProtocol},
		{"no metadata", table(protocolLine), at(0), deltalog.ErrNoMetadata},
		{"a version too high", three(), at(3), &deltalog.VersionError{Version: 3, Oldest: 0, Newest: 2}},
		{"a negative version", three(), at(-1), &deltalog.VersionError{Version: -1, Oldest: 0, Newest: 2}},
		{"a commit is missing", with(three(), func(m *storetest.Mem) { m.Delete(t.Context(), deltalog.CommitName(1)) }), deltalog.SnapshotOptions{},
			&deltalog.GapError{Version: 2, Missing: []deltalog.Range{{First: 1, Last: 1}}}},
		{"commits are missing from the start", with(three(), func(m *storetest.Mem) {
			m.Delete(t.Context(), deltalog.CommitName(0))
			m.Delete(t.Context(), deltalog.CommitName(1))
			put(t, m, deltalog.CommitName(9))
		}), deltalog.SnapshotOptions{}, &deltalog.GapError{Version: 9, Missing: []deltalog.Range{{First: 0, Last: 1}, {First: 3, Last: 8}}}},
		{"a version beyond all reason", with(three(), func(m *storetest.Mem) { put(t, m, "_delta_log/09223372036854775806.json") }), deltalog.SnapshotOptions{},
			&deltalog.GapError{Version: 9223372036854775806, Missing: []deltalog.Range{{First: 3, Last: 9223372036854775805}}}},
		{"reader version too high", table(`{"protocol":{"minReaderVersion":4,"minWriterVersion":7}}`, metadataLine), at(0), &deltalog.UnsupportedError{ReaderVersion: 4}},
		{"unknown reader features", table(`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["z","deletionVectors","y"],"writerFeatures":["z"]}}`, metadataLine),
			at(0), &deltalog.UnsupportedError{Features: []string{"y", "z"}}},
		{"an unknown reader feature explains a broken line", table(`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["z"],"writerFeatures":["z"]}}`, metadataLine, `{"add":[]}`),
			at(0), &deltalog.UnsupportedError{Features: []string{"z"}}},
		{"managed by a catalog", table(`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["catalogManaged"],"writerFeatures":[]}}`, metadataLine), at(0), deltalog.ErrCatalogManaged},
		{"a line cut short", table(protocolLine, metadataLine, addLine("a")[:40]), at(0), deltalog.ErrCorrupt},
		{"a path out of the table", table(protocolLine, metadataLine, addLine("a/%2e%2e/../b")), at(0), action.ErrOutside},
		{"a field of the wrong type", table(protocolLine, metadataLine, `{"txn":{"appId":1,"version":1}}`), at(0), action.ErrCorrupt},
		{"version and time at once", three(), deltalog.SnapshotOptions{Version: new(int64), Time: time.Now()}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := deltalog.Open(tt.store, deltalog.Options{}).Snapshot(t.Context(), tt.o)
			switch want := tt.want.(type) {
			case nil:
				if err == nil {
					t.Error("no error")
				}
			case *deltalog.VersionError, *deltalog.GapError, *deltalog.UnsupportedError:
				if diff := cmp.Diff(want, any(err)); diff != "" {
					t.Error(diff)
				}
			case error:
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			}
			t.Log(err)
		})
	}
}

func TestErrorsNameFileAndLine(t *testing.T) {
	mem := newTable(t, []string{addLine("a")}, []string{"", addLine("b"), "{\"add\":{\"path\":\"\xff\"}}"})
	_, err := deltalog.Open(mem, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{})
	var c *deltalog.CorruptError
	if !errors.As(err, &c) || c.File != deltalog.CommitName(1) || c.Line != 3 {
		t.Errorf("Snapshot: %v", err)
	}
	_, err = deltalog.Open(mem, deltalog.Options{}).Commit(t.Context(), 1)
	if !errors.As(err, &c) || c.File != deltalog.CommitName(1) || c.Line != 3 {
		t.Errorf("Commit: %v", err)
	}
	_, err = deltalog.Open(mem, deltalog.Options{MaxActionBytes: 20}).Snapshot(t.Context(), deltalog.SnapshotOptions{})
	if !errors.Is(err, action.ErrLimit) || !errors.As(err, &c) || c.File != deltalog.CommitName(0) || c.Line != 1 {
		t.Errorf("a long line: %v", err)
	}
	_, err = deltalog.Open(mem, deltalog.Options{MaxCommitBytes: 20}).Commit(t.Context(), 1)
	if !errors.Is(err, action.ErrLimit) || !errors.As(err, &c) || !strings.Contains(err.Error(), "option MaxCommitBytes") {
		t.Errorf("a large commit: %v", err)
	}
	_, err = deltalog.Open(mem, deltalog.Options{MaxActionBytes: 20}).Commit(t.Context(), 1)
	if !errors.Is(err, action.ErrLimit) || !errors.As(err, &c) || c.Line != 2 {
		t.Errorf("a long line of a commit: %v", err)
	}
}

func TestWhatIsNotPartOfTheLogIsPassedOver(t *testing.T) {
	mem := newTable(t, []string{addLine("a")}, []string{addLine("b")})
	for _, name := range []string{
		"0.json", "00000000000000000002.json.tmp", ".00000000000000000002.json.crc", "00000000000000000002.crc", "99999999999999999999.json",
		"00000000000000000002.00000000000000000003.compacted.json", "00000000000000000000.00000000000000000001.compacted.json",
		"00000000000000000002.checkpoint.0000000001.0000000002.parquet", "_sidecars/x.parquet",
		"_staged_commits/00000000000000000002.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json",
	} {
		put(t, mem, deltalog.Dir+"/"+name, "garbage")
	}
	s := snapshot(t, mem, deltalog.SnapshotOptions{})
	if got, err := paths(s.Adds(t.Context())); s.Version != 1 || err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("version %d: %q, %v", s.Version, got, err)
	}
}

func TestTimeTravelByFileTimes(t *testing.T) {
	mem := newTable(t, []string{}, []string{}, []string{}, []string{})
	for v, millis := range []int64{1000, 5000, 4000, 6000} { // version 2 counts as 5001
		mem.SetModTime(deltalog.CommitName(int64(v)), time.UnixMilli(millis))
	}
	for millis, want := range map[int64]int64{1000: 0, 4999: 0, 5000: 1, 5001: 2, 5999: 2, 6000: 3, 1 << 40: 3} {
		if s := snapshot(t, mem, deltalog.SnapshotOptions{Time: time.UnixMilli(millis)}); s.Version != want {
			t.Errorf("at %d: version %d, want %d", millis, s.Version, want)
		}
	}
	var early *deltalog.TimeError
	if _, err := deltalog.Open(mem, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{Time: time.UnixMilli(999)}); !errors.As(err, &early) || early.Oldest.UnixMilli() != 1000 {
		t.Errorf("got %v", err)
	}
}

func TestTimeTravelByInCommitTimestamps(t *testing.T) {
	enabled := strings.Replace(metadataLine, `"configuration":{}`,
		`"configuration":{"delta.enableInCommitTimestamps":"true","delta.inCommitTimestampEnablementVersion":"2","delta.inCommitTimestampEnablementTimestamp":"5000"}`, 1)
	commit := func(millis int) string { return fmt.Sprintf(`{"commitInfo":{"inCommitTimestamp":%d}}`, millis) }
	mem := newTable(t, []string{}, []string{}, []string{commit(5000), enabled}, []string{commit(6000)}, []string{commit(7000)})
	for v, millis := range []int64{1000, 2000, 1, 2, 3} { // a copied table: the files' times mean nothing
		mem.SetModTime(deltalog.CommitName(int64(v)), time.UnixMilli(millis))
	}
	for millis, want := range map[int64]int64{1000: 0, 2000: 1, 4999: 1, 5000: 2, 5999: 2, 6000: 3, 6999: 3, 7000: 4, 1 << 40: 4} {
		if s := snapshot(t, mem, deltalog.SnapshotOptions{Time: time.UnixMilli(millis)}); s.Version != want {
			t.Errorf("at %d: version %d, want %d", millis, s.Version, want)
		}
	}
	from := strings.Replace(metadataLine, `"configuration":{}`, `"configuration":{"delta.enableInCommitTimestamps":"true"}`, 1)
	mem = newTable(t, []string{}, []string{commit(6000)})
	put(t, mem, deltalog.CommitName(0), commit(5000), protocolLine, from)
	var early *deltalog.TimeError
	if _, err := deltalog.Open(mem, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{Time: time.UnixMilli(4999)}); !errors.As(err, &early) || early.Oldest.UnixMilli() != 5000 {
		t.Errorf("got %v", err)
	}
	put(t, mem, deltalog.CommitName(1), `{"commitInfo":{}}`)
	if _, err := deltalog.Open(mem, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{Time: time.UnixMilli(5500)}); !errors.Is(err, deltalog.ErrCorrupt) {
		t.Errorf("a commit without a timestamp: %v", err)
	}
}

func TestSince(t *testing.T) {
	mem := newTable(t, []string{}, []string{}, []string{}, []string{})
	l := deltalog.Open(mem, deltalog.Options{})
	for after, want := range map[int64][]int64{-1: {0, 1, 2, 3}, 1: {2, 3}, 3: nil, 7: nil} {
		commits, err := l.Since(t.Context(), after)
		var got []int64
		for _, c := range commits {
			got = append(got, c.Version)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("since %d: %v, %v", after, got, err)
		}
	}
	if err := mem.Delete(t.Context(), deltalog.CommitName(2)); err != nil {
		t.Fatal(err)
	}
	for _, after := range []int64{0, 1} {
		var gap *deltalog.GapError
		if _, err := l.Since(t.Context(), after); !errors.As(err, &gap) || !slices.Equal(gap.Missing, []deltalog.Range{{First: 2, Last: 2}}) {
			t.Errorf("since %d: %v", after, err)
		}
	}
}

func TestCommit(t *testing.T) {
	mem := newTable(t, []string{}, []string{
		`{"commitInfo":{"operation":"WRITE","inCommitTimestamp":77}}`, addLine("a"), removeLine("b"), withVector(addLine("c"), "v"),
		`{"txn":{"appId":"a","version":1}}`, `{"domainMetadata":{"domain":"d","configuration":"","removed":true}}`,
		`{"cdc":{"path":"c","partitionValues":{},"size":1,"dataChange":false}}`, `{"future":{}}`, `{}`, ``, protocolLine, metadataLine,
	}, []string{})
	l := deltalog.Open(mem, deltalog.Options{})
	c, err := l.Commit(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if c.Version != 1 || c.Entry.Name != deltalog.CommitName(1) || c.Info.Operation() != "WRITE" || c.Timestamp() != 77 || c.NumAdds() != 2 ||
		len(c.Removes) != 1 || len(c.Txns) != 1 || len(c.Domains) != 1 || len(c.CDC) != 1 || len(c.Unknown) != 1 || c.Protocol == nil || c.Metadata == nil {
		t.Errorf("got %+v", c)
	}
	if got, err := paths(c.Adds()); err != nil || !slices.Equal(got, []string{"a", "c uv@1"}) {
		t.Errorf("got %q, %v", got, err)
	}
	checked := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer checked.AssertSize(t, 0)
	var got []string
	for b, err := range c.Batches(t.Context(), layout(t, snapshot(t, mem, at(2))), colstats.Options{Allocator: checked}) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len() {
			path, _ := b.Path(i)
			got = append(got, strings.Clone(path))
		}
	}
	if !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("got %q", got)
	}
	c, err = l.Commit(t.Context(), 2)
	if err != nil || c.NumAdds() != 0 || c.Info != nil || c.Timestamp() != c.Entry.ModTime.UnixMilli() {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, err = l.Commit(t.Context(), 3); !errors.Is(err, logstore.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestValidate(t *testing.T) {
	mem := newTable(t, []string{addLine("a"), addLine("b")})
	sum := func(files, bytes int, protocol string) string {
		metadata := strings.TrimSuffix(strings.TrimPrefix(metadataLine, `{"metaData":`), "}")
		return fmt.Sprintf(`{"txnId":"t","tableSizeBytes":%d,"numFiles":%d,"numMetadata":1,"numProtocol":1,"metadata":%s,"protocol":%s,"allFiles":[]}`, bytes, files, metadata, protocol)
	}
	const protocol = `{"minReaderVersion":1,"minWriterVersion":2}`
	name := deltalog.Dir + "/00000000000000000000.crc"
	if err := snapshot(t, mem, at(0)).Validate(t.Context()); err != nil {
		t.Errorf("no file: %v", err)
	}
	for _, tt := range []struct{ text, field string }{
		{sum(2, 2, protocol), ""},
		{`{}`, ""},
		{sum(3, 2, protocol), "numFiles"},
		{sum(2, 3, protocol), "tableSizeBytes"},
		{sum(2, 2, `{"minReaderVersion":2,"minWriterVersion":5}`), "protocol"},
		{strings.Replace(sum(2, 2, protocol), `"id":"t"`, `"id":"u"`, 1), "metadata"},
	} {
		put(t, mem, name, tt.text)
		err := snapshot(t, mem, at(0)).Validate(t.Context())
		var c *deltalog.ChecksumError
		if tt.field == "" && err != nil || tt.field != "" && (!errors.As(err, &c) || c.Field != tt.field) {
			t.Errorf("%s\ngot %v, want a difference in %q", tt.text, err, tt.field)
		}
	}
	for _, text := range []string{"", "{", "[]", `{"numFiles":"2"}`, `{"protocol":{}}`} {
		put(t, mem, name, text)
		if err := snapshot(t, mem, at(0)).Validate(t.Context()); !errors.Is(err, deltalog.ErrCorrupt) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestEveryCallMayFail has each call of the store fail in turn: the result is an error or the right one.
func TestEveryCallMayFail(t *testing.T) {
	mem := newTable(t, []string{addLine("a"), addLine("b")}, []string{removeLine("a")}, []string{addLine("c")})
	down := errors.New("down")
	for n := int64(1); ; n++ {
		calls := int64(0)
		s := storetest.Faulty(mem, func(c storetest.Call) storetest.Fault {
			calls = max(calls, c.N)
			if c.N == n {
				return storetest.Fail(down)
			}
			return nil
		})
		snap, err := deltalog.Open(s, deltalog.Options{Workers: 1}).Snapshot(t.Context(), deltalog.SnapshotOptions{})
		var got []string
		if err == nil {
			got, err = paths(snap.Adds(t.Context()))
			snap.Close()
		}
		if err != nil && !errors.Is(err, down) || err == nil && !slices.Equal(got, []string{"b", "c"}) {
			t.Errorf("call %d of %d fails: %q, %v", n, calls, got, err)
		}
		if n > calls {
			break
		}
	}
}

// FuzzCommit reads one commit in all ways, which must agree.
func FuzzCommit(f *testing.F) {
	f.Add([]byte(addLine("a") + "\n" + removeLine("a%20b") + "\n" + withVector(addLine("a%20b"), "v")))
	f.Add([]byte("{\"add\":{\"path\":\"\\u0061\\ud83d\\ude00\",\"deletionVector\":{\"storageType\":\"i\",\"pathOrInlineDv\":\"x\",\"offset\":null}}}\n\n{}"))
	f.Add([]byte(`{"add":null,"remove":{"path":"x","deletionVector":null}}`))
	f.Add([]byte(`{"add":{"path":"x","path":"y"}}`))
	f.Add([]byte(`{"txn":{"appId":"a","version":1},"beside":1}`))
	f.Fuzz(func(t *testing.T, commit []byte) {
		mem := newTable(t, nil)
		if err := mem.Put(t.Context(), deltalog.CommitName(1), commit); err != nil {
			t.Fatal(err)
		}
		l := deltalog.Open(mem, deltalog.Options{Workers: 1})
		c, err := l.Commit(t.Context(), 1)
		if err != nil && !errors.Is(err, deltalog.ErrCorrupt) {
			t.Fatalf("an error of no type: %v", err)
		}
		s, failed := l.Snapshot(t.Context(), deltalog.SnapshotOptions{})
		if err == nil && failed == nil {
			defer s.Close()
			var adds []*action.Add
			for a, err := range c.Adds() {
				if err != nil {
					return // the snapshot has not looked so closely
				}
				adds = append(adds, a)
			}
			live := map[action.Key]bool{}
			for a, err := range s.Adds(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				live[action.Key{Path: action.CanonicalPath(a.Path), DV: a.Key().DV}] = true
			}
			removed := map[action.Key]bool{}
			for _, r := range c.Removes {
				removed[action.Key{Path: action.CanonicalPath(r.Path), DV: r.Key().DV}] = true
			}
			for _, a := range adds {
				key := action.Key{Path: action.CanonicalPath(a.Path), DV: a.Key().DV}
				if !live[key] && !removed[key] {
					t.Errorf("%v is added and not in the snapshot", key)
				}
			}
		}
	})
}

// FuzzLine holds the scanner of the replay to what the same line says as an action.
func FuzzLine(f *testing.F) {
	f.Add([]byte(addLine("a%20b")))
	f.Add([]byte(withVector(removeLine("a"), "v")))
	f.Add([]byte(`{"beside":{"add":1},"add":{"path":"\u0061\ud83d\ude00","deletionVector":{"storageType":"i","pathOrInlineDv":"x","offset":null}}}`))
	f.Add([]byte(`{"add":null,"remove":{"path":"x","deletionVector":null}}`))
	f.Add([]byte(`{"add":{"path":"x","path":"y","deletionVector":{"offset":1,"storageType":"u","pathOrInlineDv":"\u0041"}}}`))
	f.Add([]byte(`{"\u0061dd":{"p\u0061th":"x"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := action.Parse(text)
		if err != nil {
			return
		}
		var line colstats.Line
		if err := line.Scan(text); err != nil {
			t.Fatalf("%q is a good action, but %v", text, err)
		}
		var kind colstats.LineKind
		var key action.Key
		switch a := a.(type) {
		case *action.Add:
			kind, key = colstats.AddLine, a.Key()
		case *action.Remove:
			kind, key = colstats.RemoveLine, a.Key()
		default:
			if line.Kind == colstats.AddLine || line.Kind == colstats.RemoveLine {
				t.Fatalf("%q is taken for kind %d", text, line.Kind)
			}
			return
		}
		if line.Kind != kind || string(line.Path) != key.Path || string(line.DeletionVector) != key.DV {
			t.Fatalf("%q is taken for kind %d, %q, %q", text, line.Kind, line.Path, line.DeletionVector)
		}
	})
}
