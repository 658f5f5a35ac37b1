package predicate

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/internal/civil"
	"github.com/deltaskip/deltaskip/schema"
)

var datetimeAliases = map[string]string{
	"day": "dayofmonth", "dateadd": "date_add", "date_diff": "datediff", "datepart": "date_part",
	"curdate": "current_date", "now": "current_timestamp", "to_unix_timestamp": "unix_timestamp", "make_timestamp_ltz": "make_timestamp",
	"try_make_timestamp_ltz": "try_make_timestamp", "to_timestamp_ltz": "to_timestamp",
}

var datetimeFunctions = []Function{
	// Fields. The binder casts a timestamp to the date that they are fields of.
	{Name: "year", NullIn: true, Resolve: signature(toInteger, 0, aDate), Monotonic: moves(NonDecreasing), Eval: ofDate(func(days int64) int64 {
		year, _, _ := civil.Date(days)
		return year
	})},
	{Name: "quarter", NullIn: true, Resolve: signature(toInteger, 0, aDate), Eval: ofDate(func(days int64) int64 {
		_, month, _ := civil.Date(days)
		return int64(month+2) / 3
	})},
	{Name: "month", NullIn: true, Resolve: signature(toInteger, 0, aDate), Eval: ofDate(func(days int64) int64 {
		_, month, _ := civil.Date(days)
		return int64(month)
	})},
	{Name: "dayofmonth", NullIn: true, Resolve: signature(toInteger, 0, aDate), Eval: ofDate(func(days int64) int64 {
		_, _, day := civil.Date(days)
		return int64(day)
	})},
	{Name: "dayofyear", NullIn: true, Resolve: signature(toInteger, 0, aDate), Eval: ofDate(dayOfYear)},
	{Name: "dayofweek", NullIn: true, Resolve: signature(toInteger, 0, aDate), Eval: ofDate(func(days int64) int64 { return (weekday(days)+1)%7 + 1 })},
	{Name: "weekday", NullIn: true, Resolve: signature(toInteger, 0, aDate), Eval: ofDate(weekday)},
	{Name: "weekofyear", NullIn: true, Resolve: signature(toInteger, 0, aDate), Eval: ofDate(func(days int64) int64 {
		return (dayOfYear(thursday(days))-1)/7 + 1
	})},
	{Name: "dayname", NullIn: true, Resolve: signature(toString, 0, aDate), Eval: pure(func(a []Value) Value {
		return StringOf(weekdayNames[weekday(a[0].I)][:3])
	})},
	{Name: "monthname", NullIn: true, Resolve: signature(toString, 0, aDate), Eval: pure(func(a []Value) Value {
		_, month, _ := civil.Date(a[0].I)
		return StringOf(monthNames[month-1][:3])
	})},
	{Name: "hour", NullIn: true, Zoned: true, Resolve: signature(toInteger, 0, anyTimestamp), Eval: ofTime(func(micros int64) int64 { return micros / microsPerHour })},
	{Name: "minute", NullIn: true, Zoned: true, Resolve: signature(toInteger, 0, anyTimestamp), Eval: ofTime(func(micros int64) int64 { return micros / microsPerMinute % 60 })},
	{Name: "second", NullIn: true, Zoned: true, Resolve: signature(toInteger, 0, anyTimestamp), Eval: ofTime(func(micros int64) int64 { return micros / microsPerSecond % 60 })},
	{Name: "date_part", NullIn: true, Zoned: true, Resolve: resolveDatePart, Eval: datePart, Monotonic: func(args []Expr) Direction {
		if field, ok := literalAt(args, 0); ok {
			if name := datePartNames[strings.ToUpper(field.S)]; (name == "year" || name == "yearofweek") && !isLiteral(args[1]) {
				return NonDecreasing
			}
		}
		return Unordered
	}},

	// Calendar arithmetic.
	{Name: "date_add", NullIn: true, Resolve: signature(toDate, 0, aDate, aDayCount), Eval: addDays(1), Monotonic: moves(NonDecreasing, NonDecreasing)},
	{Name: "date_sub", NullIn: true, Resolve: signature(toDate, 0, aDate, aDayCount), Eval: addDays(-1), Monotonic: moves(NonDecreasing, NonIncreasing)},
	{Name: "datediff", NullIn: true, Resolve: signature(toInteger, 0, aDate, aDate), Eval: func(_ *Env, a []Value, t schema.Type) (Value, error) {
		return int32OrDoubt(t, a[0].I-a[1].I)
	}, Monotonic: moves(NonDecreasing, NonIncreasing)},
	{Name: "add_months", NullIn: true, Resolve: signature(toDate, 0, aDate, anInteger), Eval: func(_ *Env, a []Value, t schema.Type) (Value, error) {
		days := addMonths(a[0].I, a[1].I)
		if days != int64(int32(days)) {
			return Value{}, &EvalError{Class: "ARITHMETIC_OVERFLOW", Message: "the date is out of range"}
		}
		return Value{Type: t, I: days}, nil
	}, Monotonic: moves(NonDecreasing, NonDecreasing)},
	{Name: "months_between", NullIn: true, Zoned: true, Resolve: signature(toDouble, 1, aTimestamp, aTimestamp, aBoolean), Eval: monthsBetween},
	{Name: "last_day", NullIn: true, Resolve: signature(toDate, 0, aDate), Monotonic: moves(NonDecreasing), Eval: func(_ *Env, a []Value, t schema.Type) (Value, error) {
		year, month, _ := civil.Date(a[0].I)
		return int32OrDoubt(t, civil.Days(year, month, civil.DaysIn(year, month)))
	}},
	{Name: "next_day", NullIn: true, Resolve: signature(toDate, 0, aDate, aString), Eval: nextDay, Monotonic: moves(NonDecreasing)},
	{Name: "trunc", NullIn: true, Resolve: signature(toDate, 0, aDate, aString), Monotonic: moves(NonDecreasing), Eval: func(_ *Env, a []Value, t schema.Type) (Value, error) {
		unit := truncationUnits[strings.ToUpper(a[1].S)]
		if unit < toWeek {
			return NullOf(t), nil
		}
		return int32OrDoubt(t, truncateDate(a[0].I, unit))
	}},
	{Name: "date_trunc", NullIn: true, Zoned: true, Resolve: signature(toTimestamp, 0, aString, aTimestamp), Monotonic: moves(Unordered, NonDecreasing), Eval: func(env *Env, a []Value, t schema.Type) (Value, error) {
		unit := truncationUnits[strings.ToUpper(a[0].S)]
		if unit == noUnit {
			return NullOf(t), nil
		}
		micros, ok := truncateTimestamp(a[1].I, unit, env.zone())
		if !ok {
			return Value{}, errTimeRange
		}
		return Value{Type: t, I: micros}, nil
	}},
	{Name: "timestampadd", NullIn: true, Zoned: true, Resolve: resolveTimestampAdd, Eval: timestampAdd, Monotonic: moves(Unordered, NonDecreasing, NonDecreasing)},
	{Name: "timestampdiff", NullIn: true, Zoned: true, Resolve: signature(toLong, 0, aString, aTimestamp, aTimestamp), Eval: timestampDiff, Monotonic: moves(Unordered, NonIncreasing, NonDecreasing)},

	// Numbers and parts to dates and timestamps, and back.
	{Name: "make_date", NullIn: true, Resolve: signature(toDate, 0, anInteger, anInteger, anInteger), Eval: func(_ *Env, a []Value, t schema.Type) (Value, error) {
		days, err := dateOf(a[0].I, a[1].I, a[2].I)
		if err != nil {
			return Value{}, err
		}
		if days != int64(int32(days)) {
			return Value{}, overflow("the date")
		}
		return Value{Type: t, I: days}, nil
	}},
	{Name: "make_timestamp", NullIn: true, Zoned: true, Resolve: timestampParts(schema.Timestamp, 1), Eval: makeTimestamp},
	{Name: "make_timestamp_ntz", NullIn: true, Resolve: timestampParts(schema.TimestampNTZ, 0), Eval: makeTimestamp},
	{Name: "try_make_timestamp", NullIn: true, Zoned: true, Resolve: timestampParts(schema.Timestamp, 1), Eval: nullOnError(makeTimestamp)},
	{Name: "try_make_timestamp_ntz", NullIn: true, Resolve: timestampParts(schema.TimestampNTZ, 0), Eval: nullOnError(makeTimestamp)},
	{Name: "date_from_unix_date", NullIn: true, Resolve: signature(toDate, 0, anInteger), Monotonic: moves(NonDecreasing), Eval: pure(func(a []Value) Value {
		return IntOf(schema.Date, a[0].I)
	})},
	{Name: "unix_date", NullIn: true, Resolve: signature(toInteger, 0, only(schema.Date)), Monotonic: moves(NonDecreasing), Eval: pure(func(a []Value) Value {
		return IntOf(schema.Integer, a[0].I)
	})},
	{Name: "unix_seconds", NullIn: true, Resolve: signature(toLong, 0, only(schema.Timestamp)), Monotonic: moves(NonDecreasing), Eval: epoch(microsPerSecond)},
	{Name: "unix_millis", NullIn: true, Resolve: signature(toLong, 0, only(schema.Timestamp)), Monotonic: moves(NonDecreasing), Eval: epoch(1000)},
	{Name: "unix_micros", NullIn: true, Resolve: signature(toLong, 0, only(schema.Timestamp)), Monotonic: moves(NonDecreasing), Eval: epoch(1)},
	{Name: "timestamp_seconds", NullIn: true, Resolve: signature(toTimestamp, 0, aStrictNumber), Eval: timestampSeconds, Monotonic: func(args []Expr) Direction {
		switch t := args[0].Type(); {
		case t.Kind == schema.Float || t.Kind == schema.Double, t.Scale > 6:
			return Unordered // infinity makes NULL, and what is no whole number of microseconds an error
		}
		return NonDecreasing
	}},
	{Name: "timestamp_millis", NullIn: true, Resolve: signature(toTimestamp, 0, anIntegral), Eval: fromEpoch(1000), Monotonic: moves(NonDecreasing)},
	{Name: "timestamp_micros", NullIn: true, Resolve: signature(toTimestamp, 0, anIntegral), Eval: fromEpoch(1), Monotonic: moves(NonDecreasing)},
	{Name: "unix_timestamp", NullIn: true, Zoned: true, Resolve: resolveUnixTimestamp, Eval: unixTimestamp, Monotonic: func(args []Expr) Direction {
		if len(args) == 0 || args[0].Type().Kind == schema.String {
			return Unordered
		}
		return moves(NonDecreasing)(args)
	}},

	// Zones.
	{Name: "from_utc_timestamp", NullIn: true, Resolve: signature(toTimestamp, 0, aTimestamp, aString), Eval: func(_ *Env, a []Value, t schema.Type) (Value, error) {
		zone, err := zoneOf(a[1].S)
		return Value{Type: t, I: localMicros(a[0].I, zone)}, err
	}},
	{Name: "to_utc_timestamp", NullIn: true, Resolve: signature(toTimestamp, 0, aTimestamp, aString), Eval: func(_ *Env, a []Value, t schema.Type) (Value, error) {
		zone, err := zoneOf(a[1].S)
		return Value{Type: t, I: instantMicros(a[0].I, zone)}, err
	}},
	{Name: "convert_timezone", NullIn: true, Zoned: true, Resolve: resolveConvertTimezone, Eval: func(env *Env, a []Value, t schema.Type) (Value, error) {
		from, err := env.zone(), error(nil)
		if len(a) == 3 {
			from, err = zoneOf(a[0].S)
			a = a[1:]
		}
		to, err2 := zoneOf(a[0].S)
		return Value{Type: t, I: localMicros(instantMicros(a[1].I, from), to)}, errors.Join(err, err2)
	}},

	// Text.
	{Name: "date_format", NullIn: true, Zoned: true, Resolve: withFormat(false, signature(toString, 0, aTimestamp, aString)), Eval: dateFormat},
	{Name: "from_unixtime", NullIn: true, Zoned: true, Resolve: withFormat(false, signature(toString, 1, aLong, aString)), Eval: func(env *Env, a []Value, t schema.Type) (Value, error) {
		micros, ok := mulAdd(a[0].I, microsPerSecond, 0)
		if !ok {
			return Value{}, errTimeRange
		}
		format := StringOf(defaultFormat)
		if len(a) > 1 {
			format = a[1]
		}
		return dateFormat(env, []Value{IntOf(schema.Timestamp, micros), format}, t)
	}},
	{Name: "to_date", Rewrite: counted(1, 2, func(a []Expr) (Expr, error) {
		if len(a) == 2 {
			return &Cast{X: &Call{Name: "to_timestamp", Args: a}, To: schema.Type{Kind: schema.Date}}, nil
		}
		return &Cast{X: a[0], To: schema.Type{Kind: schema.Date}}, nil
	})},
	{Name: "try_to_date", Rewrite: counted(1, 2, func(a []Expr) (Expr, error) {
		if len(a) == 2 {
			return &Cast{X: &Call{Name: "try_to_timestamp", Args: a}, To: schema.Type{Kind: schema.Date}}, nil
		}
		return &Cast{X: a[0], To: schema.Type{Kind: schema.Date}, Try: true}, nil
	})},
	{Name: "to_timestamp", Rewrite: castUnlessFormat(schema.Timestamp, false), NullIn: true, Zoned: true,
		Resolve: withFormat(true, signature(toTimestamp, 0, aDatetimeText, aString)), Eval: parseDatetime},
	{Name: "try_to_timestamp", Rewrite: castUnlessFormat(schema.Timestamp, true), NullIn: true, Zoned: true,
		Resolve: withFormat(true, signature(toTimestamp, 0, aDatetimeText, aString)), Eval: nullOnError(parseDatetime)},
	{Name: "to_timestamp_ntz", Rewrite: castUnlessFormat(schema.TimestampNTZ, false), NullIn: true, Zoned: true,
		Resolve: withFormat(true, signature(always(schema.TimestampNTZ), 0, aDatetimeText, aString)), Eval: parseDatetime},

	// The present.
	{Name: "current_date", Zoned: true, Resolve: signature(toDate, 0), Eval: present(func(env *Env, micros int64) Value {
		return IntOf(schema.Date, civil.FloorDiv(localMicros(micros, env.zone()), microsPerDay))
	})},
	{Name: "current_timestamp", Resolve: signature(toTimestamp, 0), Eval: present(func(_ *Env, micros int64) Value {
		return IntOf(schema.Timestamp, micros)
	})},
	{Name: "localtimestamp", Zoned: true, Resolve: signature(always(schema.TimestampNTZ), 0), Eval: present(func(env *Env, micros int64) Value {
		return IntOf(schema.TimestampNTZ, localMicros(micros, env.zone()))
	})},
}

