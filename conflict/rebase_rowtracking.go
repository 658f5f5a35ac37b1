package conflict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/internal/jsonscan"
)

// Operations that give row ids to existing files, or take them away, and change no data.
const (
	backfillOperation   = "ROW TRACKING BACKFILL"
	unbackfillOperation = "ROW TRACKING UNBACKFILL"
)

// isBackfill and isUnbackfill report whether the winner is what its operation says: the name alone excuses nothing, it must
// also only add files, again, with dataChange false.
func (w *winner) isBackfill() bool   { return w.operation() == backfillOperation && w.onlyReadds() }
func (w *winner) isUnbackfill() bool { return w.operation() == unbackfillOperation && w.onlyReadds() }

func (w *winner) onlyReadds() bool {
	if len(w.Removes)+len(w.CDC) > 0 {
		return false
	}
	for a, err := range w.Adds() {
		if err != nil || a.DataChange {
			return false
		}
	}
	return true
}

func onlyReadds(actions []action.Action) bool {
	return !slices.ContainsFunc(actions, func(a action.Action) bool {
		switch a := a.(type) {
		case *action.Add:
			return a.DataChange
		case *action.Remove, *action.CDC:
			return true
		}
		return false
	})
}

// rebaseBackfill reconciles transactions with the operations that give existing files row ids or take them away. Such an
// operation leaves out the files that a winner has dealt with, and whoever loses to one takes over the ids it gave.
func rebaseBackfill(c *candidate, w *winner) error {
	if !supports(c.protocol, "rowTracking") {
		return nil
	}
	filled := w.isBackfill()
	if c.unbackfill && filled {
		return c.conflict(w, ConcurrentWrite, BackfillRunning)
	}
	if !c.unbackfill && !c.backfill && !filled {
		return nil
	}
	theirs := map[string]*action.Add{}
	var cleared []action.Action // writers that don't know the suspension give ids all the same
	for a, err := range w.Adds() {
		if err != nil {
			return err
		}
		theirs[action.CanonicalPath(a.Path)] = a
		if a.BaseRowID != nil || a.DefaultRowCommitVersion != nil {
			b := *a
			b.DataChange, b.BaseRowID, b.DefaultRowCommitVersion = false, nil, nil
			cleared = append(cleared, &b)
		}
	}
	if c.unbackfill || c.backfill {
		c.leaveToWinner(w, theirs)
	}
	if c.unbackfill {
		c.actions = append(c.actions, cleared...)
		for _, a := range cleared {
			c.read.adds[action.CanonicalPath(a.(*action.Add).Path)] = true
		}
	}
	if filled {
		c.rewrite(func(a action.Action) action.Action { return withIDsOf(theirs, a) })
	}
	return nil
}

// leaveToWinner takes the files that the winner added or removed out of the loser's adds and reads.
func (c *candidate) leaveToWinner(w *winner, added map[string]*action.Add) {
	gone := make(map[string]bool, len(added)+len(w.Removes))
	for path := range added {
		gone[path] = true
	}
	for _, r := range w.Removes {
		gone[action.CanonicalPath(r.Path)] = true
	}
	c.rewrite(func(a action.Action) action.Action {
		if a, ok := a.(*action.Add); ok && gone[action.CanonicalPath(a.Path)] {
			return nil
		}
		return a
	})
	for path := range gone { // the maps are the candidate's own
		delete(c.read.files, path)
		delete(c.read.adds, path)
	}
}

// withIDsOf returns a with the row ids that the winner's add of the same file has.
func withIDsOf(theirs map[string]*action.Add, a action.Action) action.Action {
	switch a := a.(type) {
	case *action.Add:
		if t := theirs[action.CanonicalPath(a.Path)]; t != nil {
			copied := *a
			copied.BaseRowID, copied.DefaultRowCommitVersion = t.BaseRowID, t.DefaultRowCommitVersion
			return &copied
		}
	case *action.Remove:
		if t := theirs[action.CanonicalPath(a.Path)]; t != nil {
			copied := *a
			copied.BaseRowID, copied.DefaultRowCommitVersion = t.BaseRowID, t.DefaultRowCommitVersion
			return &copied
		}
	}
	return a
}

// rebaseRowIDs gives the loser's new files row ids past the winner's. An id at or below the mark that the loser read was
// copied from an earlier version of the file and stays.
func rebaseRowIDs(c *candidate, w *winner) error {
	mark := c.mark
	for _, d := range w.Domains {
		if d.Domain != rowTrackingDomain || d.Removed {
			continue
		}
		m, err := readMark(d)
		if err != nil {
			return fmt.Errorf("conflict: version %d: %w", w.Version, err)
		}
		mark = m
	}
	after, err := c.assignRowIDs(mark)
	if err == nil && after != noMark {
		c.setMark(after)
	}
	return err
}

