package leaf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/deltaskip/deltaskip/action"
)

// footered puts a footer at the end of a file.
func footered(data, footer []byte) []byte {
	f := append([]byte("PAR1"), data...)
	f = append(f, footer...)
	f = binary.LittleEndian.AppendUint32(f, uint32(len(footer)))
	return append(f, "PAR1"...)
}

// TestHostileFooters opens footers that claim much with few bytes.
func TestHostileFooters(t *testing.T) {
	const manyBytes = "\xff\xff\xff\xff\x07" // a varint near 2^31
	tests := map[string]string{
		"a schema of two billion elements":   "\x29\xfc" + manyBytes,
		"two billion row groups":             "\x49\xfc" + manyBytes,
		"a string of two billion bytes":      "\x68" + manyBytes,
		"structs in structs":                 strings.Repeat("\x1c", 1<<16),
		"lists in lists":                     "\x39" + strings.Repeat("\x19", 1<<16),
		"a map of two billion booleans":      "\x3b" + manyBytes + "\x11",
		"empty elements":                     "\x29\xfc\x80\x80\x10" + strings.Repeat("\x00", 1<<18),
		"a leaf with two billion children":   "\x29\x1c\x55\xfe\xff\xff\xff\x0f\x00\x00",
		"a group in a group and so on":       "\x29\xfc\x80\x08" + strings.Repeat("\x55\x02\x00", 1<<10) + "\x00",
		"no bytes":                           "",
		"a field of an unknown type":         "\x2f",
		"a number that never ends":           "\x36" + strings.Repeat("\xff", 100),
		"encrypted":                          "\x8c\x00\x00",
		"column orders of two billion":       "\x79\xfc" + manyBytes,
		"a schema of the wrong type":         "\x26\x02\x00",
		"a row group before there is a root": "\x49\x1c\x36\x02\x00\x00",
	}
	for name, footer := range tests {
		t.Run(name, func(t *testing.T) {
			data := footered(nil, []byte(footer))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Open(bytes.NewReader(data), int64(len(data)), Limits{})
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("opened")
			} else {
				known(t, err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 128<<20 {
				t.Errorf("allocated %d MiB", n>>20)
			}
		})
	}
	for _, data := range []string{"", "PAR1", "PAR1PAR1", "PAR1\x00\x00\x00\x00PAR1", "PAR1\xff\xff\xff\xffPAR1", "PARE\x00\x00\x00\x00PARE", strings.Repeat("x", 100)} {
		if _, err := Open(strings.NewReader(data), int64(len(data)), Limits{}); err == nil {
			t.Errorf("opened %q", data)
		}
	}
	if _, err := Open(strings.NewReader("PAR1"), 1<<20, Limits{}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a file shorter than its size: %v", err)
	}
}

// stringsFile writes byte arrays, one of them a row.
func stringsFile(t *testing.T, values []parquet.ByteArray, props ...parquet.WriterProperty) []byte {
	t.Helper()
	root := schema.MustGroup(schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{
		schema.NewByteArrayNode("s", parquet.Repetitions.Required, -1),
	}, -1))
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, root, file.WithWriterProps(parquet.NewWriterProperties(props...)))
	g, err := w.AppendRowGroupChecked()
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.NextColumn()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.(*file.ByteArrayColumnChunkWriter).WriteBatch(values, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, close := range []func() error{c.Close, g.Close, w.Close} {
		if err := close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// TestLimits reads files that hold much in few bytes.
func TestLimits(t *testing.T) {
	long := parquet.ByteArray(strings.Repeat("x", 4<<20))
	repeated := make([]parquet.ByteArray, 5000)
	for i := range repeated {
		repeated[i] = long[:1<<16]
	}
	zstd := parquet.WithCompression(compress.Codecs.Zstd)
	read := func(data []byte, lim Limits) (rows, largest int, err error) {
		f, err := Open(bytes.NewReader(data), int64(len(data)), lim)
		if err != nil {
			return 0, 0, err
		}
		chunks, err := f.Chunks(0, f.Leaves[0])
		if err != nil {
			return 0, 0, err
		}
		c := f.Column(chunks[0], memory.DefaultAllocator)
		defer c.Close()
		for {
			arr, _, err := c.ReadArray(1 << 16)
			if err != nil || arr.Len() == 0 {
				return rows, largest, err
			}
			rows += arr.Len()
			largest = max(largest, len(arr.Data().Buffers()[2].Bytes()))
			arr.Release()
		}
	}
	if _, _, err := read(stringsFile(t, []parquet.ByteArray{long}, zstd), Limits{MaxPageBytes: 1 << 20}); !errors.Is(err, action.ErrLimit) {
		t.Errorf("a page of 4 MiB where 1 is allowed: %v", err)
	}
	if n, _, err := read(stringsFile(t, []parquet.ByteArray{long}, zstd), Limits{MaxPageBytes: 8 << 20, RunBytes: 1 << 20}); n != 1 || err != nil {
		t.Errorf("a value longer than a run: %d rows, %v", n, err)
	}
	// 320 MiB of values are one in the dictionary.
	n, largest, err := read(stringsFile(t, repeated, zstd), Limits{RunBytes: 1 << 20})
	if n != len(repeated) || largest > 4<<20 || err != nil {
		t.Errorf("%d rows in runs of up to %d bytes, %v", n, largest, err)
	}
	if _, _, err := read(stringsFile(t, repeated), Limits{MaxRows: 4999}); !errors.Is(err, action.ErrLimit) {
		t.Errorf("more rows than allowed: %v", err)
	}
	if _, _, err := read(stringsFile(t, repeated), Limits{MaxFooterBytes: 10}); !errors.Is(err, action.ErrLimit) {
		t.Errorf("a longer footer than allowed: %v", err)
	}
}