const (
	microsPerMinute = 60 * microsPerSecond
	microsPerHour   = 60 * microsPerMinute
)

// Parameters and results of dates.
var (
	aBoolean      = exactly(schema.Boolean)
	aDate         = exactly(schema.Date)
	aTimestamp    = exactly(schema.Timestamp)
	anyTimestamp  = oneOf(schema.Timestamp, schema.TimestampNTZ)
	aStrictNumber = only(schema.Double, schema.Byte, schema.Short, schema.Integer, schema.Long, schema.Float, schema.Decimal)
	aDatetimeText = oneOf(schema.String, schema.Date, schema.Timestamp, schema.TimestampNTZ)

	toDate      = always(schema.Date)
	toTimestamp = always(schema.Timestamp)
)

var errTimeRange = &UnsupportedError{Reason: "dates beyond the range of their type"}

var (
	weekdayNames = [...]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	monthNames   = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
)

// aDayCount takes integers that are no long ones, and text.
func aDayCount(t schema.Type) (schema.Type, bool) {
	switch t.Kind {
	case schema.Byte, schema.Short, schema.Integer, schema.String, schema.Void:
		return schema.Type{Kind: schema.Integer}, true
	}
	return schema.Type{}, false
}

// ofDate is the Eval of a field of a date.
func ofDate(field func(days int64) int64) evalFunc {
	return pure(func(a []Value) Value { return IntOf(schema.Integer, field(a[0].I)) })
}

