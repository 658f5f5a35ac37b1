package colstats

import (
	"cmp"
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// columnar concludes a column's facts from struct leaves a word of rows at a time, where these are of the column's own
// fixed-width type, so that they serve as bounds as they are. It says false for leaves that take a closer look: one of
// two bounds is missing, a bound is NaN, a file claims to hold no rows. Row by row they give the same facts, slower.
func (c *column) columnar(mem memory.Allocator, r *reader, raw *Raw, d *RawDemand) (f Facts, ok bool) {
	nulls, areLong := d.NullCount.(*array.Int64)
	records, alsoLong := raw.NumRecords.(*array.Int64)
	if c.exact || raw.Hull || !areLong || !alsoLong || c.class != noBounds && !c.takesAsIs(d.Min, d.Max) {
		return Facts{}, false
	}
	f = Facts{Column: c.demand.Column, NoNull: bitmap(raw.Len), AllNull: bitmap(raw.Len)}
	if c.class == floats {
		f.MayNaN = bitmap(raw.Len)
	}
	var hasMin, hasMax valid
	ordered := func(_, _ int) (inOrder, unordered uint64) { return 0, 0 }
	if c.class != noBounds {
		f.Bounded = bitmap(raw.Len)
		f.Lower, f.Upper = c.asIs(mem, d)
		hasMin, hasMax, ordered = validity(d.Min), validity(d.Max), orderedRows(f.Lower, f.Upper)
	}
	hasNulls, hasRecords := validity(nulls), validity(records)
	for w := range f.NoNull {
		from, to := w*64, min(w*64+64, raw.Len)
		k := compareCounts(nulls.Int64Values()[from:to], records.Int64Values()[from:to])
		rows := ^uint64(0) >> (64 - (to - from))
		counted := rows & hasNulls.word(w) & k.nullsValid
		if raw.HasStruct != nil {
			counted &= wordOf(raw.HasStruct, w)
		}
		both := counted & hasRecords.word(w) & k.recordsValid
		usable := both & k.fewer
		least, greatest := hasMin.word(w), hasMax.word(w)
		inOrder, unordered := ordered(from, to)
		if both&k.noRecords != 0 || usable&(least^greatest) != 0 || usable&least&unordered != 0 {
			if f.Lower != nil {
				f.Lower.Release()
				f.Upper.Release()
			}
			return Facts{}, false
		}
		if f.Bounded != nil {
			f.Bounded[w] = usable & least & inOrder
		}
		f.NoNull[w] = counted & k.noNulls &^ (both & k.more)
		f.AllNull[w] = both &^ (k.fewer | k.more)
		if !c.demand.Column.Nullable {
			f.NoNull[w] |= rows &^ counted
		}
		if f.MayNaN != nil {
			for b := f.Bounded[w]; b != 0; b &= b - 1 {
				row := from + bits.TrailingZeros64(b)
				setTo(f.MayNaN, row, !r.likeSpark(row))
			}
		}
	}
	return f, true
}

// asIs returns arrays of minima and maxima as bounds; the maxima of timestamps are raised.
func (c *column) asIs(mem memory.Allocator, d *RawDemand) (lower, upper arrow.Array) {
	d.Min.Retain()
	if t, isTimestamp := d.Max.(*array.Timestamp); isTimestamp {
		return d.Min, convertedArray(mem, c.arrow, t.TimestampValues(), func(v arrow.Timestamp) int64 { return raisedMillisecond(int64(v)) })
	}
	d.Max.Retain()
	return d.Min, d.Max
}

// takesAsIs says whether arrays of minima and maxima are bounds of the column as they are, or but for milliseconds.
func (c *column) takesAsIs(least, greatest arrow.Array) bool {
	if c.class != integers && c.class != floats || least == nil || greatest == nil {
		return false
	}
	if c.maybeFloat && c.arrow.ID() == arrow.FLOAT64 {
		return false // two readings, see floatSetter
	}
	return arrow.TypeEqual(least.DataType(), c.arrow) && arrow.TypeEqual(greatest.DataType(), c.arrow)
}

// countWords compares up to 64 rows' null counts with their numbers of records: a bit says that
type countWords struct {
	nullsValid, recordsValid uint64 // the count is not negative
	noNulls, noRecords       uint64 // it is zero
	fewer, more              uint64 // there are fewer or more NULLs than records
}

func compareCounts(nulls, records []int64) (w countWords) {
	records = records[:len(nulls)]
	for i, n := range nulls {
		m := records[i]
		w.nullsValid |= bit(n >= 0) << i
		w.recordsValid |= bit(m >= 0) << i
		w.noNulls |= bit(n == 0) << i
		w.noRecords |= bit(m == 0) << i
		w.fewer |= bit(n < m) << i
		w.more |= bit(n > m) << i
	}
	return w
}

// bit is 1 for true; it compiles to no branch.
func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// orderedRows returns a function that marks, in up to 64 rows, those whose minimum is not above the maximum, and those
// that cannot be compared because one is NaN. The arrays are of the same fixed-width type.
func orderedRows(least, greatest arrow.Array) func(from, to int) (inOrder, unordered uint64) {
	switch least := least.(type) {
	case *array.Int8:
		return compareRows(least.Int8Values(), greatest.(*array.Int8).Int8Values())
	case *array.Int16:
		return compareRows(least.Int16Values(), greatest.(*array.Int16).Int16Values())
	case *array.Int32:
		return compareRows(least.Int32Values(), greatest.(*array.Int32).Int32Values())
	case *array.Int64:
		return compareRows(least.Int64Values(), greatest.(*array.Int64).Int64Values())
	case *array.Date32:
		return compareRows(least.Date32Values(), greatest.(*array.Date32).Date32Values())
	case *array.Timestamp:
		return compareRows(least.TimestampValues(), greatest.(*array.Timestamp).TimestampValues())
	case *array.Float32:
		return compareRows(least.Float32Values(), greatest.(*array.Float32).Float32Values())
	case *array.Float64:
		return compareRows(least.Float64Values(), greatest.(*array.Float64).Float64Values())
	}
	return func(_, _ int) (uint64, uint64) { return 0, ^uint64(0) }
}

func compareRows[T cmp.Ordered](least, greatest []T) func(from, to int) (inOrder, unordered uint64) {
	return func(from, to int) (inOrder, unordered uint64) {
		greatest := greatest[from:to]
		for i, v := range least[from:to] {
			inOrder |= bit(v <= greatest[i]) << i
			unordered |= bit(v != v || greatest[i] != greatest[i]) << i
		}
		return inOrder, unordered
	}
}

// valid reads an array's validity bitmap from its offset on, a word at a time; nil when nothing is null.
type valid struct {
	bitmap []byte
	offset int
}

func validity(a arrow.Array) valid {
	if a.NullN() == 0 {
		return valid{}
	}
	return valid{a.NullBitmapBytes(), a.Data().Offset()}
}

// word returns the bits of 64 rows; those past the end of the array mean nothing.
func (v valid) word(w int) uint64 {
	if v.bitmap == nil {
		return ^uint64(0)
	}
	var bytes [9]byte
	from := v.offset + w*64
	copy(bytes[:], v.bitmap[min(from/8, len(v.bitmap)):])
	return binary.LittleEndian.Uint64(bytes[:])>>(from%8) | uint64(bytes[8])<<(64-from%8)
}
