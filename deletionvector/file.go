package deletionvector

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/google/uuid"

	"github.com/deltaskip/deltaskip/action"
)

// A file of vectors is a version byte and then, for each vector, a frame: the blob's size as a big-endian uint32, the
// blob, and its CRC-32 (IEEE) as another. A descriptor's offset is that of the frame.
const (
	fileVersion   = 1
	frameHead     = 4
	frameTail     = 4
	frameOverhead = frameHead + frameTail
)

// A File is an open file of deletion vectors.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// An Opener opens a file of deletion vectors by what [Path] returns.
type Opener func(ctx context.Context, path string, absolute bool) (File, error)

// Limits bound what a vector can cost. The zero Limits works.
type Limits struct {
	MaxVectorBytes int   // of its blob; 0 means 64 MiB
	MaxVectorRows  int64 // that it marks, which may be many more than bytes; 0 means 1<<31
}

// check says whether a vector is too large, by its descriptor: its bytes must be as many, and mark as many rows.
func (l Limits) check(d *action.DeletionVector) error {
	if l.MaxVectorBytes <= 0 {
		l.MaxVectorBytes = 64 << 20
	}
	if l.MaxVectorRows <= 0 {
		l.MaxVectorRows = 1 << 31
	}
	if int64(d.SizeInBytes) > int64(l.MaxVectorBytes) {
		return &action.LimitError{What: "a deletion vector", Size: int64(d.SizeInBytes), Unit: "bytes", Max: int64(l.MaxVectorBytes), Option: "MaxVectorBytes"}
	}
	if d.Cardinality > l.MaxVectorRows {
		return &action.LimitError{What: "a deletion vector", Size: d.Cardinality, Unit: "rows", Max: l.MaxVectorRows, Option: "MaxVectorRows"}
	}
	return nil
}

// Load reads the vector that d describes; without a descriptor it is the empty one. numRecords is that of the data file,
// a bound on every position; negative is unknown. open is called for vectors in files alone.
//
// What breaks the protocol is a [*CorruptError], what exceeds a limit an [*action.LimitError]. Other errors, of open and of
// reading, are wrapped.
func Load(ctx context.Context, d *action.DeletionVector, numRecords int64, limits Limits, open Opener) (*Vector, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("deletionvector: %w", err)
	}
	if d == nil {
		return nil, nil
	}
	if err := limits.check(d); err != nil {
		return nil, fmt.Errorf("deletionvector: %w", err)
	}
	blob, name, err := fetch(ctx, d, open)
	var v *Vector
	if err == nil {
		v, err = decodeFor(d, blob, numRecords)
	}
	if broken, ok := errors.AsType[*CorruptError](err); ok {
		broken.Path = name
	}
	return v, err
}

// fetch gets the bytes that d describes, and says from which file.
func fetch(ctx context.Context, d *action.DeletionVector, open Opener) (blob []byte, name string, err error) {
	if d.SizeInBytes < 0 {
		return nil, "", corrupt(0, "size of %d bytes", d.SizeInBytes)
	}
	if d.StorageType == inlineText {
		blob, err = inlineBlob(d)
		return blob, "", err
	}
	name, absolute, err := Path(d)
	if err != nil {
		return nil, "", err
	}
	f, err := open(ctx, name, absolute)
	if err != nil {
		return nil, name, fmt.Errorf("deletionvector: opening %s: %w", name, err)
	}
	defer f.Close() // only read: nothing is lost when closing fails
	if blob, err = readFrame(d, f); err != nil && !errors.Is(err, ErrCorrupt) {
		err = fmt.Errorf("deletionvector: reading %s: %w", name, err)
	}
	return blob, name, err
}

// inlineBlob decodes the blob in the descriptor. Z85 pads it by up to three bytes.
func inlineBlob(d *action.DeletionVector) ([]byte, error) {
	if d.Offset != nil {
		return nil, corrupt(0, "an inline vector has no offset")
	}
	blob, err := decodeZ85(d.PathOrInlineDV)
	if err != nil {
		return nil, corrupt(0, "inline text: %w", err)
	}
	if padding := len(blob) - int(d.SizeInBytes); padding < 0 || padding > 3 {
		return nil, corrupt(0, "inline text of %d bytes, sizeInBytes is %d", len(blob), d.SizeInBytes)
	}
	return blob[:d.SizeInBytes], nil
}

// wholeRead is up to which length a file is read from its start in one go, rather than version and frame apart: a second
// request to a cloud store costs more than the bytes.
const wholeRead = 16 << 10

