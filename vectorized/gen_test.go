package vectorized

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// The columns of the tests' table: two of most types, so that columns can be compared.
var testColumns = []struct{ name, typ string }{
	{"bo", "boolean"}, {"bo2", "boolean"}, {"by", "byte"}, {"sh", "short"}, {"i", "integer"}, {"i2", "integer"},
	{"l", "long"}, {"l2", "long"}, {"f", "float"}, {"f2", "float"}, {"d", "double"}, {"d2", "double"},
	{"e", "decimal(10,2)"}, {"e2", "decimal(10,2)"}, {"big", "decimal(38,4)"},
	{"s", "string"}, {"s2", "string"}, {"dt", "date"}, {"dt2", "date"}, {"ts", "timestamp"}, {"ts2", "timestamp"},
	{"tn", "timestamp_ntz"}, {"bin", "binary"}, {"p", "integer"}, {"ps", "string"},
}

var testTable = func() *schema.Table {
	var fields []string
	for _, c := range testColumns {
		fields = append(fields, fmt.Sprintf(`{"name":%q,"type":%q,"nullable":true,"metadata":{}}`, c.name, c.typ))
	}
	t, err := schema.Parse(`{"type":"struct","fields":[`+strings.Join(fields, ",")+`]}`, []string{"p", "ps"}, nil)
	if err != nil {
		panic(err)
	}
	return t
}()

func testColumn(name string) *schema.Column {
	c, err := testTable.Lookup(name)
	if err != nil {
		panic(err)
	}
	return c
}

func bindSQL(reads ...string) (bound []*predicate.Predicate, err error) {
	for _, sql := range reads {
		e, err := predicate.Parse(sql, predicate.ParseOptions{})
		if err != nil {
			return nil, err
		}
		p, err := predicate.Bind(e, testTable, predicate.Env{})
		if err != nil {
			return nil, err
		}
		bound = append(bound, p)
	}
	return bound, nil
}

func compileSQL(o Options, reads ...string) (*Program, error) {
	bound, err := bindSQL(reads...)
	if err != nil {
		return nil, err
	}
	return Compile(bound, o)
}

func mustBind(t testing.TB, reads ...string) []*predicate.Predicate {
	t.Helper()
	bound, err := bindSQL(reads...)
	if err != nil {
		t.Fatal(err)
	}
	return bound
}

