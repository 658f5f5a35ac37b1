package deletionvector

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
)

// The magic numbers that start a blob.
//
//	portable: magic, count uint64, then count times: high uint32, bitmap      (all little-endian)
//	native:   magic, count uint32, then count times: size uint32, bitmap      (bitmap i has the high half i)
//
// A bitmap is a 32-bit roaring bitmap in the format that all roaring libraries share. Writers of both formats fill gaps
// with empty bitmaps. The example of an inline vector in the protocol's text is native with big-endian numbers, which
// the magic number tells as well.
const (
	portableMagic = 1681511377
	nativeMagic   = 1681511376
)

// Decode makes the vector that a blob holds. The vector keeps and reads blob, which must not change any more.
// Every error is a [*CorruptError].
func Decode(blob []byte) (*Vector, error) {
	r := &blobReader{blob: blob}
	v, err := r.vector()
	if err != nil {
		return nil, err
	}
	if rest := len(blob) - r.at; rest != 0 {
		return nil, corrupt(r.at, "%d bytes after the end", rest)
	}
	return v, nil
}

// A blobReader reads a blob front to back. at is the offset of the next byte.
type blobReader struct {
	blob []byte
	at   int
}

// take returns the next n bytes, which hold what.
func (r *blobReader) take(n int, what string) ([]byte, error) {
	if rest := len(r.blob) - r.at; n > rest {
		return nil, corrupt(r.at, "%s needs %d bytes, %d are left", what, n, rest)
	}
	b := r.blob[r.at : r.at+n]
	r.at += n
	return b, nil
}

func (r *blobReader) vector() (*Vector, error) {
	magic, err := r.take(4, "magic number")
	if err != nil {
		return nil, err
	}
	switch {
	case binary.LittleEndian.Uint32(magic) == portableMagic:
		return r.portable()
	case binary.LittleEndian.Uint32(magic) == nativeMagic:
		return r.native(binary.LittleEndian)
	case binary.BigEndian.Uint32(magic) == nativeMagic:
		return r.native(binary.BigEndian)
	}
	return nil, corrupt(0, "unknown magic number %d", binary.LittleEndian.Uint32(magic))
}

