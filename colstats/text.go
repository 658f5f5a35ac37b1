package colstats

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/internal/civil"
)

// The parsers of this file read value texts, of statistics and of partition values. They take the few forms that writers
// use, and refuse everything else: a refusal costs a retry, a wrong reading loses data.

// asString views b as a string for a call that does not keep it.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// asBytes views s as bytes for a call that neither keeps nor changes them.
func asBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func isDigit(c byte) bool { return c-'0' <= 9 }

// parseInt reads an optionally signed decimal integer.
func parseInt(b []byte) (v int64, ok bool) {
	negative, b := sign(b)
	for len(b) > 19 && b[0] == '0' {
		b = b[1:]
	}
	u, ok := parseDigits(b)
	if negative {
		return -int64(u), ok && u <= 1<<63
	}
	return int64(u), ok && u < 1<<63
}

// sign cuts a sign off the front of b.
func sign(b []byte) (negative bool, rest []byte) {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		return b[0] == '-', b[1:]
	}
	return false, b
}

// powers are those of ten that a uint64 holds.
var powers = func() (p [20]uint64) {
	p[0] = 1
	for i := range p[1:] {
		p[i+1] = p[i] * 10
	}
	return p
}()

// parseDigits reads 1 to 19 digits.
func parseDigits(b []byte) (v uint64, ok bool) {
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	for ; len(b) >= 8; b = b[8:] {
		w := load(b, 0)
		if nonDigits(w) != 0 {
			return 0, false
		}
		v = v*1e8 + eightDigits(w)
	}
	if n := len(b); n > 0 && cap(b) >= 8 {
		w := load(b[:8], 0) << (64 - 8*n) // what comes before the digits in the word counts as zeros
		if nonDigits(w|'0'*lowBits>>(8*n)) != 0 {
			return 0, false
		}
		return v*powers[n] + eightDigits(w), true
	}
	for _, c := range b {
		if !isDigit(c) {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, true
}

// eightDigits returns the number that eight digits make, the first of them in the lowest byte. Bytes may be 0 for '0'.
func eightDigits(w uint64) uint64 {
	w &= 0x0f0f0f0f0f0f0f0f
	w = w * (10<<8 + 1) >> 8 & 0x00ff00ff00ff00ff
	w = w * (100<<16 + 1) >> 16 & 0x0000ffff0000ffff
	return w * (10_000<<32 + 1) >> 32
}

// parseFloat reads a decimal floating point number as the nearest one of the given size in bits. Rounding is monotonic,
// so a rounded bound still bounds every value of that size. Numbers beyond the finite ones are refused.
func parseFloat(b []byte, size int) (v float64, ok bool) {
	if v, ok = parseShortFloat(b, size); ok {
		return v, true
	}
	for _, c := range b { // leaves out the hexadecimal and underscored forms, "inf" and "nan"
		if !isDigit(c) && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(asString(b), size)
	return v, err == nil
}

// parseShortFloat reads what parseFloat reads if it has no exponent and at most 19 digits.
func parseShortFloat(b []byte, size int) (v float64, ok bool) {
	negative, b := sign(b)
	point := bytes.IndexByte(b, '.')
	if point < 0 {
		point = len(b)
	}
	mantissa, ok := parseDigits(b[:point])
	places := 0
	if ok && point < len(b) {
		if len(b) > 20 {
			return 0, false
		}
		places = len(b) - point - 1
		var fraction uint64
		fraction, ok = parseDigits(b[point+1:])
		mantissa = mantissa*powers[places] + fraction
	}
	if !ok {
		return 0, false
	}
	if v = quotient(mantissa, places, size); negative {
		v = -v
	}
	return v, true
}

// quotient returns m / 10^places, rounded to the nearest number of the given size in bits, half to even. It divides
// integers, so nothing is rounded twice; the greatest and least quotients are far from where numbers overflow or become
// subnormal.
func quotient(m uint64, places, size int) float64 {
	if m == 0 {
		return 0
	}
	d := powers[places]
	shift := bits.LeadingZeros64(d) - bits.LeadingZeros64(m)
	m <<= bits.LeadingZeros64(m)
	d <<= bits.LeadingZeros64(d)
	q, rest := bits.Div64(m>>1, m<<63, d) // 2^62 < q, and the quotient is q * 2^(shift-63)
	drop := 64 - bits.LeadingZeros64(q) - 53
	if size == 32 {
		drop += 53 - 24
	}
	half, low := uint64(1)<<(drop-1), q&(1<<drop-1)
	if q >>= drop; low > half || low == half && (rest != 0 || q&1 != 0) {
		q++
	}
	return float64(q) * math.Float64frombits(uint64(1023+shift-63+drop)<<52)
}

// parseNamedFloat reads the numbers that have no digits, as Spark spells them.
func parseNamedFloat(b []byte) (v float64, ok bool) {
	switch string(b) {
	case "NaN":
		return math.NaN(), true
	case "Infinity", "+Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	return 0, false
}

// parseDecimal reads a decimal number, with an exponent or without, as unscaled integers of the given scale: the
// greatest not above it and the least not below it. Both have at most 38 digits.
func parseDecimal(b []byte, scale int) (lo, hi decimal128.Num, ok bool) {
	negative, b := sign(b)
	if v, ok := parseShortDecimal(b, scale); ok {
		if negative {
			v = -v
		}
		lo = decimal128.FromI64(v)
		return lo, lo, true
	}
	exponent := int64(0)
	if e := bytes.IndexAny(b, "eE"); e >= 0 {
		if exponent, ok = parseInt(b[e+1:]); !ok || exponent > 1<<20 || exponent < -1<<20 {
			return lo, hi, false
		}
		b = b[:e]
	}
	whole, fraction, _ := bytes.Cut(b, []byte{'.'})
	if len(whole)+len(fraction) == 0 {
		return lo, hi, false
	}
	// Digit number i of whole and fraction together counts 10^(places-1-i) units of the target.
	n := len(whole) + len(fraction)
	places := int64(len(whole)) + exponent + int64(scale)
	var high, low uint64
	significant, inexact := int64(0), false
	for i := range n {
		c := byte(0)
		if i < len(whole) {
			c = whole[i]
		} else {
			c = fraction[i-len(whole)]
		}
		switch {
		case !isDigit(c):
			return lo, hi, false
		case int64(i) >= places:
			inexact = inexact || c != '0'
		case c != '0' || significant > 0:
			if significant++; significant > 38 {
				return lo, hi, false
			}
			high, low = times10(high, low, uint64(c-'0'))
		}
	}
	if zeros := places - int64(n); significant > 0 && zeros > 0 {
		if significant+zeros > 38 {
			return lo, hi, false
		}
		for range zeros {
			high, low = times10(high, low, 0)
		}
	}
	lo = decimal128.New(int64(high), low)
	if negative {
		lo = lo.Negate()
	}
	hi = lo
	if one := decimal128.FromI64(1); inexact && negative {
		lo = lo.Sub(one)
	} else if inexact {
		hi = hi.Add(one)
	}
	return lo, hi, true
}

// parseShortDecimal reads a decimal without sign and exponent if it has at most 18 digits and none beyond the scale.
func parseShortDecimal(b []byte, scale int) (v int64, ok bool) {
	point := bytes.IndexByte(b, '.')
	if point < 0 {
		point = len(b)
	}
	zeros := scale - max(0, len(b)-point-1)
	if zeros < 0 || point+scale > 18 {
		return 0, false
	}
	whole, ok := parseDigits(b[:point])
	if !ok || point == len(b) {
		return int64(whole * powers[scale]), ok
	}
	fraction, ok := parseDigits(b[point+1:])
	return int64(whole*powers[scale] + fraction*powers[zeros]), ok
}

// times10 returns 10*v + digit of a 128-bit v. The caller counts digits, so it does not overflow.
func times10(high, low, digit uint64) (uint64, uint64) {
	carry, low := bits.Mul64(low, 10)
	low, c := bits.Add64(low, digit, 0)
	return high*10 + carry + c, low
}

const (
	microsPerSecond = 1_000_000
	secondsPerDay   = 86_400
	// maxSeconds is the greatest number of seconds since 1970 that microseconds can count.
	maxSeconds = math.MaxInt64/microsPerSecond - 1
	// farthestZone exceeds every offset from UTC that a zone has ever had (java.time allows 18 hours).
	farthestZone = 18 * 3600
)

// digits reads between least and most digits from the front of b.
func digits(b []byte, least, most int) (v int64, rest []byte, ok bool) {
	n := 0
	for n < len(b) && n < most && isDigit(b[n]) {
		v = v*10 + int64(b[n]-'0')
		n++
	}
	return v, b[n:], n >= least
}

// parseDate reads a date, YYYY-MM-DD with a signed year of up to seven digits, from the front of b.
func parseDate(b []byte) (days, year int64, rest []byte, ok bool) {
	if len(b) >= 10 && b[4] == '-' && b[7] == '-' {
		const separators0, separators2 = 0xff<<32 | 0xff<<56, 0xff<<16 | 0xff<<40
		odd := nonDigits(binary.LittleEndian.Uint64(b))&^separators0 | nonDigits(binary.LittleEndian.Uint64(b[2:]))&^separators2
		year, month, day := pair(b, 0)*100+pair(b, 2), pair(b, 5), pair(b, 8)
		if odd == 0 && month >= 1 && month <= 12 && day >= 1 && day <= int64(civil.DaysIn(year, int(month))) {
			return civil.Days(year, int(month), int(day)), year, b[10:], true
		}
	}
	negative, b := sign(b)
	year, b, ok = digits(b, 4, 7)
	if negative {
		year = -year
	}
	if !ok || len(b) == 0 || b[0] != '-' {
		return 0, 0, nil, false
	}
	month, b, ok := digits(b[1:], 1, 2)
	if !ok || month < 1 || month > 12 || len(b) == 0 || b[0] != '-' {
		return 0, 0, nil, false
	}
	day, b, ok := digits(b[1:], 1, 2)
	if !ok || day < 1 || day > int64(civil.DaysIn(year, int(month))) {
		return 0, 0, nil, false
	}
	return civil.Days(year, int(month), int(day)), year, b, true
}

// An instant is a date or timestamp text read as microseconds: between lo and hi, which differ where a fraction is finer
// than microseconds or the zone leaves room.
type instant struct {
	lo, hi int64
	day    bool // the text has no time of day
}

// parseTimestamp reads a date, or a date and a time with T or a space between, a fraction of up to nine digits and an
// offset: Z, ±HH, ±HHMM, ±HH:MM or ±HH:MM:SS.
//
// A text without an offset was written in zone, which may be [UnknownZone]; wall says that the text is a wall clock
// reading, which has no zone and for which Z is the only offset that makes sense.
func parseTimestamp(b []byte, wall bool, zone *time.Location) (t instant, ok bool) {
	if micros, utc, ok := parseMillis(b); ok && (utc || wall) {
		return instant{lo: micros, hi: micros}, true
	}
	days, year, b, ok := parseDate(b)
	if !ok {
		return t, false
	}
	local, micros, finer := days*secondsPerDay, int64(0), false
	if t.day = len(b) == 0; !t.day {
		if b[0] != 'T' && b[0] != ' ' {
			return t, false
		}
		var clock int64
		if clock, b, ok = parseClock(b[1:]); !ok {
			return t, false
		}
		local += clock
		if len(b) > 0 && b[0] == '.' {
			scale, n := int64(microsPerSecond/10), 1
			for ; n < len(b) && n <= 9 && isDigit(b[n]); n++ {
				micros += int64(b[n]-'0') * scale
				finer = finer || scale == 0 && b[n] != '0'
				scale /= 10
			}
			if b = b[n:]; n == 1 {
				return t, false
			}
		}
	}
	lo, hi := local, local
	switch offset, seconds, found, valid := parseOffset(b); {
	case !valid || found && wall && string(b) != "Z":
		return t, false
	case found:
		lo, hi = lo-offset, hi-offset
		// Versions of Spark wrote the offsets of old dates, which have seconds, in minutes. Z is written for UTC only.
		if year < 1972 && !seconds && b[0] != 'Z' {
			lo, hi = lo-60, hi+60
		}
	case wall:
	case zone == UnknownZone:
		lo, hi = lo-farthestZone, hi+farthestZone
	case zone != nil:
		lo, hi = inZone(local, zone)
	}
	if lo < -maxSeconds || hi > maxSeconds {
		return t, false
	}
	t.lo, t.hi = lo*microsPerSecond+micros, hi*microsPerSecond+micros
	if finer {
		t.hi++
	}
	return t, true
}

// parseMillis reads the form in which Spark writes statistics, YYYY-MM-DDTHH:MM:SS.mmm with or without a Z.
func parseMillis(b []byte) (micros int64, utc, ok bool) {
	if utc = len(b) == 24 && b[23] == 'Z'; utc {
		b = b[:23]
	}
	if len(b) != 23 || b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[19] != '.' {
		return 0, false, false
	}
	const separators0, separators8, separators15 = 0xff<<32 | 0xff<<56, 0xff<<16 | 0xff<<40, 0xff<<8 | 0xff<<32
	odd := nonDigits(binary.LittleEndian.Uint64(b))&^separators0 |
		nonDigits(binary.LittleEndian.Uint64(b[8:]))&^separators8 |
		nonDigits(binary.LittleEndian.Uint64(b[15:]))&^separators15
	year, month, day := pair(b, 0)*100+pair(b, 2), pair(b, 5), pair(b, 8)
	hour, minute, second := pair(b, 11), pair(b, 14), pair(b, 17)
	if odd != 0 || month < 1 || month > 12 || day < 1 || day > int64(civil.DaysIn(year, int(month))) || hour > 23 || minute > 59 || second > 59 {
		return 0, false, false
	}
	seconds := civil.Days(year, int(month), int(day))*secondsPerDay + hour*3600 + minute*60 + second
	return seconds*microsPerSecond + (pair(b, 20)*10+int64(b[22]-'0'))*1000, utc, true
}

// pair returns the number that two digits make.
func pair(b []byte, i int) int64 { return int64(b[i]-'0')*10 + int64(b[i+1]-'0') }

// parseClock reads HH:MM or HH:MM:SS as seconds from the front of b.
func parseClock(b []byte) (seconds int64, rest []byte, ok bool) {
	hour, b, ok := digits(b, 2, 2)
	if !ok || hour > 23 || len(b) == 0 || b[0] != ':' {
		return 0, nil, false
	}
	minute, b, ok := digits(b[1:], 2, 2)
	if !ok || minute > 59 {
		return 0, nil, false
	}
	second := int64(0)
	if len(b) > 0 && b[0] == ':' {
		if second, b, ok = digits(b[1:], 2, 2); !ok || second > 59 {
			return 0, nil, false
		}
	}
	return hour*3600 + minute*60 + second, b, true
}

// parseOffset reads b, all of it, as an offset from UTC in seconds. found says that there is one, seconds that its text
// has seconds.
func parseOffset(b []byte) (offset int64, seconds, found, ok bool) {
	if len(b) == 0 || string(b) == "Z" {
		return 0, false, len(b) > 0, true
	}
	if b[0] != '+' && b[0] != '-' {
		return 0, false, false, false
	}
	negative := b[0] == '-'
	hour, b, ok := digits(b[1:], 2, 2)
	if !ok || hour > 18 {
		return 0, false, false, false
	}
	offset = hour * 3600
	for unit := int64(60); unit > 0 && len(b) > 0; unit /= 60 {
		if b[0] == ':' {
			b = b[1:]
		}
		var v int64
		if v, b, ok = digits(b, 2, 2); !ok || v > 59 {
			return 0, false, false, false
		}
		offset += v * unit
		seconds = unit == 1
	}
	if negative {
		offset = -offset
	}
	return offset, seconds, true, len(b) == 0
}

// inZone returns the instants, in seconds, that a wall clock in zone may have shown as local: two where clocks were
// being changed, which is where writers disagree.
func inZone(local int64, zone *time.Location) (lo, hi int64) {
	_, before := time.Unix(local-secondsPerDay, 0).In(zone).Zone()
	_, after := time.Unix(local+secondsPerDay, 0).In(zone).Zone()
	lo, hi = local-int64(before), local-int64(after)
	return min(lo, hi), max(lo, hi)
}