func mustCompile(t testing.TB, o Options, reads ...string) *Program {
	t.Helper()
	p, err := compileSQL(o, reads...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var testPools = map[schema.Kind][]string{
	schema.Boolean: {"false", "true"},
	schema.String: {
		"", "a", "ab", "abc", "ab%", "a_c", "b", "ba", "é", "éa", "z", "zz\U0010ffff", "A", "10", "-3", "2020-01-01", "true",
		// Heads that are equal though the strings are not.
		"ab\x00", "ab\x00\x00", "abcdefgh", "abcdefgh\x00", "abcdefghi",
		"abcdefghijklmnopqrstuvwxyzabcdefghijklmnop",
		// Around the 32 characters that writers keep, and the characters that they cut before or append.
		"abcdefghijklmnopqrstuvwxyzabcdef", "abcdefghijklmnopqrstuvwxyzabcdef\x7f", "abcdefghijklmnopqrstuvwxyzabcdefé",
		"abcdefghijklmnopqrstuvwxyzabcdef\uffff", "abcdefghijklmnopqrstuvwxyzabcdef🌼", "abcdefghijklmnopqrstuvwxyzabcdef\U0010ffffa",
		"abcdefghijklmnopqrstuvwxyzabcde🌼b", "abcdefghijklmnopqrstuvwxyzabcde?\uffff",
	},
}

var (
	testInts   = []int64{-128, -127, -3, -2, -1, 0, 1, 2, 3, 4, 5, 10, 99, 100, 126, 127}
	testWide   = []int64{math.MinInt64, math.MinInt64 + 1, -(1<<53 + 1), -1 << 53, -3, -1, 0, 1, 2, 3, 5, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}
	testFloats = []float64{
		math.Inf(-1), -math.MaxFloat32, -2.5, -1, -math.SmallestNonzeroFloat32, math.Copysign(0, -1), 0,
		math.SmallestNonzeroFloat32, 0.5, 1, 1.5, 2, 3, 100, math.MaxFloat32, math.Inf(1), math.NaN(),
	}
	testDays = []int64{-719162, -1, 0, 1, 18262, 18321, 18322, 18628, 18700, 19000, 2932896} // 0001-01-01 … 9999-12-31
	// The last six are around the changes of New York's offset in 2020: 8 March 07:00 and 1 November 06:00, UTC.
	testMicros = []int64{
		-62135596800000000, -1, 0, 1, 999, 1000, 1577836800000000, 1577836800123456, 1582934400000000, 1609459199999999,
		1609459200000000, 253402300799999999,
		1583650799999999, 1583650800000000, 1604206800000000, 1604210399999999, 1604210400000000, 1604217600000000,
	}
)

// valuesOf returns the values that tests draw for a type, from few enough that values meet.
func valuesOf(typ schema.Type) (values []predicate.Value) {
	ints := func(more ...int64) {
		for _, i := range append(more, testInts...) {
			values = append(values, predicate.Value{Type: typ, I: i})
		}
	}
	switch typ.Kind {
	case schema.Boolean:
		values = []predicate.Value{{Type: typ, I: 0}, {Type: typ, I: 1}}
	case schema.Byte:
		ints()
	case schema.Short:
		ints(math.MinInt16, math.MaxInt16)
	case schema.Integer:
		ints(math.MinInt32, math.MaxInt32)
	case schema.Long:
		ints(testWide...)
	case schema.Float:
		for _, f := range testFloats {
			values = append(values, predicate.Value{Type: typ, F: float64(float32(f))})
		}
	case schema.Double:
		for _, f := range append([]float64{math.MaxFloat64, 1 << 53, 0.1}, testFloats...) {
			values = append(values, predicate.Value{Type: typ, F: f})
		}
	case schema.Decimal:
		unscaled := []int64{-9999999999, -250, -100, -1, 0, 1, 99, 100, 150, 200, 250, 300, 9999999999}
		if typ.Precision > 18 { // where doubles are too coarse
			unscaled = append(unscaled, -12345678901234567, 1e15-1, 1e15+1, 9007199254740993, 90071992547409930, 90071992547409931, 123456789012345678)
		}
		for _, u := range unscaled {
			values = append(values, predicate.Value{Type: typ, D: decimal128.FromI64(u)})
		}
	case schema.String:
		for _, s := range testPools[schema.String] {
			values = append(values, predicate.Value{Type: typ, S: s})
		}
	case schema.Binary:
		for _, s := range []string{"", "a", "b", "\x00", "\xff", "\xff\xff\xff\xff\xff\xff\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
			values = append(values, predicate.Value{Type: typ, S: s})
		}
	case schema.Date:
		for _, i := range testDays {
			values = append(values, predicate.Value{Type: typ, I: i})
		}
	case schema.Timestamp, schema.TimestampNTZ:
		for _, i := range testMicros {
			values = append(values, predicate.Value{Type: typ, I: i})
		}
	}
	return values
}

// drawValue draws a value of a column's type.
func drawValue(t *rapid.T, typ schema.Type) predicate.Value {
	return rapid.SampledFrom(valuesOf(typ)).Draw(t, "value")
}

// A testFile is the rows of a file: a value for each column of the table.
type testFile []testRow

type testRow map[*schema.Column]predicate.Value

func (r testRow) Value(c *schema.Column) predicate.Value { return r[c] }

// drawFile draws a file of a few rows. In partition columns all rows agree.
func drawFile(t *rapid.T, columns []*schema.Column, rows int) testFile {
	f := make(testFile, rows)
	for i := range f {
		f[i] = testRow{}
	}
	for _, c := range columns {
		shape := rapid.IntRange(0, 3).Draw(t, "shape") // all NULL, one value, no NULLs, anything
		v := drawValue(t, c.Type)
		for i := range f {
			switch {
			case shape == 0:
				v = predicate.NullOf(c.Type)
			case c.Partition || shape == 1:
			case shape == 3 && rapid.IntRange(0, 2).Draw(t, "null") == 0:
				v = predicate.NullOf(c.Type)
			default:
				v = drawValue(t, c.Type)
			}
			f[i][c] = v
		}
	}
	return f
}

// fileFacts is what a writer and colstats may leave of a column of one file.
type fileFacts struct {
	bounded, noNull, allNull, mayNaN bool
	lower, upper                     predicate.Value
}

// drawFacts draws facts that hold of the file's values of a column: the sharpest, or dulled somehow.
func drawFacts(t *rapid.T, c *schema.Column, f testFile) fileFacts {
	facts := fileFacts{noNull: true, allNull: true}
	var known bool
	for _, row := range f {
		v := row[c]
		switch {
		case v.Null:
			facts.noNull = false
		case math.IsNaN(v.F):
			facts.allNull, facts.mayNaN = false, true
		default:
			facts.allNull = false
			if !known || v.Compare(facts.lower) < 0 {
				facts.lower = v
			}
			if !known || v.Compare(facts.upper) > 0 {
				facts.upper = v
			}
			known = true
		}
	}
	facts.bounded = known
	if facts.mayNaN && !known {
		facts.bounded = true
		facts.lower = predicate.Value{Type: c.Type, F: math.NaN()}
		facts.upper = facts.lower
	}
	if _, ok := colstats.ArrowType(c.Type); !ok {
		facts.bounded = false
	}
	if isFloat(c.Type) && rapid.Bool().Draw(t, "unordered NaN") {
		facts.mayNaN = true
	}
	if c.Partition {
		return facts
	}
	if rapid.IntRange(0, 3).Draw(t, "dulled") == 0 {
		facts.noNull = facts.noNull && rapid.Bool().Draw(t, "no null known")
		facts.allNull = facts.allNull && rapid.Bool().Draw(t, "all null known")
		facts.bounded = facts.bounded && rapid.IntRange(0, 2).Draw(t, "bounds known") > 0
		widen(t, c, &facts)
	}
	if facts.bounded && (c.Type.Kind == schema.Timestamp || c.Type.Kind == schema.TimestampNTZ) { // as colstats does
		facts.lower.I = floor(facts.lower.I, 1000)
		facts.upper.I = floor(facts.upper.I, 1000) + 1000
	}
	return facts
}

// drawLess draws facts that say less.
func drawLess(t *rapid.T, c *schema.Column, facts fileFacts) fileFacts {
	switch rapid.IntRange(0, 5).Draw(t, "lost") {
	case 0:
		facts.bounded = false
	case 1:
		facts.noNull = false
	case 2:
		facts.allNull = false
	case 3:
		facts.mayNaN = isFloat(c.Type)
	case 4:
		widen(t, c, &facts)
	}
	return facts
}

func floor(i, unit int64) int64 {
	m := i % unit
	if m < 0 {
		m += unit
	}
	return i - m
}

// widen moves bounds outwards.
func widen(t *rapid.T, c *schema.Column, facts *fileFacts) {
	if !facts.bounded || math.IsNaN(facts.lower.F) || math.IsNaN(facts.upper.F) {
		return
	}
	if v := drawValue(t, c.Type); !math.IsNaN(v.F) && v.Compare(facts.lower) < 0 {
		facts.lower = v
	}
	if v := drawValue(t, c.Type); !math.IsNaN(v.F) && v.Compare(facts.upper) > 0 {
		facts.upper = v
	}
}

// makeFacts lays facts of many files out as a batch does, at an odd offset and with garbage where nothing is known.
func makeFacts(t *rapid.T, c *schema.Column, files []fileFacts) *colstats.Facts {
	offset := rapid.IntRange(0, 9).Draw(t, "offset")
	files = slices.Clone(files)
	for i := range files {
		if !files[i].bounded {
			files[i].lower, files[i].upper = drawValue(t, c.Type), drawValue(t, c.Type)
		}
	}
	return layFacts(c, files, offset, rapid.Bool().Draw(t, "nil bitmaps"))
}

// layFacts lays facts of many files out as a batch does.
func layFacts(c *schema.Column, files []fileFacts, offset int, nilBitmaps bool) *colstats.Facts {
	f := &colstats.Facts{Column: c, ExactZero: c.Partition}
	bitmap := func(bit func(fileFacts) bool) []uint64 {
		if nilBitmaps && !slices.ContainsFunc(files, bit) {
			return nil
		}
		b := make([]uint64, (len(files)+63)/64)
		for i, file := range files {
			b[i/64] |= b2u(bit(file)) << (i % 64)
		}
		return b
	}
	f.Bounded = bitmap(func(f fileFacts) bool { return f.bounded })
	f.NoNull = bitmap(func(f fileFacts) bool { return f.noNull })
	f.AllNull = bitmap(func(f fileFacts) bool { return f.allNull })
	f.MayNaN = bitmap(func(f fileFacts) bool { return f.mayNaN })
	if _, ok := colstats.ArrowType(c.Type); !ok {
		f.Bounded = nil
		return f
	}
	lower := slices.Repeat([]predicate.Value{files[0].upper}, offset)
	upper := slices.Repeat([]predicate.Value{files[0].lower}, offset)
	for _, file := range files {
		lower, upper = append(lower, file.lower), append(upper, file.upper)
	}
	f.Lower, f.Upper = makeArray(c.Type, lower, offset), makeArray(c.Type, upper, offset)
	addHeads(f)
	return f
}

// addHeads fills in the heads of bounds.
func addHeads(f *colstats.Facts) {
	if f.Column.Type.Kind == schema.String || f.Column.Type.Kind == schema.Binary {
		f.LowerHeads, f.UpperHeads = colstats.Heads(f.Lower), colstats.Heads(f.Upper)
	}
}

// makeArray makes an Arrow array of values or NULLs, all but the first skip of them.
func makeArray(t schema.Type, values []predicate.Value, skip int) arrow.Array {
	typ, _ := colstats.ArrowType(t)
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	defer b.Release()
	for _, v := range values {
		if v.Null {
			b.AppendNull()
			continue
		}
		switch b := b.(type) {
		case *array.BooleanBuilder:
			b.Append(v.I != 0)
		case *array.Int8Builder:
			b.Append(int8(v.I))
		case *array.Int16Builder:
			b.Append(int16(v.I))
		case *array.Int32Builder:
			b.Append(int32(v.I))
		case *array.Int64Builder:
			b.Append(v.I)
		case *array.Date32Builder:
			b.Append(arrow.Date32(v.I))
		case *array.TimestampBuilder:
			b.Append(arrow.Timestamp(v.I))
		case *array.Float32Builder:
			b.Append(float32(v.F))
		case *array.Float64Builder:
			b.Append(v.F)
		case *array.Decimal128Builder:
			b.Append(v.D)
		case *array.StringBuilder:
			b.Append(v.S)
		case *array.BinaryBuilder:
			b.Append([]byte(v.S))
		default:
			panic(fmt.Sprintf("no test values of %v", typ))
		}
	}
	a := b.NewArray()
	defer a.Release()
	return array.NewSlice(a, int64(skip), int64(len(values)))
}

func TestOrdinals(t *testing.T) {
	for _, name := range []string{"bo", "by", "sh", "i", "l", "f", "d", "e", "big", "dt", "ts"} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			typ := testColumn(name).Type
			d := domainOf(typ)
			a, b := drawValue(t, typ), drawValue(t, typ)
			oa, ob := d.ordinal(a), d.ordinal(b)
			if (a.Compare(b) < 0) != oa.less(ob) {
				t.Fatalf("%v and %v: ordinals %v and %v", a, b, oa, ob)
			}
			if back := d.value(oa); back.Compare(a) != 0 {
				t.Fatalf("%v came back as %v", a, back)
			}
			if oa.less(ob) {
				if m := oa.middle(ob); m.less(oa) || !m.less(ob) {
					t.Fatalf("%v is not between %v and %v", m, oa, ob)
				}
			}
			if next, ok := d.after(a); ok {
				if next.Compare(a) <= 0 || d.ordinal(next).prev() != oa {
					t.Fatalf("%v follows %v", next, a)
				}
			} else if a.Compare(d.most) != 0 {
				t.Fatalf("nothing follows %v", a)
			}
		}))
	}
}

