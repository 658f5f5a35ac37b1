package vectorized

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/colstats"
)

// A logFile is an add of the stream tests: partition p, and l in [lo, lo+9].
type logFile struct{ p, lo int }

func (f logFile) add(i int) *colstats.File {
	p := fmt.Sprint(f.p)
	return &colstats.File{
		Path: fmt.Sprintf("f%d", i), PartitionValues: map[string]*string{"p": &p},
		Stats: fmt.Sprintf(`{"numRecords":10,"minValues":{"l":%d},"maxValues":{"l":%d},"nullCount":{"l":0}}`, f.lo, f.lo+9),
	}
}

// source lends batches of the files, and then perhaps an error.
func source(mem memory.Allocator, p *Program, files []logFile, size int, end error) iter.Seq2[*colstats.Batch, error] {
	return func(yield func(*colstats.Batch, error) bool) {
		b := colstats.NewBuilder(p.Layout(), colstats.Options{Allocator: mem})
		i := 0
		for chunk := range slices.Chunk(files, size) {
			for _, f := range chunk {
				if err := b.Append(f.add(i)); err != nil {
					panic(err)
				}
				i++
			}
			batch := b.Flush()
			ok := yield(batch, nil)
			batch.Release()
			if !ok {
				return
			}
		}
		if end != nil {
			yield(nil, end)
		}
	}
}

func checkedAllocator(t testing.TB) *memory.CheckedAllocator {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

// noGoroutinesLeft fails the test when what it started outlives it.
func noGoroutinesLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for range 100 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(time.Millisecond) // a goroutine that has said it is done may still be ending
		}
		t.Errorf("%d goroutines more than before", runtime.NumGoroutine()-before)
	})
}

func TestCrossTerms(t *testing.T) {
	mem := checkedAllocator(t)
	p := mustCompile(t, Options{}, "p = 1 AND l < 50", "p = 2 AND l >= 100")
	for _, tt := range []struct {
		name string
		file logFile
		want *Hit
		off  bool // kept by the partition predicates alone
	}{
		{"partition of one read, data of the other", logFile{1, 150}, nil, true},
		{"the other way round", logFile{2, 0}, nil, true},
		{"first read", logFile{1, 45}, &Hit{Path: "f0", Read: 0}, true},
		{"second read", logFile{2, 95}, &Hit{Path: "f0", Read: 1}, true},
		{"neither partition", logFile{3, 0}, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hit, stats, err := p.First(t.Context(), source(mem, p, []logFile{tt.file}, 1, nil))
			if diff := cmp.Diff(tt.want, hit); diff != "" || err != nil || stats.Considered != 1 {
				t.Errorf("%v, %+v, %s", err, stats, diff)
			}
			if skipped := stats.SkippedByPartition == 1; skipped == tt.off {
				t.Errorf("skipped by partition: %t", skipped)
			}
			off := p.PartitionOnly()
			hit, _, err = off.First(t.Context(), source(mem, off, []logFile{tt.file}, 1, nil))
			if (hit != nil) != tt.off || err != nil {
				t.Errorf("by partition alone: %+v, %v", hit, err)
			}
		})
	}
}

// TestFirstIsTheFirst holds First and Scan to a loop over the files, for all cuts into batches and numbers of workers.
func TestFirstIsTheFirst(t *testing.T) {
	noGoroutinesLeft(t)
	mem := checkedAllocator(t)
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) logFile {
			return logFile{rapid.IntRange(0, 2).Draw(t, "p"), rapid.SampledFrom([]int{0, 100, 200, 300}).Draw(t, "lo")}
		}), 0, 300).Draw(t, "files")
		lo, part := rapid.SampledFrom([]int{0, 100, 500}).Draw(t, "lo"), rapid.IntRange(0, 3).Draw(t, "p")
		var end error
		if rapid.Bool().Draw(t, "source fails") {
			end = errors.New("source")
		}
		p := mustCompileRapid(t, Options{Workers: rapid.SampledFrom([]int{1, 2, 5}).Draw(t, "workers")},
			fmt.Sprintf("p = %d AND l = %d", part, lo), fmt.Sprintf("p = %d AND l = %d", part+1, lo))
		size := rapid.SampledFrom([]int{1, 3, 64, 65, 1000}).Draw(t, "batch")

		var all, upTo Stats
		var kept []int64
		for i, f := range files {
			s := Stats{Considered: 1}
			switch {
			case f.p != part && f.p != part+1:
				s.SkippedByPartition = 1
			case f.lo != lo:
				s.SkippedByStats = 1
			default:
				kept = append(kept, int64(i))
			}
			all.Add(s)
			if len(kept) == 0 || kept[0] == int64(i) {
				upTo.Add(s)
			}
		}

		hit, stats, err := p.First(context.Background(), source(mem, p, files, size, end))
		switch {
		case len(kept) == 0:
			if hit != nil || !errors.Is(err, end) || end == nil && stats != all {
				t.Fatalf("got %+v, %+v, %v", hit, stats, err)
			}
		case err != nil || hit.Index != kept[0] || hit.Path != fmt.Sprintf("f%d", kept[0]) || stats != upTo:
			t.Fatalf("got %+v, %+v, %v; want file %d, %+v", hit, stats, err, kept[0], upTo)
		}

		var got []int64
		stats, err = p.Scan(context.Background(), source(mem, p, files, size, end), func(b *colstats.Batch, base int64, r Result) error {
			for i := range b.Len() {
				if colstats.IsSet(r.May, i) {
					got = append(got, base+int64(i))
				}
			}
			return nil
		})
		if !slices.Equal(got, kept) || stats != all || !errors.Is(err, end) {
			t.Fatalf("got %v, %+v, %v; want %v, %+v", got, stats, err, kept, all)
		}
	})
}

