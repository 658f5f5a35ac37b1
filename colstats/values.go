package colstats

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/schema"
)

// FactsFromValues presents rows as files of one row each: lower = upper = value, NULLs known, a zero exact. values must
// have the type ArrowType(c.Type), or any type for columns whose type has no bounds; the facts borrow it.
func FactsFromValues(c *schema.Column, values arrow.Array) (*Facts, error) {
	n := values.Len()
	f := &Facts{Column: c, NoNull: bitmap(n), AllNull: bitmap(n), ExactZero: true}
	for i := range n {
		setTo(f.NoNull, i, values.IsValid(i))
		setTo(f.AllNull, i, values.IsNull(i))
	}
	want, ordered := ArrowType(c.Type)
	if !ordered {
		return f, nil
	}
	if !arrow.TypeEqual(values.DataType(), want) {
		return nil, fmt.Errorf("colstats: values of type %s for the %s column %s", values.DataType(), c.Type, c)
	}
	f.Lower, f.Upper, f.Bounded = values, values, f.NoNull
	f.addHeads()
	switch values := values.(type) {
	case *array.Float32:
		f.MayNaN = bitmap(n)
		for i, v := range values.Float32Values() {
			setTo(f.MayNaN, i, v != v)
		}
	case *array.Float64:
		f.MayNaN = bitmap(n)
		for i, v := range values.Float64Values() {
			setTo(f.MayNaN, i, math.IsNaN(v))
		}
	}
	return f, nil
}

// BatchFromValues presents n rows as files of one row each: values[i] holds the values of the column of demand i, of the
// type that [FactsFromValues] wants. The batch retains the arrays; it has no paths. The error is about values itself.
func BatchFromValues(layout *Layout, n int, values []arrow.Array) (*Batch, error) {
	if len(values) != len(layout.Demands) || n < 0 || n > MaxBatchLen {
		return nil, fmt.Errorf("colstats: %d rows of %d columns for %d demands", n, len(values), len(layout.Demands))
	}
	b := &Batch{layout: layout, n: n, facts: make([]Facts, len(values)), mem: memory.DefaultAllocator}
	for i, v := range values {
		if v.Len() != n {
			return nil, fmt.Errorf("colstats: %d values in a batch of %d rows", v.Len(), n)
		}
		f, err := FactsFromValues(layout.Demands[i].Column, v)
		if err != nil {
			return nil, err
		}
		if !layout.Demands[i].Bounds {
			f.Lower, f.Upper, f.Bounded, f.MayNaN, f.LowerHeads, f.UpperHeads = nil, nil, nil, nil, nil, nil
		}
		b.facts[i] = *f
	}
	for i := range b.facts {
		if f := &b.facts[i]; f.Lower != nil {
			f.Lower.Retain()
			f.Upper.Retain()
		}
	}
	b.refs.Store(1)
	return b, nil
}