// ofTime is the Eval of a field of the time of day, given in microseconds.
func ofTime(field func(micros int64) int64) evalFunc {
	return func(env *Env, a []Value, t schema.Type) (Value, error) {
		return Value{Type: t, I: field(timeOfDay(a[0], env))}, nil
	}
}

// wallMicros is what a clock shows at a timestamp, in microseconds as if it were UTC.
func wallMicros(v Value, env *Env) int64 {
	if v.Type.Kind == schema.TimestampNTZ {
		return v.I
	}
	return localMicros(v.I, env.zone())
}

func timeOfDay(v Value, env *Env) int64 {
	wall := wallMicros(v, env)
	return wall - civil.FloorDiv(wall, microsPerDay)*microsPerDay
}

// weekday counts from Monday, 0.
func weekday(days int64) int64 { return (days + 3) - civil.FloorDiv(days+3, 7)*7 }

func dayOfYear(days int64) int64 {
	year, _, _ := civil.Date(days)
	return days - civil.Days(year, 1, 1) + 1
}

// thursday is the day of the same ISO week that decides to which year the week belongs.
func thursday(days int64) int64 { return days - weekday(days) + 3 }

// datePartNames are the fields of EXTRACT and date_part, each with the function that takes it.
var datePartNames = func() map[string]string {
	names := map[string]string{}
	for name, spellings := range map[string]string{
		"year": "YEAR Y YEARS YR YRS", "yearofweek": "YEAROFWEEK", "quarter": "QUARTER QTR", "month": "MONTH MON MONS MONTHS",
		"weekofyear": "WEEK W WEEKS", "dayofmonth": "DAY D DAYS", "dayofweek": "DAYOFWEEK DOW", "weekday": "DAYOFWEEK_ISO DOW_ISO",
		"dayofyear": "DOY", "hour": "HOUR H HOURS HR HRS", "minute": "MINUTE M MIN MINS MINUTES", "second": "SECOND S SEC SECONDS SECS",
	} {
		for _, s := range strings.Fields(spellings) {
			names[s] = name
		}
	}
	return names
}()

