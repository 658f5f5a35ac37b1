package colstats

import (
	"encoding/json"
	"fmt"
	"slices"
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

// newLayout makes a layout with a demand for every leaf of a schema that is written like
// "x long, s.a string, p date", those named in partition being partition columns.
func newLayout(t testing.TB, fields string, partition ...string) *Layout {
	t.Helper()
	var schemaFields []string
	for f := range strings.SplitSeq(fields, ", ") {
		name, typ, _ := strings.Cut(f, " ")
		path := strings.Split(name, ".")
		field := fmt.Sprintf("%q", typ)
		for i := len(path) - 1; i >= 0; i-- {
			field = fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{}}`, path[i], field)
			if i > 0 {
				field = `{"type":"struct","fields":[` + field + `]}`
			}
		}
		schemaFields = append(schemaFields, field)
	}
	return layoutOf(t, `{"type":"struct","fields":[`+strings.Join(schemaFields, ",")+`]}`, partition...)
}

// layoutOf makes a layout with a demand for every leaf of a schema.
func layoutOf(t testing.TB, schemaString string, partition ...string) *Layout {
	t.Helper()
	table, err := schema.Parse(schemaString, partition, nil)
	if err != nil {
		t.Fatal(err)
	}
	layout := &Layout{Table: table}
	var add func(fields []*schema.Field, path []string)
	add = func(fields []*schema.Field, path []string) {
		for _, f := range fields {
			path := append(slices.Clone(path), f.Name)
			if f.Type.Kind == schema.Struct {
				add(f.Type.Nested.Fields, path)
				continue
			}
			c, err := table.Lookup(path...)
			if err != nil {
				t.Fatal(err)
			}
			layout.Demands = append(layout.Demands, Demand{Column: c, Bounds: true, Nulls: true})
		}
	}
	add(table.Fields, nil)
	return layout
}

// describe says in words what a row's facts prove: "[1, 2]", "no NULL", "all NULL", "NaN?", in this order, or "nothing".
func describe(f *Facts, row int) string {
	var known []string
	if IsSet(f.Bounded, row) && f.Lower != nil {
		known = append(known, "["+boundString(f.Lower, row)+", "+boundString(f.Upper, row)+"]")
	}
	for _, bit := range []struct {
		bitmap []uint64
		name   string
	}{{f.NoNull, "no NULL"}, {f.AllNull, "all NULL"}} {
		if IsSet(bit.bitmap, row) {
			known = append(known, bit.name)
		}
	}
	if IsSet(f.MayNaN, row) && IsSet(f.Bounded, row) {
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

// describeFile says what is proven of a layout's columns in one file.
func describeFile(t testing.TB, layout *Layout, f *File, o Options) []string {
	t.Helper()
	o.Allocator = checkedAllocator(t)
	b := NewBuilder(layout, o)
	defer b.Close()
	if err := b.Append(f); err != nil {
		t.Fatal(err)
	}
	return describeBatch(b.Flush(), 0)
}

// describeBatch says what is proven in one row of a batch, which it releases.
func describeBatch(b *Batch, row int) []string {
	defer b.Release()
	facts := make([]string, len(b.facts))
	for i := range facts {
		facts[i] = describe(b.Facts(i), row)
	}
	return facts
}

// quoted returns s as a JSON string.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
