package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"gocloud.dev/blob"

	"github.com/deltaskip/deltaskip/logstore"
)

// ErrURL matches the error of Open for a URL that it cannot make sense of.
var ErrURL = errors.New("not the URL of a table")

// schemes are the openers of backends.
var schemes = map[string]func(b *blob.Bucket, name string) (backend, error){
	"s3": openS3, "gs": openGCS, "azblob": openAzure,
}

// Open opens the folder of a table:
//
//	s3://BUCKET/PATH       with the parameters of gocloud.dev/aws: region, profile, endpoint, use_path_style, …
//	gs://BUCKET/PATH       with those of gocloud.dev/blob/gcsblob
//	azblob://CONTAINER/PATH, the account by the environment or as parameters of gocloud.dev/blob/azureblob
//	file:///PATH           a local folder
//
// Nothing is sent before the first use of the store, so a bucket that is not there is found then. The caller closes the
// store.
func Open(ctx context.Context, table string) (*Store, error) {
	u, err := url.Parse(table)
	if err != nil {
		return nil, fmt.Errorf("cloud: %w: %w", ErrURL, err)
	}
	if u.Scheme == "file" {
		if u.Host != "" || u.Path == "" {
			return nil, fmt.Errorf("cloud: %w: %q: a local folder is file:///PATH", ErrURL, table)
		}
		local, err := logstore.OpenLocal(filepath.FromSlash(u.Path))
		if err != nil {
			return nil, err
		}
		return &Store{Store: local, close: local.Close}, nil
	}
	open := schemes[u.Scheme]
	if open == nil {
		return nil, fmt.Errorf("cloud: %w: %q: it begins with none of s3://, gs://, azblob://, file://", ErrURL, table)
	}
	if u.Host == "" {
		return nil, fmt.Errorf("cloud: %w: %q names no bucket", ErrURL, table)
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" {
		if slices.ContainsFunc(strings.Split(prefix, "/"), func(e string) bool { return e == "" || e == "." || e == ".." }) {
			return nil, fmt.Errorf("cloud: %w: %q: the path has an element that is empty, a dot or two dots", ErrURL, table)
		}
		prefix += "/"
	}
	bucketURL := *u
	bucketURL.Path, bucketURL.RawPath = "", ""
	bucket, err := blob.OpenBucket(ctx, bucketURL.String())
	if err != nil {
		return nil, fmt.Errorf("cloud: %s: %w", u.Redacted(), err)
	}
	b, err := open(bucket, u.Host)
	if err != nil {
		return nil, errors.Join(err, bucket.Close())
	}
	return &Store{Store: &objects{backend: b, prefix: prefix}, close: bucket.Close}, nil
}

// A Store is the folder of a table in a bucket. Many goroutines may use it at once.
type Store struct {
	logstore.Store
	close func() error
}

// Close frees the store's connections.
func (s *Store) Close() error { return s.close() }
