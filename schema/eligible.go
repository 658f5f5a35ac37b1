package schema

import (
	"fmt"
	"slices"
)

// BoundsUsable says whether minimum and maximum of the column may exist and order its values as comparisons do; if not,
// reason says why in plain words. Null counts are another matter: they serve IS NULL for every type.
//
// Partition values are exact, so every atomic type that has an order is usable there, char included: binding a
// predicate makes the padding of char values an explicit function.
func (c *Column) BoundsUsable() (ok bool, reason string) {
	switch t := c.Type; t.Kind {
	case Boolean:
		// Few writers write them and Spark never reads them, so nobody would have noticed wrong ones.
		if !c.Partition {
			return false, "bounds of boolean values are not relied on: most writers write none"
		}
	case Byte, Short, Integer, Long, Float, Double, Decimal, Date, Timestamp, TimestampNTZ:
	case String:
		if t.Collation != "" {
			return false, fmt.Sprintf("bounds follow the binary order of strings, not the collation %s", t.Collation)
		}
		if c.Field.Char > 0 && !c.Partition {
			return false, fmt.Sprintf("char(%d) values are padded when they are read, their bounds are not", c.Field.Char)
		}
	case Binary:
		if !c.Partition {
			return false, "writers disagree on how to write bounds of binary values"
		}
	case Struct:
		return false, "a struct has no bounds of its own; its fields may"
	case Unknown:
		return false, fmt.Sprintf("the type %s is not known to this version", t)
	default:
		return false, fmt.Sprintf("values of type %s have no bounds", t)
	}
	for _, changed := range c.Field.TypeChanges {
		if changed.Path == "" && changed.From.Kind == Unknown {
			return false, "the column once had a type that this version does not know"
		}
	}
	return true, ""
}

// StatisticsTypes are the types in which a file may state the column's bounds: the present one first, then, with type
// widening, the earlier ones, the latest of them first.
func (c *Column) StatisticsTypes() []Type {
	types := []Type{c.Type}
	for _, changed := range slices.Backward(c.Field.TypeChanges) {
		if changed.Path == "" && !slices.ContainsFunc(types, changed.From.Equal) {
			types = append(types, changed.From)
		}
	}
	return types
}
