package vectorized

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// TestSpark holds the engine to matching ⊆ ours ⊆ kept on the random tables and predicates of testdata/spark/*.txt, of which
// Spark said what it keeps and what matches. testdata/spark/README.md has the form of these files.
func TestSpark(t *testing.T) {
	files, err := filepath.Glob("testdata/spark/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var asked, answered, fewer int
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s sparkTable
		var want sparkAnswer
		for i, line := range strings.Split(string(data), "\n") {
			word, rest, _ := strings.Cut(line, " ")
			switch word {
			case "", "#":
			case "table":
				s = sparkTable{name: rest}
			case "schema":
				if s.table, err = parseSchemaLine(rest); err != nil {
					t.Fatalf("%s:%d: %v", file, i+1, err)
				}
			case "zone":
				if s.zone, err = time.LoadLocation(rest); err != nil {
					t.Fatalf("%s:%d: %v", file, i+1, err)
				}
			case "add":
				s.adds = append(s.adds, `{"add":`+rest+`}`)
			case "where":
				asked++
				want = sparkAnswer{sql: rest}
			case "error":
				if ours, err := s.survivors(t, want.sql); err == nil {
					t.Errorf("%s:%d: table %s: %s: we keep %v, Spark says %s", file, i+1, s.name, want.sql, ours, rest)
				}
			case "kept":
				want.kept = numbers(t, rest)
			case "matching", "fails": // the end of an answer
				answered++
				ours, err := s.survivors(t, want.sql)
				if err != nil {
					t.Errorf("%s:%d: table %s: %s: %v", file, i+1, s.name, want.sql, err)
					continue
				}
				if word != "fails" {
					if lost := without(numbers(t, rest), ours); len(lost) > 0 {
						t.Errorf("%s:%d: table %s: %s: LOST %v", file, i+1, s.name, want.sql, lost)
					}
				}
				if more := without(ours, want.kept); len(more) > 0 {
					t.Errorf("%s:%d: table %s: %s: kept %v, which Spark skips", file, i+1, s.name, want.sql, more)
				}
				if len(ours) < len(want.kept) {
					fewer++
				}
			default:
				t.Fatalf("%s:%d: %s", file, i+1, line)
			}
		}
	}
	t.Logf("%d predicates: %d answered, errors in %d, strictly fewer files than Spark in %d", asked, answered, asked-answered, fewer)
}

// A sparkTable is where reading testdata/spark has got to.
type sparkTable struct {
	name  string
	table *schema.Table
	zone  *time.Location
	adds  []string
}

// A sparkAnswer is what Spark says of a predicate.
type sparkAnswer struct {
	sql  string
	kept []int
}

// parseSchemaLine reads a schema string, partition columns and a configuration.
func parseSchemaLine(s string) (*schema.Table, error) {
	d := json.NewDecoder(strings.NewReader(s))
	var root json.RawMessage
	var partition []string
	var configuration map[string]string
	if err := errors.Join(d.Decode(&root), d.Decode(&partition), d.Decode(&configuration)); err != nil {
		return nil, err
	}
	return schema.Parse(string(root), partition, configuration)
}

func numbers(t *testing.T, s string) (list []int) {
	t.Helper()
	for f := range strings.FieldsSeq(s) {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

// without returns the members of a that are not in b.
func without(a, b []int) []int {
	return slices.DeleteFunc(slices.Clone(a), func(n int) bool { return slices.Contains(b, n) })
}

// survivors returns the files that a predicate keeps, by kernels and by the reference.
func (s *sparkTable) survivors(t *testing.T, sql string) (kept []int, err error) {
	t.Helper()
	e, err := predicate.Parse(sql, predicate.ParseOptions{})
	if err != nil {
		return nil, err
	}
	bound, err := predicate.Bind(e, s.table, predicate.Env{Zone: s.zone})
	if err != nil {
		return nil, err
	}
	p, err := Compile([]*predicate.Predicate{bound}, Options{})
	if err != nil {
		return nil, err
	}
	b := colstats.NewBuilder(p.Layout(), colstats.Options{NaN: colstats.NaNOrdered, Zone: s.zone})
	var line colstats.Line
	for _, add := range s.adds {
		if err := b.AppendLine([]byte(add), &line); err != nil {
			t.Fatalf("%s: %v", add, err)
		}
	}
	batch := b.Flush()
	defer batch.Release()
	r, err := p.Eval(batch, new(Scratch))
	if err != nil {
		return nil, err
	}
	for i := range s.adds {
		if colstats.IsSet(r.May, i) {
			kept = append(kept, i)
		}
	}
	reference := *p
	reference.options.Reference = true
	again, err := reference.Eval(batch, new(Scratch))
	if err != nil {
		return nil, err
	}
	for i := range s.adds {
		if colstats.IsSet(again.May, i) != slices.Contains(kept, i) {
			t.Errorf("table %s: %s: kernels and reference disagree on %d", s.name, sql, i)
		}
	}
	return kept, nil
}
