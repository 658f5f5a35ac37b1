package leaf

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/compress"
)

// codecs are ours beside Arrow's, which write the test data.
var codecs = map[codec]compress.Compression{
	uncompressed: compress.Codecs.Uncompressed, snappy: compress.Codecs.Snappy, gzipped: compress.Codecs.Gzip,
	brotlied: compress.Codecs.Brotli, zstandard: compress.Codecs.Zstd, lz4Raw: compress.Codecs.Lz4Raw,
}

func TestDecompress(t *testing.T) {
	plain := bytes.Repeat([]byte("some text that repeats "), 1000)
	for c, theirs := range codecs {
		enc, err := compress.GetCodec(theirs)
		if err != nil {
			t.Fatal(err)
		}
		packed := enc.Encode(nil, plain)
		got := make([]byte, len(plain))
		if err := c.decompress(got, packed); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("codec %d: %v", c, err)
		}
		for _, size := range []int{0, 1, len(plain) - 1, len(plain) + 1, 2 * len(plain)} {
			if err := c.decompress(make([]byte, size), packed); !errors.Is(err, ErrCorrupt) {
				t.Errorf("codec %d: %d bytes for %d: %v", c, size, len(plain), err)
			}
		}
		if c == uncompressed {
			continue
		}
		for cut := range packed {
			if err := c.decompress(got, packed[:cut]); !errors.Is(err, ErrCorrupt) && !bytes.Equal(got, plain) {
				t.Errorf("codec %d: cut at %d of %d: %v", c, cut, len(packed), err)
			}
		}
	}
}

// TestDecompressBomb has every codec unpack 256 MiB into 1 KiB.
func TestDecompressBomb(t *testing.T) {
	bomb := make([]byte, 256<<20)
	if testing.Short() {
		bomb = bomb[:64<<20]
	}
	dst := make([]byte, 1<<10)
	for c, theirs := range codecs {
		if c == uncompressed || c == brotlied && testing.Short() { // Arrow takes seconds to make one
			continue
		}
		enc, err := compress.GetCodec(theirs)
		if err != nil {
			t.Fatal(err)
		}
		packed := enc.Encode(nil, bomb)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = c.decompress(dst, packed)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("codec %d: %v", c, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
			t.Errorf("codec %d allocated %d MiB", c, n>>20)
		}
	}
}
