package vectorized

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// A program works on chunks of this many files: few enough that its bitmaps and the bounds it reads stay in the first
// cache, enough that walking the program costs nothing beside the kernels.
const (
	chunkWords = 64
	chunkFiles = chunkWords * 64
)

// Scratch is the memory of one evaluation at a time. The zero Scratch is ready; reuse it from batch to batch.
type Scratch struct {
	may, partition, all []uint64
	run                 run
}

// A run is a program at work on a batch, chunk by chunk.
type run struct {
	p         *Program
	facts     []*colstats.Facts
	n         int // files of the batch
	lo, hi    int // files of the chunk; lo is a multiple of 64
	files     [chunkWords]uint64
	spare     [2 * chunkWords]uint64 // of whichever leaf is at work
	registers []register             // by plan node
	ev        evaluator
	memo      map[string]bool // answers by scalar node and partition tuple
	key       []byte
}

// A register holds a plan node's answers for the chunk.
type register struct {
	bits  [chunkWords]uint64
	known [chunkWords]uint64 // of a shared node: which files bits answers for
	todo  [chunkWords]uint64 // the files to answer for now
	left  [chunkWords]uint64 // of an AND: those that no argument refused yet; of an OR: that none accepted
}

// start makes a run ready for a batch.
func (r *run) start(p *Program, b *colstats.Batch) error {
	r.facts = r.facts[:0]
	for i := range p.layout.Demands {
		r.facts = append(r.facts, b.Facts(i))
	}
	return r.begin(p, b.Len())
}

// begin makes a run ready for n files whose facts are in r.facts.
func (r *run) begin(p *Program, n int) error {
	if r.p != p {
		clear(r.memo)
	}
	r.p, r.n, r.lo, r.hi = p, n, 0, 0
	for i, f := range r.facts {
		if err := checkFacts(f, p.layout.Demands[i].Column, p.types[i], n); err != nil {
			return err
		}
	}
	if len(r.registers) < len(p.nodes) {
		r.registers = make([]register, len(p.nodes))
	}
	if len(r.ev.columns) < len(r.facts) {
		r.ev.columns = make([]span, len(r.facts))
	}
	return nil
}

// checkFacts keeps kernels from reading what is not there. The bounds of c, if there are any, must be of type want.
func checkFacts(f *colstats.Facts, c *schema.Column, want arrow.DataType, n int) error {
	if f.Column != c {
		return fmt.Errorf("vectorized: the batch was made for another layout: it has %v where %v is demanded", f.Column, c)
	}
	for _, bitmap := range [...][]uint64{f.Bounded, f.NoNull, f.AllNull, f.MayNaN} {
		if bitmap != nil && len(bitmap) < (n+63)/64 {
			return fmt.Errorf("vectorized: a bitmap of %v has %d words for %d files", f.Column, len(bitmap), n)
		}
	}
	if f.Bounded == nil || f.Lower == nil {
		return nil
	}
	text := want != nil && (want.ID() == arrow.STRING || want.ID() == arrow.BINARY)
	for _, b := range [...]bound{lowerOf(f), upperOf(f)} {
		if want == nil || b.Array == nil || b.Len() < n || !sameType(b.DataType(), want) || text && len(b.heads) < n {
			return fmt.Errorf("vectorized: the bounds of %v are not %d values of type %v", c, n, want)
		}
	}
	return nil
}

// sameType is arrow.TypeEqual for types of bounds, without its allocations.
func sameType(a, b arrow.DataType) bool {
	if a, ok := a.(*arrow.Decimal128Type); ok {
		b, ok := b.(*arrow.Decimal128Type)
		return ok && *a == *b
	}
	return a.ID() == b.ID()
}

// next moves to the chunk of up to so many files that follows, if there is one, and returns a bitmap of its files.
func (r *run) next(files int) (chunk []uint64, ok bool) {
	if r.hi >= r.n {
		return nil, false
	}
	r.lo, r.hi = r.hi, min(r.hi+files, r.n)
	for i := range r.p.nodes {
		if r.p.nodes[i].shared {
			clear(r.registers[i].known[:])
		}
	}
	words := (r.hi - r.lo + 63) / 64
	for w := range words {
		r.files[w] = lowBits(r.hi - r.lo - w*64)
	}
	return r.files[:words], true
}

