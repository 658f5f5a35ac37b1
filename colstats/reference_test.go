package colstats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// The reference reads JSON with the standard library, the slow and obvious way: whole trees, keys compared as strings.

// A member is a key of an object and its value; objects keep their order and their repeated keys.
type member struct {
	key   string
	value any // nil, bool, json.Number, string, []any or []member
}

// loneSurrogate stands, in trees, for half a surrogate pair, which the library would replace by U+FFFD.
const loneSurrogate = "\U0010FFFE"

// parseTree parses one JSON text, nested no deeper than this package allows.
func parseTree(text []byte) (any, bool) {
	if !utf8.Valid(text) || !json.Valid(text) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(markLoneSurrogates(text)))
	d.UseNumber()
	v, ok := parseValue(d, maxDepth)
	return v, ok
}

func parseValue(d *json.Decoder, depth int) (any, bool) {
	token, err := d.Token()
	if err != nil {
		return nil, false
	}
	delim, nested := token.(json.Delim)
	if !nested {
		return token, true
	}
	if depth == 0 {
		return nil, false
	}
	var array []any
	object := []member{}
	for d.More() {
		key := ""
		if delim == '{' {
			k, err := d.Token()
			if err != nil {
				return nil, false
			}
			key = k.(string)
		}
		v, ok := parseValue(d, depth-1)
		if !ok {
			return nil, false
		}
		array = append(array, v)
		object = append(object, member{key, v})
	}
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	if delim == '{' {
		return object, true
	}
	return array, true
}

// markLoneSurrogates replaces the escapes of halves of surrogate pairs, in valid JSON.
func markLoneSurrogates(text []byte) []byte {
	var out []byte
	half := func(i int) (r rune, ok bool) { // the surrogate escaped at i
		if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
			return 0, false
		}
		fmt.Sscanf(string(text[i+2:i+6]), "%x", &r)
		return r, 0xD800 <= r && r < 0xE000
	}
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			out = append(out, text[i])
			i++
			continue
		}
		r, surrogate := half(i)
		low, second := half(i + 6)
		switch {
		case surrogate && r < 0xDC00 && second && low >= 0xDC00:
			out = append(out, text[i:i+12]...)
			i += 12
		case surrogate:
			out = append(out, loneSurrogate...)
			i += 6
		default:
			out = append(out, text[i:i+2]...)
			i += 2
		}
	}
	return out
}

// find returns the value of a path, and whether it is there exactly once.
func find(tree any, path ...string) (v any, ok bool) {
	for _, key := range path {
		object, _ := tree.([]member)
		times := 0
		for _, m := range object {
			if m.key == key {
				tree = m.value
				times++
			}
		}
		if times != 1 {
			return nil, false
		}
	}
	return tree, true
}

// repeated says whether a key on the way to one of the demanded columns comes twice in an object.
func repeated(tree any, paths [][]string) bool {
	object, ok := tree.([]member)
	if !ok {
		return false
	}
	below := make(map[string][][]string)
	for _, path := range paths {
		if len(path) > 0 {
			below[path[0]] = append(below[path[0]], path[1:])
		}
	}
	seen := make(map[string]bool)
	for _, m := range object {
		if rest, demanded := below[m.key]; demanded {
			if seen[m.key] || repeated(m.value, rest) {
				return true
			}
			seen[m.key] = true
		}
	}
	return false
}

// referenceStatistics reads statistics into the current row of r.
func referenceStatistics(r *reader, text string) {
	if len(text) > r.limit {
		return
	}
	tree, ok := parseTree([]byte(text))
	if object, isObject := tree.([]member); !ok || !isObject || object == nil {
		return
	}
	if n, ok := find(tree, "numRecords"); ok {
		if n, ok := n.(json.Number); ok {
			if v, ok := parseInt([]byte(n)); ok && v >= 0 {
				r.records[r.row] = v
			}
		}
	}
	var paths [][]string
	for i := range r.columns {
		if !r.columns[i].exact {
			paths = append(paths, r.columns[i].demand.Column.Physical)
		}
	}
	for side, name := range []string{"minValues", "maxValues", "nullCount"} {
		section, ok := find(tree, name)
		if !ok || repeated(section, paths) {
			continue
		}
		for i := range r.columns {
			if r.columns[i].exact {
				continue
			}
			v, _ := find(section, r.columns[i].demand.Column.Physical...)
			setReference(&r.columns[i], r.row, sideOf(side), v)
		}
	}
}

