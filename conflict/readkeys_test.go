package conflict

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/internal/civil"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// batchOf makes a record batch of columns k0, k1, … and releases it with the test.
func batchOf(t testing.TB, mem memory.Allocator, columns ...arrow.Array) arrow.RecordBatch {
	var fields []arrow.Field
	for i, c := range columns {
		fields = append(fields, arrow.Field{Name: fmt.Sprint("k", i), Type: c.DataType(), Nullable: true})
	}
	b := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(columns[0].Len()))
	for _, c := range columns {
		c.Release()
	}
	if t != nil {
		t.Cleanup(b.Release)
	}
	return b
}

func int64s(mem memory.Allocator, values ...int64) arrow.Array {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	b.AppendValues(values, nil)
	return b.NewArray()
}

func TestReadKeys(t *testing.T) {
	mem := checkedAllocator(t)
	withNull := array.NewStringBuilder(mem)
	withNull.AppendValues([]string{"b", "a", "b"}, nil)
	withNull.AppendNull()
	strings_ := withNull.NewArray()
	withNull.Release()
	nulls := array.NewInt64Builder(mem)
	nulls.AppendNulls(2)
	onlyNulls := nulls.NewArray()
	nulls.Release()
	var even, spread []int64
	for i := range int64(1500) {
		even = append(even, 2*i)
		spread = append(spread, i+i/300*1000) // five runs
	}
	for _, tt := range []struct {
		name    string
		columns []string
		batch   arrow.RecordBatch
		want    string
	}{
		{"each once, sorted", []string{"k"}, batchOf(t, mem, int64s(mem, 3, 1, 3, 2)), "k IN (1L, 2L, 3L)"},
		{"one key", []string{"s.`a b`"}, batchOf(t, mem, int64s(mem, 3)), "s.`a b` IN (3L)"},
		{"NULL is equal to nothing", []string{"k"}, batchOf(t, mem, strings_), "k IN ('a', 'b')"},
		{"only NULL keys", []string{"k"}, batchOf(t, mem, onlyNulls), "FALSE"},
		{"no keys at all", []string{"k"}, batchOf(t, mem, int64s(mem)), "FALSE"},
		{"several columns, each for itself", []string{"k", "l"}, batchOf(t, mem, int64s(mem, 1, 2), int64s(mem, 7, 7)), "(k IN (1L, 2L)) AND (l IN (7L))"},
		{"many keys in few runs", []string{"k"}, batchOf(t, mem, int64s(mem, spread...)),
			"((k >= 0L) AND (k <= 299L)) OR ((k >= 1300L) AND (k <= 1599L)) OR ((k >= 2600L) AND (k <= 2899L)) OR ((k >= 3900L) AND (k <= 4199L)) OR ((k >= 5200L) AND (k <= 5499L))"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadKeys(tt.columns, tt.batch)
			if err != nil {
				t.Fatal(err)
			}
			if strip(got.String()) != strip(tt.want) {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
	got, err := ReadKeys([]string{"k"}, batchOf(t, mem, int64s(mem, even...)))
	if err != nil || strings.Count(got.String(), ">=") != maxKeyRanges {
		t.Errorf("many runs: %d ranges, %v", strings.Count(got.String(), ">="), err)
	}
}

// strip removes what printing is free to add.
func strip(s string) string { return strings.NewReplacer("(", "", ")", "").Replace(s) }

func TestReadKeysRefusesWhatItCannotWrite(t *testing.T) {
	mem := checkedAllocator(t)
	b := array.NewBinaryBuilder(mem, arrow.BinaryTypes.Binary)
	b.Append([]byte{1})
	binary := b.NewArray()
	b.Release()
	if _, err := ReadKeys([]string{"k"}, batchOf(t, mem, binary)); !errors.Is(err, ErrKeyType) || !strings.Contains(err.Error(), "binary") {
		t.Errorf("%v", err)
	}
	for _, columns := range [][]string{nil, {"k", "l"}, {"k + 1"}, {"k k"}} {
		if _, err := ReadKeys(columns, batchOf(t, mem, int64s(mem, 1))); err == nil {
			t.Errorf("columns %q were taken", columns)
		}
	}
}

// A keyRow is a row of a table with one column.
type keyRow struct{ v predicate.Value }

func (r keyRow) Value(*schema.Column) predicate.Value { return r.v }

// TestReadKeysHoldForEveryKey draws keys of every type and checks that the read finds the row of the table that is equal.
func TestReadKeysHoldForEveryKey(t *testing.T) {
	types := map[string]struct {
		column string
		make   func(t *rapid.T, mem memory.Allocator) (arrow.Array, []predicate.Value)
	}{
		"long": {"long", func(t *rapid.T, mem memory.Allocator) (arrow.Array, []predicate.Value) {
			b := array.NewInt64Builder(mem)
			defer b.Release()
			var rows []predicate.Value
			for _, v := range rapid.SliceOfN(rapid.Int64(), 0, 3000).Draw(t, "keys") {
				b.Append(v)
				rows = append(rows, predicate.IntOf(schema.Long, v))
			}
			return b.NewArray(), rows
		}},
		"narrow keys": {"long", func(t *rapid.T, mem memory.Allocator) (arrow.Array, []predicate.Value) {
			b := array.NewInt16Builder(mem)
			defer b.Release()
			var rows []predicate.Value
			for _, v := range rapid.SliceOfN(rapid.Int16(), 0, 3000).Draw(t, "keys") {
				b.Append(v)
				rows = append(rows, predicate.IntOf(schema.Long, int64(v)))
			}
			return b.NewArray(), rows
		}},
		"unsigned": {"long", func(t *rapid.T, mem memory.Allocator) (arrow.Array, []predicate.Value) {
			b := array.NewUint64Builder(mem)
			defer b.Release()
			var rows []predicate.Value
			for _, v := range rapid.SliceOfN(rapid.Uint64(), 0, 100).Draw(t, "keys") {
				b.Append(v)
				if v <= math.MaxInt64 {
					rows = append(rows, predicate.IntOf(schema.Long, int64(v)))
				}
			}
			return b.NewArray(), rows
		}},
		"double": {"double", func(t *rapid.T, mem memory.Allocator) (arrow.Array, []predicate.Value) {
			b := array.NewFloat64Builder(mem)
			defer b.Release()
			var rows []predicate.Value
			special := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1)})
			for _, v := range rapid.SliceOfN(rapid.OneOf(rapid.Float64(), special), 0, 2000).Draw(t, "keys") {
				b.Append(v)
				rows = append(rows, predicate.FloatOf(schema.Double, v))
			}
			return b.NewArray(), rows
		}},
		"string": {"string", func(t *rapid.T, mem memory.Allocator) (arrow.Array, []predicate.Value) {
			b := array.NewStringBuilder(mem)
			defer b.Release()
			var rows []predicate.Value
			for _, v := range rapid.SliceOfN(rapid.String(), 0, 1500).Draw(t, "keys") {
				b.Append(v)
				rows = append(rows, predicate.StringOf(v))
			}
			return b.NewArray(), rows
		}},
		"decimal": {"decimal(10,2)", func(t *rapid.T, mem memory.Allocator) (arrow.Array, []predicate.Value) {
			b := array.NewDecimal128Builder(mem, &arrow.Decimal128Type{Precision: 10, Scale: 2})
			defer b.Release()
			var rows []predicate.Value
			for _, v := range rapid.SliceOfN(rapid.Int64Range(-9_999_999_999, 9_999_999_999), 0, 1500).Draw(t, "keys") {
				b.Append(decimal128.FromI64(v))
				rows = append(rows, predicate.DecimalOf(decimal128.FromI64(v), 10, 2))
			}
			return b.NewArray(), rows
		}},
		"date": {"date", func(t *rapid.T, mem memory.Allocator) (arrow.Array, []predicate.Value) {
			b := array.NewDate32Builder(mem)
			defer b.Release()
			var rows []predicate.Value
			for _, v := range rapid.SliceOfN(rapid.Int32Range(-700_000, 2_900_000), 0, 2000).Draw(t, "keys") {
				b.Append(arrow.Date32(v))
				rows = append(rows, predicate.IntOf(schema.Date, int64(v)))
			}
			return b.NewArray(), rows
		}},
		"nanoseconds": {"timestamp", func(t *rapid.T, mem memory.Allocator) (arrow.Array, []predicate.Value) {
			b := array.NewTimestampBuilder(mem, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"})
			defer b.Release()
			var rows []predicate.Value
			for _, v := range rapid.SliceOfN(rapid.Int64(), 0, 1500).Draw(t, "keys") {
				b.Append(arrow.Timestamp(v))
				rows = append(rows, predicate.IntOf(schema.Timestamp, civil.FloorDiv(v, 1000)))
			}
			return b.NewArray(), rows
		}},
		"dictionary": {"string", func(t *rapid.T, mem memory.Allocator) (arrow.Array, []predicate.Value) {
			b := array.NewDictionaryBuilder(mem, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
			defer b.Release()
			var rows []predicate.Value
			for _, v := range rapid.SliceOfN(rapid.StringN(0, 2, -1), 0, 200).Draw(t, "keys") {
				if err := b.AppendString(v); err != nil {
					t.Fatal(err)
				}
				rows = append(rows, predicate.StringOf(v))
			}
			return b.NewArray(), rows
		}},
	}
	for name, typ := range types {
		t.Run(name, func(t *testing.T) {
			table, err := schema.Parse(fmt.Sprintf(`{"type":"struct","fields":[{"name":"k","type":%q,"nullable":true,"metadata":{}}]}`, typ.column), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			mem := checkedAllocator(t)
			rapid.Check(t, func(t *rapid.T) {
				column, rows := typ.make(t, mem)
				b := batchOf(nil, mem, column)
				defer b.Release()
				read, err := ReadKeys([]string{"k"}, b)
				if err != nil {
					t.Fatal(err)
				}
				p, err := predicate.Bind(read.Expr, table, predicate.Env{})
				if err != nil {
					t.Fatalf("%s does not bind: %v", read, err)
				}
				for _, v := range rows {
					got, err := p.Eval(keyRow{v})
					if err != nil || got.Null || got.I != 1 {
						t.Fatalf("a row with k = %v is not read: %v, %v", v, got, err)
					}
				}
			})
		})
	}
}
