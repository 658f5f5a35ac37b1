package colstats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"pgregory.net/rapid"
)

// drawJSON draws a JSON text that looks like statistics, in the order, spelling and shape that it likes.
func drawJSON(t *rapid.T, depth int) string {
	key := rapid.SampledFrom([]string{
		`"x"`, `"i"`, `"s"`, `"d"`, `"w"`, `"de"`, `"t"`, `"n"`, `"dt"`, `"b"`, `"a"`, `"z"`, `"y"`, `"z.z"`, `"stats"`, `"p"`, `"\u0078"`, `"q\"\\é"`, `"ghost"`, `"\ud800"`,
		`"minValues"`, `"maxValues"`, `"nullCount"`, `"numRecords"`, `"tightBounds"`,
	})
	scalar := rapid.OneOf(
		rapid.SampledFrom([]string{
			"null", "true", "false", "0", "-0", "1", "10", "-1", "1.5", "1e2", "-1.0E+3", "9007199254740993", "9223372036854775807", "9223372036854775808", "1e400",
			`""`, `"a"`, `"b\n"`, `"\ud83c\udf3c"`, `"\ud800"`, `"NaN"`, `"Infinity"`, `"2020-01-01"`, `"2020-01-01T00:00:00.000Z"`, `"2020-01-01T00:00:00.000+01:00"`, `"🌼"`,
		}),
		rapid.Map(rapid.Int64Range(-200, 200), func(v int64) string { return strconv.FormatInt(v, 10) }),
		rapid.Map(rapid.String(), quoted),
	)
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
		return scalar.Draw(t, "scalar")
	}
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n\t"})
	n := rapid.IntRange(0, 6).Draw(t, "members")
	var members []string
	for range n {
		members = append(members, key.Draw(t, "key")+space.Draw(t, "space")+":"+space.Draw(t, "space")+drawJSON(t, depth-1))
	}
	return "{" + space.Draw(t, "space") + strings.Join(members, ","+space.Draw(t, "space")) + "}"
}

// drawStatistics draws the statistics of a file whose sections are objects more often than not.
func drawStatistics(t *rapid.T) string {
	var members []string
	for _, key := range []string{"numRecords", "minValues", "maxValues", "nullCount", "zzz"} {
		switch rapid.IntRange(0, 9).Draw(t, key) {
		case 0:
		case 1:
			members = append(members, quoted(key)+":"+drawJSON(t, 2), quoted(key)+":"+drawJSON(t, 2))
		default:
			v := "10"
			if key != "numRecords" {
				v = drawJSON(t, 3)
			}
			members = append(members, quoted(key)+":"+v)
		}
	}
	members = rapid.Permutation(members).Draw(t, "order")
	return "{" + strings.Join(members, ",") + "}"
}

