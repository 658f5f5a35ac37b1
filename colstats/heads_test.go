package colstats

import (
	"cmp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

// TestHeads: heads are in the order of their strings, as far as eight bytes tell, wherever in an array they are.
func TestHeads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xfe, 0xff}), 0, 10), func(b []byte) string { return string(b) })
		texts := rapid.SliceOf(text).Draw(t, "texts")
		from := rapid.IntRange(0, len(texts)).Draw(t, "offset")
		b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
		defer b.Release()
		for _, s := range texts {
			b.AppendString(s)
		}
		whole := b.NewArray()
		defer whole.Release()
		a := array.NewSlice(whole, int64(from), int64(len(texts)))
		defer a.Release()
		texts = texts[from:]
		heads := Heads(a)
		if len(heads) != len(texts) {
			t.Fatalf("%d heads of %d strings", len(heads), len(texts))
		}
		first := func(s string) string { return (s + strings.Repeat("\x00", 8))[:8] }
		for i, s := range texts {
			if heads[i] != Head(s) {
				t.Fatalf("%q has head %x in an array and %x alone", s, heads[i], Head(s))
			}
			if got, want := cmp.Compare(heads[0], heads[i]), cmp.Compare(first(texts[0]), first(s)); got != want {
				t.Fatalf("the heads of %q and %q compare as %d", texts[0], s, got)
			}
		}
	})
}
