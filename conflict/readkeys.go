package conflict

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/internal/civil"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

const (
	maxKeyValues = 1000 // distinct keys of a column that are listed one by one
	maxKeyRanges = 64   // ranges that more keys are covered by
)

// ErrKeyType is returned by [ReadKeys] for a column of keys whose type it cannot write as literals.
var ErrKeyType = errors.New("conflict: no read predicate can be made from keys of this type")

// ReadKeys returns the read of a MERGE whose condition compares columns of the table with columns of its source for
// equality: t.k = s.k bounds nothing by itself, but the source's keys do. columns are the table's, as SQL spells them;
// the i-th column of each batch holds what columns[i] is compared with. Batches are borrowed.
//
// The read holds for every row of the batches: up to 1000 distinct keys of a column are listed, more are covered by up to
// 64 ranges of whole numbers, dates or times, or else by minimum and maximum. A NULL key is equal to nothing. Several
// columns are bounded each for itself.
//
// A MERGE with WHEN NOT MATCHED BY SOURCE reads every row of the table: set Transaction.ReadWholeTable, no key bounds it.
func ReadKeys(columns []string, batches ...arrow.RecordBatch) (Read, error) {
	if len(columns) == 0 {
		return Read{}, errors.New("conflict: no key columns")
	}
	var all []predicate.Expr
	for i, name := range columns {
		column, err := predicate.Parse(name, predicate.ParseOptions{})
		if err != nil {
			return Read{}, err
		}
		if _, ok := column.(*predicate.Column); !ok {
			return Read{}, fmt.Errorf("conflict: key %d: %s is not a column", i, name)
		}
		var keys []predicate.Value
		for _, b := range batches {
			if int(b.NumCols()) != len(columns) {
				return Read{}, fmt.Errorf("conflict: a batch of %d columns for %d key columns", b.NumCols(), len(columns))
			}
			if keys, err = appendKeys(keys, b.Column(i)); err != nil {
				return Read{}, fmt.Errorf("%w: column %s: %s", err, name, b.Column(i).DataType())
			}
		}
		all = append(all, keysPredicate(column, keys))
	}
	return Read{Expr: predicate.AllOf(all...)}, nil
}

// keysPredicate returns what holds for a column that is equal to one of keys.
func keysPredicate(column predicate.Expr, keys []predicate.Value) predicate.Expr {
	slices.SortFunc(keys, predicate.Value.Compare)
	keys = slices.CompactFunc(keys, func(a, b predicate.Value) bool { return a.Compare(b) == 0 })
	switch {
	case len(keys) == 0:
		return predicate.Lit(false)
	case len(keys) <= maxKeyValues:
		list := make([]predicate.Expr, len(keys))
		for i, k := range keys {
			list[i] = &predicate.Literal{Value: k}
		}
		return &predicate.In{X: column, List: list}
	}
	var ranges []predicate.Expr
	for _, r := range keyRanges(keys) {
		low, high := &predicate.Literal{Value: r[0]}, &predicate.Literal{Value: r[len(r)-1]}
		ranges = append(ranges, predicate.AllOf(predicate.Ge(column, low), predicate.Le(column, high)))
	}
	return predicate.AnyOf(ranges...)
}

// keyRanges cuts sorted keys at their widest gaps. Keys without a distance stay in one piece.
func keyRanges(keys []predicate.Value) [][]predicate.Value {
	if !countable(keys[0].Type.Kind) {
		return [][]predicate.Value{keys}
	}
	gap := func(i int) uint64 { return uint64(keys[i].I) - uint64(keys[i-1].I) } // wraps into the true distance
	cuts := make([]int, 0, len(keys))
	for i := 1; i < len(keys); i++ {
		if gap(i) > 1 {
			cuts = append(cuts, i)
		}
	}
	slices.SortStableFunc(cuts, func(a, b int) int {
		if gap(a) > gap(b) {
			return -1
		}
		return 1
	})
	cuts = cuts[:min(len(cuts), maxKeyRanges-1)]
	slices.Sort(cuts)
	var ranges [][]predicate.Value
	start := 0
	for _, cut := range append(cuts, len(keys)) {
		ranges = append(ranges, keys[start:cut])
		start = cut
	}
	return ranges
}

// countable reports whether values of a kind are whole numbers in Value.I.
func countable(k schema.Kind) bool {
	switch k {
	case schema.Byte, schema.Short, schema.Integer, schema.Long, schema.Date, schema.Timestamp, schema.TimestampNTZ:
		return true
	}
	return false
}

// appendKeys appends the values of an Arrow column that are not NULL.
func appendKeys(keys []predicate.Value, column arrow.Array) ([]predicate.Value, error) {
	if d, ok := column.(*array.Dictionary); ok {
		read, err := keyReader(d.Dictionary())
		if err != nil {
			return nil, err
		}
		return appendRows(keys, d, func(keys []predicate.Value, i int) []predicate.Value {
			if at := d.GetValueIndex(i); !d.Dictionary().IsNull(at) {
				return read(keys, at)
			}
			return keys
		}), nil
	}
	read, err := keyReader(column)
	if err != nil {
		return nil, err
	}
	return appendRows(keys, column, read), nil
}

