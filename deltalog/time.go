package deltalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"time"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/logstore"
)

// info reads a commit's commitInfo; nil where there is none.
func (l *Log) info(ctx context.Context, c CommitFile) (*action.CommitInfo, error) {
	f, err := l.store.Open(ctx, c.Entry.Name)
	if errors.Is(err, logstore.ErrNotFound) {
		return nil, nil // cleaned up since it was listed; the checkpoint has the rest
	}
	if err != nil {
		return nil, fmt.Errorf("deltalog: %w", err)
	}
	defer f.Close()
	for a, err := range action.All(logstore.NewReader(f), l.o.MaxActionBytes) {
		if err != nil {
			var at *action.CorruptError
			errors.As(err, &at)
			return nil, corrupt(c.Entry.Name, at.Line, err)
		}
		if info, ok := a.(*action.CommitInfo); ok {
			return info, nil // the first action, in all logs where it matters
		}
	}
	return nil, nil
}

// versionAt returns the newest version that is not of a later time than t.
//
// The time of a commit is its in-commit timestamp from the version on that enabled those, and before that the time of its
// file, moved up where needed so that times strictly increase (Delta protocol, "In-Commit Timestamps").
func (l *Log) versionAt(ctx context.Context, t time.Time) (int64, error) {
	newest, err := l.Snapshot(ctx, SnapshotOptions{})
	if err != nil {
		return 0, err
	}
	defer newest.Close()
	ls, err := l.list(ctx, 0)
	if err != nil {
		return 0, err
	}
	commits := between(ls.commits, ls.oldest(), newest.Version)
	if len(commits) == 0 {
		return 0, fmt.Errorf("deltalog: no commit is left that could tell the time of a version")
	}
	since, enabled, err := inCommitSince(newest.Metadata)
	if err != nil {
		return 0, err
	}
	switch {
	case !enabled:
		return atFileTime(commits, t)
	case since.version <= commits[0].Version || t.UnixMilli() >= since.millis:
		return l.atInCommitTime(ctx, between(commits, since.version, newest.Version), t)
	}
	return atFileTime(between(commits, 0, since.version-1), t)
}

// atFileTime searches commits by the times of their files.
func atFileTime(commits []CommitFile, t time.Time) (int64, error) {
	var found *CommitFile
	var last int64
	for i, c := range commits {
		millis := c.Entry.ModTime.UnixMilli()
		if i > 0 {
			millis = max(millis, last+1)
		}
		if last = millis; millis > t.UnixMilli() {
			break
		}
		found = &commits[i]
	}
	if found == nil {
		return 0, &TimeError{Time: t, Oldest: commits[0].Entry.ModTime}
	}
	return found.Version, nil
}

// atInCommitTime searches commits by their in-commit timestamps, which strictly increase.
func (l *Log) atInCommitTime(ctx context.Context, commits []CommitFile, t time.Time) (int64, error) {
	var failed error
	millis := func(i int) int64 {
		if failed != nil {
			return 0
		}
		info, err := l.info(ctx, commits[i])
		if err == nil && (info == nil || info.InCommitTimestamp() == nil) {
			err = corrupt(commits[i].Entry.Name, 0, errors.New("no in-commit timestamp, though the table has them enabled"))
		}
		if err != nil {
			failed = err
			return 0
		}
		return *info.InCommitTimestamp()
	}
	after := sort.Search(len(commits), func(i int) bool { return millis(i) > t.UnixMilli() })
	if failed != nil {
		return 0, failed
	}
	if after == 0 {
		oldest := millis(0)
		return 0, cmp.Or(failed, error(&TimeError{Time: t, Oldest: time.UnixMilli(oldest)}))
	}
	return commits[after-1].Version, nil
}

// An enablement says from when on commits have in-commit timestamps.
type enablement struct{ version, millis int64 }

// inCommitSince reads the table's properties; without a version and a time they were there from the start.
func inCommitSince(m *action.Metadata) (since enablement, enabled bool, err error) {
	if m.Configuration["delta.enableInCommitTimestamps"] != "true" {
		return since, false, nil
	}
	for property, to := range map[string]*int64{
		"delta.inCommitTimestampEnablementVersion":   &since.version,
		"delta.inCommitTimestampEnablementTimestamp": &since.millis,
	} {
		if text, ok := m.Configuration[property]; ok {
			if *to, err = strconv.ParseInt(text, 10, 64); err != nil {
				return since, false, fmt.Errorf("deltalog: table property %s: %w", property, err)
			}
		}
	}
	return since, true, nil
}
