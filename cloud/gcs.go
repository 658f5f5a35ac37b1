package cloud

import (
	"context"
	"errors"
	"io"
	"strconv"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/gcsblob" // gs:// URLs
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"

	"github.com/deltaskip/deltaskip/logstore"
)

type gcsBackend struct{ bucket *storage.BucketHandle }

func openGCS(b *blob.Bucket, name string) (backend, error) {
	var client *storage.Client
	if !b.As(&client) {
		return nil, errors.New("cloud: the bucket is not one of Google Cloud Storage")
	}
	return &gcsBackend{client.Bucket(name)}, nil
}

func gcsStatus(err error) int {
	var e *googleapi.Error
	if errors.As(err, &e) {
		return e.Code
	}
	if errors.Is(err, storage.ErrObjectNotExist) {
		return 404
	}
	return 0
}

// gcsEntry describes an object. Its generation is what changes when its contents do, and what a read can be tied to.
func gcsEntry(a *storage.ObjectAttrs) logstore.Entry {
	return logstore.Entry{Name: a.Name, Size: a.Size, ModTime: a.Updated, ETag: strconv.FormatInt(a.Generation, 10)}
}

func (b *gcsBackend) list(ctx context.Context, prefix, startAfter string, yield func(logstore.Entry) bool) error {
	objects := b.bucket.Objects(ctx, &storage.Query{Prefix: prefix, Delimiter: "/", StartOffset: startAfter})
	for {
		a, err := objects.Next()
		switch {
		case errors.Is(err, iterator.Done):
			return nil
		case err != nil:
			return err
		case a.Name == "": // a folder
			continue
		}
		if !yield(gcsEntry(a)) {
			return nil
		}
	}
}

func (b *gcsBackend) stat(ctx context.Context, key string) (logstore.Entry, error) {
	a, err := b.bucket.Object(key).Attrs(ctx)
	if err != nil {
		return logstore.Entry{}, readError(gcsStatus(err), err)
	}
	return gcsEntry(a), nil
}

func (b *gcsBackend) read(ctx context.Context, key string, offset, n int64, etag string) (io.ReadCloser, logstore.Entry, error) {
	object := b.bucket.Object(key)
	if etag == "" { // a read doesn't tell all that an entry holds
		a, err := object.Attrs(ctx)
		if err != nil {
			return nil, logstore.Entry{}, readError(gcsStatus(err), err)
		}
		r, err := object.Generation(a.Generation).ReadCompressed(true).NewRangeReader(ctx, offset, n)
		return r, gcsEntry(a), readError(gcsStatus(err), err)
	}
	generation, err := strconv.ParseInt(etag, 10, 64)
	if err != nil {
		return nil, logstore.Entry{}, err
	}
	r, err := object.Generation(generation).ReadCompressed(true).NewRangeReader(ctx, offset, n)
	if err != nil {
		return nil, logstore.Entry{}, readError(gcsStatus(err), err)
	}
	return r, logstore.Entry{Name: key, Size: r.Attrs.Size, ModTime: r.Attrs.LastModified, ETag: etag}, nil
}

func (b *gcsBackend) put(ctx context.Context, key string, data []byte, ifAbsent bool) error {
	object := b.bucket.Object(key).Retryer(storage.WithPolicy(storage.RetryNever))
	if ifAbsent {
		object = object.If(storage.Conditions{DoesNotExist: true})
	}
	w := object.NewWriter(ctx)
	w.ChunkSize = 0 // in one request
	_, err := w.Write(data)
	if closed := w.Close(); closed != nil {
		err = closed // which has the server's answer
	}
	return writeError(gcsStatus(err), ifAbsent, err)
}

func (b *gcsBackend) delete(ctx context.Context, key string) error {
	err := b.bucket.Object(key).Delete(ctx)
	return readError(gcsStatus(err), err)
}
