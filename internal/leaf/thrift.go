package leaf

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// errShort says that a Thrift struct goes on past the bytes at hand.
var errShort = errors.New("the bytes end inside a Thrift struct")

// A wireType is a type of Thrift's compact protocol. In a struct's field header a boolean's type is its value.
type wireType byte

const (
	wireStop wireType = iota
	wireTrue
	wireFalse
	wireByte
	wireI16
	wireI32
	wireI64
	wireDouble
	wireBinary
	wireList
	wireSet
	wireMap
	wireStruct
	wireUUID
)

// maxDepth is how deep structs and schemas may nest. Levels stay within a byte.
const maxDepth = 64

// A wire reads Thrift's compact protocol. Its first failure sticks: later reads give zeros and stop all loops, so callers look at
// err once. Nothing is allocated.
type wire struct {
	buf []byte
	pos int
	err error
}

func (w *wire) fail(err error) {
	if w.err == nil {
		w.err = err
	}
	w.pos = len(w.buf)
}

func (w *wire) byte() byte {
	if w.pos >= len(w.buf) {
		w.fail(errShort)
		return 0
	}
	b := w.buf[w.pos]
	w.pos++
	return b
}

func (w *wire) uvarint() uint64 {
	var v uint64
	for shift := uint(0); shift < 64; shift += 7 {
		b := w.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	w.fail(corrupt("a number of more than 64 bits"))
	return 0
}

// int reads a zigzag number: i16, i32 or i64.
func (w *wire) int() int64 {
	v := w.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// bytes reads a binary or string. The result is a part of buf.
func (w *wire) bytes() []byte {
	n := w.uvarint()
	if n > uint64(len(w.buf)-w.pos) {
		w.fail(errShort)
		return nil
	}
	b := w.buf[w.pos : w.pos+int(n) : w.pos+int(n)]
	w.pos += int(n)
	return b
}

// field reads the header of a struct's next field; last is that of the one before. It gives wireStop at the struct's end.
func (w *wire) field(last *int16) wireType {
	b := w.byte()
	if w.err != nil || b&0x0f == byte(wireStop) {
		return wireStop
	}
	if delta := int16(b >> 4); delta != 0 {
		*last += delta
	} else {
		*last = int16(w.int())
	}
	return wireType(b & 0x0f)
}

// list reads the header of a list or set. Every element takes a byte at least, so n is never more than what is left.
func (w *wire) list() (n int, elem wireType) {
	b := w.byte()
	size := uint64(b >> 4)
	if size == 15 {
		size = w.uvarint()
	}
	if size > uint64(len(w.buf)-w.pos) {
		w.fail(errShort)
		return 0, wireStop
	}
	return int(size), wireType(b & 0x0f)
}

// skip passes over a value.
func (w *wire) skip(t wireType, depth int) {
	if depth > maxDepth {
		w.fail(corrupt("structs nested deeper than %d", maxDepth))
		return
	}
	switch t {
	case wireTrue, wireFalse: // the value is in the type
	case wireByte:
		w.byte()
	case wireI16, wireI32, wireI64:
		w.uvarint()
	case wireDouble:
		w.take(8)
	case wireUUID:
		w.take(16)
	case wireBinary:
		w.bytes()
	case wireList, wireSet:
		n, elem := w.list()
		for ; n > 0 && w.err == nil; n-- {
			switch {
			case elem == wireStruct:
				w.skipStruct(depth + 1)
			case elem == wireBinary && w.pos < len(w.buf) && int(w.buf[w.pos]) < min(0x80, len(w.buf)-w.pos):
				w.pos += 1 + int(w.buf[w.pos])
			case elem == wireI32 && w.pos < len(w.buf) && w.buf[w.pos] < 0x80:
				w.pos++
			default:
				w.skipElement(elem, depth+1)
			}
		}
	case wireMap:
		n := w.uvarint()
		if n == 0 {
			return
		}
		kv := w.byte()
		for ; n > 0 && w.err == nil; n-- {
			w.skipElement(wireType(kv>>4), depth+1)
			w.skipElement(wireType(kv&0x0f), depth+1)
		}
	case wireStruct:
		w.skipStruct(depth)
	default:
		w.fail(corrupt("a Thrift value of type %d", t))
	}
}

// skipStruct passes over a struct. Nearly all of a footer is passed over, so that the values which it is made of are here once more,
// without a call for each byte.
func (w *wire) skipStruct(depth int) {
	if depth > maxDepth {
		w.fail(corrupt("structs nested deeper than %d", maxDepth))
		return
	}
	buf, pos := w.buf, w.pos
	for pos < len(buf) {
		header := buf[pos]
		pos++
		t := wireType(header & 0x0f)
		if t == wireStop {
			w.pos = pos
			return
		}
		if header>>4 == 0 { // the field's number stands apart
			pos = pastVarint(buf, pos)
		}
		switch t {
		case wireTrue, wireFalse:
		case wireByte:
			pos++
		case wireI16, wireI32, wireI64:
			pos = pastVarint(buf, pos)
		case wireBinary:
			if pos < len(buf) && buf[pos] < 0x80 {
				pos += 1 + int(buf[pos])
				continue
			}
			w.pos = min(pos, len(buf))
			w.bytes()
			pos = w.pos
		default:
			w.pos = min(pos, len(buf))
			if t == wireStruct {
				w.skipStruct(depth + 1)
			} else {
				w.skip(t, depth+1)
			}
			pos = w.pos
		}
	}
	w.fail(errShort)
}

// pastVarint returns where a number ends that begins at pos, or a position past buf if it does not end in it or has more than ten
// bytes.
func pastVarint(buf []byte, pos int) int {
	if pos+8 <= len(buf) {
		if ends := ^binary.LittleEndian.Uint64(buf[pos:]) & 0x8080_8080_8080_8080; ends != 0 {
			return pos + bits.TrailingZeros64(ends)>>3 + 1
		}
	}
	for i := pos; i < min(len(buf), pos+10); i++ {
		if buf[i] < 0x80 {
			return i + 1
		}
	}
	return len(buf) + 1
}

// skipElement passes over an element of a container, where a boolean takes a byte.
func (w *wire) skipElement(t wireType, depth int) {
	if t == wireTrue || t == wireFalse {
		w.byte()
		return
	}
	w.skip(t, depth)
}

func (w *wire) take(n int) {
	if n > len(w.buf)-w.pos {
		w.fail(errShort)
		return
	}
	w.pos += n
}

// Readers of one field each, which pass over a value of another type than the format says.

func (w *wire) intField(t wireType, into *int64) {
	switch t {
	case wireI16, wireI32, wireI64:
		*into = w.int()
	case wireByte:
		*into = int64(int8(w.byte()))
	default:
		w.skip(t, 0)
	}
}

func (w *wire) bytesField(t wireType, into *[]byte) {
	if t != wireBinary {
		w.skip(t, 0)
		return
	}
	*into = w.bytes()
}

// structField calls member for each field of a struct; member must read or skip the field's value.
func (w *wire) structField(t wireType, member func(id int16, t wireType)) {
	if t != wireStruct {
		w.skip(t, 0)
		return
	}
	var id int16
	for t := w.field(&id); t != wireStop; t = w.field(&id) {
		member(id, t)
	}
}

// structList calls element for each struct of a list; element must read the whole struct.
func (w *wire) structList(t wireType, element func()) { w.listOf(t, wireStruct, element) }

// listOf calls element for each element of a list, which must read it. A list of other elements is passed over. Booleans have either
// of their types, and are a byte each, 1 for true.
func (w *wire) listOf(t, want wireType, element func()) {
	if t != wireList {
		w.skip(t, 0)
		return
	}
	n, elem := w.list()
	if elem == wireFalse {
		elem = wireTrue
	}
	for ; n > 0 && w.err == nil; n-- {
		if elem != want {
			w.skipElement(elem, 0)
			continue
		}
		element()
	}
}
