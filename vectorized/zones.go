package vectorized

import (
	"context"
	"iter"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/ordered"
)

// A chunk is a zone, so that one is evaluated or passed over as a whole.
var (
	_ [chunkFiles - colstats.ZoneLen]struct{}
	_ [colstats.ZoneLen - chunkFiles]struct{}
	_ [64 - colstats.MaxBatchLen/colstats.ZoneLen]struct{} // and those of a batch fit a word
)

// everyZone is all zones of a batch.
const everyZone = ^uint64(0)

// FirstIn is [Program.FirstOf] over batches with a zone map: only the zones that may hold a survivor are looked at. The
// answer is the same.
func (p *Program) FirstIn(ctx context.Context, z *colstats.Zones) (*Hit, Stats, error) {
	var stats Stats
	for f, err := range eachPart(ctx, p, z, func(part part) (firstOf, error) { return p.first(part.batch, part.zones) }, nil) {
		if err != nil {
			return nil, stats, err
		}
		stats.Add(f.before)
		if f.out.hit != nil {
			f.out.hit.Index += stats.Considered
		}
		stats.Add(f.out.stats)
		if f.out.hit != nil {
			return f.out.hit, stats, nil
		}
	}
	return nil, stats, nil
}

// ScanIn is [Program.Scan] over batches with a zone map: only the zones that may hold a survivor are looked at, and fn sees
// only batches that have such zones. The counts are the same.
func (p *Program) ScanIn(ctx context.Context, z *colstats.Zones, fn func(b *colstats.Batch, base int64, r Result) error) (Stats, error) {
	type evaluated struct {
		result Result
		s      *Scratch
	}
	evaluate := func(part part) (evaluated, error) {
		s := scratches.Get().(*Scratch)
		result, err := p.eval(part.batch, s, part.zones)
		if err != nil {
			s.put()
			return evaluated{}, err
		}
		return evaluated{result, s}, nil
	}
	done := func(e evaluated) { e.s.put() }
	var stats Stats
	for e, err := range eachPart(ctx, p, z, evaluate, done) {
		if err != nil {
			return stats, err
		}
		stats.Add(e.before)
		if e.batch == nil {
			continue
		}
		base := stats.Considered
		stats.Add(count(e.batch.Len(), e.out.result.Partition, e.out.result.May))
		if e.zones != 0 {
			err = fn(e.batch, base, e.out.result)
		}
		done(e.out)
		if err != nil {
			return stats, err
		}
	}
	return stats, nil
}

// A part is a batch of which some zones may hold a survivor, and the files that were passed over before it.
type part struct {
	before Stats
	batch  *colstats.Batch // nil at the end
	zones  uint64          // one bit per zone
}

// parts returns the batches that must be looked at: those with zones that may hold a survivor, and, where partitions are asked
// for, all, since Spark evaluates that on every file (see [run.partitions]) and the counts tell partitions from statistics.
func (p *Program) parts(z *colstats.Zones) []part {
	may, at := p.zonesOf(z), 0
	var out []part
	var before Stats
	for _, b := range z.Batches() {
		n := (b.Len() + colstats.ZoneLen - 1) / colstats.ZoneLen
		zones := may[at/64] >> (at % 64)
		if at%64+n > 64 {
			zones |= may[at/64+1] << (64 - at%64)
		}
		zones &= 1<<n - 1
		at += n
		if zones == 0 && p.partition == always {
			before.Add(Stats{Considered: int64(b.Len()), SkippedByStats: int64(b.Len())})
			continue
		}
		out = append(out, part{before, b, zones})
		before = Stats{}
	}
	return append(out, part{before: before})
}

// zonesOf returns which zones may hold a survivor, those of all maps in a row, and a word more. Where that cannot be told, all
// may.
func (p *Program) zonesOf(z *colstats.Zones) (may []uint64) {
	s := scratches.Get().(*Scratch)
	defer s.put()
	for _, m := range z.Maps() { // all but the last are full, which is whole words
		if r, err := p.Eval(m, s); err == nil {
			may = append(may, r.May...)
			continue
		}
		for range (m.Len() + 63) / 64 {
			may = append(may, everyZone)
		}
	}
	return append(may, 0)
}

// partOut is what was found out about a part.
type partOut[T any] struct {
	part
	out T
}

// eachPart applies f to the parts of z that have a batch, up to so many at a time, and yields what it returns in order. The
// first is done here: often it is the only one. Results that nobody will see go to drop.
func eachPart[T any](ctx context.Context, p *Program, z *colstats.Zones, f func(part) (T, error), drop func(T)) iter.Seq2[partOut[T], error] {
	return func(yield func(partOut[T], error) bool) {
		work := func(ctx context.Context, part part) (out partOut[T], err error) {
			out.part = part
			if err := ctx.Err(); err != nil || part.batch == nil {
				return out, err
			}
			out.out, err = f(part)
			return out, err
		}
		parts := p.parts(z)
		if out, err := work(ctx, parts[0]); !yield(out, err) || err != nil || len(parts) == 1 {
			return
		}
		if parts = parts[1:]; len(parts) == 1 {
			yield(work(ctx, parts[0]))
			return
		}
		unwanted := func(o partOut[T]) {
			if drop != nil && o.batch != nil {
				drop(o.out)
			}
		}
		for out, err := range ordered.Map(ctx, p.workers(), ordered.Items(parts), work, unwanted) {
			if !yield(out, err) {
				return
			}
		}
	}
}
