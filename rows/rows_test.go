package rows

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/internal/cell"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// parquetOf writes JSON rows as a parquet file of the given Arrow fields.
func parquetOf(t rapid.TB, fields []arrow.Field, rows string, props ...parquet.WriterProperty) *bytes.Reader {
	t.Helper()
	s := arrow.NewSchema(fields, nil)
	record, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	defer record.Release()
	return parquetOfRecord(t, record, pqarrow.DefaultWriterProps(), props...)
}

func parquetOfRecord(t rapid.TB, record arrow.RecordBatch, arrowProps pqarrow.ArrowWriterProperties, props ...parquet.WriterProperty) *bytes.Reader {
	t.Helper()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(record.Schema(), &out, parquet.NewWriterProperties(props...), arrowProps)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(record); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(out.Bytes())
}

func field(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

// tableOf parses a schema of fields such as `{"name":"x","type":"long"}`.
func tableOf(t rapid.TB, fields string, partitioned []string, configuration map[string]string) *schema.Table {
	t.Helper()
	table, err := schema.Parse(`{"type":"struct","fields":[`+fields+`]}`, partitioned, configuration)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// matcher compiles predicates given as SQL.
func matcher(t rapid.TB, table *schema.Table, o Options, reads ...string) *Matcher {
	t.Helper()
	var bound []*predicate.Predicate
	for _, sql := range reads {
		e, err := predicate.Parse(sql, predicate.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := predicate.Bind(e, table, predicate.Env{})
		if err != nil {
			t.Fatal(err)
		}
		bound = append(bound, p)
	}
	m, err := Compile(bound, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// hits collects all hits as text: "row/read", with a question mark after unsure ones.
func hits(t rapid.TB, m *Matcher, f *File) (string, error) {
	t.Helper()
	var list []string
	for h, err := range m.All(context.Background(), f) {
		if err != nil {
			return strings.Join(list, " "), err
		}
		text := fmt.Sprintf("%d/%d", h.Row, h.Read)
		if h.Unsure {
			text += "?"
		}
		list = append(list, text)
	}
	return strings.Join(list, " "), nil
}

func TestHits(t *testing.T) {
	table := tableOf(t, `{"name":"x","type":"long"},{"name":"s","type":"string"},{"name":"p","type":"integer"}`, []string{"p"}, nil)
	data := parquetOf(t, []arrow.Field{field("x", arrow.PrimitiveTypes.Int64), field("s", arrow.BinaryTypes.String)}, `[
		{"x":0,"s":"a"},{"x":1,"s":null},{"x":2,"s":"b"},{"x":null,"s":"a"},{"x":4,"s":"c"},{"x":5,"s":"b"}]`, parquet.WithMaxRowGroupLength(2))
	one := "1"
	tests := []struct {
		name    string
		reads   []string
		deleted *deletionvector.Vector
		among   *deletionvector.Vector
		want    string
	}{
		{name: "a range", reads: []string{"x >= 2"}, want: "2/0 4/0 5/0"},
		{name: "nothing", reads: []string{"x > 5"}, want: ""},
		{name: "NULL", reads: []string{"x IS NULL OR s IS NULL"}, want: "1/0 3/0"},
		{name: "deleted rows are no hits", reads: []string{"x >= 2"}, deleted: deletionvector.Of(2, 4), want: "5/0"},
		{name: "all deleted", reads: []string{"x >= 0"}, deleted: deletionvector.Range(0, 6), want: ""},
		{name: "some rows only", reads: []string{"x >= 0"}, among: deletionvector.Of(1, 3, 5), want: "1/0 5/0"},
		{name: "some rows, less the deleted ones", reads: []string{"x >= 0"}, among: deletionvector.Of(1, 5), deleted: deletionvector.Of(5), want: "1/0"},
		{name: "no rows", reads: []string{"x >= 0"}, among: deletionvector.Of(), want: ""},
		{name: "the first read that matches counts", reads: []string{"x = 4", "x >= 4", "s = 'a'"}, want: "0/2 3/2 4/0 5/1"},
		{name: "partition column", reads: []string{"p = 1 AND x = 4", "p = 2"}, want: "4/0"},
		{name: "another partition", reads: []string{"p = 2 AND x = 4"}, want: ""},
		{name: "constants", reads: []string{"true"}, want: "0/0 1/0 2/0 3/0 4/0 5/0"},
		{name: "what is not evaluated may match where the rest does not rule it out", reads: []string{"rand() > 0.5 AND x < 2"}, want: "0/0? 1/0?"},
		{name: "columns beside each other", reads: []string{"CAST(x AS string) < s AND x + p > 2"}, want: "2/0 4/0 5/0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := matcher(t, table, Options{Allocator: checkedAllocator(t)}, tt.reads...)
			f := &File{Data: data, PartitionValues: map[string]*string{"p": &one}, Deleted: tt.deleted, Among: tt.among}
			got, err := hits(t, m, f)
			if err != nil || got != tt.want {
				t.Errorf("hits %q, %v, want %q", got, err, tt.want)
			}
			hit, found, err := m.First(t.Context(), f)
			first, _, _ := strings.Cut(tt.want, " ")
			if err != nil || found != (tt.want != "") || found && fmt.Sprintf("%d/%d", hit.Row, hit.Read) != strings.TrimSuffix(first, "?") {
				t.Errorf("first hit %v, %t, %v", hit, found, err)
			}
		})
	}
}

func TestWholeTableRead(t *testing.T) {
	data := parquetOf(t, []arrow.Field{field("x", arrow.PrimitiveTypes.Int64)}, `[{"x":0},{"x":1},{"x":2}]`)
	m, err := Compile([]*predicate.Predicate{nil}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := hits(t, m, &File{Data: data, Deleted: deletionvector.Of(1)}); err != nil || got != "0/0 2/0" {
		t.Errorf("hits %q, %v", got, err)
	}
	table := tableOf(t, `{"name":"x","type":"long"}`, nil, nil)
	if m, err = Compile([]*predicate.Predicate{matcher(t, table, Options{}, "x = 2").reads[0], nil}, Options{}); err != nil {
		t.Fatal(err)
	}
	if got, err := hits(t, m, &File{Data: data}); err != nil || got != "0/1 1/1 2/0" {
		t.Errorf("beside another read: hits %q, %v", got, err)
	}
	none, err := Compile(nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := hits(t, none, &File{Data: data}); err != nil || got != "" {
		t.Errorf("without reads: hits %q, %v", got, err)
	}
}

// TestRandomFiles compares the hits with the predicate evaluated on every row, whatever the row groups, pages and encodings.
func TestRandomFiles(t *testing.T) {
	table := tableOf(t, `{"name":"i","type":"integer"},{"name":"d","type":"double"},{"name":"s","type":"string"},{"name":"b","type":"boolean"},{"name":"later","type":"long"}`, nil, nil)
	fields := []arrow.Field{field("i", arrow.PrimitiveTypes.Int32), field("d", arrow.PrimitiveTypes.Float64), field("s", arrow.BinaryTypes.String), field("b", arrow.FixedWidthTypes.Boolean)}
	conditions := []string{"i < 100", "i BETWEEN 300 AND 340", "i IN (7, 77, 777)", "i IS NULL", "i % 97 = 3", "d > 0.5", "d <> d", "d = 0.0", "d > 1e300", "isnan(d)",
		"s LIKE 'a%'", "s < 'b'", "length(s) = 3", "s IS NOT NULL", "b", "NOT b", "later IS NULL", "later = 1", "CAST(i AS double) > d * 1000", "upper(s) = 'AB'"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 63, 64, 65, 500, 4095, 4096, 4097, 9000}).Draw(t, "rows")
		seed := rapid.IntRange(0, 1000).Draw(t, "seed")
		clustered := rapid.Bool().Draw(t, "clustered")
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
		defer b.Release()
		texts := []string{"", "a", "ab", "abc", "b", "ba", "ü", "zzz"}
		for i := range n {
			x := (i*7919 + seed) % 1000
			if clustered {
				x = i * 1000 / n
			}
			null := -1
			if (i+seed)%5 == 0 {
				null = (i + seed) % 4
				b.Field(null).AppendNull()
			}
			if null != 0 {
				b.Field(0).(*array.Int32Builder).Append(int32(x))
			}
			if null != 1 {
				b.Field(1).(*array.Float64Builder).Append([]float64{float64(x) / 1000, math.Copysign(0, -1), 1e308, math.NaN()}[min(3, x%23)])
			}
			if null != 2 {
				b.Field(2).(*array.StringBuilder).Append(texts[min(x, 999)*len(texts)/1000])
			}
			if null != 3 {
				b.Field(3).(*array.BooleanBuilder).Append(x%5 == 0)
			}
		}
		record := b.NewRecordBatch()
		defer record.Release()

		dictionary := rapid.Bool().Draw(t, "dictionary")
		version := rapid.SampledFrom([]parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2}).Draw(t, "version")
		data := parquetOfRecord(t, record, pqarrow.DefaultWriterProps(),
			parquet.WithMaxRowGroupLength(rapid.SampledFrom([]int64{100, 1000, 1 << 20}).Draw(t, "group")),
			parquet.WithDataPageSize(rapid.SampledFrom([]int64{100, 1000, 1 << 20}).Draw(t, "page")),
			parquet.WithBatchSize(50), parquet.WithDictionaryDefault(dictionary), parquet.WithDataPageVersion(version),
			parquet.WithPageIndexEnabled(rapid.Bool().Draw(t, "index")), parquet.WithStats(rapid.Bool().Draw(t, "statistics")))

		var reads []string
		for range rapid.IntRange(1, 3).Draw(t, "reads") {
			reads = append(reads, rapid.SampledFrom(conditions).Draw(t, "a")+rapid.SampledFrom([]string{" AND ", " OR ", " AND NOT "}).Draw(t, "op")+rapid.SampledFrom(conditions).Draw(t, "b"))
		}
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		m := matcher(t, table, Options{Allocator: mem}, reads...)
		f := &File{Data: data}
		gone := map[int64]bool{}
		for _, r := range rapid.SliceOfN(rapid.IntRange(0, max(0, n-1)), 0, 30).Draw(t, "deleted") {
			if n > 0 {
				gone[int64(r)] = true
			}
		}
		f.Deleted = deletionvector.Of(slices.Collect(maps.Keys(gone))...)

		var want []Hit
		row := recordRow{record: record}
		for row.i = range n {
			for i := range m.reads {
				v, err := m.reads[i].Eval(&row)
				if err != nil {
					t.Fatal(err)
				}
				if !v.Null && v.I != 0 && !gone[int64(row.i)] {
					want = append(want, Hit{Row: int64(row.i), Read: i})
					break
				}
			}
		}
		var got []Hit
		for h, err := range m.All(context.Background(), f) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, h)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%v (-want +got):\n%s", reads, d)
		}
		mem.AssertSize(t, 0)
	})
}

// recordRow is a row of a record whose columns have the names and types of the table's.
type recordRow struct {
	record arrow.RecordBatch
	i      int
}

func (r *recordRow) Value(c *schema.Column) predicate.Value {
	for i, f := range r.record.Schema().Fields() {
		if f.Name == c.Path[0] && r.record.Column(i).IsValid(r.i) {
			return cell.At(r.record.Column(i), c.Type, r.i)
		}
	}
	return predicate.NullOf(c.Type)
}
