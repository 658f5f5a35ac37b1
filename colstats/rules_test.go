package colstats

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// stats writes the statistics of the column c in a file of ten rows without NULL; an empty bound is left out.
func stats(least, greatest string) string {
	return statsOf(least, greatest, `"numRecords":10`, `"nullCount":{"c":0}`)
}

func statsOf(least, greatest string, others ...string) string {
	if least != "" {
		others = append(others, `"minValues":{"c":`+least+`}`)
	}
	if greatest != "" {
		others = append(others, `"maxValues":{"c":`+greatest+`}`)
	}
	return "{" + strings.Join(others, ",") + "}"
}

func TestCounts(t *testing.T) {
	tests := []struct {
		name  string
		stats string
		want  string
	}{
		{"no NULL: bounds hold for every row", stats("1", "9"), "[1, 9], no NULL"},
		{"some NULL: bounds hold for the others", statsOf("1", "9", `"numRecords":10`, `"nullCount":{"c":3}`), "[1, 9]"},
		{"all NULL without bounds", statsOf("", "", `"numRecords":10`, `"nullCount":{"c":10}`), "all NULL"},
		{"all NULL: bounds mean nothing", statsOf("1", "9", `"numRecords":10`, `"nullCount":{"c":10}`), "all NULL"},
		{"wide bounds, no NULL", statsOf("1", "9", `"numRecords":10`, `"nullCount":{"c":0}`, `"tightBounds":false`), "[1, 9], no NULL"},
		{"wide bounds, all NULL", statsOf("1", "9", `"numRecords":10`, `"nullCount":{"c":10}`, `"tightBounds":false`), "all NULL"},
		{"wide bounds, another count proves neither", statsOf("1", "9", `"numRecords":10`, `"nullCount":{"c":9}`, `"tightBounds":false`), "[1, 9]"},
		{"bounds without nullCount are unusable", statsOf("1", "9", `"numRecords":10`), "nothing"},
		{"bounds without numRecords are unusable", statsOf("1", "9", `"nullCount":{"c":3}`), "nothing"},
		{"nullCount 0 needs no numRecords", statsOf("1", "9", `"nullCount":{"c":0}`), "no NULL"},
		{"only a minimum: open above", stats("1", ""), "[1, 9223372036854775807], no NULL"},
		{"only a maximum: open below", stats("", "9"), "[-9223372036854775808, 9], no NULL"},
		{"no bounds", stats("", ""), "no NULL"},
		{"null bounds are no bounds", stats("null", "null"), "no NULL"},
		{"minimum above maximum: neither counts", stats("9", "1"), "no NULL"},
		{"negative numRecords is missing", statsOf("1", "9", `"numRecords":-1`, `"nullCount":{"c":0}`), "no NULL"},
		{"negative nullCount is missing", statsOf("1", "9", `"numRecords":10`, `"nullCount":{"c":-1}`), "nothing"},
		{"nullCount above numRecords is missing", statsOf("1", "9", `"numRecords":2`, `"nullCount":{"c":5}`), "nothing"},
		{"no rows: no NULL and nothing else", statsOf("", "", `"numRecords":0`, `"nullCount":{"c":0}`), "no NULL, all NULL"},
		{"no rows and yet bounds: nothing is believed", statsOf("1", "9", `"numRecords":0`, `"nullCount":{"c":0}`), "nothing"},
		{"no rows and yet one bound", statsOf("", "9", `"numRecords":0`, `"nullCount":{"c":0}`), "nothing"},
		{"counts that are not integers are missing", statsOf("1", "9", `"numRecords":10.0`, `"nullCount":{"c":"0"}`), "nothing"},
		{"counts beyond 64 bits are missing", statsOf("1", "9", `"numRecords":`+strings.Repeat("9", 400), `"nullCount":{"c":0}`), "no NULL"},
		{"nullCount of a wrong type is missing", statsOf("1", "9", `"numRecords":10`, `"nullCount":{"c":{"d":0}}`), "nothing"},
		{"nullCount that is not an object is missing", statsOf("1", "9", `"numRecords":10`, `"nullCount":0`), "nothing"},
		{"null objects", `{"numRecords":10,"minValues":null,"maxValues":null,"nullCount":null}`, "nothing"},
		{"another letter case is another column", `{"numRecords":10,"minValues":{"C":1},"maxValues":{"C":9},"nullCount":{"C":0}}`, "nothing"},
		{"unknown keys are passed over", statsOf("1", "9", `"zzz":{"c":[1,{"c":null}]}`, `"numRecords":10`, `"nullCount":{"c":0,"ghost":1}`), "[1, 9], no NULL"},
		{"a bound given twice counts for nothing", `{"numRecords":10,"minValues":{"c":1,"c":2},"maxValues":{"c":9},"nullCount":{"c":0}}`, "[-9223372036854775808, 9], no NULL"},
		{"minValues given twice count for nothing", `{"numRecords":10,"minValues":{"c":1},"minValues":{},"maxValues":{"c":9},"nullCount":{"c":0}}`, "[-9223372036854775808, 9], no NULL"},
		{"maxValues given twice count for nothing", `{"numRecords":10,"maxValues":{"c":9},"minValues":{"c":1},"maxValues":null,"nullCount":{"c":0}}`, "[1, 9223372036854775807], no NULL"},
		{"a null count given twice counts for nothing", `{"numRecords":10,"nullCount":{"c":0,"c":0}}`, "nothing"},
		{"numRecords given twice count for nothing", `{"numRecords":10,"numRecords":10,"minValues":{"c":1},"nullCount":{"c":10}}`, "nothing"},
		{"the order of keys is free", `{"nullCount":{"c":0},"maxValues":{"c":9},"numRecords":10,"minValues":{"c":1}}`, "[1, 9], no NULL"},
		{"white space", " {\n\t\"numRecords\" : 10 ,\r\n\"minValues\" : { \"c\" : 1 } , \"maxValues\":{ \"c\":9 },\"nullCount\":{\"c\" :0}} ", "[1, 9], no NULL"},
		{"escaped keys", `{"num\u0052ecords":10,"minValues":{"\u0063":1},"maxValues":{"c":9},"nullCount":{"c":0}}`, "[1, 9], no NULL"},
	}
	layout := newLayout(t, "c long")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := describeFile(t, layout, &File{Stats: tt.stats}, Options{})[0]; got != tt.want {
				t.Errorf("%s\nproves %s, want %s", tt.stats, got, tt.want)
			}
		})
	}
}