func appendRows(keys []predicate.Value, column arrow.Array, read func([]predicate.Value, int) []predicate.Value) []predicate.Value {
	for i := range column.Len() {
		if !column.IsNull(i) {
			keys = read(keys, i)
		}
	}
	return keys
}

// keyReader returns a function that appends the value of a row, or the values that it may be read as.
func keyReader(column arrow.Array) (func([]predicate.Value, int) []predicate.Value, error) {
	ints := func(k schema.Kind, at func(i int) int64) (func([]predicate.Value, int) []predicate.Value, error) {
		return func(keys []predicate.Value, i int) []predicate.Value { return append(keys, predicate.IntOf(k, at(i))) }, nil
	}
	text := func(at func(i int) string) (func([]predicate.Value, int) []predicate.Value, error) {
		return func(keys []predicate.Value, i int) []predicate.Value {
			return append(keys, predicate.StringOf(strings.Clone(at(i))))
		}, nil
	}
	switch c := column.(type) {
	case *array.Boolean:
		return func(keys []predicate.Value, i int) []predicate.Value {
			return append(keys, predicate.BoolOf(c.Value(i)))
		}, nil
	case *array.Int8:
		return ints(schema.Byte, func(i int) int64 { return int64(c.Value(i)) })
	case *array.Int16:
		return ints(schema.Short, func(i int) int64 { return int64(c.Value(i)) })
	case *array.Int32:
		return ints(schema.Integer, func(i int) int64 { return int64(c.Value(i)) })
	case *array.Int64:
		return ints(schema.Long, c.Value)
	case *array.Uint8:
		return ints(schema.Short, func(i int) int64 { return int64(c.Value(i)) })
	case *array.Uint16:
		return ints(schema.Integer, func(i int) int64 { return int64(c.Value(i)) })
	case *array.Uint32:
		return ints(schema.Long, func(i int) int64 { return int64(c.Value(i)) })
	case *array.Uint64:
		return func(keys []predicate.Value, i int) []predicate.Value {
			return append(keys, predicate.DecimalOf(decimal128.FromU64(c.Value(i)), 20, 0))
		}, nil
	case *array.Float32:
		return func(keys []predicate.Value, i int) []predicate.Value {
			return append(keys, predicate.FloatOf(schema.Float, float64(c.Value(i))))
		}, nil
	case *array.Float64:
		return func(keys []predicate.Value, i int) []predicate.Value {
			return append(keys, predicate.FloatOf(schema.Double, c.Value(i)))
		}, nil
	case *array.Decimal128:
		t := c.DataType().(*arrow.Decimal128Type)
		if t.Precision < 1 || t.Precision > 38 || t.Scale < 0 || t.Scale > t.Precision {
			return nil, ErrKeyType
		}
		return func(keys []predicate.Value, i int) []predicate.Value {
			return append(keys, predicate.DecimalOf(c.Value(i), uint8(t.Precision), uint8(t.Scale)))
		}, nil
	case *array.String:
		return text(c.Value)
	case *array.LargeString:
		return text(c.Value)
	case *array.StringView:
		return text(c.Value)
	case *array.Date32:
		return ints(schema.Date, func(i int) int64 { return int64(c.Value(i)) })
	case *array.Date64:
		return ints(schema.Date, func(i int) int64 { return civil.FloorDiv(int64(c.Value(i)), 86_400_000) })
	case *array.Timestamp:
		return timestampReader(c)
	}
	return nil, ErrKeyType
}

// timestampReader reads microseconds. A nanosecond between two of them may have been cut or rounded by whoever compares
// it, so both are keys.
func timestampReader(c *array.Timestamp) (func([]predicate.Value, int) []predicate.Value, error) {
	t := c.DataType().(*arrow.TimestampType)
	kind := schema.TimestampNTZ
	if t.TimeZone != "" {
		kind = schema.Timestamp
	}
	scale := map[arrow.TimeUnit]int64{arrow.Second: 1_000_000, arrow.Millisecond: 1000, arrow.Microsecond: 1}[t.Unit]
	return func(keys []predicate.Value, i int) []predicate.Value {
		v := int64(c.Value(i))
		switch {
		case t.Unit == arrow.Nanosecond:
			low := civil.FloorDiv(v, 1000)
			if keys = append(keys, predicate.IntOf(kind, low)); low*1000 != v {
				keys = append(keys, predicate.IntOf(kind, low+1))
			}
			return keys
		case v > math.MaxInt64/scale || v < math.MinInt64/scale:
			return keys // no timestamp of the table can be equal to it
		}
		return append(keys, predicate.IntOf(kind, v*scale))
	}, nil
}
