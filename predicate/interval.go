package predicate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/deltaskip/deltaskip/schema"
)

// intervalUnits are the units that interval types are made of, the longer first. A value of a type of the first two holds months in Value.I,
// one of the others microseconds.
var intervalUnits = [...]string{"year", "month", "day", "hour", "minute", "second"}

const (
	unitMonth = 1
	unitDay   = 2
)

// intervalTypes are the ANSI interval types by name, such as "interval day to hour". They are the only interval types of values, so
// these compare with ==.
var intervalTypes = func() map[string]schema.Type {
	types := map[string]schema.Type{}
	for from := range intervalUnits {
		for to := from; to < len(intervalUnits); to++ {
			if (from <= unitMonth) == (to <= unitMonth) {
				name := intervalName(from, to)
				types[name] = schema.Type{Kind: schema.Interval, Nested: &schema.Nested{Name: name}}
			}
		}
	}
	return types
}()

var (
	dayInterval     = intervalTypes["interval day"]
	dayTimeInterval = intervalTypes["interval day to second"]
)

func intervalName(from, to int) string {
	if from == to {
		return "interval " + intervalUnits[from]
	}
	return "interval " + intervalUnits[from] + " to " + intervalUnits[to]
}

// intervalRange are the first and the last unit of an interval type; ok is false for the calendar interval, which has no
// order and is not evaluated.
func intervalRange(t schema.Type) (from, to int, ok bool) {
	if t.Kind != schema.Interval || t.Nested == nil {
		return 0, 0, false
	}
	words := strings.Fields(t.Nested.Name)
	if len(words) < 2 {
		return 0, 0, false
	}
	from, to = unitIndex(words[1]), unitIndex(words[len(words)-1])
	return from, to, from >= 0 && to >= from
}

func unitIndex(name string) int { return slices.Index(intervalUnits[:], name) }

// ofMonths says whether values of an interval type are months.
func ofMonths(t schema.Type) bool {
	_, to, ok := intervalRange(t)
	return ok && to <= unitMonth
}

// widerInterval is the interval type that holds the units of both; there is none of months and days.
func widerInterval(a, b schema.Type) (schema.Type, bool) {
	aFrom, aTo, okA := intervalRange(a)
	bFrom, bTo, okB := intervalRange(b)
	if !okA || !okB || ofMonths(a) != ofMonths(b) {
		return schema.Type{}, false
	}
	return intervalTypes[intervalName(min(aFrom, bFrom), max(aTo, bTo))], true
}

// An intervalPart is one value with its unit, as written in an interval literal.
type intervalPart struct {
	sign     string // "-", "+" or ""
	value    string
	quoted   bool
	unit, to string // as spelled; empty where there is none
}

// intervalWords give what may be counted in a literal, in months or in microseconds, and the type's unit that it is of.
var intervalWords = map[string]struct {
	months, micros int64
	unit           int
}{
	"year": {months: 12, unit: 0}, "month": {months: 1, unit: 1}, "week": {micros: 7 * microsPerDay, unit: 2}, "day": {micros: microsPerDay, unit: 2},
	"hour": {micros: 3600 * microsPerSecond, unit: 3}, "minute": {micros: 60 * microsPerSecond, unit: 4}, "second": {micros: microsPerSecond, unit: 5},
	"millisecond": {micros: 1000, unit: 5}, "microsecond": {micros: 1, unit: 5},
}

// unitName drops the plural of a unit.
func unitName(word string) string {
	word = strings.ToLower(word)
	if _, ok := intervalWords[word]; ok {
		return word
	}
	return strings.TrimSuffix(word, "s")
}

func isIntervalUnit(word string) bool {
	_, ok := intervalWords[unitName(word)]
	return ok
}

// An intervalError is an interval literal that Spark refuses.
type intervalError struct{ class, message string }

func (e *intervalError) Error() string { return e.message }

func badInterval(format string, args ...any) error {
	return &intervalError{"INVALID_INTERVAL_FORMAT", fmt.Sprintf(format, args...)}
}

// intervalValue is the value of an interval literal, of the type that has just its units.
func intervalValue(parts []intervalPart) (Value, error) {
	if first := parts[0]; first.unit == "" {
		var err error
		if parts, err = splitInterval(first); err != nil {
			return Value{}, err
		}
	}
	var months, micros int64
	from, to := len(intervalUnits), -1
	for _, p := range parts {
		m, u, err := p.amount()
		if err != nil {
			return Value{}, err
		}
		var okMonths, okMicros bool
		months, okMonths = mulAdd(m, 1, months)
		micros, okMicros = mulAdd(u, 1, micros)
		if !okMonths || !okMicros || months != int64(int32(months)) {
			return Value{}, &intervalError{"INVALID_INTERVAL_FORMAT.ARITHMETIC_EXCEPTION", "the interval is out of range"}
		}
		for _, word := range []string{p.unit, p.to} {
			if word != "" {
				unit := intervalWords[unitName(word)].unit
				from, to = min(from, unit), max(to, unit)
			}
		}
	}
	t, ok := intervalTypes[intervalName(from, to)]
	switch {
	case !ok:
		return Value{}, &intervalError{"_LEGACY_ERROR_TEMP_0029", "an interval cannot have months and days"}
	case ofMonths(t):
		return Value{Type: t, I: months}, nil
	}
	return Value{Type: t, I: micros}, nil
}

