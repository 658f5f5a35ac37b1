package predicate

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/schema"
)

// printed parses and prints, or gives the error's class.
func printed(sql string) string {
	e, err := Parse(sql, ParseOptions{})
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		return "!" + syntax.Class
	}
	if err != nil {
		return "!!" + err.Error()
	}
	return e.String()
}

func TestParse(t *testing.T) {
	for sql, want := range map[string]string{
		// precedence
		"a OR b AND NOT c":        "a OR (b AND (NOT c))",
		"NOT a = b":               "NOT (a = b)",
		"!a AND ! b":              "(NOT a) AND (NOT b)",
		"a = b = c":               "(a = b) = c",
		"a + b * c - d":           "(a + (b * c)) - d",
		"a - b - c":               "(a - b) - c",
		"a | b ^ c & d << 1":      "a | (b ^ (c & (d << 1)))",
		"a || b || c":             "concat(concat(a, b), c)",
		"a < b IS NOT NULL":       "NOT ((a < b) IS NULL)",
		"a BETWEEN b AND c AND d": "(a BETWEEN b AND c) AND d",
		"-a * -1":                 "negative(a) * -1",
		"- 5 - -5":                "-5 - -5",
		"- -5":                    "negative(-5)",
		"~a::int":                 "~CAST(a AS int)",
		// operators and their synonyms
		"a == b":      "a = b",
		"a != b":      "a <> b",
		"a !> b":      "a <= b",
		"a !< b":      "a >= b",
		"a <=> NULL":  "a <=> NULL",
		"a div 2 % 3": "(a DIV 2) % 3",
		// predicates
		"a not in (1, 2)":                     "NOT (a IN (1, 2))",
		"a NOT BETWEEN 1 AND 2":               "NOT (a BETWEEN 1 AND 2)",
		"a IS NOT TRUE":                       "NOT (a <=> TRUE)",
		"a IS UNKNOWN":                        "a IS NULL",
		"a IS DISTINCT FROM 1":                "NOT (a <=> 1)",
		"a IS NOT DISTINCT FROM 1":            "a <=> 1",
		"a NOT LIKE 'x%' ESCAPE '!'":          "NOT (a LIKE 'x%' ESCAPE '!')",
		"a ILIKE ANY ('x', 'y')":              "(a ILIKE 'x') OR (a ILIKE 'y')",
		"a NOT LIKE ALL ('x', 'y')":           "(NOT (a LIKE 'x')) AND (NOT (a LIKE 'y'))",
		"a REGEXP 'x'":                        "a RLIKE 'x'",
		"CASE a WHEN 1 THEN 'x' ELSE 'y' END": "CASE WHEN a = 1 THEN 'x' ELSE 'y' END",
		"case when a then b end":              "CASE WHEN a THEN b END",
		// names
		"a.b.`c d`.`e.f`":  "a.b.`c d`.`e.f`",
		"`a``b`":           "`a``b`",
		"`select`":         "`select`",
		"date = timestamp": "date = timestamp",
		"1a = _b":          "`1a` = _b",
		"größe > 1":        "`größe` > 1",
		"a[0].b['c']":      "((a[0]).b)['c']",
		"(a).b":            "(a).b",
		// literals
		"'it\\'s' 'x'":                     `'it\'sx'`,
		"'it''s'":                          `'it\'s'`,
		`"double"`:                         "'double'",
		`r'raw\n'`:                         `'raw\\n'`,
		`'\u0041\U0001F600\101\%\_\q\0'`:   `'A😀A\\%\\_q\u0000'`,
		`'\ud83d\ude00 \ud83d'`:            "'😀 ?'",
		"1Y + 1S + 1L + 1":                 "((1Y + 1S) + 1L) + 1",
		"1.50 + .5 + 5. + 1e2":             "((1.50BD + 0.5BD) + 5BD) + 100D",
		"1F + 1D + 1BD + 1.e1":             "((1F + 1D) + 1BD) + 10D",
		"2147483648 + 9223372036854775808": "2147483648L + 9223372036854775808BD",
		"-2147483648":                      "-2147483648",
		"X'0aFF' = x'1'":                   "X'0AFF' = X'01'",
		"DATE'2020-1-1'":                   "DATE'2020-01-01'",
		"TIMESTAMP'2020-01-01 01:02:03'":   "CAST('2020-01-01 01:02:03' AS timestamp)",
		"timestamp_ntz '2020-01-01'":       "TIMESTAMP_NTZ'2020-01-01 00:00:00'",
		"INTERVAL 1 DAY 2 HOURS":           "INTERVAL '1 02' DAY TO HOUR",
		"INTERVAL '1-2' YEAR TO MONTH":     "INTERVAL '1-2' YEAR TO MONTH",
		"interval > 1":                     "`interval` > 1",
		// calls
		"double('NaN')":                                   "CAST('NaN' AS double)",
		"try_cast(a AS decimal(10, 2))":                   "TRY_CAST(a AS decimal(10,2))",
		"CAST(a AS struct<b:int,c:array<array<string>>>)": "CAST(a AS struct<b:int,c:array<array<string>>>)",
		"EXTRACT(year FROM a)":                            "date_part('YEAR', a)",
		"SUBSTRING(a FROM 1 FOR 2)":                       "substring(a, 1, 2)",
		"substr(a, 1)":                                    "substr(a, 1)",
		"TRIM(LEADING 'x' FROM a)":                        "ltrim('x', a)",
		"TRIM(BOTH FROM a)":                               "btrim(a)",
		"TRIM(a)":                                         "trim(a)",
		"POSITION('x' IN a)":                              "position('x', a)",
		"position('x', a)":                                "position('x', a)",
		"OVERLAY(a PLACING 'x' FROM 1 FOR 2)":             "overlay(a, 'x', 1, 2)",
		"DATEADD(day, 1, a)":                              "timestampadd('DAY', 1, a)",
		"date_add(a, 1)":                                  "date_add(a, 1)",
		"a COLLATE UTF8_LCASE = 'x'":                      "(a COLLATE UTF8_LCASE) = 'x'",
		"like(a, 'b')":                                    "`like`(a, 'b')",
		// opaque
		"a IN (SELECT b FROM c)":      "a IN (SELECT b FROM c)",
		"EXISTS (SELECT ')' FROM c)":  "EXISTS (SELECT ')' FROM c)",
		"a > (SELECT max(b) FROM c)":  "a > ((SELECT max(b) FROM c))",
		"exists(a, x -> x > (b + 1))": "exists(a, x -> x > (b + 1))",
		"f(a, (x, y) -> x)":           "f(a, (x, y) -> x)",
		"my.udf(a, b)":                "my.udf(a, b)",
		"(a, b) IN ((1, 2))":          "struct(a, b) IN (struct(1, 2))",
		// comments
		"a /* x /* y */ */ = -- z\n 1": "a = 1",
		// errors
		"":                                    "!PARSE_EMPTY_STATEMENT",
		" -- x":                               "!PARSE_EMPTY_STATEMENT",
		"a =":                                 "!PARSE_SYNTAX_ERROR",
		"a = 1 XOR b":                         "!PARSE_SYNTAX_ERROR",
		"a IN ()":                             "!PARSE_SYNTAX_ERROR",
		"a IN (1,)":                           "!PARSE_SYNTAX_ERROR",
		"a IS NULL IS NULL":                   "!PARSE_SYNTAX_ERROR",
		"a = NOT b":                           "!PARSE_SYNTAX_ERROR",
		"(a = 1":                              "!PARSE_SYNTAX_ERROR",
		"a = 1)":                              "!PARSE_SYNTAX_ERROR",
		"a = 1;":                              "!PARSE_SYNTAX_ERROR",
		"a = 'x":                              "!PARSE_SYNTAX_ERROR",
		"`a":                                  "!PARSE_SYNTAX_ERROR",
		"``":                                  "!PARSE_SYNTAX_ERROR",
		"a = 1.2.3":                           "!PARSE_SYNTAX_ERROR",
		"a ** 2":                              "!PARSE_SYNTAX_ERROR",
		"a = 1 /* x":                          "!UNCLOSED_BRACKETED_COMMENT",
		"a LIKE 'x' ESCAPE 'yz'":              "!INVALID_ESC",
		"a = ?":                               "!UNBOUND_SQL_PARAMETER",
		"a = :x":                              "!UNBOUND_SQL_PARAMETER",
		"DATE'2020-02-30'":                    "!INVALID_TYPED_LITERAL",
		"TIMESTAMP_NTZ'2020-01-01 00:00:00Z'": "!INVALID_TYPED_LITERAL",
		"X'zz'":                               "!INVALID_TYPED_LITERAL",
		"foo'x'":                              "!UNSUPPORTED_TYPED_LITERAL",
		"300Y":                                "!INVALID_NUMERIC_LITERAL_RANGE",
		"1e400":                               "!INVALID_NUMERIC_LITERAL_RANGE",
		strings.Repeat("9", 39):               "!DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
		"CAST(a AS quantum)":                  "!UNSUPPORTED_DATATYPE",
		"INTERVAL 1 MONTH 1 DAY":              "!_LEGACY_ERROR_TEMP_0029",
		"a \xff":                              "!PARSE_SYNTAX_ERROR",
		"a -> b":                              "!PARSE_SYNTAX_ERROR",
		"upper(DISTINCT a)":                   "!INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
		"sum(a) OVER ()":                      "!_LEGACY_ERROR_TEMP_1034",
	} {
		if got := printed(sql); got != want {
			t.Errorf("%s\n got %s\nwant %s", sql, got, want)
		}
	}
}

