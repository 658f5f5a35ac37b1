package predicate

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"sync"
	"time"

	"github.com/deltaskip/deltaskip/internal/civil"
)

const (
	microsPerSecond = 1_000_000
	secondsPerDay   = 24 * 60 * 60
	microsPerDay    = secondsPerDay * microsPerSecond
)

// mulAdd is a*b+c, and false where it overflows.
func mulAdd(a, b, c int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(max(a, -a)), uint64(max(b, -b)))
	if hi != 0 || lo > 1<<63 || a == math.MinInt64 || b == math.MinInt64 {
		return 0, false
	}
	product := int64(lo)
	if (a < 0) != (b < 0) {
		product = -product
	} else if lo == 1<<63 {
		return 0, false
	}
	sum := product + c
	return sum, (sum > product) == (c > 0)
}

// formatDate writes yyyy-MM-dd; years beyond 9999 have a plus sign, negative ones a minus.
func formatDate(days int64) string {
	year, month, day := civil.Date(days)
	sign := ""
	switch {
	case year > 9999:
		sign = "+"
	case year < 0:
		sign, year = "-", -year
	}
	return fmt.Sprintf("%s%04d-%02d-%02d", sign, year, month, day)
}

// formatTimestamp writes yyyy-MM-dd HH:mm:ss with the fraction that there is; nil is UTC.
func formatTimestamp(micros int64, zone *time.Location) string {
	local := localMicros(micros, zone)
	days := civil.FloorDiv(local, microsPerDay)
	rest := local - days*microsPerDay
	seconds := rest / microsPerSecond
	text := fmt.Sprintf("%s %02d:%02d:%02d", formatDate(days), seconds/3600, seconds/60%60, seconds%60)
	if fraction := rest % microsPerSecond; fraction != 0 {
		text += strings.TrimRight(fmt.Sprintf(".%06d", fraction), "0")
	}
	return text
}

// offsetAt is a zone's offset from UTC, in seconds, at an instant in seconds.
func offsetAt(second int64, zone *time.Location) int64 {
	if zone == nil || zone == time.UTC {
		return 0
	}
	_, offset := time.Unix(second, 0).In(zone).Zone()
	return int64(offset)
}

// localMicros is the wall clock of an instant, in microseconds as if it were UTC. It saturates.
func localMicros(micros int64, zone *time.Location) int64 {
	offset := offsetAt(civil.FloorDiv(micros, microsPerSecond), zone) * microsPerSecond
	return saturatingAdd(micros, offset)
}

func saturatingAdd(a, b int64) int64 {
	sum := a + b
	if (sum > a) != (b > 0) && b != 0 {
		if b > 0 {
			return math.MaxInt64
		}
		return math.MinInt64
	}
	return sum
}

// instantMicros is the instant of a wall clock reading, the inverse of localMicros. A reading that occurs twice is the
// earlier instant; one that is skipped is as much later as the gap is long (java.time.ZonedDateTime.of).
func instantMicros(local int64, zone *time.Location) int64 {
	second := civil.FloorDiv(local, microsPerSecond)
	before := offsetAt(second-secondsPerDay, zone)
	if before != offsetAt(second-before, zone) {
		// The clock was set between the day before and now. Where neither offset is in force, the reading is skipped.
		if after := offsetAt(second+secondsPerDay, zone); offsetAt(second-after, zone) == after && after != before {
			return saturatingAdd(local, -after*microsPerSecond)
		}
	}
	return saturatingAdd(local, -before*microsPerSecond)
}

// trimAll drops white space and control characters from both ends, as UTF8String.trimAll does.
func trimAll(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' || 0x7F <= r && r <= 0x9F })
}

// isSpecialDatetime says whether Spark reads a typed literal or a constant cast as a date relative to now.
func isSpecialDatetime(s string) bool {
	switch strings.ToLower(trimAll(s)) {
	case "epoch", "now", "today", "tomorrow", "yesterday":
		return true
	}
	return false
}

