package colstats

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/schema"
)

// checkedAllocator fails the test when a buffer is still held at its end.
func checkedAllocator(t testing.TB) *memory.CheckedAllocator {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

// newLayout makes a layout with a demand for every field of a schema: "x long, s.a string, p date", those named in
// partition being partition columns.
func newLayout(t testing.TB, fields string, partition ...string) *Layout {
	t.Helper()
	schemaFields := make([]string, 0)
	names := strings.Split(fields, ", ")
	for i, f := range names {
		name, typ, _ := strings.Cut(f, " ")
		names[i] = name
		path := strings.Split(name, ".")
		quoted := fmt.Sprintf("%q", typ)
		for j := len(path) - 1; j >= 0; j-- {
			quoted = fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{}}`, path[j], quoted)
			if j > 0 {
				quoted = `{"type":"struct","fields":[` + quoted + `]}`
			}
		}
		schemaFields = append(schemaFields, quoted)
	}
	return layoutOf(t, `{"type":"struct","fields":[`+strings.Join(schemaFields, ",")+`]}`, partition, names...)
}

// layoutOf makes a layout with a demand for each of the named columns, dots between the names of a path.
func layoutOf(t testing.TB, schemaString string, partition []string, columns ...string) *Layout {
	t.Helper()
	table, err := schema.Parse(schemaString, partition, nil)
	if err != nil {
		t.Fatal(err)
	}
	layout := &Layout{Table: table}
	for _, name := range columns {
		c, err := table.Lookup(strings.Split(name, ".")...)
		if err != nil {
			t.Fatal(err)
		}
		layout.Demands = append(layout.Demands, Demand{Column: c, Bounds: true, Nulls: true})
	}
	return layout
}

// describe says in words what a row's facts prove: "[1, 2]", "no NULL", "all NULL", "NaN?", in this order, or "nothing".
func describe(f *Facts, row int) string {
	var known []string
	if isSet(f.Bounded, row) && f.Lower != nil {
		known = append(known, "["+boundString(f.Lower, row)+", "+boundString(f.Upper, row)+"]")
	}
	for _, bit := range []struct {
		bitmap []uint64
		name   string
	}{{f.NoNull, "no NULL"}, {f.AllNull, "all NULL"}} {
		if isSet(bit.bitmap, row) {
			known = append(known, bit.name)
		}
	}
	if isSet(f.MayNaN, row) && isSet(f.Bounded, row) {
		known = append(known, "NaN?")
	}
	if len(known) == 0 {
		return "nothing"
	}
	return strings.Join(known, ", ")
}

func boundString(a arrow.Array, row int) string {
	return strings.ReplaceAll(a.ValueStr(row), MaxString, `\xff`)
}

// describeStats reads one file's statistics text for a layout with one demand.
func describeStats(t testing.TB, layout *Layout, stats string, o Options) string {
	t.Helper()
	o.Allocator = checkedAllocator(t)
	b := NewBuilder(layout, o)
	if err := b.Append(&File{Path: "f", Stats: stats}); err != nil {
		t.Fatal(err)
	}
	batch := b.Flush()
	defer batch.Release()
	return describe(batch.Facts(0), 0)
}
