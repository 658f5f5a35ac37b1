package conflict

import (
	"context"
	"errors"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/rows"
)

// A settlement says of which files of a winner it is known, by what is in them, how they go together with the loser. The checks
// of added and removed files leave them out.
//
//	settle ─► winner only rearranges rows? ── Rearranged: nothing to the loser
//	              │                      └─── Compaction: the loser's marks move to the compacted files
//	              ├─ loser is a compaction ── Compaction: the winner's marks move to the loser's files
//	              └─ both marked rows of a file ── RowLevel: both marks
//	checks 7 to 9 of what is left ─► no conflict ─► rebase
type settlement struct {
	changed *changedFiles
	adds    map[int64]bool            // by their place in the commit
	removes map[string]bool           // by canonical path
	clashes map[string]error          // by canonical path of removed files that both sides changed: the conflict
	notes   map[string]string         // by canonical path: why a file is not settled, where that was tried
	known   map[string]*action.Remove // re-added files of which the loser has seen all rows but those that came back; RemovedRows
	rebase  []func()                  // of the loser, to be done once no check failed
}

func newSettlement() *settlement {
	return &settlement{
		adds: map[int64]bool{}, removes: map[string]bool{}, clashes: map[string]error{}, notes: map[string]string{},
		known: map[string]*action.Remove{},
	}
}

// files returns how many file actions of the winner are settled.
func (s *settlement) files() int {
	if s == nil {
		return 0
	}
	return len(s.adds) + len(s.removes)
}

// nothingSettled is the settlement without any file. Nobody writes to it.
var nothingSettled settlement

// looksInside reports whether some switch asks for more than names of files.
func (c *Checker) looksInside() bool {
	return c.o.RowLevel || c.o.RemovedRows || c.o.Rearranged || c.o.Compaction || c.partial
}

// settle looks into the files of a winner. The error is about the context, or the winner's commit.
func (c *Checker) settle(ctx context.Context, t *candidate, w *winner) (*settlement, error) {
	if t.blind || !c.looksInside() {
		return &nothingSettled, nil
	}
	s := newSettlement()
	f, err := filesOf(w)
	if err != nil {
		return nil, err
	}
	s.changed = f
	switch {
	case c.o.Rearranged && w.onlyRearranges(f) && t.unaffectedBy(f):
		s.settleAll(t, f)
	case c.o.Compaction && w.onlyRearranges(f) && t.compacted == nil:
		err = c.moveMarks(ctx, t, w, f, s)
	case t.compacted != nil:
		err = c.takeMarks(ctx, t, w, f, s)
	}
	if err == nil && c.o.RowLevel {
		err = c.mergeMarks(ctx, t, w, f, s)
	}
	if c.o.RemovedRows {
		for path, removed := range f.removes {
			if f.adds[path].Add != nil && t.read.files[path] != nil && !t.unseen[path] {
				s.known[path] = removed
			}
		}
	}
	s.rebase = append(s.rebase, func() { t.notice(w, f, s) })
	return s, err
}

// changedFiles are the files that a winner adds and removes, by canonical path. A path that it adds twice or removes twice is
// in neither map.
type changedFiles struct {
	adds      map[string]indexedAdd
	removes   map[string]*action.Remove
	ambiguous bool // there is such a path
}

type indexedAdd struct {
	*action.Add
	index int64 // in the commit
}

func filesOf(w *winner) (*changedFiles, error) {
	f := &changedFiles{adds: map[string]indexedAdd{}, removes: map[string]*action.Remove{}}
	twice := map[string]bool{}
	var i int64
	for a, err := range w.Adds() {
		if err != nil {
			return nil, err
		}
		path := action.CanonicalPath(a.Path)
		twice[path] = twice[path] || f.adds[path].Add != nil
		f.adds[path] = indexedAdd{a, i}
		i++
	}
	for _, r := range w.Removes {
		path := action.CanonicalPath(r.Path)
		twice[path] = twice[path] || f.removes[path] != nil
		f.removes[path] = r
	}
	for path, yes := range twice {
		if yes {
			f.ambiguous = true
			delete(f.adds, path)
			delete(f.removes, path)
		}
	}
	return f, nil
}

