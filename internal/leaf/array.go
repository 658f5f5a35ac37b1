package leaf

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/endian"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// ArrowType returns the Arrow type of the leaf's arrays: the nearest to what the file says. Types that nobody here needs, or
// that say nothing clear, are Null.
func (n *Node) ArrowType() arrow.DataType {
	switch n.Physical {
	case Boolean:
		return arrow.FixedWidthTypes.Boolean
	case Int32:
		switch n.Logical {
		case Plain, Signed:
			return arrow.PrimitiveTypes.Int32
		case Unsigned:
			return arrow.PrimitiveTypes.Uint32
		case Date:
			return arrow.FixedWidthTypes.Date32
		}
	case Int64:
		switch n.Logical {
		case Plain, Signed:
			return arrow.PrimitiveTypes.Int64
		case Unsigned:
			return arrow.PrimitiveTypes.Uint64
		case TimestampMillis:
			return n.timestamp(arrow.Millisecond)
		case TimestampMicros:
			return n.timestamp(arrow.Microsecond)
		case TimestampNanos:
			return n.timestamp(arrow.Nanosecond)
		}
	case Int96:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	case Float:
		return arrow.PrimitiveTypes.Float32
	case Double:
		return arrow.PrimitiveTypes.Float64
	case ByteArray:
		switch n.Logical {
		case String, Enum, JSON:
			return arrow.BinaryTypes.String
		case Plain:
			return arrow.BinaryTypes.Binary
		}
	case FixedLenByteArray:
		if n.Logical == Plain {
			return &arrow.FixedSizeBinaryType{ByteWidth: n.Width}
		}
	}
	if n.Logical == Decimal && n.Precision <= 38 && n.Physical != Float && n.Physical != Double {
		return &arrow.Decimal128Type{Precision: int32(n.Precision), Scale: int32(n.Scale)}
	}
	return arrow.Null
}

func (n *Node) timestamp(unit arrow.TimeUnit) arrow.DataType {
	if n.UTC {
		return &arrow.TimestampType{Unit: unit, TimeZone: "UTC"}
	}
	return &arrow.TimestampType{Unit: unit}
}

// ReadArray reads the next entries of a flat leaf as Read does, and gives them as an array of the leaf's ArrowType together with
// their definition levels, empty when all are the highest. The caller releases the array.
func (c *Column) ReadArray(n int) (arrow.Array, []uint8, error) {
	var e Entries
	defer e.Release()
	if err := c.Read(&e, n); err != nil {
		return nil, nil, err
	}
	return e.array(c.mem), e.Def, nil
}

// Bounds makes an array of minima or maxima that chunks of a leaf state; nil is null. The caller releases it.
func Bounds(n *Node, values [][]byte, mem memory.Allocator) arrow.Array {
	bounds := *n
	bounds.Def = 1
	var e Entries
	defer e.Release()
	e.reset(&bounds, len(values), mem)
	for _, v := range values {
		e.Len++
		if v == nil {
			e.Def = append(e.Def, 0)
			continue
		}
		e.Def = append(e.Def, 1)
		if w := n.fixedWidth(); w > 0 {
			copy(e.buf.Bytes()[e.n*w:(e.n+1)*w], v)
		} else if err := e.appendBytes(v); err != nil {
			e.Def[e.Len-1] = 0 // 2 GiB of bounds in a footer of 64 MiB: it cannot be
			continue
		} else {
			arrow.Int32Traits.CastFromBytes(e.offsets.Bytes())[e.n+1] = int32(e.size)
		}
		e.n++
	}
	return e.array(mem)
}