func sideOf(i int) side { return [...]side{minimum, maximum, nullCount}[i] }

func setReference(c *column, row int, s side, v any) {
	switch v := v.(type) {
	case json.Number:
		c.setJSON(row, s, []byte(v), false)
	case bool:
		c.setJSON(row, s, fmt.Append(nil, v), false)
	case string:
		if !strings.Contains(v, loneSurrogate) {
			c.setJSON(row, s, []byte(v), true)
		}
	}
}

// referencePartition reads the partitionValues of an add into the current row of r.
func referencePartition(r *reader, add []member) {
	values, ok := find(add, "partitionValues")
	if !ok {
		return
	}
	for i := range r.columns {
		c := &r.columns[i]
		if !c.exact {
			continue
		}
		switch v, ok := find(values, c.demand.Column.Physical...); v := v.(type) {
		case nil:
			if ok {
				c.cell(r.row).known |= isNull
			}
		case string:
			if !strings.Contains(v, loneSurrogate) {
				c.setPartition(r.row, []byte(v), r.zone)
			}
		}
	}
}

// referenceFacts describes what the reference makes of one row that read fills.
func referenceFacts(layout *Layout, o Options, read func(r *reader)) []string {
	r := newReader(layout, o)
	r.grow(1)
	r.begin(0)
	read(r)
	b := &Batch{layout: layout, n: 1, facts: r.facts(o.allocator(), 1, nil)}
	b.Retain()
	return describeBatch(b, 0)
}

// checkStatistics compares every way of reading a statistics text with the reference.
func checkStatistics(t *testing.T, layout *Layout, primer, text string) {
	t.Helper()
	o := Options{MaxStatsBytes: 4096} // the default allocator, for speed
	want := referenceFacts(layout, o, func(r *reader) { referenceStatistics(r, text) })
	b := NewBuilder(layout, o)
	var l Line
	rows := []string{}
	appendText := func(name, s string) {
		rows = append(rows, name)
		if err := b.Append(&File{Stats: s}); err != nil {
			t.Fatal(err)
		}
	}
	appendLine := func(name, escaped string) {
		rows = append(rows, name)
		if err := b.AppendLine([]byte(`{"add":{"path":"p","stats":"`+escaped+`"}}`), &l); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, before := range []string{"", primer} { // with nothing learnt of the order of keys, and with a wrong guess
		if before != "" {
			appendText("", before)
		}
		appendText("text", text)
		if utf8.ValidString(text) {
			appendLine("escaped", escapedJSON(text))
			appendLine("escaped entirely", escapedEntirely(text))
		}
		appendText("text again", text)
	}
	batch := b.Flush()
	defer batch.Release()
	for row, name := range rows {
		if name == "" {
			continue
		}
		for i := range layout.Demands {
			if got := describe(batch.Facts(i), row); got != want[i] {
				t.Errorf("%s of %q\ncolumn %q: %s\nreference:  %s", name, text, layout.Demands[i].Column.Path, got, want[i])
			}
		}
	}
}

// escapedJSON escapes only what must be.
func escapedJSON(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")[1 : b.Len()-2]
}

// escapedEntirely escapes every character.
func escapedEntirely(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 0x10000 {
			fmt.Fprintf(&b, `\u%04x`, 0xD800+(r-0x10000)>>10)
			r = 0xDC00 + (r-0x10000)&0x3ff
		}
		fmt.Fprintf(&b, `\u%04X`, r)
	}
	return b.String()
}

