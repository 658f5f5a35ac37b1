package conflict

import (
	"context"
	"slices"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/predicate"
)

// An Explanation says how far a transaction's reads reach into the files of the winners: the facts behind a [Result], which
// ends at the first file that stands in the way.
type Explanation struct {
	Isolation Isolation
	Unusable  []Unusable // by read; as of the metadata that the transaction read
	Winners   []Reach    // in version order; they end with a winner that stands in the way before its files are looked at
}

// An Unusable is a conjunct of a read that excludes no file.
type Unusable struct {
	Read     int
	Conjunct string // as SQL
	Reason   string // in plain words
}

// A Reach says which of one winner's files a transaction's reads may have missed, going by partitions and statistics whatever
// the checker's mode is.
type Reach struct {
	Winner        WinnerInfo
	Adds, Removes int
	// Rearranged reports that the winner only moved rows about: it adds and removes files, all with dataChange false.
	Rearranged bool
	// Exempt says in words why the added files don't count; it is empty where they do.
	Exempt string

	// Of the added files, where they count: those that no read may touch by their partitions, and those in which statistics
	// prove that no row of a read is. The rest may hold one, and Files begins with them.
	SkippedByPartition, SkippedByStats int64
	Files                              []ReachedFile // the first ten, by their place in the commit
	// Failure is why statistics had no say, nil where they had.
	Failure error

	// Of the removed files: those that the transaction read, and those that it removes as well.
	RemovedRead, RemovedTwice int64

	// Err is what ended the explanation before the winner's files were looked at: a [*Conflict], or what kept it from an answer.
	Err error
}

// Reached is how many of the added files may hold a row that the transaction should have read.
func (r *Reach) Reached() int64 {
	if r.Exempt != "" || r.Err != nil {
		return 0
	}
	return int64(r.Adds) - r.SkippedByPartition - r.SkippedByStats
}

// A ReachedFile is an added file that may hold a row of a read, and what was known about it.
type ReachedFile struct {
	Path      string
	Partition string // such as "[p=1]"; empty on an unpartitioned table
	Read      int    // the first read that may; -1 where the transaction doesn't tell what it read
	Predicate string // of that read, as SQL
	Reason    Reason // as a conflict in mode Stats would have it
	Conjunct  string // of PREDICATE_NOT_USABLE: one that excludes nothing
	Ranges    string // what its statistics say, for people
}

// maxReached is how many files a Reach lists.
const maxReached = 10

// Explain looks at every winner up to version last as mode Stats does, at all of its files and whether or not an earlier winner
// stands in the way. It decides nothing: see [Checker.Check].
func (c *Checker) Explain(ctx context.Context, txn *Transaction, last int64) (*Explanation, error) {
	by := *c
	by.o.Mode, by.o.Observer = Stats, nil
	t, err := by.newCandidate(txn)
	if err != nil {
		return nil, err
	}
	files, err := by.since(ctx, txn.ReadVersion)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f deltalog.CommitFile) bool { return f.Version > last })
	e := &Explanation{Isolation: t.isolation}
	if txn.ReadVersion >= 0 && len(txn.Reads) > 0 {
		e.Unusable = by.unusable(t)
	}
	for w, err := range by.winners(ctx, []*run{{candidate: t}}, files) {
		if err != nil {
			return nil, err
		}
		reach := by.reach(ctx, t, w)
		w.release()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e.Winners = append(e.Winners, reach); reach.Err != nil {
			break
		}
	}
	return e, nil
}

// unusable lists the conjuncts that exclude no file: those that the program has no use for, and those that cannot be bound.
func (c *Checker) unusable(t *candidate) (list []Unusable) {
	p := t.probe(c)
	if p.stats != nil {
		for _, u := range p.stats.Unusable() {
			list = append(list, Unusable(u))
		}
		return list
	}
	table, err := c.o.Cache.table(t.txn.Metadata)
	if err != nil {
		return nil // the winners' reaches say so
	}
	env := t.txn.Env
	env.Joined = true
	for i, r := range t.txn.Reads {
		e := r.Expr
		if e == nil {
			if e, err = predicate.Parse(r.SQL, predicate.ParseOptions{}); err != nil {
				list = append(list, Unusable{i, r.SQL, err.Error()})
				continue
			}
		}
		for _, conjunct := range predicate.Conjuncts(e) {
			if _, err := predicate.Bind(conjunct, table, env); err != nil {
				list = append(list, Unusable{i, conjunct.String(), err.Error()})
			}
		}
	}
	return list
}

