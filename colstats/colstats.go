package colstats

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/deltaskip/deltaskip/schema"
)

// A Demand names a column and what a program wants to know of it. A Layout is the ordered list of a program's demands;
// Batch.Facts(i) answers demand i.
type Demand struct {
	Column *schema.Column
	Bounds bool // minimum and maximum (which need the counts as well)
	Nulls  bool // null count
}

// A Layout fixes which leaves a batch decodes.
type Layout struct {
	Table   *schema.Table
	Demands []Demand
}

// Facts are what is proven about one column in each file of a batch. They hide where the knowledge came from: the
// statistics of an add, a partition value, a parquet row group's footer, or a row itself (a file of one row).
// Bitmaps are LSB first, (n+63)/64 words, bits past n are zero; a nil bitmap has no bit set.
//
// Invariants: (1) every live row's non-NULL value v has Lower[i] <= v <= Upper[i] in Spark's order where Bounded has bit
// i, or is NaN where MayNaN has it; (2) where NoNull has bit i no live row is NULL; (3) where AllNull has bit i no live
// row is other than NULL, so that NoNull and AllNull together say that there is no live row; (4) where none of the bits
// is set nothing is known. A doubt clears the bit.
type Facts struct {
	Column *schema.Column
	// Lower and Upper have the Arrow type of [ArrowType](Column.Type), after every adjustment of a bound
	// (milliseconds, zone seconds, float text): lower = upper where Bounded means that every non-NULL value is that one.
	// Both are nil, and so is Bounded, when the layout demands no bounds or the column's type has none that are usable.
	// Values where Bounded is clear are garbage, null or not; the arrays may be slices, which have an offset.
	//
	// Where only one of the two statistics is there, the other bound is the outermost value of the type: for strings ""
	// and [MaxString], for floats the infinities.
	//
	// A float bound is NaN only when both are, which means that every non-NULL value is NaN; MayNaN is set there too.
	// A maximum of NaN beside another minimum is given as +Inf with MayNaN set. So a kernel that honours MayNaN gets the
	// right bits with IEEE comparisons too.
	Lower, Upper arrow.Array
	// LowerHeads and UpperHeads are the [Heads] of bounds that are strings or binary, nil for other types.
	LowerHeads, UpperHeads []int64
	Bounded                []uint64
	NoNull                 []uint64
	AllNull                []uint64
	MayNaN                 []uint64 // float columns: a NaN may hide outside the bounds; where there are none the bit means nothing
	// ExactZero says that a zero bound of a float column is the value itself, sign included (rows, partition values).
	ExactZero bool
}

// MaxString is the upper bound of a string column whose maximum is unknown: a byte that no UTF-8 text has, so greater
// than every string.
const MaxString = "\xff"

// Heads returns, for each string of a String or Binary array, its first eight bytes as a number in their order: of two
// strings, the one with the smaller head is less; equal heads tell nothing. Bytes that a string does not have count as zeros.
func Heads(a arrow.Array) []int64 {
	d := a.Data()
	heads := make([]int64, d.Len())
	if len(heads) == 0 || d.Buffers()[2] == nil { // no string has bytes
		for i := range heads {
			heads[i] = Head("")
		}
		return heads
	}
	offsets, data := arrow.GetOffsets[int32](d, 1), d.Buffers()[2].Bytes()
	for i := range heads {
		from, to := int(offsets[i]), int(offsets[i+1])
		if from+8 <= len(data) {
			known := ^(^uint64(0) >> uint(8*(to-from))) // of eight bytes, those of this string
			heads[i] = int64(binary.BigEndian.Uint64(data[from:])&known ^ 1<<63)
		} else {
			heads[i] = Head(string(data[from:to]))
		}
	}
	return heads
}

// Head is the head of one string, see [Heads].
func Head(s string) int64 {
	var first [8]byte
	copy(first[:], s)
	return int64(binary.BigEndian.Uint64(first[:]) ^ 1<<63)
}

// addHeads fills in the heads, once the bounds are there.
func (f *Facts) addHeads() {
	if f.Lower == nil || f.Lower.DataType().ID() != arrow.STRING && f.Lower.DataType().ID() != arrow.BINARY {
		return
	}
	f.LowerHeads = Heads(f.Lower)
	if f.UpperHeads = f.LowerHeads; f.Upper != f.Lower {
		f.UpperHeads = Heads(f.Upper)
	}
}

// ArrowType returns the Arrow type of a bound of a column of type t, or false for types that have no ordered bounds.
func ArrowType(t schema.Type) (arrow.DataType, bool) {
	switch t.Kind {
	case schema.Boolean:
		return arrow.FixedWidthTypes.Boolean, true
	case schema.Byte:
		return arrow.PrimitiveTypes.Int8, true
	case schema.Short:
		return arrow.PrimitiveTypes.Int16, true
	case schema.Integer:
		return arrow.PrimitiveTypes.Int32, true
	case schema.Long:
		return arrow.PrimitiveTypes.Int64, true
	case schema.Float:
		return arrow.PrimitiveTypes.Float32, true
	case schema.Double:
		return arrow.PrimitiveTypes.Float64, true
	case schema.Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}, true
	case schema.String:
		return arrow.BinaryTypes.String, true
	case schema.Binary: // of partition columns; statistics of binary columns are not usable
		return arrow.BinaryTypes.Binary, true
	case schema.Date:
		return arrow.FixedWidthTypes.Date32, true
	case schema.Timestamp:
		return arrow.FixedWidthTypes.Timestamp_us, true
	case schema.TimestampNTZ:
		return &arrow.TimestampType{Unit: arrow.Microsecond}, true
	}
	return nil, false
}
