package colstats

import (
	"bytes"
	"math"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/schema"
)

// maxTextBytes is how much of a text bound is kept: whole batches of them fit an Arrow string array. What is longer
// becomes a wider bound.
const maxTextBytes = 16 << 10

// A class says how the bounds of a column are held until the batch is complete.
type class uint8

const (
	noBounds class = iota // none are demanded, or the type has none that are usable
	integers              // integers, booleans, days and microseconds, as int64
	floats                // float and double, as the bits of a float64
	decimals
	texts // strings, and binary partition values
)

// What is known of a column in a row.
const (
	hasLower  = 1 << iota // a lower bound
	hasUpper              // an upper bound
	isNull                // partition column: the value is NULL
	maybeNull             // partition column: the value may be NULL as well as what the bounds say
)

// A cell holds what was read of one column in one row, until it is concluded what that proves.
type cell struct {
	bounds [2]int64 // minimum and maximum: integers, or the bits of floats
	nulls  int64    // nullCount, or -1
	known  uint8
}

// ringRows is the number of rows whose cells are kept, two bitmap words: the last row can be taken back even when the
// next one has begun another word.
const ringRows = 128

// A column holds what was read of one demanded column and what that proves. Which slices it has depends on its class.
type column struct {
	demand Demand
	arrow  arrow.DataType // of the bounds; nil without
	class  class
	exact  bool // a partition column: bounds are values
	// Integers from 0 on, below this one, are values of the column; it is 0 for columns of no integral type.
	integers int64
	// Type widening: statistics may still be of these types.
	maybeFloat, maybeDate bool
	prefix                int // characters from which writers cut a string's bounds

	// The cells of all columns lie row by row, so that reading a line writes to one place. The column's are those from
	// `first` on, `columns` apart, of ringRows rows.
	cells          []cell
	first, columns int
	decimals       [][2]decimal128.Num // of the same rows

	// By row of the batch, as far as rows are concluded; but texts are here from the start.
	bounded, noNull, allNull, mayNaN []uint64
	open                             []uint64 // rows whose maximum is missing
	bounds                           [2][]int64
	bounds128                        [2][]decimal128.Num
	texts                            [2]text
}

// cell returns what was read of the column in one of the last rows.
func (c *column) cell(row int) *cell { return &c.cells[row%ringRows*c.columns+c.first] }

// A text holds strings one after the other; string i ends at ends[i].
type text struct {
	bytes []byte
	ends  []int32
}

func (t *text) start(row int) int {
	if row == 0 {
		return 0
	}
	return int(t.ends[row-1])
}

func (t *text) at(row int) []byte { return t.bytes[t.start(row):t.ends[row]] }

// truncate makes a string, and so the last one, empty.
func (t *text) truncate(row int) {
	start := t.start(row)
	t.bytes, t.ends[row] = t.bytes[:start], int32(start)
}

func newColumn(d Demand, table *schema.Table) column {
	c := column{demand: d, exact: d.Column.Partition, prefix: 32}
	for _, t := range d.Column.StatisticsTypes() {
		c.maybeFloat = c.maybeFloat || t.Kind == schema.Float
		c.maybeDate = c.maybeDate || t.Kind == schema.Date
	}
	if table != nil && table.StringPrefixLength > 0 {
		c.prefix = table.StringPrefixLength
	}
	// The text of a partition value must be read to know whether it is one.
	if usable, _ := d.Column.BoundsUsable(); usable && (d.Bounds || c.exact) {
		c.arrow, _ = ArrowType(d.Column.Type)
		switch d.Column.Type.Kind {
		case schema.Float, schema.Double:
			c.class = floats
		case schema.Decimal:
			c.class = decimals
		case schema.String, schema.Binary:
			c.class = texts
		case schema.Byte, schema.Short, schema.Integer, schema.Long:
			_, c.integers = extremes(d.Column.Type.Kind)
			c.class = integers
		default:
			c.class = integers
		}
	}
	return c
}

