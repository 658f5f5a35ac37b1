package colstats

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/internal/civil"
)

// parseAnywhere gives parse the text at the end of its memory and in the middle of other digits, where reading whole words
// must not go wrong.
func parseAnywhere[T any](text string, parse func(b []byte) T) []T {
	padded := []byte("99999999" + text + "99999999")
	return []T{
		parse([]byte(text)[:len(text):len(text)]),
		parse(padded[8 : 8+len(text)]),
		parse(append([]byte(text), "...eee  \xff"...)[:len(text)]),
	}
}

func TestParseInt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.Map(rapid.Int64(), func(v int64) string { return strconv.FormatInt(v, 10) }),
			rapid.StringMatching(`[-+]?0{0,30}[0-9]{0,21}`),
			rapid.StringMatching(`[-+]?[0-9./:a-]{0,12}`),
		).Draw(t, "text")
		want, err := strconv.ParseInt(text, 10, 64)
		type result struct {
			v  int64
			ok bool
		}
		for _, got := range parseAnywhere(text, func(b []byte) result { v, ok := parseInt(b); return result{v, ok} }) {
			if got.ok != (err == nil) || got.ok && got.v != want {
				t.Fatalf("%q: %d %t, want %d %v", text, got.v, got.ok, want, err)
			}
		}
	})
}

func TestParseFloat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.Map(rapid.Float64(), func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }),
			rapid.Map(rapid.Float32(), func(v float32) string { return strconv.FormatFloat(float64(v), 'f', -1, 32) }),
			rapid.Map(rapid.Float32(), func(v float32) string { // next to the middle between two floats
				up := math.Nextafter32(v, math.MaxFloat32)
				return strconv.FormatFloat(float64(v)/2+float64(up)/2, 'f', -1, 64)
			}),
			rapid.StringMatching(`-?[0-9]{1,20}\.?[0-9]{0,20}`),
			rapid.StringMatching(`-?[0-9]{0,3}\.?[0-9]{0,3}([eE][-+]?[0-9]{0,3})?`),
		).Draw(t, "text")
		for _, size := range []int{32, 64} {
			want, err := strconv.ParseFloat(text, size)
			if strings.Trim(text, "+-.0123456789eE") != "" {
				continue // "NaN", "Inf"
			}
			type result struct {
				v  float64
				ok bool
			}
			for _, got := range parseAnywhere(text, func(b []byte) result { v, ok := parseFloat(b, size); return result{v, ok} }) {
				if got.ok != (err == nil) || got.ok && math.Float64bits(got.v) != math.Float64bits(want) {
					t.Fatalf("%q as float%d: %v %t, want %v %v", text, size, got.v, got.ok, want, err)
				}
			}
		}
	})
}

func TestParseDecimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`-?[0-9]{1,18}(\.[0-9]{1,8})?`),
			rapid.StringMatching(`[-+]?[0-9]{0,45}\.?[0-9]{0,45}([eE][-+]?[0-9]{1,2})?`),
		).Draw(t, "text")
		scale := rapid.IntRange(0, 38).Draw(t, "scale")
		exact, valid := new(big.Rat).SetString(text)
		var lo, hi *big.Int
		if valid {
			exact.Mul(exact, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
			lo = new(big.Int).Div(exact.Num(), exact.Denom()) // Euclidean: a floor
			if hi = lo; !exact.IsInt() {
				hi = new(big.Int).Add(lo, big.NewInt(1))
			}
			limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)
			valid = new(big.Int).Quo(exact.Num(), exact.Denom()).CmpAbs(limit) < 0
		}
		type result struct {
			lo, hi decimal128.Num
			ok     bool
		}
		for _, got := range parseAnywhere(text, func(b []byte) result { lo, hi, ok := parseDecimal(b, scale); return result{lo, hi, ok} }) {
			if got.ok != valid || got.ok && (got.lo.BigInt().Cmp(lo) != 0 || got.hi.BigInt().Cmp(hi) != 0) {
				t.Fatalf("%q at scale %d: [%s, %s] %t, want [%s, %s] %t", text, scale, got.lo.BigInt(), got.hi.BigInt(), got.ok, lo, hi, valid)
			}
		}
	})
}

func TestParseTimestamp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(-62_135_596_800_000_000, 253_402_300_799_999_999).Draw(t, "micros") // years 1 to 9999
		at := time.UnixMicro(micros).UTC()
		digits := rapid.IntRange(0, 6).Draw(t, "digits")
		layout := "2006-01-02T15:04:05"
		if digits > 0 {
			layout += "." + strings.Repeat("0", digits)
		}
		unit := int64(math.Pow10(6 - digits))
		want := civil.FloorDiv(micros, unit) * unit
		offset := rapid.SampledFrom([]int{0, 0, 3600, -4 * 3600, 5*3600 + 1800, 53*60 + 28}).Draw(t, "offset")
		text := at.In(time.FixedZone("", offset)).Format(layout)
		slack := int64(0)
		switch {
		case offset == 0:
			text += "Z"
		case offset%60 != 0:
			text += fmt.Sprintf("+%02d:%02d:%02d", offset/3600, offset/60%60, offset%60)
		default:
			text = at.In(time.FixedZone("", offset)).Format(layout + "-07:00")
			if at.In(time.FixedZone("", offset)).Year() < 1972 {
				slack = 60_000_000
			}
		}
		if at.In(time.FixedZone("", offset)).Year() > 9999 || at.In(time.FixedZone("", offset)).Year() < 1 {
			return
		}
		for _, got := range parseAnywhere(text, func(b []byte) instant {
			v, ok := parseTimestamp(b, false, UnknownZone)
			if !ok {
				t.Fatalf("%q is no timestamp", text)
			}
			return v
		}) {
			if got.lo != want-slack || got.hi != want+slack {
				t.Fatalf("%q: %d to %d, want %d", text, got.lo, got.hi, want)
			}
		}
	})
}

// The quick path for the usual form reads nothing that the general one would not.
func TestParseMillis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringMatching(`[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]\.[0-9]{3}Z?`).Draw(t, "text"))
		if rapid.Bool().Draw(t, "spoil") {
			text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("/:-.TZ 0a\xff")).Draw(t, "byte")
		}
		micros, utc, ok := parseMillis(text)
		form := "2006-01-02T15:04:05.000"
		if utc {
			form += "Z"
		}
		want, err := time.Parse(form, string(text))
		valid := err == nil && want.Format(form) == string(text) // time.Parse is more lenient than this
		if ok != valid || ok && micros != want.UnixMicro() {
			t.Fatalf("%q: %d %t, want %v %v", text, micros, ok, want, err)
		}
	})
}

func TestParseDate(t *testing.T) {
	for days := int64(-800_000); days < 2_932_897; days += 37 {
		want := time.Unix(days*secondsPerDay, 0).UTC()
		if want.Year() < 0 {
			continue
		}
		got, year, rest, ok := parseDate([]byte(want.Format("2006-01-02")))
		if !ok || got != days || year != int64(want.Year()) || len(rest) != 0 {
			t.Fatalf("%s: %d of year %d %t", want.Format("2006-01-02"), got, year, ok)
		}
	}
}
