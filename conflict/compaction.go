package conflict

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deletionvector"
)

// compactionKey is where the commitInfo of a compaction records what became of its rows.
const compactionKey = "deltaskip.compaction"

// A CompactedFile is a file that a compaction added: the live rows of its sources, one source after another, each source's in
// their order.
type CompactedFile struct {
	Path    string             `json:"path"` // as its add spells it
	Sources []CompactionSource `json:"sources"`
}

// A CompactionSource is a file that a compaction read and removes.
type CompactionSource struct {
	Path           string                 `json:"path"`                     // as its remove spells it
	DeletionVector *action.DeletionVector `json:"deletionVector,omitempty"` // that was read: its rows were left out; nil for none
	NumRecords     int64                  `json:"numRecords"`
}

// RecordCompaction writes into a compaction's commitInfo which rows each added file holds, so that it and transactions that
// change rows of its sources need not fail each other (see [Options].Compaction). It claims that rows kept their order.
//
// The record is the member "deltaskip.compaction" of commitInfo:
//
//	{"files":[{"path":"new","sources":[{"path":"old","deletionVector":{…},"numRecords":10}, …]}]}
func RecordCompaction(info *action.CommitInfo, files []CompactedFile) {
	data, _ := json.Marshal(struct { // strings and numbers marshal
		Files []CompactedFile `json:"files"`
	}{files})
	info.Set(compactionKey, data)
}

// CompactionOf reads what RecordCompaction wrote. It returns nil where there is no record.
func CompactionOf(info *action.CommitInfo) ([]CompactedFile, error) {
	if info == nil || info.Get(compactionKey) == nil {
		return nil, nil
	}
	var record struct{ Files []CompactedFile }
	if err := json.Unmarshal(info.Get(compactionKey), &record); err != nil {
		return nil, fmt.Errorf("conflict: the record of a compaction: %w", err)
	}
	seen := map[string]bool{}
	for _, f := range record.Files {
		if len(f.Sources) == 0 {
			return nil, fmt.Errorf("conflict: the record of a compaction: %s has no sources", f.Path)
		}
		for _, s := range f.Sources {
			path := action.CanonicalPath(s.Path)
			if seen[path] || s.NumRecords < 0 {
				return nil, fmt.Errorf("conflict: the record of a compaction: %s is a source twice, or has %d rows", s.Path, s.NumRecords)
			}
			seen[path] = true
		}
	}
	return record.Files, nil
}

// A group is a file that a compaction adds, with its sources as far as they have been read.
type group struct {
	CompactedFile
	sources []deletionvector.Source // nil before they are read
	rows    int64                   // that went into the file
}

// A compactionRecord is what [CompactionOf] reads, by path.
type compactionRecord struct {
	groups map[string]*group // by canonical path of the file added
	order  []string          // these paths as recorded
	from   map[string]sourceOf
}

// A sourceOf is the place of a source in a record.
type sourceOf struct {
	g      *group
	target string // canonical path of the file added
	index  int    // in g.Sources
}

func newCompactionRecord(files []CompactedFile) *compactionRecord {
	r := &compactionRecord{groups: map[string]*group{}, from: map[string]sourceOf{}}
	for _, f := range files {
		g, target := &group{CompactedFile: f}, action.CanonicalPath(f.Path)
		r.groups[target], r.order = g, append(r.order, target)
		for i, s := range f.Sources {
			r.from[action.CanonicalPath(s.Path)] = sourceOf{g, target, i}
		}
	}
	return r
}

// load reads the vectors of a group's sources, and makes sure that their live rows are as many as the file has.
func (g *group) load(ctx context.Context, c *Checker, added *action.Add) error {
	if g.sources != nil {
		return nil
	}
	sources := make([]deletionvector.Source, len(g.Sources))
	g.rows = 0
	for i, s := range g.Sources {
		v, err := c.vector(ctx, s.DeletionVector)
		if err != nil {
			return err
		}
		if last, ok := v.Max(); ok && last >= s.NumRecords {
			return fmt.Errorf("the vector of source %s names row %d of %d", s.Path, last, s.NumRecords)
		}
		sources[i] = deletionvector.Source{NumRecords: s.NumRecords, Deleted: v}
		g.rows += s.NumRecords - v.Cardinality()
	}
	if n, ok := numRecords(added.Stats); !ok || n != g.rows {
		return fmt.Errorf("%s has %d rows by its statistics, its sources %d", g.Path, n, g.rows)
	}
	g.sources = sources
	return nil
}

// move returns where rows of a source are in the file of the group. Rows that the compaction left out are the overlap.
func (g *group) move(source int, rows *deletionvector.Vector) (*deletionvector.Vector, deletionvector.Overlap, error) {
	return deletionvector.Rebase(g.sources, source, rows)
}

