package cloud

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // s3:// URLs

	"github.com/deltaskip/deltaskip/logstore"
)

type s3Backend struct {
	client *s3.Client
	bucket *string
}

func openS3(b *blob.Bucket, name string) (backend, error) {
	out := &s3Backend{bucket: &name}
	if !b.As(&out.client) {
		return nil, errors.New("cloud: the bucket is not one of S3")
	}
	return out, nil
}

// s3Status returns the status of a server's answer.
func s3Status(err error) int {
	var r *awshttp.ResponseError
	if errors.As(err, &r) {
		return r.HTTPStatusCode()
	}
	return 0
}

func (b *s3Backend) list(ctx context.Context, prefix, startAfter string, yield func(logstore.Entry) bool) error {
	in := &s3.ListObjectsV2Input{Bucket: b.bucket, Prefix: &prefix, Delimiter: aws.String("/")}
	if startAfter != "" {
		in.StartAfter = &startAfter
	}
	for pages := s3.NewListObjectsV2Paginator(b.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, o := range page.Contents {
			e := logstore.Entry{Name: aws.ToString(o.Key), Size: aws.ToInt64(o.Size), ModTime: aws.ToTime(o.LastModified), ETag: aws.ToString(o.ETag)}
			if !yield(e) {
				return nil
			}
		}
	}
	return nil
}

func (b *s3Backend) stat(ctx context.Context, key string) (logstore.Entry, error) {
	h, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: b.bucket, Key: &key})
	if err != nil {
		return logstore.Entry{}, readError(s3Status(err), err)
	}
	return logstore.Entry{Name: key, Size: aws.ToInt64(h.ContentLength), ModTime: aws.ToTime(h.LastModified), ETag: aws.ToString(h.ETag)}, nil
}

func (b *s3Backend) read(ctx context.Context, key string, offset, n int64, etag string) (io.ReadCloser, logstore.Entry, error) {
	in := &s3.GetObjectInput{Bucket: b.bucket, Key: &key}
	if n >= 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", offset, offset+n-1))
	}
	if etag != "" {
		in.IfMatch = &etag
	}
	// Range reads have no checksum, which is not worth a warning each.
	o, err := b.client.GetObject(ctx, in, func(o *s3.Options) { o.DisableLogOutputChecksumValidationSkipped = true })
	if err != nil {
		return nil, logstore.Entry{}, readError(s3Status(err), err)
	}
	return o.Body, logstore.Entry{Name: key, Size: aws.ToInt64(o.ContentLength), ModTime: aws.ToTime(o.LastModified), ETag: aws.ToString(o.ETag)}, nil
}

// put writes an object in one request, whatever its size: the condition of an upload in parts is checked by fewer stores.
func (b *s3Backend) put(ctx context.Context, key string, data []byte, ifAbsent bool) error {
	in := &s3.PutObjectInput{Bucket: b.bucket, Key: &key, Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data)))}
	if strings.HasSuffix(key, ".json") {
		in.ContentType = aws.String("application/json")
	}
	if ifAbsent {
		in.IfNoneMatch = aws.String("*")
	}
	_, err := b.client.PutObject(ctx, in, func(o *s3.Options) { o.RetryMaxAttempts = 1 })
	return writeError(s3Status(err), ifAbsent, err)
}

func (b *s3Backend) delete(ctx context.Context, key string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: b.bucket, Key: &key})
	return readError(s3Status(err), err)
}