func TestErrorsPointAtTheColumn(t *testing.T) {
	for sql, want := range map[string]string{
		"a = 1 AND b > ": "predicate: syntax error at line 1, column 15: expected an expression, found the end of the text\n" +
			"  a = 1 AND b > \n" +
			"                ^",
		"größe = 1\n  AND x IN ()": "predicate: syntax error at line 2, column 13: expected an expression, found \")\"\n" +
			"    AND x IN ()\n" +
			"              ^",
		strings.Repeat("x", 100) + " = ) AND y = " + strings.Repeat("z", 100): "predicate: syntax error at line 1, column 104: expected an expression, found \")\"\n" +
			"  …" + strings.Repeat("x", 57) + " = ) AND y = " + strings.Repeat("z", 50) + "…\n" +
			"  " + strings.Repeat(" ", 61) + "^",
	} {
		_, err := Parse(sql, ParseOptions{})
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", sql, err, want)
		}
	}
}

func TestLimits(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("(", n) + "a" + strings.Repeat(")", n) }
	for name, sql := range map[string]string{
		"parentheses": deep(100_000),
		"NOT":         strings.Repeat("NOT ", 100_000) + "a",
		"minus":       strings.Repeat("- ", 100_000) + "a",
		"plus chain":  "a" + strings.Repeat(" + a", 100_000),
		"casts":       "a" + strings.Repeat("::int", 100_000),
		"indexes":     "a" + strings.Repeat("[0]", 100_000),
		"fields":      "a" + strings.Repeat(".a", 100_000),
		"CASE":        strings.Repeat("CASE WHEN ", 50_000) + "a",
		"calls":       strings.Repeat("f(", 100_000),
		"length":      "a = '" + strings.Repeat("x", 1<<20) + "'",
	} {
		_, err := Parse(sql, ParseOptions{})
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Wide is not deep.
	wide := "a = 1" + strings.Repeat(" OR a = 1", 50_000)
	e, err := Parse(wide, ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Bind(Eq(Col("i"), Lit(1)), testTable(t), Env{}); err != nil {
		t.Fatal(err)
	}
	if n := len(e.(*Or).Args); n != 50_001 {
		t.Errorf("%d arguments", n)
	}
	if _, err := Parse(deep(100), ParseOptions{}); err != nil {
		t.Error(err)
	}
	// Builders can nest as deep as they like; binding says no before the stack does.
	tower := Lit(true)
	for range 1_000_000 {
		tower = Negate(tower)
	}
	if _, err := Bind(tower, testTable(t), Env{}); err == nil {
		t.Error("a tower of a million NOTs binds")
	}
}

// genTree draws untyped trees as the parser makes them.
func genTree(t *rapid.T, depth int) Expr {
	if depth == 0 || rapid.IntRange(0, 4).Draw(t, "leaf") == 0 {
		if rapid.Bool().Draw(t, "literal") {
			typ := rapid.SampledFrom(atomicTypes[:11]).Draw(t, "type")
			for {
				v := genValue(t, typ)
				if v.Null {
					return Lit(nil)
				}
				if e, err := Parse(v.SQL(), ParseOptions{}); err == nil {
					if literal, ok := e.(*Literal); ok { // no cast, as of NaN
						return literal
					}
				}
			}
		}
		name := make([]string, rapid.IntRange(1, 3).Draw(t, "parts"))
		for i := range name {
			name[i] = rapid.SampledFrom([]string{"a", "B", "a b", "a.b", "select", "in", "`", "date", "1x", "é"}).Draw(t, "name")
		}
		return &Column{Name: name}
	}
	sub := func() Expr { return genTree(t, depth-1) }
	list := func(low, high int) []Expr {
		out := make([]Expr, rapid.IntRange(low, high).Draw(t, "arguments"))
		for i := range out {
			out[i] = sub()
		}
		return out
	}
	switch rapid.IntRange(0, 11).Draw(t, "shape") {
	case 0:
		return &And{Args: list(2, 3)}
	case 1:
		return &Or{Args: list(2, 3)}
	case 2:
		return &Not{X: sub()}
	case 3:
		return &IsNull{X: sub()}
	case 4:
		return &In{X: sub(), List: list(1, 3)}
	case 5:
		return &Like{X: sub(), Pattern: sub(), Escape: rapid.SampledFrom([]rune{'\\', '!', '\''}).Draw(t, "escape"), Fold: rapid.Bool().Draw(t, "fold")}
	case 6:
		return &Arith{Op: ArithOp(rapid.IntRange(0, int(Mod)).Draw(t, "operator")), L: sub(), R: sub()}
	case 7:
		to, err := schema.ParseType(rapid.SampledFrom([]string{"int", "string", "decimal(10,2)", "timestamp_ntz"}).Draw(t, "type"))
		if err != nil {
			t.Fatal(err)
		}
		return &Cast{X: sub(), To: to, Try: rapid.Bool().Draw(t, "try")}
	case 8:
		c := &Case{}
		for range rapid.IntRange(1, 2).Draw(t, "arms") {
			c.Whens = append(c.Whens, When{If: sub(), Then: sub()})
		}
		if rapid.Bool().Draw(t, "else") {
			c.Else = sub()
		}
		return c
	case 9:
		name := rapid.SampledFrom([]string{"negative", "upper", "if", "substring", "trim", "position", "~", "|", "<<", "rlike", "between", indexName}).Draw(t, "function")
		args := map[string]int{"negative": 1, "upper": 1, "~": 1, "|": 2, "<<": 2, "rlike": 2, "between": 3, indexName: 2}
		n, ok := args[name]
		if !ok {
			return &Call{Name: name, Args: list(1, 3)}
		}
		return &Call{Name: name, Args: list(n, n)}
	case 10:
		name := rapid.SampledFrom([]string{"a", "a b", "in"}).Draw(t, "field")
		return &Call{Name: fieldName, Args: []Expr{sub(), &Literal{Value: StringOf(name)}}}
	}
	return &Compare{Op: CompareOp(rapid.IntRange(0, int(NullSafe)).Draw(t, "operator")), L: sub(), R: sub()}
}

func TestTreesReadBackAsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := genTree(t, 4)
		back, err := Parse(e.String(), ParseOptions{})
		if err == nil {
			unwritten(back)
			unwritten(e)
		}
		if err != nil || !reflect.DeepEqual(back, e) {
			t.Fatalf("%s\nreads back as\n%v\n%v", e, back, err)
		}
	})
}

