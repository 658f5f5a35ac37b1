package conflict

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/internal/ordered"
	"github.com/deltaskip/deltaskip/rows"
)

// A reading is what the rows of a file say.
type reading struct {
	survivor
	add       *action.Add
	hit       rows.Hit // valid if found
	found     bool
	evaluated int64 // rows
	err       error // why there is no answer, which counts as a match
}

// checkRows looks into the files that statistics keep for the first, in log order, with a live row that some read may have
// seen: one that a read matches, one of which that is not known, or any of a file that cannot be read. Of known files, which the
// winner removed and added again, only rows that came back count.
func (c *Checker) checkRows(ctx context.Context, t *candidate, w *winner, p *probe, kept []survivor, known map[string]*action.Remove) error {
	for r, err := range c.readRows(ctx, p, w, kept, known) {
		if err != nil {
			return err
		}
		t.counts.FilesRead++
		t.counts.RowsRead += r.evaluated
		if r.err == nil && r.found && r.hit.Unsure {
			r.err = fmt.Errorf("row %d: %w", r.hit.Row, errUnsure)
		}
		if r.err != nil {
			t.count(r.upTo)
			f := c.addConflict(ctx, t, w, p, r.survivor)
			f.Note = r.err.Error()
			return f
		}
		if r.found {
			t.count(r.upTo)
			f := t.conflict(w, ConcurrentAppend, RowsMatch)
			f.Path, f.Partition, f.Rows = r.add.Path, t.partition(r.add.PartitionValues), fmt.Sprintf("row %d", r.hit.Row)
			f.Read, f.Predicate = r.hit.Read, p.reads[r.hit.Read]
			return f
		}
		t.counts.SkippedByRows++
	}
	return nil
}

// errUnsure says that a predicate has no answer for a row.
var errUnsure = errors.New("the predicate holds something that is not evaluated")

// readRows looks into files, some at once, and yields what it finds in the files' order.
func (c *Checker) readRows(ctx context.Context, p *probe, w *winner, files []survivor, known map[string]*action.Remove) iter.Seq2[reading, error] {
	read := func(ctx context.Context, s survivor) (reading, error) {
		r := reading{survivor: s}
		if r.add, r.err = w.Add(int(s.Index)); r.err == nil {
			r.hit, r.found, r.evaluated, r.err = c.firstRow(ctx, p, r.add, known[action.CanonicalPath(r.add.Path)])
		}
		return r, ctx.Err()
	}
	return ordered.Map(ctx, c.o.Workers, ordered.Items(files), read, nil)
}

// firstRow returns the first live row of a file that some read may match, if there is one: of all live rows, or of those that
// were not live before, when the file was removed.
func (c *Checker) firstRow(ctx context.Context, p *probe, add *action.Add, before *action.Remove) (hit rows.Hit, found bool, evaluated int64, err error) {
	defer recoverTo(&err)
	m, err := p.matcher()
	if err != nil {
		return hit, false, 0, err
	}
	f, closeFile, err := c.source().Open(ctx, add)
	if err != nil {
		return hit, false, 0, err
	}
	defer closeFile() // only read: nothing is lost when closing fails
	if before != nil {
		was, err := c.vector(ctx, before.DeletionVector)
		if err != nil {
			return hit, false, 0, err
		}
		if f.Among = was.AndNot(f.Deleted); f.Among.Cardinality() == 0 {
			return hit, false, 0, nil
		}
	}
	hit, found, err = m.First(ctx, f)
	return hit, found, f.Evaluated, err
}