// dateSegments reads up to three numbers separated by dashes, as [+-]yyyy*[-[m]m[-[d]d]], and what follows them.
func dateSegments(s string, maxYearDigits int) (year int64, month, day int, rest string, ok bool) {
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	segments := [3]int64{1, 1, 1}
	for i := range segments {
		n := 0
		for n < len(s) && '0' <= s[n] && s[n] <= '9' {
			n++
		}
		if i == 0 && (n < 4 || n > maxYearDigits) || i > 0 && (n < 1 || n > 2) {
			return 0, 0, 0, "", false
		}
		segments[i] = 0
		for _, digit := range s[:n] {
			segments[i] = segments[i]*10 + int64(digit-'0')
		}
		s = s[n:]
		if i == 2 || s == "" || s[0] != '-' {
			break
		}
		s = s[1:]
	}
	year, month, day = segments[0], int(segments[1]), int(segments[2])
	if negative {
		year = -year
	}
	if month < 1 || month > 12 || day < 1 || day > civil.DaysIn(year, month) {
		return 0, 0, 0, "", false
	}
	return year, month, day, s, true
}

// parseDate reads a date as Spark casts one (DateTimeUtils.stringToDate): what follows a full date after a space or a
// T does not matter.
func parseDate(s string) (days int64, ok bool) {
	s = trimAll(s)
	year, month, day, rest, ok := dateSegments(s, maxYearDigits+1)
	if !ok || rest != "" && (rest[0] != ' ' && rest[0] != 'T' || !isFullDate(s, rest)) {
		return 0, false
	}
	days = civil.Days(year, month, day)
	return days, days == int64(int32(days))
}

// A wallClock is a timestamp as text gives it, before its zone is applied.
type wallClock struct {
	timeOnly bool // no date was given
	days     int64
	time     int64  // microseconds of the day
	zone     string // empty where there is none
}

// maxYearDigits of a timestamp's text; a date's may have one more.
const maxYearDigits = 6

// parseWallClock reads a timestamp as Spark casts one (DateTimeUtils.parseTimestampString): a date as parseDate
// takes it, of which only a full one may have a time after a space or a T, [h]h[:[m]m[:[s]s[.f…f][zone]]], or a time alone.
func parseWallClock(s string) (w wallClock, ok bool) {
	s = trimAll(s)
	year, month, day, rest, ok := dateSegments(s, maxYearDigits)
	switch {
	case ok && rest == "":
		w.days = civil.Days(year, month, day)
		return w, true
	case ok && isFullDate(s, rest) && (rest[0] == ' ' || rest[0] == 'T'):
		w.days = civil.Days(year, month, day)
		s = rest[1:]
	case strings.HasPrefix(s, "T"):
		w.timeOnly = true
		s = s[1:]
	default:
		w.timeOnly = true
		if len(s) < 2 || s[1] != ':' && (len(s) < 3 || s[2] != ':') {
			return w, false
		}
	}
	var parts [3]int64
	for i := range parts {
		n := 0
		for n < len(s) && '0' <= s[n] && s[n] <= '9' {
			parts[i] = parts[i]*10 + int64(s[n]-'0')
			if n++; n > 2 {
				return w, false
			}
		}
		if n == 0 {
			return w, false
		}
		s = s[n:]
		if s == "" || i == 2 {
			break
		}
		if s[0] != ':' {
			return w, false
		}
		s = s[1:]
	}
	if parts[0] > 23 || parts[1] > 59 || parts[2] > 59 {
		return w, false
	}
	w.time = ((parts[0]*60+parts[1])*60 + parts[2]) * microsPerSecond
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		for unit := int64(microsPerSecond / 10); s != "" && '0' <= s[0] && s[0] <= '9'; unit /= 10 {
			w.time += int64(s[0]-'0') * unit // digits beyond microseconds are cut
			s = s[1:]
		}
	}
	w.zone = trimAll(s)
	return w, true
}

// isFullDate says whether a date has all three segments; rest is what follows it in s.
func isFullDate(s, rest string) bool {
	return strings.Count(strings.TrimLeft(s[:len(s)-len(rest)], "+-"), "-") == 2
}

// isTimeAlone says whether a text is a time without a date, which Spark reads as a time of today.
func isTimeAlone(s string) bool {
	w, ok := parseWallClock(s)
	return ok && w.timeOnly
}

