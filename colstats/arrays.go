package colstats

import (
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// arrays makes Arrow arrays of n rows' bounds.
func (c *column) arrays(mem memory.Allocator, n int) (lower, upper arrow.Array) {
	switch c.class {
	case decimals:
		return fixedArray(mem, c.arrow, c.bounds128[minimum][:n]), fixedArray(mem, c.arrow, c.bounds128[maximum][:n])
	case texts:
		return c.texts[minimum].array(mem, c.arrow, n, nil), c.texts[maximum].array(mem, c.arrow, n, c.open)
	}
	return c.narrowed(mem, c.bounds[minimum][:n]), c.narrowed(mem, c.bounds[maximum][:n])
}

// narrowed makes an array of the column's type from integers, or from the bits of doubles.
func (c *column) narrowed(mem memory.Allocator, v []int64) arrow.Array {
	switch c.arrow.ID() {
	case arrow.BOOL:
		buf := newBuffer(mem, int(bitutil.BytesForBits(int64(len(v)))))
		clear(buf.Bytes())
		for i, x := range v {
			if x == 1 {
				bitutil.SetBit(buf.Bytes(), i)
			}
		}
		return newArray(c.arrow, len(v), buf)
	case arrow.INT8:
		return convertedArray(mem, c.arrow, v, func(x int64) int8 { return int8(x) })
	case arrow.INT16:
		return convertedArray(mem, c.arrow, v, func(x int64) int16 { return int16(x) })
	case arrow.INT32, arrow.DATE32:
		return convertedArray(mem, c.arrow, v, func(x int64) int32 { return int32(x) })
	case arrow.FLOAT32:
		return convertedArray(mem, c.arrow, v, func(x int64) float32 { return float32(math.Float64frombits(uint64(x))) })
	}
	return fixedArray(mem, c.arrow, v) // long, timestamps, and the bits of doubles
}

func newBuffer(mem memory.Allocator, size int) *memory.Buffer {
	buf := memory.NewResizableBuffer(mem)
	buf.Resize(size)
	return buf
}

// newArray makes an array without nulls of buffers that it takes over.
func newArray(t arrow.DataType, n int, buffers ...*memory.Buffer) arrow.Array {
	data := array.NewData(t, n, append([]*memory.Buffer{nil}, buffers...), nil, 0, 0)
	defer data.Release()
	for _, b := range buffers {
		b.Release() // data has retained it
	}
	return array.MakeFromData(data)
}

func fixedArray[T arrow.FixedWidthType](mem memory.Allocator, t arrow.DataType, v []T) arrow.Array {
	buf := newBuffer(mem, len(v)*int(unsafe.Sizeof(*new(T))))
	copy(buf.Bytes(), arrow.GetBytes(v))
	return newArray(t, len(v), buf)
}

func convertedArray[F any, T arrow.FixedWidthType](mem memory.Allocator, t arrow.DataType, v []F, convert func(F) T) arrow.Array {
	buf := newBuffer(mem, len(v)*int(unsafe.Sizeof(*new(T))))
	to := arrow.GetData[T](buf.Bytes())
	for i, x := range v {
		to[i] = convert(x)
	}
	return newArray(t, len(v), buf)
}

// array makes a string or binary array of the first n strings, with MaxString in the rows that open marks.
func (t *text) array(mem memory.Allocator, dt arrow.DataType, n int, open []uint64) arrow.Array {
	offsets := newBuffer(mem, (n+1)*4)
	to := arrow.GetData[int32](offsets.Bytes())
	to[0] = 0
	copy(to[1:], t.ends[:n])
	more := int32(0)
	for i := range n {
		if IsSet(open, i) {
			more += int32(len(MaxString))
		}
		to[i+1] += more
	}
	data := newBuffer(mem, int(to[n]))
	if more == 0 {
		copy(data.Bytes(), t.bytes)
		return newArray(dt, n, offsets, data)
	}
	for i := range n {
		value := t.at(i)
		if IsSet(open, i) {
			value = []byte(MaxString)
		}
		copy(data.Bytes()[to[i]:to[i+1]], value)
	}
	return newArray(dt, n, offsets, data)
}
