package checkpoint

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/ordered"
)

// A Scan says which adds Batches yields, and how.
type Scan struct {
	Layout *colstats.Layout
	// Stats says how statistics are read. Its Allocator is that of the Checkpoint when nil. NaN should stay NaNUnknown: nobody
	// knows who wrote the add of a checkpoint.
	Stats colstats.Options

	Seen Seen // without it, paths are read late

	// Prune is shown row groups, and rows of their pages, as if each were one add (colstats.Raw.Hull), and returns a bitmap of those
	// that may hold a survivor, LSB first; nil keeps all. It is called from one goroutine, not the caller's.
	Prune func(rowGroups *colstats.Batch) []uint64

	Left *Left // who wants to know of the adds that Prune leaves out; nil when nobody does

	Report *Report // what reading cost is added here when not nil
}

// A Left is shown the adds that pruning leaves out, for those who count adds. It costs the leaves of its layout: nothing, where that
// is empty and there is no Seen, for then the footer says how many adds there are.
type Left struct {
	Layout *colstats.Layout // nil demands nothing

	// Take is lent batches without paths, in checkpoint order, before the batches of later rows are yielded. It is called by
	// whoever asks for the next batch. An error ends the scan.
	Take func(*colstats.Batch) error
}

// A Report counts what scans did. It may be read when they are over.
type Report struct {
	Files     atomic.Int64 // looked into
	RowGroups atomic.Int64 // that may hold adds
	Pruned    atomic.Int64 // of those, left out unread because Prune said so
	// RowsPruned are rows of other row groups, left out because Prune said so of their pages.
	RowsPruned atomic.Int64
	AddsLeft   atomic.Int64 // in Pruned and RowsPruned, or rows where nothing tells; those that Seen would report included
	Adds       atomic.Int64 // yielded
	Dead       atomic.Int64 // left out because Seen said so
}

const (
	// Pieces begin small, so that the first answer comes soon, and grow, so that what they share is read once.
	firstPiece = 1 << 10
	pieceGrows = 4
	lastPiece  = 4 * colstats.MaxBatchLen

	linesPerPiece = 4 << 10 // of a top level in JSON
)

// A piece is what one worker reads at once: some rows of a row group, or some lines.
type piece struct {
	lines    []textAction
	scan     *Scan
	group    *groupPlan
	from, to int64 // rows
	left     bool  // for scan.Left
	adds     int64 // where this is positive: there is nothing to know of so many adds, and nothing to read
}

// A chunk is what came of a piece.
type chunk struct {
	batches []*colstats.Batch
	left    bool
}

func (c chunk) release() { releaseAll(c.batches) }

// Batches yields the adds of the checkpoint that a scan asks for, in checkpoint order. Each batch is lent until the next
// step: who keeps it retains it. Stopping early stops all reading before Batches returns. After an error nothing follows.
func (c *Checkpoint) Batches(ctx context.Context, s Scan) iter.Seq2[*colstats.Batch, error] {
	if s.Stats.Allocator == nil {
		s.Stats.Allocator = c.o.Allocator
	}
	if s.Report == nil {
		s.Report = new(Report)
	}
	if s.Layout == nil {
		s.Layout = &colstats.Layout{}
	}
	source := func(ctx context.Context) iter.Seq2[piece, error] { return c.pieces(ctx, &s) }
	read := func(ctx context.Context, p piece) (chunk chunk, err error) {
		chunk.left = p.left
		switch {
		case p.group == nil:
			chunk.batches, err = c.text.batches(&s, p.lines)
		case p.adds > 0:
			chunk.batches, err = countedOnly(p.scan, p.adds)
		default:
			chunk.batches, err = c.readPiece(ctx, p.scan, p)
		}
		return chunk, err
	}
	return func(yield func(*colstats.Batch, error) bool) {
		for chunk, err := range firstAlone(ctx, c.o.Workers, source, read) {
			if err != nil {
				if ctx.Err() != nil {
					err = fmt.Errorf("checkpoint: %w", ctx.Err())
				}
				yield(nil, err)
				return
			}
			for i, b := range chunk.batches {
				more := true
				if chunk.left {
					err = s.Left.Take(b)
				} else {
					s.Report.Adds.Add(int64(b.Len()))
					more = yield(b, nil)
				}
				b.Release()
				if !more || err != nil {
					releaseAll(chunk.batches[i+1:])
					if err != nil {
						yield(nil, err)
					}
					return
				}
			}
		}
	}
}

// firstAlone is [ordered.Map] of pieces, of which the first is read before any other is begun: whoever wants no more than that
// need not wait until others are given up.
func firstAlone(
	ctx context.Context, workers int, source func(context.Context) iter.Seq2[piece, error], read func(context.Context, piece) (chunk, error),
) iter.Seq2[chunk, error] {
	return func(yield func(chunk, error) bool) {
		next, stop := iter.Pull2(source(ctx))
		defer stop()
		p, err, ok := next()
		if !ok {
			return
		}
		var first chunk
		if err == nil {
			first, err = read(ctx, p)
		}
		if !yield(first, err) || err != nil {
			return
		}
		rest := func(context.Context) iter.Seq2[piece, error] {
			return func(yield func(piece, error) bool) {
				for p, err, ok := next(); ok && yield(p, err); p, err, ok = next() {
				}
			}
		}
		for chunk, err := range ordered.Map(ctx, workers, rest, read, chunk.release) {
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// countedOnly makes batches of adds of which nothing is known.
func countedOnly(s *Scan, adds int64) (batches []*colstats.Batch, err error) {
	for n := adds; n > 0; n -= colstats.MaxBatchLen {
		b, err := colstats.NewBatch(s.Layout, &colstats.Raw{Len: int(min(n, colstats.MaxBatchLen))}, s.Stats)
		if err != nil {
			releaseAll(batches)
			return nil, err
		}
		batches = append(batches, b)
	}
	return batches, nil
}

func releaseAll(batches []*colstats.Batch) {
	for _, b := range batches {
		b.Release()
	}
}

// pieces cuts the checkpoint into pieces, leaving out the row groups that Prune proves useless.
func (c *Checkpoint) pieces(ctx context.Context, s *Scan) iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		if c.text != nil {
			for lines := c.text.actions; len(lines) > 0; {
				n := min(len(lines), linesPerPiece)
				if !yield(piece{lines: lines[:n]}, nil) {
					return
				}
				lines = lines[n:]
			}
		}
		k := &cutter{s: s, size: firstPiece, yield: yield}
		for _, p := range c.files {
			s.Report.Files.Add(1)
			if more, err := k.cutFile(p); err != nil {
				yield(piece{}, err)
				return
			} else if !more {
				return
			}
		}
	}
}

// batches reads the adds among some lines.
func (t *textFile) batches(s *Scan, lines []textAction) (_ []*colstats.Batch, err error) {
	defer recovered(t.name, &err)
	b := colstats.NewBuilder(s.Layout, s.Stats)
	defer b.Close()
	var line colstats.Line
	for _, a := range lines {
		if a.kind != colstats.AddLine {
			continue
		}
		if err := b.AppendLine(a.text, &line); err != nil {
			b.Flush().Release()
			return nil, t.fail(a.line, corrupt("%v", err))
		}
		if s.Seen != nil && s.Seen(line.Path, line.DeletionVector) {
			b.DropLast()
			s.Report.Dead.Add(1)
		}
	}
	if b.Len() == 0 {
		b.Flush().Release()
		return nil, nil
	}
	return []*colstats.Batch{b.Flush()}, nil
}
