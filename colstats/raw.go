package colstats

import "github.com/apache/arrow-go/v18/arrow"

// Raw holds the leaves of a run of adds as a columnar reader found them. Every array has length Len or is nil, which
// reads as all null. Types may be any that a writer might have chosen (another integer width, a timestamp of another
// unit or a plain int64, a decimal as int32, int64, decimal or fixed-size bytes, strings as binary or dictionary):
// NewBatch reconciles what has one clear meaning and takes the rest as missing.
type Raw struct {
	Len  int
	Path arrow.Array // add.path; nil when the caller needs no paths, or LatePaths has them

	// LatePaths reads a path when somebody asks the batch for it, because most adds are skipped unnamed. The batch
	// takes it over: it is released with the batch, and by NewBatch itself if that fails.
	LatePaths LatePaths

	NumRecords, TightBounds arrow.Array // of stats_parsed
	Demands                 []RawDemand // one per demand of the layout

	// HasStruct marks the rows whose stats_parsed is not null: LSB first, nil means all. The statistics of the
	// other rows are read from StatsJSON.
	HasStruct []uint64
	StatsJSON arrow.Array // add.stats

	// WroteItself marks the rows that NaNOrderedIfOwn holds for; nil means none.
	WroteItself []uint64

	// Hull says that a row stands for many adds (a row group of a checkpoint): Min is the least minimum, Max the
	// greatest maximum, NullCount the greatest null count and NumRecords the least record count of them, each given
	// only if no add of the group lacks the leaf. A hull is never all NULL unless it is a partition column's.
	Hull bool
}

// LatePaths reads the paths of a batch's rows on demand. It is safe for concurrent use.
type LatePaths interface {
	Path(row int) (string, error) // good until Release
	Release()
}

// A RawDemand holds the leaves of one demanded column.
type RawDemand struct {
	Min, Max, NullCount arrow.Array // stats_parsed; not read for partition columns
	// Value is the column in partitionValues_parsed. ValueText is its text in partitionValues, where null is NULL and
	// HasValueText, if not nil, marks the rows whose map has the key; a row without the key is unknown.
	// Value counts only where ValueText says nothing.
	Value        arrow.Array
	ValueText    arrow.Array
	HasValueText []uint64
}

// NewBatch turns raw leaves into facts. It keeps none of raw's arrays that it does not retain itself; the caller goes
// on owning them. The error is about raw itself (more than MaxBatchLen rows, arrays of another length), never about
// what the leaves hold.
func NewBatch(layout *Layout, raw *Raw, o Options) (*Batch, error) {
	panic("TODO")
}
