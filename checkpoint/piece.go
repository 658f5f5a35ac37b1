package checkpoint

import (
	"context"
	"math/bits"
	"strconv"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/leaf"
)

// readPiece reads the adds of some rows into batches.
func (c *Checkpoint) readPiece(ctx context.Context, s *Scan, p piece) (batches []*colstats.Batch, err error) {
	r := &pieceReader{c: c, scan: s, g: p.group, row: p.from, strips: map[*leaf.Node]*strip{}}
	defer func() {
		r.close()
		if err != nil {
			releaseAll(batches)
			batches = nil
		}
	}()
	defer recovered(p.group.part.name, &err)
	for r.row < p.to {
		if ctx.Err() != nil {
			return batches, ctx.Err()
		}
		b, err := r.next(int(min(p.to-r.row, colstats.MaxBatchLen)))
		if err != nil {
			return batches, err
		}
		if b != nil {
			batches = append(batches, b)
		}
	}
	return batches, nil
}

// A pieceReader reads batch after batch of one row group.
type pieceReader struct {
	c      *Checkpoint
	scan   *Scan
	g      *groupPlan
	row    int64 // where the next batch begins
	strips map[*leaf.Node]*strip
	texts  *partitionTexts // nil until they are needed
	vector []byte          // scratch
}

func (r *pieceReader) close() {
	for _, s := range r.strips {
		s.close()
	}
	if r.texts != nil {
		r.texts.close()
	}
}

// fill makes up to n rows of a leaf available, and returns how many. Without a leaf there is nothing to wait for.
func (r *pieceReader) fill(n *leaf.Node, rows int) (int, error) {
	if n == nil {
		return rows, nil
	}
	s := r.strips[n]
	if s == nil {
		s = &strip{g: r.g, node: n, o: &r.c.o}
		r.strips[n] = s
	}
	return s.fill(r.row, rows)
}

// A batchReader holds the arrays of the batch that is being made: the rows of the group, later only the selected ones.
type batchReader struct {
	*pieceReader
	rows   int
	arrays map[*leaf.Node]arrow.Array
	keep   []uint64 // rows that go into the batch
	kept   int
}

// next makes a batch of the adds in the next n rows, or of fewer. It returns nil if there are none.
func (r *pieceReader) next(n int) (*colstats.Batch, error) {
	b := &batchReader{pieceReader: r, rows: n, arrays: map[*leaf.Node]arrow.Array{}}
	defer b.release()
	if err := b.read(); err != nil {
		return nil, err
	}
	defer func() { r.row += int64(b.rows) }()
	if err := b.choose(); err != nil || b.kept == 0 {
		return nil, err
	}
	return b.batch()
}

func (b *batchReader) release() {
	for _, a := range b.arrays {
		a.Release()
	}
}

// read reads the leaves that every batch needs, and the statistics' text if some row has no struct.
func (b *batchReader) read() error {
	nodes := []*leaf.Node{b.g.witness, b.g.numRecords}
	if b.scan.Seen != nil {
		nodes = append(nodes, b.g.path, b.g.storageType, b.g.pathOrInlineDV, b.g.offset)
	}
	for i := range b.g.demands {
		d := &b.g.demands[i]
		nodes = append(nodes, d.min, d.max, d.nulls)
		if b.g.trustParsed(d) {
			nodes = append(nodes, d.parsed)
		}
	}
	var err error
	for _, n := range nodes {
		if b.rows, err = b.fill(n, b.rows); err != nil {
			return err
		}
	}
	if b.g.stats != nil && b.lackStruct() {
		nodes = append(nodes, b.g.stats)
		if b.rows, err = b.fill(b.g.stats, b.rows); err != nil {
			return err
		}
	}
	for _, n := range nodes {
		if n != nil && b.arrays[n] == nil {
			b.arrays[n] = b.strips[n].peek(b.row, b.rows)
		}
	}
	return nil
}

// lackStruct reports whether some row that may hold an add lacks stats_parsed.
func (b *batchReader) lackStruct() bool {
	if b.g.numRecords == nil {
		return true
	}
	if b.g.complete(b.g.numRecords) {
		return false
	}
	records := b.strips[b.g.numRecords].peek(b.row, b.rows)
	defer records.Release()
	if b.g.witness == nil {
		return records.NullN() > 0
	}
	witness := b.strips[b.g.witness].peek(b.row, b.rows)
	defer witness.Release()
	for i := range b.rows {
		if witness.IsValid(i) && records.IsNull(i) {
			return true
		}
	}
	return false
}

// choose finds the rows that hold adds which nobody has seen, and cuts the arrays down to them.
func (b *batchReader) choose() error {
	b.keep = valid(b.arrays[b.g.witness], b.rows)
	if b.scan.Seen != nil {
		if err := b.dropSeen(); err != nil {
			return err
		}
	}
	for _, w := range b.keep {
		b.kept += bits.OnesCount64(w)
	}
	if b.kept == 0 || b.kept == b.rows {
		return nil
	}
	for n, a := range b.arrays {
		chosen, err := b.pick(a)
		if err != nil {
			return b.g.part.fail(b.g.group, n, err)
		}
		a.Release()
		b.arrays[n] = chosen
	}
	return nil
}