func TestRandomStatistics(t *testing.T) {
	layout := fuzzLayout(t)
	rapid.Check(t, func(rt *rapid.T) {
		before, text := drawStatistics(rt), drawStatistics(rt)
		if rapid.IntRange(0, 9).Draw(rt, "spoil") == 0 {
			at := rapid.IntRange(0, len(text)).Draw(rt, "at")
			text = text[:at] + rapid.SampledFrom([]string{"", ",", "}", `"`, `\`, "0", "\x00", "{"}).Draw(rt, "with") + text[min(len(text), at+1):]
		}
		checkStatistics(t, layout, before, text)
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// A writer knows the rows of a file and writes statistics about them, which may be less than it knows.
type writer struct {
	records int
	columns []writtenColumn
}

type writtenColumn struct {
	name                   string
	least, greatest, nulls string // as JSON, empty when left out
}

// drawWriter draws consistent statistics of the columns of relationLayout.
func drawWriter(t *rapid.T) *writer {
	w := &writer{records: rapid.IntRange(1, 5).Draw(t, "records")}
	for _, c := range []struct {
		name   string
		values []string // in order
	}{
		{"x", []string{"-9223372036854775808", "-5", "0", "1", "9007199254740993", "9223372036854775807"}},
		{"d", []string{`"-Infinity"`, "-1.5", "0.0", "0.1", "1e300", `"Infinity"`, `"NaN"`}},
		{"f", []string{"-1.5", "-0.0", "0.1", "16777216"}},
		{"w", []string{"-1.5", "0.1", "0.3", "7"}},
		{"de", []string{"-99999999.99", "-1.005", "0.00", "1.50", "99999999.99"}},
		{"t", []string{`"1870-02-03T04:05:06.000+00:53"`, `"1969-12-31T23:59:59.999Z"`, `"2020-01-01T00:00:00.000Z"`, `"2020-01-02T00:00:00"`, `"9999-12-31T23:59:59.999Z"`}},
		{"s", []string{`""`, `"a"`, quoted(strings.Repeat("a", 32)), quoted(strings.Repeat("a", 32) + "\uFFFD"), `"é"`, `"🌼"`}},
		{"dt", []string{`"-0001-01-01"`, `"1969-12-31"`, `"2020-01-01"`}},
		{"b", []string{"false", "true"}},
	} {
		lo := rapid.IntRange(0, len(c.values)-1).Draw(t, "least")
		hi := rapid.IntRange(lo, len(c.values)-1).Draw(t, "greatest")
		column := writtenColumn{name: c.name, nulls: strconv.Itoa(rapid.IntRange(0, w.records).Draw(t, "nulls"))}
		if column.nulls != strconv.Itoa(w.records) {
			column.least, column.greatest = c.values[lo], c.values[hi]
		}
		w.columns = append(w.columns, column)
	}
	return w
}

func (w *writer) String() string {
	section := func(of func(c writtenColumn) string) string {
		var members []string
		for _, c := range w.columns {
			if v := of(c); v != "" {
				members = append(members, quoted(c.name)+":"+v)
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	return fmt.Sprintf(`{"numRecords":%d,"minValues":%s,"maxValues":%s,"nullCount":%s}`, w.records,
		section(func(c writtenColumn) string { return c.least }),
		section(func(c writtenColumn) string { return c.greatest }),
		section(func(c writtenColumn) string { return c.nulls }))
}

func relationLayout(t testing.TB) *Layout {
	layout := newLayout(t, "x long, d double, f float, w double, de decimal(10,2), t timestamp, s string, dt date, b boolean")
	layout.Demands[3] = layoutOf(t, `{"type":"struct","fields":[{"name":"w","type":"double","nullable":true,"metadata":{"delta.typeChanges":[{"fromType":"float","toType":"double"}]}}]}`).Demands[0]
	return layout
}

// compareBounds compares two bounds of the same column in Spark's order.
func compareBounds(a, b arrow.Array) int {
	switch a := a.(type) {
	case *array.Int64:
		return cmp.Compare(a.Value(0), b.(*array.Int64).Value(0))
	case *array.Float32:
		return compareFloats(float64(a.Value(0)), float64(b.(*array.Float32).Value(0)))
	case *array.Float64:
		return compareFloats(a.Value(0), b.(*array.Float64).Value(0))
	case *array.Decimal128:
		return a.Value(0).Cmp(b.(*array.Decimal128).Value(0))
	case *array.Timestamp:
		return cmp.Compare(a.Value(0), b.(*array.Timestamp).Value(0))
	case *array.Date32:
		return cmp.Compare(a.Value(0), b.(*array.Date32).Value(0))
	case *array.String:
		return cmp.Compare(a.Value(0), b.(*array.String).Value(0))
	case *array.Boolean:
		return bytes.Compare([]byte(a.ValueStr(0)), []byte(b.ValueStr(0))) // "false" < "true"
	}
	panic(a.DataType().String())
}

func compareFloats(a, b float64) int {
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a):
		return 1
	case math.IsNaN(b):
		return -1
	}
	return cmp.Compare(a, b)
}

// weaker says why the facts of a file are not implied by stronger ones, or "".
func weaker(weak, strong *Facts) string {
	if IsSet(weak.NoNull, 0) && !IsSet(strong.NoNull, 0) {
		return "no NULL"
	}
	if IsSet(weak.AllNull, 0) && !IsSet(strong.AllNull, 0) {
		return "all NULL"
	}
	if !IsSet(weak.Bounded, 0) || IsSet(strong.AllNull, 0) {
		return ""
	}
	if !IsSet(strong.Bounded, 0) {
		return "bounds"
	}
	if IsSet(strong.MayNaN, 0) && !IsSet(weak.MayNaN, 0) {
		return "no NaN"
	}
	nan := strings.HasPrefix(boundString(strong.Lower, 0), "NaN")
	if nan && IsSet(weak.MayNaN, 0) {
		return "" // all values are NaN, which the weaker facts allow
	}
	if compareBounds(weak.Lower, strong.Lower) > 0 || compareBounds(weak.Upper, strong.Upper) < 0 {
		return "narrower bounds"
	}
	return ""
}

// Less knowledge proves less: what a writer leaves out, nulls or widens only clears bits and moves bounds outwards.
func TestLessKnowledgeProvesLess(t *testing.T) {
	layout := relationLayout(t)
	rapid.Check(t, func(t *rapid.T) {
		w := drawWriter(t)
		less := &writer{records: w.records, columns: slices.Clone(w.columns)}
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			c := &less.columns[rapid.IntRange(0, len(less.columns)-1).Draw(t, "column")]
			leaf := rapid.SampledFrom([]*string{&c.least, &c.greatest, &c.nulls}).Draw(t, "leaf")
			*leaf = rapid.SampledFrom([]string{"", "null", "[]", `{"z":1}`, `"\ud800"`}).Draw(t, "instead")
		}
		order := rapid.SampledFrom([]NaNOrder{NaNUnknown, NaNOrdered}).Draw(t, "order")
		facts := func(stats string, o NaNOrder) *Batch {
			b := NewBuilder(layout, Options{NaN: o})
			if err := b.Append(&File{Stats: stats}); err != nil {
				t.Fatal(err)
			}
			return b.Flush()
		}
		strong := facts(w.String(), order)
		for name, weak := range map[string]*Batch{
			"leaves changed":    facts(less.String(), order),
			"writer not known":  facts(w.String(), NaNUnknown),
			"no numRecords":     facts(strings.Replace(w.String(), "numRecords", "ghost", 1), order),
			"no nullCount":      facts(strings.Replace(w.String(), "nullCount", "ghost", 1), order),
			"minValues is null": facts(strings.Replace(w.String(), `"minValues":`, `"minValues":null,"ghost":`, 1), order),
			"maxValues twice":   facts(strings.Replace(w.String(), `"maxValues":`, `"maxValues":{},"maxValues":`, 1), order),
			"cut":               facts(w.String()[:len(w.String())-1], order),
		} {
			for i := range layout.Demands {
				if why := weaker(weak.Facts(i), strong.Facts(i)); why != "" {
					t.Errorf("%s: %q proves %s of %q, %q does not: %s and %s", name, less, why, layout.Demands[i].Column, w, describe(weak.Facts(i), 0), describe(strong.Facts(i), 0))
				}
			}
		}
	})
}

// Struct leaves say what the text says.
func TestStructAndTextAgree(t *testing.T) {
	layout := newLayout(t, "x long, i integer, d double, f float, b boolean, s string, dt date")
	rapid.Check(t, func(t *rapid.T) {
		const n = 70
		raw := &Raw{Len: n, Demands: make([]RawDemand, len(layout.Demands))}
		records := array.NewInt64Builder(Options{}.allocator())
		type leaf struct{ least, greatest, nulls array.Builder }
		var leaves []leaf
		for i := range layout.Demands {
			dt, _ := ArrowType(layout.Demands[i].Column.Type)
			leaves = append(leaves, leaf{array.NewBuilder(Options{}.allocator(), dt), array.NewBuilder(Options{}.allocator(), dt), array.NewBuilder(Options{}.allocator(), arrow.PrimitiveTypes.Int64)})
		}
		values := []*rapid.Generator[string]{
			rapid.Map(rapid.Int64(), func(v int64) string { return strconv.FormatInt(v, 10) }),
			rapid.Map(rapid.Int32(), func(v int32) string { return strconv.FormatInt(int64(v), 10) }),
			rapid.Map(rapid.Float64Range(-1e300, 1e300), func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }),
			rapid.Map(rapid.Float32Range(-1e30, 1e30), func(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }),
			rapid.SampledFrom([]string{"true", "false"}),
			rapid.Map(rapid.String(), quoted),
			rapid.SampledFrom([]string{`"0001-01-01"`, `"1969-12-31"`, `"2024-02-29"`}),
		}
		b := NewBuilder(layout, Options{})
		some := rapid.SliceOfN(rapid.IntRange(0, 3), 4*len(values), 4*len(values)).Draw(t, "shape")
		pools := make([][]string, len(values))
		for i, g := range values {
			pools[i] = append(rapid.SliceOfN(g, 3, 3).Draw(t, "values"), "null")
		}
		for row := range n {
			count := int64(row % 4)
			records.Append(count)
			min, max, nulls := map[string]json.RawMessage{}, map[string]json.RawMessage{}, map[string]json.RawMessage{}
			for i := range layout.Demands {
				name := layout.Demands[i].Column.Path[0]
				for j, to := range []struct {
					b array.Builder
					m map[string]json.RawMessage
				}{{leaves[i].least, min}, {leaves[i].greatest, max}} {
					v := pools[i][(some[4*i+j]+row*(j+1))%4]
					to.m[name] = json.RawMessage(v)
					if err := to.b.UnmarshalJSON([]byte("[" + v + "]")); err != nil {
						t.Fatal(err)
					}
				}
				v := strconv.Itoa((some[4*i+2] + row/4) % 5)
				nulls[name] = json.RawMessage(v)
				if err := leaves[i].nulls.UnmarshalJSON([]byte("[" + v + "]")); err != nil {
					t.Fatal(err)
				}
			}
			text, err := json.Marshal(map[string]any{"numRecords": count, "minValues": min, "maxValues": max, "nullCount": nulls})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Append(&File{Stats: string(text)}); err != nil {
				t.Fatal(err)
			}
		}
		raw.NumRecords = records.NewArray()
		for i, l := range leaves {
			raw.Demands[i] = RawDemand{Min: l.least.NewArray(), Max: l.greatest.NewArray(), NullCount: l.nulls.NewArray()}
		}
		fromStruct, err := NewBatch(layout, raw, Options{})
		if err != nil {
			t.Fatal(err)
		}
		fromText := b.Flush()
		for row := range n {
			for i := range layout.Demands {
				if a, b := describe(fromStruct.Facts(i), row), describe(fromText.Facts(i), row); a != b {
					t.Fatalf("row %d, column %s: struct %s, text %s", row, layout.Demands[i].Column, a, b)
				}
			}
		}
	})
}

// Builders share nothing that changes: the same lines read alike on many goroutines at once.
func TestConcurrentBuilders(t *testing.T) {
	layout := fuzzLayout(t)
	var lines [][]byte
	for i, s := range statsSeeds {
		lines = append(lines, fmt.Appendf(nil, `{"add":{"path":"p%d","partitionValues":{"p":"a","pi":"%d"},"dataChange":true,"stats":%s}}`, i, i, quoted(s)))
	}
	results := make([]string, 16)
	var wg sync.WaitGroup
	for g := range results {
		wg.Go(func() {
			b := NewBuilder(layout, Options{})
			var l Line
			for _, line := range lines {
				if err := b.AppendLine(line, &l); err != nil {
					t.Error(err)
				}
			}
			batch := b.Flush()
			for row := range batch.Len() {
				for i := range layout.Demands {
					results[g] += describe(batch.Facts(i), row) + "\n"
				}
			}
		})
	}
	wg.Wait()
	if distinct := maps.Collect(func(yield func(string, bool) bool) {
		for _, r := range results {
			if !yield(r, true) {
				return
			}
		}
	}); len(distinct) != 1 {
		t.Errorf("%d different results", len(distinct))
	}
}

// A builder that has grown allocates nothing for a line.
func TestLinesAllocateNothing(t *testing.T) {
	layout := fuzzLayout(t)
	b := NewBuilder(layout, Options{})
	var lines [][]byte
	for i := range 64 {
		stats := fmt.Sprintf(`{"numRecords":10,"minValues":{"x":%d,"s":"a%d","d":%d.5,"t":"2020-01-01T00:00:00.000Z","de":1.25,"z":{"z":1}},"maxValues":{"x":9000,"s":"b","z":{"y":{"z":"q\"q"}}},"nullCount":{"s":0,"x":0,"d":0}}`, i, i, i)
		lines = append(lines, []byte(`{"add":{"path":"p","partitionValues":{"p":"a\"b","pi":"1","pt":null},"dataChange":true,"stats":`+quoted(stats)+`,"deletionVector":{"storageType":"u","pathOrInlineDv":"abc","offset":1}}}`), []byte(`{"remove":{"path":"\u0070"}}`))
	}
	var l Line
	read := func() {
		for _, line := range lines {
			if err := b.AppendLine(line, &l); err != nil {
				t.Fatal(err)
			}
		}
		b.n = 0 // as Flush does, which allocates the batch
	}
	read()
	if n := testing.AllocsPerRun(10, read); n != 0 {
		t.Errorf("%v allocations for %d lines", n, len(lines))
	}
}

func TestDropLast(t *testing.T) {
	layout := newLayout(t, "s string, p string", "p")
	b := NewBuilder(layout, Options{Allocator: checkedAllocator(t)})
	value := "v"
	for i := range 10 {
		f := &File{Path: fmt.Sprint(i), Stats: stats(`"`+strings.Repeat("a", i)+`"`, `"b"`), PartitionValues: map[string]*string{"p": &value}}
		f.Stats = strings.ReplaceAll(f.Stats, `"c"`, `"s"`)
		if err := b.Append(f); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			b.DropLast()
		}
	}
	batch := b.Flush()
	defer batch.Release()
	if batch.Len() != 5 {
		t.Fatalf("%d files", batch.Len())
	}
	for row := range 5 {
		path, err := batch.Path(row)
		if err != nil || path != fmt.Sprint(2*row) {
			t.Errorf("path %q, %v", path, err)
		}
		if got, want := describe(batch.Facts(0), row), "["+strings.Repeat("a", 2*row)+", b], no NULL"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Struct leaves that are concluded a column at a time give the facts that they give row by row.
func TestColumnarAgrees(t *testing.T) {
	layout := newLayout(t, "x long, i integer, y byte, z short, d double, f float, t timestamp, n timestamp_ntz, dt date, s string, a interval day")
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 63, 64, 65, 130}).Draw(t, "rows")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		// oddity is the chance of a null, a NaN, a negative count and the like, which send a column row by row.
		oddity := rapid.SampledFrom([]float64{0, 0, 0.01, 0.2}).Draw(t, "oddity")
		odd := func() bool { return rng.Float64() < oddity }
		arrays := func(dt arrow.DataType, value func(row int) string) arrow.Array {
			b := array.NewBuilder(Options{}.allocator(), dt)
			defer b.Release()
			for row := range n + 3 {
				v := value(row)
				if odd() {
					v = ""
				}
				if v == "" {
					b.AppendNull()
				} else if err := b.AppendValueFromString(v); err != nil {
					t.Fatal(err)
				}
			}
			a := b.NewArray()
			return array.NewSlice(a, 3, int64(n+3))
		}
		allNull := make([]bool, n+3)
		raw := &Raw{Len: n, NumRecords: arrays(arrow.PrimitiveTypes.Int64, func(int) string {
			if odd() {
				return strconv.Itoa(rng.IntN(3) - 1)
			}
			return "10"
		})}
		for _, d := range layout.Demands {
			for row := range allNull {
				allNull[row] = rng.IntN(5) == 0
			}
			leaves := RawDemand{NullCount: arrays(arrow.PrimitiveTypes.Int64, func(row int) string {
				switch {
				case odd():
					return strconv.Itoa(rng.IntN(15) - 2)
				case allNull[row]:
					return "10"
				}
				return strconv.Itoa(rng.IntN(3))
			})}
			if dt, ok := ArrowType(d.Column.Type); ok {
				bound := func(more int) func(row int) string {
					return func(row int) string {
						v := rng.IntN(30) - 15 + more
						switch {
						case allNull[row] && !odd():
							return ""
						case dt.ID() == arrow.DATE32:
							return time.Unix(int64(v)*secondsPerDay, 0).UTC().Format("2006-01-02")
						case dt.ID() == arrow.TIMESTAMP:
							text := time.UnixMicro(int64(v)).UTC().Format("2006-01-02T15:04:05.000000")
							if dt.(*arrow.TimestampType).TimeZone != "" {
								text += "Z"
							}
							return text
						case (dt.ID() == arrow.FLOAT32 || dt.ID() == arrow.FLOAT64) && odd():
							return "NaN"
						}
						return strconv.Itoa(v)
					}
				}
				more := 0
				if oddity == 0 {
					more = 30 // minima below maxima
				}
				leaves.Min, leaves.Max = arrays(dt, bound(0)), arrays(dt, bound(more))
			}
			raw.Demands = append(raw.Demands, leaves)
		}
		if rapid.Bool().Draw(t, "holes") {
			raw.HasStruct = bitmap(n)
			for row := range n {
				setTo(raw.HasStruct, row, rng.IntN(4) > 0)
			}
			raw.WroteItself = raw.HasStruct
		}
		o := Options{NaN: rapid.SampledFrom([]NaNOrder{NaNUnknown, NaNOrdered, NaNOrderedIfOwn}).Draw(t, "order")}
		for i := range layout.Demands {
			layout.Demands[i].Column.Nullable = rng.IntN(3) > 0
		}
		got, err := NewBatch(layout, raw, o)
		if err != nil {
			t.Fatal(err)
		}
		r := newReader(layout, o)
		r.own = raw.WroteItself
		all := slices.Repeat([]bool{true}, len(layout.Demands))
		r.readRaw(raw, all)
		want := r.facts(o.allocator(), n, nil)
		for i := range layout.Demands {
			for row := range n {
				if g, w := describe(got.Facts(i), row), describe(&want[i], row); g != w {
					t.Fatalf("column %s, row %d: %s, row by row %s", layout.Demands[i].Column, row, g, w)
				}
			}
		}
		_ = got.Record()
	})
}
