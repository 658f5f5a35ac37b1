package colstats

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
)

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
	layout  *Layout
	o       Options
	reader  *reader
	demands []Demand // that reader was made for
	n       int
	paths   text
}

// idle holds builders that were closed. A commit of a hundred files is decoded sooner than a reader is made, and than it has found out
// in which order its writer puts the keys.
var idle sync.Pool

// NewBuilder returns an empty builder, often one that was closed.
func NewBuilder(layout *Layout, o Options) *Builder {
	if b, _ := idle.Get().(*Builder); b != nil && b.serves(layout, o) {
		b.layout, b.o = layout, o
		return b
	}
	return &Builder{layout: layout, o: o, reader: newReader(layout, o), demands: slices.Clone(layout.Demands)}
}

// serves reports whether a reader made for the layout and options would be that of b.
func (b *Builder) serves(layout *Layout, o Options) bool {
	return b.layout.Table == layout.Table && slices.Equal(b.demands, layout.Demands) &&
		b.o.maxStatsBytes() == o.maxStatsBytes() && b.o.Zone == o.Zone && b.o.NaN == o.NaN
}

// Close leaves the builder to later callers of NewBuilder. Files that were not flushed are lost.
func (b *Builder) Close() {
	if b.n == 0 { // with rows begun, the reader is not as new
		idle.Put(b)
	}
}

// Len returns the number of files since the last Flush.
func (b *Builder) Len() int { return b.n }

// begin starts a row.
func (b *Builder) begin() error {
	if b.n == MaxBatchLen {
		return ErrFull
	}
	if b.n == len(b.paths.ends) {
		n := min(max(64, 2*b.n), MaxBatchLen)
		b.reader.own = grown(b.reader.own, n/64)
		b.paths.ends = grown(b.paths.ends, n)
		b.reader.grow(n)
	}
	b.reader.begin(b.n)
	return nil
}

// commit ends a row.
func (b *Builder) commit(path []byte, own bool) {
	b.paths.bytes = append(b.paths.bytes[:b.paths.start(b.n)], path...)
	b.paths.ends[b.n] = int32(len(b.paths.bytes))
	b.reader.own[b.n/64] &^= 1 << (b.n % 64)
	setTo(b.reader.own, b.n, own)
	b.n++
}

// Append adds one file. The error is ErrFull, or about a path that no store has.
func (b *Builder) Append(f *File) error {
	if len(f.Path) > maxPathBytes {
		return fmt.Errorf("colstats: a path of %d bytes is too long", len(f.Path))
	}
	if err := b.begin(); err != nil {
		return err
	}
	b.reader.statisticsText(asBytes(f.Stats))
	for name, id := range b.reader.values.wanted {
		p := &b.reader.partitions[id]
		v, ok := f.PartitionValues[name]
		switch {
		case ok && v == nil:
			b.reader.partitionNull(p)
		case ok:
			b.reader.partitionValue(p, asBytes(*v))
		}
	}
	b.commit(asBytes(f.Path), f.WroteItself)
	return nil
}

// AppendLine reads one line of a commit into l and, if it is an add, appends it: path, partition values and demanded
// statistics in one walk. Other kinds append nothing. The error is a *SyntaxError or ErrFull; nothing is appended then.
//
// A replay that learns from l that the add is dead takes it back by DropLast.
func (b *Builder) AppendLine(text []byte, l *Line) error {
	if err := b.begin(); err != nil {
		return err
	}
	if err := l.scan(text, b.reader); err != nil || l.Kind != AddLine {
		return err
	}
	b.commit(l.Path, l.DataChange && len(l.DeletionVector) == 0)
	return nil
}

// DropLast takes back the file that was appended last, once.
func (b *Builder) DropLast() { b.n-- }

// Flush returns the files appended so far as a batch that the caller releases, and empties the builder.
func (b *Builder) Flush() *Batch {
	mem := b.o.allocator()
	batch := &Batch{
		layout: b.layout,
		n:      b.n,
		paths:  b.paths.array(mem, arrow.BinaryTypes.String, b.n, nil),
		facts:  b.reader.facts(mem, b.n, nil),
		mem:    mem,
	}
	batch.refs.Store(1)
	b.n = 0
	return batch
}
