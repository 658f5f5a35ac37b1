// Package civil counts the days of the proleptic Gregorian calendar.
package civil

// FloorDiv is a/b rounded down, for positive b.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Date is the proleptic Gregorian date of a day since 1970-01-01, for every int64 that a date or timestamp holds
// (Howard Hinnant, "chrono-compatible low-level date algorithms").
func Date(days int64) (year int64, month, day int) {
	z := days + 719468
	era := FloorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy - (153*mp+2)/5 + 1)
	month = int(mp) + 3
	if month > 12 {
		month -= 12
	}
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

// Days is the inverse of [Date]. The date must exist.
func Days(year int64, month, day int) int64 {
	if month <= 2 {
		year--
	}
	era := FloorDiv(year, 400)
	yoe := year - era*400
	mp := int64(month+9) % 12
	doy := (153*mp+2)/5 + int64(day) - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// DaysIn returns how many days a month has.
func DaysIn(year int64, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}
