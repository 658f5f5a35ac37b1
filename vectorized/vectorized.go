package vectorized

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
)

// A Verdict says how many live rows of a file may make a predicate TRUE.
type Verdict uint8

// The verdicts. The zero Verdict is the one that proves nothing.
const (
	Some Verdict = iota // may match: nothing is proven
	None                // no live row matches
	All                 // every live row matches
)

func (v Verdict) String() string { return [...]string{Some: "Some", None: "None", All: "All"}[v] }

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

// A PanicError is a panic inside this package or a source: a bug, of which all that follows is that nothing is proven.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("vectorized: panic: %v", e.Value) }

func recoverTo(err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{Value: v, Stack: debug.Stack()}
	}
}

// A Program is a compiled OR over reads. It is immutable and safe for concurrent use.
type Program struct {
	options Options
	layout  *colstats.Layout
	types   []arrow.DataType // of the bounds of each demand; nil for types without
	nodes   []planNode
	reads   []read

	partition int32 // plan nodes: some read's partition predicate may be TRUE
	may       int32 // some read may be TRUE
	partial   int32 // the OR of the reads may be FALSE or NULL; always without Options.Verdicts

	unusable      func() []Unusable // made when it is first asked for
	partitionOnly func() *Program   // likewise
}

// A read is one read's place in the program.
type read struct {
	partition, data int32                // plan nodes
	columns         []int                // demands of either
	exact           *predicate.Predicate // the partition half, or nil
}

// Compile compiles the reads of one transaction: a file may match if some read may match it. All reads are bound to one
// table. A nil read is a read of the whole table. An error proves nothing.
func Compile(reads []*predicate.Predicate, o Options) (p *Program, err error) {
	defer recoverTo(&err)
	if len(reads) == 0 {
		return nil, ErrNoReads
	}
	if p, err = compile(reads, o, false); err != nil {
		return nil, err
	}
	reads = slices.Clone(reads)
	p.unusable = sync.OnceValue(func() []Unusable { return unusable(reads) })
	p.partitionOnly = sync.OnceValue(func() *Program { return compilePartitions(reads, o) })
	return p, nil
}

// compilePartitions compiles the partition predicates of reads. Where that fails, every file may match.
func compilePartitions(reads []*predicate.Predicate, o Options) *Program {
	p, err := func() (p *Program, err error) {
		defer recoverTo(&err)
		return compile(reads, o, true)
	}()
	if err != nil {
		p, _ = compile([]*predicate.Predicate{nil}, o, true) // a whole read, which needs nothing that could fail
	}
	p.partitionOnly = func() *Program { return p }
	p.unusable = sync.OnceValue(func() []Unusable { return unusable(reads) })
	return p
}

func compile(reads []*predicate.Predicate, o Options, partitionOnly bool) (*Program, error) {
	c := newCompiler()
	p := &Program{options: o, layout: &colstats.Layout{}}
	var partition, may []int32
	var whole []*node // each read as one expression
	for i, r := range reads {
		plan := read{partition: always, data: always}
		if r == nil {
			whole = append(whole, c.literal(true))
		} else {
			if p.layout.Table == nil {
				p.layout.Table = r.Table
			} else if p.layout.Table != r.Table {
				return nil, fmt.Errorf("vectorized: read %d is bound to another table", i)
			}
			pp, dp := r.Split()
			if partitionOnly {
				dp = nil
			}
			plan.exact = pp
			plan.partition = c.half(&plan, pp)
			plan.data = c.half(&plan, dp)
			whole = append(whole, c.whole(pp, dp))
		}
		p.reads = append(p.reads, plan)
		partition = append(partition, plan.partition)
		may = append(may, c.all(plan.partition, plan.data))
	}
	p.partition, p.may, p.partial = c.any(partition...), c.any(may...), always
	if o.Verdicts {
		n := c.join(&predicate.Or{}, whole)
		p.partial = c.any(c.plan(n, canFalse, nil), c.plan(n, canNull, nil))
	}
	c.finish(p)
	return p, nil
}

// Layout returns what batches for this program must hold. The caller does not change it.
func (p *Program) Layout() *colstats.Layout { return p.layout }

