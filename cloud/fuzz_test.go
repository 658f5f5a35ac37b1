package cloud

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deltaskip/deltaskip/logstore"
)

// FuzzListing has servers answer a listing with any bytes: entries are of the folder and in order, or there is an error.
func FuzzListing(f *testing.F) {
	f.Add(0, []byte(`<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>t/d/a</Key><Size>1</Size><ETag>"x"</ETag><LastModified>2024-01-01T00:00:00Z</LastModified></Contents><Contents><Key>t/d/b</Key></Contents></ListBucketResult>`))
	f.Add(0, []byte(`<ListBucketResult><Contents><Key>t/d/b</Key></Contents><Contents><Key>t/d/../a</Key><Size>-1</Size></Contents></ListBucketResult>`))
	f.Add(1, []byte(`{"items":[{"name":"t/d/a","size":"1","updated":"2024-01-01T00:00:00Z","generation":"5"},{"name":"t/d/","size":"0"}],"prefixes":["t/d/x/"]}`))
	f.Add(2, []byte("<?xml version=\"1.0\"?><EnumerationResults><Blobs><Blob><Name>t/d/a</Name><Properties><Content-Length>1</Content-Length><Etag>0x1</Etag></Properties></Blob></Blobs><NextMarker/></EnumerationResults>"))
	for name, value := range serverCredentials {
		f.Setenv(name, value)
	}
	var answer atomic.Pointer[[]byte]
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		_, _ = w.Write(*answer.Load())
	}))
	f.Cleanup(front.Close)
	base, err := url.Parse(front.URL)
	if err != nil {
		f.Fatal(err)
	}
	f.Setenv("STORAGE_EMULATOR_HOST", base.Host)
	var stores []*Store
	for _, table := range []func(*url.URL, string) string{s3Table, gcsTable, azureTable} {
		s, err := Open(f.Context(), table(base, "t"))
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { s.Close() })
		stores = append(stores, s)
	}
	f.Fuzz(func(t *testing.T, which int, data []byte) {
		answer.Store(&data)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // of requests that are made again
		defer cancel()
		last := ""
		for e, err := range stores[uint(which)%3].List(ctx, "d", "") {
			if err != nil {
				return
			}
			if e.Name <= last || path.Dir(e.Name) != "d" || logstore.CheckName(e.Name) != nil || e.Size < 0 {
				t.Fatalf("%+v after %q", e, last)
			}
			last = e.Name
		}
	})
}

func FuzzOpen(f *testing.F) {
	f.Add("s3://bucket/a/b?region=x")
	f.Add("gs://bucket")
	f.Add("azblob://c/%2e%2e/x?domain=y")
	f.Add("file:///")
	for name, value := range serverCredentials {
		f.Setenv(name, value)
	}
	f.Fuzz(func(t *testing.T, table string) {
		s, err := Open(t.Context(), table)
		if err != nil {
			if s != nil {
				t.Errorf("a store beside %v", err)
			}
			return
		}
		defer s.Close()
		if o, ok := s.Store.(*objects); ok && o.prefix != "" && logstore.CheckName(o.prefix[:len(o.prefix)-1]) != nil {
			t.Errorf("%q opens %q", table, o.prefix)
		}
		if u, err := url.Parse(table); err != nil || errors.Is(err, ErrURL) || u.Scheme == "" {
			t.Errorf("%q is opened", table)
		}
	})
}