// reach looks at one winner and takes over from it what the next one's files are to be understood by.
func (c *Checker) reach(ctx context.Context, t *candidate, w *winner) (r Reach) {
	r = Reach{Winner: w.info(), Adds: w.NumAdds(), Removes: len(w.Removes), Rearranged: w.rearranged()}
	defer recoverTo(&r.Err)
	for _, check := range beforeFiles {
		if r.Err = check(t, w); r.Err != nil {
			return r
		}
	}
	t.next = w.Version + 1
	for _, removed := range w.Removes {
		path := action.CanonicalPath(removed.Path)
		if t.txn.ReadWholeTable || t.read.files[path] != nil {
			r.RemovedRead++
		}
		if t.read.removes[path] != nil {
			r.RemovedTwice++
		}
	}
	if r.Adds == 0 {
		return r
	}
	if r.Exempt = t.exempt(w); r.Exempt != "" {
		return r
	}
	partitioned := len(t.read.partitions) > 0
	switch {
	case t.txn.ReadWholeTable:
		r.Err = r.listAll(t, w, ReachedFile{Read: -1, Reason: WholeTableRead})
		return r
	case len(t.txn.Reads) == 0 && partitioned:
		r.SkippedByPartition = int64(r.Adds) // as in Delta: nothing tells which partitions were read
		return r
	case len(t.txn.Reads) == 0:
		r.Err = r.listAll(t, w, ReachedFile{Read: -1, Reason: EmptyReadPredicates})
		return r
	}
	p := t.probe(c)
	if r.Failure = p.failure; r.Failure == nil {
		if r.Failure = r.scan(ctx, t, w, p, p.stats, c.colstats()); r.Failure == nil {
			return r
		}
	}
	if p.off == nil || !partitioned || r.scan(ctx, t, w, p, p.off, c.colstats()) != nil {
		r.Err = r.listAll(t, w, ReachedFile{Predicate: t.txn.Reads[0].String(), Reason: SkippingFailed})
	}
	return r
}

// listAll lists the winner's first files, all of which count for the reason that why gives.
func (r *Reach) listAll(t *candidate, w *winner, why ReachedFile) error {
	r.SkippedByPartition, r.SkippedByStats, r.Files = 0, 0, nil
	for i := range min(w.NumAdds(), maxReached) {
		a, err := w.Add(i)
		if err != nil {
			return err
		}
		f := why
		f.Path, f.Partition = a.Path, t.partition(a.PartitionValues)
		r.Files = append(r.Files, f)
	}
	return nil
}

// scan asks a question of all of the winner's files.
func (r *Reach) scan(ctx context.Context, t *candidate, w *winner, p *probe, q *question, o colstats.Options) (err error) {
	defer recoverTo(&err)
	kept, s, err := w.survivors(ctx, q, o, nil)
	if err != nil {
		return err
	}
	s = p.counted(s)
	r.SkippedByPartition, r.SkippedByStats, r.Files = s.SkippedByPartition, s.SkippedByStats, nil
	var batches []*colstats.Batch
	if q.loose < 0 {
		if batches, err = w.batches(ctx, q, o); err != nil { // they are there already
			return err
		}
	}
	for _, k := range kept[:min(len(kept), maxReached)] {
		a, err := w.Add(int(k.Index))
		if err != nil {
			return err
		}
		q.blame(&k.Hit, batches)
		f := ReachedFile{Path: a.Path, Partition: t.partition(a.PartitionValues), Read: k.Read, Predicate: p.reads[k.Read], Reason: SkippingFailed}
		if q == p.stats {
			f.Reason, f.Ranges, f.Conjunct = p.why(&k.Hit, batches)
		}
		r.Files = append(r.Files, f)
	}
	return nil
}

// rearranged reports whether the winner says of everything it did that no data changed, and did something.
func (w *winner) rearranged() bool {
	if w.NumAdds() == 0 || len(w.Removes) == 0 || slices.ContainsFunc(w.Removes, func(r *action.Remove) bool { return r.DataChange }) {
		return false
	}
	for a, err := range w.Adds() {
		if err != nil || a.DataChange {
			return false
		}
	}
	return true
}

// rearranges is the same of the loser.
func (c *candidate) rearranges() bool {
	return len(c.read.adds) > 0 && len(c.read.removes) > 0 && !changesData(c.actions)
}