// valid marks the rows in which an array, or an absent one taken to be full, has a value.
func valid(a arrow.Array, n int) []uint64 {
	words := make([]uint64, (n+63)/64)
	if a == nil || a.NullN() == 0 {
		setBits(words, n)
		return words
	}
	for i := range n {
		if a.IsValid(i) {
			words[i/64] |= 1 << (i % 64)
		}
	}
	return words
}

// setBits sets the first n bits.
func setBits(words []uint64, n int) {
	for i := range words {
		words[i] = ^uint64(0) >> (64 - min(64, n-64*i))
	}
}

// dropSeen takes the files that were seen out of keep.
func (b *batchReader) dropSeen() error {
	path := b.arrays[b.g.path]
	storage, inline, offset := b.arrays[b.g.storageType], b.arrays[b.g.pathOrInlineDV], b.arrays[b.g.offset]
	for i := range b.rows {
		if !colstats.IsSet(b.keep, i) {
			continue
		}
		if path.IsNull(i) { // a group of adds alone: the footer is wrong
			return b.g.part.fail(b.g.group, b.g.path, corrupt("row %d has an add without a path", b.row+int64(i)))
		}
		b.vector = append(append(b.vector[:0], text(storage, i)...), text(inline, i)...)
		if v, ok := integer(offset, i); ok {
			b.vector = strconv.AppendInt(append(b.vector, '@'), v, 10)
		}
		if b.scan.Seen(text(path, i), b.vector) {
			b.keep[i/64] &^= 1 << (i % 64)
			b.scan.Report.Dead.Add(1)
		}
	}
	return nil
}

// text returns a string of an array without a copy, and nothing for null or an array of another type.
func text(a arrow.Array, i int) []byte {
	switch a := a.(type) {
	case *array.String:
		if a.IsValid(i) {
			v := a.Value(i)
			return unsafe.Slice(unsafe.StringData(v), len(v))
		}
	case *array.Binary:
		if a.IsValid(i) {
			return a.Value(i)
		}
	}
	return nil
}

// integer returns a number of an array.
func integer(a arrow.Array, i int) (int64, bool) {
	switch a := a.(type) {
	case *array.Int32:
		return int64(a.Value(i)), a.IsValid(i)
	case *array.Int64:
		return a.Value(i), a.IsValid(i)
	}
	return 0, false
}

// pick returns the kept rows of an array.
func (b *batchReader) pick(a arrow.Array) (arrow.Array, error) {
	var runs []arrow.Array
	defer func() {
		for _, r := range runs {
			r.Release()
		}
	}()
	for i := 0; i < b.rows; {
		if !colstats.IsSet(b.keep, i) {
			i++
			continue
		}
		from := i
		for i < b.rows && colstats.IsSet(b.keep, i) {
			i++
		}
		runs = append(runs, array.NewSlice(a, int64(from), int64(i)))
	}
	if len(runs) == 1 {
		runs[0].Retain()
		return runs[0], nil
	}
	return array.Concatenate(runs, b.c.o.Allocator)
}

// batch makes facts of the arrays, which hold kept rows only.
func (b *batchReader) batch() (*colstats.Batch, error) {
	raw := &colstats.Raw{
		Len:        b.kept,
		NumRecords: b.arrays[b.g.numRecords],
		StatsJSON:  b.arrays[b.g.stats],
		Demands:    make([]colstats.RawDemand, len(b.g.demands)),
	}
	// Without numRecords a struct says next to nothing, and some writers make one of nulls where there is none.
	if raw.StatsJSON != nil && (raw.NumRecords == nil || raw.NumRecords.NullN() > 0) {
		raw.HasStruct = make([]uint64, (b.kept+63)/64)
		for i := range b.kept {
			parsed := raw.NumRecords != nil && raw.NumRecords.IsValid(i)
			if parsed || raw.StatsJSON.IsNull(i) {
				raw.HasStruct[i/64] |= 1 << (i % 64)
			}
		}
	}
	for i := range b.g.demands {
		d, r := &b.g.demands[i], &raw.Demands[i]
		r.Min, r.Max, r.NullCount, r.Value = b.arrays[d.min], b.arrays[d.max], b.arrays[d.nulls], b.arrays[d.parsed]
	}
	defer func() {
		for i := range raw.Demands {
			if t := raw.Demands[i].ValueText; t != nil {
				t.Release()
			}
		}
	}()
	if err := b.readPartitionTexts(raw); err != nil {
		return nil, err
	}
	if b.scan.Seen != nil {
		raw.Path = b.arrays[b.g.path]
	} else {
		raw.LatePaths = b.latePaths()
	}
	batch, err := colstats.NewBatch(b.scan.Layout, raw, b.scan.Stats)
	return batch, b.g.part.fail(b.g.group, nil, err)
}
