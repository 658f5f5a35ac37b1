package logstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"time"
)

// What callers can act on. Errors of a store wrap at most one of these and name the file.
var (
	ErrNotFound       = errors.New("no such file")
	ErrExists         = errors.New("the file exists already")
	ErrOutcomeUnknown = errors.New("the write may or may not have taken effect, or may still")
	ErrTooLarge       = errors.New("the file is larger than allowed")
	ErrInvalidName    = errors.New("not a name inside the table")
	ErrOutside        = errors.New("a symbolic link leads out of the table")
)

// A Store holds the files of one table. Its methods may be called by many goroutines at once.
type Store interface {
	// List yields the files directly in folder dir, subfolders left out, whose names are greater than startAfter, in
	// ascending order. A missing folder is empty. startAfter is a full name or empty.
	List(ctx context.Context, dir, startAfter string) iter.Seq2[Entry, error]
	// Get reads a whole file of at most limit bytes; the entry describes what was read. A larger one is ErrTooLarge.
	Get(ctx context.Context, name string, limit int64) ([]byte, Entry, error)
	// Open opens a file for reading at any offset. The reads, too, end with ctx.
	Open(ctx context.Context, name string) (File, error)
	// PutIfAbsent creates a file, or fails with ErrExists. ErrOutcomeUnknown means that only reading name can tell.
	PutIfAbsent(ctx context.Context, name string, data []byte) error
	// Put creates a file or replaces all of it, atomically.
	Put(ctx context.Context, name string, data []byte) error
	// Delete removes a file. A missing one is ErrNotFound, though a store that cannot tell may return nil.
	Delete(ctx context.Context, name string) error
}

// A Creator is a Store that takes a file bit by bit, for files too large to hold in memory.
type Creator interface {
	// Create begins to write a file, of which nothing shows before Commit. The caller ends it with Commit or Discard.
	Create(ctx context.Context, name string) (Upload, error)
}

// An Upload is a file being written. One goroutine uses it at a time.
type Upload interface {
	io.Writer
	// Commit creates the file or replaces all of it, atomically. It must not follow a failed Write.
	Commit() error
	// Discard drops what was written. After Commit it does nothing.
	Discard()
}

// An Entry describes a file. Two entries that are equal describe the same contents, as far as the store can tell.
type Entry struct {
	Name    string // from the table's root
	Size    int64  // bytes
	ModTime time.Time
	ETag    string // the store's own mark of these contents, empty where there is none
}

// A File is a file open for reading. ReadAt may be called by many goroutines at once.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64 // bytes
	Entry() Entry
}

// NewReader returns a reader of f from its start, for those who need to seek.
func NewReader(f File) *io.SectionReader { return io.NewSectionReader(f, 0, f.Size()) }

// CheckName returns an error that matches [ErrInvalidName] unless name lies inside the table: relative, slashes only, no
// empty, "." or ".." element.
func CheckName(name string) error {
	if name == "." || !fs.ValidPath(name) {
		return fmt.Errorf("logstore: %q: %w", name, ErrInvalidName)
	}
	return nil
}
