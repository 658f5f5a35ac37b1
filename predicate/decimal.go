package predicate

import (
	"math/big"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/deltaskip/deltaskip/schema"
)

// maxPrecision is how many digits a decimal may have.
const maxPrecision = 38

// minAdjustedScale is how many digits after the point Spark keeps, if there are that many, when a result's precision
// exceeds the maximum (DecimalType.adjustPrecisionScale).
const minAdjustedScale = 6

var powersOf10 = func() [80]*big.Int {
	var powers [80]*big.Int
	powers[0] = big.NewInt(1)
	for i := 1; i < len(powers); i++ {
		powers[i] = new(big.Int).Mul(powers[i-1], big.NewInt(10))
	}
	return powers
}()

// pow10 is 10 to the n, n from 0. It is not to be changed.
func pow10(n int) *big.Int {
	if n < len(powersOf10) {
		return powersOf10[n]
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// decimalDigits counts the decimal digits of a number; zero has none.
func decimalDigits(n *big.Int) int {
	if n.Sign() == 0 {
		return 0
	}
	return len(new(big.Int).Abs(n).String())
}

func decimalType(precision, scale int) schema.Type {
	return schema.Type{Kind: schema.Decimal, Precision: uint8(precision), Scale: uint8(scale)}
}

// decimalOfKind is the decimal that holds every value of an integral kind.
func decimalOfKind(k schema.Kind) schema.Type {
	switch k {
	case schema.Byte:
		return decimalType(3, 0)
	case schema.Short:
		return decimalType(5, 0)
	case schema.Integer:
		return decimalType(10, 0)
	}
	return decimalType(20, 0)
}

// widerDecimal is the type to which decimals are cast to compare or unite them. Where it would exceed the maximum, whole digits are
// kept and fraction digits are dropped.
func widerDecimal(a, b schema.Type) schema.Type {
	scale := int(max(a.Scale, b.Scale))
	whole := int(max(a.Precision-a.Scale, b.Precision-b.Scale))
	if whole+scale > maxPrecision {
		return decimalType(maxPrecision, max(0, maxPrecision-whole))
	}
	return decimalType(whole+scale, scale)
}

// adjusted is a result type brought below the maximum precision, at the price of fraction digits.
func adjusted(precision, scale int) schema.Type {
	if precision <= maxPrecision {
		return decimalType(precision, scale)
	}
	whole := precision - scale
	return decimalType(maxPrecision, max(maxPrecision-whole, min(scale, minAdjustedScale)))
}

// decimalResult is the type of an arithmetic operation on two decimals.
func decimalResult(op ArithOp, a, b schema.Type) schema.Type {
	p1, s1, p2, s2 := int(a.Precision), int(a.Scale), int(b.Precision), int(b.Scale)
	switch op {
	case Add, Sub:
		scale := max(s1, s2)
		return adjusted(max(p1-s1, p2-s2)+scale+1, scale)
	case Mul:
		return adjusted(p1+p2+1, s1+s2)
	case Div:
		scale := max(minAdjustedScale, s1+p2+1)
		return adjusted(p1-s1+s2+scale, scale)
	case Mod:
		scale := max(s1, s2)
		return adjusted(min(p1-s1, p2-s2)+scale, scale)
	}
	return longType
}

// decimalOperands are the types to which the operands of decimal arithmetic are cast: each keeps its own precision, of which
// the result's is made.
func decimalOperands(l, r, common schema.Type) []schema.Type {
	types := []schema.Type{l, r}
	for i, t := range types {
		switch {
		case integral(t.Kind):
			types[i] = decimalOfKind(t.Kind)
		case t.Kind == schema.Void:
			types[i] = common
		}
	}
	return types
}

// rescale brings n from one scale to another, rounding half away from zero.
func rescale(n *big.Int, from, to int) *big.Int {
	if to >= from {
		return new(big.Int).Mul(n, pow10(to-from))
	}
	return divideHalfUp(n, pow10(from-to))
}

// divideHalfUp divides and rounds half away from zero.
func divideHalfUp(n, d *big.Int) *big.Int {
	quotient, rest := new(big.Int).QuoRem(n, d, new(big.Int))
	if rest.Abs(rest).Lsh(rest, 1).CmpAbs(d) >= 0 {
		if n.Sign()*d.Sign() < 0 {
			return quotient.Sub(quotient, big.NewInt(1))
		}
		return quotient.Add(quotient, big.NewInt(1))
	}
	return quotient
}

// fitDecimal makes a value of type t of an unscaled number at the given scale. It fails where t has too few digits.
func fitDecimal(n *big.Int, scale int, t schema.Type) (Value, bool) {
	n = rescale(n, scale, int(t.Scale))
	if n.CmpAbs(pow10(int(t.Precision))) >= 0 {
		return Value{}, false
	}
	return Value{Type: t, D: decimal128.FromBigInt(n)}, true
}

// compareDecimals compares unscaled numbers of two scales exactly.
func compareDecimals(a decimal128.Num, aScale uint8, b decimal128.Num, bScale uint8) int {
	if aScale == bScale {
		return a.Cmp(b)
	}
	scale := int(max(aScale, bScale))
	return rescale(a.BigInt(), int(aScale), scale).Cmp(rescale(b.BigInt(), int(bScale), scale))
}

// decimalToFloat rounds to the nearest float of the given size.
func decimalToFloat(d decimal128.Num, scale uint8, bits int) float64 {
	r := new(big.Rat).SetFrac(d.BigInt(), pow10(int(scale)))
	if bits == 32 {
		f, _ := r.Float32()
		return float64(f)
	}
	f, _ := r.Float64()
	return f
}

// formatDecimal writes a decimal with all digits of its scale and without an exponent.
func formatDecimal(d decimal128.Num, scale uint8) string {
	digits := d.BigInt().String()
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	if scale == 0 {
		return sign + digits
	}
	if pad := int(scale) + 1 - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	point := len(digits) - int(scale)
	return sign + digits[:point] + "." + digits[point:]
}
