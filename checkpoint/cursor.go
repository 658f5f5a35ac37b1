package checkpoint

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/deltaskip/deltaskip/internal/jsonscan"
	"github.com/deltaskip/deltaskip/internal/leaf"
)

// cursorRun is how many entries a cursor reads at once.
const cursorRun = 1 << 10

// A cursor walks a leaf column of one row group entry by entry.
type cursor struct {
	node  *leaf.Node
	p     *part
	chunk leaf.Chunk
	col   *leaf.Column
	e     leaf.Entries
	i, v  int // position in e: entries, values
}

// open begins to read.
func (c *cursor) open(p *part, chunk leaf.Chunk, o Options) {
	c.p, c.chunk, c.col = p, chunk, p.Column(chunk, o.Allocator)
}

func (c *cursor) close() {
	if c.col != nil {
		c.col.Close()
	}
	c.e.Release()
}

func (c *cursor) fail(err error) error { return c.p.fail(c.chunk.Group, c.node, err) }

// atEnd reports whether no entry is left.
func (c *cursor) atEnd() bool { return c.i == c.e.Len && c.col.Done() == c.chunk.Entries }

// level returns the definition level of the entry at hand.
func (c *cursor) level() (uint8, error) {
	if c.i == c.e.Len {
		if c.atEnd() {
			return 0, c.fail(corrupt("it ends before other columns do"))
		}
		if err := c.col.Read(&c.e, cursorRun); err != nil {
			return 0, c.fail(err)
		}
		c.i, c.v = 0, 0
	}
	if len(c.e.Def) == 0 {
		return c.node.Def, nil
	}
	return c.e.Def[c.i], nil
}

// there reports whether the entry at hand has a value.
func (c *cursor) there() (bool, error) {
	level, err := c.level()
	return level == c.node.Def, err
}

// nulls returns how many entries, the one at hand first and n at most, are known to have no value. There may be more.
func (c *cursor) nulls(n int64) (int64, error) {
	if _, err := c.level(); err != nil || len(c.e.Def) == 0 {
		return 0, err
	}
	levels := c.e.Def[c.i:]
	if i := bytes.IndexByte(levels, c.node.Def); i >= 0 {
		levels = levels[:i]
	}
	return min(n, int64(len(levels))), nil
}

// repeats returns the repetition level of the entry at hand, and 0 after the last one.
func (c *cursor) repeats() (uint8, error) {
	if c.atEnd() {
		return 0, nil
	}
	if _, err := c.level(); err != nil || len(c.e.Rep) == 0 {
		return 0, err
	}
	return c.e.Rep[c.i], nil
}

// next passes over the entry at hand, which must be there.
func (c *cursor) next() {
	if len(c.e.Def) == 0 || c.e.Def[c.i] == c.node.Def {
		c.v++
	}
	c.i++
}

// skip passes over n entries.
func (c *cursor) skip(n int64) error {
	for ; n > 0 && c.i < c.e.Len; n-- {
		c.next()
	}
	if n > c.chunk.Entries-c.col.Done() {
		return c.fail(corrupt("it ends before other columns do"))
	}
	if n > 0 {
		return c.fail(c.col.Skip(n))
	}
	return nil
}

// bytes returns the value of the entry at hand, of a column of byte arrays. It is good until the cursor moves.
func (c *cursor) bytes() []byte { return c.e.Bytes(c.v) }

// bits returns the value of the entry at hand, of a column of numbers.
func (c *cursor) bits() int64 { return c.e.Bits(c.v) }

// appendJSON appends the value of the entry at hand as JSON, in the way that actions and statistics have it. It appends nothing
// for a value that neither can have.
func (c *cursor) appendJSON(dst []byte) []byte {
	n := c.node
	switch n.Logical {
	case leaf.Plain, leaf.Signed, leaf.String, leaf.Enum, leaf.JSON:
	case leaf.Unsigned:
		v := uint64(c.bits())
		if n.Physical == leaf.Int32 {
			v = uint64(uint32(v))
		}
		return strconv.AppendUint(dst, v, 10)
	case leaf.Date:
		return appendDate(dst, c.bits())
	case leaf.TimestampMillis, leaf.TimestampMicros, leaf.TimestampNanos:
		return appendTimestamp(dst, n.Micros(c.bits()), n.UTC)
	case leaf.Decimal:
		return appendDecimal(dst, c.unscaled(), n.Scale)
	default:
		return dst
	}
	switch n.Physical {
	case leaf.Boolean:
		return strconv.AppendBool(dst, c.bits() != 0)
	case leaf.Int32, leaf.Int64:
		return strconv.AppendInt(dst, c.bits(), 10)
	case leaf.Float:
		return appendFloat(dst, float64(math.Float32frombits(uint32(c.bits()))), 32)
	case leaf.Double:
		return appendFloat(dst, math.Float64frombits(uint64(c.bits())), 64)
	case leaf.Int96:
		if micros, ok := leaf.Int96Micros(c.bytes()); ok {
			return appendTimestamp(dst, micros, true)
		}
	case leaf.ByteArray:
		if utf8.Valid(c.bytes()) {
			return jsonscan.Quote(dst, string(c.bytes()))
		}
	}
	return dst
}

// unscaled returns the value of the entry at hand, of a column of decimals.
func (c *cursor) unscaled() *big.Int {
	switch c.node.Physical {
	case leaf.Int32, leaf.Int64:
		return big.NewInt(c.bits())
	default:
		return leaf.BigEndian(c.bytes())
	}
}
