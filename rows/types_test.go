package rows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/predicate"
)

// TestTypes reads values of one parquet type as those of a table's column.
func TestTypes(t *testing.T) {
	micros := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	clock := &arrow.TimestampType{Unit: arrow.Microsecond}
	tests := []struct {
		name   string
		column string // type in the table's schema, JSON
		file   arrow.DataType
		rows   string // values of c
		where  string
		want   string
		error  string
	}{
		{"byte", `"byte"`, arrow.PrimitiveTypes.Int8, `1,-128,null`, "c = -128", "1/0", ""},
		{"short", `"short"`, arrow.PrimitiveTypes.Int16, `1,300`, "c = 300", "1/0", ""},
		{"integer, once short", `"integer"`, arrow.PrimitiveTypes.Int16, `1,300`, "c = 300", "1/0", ""},
		{"long, once integer", `"long"`, arrow.PrimitiveTypes.Int32, `1,-7,null`, "c = -7", "1/0", ""},
		{"long without loss", `"long"`, arrow.PrimitiveTypes.Int64, `9007199254740993,9007199254740992`, "c = 9007199254740993", "0/0", ""},
		{"byte that is none", `"byte"`, arrow.PrimitiveTypes.Int32, `1,300`, "c = 1", "", "int32 300 is no tinyint"},
		{"integer that is none", `"integer"`, arrow.PrimitiveTypes.Int64, `1,3000000000`, "c >= 1", "", "int64 3000000000 is no int"},
		{"unsigned that fits", `"long"`, arrow.PrimitiveTypes.Uint32, `1,4294967295`, "c = 4294967295", "1/0", ""},
		{"unsigned that does not", `"long"`, arrow.PrimitiveTypes.Uint64, `18446744073709551615`, "c >= 1", "", "is no bigint"},
		{"double, once float", `"double"`, arrow.PrimitiveTypes.Float32, `0.5,0.25`, "c = 0.25D", "1/0", ""},
		{"double, once integer", `"double"`, arrow.PrimitiveTypes.Int32, `1,16777217`, "c = 16777217D", "1/0", ""},
		{"float from double", `"float"`, arrow.PrimitiveTypes.Float64, `0.5`, "c > 0", "", "the file holds float64, the table float"},
		{"decimal of another scale", `"decimal(10,4)"`, &arrow.Decimal128Type{Precision: 6, Scale: 2}, `"12.34","-0.05"`, "c = 12.34", "0/0", ""},
		{"decimal, once integer", `"decimal(20,1)"`, arrow.PrimitiveTypes.Int32, `7,-8`, "c = -8", "1/0", ""},
		{"decimal that is too long", `"decimal(3,1)"`, arrow.PrimitiveTypes.Int32, `99,100`, "c > 0", "", "int32 100 is no decimal(3,1)"},
		{"decimal of a smaller scale", `"decimal(10,1)"`, &arrow.Decimal128Type{Precision: 6, Scale: 2}, `"1.25"`, "c > 0", "", "the file holds decimal(6, 2), the table decimal(10,1)"},
		{"big decimal", `"decimal(38,10)"`, &arrow.Decimal128Type{Precision: 38, Scale: 10}, `"1234567890123456789012345678.0123456789"`, "c = 1234567890123456789012345678.0123456789", "0/0", ""},
		{"string", `"string"`, arrow.BinaryTypes.String, `"a","ü"`, "c = 'ü'", "1/0", ""},
		{"string as plain bytes", `"string"`, arrow.BinaryTypes.Binary, `"YQ==","Yg=="`, "c = 'b'", "1/0", ""},
		{"binary", `"binary"`, arrow.BinaryTypes.Binary, `"YQ==","Yg=="`, "c = X'62'", "1/0", ""},
		{"boolean", `"boolean"`, arrow.FixedWidthTypes.Boolean, `true,null,false`, "NOT c", "2/0", ""},
		{"date", `"date"`, arrow.FixedWidthTypes.Date32, `"2020-01-01","1969-12-31"`, "c = DATE'1969-12-31'", "1/0", ""},
		{"timestamp", `"timestamp"`, micros, `"2020-01-01 00:00:00.000417Z","2020-01-01 00:00:00Z"`, "c > TIMESTAMP'2020-01-01 00:00:00.000416Z'", "0/0", ""},
		{"timestamp in milliseconds", `"timestamp"`, &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}, `"2020-01-01 00:00:00.417Z"`, "c = TIMESTAMP'2020-01-01 00:00:00.417Z'", "0/0", ""},
		{"timestamp_ntz", `"timestamp_ntz"`, clock, `"2020-01-01 00:00:00.000001"`, "c = TIMESTAMP_NTZ'2020-01-01 00:00:00.000001'", "0/0", ""},
		{"timestamp_ntz, once date", `"timestamp_ntz"`, arrow.FixedWidthTypes.Date32, `"2020-01-01","1969-12-31"`, "c = TIMESTAMP_NTZ'1969-12-31 00:00:00'", "1/0", ""},
		{"timestamp that is a clock's reading", `"timestamp"`, clock, `"2020-01-01 00:00:00"`, "c IS NOT NULL", "", "the file holds timestamp[us], the table timestamp"},
		{"timestamp that is a date", `"timestamp"`, arrow.FixedWidthTypes.Date32, `"2020-01-01"`, "c IS NOT NULL", "", "the file holds date32"},
		{"string that is a number", `"string"`, arrow.PrimitiveTypes.Int32, `1`, "c = '1'", "", "the file holds int32, the table string"},
		{"time of day", `"long"`, arrow.FixedWidthTypes.Time64us, `"00:00:01"`, "c = 1", "", "the file holds"},
		{"struct, NULL or not", `{"type":"struct","fields":[{"name":"a","type":"integer"}]}`, arrow.StructOf(field("a", arrow.PrimitiveTypes.Int32)), `{"a":1},null,{"a":null}`, "c IS NULL", "1/0", ""},
		{"field of a struct", `{"type":"struct","fields":[{"name":"a","type":"integer"}]}`, arrow.StructOf(field("a", arrow.PrimitiveTypes.Int32)), `{"a":1},null,{"a":null}`, "c.a IS NULL", "1/0 2/0", ""},
		{"field that the file lacks", `{"type":"struct","fields":[{"name":"a","type":"integer"},{"name":"b","type":"integer"}]}`, arrow.StructOf(field("a", arrow.PrimitiveTypes.Int32)), `{"a":1},null`, "c.b IS NULL", "0/0 1/0", ""},
		{"list, NULL or not", `{"type":"array","elementType":"integer","containsNull":true}`, arrow.ListOf(arrow.PrimitiveTypes.Int32), `[1,2],null,[],[null]`, "c IS NULL", "1/0", ""},
		{"map, NULL or not", `{"type":"map","keyType":"string","valueType":"integer","valueContainsNull":true}`, arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), `[{"key":"a","value":1},{"key":"b","value":2}],null,[]`, "c IS NOT NULL", "0/0 2/0", ""},
		{"struct that is a number in the file", `{"type":"struct","fields":[{"name":"a","type":"integer"}]}`, arrow.PrimitiveTypes.Int32, `1,null`, "c.a IS NULL", "0/0 1/0", ""},
		{"number that is a struct in the file", `"integer"`, arrow.StructOf(field("a", arrow.PrimitiveTypes.Int32)), `{"a":1}`, "c = 1", "", "no single value a row"},
		{"char is padded", `"string","metadata":{"__CHAR_VARCHAR_TYPE_STRING":"char(3)"}`, arrow.BinaryTypes.String, `"a","a  ","ab"`, "c = 'a'", "0/0 1/0", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := tableOf(t, `{"name":"c","type":`+tt.column+`}`, nil, nil)
			var rows []string
			for _, v := range splitJSON(tt.rows) {
				rows = append(rows, `{"c":`+v+`}`)
			}
			data := parquetOf(t, []arrow.Field{field("c", tt.file)}, `[`+strings.Join(rows, ",")+`]`)
			m := matcher(t, table, Options{Allocator: checkedAllocator(t)}, tt.where)
			got, err := hits(t, m, &File{Data: data})
			if got != tt.want || (err != nil) != (tt.error != "") || err != nil && !strings.Contains(err.Error(), tt.error) {
				t.Errorf("hits %q, %v; want %q, %s", got, err, tt.want, tt.error)
			}
		})
	}
}

