package vectorized

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

var writtenPairs = flag.Int("pairs", 30_000, "pairs of a file and a predicate that TestWritten judges at least")

// filesPerPredicate makes five chunks of bitmap words, the last one short.
const filesPerPredicate = 280

// TestWritten is the property that everything serves, from rows to verdicts: rows are drawn, statistics of them are written
// as known writers write them, and what the statistics prove of a predicate is held to what the row-by-row evaluator makes
// of the rows. Text and structs, kernels in assembly and in Go, the reference, one worker and many give one answer; what is
// left out, nulled or widened, and another arm of an OR, only turns skip into keep.
//
// A million pairs: go test ./vectorized -run TestWritten -pairs 1000000
func TestWritten(t *testing.T) {
	pairs := *writtenPairs
	if testing.Short() {
		pairs /= 4
	}
	var counts [All + 1]int
	total := 0
	for total < pairs {
		before := total
		for name, group := range writtenGroups {
			t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
				for v, n := range checkWritten(t, group) {
					counts[v] += n
					total += n
				}
			}))
			if total >= pairs {
				break
			}
		}
		if t.Failed() || total == before {
			t.FailNow()
		}
	}
	share := func(v Verdict) float64 { return 100 * float64(counts[v]) / float64(total) }
	t.Logf("%d pairs: %.1f %% None, %.1f %% Some, %.1f %% All", total, share(None), share(Some), share(All))
	if share(None) < 10 || share(All) < 2 || share(Some) < 10 {
		t.Error("one answer to nearly everything tests nothing")
	}
}

