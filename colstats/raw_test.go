package colstats

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/deltaskip/deltaskip/schema"
)

// arrayOf makes an Arrow array from JSON, released when the test ends.
func arrayOf(t testing.TB, mem memory.Allocator, dt arrow.DataType, values string) arrow.Array {
	t.Helper()
	a, _, err := array.FromJSON(mem, dt, strings.NewReader(values))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Release)
	return a
}

// sliced returns the array as a slice from the middle of a longer one.
func sliced(t testing.TB, mem memory.Allocator, a arrow.Array) arrow.Array {
	t.Helper()
	longer, err := array.Concatenate([]arrow.Array{a, a, a}, mem)
	if err != nil {
		t.Fatal(err)
	}
	defer longer.Release()
	s := array.NewSlice(longer, int64(a.Len()), int64(2*a.Len()))
	t.Cleanup(s.Release)
	return s
}

// int64s makes an array of counts, null for -1.
func int64s(t testing.TB, mem memory.Allocator, values ...int64) arrow.Array {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	for _, v := range values {
		if v == -1 {
			b.AppendNull()
		} else {
			b.Append(v)
		}
	}
	a := b.NewArray()
	t.Cleanup(a.Release)
	return a
}

// describeRaw says what is proven of the first demand in each row.
func describeRaw(t testing.TB, layout *Layout, raw *Raw, o Options) []string {
	t.Helper()
	b, err := NewBatch(layout, raw, o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	rows := make([]string, raw.Len)
	for row := range rows {
		rows[row] = describe(b.Facts(0), row)
	}
	return rows
}

func TestStructLeaves(t *testing.T) {
	micros, millis, nanos := arrow.FixedWidthTypes.Timestamp_us, arrow.FixedWidthTypes.Timestamp_ms, arrow.FixedWidthTypes.Timestamp_ns
	widened := func(from, to string) string {
		return fmt.Sprintf(`{"type":"struct","fields":[{"name":"c","type":%q,"nullable":true,"metadata":{"delta.typeChanges":[{"fromType":%q,"toType":%q}]}}]}`, to, from, to)
	}
	tests := []struct {
		name            string
		column          string // a type, or a whole schema
		leaf            arrow.DataType
		least, greatest string
		want            []string // by row, without ", no NULL" and what floats add; "" for no bounds
	}{
		{"long", "long", arrow.PrimitiveTypes.Int64, `[1, null, 9223372036854775807]`, `[9, 5, 9223372036854775807]`, []string{"[1, 9]", "[-9223372036854775808, 5]", "[9223372036854775807, 9223372036854775807]"}},
		{"a narrower integer", "long", arrow.PrimitiveTypes.Int8, `[1, -5, 3]`, `[9, 5, 3]`, []string{"[1, 9]", "[-5, 5]", "[3, 3]"}},
		{"a wider integer", "integer", arrow.PrimitiveTypes.Int64, `[1, -5, 3000000000]`, `[9, 3000000000, 3000000001]`, []string{"[1, 9]", "[-5, 2147483647]", ""}},
		{"an unsigned integer", "long", arrow.PrimitiveTypes.Uint64, `[1, 5, 7]`, `[9, 18446744073709551615, 8]`, []string{"[1, 9]", "[5, 9223372036854775807]", "[7, 8]"}},
		{"strings for a long", "long", arrow.BinaryTypes.String, `["1","2","3"]`, `["1","2","3"]`, []string{"", "", ""}},
		{"doubles for a long", "long", arrow.PrimitiveTypes.Float64, `[1,2,3]`, `[1,2,3]`, []string{"", "", ""}},
		{"byte", "byte", arrow.PrimitiveTypes.Int32, `[1, -128, 127]`, `[9, 5, 128]`, []string{"[1, 9]", "[-128, 5]", "[127, 127]"}},
		{"boolean bounds are not relied on", "boolean", arrow.FixedWidthTypes.Boolean, `[false, true, null]`, `[true, true, false]`, []string{"", "", ""}},
		{"float", "float", arrow.PrimitiveTypes.Float32, `[0.5, 1, null]`, `[0.5, 2, 3]`, []string{"[0.5, 0.5]", "[1, 2]", "[-Inf, 3]"}},
		{"doubles for a float are the nearest ones", "float", arrow.PrimitiveTypes.Float64, `[0.1, 1, 2]`, `[0.1, 2, 3]`, []string{"[0.1, 0.1]", "[1, 2]", "[2, 3]"}},
		{"double", "double", arrow.PrimitiveTypes.Float64, `[0.1, 1, 2]`, `[0.1, 2, 3]`, []string{"[0.1, 0.1]", "[1, 2]", "[2, 3]"}},
		{"floats for a double", "double", arrow.PrimitiveTypes.Float32, `[0.1, 1, 2]`, `[0.1, 2, 3]`, []string{"[0.10000000149011612, 0.10000000149011612]", "[1, 2]", "[2, 3]"}},
		{"a double that was a float: both readings", widened("float", "double"), arrow.PrimitiveTypes.Float64, `[0.1, 1, 2]`, `[0.1, 2, 1e300]`, []string{"[0.1, 0.10000000149011612]", "[1, 2]", "[2, 1e+300]"}},
		{"integers for a double", widened("short", "double"), arrow.PrimitiveTypes.Int16, `[1, 2, 3]`, `[1, 3, 4]`, []string{"[1, 1]", "[2, 3]", "[3, 4]"}},
		{"decimal", "decimal(10,2)", &arrow.Decimal128Type{Precision: 10, Scale: 2}, `["1.50", "-1.00", null]`, `["1.50", "9.99", "3.00"]`, []string{"[1.5, 1.5]", "[-1, 9.99]", "[-99999999.99, 3]"}},
		{"a decimal of a smaller scale", "decimal(12,4)", &arrow.Decimal128Type{Precision: 5, Scale: 2}, `["1.50", "-1.00", "0.00"]`, `["1.50", "9.99", "3.00"]`, []string{"[1.5, 1.5]", "[-1, 9.99]", "[0, 3]"}},
		{"a decimal of a greater scale rounds outwards", "decimal(10,2)", &arrow.Decimal128Type{Precision: 12, Scale: 4}, `["1.5001", "-1.0001", "0.0100"]`, `["1.5099", "-1.0001", "0.0100"]`, []string{"[1.5, 1.51]", "[-1.01, -1]", "[0.01, 0.01]"}},
		{"a decimal of 256 bits", "decimal(10,2)", &arrow.Decimal256Type{Precision: 76, Scale: 2}, `["1.50", "-1.00", "0.00"]`, `["99999999999999999999.00", "9.99", "3.00"]`, []string{"[1.5, 99999999.99]", "[-1, 9.99]", "[0, 3]"}},
		{"integers for a decimal that was integral", widened("integer", "decimal(12,2)"), arrow.PrimitiveTypes.Int32, `[1, 2, 3]`, `[1, 3, 4]`, []string{"[1, 1]", "[2, 3]", "[3, 4]"}},
		{"date", "date", arrow.FixedWidthTypes.Date32, `["2020-01-01", "1969-12-31", null]`, `["2020-01-01", "1970-01-01", "2020-01-01"]`, []string{"[2020-01-01, 2020-01-01]", "[1969-12-31, 1970-01-01]", "[-5877641-06-23, 2020-01-01]"}},
		{"a date in milliseconds", "date", arrow.FixedWidthTypes.Date64, `["2020-01-01", "1969-12-31", null]`, `["2020-01-01", "1970-01-01", "2020-01-01"]`, []string{"[2020-01-01, 2020-01-01]", "[1969-12-31, 1970-01-01]", "[-5877641-06-23, 2020-01-01]"}},
		{"integers for a date", "date", arrow.PrimitiveTypes.Int32, `[1,2,3]`, `[1,2,3]`, []string{"", "", ""}},
		{"timestamps are raised: nobody knows what was cut", "timestamp", micros, `["2020-01-01T00:00:00Z", "1969-12-31T23:59:59.999999Z", null]`, `["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000417Z", "2020-01-01T00:00:00Z"]`, []string{"[2020-01-01T00:00:00Z, 2020-01-01T00:00:00.001Z]", "[1969-12-31T23:59:59.999999Z, 2020-01-01T00:00:00.001417Z]", "[-9223372036854775808, 2020-01-01T00:00:00.001Z]"}},
		{"timestamps in milliseconds", "timestamp", millis, `["2022-06-14T08:30:00Z", "1969-12-31T23:59:59.999Z", "2020-01-01T00:00:00Z"]`, `["2022-06-14T08:30:00Z", "2020-01-01T00:00:00.001Z", "2020-01-01T00:00:00Z"]`, []string{"[2022-06-14T08:30:00Z, 2022-06-14T08:30:00.001Z]", "[1969-12-31T23:59:59.999Z, 2020-01-01T00:00:00.002Z]", "[2020-01-01T00:00:00Z, 2020-01-01T00:00:00.001Z]"}},
		{"timestamps in nanoseconds are cut towards the past", "timestamp", nanos, `["1969-12-31T23:59:59.999999999Z", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"]`, `["2020-01-01T00:00:00.000000999Z", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"]`, []string{"[1969-12-31T23:59:59.999999Z, 2020-01-01T00:00:00.001Z]", "[2020-01-01T00:00:00Z, 2020-01-01T00:00:00.001Z]", "[2020-01-01T00:00:00Z, 2020-01-01T00:00:00.001Z]"}},
		{"a timestamp without annotation is absent", "timestamp", arrow.PrimitiveTypes.Int64, `[1,2,3]`, `[1,2,3]`, []string{"", "", ""}},
		{"wall clocks", "timestamp_ntz", &arrow.TimestampType{Unit: arrow.Microsecond}, `["2020-01-01", "2020-01-01", "2020-01-01"]`, `["2020-01-01", "2020-01-01", "2020-01-01"]`, []string{"[2020-01-01T00:00:00, 2020-01-01T00:00:00.001]", "[2020-01-01T00:00:00, 2020-01-01T00:00:00.001]", "[2020-01-01T00:00:00, 2020-01-01T00:00:00.001]"}},
		{"dates for wall clocks that were dates", widened("date", "timestamp_ntz"), arrow.FixedWidthTypes.Date32, `["2020-01-01", "2020-01-01", "1969-12-31"]`, `["2020-01-01", "2020-01-02", "1970-01-01"]`, []string{"[2020-01-01T00:00:00, 2020-01-01T00:00:00]", "[2020-01-01T00:00:00, 2020-01-02T00:00:00]", "[1969-12-31T00:00:00, 1970-01-01T00:00:00]"}},
		{"strings", "string", arrow.BinaryTypes.String, `["a", null, "b"]`, `["c", "c", null]`, []string{`[a, c]`, `[, c]`, `[b, \xff]`}},
		{"large strings", "string", arrow.BinaryTypes.LargeString, `["a", null, "b"]`, `["c", "c", null]`, []string{`[a, c]`, `[, c]`, `[b, \xff]`}},
		{"string views", "string", arrow.BinaryTypes.StringView, `["a", null, "b"]`, `["c", "c", null]`, []string{`[a, c]`, `[, c]`, `[b, \xff]`}},
		{"bytes for a string", "string", arrow.BinaryTypes.Binary, `["YQ==", "/w==", "YQ=="]`, `["Yw==", "Yw==", "/w=="]`, []string{`[a, c]`, `[, c]`, `[a, \xff]`}}, // ÿ is no UTF-8
		{"a dictionary of strings", "string", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["a", null, "b"]`, `["c", "c", null]`, []string{`[a, c]`, `[, c]`, `[b, \xff]`}},
		{"binary bounds are not used", "binary", arrow.BinaryTypes.Binary, `["YQ==", "YQ==", "YQ=="]`, `["Yw==", "Yw==", "Yw=="]`, []string{"", "", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mem := checkedAllocator(t)
			var layout *Layout
			if strings.HasPrefix(tt.column, "{") {
				layout = layoutOf(t, tt.column)
			} else {
				layout = newLayout(t, "c "+tt.column)
			}
			kind := layout.Demands[0].Column.Type.Kind
			want := slices.Clone(tt.want)
			for i, w := range want {
				want[i] = strings.TrimPrefix(w+", no NULL", ", ")
				if w != "" && (kind == schema.Float || kind == schema.Double) {
					want[i] += ", NaN?"
				}
			}
			least, greatest := arrayOf(t, mem, tt.leaf, tt.least), arrayOf(t, mem, tt.leaf, tt.greatest)
			raw := &Raw{Len: 3, NumRecords: int64s(t, mem, 10, 10, 10), Demands: []RawDemand{{Min: least, Max: greatest, NullCount: int64s(t, mem, 0, 0, 0)}}}
			if diff := cmp.Diff(want, describeRaw(t, layout, raw, Options{Allocator: mem})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			raw.Demands[0].Min, raw.Demands[0].Max = sliced(t, mem, least), sliced(t, mem, greatest)
			raw.NumRecords = sliced(t, mem, raw.NumRecords)
			if diff := cmp.Diff(want, describeRaw(t, layout, raw, Options{Allocator: mem})); diff != "" {
				t.Errorf("sliced (-want +got)\n%s", diff)
			}
		})
	}
}

// A checkpoint may have statistics as structs in some rows and as text in others, and neither in some.
func TestMixedStatistics(t *testing.T) {
	mem := checkedAllocator(t)
	text := arrayOf(t, mem, arrow.BinaryTypes.String, `["{\"numRecords\":10,\"minValues\":{\"c\":\"never read\"}}", `+quoted(stats(`"x"`, `"y"`))+`, null, "", `+quoted(stats(`"u"`, `"v"`))+`]`)
	raw := &Raw{
		Len:        5,
		HasStruct:  []uint64{0b00001},
		NumRecords: int64s(t, mem, 10, 10, 10, 10, 10),
		StatsJSON:  text,
		Demands: []RawDemand{{
			Min:       arrayOf(t, mem, arrow.BinaryTypes.String, `["a","a","a","a","a"]`),
			Max:       arrayOf(t, mem, arrow.BinaryTypes.String, `["b","b","b","b","b"]`),
			NullCount: int64s(t, mem, 0, 0, 0, 0, 0),
		}},
	}
	want := []string{"[a, b], no NULL", "[x, y], no NULL", "nothing", "nothing", "[u, v], no NULL"}
	if diff := cmp.Diff(want, describeRaw(t, newLayout(t, "c string"), raw, Options{Allocator: mem})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRawCounts(t *testing.T) {
	mem := checkedAllocator(t)
	least, greatest := int64s(t, mem, 1, 1, 1, 1, 1, 1), int64s(t, mem, 9, 9, 9, 9, 9, 9)
	counts := func(dt arrow.DataType, values string) arrow.Array { return arrayOf(t, mem, dt, values) }
	tests := []struct {
		name           string
		records, nulls arrow.Array
		want           []string
	}{
		{"counts", int64s(t, mem, 10, 10, 10, -1, 10, 2), int64s(t, mem, 0, 3, 10, 0, -1, 5), []string{"[1, 9], no NULL", "[1, 9]", "all NULL", "no NULL", "nothing", "nothing"}},
		{"no leaves", nil, nil, []string{"nothing", "nothing", "nothing", "nothing", "nothing", "nothing"}},
		{"narrow counts", counts(arrow.PrimitiveTypes.Int32, `[10,10,10,10,10,10]`), counts(arrow.PrimitiveTypes.Int16, `[0,1,10,11,-1,null]`), []string{"[1, 9], no NULL", "[1, 9]", "all NULL", "nothing", "nothing", "nothing"}},
		{"counts as text", int64s(t, mem, 10, 10, 10, 10, 10, 10), counts(arrow.BinaryTypes.String, `["0","0","0","0","0","0"]`), []string{"nothing", "nothing", "nothing", "nothing", "nothing", "nothing"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := &Raw{Len: 6, NumRecords: tt.records, Demands: []RawDemand{{Min: least, Max: greatest, NullCount: tt.nulls}}}
			if diff := cmp.Diff(tt.want, describeRaw(t, newLayout(t, "c long"), raw, Options{Allocator: mem})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestRawPartitionValues(t *testing.T) {
	mem := checkedAllocator(t)
	str := arrow.BinaryTypes.String
	tests := []struct {
		name   string
		column string
		leaves RawDemand
		want   []string
	}{
		{"text", "c integer", RawDemand{ValueText: arrayOf(t, mem, str, `["1", null, "", "abc"]`), HasValueText: []uint64{0b1111}}, []string{"[1, 1], no NULL", "all NULL", "all NULL", "nothing"}},
		{"a key that isn't there is unknown", "c integer", RawDemand{ValueText: arrayOf(t, mem, str, `["1", null, "", null]`), HasValueText: []uint64{0b0101}}, []string{"[1, 1], no NULL", "nothing", "all NULL", "nothing"}},
		{"without a map of keys no null is NULL", "c integer", RawDemand{ValueText: arrayOf(t, mem, str, `["1", null, "", null]`)}, []string{"[1, 1], no NULL", "nothing", "all NULL", "nothing"}},
		{"typed", "c integer", RawDemand{Value: arrayOf(t, mem, arrow.PrimitiveTypes.Int32, `[1, null, 2, null]`), HasValue: []uint64{0b0111}}, []string{"[1, 1], no NULL", "all NULL", "[2, 2], no NULL", "nothing"}},
		{"text counts before typed", "c integer", RawDemand{ValueText: arrayOf(t, mem, str, `["7", null, null, "x"]`), HasValueText: []uint64{0b1011}, Value: arrayOf(t, mem, arrow.PrimitiveTypes.Int32, `[1, 2, 3, 4]`)}, []string{"[7, 7], no NULL", "all NULL", "[3, 3], no NULL", "nothing"}},
		{"typed timestamps are exact", "c timestamp", RawDemand{Value: arrayOf(t, mem, arrow.FixedWidthTypes.Timestamp_us, `["2020-01-01T00:00:00Z", null, null, null]`)}, []string{"[2020-01-01T00:00:00Z, 2020-01-01T00:00:00Z], no NULL", "nothing", "nothing", "nothing"}},
		{"a typed empty string is NULL or itself", "c string", RawDemand{Value: arrayOf(t, mem, str, `["", "a", null, null]`)}, []string{"[, ]", "[a, a], no NULL", "nothing", "nothing"}},
		{"typed of a wrong type", "c integer", RawDemand{Value: arrayOf(t, mem, str, `["1", null, "2", null]`), HasValue: []uint64{0b1111}}, []string{"nothing", "all NULL", "nothing", "all NULL"}},
		{"typed bytes", "c binary", RawDemand{Value: arrayOf(t, mem, arrow.BinaryTypes.Binary, `["/w==", null, null, null]`)}, []string{"[/w==, /w==], no NULL", "nothing", "nothing", "nothing"}},
		{"statistics of a partition column are noise", "c integer", RawDemand{Min: int64s(t, mem, 1, 1, 1, 1), Max: int64s(t, mem, 1, 1, 1, 1), NullCount: int64s(t, mem, 0, 0, 0, 0)}, []string{"nothing", "nothing", "nothing", "nothing"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := &Raw{Len: 4, NumRecords: int64s(t, mem, 5, 5, 5, 5), Demands: []RawDemand{tt.leaves}}
			if diff := cmp.Diff(tt.want, describeRaw(t, newLayout(t, tt.column, "c"), raw, Options{Allocator: mem})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestHull(t *testing.T) {
	mem := checkedAllocator(t)
	const prefix31 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	str := arrow.BinaryTypes.String
	tests := []struct {
		name   string
		column string
		leaves RawDemand
		want   string
	}{
		{"no add has a NULL", "c long", RawDemand{Min: int64s(t, mem, 1), Max: int64s(t, mem, 9), NullCount: int64s(t, mem, 0), LeastNullCount: int64s(t, mem, 0)}, "[1, 9], no NULL"},
		{"some add has NULLs", "c long", RawDemand{Min: int64s(t, mem, 1), Max: int64s(t, mem, 9), NullCount: int64s(t, mem, 7), LeastNullCount: int64s(t, mem, 0)}, "[1, 9]"},
		{"more NULLs than the least add has rows are nothing odd", "c long", RawDemand{Min: int64s(t, mem, 1), Max: int64s(t, mem, 9), NullCount: int64s(t, mem, 1000), LeastNullCount: int64s(t, mem, 0)}, "[1, 9]"},
		{"as many NULLs as the least add has rows are not all", "c long", RawDemand{Min: int64s(t, mem, 1), Max: int64s(t, mem, 9), NullCount: int64s(t, mem, 5), LeastNullCount: int64s(t, mem, 5)}, "[1, 9]"},
		{"a null count below zero somewhere", "c long", RawDemand{Min: int64s(t, mem, 1), Max: int64s(t, mem, 9), NullCount: int64s(t, mem, 0), LeastNullCount: int64s(t, mem, -3)}, "[1, 9]"},
		{"an add without a null count", "c long", RawDemand{Min: int64s(t, mem, 1), Max: int64s(t, mem, 9)}, "nothing"},
		{"an add without a maximum", "c long", RawDemand{Min: int64s(t, mem, 1), NullCount: int64s(t, mem, 0), LeastNullCount: int64s(t, mem, 0)}, "[1, 9223372036854775807], no NULL"},
		{"doubles may hide NaN whoever wrote them", "c double", RawDemand{Min: arrayOf(t, mem, arrow.PrimitiveTypes.Float64, "[1]"), Max: arrayOf(t, mem, arrow.PrimitiveTypes.Float64, "[9]"), NullCount: int64s(t, mem, 0), LeastNullCount: int64s(t, mem, 0)}, "[1, 9], no NULL, NaN?"},
		{"a short maximum", "c string", RawDemand{Min: arrayOf(t, mem, str, `["a"]`), Max: arrayOf(t, mem, str, `["b"]`), NullCount: int64s(t, mem, 0), LeastNullCount: int64s(t, mem, 0)}, "[a, b], no NULL"},
		{"a long maximum may hide a raised one", "c string", RawDemand{Min: arrayOf(t, mem, str, `["a"]`), Max: arrayOf(t, mem, str, `["`+prefix31+`bcd"]`), NullCount: int64s(t, mem, 0), LeastNullCount: int64s(t, mem, 0)}, "[a, " + prefix31 + `\xff], no NULL`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := &Raw{Len: 1, Hull: true, NumRecords: int64s(t, mem, 5), Demands: []RawDemand{tt.leaves}}
			if got := describeRaw(t, newLayout(t, tt.column), raw, Options{Allocator: mem, NaN: NaNOrdered})[0]; got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
	t.Run("partition column", func(t *testing.T) {
		raw := &Raw{Len: 1, Hull: true, NumRecords: int64s(t, mem, 5), Demands: []RawDemand{{Min: int64s(t, mem, 1), Max: int64s(t, mem, 3)}}}
		if got := describeRaw(t, newLayout(t, "c integer", "c"), raw, Options{Allocator: mem})[0]; got != "[1, 3], no NULL" {
			t.Errorf("%s", got)
		}
		raw.Demands[0].Max = nil // some add lacks it
		if got := describeRaw(t, newLayout(t, "c integer", "c"), raw, Options{Allocator: mem})[0]; got != "nothing" {
			t.Errorf("%s", got)
		}
		raw.Demands[0].Min, raw.Demands[0].Max = arrayOf(t, mem, str, `[""]`), arrayOf(t, mem, str, `["z"]`)
		if got := describeRaw(t, newLayout(t, "c string", "c"), raw, Options{Allocator: mem})[0]; got != "[, z]" {
			t.Errorf("%s", got)
		}
	})
}

// latePaths hands out paths until it is released.
type latePaths struct{ released int }

var errLate = errors.New("late")

func (p *latePaths) Path(row int) (string, error) {
	if p.released > 0 || row == 1 {
		return "", errLate
	}
	return fmt.Sprint("late", row), nil
}
func (p *latePaths) Release() { p.released++ }

func TestPaths(t *testing.T) {
	mem := checkedAllocator(t)
	layout := &Layout{}
	for _, dt := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}} {
		paths := arrayOf(t, mem, dt, `["a","b"]`)
		b, err := NewBatch(layout, &Raw{Len: 2, Path: sliced(t, mem, paths)}, Options{Allocator: mem})
		if err != nil {
			t.Fatal(err)
		}
		if p, err := b.Path(1); p != "b" || err != nil {
			t.Errorf("%s: path %q, %v", dt, p, err)
		}
		b.Release()
	}
	nulls, err := NewBatch(layout, &Raw{Len: 2, Path: arrayOf(t, mem, arrow.BinaryTypes.String, `[null,"b"]`)}, Options{Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := nulls.Path(0); p != "" || err != nil {
		t.Errorf("path %q, %v", p, err)
	}
	nulls.Release()
	b, err := NewBatch(layout, &Raw{Len: 2}, Options{Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := b.Path(1); p != "" || err != nil {
		t.Errorf("path %q, %v", p, err)
	}
	b.Release()
	late := &latePaths{}
	if b, err = NewBatch(layout, &Raw{Len: 2, LatePaths: late}, Options{Allocator: mem}); err != nil {
		t.Fatal(err)
	}
	if p, err := b.Path(0); p != "late0" || err != nil {
		t.Errorf("path %q, %v", p, err)
	}
	if _, err := b.Path(1); !errors.Is(err, errLate) {
		t.Errorf("error %v", err)
	}
	b.Retain()
	b.Release()
	if late.released != 0 {
		t.Error("released early")
	}
	b.Release()
	if late.released != 1 {
		t.Errorf("released %d times", late.released)
	}
}

func TestRawErrors(t *testing.T) {
	mem := checkedAllocator(t)
	layout := newLayout(t, "c long")
	two := int64s(t, mem, 1, 2)
	for name, raw := range map[string]*Raw{
		"too many rows":           {Len: MaxBatchLen + 1, Demands: []RawDemand{{}}},
		"negative length":         {Len: -1, Demands: []RawDemand{{}}},
		"no leaves for a demand":  {Len: 2},
		"a leaf of other length":  {Len: 3, Demands: []RawDemand{{Min: two}}},
		"counts of other length":  {Len: 3, NumRecords: two, Demands: []RawDemand{{}}},
		"paths that are no text":  {Len: 2, Path: two, Demands: []RawDemand{{}}},
		"text that is no text":    {Len: 2, StatsJSON: two, Demands: []RawDemand{{}}},
		"values that are no text": {Len: 2, Demands: []RawDemand{{ValueText: two}}},
	} {
		late := &latePaths{}
		raw.LatePaths = late
		if _, err := NewBatch(layout, raw, Options{Allocator: mem}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if late.released != 1 {
			t.Errorf("%s: paths released %d times", name, late.released)
		}
	}
}

func TestRecord(t *testing.T) {
	mem := checkedAllocator(t)
	b := NewBuilder(newLayout(t, "x long, s string, a long"), Options{Allocator: mem})
	b.layout.Demands[2].Bounds = false
	b = NewBuilder(b.layout, b.o)
	for i := range 70 {
		f := &File{Path: fmt.Sprint("f", i)}
		if i%3 > 0 {
			f.Stats = fmt.Sprintf(`{"numRecords":10,"minValues":{"x":%d,"s":"a"},"maxValues":{"x":100},"nullCount":{"x":0,"s":0,"a":10}}`, i)
		}
		if err := b.Append(f); err != nil {
			t.Fatal(err)
		}
	}
	batch := b.Flush()
	defer batch.Release()
	record := batch.Record()
	if record != batch.Record() {
		t.Error("two records")
	}
	var names []string
	for _, f := range record.Schema().Fields() {
		names = append(names, f.Name)
	}
	if want := "path 0.lower 0.upper 0.noNull 0.allNull 1.lower 1.upper 1.noNull 1.allNull 2.noNull 2.allNull"; strings.Join(names, " ") != want {
		t.Errorf("columns %v", names)
	}
	lower, noNull, allNull := record.Column(1).(*array.Int64), record.Column(3).(*array.Boolean), record.Column(10).(*array.Boolean)
	for i := range 70 {
		if lower.IsNull(i) != (i%3 == 0) || lower.IsValid(i) && lower.Value(i) != int64(i) || noNull.Value(i) != (i%3 > 0) || allNull.Value(i) != (i%3 > 0) {
			t.Errorf("row %d: %s %s %s", i, lower.ValueStr(i), noNull.ValueStr(i), allNull.ValueStr(i))
		}
	}
	if lower.NullN() != 24 {
		t.Errorf("%d nulls", lower.NullN())
	}
}

func TestFactsFromValues(t *testing.T) {
	mem := checkedAllocator(t)
	tests := []struct {
		column string
		values arrow.Array
		want   []string
	}{
		{"c long", int64s(t, mem, 5, -1), []string{"[5, 5], no NULL", "all NULL"}},
		{"c timestamp", arrayOf(t, mem, arrow.FixedWidthTypes.Timestamp_us, `["2020-01-01T00:00:00Z", null]`), []string{"[2020-01-01T00:00:00Z, 2020-01-01T00:00:00Z], no NULL", "all NULL"}},
		{"c double", arrayOf(t, mem, arrow.PrimitiveTypes.Float64, `[-0.0, null]`), []string{"[-0, -0], no NULL", "all NULL"}},
		{"c binary", arrayOf(t, mem, arrow.BinaryTypes.Binary, `["/w==", null]`), []string{"[/w==, /w==], no NULL", "all NULL"}},
		{"c interval day to second", int64s(t, mem, 5, -1), []string{"no NULL", "all NULL"}},
	}
	for _, tt := range tests {
		t.Run(tt.column, func(t *testing.T) {
			for _, values := range []arrow.Array{tt.values, sliced(t, mem, tt.values)} {
				f, err := FactsFromValues(newLayout(t, tt.column).Demands[0].Column, values)
				if err != nil {
					t.Fatal(err)
				}
				if !f.ExactZero {
					t.Error("zeros are not exact")
				}
				if diff := cmp.Diff(tt.want, []string{describe(f, 0), describe(f, 1)}); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
		})
	}
	t.Run("NaN", func(t *testing.T) {
		for _, typ := range []string{"float", "double"} {
			b := array.NewBuilder(mem, map[string]arrow.DataType{"float": arrow.PrimitiveTypes.Float32, "double": arrow.PrimitiveTypes.Float64}[typ])
			switch b := b.(type) {
			case *array.Float32Builder:
				b.AppendValues([]float32{float32(math.NaN()), 1}, nil)
			case *array.Float64Builder:
				b.AppendValues([]float64{math.NaN(), 1}, nil)
			}
			values := b.NewArray()
			b.Release()
			f, err := FactsFromValues(newLayout(t, "c "+typ).Demands[0].Column, values)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(f, 0) + "; " + describe(f, 1); got != "[NaN, NaN], no NULL, NaN?; [1, 1], no NULL" {
				t.Errorf("%s: %s", typ, got)
			}
			values.Release()
		}
	})
	t.Run("another type", func(t *testing.T) {
		if _, err := FactsFromValues(newLayout(t, "c integer").Demands[0].Column, int64s(t, mem, 1)); err == nil {
			t.Error("no error")
		}
	})
}

// A char column of absurd length costs no more than a bound may.
func TestLongChar(t *testing.T) {
	layout := layoutOf(t, `{"type":"struct","fields":[{"name":"p","type":"string","nullable":true,"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"char(2000000000)"}}]}`, "p")
	value := "x"
	b := NewBuilder(layout, Options{Allocator: checkedAllocator(t)})
	if err := b.Append(&File{PartitionValues: map[string]*string{"p": &value}}); err != nil {
		t.Fatal(err)
	}
	batch := b.Flush()
	defer batch.Release()
	if f := batch.Facts(0); f.Lower != nil && len(textAt(f.Upper, 0)) > maxTextBytes+1 {
		t.Errorf("a bound of %d bytes", len(textAt(f.Upper, 0)))
	}
}

// Bounds of absurd length are cut and widened, whole batches of them fit an Arrow array.
func TestLongBounds(t *testing.T) {
	long := strings.Repeat("é", maxTextBytes)
	o := Options{Allocator: checkedAllocator(t)}
	b := NewBuilder(newLayout(t, "c string, p string", "p"), o)
	if err := b.Append(&File{Stats: stats(quoted(long), quoted(long)), PartitionValues: map[string]*string{"p": &long}}); err != nil {
		t.Fatal(err)
	}
	batch := b.Flush()
	defer batch.Release()
	for i := range 2 {
		f := batch.Facts(i)
		lower, upper := textAt(f.Lower, 0), textAt(f.Upper, 0)
		if !IsSet(f.Bounded, 0) || len(lower) > maxTextBytes || len(upper) > maxTextBytes+1 || lower > long || upper < long || !strings.HasSuffix(upper, MaxString) {
			t.Errorf("bounds of %d and %d bytes", len(lower), len(upper))
		}
	}
}
