package rows

import "github.com/deltaskip/deltaskip/internal/leaf"

// Limits bound what the bytes of data files and deletion vectors can cost. Whatever exceeds one is an error that matches
// [action.ErrLimit] and names the limit. The zero Limits works.
type Limits struct {
	MaxPageBytes   int   // one page of a column, decompressed; 0 means 64 MiB
	MaxFooterBytes int   // a parquet footer; 0 means 64 MiB
	MaxRows        int64 // rows of one parquet file; 0 means 1<<28
	MaxVectorBytes int   // a deletion vector; 0 means 64 MiB
	MaxVectorRows  int64 // rows that a deletion vector marks; 0 means 1<<31
}

func (l Limits) parquet() leaf.Limits {
	return leaf.Limits{MaxFooterBytes: l.MaxFooterBytes, MaxPageBytes: l.MaxPageBytes, MaxRows: l.MaxRows}
}
