package checkpoint

import (
	"bytes"
	"context"

	"github.com/deltaskip/deltaskip/logstore"
)

// A sink is a file of a store that is being written: bit by bit where the store can do that, and in memory otherwise.
type sink struct {
	ctx    context.Context
	store  logstore.Store
	name   string
	size   int64           // bytes so far
	upload logstore.Upload // or nil
	buffer bytes.Buffer
}

func newSink(ctx context.Context, store logstore.Store, name string) (s *sink, err error) {
	s = &sink{ctx: ctx, store: store, name: name}
	if c, ok := store.(logstore.Creator); ok {
		s.upload, err = c.Create(ctx, name)
	}
	return s, err
}

func (s *sink) Write(p []byte) (n int, err error) {
	if s.upload != nil {
		n, err = s.upload.Write(p)
	} else {
		n, err = s.buffer.Write(p)
	}
	s.size += int64(n)
	return n, err
}

func (s *sink) commit() error {
	if s.upload != nil {
		return s.upload.Commit()
	}
	return s.store.Put(s.ctx, s.name, s.buffer.Bytes())
}

func (s *sink) discard() {
	if s.upload != nil {
		s.upload.Discard()
	}
}
