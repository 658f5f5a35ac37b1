package clustering

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/schema"
)

// maxLooked bounds how many adds are read whole to find one without bounds.
const maxLooked = 100_000

// explain says of the columns of which some files have no bounds why that is: by the column's type and the table's properties,
// or by the first of these files.
func (m *measurer) explain(ctx context.Context) error {
	wanted := map[int64][]*Column{}
	last := int64(-1)
	for i := range m.report.Columns {
		c := &m.report.Columns[i]
		if c.Unbounded() == 0 {
			continue
		}
		if usable, reason := c.Column.BoundsUsable(); !usable {
			c.Reason = reason
		} else if !c.Column.Partition && !m.indexed[c.Column] {
			c.Reason = m.notIndexed()
		} else if c.lacking < maxLooked {
			wanted[c.lacking] = append(wanted[c.lacking], c)
			last = max(last, c.lacking)
		} else {
			c.Reason = "some files lack statistics of it"
		}
	}
	if last < 0 {
		return nil
	}
	n := int64(0)
	for add, err := range m.snapshot.Adds(ctx) {
		if n > last {
			break
		}
		if err != nil {
			return err
		}
		for _, c := range wanted[n] {
			c.Reason = fmt.Sprintf("%s (as in %s)", whyUnbounded(c.Column, add), add.Path)
		}
		n++
	}
	return nil
}

// notIndexed is why the table's writers gather no statistics of a column.
func (m *measurer) notIndexed() string {
	if _, named := m.table.Configuration["delta.dataSkippingStatsColumns"]; named {
		return "delta.dataSkippingStatsColumns doesn't name it"
	}
	n := m.table.Configuration["delta.dataSkippingNumIndexedCols"]
	if n == "" {
		n = "32, its default"
	}
	return "it is not among the first columns, of which writers gather statistics: delta.dataSkippingNumIndexedCols is " + n
}

// whyUnbounded looks at a file of which nothing is known of a column's values.
func whyUnbounded(c *schema.Column, add *action.Add) string {
	if c.Partition {
		if _, there := add.PartitionValues[c.Physical[0]]; !there {
			return "the partition value is missing"
		}
		return fmt.Sprintf("the partition value is no %s", c.Type)
	}
	if add.Stats == "" {
		return "the writer gathered no statistics"
	}
	var stats map[string]any
	if json.Unmarshal([]byte(add.Stats), &stats) != nil {
		return "the statistics are not JSON"
	}
	in := func(kind string, path []string) bool { return at(stats[kind], path) != nil }
	physical, mapped := c.Physical, !slices.Equal(c.Physical, c.Path)
	bounds := in("minValues", physical) || in("maxValues", physical)
	switch {
	case !bounds && mapped && in("minValues", c.Path):
		return fmt.Sprintf("the statistics name it %s, but under column mapping its name in files is %s", c, strings.Join(physical, "."))
	case !bounds && in("nullCount", physical):
		return "the statistics have a null count but no minimum and maximum"
	case !bounds:
		return "the statistics lack the column, perhaps because it is newer than the file"
	case stats["numRecords"] == nil:
		return "the statistics lack numRecords, without which bounds don't count"
	case !in("nullCount", physical):
		return "the statistics lack the null count, without which bounds don't count"
	}
	if at(stats["minValues"], physical) == "NaN" || at(stats["maxValues"], physical) == "NaN" {
		return "a bound is NaN, which is not relied on, for some writers leave NaN out"
	}
	return fmt.Sprintf("minimum, maximum or counts contradict each other or are no %s", c.Type)
}

// at follows a path into JSON objects.
func at(value any, path []string) any {
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}
