package checkpoint

import (
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/leaf"
)

// lateRun is how many paths are read at once: survivors are often neighbours.
const lateRun = 1 << 10

// latePaths reads the paths of a batch when they are asked for.
type latePaths struct {
	g    *groupPlan
	o    *Options
	from int64   // row of the group with which the batch begins
	rows []int32 // of each add, counted from there; nil when the rows are adds one by one
	n    int64   // rows of the batch

	mu   sync.Mutex
	col  *leaf.Column
	runs []pathRun // read so far
}

type pathRun struct {
	row   int64
	paths arrow.Array
}

// latePaths returns the reader for the kept rows.
func (b *batchReader) latePaths() *latePaths {
	l := &latePaths{g: b.g, o: &b.c.o, from: b.row, n: int64(b.rows)}
	if b.kept < b.rows {
		l.rows = make([]int32, 0, b.kept)
		for i := range b.rows {
			if colstats.IsSet(b.keep, i) {
				l.rows = append(l.rows, int32(i))
			}
		}
	}
	return l
}

func (l *latePaths) Path(i int) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	row := l.from + int64(i)
	if l.rows != nil {
		row = l.from + int64(l.rows[i])
	}
	r, err := l.run(row)
	if err != nil {
		return "", l.g.part.fail(l.g.group, l.g.path, err)
	}
	at := int(row - r.row)
	if r.paths.IsNull(at) {
		return "", l.g.part.fail(l.g.group, l.g.path, corrupt("row %d has an add without a path", row))
	}
	return string(text(r.paths, at)), nil
}

// run returns the run that holds a row.
func (l *latePaths) run(row int64) (pathRun, error) {
	for _, r := range l.runs {
		if row >= r.row && row < r.row+int64(r.paths.Len()) {
			return r, nil
		}
	}
	if l.col != nil && l.col.Done() > row {
		l.col.Close()
		l.col = nil
	}
	if l.col == nil {
		l.col = l.g.part.Column(l.g.chunk(l.g.path), l.o.Allocator)
	}
	if err := l.col.Skip(row - l.col.Done()); err != nil {
		return pathRun{}, err
	}
	paths, _, err := l.col.ReadArray(int(min(lateRun, l.from+l.n-row)))
	if err != nil {
		return pathRun{}, err
	}
	if paths.Len() == 0 {
		paths.Release()
		return pathRun{}, corrupt("it ends before row %d", row)
	}
	r := pathRun{row, paths}
	l.runs = append(l.runs, r)
	return r, nil
}

func (l *latePaths) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.col != nil {
		l.col.Close()
		l.col = nil
	}
	for _, r := range l.runs {
		r.paths.Release()
	}
	l.runs = nil
}
