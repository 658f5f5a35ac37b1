package schema

import (
	"strconv"
	"strings"
)

// defaultIndexedColumns is delta.dataSkippingNumIndexedCols where the table does not set it.
const defaultIndexedColumns = 32

// StatisticsColumns returns the columns of data files for which the table asks its writers to gather statistics, fields of
// structs one by one, in the order of the schema: those that delta.dataSkippingStatsColumns names, or else the first ones, up
// to delta.dataSkippingNumIndexedCols. Files may have statistics of others, and may lack some of these.
func (t *Table) StatisticsColumns() []*Column {
	names, named := t.Configuration["delta.dataSkippingStatsColumns"]
	most := defaultIndexedColumns
	if n, err := strconv.Atoi(t.Configuration["delta.dataSkippingNumIndexedCols"]); err == nil {
		most = n
	}
	wanted := map[*Column]bool{}
	for _, path := range splitNames(names) {
		if c, err := t.Lookup(path...); err == nil {
			wanted[c] = true
		}
	}
	var columns []*Column
	seen := 0
	var walk func(parent *Column, fields []*Field, all bool)
	walk = func(parent *Column, fields []*Field, all bool) {
		for _, f := range fields {
			c := t.column(parent, f)
			in := all || wanted[c]
			switch {
			case c.Partition:
			case f.Type.Kind == Struct:
				walk(c, f.Type.Nested.Fields, in)
			case named && in, !named && (most < 0 || seen < most):
				columns = append(columns, c)
				seen++
			}
		}
	}
	walk(nil, t.Fields, false)
	return columns
}

// splitNames splits a list such as "a, b.c, `x.y`" into paths.
func splitNames(list string) [][]string {
	var paths [][]string
	var path []string
	var name strings.Builder
	quoted, wasQuoted := false, false
	end := func() {
		s := name.String()
		if !wasQuoted {
			s = strings.TrimSpace(s)
		}
		path = append(path, s)
		name.Reset()
		wasQuoted = false
	}
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '`' && quoted && i+1 < len(list) && list[i+1] == '`':
			name.WriteByte(c)
			i++
		case c == '`':
			quoted = !quoted
			if quoted {
				name.Reset()
			}
			wasQuoted = true
		case quoted:
			name.WriteByte(c)
		case c == '.':
			end()
		case c == ',':
			end()
			paths = append(paths, path)
			path = nil
		case wasQuoted: // white space after a quoted name
		default:
			name.WriteByte(c)
		}
	}
	if end(); len(path) > 1 || path[0] != "" {
		paths = append(paths, path)
	}
	return paths
}
