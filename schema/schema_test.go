package schema

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/internal/corpus"
)

const nested = `{"type":"struct","fields":[
  {"name":"id","type":"long","nullable":false,"metadata":{"delta.typeChanges":[
    {"fromType":"byte","toType":"short"},{"fromType":"short","toType":"long","tableVersion":7}]}},
  {"name":"x.y","type":"string","nullable":true,"metadata":{}},
  {"name":"x","type":{"type":"struct","fields":[
    {"name":"y","type":"decimal(12,4)","nullable":false,"metadata":{}},
    {"name":"Q w","type":"string","nullable":false,"metadata":{}}]},"nullable":true,"metadata":{}},
  {"name":"c","type":"string","nullable":true,"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"char(5)"}},
  {"name":"v","type":"varchar(6)","nullable":true,"metadata":{}},
  {"name":"lc","type":"string","nullable":true,"metadata":{"__COLLATIONS":{"lc":"icu.UNICODE_CI.75.1"}}},
  {"name":"ub","type":"string","nullable":true,"metadata":{"__COLLATIONS":{"ub":"spark.UTF8_BINARY"}}},
  {"name":"al","type":{"type":"array","elementType":"string","containsNull":true},"nullable":true,
   "metadata":{"__COLLATIONS":{"al.element":"spark.UTF8_LCASE"}}},
  {"name":"m","type":{"type":"map","keyType":"string","valueType":"integer","valueContainsNull":true},"nullable":true},
  {"name":"va","type":"variant","nullable":true,"metadata":{}},
  {"name":"iv","type":"interval day to second","nullable":true,"metadata":{}},
  {"name":"un","type":"geometry(OGC:CRS84)","nullable":true,"metadata":{}},
  {"name":"bin","type":"binary","nullable":true,"metadata":{}},
  {"name":"vo","type":"void","nullable":true,"metadata":{}},
  {"name":"p","type":"string","nullable":true,"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"char(3)"}}
]}`

