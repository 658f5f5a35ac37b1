package predicate

import (
	"errors"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/schema"
)

// sameValue compares values as results: NULL to NULL, NaN to NaN.
func sameValue(a, b Value) bool {
	if a.Null || b.Null {
		return a.Null == b.Null
	}
	return a.Compare(b) == 0
}

// Bind may turn NULL into FALSE and find an answer where the plain tree raises an error, but never another answer.
func TestBindKeepsForWhichRowsItIsTrue(t *testing.T) {
	table := testTable(t)
	rapid.Check(t, func(t *rapid.T) {
		e := genPredicate(t, table, 3)
		env := Env{Zone: rapid.SampledFrom(testZones).Draw(t, "zone")}
		b := &binder{table: table, env: &env}
		plain, err := b.bind(e)
		var rejected *BindError
		if errors.As(err, &rejected) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		sharp, err := b.sharpen(plain)
		if errors.As(err, &rejected) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			row := genRow(t, table)
			want, err := Eval(plain, &env, row)
			if err != nil {
				continue
			}
			got, err := Eval(sharp, &env, row)
			if err != nil {
				continue // in another order, an error may come first
			}
			if isTrue(got) != isTrue(want) {
				t.Fatalf("%s\nbinds to %s: %s\nsharpens to %s: %s\nrow %v", e, plain, want.SQL(), sharp, got.SQL(), row)
			}
		}
	})
}

func isTrue(v Value) bool { return !v.Null && v.I != 0 }

var testZones = func() []*time.Location {
	zones := []*time.Location{nil}
	for _, name := range []string{"Europe/Paris", "America/Los_Angeles", "Pacific/Apia", "Asia/Kathmandu", "Africa/Casablanca"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			panic(err)
		}
		zones = append(zones, zone)
	}
	return zones
}()

// A comparison of a cast says the same after its cast is taken off.
func TestUnwrapKeepsEveryAnswer(t *testing.T) {
	table := testTable(t)
	wider := map[schema.Kind][]schema.Type{
		schema.Byte:    {{Kind: schema.Short}, {Kind: schema.Long}, {Kind: schema.Double}, decimalType(5, 2), decimalType(4, 2)},
		schema.Integer: {{Kind: schema.Long}, {Kind: schema.Double}, decimalType(12, 2), decimalType(20, 0)},
		schema.Long:    {{Kind: schema.Double}, decimalType(22, 2)},
		schema.Float:   {{Kind: schema.Double}},
		schema.Decimal: {decimalType(7, 2), decimalType(10, 4), decimalType(20, 3)},
		schema.Date:    {{Kind: schema.Timestamp}, {Kind: schema.TimestampNTZ}},
	}
	rapid.Check(t, func(t *rapid.T) {
		env := Env{Zone: rapid.SampledFrom(testZones).Draw(t, "zone")}
		c, err := table.Lookup(rapid.SampledFrom([]string{"b", "i", "l", "f", "dec", "dt"}).Draw(t, "column"))
		if err != nil {
			t.Fatal(err)
		}
		to := rapid.SampledFrom(wider[c.Type.Kind]).Draw(t, "type")
		x := &Cast{X: &Column{Name: c.Path, Col: c}, To: to}
		b := &binder{table: table, env: &env}
		var plain, simple Expr
		if rapid.Bool().Draw(t, "in") {
			list := make([]Expr, rapid.IntRange(1, 3).Draw(t, "members"))
			for i := range list {
				list[i] = &Literal{Value: genValue(t, to)}
			}
			plain, simple = &In{X: x, List: list}, b.simplifyIn(x, list)
		} else {
			op := rapid.SampledFrom([]CompareOp{EQ, NE, LT, LE, GT, GE, NullSafe}).Draw(t, "operator")
			literal := &Literal{Value: genValue(t, to)}
			plain, simple = &Compare{Op: op, L: x, R: literal}, b.simplifyCompare(op, x, literal)
		}
		for range 6 {
			row := mapRow{c: genValue(t, c.Type)}
			want, err := Eval(plain, &env, row)
			if err != nil {
				continue // the cast overflows
			}
			got, err := Eval(simple, &env, row)
			if err != nil || !sameValue(got, want) {
				t.Fatalf("%s is %s, %s is %s, %v for %s", plain, want.SQL(), simple, got.SQL(), err, row[c].SQL())
			}
		}
	})
}

// Laws of three-valued logic, of which each side is evaluated without simplification.
func TestThreeValuedLaws(t *testing.T) {
	table := testTable(t)
	laws := map[string]func(a, b Expr) (Expr, Expr){
		"double negation": func(a, _ Expr) (Expr, Expr) { return &Not{X: &Not{X: a}}, a },
		"De Morgan": func(a, b Expr) (Expr, Expr) {
			return &Not{X: AllOf(a, b)}, AnyOf(&Not{X: a}, &Not{X: b})
		},
		"AND commutes":          func(a, b Expr) (Expr, Expr) { return AllOf(a, b), AllOf(b, a) },
		"OR commutes":           func(a, b Expr) (Expr, Expr) { return AnyOf(a, b), AnyOf(b, a) },
		"IS TRUE is never NULL": func(a, _ Expr) (Expr, Expr) { return &IsNull{X: EqNullSafe(a, Lit(true))}, Lit(false) },
		"NULL-safe equals":      func(a, b Expr) (Expr, Expr) { return EqNullSafe(a, b), EqNullSafe(b, a) },
		"pushed NOT":            func(a, _ Expr) (Expr, Expr) { return &Not{X: a}, negated(a) },
		"IS NULL of a negation": func(a, _ Expr) (Expr, Expr) { return &IsNull{X: &Not{X: a}}, &IsNull{X: a} },
		"CASE without arms' end": func(a, _ Expr) (Expr, Expr) {
			return &Case{Whens: []When{{If: Lit(true), Then: a}}, Typ: booleanType}, a
		},
	}
	for name, law := range laws {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				env := Env{}
				var sides [2]Expr
				for i := range sides {
					b := &binder{table: table, env: &env}
					bound, err := b.bind(genPredicate(t, table, 2))
					if err != nil {
						t.Skip(err)
					}
					sides[i] = bound
				}
				left, right := law(sides[0], sides[1])
				row := genRow(t, table)
				a, errA := Eval(left, &env, row)
				b, errB := Eval(right, &env, row)
				if errA != nil || errB != nil {
					t.Skip("an ANSI error")
				}
				if !sameValue(a, b) {
					t.Fatalf("%s is %s, %s is %s", left, a.SQL(), right, b.SQL())
				}
			})
		})
	}
}

