package predicate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/deltaskip/deltaskip/schema"
)

// TestAgainstSpark evaluates the expressions of testdata/expressions.tsv and functions.tsv, whose answers are those of Spark 4.1 in
// ANSI mode. A line is an expression, its type, and its value cast to a string as JSON, NULL, or ! and the class of
// an error. A fourth column "opaque" marks what is left alone on purpose: there, no answer is right, and another is
// wrong. A line "# zone Z" sets the session's time zone.
func TestAgainstSpark(t *testing.T) {
	for _, path := range []string{"testdata/expressions.tsv", "testdata/functions.tsv"} {
		t.Run(path, func(t *testing.T) { checkAgainstSpark(t, path) })
	}
}

func checkAgainstSpark(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table, env := testTable(t), &Env{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if zone, ok := strings.CutPrefix(line, "# zone "); ok {
			if env.Zone, err = time.LoadLocation(zone); err != nil {
				t.Fatal(err)
			}
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		if n := len(columns); n < 3 || n > 4 {
			t.Fatalf("%q has %d columns", line, n)
		}
		want := columns[1] + "\t" + columns[2]
		if len(columns) == 4 {
			want = columns[3]
		}
		if got := answer(columns[0], table, env); got != want && !(inexact(columns[0]) && nearlyEqual(got, want)) {
			t.Errorf("%s [%s]\n got %s\nwant %s", columns[0], env.zone(), got, want)
		}
	}
}

// inexact reports a call of a function that is Inexact.
func inexact(sql string) bool {
	name, _, _ := strings.Cut(sql, "(")
	f, ok := Lookup(name)
	return ok && f.Inexact
}

// nearlyEqual reports answers that are doubles within the error of Inexact functions.
func nearlyEqual(got, want string) bool {
	var a, b float64
	_, err := fmt.Sscanf(got, "double\t\"%g\"", &a)
	_, err2 := fmt.Sscanf(want, "double\t\"%g\"", &b)
	return err == nil && err2 == nil && math.Abs(a-b) <= math.Abs(b)*0x1p-40
}

// answer evaluates an expression and writes the outcome as these files do.
func answer(sql string, table *schema.Table, env *Env) string {
	e, err := Parse(sql, ParseOptions{})
	if err != nil {
		var syntax *SyntaxError
		if errors.As(err, &syntax) {
			return "-\t!" + syntax.Class
		}
		return "?\t" + err.Error()
	}
	bound, err := (&binder{table: table, env: env}).bind(e)
	var rejected *BindError
	switch {
	case errors.As(err, &rejected):
		return "-\t!" + rejected.Class
	case err != nil:
		return "?\t" + err.Error()
	}
	v, _, err := evalNear(bound, env, nil)
	var failed *EvalError
	var unsupported *UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		return "opaque"
	case errors.As(err, &failed):
		return "-\t!" + failed.Class
	case err != nil:
		return "?\t" + err.Error()
	case v.Null:
		return bound.Type().String() + "\tNULL"
	}
	text, err := CastValue(v, stringType, env)
	switch {
	case errors.As(err, &unsupported):
		return "opaque"
	case err != nil:
		return "?\t" + err.Error()
	}
	quoted, err := json.Marshal(strings.ToValidUTF8(text.S, "\uFFFD"))
	if err != nil {
		return "?\t" + err.Error()
	}
	return bound.Type().String() + "\t" + string(quoted)
}