func resolveDatePart(args []Expr) ([]schema.Type, schema.Type, error) {
	if len(args) != 2 {
		return nil, schema.Type{}, wrongCount(len(args), 2, 2)
	}
	field, ok := literalAt(args, 0)
	if !ok {
		if isLiteral(args[0]) {
			return []schema.Type{stringType, args[1].Type()}, doubleType, nil // of NULL
		}
		return nil, schema.Type{}, &BindError{Class: "NON_FOLDABLE_ARGUMENT", Message: "the field of date_part is no constant"}
	}
	p, t := aDate, schema.Type{Kind: schema.Integer}
	switch datePartNames[strings.ToUpper(field.S)] {
	case "":
		return nil, t, &BindError{Class: "INVALID_EXTRACT_FIELD", Message: "date_part does not take the field " + field.S}
	case "second":
		p, t = anyTimestamp, decimalType(8, 6)
	case "hour", "minute":
		p = anyTimestamp
	}
	return signature(func([]schema.Type) schema.Type { return t }, 0, aString, p)(args)
}

func datePart(env *Env, a []Value, t schema.Type) (Value, error) {
	switch name := datePartNames[strings.ToUpper(a[0].S)]; name {
	case "second": // with its fraction
		return DecimalOf(decimal128.FromI64(timeOfDay(a[1], env)%microsPerMinute), t.Precision, t.Scale), nil
	case "yearofweek":
		year, _, _ := civil.Date(thursday(a[1].I))
		return Value{Type: t, I: year}, nil
	case "weekday": // counts from 1 here
		return Value{Type: t, I: weekday(a[1].I) + 1}, nil
	default:
		return registry[name].Eval(env, a[1:], t)
	}
}