// A text that is not one JSON object is no statistics, even where what comes before the fault would do.
func TestMalformedStatistics(t *testing.T) {
	good := stats("1", "9")
	for name, text := range map[string]string{
		"empty":                    "",
		"null":                     "null",
		"array":                    "[1,2,3]",
		"number":                   "5",
		"string":                   `"{}"`,
		"not JSON":                 "not json at all",
		"truncated":                good[:len(good)-1],
		"truncated before a value": `{"numRecords":10,"minValues":{"c":`,
		"trailing garbage":         good + "xyz",
		"two objects":              good + good,
		"trailing comma":           strings.Replace(good, `"c":9`, `"c":9,`, 1),
		"comment":                  "/* c */" + good,
		"byte order mark":          "\ufeff" + good,
		"single quotes":            strings.ReplaceAll(good, `"`, "'"),
		"leading zero":             strings.Replace(good, "1", "01", 1),
		"plus sign":                strings.Replace(good, "9", "+9", 1),
		"bare NaN":                 strings.Replace(good, "9", "NaN", 1),
		"bare Infinity":            strings.Replace(good, "9", "Infinity", 1),
		"bare word elsewhere":      strings.Replace(good, "}", `,"z":nul}`, 1),
		"number without digits":    strings.Replace(good, "9", "-", 1),
		"number ends in a point":   strings.Replace(good, "9", "9.", 1),
		"exponent without digits":  strings.Replace(good, "9", "9e+", 1),
		"missing colon":            strings.Replace(good, `"c":9`, `"c" 9`, 1),
		"key without quotes":       strings.Replace(good, `"c":9`, `c:9`, 1),
		"control character":        strings.Replace(good, `"c":9`, "\"c\":\"\x01\"", 1),
		"invalid UTF-8":            strings.Replace(good, `"c":9`, "\"c\":\"\xff\"", 1),
		"invalid escape":           strings.Replace(good, `"c":9`, `"c":"\x"`, 1),
		"cut escape":               strings.Replace(good, `"c":9`, `"c":"\u12"`, 1),
		"brackets do not match":    strings.Replace(good, `{"c":9}`, `{"c":9]`, 1),
		"very deep nesting":        strings.Replace(good, `"c":9`, `"z":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`,"c":9`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			for column, got := range describeFile(t, newLayout(t, "c long, d string"), &File{Stats: text}, Options{}) {
				if got != "nothing" {
					t.Errorf("%s\nproves %s of column %d", text, got, column)
				}
			}
		})
	}
	t.Run("longer than allowed", func(t *testing.T) {
		layout := newLayout(t, "c long")
		if got := describeFile(t, layout, &File{Stats: good}, Options{MaxStatsBytes: len(good)})[0]; got != "[1, 9], no NULL" {
			t.Errorf("at the limit: %s", got)
		}
		if got := describeFile(t, layout, &File{Stats: good}, Options{MaxStatsBytes: len(good) - 1})[0]; got != "nothing" {
			t.Errorf("beyond the limit: %s", got)
		}
	})
}

func TestBounds(t *testing.T) {
	const prefix31, prefix32 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digits400 := strings.Repeat("9", 400)
	quote := func(s string) string { return `"` + s + `"` }
	tests := []struct {
		name            string
		typ             string
		least, greatest string // as JSON
		want            string // without ", no NULL"
	}{
		{"beyond 2^53", "long", "9007199254740993", "9007199254740993", "[9007199254740993, 9007199254740993]"},
		{"least and greatest long", "long", "-9223372036854775808", "9223372036854775807", "[-9223372036854775808, 9223372036854775807]"},
		{"a long beyond 64 bits is open", "long", "1", "9223372036854775808", "[1, 9223372036854775807]"},
		{"a long of 400 digits is open", "long", "-" + digits400, "1", "[-9223372036854775808, 1]"},
		{"minus zero", "long", "-0", "0", "[0, 0]"},
		{"a fraction is no long", "long", "1.0", "9", "[-9223372036854775808, 9]"},
		{"an exponent is no long", "long", "1", "1e2", "[1, 9223372036854775807]"},
		{"a string is no long", "long", `"1"`, `"abc"`, ""},
		{"literals are no long", "long", "true", "null", ""},
		{"arrays and objects are no long", "long", "[1]", `{"c":1}`, ""},
		{"an int out of range is open", "integer", "-2147483649", "7", "[-2147483648, 7]"},
		{"a short out of range is open", "short", "1", "40000", "[1, 32767]"},
		{"a byte", "byte", "-128", "127", "[-128, 127]"},
		{"a byte out of range is open", "byte", "-129", "128", ""},
		{"booleans are not relied on", "boolean", "false", "true", ""},
		{"numbers are no boolean", "boolean", "0", "1", ""},
		{"binary bounds are not used", "binary", `"a"`, `"b"`, ""},

		{"a decimal beyond 64 bits", "decimal(20,0)", "-99999999999999999999", "99999999999999999999", "[-99999999999999999999, 99999999999999999999]"},
		{"a decimal of 38 digits", "decimal(38,2)", "0.01", strings.Repeat("9", 36) + ".99", "[0.01, " + strings.Repeat("9", 36) + ".99]"},
		{"fewer digits than the scale", "decimal(10,2)", "-1.5", "7", "[-1.5, 7]"},
		{"decimals with exponents", "decimal(10,2)", "1.0E+3", "123456e-1", "[1000, 12345.6]"},
		{"more digits than the scale round outwards", "decimal(10,2)", "-1.239", "1.231", "[-1.24, 1.24]"},
		{"zeros beyond the scale are exact", "decimal(10,2)", "1.2300", "1.23000e0", "[1.23, 1.23]"},
		{"a decimal out of range is open", "decimal(4,2)", "-1234.5", "12.5", "[-99.99, 12.5]"},
		{"minus zero decimal", "decimal(4,2)", "-0.00", "0e5", "[0, 0]"},
		{"a tiny decimal", "decimal(4,2)", "1e-999999", "1e-1000", "[0, 0.01]"},
		{"a huge exponent is open", "decimal(38,0)", "1e999999999999999999999", "5", "[-" + strings.Repeat("9", 38) + ", 5]"},
		{"a string is no decimal", "decimal(10,2)", `"1.5"`, `"2"`, ""},

		{"doubles", "double", "-1.5E-3", "1.7976931348623157E308", "[-0.0015, 1.7976931348623157e+308]"},
		{"an integer is a double", "double", "1", "9007199254740993", "[1, 9.007199254740992e+15]"},
		{"a double out of range is open", "double", "1", "1e400", "[1, +Inf]"},
		{"a double out of range below is open", "double", "-1e400", "1", "[-Inf, 1]"},
		{"infinities are strings", "double", `"-Infinity"`, `"Infinity"`, "[-Inf, +Inf]"},
		{"zeros of either sign", "double", "0.0", "-0.0", "[0, -0]"},
		{"NaN of a writer that may not order it is open", "double", "1.0", `"NaN"`, "[1, +Inf]"},
		{"NaN as minimum of such a writer is open", "double", `"NaN"`, "3.0", "[-Inf, 3]"},
		{"NaN twice of such a writer is nothing", "double", `"NaN"`, `"NaN"`, ""},
		{"other strings are no double", "double", `"1.0"`, `"inf"`, ""},
		{"a float is the nearest one", "float", "0.1", "16777217", "[0.1, 1.6777216e+07]"},
		{"a float out of range is open", "float", "1", "1e39", "[1, +Inf]"},

		{"dates", "date", `"0001-01-01"`, `"9999-12-31"`, "[0001-01-01, 9999-12-31]"},
		{"dates of wide years", "date", `"-0044-03-15"`, `"+12024-02-29"`, "[-0044-03-15, 12024-02-29]"},
		{"dates that do not exist are open", "date", `"2023-02-29"`, `"2024-02-30"`, ""},
		{"a date with a time is open", "date", `"2020-01-01T00:00:00.000Z"`, `"2020-01-02"`, "[-5877641-06-23, 2020-01-02]"},
		{"a number is no date", "date", "0", "1", ""},

		{"a maximum is raised to the end of its millisecond", "timestamp", `"2022-06-14T08:30:00.000Z"`, `"2022-06-14T08:30:00.000Z"`, "[2022-06-14T08:30:00Z, 2022-06-14T08:30:00.001Z]"},
		{"before 1970", "timestamp", `"1969-12-31T22:15:41.123Z"`, `"1969-12-31T23:59:59.999Z"`, "[1969-12-31T22:15:41.123Z, 1970-01-01T00:00:00Z]"},
		{"outside of what nanoseconds can count", "timestamp", `"0001-01-01T00:00:00.000Z"`, `"9999-12-31T23:59:59.000Z"`, "[0001-01-01T00:00:00Z, 9999-12-31T23:59:59.001Z]"},
		{"the last microsecond is not passed", "timestamp", `"2020-01-01T00:00:00Z"`, `"+294247-01-10T04:00:54.775Z"`, "[2020-01-01T00:00:00Z, 9223372036854775807]"},
		{"beyond the last microsecond is open", "timestamp", `"2020-01-01T00:00:00Z"`, `"+294247-01-10T04:00:55Z"`, "[2020-01-01T00:00:00Z, 9223372036854775807]"},
		{"microseconds are kept", "timestamp", `"2020-01-01T00:00:00.000417Z"`, `"2020-01-01T00:00:00.000417Z"`, "[2020-01-01T00:00:00.000417Z, 2020-01-01T00:00:00.001417Z]"},
		{"a space and no fraction", "timestamp", `"2020-01-01 00:00:00Z"`, `"2020-01-01 00:00Z"`, "[2020-01-01T00:00:00Z, 2020-01-01T00:00:00.001Z]"},
		{"offsets", "timestamp", `"2024-07-01T00:00:00.000-04:00"`, `"2024-07-01T00:00:00.000+0530"`, ""},
		{"offsets are applied", "timestamp", `"2024-07-01T00:00:00.000+05:30"`, `"2024-07-01T00:00:00.000-04"`, "[2024-06-30T18:30:00Z, 2024-07-01T04:00:00.001Z]"},
		{"an offset with seconds", "timestamp", `"1870-02-03T04:05:06.000+00:53:28"`, `"1870-02-03T04:05:06.000+00:53:28"`, "[1870-02-03T03:11:38Z, 1870-02-03T03:11:38.001Z]"},
		{"an old offset may have lost its seconds", "timestamp", `"1870-02-03T04:05:06.000+00:53"`, `"1870-02-03T04:05:06.000+00:53"`, "[1870-02-03T03:11:06Z, 1870-02-03T03:13:06.001Z]"},
		{"a statistic without offset may be of any zone", "timestamp", `"2024-07-01T18:00:00"`, `"2024-07-02T06:00:00.000"`, "[2024-07-01T00:00:00Z, 2024-07-03T00:00:00.001Z]"},
		{"times that do not exist are open", "timestamp", `"2020-01-01T24:00:00Z"`, `"2020-01-01T23:60:00Z"`, ""},
		{"a date is no timestamp", "timestamp", `"2020-01-01"`, `"2020-01-02"`, ""},
		{"a number is no timestamp", "timestamp", "1577836800000", "1577836800000000", ""},
		{"wall clocks", "timestamp_ntz", `"2020-12-06T00:00:00.000"`, `"2020-12-06T01:06:28.004"`, "[2020-12-06T00:00:00, 2020-12-06T01:06:28.005]"},
		{"wall clocks with a Z", "timestamp_ntz", `"2020-12-06T00:00:00.000Z"`, `"2020-12-06T01:06:28.004Z"`, "[2020-12-06T00:00:00, 2020-12-06T01:06:28.005]"},
		{"wall clocks have no offset", "timestamp_ntz", `"2020-12-06T00:00:00.000+01:00"`, `"2020-12-06T01:06:28.004+00:00"`, ""},
		{"a date is no wall clock", "timestamp_ntz", `"2020-12-06"`, `"2020-12-07"`, ""},

		{"strings", "string", `"abc"`, `"abd"`, "[abc, abd]"},
		{"strings in UTF-8 order", "string", quote("\uFFFD"), quote("\U0001F33C"), "[\uFFFD, \U0001F33C]"},
		{"UTF-16 order is not used", "string", quote("\U0001F33C"), quote("\uFFFD"), ""},
		{"empty strings", "string", `""`, `""`, "[, ]"},
		{"escapes", "string", `"\"\\\/\b\f\n\r\t\u0041"`, `"\ud83c\udf3c"`, "[\"\\/\b\f\n\r\tA, \U0001F33C]"},
		{"half a surrogate pair is open", "string", `"\ud83c"`, `"b"`, "[, b]"},
		{"halves in the wrong order are open", "string", `"a"`, `"\udf3c\ud83c"`, `[a, \xff]`},
		{"a number is no string", "string", "5", `"b"`, "[, b]"},
		{"a cut minimum and a raised maximum", "string", quote(prefix32), quote(prefix32 + "\U0010FFFF"), "[" + prefix32 + ", " + prefix32 + "\U0010FFFF]"},
		{"an ASCII tie-breaker", "string", quote(prefix32), quote(prefix32 + `\u007f`), "[" + prefix32 + ", " + prefix32 + "\x7f]"},
		{"an old tie-breaker bounds the prefix only", "string", quote(prefix32), quote(prefix32 + "\uFFFD"), "[" + prefix32 + `, ` + prefix32 + `\xff]`},
		{"an old tie-breaker behind greater characters", "string", quote(prefix32), quote(prefix32 + "\uFFFF\uFFFE\uFFFD"), "[" + prefix32 + `, ` + prefix32 + `\xff]`},
		{"old tie-breakers in a row", "string", quote(prefix32), quote(prefix32 + "\uFFFD\uFFFD"), "[" + prefix32 + `, ` + prefix32 + `\xff]`},
		{"a character cut in half before it", "string", quote("a"), quote(prefix31 + "?\uFFFD"), "[a, " + prefix31 + `\xff]`},
		{"U+FFFD at the end of a short maximum is a character", "string", quote("a"), quote(prefix31 + "\uFFFD"), "[a, " + prefix31 + "\uFFFD]"},
		{"a maximum of 32 characters was not cut", "string", quote(prefix32), quote(prefix32), "[" + prefix32 + ", " + prefix32 + "]"},
	}
	for _, tt := range tests {
		t.Run(tt.typ+"/"+tt.name, func(t *testing.T) {
			want := strings.TrimPrefix(tt.want+", no NULL", ", ")
			if (tt.typ == "double" || tt.typ == "float") && tt.want != "" {
				want += ", NaN?"
			}
			f := &File{Stats: stats(tt.least, tt.greatest)}
			if got := describeFile(t, newLayout(t, "c "+tt.typ), f, Options{})[0]; got != want {
				t.Errorf("%s\nproves %q\nwant   %q", f.Stats, got, want)
			}
		})
	}
}

// Bounds as delta-rs 1.6.6 wrote them, which rounds decimals to doubles, for a column whose rows all hold the value.
func TestRoundedDecimals(t *testing.T) {
	tests := []struct{ typ, value, written string }{
		{"decimal(18,2)", "9007199254740993.01", "9007199254740994.0"},
		{"decimal(17,2)", "123456789012345.67", "123456789012345.69"},
		{"decimal(38,0)", "12345678901234567", "12345678901234568"},
		{"decimal(20,18)", "0.123456789012345678", "0.12345678901234568"},
		{"decimal(38,4)", "-9007199254740993.0001", "-9007199254740994.0"},
		{"decimal(38,4)", "99999999999999999999.9999", "1e+20"},
		{"decimal(38,30)", "12345678.000000000000000000000000000001", "12345677.999999998"}, // as a worse power of ten may
		{"decimal(15,2)", "9999999999999.99", "9999999999999.99"},
	}
	for _, tt := range tests {
		t.Run(tt.typ+"/"+tt.value, func(t *testing.T) {
			layout := newLayout(t, "c "+tt.typ)
			scale := int32(layout.Demands[0].Column.Type.Scale)
			value, err := decimal128.FromString(tt.value, 38, scale)
			if err != nil {
				t.Fatal(err)
			}
			for _, order := range []NaNOrder{NaNUnknown, NaNOrdered} {
				b := NewBuilder(layout, Options{NaN: order})
				if err := b.Append(&File{Stats: stats(tt.written, tt.written)}); err != nil {
					t.Fatal(err)
				}
				f := b.Flush().Facts(0)
				lower, upper := f.Lower.(*array.Decimal128).Value(0), f.Upper.(*array.Decimal128).Value(0)
				text := tt.written == tt.value || tt.typ == "decimal(38,0)"
				switch {
				case !IsSet(f.Bounded, 0):
					t.Error("no bounds")
				case order == NaNUnknown && (value.Less(lower) || upper.Less(value)):
					t.Errorf("%s is outside [%s, %s]", tt.value, lower.ToString(scale), upper.ToString(scale))
				case order == NaNOrdered && text && lower != upper:
					t.Errorf("[%s, %s] of a writer that does not round", lower.ToString(scale), upper.ToString(scale))
				case tt.typ == "decimal(15,2)" && lower != upper:
					t.Errorf("[%s, %s], but 15 digits come through", lower.ToString(scale), upper.ToString(scale))
				}
			}
		})
	}
}

func TestNaN(t *testing.T) {
	tests := []struct {
		name            string
		order           NaNOrder
		own             bool
		least, greatest string
		want            string
	}{
		{"a doubtful writer may leave NaN out", NaNUnknown, true, "1", "3", "[1, 3], no NULL, NaN?"},
		{"a doubtful writer's NaN is an accident", NaNUnknown, true, "1", `"NaN"`, "[1, +Inf], no NULL, NaN?"},
		{"a trusted writer's numbers exclude NaN", NaNOrdered, false, "1", "3", "[1, 3], no NULL"},
		{"a trusted writer's maximum is NaN", NaNOrdered, false, "1", `"NaN"`, "[1, +Inf], no NULL, NaN?"},
		{"a trusted writer's minimum is NaN: so is every value", NaNOrdered, false, `"NaN"`, `"NaN"`, "[NaN, NaN], no NULL, NaN?"},
		{"only a minimum that is NaN says so too", NaNOrdered, false, `"NaN"`, "", "[NaN, NaN], no NULL, NaN?"},
		{"NaN is no maximum below a minimum", NaNOrdered, false, `"NaN"`, "3", "no NULL"},
		{"a missing maximum may be NaN", NaNOrdered, false, "1", "", "[1, +Inf], no NULL, NaN?"},
		{"a missing minimum is a number if the maximum is", NaNOrdered, false, "", "3", "[-Inf, 3], no NULL"},
		{"a commit's own add", NaNOrderedIfOwn, true, "1", "3", "[1, 3], no NULL"},
		{"an add that a commit carried over", NaNOrderedIfOwn, false, "1", "3", "[1, 3], no NULL, NaN?"},
	}
	for _, tt := range tests {
		for _, typ := range []string{"float", "double"} {
			t.Run(typ+"/"+tt.name, func(t *testing.T) {
				f := &File{Stats: stats(tt.least, tt.greatest), WroteItself: tt.own}
				if got := describeFile(t, newLayout(t, "c "+typ), f, Options{NaN: tt.order})[0]; got != tt.want {
					t.Errorf("%s\nproves %s, want %s", f.Stats, got, tt.want)
				}
			})
		}
	}
}

func TestPartitionValues(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Skip(err)
	}
	text := func(s string) *string { return &s }
	tests := []struct {
		name  string
		typ   string
		value *string
		zone  *time.Location
		want  string
	}{
		{"NULL", "string", nil, nil, "all NULL"},
		{"NULL", "integer", nil, nil, "all NULL"},
		{"the empty string is NULL or itself", "string", text(""), nil, "[, ]"},
		{"empty is NULL for other types", "integer", text(""), nil, "all NULL"},
		{"empty is NULL for other types", "timestamp", text(""), nil, "all NULL"},
		{"empty is NULL for other types", "binary", text(""), nil, "all NULL"},
		{"text is not percent-encoded", "string", text("x%20y"), nil, "[x%20y, x%20y], no NULL"},
		{"the word null", "string", text("null"), nil, "[null, null], no NULL"},
		{"long text is not cut", "string", text(strings.Repeat("long", 20)), nil, "[" + strings.Repeat("long", 20) + ", " + strings.Repeat("long", 20) + "], no NULL"},
		{"a tie-breaker at the end of a long value is a character", "string", text(strings.Repeat("a", 40) + "\uFFFD"), nil, "[" + strings.Repeat("a", 40) + "\uFFFD, " + strings.Repeat("a", 40) + "\uFFFD], no NULL"},
		{"integers", "integer", text("-5"), nil, "[-5, -5], no NULL"},
		{"a sign and zeros", "integer", text("+007"), nil, "[7, 7], no NULL"},
		{"out of range is unknown", "integer", text("2147483648"), nil, "nothing"},
		{"no number is unknown", "integer", text("abc"), nil, "nothing"},
		{"spaces are unknown", "integer", text(" 5"), nil, "nothing"},
		{"beyond 2^53", "long", text("9007199254740993"), nil, "[9007199254740993, 9007199254740993], no NULL"},
		{"booleans", "boolean", text("true"), nil, "[true, true], no NULL"},
		{"booleans in capitals", "boolean", text("FALSE"), nil, "[false, false], no NULL"},
		{"other booleans are unknown", "boolean", text("1"), nil, "nothing"},
		{"decimals", "decimal(10,2)", text("12"), nil, "[12, 12], no NULL"},
		{"decimals with an exponent", "decimal(10,2)", text("1.25E+1"), nil, "[12.5, 12.5], no NULL"},
		{"minus zero", "decimal(10,2)", text("-0.00"), nil, "[0, 0], no NULL"},
		{"a decimal of another scale is unknown", "decimal(10,2)", text("12.345"), nil, "nothing"},
		{"a decimal out of range is unknown", "decimal(3,2)", text("123.45"), nil, "nothing"},
		{"doubles", "double", text("1.0E300"), nil, "[1e+300, 1e+300], no NULL"},
		{"minus zero", "double", text("-0.0"), nil, "[-0, -0], no NULL"},
		{"NaN", "double", text("NaN"), nil, "[NaN, NaN], no NULL, NaN?"},
		{"infinity", "double", text("-Infinity"), nil, "[-Inf, -Inf], no NULL"},
		{"floats", "float", text("1.6777216E7"), nil, "[1.6777216e+07, 1.6777216e+07], no NULL"},
		{"hexadecimal floats are unknown", "double", text("0x1p4"), nil, "nothing"},
		{"dates", "date", text("1969-12-31"), nil, "[1969-12-31, 1969-12-31], no NULL"},
		{"dates without zeros", "date", text("2020-1-2"), nil, "[2020-01-02, 2020-01-02], no NULL"},
		{"no date is unknown", "date", text("2020-13-01"), nil, "nothing"},
		{"timestamps in UTC", "timestamp", text("2024-02-20T17:00:00.123456Z"), newYork, "[2024-02-20T17:00:00.123456Z, 2024-02-20T17:00:00.123456Z], no NULL"},
		{"timestamps without a zone are UTC", "timestamp", text("2024-02-20 17:00:00"), nil, "[2024-02-20T17:00:00Z, 2024-02-20T17:00:00Z], no NULL"},
		{"timestamps without a zone, in a known one", "timestamp", text("2024-02-20 17:00:00"), newYork, "[2024-02-20T22:00:00Z, 2024-02-20T22:00:00Z], no NULL"},
		{"timestamps without a zone, in an unknown one", "timestamp", text("2024-02-20 17:00:00"), UnknownZone, "[2024-02-19T23:00:00Z, 2024-02-21T11:00:00Z], no NULL"},
		{"an hour that clocks showed twice", "timestamp", text("2024-11-03 01:30:00"), newYork, "[2024-11-03T05:30:00Z, 2024-11-03T06:30:00Z], no NULL"},
		{"an hour that clocks left out", "timestamp", text("2024-03-10 02:30:00"), newYork, "[2024-03-10T06:30:00Z, 2024-03-10T07:30:00Z], no NULL"},
		{"before 1970", "timestamp", text("1969-12-31 22:15:41.123457"), nil, "[1969-12-31T22:15:41.123457Z, 1969-12-31T22:15:41.123457Z], no NULL"},
		{"nine digits of zeros", "timestamp", text("2020-01-01 00:00:00.123456000"), nil, "[2020-01-01T00:00:00.123456Z, 2020-01-01T00:00:00.123456Z], no NULL"},
		{"nanoseconds are rounded by some", "timestamp", text("2020-01-01 00:00:00.123456789"), nil, "[2020-01-01T00:00:00.123456Z, 2020-01-01T00:00:00.123457Z], no NULL"},
		{"wall clocks have no zone", "timestamp_ntz", text("1960-01-01 00:00:00.000001"), newYork, "[1960-01-01T00:00:00.000001, 1960-01-01T00:00:00.000001], no NULL"},
		{"binary", "binary", text("a\x01"), nil, "[YQE=, YQE=], no NULL"},
		{"binary that was escaped in another way is unknown", "binary", text(`\u{0061}`), nil, "nothing"},
		{"binary that lost bytes is unknown", "binary", text("\uFFFD"), nil, "nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.typ+"/"+tt.name, func(t *testing.T) {
			layout := newLayout(t, "c "+tt.typ, "c")
			// Statistics of a partition column are noise.
			f := &File{PartitionValues: map[string]*string{"c": tt.value}, Stats: stats("0", "0")}
			if got := describeFile(t, layout, f, Options{Zone: tt.zone})[0]; got != tt.want {
				t.Errorf("proves %s, want %s", got, tt.want)
			}
		})
	}
	t.Run("a missing key is unknown", func(t *testing.T) {
		if got := describeFile(t, newLayout(t, "c integer", "c"), &File{}, Options{})[0]; got != "nothing" {
			t.Errorf("proves %s", got)
		}
	})
}

func TestSchema(t *testing.T) {
	field := func(name, typ string, nullable bool, metadata string) string {
		return fmt.Sprintf(`{"name":%q,"type":%s,"nullable":%t,"metadata":{%s}}`, name, typ, nullable, metadata)
	}
	widened := func(from, to string) string {
		return fmt.Sprintf(`"delta.typeChanges":[{"fromType":%q,"toType":%q}]`, from, to)
	}
	tests := []struct {
		name   string
		fields string
		stats  string
		want   string
	}{
		{"integers that became long", field("c", `"long"`, true, widened("integer", "long")), stats("1", "9"), "[1, 9], no NULL"},
		{"integers that became decimal", field("c", `"decimal(12,2)"`, true, widened("integer", "decimal(12,2)")), stats("1", "9"), "[1, 9], no NULL"},
		{"integers that became double", field("c", `"double"`, true, widened("short", "double")), stats("-500", "500"), "[-500, 500], no NULL, NaN?"},
		{"decimals that became wider", field("c", `"decimal(12,4)"`, true, widened("decimal(5,2)", "decimal(12,4)")), stats("-1.50", "1.5"), "[-1.5, 1.5], no NULL"},
		{"floats that became double: the wider reading on each side", field("c", `"double"`, true, widened("float", "double")), stats("0.1", "0.1"), "[0.1, 0.10000000149011612], no NULL, NaN?"},
		{"floats that became double: readings that agree", field("c", `"double"`, true, widened("float", "double")), stats("0.5", "0.5"), "[0.5, 0.5], no NULL, NaN?"},
		{"doubles that no float prints as", field("c", `"double"`, true, widened("float", "double")), stats("0.1", "1e300"), "[0.1, 1e+300], no NULL, NaN?"},
		{"dates that became wall clocks: midnight exactly", field("c", `"timestamp_ntz"`, true, widened("date", "timestamp_ntz")), stats(`"2020-01-01"`, `"2020-01-01"`), "[2020-01-01T00:00:00, 2020-01-01T00:00:00], no NULL"},
		{"wall clocks that were dates once", field("c", `"timestamp_ntz"`, true, widened("date", "timestamp_ntz")), stats(`"2020-01-01T00:00:00.000"`, `"2020-01-01T00:00:00.000"`), "[2020-01-01T00:00:00, 2020-01-01T00:00:00.001], no NULL"},
		{"NOT NULL holds where a count is missing", field("c", `"long"`, false, ""), statsOf("1", "9", `"numRecords":10`), "no NULL"},
		{"NOT NULL holds without statistics", field("c", `"long"`, false, ""), "", "no NULL"},
		{"a count of NULLs outweighs NOT NULL", field("c", `"long"`, false, ""), statsOf("1", "9", `"numRecords":10`, `"nullCount":{"c":1}`), "[1, 9]"},
		{"char is padded when it is read", field("c", `"string"`, true, `"__CHAR_VARCHAR_TYPE_STRING":"char(5)"`), stats(`"a"`, `"a"`), "no NULL"},
		{"varchar is a string", field("c", `"string"`, true, `"__CHAR_VARCHAR_TYPE_STRING":"varchar(5)"`), stats(`"a"`, `"a"`), "[a, a], no NULL"},
		{"a collation has another order", field("c", `"string"`, true, `"__COLLATIONS":{"c":"spark.UTF8_LCASE"}`), stats(`"a"`, `"a"`), "no NULL"},
		{"the null count of an array serves", field("c", `{"type":"array","elementType":"long","containsNull":true}`, true, ""), stats("1", "9"), "no NULL"},
		{"physical names", field("logical", `"long"`, true, `"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"c"`), stats("1", "9"), "[1, 9], no NULL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			layout := layoutOf(t, `{"type":"struct","fields":[`+tt.fields+`]}`)
			if strings.Contains(tt.fields, "physicalName") {
				layout.Demands[0].Column.Physical = []string{"c"} // as with column mapping on
			}
			if got := describeFile(t, layout, &File{Stats: tt.stats}, Options{})[0]; got != tt.want {
				t.Errorf("%s\nproves %s, want %s", tt.stats, got, tt.want)
			}
		})
	}
	t.Run("a partition value of char is padded", func(t *testing.T) {
		value := "a"
		layout := layoutOf(t, `{"type":"struct","fields":[`+field("c", `"string"`, true, `"__CHAR_VARCHAR_TYPE_STRING":"char(3)"`)+`]}`, "c")
		if got := describeFile(t, layout, &File{PartitionValues: map[string]*string{"c": &value}}, Options{})[0]; got != "[a  , a  ], no NULL" {
			t.Errorf("proves %s", got)
		}
	})
}

