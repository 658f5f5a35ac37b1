package colstats

import (
	"fmt"
	"time"
	"unicode/utf16"

	"github.com/apache/arrow-go/v18/arrow"
)

// Raw holds the leaves of a run of adds as a columnar reader found them. Every array has length Len or is nil, which
// reads as all null. Types may be any that a writer might have chosen (another integer width, a timestamp of another
// unit, a decimal of another scale, strings as binary or dictionary): NewBatch reconciles what has one clear meaning and
// takes the rest as missing. An integer array means integers: a reader that finds an unscaled decimal or microseconds
// gives it the Arrow type that says so.
//
// tightBounds is not among the leaves: what wide bounds leave certain is all that facts ever use.
type Raw struct {
	Len  int
	Path arrow.Array // add.path as strings or binary; nil when the caller needs no paths, or LatePaths has them

	// LatePaths reads a path when somebody asks the batch for it, because most adds are skipped unnamed. The batch
	// takes it over: it is released with the batch, and by NewBatch itself if that fails.
	LatePaths LatePaths

	NumRecords arrow.Array // of stats_parsed
	Demands    []RawDemand // one per demand of the layout

	// HasStruct marks the rows whose stats_parsed is not null: LSB first, nil means all. The statistics of the
	// other rows are read from StatsJSON.
	HasStruct []uint64
	StatsJSON arrow.Array // add.stats

	// WroteItself marks the rows that NaNOrderedIfOwn holds for; nil means none.
	WroteItself []uint64

	// Hull says that a row stands for many adds, such as a row group of a checkpoint. Each of its leaves is given only if
	// no add of the group lacks it: the least NumRecords, the least Min, the greatest Max, and the greatest NullCount
	// beside the LeastNullCount. For a partition column Min and Max are the least and greatest Value. NaN is taken to be
	// left out of them.
	Hull bool
}

// LatePaths reads the paths of a batch's rows on demand. It is safe for concurrent use.
type LatePaths interface {
	Path(row int) (string, error) // good until Release
	Release()
}

// A RawDemand holds the leaves of one demanded column.
type RawDemand struct {
	Min, Max, NullCount arrow.Array // of stats_parsed; not read for partition columns, but for those of a Hull
	LeastNullCount      arrow.Array // of a Hull

	// ValueText is the column's text in partitionValues. HasValueText marks the rows in which the map has the key, so that
	// null is NULL; nil means none.
	ValueText    arrow.Array
	HasValueText []uint64
	// Value is the column in partitionValues_parsed, and counts in the rows for which ValueText says nothing. HasValue
	// marks the rows in which null is NULL: those whose partitionValues_parsed has a value that was parsed; nil means none.
	Value    arrow.Array
	HasValue []uint64
}

// NewBatch turns raw leaves into facts. It borrows raw's arrays and retains those that it keeps. The error is about raw
// itself (more than MaxBatchLen rows, arrays of another length), never about what the leaves hold.
func NewBatch(layout *Layout, raw *Raw, o Options) (*Batch, error) {
	if err := raw.check(layout); err != nil {
		if raw.LatePaths != nil {
			raw.LatePaths.Release()
		}
		return nil, err
	}
	r := newReader(layout, o)
	r.own, r.hull = raw.WroteItself, raw.Hull
	b := &Batch{layout: layout, n: raw.Len, paths: raw.Path, late: raw.LatePaths, facts: make([]Facts, len(layout.Demands)), mem: o.allocator()}
	b.refs.Store(1)
	if b.paths != nil {
		b.paths.Retain()
	}
	rest := make([]bool, len(layout.Demands)) // demands whose leaves are read row by row
	rowByRow := false
	structs := raw.onlyStructs()
	for i := range rest {
		ok := false
		if structs {
			b.facts[i], ok = r.columns[i].columnar(b.mem, r, raw, &raw.Demands[i])
		}
		rest[i] = !ok
		rowByRow = rowByRow || !ok
	}
	if rowByRow {
		r.readRaw(raw, rest)
		for i, f := range r.facts(b.mem, raw.Len, rest) {
			if rest[i] {
				b.facts[i] = f
			}
		}
	}
	return b, nil
}

// onlyStructs says whether no row's statistics must be read from text.
func (raw *Raw) onlyStructs() bool {
	if raw.HasStruct == nil || raw.StatsJSON == nil {
		return true
	}
	for row := range raw.Len {
		if !IsSet(raw.HasStruct, row) && raw.StatsJSON.IsValid(row) {
			return false
		}
	}
	return true
}

