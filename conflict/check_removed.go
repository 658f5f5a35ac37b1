package conflict

import (
	"context"

	"github.com/deltaskip/deltaskip/action"
)

// checkRemovedFiles looks for files that the winner removed and the loser depends on. Files are matched by path alone: a
// file whose deletion vector was replaced was removed and added, and the loser saw it as it was. The order of the answers is
// Delta's: what was read, the whole table, what the loser removes too. Delta does not look for files that the loser only
// adds again, which would bring removed rows back.
func (c *Checker) checkRemovedFiles(ctx context.Context, t *candidate, w *winner, s *settlement) error {
	var first, readded, twice error
	for _, r := range w.Removes {
		path := action.CanonicalPath(r.Path)
		if s.removes[path] {
			continue
		}
		if clash := s.clashes[path]; clash != nil {
			return clash
		}
		if first == nil {
			whole := t.conflict(w, ConcurrentDeleteRead, WholeTableRead)
			whole.Path = r.Path
			first = whole
		}
		if f, ok := t.read.files[path]; ok {
			conflict := t.removedConflict(w, ConcurrentDeleteRead, FileRemoved, r, f.PartitionValues)
			conflict.Note = s.notes[path]
			if c.o.RemovedRows && t.liftable(path) {
				var err error
				if conflict, err = c.clearRemoved(ctx, t, w, s.changed, r); err != nil {
					return err
				}
			}
			if conflict != nil {
				return conflict
			}
			continue
		}
		if t.read.adds[path] && readded == nil {
			readded = t.removedConflict(w, ConcurrentDeleteRead, ReaddedFile, r, nil)
		}
		if own, ok := t.read.removes[path]; ok && twice == nil {
			conflict := t.removedConflict(w, ConcurrentDeleteDelete, FileRemovedTwice, r, own.PartitionValues)
			conflict.Note = s.notes[path]
			twice = conflict
		}
	}
	switch {
	case t.txn.ReadWholeTable && first != nil:
		return first
	case twice != nil:
		return twice
	}
	return readded
}

// removedConflict names the removed file. The loser's own knowledge of its partition goes before the winner's, who may have
// left it out.
func (c *candidate) removedConflict(w *winner, kind Kind, reason Reason, r *action.Remove, own map[string]*string) *Conflict {
	f := c.conflict(w, kind, reason)
	f.Path = r.Path
	if len(own) == 0 {
		own = r.PartitionValues
	}
	f.Partition = c.partition(own)
	return f
}
