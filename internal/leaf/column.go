package leaf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A Column reads the entries of a chunk in order. One goroutine uses it at a time; the caller closes it.
type Column struct {
	chunk  Chunk
	mem    memory.Allocator
	lim    Limits
	*state // nil after Close

	done int64 // entries given out or passed over
}

// state is what columns pass on to later ones.
type state struct {
	pages pages

	// The data page in hand.
	left       int // entries not given out yet
	defs, reps hybrid
	indexed    bool   // values are indexes into the dictionary
	indexes    hybrid // those
	values     []byte // PLAIN
	bit        int    // the next boolean in values

	// The dictionary; hasDict says whether there is one.
	hasDict bool
	entries int
	fixed   []byte   // values of fixed width
	offsets []uint32 // of byte arrays in data, one more than entries
	data    []byte
	longest int // bytes of the longest byte array

	scratch []uint32 // indexes
}

var states = sync.Pool{New: func() any { return new(state) }}

// maxPooledBytes is the size from which on buffers are left to the garbage collector.
const maxPooledBytes = 8 << 20

// Column begins to read a chunk. Its arrays come from mem.
func (f *File) Column(c Chunk, mem memory.Allocator) *Column {
	s := states.Get().(*state)
	s.pages.init(f, &c)
	s.left, s.hasDict = 0, false
	return &Column{chunk: c, mem: mem, lim: f.lim, state: s}
}

// Close ends the reading. What was read stays good.
func (c *Column) Close() {
	if s := c.state; s != nil {
		c.state = nil
		if cap(s.pages.window)+cap(s.pages.body)+cap(s.fixed)+cap(s.data) <= maxPooledBytes {
			s.pages.r, s.values, s.defs, s.reps, s.indexes = nil, nil, hybrid{}, hybrid{}, hybrid{}
			states.Put(s)
		}
	}
}

// Chunk returns what is read.
func (c *Column) Chunk() *Chunk { return &c.chunk }

// Done returns how many entries were read or skipped.
func (c *Column) Done() int64 { return c.done }

// Entries are consecutive entries of a leaf column: of a flat leaf, one a row. The values, of entries with the leaf's
// highest definition level, stand densely.
type Entries struct {
	Len  int
	Def  []uint8 // definition levels; empty when all have the highest
	Rep  []uint8 // repetition levels; empty when the leaf has no repeated ancestor
	node *Node
	n    int            // values
	buf  *memory.Buffer // values of fixed width, little endian; a byte for a boolean

	offsets *memory.Buffer // of byte arrays in buf: int32, one more than n
	size    int            // bytes of byte arrays in buf
}

// Release frees the values.
func (e *Entries) Release() {
	for _, b := range []**memory.Buffer{&e.buf, &e.offsets} {
		if *b != nil {
			(*b).Release()
			*b = nil
		}
	}
}

// reset makes e ready for up to n entries of a leaf, reusing its memory.
func (e *Entries) reset(node *Node, n int, mem memory.Allocator) {
	e.node, e.Len, e.n, e.size = node, 0, 0, 0
	e.Def, e.Rep = e.Def[:0], e.Rep[:0]
	if e.buf == nil {
		e.buf = memory.NewResizableBuffer(mem)
	}
	if node.Physical != ByteArray {
		e.buf.Resize(n * node.fixedWidth())
		return
	}
	if e.offsets == nil {
		e.offsets = memory.NewResizableBuffer(mem)
	}
	e.offsets.Resize((n + 1) * arrow.Int32SizeBytes)
	arrow.Int32Traits.CastFromBytes(e.offsets.Bytes())[0] = 0
}

// Values returns the number of values.
func (e *Entries) Values() int { return e.n }

// Bytes returns value i of a ByteArray or FixedLenByteArray. It is part of e.
func (e *Entries) Bytes(i int) []byte {
	if w := e.node.fixedWidth(); e.node.Physical != ByteArray {
		return e.buf.Bytes()[i*w : (i+1)*w]
	}
	offsets := arrow.Int32Traits.CastFromBytes(e.offsets.Bytes())
	return e.buf.Bytes()[offsets[i]:offsets[i+1]]
}