// atomicTypes are the types of values that compare.
var atomicTypes = []schema.Type{
	booleanType, {Kind: schema.Byte}, {Kind: schema.Short}, {Kind: schema.Integer}, longType, {Kind: schema.Float}, doubleType,
	decimalType(5, 2), decimalType(38, 10), stringType, {Kind: schema.Binary}, {Kind: schema.Date}, {Kind: schema.Timestamp}, {Kind: schema.TimestampNTZ},
}

func TestOrderIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(atomicTypes).Draw(t, "type")
		draw := func() Value {
			for {
				if v := genValue(t, typ); !v.Null {
					return v
				}
			}
		}
		a, b, c := draw(), draw(), draw()
		switch {
		case a.Compare(a) != 0:
			t.Fatalf("%s differs from itself", a.SQL())
		case a.Compare(b) != -b.Compare(a):
			t.Fatalf("%s and %s", a.SQL(), b.SQL())
		case a.Compare(b) <= 0 && b.Compare(c) <= 0 && a.Compare(c) > 0:
			t.Fatalf("%s, %s, %s", a.SQL(), b.SQL(), c.SQL())
		}
	})
}

// The text of a value reads back as the value.
func TestTextReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(atomicTypes).Draw(t, "type")
		env := &Env{Zone: rapid.SampledFrom(testZones).Draw(t, "zone")}
		v := genValue(t, typ)
		text, err := CastValue(v, stringType, env)
		var doubt *UnsupportedError
		if errors.As(err, &doubt) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		back, err := CastValue(text, typ, env)
		if err != nil || !sameValue(back, v) {
			if typ.Kind == schema.Timestamp && err == nil && localMicros(back.I, env.zone()) == localMicros(v.I, env.zone()) {
				t.Skip("a wall clock reading that occurs twice")
			}
			t.Fatalf("%s is %q, which is %s, %v", v.SQL(), text.S, back.SQL(), err)
		}
		// And so does its literal, whatever the zone.
		e, err := Parse(v.SQL(), ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		other := Env{Zone: rapid.SampledFrom(testZones).Draw(t, "other zone")}
		bound, err := (&binder{table: &schema.Table{}, env: &other}).bind(e)
		if err != nil {
			t.Fatal(err)
		}
		literal, ok := bound.(*Literal)
		if !ok || !sameValue(literal.Value, v) || literal.Value.Type != v.Type {
			t.Fatalf("%s binds to %s", v.SQL(), bound)
		}
	})
}

// Every instant's wall clock reading leads back to it, or to the earlier instant that has the same reading.
func TestWallClockReadings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(testZones).Draw(t, "zone")
		micros := rapid.Int64Range(-3e15, 5e15).Draw(t, "micros")
		local := localMicros(micros, zone)
		back := instantMicros(local, zone)
		if back > micros || localMicros(back, zone) != local {
			t.Fatalf("%d reads %d in %v, which leads to %d", micros, local, zone, back)
		}
		// A skipped reading leads past the gap, never before it: readings keep their order up to repetitions.
		if next := instantMicros(local+microsPerDay, zone); next <= back {
			t.Fatalf("a day after %d is %d in %v, %d before", local, next, zone, back)
		}
	})
}

func TestMulAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		any := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-5, 5), rapid.SampledFrom([]int64{1 << 62, -1 << 63, 1<<63 - 1}))
		a, b, c := any.Draw(t, "a"), any.Draw(t, "b"), any.Draw(t, "c")
		want := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		want.Add(want, big.NewInt(c))
		got, ok := mulAdd(a, b, c)
		if ok && (!want.IsInt64() || got != want.Int64()) {
			t.Fatalf("%d*%d+%d is %s, not %d", a, b, c, want, got)
		}
		if !ok && want.IsInt64() && a != -1<<63 && b != -1<<63 && new(big.Int).Sub(want, big.NewInt(c)).IsInt64() {
			t.Fatalf("%d*%d+%d is %s and fits", a, b, c, want)
		}
	})
}

func TestLikeAgainstRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune(`ab%_é\`)), 0, 6, -1).Draw(t, "pattern")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abé%_\n")), 0, 8, -1).Draw(t, "text")
		tokens, err := parseLike(pattern, '\\')
		if err != nil {
			t.Skip(err)
		}
		var re strings.Builder
		re.WriteString(`(?s)\A`)
		for _, token := range tokens {
			switch token.kind {
			case '%':
				re.WriteString(".*")
			case '_':
				re.WriteString(".")
			default:
				re.WriteString(regexp.QuoteMeta(string(token.char)))
			}
		}
		re.WriteString(`\z`)
		if got, want := matchLike(text, tokens), regexp.MustCompile(re.String()).MatchString(text); got != want {
			t.Fatalf("%q LIKE %q: %t, want %t", text, pattern, got, want)
		}
	})
}
