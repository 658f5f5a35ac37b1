package vectorized

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/ordered"
	"github.com/deltaskip/deltaskip/predicate"
)

// drawAdd draws an add with statistics of some columns, of which any may be missing.
func drawAdd(t *rapid.T, i int) *colstats.File {
	number := func(name string) int { return rapid.IntRange(-3, 3).Draw(t, name) }
	render := map[string]func(v int) string{
		"l": func(v int) string { return fmt.Sprint(v * 1000) }, "i": func(v int) string { return fmt.Sprint(v) },
		"d": func(v int) string {
			return map[int]string{3: `"NaN"`, -3: `"-Infinity"`, 2: `"Infinity"`, 0: "-0.0"}[v] + map[bool]string{true: fmt.Sprint(v) + ".5"}[v*v == 1 || v == -2]
		},
		"e": func(v int) string { return fmt.Sprintf("%d.25", v) }, "s": func(v int) string { return fmt.Sprintf(`"s%d"`, v+3) },
		"dt": func(v int) string { return fmt.Sprintf(`"2024-01-%02d"`, v+10) },
		"ts": func(v int) string { return fmt.Sprintf(`"2024-01-%02dT00:00:00.000Z"`, v+10) },
		"by": func(v int) string { return fmt.Sprint(v) }, "f": func(v int) string { return fmt.Sprintf("%d.5", v) },
	}
	var lower, upper, nulls []string
	for _, name := range []string{"l", "i", "d", "e", "s", "dt", "ts", "by", "f"} {
		a, b := number(name), number(name)
		a, b = min(a, b), max(a, b)
		switch rapid.SampledFrom([]string{"both", "both", "both", "lower", "upper", "none", "null"}).Draw(t, name+" has") {
		case "both":
			lower, upper = append(lower, fmt.Sprintf("%q:%s", name, render[name](a))), append(upper, fmt.Sprintf("%q:%s", name, render[name](b)))
		case "lower":
			lower = append(lower, fmt.Sprintf("%q:%s", name, render[name](a)))
		case "upper":
			upper = append(upper, fmt.Sprintf("%q:%s", name, render[name](b)))
		case "null":
			nulls = append(nulls, fmt.Sprintf("%q:10", name))
			continue
		}
		if rapid.Bool().Draw(t, name+" nulls") {
			nulls = append(nulls, fmt.Sprintf("%q:%d", name, rapid.SampledFrom([]int{0, 3}).Draw(t, name+" count")))
		}
	}
	f := &colstats.File{Path: fmt.Sprint("f", i), PartitionValues: map[string]*string{"p": nil}}
	if p := rapid.IntRange(-1, 2).Draw(t, "p"); p >= 0 {
		text := fmt.Sprint(p)
		f.PartitionValues["p"] = &text
	}
	f.Stats = fmt.Sprintf(`{"numRecords":10,"minValues":{%s},"maxValues":{%s},"nullCount":{%s}}`,
		strings.Join(lower, ","), strings.Join(upper, ","), strings.Join(nulls, ","))
	return f
}

