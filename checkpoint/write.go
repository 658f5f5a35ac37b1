package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/uuid"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/schema"
)

// A State is what a checkpoint holds: a table at one version.
type State struct {
	Version  int64
	Protocol *action.Protocol
	Metadata *action.Metadata
	Table    *schema.Table   // that of Metadata
	Others   []action.Action // of types *action.Txn and *action.DomainMetadata
	Adds     iter.Seq2[*action.Add, error]
	Removes  iter.Seq2[*action.Remove, error] // tombstones
}

// A StatsForm says how a checkpoint holds the statistics of adds.
type StatsForm uint8

const (
	// StatsAsAsked does what the table's properties delta.checkpoint.writeStatsAsJson (true when absent) and
	// delta.checkpoint.writeStatsAsStruct (false when absent) say.
	StatsAsAsked StatsForm = iota
	StatsAsJSON
	StatsAsStruct // what the struct cannot hold is lost
	StatsAsBoth
)

// WriteOptions say how a checkpoint is written. The zero WriteOptions works.
type WriteOptions struct {
	Allocator memory.Allocator // makes every Arrow buffer; nil means memory.DefaultAllocator

	// V2 writes a UUID-named checkpoint with sidecars. The table must have the feature v2Checkpoint. Otherwise the checkpoint is
	// classic: a single file or, from two on, so many Parts, which are dealt the row groups in turn.
	V2    bool
	Parts int

	Stats StatsForm

	// ClusterBy sorts the adds by the lower bounds of these columns, so that row groups cover narrow ranges and most of them
	// can be pruned. All adds are held in memory then. Adds without a bound come last. Without it adds keep their order.
	ClusterBy []*schema.Column

	RowGroupRows int // adds in a row group, at most 64 Ki; 0 means 16 Ki
	SidecarRows  int // adds in a sidecar; 0 means 128 Ki

	// TombstonesSince leaves out removes from before, which have expired; zero keeps all.
	TombstonesSince time.Time

	// Zone is where partition values of timestamp columns that name no zone were written; nil means UTC.
	Zone *time.Location

	// For those who want the same bytes again: the unique part of the next file name of a V2 checkpoint, a UUID and random when
	// nil; and when its files were made, now when zero.
	NewID func() string
	Now   time.Time
}