// int32OrDoubt refuses what Spark would let overflow silently.
func int32OrDoubt(t schema.Type, n int64) (Value, error) {
	if n != int64(int32(n)) {
		return Value{}, errTimeRange
	}
	return Value{Type: t, I: n}, nil
}

func addDays(sign int64) evalFunc {
	return func(_ *Env, a []Value, t schema.Type) (Value, error) { return int32OrDoubt(t, a[0].I+sign*a[1].I) }
}

// addMonths moves a date by months, to the last day of the month where the day does not exist.
func addMonths(days, months int64) int64 {
	year, month, day := civil.Date(days)
	total := year*12 + int64(month-1) + months
	year = civil.FloorDiv(total, 12)
	month = int(total-year*12) + 1
	return civil.Days(year, month, min(day, civil.DaysIn(year, month)))
}

func monthsBetween(env *Env, a []Value, _ schema.Type) (Value, error) {
	var months, day, untilEnd, seconds [2]int64
	for i, v := range a[:2] {
		days := civil.FloorDiv(localMicros(v.I, env.zone()), microsPerDay)
		y, m, d := civil.Date(days)
		months[i], day[i], untilEnd[i] = y*12+int64(m), int64(d), int64(civil.DaysIn(y, m)-d)
		midnight, ok := mulAdd(days, microsPerDay, 0)
		if !ok {
			return Value{}, errTimeRange
		}
		seconds[i] = (v.I - instantMicros(midnight, env.zone())) / microsPerSecond
	}
	diff := float64(months[0] - months[1])
	if day[0] != day[1] && (untilEnd[0] != 0 || untilEnd[1] != 0) {
		// Spark takes every month for one of 31 days.
		diff += float64((day[0]-day[1])*secondsPerDay+seconds[0]-seconds[1]) / (31 * secondsPerDay)
		if len(a) < 3 || a[2].I != 0 {
			diff = float64(saturate(math.Floor(diff*1e8+0.5))) / 1e8
		}
	}
	return FloatOf(schema.Double, diff), nil
}

func nextDay(_ *Env, a []Value, t schema.Type) (Value, error) {
	name := strings.ToUpper(a[1].S)
	for i, full := range weekdayNames {
		full = strings.ToUpper(full)
		if name == full[:2] || name == full[:3] || name == full {
			ahead := (int64(i) - weekday(a[0].I) + 7) % 7
			if ahead == 0 {
				ahead = 7
			}
			return int32OrDoubt(t, a[0].I+ahead)
		}
	}
	return Value{}, &EvalError{Class: "ILLEGAL_DAY_OF_WEEK", Message: a[1].S + " is no day of the week"}
}

// A truncation is a unit of trunc and date_trunc, from short to long.
type truncation int

