package leaf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/deltaskip/deltaskip/action"
)

// Limits bound what reading a file may cost. The zero Limits are generous enough for any file that a writer means well.
type Limits struct {
	MaxFooterBytes int   // 0 means 64 MiB
	MaxPageBytes   int   // one page, compressed or not; 0 means 64 MiB
	MaxRows        int64 // of the file; 0 means 1<<28
	// RunBytes is how many bytes of values one Read aims at: it gives fewer rows rather than more bytes. 0 means 32 MiB.
	RunBytes int
}

func (l Limits) withDefaults() Limits {
	if l.MaxFooterBytes <= 0 {
		l.MaxFooterBytes = 64 << 20
	}
	if l.MaxPageBytes <= 0 {
		l.MaxPageBytes = 64 << 20
	}
	if l.MaxRows <= 0 {
		l.MaxRows = 1 << 28
	}
	if l.RunBytes <= 0 {
		l.RunBytes = 32 << 20
	}
	return l
}

// maxPageBytes is the name of the limit, for errors.
const maxPageBytes = "MaxPageBytes"

const (
	maxElements  = 1 << 17 // of a schema
	maxRowGroups = 1 << 20
	tailBytes    = 64 << 10 // read at once from the end of a file: most footers fit
	trailerBytes = 8        // footer length and magic
)

// A File is a parquet file with its footer read. It is immutable and safe for concurrent use if its ReaderAt is.
type File struct {
	Root      *Node
	Leaves    []*Node
	Rows      int64
	CreatedBy string

	r       io.ReaderAt
	lim     Limits
	footer  []byte // the Thrift struct
	groups  []rowGroup
	columns []uint32 // positions in footer of the column chunks of all row groups, one after the other
	pairs   int      // position in footer of the list of keys and values; 0 when there is none
	ordered []bool   // per leaf: min_value and max_value follow the order of its type
	dataEnd int64    // where the footer begins
}

type rowGroup struct {
	first, n int // of File.columns, those of its column chunks
	rows     int64
}

// Open reads the footer of a file of the given size.
func Open(r io.ReaderAt, size int64, lim Limits) (*File, error) {
	f := &File{r: r, lim: lim.withDefaults()}
	if err := f.readFooter(size); err != nil {
		return nil, err
	}
	if err := f.parseFooter(); err != nil {
		if errors.Is(err, errShort) {
			err = corrupt("footer: %v", err)
		}
		return nil, err
	}
	return f, nil
}

func (f *File) readFooter(size int64) error {
	if size < trailerBytes+4 {
		return corrupt("%d bytes are too few", size)
	}
	tail := make([]byte, min(size, tailBytes))
	if err := readAt(f.r, tail, size-int64(len(tail))); err != nil {
		return err
	}
	trailer := tail[len(tail)-trailerBytes:]
	switch magic := trailer[4:]; {
	case bytes.Equal(magic, []byte("PARE")):
		return unsupported("encrypted footer")
	case !bytes.Equal(magic, []byte("PAR1")):
		return corrupt("no parquet magic at the end")
	}
	length := int64(binary.LittleEndian.Uint32(trailer))
	if length > size-trailerBytes-4 {
		return corrupt("a footer of %d bytes in a file of %d", length, size)
	}
	if length > int64(f.lim.MaxFooterBytes) {
		return tooLarge("a footer", length, int64(f.lim.MaxFooterBytes), "MaxFooterBytes")
	}
	f.dataEnd = size - trailerBytes - length
	if have := int64(len(tail) - trailerBytes); length <= have {
		f.footer = bytes.Clone(tail[have-length : have])
		return nil
	}
	f.footer = make([]byte, length)
	return readAt(f.r, f.footer, f.dataEnd)
}

// readAt fills b, and says so when the file is shorter than it was when it was opened.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case errors.Is(err, io.EOF):
		return corrupt("the file ends at byte %d", at+int64(n))
	case err == nil:
		return fmt.Errorf("read %d bytes of %d at byte %d without an error", n, len(b), at)
	}
	return err
}