// readFrame reads and checks the vector's frame in f, and returns the blob.
func readFrame(d *action.DeletionVector, f File) ([]byte, error) {
	var start int64
	if d.Offset != nil {
		start = int64(*d.Offset)
	}
	size := int64(d.SizeInBytes)
	end := start + size + frameOverhead
	if start < 1 || end > f.Size() {
		return nil, corrupt(0, "frame from %d to %d is not within the file of %d bytes", start, end, f.Size())
	}
	from := start
	if end <= wholeRead {
		from = 0
	}
	data := make([]byte, end-from)
	if err := readAt(f, data, from); err != nil {
		return nil, err
	}
	version := data[:1]
	if from > 0 {
		version = make([]byte, 1)
		if err := readAt(f, version, 0); err != nil {
			return nil, err
		}
	}
	if version[0] != fileVersion {
		return nil, &CorruptError{Offset: -start - frameHead, Err: fmt.Errorf("unknown file version %d", version[0])}
	}
	frame := data[start-from:]
	if n := binary.BigEndian.Uint32(frame); int64(n) != size {
		return nil, corrupt(-frameHead, "vector of %d bytes, sizeInBytes is %d", n, size)
	}
	blob := frame[frameHead : frameHead+size : frameHead+size]
	if sum, want := crc32.ChecksumIEEE(blob), binary.BigEndian.Uint32(frame[frameHead+size:]); sum != want {
		return nil, corrupt(int(size), "checksum %08x, not %08x as written", sum, want)
	}
	return blob, nil
}

// readAt fills data from f, also when f returns less than asked.
func readAt(f File, data []byte, offset int64) error {
	n, err := io.ReadFull(io.NewSectionReader(f, offset, int64(len(data))), data)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return corrupt(0, "file ends at byte %d, not %d: %w", offset+int64(n), f.Size(), io.ErrUnexpectedEOF)
	}
	return err
}

// decodeFor makes the vector of a blob and compares it with what the descriptor and the data file say.
func decodeFor(d *action.DeletionVector, blob []byte, numRecords int64) (*Vector, error) {
	if len(blob) == 0 && d.Cardinality == 0 && d.StorageType == inlineText {
		return nil, nil // how Spark describes a vector without rows
	}
	v, err := Decode(blob)
	if err != nil {
		return nil, err
	}
	if v.cardinality != d.Cardinality {
		return nil, corrupt(0, "vector of %d rows, cardinality is %d", v.cardinality, d.Cardinality)
	}
	if last, ok := v.Max(); ok && numRecords >= 0 && last >= numRecords {
		return nil, corrupt(0, "row %d of a data file with %d rows", last, numRecords)
	}
	return v, nil
}

// DefaultTargetSize is up to how many bytes [Pack] fills a file by default, as Spark does.
const DefaultTargetSize = 2 << 20

// PackOptions say how vectors are stored. The zero value is usable.
type PackOptions struct {
	TargetSize int64  // bytes up to which one file takes several vectors; 0 means [DefaultTargetSize]
	Inline     int    // vectors whose blob has at most so many bytes go into the log; 0 means none
	Prefix     string // folder below the table's root, with at least one character when delta.randomizeFilePrefixes asks for it
	// NewID names a file. It must never return the same twice for one table; nil means a random UUID.
	NewID func() (uuid.UUID, error)
}

// A PackedFile is a file to be written, and synced, before any commit names a vector in it.
type PackedFile struct {
	Path string // slash-separated, from the table's root
	Data []byte
}

// Pack lays vectors out in files and describes them: descriptor i is that of vector i. Equal vectors in equal order make
// equal bytes. An error means that an option is wrong, NewID failed, or a vector is too large for a descriptor.
func Pack(vectors []*Vector, o PackOptions) ([]PackedFile, []action.DeletionVector, error) {
	if o.TargetSize < 0 || o.Inline < 0 {
		return nil, nil, fmt.Errorf("deletionvector: negative pack option: target %d, inline %d", o.TargetSize, o.Inline)
	}
	if o.TargetSize == 0 {
		o.TargetSize = DefaultTargetSize
	}
	if o.NewID == nil {
		o.NewID = uuid.NewRandom
	}
	var files []PackedFile
	var name string // pathOrInlineDv for the last of files
	descriptors := make([]action.DeletionVector, len(vectors))
	for i, v := range vectors {
		blob := v.AppendBlob(nil)
		if len(blob) > math.MaxInt32-frameOverhead-1 {
			return nil, nil, fmt.Errorf("deletionvector: vector %d takes %d bytes, more than a descriptor can say", i, len(blob))
		}
		d := action.DeletionVector{SizeInBytes: int32(len(blob)), Cardinality: v.Cardinality()}
		if len(blob) <= o.Inline {
			d.StorageType, d.PathOrInlineDV = inlineText, encodeZ85(blob)
			descriptors[i] = d
			continue
		}
		n := len(files)
		if n == 0 || int64(len(files[n-1].Data)+len(blob)+frameOverhead) > min(o.TargetSize, math.MaxInt32) {
			id, err := o.NewID()
			if err != nil {
				return nil, nil, fmt.Errorf("deletionvector: naming a file: %w", err)
			}
			path, _, err := relativePath(o.Prefix, id)
			if err != nil {
				return nil, nil, fmt.Errorf("deletionvector: %w", err)
			}
			name = o.Prefix + encodeZ85(id[:])
			files = append(files, PackedFile{Path: path, Data: []byte{fileVersion}})
			n++
		}
		f := &files[n-1]
		offset := int32(len(f.Data))
		f.Data = binary.BigEndian.AppendUint32(f.Data, uint32(len(blob)))
		f.Data = append(f.Data, blob...)
		f.Data = binary.BigEndian.AppendUint32(f.Data, crc32.ChecksumIEEE(blob))
		d.StorageType, d.PathOrInlineDV, d.Offset = uuidRelative, name, &offset
		descriptors[i] = d
	}
	return files, descriptors, nil
}