// array takes the values out of e.
func (e *Entries) array(mem memory.Allocator) arrow.Array {
	t := e.node.ArrowType()
	if t.ID() == arrow.NULL {
		return array.NewNull(e.Len)
	}
	valid := e.validity(mem)
	if valid != nil {
		defer valid.Release()
	}
	var buffers []*memory.Buffer
	nulls := e.Len - e.n
	switch {
	case t.ID() == arrow.BOOL:
		bits := memory.NewResizableBuffer(mem)
		defer bits.Release()
		bits.Resize(int(bitutil.BytesForBits(int64(e.Len))))
		memory.Set(bits.Bytes(), 0)
		e.spread(1)
		for i, b := range e.buf.Bytes()[:e.Len] {
			if b != 0 {
				bitutil.SetBit(bits.Bytes(), i)
			}
		}
		buffers = []*memory.Buffer{valid, bits}
	case t.ID() == arrow.DECIMAL128:
		values, cleared := e.decimals(valid, mem)
		defer values.Release()
		nulls += cleared
		buffers = []*memory.Buffer{valid, values}
	case e.node.Physical == Int96:
		e.spread(12)
		values, cleared := e.int96s(valid, mem)
		defer values.Release()
		nulls += cleared
		buffers = []*memory.Buffer{valid, values}
	case e.node.Physical == ByteArray:
		e.spreadOffsets()
		e.buf.ResizeNoShrink(e.size)
		buffers = []*memory.Buffer{valid, e.offsets, e.buf}
	default:
		w := e.node.fixedWidth()
		e.spread(w)
		e.buf.ResizeNoShrink(e.Len * w)
		if endian.IsBigEndian && e.node.Physical != FixedLenByteArray {
			swap(e.buf.Bytes(), w)
		}
		buffers = []*memory.Buffer{valid, e.buf}
	}
	data := array.NewData(t, e.Len, buffers, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// validity makes the bitmap of entries with a value. It is nil when all have one and none can lose it.
func (e *Entries) validity(mem memory.Allocator) *memory.Buffer {
	mayClear := e.node.Physical == Int96 || e.node.Logical == Decimal
	if e.n == e.Len && !mayClear {
		return nil
	}
	valid := memory.NewResizableBuffer(mem)
	valid.Resize(int(bitutil.BytesForBits(int64(e.Len))))
	bits := valid.Bytes()
	if e.n == e.Len {
		memory.Set(bits, 0xff)
		return valid
	}
	memory.Set(bits, 0)
	for i, d := range e.Def {
		if d == e.node.Def {
			bits[i>>3] |= 1 << (i & 7)
		}
	}
	return valid
}

// spread moves dense values of w bytes to the places of their entries. What stands in the places between is left over.
func (e *Entries) spread(w int) {
	if e.n == e.Len {
		return
	}
	b, from := e.buf.Bytes(), e.n-1
	for i := e.Len - 1; i > from && from >= 0; i-- { // when i meets from, the rest is in place
		if e.Def[i] != e.node.Def {
			continue
		}
		switch w {
		case 8:
			*(*[8]byte)(b[i*8:]) = *(*[8]byte)(b[from*8:])
		case 4:
			*(*[4]byte)(b[i*4:]) = *(*[4]byte)(b[from*4:])
		default:
			copy(b[i*w:(i+1)*w], b[from*w:(from+1)*w])
		}
		from--
	}
}

// spreadOffsets gives entries without a value an empty stretch.
func (e *Entries) spreadOffsets() {
	if e.n == e.Len {
		return
	}
	offsets := arrow.Int32Traits.CastFromBytes(e.offsets.Bytes())
	from := e.n
	for i := e.Len; i > from; i-- {
		offsets[i] = offsets[from]
		if e.Def[i-1] == e.node.Def {
			from--
		}
	}
}

// decimals converts dense values, and clears the validity of those of more than 128 bits.
func (e *Entries) decimals(valid *memory.Buffer, mem memory.Allocator) (values *memory.Buffer, cleared int) {
	values = memory.NewResizableBuffer(mem)
	values.Resize(e.Len * arrow.Decimal128SizeBytes)
	dst := arrow.Decimal128Traits.CastFromBytes(values.Bytes())
	from := 0
	for i := range dst {
		if !bitutil.BitIsSet(valid.Bytes(), i) {
			dst[i] = decimal128.Num{}
			continue
		}
		ok := true
		switch e.node.Physical {
		case ByteArray, FixedLenByteArray:
			v := BigEndian(e.Bytes(from))
			if ok = v.BitLen() <= 127; ok {
				dst[i] = decimal128.FromBigInt(v)
			}
		default:
			dst[i] = decimal128.FromI64(e.Bits(from))
		}
		if from++; !ok {
			bitutil.ClearBit(valid.Bytes(), i)
			cleared++
		}
	}
	return values, cleared
}

// BigEndian reads a two's complement number of any length, such as a decimal in a byte array.
func BigEndian(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(len(b)*8)))
	}
	return v
}

const (
	julianUnixEpoch = 2440588 // the Julian day of 1970-01-01
	microsPerDay    = 24 * 60 * 60 * 1_000_000
	maxDays         = math.MaxInt64/microsPerDay - 1 // from the epoch, either way
)

// int96s converts values, spread already, of nanoseconds in a day and the Julian day. What microseconds cannot say exactly, or
// in 64 bits, is cleared.
func (e *Entries) int96s(valid *memory.Buffer, mem memory.Allocator) (values *memory.Buffer, cleared int) {
	values = memory.NewResizableBuffer(mem)
	values.Resize(e.Len * 8)
	dst := arrow.Int64Traits.CastFromBytes(values.Bytes())
	for i := range dst {
		dst[i] = 0
		if !bitutil.BitIsSet(valid.Bytes(), i) {
			continue
		}
		micros, ok := Int96Micros(e.buf.Bytes()[i*12:])
		if !ok {
			bitutil.ClearBit(valid.Bytes(), i)
			cleared++
		}
		dst[i] = micros
	}
	return values, cleared
}

// Int96Micros returns the microseconds since 1970-01-01T00:00:00 of a timestamp that counts nanoseconds in a day, and Julian
// days. It reports false for what microseconds cannot say exactly, or in 64 bits.
func Int96Micros(b []byte) (int64, bool) {
	nanos := int64(binary.LittleEndian.Uint64(b))
	day := int64(int32(binary.LittleEndian.Uint32(b[8:]))) - julianUnixEpoch
	if nanos < 0 || nanos >= microsPerDay*1000 || nanos%1000 != 0 || day > maxDays || day < -maxDays {
		return 0, false
	}
	return day*microsPerDay + nanos/1000, true
}

// Micros returns the microseconds of a timestamp in the leaf's unit: rounded down, and within 64 bits.
func (n *Node) Micros(v int64) int64 {
	switch n.Logical {
	case TimestampMillis:
		if v > math.MaxInt64/1000 {
			return math.MaxInt64
		}
		if v < math.MinInt64/1000 {
			return math.MinInt64
		}
		return v * 1000
	case TimestampNanos:
		micros := v / 1000
		if v%1000 < 0 {
			micros--
		}
		return micros
	}
	return v
}

// swap reverses the bytes of values of w bytes.
func swap(b []byte, w int) {
	for ; len(b) >= w; b = b[w:] {
		for i, j := 0, w-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	}
}
