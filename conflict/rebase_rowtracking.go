package conflict

import (
	"fmt"
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

// isBackfill and isUnbackfill report whether the winner is what its operation says: its name alone excuses nothing, it
// must also only add files, again, with dataChange false.
func (w *winner) isBackfill() bool   { return w.operation() == backfillOperation && w.onlyReadds() }
func (w *winner) isUnbackfill() bool { return w.operation() == unbackfillOperation && w.onlyReadds() }

func (w *winner) onlyReadds() bool { return w.rearranges && len(w.removes) == 0 }

func (c *candidate) isBackfill() bool {
	return c.txn.operation() == backfillOperation && c.onlyReadds()
}

func (c *candidate) isUnbackfill() bool {
	return c.txn.operation() == unbackfillOperation && c.onlyReadds()
}

func (c *candidate) onlyReadds() bool {
	return !slices.ContainsFunc(c.txn.Actions, func(a action.Action) bool {
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
	unbackfill := c.isUnbackfill()
	if unbackfill && w.isBackfill() {
		return c.conflict(w, ConcurrentWrite, BackfillRunning)
	}
	if !unbackfill && !c.isBackfill() && !w.isBackfill() {
		return nil
	}
	adds, err := w.load()
	if err != nil {
		return err
	}
	theirs := make(map[string]*action.Add, len(adds))
	for _, a := range adds {
		theirs[action.CanonicalPath(a.Path)] = a
	}
	if unbackfill || c.isBackfill() {
		c.leaveToWinner(w, theirs)
	}
	if unbackfill {
		for _, a := range adds { // writers that don't know the suspension give ids all the same
			if a.BaseRowID == nil && a.DefaultRowCommitVersion == nil {
				continue
			}
			cleared := *a
			cleared.DataChange, cleared.BaseRowID, cleared.DefaultRowCommitVersion = false, nil, nil
			c.actions = append(c.actions, &cleared)
		}
	}
	if w.isBackfill() {
		c.rewrite(func(a action.Action) action.Action { return withIDsOf(theirs, a) })
	}
	return nil
}

// leaveToWinner takes the files that the winner added or removed out of the loser's adds and reads.
func (c *candidate) leaveToWinner(w *winner, added map[string]*action.Add) {
	gone := make(map[string]bool, len(added)+len(w.removes))
	for path := range added {
		gone[path] = true
	}
	for _, r := range w.removes {
		gone[action.CanonicalPath(r.Path)] = true
	}
	c.rewrite(func(a action.Action) action.Action {
		if a, ok := a.(*action.Add); ok && gone[action.CanonicalPath(a.Path)] {
			return nil
		}
		return a
	})
	files := make(map[string]*ReadFile, len(c.read.files))
	for path, f := range c.read.files {
		if !gone[path] {
			files[path] = f
		}
	}
	c.read.files = files
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
	for _, d := range w.domains {
		if d.Domain != rowTrackingDomain || d.Removed {
			continue
		}
		m, err := readMark(d)
		if err != nil {
			return fmt.Errorf("conflict: version %d: %w", w.version, err)
		}
		mark = m
	}
	return c.assignRowIDs(mark)
}

// assignRowIDs gives ids after mark to the files that have none or have them from this transaction, and makes the loser's
// own mark follow. mark is the one that the next winner is compared to.
func (c *candidate) assignRowIDs(mark int64) error {
	if !supports(c.protocol, "rowTracking") || enabled(c.metadata, propRowTrackingSuspended) {
		return nil
	}
	seen := c.mark
	c.mark = mark
	var failure error
	c.rewrite(func(a action.Action) action.Action {
		switch a := a.(type) {
		case *action.Add:
			if a.BaseRowID != nil && *a.BaseRowID <= seen {
				return a
			}
			records, ok := numRecords(a.Stats)
			if !ok {
				failure = &TransactionError{Path: a.Path, Reason: "row tracking needs numRecords in the file's statistics to give row ids"}
				return a
			}
			if records > 1<<62 || mark > 1<<62 {
				failure = &TransactionError{Path: a.Path, Reason: "row ids are exhausted"}
				return a
			}
			id := mark + 1
			mark += records
			numbered := *a
			numbered.BaseRowID = &id
			return &numbered
		case *action.DomainMetadata:
			if a.Domain == rowTrackingDomain {
				return nil
			}
		}
		return a
	})
	if failure != nil {
		return failure
	}
	if mark != noMark {
		c.actions = append([]action.Action{markAction(mark)}, c.actions...) // in front, where readers find it soonest
	}
	return nil
}

// rebaseRowVersions moves the versions that rows get when they have none of their own to the version that the loser will
// be committed as.
func rebaseRowVersions(c *candidate, w *winner) error {
	c.assignRowVersions(w.version, w.version+1)
	return nil
}

// assignRowVersions sets the default row commit versions that are was, or missing, to now.
func (c *candidate) assignRowVersions(was, now int64) {
	if !supports(c.protocol, "rowTracking") || enabled(c.metadata, propRowTrackingSuspended) {
		return
	}
	c.rewrite(func(a action.Action) action.Action {
		add, ok := a.(*action.Add)
		if !ok || add.DefaultRowCommitVersion != nil && *add.DefaultRowCommitVersion != was {
			return a
		}
		moved := *add
		moved.DefaultRowCommitVersion = &now
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
