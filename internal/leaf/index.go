package leaf

// A Page says what the page index knows about the rows of one data page of a flat leaf.
type Page struct {
	First, Rows int64 // of the row group, from 0
	Nulls       int64 // as Chunk.Nulls
	Min, Max    []byte
}

// onePageBytes is what the offset index of a single page cannot exceed.
const onePageBytes = 24

// Paged reports that the footer promises a page index of more than one page. It may miss one of two.
func (c *Chunk) Paged() bool {
	return c.Node.Rep == 0 && c.offsetIndex.bytes > onePageBytes && c.columnIndex.bytes > 0
}

// Pages reads the page index of a flat leaf's chunk: its data pages in order, which hold all its rows. There are none where
// the file has no index, or one that makes no sense: an index is help, not data. An error is one of reading.
func (f *File) Pages(c *Chunk) ([]Page, error) {
	if c.Node.Rep > 0 || !f.hasSection(c.offsetIndex) || !f.hasSection(c.columnIndex) {
		return nil, nil
	}
	offsets, err := f.readSection(c.offsetIndex)
	if err != nil {
		return nil, err
	}
	columns, err := f.readSection(c.columnIndex)
	if err != nil {
		return nil, err
	}
	pages := offsetIndex(offsets, c.Entries)
	if !f.columnIndex(columns, c.Node, pages) {
		return nil, nil
	}
	return pages, nil
}

func (f *File) hasSection(s section) bool {
	return s.bytes > 0 && s.bytes <= int64(f.lim.MaxFooterBytes) && s.offset >= 4 && s.bytes <= f.dataEnd-s.offset
}

func (f *File) readSection(s section) ([]byte, error) {
	b := make([]byte, s.bytes)
	return b, readAt(f.r, b, s.offset)
}

// offsetIndex reads parquet.thrift's OffsetIndex: which rows pages have. It returns nil unless they are all rows, in order.
func offsetIndex(b []byte, rows int64) []Page {
	w := &wire{buf: b}
	var pages []Page
	w.structField(wireStruct, func(id int16, t wireType) {
		if id != 1 {
			w.skip(t, 0)
			return
		}
		w.structList(t, func() {
			first := int64(-1)
			w.structField(wireStruct, func(id int16, t wireType) {
				if id == 3 {
					w.intField(t, &first)
				} else {
					w.skip(t, 0)
				}
			})
			pages = append(pages, Page{First: first})
		})
	})
	end := rows
	for i := len(pages) - 1; i >= 0; i-- {
		p := &pages[i]
		if p.Rows = end - p.First; p.Rows <= 0 {
			return nil
		}
		end = p.First
	}
	if w.err != nil || end != 0 {
		return nil
	}
	return pages
}

// columnIndex reads parquet.thrift's ColumnIndex into the pages. It reports whether it speaks of just these.
func (f *File) columnIndex(b []byte, n *Node, pages []Page) bool {
	w := &wire{buf: b}
	var empty []bool
	var mins, maxs [][]byte
	nulls := make([]int64, 0, len(pages))
	texts := func(t wireType) (list [][]byte) {
		w.listOf(t, wireBinary, func() { list = append(list, w.bytes()) })
		return list
	}
	w.structField(wireStruct, func(id int16, t wireType) {
		switch id {
		case 1:
			w.listOf(t, wireTrue, func() { empty = append(empty, w.byte() == 1) })
		case 2:
			mins = texts(t)
		case 3:
			maxs = texts(t)
		case 5:
			w.listOf(t, wireI64, func() { nulls = append(nulls, w.int()) })
		default:
			w.skip(t, 0)
		}
	})
	if w.err != nil || len(pages) == 0 || len(empty) != len(pages) || len(mins) != len(pages) || len(maxs) != len(pages) ||
		len(nulls) != 0 && len(nulls) != len(pages) {
		return false
	}
	for i := range pages {
		p := &pages[i]
		p.Nulls = -1
		if len(nulls) > 0 && nulls[i] >= 0 && nulls[i] <= p.Rows {
			p.Nulls = nulls[i]
		}
		switch {
		case empty[i]:
			p.Nulls = p.Rows
		case n.hasOrder() && f.ordered[n.Leaf]:
			p.Min, p.Max = n.bounds(mins[i], maxs[i])
		}
	}
	return true
}
