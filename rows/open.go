package rows

import (
	"context"
	"fmt"
	"strings"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/logstore"
)

// A Source is where the files of a table are opened that its actions name: inside the table and, as far as Roots allow it,
// elsewhere. A log can name any file of the machine or of other buckets; see [action.ErrOutside].
type Source struct {
	Table logstore.Store
	Roots []Root
	Limits
}

// A Root is a folder outside the table whose files the actions of the table may name by absolute paths, as those of a shallow
// clone do.
type Root struct {
	// URI is the folder as the log spells it: /data/base, file:///data/base and file:/data/base are the same, and so are s3://,
	// s3a:// and s3n://.
	URI   string
	Store logstore.Store // that folder
}

// Open opens the data file of an add action and reads its deletion vector. The caller closes the file. An error that matches
// [action.ErrOutside] is about a file, or its vector, in a place that is not allowed.
func (s Source) Open(ctx context.Context, add *action.Add) (*File, func() error, error) {
	vector, err := s.Vector(ctx, add.DeletionVector, -1)
	if err != nil {
		return nil, nil, err
	}
	data, err := s.open(ctx, add.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("rows: %w", err)
	}
	return &File{Data: data, PartitionValues: add.PartitionValues, Deleted: vector}, data.Close, nil
}

// Vector reads a deletion vector, as [deletionvector.Load] does.
func (s Source) Vector(ctx context.Context, d *action.DeletionVector, numRecords int64) (*deletionvector.Vector, error) {
	open := func(ctx context.Context, path string, absolute bool) (deletionvector.File, error) {
		if absolute {
			return s.open(ctx, path)
		}
		return s.Table.Open(ctx, path)
	}
	limits := deletionvector.Limits{MaxVectorBytes: s.MaxVectorBytes, MaxVectorRows: s.MaxVectorRows}
	return deletionvector.Load(ctx, d, numRecords, limits, open)
}

// open opens a file by its path in an action.
func (s Source) open(ctx context.Context, uri string) (logstore.File, error) {
	name, outside := action.FileName(uri)
	if outside == nil {
		return s.Table.Open(ctx, name)
	}
	path := oneScheme(action.CanonicalPath(uri))
	for _, root := range s.Roots {
		folder := strings.TrimSuffix(oneScheme(action.CanonicalPath(root.URI)), "/") + "/"
		// What is below the folder has no dots any more, so that it stays there.
		if name, ok := strings.CutPrefix(path, folder); ok && logstore.CheckName(name) == nil && strings.IndexByte(name, 0) < 0 {
			return root.Store.Open(ctx, name)
		}
	}
	return nil, fmt.Errorf("%w; option Roots (--also-read) can allow the folder that it is in", outside)
}

// oneScheme spells the schemes of one kind of store alike.
func oneScheme(uri string) string {
	for _, scheme := range []string{"s3a://", "s3n://"} {
		if rest, ok := strings.CutPrefix(uri, scheme); ok {
			return "s3://" + rest
		}
	}
	return uri
}
