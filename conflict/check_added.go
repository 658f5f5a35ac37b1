package conflict

import (
	"context"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/vectorized"
)

// checkAddedFiles looks for a file that the winner added and that the loser should have seen.
//
//	               counted? ──no──► none
//	                  │
//	  whole table, or unpartitioned and (mode Off or no reads) ──► the first file
//	                  │
//	mode Exact: some live row of the files that mode Stats keeps
//	mode Stats: OR_i (P_i AND D_i) over all files at once ──failed──► fallback event, and
//	mode Off:   OR_i P_i                                       ◄──────┘
//
// skipped reports that statistics, or rows, removed what mode Off would have called a conflict.
func (c *Checker) checkAddedFiles(ctx context.Context, t *candidate, w *winner, settled *settlement) (skipped *NoConflict, err error) {
	if !t.countsAdds(w) || len(settled.adds) == w.NumAdds() {
		return nil, nil
	}
	partitioned := len(t.read.partitions) > 0
	switch {
	case t.txn.ReadWholeTable:
		return nil, c.firstAdd(t, w, settled, WholeTableRead)
	case len(t.txn.Reads) == 0 && partitioned:
		n := int64(w.NumAdds() - len(settled.adds))
		t.counts.FilesConsidered += n
		t.counts.SkippedByPartition += n
		return nil, nil // as in Delta: nothing tells which partitions were read
	case len(t.txn.Reads) == 0:
		return nil, c.firstAdd(t, w, settled, EmptyReadPredicates)
	case c.o.Mode == Off && !partitioned:
		return nil, c.firstAdd(t, w, settled, UnpartitionedTable)
	}
	p := t.probe(c)
	if c.o.Mode == Off {
		return nil, c.checkPartitions(ctx, t, w, settled, p, PartitionsOverlap)
	}
	kept, s, failure := c.byStatistics(ctx, w, p, settled.adds)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if failure == nil {
		before := t.counts.SkippedByRows
		if len(kept) > 0 && c.o.Mode == Exact {
			err = c.checkRows(ctx, t, w, p, kept, settled.known)
		} else if len(kept) > 0 {
			t.count(kept[0].upTo)
			err = c.addConflict(ctx, t, w, p, kept[0])
		}
		if err != nil {
			return nil, err
		}
		t.count(s)
		byRows := t.counts.SkippedByRows - before
		if s.SkippedByStats+byRows == 0 {
			return nil, nil
		}
		skipped = &NoConflict{Winner: w.Version, FilesConsidered: s.Considered, FilesSkipped: s.SkippedByStats + byRows, Tier: Stats}
		if byRows > 0 {
			skipped.Tier = Exact
		}
		return skipped, nil
	}
	c.observe(ctx, Fallback{TxnID: t.info.TxnID(), Winner: w.Version, Class: failureClass(failure), Message: failure.Error()})
	if !partitioned {
		return nil, c.firstAdd(t, w, settled, SkippingFailed)
	}
	return nil, c.checkPartitions(ctx, t, w, settled, p, SkippingFailed)
}

// A survivor is an added file that the question of mode Stats keeps.
type survivor struct {
	vectorized.Hit
	upTo vectorized.Stats // of the files up to this one
}

// byStatistics returns the files that statistics keep, in log order: in mode Stats the first will do. An error means that
// they kept none and excluded none.
func (c *Checker) byStatistics(ctx context.Context, w *winner, p *probe, settled map[int64]bool) (kept []survivor, s vectorized.Stats, err error) {
	if p.failure != nil {
		return nil, s, p.failure
	}
	kept, s, err = c.kept(ctx, w, p.stats, settled, c.o.Mode == Exact)
	for i := range kept {
		kept[i].upTo = p.counted(kept[i].upTo)
	}
	return kept, p.counted(s), err
}

// counted makes counts those of a table: a constant counts as a partition predicate, but without partitions mode Off would not
// have looked.
func (p *probe) counted(s vectorized.Stats) vectorized.Stats {
	if !p.partitioned {
		s.SkippedByStats, s.SkippedByPartition = s.SkippedByStats+s.SkippedByPartition, 0
	}
	return s
}

// kept returns the files that a question keeps, in log order, without those that are settled: all, or the first.
func (c *Checker) kept(ctx context.Context, w *winner, q *question, settled map[int64]bool, all bool) (kept []survivor, s vectorized.Stats, err error) {
	if all || len(settled) > 0 {
		return w.survivors(ctx, q, c.colstats(), settled)
	}
	hit, s, err := w.first(ctx, q, c.colstats())
	if hit != nil {
		kept = []survivor{{*hit, s}}
	}
	return kept, s, err
}

