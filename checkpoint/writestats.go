package checkpoint

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/jsonscan"
	"github.com/deltaskip/deltaskip/schema"
)

// A statsTree turns the text of statistics into rows of stats_parsed, and partition values into partitionValues_parsed. What a
// typed leaf cannot hold exactly is null there: missing, not wrong.
type statsTree struct {
	root       *statsNode
	partitions []*schema.Column

	layout *colstats.Layout // of partitions
}

// A statsNode is a struct or a leaf of stats_parsed.
type statsNode struct {
	name     string // physical
	typ      arrow.DataType
	children []*statsNode
	spans    [][2]int // scratch: where the children's values are in the text; zero where they are not
}

// floating says whether n is a bound of a float column.
func (n *statsNode) floating() bool { return n.typ != nil && arrow.IsFloating(n.typ.ID()) }

// newStatsTree makes a tree of the columns whose statistics the table asks for, and of more.
func newStatsTree(t *schema.Table, more []*schema.Column) *statsTree {
	tree := &statsTree{root: &statsNode{}, layout: &colstats.Layout{Table: t}}
	columns := t.StatisticsColumns()
	for _, c := range more {
		if !c.Partition && !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	mins, maxs, nulls := &statsNode{name: "minValues"}, &statsNode{name: "maxValues"}, &statsNode{name: "nullCount"}
	for _, c := range columns {
		if t, ok := boundType(c); ok {
			mins.insert(c.Physical, t)
			maxs.insert(c.Physical, t)
		}
		nulls.insert(c.Physical, longType)
	}
	tree.root.children = []*statsNode{{name: "numRecords", typ: longType}}
	for _, n := range []*statsNode{mins, maxs, nulls} {
		if len(n.children) > 0 { // parquet has no empty structs
			tree.root.children = append(tree.root.children, n)
		}
	}
	tree.root.children = append(tree.root.children, &statsNode{name: "tightBounds", typ: boolType})
	tree.root.prepare()
	for _, name := range t.PartitionColumns {
		c, err := t.Lookup(name)
		if err != nil {
			continue
		}
		if _, ok := colstats.ArrowType(c.Type); ok {
			tree.partitions = append(tree.partitions, c)
			tree.layout.Demands = append(tree.layout.Demands, colstats.Demand{Column: c, Bounds: true})
		}
	}
	return tree
}

// boundType returns the type of a column's minimum and maximum. A column that was once float has none: a reader of the text takes
// into account that its digits may be those of a float, and a reader of the struct could not.
func boundType(c *schema.Column) (arrow.DataType, bool) {
	switch c.Type.Kind {
	case schema.Binary, schema.Void, schema.Variant, schema.Interval, schema.Array, schema.Map, schema.Struct, schema.Unknown:
		return nil, false
	}
	if slices.ContainsFunc(c.StatisticsTypes()[1:], func(t schema.Type) bool { return t.Kind == schema.Float }) {
		return nil, false
	}
	return colstats.ArrowType(c.Type)
}

// insert adds a leaf below n.
func (n *statsNode) insert(path []string, t arrow.DataType) {
	for _, name := range path {
		i := slices.IndexFunc(n.children, func(c *statsNode) bool { return c.name == name })
		if i < 0 {
			i = len(n.children)
			n.children = append(n.children, &statsNode{name: name})
		}
		n = n.children[i]
	}
	n.typ = t
}

func (n *statsNode) prepare() {
	n.spans = make([][2]int, len(n.children))
	for _, c := range n.children {
		c.prepare()
	}
}

func (n *statsNode) arrowType() arrow.DataType {
	if n.typ != nil {
		return n.typ
	}
	fields := make([]arrow.Field, len(n.children))
	for i, c := range n.children {
		fields[i] = field(c.name, c.arrowType())
	}
	return arrow.StructOf(fields...)
}

// append adds a row for a text. A text that is no JSON object, or is empty, is null.
func (t *statsTree) append(b *array.StructBuilder, text string) {
	data, err := jsonscan.Text([]byte(text))
	if err != nil || data[0] != '{' {
		b.AppendNull()
		return
	}
	t.root.append(b, data, 0, strings.Contains(text, "NaN"))
}

// append adds the value that begins at data[at] and has been checked. Where the text has a NaN, no bound of a float column is
// added: what a NaN as one bound means for the other depends on the writer, and without any the bounds of a row group bound
// all its leaves.
func (n *statsNode) append(b array.Builder, data []byte, at int, hasNaN bool) {
	if n.typ != nil {
		end, err := jsonscan.Value(data, at)
		if err != nil || hasNaN && n.floating() || !appendLeaf(b, data, at, end) {
			b.AppendNull()
		}
		return
	}
	if data[at] != '{' {
		b.AppendNull()
		return
	}
	clear(n.spans)
	twice := false
	_, err := jsonscan.Object(data, at, func(key []byte, start, end int) error {
		for i, c := range n.children {
			if c.name == string(key) {
				twice = twice || n.spans[i][1] > 0
				n.spans[i] = [2]int{start, end}
				break
			}
		}
		return nil
	})
	if err != nil || twice { // who says two things has said nothing
		b.AppendNull()
		return
	}
	s := b.(*array.StructBuilder)
	s.Append(true)
	for i, c := range n.children {
		if span := n.spans[i]; span[1] > 0 {
			c.append(s.FieldBuilder(i), data, span[0], hasNaN)
		} else {
			s.FieldBuilder(i).AppendNull()
		}
	}
}

// appendLeaf adds the JSON value data[start:end] if the builder's type holds it exactly.
func appendLeaf(b array.Builder, data []byte, start, end int) bool {
	value := data[start:end]
	if string(value) == "null" {
		return false
	}
	var text string
	isString := value[0] == '"'
	if isString {
		unquoted, err := jsonscan.Unquote(nil, data, start, end)
		if err != nil {
			return false
		}
		text = string(unquoted)
	} else {
		text = string(value)
	}
	switch b := b.(type) {
	case *array.StringBuilder:
		if isString {
			b.Append(text)
		}
		return isString
	case *array.Date32Builder:
		t, err := time.Parse("2006-01-02", text)
		if err != nil || !isString {
			return false
		}
		b.Append(arrow.Date32FromTime(t))
		return true
	case *array.TimestampBuilder:
		micros, ok := exactMicros(text, b.Type().(*arrow.TimestampType).TimeZone != "")
		if ok = ok && isString; ok {
			b.Append(arrow.Timestamp(micros))
		}
		return ok
	case *array.Float32Builder:
		v, ok := exactFloat(text, isString, 32)
		if ok {
			b.Append(float32(v))
		}
		return ok
	case *array.Float64Builder:
		v, ok := exactFloat(text, isString, 64)
		if ok {
			b.Append(v)
		}
		return ok
	}
	if isString {
		return false
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		if text != "true" && text != "false" {
			return false
		}
		b.Append(text == "true")
		return true
	case *array.Decimal128Builder:
		v, ok := exactDecimal(text, b.Type().(*arrow.Decimal128Type))
		if ok {
			b.Append(v)
		}
		return ok
	case *array.Int8Builder:
		return appendInt(b.Append, text, 8)
	case *array.Int16Builder:
		return appendInt(b.Append, text, 16)
	case *array.Int32Builder:
		return appendInt(b.Append, text, 32)
	case *array.Int64Builder:
		return appendInt(b.Append, text, 64)
	}
	return false
}

func appendInt[T int8 | int16 | int32 | int64](appendValue func(T), text string, bits int) bool {
	v, err := strconv.ParseInt(text, 10, bits)
	if err == nil {
		appendValue(T(v))
	}
	return err == nil
}

// exactMicros reads an instant, or a wall clock's time. An instant with an offset is left alone if it is old: a reader of the text
// knows that some writers cut the seconds that offsets had then, and a reader of the struct could not.
func exactMicros(text string, instant bool) (int64, bool) {
	layout := "2006-01-02T15:04:05.999999999"
	if instant {
		layout += "Z07:00"
	}
	t, err := time.Parse(layout, text)
	old := !strings.HasSuffix(text, "Z") && instant && t.Year() <= 1972
	return t.UnixMicro(), err == nil && t.Nanosecond()%1000 == 0 && !old
}

// exactFloat reads a number, or an infinity as a string.
func exactFloat(text string, isString bool, bits int) (float64, bool) {
	if isString {
		switch text {
		case "Infinity":
			return math.Inf(1), true
		case "-Infinity":
			return math.Inf(-1), true
		}
		return 0, false
	}
	v, err := strconv.ParseFloat(text, bits)
	return v, err == nil && strings.Trim(text, "-+.0123456789eE") == ""
}

// exactDecimal reads a number, with or without an exponent.
func exactDecimal(text string, t *arrow.Decimal128Type) (decimal128.Num, bool) {
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	shift := int(t.Scale) - len(fraction)
	if hasExponent {
		e, err := strconv.Atoi(exponent)
		if err != nil || e < -1000 || e > 1000 {
			return decimal128.Num{}, false
		}
		shift += e
	}
	v, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok || len(mantissa) > 1000 {
		return decimal128.Num{}, false
	}
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(shift, -shift))), nil)
	if shift >= 0 {
		v.Mul(v, ten)
	} else if _, rest := v.QuoRem(v, ten, new(big.Int)); rest.Sign() != 0 {
		return decimal128.Num{}, false
	}
	if v.BitLen() > 127 {
		return decimal128.Num{}, false
	}
	d := decimal128.FromBigInt(v)
	return d, d.FitsInPrecision(t.Precision)
}

