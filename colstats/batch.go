package colstats

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A Batch holds the facts of a layout's demands for up to [MaxBatchLen] files, in log order. It is immutable and safe
// for concurrent use. It is made with one reference; the last Release frees its arrays.
type Batch struct {
	layout *Layout
	n      int
	paths  arrow.Array // as isText wants; nil when paths come late or not at all
	late   LatePaths   // nil unless paths come late
	facts  []Facts
	mem    memory.Allocator
	refs   atomic.Int64

	once   sync.Once
	record arrow.RecordBatch
}

// Len returns the number of files.
func (b *Batch) Len() int { return b.n }

// Layout returns the layout that the batch was made for.
func (b *Batch) Layout() *Layout { return b.layout }

// Facts returns what is known about the column of demand i. The batch owns it.
func (b *Batch) Facts(i int) *Facts { return &b.facts[i] }

// Path returns the path of the add in the given row as the log spells it, percent-encoded, or "" when the reader left
// paths out. The string is good until the batch is released. An error can only come from a reader that reads paths
// when they are asked for (Raw.LatePaths): the file is in the batch, its name could not be read.
func (b *Batch) Path(row int) (string, error) {
	switch {
	case b.late != nil:
		return b.late.Path(row)
	case b.paths != nil && b.paths.IsValid(row):
		return textAt(b.paths, row), nil
	}
	return "", nil
}

// textAt returns a string of any array that isText accepts, without copying it.
func textAt(a arrow.Array, i int) string {
	switch a := a.(type) {
	case *array.String:
		return a.Value(i)
	case *array.LargeString:
		return a.Value(i)
	case *array.Binary:
		return a.ValueString(i)
	case *array.LargeBinary:
		return a.ValueString(i)
	case *array.StringView:
		return a.Value(i)
	case *array.Dictionary:
		return textAt(a.Dictionary(), a.GetValueIndex(i))
	}
	panic(fmt.Sprintf("colstats: text of a %s array", a.DataType())) // isText was not asked
}

// isText says whether an array holds strings, or bytes that may be strings.
func isText(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY, arrow.STRING_VIEW:
		return true
	case arrow.DICTIONARY:
		return isText(t.(*arrow.DictionaryType).ValueType)
	}
	return false
}

// Record returns the batch as Arrow columns: "path" if there are paths that do not come late, then for demand i "i.lower" and "i.upper" (null
// where nothing is proven) if there are bounds, "i.noNull" and "i.allNull". The batch owns the record.
func (b *Batch) Record() arrow.RecordBatch {
	b.once.Do(func() {
		var fields []arrow.Field
		var columns []arrow.Array
		add := func(name string, a arrow.Array) {
			fields = append(fields, arrow.Field{Name: name, Type: a.DataType(), Nullable: true})
			columns = append(columns, a)
		}
		if b.paths != nil {
			b.paths.Retain()
			add("path", b.paths)
		}
		for i := range b.facts {
			f, name := &b.facts[i], strconv.Itoa(i)
			if f.Lower != nil {
				add(name+".lower", b.masked(f.Lower, f.Bounded))
				add(name+".upper", b.masked(f.Upper, f.Bounded))
			}
			add(name+".noNull", newArray(arrow.FixedWidthTypes.Boolean, b.n, b.bits(f.NoNull, 0)))
			add(name+".allNull", newArray(arrow.FixedWidthTypes.Boolean, b.n, b.bits(f.AllNull, 0)))
		}
		b.record = array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(b.n))
		for _, a := range columns {
			a.Release()
		}
	})
	return b.record
}

// bits copies a bitmap into an Arrow buffer, at an offset.
func (b *Batch) bits(bitmap []uint64, offset int) *memory.Buffer {
	buf := newBuffer(b.mem, int(bitutil.BytesForBits(int64(offset+b.n))))
	clear(buf.Bytes())
	for i := range b.n {
		if IsSet(bitmap, i) {
			bitutil.SetBit(buf.Bytes(), offset+i)
		}
	}
	return buf
}

// masked returns an array with nulls where valid has no bit.
func (b *Batch) masked(a arrow.Array, valid []uint64) arrow.Array {
	from := a.Data()
	bitmap := b.bits(valid, from.Offset())
	defer bitmap.Release()
	nulls := b.n - bitutil.CountSetBits(bitmap.Bytes(), from.Offset(), b.n)
	buffers := append([]*memory.Buffer{bitmap}, from.Buffers()[1:]...)
	data := array.NewData(a.DataType(), b.n, buffers, nil, nulls, from.Offset())
	defer data.Release()
	return array.MakeFromData(data)
}

// Retain adds a reference.
func (b *Batch) Retain() { b.refs.Add(1) }

// Release drops a reference. The last one also releases the reader of late paths.
func (b *Batch) Release() {
	if b.refs.Add(-1) != 0 {
		return
	}
	if b.paths != nil {
		b.paths.Release()
	}
	if b.late != nil {
		b.late.Release()
	}
	for i := range b.facts {
		if f := &b.facts[i]; f.Lower != nil {
			f.Lower.Release()
			f.Upper.Release()
		}
	}
	if b.record != nil {
		b.record.Release()
	}
}
