package vectorized

import (
	"testing"

	"github.com/deltaskip/deltaskip/colstats"
)

// What a shared comparison of two columns answered for one file stays answered when it is asked about another one of the same
// word, also where a NaN behind the bounds decides. File 0 fails the first read after d < d2, which the second asks of file 1 and
// the third of file 0 again.
func TestSharedPairsRemember(t *testing.T) {
	for _, reference := range []bool{false, true} {
		p := mustCompile(t, Options{Reference: reference},
			"p = 1 AND d < d2 AND l + i > 100", "p = 2 AND d < d2 AND l + i > -1", "p = 1 AND d < d2 AND l + i < 10")
		b := colstats.NewBuilder(p.Layout(), colstats.Options{})
		for _, partition := range []string{"1", "2"} {
			if err := b.Append(&colstats.File{
				Path: partition, PartitionValues: map[string]*string{"p": &partition},
				Stats: `{"numRecords":10,"minValues":{"l":0,"i":0,"d":5.5,"d2":1.5},"maxValues":{"l":1,"i":1,"d":6.5,"d2":2.5},"nullCount":{"l":0,"i":0,"d":0,"d2":0}}`,
			}); err != nil {
				t.Fatal(err)
			}
		}
		batch := b.Flush()
		r, err := p.Eval(batch, new(Scratch))
		if err != nil {
			t.Fatal(err)
		}
		if r.May[0] != 0b11 {
			t.Errorf("reference %t: files %02b may match, want both: d2 may be NaN, which is greater than d", reference, r.May[0])
		}
		batch.Release()
	}
}