// micros is the wall clock reading, and false where it is out of range.
func (w wallClock) micros() (int64, bool) {
	if w.days < 0 {
		return mulAdd(w.days+1, microsPerDay, w.time-microsPerDay) // the first of all days is out of range, not its end
	}
	return mulAdd(w.days, microsPerDay, w.time)
}

// parseTimestamp reads an instant; a text without a zone is in the given one, nil being UTC.
func parseTimestamp(s string, zone *time.Location) (micros int64, ok bool) {
	w, ok := parseWallClock(s)
	if !ok || w.timeOnly {
		return 0, false
	}
	if w.zone != "" {
		if zone, ok = parseZone(w.zone); !ok {
			return 0, false
		}
	}
	local, ok := w.micros()
	return instantMicros(local, zone), ok
}

// parseTimestampNTZ reads a wall clock reading; a zone is allowed and has no effect.
func parseTimestampNTZ(s string) (micros int64, zoned, ok bool) {
	w, ok := parseWallClock(s)
	if !ok || w.timeOnly {
		return 0, false, false
	}
	if w.zone != "" {
		if _, ok := parseZone(w.zone); !ok {
			return 0, false, false
		}
	}
	micros, ok = w.micros()
	return micros, w.zone != "", ok
}

// parseZone reads a zone as Spark's getZoneId does: Z, +h[:mm[:ss]], UTC+1, GMT-01:30, Europe/Paris.
func parseZone(s string) (*time.Location, bool) {
	for _, prefix := range []string{"UTC", "GMT", "UT"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok && (rest == "" || rest[0] == '+' || rest[0] == '-') {
			s = rest
			break
		}
	}
	switch {
	case s == "" || s == "Z":
		return time.UTC, true
	case s[0] == '+' || s[0] == '-':
		return parseOffset(s)
	}
	switch s {
	// The short names of java.time.ZoneId.SHORT_IDS that are places; the others follow below as offsets.
	case "Local", "local":
		return nil, false // Go's name for the machine's zone
	}
	if id, ok := shortZones[s]; ok {
		s = id
		if s[0] == '-' {
			return parseOffset(s)
		}
	}
	if zone, ok := loadedZones.Load(s); ok {
		return zone.(*time.Location), true
	}
	zone, err := time.LoadLocation(s)
	if err != nil {
		return nil, false
	}
	loadedZones.Store(s, zone)
	return zone, true
}

// loadedZones are the zones by name that were read from the system so far; there are a few hundred.
var loadedZones sync.Map

// shortZones are the abbreviations that Java takes (java.time.ZoneId.SHORT_IDS).
var shortZones = map[string]string{
	"ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires", "ART": "Africa/Cairo",
	"AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka", "CAT": "Africa/Harare", "CNT": "America/St_Johns",
	"CST": "America/Chicago", "CTT": "Asia/Shanghai", "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "EST": "-05:00",
	"HST": "-10:00", "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia",
	"MST": "-07:00", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix",
	"PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
}

// parseOffset reads +h, +hh, +h:m, +hh:mm, +hhmm, +hh:mm:ss or +hhmmss, up to 18 hours.
func parseOffset(s string) (*time.Location, bool) {
	body := s[1:]
	var fields []string
	switch {
	case strings.Contains(body, ":"):
		fields = strings.Split(body, ":")
	case len(body) <= 2:
		fields = []string{body}
	case len(body) == 4:
		fields = []string{body[:2], body[2:]}
	case len(body) == 6:
		fields = []string{body[:2], body[2:4], body[4:]}
	}
	if len(fields) < 1 || len(fields) > 3 {
		return nil, false
	}
	seconds := 0
	for i, limit := range []int{18, 59, 59} {
		n := 0
		if i < len(fields) {
			if f := fields[i]; len(f) < 1 || len(f) > 2 {
				return nil, false
			}
			for _, c := range fields[i] {
				if c < '0' || c > '9' {
					return nil, false
				}
				n = n*10 + int(c-'0')
			}
		}
		if n > limit {
			return nil, false
		}
		seconds = seconds*60 + n
	}
	if seconds > 18*60*60 {
		return nil, false
	}
	if s[0] == '-' {
		seconds = -seconds
	}
	return time.FixedZone(s, seconds), true
}
