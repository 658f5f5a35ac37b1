package cloud

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/deltaskip/deltaskip/logstore"
)

// one is a backend with one object, that counts requests.
type one struct {
	backend
	data  []byte
	reads atomic.Int64
}

func (o *one) stat(_ context.Context, key string) (logstore.Entry, error) {
	return logstore.Entry{Name: key, Size: int64(len(o.data)), ETag: "e"}, nil
}

func (o *one) read(_ context.Context, _ string, offset, n int64, etag string) (io.ReadCloser, logstore.Entry, error) {
	if etag != "e" {
		panic("a range of another object may be read")
	}
	o.reads.Add(1)
	return io.NopCloser(bytes.NewReader(o.data[offset : offset+n])), logstore.Entry{}, nil
}

func openOne(t *testing.T, size int) (*one, logstore.File) {
	o := &one{data: make([]byte, size)}
	r := rand.New(rand.NewPCG(1, uint64(size)))
	for i := range o.data {
		o.data[i] = byte(r.Uint32())
	}
	f, err := (&objects{backend: o, prefix: "t/"}).Open(context.Background(), "x")
	if err != nil {
		t.Fatal(err)
	}
	return o, f
}

func TestRangesAreTheObjects(t *testing.T) {
	for _, size := range []int{0, 1, 1000, readAhead - 1, readAhead, readAhead + 1, largest + 3*readAhead} {
		o, f := openOne(t, size)
		r := rand.New(rand.NewPCG(2, uint64(size)))
		for range 200 {
			offset, n := r.Int64N(int64(size)+10), r.IntN(1<<(1+r.IntN(23)))
			want := make([]byte, n)
			wantN, wantErr := bytes.NewReader(o.data).ReadAt(want, offset)
			got := make([]byte, n)
			if gotN, err := f.ReadAt(got, offset); gotN != wantN || err != wantErr && n > 0 || !bytes.Equal(got[:gotN], want[:wantN]) {
				t.Fatalf("size %d: %d bytes from %d: got %d, %v, want %d, %v", size, n, offset, gotN, err, wantN, wantErr)
			}
		}
	}
}

// A parquet footer is found by three short reads from the end, and a table's small columns lie side by side: one request each.
func TestShortReadsShareRequests(t *testing.T) {
	o, f := openOne(t, 10<<20)
	size := f.Size()
	p := make([]byte, 100<<10)
	for _, r := range []struct {
		offset int64
		n      int
	}{{size - 8, 8}, {size - 8 - 5000, 5000}, {size - 20000, 12000}} {
		if _, err := f.ReadAt(p[:r.n], r.offset); err != nil {
			t.Fatal(err)
		}
	}
	if n := o.reads.Load(); n != 1 {
		t.Errorf("%d requests for a footer", n)
	}
	for i := range int64(5) {
		if _, err := f.ReadAt(p, i*int64(len(p))); err != nil {
			t.Fatal(err)
		}
	}
	if n := o.reads.Load(); n != 2 {
		t.Errorf("%d requests for a footer and five chunks", n)
	}
}

// breaking is a backend whose answers break off half way, the first so many of them.
type breaking struct {
	*one
	left int
}

func (b *breaking) read(ctx context.Context, key string, offset, n int64, _ string) (io.ReadCloser, logstore.Entry, error) {
	if n < 0 {
		n = int64(len(b.data))
	}
	body, _, err := b.one.read(ctx, key, offset, n, "e")
	if b.left > 0 {
		b.left--
		body = io.NopCloser(io.MultiReader(io.LimitReader(body, n/2), iotest.ErrReader(io.ErrUnexpectedEOF)))
	}
	return body, logstore.Entry{Name: key, Size: int64(len(b.data))}, err
}

func TestAnswersThatBreakOff(t *testing.T) {
	o, _ := openOne(t, 1000)
	for _, times := range []int{2, 100} {
		b := &breaking{o, times}
		s := &objects{backend: b, prefix: "t/"}
		data, _, err := s.Get(t.Context(), "x", 1<<20)
		if lasting := times > 5; (err != nil) != lasting || !lasting && !bytes.Equal(data, o.data) {
			t.Errorf("Get after %d: %v", times, err)
		}
		b.left = times
		f, err := s.Open(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 500)
		if _, err := f.ReadAt(got, 250); (err != nil) != (times > 5) || err == nil && !bytes.Equal(got, o.data[250:750]) {
			t.Errorf("ReadAt after %d: %v", times, err)
		}
	}
}