// A predicateGen draws SQL over some columns of the tests' table.
type predicateGen struct {
	*rapid.T
	columns []*schema.Column
}

func (g predicateGen) oneOf(alternatives ...func() string) string {
	return alternatives[rapid.IntRange(0, len(alternatives)-1).Draw(g.T, "alternative")]()
}

func (g predicateGen) pick(texts ...string) string { return rapid.SampledFrom(texts).Draw(g.T, "text") }

func (g predicateGen) column(ok func(schema.Type) bool) *schema.Column {
	var fit []*schema.Column
	for _, c := range g.columns {
		if ok == nil || ok(c.Type) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return rapid.SampledFrom(fit).Draw(g.T, "column")
}

func (g predicateGen) literal(t schema.Type) string { return drawValue(g.T, t).SQL() }

func (g predicateGen) op() string { return g.pick("=", "<>", "<", "<=", ">", ">=", "<=>") }

// Calls by the kind of column that takes the place of x, with literals to compare them with.
var (
	numberCalls = [][]string{
		{"floor(round(x, 1))", "0", "2", "4", "100"}, {"ceil(-x)", "0", "-2", "-4"}, {"floor(greatest(x, 2))", "2", "3", "0"}, {"sign(rint(x))", "1", "0"},
		{"greatest(x, 2)", "2", "5", "0"}, {"least(x, 2)", "2", "5", "0"}, {"greatest(x, NULL, 1)", "1", "3"}, {"bround(x, -1)", "0", "10", "100"},
		{"sqrt(x)", "1", "1.5", "2", "10"}, {"exp(x)", "1", "2.718281828459045D", "0"}, {"ln(x)", "0", "1", "4.605170185988092D"},
		{"log10(x)", "2", "0"}, {"log2(x)", "1", "0"}, {"pow(x, 2)", "4", "9", "0"}, {"pow(2, x)", "4", "8", "0.5"}, {"pmod(x, 3)", "0", "1", "2"},
		{"width_bucket(x, 0, 10, 5)", "0", "1", "2", "6"}, {"width_bucket(x, 10, 0, 5)", "0", "5", "6"}, {"nullifzero(x)", "1", "-1"},
		{"zeroifnull(x)", "0", "1"}, {"nvl2(x, 1, 2)", "1", "2"}, {"(x <=> 1)", "true", "false"}, {"isnan(x)", "true", "false"}, {"nanvl(x, 1)", "1", "2"},
		{"hash(x)", "0", "-559580957"}, {"bigint(x)", "0", "2", "-1"}, {"rint(x)", "0", "2"}, {"try_mod(x, 0)", "0"}, {"positive(x)", "1"},
		{"decode(x, 1, 'a', 2, 'b', 'c')", "'a'", "'c'"}, {"elt(x, 'a', 'b')", "'a'", "'b'"}, {"typeof(x)", "'int'"}, {"round(x, 1)", "0.5", "2.5", "0"},
		{"hex(x)", "'1'", "'FFFFFFFFFFFFFFFF'"}, {"repeat('a', x)", "''", "'aa'"}, {"make_date(2020, x, 1)", "DATE'2020-03-01'"},
		{"date_add(DATE'2020-01-01', try_cast(x AS smallint))", "DATE'2020-01-02'", "DATE'2019-12-31'"}, {"timestamp_seconds(x)", "TIMESTAMP'1970-01-01 00:00:01'"},
	}
	integerCalls = [][]string{
		{"shiftright(x, 1)", "0", "1", "-1"}, {"shiftleft(x, 1)", "0", "2", "4"}, {"(x & 1)", "0", "1"}, {"~x", "-1", "-2", "0"}, {"bit_count(x)", "0", "1", "64"},
	}
	textCalls = [][]string{
		{"left(x, 1)", "'a'", "'b'", "''", "'é'"}, {"left(x, 2)", "'ab'", "'ba'", "'zz'"}, {"substring(x, 0, 2)", "'ab'", "'éa'"}, {"concat('p', x)", "'pa'", "'p'", "'pb'"},
		{"concat('p', x, 'a')", "'paa'", "'paba'"}, {"right(x, 1)", "'a'", "'b'"}, {"initcap(x)", "'Ab'", "'A'"}, {"lpad(x, 2, '0')", "'0a'", "'ab'"},
		{"rpad(x, 2, '0')", "'a0'", "'ab'"}, {"instr(x, 'b')", "0", "1", "2"}, {"locate('a', x)", "0", "1"}, {"replace(x, 'a', 'z')", "'z'", "'zb'"},
		{"translate(x, 'ab', 'ba')", "'b'", "'ba'"}, {"ascii(x)", "97", "0"}, {"(x RLIKE '^a.')", "true", "false"}, {"regexp_extract(x, 'b', 0)", "''", "'b'"},
		{"split_part(x, 'b', 1)", "'a'", "''"}, {"md5(x)", "'0cc175b9c0f1b6a831c399e269772661'"}, {"levenshtein(x, 'ab')", "0", "1", "2"},
		{"soundex(x)", "'A100'"}, {"concat_ws('-', x, 'q')", "'a-q'", "'q'"}, {"nullif(x, 'a')", "'b'", "''"}, {"find_in_set(x, 'a,b')", "0", "1"},
		{"try_to_date(x, 'yyyy-MM-dd')", "DATE'2020-01-01'"}, {"greatest(x, 'b')", "'b'", "'z'"}, {"(unbase64('YQ==') = x)", "true"}, {"btrim(x, 'a')", "'b'", "''"},
	}
	dateCalls = [][]string{
		{"last_day(x)", "DATE'2020-02-29'", "DATE'2020-03-31'"}, {"next_day(x, 'MO')", "DATE'2020-01-06'"}, {"add_months(x, 1)", "DATE'2020-02-01'", "DATE'2020-03-29'"},
		{"datediff(x, DATE'2020-01-01')", "0", "59", "60", "-1"}, {"datediff(DATE'2020-01-01', x)", "0", "-60"}, {"date_sub(x, 1)", "DATE'2019-12-31'"},
		{"weekofyear(x)", "1", "9", "53"}, {"dayofyear(x)", "1", "61"}, {"date_part('yearofweek', x)", "2020", "1970"}, {"date_part('year', x)", "2020", "1969"},
		{"(x + INTERVAL 1 DAY)", "DATE'2020-01-02'", "TIMESTAMP'2020-11-02 01:00:00'"}, {"(x - INTERVAL 1 MONTH)", "DATE'2019-12-01'", "TIMESTAMP'2020-10-01 01:00:00'"},
		{"timestampadd(HOUR, 1, x)", "TIMESTAMP'2020-03-08 03:00:00'", "TIMESTAMP'2020-11-01 02:00:00'"}, {"timestampdiff(HOUR, x, TIMESTAMP'2020-11-01 01:00:00')", "0", "1", "-1"},
		{"timestampdiff(MONTH, TIMESTAMP'2020-01-01 00:00:00', x)", "0", "1", "2"}, {"hour(x)", "0", "1", "2"}, {"date_format(x, 'yyyy-MM')", "'2020-01'", "'2020-11'"},
		{"months_between(x, DATE'2020-01-01')", "0", "2", "10"}, {"greatest(x, DATE'2020-01-01')", "DATE'2020-01-01'", "DATE'2020-03-01'"},
		{"date_trunc('minute', x)", "TIMESTAMP'2020-11-01 01:59:00'"}, {"to_unix_timestamp(x)", "0", "1577836800"}, {"dayname(x)", "'Wed'", "'Sun'"},
		{"from_utc_timestamp(x, 'America/New_York')", "TIMESTAMP'2020-11-01 01:00:00'"}, {"to_utc_timestamp(x, 'America/New_York')", "TIMESTAMP'2020-11-01 06:00:00'"},
	}
)

func (g predicateGen) call(calls [][]string, column string) (expr, literal string) {
	c := rapid.SampledFrom(calls).Draw(g.T, "call")
	return regexp.MustCompile(`\bx\b`).ReplaceAllString(c[0], column), g.pick(c[1:]...)
}

// value draws an expression and a literal that compares with it.
func (g predicateGen) value(depth int) (expr, literal string) {
	c := g.column(nil)
	name, t := c.String(), c.Type
	if depth <= 0 || rapid.IntRange(0, 2).Draw(g.T, "plain") > 0 {
		return name, g.literal(t)
	}
	small := func() string { return g.pick("-2", "-1", "0", "1", "2", "3") }
	number := func(f string) (string, string) { return f, g.pick("-3", "0", "1", "2.5", "4", "100", "5D", "127") }
	switch {
	case isNumeric(t):
		switch rapid.IntRange(0, 15).Draw(g.T, "number") {
		case 12:
			if !isFloat(t) && t.Kind != schema.Decimal {
				return g.call(integerCalls, name)
			}
		case 13, 14, 15:
			return g.call(numberCalls, name)
		case 0:
			return number(name + " " + g.pick("+", "-", "*") + " " + small())
		case 1:
			return number(small() + " " + g.pick("+", "-", "*") + " " + name)
		case 2:
			return number(name + " " + g.pick("/", "DIV", "%") + " " + small())
		case 3:
			return number("abs(" + name + ")")
		case 4:
			return number("-" + name)
		case 5:
			return number(g.pick("floor", "ceil", "sign", "round") + "(" + name + ")")
		case 6:
			return number(g.pick("cast", "try_cast") + "(" + name + " AS " + g.pick("int", "bigint", "double", "float", "decimal(12,1)", "smallint", "tinyint") + ")")
		case 7:
			return "cast(" + name + " AS string)", g.pick("'1'", "'2.5'", "'-1'", "'0.0'", "'-0.0'")
		case 8:
			return number(g.pick("try_add", "try_subtract", "try_multiply", "try_divide") + "(" + name + ", " + small() + ")")
		case 9:
			if o := g.column(isNumeric); o != nil {
				return number(name + " " + g.pick("+", "-", "*", "/", "%") + " " + o.String())
			}
		case 10:
			if o := g.column(isNumeric); o != nil {
				return number(g.pick("greatest", "least", "coalesce", "nullif", "nvl") + "(" + name + ", " + o.String() + ")")
			}
		}
		return number(name)
	case t.Kind == schema.String:
		text := func(f string) (string, string) { return f, g.literal(t) }
		switch rapid.IntRange(0, 9).Draw(g.T, "text") {
		case 7, 8, 9:
			return g.call(textCalls, name)
		case 0:
			return text(g.pick("upper", "lower", "trim", "reverse") + "(" + name + ")")
		case 1:
			return "length(" + name + ")", g.pick("0", "1", "2", "3")
		case 2:
			return text("substring(" + name + ", 1, " + g.pick("0", "1", "2") + ")")
		case 3:
			return text("concat(" + name + ", 'b')")
		case 4:
			return "try_cast(" + name + " AS int)", g.pick("10", "-3", "0")
		case 5:
			return "cast(" + name + " AS date)", "DATE'2020-01-01'"
		}
		return text(name)
	case t.Kind == schema.Date || t.Kind == schema.Timestamp || t.Kind == schema.TimestampNTZ:
		switch rapid.IntRange(0, 14).Draw(g.T, "time") {
		case 10, 11, 12, 13, 14:
			return g.call(dateCalls, name)
		case 0:
			return "year(" + name + ")", g.pick("1969", "1970", "2020", "2021")
		case 1:
			return g.pick("month", "day", "quarter", "dayofweek") + "(" + name + ")", g.pick("1", "3", "11", "12")
		case 2:
			return "date_trunc('" + g.pick("year", "month", "day", "hour", "week") + "', " + name + ")", g.pick("TIMESTAMP'2020-01-01 00:00:00'", "TIMESTAMP'2020-11-01 00:00:00'")
		case 3:
			return "trunc(" + name + ", '" + g.pick("year", "month", "week") + "')", g.pick("DATE'2020-01-01'", "DATE'2021-01-01'")
		case 4:
			return "to_date(" + name + ")", g.literal(schema.Type{Kind: schema.Date})
		case 5:
			to := g.pick("date", "timestamp", "timestamp_ntz")
			kind := map[string]schema.Kind{"date": schema.Date, "timestamp": schema.Timestamp, "timestamp_ntz": schema.TimestampNTZ}[to]
			return "cast(" + name + " AS " + to + ")", g.literal(schema.Type{Kind: kind})
		case 6:
			return "unix_timestamp(" + name + ")", g.pick("0", "1577836800", "1604206800")
		case 7:
			return "date_add(" + name + ", " + small() + ")", g.literal(schema.Type{Kind: schema.Date})
		case 8:
			return "cast(" + name + " AS string)", g.pick("'2020-01-01'", "'2020-11-01 01:00:00'")
		}
	}
	return name, g.literal(t)
}

// boolean draws a boolean expression.
func (g predicateGen) boolean(depth int) string {
	if depth > 0 && rapid.IntRange(0, 3).Draw(g.T, "inner") > 0 {
		x := func() string { return "(" + g.boolean(depth-1) + ")" }
		return g.oneOf(
			func() string { return x() + " AND " + x() },
			func() string { return x() + " AND " + x() },
			func() string { return x() + " OR " + x() },
			func() string { return x() + " OR " + x() },
			func() string { return "NOT " + x() },
			func() string { return x() + " IS " + g.pick("NULL", "NOT NULL") },
			func() string {
				return x() + " " + g.pick("<=>", "=", "<>") + " " + g.pick("true", "false", "NULL", x())
			},
			func() string { return "if(" + x() + ", " + x() + ", " + x() + ")" },
			func() string { return "CASE WHEN " + x() + " THEN " + x() + " WHEN " + x() + " THEN " + x() + " END" },
			func() string { return "coalesce(" + x() + ", " + x() + ")" },
		)
	}
	return g.oneOf(
		func() string { e, l := g.value(1); return e + " " + g.op() + " " + l },
		func() string { e, l := g.value(1); return e + " " + g.op() + " " + l },
		func() string { e, l := g.value(1); return l + " " + g.op() + " " + e },
		func() string { e, _ := g.value(1); return e + " IS " + g.pick("NULL", "NOT NULL") },
		func() string { e, l := g.value(1); return e + " IN (" + l + ", " + l + g.pick("", ", NULL") + ")" },
		func() string {
			c := g.column(nil)
			list := []string{g.literal(c.Type), g.literal(c.Type), g.literal(c.Type), g.literal(c.Type)}
			return c.String() + g.pick(" IN (", " NOT IN (") + strings.Join(list, ", ") + g.pick("", ", NULL") + ")"
		},
		func() string {
			c := g.column(nil)
			return c.String() + g.pick(" ", " NOT ") + "BETWEEN " + g.literal(c.Type) + " AND " + g.literal(c.Type)
		},
		func() string {
			if c := g.column(func(t schema.Type) bool { return t.Kind == schema.String }); c != nil {
				return c.String() + g.pick(" ", " NOT ") + "LIKE '" + g.pick("a%", "ab%", "a", "%", "a_c%", "%b", "", "é%", "_", "a\\\\%%") + "'"
			}
			return "true"
		},
		func() string {
			if c := g.column(func(t schema.Type) bool { return t.Kind == schema.String }); c != nil {
				return g.pick("startswith", "contains", "endswith") + "(" + c.String() + ", " + g.pick("'a'", "'ab'", "''", "NULL") + ")"
			}
			return "false"
		},
		func() string {
			c := g.column(nil)
			o := g.column(func(t schema.Type) bool { return t.Kind == c.Type.Kind })
			return c.String() + " " + g.op() + " " + o.String()
		},
		func() string {
			a, _ := g.value(1)
			b, _ := g.value(1)
			return a + " " + g.op() + " " + b
		},
		func() string {
			if c := g.column(func(t schema.Type) bool { return t.Kind == schema.Boolean }); c != nil {
				return c.String()
			}
			return "NULL"
		},
		func() string {
			if c := g.column(isFloat); c != nil {
				return "isnan(" + c.String() + ")"
			}
			return "true"
		},
	)
}
