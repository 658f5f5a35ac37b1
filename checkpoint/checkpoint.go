package checkpoint

import (
	"context"
	"io"
	"iter"

	"github.com/deltaskip/deltaskip/colstats"
)

// A File is a checkpoint file, opened for reading at any place. Its ReadAt is safe for concurrent use.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// An OpenFunc opens a file by its name relative to the table's root, such as "_delta_log/_sidecars/x.parquet".
type OpenFunc func(ctx context.Context, name string) (File, error)

// A Checkpoint is the state of a table at one version, in files. It is safe for concurrent use.
type Checkpoint struct {
	open OpenFunc
	o    Options
}

// Open opens a checkpoint by the names of its top-level files: one, or all parts of a multi-part checkpoint in order.
// It reads their footers and, of a V2 checkpoint, the actions that name its sidecars. The caller closes the result.
func Open(ctx context.Context, open OpenFunc, names []string, o Options) (*Checkpoint, error) {
	panic("TODO")
}

// Close closes the checkpoint's files. It must not be called while something is read, nor while a batch is held.
func (c *Checkpoint) Close() error { panic("TODO") }

// Actions yields all actions but adds and removes (protocol, metaData, txn, domainMetadata, checkpointMetadata, sidecar)
// as lines of JSON in checkpoint order. A line is lent until the next step.
func (c *Checkpoint) Actions(ctx context.Context) iter.Seq2[[]byte, error] { panic("TODO") }

// A Scan says which adds Batches yields, and how.
type Scan struct {
	Layout *colstats.Layout
	Stats  colstats.Options // Allocator is that of the Checkpoint when nil; NaN stays NaNUnknown: nobody knows who wrote an add

	// Seen reports that newer commits have added or removed the file already, so that the checkpoint's add is dead. Path
	// is as the log spells it and deletionVector the unique id, empty without one; both are lent for the call. It is
	// called from several goroutines at once. Nil says that no file was seen: no path is read then.
	Seen func(path, deletionVector []byte) bool

	// Prune is shown row groups as if each were one add (colstats.Raw.Hull) and returns a bitmap of those that may hold a
	// survivor, LSB first; nil keeps all. It is called from several goroutines at once.
	Prune func(rowGroups *colstats.Batch) []uint64

	Report *Report // what reading cost is added here when not nil
}

// A Report counts what scans did. It may be read when the scan is over.
type Report struct {
	Files, RowGroups, RowGroupsPruned int64
	Rows, RowsPruned                  int64 // of row groups that hold adds: read, and left out unread
	Adds, Dead                        int64 // yielded, and left out because Seen said so
}

// Batches yields the adds of the checkpoint that a scan asks for, in checkpoint order. Each batch is lent until the next
// step: who keeps it retains it. Stopping early stops all reading before Batches returns. After an error nothing follows.
func (c *Checkpoint) Batches(ctx context.Context, s Scan) iter.Seq2[*colstats.Batch, error] {
	panic("TODO")
}

// Adds yields whole add actions as lines of JSON, in checkpoint order, without those that seen (which may be nil)
// reports. Statistics that the checkpoint holds as a struct only are written as JSON. A line is lent until the next step.
func (c *Checkpoint) Adds(ctx context.Context, seen func(path, deletionVector []byte) bool) iter.Seq2[[]byte, error] {
	panic("TODO")
}

// Removes yields the tombstones as lines of JSON, like Adds.
func (c *Checkpoint) Removes(ctx context.Context, seen func(path, deletionVector []byte) bool) iter.Seq2[[]byte, error] {
	panic("TODO")
}