func mustParse(t *testing.T, text string) *Table {
	t.Helper()
	table, err := Parse(text, []string{"P"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestLookup(t *testing.T) {
	table := mustParse(t, nested)
	for _, tt := range []struct {
		path     []string
		want     string // the type
		nullable bool
		usable   bool
	}{
		{[]string{"ID"}, "bigint", false, true},
		{[]string{"x.y"}, "string", true, true},
		{[]string{"x", "y"}, "decimal(12,4)", true, true},
		{[]string{"X", "q W"}, "string", true, true},
		{[]string{"x"}, "struct<y:decimal(12,4) not null,`Q w`:string not null>", true, false},
		{[]string{"c"}, "string", true, false},
		{[]string{"v"}, "string", true, true},
		{[]string{"lc"}, "string collate UNICODE_CI", true, false},
		{[]string{"ub"}, "string", true, true},
		{[]string{"al"}, "array<string collate UTF8_LCASE>", true, false},
		{[]string{"m"}, "map<string,int>", true, false},
		{[]string{"va"}, "variant", true, false},
		{[]string{"iv"}, "interval day to second", true, false},
		{[]string{"un"}, "geometry(OGC:CRS84)", true, false},
		{[]string{"bin"}, "binary", true, false},
		{[]string{"vo"}, "void", true, false},
		{[]string{"p"}, "string", true, true},
	} {
		c, err := table.Lookup(tt.path...)
		if err != nil {
			t.Errorf("%v: %v", tt.path, err)
			continue
		}
		usable, reason := c.BoundsUsable()
		if c.Type.String() != tt.want || c.Nullable != tt.nullable || usable != tt.usable || usable != (reason == "") {
			t.Errorf("%v: type %s, nullable %t, usable %t %q", tt.path, c.Type, c.Nullable, usable, reason)
		}
		upper := make([]string, len(tt.path))
		for i, name := range tt.path {
			upper[i] = strings.ToUpper(name)
		}
		if again, _ := table.Lookup(upper...); again != c {
			t.Errorf("%v: another spelling gives another *Column", tt.path)
		}
	}
}

func TestLookupErrors(t *testing.T) {
	table := mustParse(t, `{"type":"struct","fields":[{"name":"price","type":"long"},{"name":"Dup","type":"long"},
		{"name":"dup","type":"long"},{"name":"p","type":"long"},
		{"name":"s","type":{"type":"struct","fields":[{"name":"in ner","type":"long"}]}}]}`)
	for _, tt := range []struct {
		path []string
		want string
	}{
		{[]string{"prise"}, "schema: no column prise; did you mean price, p, s, Dup, dup?"},
		{[]string{"DUP"}, "schema: DUP is ambiguous: it may be Dup or dup"},
		{[]string{"s", "x"}, "schema: no column s.x; did you mean `in ner`?"},
		{[]string{"price", "x"}, "schema: price has no fields: it is a bigint"},
		{[]string{"s.in ner"}, "schema: no column `s.in ner`; did you mean price, s, Dup, dup, p?"},
	} {
		_, err := table.Lookup(tt.path...)
		var lookup *LookupError
		if !errors.As(err, &lookup) || err.Error() != tt.want {
			t.Errorf("%v: %v", tt.path, err)
		}
	}
	if _, err := table.Lookup(); err == nil {
		t.Error("the empty path names a column")
	}
}

func TestStatisticsTypes(t *testing.T) {
	c, err := mustParse(t, nested).Lookup("id")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, typ := range c.StatisticsTypes() {
		names = append(names, typ.String())
	}
	if got := strings.Join(names, " "); got != "bigint smallint tinyint" {
		t.Error(got)
	}
	if got := c.Field.TypeChanges[1].Version; got != 7 {
		t.Errorf("version %d", got)
	}
}

func TestUnreadableTypeChangesMakeBoundsUnusable(t *testing.T) {
	for _, changes := range []string{`"x"`, `[{"fromType":"quantum","toType":"long"}]`, `[3]`} {
		table := mustParse(t, `{"type":"struct","fields":[{"name":"p","type":"long","metadata":{"delta.typeChanges":`+changes+`}}]}`)
		c, err := table.Lookup("p")
		if err != nil {
			t.Fatal(err)
		}
		if ok, _ := c.BoundsUsable(); ok {
			t.Errorf("%s: usable", changes)
		}
	}
}

func TestColumnMapping(t *testing.T) {
	const text = `{"type":"struct","fields":[{"name":"a","type":{"type":"struct","fields":[{"name":"b","type":"long",
		"metadata":{"delta.columnMapping.id":2,"delta.columnMapping.physicalName":"col-2"}}]},
		"metadata":{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"col-1"}}]}`
	for mode, want := range map[string][]string{"name": {"col-1", "col-2"}, "id": {"col-1", "col-2"}, "none": {"a", "b"}} {
		table, err := Parse(text, nil, map[string]string{"delta.columnMapping.mode": mode})
		if err != nil {
			t.Fatal(err)
		}
		c, err := table.Lookup("a", "b")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.Physical, want) {
			t.Errorf("mode %s: %v", mode, c.Physical)
		}
	}
	for _, mode := range []string{"both", "NAME"} {
		if _, err := Parse(text, nil, map[string]string{"delta.columnMapping.mode": mode}); !errors.Is(err, ErrInvalid) {
			t.Errorf("mode %s: %v", mode, err)
		}
	}
	_, err := Parse(`{"type":"struct","fields":[{"name":"a","type":"long"}]}`, nil, map[string]string{"delta.columnMapping.mode": "id"})
	if !errors.Is(err, ErrInvalid) {
		t.Errorf("a field without its physical name: %v", err)
	}
}

func TestStringPrefixLength(t *testing.T) {
	for setting, want := range map[string]int{"": 32, "3": 3, "40": 32, "0": 0, "-1": 32, "x": 32} {
		table, err := Parse(`{"type":"struct","fields":[]}`, nil, map[string]string{"delta.dataSkippingStringPrefixLength": setting})
		if err != nil {
			t.Fatal(err)
		}
		if table.StringPrefixLength != want {
			t.Errorf("%q: %d", setting, table.StringPrefixLength)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{
		``, `{`, `null`, `"long"`, `[]`, `{"type":"struct"}`, `{"type":"struct","fields":{}}`, `{"type":"struct","fields":[3]}`,
		`{"type":"struct","fields":[{"type":"long"}]}`, `{"type":"struct","fields":[{"name":"a"}]}`,
		`{"type":"struct","fields":[{"name":"a","type":3}]}`, `{"type":"struct","fields":[{"name":"a","type":{"type":"array"}}]}`,
		`{"type":"struct","fields":[]} x`,
		strings.Repeat(`{"type":"struct","fields":[{"name":"a","type":`, 200) + `"long"` + strings.Repeat(`}]}`, 200),
		strings.Repeat(`{"type":"array","elementType":`, 5000) + `"long"` + strings.Repeat(`}`, 5000),
	} {
		if _, err := Parse(text, nil, nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.60s: %v", text, err)
		}
	}
	if _, err := Parse(`{"type":"struct","fields":[]}`, []string{"p"}, nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("unknown partition column: %v", err)
	}
}

func TestParseType(t *testing.T) {
	for ddl, want := range map[string]string{
		"INT": "int", " bigint ": "bigint", "dec": "decimal(10,0)", "numeric(5)": "decimal(5,0)", "DECIMAL( 10 , 2 )": "decimal(10,2)",
		"timestamp_ltz": "timestamp", "char(3)": "string", "varchar(3)": "string", "string collate unicode_ci": "string collate UNICODE_CI",
		"string collate utf8_binary": "string", "interval year to month": "interval year to month",
		"struct<a:int, `b ``c` string NOT NULL, d: array<map<string,double>>>": "struct<a:int,`b ``c`:string not null,d:array<map<string,double>>>",
		"struct<>": "struct<>",
	} {
		typ, err := ParseType(ddl)
		if err != nil || typ.String() != want {
			t.Errorf("%q: %s, %v", ddl, typ, err)
		}
	}
	for _, ddl := range []string{
		"", "quantum", "int x", "decimal(39)", "decimal(3,4)", "decimal(0)", "decimal(1,2,3)", "decimal(a)", "decimal(1", "char", "char(0)",
		"array", "array<int", "map<int>", "struct", "struct<a>", "struct<a:int", "struct<`a:int>", "struct<a:int not>", "interval day to",
		strings.Repeat("array<", 1000) + "int" + strings.Repeat(">", 1000),
	} {
		if typ, err := ParseType(ddl); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.40q: %s, %v", ddl, typ, err)
		}
	}
}

// genType draws types that DDL can spell.
func genType(depth int) *rapid.Generator[Type] {
	return rapid.Custom(func(t *rapid.T) Type {
		shapes := 3
		if depth == 0 {
			shapes = 0
		}
		switch rapid.IntRange(0, 6+shapes).Draw(t, "shape") {
		case 7:
			return Type{Kind: Array, Nested: &Nested{Elem: genType(depth-1).Draw(t, "element")}}
		case 8:
			return Type{Kind: Map, Nested: &Nested{Key: genType(depth-1).Draw(t, "key"), Elem: genType(depth-1).Draw(t, "value")}}
		case 9:
			typ := Type{Kind: Struct, Nested: &Nested{}}
			for range rapid.IntRange(0, 3).Draw(t, "fields") {
				name := rapid.StringN(1, 8, -1).Draw(t, "name")
				typ.Nested.Fields = append(typ.Nested.Fields, &Field{
					Name: name, Type: genType(depth-1).Draw(t, "type"), Nullable: rapid.Bool().Draw(t, "nullable"),
				})
			}
			return typ
		case 6:
			precision := rapid.Uint8Range(1, 38).Draw(t, "precision")
			return Type{Kind: Decimal, Precision: precision, Scale: rapid.Uint8Range(0, precision).Draw(t, "scale")}
		}
		return Type{Kind: rapid.SampledFrom([]Kind{Boolean, Byte, Long, Float, String, Binary, Date, Timestamp, TimestampNTZ, Variant}).Draw(t, "kind")}
	})
}

func TestTypesReadBackAsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genType(3).Draw(t, "type")
		got, err := ParseType(want.String())
		if err != nil || !got.Equal(want) || got.String() != want.String() {
			t.Fatalf("%s reads back as %s, %v", want, got, err)
		}
	})
}