// MatchesAll reports that every file may match, whatever its statistics: no batch need be decoded.
func (p *Program) MatchesAll() bool { return p.may == always }

// PartitionOnly returns the program that asks for the reads' partition predicates only, as Delta does without skipping.
func (p *Program) PartitionOnly() *Program { return p.partitionOnly() }

// A Result holds one bit per file of a batch, LSB first, (n+63)/64 words; bits past the last file are zero.
type Result struct {
	Partition []uint64 // the file's partition may match some read
	May       []uint64 // the file may match some read; a subset of Partition
	All       []uint64 // every live row of the file matches; a subset of May. Nil without Options.Verdicts
}

// Verdict is the verdict on file i. It is never All without Options.Verdicts.
func (r Result) Verdict(i int) Verdict {
	switch {
	case !colstats.IsSet(r.May, i):
		return None
	case colstats.IsSet(r.All, i):
		return All
	}
	return Some
}

// Eval evaluates a batch that was made for the program's layout. The result belongs to s and is good until its next use.
// An error proves nothing: every file of the batch counts as a match.
func (p *Program) Eval(b *colstats.Batch, s *Scratch) (result Result, err error) {
	return p.eval(b, s, everyZone)
}

// eval is Eval of the zones that are set: no file of the others may match.
func (p *Program) eval(b *colstats.Batch, s *Scratch, zones uint64) (result Result, err error) {
	defer recoverTo(&err)
	if err := s.run.start(p, b); err != nil {
		return Result{}, err
	}
	r := &s.run
	words := (r.n + 63) / 64
	s.partition, s.may = grow(s.partition, words), grow(s.may, words)
	if p.options.Verdicts {
		result.All = grow(s.all, words)
		s.all = result.All
	}
	for files, ok := r.next(chunkFiles); ok; files, ok = r.next(chunkFiles) {
		partition, may := window(s.partition, r.lo, r.hi), window(s.may, r.lo, r.hi)
		if err := r.partitions(partition, files); err != nil {
			return Result{}, err
		}
		if zones>>(r.lo/colstats.ZoneLen)&1 == 0 {
			clear(may)
		} else {
			r.answer(may, p.may, partition)
		}
		if result.All != nil {
			all := window(result.All, r.lo, r.hi)
			r.answer(all, p.partial, may)
			for w := range all {
				all[w] = may[w] &^ all[w]
			}
		}
	}
	result.Partition, result.May = s.partition, s.may
	return result, nil
}

// EvalEach is [Program.Eval] read by read: it sets dst[i] to the files that read i may match, one bit per file. dst must hold
// one bitmap for each read, which may be nil: those that are large enough are used again.
func (p *Program) EvalEach(dst [][]uint64, b *colstats.Batch, s *Scratch) (err error) {
	defer recoverTo(&err)
	if err := s.run.start(p, b); err != nil {
		return err
	}
	r := &s.run
	words := (r.n + 63) / 64
	s.partition = grow(s.partition, words)
	for i := range p.reads {
		dst[i] = grow(dst[i], words)
	}
	for files, ok := r.next(chunkFiles); ok; files, ok = r.next(chunkFiles) {
		partition := window(s.partition, r.lo, r.hi)
		if err := r.partitions(partition, files); err != nil { // of whichever read
			return err
		}
		for i, read := range p.reads {
			r.answer(partition, read.partition, files)
			r.answer(window(dst[i], r.lo, r.hi), read.data, partition)
		}
	}
	return nil
}

// grow returns a slice of n words, reusing s if it is large enough.
func grow(s []uint64, n int) []uint64 {
	if cap(s) < n {
		return make([]uint64, n)
	}
	return s[:n]
}

// Verdicts sets dst[i] to the verdict on file i. dst must hold b.Len() verdicts. After an error they are all Some.
func (p *Program) Verdicts(dst []Verdict, b *colstats.Batch, s *Scratch) (err error) {
	clear(dst)
	defer func() {
		if err != nil {
			clear(dst)
		}
	}()
	defer recoverTo(&err)
	r, err := p.Eval(b, s)
	if err != nil {
		return err
	}
	for i := range b.Len() {
		dst[i] = r.Verdict(i)
	}
	return nil
}
