package vectorized

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// TestFaults holds the engine to testdata/faults.txt:
//
//	fault NAME             what went wrong elsewhere
//	table SCHEMA [COLUMNS] its schema string and partition columns
//	zone NAME              of partition values that name none; "unknown" for nobody knows
//	add ADD                what the log says of the file that the next lines are about
//	keep SQL               losing the file would lose rows, whoever wrote it
//	doubt SQL              likewise, but not if its writer lets NaN count for the maximum
//	skip SQL               it holds no row, if its writer lets NaN count for the maximum
//	either SQL             both are fine
func TestFaults(t *testing.T) {
	data, err := os.ReadFile("testdata/faults.txt")
	if err != nil {
		t.Fatal(err)
	}
	var f fault
	checks := 0
	for i, line := range strings.Split(string(data), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "", "#":
		case "fault":
			f = fault{name: rest}
		case "table":
			var root json.RawMessage
			var partition []string
			d := json.NewDecoder(strings.NewReader(rest))
			if err := d.Decode(&root); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			if d.More() {
				if err := d.Decode(&partition); err != nil {
					t.Fatalf("line %d: %v", i+1, err)
				}
			}
			if f.table, err = schema.Parse(string(root), partition, nil); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
		case "zone":
			if f.zone = colstats.UnknownZone; rest != "unknown" {
				if f.zone, err = time.LoadLocation(rest); err != nil {
					t.Fatalf("line %d: %v", i+1, err)
				}
			}
		case "add":
			f.add = `{"add":` + rest + `}`
		case "keep", "doubt", "skip", "either":
			checks++
			trusted, doubted := f.keeps(t, rest, colstats.NaNOrdered), f.keeps(t, rest, colstats.NaNUnknown)
			switch {
			case word == "keep" && !trusted, word != "skip" && word != "either" && !doubted:
				t.Errorf("line %d, %s: %s: lost (writer trusted: %t, doubted: %t)", i+1, f.name, rest, trusted, doubted)
			case word == "skip" && trusted:
				t.Errorf("line %d, %s: %s: kept", i+1, f.name, rest)
			}
		default:
			t.Fatalf("line %d: %s", i+1, line)
		}
	}
	if checks < 250 {
		t.Errorf("only %d checks", checks)
	}
}

// A fault is where reading testdata/faults.txt has got to.
type fault struct {
	name  string
	table *schema.Table
	zone  *time.Location
	add   string
}

// keeps says whether a predicate keeps the file, by kernels and by the reference.
func (f *fault) keeps(t *testing.T, sql string, order colstats.NaNOrder) bool {
	t.Helper()
	e, err := predicate.Parse(sql, predicate.ParseOptions{})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	bound, err := predicate.Bind(e, f.table, predicate.Env{})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var may [2][]byte
	for i, reference := range []bool{false, true} {
		p, err := Compile([]*predicate.Predicate{bound}, Options{Reference: reference})
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		b := colstats.NewBuilder(p.Layout(), colstats.Options{NaN: order, Zone: f.zone})
		var line colstats.Line
		if err := b.AppendLine([]byte(f.add), &line); err != nil {
			t.Fatalf("%s: %v", f.add, err)
		}
		batch := b.Flush()
		defer batch.Release()
		r, err := p.Eval(batch, new(Scratch))
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		may[i] = append(may[i], byte(r.May[0]))
	}
	if !bytes.Equal(may[0], may[1]) {
		t.Errorf("%s: kernels and reference disagree", sql)
	}
	return may[0][0] != 0
}