func (r *blobReader) portable() (*Vector, error) {
	b, err := r.take(8, "bitmap count")
	if err != nil {
		return nil, err
	}
	v := &Vector{data: r.blob}
	for count, next := binary.LittleEndian.Uint64(b), uint32(0); count > 0; count-- {
		at := r.at
		b, err := r.take(4, "high half")
		if err != nil {
			return nil, err
		}
		high := binary.LittleEndian.Uint32(b)
		if high < next || high > maxHigh {
			return nil, corrupt(at, "high half %d is not from %d to %d", high, next, maxHigh)
		}
		next = high + 1
		if err := r.bitmap(v, high); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (r *blobReader) native(order binary.ByteOrder) (*Vector, error) {
	b, err := r.take(4, "bitmap count")
	if err != nil {
		return nil, err
	}
	count := order.Uint32(b)
	if count > maxHigh+1 {
		return nil, corrupt(r.at-4, "%d bitmaps", count)
	}
	v := &Vector{data: r.blob}
	for high := range count {
		b, err := r.take(4, "bitmap size")
		if err != nil {
			return nil, err
		}
		start := r.at
		if err := r.bitmap(v, high); err != nil {
			return nil, err
		}
		if size := order.Uint32(b); int64(size) != int64(r.at-start) {
			return nil, corrupt(start-4, "bitmap of %d bytes is said to have %d", r.at-start, size)
		}
	}
	return v, nil
}

// The cookies that start a bitmap, and what its layout depends on (roaring format specification).
const (
	cookieNoRuns   = 12346 // and the container count follows
	cookieRuns     = 12347 // in the low half; the count less one in the high half, and one bit a container follows
	minOffsets     = 4     // bitmaps with runs have an offset header from so many containers on
	maxContainers  = 1 << 16
	descriptorSize = 4 // a container's key and its cardinality less one
)

// bitmap adds the containers of the bitmap at r.at, with positions of that high half, to v. It checks all that readers
// rely on: an array or runs that are not ascending, say, would make intersections miss rows.
func (r *blobReader) bitmap(v *Vector, high uint32) error {
	start := r.at
	b, err := r.take(4, "bitmap cookie")
	if err != nil {
		return err
	}
	var count int
	var withRuns []byte // bit i: container i holds runs
	switch cookie := binary.LittleEndian.Uint32(b); {
	case cookie == cookieNoRuns:
		b, err := r.take(4, "container count")
		if err != nil {
			return err
		}
		n := binary.LittleEndian.Uint32(b)
		if n > maxContainers {
			return corrupt(r.at-4, "%d containers", n)
		}
		count = int(n)
	case cookie&0xFFFF == cookieRuns:
		count = int(cookie>>16) + 1
		if withRuns, err = r.take((count+7)/8, "run flags"); err != nil {
			return err
		}
	default:
		return corrupt(start, "unknown bitmap cookie %d", cookie)
	}
	descriptors, err := r.take(count*descriptorSize, "container descriptors")
	if err != nil {
		return err
	}
	var offsets []byte
	if withRuns == nil || count >= minOffsets {
		if offsets, err = r.take(4*count, "container offsets"); err != nil {
			return err
		}
	}
	v.containers = slices.Grow(v.containers, count)
	nextKey := 0
	for i := range count {
		key := int(binary.LittleEndian.Uint16(descriptors[i*descriptorSize:]))
		n := int(binary.LittleEndian.Uint16(descriptors[i*descriptorSize+2:])) + 1
		if key < nextKey {
			return corrupt(r.at, "container %d has key %d, not %d or more", i, key, nextKey)
		}
		nextKey = key + 1
		if offsets != nil {
			// Some libraries follow the offsets and some do not: they must agree on the rows.
			if offset := binary.LittleEndian.Uint32(offsets[4*i:]); int64(offset) != int64(r.at-start) {
				return corrupt(r.at, "container %d starts at %d of its bitmap, its offset says %d", i, r.at-start, offset)
			}
		}
		c := container{key: uint64(high)<<16 | uint64(key), at: r.at, n: int32(n), form: bitset}
		if withRuns != nil && withRuns[i/8]&(1<<(i%8)) != 0 {
			c.form = runs
		} else if n <= maxArray {
			c.form = array
		}
		if err := r.payload(c); err != nil {
			return err
		}
		v.containers = append(v.containers, c)
		v.cardinality += int64(n)
	}
	return nil
}

// payload checks the payload of c, which starts at r.at.
func (r *blobReader) payload(c container) error {
	n := int(c.n)
	var problem error
	switch c.form {
	case runs:
		b, err := r.take(2, "run count")
		if err != nil {
			return err
		}
		if b, err = r.take(4*int(binary.LittleEndian.Uint16(b)), "runs"); err != nil {
			return err
		}
		problem = checkRuns(b, n)
	case array:
		b, err := r.take(2*n, "array")
		if err != nil {
			return err
		}
		problem = checkArray(b)
	case bitset:
		b, err := r.take(bitsetBytes, "bit set")
		if err != nil {
			return err
		}
		problem = checkBitset(b, n)
	}
	if problem != nil {
		return &CorruptError{Offset: int64(c.at), Err: problem}
	}
	return nil
}

// checkRuns checks runs of a first value and a length less one, which must be apart from each other and hold n values.
func checkRuns(b []byte, n int) error {
	next := 0 // the least value that the next run may start with
	for ; len(b) > 0; b = b[4:] {
		first, last := int(binary.LittleEndian.Uint16(b)), int(binary.LittleEndian.Uint16(b[2:]))
		last += first
		if first < next {
			return fmt.Errorf("run from %d, where %d or more must follow", first, next)
		}
		if last >= containerSpan {
			return fmt.Errorf("run from %d to %d leaves its container", first, last)
		}
		n -= last - first + 1
		next = last + 2
	}
	if n != 0 {
		return fmt.Errorf("runs hold %d values fewer than said", n)
	}
	return nil
}

// checkArray checks that values ascend, four comparisons at a time: lane by lane, y > x where y has the top bit and x
// has not, or where they agree on it and the rest of y is greater.
func checkArray(b []byte) error {
	const top, low = 0x8000_8000_8000_8000, 0x0001_0001_0001_0001
	i := 0
	if assembly && len(b) >= 34 {
		var ok bool
		if i, ok = ascendingBlocks(&b[0], len(b)); !ok {
			i = 0 // to find out where
		}
	}
	for ; i+10 <= len(b); i += 8 {
		x, y := binary.LittleEndian.Uint64(b[i:]), binary.LittleEndian.Uint64(b[i+2:])
		rest := (y | top) - (x&^top + low) // keeps its top bit where the rest of y is greater; no lane borrows
		if (y&^x|^(y^x)&rest)&top != top {
			break
		}
	}
	for ; i+4 <= len(b); i += 2 {
		if x, y := binary.LittleEndian.Uint16(b[i:]), binary.LittleEndian.Uint16(b[i+2:]); x >= y {
			return fmt.Errorf("array holds %d after %d", y, x)
		}
	}
	return nil
}

func checkBitset(b []byte, n int) error {
	if set := commonBits(b, b); set != n {
		return fmt.Errorf("bit set holds %d values, not %d as said", set, n)
	}
	return nil
}

// AppendBlob appends the vector's portable blob to dst: run-optimised, without empty bitmaps, the same for equal vectors.
func (v *Vector) AppendBlob(dst []byte) []byte {
	v = v.optimised()
	dst = binary.LittleEndian.AppendUint32(dst, portableMagic)
	header := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, 0)
	var count uint64
	for rest := v.containers; len(rest) > 0; {
		high := rest[0].key >> 16
		n := sort.Search(len(rest), func(i int) bool { return rest[i].key>>16 > high })
		dst = binary.LittleEndian.AppendUint32(dst, uint32(high))
		dst = v.appendBitmap(dst, rest[:n])
		rest = rest[n:]
		count++
	}
	binary.LittleEndian.PutUint64(dst[header:], count)
	return dst
}

// appendBitmap appends the 32-bit bitmap of containers whose payloads lie side by side in v's data.
func (v *Vector) appendBitmap(dst []byte, list []container) []byte {
	start := len(dst)
	withRuns := slices.ContainsFunc(list, func(c container) bool { return c.form == runs })
	if withRuns {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(list)-1)<<16|cookieRuns)
		flags := len(dst)
		dst = append(dst, make([]byte, (len(list)+7)/8)...)
		for i, c := range list {
			if c.form == runs {
				dst[flags+i/8] |= 1 << (i % 8)
			}
		}
	} else {
		dst = binary.LittleEndian.AppendUint32(dst, cookieNoRuns)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(list)))
	}
	for _, c := range list {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(c.key))
		dst = binary.LittleEndian.AppendUint16(dst, uint16(c.n-1))
	}
	first, last := list[0], list[len(list)-1]
	if !withRuns || len(list) >= minOffsets {
		payloads := len(dst) - start + 4*len(list)
		for _, c := range list {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(payloads+c.at-first.at))
		}
	}
	return append(dst, v.data[first.at:last.at+v.payload(last).size()]...)
}
