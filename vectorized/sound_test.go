package vectorized

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

var testZones = func() []*time.Location {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err)
	}
	return []*time.Location{nil, time.FixedZone("east", 3600), newYork}
}()

// drawPredicate draws a predicate over the columns that binds.
func drawPredicate(t *rapid.T, table *schema.Table, columns []*schema.Column, env predicate.Env) *predicate.Predicate {
	sql := predicateGen{t, columns}.boolean(rapid.IntRange(0, 3).Draw(t, "depth"))
	e, err := predicate.Parse(sql, predicate.ParseOptions{})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	t.Log(sql)
	p, err := predicate.Bind(e, table, env)
	var refused *predicate.BindError
	if errors.As(err, &refused) {
		t.Skip(sql, err)
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return p
}

// testGroups are columns that have much to do with each other.
var testGroups = map[string][]string{
	"any":      nil,
	"times":    {"dt", "dt2", "ts", "ts2", "tn"},
	"floats":   {"f", "f2", "d", "d2"},
	"integers": {"by", "sh", "i", "i2", "l", "l2", "p"},
	"decimals": {"e", "e2", "big", "l", "d"},
	"text":     {"s", "s2", "ps", "bin", "bo"},
}

// drawColumns draws the few columns that a test works with.
func drawColumns(t *rapid.T, group []string) []*schema.Column {
	if group == nil {
		for _, c := range testColumns {
			group = append(group, c.name)
		}
	}
	var columns []*schema.Column
	for range rapid.IntRange(1, 3).Draw(t, "columns") {
		if c := testColumn(rapid.SampledFrom(group).Draw(t, "column")); !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	return columns
}

// evaluated is a program's answers for some files.
type evaluated struct {
	partition, may, partial []bool
}

// evaluate runs a program over facts: by kernels, or by the reference.
func evaluate(t *rapid.T, p *Program, facts map[*schema.Column]*colstats.Facts, n int, reference bool) evaluated {
	var r run
	q := *p
	q.options.Reference = reference
	for _, d := range p.layout.Demands {
		r.facts = append(r.facts, facts[d.Column])
	}
	if err := r.begin(&q, n); err != nil {
		t.Fatal(err)
	}
	var e evaluated
	add := func(dst *[]bool, id int32, files []uint64) {
		answer := make([]uint64, len(files))
		r.answer(answer, id, files)
		for i := range r.hi - r.lo {
			*dst = append(*dst, colstats.IsSet(answer, i))
		}
	}
	for files, ok := r.next(chunkFiles); ok; files, ok = r.next(chunkFiles) {
		add(&e.partition, q.partition, files)
		add(&e.may, q.may, files)
		add(&e.partial, q.partial, files)
	}
	return e
}

// TestSound is the property that everything else serves: a file with a matching row is never None, one with a row
// that does not match is never All; and kernels and reference agree.
func TestSound(t *testing.T) {
	for name, group := range testGroups {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) { checkSound(t, group) }))
	}
}

func checkSound(t *rapid.T, group []string) {
	columns := drawColumns(t, group)
	env := predicate.Env{Zone: rapid.SampledFrom(testZones).Draw(t, "zone")}
	var reads []*predicate.Predicate
	for range rapid.IntRange(1, 3).Draw(t, "reads") {
		reads = append(reads, drawPredicate(t, testTable, columns, env))
	}
	p, err := Compile(reads, Options{Verdicts: true})
	var panicked *PanicError
	if errors.As(err, &panicked) {
		t.Fatalf("%v\n%s", err, panicked.Stack)
	} else if err != nil {
		t.Fatal(err)
	}
	n := rapid.SampledFrom([]int{1, 2, 3, 5, 63, 64, 65, 130}).Draw(t, "files")
	files := make([]testFile, min(n, 6)) // then they repeat
	for i := range files {
		files[i] = drawFile(t, columns, rapid.IntRange(0, 3).Draw(t, "rows"))
	}
	facts, dull := map[*schema.Column]*colstats.Facts{}, map[*schema.Column]*colstats.Facts{}
	for _, c := range columns {
		known, less := make([]fileFacts, n), make([]fileFacts, n)
		for i := range known {
			if i < len(files) {
				known[i] = drawFacts(t, c, files[i])
				less[i] = drawLess(t, c, known[i])
			} else {
				known[i], less[i] = known[i%len(files)], less[i%len(files)]
			}
		}
		facts[c], dull[c] = makeFacts(t, c, known), makeFacts(t, c, less)
	}
	kernels, reference := evaluate(t, p, facts, n, false), evaluate(t, p, facts, n, true)
	blunt := evaluate(t, p, dull, n, false)
	more, err := Compile(append(reads, drawPredicate(t, testTable, columns, env)), Options{Verdicts: true})
	if err != nil {
		t.Fatal(err)
	}
	with := evaluate(t, more, facts, n, false)
	for i := range n {
		switch {
		case kernels.may[i] && !blunt.may[i], kernels.partial[i] && !blunt.partial[i]:
			t.Fatalf("file %d: less is known, and more is proven", i)
		case kernels.may[i] && !with.may[i], kernels.partition[i] && !with.partition[i]:
			t.Fatalf("file %d: another read skips more", i)
		}
		if kernels.may[i] != reference.may[i] || kernels.partial[i] != reference.partial[i] || kernels.partition[i] != reference.partition[i] {
			t.Fatalf("file %d: kernels say %t %t %t, the reference %t %t %t", i, kernels.partition[i], kernels.may[i], kernels.partial[i],
				reference.partition[i], reference.may[i], reference.partial[i])
		}
		for _, row := range files[i%len(files)] {
			match, certain := matches(t, reads, row)
			if match && !kernels.may[i] {
				t.Fatalf("file %d: None, but %v matches", i, row)
			}
			if match && !kernels.partition[i] {
				t.Fatalf("file %d: the partition is skipped, but %v matches", i, row)
			}
			if certain && !match && !kernels.partial[i] && kernels.may[i] {
				t.Fatalf("file %d: All, but %v does not match", i, row)
			}
		}
	}
}

// matches says whether some read is TRUE for the row; certain is false when a read fails or has no answer.
func matches(t *rapid.T, reads []*predicate.Predicate, row testRow) (match, certain bool) {
	certain = true
	for _, r := range reads {
		v, err := r.Eval(row)
		var failed *predicate.EvalError
		var doubt *predicate.UnsupportedError
		switch {
		case errors.As(err, &failed), errors.As(err, &doubt):
			certain = false
		case err != nil:
			t.Fatal(err)
		case !v.Null && v.I != 0:
			match = true
		}
	}
	return match, certain
}