// splitJSON splits a list at the commas outside of brackets.
func splitJSON(list string) (values []string) {
	depth, start := 0, 0
	for i, c := range list + "," {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				values = append(values, list[start:i])
				start = i + 1
			}
		}
	}
	return values
}

func TestInt96(t *testing.T) {
	table := tableOf(t, `{"name":"c","type":"timestamp"}`, nil, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{field("c", &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"})}, nil))
	defer b.Release()
	b.Field(0).(*array.TimestampBuilder).AppendValues([]arrow.Timestamp{1_577_836_800_000_417_000, -1000}, nil)
	write := func() *bytes.Reader {
		record := b.NewRecordBatch()
		defer record.Release()
		return parquetOfRecord(t, record, pqarrow.NewArrowWriterProperties(pqarrow.WithDeprecatedInt96Timestamps(true)))
	}
	m := matcher(t, table, Options{}, "c = TIMESTAMP'2020-01-01 00:00:00.000417Z'", "c < TIMESTAMP'1970-01-01 00:00:00Z'")
	if got, err := hits(t, m, &File{Data: write()}); err != nil || got != "0/0 1/1" {
		t.Errorf("hits %q, %v", got, err)
	}
	b.Field(0).(*array.TimestampBuilder).Append(1) // no whole microsecond
	if got, err := hits(t, m, &File{Data: write()}); err == nil || !strings.Contains(err.Error(), "values that a timestamp of ours cannot") {
		t.Errorf("a nanosecond: hits %q, %v", got, err)
	}
}

func TestFindingColumns(t *testing.T) {
	id := func(n string) arrow.Metadata { return arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{n}) }
	mapped := func(name, physical, id string) string {
		return fmt.Sprintf(`{"name":"%s","type":"integer","metadata":{"delta.columnMapping.id":%s,"delta.columnMapping.physicalName":"%s"}}`, name, id, physical)
	}
	int32s := arrow.PrimitiveTypes.Int32
	tests := []struct {
		name   string
		schema string
		mode   string
		fields []arrow.Field
		rows   string
		where  string
		want   string
		error  string
	}{
		{"in another letter case", `{"name":"Xy","type":"integer"}`, "", []arrow.Field{field("xY", int32s)}, `{"xY":1}`, "XY = 1", "0/0", ""},
		{"the exact name first", `{"name":"x","type":"integer"}`, "", []arrow.Field{field("X", int32s), field("x", int32s)}, `{"X":1,"x":2}`, "x = 2", "0/0", ""},
		{"ambiguous", `{"name":"xx","type":"integer"}`, "", []arrow.Field{field("XX", int32s), field("Xx", int32s)}, `{"XX":1,"Xx":2}`, "xx = 2", "", "the file has XX and Xx"},
		{"not in the file", `{"name":"x","type":"integer"}`, "", []arrow.Field{field("y", int32s)}, `{"y":1}`, "x IS NULL AND NOT x <=> 1", "0/0", ""},
		{"not in the file, but with a default", `{"name":"x","type":"integer","metadata":{"EXISTS_DEFAULT":"5"}}`, "", []arrow.Field{field("y", int32s)}, `{"y":1}`, "x = 5", "", "default 5"},
		{"by physical name", mapped("x", "col-1", "1"), "name", []arrow.Field{field("x", int32s), field("col-1", int32s)}, `{"x":1,"col-1":2}`, "x = 2", "0/0", ""},
		{"by id", mapped("x", "col-1", "4"), "id", []arrow.Field{{Name: "col-1", Type: int32s, Metadata: id("3")}, {Name: "other", Type: int32s, Metadata: id("4")}}, `{"col-1":1,"other":2}`, "x = 2", "0/0", ""},
		{"by an id that is not in the file", mapped("x", "col-1", "5"), "id", []arrow.Field{{Name: "col-1", Type: int32s, Metadata: id("3"), Nullable: true}}, `{"col-1":1}`, "x IS NULL", "0/0", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			configuration := map[string]string{}
			if tt.mode != "" {
				configuration["delta.columnMapping.mode"] = tt.mode
			}
			m := matcher(t, tableOf(t, tt.schema, nil, configuration), Options{Allocator: checkedAllocator(t)}, tt.where)
			got, err := hits(t, m, &File{Data: parquetOf(t, tt.fields, `[`+tt.rows+`]`)})
			if got != tt.want || (err != nil) != (tt.error != "") || err != nil && !strings.Contains(err.Error(), tt.error) {
				t.Errorf("hits %q, %v; want %q, %s", got, err, tt.want, tt.error)
			}
		})
	}
}

func TestPartitionValues(t *testing.T) {
	data := parquetOf(t, []arrow.Field{field("x", arrow.PrimitiveTypes.Int32)}, `[{"x":1}]`)
	tests := []struct {
		column, value string // "<nil>" is null, "<none>" no value at all
		where         string
		want          string
		error         string
	}{
		{`"integer"`, "7", "p = 7", "0/0", ""},
		{`"integer"`, "<nil>", "p IS NULL", "0/0", ""},
		{`"integer"`, "", "p IS NULL", "0/0", ""},
		{`"integer"`, "<none>", "p IS NULL", "", "no partition value"},
		{`"integer"`, "seven", "p = 7", "", `"seven" does not say which int it is`},
		{`"string"`, "a b", "p = 'a b'", "0/0", ""},
		{`"double"`, "NaN", "p > 1e300", "0/0", ""},
		{`"double"`, "-0.0", "p = 0D", "0/0", ""},
		{`"decimal(5,2)"`, "12.5", "p = 12.50", "0/0", ""},
		{`"date"`, "2020-02-29", "p = DATE'2020-02-29'", "0/0", ""},
		{`"timestamp"`, "2020-01-01 00:00:00.5", "p = TIMESTAMP'2020-01-01 00:00:00.5Z'", "0/0", ""},
		{`"timestamp_ntz"`, "2020-01-01 00:00:00", "p = TIMESTAMP_NTZ'2020-01-01 00:00:00'", "0/0", ""},
		{`"boolean"`, "true", "p", "0/0", ""},
		{`"binary"`, "a", "p = X'61'", "0/0", ""},
		{`"byte"`, "5", "p + x = 6", "0/0", ""},
		{`"string","metadata":{"__CHAR_VARCHAR_TYPE_STRING":"char(3)"}`, "a", "p = 'a' AND x = 1", "0/0", ""},
	}
	for _, tt := range tests {
		t.Run(tt.column+tt.value, func(t *testing.T) {
			table := tableOf(t, `{"name":"x","type":"integer"},{"name":"p","type":`+tt.column+`}`, []string{"p"}, nil)
			f := &File{Data: data, PartitionValues: map[string]*string{"p": &tt.value}}
			switch tt.value {
			case "<nil>":
				f.PartitionValues["p"] = nil
			case "<none>":
				f.PartitionValues = nil
			}
			got, err := hits(t, matcher(t, table, Options{Allocator: checkedAllocator(t)}, tt.where), f)
			if got != tt.want || (err != nil) != (tt.error != "") || err != nil && !strings.Contains(err.Error(), tt.error) {
				t.Errorf("hits %q, %v; want %q, %s", got, err, tt.want, tt.error)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	table := tableOf(t, `{"name":"s","type":"string"}`, nil, nil)
	data := parquetOf(t, []arrow.Field{field("s", arrow.BinaryTypes.String)}, `[{"s":"1"},{"s":"2"},{"s":"x"}]`)

	got, err := hits(t, matcher(t, table, Options{}, "CAST(s AS int) > 1"), &File{Data: data})
	failed, ok := errors.AsType[*predicate.EvalError](err)
	if got != "1/0" || !ok || failed.Class != "CAST_INVALID_INPUT" || !strings.Contains(err.Error(), "row 2") {
		t.Errorf("a cast that fails: hits %q, %v", got, err)
	}
	m := matcher(t, table, Options{}, "s = '2'")
	if _, err := hits(t, m, &File{Data: data, Deleted: deletionvector.Of(3)}); err == nil || !strings.Contains(err.Error(), "row 3 of a file with 3 rows") {
		t.Errorf("a vector of another file: %v", err)
	}
	if _, err := hits(t, m, &File{Data: data, Among: deletionvector.Of(0, 7)}); err == nil {
		t.Error("rows that are not there")
	}
	if _, err := hits(t, m, &File{Data: strings.NewReader("no parquet")}); err == nil {
		t.Error("no parquet file")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, found, err := m.First(cancelled, &File{Data: data}); found || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %t, %v", found, err)
	}
	for n := range int64(6) {
		broken := &countingData{Reader: data, fail: n}
		if got, err := hits(t, m, &File{Data: broken}); err != nil && !errors.Is(err, errDisk) || err == nil && got != "1/0" {
			t.Errorf("failing at read %d: hits %q, %v", n, got, err)
		}
	}
}

var errDisk = errors.New("disk on fire")

// countingData counts what is read, and fails at read number fail unless that is negative.
type countingData struct {
	*bytes.Reader
	fail         int64
	reads, bytes atomic.Int64
}

func (c *countingData) ReadAt(p []byte, at int64) (int, error) {
	if c.reads.Add(1)-1 == c.fail {
		return 0, errDisk
	}
	c.bytes.Add(int64(len(p)))
	return c.Reader.ReadAt(p, at)
}

var _ io.ReaderAt = (*countingData)(nil)

// TestReadsOnlyWhatMayMatch counts bytes: a selective read of a sorted column must not read the file.
func TestReadsOnlyWhatMayMatch(t *testing.T) {
	table := tableOf(t, `{"name":"x","type":"long"},{"name":"y","type":"long"},{"name":"z","type":"long"}`, nil, nil)
	fields := []arrow.Field{field("x", arrow.PrimitiveTypes.Int64), field("y", arrow.PrimitiveTypes.Int64), field("z", arrow.PrimitiveTypes.Int64)}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	const n = 200_000
	for i := range int64(n) {
		b.Field(0).(*array.Int64Builder).Append(i)
		b.Field(1).(*array.Int64Builder).Append(i * 7919 % n)
		b.Field(2).(*array.Int64Builder).Append(i * 104_729 % n)
	}
	record := b.NewRecordBatch()
	defer record.Release()
	plain := []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithDataPageSize(16 << 10), parquet.WithBatchSize(1000)}
	for _, tt := range []struct {
		name  string
		props []parquet.WriterProperty
		where string
		want  string
		most  float64 // share of the file that may be read
	}{
		{"row groups", append(plain, parquet.WithMaxRowGroupLength(10_000)), "x = 150000 AND y >= 0", "150000/0", 0.10},
		{"pages", append(plain, parquet.WithPageIndexEnabled(true)), "x = 150000 AND y >= 0", "150000/0", 0.15},
		{"one column", plain, "y = 5 AND y = 6 OR y = 7919", "1/0", 0.40},
		{"nothing but the footer", plain, "x < 0", "", 0.05},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := &countingData{Reader: parquetOfRecord(t, record, pqarrow.DefaultWriterProps(), tt.props...), fail: -1}
			got, err := hits(t, matcher(t, table, Options{Allocator: checkedAllocator(t)}, tt.where), &File{Data: data})
			if err != nil || got != tt.want {
				t.Fatalf("hits %q, %v", got, err)
			}
			if share := float64(data.bytes.Load()) / float64(data.Size()); share > tt.most {
				t.Errorf("read %.0f %% of the file in %d reads", 100*share, data.reads.Load())
			}
		})
	}
}

// TestOldCalendar refuses days that Spark may have counted by another calendar.
func TestOldCalendar(t *testing.T) {
	table := tableOf(t, `{"name":"c","type":"date"},{"name":"x","type":"integer"}`, nil, nil)
	m, other := matcher(t, table, Options{}, "c < DATE'1500-01-01'"), matcher(t, table, Options{}, "x = 1")
	for _, tt := range []struct {
		keys   map[string]string
		refuse bool
	}{
		{nil, false},
		{map[string]string{"org.apache.spark.version": "3.5.0"}, false},
		{map[string]string{"org.apache.spark.version": "2.4.8"}, true},
		{map[string]string{"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}, true},
	} {
		metadata := arrow.MetadataFrom(tt.keys)
		s := arrow.NewSchema([]arrow.Field{field("c", arrow.FixedWidthTypes.Date32), field("x", arrow.PrimitiveTypes.Int32)}, &metadata)
		record, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(`[{"c":"1400-01-01","x":1}]`))
		if err != nil {
			t.Fatal(err)
		}
		f := &File{Data: parquetOfRecord(t, record, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))}
		record.Release()
		if got, err := hits(t, m, f); (err != nil) != tt.refuse || err == nil && got != "0/0" {
			t.Errorf("%v: hits %q, %v", tt.keys, got, err)
		}
		if got, err := hits(t, other, f); err != nil || got != "0/0" {
			t.Errorf("%v: a column without dates: hits %q, %v", tt.keys, got, err)
		}
	}
}

// FuzzData reads damaged files: no panic, and no answer that the good file would not give, unless that is an error.
func FuzzData(f *testing.F) {
	table := tableOf(f, `{"name":"x","type":"long"},{"name":"s","type":"string"},{"name":"l","type":{"type":"array","elementType":"integer","containsNull":true}}`, nil, nil)
	fields := []arrow.Field{field("x", arrow.PrimitiveTypes.Int64), field("s", arrow.BinaryTypes.String), field("l", arrow.ListOf(arrow.PrimitiveTypes.Int32))}
	rows := `[{"x":1,"s":"a","l":[1,2]},{"x":2,"s":null,"l":null},{"x":null,"s":"c","l":[]},{"x":4,"s":"d","l":[null]}]`
	for _, props := range [][]parquet.WriterProperty{nil, {parquet.WithDictionaryDefault(false), parquet.WithPageIndexEnabled(true)}, {parquet.WithDataPageVersion(parquet.DataPageV2)}} {
		data := parquetOf(f, fields, rows, props...)
		all := make([]byte, data.Len())
		if _, err := data.Read(all); err != nil {
			f.Fatal(err)
		}
		f.Add(all)
	}
	m := matcher(f, table, Options{}, "x > 1 AND s IS NOT NULL", "l IS NULL", "s LIKE 'd%'")
	f.Fuzz(func(t *testing.T, data []byte) {
		last := int64(-1)
		for h, err := range m.All(context.Background(), &File{Data: bytes.NewReader(data)}) {
			if err != nil {
				if strings.Contains(err.Error(), "panic") {
					t.Fatal(err)
				}
				return
			}
			if h.Row <= last {
				t.Fatalf("row %d after %d", h.Row, last)
			}
			last = h.Row
		}
	})
}