// grow makes room for n rows.
func (c *column) grow(n int) {
	words := (n + 63) / 64
	for _, b := range []*[]uint64{&c.bounded, &c.noNull, &c.allNull, &c.mayNaN, &c.open} {
		*b = grown(*b, words)
	}
	for _, s := range []side{minimum, maximum} {
		switch c.class {
		case integers, floats:
			c.bounds[s] = grown(c.bounds[s], n)
		case decimals:
			c.bounds128[s] = grown(c.bounds128[s], n)
			c.decimals = grown(c.decimals, ringRows)
		case texts:
			c.texts[s].ends = grown(c.texts[s].ends, n)
		}
	}
}

func grown[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	g := make([]T, n)
	copy(g, s)
	return g
}

// reset says that nothing is known of the column in the last row.
func (c *column) reset(row int) {
	x := c.cell(row)
	x.known, x.nulls = 0, -1
	if c.class == texts {
		c.texts[minimum].truncate(row)
		c.texts[maximum].truncate(row)
	}
}

// A side is the statistic that a value belongs to.
type side uint8

const (
	minimum side = iota
	maximum
	nullCount
)

// drop forgets one side of what is known of the last row.
func (c *column) drop(row int, s side) {
	if s == nullCount {
		c.cell(row).nulls = -1
		return
	}
	c.cell(row).known &^= hasLower << s
	if c.class == texts {
		c.texts[s].truncate(row)
	}
}

// setJSON takes a scalar of the statistics: a number or literal as its text, a string as its characters.
func (c *column) setJSON(row int, s side, value []byte, quoted bool) {
	if s == nullCount {
		if n, ok := parseInt(value); ok && !quoted && n >= 0 {
			c.cell(row).nulls = n
		}
		return
	}
	switch c.class {
	case integers:
		if lo, hi, ok := c.readInteger(value, quoted); ok {
			c.setSide(row, s, lo, hi)
		}
	case floats:
		if lo, hi, ok := c.readFloat(value, quoted); ok {
			c.setSide(row, s, int64(math.Float64bits(lo)), int64(math.Float64bits(hi)))
		}
	case decimals:
		if lo, hi, ok := c.readDecimal(value, quoted); ok {
			c.setDecimal(row, s, lo, hi)
		}
	case texts:
		if quoted {
			c.setText(row, s, value)
		}
	}
}

// setInteger does what setJSON does for the text of a number that is not negative, if the column holds integers.
func (c *column) setInteger(row int, s side, v int64) bool {
	switch {
	case s == nullCount:
		c.cell(row).nulls = v
	case v < c.integers:
		c.setSide(row, s, v, v)
	default:
		return false
	}
	return true
}

// setSide takes a minimum that is lo or a maximum that is hi.
func (c *column) setSide(row int, s side, lo, hi int64) {
	if s == maximum {
		lo = hi
	}
	x := c.cell(row)
	x.bounds[s] = lo
	x.known |= hasLower << s // hasUpper for the maximum
}

// setDecimal does what setSide does for decimals.
func (c *column) setDecimal(row int, s side, lo, hi decimal128.Num) {
	if s == maximum {
		lo = hi
	}
	if lo.FitsInPrecision(int32(c.demand.Column.Type.Precision)) {
		c.decimals[row%ringRows][s] = lo
		c.cell(row).known |= hasLower << s
	}
}

// setText keeps a string bound; an upper bound that a writer may have cut without raising it is raised.
func (c *column) setText(row int, s side, value []byte) {
	tail := ""
	if s == maximum && !c.exact {
		value, tail = raisedMax(value, c.prefix)
	}
	if len(value) > maxTextBytes {
		value = value[:maxTextBytes]
		for len(value) > 0 && !utf8.RuneStart(value[len(value)-1]) {
			value = value[:len(value)-1]
		}
		if len(value) > 0 {
			value = value[:len(value)-1] // what is left of a character that was cut, or a whole one
		}
		if tail = ""; s == maximum {
			tail = MaxString
		}
	}
	t := &c.texts[s]
	t.bytes = append(t.bytes[:t.start(row)], value...)
	if tail != "" {
		t.bytes = append(t.bytes, tail...)
	}
	t.ends[row] = int32(len(t.bytes))
	c.cell(row).known |= hasLower << s
}

