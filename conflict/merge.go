package conflict

import (
	"context"
	"fmt"
	"strings"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/internal/jsonscan"
	"github.com/deltaskip/deltaskip/rows"
)

// mergeMarks lets winner and loser both mark rows of one file: both replaced (f, base), by (f, theirs) and (f, mine). That is
// as if one had run after the other when both vectors only grew, no row is marked by both, and no row that the winner marked
// is one that the loser read (else each may have acted upon a row that the other took: write skew). Then the loser marks
// the union, on top of theirs. Where both marked the file and that fails, it is a conflict over a removed file.
func (c *Checker) mergeMarks(ctx context.Context, t *candidate, w *winner, f *changedFiles, s *settlement) error {
	if t.txn.ReadWholeTable || len(t.txn.Reads) == 0 {
		return nil // it doesn't tell what it read, so any row may have mattered
	}
	own := t.ownFiles()
	for _, removed := range w.Removes {
		path := action.CanonicalPath(removed.Path)
		mine, theirs := own[path], f.adds[path]
		if s.removes[path] || mine.add == nil || theirs.Add == nil || f.removes[path] == nil || mine.remove.Key().DV != removed.Key().DV {
			continue
		}
		m, err := c.loadMarks(ctx, t, path, mine, theirs.Add)
		if err != nil {
			if err := s.unsettled(ctx, path, err); err != nil {
				return err
			}
			continue
		}
		union, overlap, err := deletionvector.Merge(m.theirs, m.mine, m.base)
		if err != nil { // a vector gave rows back: the union would take them again
			s.notes[path] = err.Error()
			continue
		}
		if !t.unseen[path] {
			s.adds[theirs.index] = true
		}
		if overlap.Count > 0 {
			s.clashes[path] = t.rowsConflict(w, removed, SameRows, overlap.String())
			continue
		}
		clash, err := c.writeSkew(ctx, t, w, removed, theirs.Add, m)
		if err != nil {
			return err
		}
		if clash != nil {
			s.clashes[path] = clash
			continue
		}
		s.removes[path] = true
		s.rebase = append(s.rebase, func() { t.repoint(path, theirs.Add, union) })
	}
	return nil
}

// marks are the rows of one file that are gone: before the winner and the loser, and after each.
type marks struct{ base, theirs, mine *deletionvector.Vector }

func (c *Checker) loadMarks(ctx context.Context, t *candidate, path string, mine ownFile, theirs *action.Add) (m marks, err error) {
	if m.base, err = c.vector(ctx, mine.remove.DeletionVector); err != nil {
		return m, err
	}
	if m.theirs, err = c.vector(ctx, theirs.DeletionVector); err != nil {
		return m, err
	}
	m.mine, err = c.marked(ctx, t, path, mine.add)
	return m, err
}

// writeSkew is the conflict over a row that the winner marked and the loser read.
func (c *Checker) writeSkew(ctx context.Context, t *candidate, w *winner, removed *action.Remove, theirs *action.Add, m marks) (*Conflict, error) {
	gone := m.theirs.AndNot(m.base)
	if gone.Cardinality() == 0 || t.marksAllItReads(t.probe(c)) {
		return nil, nil
	}
	hit, found, err := c.readRow(ctx, t, theirs, m.base, gone)
	return c.takenRow(ctx, t, w, removed, hit, found, err)
}

// takenRow is the conflict over a row that the winner took and the loser read, where one was found or looking for it failed.
func (c *Checker) takenRow(ctx context.Context, t *candidate, w *winner, removed *action.Remove, hit rows.Hit, found bool, err error) (*Conflict, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		clash := t.rowsConflict(w, removed, FileRemoved, "")
		clash.Note = err.Error()
		return clash, nil
	case found:
		return t.rowMatches(c, w, removed, hit), nil
	}
	return nil, nil
}

// marksAllItReads reports whether the loser marks exactly the rows that it read: a row that the winner marked and the loser
// read is then one that both marked.
func (t *candidate) marksAllItReads(p *probe) bool {
	if operation := t.txn.operation(); operation != "DELETE" && operation != "UPDATE" {
		return false // a MERGE acts upon rows that it doesn't mark
	}
	return len(t.txn.Reads) == 1 && t.tellsWhatItRead(p) == nil
}

// rowsConflict is the conflict over rows of a file that the winner removed, or replaced.
func (t *candidate) rowsConflict(w *winner, removed *action.Remove, reason Reason, which string) *Conflict {
	f := t.removedConflict(w, ConcurrentDeleteRead, reason, removed, nil)
	f.Rows = which
	return f
}

// rowMatches is the conflict over a row that the winner took and the loser read.
func (t *candidate) rowMatches(c *Checker, w *winner, removed *action.Remove, hit rows.Hit) *Conflict {
	reason := RowsMatch
	if hit.Unsure {
		reason = FileRemoved
	}
	f := t.rowsConflict(w, removed, reason, fmt.Sprintf("row %d", hit.Row))
	f.Read, f.Predicate = hit.Read, t.probe(c).reads[hit.Read]
	if hit.Unsure {
		f.Note = fmt.Sprintf("row %d: %v", hit.Row, errUnsure)
	}
	return f
}

// repoint makes the loser's replacement of a file one of the winner's version of it, with the given rows gone. What the winner
// knows of the file's row ids holds, and bounds are now only outer ones.
func (t *candidate) repoint(path string, theirs *action.Add, gone *deletionvector.Vector) {
	t.rewrite(func(a action.Action) action.Action {
		switch a := a.(type) {
		case *action.Add:
			if action.CanonicalPath(a.Path) == path {
				b := *a
				b.Stats = widen(a.Stats)
				b.BaseRowID, b.DefaultRowCommitVersion = theirs.BaseRowID, theirs.DefaultRowCommitVersion
				return &b
			}
		case *action.Remove:
			if action.CanonicalPath(a.Path) == path {
				b := *a
				b.DeletionVector, b.BaseRowID, b.DefaultRowCommitVersion = theirs.DeletionVector, theirs.BaseRowID, theirs.DefaultRowCommitVersion
				t.read.removes[path] = &b
				return &b
			}
		}
		return a
	})
	t.setVector(path, gone)
}

// widen says of a file's statistics that their bounds are outer ones: rows have gone since they were made. What is no JSON
// object stays as it is, for nobody can use it.
func widen(stats string) string {
	out := []byte{'{'}
	data := []byte(stats)
	_, err := jsonscan.Object(data, jsonscan.Space(data, 0), func(key []byte, start, end int) error {
		if string(key) != "tightBounds" {
			out = append(append(append(jsonscan.Quote(out, string(key)), ':'), data[start:end]...), ',')
		}
		return nil
	})
	if err != nil || strings.TrimSpace(stats) == "" {
		return stats
	}
	return string(append(out, `"tightBounds":false}`...))
}
