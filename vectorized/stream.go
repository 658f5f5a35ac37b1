package vectorized

import (
	"context"
	"fmt"
	"iter"
	"math/bits"
	"runtime"
	"strings"
	"sync"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/ordered"
)

// A Hit is a file that may match.
type Hit struct {
	Index int64  // position in log order, over all batches
	Path  string // as the log spells it
	Read  int    // the first read that may match it
}

// Stats count files. After First they count those up to and including the hit, so that they don't depend on scheduling.
type Stats struct {
	Considered         int64
	SkippedByPartition int64 // no read's partition predicate may match
	SkippedByStats     int64 // some does, but none together with its data predicate
}

// Add counts the files of t as well.
func (s *Stats) Add(t Stats) {
	s.Considered += t.Considered
	s.SkippedByPartition += t.SkippedByPartition
	s.SkippedByStats += t.SkippedByStats
}

// count counts n files, of which those in partition passed the partition predicates and those in may all of them.
func count(n int, partition, may []uint64) Stats {
	var passed, kept int64
	for i := range partition {
		passed += int64(bits.OnesCount64(partition[i]))
		kept += int64(bits.OnesCount64(may[i]))
	}
	return Stats{Considered: int64(n), SkippedByPartition: int64(n) - passed, SkippedByStats: passed - kept}
}

// First returns the first file in log order that may match, or nil. Batches are evaluated in parallel, with a bounded
// number in flight; when First returns, nothing it started is still running. Errors of src count only before the hit.
// src may be driven from another goroutine, one step at a time.
func (p *Program) First(ctx context.Context, src iter.Seq2[*colstats.Batch, error]) (*Hit, Stats, error) {
	var stats Stats
	first := func(b *colstats.Batch) (firstOf, error) { return p.first(b, everyZone) }
	for f, err := range each(ctx, p.workers(), src, first, nil) {
		if err != nil {
			return nil, stats, err
		}
		if f.hit != nil {
			f.hit.Index += stats.Considered
		}
		stats.Add(f.stats)
		if f.hit != nil {
			return f.hit, stats, nil
		}
	}
	return nil, stats, nil
}

// FirstOf is [Program.First] over batches that are in memory. One batch is evaluated without starting anything.
func (p *Program) FirstOf(ctx context.Context, batches []*colstats.Batch) (*Hit, Stats, error) {
	if len(batches) == 1 && ctx.Err() == nil {
		f, err := p.first(batches[0], everyZone)
		return f.hit, f.stats, err
	}
	return p.First(ctx, ordered.Items(batches)(ctx))
}

// firstOf is First for one batch.
type firstOf struct {
	hit   *Hit
	stats Stats
}

// first finds the first file of a batch that may match. No file outside the zones that are set does.
func (p *Program) first(b *colstats.Batch, zones uint64) (f firstOf, err error) {
	defer recoverTo(&err)
	s := scratches.Get().(*Scratch)
	defer s.put()
	r := &s.run
	if err := r.start(p, b); err != nil {
		return firstOf{}, err
	}
	var partition, may [chunkWords]uint64
	size := 64 // a hit among the first files should not wait for a whole chunk
	if zones != everyZone {
		size = chunkFiles
	}
	for files, ok := r.next(size); ok; files, ok = r.next(size) {
		size = chunkFiles
		if err := r.partitions(partition[:len(files)], files); err != nil {
			return f, err
		}
		if zones>>(r.lo/colstats.ZoneLen)&1 == 0 {
			clear(may[:])
		} else {
			r.answer(may[:len(files)], p.may, partition[:len(files)])
		}
		for w, word := range may[:len(files)] {
			if word == 0 {
				continue
			}
			i := bits.TrailingZeros64(word)
			file := r.lo + w*64 + i
			partition[w] &= lowBits(i + 1)
			may[w] &= lowBits(i + 1)
			f.stats.Add(count(w*64+i+1, partition[:w+1], may[:w+1]))
			path, err := b.Path(file)
			if err != nil {
				return f, fmt.Errorf("vectorized: the path of file %d of a batch: %w", file, err)
			}
			f.hit = &Hit{Index: int64(file), Path: strings.Clone(path), Read: r.firstRead(file)}
			return f, nil
		}
		f.stats.Add(count(r.hi-r.lo, partition[:len(files)], may[:len(files)]))
	}
	return f, nil
}

