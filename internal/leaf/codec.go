package leaf

import (
	"bytes"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// A codec is a compression of pages, numbered as in parquet.thrift.
type codec uint8

const (
	uncompressed codec = 0
	snappy       codec = 1
	gzipped      codec = 2
	lzo          codec = 3
	brotlied     codec = 4
	lz4Hadoop    codec = 5
	zstandard    codec = 6
	lz4Raw       codec = 7
)

func codecOf(id int64) (codec, error) {
	switch c := codec(id); {
	case id < 0 || id > int64(lz4Raw):
		return 0, corrupt("compression %d", id)
	case c == lzo:
		return 0, unsupported("compression LZO")
	case c == lz4Hadoop:
		return 0, unsupported("compression LZ4 with Hadoop's framing; LZ4_RAW replaced it")
	default:
		return c, nil
	}
}

// zstdDecoder never writes past the capacity of the slice it is given, whatever a frame says.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderConcurrency(0))
})

var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// decompress fills dst with what src holds, which must be exactly as long. It allocates no more than that in proportion.
func (c codec) decompress(dst, src []byte) error {
	switch c {
	case uncompressed:
		if len(src) != len(dst) {
			return corrupt("%d bytes where the header says %d", len(src), len(dst))
		}
		copy(dst, src)
		return nil
	case snappy:
		n, err := s2.DecodedLen(src)
		if err == nil && n == len(dst) {
			_, err = s2.Decode(dst, src)
		}
		return decompressed(n, dst, err)
	case zstandard:
		d, err := zstdDecoder()
		if err != nil {
			return err
		}
		out, err := d.DecodeAll(src, dst[:0:len(dst)])
		return decompressed(len(out), dst, err)
	case lz4Raw:
		n, err := lz4.UncompressBlock(src, dst)
		return decompressed(n, dst, err)
	case gzipped:
		r := gzipReaders.Get().(*gzip.Reader)
		defer gzipReaders.Put(r)
		if err := r.Reset(bytes.NewReader(src)); err != nil {
			return decompressed(0, dst, err)
		}
		return readExactly(r, dst)
	case brotlied:
		return readExactly(brotli.NewReader(bytes.NewReader(src)), dst)
	}
	return unsupported("compression %d", c)
}

func decompressed(n int, dst []byte, err error) error {
	if err != nil {
		return corrupt("decompressing: %v", err)
	}
	if n != len(dst) {
		return corrupt("a page of %d bytes where the header says %d", n, len(dst))
	}
	return nil
}

// readExactly fills dst from r, which must end there.
func readExactly(r io.Reader, dst []byte) error {
	n, err := io.ReadFull(r, dst)
	if err != nil {
		return decompressed(n, dst, err)
	}
	n, err = io.ReadFull(r, make([]byte, 1))
	if n > 0 {
		return corrupt("a page longer than the %d bytes that the header says", len(dst))
	}
	if err != io.EOF {
		return decompressed(len(dst), dst, err)
	}
	return nil
}
