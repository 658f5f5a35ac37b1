package rows

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/cell"
	"github.com/deltaskip/deltaskip/internal/leaf"
	"github.com/deltaskip/deltaskip/schema"
)

// A column is where a table's column is in a data file: nowhere, when the schema gained it later, so that every row is
// NULL; in the add action, when it is a partition column; else at a node of the parquet schema.
type column struct {
	*schema.Column
	arrow    arrow.DataType // of its arrays; Boolean of any values for columns of which only NULL or not can be asked
	ordered  bool           // it has values, not only NULL or not
	constant arrow.Array    // partition column: one value
	node     *leaf.Node     // nil when the file has no such column
	leaf     *leaf.Node     // what is read of node: itself, or for a nested type some leaf below
}

// resolve finds all columns in the file.
func (s *scan) resolve() ([]column, error) {
	columns := make([]column, len(s.Matcher.columns))
	s.columns = columns // so that release finds what was made when a later column fails
	for i, c := range s.Matcher.columns {
		columns[i] = column{Column: c, arrow: arrow.FixedWidthTypes.Boolean}
		if t, ok := colstats.ArrowType(c.Type); ok {
			columns[i].arrow, columns[i].ordered = t, true
		}
		var err error
		if c.Partition {
			err = s.partitionValue(&columns[i])
		} else {
			err = s.find(&columns[i])
		}
		if err != nil {
			return columns, fmt.Errorf("column %s: %w", c, err)
		}
	}
	return columns, nil
}

// partitionValue takes a column's value from the add action. That is for colstats to read, as ever.
func (s *scan) partitionValue(c *column) error {
	text, ok := s.file.PartitionValues[c.Physical[0]]
	if !ok {
		return fmt.Errorf("the add action has no partition value")
	}
	layout := &colstats.Layout{Table: s.table, Demands: []colstats.Demand{{Column: c.Column, Bounds: true, Nulls: true}}}
	b := colstats.NewBuilder(layout, colstats.Options{Allocator: s.o.Allocator, Zone: s.o.Zone})
	if err := b.Append(&colstats.File{PartitionValues: map[string]*string{c.Physical[0]: text}}); err != nil {
		return err
	}
	batch := b.Flush()
	defer batch.Release()
	f := batch.Facts(0)
	switch known := func(bitmap []uint64) bool { return bitmap != nil && bitmap[0]&1 != 0 }; {
	case known(f.AllNull):
		c.constant = array.MakeArrayOfNull(s.o.Allocator, c.arrow, 1)
	case known(f.NoNull) && known(f.Bounded) && cell.At(f.Lower, c.Type, 0).Compare(cell.At(f.Upper, c.Type, 0)) == 0:
		f.Lower.Retain()
		c.constant = f.Lower
	default:
		return fmt.Errorf("the partition value %q does not say which %s it is", deref(text), c.Type)
	}
	return nil
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// find finds a data column among the file's.
func (s *scan) find(c *column) error {
	byID := s.table.Configuration["delta.columnMapping.mode"] == "id"
	if byID && !anyID(s.parquet.Root) {
		return fmt.Errorf("the table's columns are found by field id, but the file has none")
	}
	node := s.parquet.Root
	for depth := range c.Path {
		parent, err := s.table.Lookup(c.Path[:depth+1]...)
		if err != nil {
			return err
		}
		if node, err = child(node, parent.Field, byID); err != nil {
			return err
		}
		if node == nil {
			if text, ok := parent.Field.Metadata["EXISTS_DEFAULT"]; ok && text != "NULL" {
				return fmt.Errorf("the file lacks the column, which has the default %v", text)
			}
			return nil
		}
	}
	c.node, c.leaf = node, node
	if c.ordered {
		if !node.FlatLeaf() {
			return fmt.Errorf("the file has no single value a row for a %s", c.Type)
		}
		return s.checkCalendar(node)
	}
	if node.Repeated {
		return fmt.Errorf("the file has it repeated, without a list around it")
	}
	c.leaf = someLeaf(node)
	return nil
}

// child finds a field among a node's children, or nil. Names are compared as readers of Delta do: exactly, and else without
// regard to case.
func child(node *leaf.Node, f *schema.Field, byID bool) (*leaf.Node, error) {
	var found *leaf.Node
	for _, c := range node.Children {
		switch {
		case byID && c.FieldID == int64(f.ID), !byID && c.Name == f.PhysicalName:
			return c, nil
		case !byID && strings.EqualFold(c.Name, f.PhysicalName):
			if found != nil {
				return nil, fmt.Errorf("the file has %s and %s", found.Name, c.Name)
			}
			found = c
		}
	}
	return found, nil
}

func anyID(node *leaf.Node) bool {
	for _, c := range node.Children {
		if c.FieldID >= 0 || anyID(c) {
			return true
		}
	}
	return false
}

// someLeaf returns a leaf below a group, one with a single entry a row if there is one.
func someLeaf(node *leaf.Node) *leaf.Node {
	if node.Leaf >= 0 {
		return node
	}
	var first *leaf.Node
	for _, c := range node.Children {
		l := someLeaf(c)
		if l != nil && l.Rep == 0 {
			return l
		}
		if first == nil {
			first = l
		}
	}
	return first
}

// checkCalendar refuses dates and times that may have been written by the hybrid Julian and Gregorian calendar, as Spark did
// before version 3 and does when told to: the same number is another day there, long ago.
func (s *scan) checkCalendar(node *leaf.Node) error {
	key, since := "org.apache.spark.legacyDateTime", "3.0.0"
	switch {
	case node.Physical == leaf.Int96:
		key, since = "org.apache.spark.legacyINT96", "3.1.0"
	case node.Logical != leaf.Date && node.Logical != leaf.TimestampMicros && node.Logical != leaf.TimestampMillis:
		return nil
	}
	version, bySpark := s.parquet.Metadata("org.apache.spark.version")
	if _, legacy := s.parquet.Metadata(key); legacy || bySpark && version < since {
		return fmt.Errorf("the file was written by Spark's old calendar")
	}
	return nil
}

// repeat returns n times the one value of an array.
func (s *scan) repeat(one arrow.Array, n int) (arrow.Array, error) {
	value, err := scalar.GetScalar(one, 0)
	if err != nil {
		return nil, err
	}
	if value, ok := value.(scalar.Releasable); ok {
		defer value.Release()
	}
	return scalar.MakeArrayFromScalar(value, n, s.o.Allocator)
}
