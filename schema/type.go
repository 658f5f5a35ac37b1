package schema

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kindNames are the names that Spark's SQL prints.
var kindNames = [...]string{
	Invalid: "invalid", Boolean: "boolean", Byte: "tinyint", Short: "smallint", Integer: "int", Long: "bigint",
	Float: "float", Double: "double", Decimal: "decimal", String: "string", Binary: "binary", Date: "date",
	Timestamp: "timestamp", TimestampNTZ: "timestamp_ntz", Void: "void", Variant: "variant", Interval: "interval",
	Struct: "struct", Array: "array", Map: "map", Unknown: "unknown",
}

// ddlNames are the names of types without arguments that SQL accepts (SqlBaseParser.g4, "primitiveType").
var ddlNames = map[string]Kind{
	"boolean": Boolean, "tinyint": Byte, "byte": Byte, "smallint": Short, "short": Short, "int": Integer,
	"integer": Integer, "bigint": Long, "long": Long, "float": Float, "real": Float, "double": Double,
	"decimal": Decimal, "dec": Decimal, "numeric": Decimal, "string": String, "binary": Binary, "date": Date,
	"timestamp": Timestamp, "timestamp_ltz": Timestamp, "timestamp_ntz": TimestampNTZ, "void": Void, "null": Void,
	"variant": Variant,
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// String is the type in SQL: "bigint", "decimal(10,2)", "struct<a:int,b:array<string>>". [ParseType] reads it back.
func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case String:
		if t.Collation != "" {
			return "string collate " + t.Collation
		}
	case Interval, Unknown:
		if t.Nested != nil && t.Nested.Name != "" {
			return t.Nested.Name
		}
	case Struct:
		var b strings.Builder
		b.WriteString("struct<")
		for i, f := range t.Nested.Fields {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(QuoteName(f.Name) + ":" + f.Type.String())
			if !f.Nullable {
				b.WriteString(" not null")
			}
		}
		b.WriteByte('>')
		return b.String()
	case Array:
		return "array<" + t.Nested.Elem.String() + ">"
	case Map:
		return "map<" + t.Nested.Key.String() + "," + t.Nested.Elem.String() + ">"
	}
	return t.Kind.String()
}

