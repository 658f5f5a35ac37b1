package conflict

import "context"

// checkAddedFiles looks for a file that the winner added and that the loser should have seen.
func (c *Checker) checkAddedFiles(ctx context.Context, t *candidate, w *winner) error {
	if !t.countsAdds(w) {
		return nil
	}
	if t.txn.ReadWholeTable || len(t.read.partitions) == 0 {
		return t.firstAdd(w)
	}
	if len(t.txn.Reads) == 0 {
		return nil // as in Delta: on a partitioned table nothing tells which partitions were read
	}
	return ErrUnsupportedMode
}

// countsAdds reports whether the winner's added files count for the loser at all.
func (c *candidate) countsAdds(w *winner) bool {
	switch {
	case w.adds == 0 || c.blind || c.isolation.Level == SnapshotIsolation:
		return false
	case w.isBackfill() || w.isUnbackfill() || c.isBackfill() || c.isUnbackfill():
		return false // the files are the same as before
	case c.isolation.Level == WriteSerializable && w.blind():
		return c.changesMetadata()
	}
	return true
}

// firstAdd is the conflict with a winner of which every added file counts.
func (c *candidate) firstAdd(w *winner) error {
	adds, err := w.load()
	if err != nil {
		return err
	}
	reason := UnpartitionedTable
	switch {
	case c.txn.ReadWholeTable:
		reason = WholeTableRead
	case len(c.txn.Reads) == 0:
		reason = EmptyReadPredicates
	}
	f := c.conflict(w, ConcurrentAppend, reason)
	f.Path, f.Partition = adds[0].Path, c.partition(adds[0].PartitionValues)
	return f
}
