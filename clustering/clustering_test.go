package clustering_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/clustering"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore/storetest"
	"github.com/deltaskip/deltaskip/schema"
)

// field is a field of a schema string; typ is JSON, metadata as well.
func field(name, typ, metadata string) string {
	return fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{%s}}`, name, typ, metadata)
}

// snapshot makes a table of one commit.
func snapshot(t testing.TB, fields []string, partitions []string, configuration map[string]string, adds ...*action.Add) *deltalog.Snapshot {
	t.Helper()
	m := &action.Metadata{
		ID: "m", Format: action.Format{Provider: "parquet"}, PartitionColumns: partitions, Configuration: configuration,
		SchemaString: `{"type":"struct","fields":[` + strings.Join(fields, ",") + `]}`,
	}
	lines := action.Append(nil, &action.Protocol{MinReaderVersion: 2, MinWriterVersion: 5})
	lines = action.Append(append(lines, '\n'), m)
	for i, a := range adds {
		a.Path, a.DataChange = fmt.Sprintf("f%d", i), true
		if a.PartitionValues == nil {
			a.PartitionValues = map[string]*string{}
		}
		lines = action.Append(append(lines, '\n'), a)
	}
	store := &storetest.Mem{}
	if err := store.PutIfAbsent(t.Context(), deltalog.CommitName(0), lines); err != nil {
		t.Fatal(err)
	}
	s, err := deltalog.Open(store, deltalog.Options{}).Snapshot(t.Context(), deltalog.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func measure(t testing.TB, s *deltalog.Snapshot, o clustering.Options) map[string]clustering.Column {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	o.Stats.Allocator = mem
	report, err := clustering.Measure(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]clustering.Column{}
	for _, c := range report.Columns {
		byName[c.Column.String()] = c
	}
	return byName
}

// stats are the statistics of 10 rows: of each column its JSON minimum, maximum and null count.
func stats(columns map[string][3]string) *action.Add {
	var mins, maxs, nulls []string
	for name, c := range columns {
		for i, list := range []*[]string{&mins, &maxs, &nulls} {
			if c[i] != "" {
				*list = append(*list, fmt.Sprintf("%q:%s", name, c[i]))
			}
		}
	}
	return &action.Add{Stats: fmt.Sprintf(`{"numRecords":10,"minValues":{%s},"maxValues":{%s},"nullCount":{%s}}`,
		strings.Join(mins, ","), strings.Join(maxs, ","), strings.Join(nulls, ","))}
}

func TestMeasure(t *testing.T) {
	fields := []string{field("l", `"long"`, ""), field("s", `"string"`, ""), field("d", `"double"`, ""), field("m", `"decimal(30,2)"`, "")}
	row := func(l, s, d, m [3]string) *action.Add {
		return stats(map[string][3]string{"l": l, "s": s, "d": d, "m": m})
	}
	null := [3]string{"", "", "10"}
	table := snapshot(t, fields, nil, nil,
		row([3]string{"0", "9", "0"}, [3]string{`"a"`, `"c"`, "1"}, [3]string{"-1.5", "-0.0", "0"}, [3]string{"100000000000000000000000.01", "100000000000000000000000.02", "0"}),
		row([3]string{"5", "14", "0"}, [3]string{`"b"`, `"b"`, "0"}, [3]string{"0.0", "1.5", "0"}, [3]string{"100000000000000000000000.02", "100000000000000000000000.03", "0"}),
		row([3]string{"9007199254740992", "9007199254740992", "3"}, null, [3]string{"1e3", "\"Infinity\"", "0"}, null),
		row([3]string{"9007199254740993", "9007199254740993", "0"}, [3]string{`"x"`, "", "0"}, [3]string{"2", "2", "0"}, null),
	)
	got := measure(t, table, clustering.Options{Stats: colstats.Options{NaN: colstats.NaNOrdered}})
	for _, tt := range []struct {
		name                             string
		bounded, allNull, noNull, points int64
		depth                            float64
		deepest                          int64
		low, high                        string
	}{
		// A bound of f0 and one of f1 lie in both; no float tells the last two apart.
		{"l", 4, 0, 3, 2, (1 + 2 + 1 + 1 + 2 + 1 + 1 + 1) / 8.0, 2, "0", "9007199254740993"},
		{"s", 3, 1, 2, 1, (1 + 2 + 1 + 1 + 2 + 1) / 6.0, 2, `'a'`, `'` + colstats.MaxString + `'`},
		// -0.0 and 0.0 are one value.
		{"d", 4, 0, 4, 1, (1 + 2 + 1 + 1 + 2 + 1 + 1 + 1) / 8.0, 2, "-1.5", "Infinity"},
		{"m", 2, 2, 2, 0, (1 + 2 + 2 + 1) / 4.0, 2, "100000000000000000000000.01", "100000000000000000000000.03"},
	} {
		c := got[tt.name]
		if c.Files != 4 || c.Bounded != tt.bounded || c.AllNull != tt.allNull || c.NoNull != tt.noNull || c.Points != tt.points {
			t.Errorf("%s: %+v", tt.name, c)
		}
		if c.Depth != tt.depth || c.MaxDepth != tt.deepest || c.Reason != "" {
			t.Errorf("%s: depth %g to %d, want %g to %d; %s", tt.name, c.Depth, c.MaxDepth, tt.depth, tt.deepest, c.Reason)
		}
		if low, high := c.Low.String(), c.High.String(); low != tt.low || !strings.HasPrefix(high, tt.high[:1]) || tt.name != "s" && high != tt.high {
			t.Errorf("%s: from %s to %s", tt.name, low, high)
		}
	}
	if w := got["s"].Width; w >= 0 {
		t.Errorf("strings have width %g", w)
	}
	if w := got["m"].Width; math.Abs(w-0.5) > 0.01 {
		t.Errorf("m: width %g", w)
	}
}

func TestReasons(t *testing.T) {
	fields := []string{
		field("a", `"long"`, ""), field("b", `"boolean"`, ""), field("p", `"integer"`, ""), field("late", `"long"`, ""),
		field("x", `{"type":"struct","fields":[`+field("y", `"long"`, "")+`]}`, ""),
	}
	text := func(s string) map[string]*string { return map[string]*string{"p": &s} }
	good := func() *action.Add { return stats(map[string][3]string{"a": {"1", "2", "0"}}) }
	for _, tt := range []struct {
		name, column  string
		configuration map[string]string
		add           *action.Add
		says          string
	}{
		{"nothing is wrong", "a", nil, good(), ""},
		{"all NULL is as good as bounds", "a", nil, stats(map[string][3]string{"a": {"", "", "10"}}), ""},
		{"type", "b", nil, good(), "boolean"},
		{"indexed columns", "late", map[string]string{"delta.dataSkippingNumIndexedCols": "2"}, good(), "delta.dataSkippingNumIndexedCols is 2"},
		{"named columns", "late", map[string]string{"delta.dataSkippingStatsColumns": "a"}, good(), "delta.dataSkippingStatsColumns doesn't name it"},
		{"partition value missing", "p", nil, good(), "the partition value is missing (as in f0)"},
		{"partition value of another type", "p", nil, &action.Add{PartitionValues: text("x")}, "the partition value is no int"},
		{"no statistics", "a", nil, &action.Add{}, "gathered no statistics"},
		{"no JSON", "a", nil, &action.Add{Stats: "{"}, "not JSON"},
		{"newer than the file", "late", nil, good(), "lack the column"},
		{"a null count only", "a", nil, stats(map[string][3]string{"a": {"", "", "3"}}), "no minimum and maximum"},
		{"no null count", "a", nil, stats(map[string][3]string{"a": {"1", "2", ""}}), "lack the null count"},
		{"no numRecords", "a", nil, &action.Add{Stats: `{"minValues":{"a":1},"maxValues":{"a":2},"nullCount":{"a":0}}`}, "lack numRecords"},
		{"bounds the wrong way round", "a", nil, stats(map[string][3]string{"a": {"3", "2", "0"}}), "contradict"},
		{"bounds of another type", "a", nil, stats(map[string][3]string{"a": {`"x"`, `"y"`, "0"}}), "are no bigint"},
		{"odd shapes", "x.y", nil, &action.Add{Stats: `{"numRecords":1,"minValues":{"x":7},"maxValues":[],"nullCount":null}`}, "lack the column"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := measure(t, snapshot(t, fields, []string{"p"}, tt.configuration, tt.add), clustering.Options{})[tt.column]
			if (c.Reason == "") != (tt.says == "") || !strings.Contains(c.Reason, tt.says) {
				t.Errorf("%q, want %q", c.Reason, tt.says)
			}
			if unbounded := c.Unbounded(); (unbounded == 0) != (tt.says == "") || c.MaxDepth != unbounded+min(c.Bounded, 1) {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestReasonOfAMappedName(t *testing.T) {
	fields := []string{field("a", `"long"`, `"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"col-1"`)}
	table := snapshot(t, fields, nil, map[string]string{"delta.columnMapping.mode": "name"}, stats(map[string][3]string{"a": {"1", "2", "0"}}))
	if c := measure(t, table, clustering.Options{})["a"]; !strings.Contains(c.Reason, "name it a, but under column mapping its name in files is col-1") {
		t.Errorf("%q", c.Reason)
	}
}