// splitInterval cuts the text '1 day -2 hours' into parts.
func splitInterval(p intervalPart) ([]intervalPart, error) {
	words := strings.Fields(p.value)
	if len(words) > 0 && strings.EqualFold(words[0], "interval") {
		words = words[1:]
	}
	if !p.quoted {
		return nil, &intervalError{"PARSE_SYNTAX_ERROR", "a unit is expected"}
	}
	invalid := &intervalError{"INVALID_TYPED_LITERAL", fmt.Sprintf("%q is not an interval", p.value)}
	if p.sign != "" || len(words) == 0 || len(words)%2 != 0 {
		return nil, invalid
	}
	var parts []intervalPart
	for i := 0; i < len(words); i += 2 {
		if !isIntervalUnit(words[i+1]) {
			return nil, invalid
		}
		parts = append(parts, intervalPart{value: words[i], unit: words[i+1], quoted: true})
	}
	return parts, nil
}

// amount is the part in months or in microseconds.
func (p intervalPart) amount() (months, micros int64, err error) {
	invalid := badInterval("%q is not an interval of %s", p.value, p.unit)
	text := strings.TrimSpace(p.value)
	negative := p.sign == "-"
	if text != "" && (text[0] == '-' || text[0] == '+') {
		negative = negative != (text[0] == '-')
		text = text[1:]
	}
	fields, units := []string{text}, []string{unitName(p.unit)}
	if p.to != "" {
		if fields, units, err = splitFields(text, units[0], unitName(p.to)); err != nil {
			return 0, 0, err
		}
	}
	for i, field := range fields {
		word := intervalWords[units[i]]
		whole, fraction, pointed := strings.Cut(field, ".")
		if pointed && (units[i] != "second" || len(fraction) > 9) {
			return 0, 0, &intervalError{"INVALID_INTERVAL_FORMAT.INVALID_FRACTION", invalid.Error()}
		}
		n, err := strconv.ParseUint(whole, 10, 62)
		// Of several fields all but the first are bounded by the unit above: no 25 hours of a day.
		if limit := map[string]uint64{"month": 11, "hour": 23, "minute": 59, "second": 59}[units[i]]; err != nil || i > 0 && n > limit {
			return 0, 0, invalid
		}
		var ok bool
		if word.months != 0 {
			months, ok = mulAdd(int64(n), word.months, months)
		} else {
			micros, ok = mulAdd(int64(n), word.micros, micros)
		}
		if !ok {
			return 0, 0, invalid
		}
		if fraction != "" {
			f, err := strconv.ParseUint((fraction + "000000")[:6], 10, 32)
			if err != nil {
				return 0, 0, invalid
			}
			micros += int64(f)
		}
	}
	if negative {
		months, micros = -months, -micros
	}
	return months, micros, nil
}

// splitFields cuts '1-2' YEAR TO MONTH or '1 10:20:30.5' DAY TO SECOND into its fields.
func splitFields(text, from, to string) (fields, units []string, err error) {
	first, last := unitIndex(from), unitIndex(to)
	if _, ok := intervalTypes["interval "+from+" to "+to]; !ok {
		return nil, nil, &intervalError{"INVALID_INTERVAL_FORMAT.UNSUPPORTED_FROM_TO_EXPRESSION", fmt.Sprintf("there are no intervals of %s to %s", from, to)}
	}
	units = intervalUnits[first : last+1]
	fields = strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ':' })
	if last == unitMonth {
		fields = strings.Split(text, "-")
	}
	if len(fields) != len(units) {
		return nil, nil, badInterval("%q is not an interval of %s to %s", text, from, to)
	}
	return fields, units, nil
}

// formatInterval is an interval as a literal, which is also its text in Spark.
func formatInterval(v Value) string {
	from, to, _ := intervalRange(v.Type)
	sign, n := "", uint64(v.I)
	if v.I < 0 {
		sign, n = "-", -n
	}
	suffix := strings.ToUpper(strings.TrimPrefix(intervalName(from, to), "interval "))
	if ofMonths(v.Type) {
		text := strconv.FormatUint(n/12, 10)
		switch {
		case from == unitMonth:
			text = strconv.FormatUint(n, 10)
		case to == unitMonth:
			text += "-" + strconv.FormatUint(n%12, 10)
		}
		return "INTERVAL '" + sign + text + "' " + suffix
	}
	var b strings.Builder
	for unit := from; unit <= to; unit++ {
		word := intervalWords[intervalUnits[unit]]
		count := n / uint64(word.micros)
		n %= uint64(word.micros)
		switch {
		case unit == unitDay:
			fmt.Fprintf(&b, "%d", count)
		case unit == from:
			fmt.Fprintf(&b, "%02d", count)
		case unit == unitDay+1:
			fmt.Fprintf(&b, " %02d", count)
		default:
			fmt.Fprintf(&b, ":%02d", count)
		}
	}
	if n != 0 {
		b.WriteString(strings.TrimRight(fmt.Sprintf(".%06d", n), "0"))
	}
	return "INTERVAL '" + sign + b.String() + "' " + suffix
}
