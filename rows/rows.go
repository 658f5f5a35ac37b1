package rows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/internal/leaf"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
	"github.com/deltaskip/deltaskip/vectorized"
)

// Options say how rows are read. The zero Options works.
type Options struct {
	Allocator memory.Allocator // makes every Arrow buffer; nil means memory.DefaultAllocator
	// Zone is where partition values of timestamp columns that name no zone were written; nil means UTC.
	Zone *time.Location
	Limits
}

// A Matcher finds the rows that a transaction's reads may have seen. It is immutable and safe for concurrent use.
type Matcher struct {
	reads   []*predicate.Predicate // nil matches every row
	program *vectorized.Program    // of all reads; nil without any
	columns []*schema.Column       // of all reads, each once
	table   *schema.Table
	o       Options
}

// Compile prepares the reads of one transaction, all bound to one table. A nil read is a read of the whole table.
func Compile(reads []*predicate.Predicate, o Options) (*Matcher, error) {
	if o.Allocator == nil {
		o.Allocator = memory.DefaultAllocator
	}
	m := &Matcher{reads: reads, o: o}
	if len(reads) == 0 {
		return m, nil
	}
	var err error
	if m.program, err = vectorized.Compile(reads, vectorized.Options{Workers: 1}); err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	for _, p := range reads {
		if p == nil {
			continue
		}
		m.table = p.Table
		for _, c := range p.Columns() {
			if !slices.Contains(m.columns, c) {
				m.columns = append(m.columns, c)
			}
		}
	}
	return m, nil
}

// A File is a data file with what its add action says about it.
type File struct {
	Data            Data
	PartitionValues map[string]*string     // by physical name, as in the add; nil is NULL
	Deleted         *deletionvector.Vector // rows that are no longer in the table
	Among           *deletionvector.Vector // the only rows to look at; nil means all

	// Evaluated counts the rows that predicates were evaluated on, over all passes. The caller reads it when they are over.
	Evaluated int64
}

// Data is an open parquet file.
type Data interface {
	io.ReaderAt
	Size() int64 // bytes
}

// A Hit is a row that a read matches.
type Hit struct {
	Row  int64 // physical position in the data file, from 0
	Read int   // index of the first read that it matches, of those given to Compile
	// Unsure says that this engine cannot evaluate the predicate on the row, which may or may not match.
	Unsure bool
}

// First returns the first hit, if there is one. It reads no further than the block of rows with it.
func (m *Matcher) First(ctx context.Context, f *File) (hit Hit, found bool, err error) {
	for hit, err := range m.All(ctx, f) {
		return hit, err == nil, err
	}
	return Hit{}, false, nil
}

// All yields the hits. An error ends them, and means that there may be others.
func (m *Matcher) All(ctx context.Context, f *File) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		if err := m.scan(ctx, f, func(h Hit) bool { return yield(h, nil) }); err != nil && !errors.Is(err, errStopped) {
			yield(Hit{}, fmt.Errorf("rows: %w", err))
		}
	}
}

