package deltalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"sync"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/ordered"
	"github.com/deltaskip/deltaskip/logstore"
)

const (
	// smallCommit is the size in bytes up to which a commit is fetched whole and ahead of its turn.
	smallCommit = 1 << 20
	// chunkBytes is the text after which a chunk is handed on.
	chunkBytes = 2 << 20
)

// A place is a line of one of the commits of a segment.
type place struct {
	commit int32 // index into segment.commits
	line   int32 // counted from 1
}

// A chunk is a run of lines in log order, the unit of parallel work. Who has read it gives it back to spare.
type chunk struct {
	text   []byte
	ends   []int // of each line in text
	places []place
}

// spare holds chunks that are no longer read.
var spare = sync.Pool{New: func() any { return new(chunk) }}

// newChunk returns an empty chunk for a part of so many bytes of text.
func newChunk(bytes int64) *chunk {
	c := spare.Get().(*chunk)
	c.text, c.ends, c.places = c.text[:0], c.ends[:0], c.places[:0]
	if want := int(min(bytes, chunkBytes+chunkBytes/8)); cap(c.text) < want {
		c.text = make([]byte, 0, want)
	}
	return c
}

// lines yields the lines of the chunk.
func (c *chunk) lines() iter.Seq2[place, []byte] {
	return func(yield func(place, []byte) bool) {
		start := 0
		for i, end := range c.ends {
			if !yield(c.places[i], c.text[start:end]) {
				return
			}
			start = end
		}
	}
}

// chunks reads commits in order and yields those of their lines that keep asks for. Commits for which it wants none are
// not opened.
func (l *Log) chunks(ctx context.Context, commits []CommitFile, wanted func(commit int) bool, keep func(place) bool) iter.Seq2[*chunk, error] {
	return func(yield func(*chunk, error) bool) {
		any, size := false, int64(0) // as listed: no more than a hint
		for i, commit := range commits {
			if wanted(i) {
				any = true
				size += max(commit.Entry.Size, 0)
			}
		}
		if !any { // often: a checkpoint, and nothing after it
			return
		}
		c := newChunk(size)
		for opened, err := range l.opened(ctx, commits, wanted) {
			if err != nil {
				yield(nil, err)
				return
			}
			more, err := l.split(opened, size, keep, &c, yield)
			opened.close()
			if err != nil {
				yield(nil, err)
			}
			if err != nil || !more {
				return
			}
		}
		if len(c.ends) > 0 {
			yield(c, nil)
		}
	}
}

// split adds a commit's lines to the chunk *c and hands on what is full. All commits have size bytes. It returns false when the
// consumer wants no more.
func (l *Log) split(o openCommit, size int64, keep func(place) bool, c **chunk, yield func(*chunk, error) bool) (bool, error) {
	for text, err := range action.Texts(o.reader, l.o.MaxActionBytes) {
		if err != nil {
			return true, corrupt(o.name, text.Line, err)
		}
		if text.Line > math.MaxInt32 {
			return true, corrupt(o.name, text.Line, errors.New("too many lines"))
		}
		p := place{commit: int32(o.index), line: int32(text.Line)}
		if !keep(p) {
			continue
		}
		next := *c
		next.text = append(next.text, text.Data...)
		next.ends = append(next.ends, len(next.text))
		next.places = append(next.places, p)
		if len(next.text) >= chunkBytes || len(next.ends) == colstats.MaxBatchLen {
			if !yield(next, nil) {
				return false, nil
			}
			*c = newChunk(size)
		}
	}
	return true, nil
}

// An openCommit is a commit ready to be read.
type openCommit struct {
	index  int
	name   string
	reader io.Reader
	file   io.Closer // nil for a commit in memory
}

func (o openCommit) close() {
	if o.file != nil {
		o.file.Close()
	}
}

// opened opens commits in order, some ahead of their turn.
func (l *Log) opened(ctx context.Context, commits []CommitFile, wanted func(commit int) bool) iter.Seq2[openCommit, error] {
	indexes := func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range commits {
				if wanted(i) && !yield(i, nil) {
					return
				}
			}
		}
	}
	return ordered.Map(ctx, l.o.Workers, indexes, func(ctx context.Context, i int) (openCommit, error) {
		entry := commits[i].Entry
		o := openCommit{index: i, name: entry.Name}
		if entry.Size <= smallCommit {
			data, _, err := l.store.Get(ctx, entry.Name, smallCommit)
			if err != nil {
				return o, fmt.Errorf("deltalog: %w", err)
			}
			o.reader = bytes.NewReader(data)
			return o, nil
		}
		f, err := l.store.Open(ctx, entry.Name)
		if err != nil {
			return o, fmt.Errorf("deltalog: %w", err)
		}
		o.reader, o.file = logstore.NewReader(f), f
		return o, nil
	}, openCommit.close)
}
