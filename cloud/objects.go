package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/deltaskip/deltaskip/logstore"
)

// A backend makes the requests of one vendor. Names are keys of the bucket. Errors are the vendor's, wrapped with what
// package logstore has a word for.
type backend interface {
	// list calls yield for each object whose key begins with prefix and has no further slash, in order, from the first one
	// after startAfter (a key, or empty), until yield returns false.
	list(ctx context.Context, prefix, startAfter string, yield func(logstore.Entry) bool) error
	stat(ctx context.Context, key string) (logstore.Entry, error)
	// read returns n bytes from an offset, fewer at the object's end; negative n means all. An etag that is not empty must be
	// the object's.
	read(ctx context.Context, key string, offset, n int64, etag string) (io.ReadCloser, logstore.Entry, error)
	put(ctx context.Context, key string, data []byte, ifAbsent bool) error
	delete(ctx context.Context, key string) error
}

// errBusy says that another request for the same key was being served, so that this one was refused: it is to be repeated.
var errBusy = errors.New("another write of the same name is under way")

// errLater says that a server would not serve a request that changes nothing: it may be repeated.
var errLater = errors.New("the server cannot answer now")

// objects is the folder of a table, by its backend.
type objects struct {
	backend
	prefix string // of keys, with a slash at its end or empty
}

// relative is an entry with its name from the table's root, and in one zone, so that entries compare.
func (s *objects) relative(e logstore.Entry) logstore.Entry {
	e.Name, e.ModTime = strings.TrimPrefix(e.Name, s.prefix), e.ModTime.UTC()
	return e
}

// ready says why a request for a name must not be made.
func ready(ctx context.Context, name string) error {
	if err := logstore.CheckName(name); err != nil {
		return err
	}
	return ctx.Err()
}

// List implements [logstore.Store].
func (s *objects) List(ctx context.Context, dir, startAfter string) iter.Seq2[logstore.Entry, error] {
	return func(yield func(logstore.Entry, error) bool) {
		if err := ready(ctx, dir); err != nil {
			yield(logstore.Entry{}, err)
			return
		}
		after, last := "", ""
		if startAfter != "" {
			after = s.prefix + startAfter
		}
		stopped := false
		var disorder error
		each := func(e logstore.Entry) bool {
			base, ok := strings.CutPrefix(e.Name, s.prefix+dir+"/")
			if !ok || e.Size < 0 {
				disorder = fmt.Errorf("cloud: the store lists %q of %d bytes in %q", e.Name, e.Size, s.prefix+dir)
				return false
			}
			if e = s.relative(e); e.Name <= startAfter || base == "" || logstore.CheckName(base) != nil || strings.Contains(base, "/") {
				return true // some list the folder's own empty object; what cannot be named here is no file of a table
			}
			if e.Name <= last {
				disorder = fmt.Errorf("cloud: the store lists %q after %q", e.Name, last)
				return false
			}
			last = e.Name
			stopped = !yield(e, nil)
			return !stopped
		}
		_, err := again(ctx, func() (struct{}, error) {
			if last != "" {
				after = s.prefix + last
			}
			err := s.list(ctx, s.prefix+dir+"/", after, each)
			if stopped || disorder != nil { // what the server says after that is nobody's business
				err = nil
			}
			return struct{}{}, err
		})
		if err = errors.Join(disorder, err); err != nil && !stopped {
			yield(logstore.Entry{}, fmt.Errorf("cloud: listing %s: %w", dir, err))
		}
	}
}

// Get implements [logstore.Store].
func (s *objects) Get(ctx context.Context, name string, limit int64) (data []byte, e logstore.Entry, err error) {
	if err := ready(ctx, name); err != nil {
		return nil, e, err
	}
	err = s.readFull(ctx, s.prefix+name, 0, -1, "", func(object logstore.Entry) ([]byte, error) {
		e = s.relative(object)
		if e.Size > limit {
			return nil, fmt.Errorf("%d bytes are more than %d: %w", e.Size, limit, logstore.ErrTooLarge)
		}
		data = make([]byte, e.Size)
		return data, nil
	})
	switch {
	case errors.Is(err, logstore.ErrTooLarge):
		return nil, e, fmt.Errorf("cloud: %s: %w", name, err)
	case err != nil:
		return nil, logstore.Entry{}, fmt.Errorf("cloud: %s: %w", name, err)
	}
	return data, e, nil
}

// readFull reads n bytes of an object from an offset, all if n is negative, into what room makes for them. It asks again when
// they break off, which the vendors' clients leave to others: who reads a log of a thousand commits meets that each time.
func (s *objects) readFull(ctx context.Context, key string, offset, n int64, etag string, room func(logstore.Entry) ([]byte, error)) error {
	_, err := again(ctx, func() (struct{}, error) {
		body, e, err := s.read(ctx, key, offset, n, etag)
		if err != nil {
			return struct{}{}, err
		}
		defer body.Close()
		dst, err := room(e)
		if err != nil {
			return struct{}{}, err
		}
		if _, err = io.ReadFull(body, dst); err != nil {
			err = fmt.Errorf("%w: %w", errLater, err)
		}
		return struct{}{}, err
	})
	return err
}

// again repeats a request that changes nothing, a few times, while it fails with errLater.
func again[T any](ctx context.Context, request func() (T, error)) (T, error) {
	return while(ctx, errLater, 20*time.Millisecond, 5, request)
}

// while makes a request up to so many times, as long as it fails with an error that matches passing, first after a wait of about
// that long and then of longer ones.
func while[T any](ctx context.Context, passing error, first time.Duration, tries uint, request func() (T, error)) (T, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = first, time.Second
	return backoff.Retry(ctx, func() (T, error) {
		got, err := request()
		if err != nil && !errors.Is(err, passing) {
			err = backoff.Permanent(err)
		}
		return got, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(tries))
}

// Open implements [logstore.Store].
func (s *objects) Open(ctx context.Context, name string) (logstore.File, error) {
	if err := ready(ctx, name); err != nil {
		return nil, err
	}
	e, err := again(ctx, func() (logstore.Entry, error) { return s.stat(ctx, s.prefix+name) })
	if err != nil {
		return nil, fmt.Errorf("cloud: %s: %w", name, err)
	}
	return &file{ctx: ctx, objects: s, entry: s.relative(e)}, nil
}

// PutIfAbsent implements [logstore.Store].
func (s *objects) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return s.write(ctx, name, data, true)
}

// Put implements [logstore.Store].
func (s *objects) Put(ctx context.Context, name string, data []byte) error {
	return s.write(ctx, name, data, false)
}

// write puts an object. A server that is busy with the same name has refused: the same write is made again.
func (s *objects) write(ctx context.Context, name string, data []byte, ifAbsent bool) error {
	if err := ready(ctx, name); err != nil {
		return err
	}
	_, err := while(ctx, errBusy, 50*time.Millisecond, 10, func() (struct{}, error) {
		return struct{}{}, s.put(ctx, s.prefix+name, data, ifAbsent)
	})
	if err != nil {
		return fmt.Errorf("cloud: writing %s: %w", name, err)
	}
	return nil
}

// Delete implements [logstore.Store].
func (s *objects) Delete(ctx context.Context, name string) error {
	if err := ready(ctx, name); err != nil {
		return err
	}
	if err := s.delete(ctx, s.prefix+name); err != nil {
		return fmt.Errorf("cloud: deleting %s: %w", name, err)
	}
	return nil
}
