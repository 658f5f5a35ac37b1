package predicate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/deltaskip/deltaskip/internal/civil"
	"github.com/deltaskip/deltaskip/schema"
)

const defaultFormat = "yyyy-MM-dd HH:mm:ss"

// A formatItem is a run of one pattern letter, or a literal text.
type formatItem struct {
	letter  byte // 0 for a literal
	count   int
	literal string
}

// splitFormat reads a pattern of java.time.format.DateTimeFormatter. It knows the letters and counts that mean the same
// in all of Spark's versions; for others it returns an [*UnsupportedError].
func splitFormat(format string) ([]formatItem, error) {
	unsupported := func(what string) error {
		return &UnsupportedError{Reason: "a datetime format with " + what}
	}
	var items []formatItem
	literal := func(s string) {
		if n := len(items); n > 0 && items[n-1].letter == 0 {
			items[n-1].literal += s
			return
		}
		items = append(items, formatItem{literal: s})
	}
	for rest := format; rest != ""; {
		c := rest[0]
		switch {
		case c == '\'':
			end := 1
			for ; ; end++ { // a doubled quote is one
				n := strings.IndexByte(rest[end:], '\'')
				if n < 0 {
					return nil, unsupported("an open quote")
				}
				if end += n; !strings.HasPrefix(rest[end:], "''") {
					break
				}
				end++
			}
			text := strings.ReplaceAll(rest[1:end], "''", "'")
			if text == "" {
				text = "'"
			}
			literal(text)
			rest = rest[end+1:]
		case strings.IndexByte("[]{}#", c) >= 0:
			return nil, unsupported(rest[:1])
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			n := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
			if limit := formatLimits[c]; n > limit || strings.IndexByte("Xx", c) >= 0 && n != 2 && n != 3 {
				return nil, unsupported(rest[:n])
			}
			items = append(items, formatItem{letter: c, count: n})
			rest = rest[n:]
		default:
			literal(rest[:1])
			rest = rest[1:]
		}
	}
	return items, nil
}

// formatLimits says how often each letter that is understood may stand in a row.
var formatLimits = map[byte]int{
	'y': 6, 'M': 4, 'L': 4, 'd': 2, 'D': 3, 'Q': 4, 'q': 4, 'E': 4, 'a': 1,
	'H': 2, 'h': 2, 'K': 2, 'k': 2, 'm': 2, 's': 2, 'S': 9, 'X': 3, 'x': 3, 'Z': 3,
}

// withFormat is a Resolve that refuses at once a second argument that is a constant and no format that is understood.
func withFormat(parsing bool, resolve resolveFunc) resolveFunc {
	return checked(resolve, func(args []Expr) error {
		format, ok := literalAt(args, 1)
		if !ok || format.Type.Kind != schema.String {
			return nil
		}
		items, err := splitFormat(format.S)
		if err == nil && parsing {
			err = checkParsing(items)
		}
		return err
	})
}

func dateFormat(env *Env, a []Value, _ schema.Type) (Value, error) {
	items, err := splitFormat(a[1].S)
	if err != nil {
		return Value{}, err
	}
	local := wallMicros(a[0], env)
	days := civil.FloorDiv(local, microsPerDay)
	micros := local - days*microsPerDay
	year, month, day := civil.Date(days)
	hour := micros / microsPerHour
	var b strings.Builder
	for _, it := range items {
		n := it.count
		padded := func(v int64) { fmt.Fprintf(&b, "%0*d", n, v) }
		switch it.letter {
		case 0:
			b.WriteString(it.literal)
		case 'y':
			formatYear(&b, year, n)
		case 'M', 'L':
			switch name := monthNames[month-1]; n {
			case 3:
				b.WriteString(name[:3])
			case 4:
				b.WriteString(name)
			default:
				padded(int64(month))
			}
		case 'd':
			padded(int64(day))
		case 'D':
			padded(dayOfYear(days))
		case 'Q', 'q':
			switch q := (month + 2) / 3; n {
			case 3:
				fmt.Fprintf(&b, "Q%d", q)
			case 4:
				b.WriteString([]string{"1st", "2nd", "3rd", "4th"}[q-1] + " quarter")
			default:
				padded(int64(q))
			}
		case 'E':
			name := weekdayNames[weekday(days)]
			if n < 4 {
				name = name[:3]
			}
			b.WriteString(name)
		case 'a':
			b.WriteString([]string{"AM", "PM"}[hour/12])
		case 'H':
			padded(hour)
		case 'k':
			padded((hour+23)%24 + 1)
		case 'K':
			padded(hour % 12)
		case 'h':
			padded((hour+11)%12 + 1)
		case 'm':
			padded(micros / microsPerMinute % 60)
		case 's':
			padded(micros / microsPerSecond % 60)
		case 'S':
			b.WriteString(fmt.Sprintf("%06d000", micros%microsPerSecond)[:n])
		case 'X', 'x', 'Z':
			formatOffset(&b, offsetAt(civil.FloorDiv(a[0].I, microsPerSecond), env.zone()), it)
		}
	}
	return StringOf(b.String()), nil
}

