package rows

import (
	"context"
	"fmt"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/logstore"
)

// Open opens the data file of an add action and reads its deletion vector. The caller closes the file. A path outside the
// table, of the data file or its vector, is an error.
func Open(ctx context.Context, store logstore.Store, add *action.Add) (*File, func() error, error) {
	vector, err := deletionvector.Load(ctx, add.DeletionVector, -1, Vectors(store))
	if err != nil {
		return nil, nil, err
	}
	name, err := action.FileName(add.Path)
	if err != nil {
		return nil, nil, err
	}
	data, err := store.Open(ctx, name)
	if err != nil {
		return nil, nil, fmt.Errorf("rows: %w", err)
	}
	return &File{Data: data, PartitionValues: add.PartitionValues, Deleted: vector}, data.Close, nil
}

// Vectors opens files of deletion vectors inside the table that a store holds. One outside it is an error.
func Vectors(store logstore.Store) deletionvector.Opener {
	return func(ctx context.Context, path string, absolute bool) (deletionvector.File, error) {
		if absolute {
			var err error
			if path, err = action.FileName(path); err != nil {
				return nil, err
			}
		}
		return store.Open(ctx, path)
	}
}