func TestCorpusSchemas(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join(corpus.Dir(t, "skipping"), "*", "table", "_delta_log", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	parsed := 0
	for _, path := range logs {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var action struct {
				MetaData *struct {
					SchemaString     string
					PartitionColumns []string
					Configuration    map[string]string
				}
			}
			if json.Unmarshal(lines.Bytes(), &action) != nil || action.MetaData == nil {
				continue
			}
			m := action.MetaData
			if _, err := Parse(m.SchemaString, m.PartitionColumns, m.Configuration); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			parsed++
		}
		f.Close()
	}
	if parsed == 0 {
		t.Error("no schema found")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(nested, "id")
	f.Add(`{"type":"struct","fields":[{"name":"a","type":{"type":"map","keyType":"string","valueType":"time(6)"}}]}`, "a")
	f.Fuzz(func(t *testing.T, text, name string) {
		table, err := Parse(text, nil, map[string]string{"delta.columnMapping.mode": "none"})
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		for _, field := range table.Fields {
			_ = field.Type.String()
		}
		if c, err := table.Lookup(name); err == nil {
			c.BoundsUsable()
			c.StatisticsTypes()
		}
	})
}

func FuzzParseType(f *testing.F) {
	f.Add("struct<a:int,`b`:decimal(10,2)>")
	f.Fuzz(func(t *testing.T, ddl string) {
		typ, err := ParseType(ddl)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if again, err := ParseType(typ.String()); err != nil || !again.Equal(typ) {
			t.Fatalf("%q prints as %q, which reads as %s, %v", ddl, typ, again, err)
		}
	})
}