func TestOfNoFiles(t *testing.T) {
	table := snapshot(t, []string{field("a", `"long"`, "")}, nil, nil)
	if c := measure(t, table, clustering.Options{})["a"]; c.Files != 0 || c.Depth != 0 || c.MaxDepth != 0 || c.Reason != "" {
		t.Errorf("%+v", c)
	}
}

// TestDepthByCounting holds depth to what counting says, and the report to the same whatever fits memory.
func TestDepthByCounting(t *testing.T) {
	fields := []string{field("a", `"long"`, ""), field("s", `"string"`, ""), field("c", `"integer"`, "")}
	rapid.Check(t, func(rt *rapid.T) {
		type span struct{ low, high int }
		var spans []span
		var adds []*action.Add
		unbounded := 0
		for range rapid.IntRange(1, 12).Draw(rt, "files") {
			low := rapid.IntRange(0, 9).Draw(rt, "low")
			s := span{low, low + rapid.IntRange(0, 4).Draw(rt, "more")}
			if rapid.IntRange(0, 5).Draw(rt, "without") == 0 {
				adds = append(adds, &action.Add{})
				unbounded++
				continue
			}
			spans = append(spans, s)
			text := func(i int) string { b, _ := json.Marshal(fmt.Sprintf("%03d", i)); return string(b) }
			adds = append(adds, stats(map[string][3]string{
				"a": {fmt.Sprint(s.low), fmt.Sprint(s.high), "0"}, "s": {text(s.low), text(s.high), "0"}, "c": {fmt.Sprint(s.low), fmt.Sprint(s.high), "0"},
			}))
		}
		table := snapshot(t, fields, nil, nil, adds...)
		got := measure(t, table, clustering.Options{})
		depth := float64(unbounded)
		deepest := 0
		at := func(x int) (n int) {
			for _, s := range spans {
				if s.low <= x && x <= s.high {
					n++
				}
			}
			deepest = max(deepest, n)
			return n
		}
		for _, s := range spans {
			depth += float64(at(s.low)+at(s.high)) / float64(2*len(spans))
		}
		for name, c := range got {
			if math.Abs(c.Depth-depth) > 1e-9 || c.MaxDepth != int64(deepest+unbounded) || c.Unbounded() != int64(unbounded) {
				rt.Fatalf("%s: depth %g to %d, counted %g to %d", name, c.Depth, c.MaxDepth, depth, deepest+unbounded)
			}
		}
		again := measure(t, table, clustering.Options{MaxBytes: 1}) // a pass for each column
		if fmt.Sprint(got) != fmt.Sprint(again) {
			rt.Fatalf("%v, in several passes %v", got, again)
		}
		some, err := clustering.Measure(t.Context(), table, clustering.Options{Columns: []*schema.Column{got["c"].Column, got["a"].Column}})
		if err != nil || !slices.EqualFunc(some.Columns, []string{"c", "a"}, func(c clustering.Column, name string) bool { return c.Column.String() == name }) {
			rt.Fatal(some, err)
		}
	})
}