// checkLine compares the reading of one line with the reference.
func checkLine(t *testing.T, layout *Layout, line []byte) {
	t.Helper()
	o := Options{MaxStatsBytes: 4096} // the default allocator, for speed
	b := NewBuilder(layout, o)
	var l, fromBuilder Line
	err := l.Scan(line)
	builderErr := b.AppendLine(line, &fromBuilder)
	batch := b.Flush()
	defer batch.Release()
	if fmt.Sprint(err) != fmt.Sprint(builderErr) || l.Kind != fromBuilder.Kind || !bytes.Equal(l.Path, fromBuilder.Path) {
		t.Fatalf("%q: Scan %v %d %q, AppendLine %v %d %q", line, err, l.Kind, l.Path, builderErr, fromBuilder.Kind, fromBuilder.Path)
	}
	want, wantOK := referenceLine(line)
	if wantOK != (err == nil) {
		t.Fatalf("%q: error %v, reference accepts %t", line, err, wantOK)
	}
	if err != nil {
		if offset := err.(*SyntaxError).Offset; offset < 0 || offset > len(line) {
			t.Fatalf("%q: offset %d", line, offset)
		}
		if batch.Len() != 0 {
			t.Fatalf("%q: %d files", line, batch.Len())
		}
		return
	}
	got := referenceAction{l.Kind, string(l.Path), string(l.DeletionVector), l.DataChange, want.add}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(referenceAction{}, member{})); diff != "" {
		t.Fatalf("%q (-reference +got):\n%s", line, diff)
	}
	if l.Kind != AddLine {
		return
	}
	wantFacts := referenceFacts(layout, o, func(r *reader) {
		if stats, ok := find(want.add, "stats"); ok {
			if text, ok := stats.(string); ok && !strings.Contains(text, loneSurrogate) {
				referenceStatistics(r, text)
			}
		}
		referencePartition(r, want.add)
	})
	for i := range layout.Demands {
		if got := describe(batch.Facts(i), 0); got != wantFacts[i] {
			t.Errorf("%q\ncolumn %q: %s\nreference:  %s", line, layout.Demands[i].Column.Path, got, wantFacts[i])
		}
	}
}

type referenceAction struct {
	kind       LineKind
	path       string
	vector     string
	dataChange bool
	add        []member // of an add
}

// referenceLine reads a line, and says whether it is one.
func referenceLine(line []byte) (a referenceAction, ok bool) {
	if len(bytes.Trim(line, " \t\r\n")) == 0 {
		return a, true
	}
	tree, ok := parseTree(line)
	object, isObject := tree.([]member)
	if !ok || !isObject {
		return a, false
	}
	for _, m := range object {
		kind := LineKind(actionKeys[m.key])
		if kind == OtherLine || m.value == nil {
			continue
		}
		action, isObject := m.value.([]member)
		if !isObject || a.kind != OtherLine {
			return a, false
		}
		if a.kind = kind; kind > CDCLine {
			continue
		}
		hasPath := false
		for _, f := range action {
			switch f.key {
			case "path":
				if a.path, hasPath = f.value.(string); !hasPath || strings.Contains(a.path, loneSurrogate) || len(a.path) > maxPathBytes {
					return a, false
				}
			case "dataChange":
				a.dataChange = f.value == true
			case "deletionVector":
				if a.vector = ""; f.value == nil {
					continue
				}
				if a.vector, isObject = referenceVector(f.value); !isObject {
					return a, false
				}
			}
		}
		if !hasPath {
			return a, false
		}
		if kind == AddLine {
			a.add = action
		}
	}
	return a, true
}

func referenceVector(v any) (id string, ok bool) {
	object, ok := v.([]member)
	if !ok {
		return "", false
	}
	storage, path, offset := "", "", ""
	for _, m := range object {
		switch m.key {
		case "storageType", "pathOrInlineDv":
			s, ok := m.value.(string)
			if !ok || strings.Contains(s, loneSurrogate) {
				return "", false
			}
			if m.key == "storageType" {
				storage = s
			} else {
				path = s
			}
		case "offset":
			if offset = ""; m.value == nil {
				continue
			}
			n, ok := m.value.(json.Number)
			if !ok {
				return "", false
			}
			v, ok := parseInt([]byte(n))
			if !ok || v < 0 {
				return "", false
			}
			offset = fmt.Sprintf("@%d", v)
		}
	}
	return storage + path + offset, storage != "" && path != ""
}