// parseFooter reads parquet.thrift's FileMetaData. Of row groups it only notes where they are.
func (f *File) parseFooter() error {
	w := &wire{buf: f.footer}
	var elements []schemaElement
	var orders []bool
	var createdBy []byte
	w.structField(wireStruct, func(id int16, t wireType) {
		switch id {
		case 2:
			w.structList(t, func() {
				if len(elements) == maxElements {
					w.fail(corrupt("a schema of more than %d elements", maxElements))
					return
				}
				elements = append(elements, w.schemaElement())
			})
		case 3:
			w.intField(t, &f.Rows)
		case 4:
			w.structList(t, func() {
				if len(f.groups) == maxRowGroups {
					w.fail(corrupt("more than %d row groups", maxRowGroups))
					return
				}
				f.groups = append(f.groups, f.rowGroup(w))
			})
		case 5:
			if t == wireList {
				f.pairs = w.pos
			}
			w.skip(t, 0)
		case 6:
			w.bytesField(t, &createdBy)
		case 7:
			w.structList(t, func() {
				if len(orders) == maxElements {
					w.fail(corrupt("more than %d column orders", maxElements))
					return
				}
				ordered := false
				w.structField(wireStruct, func(id int16, t wireType) {
					ordered = ordered || id == 1 // TypeDefinedOrder
					w.skip(t, 0)
				})
				orders = append(orders, ordered)
			})
		case 8:
			w.fail(unsupported("encrypted columns"))
		default:
			w.skip(t, 0)
		}
	})
	if w.err != nil {
		return w.err
	}
	f.CreatedBy = string(createdBy)
	var err error
	if f.Root, f.Leaves, err = buildSchema(elements); err != nil {
		return err
	}
	f.ordered = make([]bool, len(f.Leaves))
	copy(f.ordered, orders)
	var rows int64
	for i, g := range f.groups {
		if g.rows < 0 || g.rows > f.Rows-rows {
			return corrupt("row group %d has %d rows, the file %d", i, g.rows, f.Rows)
		}
		rows += g.rows
	}
	if rows != f.Rows {
		return corrupt("the row groups have %d rows, the file %d", rows, f.Rows)
	}
	if f.Rows > f.lim.MaxRows {
		return &action.LimitError{What: "a file", Size: f.Rows, Unit: "rows", Max: f.lim.MaxRows, Option: "MaxRows"}
	}
	return nil
}

// rowGroup reads parquet.thrift's RowGroup. Of column chunks it only notes where they are: four bytes for each, which takes one at
// least.
func (f *File) rowGroup(w *wire) rowGroup {
	g := rowGroup{first: len(f.columns)}
	w.structField(wireStruct, func(id int16, t wireType) {
		switch id {
		case 1:
			f.columns, g.n = f.columns[:g.first], 0
			w.structList(t, func() {
				f.columns = append(f.columns, uint32(w.pos))
				w.skipStruct(0)
			})
			g.n = len(f.columns) - g.first
		case 3:
			w.intField(t, &g.rows)
		default:
			w.skip(t, 0)
		}
	})
	return g
}

// Metadata returns what the writer noted in the footer under a key, and whether it did.
func (f *File) Metadata(key string) (value string, ok bool) {
	if f.pairs == 0 {
		return "", false
	}
	w := &wire{buf: f.footer, pos: f.pairs}
	w.structList(wireList, func() {
		var k, v []byte
		w.structField(wireStruct, func(id int16, t wireType) {
			switch id {
			case 1:
				w.bytesField(t, &k)
			case 2:
				w.bytesField(t, &v)
			default:
				w.skip(t, 0)
			}
		})
		if w.err == nil && string(k) == key {
			value, ok = string(v), true
		}
	})
	return value, ok
}

// RowGroups returns the number of row groups.
func (f *File) RowGroups() int { return len(f.groups) }