// firstRead returns the first read that may match a file, of which some does.
func (r *run) firstRead(file int) int {
	for i, read := range r.p.reads {
		if r.reference(read.partition, file) && r.reference(read.data, file) {
			return i
		}
	}
	return -1
}

// Scan evaluates every batch in parallel and calls fn for each in log order, on the caller's goroutine. base is the
// position of the batch's first file. The batch and the result are lent until fn returns; an error of fn ends the scan.
// src may be driven from another goroutine, one step at a time.
func (p *Program) Scan(ctx context.Context, src iter.Seq2[*colstats.Batch, error], fn func(b *colstats.Batch, base int64, r Result) error) (Stats, error) {
	type evaluated struct {
		batch  *colstats.Batch
		result Result
		s      *Scratch
	}
	evaluate := func(b *colstats.Batch) (evaluated, error) {
		s := scratches.Get().(*Scratch)
		result, err := p.Eval(b, s)
		if err != nil {
			s.put()
			return evaluated{}, err
		}
		b.Retain()
		return evaluated{b, result, s}, nil
	}
	done := func(e evaluated) {
		e.batch.Release()
		e.s.put()
	}
	var stats Stats
	for e, err := range each(ctx, p.workers(), src, evaluate, done) {
		if err != nil {
			return stats, err
		}
		err := fn(e.batch, stats.Considered, e.result)
		stats.Add(count(e.batch.Len(), e.result.Partition, e.result.May))
		done(e)
		if err != nil {
			return stats, err
		}
	}
	return stats, nil
}

// scratches are for evaluations whose caller brings none.
var scratches = sync.Pool{New: func() any { return new(Scratch) }}

// put gives s back, without a hold on the batch it worked on.
func (s *Scratch) put() {
	clear(s.run.facts)
	scratches.Put(s)
}

func (p *Program) workers() int {
	if p.options.Workers > 0 {
		return p.options.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// each applies f to every batch of src, up to so many at a time, and yields what it returns in order. Results that nobody
// will see go to drop. An error is the last thing yielded; the end of ctx is one.
func each[T any](
	ctx context.Context, workers int, src iter.Seq2[*colstats.Batch, error], f func(*colstats.Batch) (T, error), drop func(T),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		next, stop := iter.Pull2(src)
		defer stop()
		step := func() (b *colstats.Batch, err error, ok bool) {
			defer func() { ok = ok || err != nil }()
			defer recoverTo(&err)
			return next()
		}
		// The first batch is evaluated here: often it decides, and starting anything else would be a waste.
		b, err, ok := step()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(none, err)
			return
		}
		if !ok {
			return
		}
		out, err := f(b)
		if !yield(out, err) || err != nil {
			return
		}
		if b, err, ok = step(); !ok {
			return
		}
		rest := func(context.Context) iter.Seq2[*colstats.Batch, error] {
			return func(yield func(*colstats.Batch, error) bool) {
				for ; ok; b, err, ok = step() {
					if err != nil {
						yield(nil, err)
						return
					}
					b.Retain()
					if !yield(b, nil) {
						b.Release()
						return
					}
				}
			}
		}
		work := func(ctx context.Context, b *colstats.Batch) (T, error) {
			defer b.Release()
			if err := ctx.Err(); err != nil {
				return none, err
			}
			return f(b)
		}
		for out, err := range ordered.Map(ctx, workers, rest, work, drop) {
			if !yield(out, err) {
				return
			}
		}
	}
}

// Prune returns the callback that [checkpoint.Scan] wants for this program: which of some row groups, presented as if each
// were one add, may hold a file that matches. Where evaluation fails, all may.
//
// [checkpoint.Scan]: https://pkg.go.dev/github.com/deltaskip/deltaskip/checkpoint#Scan
func (p *Program) Prune() func(rowGroups *colstats.Batch) []uint64 {
	return func(rowGroups *colstats.Batch) []uint64 {
		r, err := p.Eval(rowGroups, new(Scratch))
		if err != nil {
			return nil
		}
		return r.May
	}
}
