package leaf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/internal/corpus"
)

// checkedAllocator fails the test when a buffer is still held at its end.
func checkedAllocator(t testing.TB) *memory.CheckedAllocator {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

// An entry is one entry of a leaf column: its levels and, with the highest definition level, its value.
type entry struct {
	def, rep uint8
	value    string
}

// readOurs reads a whole chunk, in runs of the given length.
func readOurs(f *File, group, leaf, run int, mem memory.Allocator) (entries []entry, err error) {
	node := f.Leaves[leaf]
	chunks, err := f.Chunks(group, node)
	if err != nil {
		return nil, err
	}
	c := f.Column(chunks[0], mem)
	defer c.Close()
	var e Entries
	defer e.Release()
	for {
		if err := c.Read(&e, run); err != nil {
			return nil, err
		}
		if e.Len == 0 {
			return entries, nil
		}
		v := 0
		for i := range e.Len {
			x := entry{def: node.Def}
			if len(e.Def) > 0 {
				x.def = e.Def[i]
			}
			if len(e.Rep) > 0 {
				x.rep = e.Rep[i]
			}
			if x.def == node.Def {
				switch node.Physical {
				case ByteArray, FixedLenByteArray, Int96:
					x.value = fmt.Sprintf("%x", e.Bytes(v))
				default:
					x.value = fmt.Sprint(e.Bits(v))
				}
				v++
			}
			entries = append(entries, x)
		}
		if v != e.Values() {
			return nil, fmt.Errorf("%d values, but %d entries have one", e.Values(), v)
		}
	}
}

// readArrows reads the same with Arrow's reader.
func readArrows(f *file.Reader, group, leaf int) (entries []entry, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	r, err := f.RowGroup(group).Column(leaf)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	const run = 100
	defs, reps := make([]int16, run), make([]int16, run)
	highest := r.Descriptor().MaxDefinitionLevel()
	add := func(total int64, value func(i int) string) {
		v := 0
		for i := range int(total) {
			x := entry{def: uint8(highest)}
			if highest > 0 {
				x.def = uint8(defs[i])
			}
			if r.Descriptor().MaxRepetitionLevel() > 0 {
				x.rep = uint8(reps[i])
			}
			if int16(x.def) == highest {
				x.value = value(v)
				v++
			}
			entries = append(entries, x)
		}
	}
	for r.HasNext() {
		var total int64
		var err error
		switch r := r.(type) {
		case *file.BooleanColumnChunkReader:
			values := make([]bool, run)
			total, _, err = r.ReadBatchInPage(run, values, defs, reps)
			add(total, func(i int) string {
				if values[i] {
					return "1"
				}
				return "0"
			})
		case *file.Int32ColumnChunkReader:
			values := make([]int32, run)
			total, _, err = r.ReadBatchInPage(run, values, defs, reps)
			add(total, func(i int) string { return fmt.Sprint(values[i]) })
		case *file.Int64ColumnChunkReader:
			values := make([]int64, run)
			total, _, err = r.ReadBatchInPage(run, values, defs, reps)
			add(total, func(i int) string { return fmt.Sprint(values[i]) })
		case *file.Int96ColumnChunkReader:
			values := make([]parquet.Int96, run)
			total, _, err = r.ReadBatchInPage(run, values, defs, reps)
			add(total, func(i int) string { return fmt.Sprintf("%x", values[i][:]) })
		case *file.Float32ColumnChunkReader:
			values := make([]float32, run)
			total, _, err = r.ReadBatchInPage(run, values, defs, reps)
			bits := arrow.Int32Traits.CastFromBytes(arrow.Float32Traits.CastToBytes(values))
			add(total, func(i int) string { return fmt.Sprint(bits[i]) })
		case *file.Float64ColumnChunkReader:
			values := make([]float64, run)
			total, _, err = r.ReadBatchInPage(run, values, defs, reps)
			bits := arrow.Int64Traits.CastFromBytes(arrow.Float64Traits.CastToBytes(values))
			add(total, func(i int) string { return fmt.Sprint(bits[i]) })
		case *file.ByteArrayColumnChunkReader:
			values := make([]parquet.ByteArray, run)
			total, _, err = r.ReadBatchInPage(run, values, defs, reps)
			add(total, func(i int) string { return fmt.Sprintf("%x", []byte(values[i])) })
		case *file.FixedLenByteArrayColumnChunkReader:
			values := make([]parquet.FixedLenByteArray, run)
			total, _, err = r.ReadBatchInPage(run, values, defs, reps)
			add(total, func(i int) string { return fmt.Sprintf("%x", []byte(values[i])) })
		}
		if err != nil {
			return entries, err
		}
	}
	return entries, r.Err()
}

// compareAll reads every leaf of every row group with both readers.
func compareAll(t *testing.T, data []byte, run int) {
	t.Helper()
	mem := checkedAllocator(t)
	ours, err := Open(bytes.NewReader(data), int64(len(data)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if ours.RowGroups() != theirs.NumRowGroups() || ours.Rows != theirs.NumRows() || len(ours.Leaves) != theirs.MetaData().Schema.NumColumns() {
		t.Fatalf("%d row groups, %d rows, %d leaves; Arrow sees %d, %d, %d", ours.RowGroups(), ours.Rows, len(ours.Leaves),
			theirs.NumRowGroups(), theirs.NumRows(), theirs.MetaData().Schema.NumColumns())
	}
	pairs := theirs.MetaData().KeyValueMetadata()
	for i, key := range pairs.Keys() {
		if value, ok := ours.Metadata(key); !ok || value != pairs.Values()[i] {
			t.Fatalf("%s is %q in the footer, %t, Arrow says %q", key, value, ok, pairs.Values()[i])
		}
	}
	if value, ok := ours.Metadata("no such key"); ok {
		t.Fatalf("a key that is not there has the value %q", value)
	}
	for g := range ours.RowGroups() {
		for l, n := range ours.Leaves {
			if want := theirs.MetaData().Schema.Column(l).Path(); n.String() != want {
				t.Fatalf("leaf %d is %s, Arrow says %s", l, n, want)
			}
			if want := theirs.MetaData().Schema.Column(l).SchemaNode().FieldID(); n.FieldID != int64(want) {
				t.Fatalf("leaf %s has id %d, Arrow says %d", n, n.FieldID, want)
			}
			want, err := readArrows(theirs, g, l)
			if err != nil {
				t.Fatalf("row group %d, %s: Arrow: %v", g, n, err)
			}
			got, err := readOurs(ours, g, l, run, mem)
			if err != nil {
				t.Fatalf("row group %d, %s: %v", g, n, err)
			}
			if len(got) != len(want) {
				t.Fatalf("row group %d, %s: %d entries, Arrow reads %d", g, n, len(got), len(want))
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("row group %d, %s, entry %d: %+v, Arrow reads %+v", g, n, i, got[i], want[i])
				}
			}
		}
	}
}

func TestReadsCorporaAsArrowDoes(t *testing.T) {
	files := 0
	for _, name := range []string{"golden", "skipping"} {
		err := filepath.WalkDir(corpus.Dir(t, name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".parquet") || strings.HasPrefix(d.Name(), ".") {
				return err
			}
			if log := strings.Contains(path, "_delta_log"); !log && (testing.Short() || name == "skipping") {
				return nil
			}
			data, err := os.ReadFile(path)
			if err != nil || len(data) > 1<<20 {
				return err
			}
			if _, err := file.NewParquetReader(bytes.NewReader(data)); err != nil {
				return nil // damaged on purpose
			}
			files++
			t.Run(strings.TrimPrefix(path, corpus.Dir(t, name)), func(t *testing.T) { compareAll(t, data, 1000) })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d files", files)
}

// oddFile writes a file with a leaf of every physical type at several depths.
func oddFile(t testing.TB, rows int, nulls float64, props ...parquet.WriterProperty) []byte {
	t.Helper()
	opt, req, rep := parquet.Repetitions.Optional, parquet.Repetitions.Required, parquet.Repetitions.Repeated
	leaves := func() schema.FieldList {
		return schema.FieldList{
			schema.NewBooleanNode("b", opt, -1), schema.NewInt32Node("i32", opt, -1), schema.NewInt64Node("i64", req, -1),
			schema.NewInt96Node("i96", opt, -1), schema.NewFloat32Node("f", opt, -1), schema.NewFloat64Node("d", opt, -1),
			schema.NewByteArrayNode("s", opt, -1), schema.NewFixedLenByteArrayNode("fix", opt, 7, -1),
		}
	}
	group := func(name string, r parquet.Repetition, f schema.FieldList) schema.Node {
		return schema.MustGroup(schema.NewGroupNode(name, r, f, -1))
	}
	root := schema.MustGroup(schema.NewGroupNode("schema", req, schema.FieldList{
		group("flat", opt, schema.FieldList{group("deep", opt, leaves())}),
		group("list", opt, schema.FieldList{group("element", rep, leaves())}),
	}, -1))
	rnd := rand.New(rand.NewPCG(1, uint64(rows)))
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, root, file.WithWriterProps(parquet.NewWriterProperties(props...)))
	for done := 0; done < rows; {
		n := min(rows-done, 1+rnd.IntN(rows))
		done += n
		g, err := w.AppendRowGroupChecked()
		if err != nil {
			t.Fatal(err)
		}
		// Levels of the two parents are the same for all leaves below them.
		var flat, list, reps []int16
		for range n {
			switch {
			case rnd.Float64() < nulls:
				flat, list, reps = append(flat, 0), append(list, 0), append(reps, 0)
			case rnd.Float64() < nulls:
				flat, list, reps = append(flat, 1), append(list, 1), append(reps, 0)
			default:
				flat = append(flat, 2)
				for j := range 1 + rnd.IntN(3) {
					list, reps = append(list, 2), append(reps, int16(min(j, 1)))
				}
			}
		}
		for range g.NumColumns() {
			c, err := g.NextColumn()
			if err != nil {
				t.Fatal(err)
			}
			parents, r := flat, []int16(nil)
			if c.Descr().MaxRepetitionLevel() > 0 {
				parents, r = list, reps
			}
			defs := make([]int16, len(parents))
			values := 0
			steady := rnd.IntN(2) == 0 // no nulls of its own
			for i, d := range parents {
				if defs[i] = d; d == 2 && c.Descr().MaxDefinitionLevel() == 3 && (steady || rnd.Float64() >= nulls) {
					defs[i] = 3
				}
				if defs[i] == c.Descr().MaxDefinitionLevel() {
					values++
				}
			}
			few := rnd.IntN(2) == 0 // distinct values, so that dictionaries last
			pick := func() int64 {
				if few {
					return int64(rnd.IntN(5)) - 2
				}
				return int64(rnd.Uint64())
			}
			switch c := c.(type) {
			case *file.BooleanColumnChunkWriter:
				v := make([]bool, values)
				for i := range v {
					v[i] = pick()&1 == 1
				}
				_, err = c.WriteBatch(v, defs, r)
			case *file.Int32ColumnChunkWriter:
				v := make([]int32, values)
				for i := range v {
					v[i] = int32(pick())
				}
				_, err = c.WriteBatch(v, defs, r)
			case *file.Int64ColumnChunkWriter:
				v := make([]int64, values)
				for i := range v {
					v[i] = pick()
				}
				_, err = c.WriteBatch(v, defs, r)
			case *file.Int96ColumnChunkWriter:
				v := make([]parquet.Int96, values)
				for i := range v {
					copy(v[i][:], fmt.Sprintf("%12d", pick()))
				}
				_, err = c.WriteBatch(v, defs, r)
			case *file.Float32ColumnChunkWriter:
				v := make([]float32, values)
				for i := range v {
					v[i] = float32(pick())
				}
				_, err = c.WriteBatch(v, defs, r)
			case *file.Float64ColumnChunkWriter:
				v := make([]float64, values)
				for i := range v {
					v[i] = float64(pick())
				}
				_, err = c.WriteBatch(v, defs, r)
			case *file.ByteArrayColumnChunkWriter:
				v := make([]parquet.ByteArray, values)
				for i := range v {
					v[i] = parquet.ByteArray(strings.Repeat(fmt.Sprint(pick()), rnd.IntN(4)))
				}
				_, err = c.WriteBatch(v, defs, r)
			case *file.FixedLenByteArrayColumnChunkWriter:
				v := make([]parquet.FixedLenByteArray, values)
				for i := range v {
					v[i] = parquet.FixedLenByteArray(fmt.Sprintf("%020d", pick())[13:20])
				}
				_, err = c.WriteBatch(v, defs, r)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// writers are the ways to write a file that a reader must not care about.
func writers() map[string][]parquet.WriterProperty {
	ways := map[string][]parquet.WriterProperty{
		"defaults":      nil,
		"small pages":   {parquet.WithDataPageSize(100), parquet.WithBatchSize(7)},
		"no dictionary": {parquet.WithDictionaryDefault(false)},
		"version 2 pages": {parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithDataPageSize(200),
			parquet.WithCompression(compress.Codecs.Snappy)},
		"delta": {parquet.WithDictionaryDefault(false), parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithDataPageSize(300)},
	}
	for name, c := range map[string]compress.Compression{
		"snappy": compress.Codecs.Snappy, "gzip": compress.Codecs.Gzip, "zstd": compress.Codecs.Zstd, "brotli": compress.Codecs.Brotli,
		"lz4_raw": compress.Codecs.Lz4Raw,
	} {
		ways[name] = []parquet.WriterProperty{parquet.WithCompression(c)}
	}
	for leaf, e := range map[string]parquet.Encoding{
		"b": parquet.Encodings.RLE, "i32": parquet.Encodings.DeltaBinaryPacked, "i64": parquet.Encodings.DeltaBinaryPacked,
		"s": parquet.Encodings.DeltaByteArray, "fix": parquet.Encodings.ByteStreamSplit, "f": parquet.Encodings.ByteStreamSplit,
		"d": parquet.Encodings.ByteStreamSplit,
	} {
		ways["delta"] = append(ways["delta"], parquet.WithEncodingFor("flat.deep."+leaf, e), parquet.WithEncodingFor("list.element."+leaf, e))
	}
	ways["delta lengths"] = append(slices.Clone(ways["delta"]), parquet.WithEncodingFor("flat.deep.s", parquet.Encodings.DeltaLengthByteArray),
		parquet.WithEncodingFor("flat.deep.i32", parquet.Encodings.ByteStreamSplit))
	return ways
}

func TestReadsAsArrowDoes(t *testing.T) {
	lengths, shares := []int{1, 63, 64, 65, 3000}, []float64{0, 0.3, 1}
	if testing.Short() {
		lengths, shares = []int{1, 300}, []float64{0.3}
	}
	for name, props := range writers() {
		for _, rows := range lengths {
			for _, nulls := range shares {
				t.Run(fmt.Sprintf("%s/rows=%d/nulls=%g", name, rows, nulls), func(t *testing.T) {
					data := oddFile(t, rows, nulls, props...)
					compareAll(t, data, 7)
					compareAll(t, data, 1<<16)
				})
			}
		}
	}
}

func TestReadArray(t *testing.T) {
	mem := checkedAllocator(t)
	data := oddFile(t, 500, 0.3, parquet.WithDataPageSize(300))
	f, err := Open(bytes.NewReader(data), int64(len(data)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range f.Root.Find("flat", "deep").Children {
		for g := range f.RowGroups() {
			want, err := readOurs(f, g, n.Leaf, 100, mem)
			if err != nil {
				t.Fatal(err)
			}
			chunks, err := f.Chunks(g, n)
			if err != nil {
				t.Fatal(err)
			}
			c := f.Column(chunks[0], mem)
			for at := 0; at < len(want); {
				arr, defs, err := c.ReadArray(77)
				if err != nil {
					t.Fatal(err)
				}
				if !arrow.TypeEqual(arr.DataType(), n.ArrowType()) {
					t.Fatalf("%s is %s, not %s", n, arr.DataType(), n.ArrowType())
				}
				for i := range arr.Len() {
					w := want[at+i]
					if len(defs) > 0 && defs[i] != w.def || len(defs) == 0 && w.def != n.Def {
						t.Fatalf("%s, entry %d: level %v, want %d", n, at+i, defs, w.def)
					}
					if present := w.def == n.Def; n.Physical != Int96 && arr.IsValid(i) != present {
						t.Fatalf("%s, entry %d: valid is %t, want %t", n, at+i, arr.IsValid(i), present)
					} else if present && n.Physical == Int32 && fmt.Sprint(arr.(*array.Int32).Value(i)) != w.value ||
						present && n.Physical == ByteArray && fmt.Sprintf("%x", arr.(*array.Binary).Value(i)) != w.value ||
						present && n.Physical == Boolean && arr.(*array.Boolean).Value(i) != (w.value == "1") ||
						present && n.Physical == FixedLenByteArray && fmt.Sprintf("%x", arr.(*array.FixedSizeBinary).Value(i)) != w.value {
						t.Fatalf("%s, entry %d: %s, want %s", n, at+i, arr.ValueStr(i), w.value)
					}
				}
				at += arr.Len()
				arr.Release()
			}
			c.Close()
		}
	}
}

func TestSkip(t *testing.T) {
	mem := checkedAllocator(t)
	data := oddFile(t, 2000, 0.2, parquet.WithDataPageSize(500), parquet.WithBatchSize(50))
	f, err := Open(bytes.NewReader(data), int64(len(data)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range f.Root.Find("flat", "deep").Children {
		for g := range f.RowGroups() {
			want, err := readOurs(f, g, n.Leaf, 100, mem)
			if err != nil {
				t.Fatal(err)
			}
			for _, skip := range []int{0, 1, 49, 50, 51, len(want) / 2, len(want) - 1, len(want)} {
				if skip > len(want) {
					continue
				}
				chunks, _ := f.Chunks(g, n)
				c := f.Column(chunks[0], mem)
				if err := c.Skip(int64(skip)); err != nil {
					t.Fatalf("%s: %v", n, err)
				}
				arr, _, err := c.ReadArray(10)
				if err != nil {
					t.Fatal(err)
				}
				if arr.Len() != min(10, len(want)-skip) {
					t.Fatalf("%s: %d entries after skipping %d of %d", n, arr.Len(), skip, len(want))
				}
				for i := range arr.Len() {
					if w := want[skip+i]; n.Physical == Int64 && w.def == n.Def && arr.ValueStr(i) != w.value {
						t.Fatalf("%s, entry %d: %s, want %s", n, skip+i, arr.ValueStr(i), w.value)
					}
				}
				arr.Release()
				if err := c.Skip(1 << 40); err == nil {
					t.Error("skipped past the end")
				}
				c.Close()
			}
		}
	}
}

// FuzzRead reads whatever can be read of damaged files.
func FuzzRead(f *testing.F) {
	for _, props := range writers() {
		f.Add(oddFile(f, 20, 0.3, props...))
	}
	f.Fuzz(func(t *testing.T, data []byte) { readAll(t, data) })
}

func readAll(t testing.TB, data []byte) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	f, err := Open(bytes.NewReader(data), int64(len(data)), Limits{MaxPageBytes: 1 << 16, MaxRows: 1 << 10, RunBytes: 1 << 16})
	if err != nil {
		known(t, err)
		return
	}
	for g := range f.RowGroups() {
		for l := range f.Leaves {
			if _, err := readOurs(f, g, l, 1<<10, mem); err != nil {
				known(t, err)
			}
		}
	}
}

func known(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, ErrCorrupt) && !errors.Is(err, action.ErrLimit) && !errors.Is(err, ErrUnsupported) {
		t.Errorf("an error of no known kind: %v", err)
	}
}

// TestDamage flips bytes all over a file of each kind.
func TestDamage(t *testing.T) {
	for name, props := range writers() {
		t.Run(name, func(t *testing.T) {
			good := oddFile(t, 30, 0.3, props...)
			step := 1 + len(good)/200
			if testing.Short() {
				step *= 5
			}
			for i := 0; i < len(good); i += step {
				for _, x := range []byte{0xff, 0x01, 0x80} {
					bad := bytes.Clone(good)
					bad[i] ^= x
					readAll(t, bad)
				}
			}
			for i := range good {
				if i%step == 0 {
					readAll(t, good[:i])
				}
			}
		})
	}
}