// formatYear pads to n digits. Two are the last two; from four on, a year of more digits has a plus sign.
func formatYear(b *strings.Builder, year int64, n int) {
	abs := max(year, -year)
	if n == 2 {
		fmt.Fprintf(b, "%02d", abs%100)
		return
	}
	digits := fmt.Sprintf("%0*d", n, abs)
	switch {
	case year < 0:
		b.WriteByte('-')
	case n == 4 && len(digits) > n:
		b.WriteByte('+')
	}
	b.WriteString(digits)
}

func formatOffset(b *strings.Builder, seconds int64, it formatItem) {
	if seconds == 0 && it.letter == 'X' {
		b.WriteByte('Z')
		return
	}
	sign, minutes := '+', seconds/60
	if seconds < 0 {
		sign, minutes = '-', -minutes
	}
	colon := ""
	if it.letter != 'Z' && it.count == 3 {
		colon = ":"
	}
	fmt.Fprintf(b, "%c%02d%s%02d", sign, minutes/60, colon, minutes%60)
}

// checkParsing refuses what does not mean the same in parsing as a reader of the pattern expects, or would need more of
// java.time than is done here.
func checkParsing(items []formatItem) error {
	unsupported := func(what string) error {
		return &UnsupportedError{Reason: "reading a date by a format with " + what}
	}
	seen := map[byte]bool{}
	numeric := func(it formatItem) bool {
		return strings.IndexByte("yMdHhmsS", it.letter) >= 0 && it.letter != 0 && it.count < 3 || it.letter == 'y' || it.letter == 'S'
	}
	for i, it := range items {
		name := string(it.letter)
		switch it.letter {
		case 0:
			if !isASCII(it.literal) {
				return unsupported(it.literal)
			}
			continue
		case 'y':
			if it.count == 3 || it.count > 4 {
				return unsupported("a year of " + strconv.Itoa(it.count) + " digits")
			}
		case 'M', 'd', 'H', 'h', 'm', 's', 'S', 'a':
		case 'X':
			if it.count != 3 {
				return unsupported(name)
			}
		default:
			return unsupported(name)
		}
		if seen[it.letter] {
			return unsupported("the letter " + name + " twice")
		}
		seen[it.letter] = true
		// Neighbouring numbers are told apart by their fixed widths, except for a first or last year.
		if i > 0 && numeric(it) && numeric(items[i-1]) {
			fixed := func(it formatItem) bool {
				return it.count == 2 && it.letter != 'S' || it.letter == 'y' && it.count == 4
			}
			if !fixed(it) || !fixed(items[i-1]) {
				return unsupported("numbers without anything between them")
			}
		}
	}
	switch {
	case seen['H'] && (seen['h'] || seen['a']), seen['a'] && !seen['h']:
		return unsupported("hours given twice or in part")
	}
	return nil
}

func cannotParse(s string) error {
	return &EvalError{Class: "CANNOT_PARSE_TIMESTAMP", Message: strconv.Quote(s) + " is not of the format"}
}

// parseDatetime is the Eval of to_timestamp and its like with a format; what is no text is only cast.
func parseDatetime(env *Env, a []Value, t schema.Type) (Value, error) {
	if a[0].Type.Kind != schema.String {
		return CastValue(a[0], t, env)
	}
	items, err := splitFormat(a[1].S)
	if err == nil {
		err = checkParsing(items)
	}
	if err != nil {
		return Value{}, err
	}
	if !isASCII(a[0].S) {
		return Value{}, &UnsupportedError{Reason: "reading a date that is not ASCII"}
	}
	local, zone, err := parseByFormat(a[0].S, items, env.zone())
	if err != nil || t.Kind == schema.TimestampNTZ {
		return Value{Type: t, I: local}, err
	}
	return Value{Type: t, I: instantMicros(local, zone)}, nil
}

