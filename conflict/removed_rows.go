package conflict

import (
	"context"
	"errors"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/rows"
)

// liftable reports whether rows may clear the removal of a file that the loser read. A file that the loser itself removes,
// marks or adds again holds rows that it is about to write again, whether they match its reads or not: both sides would keep
// them.
func (t *candidate) liftable(path string) bool {
	return !t.read.adds[path] && t.read.removes[path] == nil
}

// clearRemoved looks at the rows that disappeared with the winner's removal of a file that the loser read. It returns nil when
// none of them is one that the loser read, and else the conflict.
func (c *Checker) clearRemoved(ctx context.Context, t *candidate, w *winner, f *changedFiles, removed *action.Remove) (*Conflict, error) {
	hit, found, err := c.disappeared(ctx, t, f, action.CanonicalPath(removed.Path))
	return c.takenRow(ctx, t, w, removed, hit, found, err)
}

// errNotTold says that the loser read a file for a reason that it doesn't tell.
var errNotTold = errors.New("no read predicate may match a row of the file, so the transaction read it for another reason")

// disappeared looks for a row that the winner took out of a file and that the loser read.
func (c *Checker) disappeared(ctx context.Context, t *candidate, f *changedFiles, path string) (hit rows.Hit, found bool, err error) {
	removed := f.removes[path]
	if removed == nil {
		return hit, false, errors.New("the winner removes it twice")
	}
	values := removed.PartitionValues
	if values == nil {
		values = t.read.files[path].PartitionValues
	}
	file := &action.Add{Path: removed.Path, PartitionValues: values}
	before, err := c.vector(ctx, removed.DeletionVector)
	if err != nil {
		return hit, false, err
	}
	var among *deletionvector.Vector // all of them
	if again := f.adds[path]; again.Add != nil {
		after, err := c.vector(ctx, again.DeletionVector)
		if err != nil {
			return hit, false, err
		}
		if among = after.AndNot(before); among.Cardinality() == 0 {
			return hit, false, nil
		}
	}
	hit, found, err = c.readRow(ctx, t, file, before, among)
	if err != nil || found {
		return hit, found, err
	}
	return hit, false, c.readForAReason(ctx, t, file)
}

// readForAReason returns an error unless some read of the loser may match a row of a file: that is why it read the file.
func (c *Checker) readForAReason(ctx context.Context, t *candidate, file *action.Add) error {
	m, err := t.probe(c).matcher()
	if err != nil {
		return err
	}
	f, closeFile, err := c.source().Open(ctx, file)
	if err != nil {
		return err
	}
	defer closeFile() // only read: nothing is lost when closing fails
	may, err := m.MayMatch(f)
	if err == nil && !may {
		err = errNotTold
	}
	return err
}
