package deletionvector

import "fmt"

// overlapShown is how many rows an [Overlap] names.
const overlapShown = 8

// An Overlap says which rows two transactions both marked.
type Overlap struct {
	Count int64   // of all of them
	Rows  []int64 // the first few, ascending
}

// String says it for people: "3 rows: 7, 8, 9".
func (o Overlap) String() string {
	text := fmt.Appendf(nil, "%d rows", o.Count)
	for i, row := range o.Rows {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		text = fmt.Append(text, separator, row)
	}
	if int64(len(o.Rows)) < o.Count {
		text = append(text, ", …"...)
	}
	return string(text)
}

// OverlapOf returns (a ∩ b) \ base: the rows that both a and b hold, those of base aside. Where base is part of both, which is
// what merging needs, and there is no overlap, it only counts.
func OverlapOf(a, b, base *Vector) Overlap {
	if base.Cardinality() > 0 {
		if base.SubsetOf(a) && base.SubsetOf(b) && a.common(b) == base.Cardinality() {
			return Overlap{}
		}
		a = a.AndNot(base)
	}
	var o Overlap
	for i, j := range matches(a, b) {
		p, q := a.payload(a.containers[i]), b.payload(b.containers[j])
		n := p.common(q)
		o.Count += int64(n)
		if n > 0 && len(o.Rows) < overlapShown {
			o.show(a.containers[i].key, p, q)
		}
	}
	return o
}

// show adds rows that two containers of one key have in common, as long as there are not enough.
func (o *Overlap) show(key uint64, p, q payload) {
	a, b := walker{payload: p}, walker{payload: q}
	for s, t := a.next(), b.next(); s != done && t != done; {
		for v := max(s.first, t.first); v <= min(s.last, t.last); v++ {
			if len(o.Rows) == overlapShown {
				return
			}
			o.Rows = append(o.Rows, joinPosition(key, v))
		}
		if s.last < t.last {
			s = a.next()
		} else {
			t = b.next()
		}
	}
}

// A ShrunkError says that a vector gave rows back that its base had marked, as a RESTORE does: a union would mark them
// again.
type ShrunkError struct {
	Winner bool // the winner's vector, not the loser's
	Count  int64
}

func (e *ShrunkError) Error() string {
	side := "loser"
	if e.Winner {
		side = "winner"
	}
	return fmt.Sprintf("deletionvector: the %s's vector lacks %d rows of the one it replaces", side, e.Count)
}

// Merge combines what two transactions marked in one data file, both on top of base: the winner, which committed first,
// and the current one, which lost. With an empty overlap it returns their union. With an overlap it returns no vector.
// The error is a [*ShrunkError]: both must only have grown.
func Merge(winner, current, base *Vector) (*Vector, Overlap, error) {
	if n := base.Cardinality() - base.common(winner); n != 0 {
		return nil, Overlap{}, &ShrunkError{Winner: true, Count: n}
	}
	if n := base.Cardinality() - base.common(current); n != 0 {
		return nil, Overlap{}, &ShrunkError{Count: n}
	}
	if winner.common(current) != base.Cardinality() {
		return nil, OverlapOf(winner, current, base), nil
	}
	return winner.Union(current), Overlap{}, nil
}

// A Source is one of the files that a compaction wrote one after another into a new file, keeping their rows' order.
type Source struct {
	NumRecords int64   // physical rows
	Deleted    *Vector // rows that the compaction left out
}

// live returns how many rows of the source went into the new file.
func (s Source) live() int64 { return s.NumRecords - s.Deleted.Cardinality() }

// Rebase moves marked, positions in the source with the given index, to where the compaction put these rows. Rows that
// the compaction had left out have no new position; they are the overlap: both sides deleted them.
func Rebase(sources []Source, index int, marked *Vector) (*Vector, Overlap, error) {
	var offset int64
	for _, s := range sources[:index] {
		offset += s.live()
	}
	source := sources[index]
	if last, ok := marked.Max(); ok && last >= source.NumRecords {
		return nil, Overlap{}, corrupt(0, "row %d of a data file with %d rows", last, source.NumRecords)
	}
	if o := OverlapOf(marked, source.Deleted, nil); o.Count != 0 {
		return nil, o, nil
	}
	moved := newBuilder(marked, nil)
	rows, deleted := cursor{v: marked}, cursor{v: source.Deleted}
	var skipped int64 // rows left out below the current ones
	gap, more := deleted.next()
	for r, ok := rows.next(); ok; r, ok = rows.next() {
		for ; more && gap.first < r.first; gap, more = deleted.next() {
			skipped += gap.n
		}
		moved.addRange(offset+r.first-skipped, r.n)
	}
	return moved.vector(), Overlap{}, nil
}
