package vectorized

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// writtenTable has a column of every kind that writers treat in a way of its own: nested, renamed, widened, padded,
// collated, partitioned.
var writtenTable = func() *schema.Table {
	id := 0
	field := func(name, typ, metadata string) string {
		id++
		if !strings.HasPrefix(typ, "{") {
			typ = strconv.Quote(typ)
		}
		return fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{"delta.columnMapping.id":%d,"delta.columnMapping.physicalName":"col-%d"%s}}`, name, typ, id, id, metadata)
	}
	widened := func(name, from, to string) string {
		return field(name, to, fmt.Sprintf(`,"delta.typeChanges":[{"fromType":%q,"toType":%q}]`, from, to))
	}
	structure := func(fields ...string) string { return `{"type":"struct","fields":[` + strings.Join(fields, ",") + `]}` }
	var fields []string
	for _, c := range []struct{ name, typ string }{
		{"by", "byte"}, {"i", "integer"}, {"i2", "integer"}, {"l", "long"}, {"x.y", "long"}, {"f", "float"}, {"d", "double"}, {"d2", "double"},
		{"e", "decimal(10,2)"}, {"big", "decimal(38,4)"}, {"s", "string"}, {"s2", "string"}, {"dt", "date"}, {"ts", "timestamp"}, {"ts2", "timestamp"},
		{"tn", "timestamp_ntz"}, {"bin", "binary"}, {"bo", "boolean"},
		{"p", "integer"}, {"ps", "string"}, {"pd", "date"}, {"pt", "timestamp"}, {"pf", "double"}, {"pe", "decimal(5,2)"},
	} {
		fields = append(fields, field(c.name, c.typ, ""))
	}
	fields = append(fields,
		widened("wl", "integer", "long"), widened("wd", "float", "double"), widened("we", "decimal(6,2)", "decimal(12,4)"),
		widened("wx", "integer", "decimal(14,2)"), widened("wn", "date", "timestamp_ntz"),
		field("vc", "string", `,"__CHAR_VARCHAR_TYPE_STRING":"varchar(60)"`), field("ch", "string", `,"__CHAR_VARCHAR_TYPE_STRING":"char(4)"`),
		field("lc", "string", `,"__COLLATIONS":{"lc":"spark.UTF8_LCASE"}`),
		field("st", structure(field("l", "long", ""), field("in", structure(field("s", "string", "")), "")), ""),
	)
	t, err := schema.Parse(structure(fields...), []string{"p", "ps", "pd", "pt", "pf", "pe"}, map[string]string{"delta.columnMapping.mode": "name"})
	if err != nil {
		panic(err)
	}
	return t
}()

// writtenGroups are columns that have much to do with each other.
var writtenGroups = map[string][]string{
	"times":    {"dt", "ts", "ts2", "tn", "wn", "pd", "pt"},
	"floats":   {"f", "d", "d2", "wd", "pf"},
	"integers": {"by", "i", "i2", "l", "wl", "x.y", "st.l", "p"},
	"decimals": {"e", "big", "we", "wx", "pe", "l"},
	"text":     {"s", "s2", "vc", "ch", "st.in.s", "ps", "lc", "bin", "bo"},
}

func writtenColumn(name string) *schema.Column {
	path := strings.Split(name, ".")
	if name == "x.y" {
		path = []string{name}
	}
	c, err := writtenTable.Lookup(path...)
	if err != nil {
		panic(err)
	}
	return c
}

// A pool holds the values that rows may have in a column, in order. old are those that the column could hold before its
// type was widened.
type pool struct{ values, old []predicate.Value }

var writtenPools = func() map[*schema.Column]pool {
	pools := map[*schema.Column]pool{}
	for _, group := range writtenGroups {
		for _, name := range group {
			c := writtenColumn(name)
			p := pool{values: valuesOf(c.Type)}
			if c.Type.Collation != "" {
				for i := range p.values {
					p.values[i].Type = c.Type
				}
			} else {
				slices.SortStableFunc(p.values, predicate.Value.Compare)
			}
			if c.Field.Char > 0 {
				p.values = slices.DeleteFunc(p.values, func(v predicate.Value) bool { return utf8.RuneCountInString(v.S) > c.Field.Char })
			}
			if c.Partition && c.Type.Kind == schema.Decimal {
				p.values = slices.DeleteFunc(p.values, func(v predicate.Value) bool { return !v.D.FitsInPrecision(int32(c.Type.Precision)) })
			}
			p.old = p.values
			if len(c.Field.TypeChanges) > 0 {
				p.old = slices.DeleteFunc(slices.Clone(p.values), func(v predicate.Value) bool {
					switch v.Type.Kind {
					case schema.Long:
						return v.I != int64(int32(v.I))
					case schema.Double:
						return v.F != float64(float32(v.F))
					case schema.Decimal: // whole hundreds, of few digits
						_, rest := v.D.Div(decimal128.FromI64(100))
						return rest != decimal128.Num{} || !v.D.FitsInPrecision(8)
					case schema.TimestampNTZ:
						return v.I%(86400*1e6) != 0
					}
					panic(v.Type.String())
				})
			}
			pools[c] = p
		}
	}
	return pools
}()

// A writer computes and spells the statistics of a file in its own way.
type writer struct {
	name string
	// likeSpark is for open-source Spark, which is known: NaN is the greatest number.
	likeSpark bool
	arrow     bool                                 // NaN left out, zero bounds signed outwards, no infinities, decimals through doubles
	cut       func(s string, greatest bool) string // of a string bound
	zone      *time.Location                       // in which timestamps are printed, cut to milliseconds; nil for UTC
	micros    bool                                 // timestamps are not cut
	space     bool                                 // between date and time of a wall clock
	number    func(f float64, bits int) string     // spells a finite number
}

var writers = []writer{
	{name: "Spark", likeSpark: true, cut: cutBeforeGreatest, number: javaNumber},
	{name: "an old Spark", likeSpark: true, cut: cutBeforeReplacement, number: javaNumber},
	{name: "Spark in New York", likeSpark: true, cut: cutBeforeGreatest, number: javaNumber, zone: testZones[2]},
	{name: "Databricks", cut: cutBeforeGreatest, number: javaNumber},
	{name: "kernel", cut: cutBeforeGreatest, number: plainNumber},
	{name: "delta-rs", arrow: true, cut: cutBytes, number: plainNumber, space: true},
	{name: "a writer that cuts nothing", cut: func(s string, _ bool) string { return s }, micros: true, number: plainNumber},
}

func javaNumber(f float64, bits int) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, bits), "E")
	e, err := strconv.Atoi(exponent)
	if err != nil {
		panic(err)
	}
	if e >= -3 && e < 7 {
		plain := strconv.FormatFloat(f, 'f', -1, bits)
		if !strings.Contains(plain, ".") {
			plain += ".0"
		}
		return plain
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	return mantissa + "E" + strconv.Itoa(e)
}

// plainNumber prints floats as the doubles that they are.
func plainNumber(f float64, _ int) string { return strconv.FormatFloat(f, 'g', -1, 64) }

const prefixLength = 32

// cutBeforeGreatest keeps 32 characters, and appends to a maximum a character that sorts after the first one cut.
func cutBeforeGreatest(s string, greatest bool) string {
	runes := []rune(s)
	if len(runes) <= prefixLength {
		return s
	}
	n := prefixLength
	if !greatest {
		return string(runes[:n])
	}
	for n < len(runes) && runes[n] == utf8.MaxRune {
		n++
	}
	if n == len(runes) {
		return s
	}
	if runes[n] < 0x7f {
		return string(runes[:n]) + "\x7f"
	}
	return string(runes[:n]) + "\U0010ffff"
}

// cutBeforeReplacement counts and compares in UTF-16, with U+FFFD as the greatest character; half a character that is
// left becomes a question mark.
func cutBeforeReplacement(s string, greatest bool) string {
	if !greatest {
		return cutBeforeGreatest(s, false)
	}
	units := utf16.Encode([]rune(s))
	if len(units) <= prefixLength {
		return s
	}
	n := prefixLength
	for n < len(units) && units[n] >= 0xfffd {
		n++
	}
	half := ""
	if last := units[n-1]; utf16.IsSurrogate(rune(last)) && last < 0xdc00 {
		n, half = n-1, "?"
	}
	return string(utf16.Decode(units[:n])) + half + "\uFFFD"
}

// cutBytes keeps 64 bytes, and makes the last character of a maximum that can be the next one.
func cutBytes(s string, greatest bool) string {
	if len(s) <= 64 {
		return s
	}
	n := 64
	for !utf8.RuneStart(s[n]) {
		n--
	}
	if !greatest {
		return s[:n]
	}
	for n > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:n])
		if n -= size; r < utf8.MaxRune && utf8.ValidRune(r+1) {
			return s[:n] + string(r+1)
		}
	}
	return s
}

// A statistic is a bound or a count as a writer spells it, and what a typed column of statistics holds of it.
type statistic struct {
	text  string // JSON; empty when it is left out
	value predicate.Value
}

// bound returns what the writer says of a value that is the least or the greatest of a column.
func (w *writer) bound(c *schema.Column, v predicate.Value, greatest, old bool) statistic {
	s := statistic{value: v}
	switch v.Type.Kind {
	case schema.Boolean:
		s.text = strconv.FormatBool(v.I != 0)
	case schema.Float, schema.Double:
		if w.arrow && v.F == 0 {
			v.F = math.Copysign(0, map[bool]float64{true: 1, false: -1}[greatest])
		}
		switch {
		case math.IsNaN(v.F):
			s.text = `"NaN"`
		case math.IsInf(v.F, 0) && w.arrow:
			return statistic{text: "null", value: predicate.NullOf(v.Type)}
		case math.IsInf(v.F, 1):
			s.text = `"Infinity"`
		case math.IsInf(v.F, -1):
			s.text = `"-Infinity"`
		default:
			bits := 64
			if v.Type.Kind == schema.Float || old {
				bits = 32
			}
			s.text = w.number(v.F, bits)
			f, err := strconv.ParseFloat(s.text, 64)
			if err != nil {
				panic(err)
			}
			if s.value.F = f; v.Type.Kind == schema.Float {
				s.value.F = float64(float32(f))
			}
		}
	case schema.Decimal:
		scale := int32(c.Type.Scale)
		s.text = v.D.ToString(scale)
		switch {
		case w.arrow:
			unscaled, _ := new(big.Float).SetInt(v.D.BigInt()).Float64()
			s.text = plainNumber(unscaled/math.Pow10(int(scale)), 64)
			s.value = roundedDecimal(v.Type, s.text)
		case old && c.Field.TypeChanges[0].From.Kind == schema.Integer:
			s.text = s.text[:len(s.text)-3]
		case old:
			s.text = s.text[:len(s.text)-2]
		}
	case schema.String:
		s.value.S = w.cut(v.S, greatest)
		s.text = jsonString(s.value.S)
	case schema.Date:
		s.text = strconv.Quote(time.Unix(v.I*86400, 0).UTC().Format(time.DateOnly))
	case schema.Timestamp, schema.TimestampNTZ:
		at := time.UnixMicro(v.I).UTC()
		layout := "2006-01-02T15:04:05.000"
		switch {
		case old:
			s.text = strconv.Quote(at.Format(time.DateOnly))
			return s
		case w.micros:
			layout += "000"
		default:
			at = time.UnixMilli(floor(v.I, 1000) / 1000).UTC()
			s.value.I = at.UnixMicro()
		}
		switch {
		case v.Type.Kind == schema.Timestamp && w.zone != nil:
			at, layout = at.In(w.zone), layout+"-07:00" // cuts an old offset's seconds
		case v.Type.Kind == schema.Timestamp:
			layout += "Z"
		case w.space:
			layout = strings.Replace(layout, "T", " ", 1)
		}
		s.text = strconv.Quote(at.Format(layout))
	default:
		s.text = strconv.FormatInt(v.I, 10)
	}
	return s
}

// roundedDecimal reads a number as a decimal, half up.
func roundedDecimal(t schema.Type, text string) predicate.Value {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	d, err := decimal128.FromString(r.FloatString(int(t.Scale)), int32(t.Precision), int32(t.Scale))
	if err != nil {
		return predicate.NullOf(t)
	}
	return predicate.Value{Type: t, D: d}
}

// jsonString quotes s, with every character beyond ASCII as it is.
func jsonString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// A written is a file with its statistics: of columns in the order of writtenFiles.columns.
type written struct {
	*writer
	rows       testFile // all of them
	live       []bool   // whether a deletion vector left the row
	vector     bool     // there is one
	own        bool     // the commit wrote the file itself
	old        bool     // from before types were widened
	none       bool     // no statistics at all
	records    string   // numRecords in JSON; empty when it is left out
	noCounts   bool     // nullCount is left out
	columns    []columnStatistics
	partitions []*string // of the columns that are partition columns
}

type columnStatistics struct{ least, greatest, nulls statistic }

// drawWritten draws a file of a few rows.
func drawWritten(rng *rand.Rand, columns []*schema.Column) *written {
	w := &written{writer: &writers[rng.IntN(len(writers))]}
	chance := func(percent int) bool { return rng.IntN(100) < percent }
	w.rows = make(testFile, 1+rng.IntN(4))
	if chance(5) {
		w.rows = nil
	}
	w.live = make([]bool, len(w.rows))
	w.vector, w.old = chance(25), chance(40)
	for i := range w.rows {
		w.rows[i] = make(testRow, len(columns))
		w.live[i] = !w.vector || chance(60)
	}
	w.own = !w.vector && w.likeSpark && chance(80)
	w.none, w.noCounts = chance(3), chance(3)
	if !chance(3) {
		w.records = strconv.Itoa(len(w.rows))
	}
	indexed := len(columns)
	if chance(5) {
		indexed = rng.IntN(indexed + 1)
	}
	w.columns = make([]columnStatistics, len(columns))
	w.partitions = make([]*string, len(columns))
	for i, c := range columns {
		if c.Partition {
			w.partitions[i] = w.drawPartition(rng, c)
		} else {
			w.drawColumn(rng, c)
			if i < indexed {
				w.columns[i] = w.statistics(rng, c)
			}
		}
	}
	return w
}

// drawColumn draws the rows' values of a column: neighbours, mostly, so that bounds say something.
func (w *written) drawColumn(rng *rand.Rand, c *schema.Column) {
	pool := writtenPools[c].values
	if w.old {
		pool = writtenPools[c].old
	}
	shape, first, width := rng.IntN(6), rng.IntN(len(pool)), 1+rng.IntN(4)
	if shape == 1 {
		width = 1
	}
	for _, row := range w.rows {
		if shape == 0 || shape >= 4 && rng.IntN(3) == 0 {
			row[c] = predicate.NullOf(c.Type)
		} else {
			row[c] = pool[min(first+rng.IntN(width), len(pool)-1)]
		}
	}
}

// statistics computes what the writer says of a column.
func (w *written) statistics(rng *rand.Rand, c *schema.Column) (s columnStatistics) {
	s.least.value, s.greatest.value = predicate.NullOf(c.Type), predicate.NullOf(c.Type)
	nulls, found := 0, false
	var least, greatest predicate.Value
	for _, row := range w.rows {
		v := row[c]
		switch {
		case v.Null:
			nulls++
		case w.arrow && math.IsNaN(v.F):
		case c.Type.Kind == schema.Binary, c.Type.Kind == schema.Boolean && !w.arrow:
		case c.Type.Collation != "":
		default:
			if !found || v.Compare(least) < 0 {
				least = v
			}
			if !found || v.Compare(greatest) > 0 {
				greatest = v
			}
			found = true
		}
	}
	old := w.old && len(c.Field.TypeChanges) > 0
	switch {
	case found:
		s.least, s.greatest = w.bound(c, least, false, old), w.bound(c, greatest, true, old)
		if c.Type.Kind == schema.String && w.arrow { // cut by row group, compared then; Spark compares first
			for _, row := range w.rows {
				if v := row[c]; !v.Null {
					if cut := w.cut(v.S, true); cut > s.greatest.value.S {
						s.greatest = w.bound(c, v, true, old)
					}
				}
			}
		}
	case rng.IntN(2) == 0:
		s.least.text, s.greatest.text = "null", "null"
	}
	if w.vector && nulls > 0 && nulls < len(w.rows) { // says nothing, so it may be off
		nulls = 1 + rng.IntN(len(w.rows)-1)
	}
	s.nulls = statistic{text: strconv.Itoa(nulls), value: predicate.IntOf(schema.Long, int64(nulls))}
	return s
}

// drawPartition draws the value that all rows have in a partition column, and how it is spelled; nil is null.
func (w *written) drawPartition(rng *rand.Rand, c *schema.Column) *string {
	pool := writtenPools[c].values
	v := pool[rng.IntN(len(pool))]
	if rng.IntN(8) == 0 || c.Type.Kind == schema.String && v.S == "" && rng.IntN(2) == 0 {
		v = predicate.NullOf(c.Type)
	}
	for _, row := range w.rows {
		row[c] = v
	}
	text := ""
	switch {
	case v.Null:
		if rng.IntN(2) == 0 {
			return nil
		}
	case c.Type.Kind == schema.String:
		text = v.S
	case c.Type.Kind == schema.Double:
		text = v.SQL()
		switch {
		case math.IsNaN(v.F):
			text = "NaN"
		case math.IsInf(v.F, 1):
			text = "Infinity"
		case math.IsInf(v.F, -1):
			text = "-Infinity"
		default:
			text = javaNumber(v.F, 64)
		}
	case c.Type.Kind == schema.Decimal:
		text = v.D.ToString(int32(c.Type.Scale))
	case c.Type.Kind == schema.Date:
		text = time.Unix(v.I*86400, 0).UTC().Format(time.DateOnly)
	case c.Type.Kind == schema.Timestamp:
		text = time.UnixMicro(v.I).UTC().Format([]string{"2006-01-02 15:04:05.999999", "2006-01-02T15:04:05.000000Z"}[rng.IntN(2)])
	default:
		text = strconv.FormatInt(v.I, 10)
	}
	return &text
}

// json returns the statistics as text.
func (w *written) json(columns []*schema.Column) string {
	if w.none {
		return ""
	}
	var b strings.Builder
	b.WriteByte('{')
	if w.records != "" {
		b.WriteString(`"numRecords":` + w.records + ",")
	}
	section := func(name string, text func(columnStatistics) string) {
		b.WriteString(strconv.Quote(name) + ":")
		w.object(&b, columns, w.columns, 0, text)
	}
	section("minValues", func(s columnStatistics) string { return s.least.text })
	b.WriteByte(',')
	section("maxValues", func(s columnStatistics) string { return s.greatest.text })
	if !w.noCounts {
		b.WriteByte(',')
		section("nullCount", func(s columnStatistics) string { return s.nulls.text })
	}
	if w.vector || w.micros {
		fmt.Fprintf(&b, `,"tightBounds":%t`, !w.vector)
	}
	b.WriteByte('}')
	return b.String()
}

// object writes the values of columns, which agree in their first names, as an object of the others.
func (w *written) object(b *strings.Builder, columns []*schema.Column, all []columnStatistics, depth int, text func(columnStatistics) string) {
	b.WriteByte('{')
	comma := ""
	for i := 0; i < len(columns); i++ {
		path := columns[i].Physical
		if columns[i].Partition {
			continue
		}
		if len(path) == depth+1 {
			if t := text(all[i]); t != "" {
				b.WriteString(comma + strconv.Quote(path[depth]) + ":" + t)
				comma = ","
			}
			continue
		}
		n := i + 1
		for n < len(columns) && len(columns[n].Physical) > depth+1 && columns[n].Physical[depth] == path[depth] {
			n++
		}
		b.WriteString(comma + strconv.Quote(path[depth]) + ":")
		comma = ","
		w.object(b, columns[i:n], all[i:n], depth+1, text)
		i = n - 1
	}
	b.WriteByte('}')
}

// less returns the file with some of its statistics left out, nulled, or wider.
func (w *written) less(rng *rand.Rand, columns []*schema.Column) *written {
	less := *w
	less.columns = slices.Clone(w.columns)
	i := rng.IntN(len(columns))
	c, s := columns[i], &less.columns[i]
	if c.Partition {
		return &less
	}
	leaf := []*statistic{&s.least, &s.greatest, &s.nulls}[rng.IntN(3)]
	// At a point an expression is evaluated, for which a value may be too doubtful (cast(d AS string) of 3.4e38) although
	// rules for ranges know enough.
	if leaf.text == "" || leaf != &s.nulls && s.least.text == s.greatest.text {
		return &less
	}
	kept := leaf.value
	*leaf = statistic{value: predicate.NullOf(kept.Type)}
	switch rng.IntN(4) {
	case 0:
		leaf.text = "null"
	case 1:
		leaf.text = []string{"[]", `{"z":1}`, `"\ud800"`}[rng.IntN(3)]
	case 2, 3:
		values := writtenPools[c].values
		v := values[rng.IntN(len(values))]
		if kept.Null || leaf == &s.nulls || math.IsNaN(v.F) || math.IsNaN(kept.F) || c.Type.Collation != "" {
			break
		}
		// A cut maximum may be less than a value: it means more than it is.
		passed := slices.ContainsFunc(w.rows, func(r testRow) bool { return !r[c].Null && r[c].Compare(v) > 0 })
		// With the mark of a cut it may even be no bound at all, which another is.
		passed = passed || strings.Contains(w.columns[i].greatest.text, "\uFFFD")
		if order := v.Compare(kept); leaf == &s.least && order < 0 || leaf == &s.greatest && order > 0 && !passed {
			*leaf = w.bound(c, v, leaf == &s.greatest, false)
		}
	}
	return &less
}