const (
	noUnit truncation = iota
	toMicrosecond
	toMillisecond
	toSecond
	toMinute
	toHour
	toDay
	toWeek
	toMonth
	toQuarter
	toYear
)

var truncationUnits = map[string]truncation{
	"MICROSECOND": toMicrosecond, "MILLISECOND": toMillisecond, "SECOND": toSecond, "MINUTE": toMinute, "HOUR": toHour,
	"DAY": toDay, "DD": toDay, "WEEK": toWeek, "MON": toMonth, "MONTH": toMonth, "MM": toMonth, "QUARTER": toQuarter,
	"YEAR": toYear, "YYYY": toYear, "YY": toYear,
}

// truncateDate goes back to the first day of a week or of something longer.
func truncateDate(days int64, unit truncation) int64 {
	year, month, _ := civil.Date(days)
	switch unit {
	case toWeek:
		return days - weekday(days)
	case toMonth:
		return civil.Days(year, month, 1)
	case toQuarter:
		return civil.Days(year, month-(month-1)%3, 1)
	}
	return civil.Days(year, 1, 1)
}

// truncateTimestamp goes back to the start of a unit; false where that is out of range.
func truncateTimestamp(micros int64, unit truncation, zone *time.Location) (int64, bool) {
	local := localMicros(micros, zone)
	whole := func(t, size int64) (int64, bool) { return mulAdd(civil.FloorDiv(t, size), size, 0) }
	switch unit {
	case toMicrosecond:
		return micros, true
	case toMillisecond:
		return whole(micros, 1000)
	case toSecond:
		return whole(micros, microsPerSecond)
	case toMinute, toHour:
		size := int64(microsPerMinute)
		if unit == toHour {
			size = microsPerHour
		}
		start, ok := whole(local, size)
		return sameOffset(micros, start, zone), ok
	}
	days := civil.FloorDiv(local, microsPerDay)
	if unit != toDay {
		days = truncateDate(days, unit)
	}
	start, ok := mulAdd(days, microsPerDay, 0)
	return instantMicros(start, zone), ok
}

// sameOffset is the instant of a wall clock reading; of one that occurs twice, that with the offset in force at micros
// (java.time.ZonedDateTime.ofLocal with a preferred offset).
func sameOffset(micros, local int64, zone *time.Location) int64 {
	offset := offsetAt(civil.FloorDiv(micros, microsPerSecond), zone)
	instant := saturatingAdd(local, -offset*microsPerSecond)
	if offsetAt(civil.FloorDiv(instant, microsPerSecond), zone) == offset {
		return instant
	}
	return instantMicros(local, zone)
}

// datetimeUnitSizes are the units of timestampadd and timestampdiff, in months or in microseconds.
var datetimeUnitSizes = map[string]struct{ months, micros int64 }{
	"YEAR": {months: 12}, "QUARTER": {months: 3}, "MONTH": {months: 1}, "WEEK": {micros: 7 * microsPerDay}, "DAY": {micros: microsPerDay},
	"DAYOFYEAR": {micros: microsPerDay}, "HOUR": {micros: microsPerHour}, "MINUTE": {micros: microsPerMinute},
	"SECOND": {micros: microsPerSecond}, "MILLISECOND": {micros: 1000}, "MICROSECOND": {micros: 1},
}

func resolveTimestampAdd(args []Expr) ([]schema.Type, schema.Type, error) {
	types, err := resolveParams(args, 3, []param{aString, aLong, anyTimestamp})
	if err != nil {
		return nil, schema.Type{}, err
	}
	return types, types[2], nil
}

// timestampAdd adds days and what is longer on the calendar of the zone, where the clock shows the same time afterwards, and
// what is shorter as time that passes.
func timestampAdd(env *Env, a []Value, t schema.Type) (Value, error) {
	unit, known := datetimeUnitSizes[strings.ToUpper(a[0].S)]
	if !known {
		return Value{}, &UnsupportedError{Reason: "the unit " + a[0].S}
	}
	zone := env.zone()
	if t.Kind == schema.TimestampNTZ {
		zone = time.UTC
	}
	var micros int64
	ok := true
	switch {
	case unit.months != 0:
		months, fits := mulAdd(a[1].I, unit.months, 0)
		if ok = fits && months == int64(int32(months)); ok {
			micros, ok = plusMonths(a[2].I, months, zone)
		}
	case unit.micros < microsPerDay:
		micros, ok = mulAdd(a[1].I, unit.micros, a[2].I)
	default:
		var moved int64
		moved, ok = mulAdd(a[1].I, unit.micros, localMicros(a[2].I, zone))
		micros = sameOffset(a[2].I, moved, zone)
	}
	if !ok {
		return Value{}, &EvalError{Class: "DATETIME_OVERFLOW", Message: "timestampadd leaves the range of timestamps"}
	}
	return Value{Type: t, I: micros}, nil
}