func mustCompileRapid(t *rapid.T, o Options, reads ...string) *Program {
	p, err := compileSQL(o, reads...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFailures(t *testing.T) {
	files := slices.Repeat([]logFile{{1, 0}}, 200)
	for _, workers := range []int{1, 3} {
		o := Options{Workers: workers}
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			noGoroutinesLeft(t)
			mem := checkedAllocator(t)
			p := mustCompile(t, o, "p = 1 AND l > 1000")
			keep := func(*colstats.Batch, int64, Result) error { return nil }

			ctx, cancel := context.WithCancel(t.Context())
			n := 0
			if _, err := p.Scan(ctx, source(mem, p, files, 1, nil), func(*colstats.Batch, int64, Result) error {
				if n++; n == 5 {
					cancel()
				}
				return nil
			}); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
			if hit, _, err := p.First(ctx, source(mem, p, files, 1, nil)); hit != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled before: %v, %v", hit, err)
			}

			stop := errors.New("stop")
			if _, err := p.Scan(t.Context(), source(mem, p, files, 1, nil), func(*colstats.Batch, int64, Result) error { return stop }); !errors.Is(err, stop) {
				t.Errorf("callback: %v", err)
			}

			var panicked *PanicError
			bad := func(yield func(*colstats.Batch, error) bool) {
				for b, err := range source(mem, p, files[:70], 7, nil) {
					if !yield(b, err) {
						return
					}
				}
				panic("source")
			}
			if _, _, err := p.First(t.Context(), bad); !errors.As(err, &panicked) || panicked.Value != "source" {
				t.Errorf("panic of the source: %v", err)
			}
			if _, err := p.Scan(t.Context(), bad, keep); !errors.As(err, &panicked) {
				t.Errorf("panic of the source: %v", err)
			}

			other := mustCompile(t, o, "i < 3")
			if _, _, err := p.First(t.Context(), source(mem, other, files, 1, nil)); err == nil {
				t.Error("no error for a batch of another layout")
			}
		})
	}
}

func TestErrorsOfPartitionValues(t *testing.T) {
	mem := checkedAllocator(t)
	p := mustCompile(t, Options{}, "2147483647 + p > 0 AND l < 1000")
	for _, tt := range []struct {
		files []logFile
		fails bool
	}{
		{[]logFile{{0, 0}}, false},
		{[]logFile{{0, 5000}, {1, 0}}, true},
	} {
		_, _, err := p.First(t.Context(), source(mem, p, tt.files, 10, nil))
		if (err != nil) != tt.fails {
			t.Errorf("%v: %v", tt.files, err)
		}
	}
}

func TestVerdictsAndWhy(t *testing.T) {
	mem := checkedAllocator(t)
	p := mustCompile(t, Options{Verdicts: true}, "p = 1 AND l < 100", "p = 2")
	files := []logFile{{1, 50}, {1, 95}, {1, 100}, {2, 7}, {3, 0}}
	for b, err := range source(mem, p, files, len(files), nil) {
		if err != nil {
			t.Fatal(err)
		}
		verdicts := make([]Verdict, b.Len())
		if err := p.Verdicts(verdicts, b, new(Scratch)); err != nil {
			t.Fatal(err)
		}
		if want := []Verdict{All, Some, None, All, None}; !slices.Equal(verdicts, want) {
			t.Errorf("got %v, want %v", verdicts, want)
		}
		var texts []string
		for i := range files {
			r, ok, err := p.Why(b, i)
			if err != nil || ok != (verdicts[i] != None) {
				t.Errorf("file %d: %t, %v", i, ok, err)
			}
			texts = append(texts, fmt.Sprint(r.Read, r.Ranges))
		}
		want := []string{"0 [p in [1, 1] l in [50, 59]]", "0 [p in [1, 1] l in [95, 104]]", "0 []", "1 [p in [2, 2]]", "0 []"}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWholeTableReads(t *testing.T) {
	if _, err := Compile(nil, Options{}); !errors.Is(err, ErrNoReads) {
		t.Errorf("no reads: %v", err)
	}
	p, err := Compile(append(mustBind(t, "l < 5"), nil), Options{})
	if err != nil || !p.MatchesAll() {
		t.Errorf("a whole-table read among others: %v", err)
	}
	if p := mustCompile(t, Options{}, "l < 5 OR l >= 5 OR l IS NULL"); !p.MatchesAll() || len(p.Layout().Demands) > 0 {
		t.Error("a predicate that is always TRUE does not match all")
	}
}
