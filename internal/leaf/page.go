package leaf

import (
	"hash/crc32"
	"io"
)

// An encoding is parquet.thrift's Encoding.
type encoding uint8

const (
	plain                encoding = 0
	plainDictionary      encoding = 2
	rle                  encoding = 3
	bitPacked            encoding = 4
	deltaBinaryPacked    encoding = 5
	deltaLengthByteArray encoding = 6
	deltaByteArray       encoding = 7
	rleDictionary        encoding = 8
	byteStreamSplit      encoding = 9
)

type pageKind uint8

const (
	dataPage       pageKind = 0
	indexPage      pageKind = 1
	dictionaryPage pageKind = 2
	dataPageV2     pageKind = 3
)

// A pageHeader is parquet.thrift's PageHeader, of whatever kind.
type pageHeader struct {
	kind                     pageKind
	uncompressed, compressed int64
	crc                      int64
	hasCRC                   bool

	entries            int64
	encoding           encoding
	defEnc, repEnc     encoding // version 1
	defBytes, repBytes int64    // version 2
	compressedValues   bool     // version 2
}

// maxHeaderBytes bounds a page header: the statistics in it are a few values.
const maxHeaderBytes = 16 << 20

func (w *wire) pageHeader() pageHeader {
	h := pageHeader{entries: -1, compressedValues: true}
	var kind, enc, defEnc, repEnc int64
	w.structField(wireStruct, func(id int16, t wireType) {
		switch id {
		case 1:
			w.intField(t, &kind)
		case 2:
			w.intField(t, &h.uncompressed)
		case 3:
			w.intField(t, &h.compressed)
		case 4:
			w.intField(t, &h.crc)
			h.hasCRC = true
		case 5:
			w.structField(t, func(id int16, t wireType) {
				switch id {
				case 1:
					w.intField(t, &h.entries)
				case 2:
					w.intField(t, &enc)
				case 3:
					w.intField(t, &defEnc)
				case 4:
					w.intField(t, &repEnc)
				default:
					w.skip(t, 0)
				}
			})
		case 7:
			w.structField(t, func(id int16, t wireType) {
				switch id {
				case 1:
					w.intField(t, &h.entries)
				case 2:
					w.intField(t, &enc)
				default:
					w.skip(t, 0)
				}
			})
		case 8:
			w.structField(t, func(id int16, t wireType) {
				switch id {
				case 1:
					w.intField(t, &h.entries)
				case 4:
					w.intField(t, &enc)
				case 5:
					w.intField(t, &h.defBytes)
				case 6:
					w.intField(t, &h.repBytes)
				case 7:
					h.compressedValues = t != wireFalse
					w.skip(t, 0)
				default:
					w.skip(t, 0)
				}
			})
		default:
			w.skip(t, 0)
		}
	})
	if kind < 0 || kind > int64(dataPageV2) {
		kind = int64(indexPage) // some later kind: passed over
	}
	h.kind = pageKind(kind)
	for _, e := range []struct {
		from int64
		to   *encoding
	}{{enc, &h.encoding}, {defEnc, &h.defEnc}, {repEnc, &h.repEnc}} {
		if e.from < 0 || e.from > 255 {
			w.fail(corrupt("encoding %d", e.from))
		}
		*e.to = encoding(e.from)
	}
	return h
}

// readAhead is how many bytes of a chunk are read at once when its pages are smaller.
const readAhead = 256 << 10

// pages walks the pages of a chunk. Its buffers are reused: what it returns is good until the next call.
type pages struct {
	r        io.ReaderAt
	at, end  int64 // of the next page, of the chunk
	codec    codec
	maxBytes int

	window   []byte // bytes of the file from windowAt on
	windowAt int64
	body     []byte // decompressed
}

func (p *pages) init(f *File, c *Chunk) {
	p.r, p.at, p.end, p.codec, p.maxBytes = f.r, c.Offset, c.Offset+c.Bytes, c.codec, f.lim.MaxPageBytes
	p.window = p.window[:0]
}

// bytes returns n bytes of the chunk from at on, fewer only at its end. It reads up to ahead bytes if it must read.
func (p *pages) bytes(at int64, n, ahead int) ([]byte, error) {
	n = int(min(int64(n), p.end-at))
	if skip := at - p.windowAt; len(p.window) > 0 && skip >= 0 && skip+int64(n) <= int64(len(p.window)) {
		return p.window[skip : skip+int64(n)], nil
	}
	size := int(min(int64(max(n, ahead)), p.end-at))
	if cap(p.window) < size {
		p.window = make([]byte, size)
	}
	p.window = p.window[:size]
	if err := readAt(p.r, p.window, at); err != nil {
		p.window = p.window[:0]
		return nil, err
	}
	p.windowAt = at
	return p.window[:n], nil
}

// header reads the next page's header and moves to its body. It gives io.EOF at the end of the chunk.
func (p *pages) header(ahead int) (pageHeader, error) {
	if p.at >= p.end {
		return pageHeader{}, io.EOF
	}
	for size := 256; ; size *= 4 {
		b, err := p.bytes(p.at, size, max(size, ahead))
		if err != nil {
			return pageHeader{}, err
		}
		w := wire{buf: b}
		h := w.pageHeader()
		switch {
		case w.err == errShort && len(b) == size && size < maxHeaderBytes:
			continue
		case w.err == errShort:
			return h, corrupt("page header: %v", w.err)
		case w.err != nil:
			return h, w.err
		case h.compressed < 0 || h.compressed > p.end-p.at-int64(w.pos) || h.uncompressed < 0:
			return h, corrupt("a page of %d bytes past the end of its chunk", h.compressed)
		case h.kind != indexPage && h.entries < 0:
			return h, corrupt("a page without a number of entries")
		case h.kind == dataPageV2 && (h.defBytes < 0 || h.repBytes < 0 || h.defBytes+h.repBytes > min(h.compressed, h.uncompressed)):
			return h, corrupt("levels of %d and %d bytes in a page of %d", h.repBytes, h.defBytes, h.compressed)
		}
		p.at += int64(w.pos)
		return h, nil
	}
}

// skipBody passes over the page whose header was read last.
func (p *pages) skipBody(h *pageHeader) { p.at += h.compressed }

// readBody returns the decompressed bytes of the page whose header was read last: levels, then values.
func (p *pages) readBody(h *pageHeader) ([]byte, error) {
	if size := max(h.compressed, h.uncompressed); size > int64(p.maxBytes) {
		return nil, tooLarge("a page", size, int64(p.maxBytes), maxPageBytes)
	}
	raw, err := p.bytes(p.at, int(h.compressed), readAhead)
	if err != nil {
		return nil, err
	}
	p.at += h.compressed
	if h.hasCRC && crc32.ChecksumIEEE(raw) != uint32(h.crc) {
		return nil, corrupt("a page's checksum is wrong")
	}
	levels := 0
	c := p.codec
	if h.kind == dataPageV2 {
		levels = int(h.defBytes + h.repBytes)
		if !h.compressedValues {
			c = uncompressed
		}
	}
	if c == uncompressed && h.compressed == h.uncompressed {
		return raw, nil
	}
	if cap(p.body) < int(h.uncompressed) {
		p.body = make([]byte, h.uncompressed)
	}
	body := p.body[:h.uncompressed]
	copy(body, raw[:levels])
	if len(body) == levels {
		return body, nil // nothing but nulls: writers differ on how they compress nothing
	}
	return body, c.decompress(body[levels:], raw[levels:])
}