// plusMonths adds months on the calendar of a zone: the clock shows the same time.
func plusMonths(micros, months int64, zone *time.Location) (int64, bool) {
	local := localMicros(micros, zone)
	days := civil.FloorDiv(local, microsPerDay)
	moved, ok := mulAdd(addMonths(days, months), microsPerDay, local-days*microsPerDay)
	return sameOffset(micros, moved, zone), ok
}

func timestampDiff(env *Env, a []Value, t schema.Type) (Value, error) {
	name := strings.ToUpper(a[0].S)
	unit, known := datetimeUnitSizes[name]
	if !known || name == "DAYOFYEAR" {
		return Value{}, &UnsupportedError{Reason: "the unit " + a[0].S}
	}
	from, to := wallMicros(a[1], env), wallMicros(a[2], env)
	if unit.months == 0 {
		diff := to - from
		if (to < from) != (diff < 0) {
			return Value{}, errTimeRange
		}
		return Value{Type: t, I: diff / unit.micros}, nil
	}
	// Whole months between: the day counts only once its time of day has come.
	fromDay, toDay := civil.FloorDiv(from, microsPerDay), civil.FloorDiv(to, microsPerDay)
	fromTime, toTime := from-fromDay*microsPerDay, to-toDay*microsPerDay
	switch {
	case toDay > fromDay && toTime < fromTime:
		toDay--
	case toDay < fromDay && toTime > fromTime:
		toDay++
	}
	packed := func(days int64) int64 {
		year, month, day := civil.Date(days)
		return (year*12+int64(month-1))*32 + int64(day)
	}
	return Value{Type: t, I: (packed(toDay) - packed(fromDay)) / 32 / unit.months}, nil
}

func outOfBounds(what string) error {
	return &EvalError{Class: "DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION", Message: what + " does not exist"}
}

func dateOf(year, month, day int64) (int64, error) {
	if month < 1 || month > 12 || day < 1 || day > int64(civil.DaysIn(year, int(month))) || year < -999999999 || year > 999999999 {
		return 0, outOfBounds(fmt.Sprintf("the date %d-%02d-%02d", year, month, day))
	}
	return civil.Days(year, int(month), int(day)), nil
}

// timestampParts is the Resolve of the functions of year, month, day, hour, minute and second.
func timestampParts(result schema.Kind, optional int) resolveFunc {
	seconds := func(t schema.Type) (schema.Type, bool) {
		return decimalType(16, 6), numeric(t.Kind) || t.Kind == schema.String || t.Kind == schema.Void
	}
	six := signature(always(result), optional, anInteger, anInteger, anInteger, anInteger, anInteger, seconds, aString)
	if optional == 0 {
		six = signature(always(result), 0, anInteger, anInteger, anInteger, anInteger, anInteger, seconds)
	}
	return func(args []Expr) ([]schema.Type, schema.Type, error) {
		if len(args) == 2 || len(args) == 3 {
			return nil, schema.Type{Kind: result}, &UnsupportedError{Reason: "values of the type time"}
		}
		return six(args)
	}
}

func makeTimestamp(env *Env, a []Value, t schema.Type) (Value, error) {
	zone, err := env.zone(), error(nil)
	if len(a) > 6 {
		if zone, err = zoneOf(a[6].S); err != nil {
			return Value{}, err
		}
	}
	hour, minute, second := a[3].I, a[4].I, int64(a[5].D.LowBits()) // in microseconds; 16 digits fit
	if second > 60*microsPerSecond && second < 61*microsPerSecond {
		return Value{}, &EvalError{Class: "INVALID_FRACTION_OF_SECOND", Message: "a second of 60 has no fraction"}
	}
	days, err := dateOf(a[0].I, a[1].I, a[2].I)
	if err != nil {
		return Value{}, err
	}
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60*microsPerSecond {
		return Value{}, outOfBounds(fmt.Sprintf("the time %d:%d", hour, minute))
	}
	local, ok := mulAdd(days, microsPerDay, hour*microsPerHour+minute*microsPerMinute+second)
	if !ok {
		return Value{}, overflow("the timestamp")
	}
	if t.Kind == schema.TimestampNTZ {
		return Value{Type: t, I: local}, nil
	}
	return Value{Type: t, I: instantMicros(local, zone)}, nil
}