// countsAdds reports whether the winner's added files count for the loser at all.
func (c *candidate) countsAdds(w *winner) bool { return w.NumAdds() > 0 && c.exempt(w) == "" }

// exempt says in words why the winner's added files do not count for the loser, and nothing where they do. It only looks at
// what rebasing doesn't change.
func (c *candidate) exempt(w *winner) string {
	switch {
	case c.blind:
		return "this transaction is a blind append: it read nothing that they could change"
	case c.isolation.Level == SnapshotIsolation:
		return "under SnapshotIsolation only removed files count"
	case c.backfill || c.unbackfill || w.isBackfill() || w.isUnbackfill():
		return "row tracking is being filled in or taken out: the files are the same as before"
	case c.isolation.Level == WriteSerializable && w.blind() && !c.changesMetadata:
		return "under WriteSerializable the files of a blind append may be ordered after this transaction"
	}
	return ""
}

// asks returns what a winner's files will be asked first if they count; nil if they need not be decoded.
func (c *Checker) asks(t *candidate) *question {
	if len(t.txn.Reads) == 0 || t.txn.ReadWholeTable || t.blind || t.isolation.Level == SnapshotIsolation ||
		c.o.Mode == Off && len(t.read.partitions) == 0 {
		return nil
	}
	p := t.probe(c)
	q := p.stats
	if q == nil {
		q = p.off
	}
	if q == nil || q.loose >= 0 {
		return nil
	}
	return q
}

// checkPartitions decides as Delta does: by partition values alone.
func (c *Checker) checkPartitions(ctx context.Context, t *candidate, w *winner, settled *settlement, p *probe, reason Reason) error {
	if p.off == nil {
		return c.firstAdd(t, w, settled, PredicateNotUsable)
	}
	kept, s, err := c.kept(ctx, w, p.off, settled.adds, false)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return c.firstAdd(t, w, settled, PredicateNotUsable)
	}
	if len(kept) == 0 {
		t.count(s)
		return nil
	}
	t.count(kept[0].upTo)
	hit := &kept[0].Hit
	if p.off.loose < 0 {
		batches, _ := w.batches(ctx, p.off, c.colstats()) // they are there already
		p.off.blame(hit, batches)
	}
	return t.overlap(w, p, hit, reason)
}

// firstAdd is the conflict with a winner of which every added file counts.
func (c *Checker) firstAdd(t *candidate, w *winner, settled *settlement, reason Reason) error {
	t.counts.FilesConsidered++
	i := 0
	for settled.adds[int64(i)] { // not all of them are
		i++
	}
	a, err := w.Add(i)
	if err != nil {
		return err
	}
	f := t.conflict(w, ConcurrentAppend, reason)
	f.Path, f.Partition = a.Path, t.partition(a.PartitionValues)
	if len(t.txn.Reads) > 0 {
		f.Read, f.Predicate = 0, t.txn.Reads[0].String()
	}
	return f
}

// addConflict is the conflict with a file that statistics could not exclude.
func (c *Checker) addConflict(ctx context.Context, t *candidate, w *winner, p *probe, kept survivor) *Conflict {
	var batches []*colstats.Batch // they are there already
	if p.stats.loose < 0 {
		batches, _ = w.batches(ctx, p.stats, c.colstats())
	}
	p.stats.blame(&kept.Hit, batches)
	f := t.overlap(w, p, &kept.Hit, RangesOverlap)
	f.Reason, f.Ranges, f.Conjunct = p.why(&kept.Hit, batches)
	return f
}

// overlap is the conflict with a file that a read may have seen.
func (c *candidate) overlap(w *winner, p *probe, hit *vectorized.Hit, reason Reason) *Conflict {
	f := c.conflict(w, ConcurrentAppend, reason)
	f.Path, f.Read, f.Predicate = hit.Path, hit.Read, p.reads[hit.Read]
	if a, err := w.Add(int(hit.Index)); err == nil { // the partition is for people
		f.Partition = c.partition(a.PartitionValues)
	}
	return f
}

func (c *candidate) count(s vectorized.Stats) {
	c.counts.FilesConsidered += s.Considered
	c.counts.SkippedByPartition += s.SkippedByPartition
	c.counts.SkippedByStats += s.SkippedByStats
}