// partitionField is the column partitionValues_parsed, nil for a table without partitions.
func (t *statsTree) partitionField() *arrow.Field {
	if len(t.partitions) == 0 {
		return nil
	}
	fields := make([]arrow.Field, len(t.partitions))
	for i, c := range t.partitions {
		typ, _ := colstats.ArrowType(c.Type)
		fields[i] = field(c.Physical[0], typ)
	}
	f := structOf("partitionValues_parsed", fields...)
	return &f
}

// facts reads the partition values of the adds of a row group.
func (t *statsTree) facts(adds []action.Action, o colstats.Options) (*colstats.Batch, error) {
	b := colstats.NewBuilder(t.layout, o)
	for _, a := range adds {
		if err := b.Append(&colstats.File{PartitionValues: a.(*action.Add).PartitionValues}); err != nil {
			b.Flush().Release()
			return nil, err
		}
	}
	return b.Flush(), nil
}

// appendPartitions adds the partition values of an add, given the facts about it. What does not parse is null, as in Spark.
func (t *statsTree) appendPartitions(r *row, facts *colstats.Batch, i int) error {
	for d := range t.partitions {
		f, b := facts.Facts(d), r.builder()
		if !colstats.IsSet(f.Bounded, i) {
			b.AppendNull()
			continue
		}
		v, err := scalar.GetScalar(f.Lower, i)
		if err != nil {
			return err
		}
		err = scalar.Append(b, v)
		if v, ok := v.(scalar.Releasable); ok {
			v.Release()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