// tracksRows reports whether files must have row ids.
func (c *candidate) tracksRows() bool {
	return supports(c.protocol, "rowTracking") && !enabled(c.metadata, propRowTrackingSuspended)
}

// assignRowIDs gives ids after mark to the files that have none or have them from this transaction, and returns the mark
// after them, or noMark where there are no row ids. mark is the one that the next winner is compared to.
func (c *candidate) assignRowIDs(mark int64) (after int64, err error) {
	if !c.tracksRows() {
		return noMark, nil
	}
	seen := c.mark
	c.mark = mark
	c.rewrite(func(a action.Action) action.Action {
		add, ok := a.(*action.Add)
		if !ok || err != nil || add.BaseRowID != nil && *add.BaseRowID <= seen {
			return a
		}
		records, ok := numRecords(add.Stats)
		switch {
		case !ok:
			err = &TransactionError{Path: add.Path, Reason: "row tracking needs numRecords in the file's statistics to give row ids"}
			return a
		case records > math.MaxInt64-1-mark:
			err = &TransactionError{Path: add.Path, Reason: "the table runs out of row ids"}
			return a
		}
		numbered := *add
		numbered.BaseRowID = ptr(mark + 1)
		mark += records
		return &numbered
	})
	return mark, err
}

// setMark makes the loser's own high-water mark the given one. It stands in front, where readers find it soonest.
func (c *candidate) setMark(mark int64) {
	c.rewrite(func(a action.Action) action.Action {
		if d, ok := a.(*action.DomainMetadata); ok && d.Domain == rowTrackingDomain {
			return nil
		}
		return a
	})
	c.actions = append([]action.Action{markAction(mark)}, c.actions...)
}

// rebaseRowVersions moves the versions that rows get when they have none of their own to the version that the loser will
// be committed as.
func rebaseRowVersions(c *candidate, w *winner) error {
	c.assignRowVersions(w.Version, w.Version+1)
	return nil
}

// assignRowVersions sets the default row commit versions that are was, or missing, to now.
func (c *candidate) assignRowVersions(was, now int64) {
	if !c.tracksRows() {
		return
	}
	c.rewrite(func(a action.Action) action.Action {
		add, ok := a.(*action.Add)
		if !ok || add.DefaultRowCommitVersion != nil && *add.DefaultRowCommitVersion != was {
			return a
		}
		moved := *add
		moved.DefaultRowCommitVersion = ptr(now)
		return &moved
	})
}

// readMark reads the high-water mark out of row tracking's domain.
func readMark(d *action.DomainMetadata) (mark int64, err error) {
	found := false
	_, err = jsonscan.Object([]byte(d.Configuration), 0, func(key []byte, start, end int) error {
		if string(key) != "rowIdHighWaterMark" {
			return nil
		}
		found = true
		_, err := fmt.Sscan(d.Configuration[start:end], &mark)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("no rowIdHighWaterMark")
	}
	if err != nil {
		return 0, fmt.Errorf("domain %s is unreadable: %w", rowTrackingDomain, err)
	}
	return mark, nil
}

func markAction(mark int64) *action.DomainMetadata {
	return &action.DomainMetadata{
		Domain:        rowTrackingDomain,
		Configuration: fmt.Sprintf(`{"rowIdHighWaterMark":%d,"domainName":"%s"}`, mark, rowTrackingDomain),
	}
}

// numRecords reads the number of physical rows out of a file's statistics. ok is false where it is missing or no count.
func numRecords(stats string) (records int64, ok bool) {
	if !strings.HasPrefix(strings.TrimSpace(stats), "{") {
		return 0, false
	}
	data := []byte(stats)
	_, err := jsonscan.Object(data, jsonscan.Space(data, 0), func(key []byte, start, end int) error {
		if string(key) == "numRecords" {
			_, err := fmt.Sscan(stats[start:end], &records)
			ok = err == nil && records >= 0
		}
		return nil
	})
	return records, ok && err == nil
}

// setTag sets a member of commitInfo's tags.
func setTag(info *action.CommitInfo, name, value string) {
	tags := []byte{'{'}
	if old := info.Get("tags"); len(old) > 0 && old[0] == '{' {
		jsonscan.Object(old, 0, func(key []byte, start, end int) error {
			if string(key) != name {
				tags = append(append(jsonscan.Quote(tags, string(key)), ':'), old[start:end]...)
				tags = append(tags, ',')
			}
			return nil
		})
	}
	tags = append(jsonscan.Quote(tags, name), ':')
	info.Set("tags", append(jsonscan.Quote(tags, value), '}'))
}

func ptr[T any](v T) *T { return &v }
