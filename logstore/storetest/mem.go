package storetest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/deltaskip/deltaskip/logstore"
)

// Mem is a store in memory. The zero value is empty and ready. Its clock starts at 2024-01-01 and moves a second with
// every write, so that runs repeat.
type Mem struct {
	mu     sync.Mutex
	files  map[string]memFile // data is never changed in place
	writes int64
}

type memFile struct {
	entry logstore.Entry
	data  []byte
}

// List implements [logstore.Store]. It shows the files of the moment it begins.
func (m *Mem) List(ctx context.Context, dir, startAfter string) iter.Seq2[logstore.Entry, error] {
	return func(yield func(logstore.Entry, error) bool) {
		if err := check(ctx, dir); err != nil {
			yield(logstore.Entry{}, err)
			return
		}
		m.mu.Lock()
		names := slices.Sorted(maps.Keys(m.files))
		entries := make([]logstore.Entry, 0, len(names))
		for _, name := range names {
			if path.Dir(name) == dir && name > startAfter {
				entries = append(entries, m.files[name].entry)
			}
		}
		m.mu.Unlock()
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				yield(logstore.Entry{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Get implements [logstore.Store].
func (m *Mem) Get(ctx context.Context, name string, limit int64) ([]byte, logstore.Entry, error) {
	f, err := m.find(ctx, name)
	if err != nil {
		return nil, logstore.Entry{}, err
	}
	if f.entry.Size > limit {
		return nil, f.entry, fmt.Errorf("storetest: %s has %d bytes, more than %d: %w", name, f.entry.Size, limit, logstore.ErrTooLarge)
	}
	return bytes.Clone(f.data), f.entry, nil
}

// Open implements [logstore.Store].
func (m *Mem) Open(ctx context.Context, name string) (logstore.File, error) {
	f, err := m.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return &openFile{Reader: bytes.NewReader(f.data), ctx: ctx, entry: f.entry}, nil
}

type openFile struct {
	*bytes.Reader
	ctx   context.Context
	entry logstore.Entry
}

func (f *openFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.Reader.ReadAt(p, off)
}

func (f *openFile) Entry() logstore.Entry { return f.entry }
func (f *openFile) Close() error          { return nil }

func (m *Mem) find(ctx context.Context, name string) (memFile, error) {
	if err := check(ctx, name); err != nil {
		return memFile{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[name]
	if !ok {
		return memFile{}, fmt.Errorf("storetest: %s: %w", name, logstore.ErrNotFound)
	}
	return f, nil
}

// PutIfAbsent implements [logstore.Store].
func (m *Mem) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return m.write(ctx, name, data, false)
}

// Put implements [logstore.Store].
func (m *Mem) Put(ctx context.Context, name string, data []byte) error {
	return m.write(ctx, name, data, true)
}

func (m *Mem) write(ctx context.Context, name string, data []byte, replace bool) error {
	if err := check(ctx, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.files[name]; ok && !replace {
		return fmt.Errorf("storetest: %s: %w", name, logstore.ErrExists)
	}
	m.writes++
	if m.files == nil {
		m.files = map[string]memFile{}
	}
	m.files[name] = memFile{data: bytes.Clone(data), entry: logstore.Entry{
		Name:    name,
		Size:    int64(len(data)),
		ModTime: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(m.writes) * time.Second),
		ETag:    strconv.FormatInt(m.writes, 10),
	}}
	return nil
}

// SetModTime changes the time of a file that exists.
func (m *Mem) SetModTime(name string, t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[name]
	f.entry.ModTime = t
	m.files[name] = f
}

// Delete implements [logstore.Store].
func (m *Mem) Delete(ctx context.Context, name string) error {
	if _, err := m.find(ctx, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
	return nil
}

func check(ctx context.Context, name string) error {
	if err := logstore.CheckName(name); err != nil {
		return err
	}
	return ctx.Err()
}