// GroupRows returns the number of rows of a row group.
func (f *File) GroupRows(group int) int64 { return f.groups[group].rows }

// A Chunk says where the entries of one leaf in one row group are, and what the footer knows about them.
type Chunk struct {
	Node    *Node
	Group   int
	Entries int64 // for a flat leaf, the rows of the group

	Offset, Bytes int64 // in the file
	Uncompressed  int64 // bytes
	codec         codec

	Nulls int64 // entries without a value; -1 when unknown
	// Min and Max bound the values: as the PLAIN encoding has them, without the length of a ByteArray; nil when unknown or not
	// to be trusted.
	Min, Max []byte

	offsetIndex, columnIndex section
}

// A section is where something lies in the file; one of no bytes is absent.
type section struct{ offset, bytes int64 }

// Chunks finds the chunks of the given leaves, in their order, in a row group. It fails if one of them breaks the format, or
// lies outside the file; the error is a *ChunkError where a single leaf is to blame. What the footer says of other leaves is not
// looked at.
func (f *File) Chunks(group int, leaves ...*Node) ([]Chunk, error) {
	g := f.groups[group]
	if g.n != len(f.Leaves) {
		return nil, corrupt("row group %d has %d columns, the schema %d", group, g.n, len(f.Leaves))
	}
	chunks := make([]Chunk, len(leaves))
	w := &wire{buf: f.footer}
	for i, n := range leaves {
		w.pos = int(f.columns[g.first+n.Leaf])
		if err := f.chunk(w, &chunks[i], group, n); err != nil {
			return nil, &ChunkError{n, err}
		}
	}
	return chunks, nil
}

// chunk reads parquet.thrift's ColumnChunk.
func (f *File) chunk(w *wire, c *Chunk, group int, n *Node) error {
	c.Node, c.Group, c.Nulls = n, group, -1
	physical, codecID, dataOffset, dictOffset := int64(-1), int64(-1), int64(-1), int64(-1)
	var path []byte
	elsewhere, encrypted, named := false, false, true
	var s statistics
	w.structField(wireStruct, func(id int16, t wireType) {
		switch id {
		case 1:
			w.bytesField(t, &path)
			elsewhere = len(path) > 0
		case 3:
			w.structField(t, func(id int16, t wireType) {
				switch id {
				case 1:
					w.intField(t, &physical)
				case 3:
					named = w.pathIs(t, n)
				case 4:
					w.intField(t, &codecID)
				case 5:
					w.intField(t, &c.Entries)
				case 6:
					w.intField(t, &c.Uncompressed)
				case 7:
					w.intField(t, &c.Bytes)
				case 9:
					w.intField(t, &dataOffset)
				case 11:
					w.intField(t, &dictOffset)
				case 12:
					w.statistics(t, &s)
				default:
					w.skip(t, 0)
				}
			})
		case 4:
			w.intField(t, &c.offsetIndex.offset)
		case 5:
			w.intField(t, &c.offsetIndex.bytes)
		case 6:
			w.intField(t, &c.columnIndex.offset)
		case 7:
			w.intField(t, &c.columnIndex.bytes)
		case 8, 9:
			encrypted = true
			w.skip(t, 0)
		default:
			w.skip(t, 0)
		}
	})
	c.Offset = dataOffset
	if dictOffset > 0 && dictOffset < dataOffset { // some writers put the data's offset in both, or 0 for none
		c.Offset = dictOffset
	}
	rows := f.groups[group].rows
	switch {
	case errors.Is(w.err, errShort):
		return corrupt("footer: %v", w.err)
	case w.err != nil:
		return w.err
	case encrypted:
		return unsupported("encrypted column")
	case elsewhere:
		return unsupported("column in another file")
	case physical != int64(n.Physical):
		return corrupt("physical type %d, but %d in the schema", physical, n.Physical)
	case !named:
		return corrupt("its chunk belongs to another column")
	case c.Entries < 0 || n.Rep == 0 && c.Entries != rows || n.Rep > 0 && c.Entries < rows:
		return corrupt("%d entries for %d rows", c.Entries, rows)
	case c.Entries > f.lim.MaxRows*16: // maps and lists have a few entries a row
		return &action.LimitError{What: "a column", Size: c.Entries, Unit: "entries", Max: f.lim.MaxRows * 16, Option: "MaxRows"}
	case c.Bytes < 0 || c.Offset < 4 || c.Bytes > f.dataEnd-c.Offset:
		return corrupt("bytes %d to %d, but data ends at %d", c.Offset, c.Offset+c.Bytes, f.dataEnd)
	}
	var err error
	if c.codec, err = codecOf(codecID); err != nil {
		return err
	}
	f.bounds(c, &s)
	return nil
}

