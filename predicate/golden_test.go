package predicate

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/schema"
)

// A goldenCase is what Spark 4.1 says of a constant expression: its type and its value as text, or an error's class.
type goldenCase struct {
	Expr  string
	Type  string
	Value *string
	Error string
}

func readGolden(t testing.TB, path string) []goldenCase {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []goldenCase
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var c goldenCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		cases = append(cases, c)
	}
	return cases
}

// evaluate parses, binds and evaluates a constant expression: its type and text, nil for NULL, or an error's class.
func evaluate(sql string, env Env) (typ string, text *string, class string) {
	e, err := Parse(sql, ParseOptions{})
	if err == nil {
		b := &binder{table: &schema.Table{}, env: &env}
		e, err = b.bind(e)
	}
	var v Value
	if err == nil {
		typ = e.Type().String()
		v, err = Eval(e, &env, nil)
	}
	switch k := v.Type.Kind; {
	case err != nil:
	case k == schema.Float && !v.Null:
		v.S = formatFloat(v.F, 32) // casting is careful about Java's versions
	case k == schema.Double && !v.Null:
		v.S = formatFloat(v.F, 64)
	default:
		v, err = CastValue(v, stringType, &env)
	}
	var syntax *SyntaxError
	var bind *BindError
	var failed *EvalError
	switch {
	case errors.As(err, &syntax):
		return "", nil, syntax.Class
	case errors.As(err, &bind):
		return "", nil, bind.Class
	case errors.As(err, &failed):
		return "", nil, failed.Class
	case err != nil:
		return "", nil, err.Error()
	case v.Null:
		return typ, nil, ""
	}
	return typ, &v.S, ""
}

func TestGolden(t *testing.T) {
	for _, c := range readGolden(t, "testdata/golden.jsonl") {
		typ, text, class := evaluate(c.Expr, Env{})
		switch {
		case strings.Contains(class, "is not known here"):
			t.Logf("%s: %s", c.Expr, class)
		case class != c.Error:
			t.Errorf("%s: error %q, want %q (%s)", c.Expr, class, c.Error, deref(c.Value))
		case class != "":
		case typ != c.Type || deref(text) != deref(c.Value):
			t.Errorf("%s: %s %s, want %s %s", c.Expr, typ, deref(text), c.Type, deref(c.Value))
		}
	}
}

func deref(s *string) string {
	if s == nil {
		return "NULL"
	}
	return "'" + *s + "'"
}