// readRaw reads the leaves of the demands that `wanted` marks, row by row.
func (r *reader) readRaw(raw *Raw, wanted []bool) {
	r.grow(raw.Len)
	var all []leaves
	for i := range wanted {
		if wanted[i] {
			all = append(all, r.columns[i].leaves(&raw.Demands[i], raw.Hull))
		}
	}
	records := counts(raw.NumRecords)
	for row := range raw.Len {
		r.begin(row)
		switch {
		case raw.HasStruct == nil || IsSet(raw.HasStruct, row):
			r.records[row] = records(row)
			for i := range all {
				all[i].statistics(row)
			}
		case raw.StatsJSON != nil && raw.StatsJSON.IsValid(row):
			r.statisticsText(asBytes(textAt(raw.StatsJSON, row)))
		}
		for i := range all {
			all[i].partition(row, r.zone)
		}
	}
}

// check says what is wrong with raw for the layout.
func (raw *Raw) check(layout *Layout) error {
	if raw.Len < 0 || raw.Len > MaxBatchLen {
		return fmt.Errorf("colstats: a batch of %d files", raw.Len)
	}
	if len(raw.Demands) != len(layout.Demands) {
		return fmt.Errorf("colstats: leaves of %d columns for %d demands", len(raw.Demands), len(layout.Demands))
	}
	arrays := []arrow.Array{raw.Path, raw.NumRecords, raw.StatsJSON}
	for i := range raw.Demands {
		d := &raw.Demands[i]
		arrays = append(arrays, d.Min, d.Max, d.NullCount, d.LeastNullCount, d.ValueText, d.Value)
	}
	for _, a := range arrays {
		if a != nil && a.Len() != raw.Len {
			return fmt.Errorf("colstats: a leaf of %d rows in a batch of %d files", a.Len(), raw.Len)
		}
	}
	texts := []arrow.Array{raw.Path, raw.StatsJSON}
	for i := range raw.Demands {
		texts = append(texts, raw.Demands[i].ValueText)
	}
	for _, a := range texts {
		if a != nil && !isText(a.DataType()) {
			return fmt.Errorf("colstats: paths, statistics or partition values of type %s", a.DataType())
		}
	}
	return nil
}

// leaves are the arrays of one demanded column, each as a function that reads its value in a row into the column. A
// function is nil when there is no array, or none of a type that has a meaning for the column.
type leaves struct {
	column            *column
	raw               *RawDemand
	hull              bool
	min, max, value   func(row int, s side)
	nulls, leastNulls func(row int) int64
}

func (c *column) leaves(d *RawDemand, hull bool) leaves {
	l := leaves{column: c, raw: d, hull: hull, nulls: counts(d.NullCount), leastNulls: counts(d.LeastNullCount)}
	// Padding changes the order of char values, so the least of them may not be the least padded one.
	if !c.exact || hull && c.demand.Column.Field.Char == 0 {
		l.min, l.max = c.setter(d.Min), c.setter(d.Max)
	}
	if c.exact {
		l.value = c.setter(d.Value)
	}
	return l
}

// statistics reads a row of stats_parsed.
func (l *leaves) statistics(row int) {
	c := l.column
	if l.min != nil {
		l.min(row, minimum)
	}
	if l.max != nil {
		l.max(row, maximum)
	}
	x := c.cell(row)
	x.nulls = l.nulls(row)
	if !l.hull {
		return
	}
	if l.leastNulls(row) != x.nulls {
		x.known |= maybeNull // not in all adds perhaps, but in some
	}
	if c.class == texts && !c.exact {
		c.raiseHull(row)
	}
}

// raiseHull does for the greatest of many maxima what raisedMax does for one. The greatest text may hide another that
// ends in a tie-breaker, and bounds values beyond it; these two then agree in all characters but the last that writers
// keep.
func (c *column) raiseHull(row int) {
	t := &c.texts[maximum]
	value := t.at(row)
	units := 0
	for i, r := range string(value) {
		if units >= c.prefix-1 {
			t.bytes = append(t.bytes[:t.start(row)+i], MaxString...)
			t.ends[row] = int32(len(t.bytes))
			return
		}
		units += utf16.RuneLen(r)
	}
}

// partition reads a row's partition value.
func (l *leaves) partition(row int, zone *time.Location) {
	c := l.column
	if !c.exact || l.hull {
		return
	}
	switch text := l.raw.ValueText; {
	case text != nil && text.IsValid(row):
		c.setPartition(row, asBytes(textAt(text, row)), zone)
		return
	case IsSet(l.raw.HasValueText, row):
		c.cell(row).known |= isNull
		return
	}
	switch value := l.raw.Value; {
	case value == nil:
	case value.IsNull(row):
		if IsSet(l.raw.HasValue, row) {
			c.cell(row).known |= isNull
		}
	case l.value != nil:
		l.value(row, minimum)
		l.value(row, maximum)
	}
}