// raisedMax returns what a maximum bounds, as a prefix and a tail.
//
// Writers cut a maximum after a number of characters and append a tie-breaker that sorts after whatever was cut. Older
// versions of Spark appended U+FFFD and compared in UTF-16, in which every character beyond U+FFFF sorts before it; and
// where the cut went through such a character, half of it, they wrote a question mark. They kept characters from U+FFFD on
// behind the cut, up to the first that is less. So a maximum that is long enough and ends in U+FFFD says no more than that
// the values start like what is before all of these, or come before.
func raisedMax(value []byte, prefix int) (stem []byte, tail string) {
	const tieBreaker = "\uFFFD"
	if len(value) <= prefix || value[len(value)-1] != tieBreaker[2] || !bytes.HasSuffix(value, []byte(tieBreaker)) || utf16Len(value) <= prefix {
		return value, ""
	}
	for n := len(value) - len(tieBreaker); n >= 0 && value[n] == tieBreaker[0] && value[n+1] == tieBreaker[1] && value[n+2] >= tieBreaker[2]; n -= len(tieBreaker) {
		value = value[:n]
	}
	return bytes.TrimSuffix(value, []byte("?")), MaxString
}

// utf16Len counts the characters of UTF-8 text as Java does.
func utf16Len(b []byte) int {
	n := 0
	for _, c := range b {
		if utf8.RuneStart(c) {
			n++
		}
		if c >= 0xF0 {
			n++
		}
	}
	return n
}

// readInteger reads the JSON scalar of an integral, boolean, date or timestamp column.
func (c *column) readInteger(value []byte, quoted bool) (lo, hi int64, ok bool) {
	switch kind := c.demand.Column.Type.Kind; kind {
	case schema.Boolean:
		if b := asString(value); !quoted && (b == "true" || b == "false") {
			lo = int64(len("false") - len(b))
			return lo, lo, true
		}
		return 0, 0, false
	case schema.Date:
		if !quoted {
			return 0, 0, false
		}
		days, _, rest, ok := parseDate(value)
		return days, days, ok && len(rest) == 0 && days == int64(int32(days))
	case schema.Timestamp, schema.TimestampNTZ:
		if !quoted {
			return 0, 0, false
		}
		// A statistic without an offset may have been written in any zone.
		t, ok := parseTimestamp(value, kind == schema.TimestampNTZ, UnknownZone)
		if t.day {
			return t.lo, t.hi, ok && kind == schema.TimestampNTZ && c.maybeDate // exact: midnight of a date
		}
		return t.lo, raisedMillisecond(t.hi), ok
	default:
		if quoted {
			return 0, 0, false
		}
		v, ok := parseInt(value)
		return v, v, ok && inRange(kind, v)
	}
}

// raisedMillisecond returns the end of the millisecond that a maximum was cut to.
func raisedMillisecond(micros int64) int64 {
	if micros > math.MaxInt64-1000 {
		return math.MaxInt64
	}
	return micros + 1000
}

func inRange(kind schema.Kind, v int64) bool {
	switch kind {
	case schema.Boolean:
		return v == 0 || v == 1
	case schema.Byte:
		return v == int64(int8(v))
	case schema.Short:
		return v == int64(int16(v))
	case schema.Integer, schema.Date:
		return v == int64(int32(v))
	}
	return true
}