// pathIs reads path_in_schema and compares it with the leaf's.
func (w *wire) pathIs(t wireType, n *Node) bool {
	if t != wireList {
		w.skip(t, 0)
		return false
	}
	count, elem := w.list()
	same := true
	var stack [maxDepth + 1]*Node
	names := stack[:0]
	for ; n.Parent != nil; n = n.Parent {
		names = append(names, n)
	}
	for i := range count {
		if elem != wireBinary {
			w.skipElement(elem, 0)
			same = false
			continue
		}
		name := w.bytes()
		same = same && i < len(names) && string(name) == names[len(names)-1-i].Name
	}
	return same && count == len(names)
}

// statistics is parquet.thrift's Statistics. Fields that are absent are nil, and nulls is -1.
type statistics struct {
	oldMax, oldMin, max, min []byte
	nulls                    int64
	set                      bool
}

func (w *wire) statistics(t wireType, s *statistics) {
	*s = statistics{nulls: -1, set: true}
	w.structField(t, func(id int16, t wireType) {
		switch id {
		case 1:
			w.bytesField(t, &s.oldMax)
		case 2:
			w.bytesField(t, &s.oldMin)
		case 3:
			w.intField(t, &s.nulls)
		case 5:
			w.bytesField(t, &s.max)
		case 6:
			w.bytesField(t, &s.min)
		default:
			w.skip(t, 0)
		}
	})
}

// bounds takes from the statistics what can be trusted.
func (f *File) bounds(c *Chunk, s *statistics) {
	if !s.set {
		return
	}
	if s.nulls >= 0 && s.nulls <= c.Entries {
		c.Nulls = s.nulls
	}
	n := c.Node
	switch {
	case !n.hasOrder():
		return
	case f.ordered[n.Leaf]:
		c.Min, c.Max = s.min, s.max
	}
	// The deprecated fields compare signed, whatever the type: right for signed integers alone. Writers of that time got
	// those right.
	if signed := (n.Physical == Int32 || n.Physical == Int64) && n.Logical != Unsigned; signed && c.Min == nil && c.Max == nil {
		c.Min, c.Max = s.oldMin, s.oldMax
	}
	c.Min, c.Max = n.bounds(c.Min, c.Max)
}

// hasOrder reports that values of the leaf have an order that somebody here needs.
func (n *Node) hasOrder() bool {
	return n.Physical != Int96 && n.Logical != UnknownLogical && n.Logical != TimeOfDay
}

// bounds returns both bounds, or neither if one is missing or of a wrong width.
func (n *Node) bounds(min, max []byte) ([]byte, []byte) {
	width := n.fixedWidth()
	if min == nil || max == nil || width > 0 && (len(min) != width || len(max) != width) {
		return nil, nil
	}
	return min, max
}

// fixedWidth returns the bytes of a value, and 0 for byte arrays.
func (n *Node) fixedWidth() int {
	switch n.Physical {
	case Boolean:
		return 1
	case Int32, Float:
		return 4
	case Int64, Double:
		return 8
	case Int96:
		return 12
	case FixedLenByteArray:
		return n.Width
	}
	return 0
}