// A zone map changes nothing but the work: survivors, counts, the first hit and errors are those without it. And what it says
// of a zone holds for each of its files.
func TestZones(t *testing.T) {
	noGoroutinesLeft(t)
	mem := checkedAllocator(t)
	questions := []string{
		"l = 2000", "l > 2000", "l IS NULL", "l IS NOT NULL AND i < 0", "d > 1.0", "d <= -2.0", "d = 0.0", "isnan(d)", "e = 2.25", "s = 's6'", "s LIKE 's0%'",
		"dt < DATE'2024-01-08'", "ts >= TIMESTAMP'2024-01-12 00:00:00'", "by > 2", "f < -2.0", "l < i", "i + by > 5", "p = 1", "p = 1 AND l = 2000", "p = 5",
		"p = 2 AND i > 2 OR p IS NULL AND by < -2", "10 / p > 3 AND l = 3000", "coalesce(l, 0) = 3000", "NOT (l <= 2000)", "l IN (-3000, 3000)",
	}
	passedOver := 0
	rapid.Check(t, func(t *rapid.T) {
		p, err := compileSQL(Options{Workers: rapid.IntRange(1, 3).Draw(t, "workers")}, rapid.SliceOfN(rapid.SampledFrom(questions), 1, 2).Draw(t, "reads")...)
		if err != nil {
			t.Fatal(err)
		}
		var batches []*colstats.Batch
		builder := colstats.NewBuilder(p.Layout(), colstats.Options{Allocator: mem, NaN: rapid.SampledFrom([]colstats.NaNOrder{colstats.NaNUnknown, colstats.NaNOrdered}).Draw(t, "nan")})
		defer func() {
			for _, b := range batches {
				b.Release()
			}
		}()
		n := 0
		for range rapid.IntRange(0, 6).Draw(t, "batches") {
			for range rapid.IntRange(1, 4).Draw(t, "files") {
				if err := builder.Append(drawAdd(t, n)); err != nil {
					t.Fatal(err)
				}
				n++
			}
			batches = append(batches, builder.Flush())
		}
		zones, err := colstats.NewZones(batches, mem)
		if err != nil {
			t.Fatal(err)
		}
		defer zones.Release()
		checkHulls(t, p, batches, zones)

		wantHit, wantStats, wantErr := p.FirstOf(t.Context(), batches)
		hit, stats, err := p.FirstIn(t.Context(), zones)
		if diff := cmp.Diff([]any{wantHit, wantStats, message(wantErr)}, []any{hit, stats, message(err)}); diff != "" {
			t.Errorf("the first: %s", diff)
		}
		var want, got []int64
		collect := func(to *[]int64) func(b *colstats.Batch, base int64, r Result) error {
			return func(_ *colstats.Batch, base int64, r Result) error {
				for w, word := range r.May {
					for ; word != 0; word &= word - 1 {
						*to = append(*to, base+int64(w*64+bits.TrailingZeros64(word)))
					}
				}
				return nil
			}
		}
		wantStats, wantErr = p.Scan(t.Context(), ordered.Items(batches)(t.Context()), collect(&want))
		stats, err = p.ScanIn(t.Context(), zones, collect(&got))
		if diff := cmp.Diff(message(wantErr), message(err)); diff != "" {
			t.Fatal(diff)
		}
		if err == nil && (!slices.Equal(want, got) || stats != wantStats) {
			t.Errorf("survivors %v, %+v, want %v, %+v", got, stats, want, wantStats)
		}
		passedOver += len(batches) + 1 - len(p.parts(zones))
		if n > 0 {
			stop := errors.New("stop")
			if _, err := p.ScanIn(t.Context(), zones, func(*colstats.Batch, int64, Result) error { return stop }); len(want) > 0 && err != stop {
				t.Errorf("a scan that was stopped ends with %v", err)
			}
		}
	})
	if passedOver == 0 {
		t.Error("no batch was ever passed over: nothing was tested")
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// checkHulls checks what a zone map says against every file. A batch of the test is a zone.
func checkHulls(t *rapid.T, p *Program, batches []*colstats.Batch, zones *colstats.Zones) {
	for z, b := range batches {
		for d := range p.Layout().Demands {
			of, in := zones.Maps()[0].Facts(d), b.Facts(d)
			hull := spanOf(of, z)
			for i := range b.Len() {
				s := spanOf(in, i)
				switch {
				case s.null && !hull.null, !s.empty && hull.empty, s.nan && !hull.nan && !s.empty:
					t.Errorf("file %d of zone %d: %+v is not within %+v", i, z, s, hull)
				case s.empty || !colstats.IsSet(of.Bounded, z):
				case math.IsNaN(hull.lo.F) != math.IsNaN(hull.hi.F):
					t.Errorf("zone %d: one bound is NaN: %+v", z, hull) // which the kernels' comparisons would get wrong
				case s.hasLo && math.IsNaN(s.lo.F): // nothing but NaN, which hull.nan covers
				case !s.hasLo || !below(hull.lo, s.lo) || !below(s.hi, hull.hi):
					t.Errorf("file %d of zone %d: bounds %+v are not within %+v", i, z, s, hull)
				}
			}
		}
	}
}

func below(a, b predicate.Value) bool { return a.Compare(b) <= 0 }

func TestZonesOfOneLayout(t *testing.T) {
	var batches []*colstats.Batch
	for _, sql := range []string{"l = 1", "i = 1"} {
		b := colstats.NewBuilder(mustCompile(t, Options{}, sql).Layout(), colstats.Options{}).Flush()
		defer b.Release()
		batches = append(batches, b)
	}
	if _, err := colstats.NewZones(batches, nil); err == nil {
		t.Error("batches of two layouts have one zone map")
	}
}

// With more zones than a word has bits, each batch must find its own.
func TestManyZones(t *testing.T) {
	mem := checkedAllocator(t)
	p := mustCompile(t, Options{Workers: 2}, "l = 55")
	rng := rand.New(rand.NewPCG(1, 2))
	files := make([]logFile, 700)
	for i := range files {
		if files[i].lo = 100 + rng.IntN(100); rng.IntN(20) == 0 {
			files[i].lo = 50
		}
	}
	var batches []*colstats.Batch
	for b, err := range source(mem, p, files, 3, nil) {
		if err != nil {
			t.Fatal(err)
		}
		b.Retain()
		defer b.Release()
		batches = append(batches, b)
	}
	zones, err := colstats.NewZones(batches, mem)
	if err != nil {
		t.Fatal(err)
	}
	defer zones.Release()
	var got, want []int64
	for i, f := range files {
		if f.lo == 50 {
			want = append(want, int64(i))
		}
	}
	stats, err := p.ScanIn(t.Context(), zones, func(_ *colstats.Batch, base int64, r Result) error {
		for w := r.May[0]; w != 0; w &= w - 1 {
			got = append(got, base+int64(bits.TrailingZeros64(w)))
		}
		return nil
	})
	if err != nil || !slices.Equal(got, want) || stats.Considered != int64(len(files)) {
		t.Errorf("%v, %+v: got %v, want %v", err, stats, got, want)
	}
}