// unwritten forgets how literals were written.
func unwritten(e Expr) {
	if l, ok := e.(*Literal); ok {
		l.text = ""
	}
	for _, c := range e.Children() {
		unwritten(c)
	}
}

// FuzzParse takes any text through parsing, printing, binding and evaluating.
func FuzzParse(f *testing.F) {
	for _, sql := range []string{
		"i < '50' AND s LIKE 'a%' ESCAPE '!'", "CASE WHEN bo THEN dt ELSE ts END > DATE'2020-01-01' + INTERVAL 1 DAY", "`st`.`a.b` IN (1, NULL, 2.5e0)",
		"l BETWEEN -9223372036854775808 AND 1e2BD", "TRIM(LEADING 'x' FROM s) || r'\\n' = X'00'", "exists(arr, x -> x > 1) OR arr[0].z = m['k']",
		"coalesce(nullif(i, 1), l)::decimal(38,10) <=> try_cast(s AS double)", "i IN (SELECT 1) -- x", "c = 'a' AND i = 1 AND i + 1 > l",
	} {
		f.Add(sql)
	}
	for _, path := range []string{"testdata/expressions.tsv", "testdata/functions.tsv", "testdata/binding.tsv"} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for i, line := range strings.Split(string(data), "\n") {
			if sql, _, ok := strings.Cut(line, "\t"); ok && i%7 == 0 { // some of every kind are enough
				f.Add(sql)
			}
		}
	}
	table := testTable(f)
	row := mapRow{}
	for _, name := range append(genColumns, "sh", "bigdec", "s2", "bin", "st", "arr", "m", "lc", "un", "c", "q") {
		c, err := table.Lookup(name)
		if err != nil {
			f.Fatal(err)
		}
		row[c] = NullOf(c.Type)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		e, err := Parse(sql, ParseOptions{MaxLength: 1 << 16})
		var syntax *SyntaxError
		if err != nil {
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(sql) || err.Error() == "" {
				t.Fatalf("%q: %v", sql, err)
			}
			return
		}
		if !utf8.ValidString(sql) {
			t.Fatalf("%q is not valid UTF-8", sql)
		}
		text := e.String()
		back, err := Parse(text, ParseOptions{MaxLength: 1 << 24, MaxDepth: 100_000})
		if err != nil || back.String() != text {
			t.Fatalf("%q prints as %q, which reads as %v, %v", sql, text, back, err)
		}
		if back, err := Parse(Text(e), ParseOptions{MaxLength: 1 << 24, MaxDepth: 100_000}); err != nil || back.String() != text {
			t.Fatalf("%q prints for people as %q, which reads as %v, %v", sql, Text(e), back, err)
		}
		p, err := Bind(e, table, Env{})
		var rejected *BindError
		if err != nil {
			if !errors.As(err, &rejected) {
				t.Fatalf("%q: %v", sql, err)
			}
			return
		}
		p.Split()
		p.Asked()
		for _, c := range p.Columns() {
			if _, ok := row[c]; !ok {
				row[c] = NullOf(c.Type)
			}
		}
		_, err = p.Eval(row)
		var failed *EvalError
		var unsupported *UnsupportedError
		if err != nil && !errors.As(err, &failed) && !errors.As(err, &unsupported) {
			t.Fatalf("%q: %v", sql, err)
		}
	})
}
