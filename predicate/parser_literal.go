package predicate

import (
	"encoding/hex"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/schema"
)

// stringLiteral parses one or more adjacent strings, which are one.
func (p *parser) stringLiteral() Expr {
	var parts []string
	for p.tok.kind == tokenString {
		parts = append(parts, p.tok.text)
		p.advance()
	}
	return &Literal{Value: StringOf(strings.Join(parts, ""))}
}

// number parses a numeric literal with the type that Spark gives it: the narrowest of int, bigint and decimal for digits, a
// decimal of just its digits with a point, a double with an exponent, or what the suffix says.
func (p *parser) number(sign string) (Expr, error) {
	tok := p.tok
	if tok.kind != tokenNumber {
		return nil, p.unexpected("a number")
	}
	p.advance()
	text := strings.ToUpper(tok.text)
	suffix := strings.TrimLeft(text, "0123456789.E+-")
	digits := sign + strings.TrimSuffix(text, suffix)
	outOfRange := func(name string) error {
		return p.fail("INVALID_NUMERIC_LITERAL_RANGE", tok.start, "%s is out of the range of %s", sign+tok.text, name)
	}
	integer := func(kind schema.Kind, bits int) (Expr, error) {
		n, err := strconv.ParseInt(digits, 10, bits)
		if err != nil {
			return nil, outOfRange(kind.String())
		}
		return &Literal{Value: IntOf(kind, n)}, nil
	}
	float := func(kind schema.Kind, bits int) (Expr, error) {
		f, err := strconv.ParseFloat(digits, bits)
		if exact, _ := strconv.ParseFloat(digits, 64); err != nil || bits == 32 && math.Abs(exact) > math.MaxFloat32 {
			return nil, outOfRange(kind.String())
		}
		return &Literal{Value: FloatOf(kind, f)}, nil
	}
	switch suffix {
	case "Y":
		return integer(schema.Byte, 8)
	case "S":
		return integer(schema.Short, 16)
	case "L":
		return integer(schema.Long, 64)
	case "F":
		return float(schema.Float, 32)
	case "D":
		return float(schema.Double, 64)
	case "":
		switch {
		case strings.Contains(digits, "E"):
			return float(schema.Double, 64)
		case !strings.Contains(digits, "."):
			if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
				kind := schema.Long
				if n == int64(int32(n)) {
					kind = schema.Integer
				}
				return &Literal{Value: IntOf(kind, n)}, nil
			}
		}
	}
	v, ok := decimalLiteral(digits)
	if !ok {
		return nil, p.fail("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", tok.start, "%s has more than 38 digits", sign+tok.text)
	}
	return &Literal{Value: v}, nil
}

// decimalLiteral reads digits with an optional point and exponent as the decimal of just these digits.
func decimalLiteral(text string) (Value, bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToUpper(text), "E")
	scale := 0
	if exponent != "" {
		n, err := strconv.Atoi(exponent)
		if err != nil || n < -100 || n > 100 {
			return Value{}, false
		}
		scale = -n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	scale += len(fraction)
	unscaled, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok || unscaled.BitLen() > 256 {
		return Value{}, false
	}
	if scale < 0 {
		unscaled.Mul(unscaled, pow10(-scale))
		scale = 0
	}
	precision := max(decimalDigits(unscaled), scale, 1)
	if precision > maxPrecision {
		return Value{}, false
	}
	return DecimalOf(decimal128.FromBigInt(unscaled), uint8(precision), uint8(scale)), true
}

// typedLiteral parses DATE '…' and its like.
func (p *parser) typedLiteral(name string) (Expr, error) {
	at := p.tok.start
	p.advance()
	text := p.tok.text
	p.advance()
	invalid := p.fail("INVALID_TYPED_LITERAL", at, "%q is not a %s", text, strings.ToLower(name))
	literal := &Literal{Value: StringOf(text)}
	switch name {
	case "DATE":
		if isSpecialDatetime(text) {
			return &Cast{X: literal, To: schema.Type{Kind: schema.Date}}, nil
		}
		if days, ok := parseDate(text); ok {
			return &Literal{Value: IntOf(schema.Date, days)}, nil
		}
	case "TIMESTAMP", "TIMESTAMP_LTZ":
		// Without a zone it means an instant of the session's zone, which binding knows.
		if _, ok := parseTimestamp(text, nil); ok || isSpecialDatetime(text) || isTimeAlone(text) {
			return &Cast{X: literal, To: schema.Type{Kind: schema.Timestamp}}, nil
		}
	case "TIMESTAMP_NTZ":
		if isSpecialDatetime(text) {
			return &Cast{X: literal, To: schema.Type{Kind: schema.TimestampNTZ}}, nil
		}
		if micros, zoned, ok := parseTimestampNTZ(text); ok && !zoned {
			return &Literal{Value: IntOf(schema.TimestampNTZ, micros)}, nil
		}
	case "X":
		if len(text)%2 == 1 {
			text = "0" + text
		}
		if data, err := hex.DecodeString(text); err == nil {
			return &Literal{Value: BinaryOf(string(data))}, nil
		}
	case "TIME":
		return &Opaque{SQL: p.source(at), Reason: "the type time is not known to this version"}, nil
	default:
		return nil, p.fail("UNSUPPORTED_TYPED_LITERAL", at, "there are no literals of type %s", strings.ToLower(name))
	}
	return nil, invalid
}

// interval parses INTERVAL '1' DAY, INTERVAL 1 DAY 2 HOURS, INTERVAL '1-2' YEAR TO MONTH or INTERVAL '1 day 2 hours'.
func (p *parser) interval() (Expr, error) {
	start := p.tok.start
	p.advance()
	var parts []intervalPart
	for {
		part := intervalPart{}
		if p.tok.is("-") || p.tok.is("+") {
			part.sign = p.tok.text
			p.advance()
		}
		if p.tok.kind != tokenString && p.tok.kind != tokenNumber {
			return nil, p.unexpected("an interval's value")
		}
		part.value, part.quoted = p.tok.text, p.tok.kind == tokenString
		p.advance()
		if p.tok.kind == tokenWord && isIntervalUnit(p.tok.text) {
			part.unit = p.tok.text
			p.advance()
			if p.tok.is("TO") {
				p.advance()
				part.to = p.tok.text
				if !isIntervalUnit(part.to) {
					return nil, p.unexpected("an interval's unit")
				}
				p.advance()
			}
		}
		parts = append(parts, part)
		if part.unit == "" || part.to != "" || !p.startsIntervalPart() {
			break
		}
	}
	v, err := intervalValue(parts)
	var invalid *intervalError
	if errors.As(err, &invalid) {
		return nil, p.fail(invalid.class, start, "%s", invalid.message)
	}
	return &Literal{Value: v}, err
}

// startsIntervalPart says whether a value with a unit follows, as against the rest of the expression.
func (p *parser) startsIntervalPart() bool {
	ahead := *p
	if ahead.tok.is("-") || ahead.tok.is("+") {
		ahead.advance()
	}
	next := ahead.peek()
	return (ahead.tok.kind == tokenString || ahead.tok.kind == tokenNumber) && next.kind == tokenWord && isIntervalUnit(next.text)
}
