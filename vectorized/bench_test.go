package vectorized

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/schema"
)

// benchFacts makes facts of n files: ranges of width 1000 in shuffled order, every 16th file without bounds if gaps.
func benchFacts(c *schema.Column, n int, gaps bool, rng *rand.Rand) *colstats.Facts {
	typ, _ := colstats.ArrowType(c.Type)
	words := (n + 63) / 64
	f := &colstats.Facts{Column: c, Bounded: make([]uint64, words), NoNull: make([]uint64, words)}
	lower, upper := array.NewBuilder(memory.DefaultAllocator, typ), array.NewBuilder(memory.DefaultAllocator, typ)
	for i := range n {
		lo := rng.Int64N(1_000_000_000)
		if !gaps || i%16 != 0 {
			f.Bounded[i/64] |= 1 << (i % 64)
		}
		f.NoNull[i/64] |= 1 << (i % 64)
		for _, b := range []struct {
			array.Builder
			v int64
		}{{lower, lo}, {upper, lo + 1000}} {
			text := fmt.Sprint(b.v)
			if c.Type.Kind == schema.String {
				text = fmt.Sprintf("key-%010d", b.v)
			}
			if c.Type.Kind == schema.Timestamp {
				text = fmt.Sprintf("2020-01-01 00:%02d:%02d.%06dZ", b.v/60%60, b.v%60, b.v%1_000_000)
			}
			if err := b.AppendValueFromString(text); err != nil {
				panic(err)
			}
		}
	}
	f.Lower, f.Upper = lower.NewArray(), upper.NewArray()
	addHeads(f)
	return f
}

// BenchmarkEval evaluates batches of 64 Ki files in memory on one thread.
func BenchmarkEval(b *testing.B) {
	for _, bench := range []struct {
		name  string
		reads []string
	}{
		{"range", []string{"l >= 500000000 AND l < 510000000"}},
		{"pairs", []string{"p = 1 AND l < 50000000", "p = 2 AND l >= 990000000", "p = 3 AND l BETWEEN 400000000 AND 410000000"}},
		{"prefix", []string{"s LIKE 'key-05%'"}},
		{"timestamp", []string{"ts >= TIMESTAMP'2020-01-01 00:10:00' AND ts < TIMESTAMP'2020-01-01 00:11:00'"}},
		{"null", []string{"l IS NULL"}},
		{"in=3", []string{"l IN (1, 500000000, 999999999)"}},
		{"in=1000", []string{func() string {
			list := "l IN (0"
			for i := range 1000 {
				list += fmt.Sprintf(", %d", i*1_000_000+7)
			}
			return list + ")"
		}()}},
		{"double", []string{"d < 1000000"}},
		{"columns", []string{"l < l2"}},
		{"scalar", []string{"l + l2 < 0"}},
	} {
		for _, files := range []int{1 << 20, 10 << 20} {
			if files > 1<<20 && bench.name != "range" {
				continue
			}
			b.Run(fmt.Sprintf("%s/files=%d", bench.name, files), func(b *testing.B) {
				p := mustCompile(b, Options{}, bench.reads...)
				rng := rand.New(rand.NewPCG(1, 2))
				var batches [][]*colstats.Facts
				bytes := 0
				for range files / colstats.MaxBatchLen {
					var facts []*colstats.Facts
					for _, d := range p.layout.Demands {
						f := benchFacts(d.Column, colstats.MaxBatchLen, true, rng)
						if d.Column.Path[0] == "p" {
							f = partitionFacts(d.Column, colstats.MaxBatchLen, rng)
						}
						facts = append(facts, f)
						if d.Bounds {
							bytes += f.Lower.Data().Buffers()[len(f.Lower.Data().Buffers())-1].Len() * 2
						}
					}
					batches = append(batches, facts)
				}
				var r run
				may := make([]uint64, chunkWords)
				partition := make([]uint64, chunkWords)
				b.SetBytes(int64(bytes))
				b.ReportAllocs()
				for b.Loop() {
					for _, facts := range batches {
						r.facts = append(r.facts[:0], facts...)
						if err := r.begin(p, colstats.MaxBatchLen); err != nil {
							b.Fatal(err)
						}
						for files, ok := r.next(chunkFiles); ok; files, ok = r.next(chunkFiles) {
							r.answer(partition[:len(files)], p.partition, files)
							r.answer(may[:len(files)], p.may, partition[:len(files)])
						}
					}
				}
				b.ReportMetric(float64(files)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Madds/s")
			})
		}
	}
}

func partitionFacts(c *schema.Column, n int, rng *rand.Rand) *colstats.Facts {
	b := array.NewInt32Builder(memory.DefaultAllocator)
	for range n {
		b.Append(rng.Int32N(10))
	}
	f, err := colstats.FactsFromValues(c, b.NewArray())
	if err != nil {
		panic(err)
	}
	return f
}
