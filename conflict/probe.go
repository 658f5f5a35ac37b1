package conflict

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
	"github.com/deltaskip/deltaskip/vectorized"
)

// A probe asks of a winner's added files which a transaction's reads may have seen: some read i for which P_i AND D_i may
// be TRUE, P_i being its conjuncts over partition columns and D_i the others. It is immutable and shared by goroutines.
type probe struct {
	reads []string // SQL, for messages
	// off asks for the P_i alone, which is Delta's answer; nil where that cannot be asked, and every file counts.
	off    *vectorized.Program
	offKey layoutKey
	// stats asks for both. It is nil where failure says why.
	stats    *vectorized.Program
	statsKey layoutKey
	failure  error
}

// newProbe binds reads to a table's metadata. Reads that cannot be bound don't fail it, they make it ask for less.
func (c *Checker) newProbe(reads []Read, env predicate.Env, m *action.Metadata) (p *probe) {
	p = &probe{reads: make([]string, len(reads))}
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
	o := vectorized.Options{Workers: c.o.Workers}
	if p.failure == nil {
		if p.stats, p.failure = vectorized.Compile(bound, o); p.failure == nil {
			p.off = p.stats.PartitionOnly()
		}
	}
	if p.off == nil {
		p.off, _ = vectorized.Compile(partitions, o) // without it every file counts
	}
	if p.stats != nil {
		p.statsKey = keyOf(p.stats.Layout())
	}
	if p.off != nil {
		p.offKey = keyOf(p.off.Layout())
	}
	return p
}

// bindRead binds a read as a whole and, whether that succeeds or not, the part of it that only looks at partitions. A
// conjunct that cannot be bound may be TRUE of any file.
func bindRead(r Read, table *schema.Table, env predicate.Env) (whole, partition *predicate.Predicate, err error) {
	e := r.Expr
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

// each yields batches that somebody else owns.
func each(batches []*colstats.Batch) iter.Seq2[*colstats.Batch, error] {
	return func(yield func(*colstats.Batch, error) bool) {
		for _, b := range batches {
			if !yield(b, nil) {
				return
			}
		}
	}
}

// first returns the first of the winner's files that a program keeps.
func (w *winner) first(ctx context.Context, program *vectorized.Program, key layoutKey, o colstats.Options) (hit *vectorized.Hit, s vectorized.Stats, err error) {
	defer recoverTo(&err)
	batches, err := w.batches(ctx, key, program.Layout(), o)
	if err != nil {
		return nil, s, err
	}
	return program.First(ctx, each(batches))
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
	b, i := row(batches, hit.Index)
	if b == nil {
		return RangesOverlap, "", ""
	}
	if r, ok, err := p.stats.Why(b, i); err == nil && ok && len(r.Ranges) > 0 {
		reason = RangesOverlap
		parts := make([]string, len(r.Ranges))
		for i, known := range r.Ranges {
			parts[i] = rangeText(known)
			if !known.Bounded && !known.NoNull && !known.AllNull {
				reason = StatisticsMissing
			}
		}
		return reason, strings.Join(parts, ", "), ""
	}
	for _, u := range p.stats.Unusable() {
		if u.Read == hit.Read {
			return PredicateNotUsable, "", u.Conjunct
		}
	}
	return PredicateNotUsable, "", ""
}

func rangeText(r vectorized.Range) string {
	name := r.Column.String()
	switch {
	case r.AllNull:
		return name + " all NULL"
	case !r.Bounded:
		return name + " without bounds"
	}
	return fmt.Sprintf("%s in [%s, %s]", name, &predicate.Literal{Value: r.Lower}, &predicate.Literal{Value: r.Upper})
}

// failureClass names a failure of skipping: Spark's error class where there is one.
func failureClass(err error) string {
	var bind *predicate.BindError
	var eval *predicate.EvalError
	switch {
	case errors.As(err, &bind):
		return bind.Class
	case errors.As(err, &eval):
		return eval.Class
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
