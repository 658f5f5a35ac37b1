package deltalog

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/deltaskip/deltaskip/checkpoint"
)

// A listing is what the log's folder holds, from some version on.
type listing struct {
	commits     []CommitFile    // by version
	checksums   []CommitFile    // N.crc, by version
	checkpoints []checkpointSet // complete ones, from the newest to the oldest
}

// A checkpointSet is the files of one checkpoint.
type checkpointSet struct {
	version int64
	names   []string // relative to the table's root, parts in order
}

// list reads the log's folder from a version on.
func (l *Log) list(ctx context.Context, from int64) (*listing, error) {
	var ls listing
	type split struct {
		version int64
		parts   int
	}
	multipart := map[split][]checkpoint.Name{}
	after := ""
	if from > 0 {
		after = fmt.Sprintf("%s/%020d", Dir, from) // less than the name of any file of that version
	}
	for e, err := range l.store.List(ctx, Dir, after) {
		if err != nil {
			return nil, fmt.Errorf("deltalog: listing the log: %w", err)
		}
		base := path.Base(e.Name)
		if n, ok := checkpoint.ParseName(base); ok {
			if n.Parts > 0 {
				key := split{n.Version, n.Parts}
				multipart[key] = append(multipart[key], n)
			} else {
				ls.checkpoints = append(ls.checkpoints, checkpointSet{n.Version, []string{e.Name}})
			}
		} else if version, ok := versionOf(base, ".json"); ok {
			ls.commits = append(ls.commits, CommitFile{version, e})
		} else if version, ok := versionOf(base, ".crc"); ok {
			ls.checksums = append(ls.checksums, CommitFile{version, e})
		}
	}
	for key, parts := range multipart {
		if len(parts) != key.parts { // names are distinct, so that many are all of them
			continue
		}
		set := checkpointSet{version: key.version}
		for _, n := range parts { // the listing is sorted, and so are they
			set.names = append(set.names, path.Join(Dir, n.String()))
		}
		ls.checkpoints = append(ls.checkpoints, set)
	}
	slices.SortFunc(ls.checkpoints, func(a, b checkpointSet) int {
		// Of several for one version any will do; the order only has to be the same every time.
		return cmp.Or(cmp.Compare(b.version, a.version), cmp.Compare(len(a.names), len(b.names)), slices.Compare(a.names, b.names))
	})
	return &ls, nil
}

// versionOf takes apart a name of 20 digits and an extension.
func versionOf(base, ext string) (int64, bool) {
	digits, ok := strings.CutSuffix(base, ext)
	if !ok || len(digits) != 20 || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	version, err := strconv.ParseInt(digits, 10, 64)
	return version, err == nil && version < math.MaxInt64 // so that the next one is a number, too
}

// A segment is the part of a log that one version is built from.
type segment struct {
	version    int64
	checkpoint checkpointSet // no names: from the first commit on
	commits    []CommitFile  // those after the checkpoint, up to version
	head       *CommitFile   // the commit of version itself, nil where it is gone
	checksum   *CommitFile   // nil where there is none
}

// newest returns the newest version, or false for an empty log.
func (ls *listing) newest() (int64, bool) {
	version := int64(-1)
	if n := len(ls.commits); n > 0 {
		version = ls.commits[n-1].Version
	}
	if len(ls.checkpoints) > 0 {
		version = max(version, ls.checkpoints[0].version)
	}
	return version, version >= 0
}

// oldest returns the oldest version that can be built, or the newest where none can.
func (ls *listing) oldest() int64 {
	oldest, _ := ls.newest()
	if len(ls.commits) > 0 && ls.commits[0].Version == 0 {
		return 0
	}
	if n := len(ls.checkpoints); n > 0 {
		oldest = ls.checkpoints[n-1].version
	}
	return oldest
}

// segments returns the ways to build a version, nil for the newest, best first: from its newest checkpoint, from older
// ones, from the first commit. There is at least one, or an error.
func (ls *listing) segments(version *int64) ([]*segment, error) {
	target, ok := ls.newest()
	if !ok {
		return nil, fmt.Errorf("deltalog: %w", ErrNoTable)
	}
	if version != nil {
		if *version > target || *version < ls.oldest() {
			return nil, &VersionError{Version: *version, Oldest: ls.oldest(), Newest: target}
		}
		target = *version
	}
	var ways []*segment
	var missing []Range // of the first way that does not work
	for _, set := range append(slices.Clone(ls.checkpoints), checkpointSet{version: -1}) {
		if set.version > target {
			continue
		}
		commits := between(ls.commits, set.version+1, target)
		if gap := gaps(commits, set.version+1, target); gap != nil {
			if missing == nil {
				missing = gap
			}
			continue
		}
		way := &segment{version: target, checkpoint: set, commits: commits}
		if head := between(ls.commits, target, target); len(head) == 1 {
			way.head = &head[0]
		}
		if sum := between(ls.checksums, target, target); len(sum) == 1 {
			way.checksum = &sum[0]
		}
		ways = append(ways, way)
	}
	if ways == nil {
		return nil, &GapError{Version: target, Missing: missing}
	}
	return ways, nil
}

// between returns the files of versions first to last.
func between(files []CommitFile, first, last int64) []CommitFile {
	at := func(version int64) int {
		i, _ := slices.BinarySearchFunc(files, version, func(f CommitFile, v int64) int { return cmp.Compare(f.Version, v) })
		return i
	}
	return files[at(first):at(last+1)]
}

// gaps returns the versions from first to last that are not among the commits.
func gaps(commits []CommitFile, first, last int64) []Range {
	var missing []Range
	next := first
	for _, c := range commits {
		if c.Version > next {
			missing = append(missing, Range{next, c.Version - 1})
		}
		next = c.Version + 1
	}
	if next <= last {
		missing = append(missing, Range{next, last})
	}
	return missing
}

// hint returns the version that _last_checkpoint names, or 0. It is only ever a place to start listing from, so whatever is
// wrong with it is passed over.
func (l *Log) hint(ctx context.Context) int64 {
	data, _, err := l.store.Get(ctx, path.Join(Dir, "_last_checkpoint"), 16<<20)
	if err != nil {
		return 0
	}
	last, err := checkpoint.ParseLastCheckpoint(data)
	if err != nil || last.Version < 0 {
		return 0
	}
	return last.Version
}