// readFloat reads the JSON scalar of a float or double column. The text of a column that was once a float may have been
// printed from one, where it stands for another double than it spells.
func (c *column) readFloat(value []byte, quoted bool) (lo, hi float64, ok bool) {
	if quoted {
		lo, ok = parseNamedFloat(value)
		return lo, lo, ok
	}
	if c.demand.Column.Type.Kind == schema.Float {
		lo, ok = parseFloat(value, 32)
		return lo, lo, ok
	}
	if lo, ok = parseFloat(value, 64); !ok || !c.maybeFloat {
		return lo, lo, ok
	}
	printed, ok := parseFloat(value, 32)
	if !ok {
		return lo, lo, true // no float prints like that
	}
	return min(lo, printed), max(lo, printed), true
}

func (c *column) readDecimal(value []byte, quoted bool) (lo, hi decimal128.Num, ok bool) {
	if quoted {
		return lo, hi, false
	}
	return parseDecimal(value, int(c.demand.Column.Type.Scale))
}

// setPartition takes a partition value as its text in partitionValues (Delta protocol, "Partition Value Serialization").
// A text that does not parse leaves the column unknown: readers disagree on what it means.
func (c *column) setPartition(row int, value []byte, zone *time.Location) {
	kind := c.demand.Column.Type.Kind
	if len(value) == 0 && kind != schema.String {
		c.cell(row).known |= isNull
		return
	}
	if len(value) == 0 {
		c.cell(row).known |= maybeNull // the protocol says NULL, but there are writers that mean the empty string
	}
	switch c.class {
	case integers:
		if lo, hi, ok := partitionInteger(kind, value, zone); ok {
			c.setSide(row, minimum, lo, hi)
			c.setSide(row, maximum, lo, hi)
		}
	case floats:
		if lo, hi, ok := c.partitionFloat(value); ok {
			c.setSide(row, minimum, int64(math.Float64bits(lo)), 0)
			c.setSide(row, maximum, 0, int64(math.Float64bits(hi)))
		}
	case decimals:
		// A decimal that is not of the column's scale was not written by a writer of this schema.
		if lo, hi, ok := parseDecimal(value, int(c.demand.Column.Type.Scale)); ok && lo == hi {
			c.setDecimal(row, minimum, lo, hi)
			c.setDecimal(row, maximum, lo, hi)
		}
	case texts:
		// Spark writes binary values as UTF-8 text, which loses what isn't UTF-8; others escape bytes by backslashes.
		if kind == schema.Binary && (bytes.IndexByte(value, '\\') >= 0 || bytes.Contains(value, []byte("\uFFFD"))) {
			return
		}
		value = padded(value, c.demand.Column)
		c.setText(row, minimum, value)
		c.setText(row, maximum, value)
	case noBounds:
		if kind == schema.String { // collated: its text is a value, but not one that orders
			c.cell(row).known |= hasLower | hasUpper
		}
	}
}

// padded returns a char(n) value as readers see it, filled up with spaces as far as a bound is kept.
func padded(value []byte, c *schema.Column) []byte {
	missing := min(c.Field.Char-utf8.RuneCount(value), maxTextBytes+1)
	if missing <= 0 {
		return value
	}
	return append(bytes.Clone(value), bytes.Repeat([]byte{' '}, missing)...)
}

func partitionInteger(kind schema.Kind, value []byte, zone *time.Location) (lo, hi int64, ok bool) {
	switch kind {
	case schema.Boolean:
		switch {
		case bytes.EqualFold(value, []byte("true")):
			return 1, 1, true
		case bytes.EqualFold(value, []byte("false")):
			return 0, 0, true
		}
		return 0, 0, false
	case schema.Date:
		days, _, rest, ok := parseDate(value)
		return days, days, ok && len(rest) == 0 && inRange(kind, days)
	case schema.Timestamp, schema.TimestampNTZ:
		t, ok := parseTimestamp(value, kind == schema.TimestampNTZ, zone)
		return t.lo, t.hi, ok
	}
	v, ok := parseInt(value)
	return v, v, ok && inRange(kind, v)
}

func (c *column) partitionFloat(value []byte) (lo, hi float64, ok bool) {
	if lo, ok = parseNamedFloat(value); ok {
		return lo, lo, true
	}
	return c.readFloat(value, false)
}
