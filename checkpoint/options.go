package checkpoint

import (
	"runtime"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/internal/leaf"
)

// Options say how a checkpoint is read. The zero Options works.
type Options struct {
	Allocator memory.Allocator // makes every Arrow buffer; nil means memory.DefaultAllocator
	Workers   int              // files opened and pieces of row groups decoded at once; 0 means GOMAXPROCS

	// The limits below bound what hostile bytes can cost. Whatever exceeds one is an error that matches
	// [action.ErrLimit] and names it.

	MaxPageBytes   int   // one page of a column, decompressed; 0 means 64 MiB
	MaxFooterBytes int   // a parquet footer; 0 means 64 MiB
	MaxJSONBytes   int64 // a V2 checkpoint's top-level JSON file; 0 means 1 GiB
	MaxRows        int64 // rows of one parquet file; 0 means 1<<28
	MaxSidecars    int   // of a V2 checkpoint; 0 means 1<<16
}

func (o Options) withDefaults() Options {
	if o.Allocator == nil {
		o.Allocator = memory.DefaultAllocator
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.MaxJSONBytes <= 0 {
		o.MaxJSONBytes = 1 << 30
	}
	if o.MaxSidecars <= 0 {
		o.MaxSidecars = 1 << 16
	}
	return o
}

func (o Options) limits() leaf.Limits {
	return leaf.Limits{MaxFooterBytes: o.MaxFooterBytes, MaxPageBytes: o.MaxPageBytes, MaxRows: o.MaxRows}
}
