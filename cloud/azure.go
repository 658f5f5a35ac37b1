package cloud

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	gocloud "gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob:// URLs

	"github.com/deltaskip/deltaskip/logstore"
)

type azureBackend struct{ container *container.Client }

func openAzure(b *gocloud.Bucket, _ string) (backend, error) {
	out := &azureBackend{}
	if !b.As(&out.container) {
		return nil, errors.New("cloud: the bucket is not a container of Azure Blob Storage")
	}
	return out, nil
}

// azureStatus returns the status of a server's answer, as a name that is taken has everywhere else.
func azureStatus(err error) int {
	var r *azcore.ResponseError
	switch {
	case bloberror.HasCode(err, bloberror.BlobAlreadyExists):
		return http.StatusPreconditionFailed // Azure says 409, which elsewhere means busy
	case errors.As(err, &r):
		return r.StatusCode
	}
	return 0
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func (b *azureBackend) list(ctx context.Context, prefix, _ string, yield func(logstore.Entry) bool) error {
	pages := b.container.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{Prefix: &prefix})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		if page.Segment == nil {
			continue
		}
		for _, o := range page.Segment.BlobItems {
			e := logstore.Entry{Name: value(o.Name)}
			if p := o.Properties; p != nil {
				// A listing has the mark bare, all other answers have it in quotes.
				e.Size, e.ModTime, e.ETag = value(p.ContentLength), value(p.LastModified), strconv.Quote(strings.Trim(string(value(p.ETag)), `"`))
			}
			if !yield(e) {
				return nil
			}
		}
	}
	return nil
}

func (b *azureBackend) stat(ctx context.Context, key string) (logstore.Entry, error) {
	p, err := b.container.NewBlobClient(key).GetProperties(ctx, nil)
	if err != nil {
		return logstore.Entry{}, readError(azureStatus(err), err)
	}
	return logstore.Entry{Name: key, Size: value(p.ContentLength), ModTime: value(p.LastModified), ETag: string(value(p.ETag))}, nil
}

func (b *azureBackend) read(ctx context.Context, key string, offset, n int64, etag string) (io.ReadCloser, logstore.Entry, error) {
	o := &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: offset}}
	if n >= 0 {
		o.Range.Count = n
	}
	if etag != "" {
		tag := azcore.ETag(etag)
		o.AccessConditions = &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &tag}}
	}
	r, err := b.container.NewBlobClient(key).DownloadStream(ctx, o)
	if err != nil {
		return nil, logstore.Entry{}, readError(azureStatus(err), err)
	}
	return r.Body, logstore.Entry{Name: key, Size: value(r.ContentLength), ModTime: value(r.LastModified), ETag: string(value(r.ETag))}, nil
}

func (b *azureBackend) put(ctx context.Context, key string, data []byte, ifAbsent bool) error {
	o := &blockblob.UploadOptions{}
	if ifAbsent {
		any := azcore.ETagAny
		o.AccessConditions = &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: &any}}
	}
	once := policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
	_, err := b.container.NewBlockBlobClient(key).Upload(once, streaming.NopCloser(bytes.NewReader(data)), o)
	return writeError(azureStatus(err), ifAbsent, err)
}

func (b *azureBackend) delete(ctx context.Context, key string) error {
	_, err := b.container.NewBlobClient(key).Delete(ctx, nil)
	return readError(azureStatus(err), err)
}
