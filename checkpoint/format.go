package checkpoint

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// How statistics spell values of types that JSON does not have (protocol, "Per-file Statistics", and what Spark writes).

func appendDate(dst []byte, days int64) []byte {
	return append(appendDay(append(dst, '"'), time.Unix(days*24*60*60, 0).UTC()), '"')
}

// appendTimestamp writes milliseconds, or microseconds where there are any.
func appendTimestamp(dst []byte, micros int64, utc bool) []byte {
	t := time.UnixMicro(micros).UTC()
	dst = append(appendDay(append(dst, '"'), t), 'T')
	layout := "15:04:05.000"
	if micros%1000 != 0 {
		layout = "15:04:05.000000"
	}
	dst = t.AppendFormat(dst, layout)
	if utc {
		dst = append(dst, 'Z')
	}
	return append(dst, '"')
}

// appendDay writes years outside 0000 to 9999 with a sign, as Java does.
func appendDay(dst []byte, t time.Time) []byte {
	switch y := t.Year(); {
	case y > 9999:
		dst = append(dst, '+')
		dst = strconv.AppendInt(dst, int64(y), 10)
	case y < 0:
		dst = fmt.Appendf(dst, "-%04d", -y)
	default:
		dst = fmt.Appendf(dst, "%04d", y)
	}
	return t.AppendFormat(dst, "-01-02")
}

func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

// appendDecimal writes all digits: 12345 with scale 2 is 123.45.
func appendDecimal(dst []byte, unscaled *big.Int, scale int) []byte {
	digits := new(big.Int).Abs(unscaled).String()
	if unscaled.Sign() < 0 {
		dst = append(dst, '-')
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - scale
	dst = append(dst, digits[:point]...)
	if scale > 0 {
		dst = append(append(dst, '.'), digits[point:]...)
	}
	return dst
}
