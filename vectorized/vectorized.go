package vectorized

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// A Verdict says how many live rows of a file may make a predicate TRUE.
type Verdict uint8

// The verdicts. The zero Verdict is the one that proves nothing.
const (
	Some Verdict = iota // may match: nothing is proven
	None                // no live row matches
	All                 // every live row matches
)

// Options say how a program is compiled and run. The zero Options works.
type Options struct {
	Workers int // batches evaluated at once by First and Scan; 0 means GOMAXPROCS
	// Verdicts compiles what it takes to prove All as well, which may demand more columns. Without it no verdict is All.
	Verdicts bool
	// Reference evaluates file by file with the slow scalar evaluator that the kernels are tested against.
	Reference bool
}

// ErrNoReads is returned by [Compile] without reads. Nothing read and everything read are the caller's to tell apart:
// a whole-table read is a nil predicate.
var ErrNoReads = errors.New("vectorized: no reads to compile")

// A Program is a compiled OR over reads. It is immutable and safe for concurrent use.
type Program struct {
	layout *colstats.Layout
}

// Compile compiles the reads of one transaction: a file may match if some read may match it. All reads are bound to one
// table. A nil read is a read of the whole table.
func Compile(reads []*predicate.Predicate, o Options) (*Program, error) {
	if len(reads) == 0 {
		return nil, ErrNoReads
	}
	p := &Program{layout: &colstats.Layout{}}
	for _, r := range reads {
		if r != nil {
			p.layout.Table = r.Table
		}
	}
	return p, nil
}

// Layout returns what batches for this program must hold. The caller does not change it.
func (p *Program) Layout() *colstats.Layout { return p.layout }

// MatchesAll reports that every file may match, whatever its statistics: no batch need be decoded.
func (p *Program) MatchesAll() bool { return true }

// An Unusable names a conjunct of a read that skips no file.
type Unusable struct {
	Read     int    // index into the reads of Compile
	Conjunct string // SQL text
	Reason   string // in plain words
}

// Unusable lists the conjuncts that skip no file, in the order of the reads.
func (p *Program) Unusable() []Unusable { return nil }

// PartitionOnly returns the program that asks for the reads' partition predicates only, as Delta does without skipping.
func (p *Program) PartitionOnly() *Program { return p }

// A Result holds one bit per file of a batch, LSB first, (n+63)/64 words; bits past the last file are zero.
type Result struct {
	Partition []uint64 // the file's partition may match some read
	May       []uint64 // the file may match some read; a subset of Partition
}

// Scratch is the memory of one evaluation at a time. The zero Scratch is ready; reuse it from batch to batch.
type Scratch struct {
	result Result
}

// Eval evaluates a batch that was made for the program's layout. The result belongs to s and is good until its next use.
// An error proves nothing: every file of the batch counts as a match.
func (p *Program) Eval(b *colstats.Batch, s *Scratch) (Result, error) {
	n := b.Len()
	words := make([]uint64, (n+63)/64)
	for i := range n {
		words[i/64] |= 1 << (i % 64)
	}
	s.result = Result{Partition: words, May: words}
	return s.result, nil
}

// Verdicts sets dst[i] to the verdict on file i. dst must hold b.Len() verdicts.
func (p *Program) Verdicts(dst []Verdict, b *colstats.Batch, s *Scratch) error {
	clear(dst[:b.Len()])
	return nil
}

// A Reason says why a file was kept.
type Reason struct {
	Read   int // the first read that may match the file
	Ranges []Range
}

// A Range is what was known about a column of that read in the file.
type Range struct {
	Column       *schema.Column
	Lower, Upper predicate.Value // valid if Bounded
	Bounded      bool
	NoNull       bool // no live row is NULL
	AllNull      bool // every live row is NULL
	MayNaN       bool // a NaN may hide outside the bounds
}

// Why explains which read kept a file and by which facts. ok is false for a file that cannot match.
func (p *Program) Why(b *colstats.Batch, row int) (r Reason, ok bool) { return Reason{}, true }

// A Hit is a file that may match.
type Hit struct {
	Index int64  // position in log order, over all batches
	Path  string // as the log spells it
	Read  int    // the first read that may match it
}

// Stats count files. After First they count those up to and including the hit, so that they don't depend on scheduling.
type Stats struct {
	Considered         int64
	SkippedByPartition int64 // no read's partition predicate may match
	SkippedByStats     int64 // some does, but none together with its data predicate
}

// First returns the first file in log order that may match, or nil. Batches are evaluated in parallel, with a bounded
// number in flight; when First returns nothing it started is still running. Errors of src count only before the hit.
func (p *Program) First(ctx context.Context, src iter.Seq2[*colstats.Batch, error]) (*Hit, Stats, error) {
	var stats Stats
	for b, err := range src {
		if err != nil {
			return nil, stats, err
		}
		if b.Len() > 0 {
			stats.Considered++
			path, err := b.Path(0)
			return &Hit{Path: strings.Clone(path)}, stats, err
		}
	}
	return nil, stats, ctx.Err()
}

// Scan evaluates every batch in parallel and calls fn for each in log order, on the caller's goroutine. base is the
// position of the batch's first file. The batch and the result are lent until fn returns; an error of fn ends the scan.
func (p *Program) Scan(ctx context.Context, src iter.Seq2[*colstats.Batch, error], fn func(b *colstats.Batch, base int64, r Result) error) (Stats, error) {
	var s Scratch
	var stats Stats
	for b, err := range src {
		if err != nil {
			return stats, err
		}
		r, err := p.Eval(b, &s)
		if err != nil {
			return stats, err
		}
		if err := fn(b, stats.Considered, r); err != nil {
			return stats, err
		}
		stats.Considered += int64(b.Len())
	}
	return stats, ctx.Err()
}
