package conflict

import "github.com/deltaskip/deltaskip/action"

// checkRemovedFiles looks for files that the winner removed and the loser depends on. Files are matched by path alone: a
// file whose deletion vector was replaced was removed and added, and the loser saw it as it was. The order of the answers is
// Delta's: what was read, the whole table, what the loser removes too. Delta does not look for files that the loser only
// adds again, which would bring removed rows back.
func checkRemovedFiles(c *candidate, w *winner) error {
	if len(w.Removes) == 0 {
		return nil
	}
	var readded, twice error
	for _, r := range w.Removes {
		path := action.CanonicalPath(r.Path)
		if f, ok := c.read.files[path]; ok {
			return c.removedConflict(w, ConcurrentDeleteRead, FileRemoved, r, f.PartitionValues)
		}
		if c.read.adds[path] && readded == nil {
			readded = c.removedConflict(w, ConcurrentDeleteRead, ReaddedFile, r, nil)
		}
		if own, ok := c.read.removes[path]; ok && twice == nil {
			twice = c.removedConflict(w, ConcurrentDeleteDelete, FileRemovedTwice, r, own.PartitionValues)
		}
	}
	switch {
	case c.txn.ReadWholeTable:
		f := c.conflict(w, ConcurrentDeleteRead, WholeTableRead)
		f.Path = w.Removes[0].Path
		return f
	case twice != nil:
		return twice
	}
	return readded
}

// removedConflict names the removed file. The loser's own knowledge of its partition goes before the winner's, who may have
// left it out.
func (c *candidate) removedConflict(w *winner, kind Kind, reason Reason, r *action.Remove, own map[string]*string) error {
	f := c.conflict(w, kind, reason)
	f.Path = r.Path
	if len(own) == 0 {
		own = r.PartitionValues
	}
	f.Partition = c.partition(own)
	return f
}