// QuoteName spells a name so that SQL reads it back: in back quotes unless it is a plain word.
func QuoteName(name string) string {
	plain := name != "" && !('0' <= name[0] && name[0] <= '9')
	for i := 0; i < len(name) && plain; i++ {
		plain = isWordByte(name[i])
	}
	if plain {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// ParseType reads a type as SQL spells it, as in CAST(x AS decimal(10,2)): any case, with Spark's synonyms. char(n)
// and varchar(n) are strings. An error is a [*ParseError].
func ParseType(ddl string) (Type, error) {
	d := ddlParser{text: ddl}
	t, err := d.typ(0)
	if err != nil {
		return Type{}, err
	}
	if d.skipSpace(); d.pos < len(d.text) {
		return Type{}, d.fail("unexpected %q", d.text[d.pos:])
	}
	return t, nil
}

type ddlParser struct {
	text string
	pos  int
}

func (d *ddlParser) fail(format string, args ...any) error {
	return &ParseError{Message: fmt.Sprintf(format, args...) + " in " + strconv.Quote(d.text)}
}

func (d *ddlParser) skipSpace() {
	for d.pos < len(d.text) {
		r, n := utf8.DecodeRuneInString(d.text[d.pos:])
		if !unicode.IsSpace(r) {
			return
		}
		d.pos += n
	}
}

// accept consumes the given punctuation.
func (d *ddlParser) accept(c byte) bool {
	d.skipSpace()
	if d.pos < len(d.text) && d.text[d.pos] == c {
		d.pos++
		return true
	}
	return false
}

// word consumes a word and returns it as spelled, or "".
func (d *ddlParser) word() string {
	d.skipSpace()
	start := d.pos
	for d.pos < len(d.text) && (isWordByte(d.text[d.pos]) || d.text[d.pos] >= utf8.RuneSelf) {
		d.pos++
	}
	return d.text[start:d.pos]
}

// acceptWord consumes a keyword, in any case.
func (d *ddlParser) acceptWord(keyword string) bool {
	start := d.pos
	if strings.EqualFold(d.word(), keyword) {
		return true
	}
	d.pos = start
	return false
}

// name consumes a field's name, in back quotes or plain.
func (d *ddlParser) name() (string, error) {
	if !d.accept('`') {
		if w := d.word(); w != "" {
			return w, nil
		}
		return "", d.fail("a field's name is missing")
	}
	var b strings.Builder
	for {
		end := strings.IndexByte(d.text[d.pos:], '`')
		if end < 0 {
			return "", d.fail("a back quote is not closed")
		}
		b.WriteString(d.text[d.pos : d.pos+end])
		d.pos += end + 1
		if d.pos == len(d.text) || d.text[d.pos] != '`' {
			return b.String(), nil
		}
		b.WriteByte('`')
		d.pos++
	}
}

func (d *ddlParser) typ(depth int) (Type, error) {
	if depth > MaxDepth {
		return Type{}, d.fail("types nest more than %d deep", MaxDepth)
	}
	name := strings.ToLower(d.word())
	switch name {
	case "":
		return Type{}, d.fail("a type's name is missing")
	case "struct":
		return d.structure(depth)
	case "array":
		types, err := d.angles(depth, 1)
		if err != nil {
			return Type{}, err
		}
		return Type{Kind: Array, Nested: &Nested{Elem: types[0]}}, nil
	case "map":
		types, err := d.angles(depth, 2)
		if err != nil {
			return Type{}, err
		}
		return Type{Kind: Map, Nested: &Nested{Key: types[0], Elem: types[1]}}, nil
	case "interval":
		return d.interval()
	case "char", "character", "varchar":
		args, err := d.numbers()
		if err == nil && (len(args) != 1 || args[0] < 1) {
			err = d.fail("%s takes one length", name)
		}
		return Type{Kind: String}, err
	}
	kind, ok := ddlNames[name]
	if !ok {
		return Type{}, d.fail("%q is not a type", name)
	}
	switch kind {
	case Decimal:
		return d.decimal()
	case String:
		if d.acceptWord("collate") {
			collation, err := d.name()
			if err != nil {
				return Type{}, err
			}
			return Type{Kind: String, Collation: collationName(strings.ToUpper(collation))}, nil
		}
	}
	return Type{Kind: kind}, nil
}

func (d *ddlParser) decimal() (Type, error) {
	args, err := d.numbers()
	if err != nil {
		return Type{}, err
	}
	precision, scale := 10, 0
	switch len(args) {
	case 0:
	case 1:
		precision = args[0]
	case 2:
		precision, scale = args[0], args[1]
	default:
		return Type{}, d.fail("decimal takes a precision and a scale")
	}
	if precision < 1 || precision > 38 || scale > precision {
		return Type{}, d.fail("decimal(%d,%d) is out of bounds", precision, scale)
	}
	return Type{Kind: Decimal, Precision: uint8(precision), Scale: uint8(scale)}, nil
}

// numbers consumes "(1, 2)", or nothing.
func (d *ddlParser) numbers() ([]int, error) {
	if !d.accept('(') {
		return nil, nil
	}
	var args []int
	for {
		n, err := strconv.ParseUint(d.word(), 10, 31)
		if err != nil {
			return nil, d.fail("a type's argument is not a number")
		}
		args = append(args, int(n))
		if d.accept(')') {
			return args, nil
		}
		if !d.accept(',') {
			return nil, d.fail("a parenthesis is not closed")
		}
	}
}

// angles consumes "<t1, …, tn>".
func (d *ddlParser) angles(depth, n int) ([]Type, error) {
	types := make([]Type, n)
	for i := range types {
		if open := byte(','); i == 0 && !d.accept('<') || i > 0 && !d.accept(open) {
			return nil, d.fail("%d types in angle brackets are expected", n)
		}
		var err error
		if types[i], err = d.typ(depth + 1); err != nil {
			return nil, err
		}
	}
	if !d.accept('>') {
		return nil, d.fail("an angle bracket is not closed")
	}
	return types, nil
}

// structure consumes "<a: int, b string not null comment '…'>" after the word struct.
func (d *ddlParser) structure(depth int) (Type, error) {
	if !d.accept('<') {
		return Type{}, d.fail("a struct's fields are missing")
	}
	t := Type{Kind: Struct, Nested: &Nested{}}
	if d.accept('>') {
		return t, nil
	}
	for {
		name, err := d.name()
		if err != nil {
			return Type{}, err
		}
		d.accept(':')
		typ, err := d.typ(depth + 1)
		if err != nil {
			return Type{}, err
		}
		f := &Field{Name: name, PhysicalName: name, Type: typ, Nullable: true}
		if d.acceptWord("not") {
			if !d.acceptWord("null") {
				return Type{}, d.fail("NULL is expected after NOT")
			}
			f.Nullable = false
		}
		t.Nested.Fields = append(t.Nested.Fields, f)
		if d.accept('>') {
			return t, nil
		}
		if !d.accept(',') {
			return Type{}, d.fail("an angle bracket is not closed")
		}
	}
}

// interval consumes "year to month" and its like after the word interval; alone it is the calendar interval.
func (d *ddlParser) interval() (Type, error) {
	name := "interval"
	unit := func() bool {
		for _, u := range []string{"year", "month", "day", "hour", "minute", "second"} {
			if d.acceptWord(u) {
				name += " " + u
				return true
			}
		}
		return false
	}
	if unit() && d.acceptWord("to") {
		name += " to"
		if !unit() {
			return Type{}, d.fail("an interval's unit is missing")
		}
	}
	return Type{Kind: Interval, Nested: &Nested{Name: name}}, nil
}

// Equal says whether two types are the same, comparing nested ones by structure. Field names count, in any case.
func (t Type) Equal(u Type) bool {
	if t.Kind != u.Kind || t.Precision != u.Precision || t.Scale != u.Scale || t.Collation != u.Collation {
		return false
	}
	if t.Nested == u.Nested || t.Nested == nil || u.Nested == nil {
		return t.Nested == u.Nested
	}
	a, b := t.Nested, u.Nested
	if a.Name != b.Name || len(a.Fields) != len(b.Fields) || !a.Key.Equal(b.Key) || !a.Elem.Equal(b.Elem) {
		return false
	}
	for i := range a.Fields {
		if !strings.EqualFold(a.Fields[i].Name, b.Fields[i].Name) || !a.Fields[i].Type.Equal(b.Fields[i].Type) {
			return false
		}
	}
	return true
}
