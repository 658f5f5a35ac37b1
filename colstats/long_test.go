package colstats

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A long string ends where characters says, whatever is in it and wherever it stands.
func TestLongCharacters(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		`\"`, `\\`, `\`, `"`, `\\\`, `\\\\\"`, "a", "bcdefgh", strings.Repeat("x", 61), "\x1f", "\x00", "é", "\xff", `\n`, `\/`, `\u00e9`, `\ud83c\udf3c`, `\u12`, `\q`, "€",
		`{\"numRecords\":1,\"minValues\":{\"id\":17}}`,
	})
	rapid.Check(t, func(t *rapid.T) {
		// Most texts are free of what ends or breaks a string, else few would be long.
		common := rapid.SliceOfN(rapid.SampledFrom([]string{`\"`, `\\`, "a", "bcdefgh", `\n`, strings.Repeat("y", 59)}), 0, 300).Draw(t, "common")
		rare := rapid.SliceOfN(piece, 0, 6).Draw(t, "rare")
		text := []byte(strings.Join(append(common, rare...), "") + rapid.SampledFrom([]string{"", `"`, `",`, `"` + strings.Repeat("z", 200)}).Draw(t, "end"))
		start := rapid.IntRange(0, min(len(text), 70)).Draw(t, "start")
		end, plainText := longCharacters(text, start)
		if wantEnd, wantPlain := characters(text, start, plain); end != wantEnd || end >= 0 && plainText != wantPlain {
			t.Errorf("got %d, %t, want %d, %t in %q from %d", end, plainText, wantEnd, wantPlain, text, start)
		}
	})
}

func FuzzLongCharacters(f *testing.F) {
	f.Add(strings.Repeat(`\"a`, 100)+`"`, 0)
	f.Add(strings.Repeat("a", 63)+`\\"`, 0)
	f.Fuzz(func(t *testing.T, text string, start int) {
		if start < 0 || start > len(text) {
			return
		}
		end, plainText := longCharacters([]byte(text), start)
		if wantEnd, wantPlain := characters([]byte(text), start, plain); end != wantEnd || end >= 0 && plainText != wantPlain {
			t.Errorf("got %d, %t, want %d, %t", end, plainText, wantEnd, wantPlain)
		}
	})
}