// parseByFormat reads a text as java.time does by strict rules; what the format does not give is that of
// 1970-01-01T00:00:00. The zone is that of the text, if it gives one.
func parseByFormat(s string, items []formatItem, zone *time.Location) (local int64, _ *time.Location, err error) {
	fields := map[byte]int64{'y': 1970, 'M': 1, 'd': 1}
	rest := s
	fail := func() (int64, *time.Location, error) { return 0, nil, cannotParse(s) }
	for i, it := range items {
		switch {
		case it.letter == 0:
			if len(rest) < len(it.literal) || !strings.EqualFold(rest[:len(it.literal)], it.literal) {
				return fail()
			}
			rest = rest[len(it.literal):]
		case it.letter == 'M' && it.count >= 3:
			month := int64(0)
			for m, name := range monthNames {
				if it.count == 3 {
					name = name[:3]
				}
				if len(rest) >= len(name) && strings.EqualFold(rest[:len(name)], name) {
					month, rest = int64(m+1), rest[len(name):]
					break
				}
			}
			if month == 0 {
				return fail()
			}
			fields['M'] = month
		case it.letter == 'a':
			switch {
			case len(rest) < 2:
				return fail()
			case strings.EqualFold(rest[:2], "PM"):
				fields['a'] = 12
			case !strings.EqualFold(rest[:2], "AM"):
				return fail()
			}
			rest = rest[2:]
		case it.letter == 'X':
			n := len("+00:00")
			if rest != "" && (rest[0] == 'Z' || rest[0] == 'z') {
				n = 1
			}
			if len(rest) < n || n > 1 && rest[3] != ':' {
				return fail()
			}
			var ok bool
			if zone, ok = parseZone(strings.ToUpper(rest[:n])); !ok {
				return fail()
			}
			rest = rest[n:]
		default:
			n := digitCount(rest, it, items[i+1:])
			if n == 0 {
				if it.letter == 'y' && rest != "" && (rest[0] == '-' || rest[0] == '+') {
					return 0, nil, &UnsupportedError{Reason: "reading a year with a sign"}
				}
				return fail()
			}
			v, err := strconv.ParseInt(rest[:n], 10, 64)
			if err != nil {
				return fail()
			}
			switch {
			case it.letter == 'y' && it.count == 2:
				v += 2000
			case it.letter == 'S':
				for range 9 - n {
					v *= 10
				}
				v /= 1000 // from nanoseconds
			}
			fields[it.letter] = v
			rest = rest[n:]
		}
	}
	hour := fields['H']
	if h, ok := fields['h']; ok {
		if h < 1 || h > 12 {
			return fail()
		}
		hour = h%12 + fields['a']
	}
	days, err := dateOf(fields['y'], fields['M'], fields['d'])
	if err != nil || rest != "" || hour > 23 || fields['m'] > 59 || fields['s'] > 59 {
		return fail()
	}
	local, ok := mulAdd(days, microsPerDay, ((hour*60+fields['m'])*60+fields['s'])*microsPerSecond+fields['S'])
	if !ok {
		return 0, nil, errTimeRange
	}
	return local, zone, nil
}

// digitCount says how many digits at the start of s belong to a number of the format, 0 if they are too few or too many.
func digitCount(s string, it formatItem, next []formatItem) int {
	run := len(s) - len(strings.TrimLeft(s, "0123456789"))
	switch {
	case it.letter == 'S':
		if run > it.count {
			return 0
		}
		return run
	case it.count == 1:
		if run > 19 {
			return 0
		}
		return run
	case it.letter == 'y' && it.count == 4:
		// Numbers that follow at once have two digits each.
		for _, n := range next {
			if n.count != 2 || n.letter == 0 {
				break
			}
			run -= 2
		}
		if run != 4 {
			return 0
		}
		return 4
	case run < 2:
		return 0
	}
	return 2
}