// MayMatch reports whether the statistics in a file leave it possible that some read matches a row of it, deleted or not. It
// reads no rows.
func (m *Matcher) MayMatch(f *File) (may bool, err error) {
	if m.program == nil {
		return false, nil
	}
	whole := *f
	whole.Deleted, whole.Among = nil, nil
	s := &scan{Matcher: m, file: &whole, may: make([][]uint64, len(m.reads))}
	defer s.release()
	err = guard(func() error {
		if err := s.open(); err != nil {
			return err
		}
		var first int64
		for g := range s.parquet.RowGroups() {
			group := stretch{first, first + s.parquet.GroupRows(g)}
			parts, err := s.prune(g, group)
			if err != nil || len(parts) > 0 {
				may = err == nil
				return err
			}
			first = group.end
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("rows: %w", err)
	}
	return may, nil
}

// errStopped says that the caller wants no more hits.
var errStopped = errors.New("stopped")

// A scan is one pass over a file.
type scan struct {
	*Matcher
	file    *File
	parquet *leaf.File
	columns []column // parallel to Matcher.columns
	scratch vectorized.Scratch
	may     [][]uint64 // by read: which of the files, or rows, evaluated last it may match
}

// scan calls emit for each hit, until that returns false.
func (m *Matcher) scan(ctx context.Context, f *File, emit func(Hit) bool) error {
	if m.program == nil {
		return ctx.Err()
	}
	s := &scan{Matcher: m, file: f, may: make([][]uint64, len(m.reads))}
	defer s.release()
	if err := guard(s.open); err != nil {
		return err
	}
	var first int64
	for g := range s.parquet.RowGroups() {
		rows := stretch{first, first + s.parquet.GroupRows(g)}
		if err := s.group(ctx, g, rows, emit); err != nil {
			return err
		}
		first = rows.end
	}
	return nil
}

// guard runs f and turns a panic in it into an error. It does not run code of callers.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

func (s *scan) open() (err error) {
	if s.parquet, err = leaf.Open(s.file.Data, s.file.Data.Size(), s.o.parquet()); err != nil {
		return err
	}
	for _, v := range []*deletionvector.Vector{s.file.Deleted, s.file.Among} {
		if last, ok := v.Max(); ok && last >= s.parquet.Rows {
			return fmt.Errorf("a vector names row %d of a file with %d rows", last, s.parquet.Rows)
		}
	}
	s.columns, err = s.resolve()
	return err
}

func (s *scan) release() {
	for i := range s.columns {
		if s.columns[i].constant != nil {
			s.columns[i].constant.Release()
		}
	}
}

// A stretch is a range of rows, from first up to, and without, end.
type stretch struct{ first, end int64 }

// blockRows is how many rows are evaluated at once.
const blockRows = 4096

// group scans one row group, which holds the given rows of the file.
func (s *scan) group(ctx context.Context, g int, rows stretch, emit func(Hit) bool) error {
	if !s.anyWanted(rows) {
		return ctx.Err()
	}
	var parts []part
	err := guard(func() (err error) {
		parts, err = s.prune(g, rows)
		return err
	})
	if err != nil || len(parts) == 0 {
		return errors.Join(err, ctx.Err())
	}
	var block *block
	err = guard(func() (err error) {
		block, err = s.newBlock(g, rows.first)
		return err
	})
	if err != nil {
		return err
	}
	defer block.close()
	for _, p := range parts {
		for at := p.first; at < p.end; at += blockRows {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := s.block(block, stretch{at, min(at+blockRows, p.end)}, p.reads, emit); err != nil {
				return err
			}
		}
	}
	return nil
}

// anyWanted says whether there may be live rows to look at.
func (s *scan) anyWanted(rows stretch) bool {
	count := func(v *deletionvector.Vector) int64 { return v.Rank(rows.end) - v.Rank(rows.first) }
	if s.file.Among != nil && count(s.file.Among) == 0 {
		return false
	}
	return count(s.file.Deleted) < rows.end-rows.first
}

// wanted returns a bit for each of the rows, set for the live ones to look at.
func (s *scan) wanted(rows stretch) []uint64 {
	n := int(rows.end - rows.first)
	live, others := make([]uint64, (n+63)/64), make([]uint64, (n+63)/64)
	if s.file.Among != nil {
		s.file.Among.Bitmap(live, rows.first)
	} else {
		for i := range live {
			live[i] = ^uint64(0)
		}
	}
	s.file.Deleted.Bitmap(others, rows.first)
	for i := range live {
		live[i] &^= others[i]
	}
	if n%64 != 0 {
		live[n/64] &= 1<<(n%64) - 1
	}
	return live
}

// block emits the hits among the given rows, for reads that may match some of them.
func (s *scan) block(b *block, rows stretch, reads []int, emit func(Hit) bool) error {
	if !s.anyWanted(rows) {
		return nil
	}
	err := guard(func() error {
		if err := b.load(rows); err != nil {
			return err
		}
		return s.evaluate(b)
	})
	if err != nil {
		return err
	}
	s.file.Evaluated += rows.end - rows.first
	for word, live := range s.wanted(rows) {
		var candidates uint64
		for _, read := range reads {
			candidates |= s.may[read][word] & live
		}
		for ; candidates != 0; candidates &= candidates - 1 {
			b.row = 64*word + bits.TrailingZeros64(candidates)
			hit := Hit{Row: rows.first + int64(b.row)}
			for _, hit.Read = range reads {
				if s.may[hit.Read][word]>>(b.row%64)&1 == 0 {
					continue
				}
				match := no
				err := guard(func() (err error) {
					match, err = matches(s.reads[hit.Read], b)
					return err
				})
				if err != nil {
					return fmt.Errorf("row %d: %w", hit.Row, err)
				}
				if match == no {
					continue
				}
				if hit.Unsure = match == maybe; !emit(hit) {
					return errStopped
				}
				break
			}
		}
	}
	return nil
}

// An answer says whether a row matches.
type answer uint8

const (
	no answer = iota
	maybe
	yes
)

// matches says whether a predicate is TRUE for the row that b stands at, as far as this engine can tell.
func matches(p *predicate.Predicate, b *block) (answer, error) {
	if p == nil {
		return yes, nil
	}
	v, err := p.Eval(b)
	if _, unknown := errors.AsType[*predicate.UnsupportedError](err); unknown {
		return maybe, nil
	}
	if err != nil || v.Null || v.I == 0 {
		return no, err
	}
	return yes, nil
}
