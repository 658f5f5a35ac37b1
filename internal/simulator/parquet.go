package simulator

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

var fields = []arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "k", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "by", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "p", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, // last: a partition column is not in the file
}

func fieldsOf(partitioned bool) []arrow.Field {
	if partitioned {
		return fields[:len(fields)-1]
	}
	return fields
}

var schemas = map[bool]*arrow.Schema{false: arrow.NewSchema(fieldsOf(false), nil), true: arrow.NewSchema(fieldsOf(true), nil)}

// encode writes rows as a parquet file.
func encode(rows []row, partitioned bool, rowGroup int64) ([]byte, error) {
	s := schemas[partitioned]
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for _, r := range rows {
		b.Field(0).(*array.Int64Builder).Append(r.id)
		b.Field(1).(*array.Int32Builder).Append(r.k)
		appendOpt(b.Field(2).(*array.Int32Builder), r.x)
		appendOpt(b.Field(3).(*array.Float64Builder), opt[float64]{r.f.v.float(), r.f.ok})
		appendOpt(b.Field(4).(*array.StringBuilder), r.s)
		b.Field(5).(*array.StringBuilder).Append(r.by)
		if !partitioned {
			appendOpt(b.Field(6).(*array.Int32Builder), r.p)
		}
	}
	record := b.NewRecordBatch()
	defer record.Release()
	var out bytes.Buffer
	props := parquet.NewWriterProperties(parquet.WithMaxRowGroupLength(rowGroup), parquet.WithDictionaryDefault(false))
	w, err := pqarrow.NewFileWriter(s, &out, props, pqarrow.DefaultWriterProps())
	if err != nil {
		return nil, err
	}
	if err := w.Write(record); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func appendOpt[T comparable](b interface {
	Append(T)
	AppendNull()
}, v opt[T]) {
	if v.ok {
		b.Append(v.v)
	} else {
		b.AppendNull()
	}
}

// decode reads a parquet file back; p is the partition's value, where there is one.
func decode(ctx context.Context, data []byte, partitioned bool, p opt[int32]) ([]row, error) {
	table, err := pqarrow.ReadTable(ctx, bytes.NewReader(data), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	defer table.Release()
	var rows []row
	reader := array.NewTableReader(table, 0)
	defer reader.Release()
	for reader.Next() {
		batch := reader.RecordBatch()
		column := func(name string) (arrow.Array, error) {
			i := slices.IndexFunc(batch.Schema().Fields(), func(f arrow.Field) bool { return f.Name == name })
			if i < 0 {
				return nil, fmt.Errorf("no column %s", name)
			}
			return batch.Column(i), nil
		}
		var columns []arrow.Array
		for _, f := range fieldsOf(partitioned) {
			c, err := column(f.Name)
			if err != nil {
				return nil, err
			}
			columns = append(columns, c)
		}
		for i := range int(batch.NumRows()) {
			r := row{id: columns[0].(*array.Int64).Value(i), k: columns[1].(*array.Int32).Value(i), by: columns[5].(*array.String).Value(i), p: p}
			r.x = valueAt[int32](columns[2].(*array.Int32), i)
			if f := valueAt[float64](columns[3].(*array.Float64), i); f.ok {
				r.f = some(doubleOf(f.v))
			}
			r.s = valueAt[string](columns[4].(*array.String), i)
			if !partitioned {
				r.p = valueAt[int32](columns[6].(*array.Int32), i)
			}
			rows = append(rows, r)
		}
	}
	return rows, reader.Err()
}

func valueAt[T comparable](a interface {
	IsNull(int) bool
	Value(int) T
}, i int) opt[T] {
	if a.IsNull(i) {
		return opt[T]{}
	}
	return some(a.Value(i))
}
