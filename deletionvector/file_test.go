package deletionvector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/action"
)

// A memoryFile is a file in memory whose ReadAt goes through read, where that is set.
type memoryFile struct {
	data   []byte
	read   func(p []byte, from int64) (int, error)
	closed *int
}

func (f *memoryFile) Size() int64 { return int64(len(f.data)) }
func (f *memoryFile) Close() error {
	if f.closed != nil {
		*f.closed++
	}
	return nil
}
func (f *memoryFile) ReadAt(p []byte, from int64) (int, error) {
	if f.read != nil {
		return f.read(p, from)
	}
	return bytes.NewReader(f.data).ReadAt(p, from)
}

// in returns an Opener over packed files.
func in(files []PackedFile) Opener {
	return func(_ context.Context, path string, absolute bool) (File, error) {
		for _, f := range files {
			if f.Path == path && !absolute {
				return &memoryFile{data: f.Data}, nil
			}
		}
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
}

// counting makes names that tests can tell.
func counting() func() (uuid.UUID, error) {
	var n byte
	return func() (uuid.UUID, error) {
		n++
		return uuid.UUID{15: n}, nil
	}
}

func TestPack(t *testing.T) {
	small, large := Of(1, 5, 9), rowsOf(t, 1000, 7, 3) // 38 and about 2000 bytes
	tests := []struct {
		name    string
		vectors []*Vector
		options PackOptions
		files   []string // path and length
		where   []string // type, name's last digits, offset
	}{
		{"none", nil, PackOptions{}, nil, nil},
		{"one file by default", []*Vector{small, large, small}, PackOptions{}, []string{"deletion_vector_00000000-0000-0000-0000-000000000001.bin 2133"}, []string{"u00001@1", "u00001@47", "u00001@2087"}},
		{"a file each when the target is small", []*Vector{small, large, small}, PackOptions{TargetSize: 50}, []string{
			"deletion_vector_00000000-0000-0000-0000-000000000001.bin 47",
			"deletion_vector_00000000-0000-0000-0000-000000000002.bin 2041",
			"deletion_vector_00000000-0000-0000-0000-000000000003.bin 47",
		}, []string{"u00001@1", "u00002@1", "u00003@1"}},
		{"target just reached", []*Vector{small, small, small}, PackOptions{TargetSize: 93}, []string{
			"deletion_vector_00000000-0000-0000-0000-000000000001.bin 93",
			"deletion_vector_00000000-0000-0000-0000-000000000002.bin 47",
		}, []string{"u00001@1", "u00001@47", "u00002@1"}},
		{"inline up to a limit", []*Vector{small, large, small}, PackOptions{Inline: 38}, []string{"deletion_vector_00000000-0000-0000-0000-000000000001.bin 2041"}, []string{"i@0", "u00001@1", "i@0"}},
		{"prefix", []*Vector{small}, PackOptions{Prefix: "x1"}, []string{"x1/deletion_vector_00000000-0000-0000-0000-000000000001.bin 47"}, []string{"u00001@1"}},
		{"empty vectors too", []*Vector{nil}, PackOptions{}, []string{"deletion_vector_00000000-0000-0000-0000-000000000001.bin 21"}, []string{"u00001@1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.NewID = counting()
			files, descriptors, err := Pack(tt.vectors, tt.options)
			if err != nil {
				t.Fatal(err)
			}
			var gotFiles, where []string
			for _, f := range files {
				gotFiles = append(gotFiles, fmt.Sprintf("%s %d", f.Path, len(f.Data)))
			}
			for i, d := range descriptors {
				text, offset := "", int32(0)
				if d.Offset != nil {
					text, offset = d.PathOrInlineDV[len(d.PathOrInlineDV)-5:], *d.Offset
				}
				where = append(where, fmt.Sprintf("%s%s@%d", d.StorageType, text, offset))
				v, err := Load(t.Context(), &d, -1, Limits{}, in(files))
				if err != nil || !v.Equal(tt.vectors[i]) {
					t.Errorf("vector %d comes back as %v, %v", i, v, err)
				}
			}
			if d := cmp.Diff(tt.files, gotFiles); d != "" {
				t.Errorf("files (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.where, where); d != "" {
				t.Errorf("descriptors (-want +got):\n%s", d)
			}
		})
	}
}

// TestPackGolden pins the bytes of a file.
func TestPackGolden(t *testing.T) {
	files, _, err := Pack([]*Vector{Of(1, 5, 9)}, PackOptions{NewID: counting()})
	if err != nil {
		t.Fatal(err)
	}
	want := unhex(t, "01 00000026 # version, size"+goldenArray+"\n d3404de9 # CRC")
	if !bytes.Equal(files[0].Data, want) {
		t.Errorf("file %x, want %x", files[0].Data, want)
	}
}

// TestPackWritesWhatOthersRead packs the vectors of testdata/packed.bin, which other readers have read.
func TestPackWritesWhatOthersRead(t *testing.T) {
	want, err := os.ReadFile("testdata/packed.bin")
	if err != nil {
		t.Fatal(err)
	}
	all := Range(10, 110).Union(Range(65_536, 131_072))                                 // runs, one of them a whole container
	all = all.Union(rowsOf(t, 22_976, 3, 131_072)).Union(rowsOf(t, 100, 1000, 200_000)) // bit sets and arrays
	files, descriptors, err := Pack([]*Vector{all, Of(1, 5, 9)}, PackOptions{Prefix: "q7"})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(files[0].Data, want) {
		t.Error("Pack writes other bytes than those that other readers have read")
	}
	if *descriptors[1].Offset != 10_734 || descriptors[0].SizeInBytes != 10_725 || descriptors[0].Cardinality != 88_712 {
		t.Errorf("descriptors %v", descriptors)
	}
}

func TestPackRefuses(t *testing.T) {
	failing := errors.New("no randomness")
	for name, o := range map[string]PackOptions{
		"negative target":         {TargetSize: -1},
		"negative inline limit":   {Inline: -1},
		"prefix out of the table": {Prefix: "../x"},
		"NewID fails":             {NewID: func() (uuid.UUID, error) { return uuid.UUID{}, failing }},
	} {
		if _, _, err := Pack([]*Vector{Of(1)}, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, err := Pack(nil, PackOptions{}); err != nil {
		t.Error(err)
	}
}

func TestPackedVectorsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var vectors []*Vector
		for range rapid.IntRange(0, 5).Draw(t, "vectors") {
			vectors = append(vectors, Of(positions().Draw(t, "positions")...))
		}
		files, descriptors, err := Pack(vectors, PackOptions{
			TargetSize: rapid.SampledFrom([]int64{0, 1, 100, 10_000}).Draw(t, "target"),
			Inline:     rapid.SampledFrom([]int{0, 40, 1 << 20}).Draw(t, "inline"),
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range descriptors {
			v, err := Load(context.Background(), &descriptors[i], -1, Limits{}, in(files))
			if err != nil || !v.Equal(vectors[i]) {
				t.Fatalf("vector %d: %v, want %v, error %v", i, v, vectors[i], err)
			}
		}
	})
}

// shortReads are ways in which a reader may return less than asked.
var shortReads = map[string]func(data []byte) func([]byte, int64) (int, error){
	"one byte at a time": func(data []byte) func([]byte, int64) (int, error) {
		return func(p []byte, from int64) (int, error) { return copy(p[:min(1, len(p))], data[from:]), nil }
	},
	"one byte less than asked": func(data []byte) func([]byte, int64) (int, error) {
		return func(p []byte, from int64) (int, error) { return copy(p[:max(1, len(p)-1)], data[from:]), nil }
	},
	"EOF with the last bytes": func(data []byte) func([]byte, int64) (int, error) {
		return func(p []byte, from int64) (int, error) {
			n := copy(p, data[from:])
			if from+int64(n) == int64(len(data)) {
				return n, io.EOF
			}
			return n, nil
		}
	},
}

func TestLoadThroughShortReads(t *testing.T) {
	want := []*Vector{Of(1, 5, 9), rowsOf(t, 20_000, 3, 0), Range(0, 1<<20)} // the second frame ends beyond wholeRead
	files, descriptors, err := Pack(want, PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range shortReads {
		for i := range descriptors {
			closed := 0
			v, err := Load(t.Context(), &descriptors[i], -1, Limits{}, func(context.Context, string, bool) (File, error) {
				return &memoryFile{data: files[0].Data, read: read(files[0].Data), closed: &closed}, nil
			})
			if err != nil || !v.Equal(want[i]) {
				t.Errorf("%s: vector %d is %v, %v", name, i, v, err)
			}
			if closed != 1 {
				t.Errorf("%s: file closed %d times", name, closed)
			}
		}
	}
}

func TestLoadErrors(t *testing.T) {
	files, descriptors, err := Pack([]*Vector{Of(1, 5, 9), Of(2, 4)}, PackOptions{NewID: counting()})
	if err != nil {
		t.Fatal(err)
	}
	good, inlineGood := descriptors[1], action.DeletionVector{StorageType: "i", PathOrInlineDV: encodeZ85(Of(1, 5, 9).AppendBlob(nil)), SizeInBytes: 38, Cardinality: 3}
	file := files[0].Data
	at := func(n int32) *int32 { return &n }
	flipped := func(i int) []byte {
		data := slices.Clone(file)
		data[i] ^= 1
		return data
	}
	tests := []struct {
		name    string
		change  func(d *action.DeletionVector)
		inline  bool
		data    []byte
		records int64
		offset  int64
		message string
	}{
		{name: "row that the data file lacks", records: 4, message: "row 4 of a data file with 4 rows"},
		{name: "cardinality too high", change: func(d *action.DeletionVector) { d.Cardinality = 3 }, message: "2 rows, cardinality is 3"},
		{name: "cardinality too low", change: func(d *action.DeletionVector) { d.Cardinality = 1 }, message: "cardinality is 1"},
		{name: "negative cardinality", change: func(d *action.DeletionVector) { d.Cardinality = -2 }, message: "cardinality is -2"},
		{name: "negative size", change: func(d *action.DeletionVector) { d.SizeInBytes = -1 }, message: "size of -1"},
		{name: "huge size", change: func(d *action.DeletionVector) { d.SizeInBytes = 64 << 20 }, message: "not within the file of 91 bytes"},
		{name: "huge offset", change: func(d *action.DeletionVector) { d.Offset = at(math.MaxInt32) }, message: "not within the file"},
		{name: "negative offset", change: func(d *action.DeletionVector) { d.Offset = at(-1) }, message: "not within the file"},
		{name: "no offset is the version byte", change: func(d *action.DeletionVector) { d.Offset = nil }, message: "not within the file"},
		{name: "offset of another vector", change: func(d *action.DeletionVector) { d.Offset = at(1) }, offset: -4, message: "vector of 38 bytes, sizeInBytes is 36"},
		{name: "version", data: flipped(0), offset: -51, message: "unknown file version 0"},
		{name: "size in the frame", data: flipped(50), offset: -4, message: "vector of 37 bytes"},
		{name: "a row flipped", data: flipped(85), offset: 36, message: "checksum"},
		{name: "checksum flipped", data: flipped(90), offset: 36, message: "checksum"},
		{name: "file cut", data: file[:90], message: "not within the file of 90 bytes"},
		{name: "empty file", data: []byte{}, message: "not within the file of 0 bytes"},
		{name: "unknown storage type", change: func(d *action.DeletionVector) { d.StorageType = "z" }, message: "unknown storage type"},
		{name: "no UUID", change: func(d *action.DeletionVector) { d.PathOrInlineDV = "x" }, message: "too short"},
		{name: "inline: more bytes than said", inline: true, change: func(d *action.DeletionVector) { d.SizeInBytes = 36 }, message: "inline text of 40 bytes, sizeInBytes is 36"},
		{name: "inline: fewer bytes than said", inline: true, change: func(d *action.DeletionVector) { d.SizeInBytes = 41 }, message: "inline text of 40 bytes, sizeInBytes is 41"},
		{name: "inline: padding taken for data", inline: true, change: func(d *action.DeletionVector) { d.SizeInBytes = 40 }, offset: 38, message: "2 bytes after the end"},
		{name: "inline: a byte cut off", inline: true, change: func(d *action.DeletionVector) { d.SizeInBytes = 37 }, offset: 32, message: "array needs 6 bytes, 5 are left"},
		{name: "inline: no Z85", inline: true, change: func(d *action.DeletionVector) { d.PathOrInlineDV = "~" + d.PathOrInlineDV[1:] }, message: "no Z85 digit"},
		{name: "inline: an offset", inline: true, change: func(d *action.DeletionVector) { d.Offset = at(0) }, message: "no offset"},
		{name: "inline: empty, but with rows", inline: true, change: func(d *action.DeletionVector) { d.PathOrInlineDV, d.SizeInBytes = "", 0 }, message: "magic number"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, data := good, file
			if tt.inline {
				d = inlineGood
			}
			if tt.change != nil {
				tt.change(&d)
			}
			if tt.data != nil {
				data = tt.data
			}
			if tt.records == 0 {
				tt.records = -1
			}
			v, err := Load(t.Context(), &d, tt.records, Limits{}, func(context.Context, string, bool) (File, error) { return &memoryFile{data: data}, nil })
			broken, ok := errors.AsType[*CorruptError](err)
			if !ok || !errors.Is(err, ErrCorrupt) || v != nil {
				t.Fatalf("vector %v, error %v", v, err)
			}
			if broken.Offset != tt.offset || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("error %q at %d, want %q at %d", err, broken.Offset, tt.message, tt.offset)
			}
			if wantPath := d.StorageType == "u" && !strings.Contains(tt.message, "too short") && d.SizeInBytes >= 0; wantPath != (broken.Path == files[0].Path) {
				t.Errorf("the error names file %q", broken.Path)
			}
		})
	}
}

func TestLoadOfVectorsThatAreTooLarge(t *testing.T) {
	files, descriptors, err := Pack([]*Vector{Of(1, 5, 9)}, PackOptions{NewID: counting()})
	if err != nil {
		t.Fatal(err)
	}
	d := descriptors[0]
	size := int(d.SizeInBytes)
	for _, tt := range []struct {
		limits Limits
		option string
	}{
		{Limits{MaxVectorBytes: size - 1}, "MaxVectorBytes"},
		{Limits{MaxVectorRows: 2}, "MaxVectorRows"},
		{Limits{MaxVectorBytes: size, MaxVectorRows: 3}, ""},
	} {
		_, err := Load(t.Context(), &d, -1, tt.limits, in(files))
		var limit *action.LimitError
		if errors.As(err, &limit) != (tt.option != "") || limit != nil && (limit.Option != tt.option || !errors.Is(err, action.ErrLimit)) {
			t.Errorf("%+v: %v", tt.limits, err)
		}
	}
	for _, d := range []action.DeletionVector{{StorageType: "i", SizeInBytes: math.MaxInt32}, {StorageType: "u", Cardinality: math.MaxInt64}} {
		if _, err := Load(t.Context(), &d, -1, Limits{}, nil); !errors.Is(err, action.ErrLimit) {
			t.Errorf("%+v: %v", d, err)
		}
	}
}

func TestLoadPassesOtherErrorsOn(t *testing.T) {
	_, descriptors, err := Pack([]*Vector{Of(1)}, PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := &descriptors[0]
	if _, err := Load(t.Context(), d, -1, Limits{}, in(nil)); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrCorrupt) {
		t.Errorf("missing file: %v", err)
	}
	failing := errors.New("disk on fire")
	_, err = Load(t.Context(), d, -1, Limits{}, func(context.Context, string, bool) (File, error) {
		return &memoryFile{data: make([]byte, 1000), read: func([]byte, int64) (int, error) { return 0, failing }}, nil
	})
	if !errors.Is(err, failing) || errors.Is(err, ErrCorrupt) {
		t.Errorf("failing disk: %v", err)
	}
	_, err = Load(t.Context(), d, -1, Limits{}, func(context.Context, string, bool) (File, error) {
		return &memoryFile{data: make([]byte, 1000), read: func([]byte, int64) (int, error) { return 0, io.EOF }}, nil
	})
	if !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, ErrCorrupt) {
		t.Errorf("file shorter than it said: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(cancelled, d, -1, Limits{}, in(nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestLoadWithoutVector(t *testing.T) {
	for name, d := range map[string]*action.DeletionVector{"no descriptor": nil, "Spark's empty one": {StorageType: "i"}} {
		if v, err := Load(t.Context(), d, 0, Limits{}, nil); v != nil || err != nil {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
}

// TestEveryFlippedByteIsFound flips each bit of a small file: the checksum finds all that concern the vector.
func TestEveryFlippedByteIsFound(t *testing.T) {
	files, descriptors, err := Pack([]*Vector{Of(1, 5, 9, 1<<32)}, PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range files[0].Data {
		for bit := range 8 {
			data := slices.Clone(files[0].Data)
			data[i] ^= 1 << bit
			_, err := Load(t.Context(), &descriptors[0], -1, Limits{}, func(context.Context, string, bool) (File, error) { return &memoryFile{data: data}, nil })
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("bit %d of byte %d: error %v", bit, i, err)
			}
		}
	}
}

func FuzzLoad(f *testing.F) {
	files, descriptors, err := Pack([]*Vector{Of(1, 5, 9), rowsOf(f, 5000, 2, 0)}, PackOptions{NewID: counting()})
	if err != nil {
		f.Fatal(err)
	}
	for _, d := range descriptors {
		f.Add(d.StorageType, d.PathOrInlineDV, *d.Offset, d.SizeInBytes, d.Cardinality, int64(-1), files[0].Data)
	}
	f.Add("i", "^Bg9^0rr910000000000iXQKl0rr91000625c8Xg0rro62(<@9", int32(-1), int32(38), int64(3), int64(10), []byte{})
	f.Add("p", "/x", int32(1<<30), int32(math.MaxInt32), int64(1), int64(1), []byte{1})
	f.Fuzz(func(t *testing.T, storageType, pathOrInline string, offset, size int32, cardinality, records int64, data []byte) {
		d := &action.DeletionVector{StorageType: storageType, PathOrInlineDV: pathOrInline, Offset: &offset, SizeInBytes: size, Cardinality: cardinality}
		if storageType == inlineText {
			d.Offset = nil
		}
		v, err := Load(t.Context(), d, records, Limits{}, func(context.Context, string, bool) (File, error) { return &memoryFile{data: data}, nil })
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, action.ErrLimit) || v != nil {
				t.Fatalf("vector %v, error %v", v, err)
			}
			return
		}
		if last, ok := v.Max(); v.Cardinality() != cardinality || ok && records >= 0 && last >= records {
			t.Fatalf("vector %v of %d records passes as one of %d rows", v, records, cardinality)
		}
	})
}
