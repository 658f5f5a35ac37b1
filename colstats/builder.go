package colstats

import "errors"

// ErrFull is returned by a Builder that holds MaxBatchLen files: flush it first.
var ErrFull = errors.New("colstats: batch is full")

// A File is an add action as its decoder found it.
type File struct {
	Path            string
	PartitionValues map[string]*string // by physical name; nil is NULL, a missing key is unknown
	Stats           string             // JSON text, empty for none
	WroteItself     bool               // NaNOrderedIfOwn holds for it
}

// A Builder collects adds into batches of one layout. It reuses its memory from batch to batch; one goroutine uses it at
// a time.
type Builder struct {
	layout *Layout
	o      Options
}

// NewBuilder returns an empty builder.
func NewBuilder(layout *Layout, o Options) *Builder { panic("TODO") }

// Len returns the number of files since the last Flush.
func (b *Builder) Len() int { panic("TODO") }

// Append adds one file. The error is ErrFull or nil.
func (b *Builder) Append(f *File) error { panic("TODO") }

// AppendLine reads one line of a commit into l and, if it is an add, appends it: path, partition values and demanded
// statistics in one walk. Other kinds append nothing. The error is a *SyntaxError or ErrFull; nothing is appended then.
//
// A replay that learns from l that the add is dead takes it back by DropLast.
func (b *Builder) AppendLine(text []byte, l *Line) error { panic("TODO") }

// DropLast takes back the file that was appended last. It must not be called twice for one append.
func (b *Builder) DropLast() { panic("TODO") }

// Flush returns the files appended so far as a batch that the caller releases, and empties the builder.
func (b *Builder) Flush() *Batch { panic("TODO") }
