package checkpoint

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/deltaskip/deltaskip/internal/leaf"
)

// A strip reads a flat leaf of a row group as arrays, from the row on for which it is first asked.
type strip struct {
	g    *groupPlan
	node *leaf.Node
	o    *Options
	col  *leaf.Column
	arr  arrow.Array // what was read last, or nil
	row  int64       // of arr's first element
}

func (s *strip) close() {
	if s.col != nil {
		s.col.Close()
	}
	s.drop()
}

func (s *strip) drop() {
	if s.arr != nil {
		s.arr.Release()
		s.arr = nil
	}
}

// fill makes rows from row on available, and returns how many, at least one and at most n. Rows before are given up.
func (s *strip) fill(row int64, n int) (int, error) {
	if s.col == nil {
		s.col = s.g.part.Column(s.g.chunk(s.node), s.o.Allocator)
	}
	if s.arr != nil && row >= s.row+int64(s.arr.Len()) {
		s.drop()
	}
	if s.arr == nil {
		if err := s.col.Skip(row - s.col.Done()); err != nil {
			return 0, s.fail(err)
		}
		arr, _, err := s.col.ReadArray(n)
		if err != nil {
			return 0, s.fail(err)
		}
		if s.arr, s.row = arr, row; arr.Len() == 0 {
			return 0, s.fail(corrupt("it ends before row %d", row))
		}
	}
	return min(n, s.arr.Len()-int(row-s.row)), nil
}

// peek returns n available rows from row on. The caller releases them.
func (s *strip) peek(row int64, n int) arrow.Array {
	from := row - s.row
	if from == 0 && n == s.arr.Len() {
		s.arr.Retain()
		return s.arr
	}
	return array.NewSlice(s.arr, from, from+int64(n))
}

func (s *strip) fail(err error) error { return s.g.part.fail(s.g.group, s.node, err) }
