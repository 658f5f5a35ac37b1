package conflict

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/ordered"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/rows"
	"github.com/deltaskip/deltaskip/schema"
	"github.com/deltaskip/deltaskip/vectorized"
)

// A probe asks of a winner's added files which a transaction's reads may have seen: some read i for which P_i AND D_i may
// be TRUE, P_i being its conjuncts over partition columns and D_i the others. It is immutable and shared by goroutines.
type probe struct {
	reads []string // SQL, for messages
	// off asks for the P_i alone, which is Delta's answer; nil where that cannot be asked, and every file counts.
	off *question
	// stats asks for both. It is nil where failure says why.
	stats   *question
	bound   []*predicate.Predicate // the reads; nil for one that cannot be bound, which failure says
	failure error
	// matcher asks the rows of a file; mode Exact.
	matcher func() (*rows.Matcher, error)

	partitioned bool
}

// A question is a program, and what saves asking it.
type question struct {
	*vectorized.Program
	key   layoutKey
	loose int // the first read that every file may match, so that no batch need be decoded; -1 if there is none
}

func (c *Checker) newQuestion(reads []*predicate.Predicate) (*question, error) {
	o := vectorized.Options{Workers: c.o.Workers}
	program, err := vectorized.Compile(reads, o)
	if err != nil {
		return nil, err
	}
	q := &question{Program: program, key: keyOf(program.Layout(), c.colstats()), loose: -1}
	for i := 0; program.MatchesAll() && q.loose < 0 && i < len(reads); i++ {
		if one, err := vectorized.Compile(reads[i:i+1], o); err == nil && one.MatchesAll() {
			q.loose = i
		}
	}
	return q, nil
}

// newProbe binds reads to a table's metadata. Reads that cannot be bound don't fail it, they make it ask for less.
func (c *Checker) newProbe(reads []Read, env predicate.Env, m *action.Metadata) (p *probe) {
	p = &probe{reads: make([]string, len(reads)), partitioned: len(m.PartitionColumns) > 0}
	for i, r := range reads {
		p.reads[i] = r.String()
	}
	defer func() {
		if err := recovered(recover()); err != nil {
			p.off, p.stats, p.failure = nil, nil, err
		}
	}()
	table, err := c.o.Cache.table(m)
	if err != nil {
		p.failure = err
		return p
	}
	var bound, partitions []*predicate.Predicate
	for _, r := range reads {
		whole, partition, err := bindRead(r, table, env)
		if err != nil && p.failure == nil {
			p.failure = err
		}
		bound, partitions = append(bound, whole), append(partitions, partition)
	}
	p.bound = bound
	if p.failure == nil && c.o.Mode != Off {
		p.stats, p.failure = c.newQuestion(bound)
	}
	p.matcher = sync.OnceValues(func() (*rows.Matcher, error) {
		return rows.Compile(bound, rows.Options{Allocator: c.o.Memory, Zone: c.o.PartitionZone, Limits: c.o.Limits})
	})
	p.off, _ = c.newQuestion(partitions) // without it every file counts
	return p
}

// bindRead binds a read as a whole and, whether that succeeds or not, the part of it that only looks at partitions. A
// conjunct that cannot be bound may be TRUE of any file.
func bindRead(r Read, table *schema.Table, env predicate.Env) (whole, partition *predicate.Predicate, err error) {
	e := r.Expr
	env.Joined = true
	if e == nil {
		if e, err = predicate.Parse(r.SQL, predicate.ParseOptions{}); err != nil {
			return nil, nil, err
		}
	}
	if whole, err = predicate.Bind(e, table, env); err == nil {
		partition, _ = whole.Split()
		return whole, partition, nil
	}
	var usable []predicate.Expr
	for _, conjunct := range predicate.Conjuncts(e) {
		if b, err := predicate.Bind(conjunct, table, env); err == nil {
			if p, _ := b.Split(); p != nil {
				usable = append(usable, conjunct)
			}
		}
	}
	if len(usable) > 0 {
		// Conjuncts that bind alone bind together.
		partition, _ = predicate.Bind(predicate.AllOf(usable...), table, env)
	}
	return nil, partition, err
}

// first returns the first of the winner's files that a question keeps.
func (w *winner) first(ctx context.Context, q *question, o colstats.Options) (hit *vectorized.Hit, s vectorized.Stats, err error) {
	defer recoverTo(&err)
	if q.loose >= 0 {
		a, err := w.Add(0)
		if err != nil {
			return nil, s, err
		}
		return &vectorized.Hit{Path: a.Path, Read: q.loose}, vectorized.Stats{Considered: 1}, nil
	}
	batches, err := w.batches(ctx, q, o)
	if err != nil {
		return nil, s, err
	}
	return q.FirstOf(ctx, batches)
}

