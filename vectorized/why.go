package vectorized

import (
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

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

// Why explains which read kept a file and by which facts. Without an error, ok is false for a file that cannot match.
// Strings in the reason are good until the batch is released.
func (p *Program) Why(b *colstats.Batch, file int) (reason Reason, ok bool, err error) {
	defer recoverTo(&err)
	var r run
	if err := r.start(p, b); err != nil {
		return Reason{}, true, err
	}
	read := r.firstRead(file)
	if read < 0 {
		return Reason{}, false, nil
	}
	reason.Read = read
	for _, i := range p.reads[read].columns {
		s := spanOf(r.facts[i], file)
		reason.Ranges = append(reason.Ranges, Range{
			Column: r.facts[i].Column,
			Lower:  s.lo, Upper: s.hi, Bounded: s.hasLo,
			NoNull: !s.null, AllNull: s.empty, MayNaN: s.nan,
		})
	}
	return reason, true, nil
}