// Write writes a checkpoint of a state, then _last_checkpoint, whose contents it returns. A file that is there already under the
// name of a classic checkpoint is replaced. Files are made in memory unless the store is a [logstore.Creator]; beyond that Write
// holds a row group's adds, and what is written at the end of a file about its row groups.
func Write(ctx context.Context, store logstore.Store, s *State, o WriteOptions) (*LastCheckpoint, error) {
	w, err := newWriter(store, s, o)
	if err != nil {
		return nil, err
	}
	if w.o.V2 {
		err = w.writeV2(ctx)
	} else {
		err = w.writeClassic(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: writing version %d: %w", s.Version, err)
	}
	if err := store.Put(ctx, lastCheckpointName, w.last.Append(nil)); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return &w.last, nil
}

// A writer writes one checkpoint.
type writer struct {
	store logstore.Store
	s     *State
	o     WriteOptions
	json  bool       // statistics as text
	tree  *statsTree // statistics as a struct; nil without
	last  LastCheckpoint
	files []*fileWriter // being written
}

func newWriter(store logstore.Store, s *State, o WriteOptions) (*writer, error) {
	if s.Protocol == nil || s.Metadata == nil || s.Table == nil {
		return nil, errors.New("checkpoint: a state without protocol, metadata or table")
	}
	if o.V2 && !slices.Contains(s.Protocol.ReaderFeatures, "v2Checkpoint") {
		return nil, errors.New("checkpoint: the table does not have the feature v2Checkpoint")
	}
	if o.Parts < 0 || o.Parts > 1 && o.V2 {
		return nil, fmt.Errorf("checkpoint: %d parts: only a classic checkpoint has some", o.Parts)
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if o.Allocator == nil {
		o.Allocator = memory.DefaultAllocator
	}
	if o.RowGroupRows <= 0 {
		o.RowGroupRows = 16 << 10
	}
	o.RowGroupRows = min(o.RowGroupRows, colstats.MaxBatchLen)
	if o.SidecarRows <= 0 {
		o.SidecarRows = 128 << 10
	}
	w := &writer{store: store, s: s, o: o, last: LastCheckpoint{Version: s.Version}}
	asStruct := o.Stats == StatsAsStruct || o.Stats == StatsAsBoth
	w.json = o.Stats == StatsAsJSON || o.Stats == StatsAsBoth
	if o.Stats == StatsAsAsked {
		w.json = s.Table.Configuration["delta.checkpoint.writeStatsAsJson"] != "false"
		asStruct = s.Table.Configuration["delta.checkpoint.writeStatsAsStruct"] == "true"
	}
	if asStruct {
		w.tree = newStatsTree(s.Table, o.ClusterBy)
	}
	return w, nil
}

// discard drops the files that are being written.
func (w *writer) discard() {
	for _, f := range w.files {
		f.discard()
	}
	w.files = nil
}

func (w *writer) writeClassic(ctx context.Context) error {
	defer w.discard()
	name := Name{Version: w.s.Version}
	if w.o.Parts > 1 {
		name.Parts, w.last.Parts = w.o.Parts, w.o.Parts
	}
	for i := range max(1, name.Parts) {
		if name.Parts > 0 {
			name.Part = i + 1
		}
		if err := w.begin(ctx, logDir+"/"+name.String(), true); err != nil {
			return err
		}
	}
	for _, a := range append([]action.Action{w.s.Protocol, w.s.Metadata}, w.s.Others...) {
		if err := w.files[0].append(a); err != nil {
			return err
		}
	}
	at := 0
	for a, err := range w.fileActions(ctx) {
		if err != nil {
			return err
		}
		f := w.files[at]
		if err := f.append(a); err != nil {
			return err
		}
		if len(f.pending) == w.o.RowGroupRows {
			at = (at + 1) % len(w.files)
		}
	}
	for _, f := range w.files {
		if _, err := w.end(f); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) writeV2(ctx context.Context) error {
	var sidecars []*action.Sidecar
	defer w.discard()
	rows := 0
	endSidecar := func() error {
		f := w.files[0]
		size, err := w.end(f)
		if err != nil {
			return err
		}
		sidecars = append(sidecars, &action.Sidecar{Path: path.Base(f.name), SizeInBytes: size, ModificationTime: w.o.Now.UnixMilli()})
		w.files, rows = nil, 0
		return nil
	}
	for a, err := range w.fileActions(ctx) {
		if err != nil {
			return err
		}
		if w.files == nil {
			name := fmt.Sprintf("%s/%020d.checkpoint.%s.parquet", sidecarDir, w.s.Version, w.o.NewID())
			if err := w.begin(ctx, name, false); err != nil {
				return err
			}
		}
		if err := w.files[0].append(a); err != nil {
			return err
		}
		if rows++; rows == w.o.SidecarRows {
			if err := endSidecar(); err != nil {
				return err
			}
		}
	}
	if w.files != nil {
		if err := endSidecar(); err != nil {
			return err
		}
	}
	text := func(n int64) *string { s := fmt.Sprint(n); return &s }
	top := []action.Action{
		&action.CheckpointMetadata{Version: w.s.Version, Tags: map[string]*string{
			"sidecarNumActions": text(w.last.Size), "sidecarSizeInBytes": text(w.last.SizeInBytes), "numOfAddFiles": text(w.last.NumAdds),
		}},
		w.s.Protocol, w.s.Metadata,
	}
	top = append(top, w.s.Others...)
	for _, s := range sidecars {
		top = append(top, s)
	}
	var data []byte
	for _, a := range top {
		data = append(action.Append(data, a), '\n')
	}
	w.last.Size += int64(len(top))
	w.last.SizeInBytes += int64(len(data))
	name := Name{Version: w.s.Version, UUID: w.o.NewID(), JSON: true}
	return w.store.Put(ctx, logDir+"/"+name.String(), data)
}

// fileActions yields the adds in the order in which they are written, then the removes.
func (w *writer) fileActions(ctx context.Context) iter.Seq2[action.Action, error] {
	adds := w.s.Adds
	return func(yield func(action.Action, error) bool) {
		n := 0
		next := func(a action.Action, err error) bool {
			if n++; err == nil && n%(1<<12) == 0 {
				err = ctx.Err()
			}
			return yield(a, err) && err == nil
		}
		if len(w.o.ClusterBy) > 0 {
			adds = w.clustered()
		}
		for a, err := range adds {
			if !next(a, err) {
				return
			}
			w.last.NumAdds++
		}
		for r, err := range w.s.Removes {
			if err == nil && w.expired(r) {
				continue
			}
			if !next(r, err) {
				return
			}
		}
	}
}

// expired says whether a tombstone has served its time. One that does not say when it began was written long ago.
func (w *writer) expired(r *action.Remove) bool {
	if w.o.TombstonesSince.IsZero() {
		return false
	}
	return r.DeletionTimestamp == nil || *r.DeletionTimestamp < w.o.TombstonesSince.UnixMilli()
}

// clustered yields the adds sorted by the lower bounds of the columns to cluster by.
func (w *writer) clustered() iter.Seq2[*action.Add, error] {
	return func(yield func(*action.Add, error) bool) {
		layout := &colstats.Layout{Table: w.s.Table}
		for _, c := range w.o.ClusterBy {
			layout.Demands = append(layout.Demands, colstats.Demand{Column: c, Bounds: true})
		}
		type keyed struct {
			add   *action.Add
			batch *colstats.Batch
			row   int
		}
		var all []keyed
		var batches []*colstats.Batch
		defer func() { releaseAll(batches) }()
		b := colstats.NewBuilder(layout, colstats.Options{Allocator: w.o.Allocator, Zone: w.o.Zone})
		flush := func() {
			batch := b.Flush()
			batches = append(batches, batch)
			for i := range batch.Len() {
				k := &all[len(all)-batch.Len()+i]
				k.batch, k.row = batch, i
			}
		}
		for a, err := range w.s.Adds {
			if err == nil {
				err = b.Append(&colstats.File{PartitionValues: a.PartitionValues, Stats: a.Stats})
			}
			if err != nil {
				flush()
				yield(nil, err)
				return
			}
			all = append(all, keyed{add: a})
			if b.Len() == colstats.MaxBatchLen {
				flush()
			}
		}
		flush()
		slices.SortStableFunc(all, func(x, y keyed) int {
			for i := range layout.Demands {
				if c := compareLower(x.batch.Facts(i), x.row, y.batch.Facts(i), y.row); c != 0 {
					return c
				}
			}
			return 0
		})
		for _, k := range all {
			if !yield(k.add, nil) {
				return
			}
		}
	}
}

// compareLower orders files by a column's lower bound; those without one come last.
func compareLower(f *colstats.Facts, i int, g *colstats.Facts, j int) int {
	switch has, too := colstats.IsSet(f.Bounded, i), colstats.IsSet(g.Bounded, j); {
	case !has && !too:
		return 0
	case !has:
		return 1
	case !too:
		return -1
	}
	switch a := f.Lower.(type) {
	case *array.Int8:
		return compareAt(a, i, g.Lower, j)
	case *array.Int16:
		return compareAt(a, i, g.Lower, j)
	case *array.Int32:
		return compareAt(a, i, g.Lower, j)
	case *array.Int64:
		return compareAt(a, i, g.Lower, j)
	case *array.Float32:
		return compareAt(a, i, g.Lower, j)
	case *array.Float64:
		return compareAt(a, i, g.Lower, j)
	case *array.Date32:
		return compareAt(a, i, g.Lower, j)
	case *array.Timestamp:
		return compareAt(a, i, g.Lower, j)
	case *array.String:
		return compareAt(a, i, g.Lower, j)
	case *array.Decimal128:
		return a.Value(i).Cmp(g.Lower.(*array.Decimal128).Value(j))
	}
	return 0 // booleans are not worth sorting by
}

func compareAt[T cmp.Ordered, A interface{ Value(int) T }](a A, i int, b arrow.Array, j int) int {
	return cmp.Compare(a.Value(i), any(b).(A).Value(j))
}

// begin starts a parquet file: with columns for all actions, or for those of files.
func (w *writer) begin(ctx context.Context, name string, all bool) error {
	fields := []arrow.Field{w.addField(), removeField}
	if all {
		fields = append(fields, metadataField, protocolField, txnField, domainMetadataField)
	}
	sink, err := newSink(ctx, w.store, name)
	if err != nil {
		return err
	}
	s := arrow.NewSchema(fields, nil)
	f := &fileWriter{w: w, name: name, sink: sink, builder: array.NewRecordBuilder(w.o.Allocator, s), column: map[string]*array.StructBuilder{}}
	props := parquet.NewWriterProperties(append([]parquet.WriterProperty{
		parquet.WithAllocator(w.o.Allocator), parquet.WithCreatedBy(createdBy), parquet.WithCompression(compress.Codecs.Snappy),
		parquet.WithMaxRowGroupLength(int64(w.o.RowGroupRows)), parquet.WithPageIndexEnabled(true), parquet.WithDataPageSize(dataPageBytes),
		// Nothing repeats there, so dictionaries would only be built and thrown away.
		parquet.WithDictionaryFor("add.path", false), parquet.WithDictionaryFor("add.stats", false),
		parquet.WithDictionaryFor("remove.path", false),
	}, append(w.numberBounds(), pageProperties...)...)...)
	f.parquet, err = pqarrow.NewFileWriter(s, sink, props, pqarrow.NewArrowWriterProperties(pqarrow.WithAllocator(w.o.Allocator)))
	if err != nil {
		f.discard()
		return err
	}
	for i, b := range f.builder.Fields() {
		f.column[fields[i].Name] = b.(*array.StructBuilder)
	}
	w.files = append(w.files, f)
	return nil
}

// numberBounds has the bounds of columns of many numbers written as they are. They are hardly ever the same in two files, so that a
// dictionary would hold all of them and the indexes into it would come on top; and they compress by little, in copies of a few bytes
// each, which take longer to put together again than all else that a reader does with them.
func (w *writer) numberBounds() (props []parquet.WriterProperty) {
	if w.tree == nil {
		return nil
	}
	var walk func(n *statsNode, path string)
	walk = func(n *statsNode, path string) {
		for _, c := range n.children {
			walk(c, path+"."+c.name)
		}
		if n.typ == nil {
			return
		}
		switch n.typ.ID() {
		case arrow.INT32, arrow.INT64, arrow.TIMESTAMP, arrow.FLOAT32, arrow.FLOAT64, arrow.DECIMAL128:
			props = append(props, parquet.WithDictionaryFor(path, false), parquet.WithCompressionFor(path, compress.Codecs.Uncompressed))
		}
	}
	for _, n := range w.tree.root.children {
		if n.name == "minValues" || n.name == "maxValues" {
			walk(n, "add.stats_parsed."+n.name)
		}
	}
	return props
}

// end completes a file and returns its size.
func (w *writer) end(f *fileWriter) (int64, error) {
	defer f.discard()
	if err := f.endRowGroup(); err != nil {
		return 0, err
	}
	if err := f.parquet.Close(); err != nil {
		return 0, err
	}
	if err := f.sink.commit(); err != nil {
		return 0, err
	}
	w.last.Size += f.total
	w.last.SizeInBytes += f.sink.size
	return f.sink.size, nil
}

// dataPageBytes is where a page ends. Numbers of a row group fit in one; whoever wants a single path decompresses no more than this.
const dataPageBytes = 128 << 10

// pageProperties are set by tests, which want many pages of few rows.
var pageProperties []parquet.WriterProperty

// createdBy is what our files say of their writer. Readers of this package take from it that no NaN is among bounds.
const createdBy = "deltaskip"

// A fileWriter writes one parquet file, row group by row group.
type fileWriter struct {
	w       *writer
	name    string
	sink    *sink
	parquet *pqarrow.FileWriter
	builder *array.RecordBuilder // nil when released
	column  map[string]*array.StructBuilder
	pending []action.Action // of the next row group
	total   int64           // rows
}

// discard releases what the writer holds, and drops a file that is not complete.
func (f *fileWriter) discard() {
	if f.builder != nil {
		f.builder.Release()
		f.builder = nil
	}
	f.sink.discard()
}

// append adds an action as a row. Adds share row groups with nothing else, so that reading them needs no search for them.
func (f *fileWriter) append(a action.Action) error {
	if f.column[a.Name()] == nil {
		return fmt.Errorf("a checkpoint holds no action %s", a.Name())
	}
	if n := len(f.pending); n > 0 && (n == f.w.o.RowGroupRows || isAdd(a) != isAdd(f.pending[0])) {
		if err := f.endRowGroup(); err != nil {
			return err
		}
	}
	f.pending = append(f.pending, a)
	f.total++
	return nil
}

func isAdd(a action.Action) bool {
	_, ok := a.(*action.Add)
	return ok
}

func (f *fileWriter) endRowGroup() error {
	if len(f.pending) == 0 {
		return nil
	}
	var facts *colstats.Batch // of the partition values of adds
	if tree := f.w.tree; tree != nil && isAdd(f.pending[0]) {
		var err error
		facts, err = tree.facts(f.pending, colstats.Options{Allocator: f.w.o.Allocator, Zone: f.w.o.Zone})
		if err != nil {
			return err
		}
		defer facts.Release()
	}
	for i, a := range f.pending {
		for name, b := range f.column {
			if name != a.Name() {
				b.AppendNull()
			}
		}
		b := f.column[a.Name()]
		b.Append(true)
		r := row{b: b}
		switch a := a.(type) {
		case *action.Add:
			if err := f.w.add(&r, a, facts, i); err != nil {
				return err
			}
		case *action.Remove:
			r.remove(a)
		case *action.Metadata:
			r.metadata(a)
		case *action.Protocol:
			r.protocol(a)
		case *action.Txn:
			r.txn(a)
		case *action.DomainMetadata:
			r.domainMetadata(a)
		}
	}
	clear(f.pending)
	f.pending = f.pending[:0]
	rec := f.builder.NewRecordBatch()
	defer rec.Release()
	return f.parquet.Write(rec)
}
