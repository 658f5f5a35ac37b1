package colstats

import (
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/deltaskip/deltaskip/schema"
)

func TestBatchFromValues(t *testing.T) {
	mem := checkedAllocator(t)
	column := func(name string, kind schema.Kind) *schema.Column {
		return &schema.Column{Path: []string{name}, Type: schema.Type{Kind: kind}}
	}
	layout := &Layout{Demands: []Demand{
		{Column: column("d", schema.Double), Bounds: true},
		{Column: column("s", schema.String), Nulls: true},
		{Column: column("l", schema.Array), Nulls: true},
	}}
	doubles := array.NewFloat64Builder(mem)
	defer doubles.Release()
	doubles.AppendValues([]float64{0, 7, math.NaN()}, []bool{true, false, true})
	texts := array.NewStringBuilder(mem)
	defer texts.Release()
	texts.AppendValues([]string{"a", "b", ""}, []bool{true, true, false})
	lists := array.NewBooleanBuilder(mem)
	defer lists.Release()
	lists.AppendValues([]bool{true, true, true}, []bool{false, true, true})
	values := []arrow.Array{doubles.NewArray(), texts.NewArray(), lists.NewArray()}

	b, err := BatchFromValues(layout, 3, values)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		v.Release() // the batch has its own references
	}
	d, s, l := b.Facts(0), b.Facts(1), b.Facts(2)
	if d.Bounded[0] != 0b101 || d.NoNull[0] != 0b101 || d.AllNull[0] != 0b010 || d.MayNaN[0] != 0b100 || !d.ExactZero {
		t.Errorf("doubles: %+v", d)
	}
	if v := d.Lower.(*array.Float64); v.Value(0) != 0 || d.Upper != d.Lower {
		t.Errorf("doubles from %v to %v", d.Lower, d.Upper)
	}
	if s.Lower != nil || s.NoNull[0] != 0b011 || s.AllNull[0] != 0b100 {
		t.Errorf("strings, whose bounds nobody wants: %+v", s)
	}
	if l.Lower != nil || l.NoNull[0] != 0b110 || l.AllNull[0] != 0b001 {
		t.Errorf("lists: %+v", l)
	}
	b.Release()

	if _, err := BatchFromValues(layout, 3, nil); err == nil {
		t.Error("no values for three demands")
	}
	if none, err := BatchFromValues(&Layout{}, 5, nil); err != nil || none.Len() != 5 {
		t.Errorf("rows of no columns: %v", err)
	}
}
