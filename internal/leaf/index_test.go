package leaf

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// writeIndexed writes a row group of one optional long a row, in small pages with a page index. nil is null.
func writeIndexed(t testing.TB, values []*int64) []byte {
	t.Helper()
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{schema.NewInt64Node("l", parquet.Repetitions.Optional, -1)}, -1)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, root, file.WithWriterProps(parquet.NewWriterProperties(
		parquet.WithPageIndexEnabled(true), parquet.WithDataPageSize(64), parquet.WithBatchSize(8), parquet.WithDictionaryDefault(false))))
	group, err := w.AppendRowGroupChecked()
	if err != nil {
		t.Fatal(err)
	}
	column, err := group.NextColumn()
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range slices.Chunk(values, 10) {
		var dense []int64
		levels := make([]int16, len(chunk))
		for i, v := range chunk {
			if v != nil {
				dense, levels[i] = append(dense, *v), 1
			}
		}
		if _, err := column.(*file.Int64ColumnChunkWriter).WriteBatch(dense, levels, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestPages(t *testing.T) {
	values := make([]*int64, 200)
	for i := range values {
		if v := int64(i * i); i < 60 {
			values[i] = &v
		}
	}
	data := writeIndexed(t, values)
	f, err := Open(bytes.NewReader(data), int64(len(data)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := f.Chunks(0, f.Leaves[0])
	if err != nil {
		t.Fatal(err)
	}
	pages, err := f.Pages(&chunks[0])
	if err != nil || len(pages) < 5 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	next := int64(0)
	for i, p := range pages {
		if p.First != next || p.Rows <= 0 {
			t.Fatalf("page %d has %d rows from %d on, %d was next", i, p.Rows, p.First, next)
		}
		next += p.Rows
		var nulls int64
		var least, most *int64
		for _, v := range values[p.First:next] {
			if v == nil {
				nulls++
				continue
			}
			if least == nil {
				least = v
			}
			most = v
		}
		if p.Nulls != nulls {
			t.Errorf("page %d: %d nulls, want %d", i, p.Nulls, nulls)
		}
		if least == nil {
			if p.Min != nil || p.Max != nil {
				t.Errorf("page %d: bounds of nothing", i)
			}
			continue
		}
		if got := [2]int64{int64(binary.LittleEndian.Uint64(p.Min)), int64(binary.LittleEndian.Uint64(p.Max))}; got != [2]int64{*least, *most} {
			t.Errorf("page %d: bounds %v, want %d and %d", i, got, *least, *most)
		}
	}
	if next != 200 {
		t.Errorf("pages of %d rows", next)
	}
}

// TestNullPage reads a golden column index of two pages, the first without a value.
func TestNullPage(t *testing.T) {
	index := []byte{
		0x19, 0x21, 1, 2, // field 1, two booleans: true, false
		0x19, 0x28, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0, // field 2, two byte strings: "" and 1
		0x19, 0x28, 0, 8, 5, 0, 0, 0, 0, 0, 0, 0, // field 3: "" and 5
		0x15, 0, // field 4, the order
		0x19, 0x26, 20, 0, // field 5, two numbers: 10, 0
		0,
	}
	n := &Node{Physical: Int64}
	f := &File{ordered: []bool{true}}
	pages := []Page{{Rows: 10}, {First: 10, Rows: 7}}
	if !f.columnIndex(index, n, pages) {
		t.Fatal("not understood")
	}
	if p := pages[0]; p.Nulls != 10 || p.Min != nil || p.Max != nil {
		t.Errorf("null page: %+v", p)
	}
	if p := pages[1]; p.Nulls != 0 || len(p.Min) != 8 || p.Min[0] != 1 || p.Max[0] != 5 {
		t.Errorf("page: %+v", p)
	}
	if f.columnIndex(index, n, pages[:1]) {
		t.Error("an index of two pages passes as one of one")
	}
	if pages := []Page{{Rows: 10}, {First: 10, Rows: 7}}; !(&File{ordered: []bool{false}}).columnIndex(index, n, pages) || pages[1].Min != nil {
		t.Error("bounds in no known order")
	}
}

// TestDamagedIndex flips every byte of an index: it never panics, and pages always tile the rows.
func TestDamagedIndex(t *testing.T) {
	values := make([]*int64, 60)
	for i := range values {
		v := int64(i)
		values[i] = &v
	}
	data := writeIndexed(t, values)
	f, err := Open(bytes.NewReader(data), int64(len(data)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := f.Chunks(0, f.Leaves[0])
	if err != nil {
		t.Fatal(err)
	}
	c := chunks[0]
	for _, s := range []section{c.offsetIndex, c.columnIndex} {
		for at := s.offset; at < s.offset+s.bytes; at++ {
			for bit := range 8 {
				data[at] ^= 1 << bit
				pages, err := f.Pages(&c)
				if err != nil {
					t.Fatal(err)
				}
				next := int64(0)
				for _, p := range pages {
					if p.First != next || p.Rows <= 0 || p.Nulls > p.Rows {
						t.Fatalf("bit %d of byte %d: %+v", bit, at, pages)
					}
					next += p.Rows
				}
				if pages != nil && next != 60 {
					t.Fatalf("bit %d of byte %d: pages of %d rows", bit, at, next)
				}
				data[at] ^= 1 << bit
			}
		}
	}
	for _, s := range []section{{}, {offset: 4, bytes: 1 << 40}, {offset: -1, bytes: 10}, {offset: int64(len(data)), bytes: 10}} {
		c := chunks[0]
		c.columnIndex = s
		if pages, err := f.Pages(&c); pages != nil || err != nil {
			t.Errorf("index at %+v: %v, %v", s, pages, err)
		}
	}
}
