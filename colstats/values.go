package colstats

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/deltaskip/deltaskip/schema"
)

// FactsFromValues presents rows as files of one row each: lower = upper = value, NULLs known, a zero exact. values must have
// the type ArrowType(c.Type), or any type for columns without bounds; the facts borrow it.
func FactsFromValues(c *schema.Column, values arrow.Array) (*Facts, error) { panic("TODO") }