// settleAll takes all of a winner's files for settled: it only moved rows about. Where the loser read some of them it has read,
// from now on, the files that hold their rows.
func (s *settlement) settleAll(t *candidate, f *changedFiles) {
	for path := range f.removes {
		s.removes[path] = true
	}
	for _, a := range f.adds {
		s.adds[a.index] = true
	}
	s.rebase = append(s.rebase, func() {
		read := false
		for path := range f.removes {
			read = read || t.read.files[path] != nil
		}
		if !read {
			return
		}
		for path, a := range f.adds {
			t.read.files[path] = &ReadFile{Path: a.Path, PartitionValues: a.PartitionValues}
		}
	})
}

// notice keeps track of files with rows that the loser need not have seen and has not: those of winners whose files don't
// count, and what becomes of them. A winner that writes such a file again and counts brings the rows before the loser.
func (t *candidate) notice(w *winner, f *changedFiles, s *settlement) {
	if len(f.adds) == 0 || w.isBackfill() || w.isUnbackfill() {
		return
	}
	moved := false
	for path := range f.removes {
		moved = moved || t.unseen[path]
	}
	counted := t.countsAdds(w)
	for path, a := range f.adds {
		switch {
		case s.adds[a.index] && f.removes[path] == nil: // settled, and not the same file as before: rows were moved to it
			t.unseen[path] = moved
		case s.adds[a.index]:
		default:
			t.unseen[path] = !counted
		}
	}
}

// An ownFile is a file that the loser replaces, or removes, with the actions by which it does.
type ownFile struct {
	remove *action.Remove
	add    *action.Add // nil where the file is gone
}

// ownFiles returns the files that the loser removes, by canonical path.
func (t *candidate) ownFiles() map[string]ownFile {
	own := map[string]ownFile{}
	for _, a := range t.actions {
		if r, ok := a.(*action.Remove); ok {
			own[action.CanonicalPath(r.Path)] = ownFile{remove: r}
		}
	}
	for _, a := range t.actions {
		if a, ok := a.(*action.Add); ok {
			if f, ok := own[action.CanonicalPath(a.Path)]; ok {
				f.add = a
				own[action.CanonicalPath(a.Path)] = f
			}
		}
	}
	return own
}

// vector reads a deletion vector of the table.
func (c *Checker) vector(ctx context.Context, d *action.DeletionVector) (*deletionvector.Vector, error) {
	return c.source().Vector(ctx, d, -1)
}

// marked returns the rows that the loser has taken out of a file, in the end.
func (c *Checker) marked(ctx context.Context, t *candidate, path string, add *action.Add) (*deletionvector.Vector, error) {
	if v, ok := t.vectors[path]; ok {
		return v, nil
	}
	return c.vector(ctx, add.DeletionVector)
}

// unsettled notes why a file is not settled, unless that is the context's end.
func (s *settlement) unsettled(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.notes[path] = err.Error()
	return nil
}

// Why rows cannot settle anything.
var (
	errNoPredicate = errors.New("the transaction carries no read predicates to compare them with")
	errWholeTable  = errors.New("the transaction read the whole table, so each of them")
	errOpaque      = errors.New("a read predicate holds something that is not evaluated")
)

// tellsWhatItRead reports, by a nil error, whether the loser's reads can be compared with rows: it has some, they are all it
// read, and nothing in them is opaque, which could have looked at any row.
func (t *candidate) tellsWhatItRead(p *probe) error {
	switch {
	case t.txn.ReadWholeTable:
		return errWholeTable
	case len(t.txn.Reads) == 0:
		return errNoPredicate
	case p.failure != nil:
		return p.failure
	}
	for _, read := range p.bound {
		if read == nil || opaque(read.Root) || !read.Deterministic() {
			return errOpaque
		}
	}
	return nil
}

// readRow looks for a row, among some that were live under before, that a read of the loser matches or may match. A nil among
// means all.
func (c *Checker) readRow(ctx context.Context, t *candidate, add *action.Add, before, among *deletionvector.Vector) (hit rows.Hit, found bool, err error) {
	defer recoverTo(&err)
	p := t.probe(c)
	if err := t.tellsWhatItRead(p); err != nil {
		return hit, false, err
	}
	m, err := p.matcher()
	if err != nil {
		return hit, false, err
	}
	f, closeFile, err := c.source().Open(ctx, &action.Add{Path: add.Path, PartitionValues: add.PartitionValues})
	if err != nil {
		return hit, false, err
	}
	defer closeFile() // only read: nothing is lost when closing fails
	f.Deleted, f.Among = before, among
	hit, found, err = m.First(ctx, f)
	t.counts.FilesRead++
	t.counts.RowsRead += f.Evaluated
	return hit, found, err
}