// survivors returns all of the winner's files that a question keeps, in log order, and the counts of all files.
// Those that are settled are left out.
func (w *winner) survivors(ctx context.Context, q *question, o colstats.Options, settled map[int64]bool) (kept []survivor, s vectorized.Stats, err error) {
	defer recoverTo(&err)
	if q.loose >= 0 {
		for i := range w.NumAdds() {
			if settled[int64(i)] {
				continue
			}
			a, err := w.Add(i)
			if err != nil {
				return nil, s, err
			}
			s.Considered++
			kept = append(kept, survivor{vectorized.Hit{Index: int64(i), Path: a.Path, Read: q.loose}, s})
		}
		return kept, s, nil
	}
	batches, err := w.batches(ctx, q, o)
	if err != nil {
		return nil, s, err
	}
	_, err = q.Scan(ctx, ordered.Items(batches)(ctx), func(b *colstats.Batch, base int64, r vectorized.Result) error {
		for i := range b.Len() {
			if settled[base+int64(i)] {
				continue
			}
			s.Considered++
			switch {
			case colstats.IsSet(r.May, i):
				path, err := b.Path(i)
				if err != nil {
					return err
				}
				kept = append(kept, survivor{vectorized.Hit{Index: base + int64(i), Path: strings.Clone(path), Read: anyRead}, s})
			case colstats.IsSet(r.Partition, i):
				s.SkippedByStats++
			default:
				s.SkippedByPartition++
			}
		}
		return nil
	})
	return kept, s, err
}

// anyRead stands for the read of a hit until somebody asks for it, see [question.blame].
const anyRead = -1

// blame sets the read of a hit to the first that may match it.
func (q *question) blame(hit *vectorized.Hit, batches []*colstats.Batch) {
	if hit.Read != anyRead {
		return
	}
	hit.Read = 0
	if b, i := row(batches, hit.Index); b != nil {
		if r, ok, err := q.Why(b, i); ok && err == nil {
			hit.Read = r.Read
		}
	}
}

// row returns the batch that holds the i-th of the winner's files, and its row there.
func row(batches []*colstats.Batch, i int64) (*colstats.Batch, int) {
	for _, b := range batches {
		if i < int64(b.Len()) {
			return b, int(i)
		}
		i -= int64(b.Len())
	}
	return nil, 0
}

// why explains a hit of the statistics program: the reason, and what the file's statistics say or the conjunct that is to
// blame, in words.
func (p *probe) why(hit *vectorized.Hit, batches []*colstats.Batch) (reason Reason, ranges, conjunct string) {
	if conjunct, ok := p.useless(hit.Read); ok {
		return PredicateNotUsable, "", conjunct
	}
	reason = RangesOverlap
	var parts []string
	for _, r := range p.known(hit, batches) {
		parts = append(parts, r.String())
		if !r.Bounded && !r.NoNull && !r.AllNull {
			reason = StatisticsMissing
		}
	}
	return reason, strings.Join(parts, ", "), ""
}

// useless reports whether no conjunct of a read excludes files by the values that they hold, and names one.
func (p *probe) useless(read int) (conjunct string, ok bool) {
	if p.bound[read] == nil {
		return "", true
	}
	unusable := map[string]bool{}
	for _, u := range p.stats.Unusable() {
		if u.Read == read {
			unusable[u.Conjunct] = true
		}
	}
	for _, asked := range p.bound[read].Asked() {
		conjunct = asked.SQL
		if _, constant := asked.Root.(*predicate.Literal); !constant && !opaque(asked.Root) && !unusable[conjunct] {
			return "", false
		}
	}
	return conjunct, true
}

// opaque reports whether an expression has a part that is not evaluated, such as a column of another table.
func opaque(e predicate.Expr) bool {
	if _, ok := e.(*predicate.Opaque); ok {
		return true
	}
	return slices.ContainsFunc(e.Children(), opaque)
}

// known returns what the file of a hit says about the columns of the read that it hit.
func (p *probe) known(hit *vectorized.Hit, batches []*colstats.Batch) []vectorized.Range {
	b, i := row(batches, hit.Index)
	if b == nil {
		return nil
	}
	r, ok, err := p.stats.Why(b, i)
	if err != nil || !ok {
		return nil
	}
	return r.Ranges
}

// failureClass names a failure of skipping: Spark's error class where there is one.
func failureClass(err error) string {
	if class := predicate.ErrorClass(err); class != "" {
		return class
	}
	return fmt.Sprintf("%T", err)
}

// A PanicError is a panic that was caught, which is this library's fault. Skipping fails by it, nothing else.
type PanicError struct{ Value any }

func (e *PanicError) Error() string { return fmt.Sprintf("conflict: panic: %v", e.Value) }

func recovered(v any) error {
	if v == nil {
		return nil
	}
	return &PanicError{v}
}

// recoverTo makes a panic the error that a function returns. It is deferred.
func recoverTo(err *error) {
	if v := recovered(recover()); v != nil {
		*err = v
	}
}
