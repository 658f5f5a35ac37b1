package colstats

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
)

// A Batch holds the facts of a layout's demands for up to [MaxBatchLen] files, in log order. It is immutable and safe
// for concurrent use. It is made with one reference; the last Release frees its arrays.
type Batch struct {
	layout *Layout
	n      int
	paths  arrow.Array // String, or nil when paths come late or not at all
	late   LatePaths   // nil unless paths come late
	facts  []Facts
	record atomic.Pointer[arrow.RecordBatch]
	refs   atomic.Int64
}

// Len returns the number of files.
func (b *Batch) Len() int { return b.n }

// Layout returns the layout that the batch was made for.
func (b *Batch) Layout() *Layout { return b.layout }

// Facts returns what is known about the column of demand i. The batch owns it.
func (b *Batch) Facts(i int) *Facts { return &b.facts[i] }

// Path returns the path of the add in the given row as the log spells it, percent-encoded, or "" when the reader left
// paths out. The string is good until the batch is released. An error can only come from a reader that reads paths
// when they are asked for (Raw.LatePaths): the file is in the batch, its name could not be read.
func (b *Batch) Path(row int) (string, error) {
	panic("TODO")
}

// Record returns the batch as Arrow columns: "path", then for demand i "i.lower" and "i.upper" (null where nothing is
// proven), "i.noNull" and "i.allNull". The batch owns the record.
func (b *Batch) Record() arrow.RecordBatch { panic("TODO") }

// Retain adds a reference.
func (b *Batch) Retain() { b.refs.Add(1) }

// Release drops a reference. The last one also releases the reader of late paths.
func (b *Batch) Release() { panic("TODO") }
