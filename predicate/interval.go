package predicate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/deltaskip/deltaskip/schema"
)

// The interval types. A value of yearMonthInterval holds months, one of dayTimeInterval microseconds, in Value.I; dayInterval is
// dayTimeInterval in whole days, which leave a date a date. The calendar
// interval of both is not evaluated. These are the only Types of kind Interval that values have, so they compare with ==.
var (
	yearMonthInterval = schema.Type{Kind: schema.Interval, Nested: &schema.Nested{Name: "interval year to month"}}
	dayInterval       = schema.Type{Kind: schema.Interval, Nested: &schema.Nested{Name: "interval day"}}
	dayTimeInterval   = schema.Type{Kind: schema.Interval, Nested: &schema.Nested{Name: "interval day to second"}}
	calendarInterval  = schema.Type{Kind: schema.Interval, Nested: &schema.Nested{Name: "interval"}}
)

// An intervalPart is one value with its unit, as written in an interval literal.
type intervalPart struct {
	sign     string // "-", "+" or ""
	value    string
	quoted   bool
	unit, to string // as spelled; empty where there is none
}

// intervalUnits give each unit in months or in microseconds.
var intervalUnits = map[string]struct{ months, micros int64 }{
	"year": {months: 12}, "month": {months: 1}, "quarter": {months: 3}, "week": {micros: 7 * microsPerDay}, "day": {micros: microsPerDay},
	"hour": {micros: 3600 * microsPerSecond}, "minute": {micros: 60 * microsPerSecond}, "second": {micros: microsPerSecond},
	"millisecond": {micros: 1000}, "microsecond": {micros: 1},
}

// unitName drops the plural of a unit.
func unitName(word string) string {
	word = strings.ToLower(word)
	if _, ok := intervalUnits[word]; ok {
		return word
	}
	return strings.TrimSuffix(word, "s")
}

func isIntervalUnit(word string) bool {
	_, ok := intervalUnits[unitName(word)]
	return ok
}

// intervalValue is the value of an interval literal; ok is false for one that mixes months and shorter units.
func intervalValue(parts []intervalPart) (v Value, ok bool, err error) {
	if first := parts[0]; first.unit == "" {
		if !first.quoted {
			return Value{}, false, fmt.Errorf("an interval has no unit")
		}
		if parts, err = splitInterval(first.value); err != nil {
			return Value{}, false, err
		}
	}
	var months, micros int64
	var hasMonths, hasMicros, hasTime bool
	for _, p := range parts {
		m, u, err := p.amount()
		if err != nil {
			return Value{}, false, err
		}
		unit := intervalUnits[unitName(p.unit)]
		hasMonths = hasMonths || unit.months != 0
		hasMicros = hasMicros || unit.micros != 0
		hasTime = hasTime || unit.micros%microsPerDay != 0 || p.to != ""
		var okMonths, okMicros bool
		if months, okMonths = mulAdd(m, 1, months); !okMonths {
			return Value{}, false, fmt.Errorf("the interval is out of range")
		}
		if micros, okMicros = mulAdd(u, 1, micros); !okMicros {
			return Value{}, false, fmt.Errorf("the interval is out of range")
		}
	}
	switch {
	case hasMonths && hasMicros:
		return Value{}, false, nil
	case hasMonths:
		if months != int64(int32(months)) {
			return Value{}, false, fmt.Errorf("the interval is out of range")
		}
		return Value{Type: yearMonthInterval, I: months}, true, nil
	}
	if !hasTime {
		return Value{Type: dayInterval, I: micros}, true, nil
	}
	return Value{Type: dayTimeInterval, I: micros}, true, nil
}

// splitInterval cuts '1 day -2 hours' into parts.
func splitInterval(text string) ([]intervalPart, error) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) > 0 && words[0] == "interval" {
		words = words[1:]
	}
	if len(words) == 0 || len(words)%2 != 0 {
		return nil, fmt.Errorf("%q is not an interval", text)
	}
	var parts []intervalPart
	for i := 0; i < len(words); i += 2 {
		if !isIntervalUnit(words[i+1]) {
			return nil, fmt.Errorf("%q is not a unit", words[i+1])
		}
		parts = append(parts, intervalPart{value: words[i], unit: words[i+1], quoted: true})
	}
	return parts, nil
}

// amount is the part in months or in microseconds.
func (p intervalPart) amount() (months, micros int64, err error) {
	invalid := fmt.Errorf("%q is not an interval of %s", p.value, p.unit)
	text := strings.TrimSpace(p.value)
	negative := p.sign == "-"
	if text != "" && (text[0] == '-' || text[0] == '+') {
		negative = negative != (text[0] == '-')
		text = text[1:]
	}
	unit := intervalUnits[unitName(p.unit)]
	fields := []string{text}
	units := []string{unitName(p.unit)}
	if p.to != "" {
		if fields, units, err = splitFields(text, units[0], unitName(p.to)); err != nil {
			return 0, 0, err
		}
	}
	for i, field := range fields {
		u := intervalUnits[units[i]]
		whole, fraction, _ := strings.Cut(field, ".")
		if fraction != "" && (units[i] != "second" || len(fraction) > 9) {
			return 0, 0, invalid
		}
		n, err := strconv.ParseUint(whole, 10, 62)
		if err != nil {
			return 0, 0, invalid
		}
		var ok bool
		if u.months != 0 {
			months, ok = mulAdd(int64(n), u.months, months)
		} else {
			micros, ok = mulAdd(int64(n), u.micros, micros)
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
	if unit.months == 0 && unit.micros == 0 {
		return 0, 0, invalid
	}
	if negative {
		months, micros = -months, -micros
	}
	return months, micros, nil
}

// splitFields cuts '1-2' YEAR TO MONTH or '1 10:20:30.5' DAY TO SECOND into its fields.
func splitFields(text, from, to string) (fields, units []string, err error) {
	if from == "year" && to == "month" {
		fields, units = strings.Split(text, "-"), []string{"year", "month"}
	} else {
		all := []string{"day", "hour", "minute", "second"}
		for i, u := range all {
			if u == from {
				all = all[i:]
				break
			}
		}
		for i, u := range all {
			if u == to && i > 0 {
				units = all[:i+1]
			}
		}
		fields = strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ':' })
	}
	if len(units) == 0 || len(fields) != len(units) {
		return nil, nil, fmt.Errorf("%q is not an interval of %s to %s", text, from, to)
	}
	return fields, units, nil
}

// formatInterval spells an interval as a literal.
func formatInterval(v Value) string {
	sign, n := "", uint64(v.I)
	if v.I < 0 {
		sign, n = "-", -n
	}
	switch v.Type {
	case dayInterval:
		return fmt.Sprintf("INTERVAL '%s%d' DAY", sign, n/microsPerDay)
	case yearMonthInterval:
		return fmt.Sprintf("INTERVAL '%s%d-%d' YEAR TO MONTH", sign, n/12, n%12)
	}
	seconds := n / microsPerSecond
	return fmt.Sprintf("INTERVAL '%s%d %02d:%02d:%02d.%06d' DAY TO SECOND",
		sign, seconds/secondsPerDay, seconds/3600%24, seconds/60%60, seconds%60, n%microsPerSecond)
}