// Names are lists, not dotted strings, and whatever they hold they are not confused with the keys of the statistics.
func TestColumnNames(t *testing.T) {
	names := []string{"z.z", "stats", "minValues", "nullCount", "numRecords", "we ird,;{}()=\"\\\n", "\u00e9\U0001F600", "", "a\x7f", `\u0061`, strings.Repeat("n", 1000)}
	var fields, values []string
	for i, name := range names {
		fields = append(fields, fmt.Sprintf(`{"name":%s,"type":"long","nullable":true,"metadata":{}}`, quoted(name)))
		values = append(values, fmt.Sprintf("%s:%d", quoted(name), i))
	}
	fields = append(fields, `{"name":"z","type":{"type":"struct","fields":[{"name":"z","type":"long","nullable":true,"metadata":{}}]},"nullable":true,"metadata":{}}`)
	values = append(values, `"z":{"z":100}`)
	object := "{" + strings.Join(values, ",") + "}"
	text := fmt.Sprintf(`{"numRecords":1000,"minValues":%s,"maxValues":%s,"nullCount":%s}`, object, object, object)
	layout := layoutOf(t, `{"type":"struct","fields":[`+strings.Join(fields, ",")+`]}`)
	line := `{"add":{"path":"p","stats":` + quoted(text) + `}}`
	b := NewBuilder(layout, Options{Allocator: checkedAllocator(t)})
	var l Line
	for range 3 { // the second time keys are guessed
		if err := b.Append(&File{Stats: text}); err != nil {
			t.Fatal(err)
		}
		if err := b.AppendLine([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
	}
	batch := b.Flush()
	defer batch.Release()
	for row := range batch.Len() {
		for i := range layout.Demands {
			want := fmt.Sprintf("[%d, %d]", i, i)
			switch i {
			case 0:
				want += ", no NULL"
			case len(names):
				want = "[100, 100]"
			}
			if got := describe(batch.Facts(i), row); got != want {
				t.Errorf("row %d, column %q: %s, want %s", row, layout.Demands[i].Column.Path, got, want)
			}
		}
	}
}