// eval answers plan node id for the files in need. Other bits of the result mean nothing. The result belongs to the node.
func (r *run) eval(id int32, need []uint64) []uint64 {
	n := &r.p.nodes[id]
	g := &r.registers[id]
	bits, todo := g.bits[:len(need)], g.todo[:len(need)]
	if n.kind == planNever || n.kind == planAlways {
		fill(bits, n.kind == planAlways)
		return bits
	}
	copy(todo, need)
	if n.shared {
		var missing uint64
		for i := range todo {
			todo[i] &^= g.known[i]
			g.known[i] |= todo[i]
			missing |= todo[i]
		}
		if missing == 0 {
			return bits
		}
	}
	switch n.kind {
	case planAnd, planOr:
		r.connect(n, bits, todo, g.left[:len(need)])
	default:
		keep := todo
		if n.shared { // what was answered before stays answered
			keep = g.known[:len(need)]
		}
		r.leaf(n, bits, todo, keep)
	}
	return bits
}

// connect asks one argument after the other, each only for the files that those before it left undecided, and stops when
// there are none.
func (r *run) connect(n *planNode, bits, todo, left []uint64) {
	copy(left, todo)
	for _, id := range n.args {
		answer := r.eval(id, left)
		var rest uint64
		if n.kind == planAnd {
			for i := range left {
				left[i] &= answer[i]
				rest |= left[i]
			}
		} else {
			for i := range left {
				left[i] &^= answer[i]
				rest |= left[i]
			}
		}
		if rest == 0 {
			break
		}
	}
	for i, t := range todo {
		yes := left[i]
		if n.kind == planOr {
			yes = t &^ left[i]
		}
		bits[i] = bits[i]&^t | yes
	}
}

// gapWords is how many words that nobody asks for a kernel rather does than begin anew behind them.
const gapWords = 3

// leaf answers a leaf for the files in todo. It does whole words, in which it leaves right what keep has beyond them.
func (r *run) leaf(n *planNode, bits, todo, keep []uint64) {
	for from := 0; from < len(todo); {
		if todo[from] == 0 {
			from++
			continue
		}
		to := from + 1
		for next := to; next < len(todo) && next-to <= gapWords; next++ {
			if todo[next] != 0 {
				to = next + 1
			}
		}
		lo, hi := r.lo+from*64, min(r.lo+to*64, r.hi)
		switch n.kind {
		case planStep:
			n.test.run(bits[from:to], keep[from:to], r.spare[:], r.facts[n.column], lo, hi)
		case planPair:
			r.pair(n, bits[from:to], keep[from:to], lo, hi)
		default:
			r.scalar(n, bits[from:to], todo[from:to], lo)
		}
		from = to
	}
}

// scalar answers file by file. lo is the file of the first bit.
func (r *run) scalar(n *planNode, dst, todo []uint64, lo int) {
	for w, word := range todo {
		for ; word != 0; word &= word - 1 {
			i := bits.TrailingZeros64(word)
			bit := uint64(1) << i
			if r.recall(n, lo+w*64+i) {
				dst[w] |= bit
			} else {
				dst[w] &^= bit
			}
		}
	}
}

// ask evaluates the expression of a scalar node for one file.
func (r *run) ask(n *planNode, file int) bool {
	r.load(n, file)
	return r.ev.tri(n.expr)&n.bit != 0
}

func (r *run) load(n *planNode, file int) {
	for _, c := range n.expr.columns {
		r.ev.columns[c] = spanOf(r.facts[c], file)
	}
}

// maxMemo bounds the partition tuples whose answers are remembered.
const maxMemo = 1 << 12

// recall is ask. It evaluates a predicate of partition columns once for each tuple of their values.
func (r *run) recall(n *planNode, file int) bool {
	if n.memo == 0 {
		return r.ask(n, file)
	}
	r.load(n, file)
	key := append(r.key[:0], n.memo)
	for _, c := range n.expr.columns {
		s := &r.ev.columns[c]
		if !s.empty && !s.exact {
			return r.ev.tri(n.expr)&n.bit != 0
		}
		key = appendKey(key, s)
	}
	r.key = key
	answer, ok := r.memo[string(key)]
	if !ok {
		failed := r.ev.failed
		r.ev.failed = false
		answer = r.ev.tri(n.expr)&n.bit != 0
		if r.ev.failed { // is to be found out again, file by file
			return answer
		}
		r.ev.failed = failed
		if r.memo == nil {
			r.memo = map[string]bool{}
		} else if len(r.memo) >= maxMemo {
			clear(r.memo)
		}
		r.memo[string(key)] = answer
	}
	return answer
}