// mayMark reports whether the loser may give a file a deletion vector that has none.
func (t *candidate) mayMark() bool {
	return supports(t.protocol, "deletionVectors") && enabled(t.metadata, propDeletionVectors)
}

// Why marks cannot be moved.
var (
	errNoRecord    = errors.New("the compaction does not record what became of the file's rows")
	errOtherVector = errors.New("both sides saw the file with different deletion vectors")
	errShrunk      = errors.New("a deletion vector gave rows back")
	errNoVectors   = errors.New("the table has no deletion vectors enabled")
	errBringsBack  = errors.New("the transaction adds a file again that was compacted")
	errNothingLeft = errors.New("every row of the compacted file has been taken")
)

// moveMarks lets a loser that changed rows go together with a winner that compacted their files: what the loser took out of a
// source it takes out of the file that has the source's rows now.
func (c *Checker) moveMarks(ctx context.Context, t *candidate, w *winner, f *changedFiles, s *settlement) error {
	moves, path, err := c.planMoves(ctx, t, w, f, s)
	switch {
	case err != nil:
		return s.unsettled(ctx, path, err)
	case len(s.clashes) > 0:
		for _, a := range f.adds {
			s.adds[a.index] = true
		}
		return nil
	}
	s.settleAll(t, f)
	s.rebase = append(s.rebase, func() { t.follow(f, moves) })
	return nil
}

// moves are what the loser takes out of compacted files, by their canonical paths, in the end; nil where it is nothing.
type moves map[string]*deletionvector.Vector

// planMoves finds out what the loser would take out of which file. path is the file that an error is about.
func (c *Checker) planMoves(ctx context.Context, t *candidate, w *winner, f *changedFiles, s *settlement) (plan moves, path string, err error) {
	own := t.ownFiles()
	files, err := CompactionOf(w.Info)
	if err != nil || len(files) == 0 {
		for _, removed := range w.Removes {
			if path = action.CanonicalPath(removed.Path); own[path].remove != nil {
				break
			}
		}
		return nil, path, errors.Join(errNoRecord, err)
	}
	record := newCompactionRecord(files)
	plan = moves{}
	source := map[string]*action.Remove{} // one of them, by target
	for _, removed := range w.Removes {
		path := action.CanonicalPath(removed.Path)
		mine, changed := own[path]
		if !changed {
			if t.read.adds[path] {
				return nil, path, errBringsBack
			}
			continue
		}
		place, recorded := record.from[path]
		target := place.target
		if !recorded || f.adds[target].Add == nil {
			return nil, path, errNoRecord
		}
		moved, overlap, err := c.moveOwn(ctx, t, path, mine, removed, place.g, place.index, f.adds[target].Add)
		if err != nil {
			return nil, path, err
		}
		if overlap.Count > 0 {
			s.clashes[path] = t.rowsConflict(w, removed, SameRows, overlap.String())
			continue
		}
		plan[target], source[target] = plan[target].Union(moved), removed
	}
	for target, moved := range plan {
		path := action.CanonicalPath(source[target].Path)
		theirs, err := c.vector(ctx, f.adds[target].DeletionVector)
		if err != nil {
			return nil, path, err
		}
		if overlap := deletionvector.OverlapOf(moved, theirs, nil); overlap.Count > 0 {
			s.clashes[path] = t.rowsConflict(w, source[target], SameRows, overlap.String())
		}
		if moved.Cardinality() == 0 {
			plan[target] = nil
			continue
		}
		plan[target] = theirs.Union(moved)
	}
	return plan, "", nil
}

// moveOwn moves what the loser took out of a source to the compacted file.
func (c *Checker) moveOwn(
	ctx context.Context, t *candidate, path string, mine ownFile, removed *action.Remove, g *group, index int, added *action.Add,
) (moved *deletionvector.Vector, overlap deletionvector.Overlap, err error) {
	switch {
	case mine.remove.Key().DV != removed.Key().DV:
		return nil, overlap, errOtherVector
	case !t.mayMark():
		return nil, overlap, errNoVectors
	}
	if err := g.load(ctx, c, added); err != nil {
		return nil, overlap, err
	}
	base, err := c.vector(ctx, mine.remove.DeletionVector)
	if err != nil {
		return nil, overlap, err
	}
	after := deletionvector.Range(0, g.sources[index].NumRecords) // the loser removes the file
	if mine.add != nil {
		if after, err = c.marked(ctx, t, path, mine.add); err != nil {
			return nil, overlap, err
		}
	}
	if !base.SubsetOf(after) {
		return nil, overlap, errShrunk
	}
	if err := g.accountsFor(ctx, c, index, base, added); err != nil {
		return nil, overlap, err
	}
	return g.move(index, after.AndNot(base))
}