// checkWritten checks one predicate on many files and counts the verdicts on those that have a live row.
func checkWritten(t *rapid.T, group []string) (counts [All + 1]int) {
	var columns []*schema.Column
	for range rapid.IntRange(1, 3).Draw(t, "columns") {
		if c := writtenColumn(rapid.SampledFrom(group).Draw(t, "column")); !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	slices.SortFunc(columns, func(a, b *schema.Column) int { return slices.Compare(a.Physical, b.Physical) })
	env := predicate.Env{Zone: rapid.SampledFrom(testZones).Draw(t, "zone")}
	reads := []*predicate.Predicate{drawPredicate(t, writtenTable, columns, env)}
	if rapid.IntRange(0, 3).Draw(t, "two reads") == 0 {
		reads = append(reads, drawPredicate(t, writtenTable, columns, env))
	}
	more := append(slices.Clone(reads), drawPredicate(t, writtenTable, columns, env))
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	files := make([]*written, filesPerPredicate)
	less := make([]*written, len(files))
	for i := range files {
		files[i] = drawWritten(rng, columns)
		less[i] = files[i].less(rng, columns)
	}

	p, err := Compile(reads, Options{Verdicts: true})
	if err != nil {
		t.Fatal(err)
	}
	text := textBatch(t, p, columns, files)
	defer text.Release()
	got := verdicts(t, p, text)
	for i, f := range files {
		f.check(t, reads, got[i], columns)
		if slices.Contains(f.live, true) {
			counts[got[i]]++
		}
	}
	same := func(name string, other []Verdict, on func(*written) bool) {
		for i, v := range other {
			if v != got[i] && (on == nil || on(files[i])) {
				t.Fatalf("%v, but %v by %s\n%s", got[i], v, name, files[i].describe(columns))
			}
		}
	}
	withoutAssembly(func() { same("kernels in Go", verdicts(t, p, text), nil) })
	reference := *p
	reference.options.Reference = true
	same("the reference", verdicts(t, &reference, text), nil)
	structs := structBatch(t, p, columns, files)
	defer structs.Release()
	fromStructs := verdicts(t, p, structs)
	for i, f := range files {
		f.check(t, reads, fromStructs[i], columns)
	}
	same("structs", fromStructs, func(f *written) bool {
		// A struct cannot hold more digits than a column has, that an offset was cut, or that midnight was a date.
		return !f.arrow && f.zone == nil && !f.old
	})
	for _, workers := range []int{1, 3} {
		same(fmt.Sprint(workers, " workers"), scanned(t, p, columns, files, workers), func(*written) bool { return true })
	}

	dull := textBatch(t, p, columns, less)
	defer dull.Release()
	for i, v := range verdicts(t, p, dull) {
		// All can be found by one rule and missed by another, which nobody's commit depends on. Without rows all is None, too.
		if v == None && got[i] != None && len(files[i].rows) > 0 {
			t.Fatalf("%v, but %v for less knowledge\n%s\n%s", got[i], v, files[i].describe(columns), less[i].describe(columns))
		}
	}
	q, err := Compile(more, Options{Verdicts: true})
	if err != nil {
		t.Fatal(err)
	}
	wider := textBatch(t, q, columns, files)
	defer wider.Release()
	for i, v := range verdicts(t, q, wider) {
		// A file without rows is told by the bounds that it lacks, which another read may be the first to ask for.
		if len(files[i].rows) > 0 && got[i] != None && v == None {
			t.Fatalf("%v, but %v with %s as well\n%s", got[i], v, more[len(more)-1].SQL, files[i].describe(columns))
		}
	}
	return counts
}

// check holds a verdict to the file's live rows.
func (w *written) check(t *rapid.T, reads []*predicate.Predicate, v Verdict, columns []*schema.Column) {
	if v == Some {
		return
	}
	for i, row := range w.rows {
		if !w.live[i] {
			continue
		}
		match, certain := matches(t, reads, row)
		if v == None && match || v == All && certain && !match {
			t.Fatalf("%v, but match is %t for row %d\n%s", v, match, i, w.describe(columns))
		}
	}
}

func (w *written) describe(columns []*schema.Column) string {
	s := fmt.Sprintf("%s, vector %t, own %t: %s", w.name, w.vector, w.own, w.json(columns))
	for i, c := range columns {
		if c.Partition {
			value := "null"
			if w.partitions[i] != nil {
				value = strconv.Quote(*w.partitions[i])
			}
			s += fmt.Sprintf("\n%s: partition value %s", c, value)
		}
	}
	for i, row := range w.rows {
		s += fmt.Sprintf("\nrow %d, live %t:", i, w.live[i])
		for _, c := range columns {
			s += fmt.Sprintf(" %s=%s", c, row[c].SQL())
		}
	}
	return s
}

func verdicts(t *rapid.T, p *Program, b *colstats.Batch) []Verdict {
	dst := make([]Verdict, b.Len())
	err := p.Verdicts(dst, b, new(Scratch))
	var failed *predicate.EvalError
	if errors.As(err, &failed) {
		t.Skip(err) // of a partition predicate: Spark fails as well, and there is no verdict
	}
	if err != nil {
		t.Fatal(err)
	}
	return dst
}

// builderOptions trust what a commit of Spark wrote itself.
var builderOptions = colstats.Options{NaN: colstats.NaNOrderedIfOwn}

// textBatch reads the files as a log has them, every other one as a line of a commit.
func textBatch(t *rapid.T, p *Program, columns []*schema.Column, files []*written) *colstats.Batch {
	b := colstats.NewBuilder(p.Layout(), builderOptions)
	var line colstats.Line
	for i, w := range files {
		stats := w.json(columns)
		values := map[string]*string{}
		for i, c := range columns {
			if c.Partition {
				values[c.Physical[0]] = w.partitions[i]
			}
		}
		var err error
		if i%2 == 0 {
			err = b.Append(&colstats.File{PartitionValues: values, Stats: stats, WroteItself: w.own})
		} else {
			add := map[string]any{"path": "f", "partitionValues": values, "dataChange": w.own, "stats": stats}
			if w.vector {
				add["deletionVector"] = map[string]any{"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4}
			}
			var text []byte
			if text, err = json.Marshal(map[string]any{"add": add}); err == nil {
				err = b.AppendLine(text, &line)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Flush()
}

// structBatch reads the files as a checkpoint has them.
func structBatch(t *rapid.T, p *Program, columns []*schema.Column, files []*written) *colstats.Batch {
	n := len(files)
	raw := &colstats.Raw{Len: n, HasStruct: make([]uint64, (n+63)/64), WroteItself: make([]uint64, (n+63)/64)}
	all := make([]uint64, (n+63)/64)
	integers := func(count func(w *written) (int64, bool)) arrow.Array {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		defer b.Release()
		for _, w := range files {
			if v, ok := count(w); ok {
				b.Append(v)
			} else {
				b.AppendNull()
			}
		}
		return b.NewArray()
	}
	for i, w := range files {
		all[i/64] |= 1 << (i % 64)
		raw.HasStruct[i/64] |= b2u(!w.none) << (i % 64)
		raw.WroteItself[i/64] |= b2u(w.own) << (i % 64)
	}
	raw.NumRecords = integers(func(w *written) (int64, bool) { return int64(len(w.rows)), w.records != "" })
	for _, d := range p.Layout().Demands {
		at := slices.Index(columns, d.Column)
		var leaves colstats.RawDemand
		if d.Column.Partition {
			b := array.NewStringBuilder(memory.DefaultAllocator)
			for _, w := range files {
				if v := w.partitions[at]; v != nil {
					b.Append(*v)
				} else {
					b.AppendNull()
				}
			}
			leaves.ValueText, leaves.HasValueText = b.NewArray(), all
			b.Release()
		} else {
			leaves.NullCount = integers(func(w *written) (int64, bool) {
				s := w.columns[at].nulls
				return s.value.I, !w.noCounts && s.text != ""
			})
			bounds := func(of func(columnStatistics) statistic) arrow.Array {
				values := make([]predicate.Value, n)
				for i, w := range files {
					if s := of(w.columns[at]); s.text == "" || s.text == "null" {
						values[i] = predicate.NullOf(d.Column.Type)
					} else {
						values[i] = s.value
					}
				}
				return makeArray(d.Column.Type, values, 0)
			}
			leaves.Min = bounds(func(s columnStatistics) statistic { return s.least })
			leaves.Max = bounds(func(s columnStatistics) statistic { return s.greatest })
		}
		raw.Demands = append(raw.Demands, leaves)
	}
	b, err := colstats.NewBatch(p.Layout(), raw, builderOptions)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// scanned returns None and Some as Scan finds them over several batches; what is All stays as it is.
func scanned(t *rapid.T, p *Program, columns []*schema.Column, files []*written, workers int) (all []Verdict) {
	q := *p
	q.options.Workers = workers
	batches := func(yield func(*colstats.Batch, error) bool) {
		for part := range slices.Chunk(files, 77) {
			b := textBatch(t, p, columns, part)
			ok := yield(b, nil)
			b.Release()
			if !ok {
				return
			}
		}
	}
	_, err := q.Scan(t.Context(), batches, func(b *colstats.Batch, _ int64, r Result) error {
		part := verdicts(t, p, b)
		for i, v := range part {
			if colstats.IsSet(r.May, i) == (v == None) {
				return errors.New("Scan and Verdicts disagree")
			}
		}
		all = append(all, part...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