// appendKey appends what tells exact spans of one type apart.
func appendKey(key []byte, s *span) []byte {
	if s.empty {
		return append(key, byte(b2u(s.null)))
	}
	v := &s.lo
	key = append(key, 2+byte(b2u(s.null)))
	key = binary.LittleEndian.AppendUint64(key, uint64(v.I))
	key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v.F))
	key = binary.LittleEndian.AppendUint64(key, uint64(v.D.HighBits()))
	key = binary.LittleEndian.AppendUint64(key, v.D.LowBits())
	key = binary.LittleEndian.AppendUint32(key, uint32(len(v.S)))
	return append(key, v.S...)
}

// reference answers plan node id for one file without kernels.
func (r *run) reference(id int32, file int) bool {
	n := &r.p.nodes[id]
	switch n.kind {
	case planNever:
		return false
	case planAlways:
		return true
	case planAnd:
		for _, a := range n.args {
			if !r.reference(a, file) {
				return false
			}
		}
		return true
	case planOr:
		for _, a := range n.args {
			if r.reference(a, file) {
				return true
			}
		}
		return false
	case planStep:
		known := spanOf(r.facts[n.column], file)
		return n.ask.of(&known)
	}
	return r.ask(n, file)
}

// answer is eval of a whole chunk, by kernels or by the reference: the result has no bits but those of need.
func (r *run) answer(dst []uint64, id int32, need []uint64) {
	if r.p.options.Reference {
		for w, word := range need {
			dst[w] = 0
			for ; word != 0; word &= word - 1 {
				i := bits.TrailingZeros64(word)
				dst[w] |= b2u(r.reference(id, r.lo+w*64+i)) << i
			}
		}
		return
	}
	for w, word := range r.eval(id, need) {
		dst[w] = word & need[w]
	}
}

// partitions answers whether some read's partition predicate may be TRUE. As in Spark, which evaluates it on every file's
// partition values, an ANSI error there is an error of the whole.
func (r *run) partitions(dst, files []uint64) error {
	if r.p.partition == always {
		copy(dst, files)
		return nil
	}
	r.ev.failed = false
	r.answer(dst, r.p.partition, files)
	if !r.ev.failed {
		return nil
	}
	for file := r.lo; file < r.hi; file++ { // in full, since AND, OR and CASE may look away from what failed
		for i, read := range r.p.reads {
			if read.exact == nil || !r.exact(read.exact, file) {
				continue
			}
			_, err := read.exact.Eval((*partitionRow)(r))
			var failed *predicate.EvalError
			if errors.As(err, &failed) {
				return fmt.Errorf("vectorized: partition predicate %s of read %d: %w", read.exact.Root, i, failed)
			}
		}
	}
	return nil
}

// exact loads the partition values of a file for partitionRow, if all that p needs are known.
func (r *run) exact(p *predicate.Predicate, file int) bool {
	for i, f := range r.facts {
		if f.Column.Partition {
			r.ev.columns[i] = spanOf(f, file)
		}
	}
	for _, c := range p.Columns() {
		i := slices.IndexFunc(r.facts, func(f *colstats.Facts) bool { return f.Column == c })
		if i < 0 || !r.ev.columns[i].exact && !r.ev.columns[i].empty {
			return false
		}
	}
	return true
}

// A partitionRow is a run as a row of the partition values of one file.
type partitionRow run

func (r *partitionRow) Value(c *schema.Column) predicate.Value {
	for i, f := range r.facts {
		if f.Column == c && r.ev.columns[i].exact {
			return r.ev.columns[i].lo
		}
	}
	return predicate.NullOf(c.Type)
}

// pair answers a comparison of two columns: by bounds where both have them, by the scalar evaluator where NaN may hide
// behind them. It does whole words, of which those files are answered right that need has.
func (r *run) pair(n *planNode, dst, need []uint64, lo, hi int) {
	a, b := r.facts[n.expr.args[0].column], r.facts[n.expr.args[1].column]
	aBounded, bBounded := boundedOf(a), boundedOf(b)
	bounded := aBounded != nil && bBounded != nil
	if bounded {
		n.pair.run(dst, r.spare[:], a, b, lo, hi)
	}
	word := func(bitmap []uint64, w int) uint64 {
		if bitmap == nil {
			return 0
		}
		return bitmap[lo/64+w]
	}
	for w := range dst {
		both := word(aBounded, w) & word(bBounded, w)
		if !bounded {
			dst[w] = 0
		}
		dst[w] |= ^both
		dst[w] &^= word(a.AllNull, w) | word(b.AllNull, w)
		if doubt := need[w] & both & (word(a.MayNaN, w) | word(b.MayNaN, w)); doubt != 0 {
			r.spare[0] = doubt
			r.scalar(n, dst[w:w+1], r.spare[:1], lo+w*64)
		}
	}
}
