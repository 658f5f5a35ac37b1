package colstats

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// MaxBatchLen is the greatest number of files in a [Batch].
const MaxBatchLen = 64 << 10

// DefaultMaxStatsBytes is what a zero Options.MaxStatsBytes means.
const DefaultMaxStatsBytes = 1 << 20

// UnknownZone as Options.Zone says that nobody knows in which zone partition values without one were written: they
// prove nothing then.
var UnknownZone = time.FixedZone("unknown", 0)

// A NaNOrder says whether the statistics' writer let NaN count for a column's maximum, as Spark does. A writer that is
// known to is also believed to write decimals digit by digit, where others have been seen to round them to a double.
type NaNOrder uint8

const (
	// NaNUnknown is for writers that may have left NaN out: a NaN may hide behind any bounds.
	NaNUnknown NaNOrder = iota
	// NaNOrdered is for adds that are all known to come from a writer with NaN as the greatest number.
	NaNOrdered
	// NaNOrderedIfOwn is for the adds of a commit whose engine orders NaN: it holds for those that the commit wrote
	// itself, which have dataChange true and no deletion vector. Others may carry another writer's statistics.
	NaNOrderedIfOwn
)

// Options say how leaves are read. The zero Options works.
type Options struct {
	Allocator memory.Allocator // makes every Arrow buffer; nil means memory.DefaultAllocator
	// MaxStatsBytes bounds one file's statistics text; 0 means DefaultMaxStatsBytes. A longer one counts as missing.
	MaxStatsBytes int
	// Zone is where partition values of timestamp columns that name no zone were written; nil means UTC.
	Zone *time.Location
	NaN  NaNOrder // the zero NaNUnknown trusts nobody
}

func (o Options) allocator() memory.Allocator {
	if o.Allocator == nil {
		return memory.DefaultAllocator
	}
	return o.Allocator
}

func (o Options) maxStatsBytes() int {
	if o.MaxStatsBytes <= 0 {
		return DefaultMaxStatsBytes
	}
	return o.MaxStatsBytes
}