// accountsFor makes sure that the rows of a source that were gone when it was compacted, and those alone, are not in the file:
// left out, or marked there.
func (g *group) accountsFor(ctx context.Context, c *Checker, index int, gone *deletionvector.Vector, added *action.Add) error {
	left := g.sources[index].Deleted
	if !left.SubsetOf(gone) {
		return errShrunk
	}
	since, _, err := g.move(index, gone.AndNot(left))
	if err != nil || since.Cardinality() == 0 {
		return err
	}
	theirs, err := c.vector(ctx, added.DeletionVector)
	if err == nil && !since.SubsetOf(theirs) {
		err = errors.New("rows that were deleted while the compaction ran are back in its file")
	}
	return err
}

// follow makes the loser take rows out of compacted files, instead of their sources.
func (t *candidate) follow(f *changedFiles, plan moves) {
	var dataChange bool
	var stamp *int64
	t.rewrite(func(a action.Action) action.Action {
		switch a := a.(type) {
		case *action.Remove:
			if path := action.CanonicalPath(a.Path); f.removes[path] != nil {
				dataChange, stamp = dataChange || a.DataChange, a.DeletionTimestamp
				delete(t.read.removes, path)
				return nil
			}
		case *action.Add:
			if path := action.CanonicalPath(a.Path); f.removes[path] != nil {
				delete(t.read.adds, path)
				t.dropVector(path)
				return nil
			}
		}
		return a
	})
	for _, path := range slices.Sorted(maps.Keys(plan)) {
		if plan[path] == nil {
			continue
		}
		theirs := f.adds[path].Add
		removed := &action.Remove{
			Path: theirs.Path, DeletionTimestamp: stamp, DataChange: dataChange, ExtendedFileMetadata: ptr(true),
			PartitionValues: theirs.PartitionValues, Size: ptr(theirs.Size), Tags: theirs.Tags, DeletionVector: theirs.DeletionVector,
			BaseRowID: theirs.BaseRowID, DefaultRowCommitVersion: theirs.DefaultRowCommitVersion,
		}
		again := *theirs
		again.DataChange, again.Stats = dataChange, widen(theirs.Stats)
		t.actions = append(t.actions, removed, &again)
		t.read.removes[path], t.read.adds[path] = removed, true
		t.setVector(path, plan[path])
	}
}

// newOwnCompaction reads a transaction's record of what it did to rows, nil where it has none. A record that contradicts the
// actions is an error: once in the log, others would rely on it.
func newOwnCompaction(t *Transaction) (*compactionRecord, error) {
	files, err := CompactionOf(t.CommitInfo)
	if err != nil || files == nil {
		return nil, err
	}
	adds, removes := map[string]*action.Add{}, map[string]*action.Remove{}
	for _, a := range t.Actions {
		switch a := a.(type) {
		case *action.Add:
			adds[action.CanonicalPath(a.Path)] = a
		case *action.Remove:
			removes[action.CanonicalPath(a.Path)] = a
		}
	}
	seen := map[string]bool{}
	for _, f := range files {
		path := action.CanonicalPath(f.Path)
		if a := adds[path]; a == nil || a.DataChange || seen[path] {
			return nil, &TransactionError{Path: f.Path, Reason: "the compaction's record names it as an added file without data change, which it is not, or twice"}
		}
		seen[path] = true
		for _, s := range f.Sources {
			if r := removes[action.CanonicalPath(s.Path)]; r == nil || r.DataChange || r.Key().DV != s.DeletionVector.UniqueID() {
				return nil, &TransactionError{Path: s.Path, Reason: "the compaction's record names it, with its deletion vector, as a removed file without data change, which it is not"}
			}
		}
	}
	return newCompactionRecord(files), nil
}

// A taking is what a winner took out of a source of the loser's compaction.
type taking struct {
	path   string // of the source
	theirs *action.Add
	moved  *deletionvector.Vector // in the compacted file
}

