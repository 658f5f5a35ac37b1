package cloud

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/deltaskip/deltaskip/logstore"
)

const (
	// readAhead is how many bytes are asked for at once at least: a request takes as long as a megabyte does.
	readAhead = 512 << 10
	// kept is how many ranges a file keeps: the footer, and the column chunks being read.
	kept = 8
	// largest is how long a range is kept that somebody asked for, longer ones are handed over.
	largest = 4 << 20
)

// A file is an object open for reading: its ranges are read by requests of their own, small ones together.
type file struct {
	ctx     context.Context
	objects *objects
	entry   logstore.Entry

	mu     sync.Mutex
	ranges []extent // the newest last
}

// An extent is bytes of the object that have been read. It never changes.
type extent struct {
	offset int64
	data   []byte
}

// Size implements [logstore.File].
func (f *file) Size() int64 { return f.entry.Size }

// Entry implements [logstore.File].
func (f *file) Entry() logstore.Entry { return f.entry }

// Close implements [logstore.File].
func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ranges = nil
	return nil
}

// ReadAt implements [io.ReaderAt].
func (f *file) ReadAt(p []byte, offset int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	if offset < 0 {
		return 0, fmt.Errorf("cloud: %s: negative offset %d", f.entry.Name, offset)
	}
	want := min(int64(len(p)), f.entry.Size-offset)
	if want <= 0 {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	if !f.copyKept(p[:want], offset) {
		if err := f.fetch(p[:want], offset); err != nil {
			return 0, fmt.Errorf("cloud: %s, %d bytes from %d: %w", f.entry.Name, want, offset, err)
		}
	}
	if want < int64(len(p)) {
		return int(want), io.EOF
	}
	return int(want), nil
}

// copyKept fills p from what has been read.
func (f *file) copyKept(p []byte, offset int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.ranges {
		if from := offset - e.offset; from >= 0 && from+int64(len(p)) <= int64(len(e.data)) {
			copy(p, e.data[from:])
			return true
		}
	}
	return false
}

// fetch fills p, and keeps what it reads beyond it. A read near the end is one of the footer, which is read backwards: the
// range begins before it then.
func (f *file) fetch(p []byte, offset int64) error {
	from, n := offset, max(int64(len(p)), readAhead)
	if n = min(n, f.entry.Size); from+n > f.entry.Size {
		from = f.entry.Size - n
	}
	if int64(len(p)) > largest {
		from, n = offset, int64(len(p))
	}
	e := extent{from, p}
	if int64(len(p)) <= largest {
		e.data = make([]byte, n)
	}
	err := f.objects.readFull(f.ctx, f.objects.prefix+f.entry.Name, from, n, f.entry.ETag, func(logstore.Entry) ([]byte, error) {
		return e.data, nil
	})
	if err != nil || int64(len(p)) > largest {
		return err
	}
	copy(p, e.data[offset-from:])
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ranges = append(f.ranges, e); len(f.ranges) > kept {
		f.ranges = append([]extent(nil), f.ranges[1:]...)
	}
	return nil
}