// nullOnError makes NULL of an error that Spark would raise.
func nullOnError(eval evalFunc) evalFunc {
	return func(env *Env, a []Value, t schema.Type) (Value, error) {
		v, err := eval(env, a, t)
		var failed *EvalError
		if errors.As(err, &failed) {
			return NullOf(t), nil
		}
		return v, err
	}
}

func epoch(unit int64) evalFunc {
	return pure(func(a []Value) Value { return IntOf(schema.Long, civil.FloorDiv(a[0].I, unit)) })
}

func fromEpoch(unit int64) evalFunc {
	return func(_ *Env, a []Value, t schema.Type) (Value, error) {
		micros, ok := mulAdd(a[0].I, unit, 0)
		if unit == 1 {
			micros, ok = a[0].I, true
		}
		if !ok {
			return Value{}, &EvalError{Class: "ArithmeticException", Message: "the timestamp is out of range"}
		}
		return Value{Type: t, I: micros}, nil
	}
}

func timestampSeconds(env *Env, a []Value, t schema.Type) (Value, error) {
	switch v := a[0]; v.Type.Kind {
	case schema.Float, schema.Double:
		if math.IsNaN(v.F) || math.IsInf(v.F, 0) {
			return NullOf(t), nil
		}
		return Value{Type: t, I: saturate(v.F * microsPerSecond)}, nil
	case schema.Decimal: // exact, or not at all
		micros, rest := v.D.BigInt(), new(big.Int)
		micros.Mul(micros, big.NewInt(microsPerSecond))
		micros.QuoRem(micros, pow10(int(v.Type.Scale)), rest)
		if rest.Sign() != 0 || !micros.IsInt64() {
			return Value{}, &EvalError{Class: "ArithmeticException", Message: "the timestamp has no exact value"}
		}
		return Value{Type: t, I: micros.Int64()}, nil
	}
	return fromEpoch(microsPerSecond)(env, a, t)
}

// resolveUnixTimestamp types unix_timestamp: of now, of a date or timestamp, or of a text with a format.
func resolveUnixTimestamp(args []Expr) ([]schema.Type, schema.Type, error) {
	p := only(schema.String, schema.Date, schema.Timestamp, schema.TimestampNTZ)
	return withFormat(true, signature(toLong, 2, p, aString))(args)
}

func unixTimestamp(env *Env, a []Value, t schema.Type) (Value, error) {
	if len(a) == 0 {
		return present(func(_ *Env, micros int64) Value { return Value{Type: t, I: micros / microsPerSecond} })(env, a, t)
	}
	micros := a[0].I
	switch a[0].Type.Kind {
	case schema.Date:
		v, err := CastValue(a[0], schema.Type{Kind: schema.Timestamp}, env)
		if err != nil {
			return Value{}, err
		}
		micros = v.I
	case schema.String:
		if len(a) == 1 {
			a = []Value{a[0], StringOf(defaultFormat)}
		}
		v, err := parseDatetime(env, a, schema.Type{Kind: schema.Timestamp})
		if err != nil {
			return Value{}, err
		}
		micros = v.I
	}
	return Value{Type: t, I: micros / microsPerSecond}, nil // towards zero, unlike unix_seconds
}

// zoneOf reads a zone's name.
func zoneOf(name string) (*time.Location, error) {
	zone, ok := parseZone(name)
	if !ok || name == "" {
		return nil, &EvalError{Class: "INVALID_TIMEZONE", Message: "there is no time zone " + name}
	}
	return zone, nil
}

func resolveConvertTimezone(args []Expr) ([]schema.Type, schema.Type, error) {
	ntz := exactly(schema.TimestampNTZ)
	if len(args) == 2 {
		return signature(always(schema.TimestampNTZ), 0, aString, ntz)(args)
	}
	return signature(always(schema.TimestampNTZ), 0, aString, aString, ntz)(args)
}

// castUnlessFormat rewrites to_timestamp and its like to a cast where no format is given.
func castUnlessFormat(to schema.Kind, try bool) func([]Expr) (Expr, error) {
	return counted(1, 2, func(a []Expr) (Expr, error) {
		if len(a) == 2 {
			return nil, nil
		}
		return &Cast{X: a[0], To: schema.Type{Kind: to}, Try: try}, nil
	})
}

// present is the Eval of what depends on the time of the query, which may not be known.
func present(f func(env *Env, micros int64) Value) evalFunc {
	return func(env *Env, _ []Value, _ schema.Type) (Value, error) {
		if env == nil || env.Now.IsZero() {
			return Value{}, &UnsupportedError{Reason: "the time at which the query runs is not known"}
		}
		return f(env, env.Now.UnixMicro()), nil
	}
}