// takeMarks lets a loser that is a compaction go together with a winner that changed rows of its sources: what the winner took
// out of a source the loser takes out of the file that it adds. Groups for which that cannot be done may be left out.
func (c *Checker) takeMarks(ctx context.Context, t *candidate, w *winner, f *changedFiles, s *settlement) error {
	own := t.ownFiles()
	added := map[string]*action.Add{}
	for _, a := range t.actions {
		if a, ok := a.(*action.Add); ok {
			added[action.CanonicalPath(a.Path)] = a
		}
	}
	takings, lost := map[string][]taking{}, map[string]bool{}
	for path := range f.removes {
		source, ok := t.compacted.from[path]
		if !ok || own[path].remove == nil {
			continue
		}
		one, err := c.take(ctx, t, w, f, path, own[path], added[source.target])
		if err == nil {
			takings[source.target] = append(takings[source.target], one)
			continue
		}
		if err := s.unsettled(ctx, path, err); err != nil {
			return err
		}
		lost[source.target] = true
	}
	vectors := moves{}
	for target, list := range takings {
		all, err := c.marked(ctx, t, target, added[target])
		if err != nil {
			lost[target] = true
			if err := s.unsettled(ctx, list[0].path, err); err != nil {
				return err
			}
			continue
		}
		for _, one := range list {
			all = all.Union(one.moved)
		}
		if vectors[target] = all; all.Cardinality() == t.compacted.groups[target].rows {
			lost[target] = true
			for _, one := range list {
				s.notes[one.path] = errNothingLeft.Error()
			}
		}
	}
	partial := c.partial && len(lost) < len(t.compacted.groups)
	for path := range f.removes {
		if source, ok := t.compacted.from[path]; ok && own[path].remove != nil && (partial || !lost[source.target]) {
			s.removes[path] = true
			if again := f.adds[path]; again.Add != nil {
				s.adds[again.index] = true
			}
		}
	}
	s.rebase = append(s.rebase, func() {
		for target, list := range takings {
			if !lost[target] {
				t.absorb(target, list, vectors[target])
			}
		}
		t.leaveOut(lost)
	})
	return nil
}

// take finds out what the winner took out of a source, and where that is in the compacted file.
func (c *Checker) take(ctx context.Context, t *candidate, w *winner, f *changedFiles, path string, mine ownFile, added *action.Add) (one taking, err error) {
	source := t.compacted.from[path]
	g := source.g
	one = taking{path: path, theirs: f.adds[path].Add}
	switch {
	case !c.o.Compaction:
		return one, errors.New("switch Compaction is off")
	case mine.remove.Key().DV != f.removes[path].Key().DV:
		return one, errOtherVector
	case !t.mayMark():
		return one, errNoVectors
	case one.theirs == nil && w.rearranged():
		return one, errors.New("the winner rearranges its rows too")
	}
	if err := g.load(ctx, c, added); err != nil {
		return one, err
	}
	before, err := c.vector(ctx, mine.remove.DeletionVector)
	if err != nil {
		return one, err
	}
	after := deletionvector.Range(0, g.sources[source.index].NumRecords)
	if one.theirs != nil {
		if after, err = c.vector(ctx, one.theirs.DeletionVector); err != nil {
			return one, err
		}
	}
	if !before.SubsetOf(after) {
		return one, errShrunk
	}
	moved, overlap, err := g.move(source.index, after.AndNot(before))
	if err == nil && overlap.Count > 0 {
		err = errOtherVector
	}
	one.moved = moved
	return one, err
}

// absorb makes the loser's compacted file lack what the winner took out of its sources.
func (t *candidate) absorb(target string, list []taking, gone *deletionvector.Vector) {
	for _, one := range list {
		t.rewrite(func(a action.Action) action.Action {
			r, ok := a.(*action.Remove)
			if !ok || action.CanonicalPath(r.Path) != one.path {
				return a
			}
			if one.theirs == nil { // the winner has removed it already
				delete(t.read.removes, one.path)
				delete(t.read.files, one.path)
				return nil
			}
			b := *r
			b.DeletionVector, b.BaseRowID, b.DefaultRowCommitVersion = one.theirs.DeletionVector, one.theirs.BaseRowID, one.theirs.DefaultRowCommitVersion
			t.read.removes[one.path] = &b
			return &b
		})
	}
	t.rewrite(func(a action.Action) action.Action {
		if a, ok := a.(*action.Add); ok && action.CanonicalPath(a.Path) == target {
			b := *a
			b.Stats = widen(a.Stats)
			return &b
		}
		return a
	})
	if gone.Cardinality() > 0 {
		t.setVector(target, gone)
	}
}

// leaveOut takes groups out of the loser, a compaction: their sources stay as the winners left them.
func (t *candidate) leaveOut(lost map[string]bool) {
	if len(lost) == 0 {
		return
	}
	t.rewrite(func(a action.Action) action.Action {
		switch a := a.(type) {
		case *action.Add:
			if path := action.CanonicalPath(a.Path); lost[path] {
				delete(t.read.adds, path)
				t.dropVector(path)
				return nil
			}
		case *action.Remove:
			path := action.CanonicalPath(a.Path)
			if source, ok := t.compacted.from[path]; ok && lost[source.target] {
				delete(t.read.removes, path)
				return nil
			}
		}
		return a
	})
	var files []CompactedFile
	for _, path := range t.compacted.order {
		g := t.compacted.groups[path]
		if !lost[path] {
			files = append(files, g.CompactedFile)
			continue
		}
		for _, s := range g.Sources {
			delete(t.read.files, action.CanonicalPath(s.Path))
		}
	}
	kept := newCompactionRecord(files)
	for path, g := range kept.groups {
		*g = *t.compacted.groups[path] // with the vectors that have been read
	}
	t.compacted = kept
	RecordCompaction(t.info, files)
}