// Bits returns value i of a type of one, four or eight bytes, sign-extended where it is an integer.
func (e *Entries) Bits(i int) int64 {
	switch b := e.buf.Bytes(); e.node.Physical {
	case Boolean:
		return int64(b[i])
	case Int32, Float:
		return int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
	default:
		return int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
}

// Read reads the next entries into e, whose memory it reuses: n of them, or fewer where the chunk ends or the values become many
// bytes. It gives none only at the chunk's end.
func (c *Column) Read(e *Entries, n int) error {
	node := c.chunk.Node
	n = int(min(int64(n), c.chunk.Entries-c.done))
	if w := node.fixedWidth(); w > 16 {
		n = min(n, max(1, c.lim.RunBytes/w))
	}
	e.reset(node, n, c.mem)
	for e.Len < n && (e.Len == 0 || e.size < c.lim.RunBytes) {
		if c.left == 0 {
			if err := c.nextPage(); err != nil {
				return err
			}
			continue
		}
		k := min(n-e.Len, c.left)
		if node.Physical == ByteArray && c.indexed {
			k = min(k, max(1, (c.lim.RunBytes-e.size)/max(1, c.longest)))
		}
		if err := c.readInPage(e, k); err != nil {
			return err
		}
	}
	return nil
}

// readInPage appends up to k entries, and one at least, of the page in hand.
func (c *Column) readInPage(e *Entries, k int) error {
	node := c.chunk.Node
	values := k
	if node.Def > 0 {
		same, level, err := c.defs.repeats(k)
		if err != nil {
			return err
		}
		switch {
		case same > 0 && level > uint32(node.Def):
			return corrupt("definition level %d of %d", level, node.Def)
		case same > 0:
			k, values = same, 0
			if level == uint32(node.Def) {
				values = k
			}
			if values == 0 || len(e.Def) > 0 {
				e.highLevels()
				e.Def = grown(e.Def, k)
				fill(e.Def[e.Len:], uint8(level))
			}
		default:
			k = min(k, c.defs.packed)
			e.highLevels()
			e.Def = grown(e.Def, k)
			if err := decodeHybrid(&c.defs, e.Def[e.Len:]); err != nil {
				return err
			}
			values = 0
			for _, d := range e.Def[e.Len:] {
				if d == node.Def {
					values++
				} else if d > node.Def {
					return corrupt("definition level %d of %d", d, node.Def)
				}
			}
		}
	}
	if node.Rep > 0 {
		e.Rep = grown(e.Rep, k)
		reps := e.Rep[e.Len:]
		if err := decodeHybrid(&c.reps, reps); err != nil {
			return err
		}
		for _, r := range reps {
			if r > node.Rep {
				return corrupt("repetition level %d of %d", r, node.Rep)
			}
		}
	}
	if err := c.readValues(e, values); err != nil {
		return err
	}
	e.Len += k
	c.left -= k
	c.done += int64(k)
	return nil
}

// highLevels writes down the levels of the entries so far, all of which have the highest, unless they are already.
func (e *Entries) highLevels() {
	if len(e.Def) < e.Len {
		e.Def = grown(e.Def, e.Len-len(e.Def))
		fill(e.Def, e.node.Def)
	}
}

// grown returns s with n more elements of any value.
func grown[T any](s []T, n int) []T {
	if len(s)+n <= cap(s) {
		return s[:len(s)+n]
	}
	return append(s, make([]T, n)...)
}

func fill(s []uint8, v uint8) {
	for i := range s {
		s[i] = v
	}
}

// readValues appends n values of the page in hand.
func (c *Column) readValues(e *Entries, n int) error {
	if n == 0 {
		return nil
	}
	node := c.chunk.Node
	if node.Physical == ByteArray {
		return c.readByteArrays(e, n)
	}
	w := node.fixedWidth()
	dst := e.buf.Bytes()[e.n*w : (e.n+n)*w]
	e.n += n
	switch {
	case c.indexed:
		for len(dst) > 0 { // one and the same value, again and again, needs no indexes
			same, x, err := c.indexes.repeats(len(dst) / w)
			if err != nil {
				return err
			}
			if same == 0 {
				break
			}
			if int64(x) >= int64(c.entries) {
				return corrupt("index %d into a dictionary of %d", x, c.entries)
			}
			repeat(dst[:same*w], c.fixed[int(x)*w:int(x+1)*w])
			dst = dst[same*w:]
		}
		if len(dst) == 0 {
			return nil
		}
		indexes, err := c.readIndexes(len(dst) / w)
		if err != nil {
			return err
		}
		switch w {
		case 4:
			gather(arrow.Uint32Traits.CastFromBytes(dst), arrow.Uint32Traits.CastFromBytes(c.fixed), indexes)
		case 8:
			gather(arrow.Uint64Traits.CastFromBytes(dst), arrow.Uint64Traits.CastFromBytes(c.fixed), indexes)
		default:
			for i, x := range indexes {
				copy(dst[i*w:(i+1)*w], c.fixed[int(x)*w:])
			}
		}
	case node.Physical == Boolean:
		if c.bit+n > len(c.values)*8 {
			return corrupt("a page of booleans ends early")
		}
		for i := range dst {
			dst[i] = c.values[c.bit>>3] >> (c.bit & 7) & 1
			c.bit++
		}
	default:
		if len(dst) > len(c.values) {
			return corrupt("a page's values end early")
		}
		copy(dst, c.values)
		c.values = c.values[len(dst):]
	}
	return nil
}

// repeat fills dst with copies of v.
func repeat(dst, v []byte) {
	for n := copy(dst, v); n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

func gather[T any](dst, dict []T, indexes []uint32) {
	for i, x := range indexes {
		dst[i] = dict[x]
	}
}

// readIndexes reads n indexes, each of which is one of an entry of the dictionary.
func (c *Column) readIndexes(n int) ([]uint32, error) {
	if cap(c.scratch) < n {
		c.scratch = make([]uint32, n)
	}
	indexes := c.scratch[:n]
	if err := decodeHybrid(&c.indexes, indexes); err != nil {
		return nil, err
	}
	var highest uint32
	for _, x := range indexes {
		highest = max(highest, x)
	}
	if int64(highest) >= int64(c.entries) {
		return nil, corrupt("index %d into a dictionary of %d", highest, c.entries)
	}
	return indexes, nil
}

func (c *Column) readByteArrays(e *Entries, n int) error {
	offsets := arrow.Int32Traits.CastFromBytes(e.offsets.Bytes())[e.n+1 : e.n+1+n]
	if c.indexed {
		indexes, err := c.readIndexes(n)
		if err != nil {
			return err
		}
		for i, x := range indexes {
			if err := e.appendBytes(c.data[c.offsets[x]:c.offsets[x+1]]); err != nil {
				return err
			}
			offsets[i] = int32(e.size)
		}
	} else {
		for i := range offsets {
			v, rest, err := byteArray(c.values)
			if err != nil {
				return err
			}
			if err := e.appendBytes(v); err != nil {
				return err
			}
			c.values = rest
			offsets[i] = int32(e.size)
		}
	}
	e.n += n
	return nil
}

func (e *Entries) appendBytes(v []byte) error {
	size := e.size + len(v)
	if size > e.buf.Len() {
		if size > 1<<31-1 {
			return unsupported("%d bytes of values at once", size)
		}
		e.buf.Resize(min(max(2*size, 1<<12), 1<<31-1))
	}
	copy(e.buf.Bytes()[e.size:], v)
	e.size = size
	return nil
}

// byteArray takes a PLAIN byte array off src.
func byteArray(src []byte) (v, rest []byte, err error) {
	if len(src) < 4 {
		return nil, nil, corrupt("a page's values end early")
	}
	n := binary.LittleEndian.Uint32(src)
	if uint64(n) > uint64(len(src)-4) {
		return nil, nil, corrupt("a value of %d bytes, %d are left", n, len(src)-4)
	}
	return src[4 : 4+n], src[4+n:], nil
}

// Skip passes over the next n entries of a flat leaf, decompressing only the page in which it stops.
func (c *Column) Skip(n int64) error {
	if n > c.chunk.Entries-c.done {
		return fmt.Errorf("cannot skip %d entries of %d", n, c.chunk.Entries-c.done)
	}
	var passed Entries
	defer passed.Release()
	for n > 0 {
		switch {
		case c.left > 0 && int64(c.left) <= n:
			n -= int64(c.left)
			c.done += int64(c.left)
			c.left = 0
		case c.left > 0:
			if err := c.Read(&passed, int(min(n, 1<<12))); err != nil {
				return err
			}
			n -= int64(passed.Len)
		default:
			h, err := c.header(0)
			if err != nil {
				return err
			}
			if isData := h.kind == dataPage || h.kind == dataPageV2; isData && h.entries <= n {
				c.pages.skipBody(&h)
				n -= h.entries
				c.done += h.entries
				continue
			}
			if err := c.load(&h); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextPage loads pages up to the next one with data.
func (c *Column) nextPage() error {
	h, err := c.header(readAhead)
	if err != nil {
		return err
	}
	return c.load(&h)
}

func (c *Column) header(ahead int) (pageHeader, error) {
	h, err := c.pages.header(ahead)
	switch {
	case errors.Is(err, io.EOF):
		return h, corrupt("the pages end after %d entries of %d", c.done, c.chunk.Entries)
	case err != nil:
		return h, err
	case (h.kind == dataPage || h.kind == dataPageV2) && h.entries > c.chunk.Entries-c.done:
		return h, corrupt("a page of %d entries after %d of %d", h.entries, c.done, c.chunk.Entries)
	}
	return h, nil
}

// load takes the page into hand whose header was read last.
func (c *Column) load(h *pageHeader) error {
	if h.kind == indexPage {
		c.pages.skipBody(h)
		return nil
	}
	body, err := c.pages.readBody(h)
	if err != nil {
		return err
	}
	if h.kind == dictionaryPage {
		return c.loadDictionary(h, body)
	}
	node := c.chunk.Node
	if h.kind == dataPage {
		if c.reps, body, err = levelsV1(h.repEnc, node.Rep, body); err == nil {
			c.defs, body, err = levelsV1(h.defEnc, node.Def, body)
		}
		if err != nil {
			return err
		}
	} else {
		c.reps = newHybrid(body[:h.repBytes], bitWidth(node.Rep))
		body = body[h.repBytes:]
		c.defs = newHybrid(body[:h.defBytes], bitWidth(node.Def))
		body = body[h.defBytes:]
	}
	c.left, c.indexed, c.values, c.bit = int(h.entries), false, body, 0
	switch h.encoding {
	case plain:
	case plainDictionary, rleDictionary:
		c.indexed = true
		if len(body) == 0 { // a page of nulls alone
			c.indexes = hybrid{}
			break
		}
		if !c.hasDict {
			return corrupt("indexes without a dictionary")
		}
		if body[0] > 32 {
			return corrupt("indexes of %d bits", body[0])
		}
		c.indexes = newHybrid(body[1:], uint(body[0]))
	default:
		c.values, err = plainify(h.encoding, node, body, c.lim.MaxPageBytes)
	}
	return err
}

// levelsV1 takes a version 1 page's levels of one kind off its body.
func levelsV1(e encoding, most uint8, body []byte) (hybrid, []byte, error) {
	if most == 0 {
		return hybrid{}, body, nil
	}
	if e != rle {
		return hybrid{}, nil, unsupported("levels in encoding %d", e)
	}
	levels, rest, err := byteArray(body)
	return newHybrid(levels, bitWidth(most)), rest, err
}

func (c *Column) loadDictionary(h *pageHeader, body []byte) error {
	if c.hasDict {
		return corrupt("two dictionaries")
	}
	if h.encoding != plain && h.encoding != plainDictionary {
		return unsupported("dictionary in encoding %d", h.encoding)
	}
	c.hasDict = true
	if w := c.chunk.Node.fixedWidth(); w > 0 {
		if h.entries*int64(w) > int64(len(body)) {
			return corrupt("a dictionary of %d values in %d bytes", h.entries, len(body))
		}
		c.entries = int(h.entries)
		c.fixed = append(c.fixed[:0], body[:c.entries*w]...)
		return nil
	}
	if h.entries*4 > int64(len(body)) {
		return corrupt("a dictionary of %d values in %d bytes", h.entries, len(body))
	}
	c.entries, c.longest = int(h.entries), 0
	c.offsets, c.data = append(c.offsets[:0], 0), c.data[:0]
	for range c.entries {
		v, rest, err := byteArray(body)
		if err != nil {
			return err
		}
		body = rest
		c.data = append(c.data, v...)
		c.offsets = append(c.offsets, uint32(len(c.data)))
		c.longest = max(c.longest, len(v))
	}
	return nil
}
