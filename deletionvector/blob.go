package deletionvector

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/RoaringBitmap/roaring/v2"
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
	v := &Vector{}
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
		if err := r.bucket(v, high); err != nil {
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
	v := &Vector{}
	for high := range count {
		b, err := r.take(4, "bitmap size")
		if err != nil {
			return nil, err
		}
		start := r.at
		if err := r.bucket(v, high); err != nil {
			return nil, err
		}
		if size := order.Uint32(b); int64(size) != int64(r.at-start) {
			return nil, corrupt(start-4, "bitmap of %d bytes is said to have %d", r.at-start, size)
		}
	}
	return v, nil
}

// bucket adds the positions of the bitmap that starts at r.at to v, unless it is empty.
func (r *blobReader) bucket(v *Vector, high uint32) error {
	start := r.at
	cardinality, err := r.bitmap()
	if err != nil || cardinality == 0 {
		return err
	}
	low := roaring.New()
	if _, err := low.FromUnsafeBytes(r.blob[start:r.at]); err != nil {
		return corrupt(start, "bitmap: %w", err)
	}
	v.buckets = append(v.buckets, bucket{high, low})
	v.cardinality += int64(cardinality)
	return nil
}

// The cookies that start a bitmap, and what its layout depends on (roaring format specification).
const (
	cookieNoRuns   = 12346 // and the container count follows
	cookieRuns     = 12347 // in the low half; the count less one in the high half, and one bit a container follows
	minOffsets     = 4     // bitmaps with runs have an offset header from so many containers on
	maxArray       = 4096  // an array container holds at most so many values
	bitsetBytes    = 8192
	containerSpan  = 1 << 16
	maxContainers  = 1 << 16
	descriptorSize = 4 // a container's key and its cardinality less one
)

// bitmap walks the bitmap at r.at, checks all that its libraries rely on without checking, and returns its cardinality.
// An array or run container that is not ascending, say, would make intersections miss rows.
func (r *blobReader) bitmap() (cardinality uint64, err error) {
	start := r.at
	b, err := r.take(4, "bitmap cookie")
	if err != nil {
		return 0, err
	}
	var count int
	var runs []byte // bit i: container i holds runs
	switch cookie := binary.LittleEndian.Uint32(b); {
	case cookie == cookieNoRuns:
		b, err := r.take(4, "container count")
		if err != nil {
			return 0, err
		}
		n := binary.LittleEndian.Uint32(b)
		if n > maxContainers {
			return 0, corrupt(r.at-4, "%d containers", n)
		}
		count = int(n)
	case cookie&0xFFFF == cookieRuns:
		count = int(cookie>>16) + 1
		if runs, err = r.take((count+7)/8, "run flags"); err != nil {
			return 0, err
		}
	default:
		return 0, corrupt(start, "unknown bitmap cookie %d", cookie)
	}
	descriptors, err := r.take(count*descriptorSize, "container descriptors")
	if err != nil {
		return 0, err
	}
	var offsets []byte
	if runs == nil || count >= minOffsets {
		if offsets, err = r.take(4*count, "container offsets"); err != nil {
			return 0, err
		}
	}
	nextKey := 0
	for i := range count {
		key := int(binary.LittleEndian.Uint16(descriptors[i*descriptorSize:]))
		n := int(binary.LittleEndian.Uint16(descriptors[i*descriptorSize+2:])) + 1
		if key < nextKey {
			return 0, corrupt(r.at, "container %d has key %d, not %d or more", i, key, nextKey)
		}
		nextKey = key + 1
		if offsets != nil {
			// Some libraries follow the offsets and some do not: they must agree on the rows.
			if offset := binary.LittleEndian.Uint32(offsets[4*i:]); int64(offset) != int64(r.at-start) {
				return 0, corrupt(r.at, "container %d starts at %d of its bitmap, its offset says %d", i, r.at-start, offset)
			}
		}
		if err := r.container(n, runs != nil && runs[i/8]&(1<<(i%8)) != 0); err != nil {
			return 0, err
		}
		cardinality += uint64(n)
	}
	return cardinality, nil
}

// container checks the container at r.at, which must hold n values.
func (r *blobReader) container(n int, runs bool) error {
	start := r.at
	var problem error
	switch {
	case runs:
		b, err := r.take(2, "run count")
		if err != nil {
			return err
		}
		if b, err = r.take(4*int(binary.LittleEndian.Uint16(b)), "runs"); err != nil {
			return err
		}
		problem = checkRuns(b, n)
	case n <= maxArray:
		b, err := r.take(2*n, "array")
		if err != nil {
			return err
		}
		problem = checkArray(b)
	default:
		b, err := r.take(bitsetBytes, "bit set")
		if err != nil {
			return err
		}
		problem = checkBitset(b, n)
	}
	if problem != nil {
		return &CorruptError{Offset: int64(start), Err: problem}
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

func checkArray(b []byte) error {
	last := -1
	for ; len(b) >= 2; b = b[2:] {
		value := int(binary.LittleEndian.Uint16(b))
		if value <= last {
			return fmt.Errorf("array holds %d after %d", value, last)
		}
		last = value
	}
	return nil
}

func checkBitset(b []byte, n int) error {
	set := 0
	for ; len(b) >= 8; b = b[8:] {
		set += bits.OnesCount64(binary.LittleEndian.Uint64(b))
	}
	if set != n {
		return fmt.Errorf("bit set holds %d values, not %d as said", set, n)
	}
	return nil
}

// AppendBlob appends the vector's portable blob to dst: run-optimised, without empty bitmaps, the same for equal vectors.
func (v *Vector) AppendBlob(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, portableMagic)
	v = v.optimised()
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(v.buckets)))
	for _, b := range v.buckets {
		dst = binary.LittleEndian.AppendUint32(dst, b.high)
		w := sliceWriter(dst)
		if _, err := b.low.WriteTo(&w); err != nil {
			panic("deletionvector: a bitmap refuses to be written: " + err.Error()) // a fault of ours: memory takes all
		}
		dst = w
	}
	return dst
}

// A sliceWriter appends what it is given.
type sliceWriter []byte

func (w *sliceWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}
