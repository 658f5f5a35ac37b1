package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A LookupError says why a path names no single column.
type LookupError struct {
	Path        []string // as asked for
	At          int      // the part of Path that failed
	Parent      *Column  // the column that the parts before At name; nil at the root
	Matches     []string // the fields that differ in case only; empty when there is none at all
	Suggestions []string // names that may be meant, the likeliest first
}

func (e *LookupError) Error() string {
	name := quotePath(e.Path)
	switch {
	case len(e.Matches) > 0:
		return fmt.Sprintf("schema: %s is ambiguous: it may be %s", name, strings.Join(e.Matches, " or "))
	case e.Parent != nil && e.Parent.Type.Kind != Struct:
		return fmt.Sprintf("schema: %s has no fields: it is a %s", quotePath(e.Parent.Path), e.Parent.Type)
	case len(e.Suggestions) > 0:
		return fmt.Sprintf("schema: no column %s; did you mean %s?", name, strings.Join(e.Suggestions, ", "))
	}
	return "schema: no column " + name
}

func quotePath(path []string) string {
	quoted := make([]string, len(path))
	for i, name := range path {
		quoted[i] = QuoteName(name)
	}
	return strings.Join(quoted, ".")
}

// Lookup finds a column by its path from the root, one name a part, whatever their case. It goes into structs only: an
// element of an array or a value of a map is no column. The same field gives the same *Column. An error is a
// [*LookupError].
func (t *Table) Lookup(path ...string) (*Column, error) {
	fields := t.Fields
	var parent *Column
	for i, name := range path {
		var found *Field
		var matches []string
		for _, f := range fields {
			if strings.EqualFold(f.Name, name) {
				found = f
				matches = append(matches, QuoteName(f.Name))
			}
		}
		if len(matches) != 1 {
			e := &LookupError{Path: path, At: i, Parent: parent, Matches: matches}
			if found == nil {
				e.Suggestions = suggestions(fields, name)
			}
			return nil, e
		}
		parent = t.column(parent, found)
		fields = nil
		if found.Type.Kind == Struct {
			fields = found.Type.Nested.Fields
		}
	}
	if parent == nil {
		return nil, &LookupError{}
	}
	return parent, nil
}

// column returns the one *Column of a field under its parent.
func (t *Table) column(parent *Column, f *Field) *Column {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := columnKey{parent, f}
	if c, ok := t.columns[key]; ok {
		return c
	}
	c := &Column{Type: f.Type, Field: f, Nullable: f.Nullable}
	if parent == nil {
		c.Path, c.Physical = []string{f.Name}, []string{f.PhysicalName}
		c.Partition = slices.ContainsFunc(t.PartitionColumns, func(p string) bool { return strings.EqualFold(p, f.Name) })
	} else {
		c.Path = append(slices.Clone(parent.Path), f.Name)
		c.Physical = append(slices.Clone(parent.Physical), f.PhysicalName)
		c.Nullable = f.Nullable || parent.Nullable
	}
	if t.columns == nil {
		t.columns = map[columnKey]*Column{}
	}
	t.columns[key] = c
	return c
}

type columnKey struct {
	parent *Column
	field  *Field
}

// String is the column's logical name in SQL.
func (c *Column) String() string { return quotePath(c.Path) }

// maxSuggestions bounds how many names an error offers.
const maxSuggestions = 5

// suggestions are the names nearest to a mistyped one, as Spark offers them.
func suggestions(fields []*Field, name string) []string {
	if len(name) > 128 {
		return nil // no typing error, and the distance is quadratic
	}
	type candidate struct {
		name     string
		distance int
	}
	candidates := make([]candidate, 0, len(fields))
	for _, f := range fields {
		if len(f.Name) <= 128 {
			candidates = append(candidates, candidate{QuoteName(f.Name), distance(strings.ToLower(f.Name), strings.ToLower(name))})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	names := make([]string, 0, maxSuggestions)
	for _, c := range candidates[:min(len(candidates), maxSuggestions)] {
		names = append(names, c.name)
	}
	return names
}

// distance is the Levenshtein distance of two short strings, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
