package predicate

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/schema"
)

// genValue draws a value of an atomic type, from few enough that two are often equal or neighbours, and NULL now and then.
func genValue(t *rapid.T, typ schema.Type) Value {
	if rapid.IntRange(0, 7).Draw(t, "null") == 0 {
		return NullOf(typ)
	}
	small := rapid.Int64Range(-3, 3)
	switch typ.Kind {
	case schema.Boolean:
		return BoolOf(rapid.Bool().Draw(t, "bool"))
	case schema.Byte, schema.Short, schema.Integer, schema.Long:
		n := small.Draw(t, "int")
		if rapid.IntRange(0, 3).Draw(t, "extreme") == 0 {
			bits := integralBits(typ.Kind)
			n = rapid.SampledFrom([]int64{1<<(bits-1) - 1, -1 << (bits - 1), 1<<(bits-1) - 2, 1 << (bits / 2)}).Draw(t, "extreme int")
		}
		return Value{Type: typ, I: n}
	case schema.Float, schema.Double:
		f := rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1.5, 2.5, 0.1, math.NaN(), math.Inf(1), math.Inf(-1),
			math.MaxFloat32, -math.MaxFloat32, 1 << 24, 1<<24 + 1, 1e300, 1 << 53}).Draw(t, "float")
		if typ.Kind == schema.Float {
			f = float64(float32(f))
		}
		return Value{Type: typ, F: f}
	case schema.Decimal:
		n := big.NewInt(rapid.Int64Range(-30, 30).Draw(t, "unscaled"))
		if rapid.IntRange(0, 3).Draw(t, "extreme") == 0 {
			n = new(big.Int).Sub(pow10(int(typ.Precision)), big.NewInt(rapid.Int64Range(1, 2).Draw(t, "below")))
			if rapid.Bool().Draw(t, "negative") {
				n.Neg(n)
			}
		}
		if n.CmpAbs(pow10(int(typ.Precision))) >= 0 {
			n.SetInt64(0)
		}
		return Value{Type: typ, D: decimal128.FromBigInt(n)}
	case schema.String, schema.Binary:
		return Value{Type: typ, S: rapid.SampledFrom([]string{"", "a", "b", "ab", "abc", "A", "a ", "1", "-1", "1.5", "é", "\x00", "2020-01-01"}).Draw(t, "string")}
	case schema.Date:
		return Value{Type: typ, I: rapid.SampledFrom([]int64{0, 1, -1, 18262, 18263, 18714}).Draw(t, "days")}
	case schema.Timestamp, schema.TimestampNTZ:
		day := rapid.SampledFrom([]int64{0, 1, -1, 18262, 18263, 18714}).Draw(t, "days")
		return Value{Type: typ, I: day*microsPerDay + rapid.SampledFrom([]int64{0, 1, -1, 12 * 3600 * microsPerSecond}).Draw(t, "micros")}
	}
	return NullOf(typ)
}

// mapRow is a row of a test.
type mapRow map[*schema.Column]Value

func (r mapRow) Value(c *schema.Column) Value { return r[c] }

// genColumns are the columns of testTable that genPredicate uses.
var genColumns = []string{"b", "i", "l", "f", "d", "dec", "dec2", "s", "bo", "dt", "ts", "ntz", "p"}

func genRow(t *rapid.T, table *schema.Table) mapRow {
	row := mapRow{}
	for _, name := range genColumns {
		c, err := table.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		row[c] = genValue(t, c.Type)
	}
	return row
}

// genOperand draws an unbound expression that compares with column c: c itself, a constant, another column, arithmetic.
func genOperand(t *rapid.T, table *schema.Table, c *schema.Column) Expr {
	switch rapid.IntRange(0, 9).Draw(t, "operand") {
	case 0, 1:
		return &Column{Name: c.Path}
	case 2:
		if numeric(c.Type.Kind) {
			other := rapid.SampledFrom([]string{"b", "i", "l", "f", "d", "dec", "dec2"}).Draw(t, "other column")
			return &Column{Name: []string{other}}
		}
	case 3:
		if numeric(c.Type.Kind) {
			op := rapid.SampledFrom([]ArithOp{Add, Sub, Mul}).Draw(t, "operator")
			return &Arith{Op: op, L: &Column{Name: c.Path}, R: Lit(rapid.IntRange(-2, 2).Draw(t, "addend"))}
		}
	case 4:
		if numeric(c.Type.Kind) {
			kind := rapid.SampledFrom([]schema.Kind{schema.Byte, schema.Integer, schema.Long, schema.Float, schema.Double}).Draw(t, "kind")
			return &Literal{Value: genValue(t, schema.Type{Kind: kind})}
		}
	case 5:
		if numeric(c.Type.Kind) {
			return &Literal{Value: genValue(t, rapid.SampledFrom([]schema.Type{decimalType(3, 1), decimalType(12, 3), decimalType(20, 0)}).Draw(t, "decimal"))}
		}
		if datetime(c.Type.Kind) {
			kind := rapid.SampledFrom([]schema.Kind{schema.Date, schema.Timestamp, schema.TimestampNTZ}).Draw(t, "kind")
			return &Literal{Value: genValue(t, schema.Type{Kind: kind})}
		}
	}
	return &Literal{Value: genValue(t, c.Type)}
}

// genPredicate draws an unbound boolean expression over testTable's columns.
func genPredicate(t *rapid.T, table *schema.Table, depth int) Expr {
	shapes := 12
	if depth == 0 {
		shapes = 7
	}
	c, err := table.Lookup(rapid.SampledFrom(genColumns).Draw(t, "column"))
	if err != nil {
		t.Fatal(err)
	}
	several := func() []Expr {
		args := make([]Expr, rapid.IntRange(2, 4).Draw(t, "arguments"))
		for i := range args {
			args[i] = genPredicate(t, table, depth-1)
		}
		return args
	}
	switch rapid.IntRange(0, shapes-1).Draw(t, "shape") {
	case 0:
		return &IsNull{X: genOperand(t, table, c)}
	case 1:
		list := make([]Expr, rapid.IntRange(1, 4).Draw(t, "members"))
		for i := range list {
			list[i] = &Literal{Value: genValue(t, c.Type)}
		}
		return &In{X: &Column{Name: c.Path}, List: list}
	case 2:
		if c.Type.Kind == schema.Boolean {
			return &Column{Name: c.Path}
		}
		return &Literal{Value: genValue(t, booleanType)}
	case 7:
		return &And{Args: several()}
	case 8:
		return &And{Args: several()}
	case 9:
		return &Or{Args: several()}
	case 10:
		return &Not{X: genPredicate(t, table, depth-1)}
	case 11:
		return &Case{
			Whens: []When{{If: genPredicate(t, table, depth-1), Then: genPredicate(t, table, depth-1)}},
			Else:  genPredicate(t, table, depth-1),
		}
	}
	op := rapid.SampledFrom([]CompareOp{EQ, NE, LT, LE, GT, GE, NullSafe}).Draw(t, "operator")
	return &Compare{Op: op, L: genOperand(t, table, c), R: genOperand(t, table, c)}
}
