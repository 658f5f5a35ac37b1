package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// MaxDepth bounds how deeply types nest, in schema strings and in DDL.
const MaxDepth = 100

// defaultPrefixLength is how many characters of a string bound writers keep unless the table says otherwise.
const defaultPrefixLength = 32

// Metadata keys of fields and of the table (Delta protocol, "Column Metadata", "Column Mapping", "Type Widening";
// char, varchar and collations are Spark's).
const (
	physicalNameKey = "delta.columnMapping.physicalName"
	fieldIDKey      = "delta.columnMapping.id"
	typeChangesKey  = "delta.typeChanges"
	charVarcharKey  = "__CHAR_VARCHAR_TYPE_STRING"
	collationsKey   = "__COLLATIONS"
	mappingModeKey  = "delta.columnMapping.mode"
	prefixLengthKey = "delta.dataSkippingStringPrefixLength"
)

// ErrInvalid matches every error about a schema that cannot be read.
var ErrInvalid = errors.New("invalid schema")

// A ParseError says where a schema string or a type's DDL is wrong. It matches [ErrInvalid].
type ParseError struct {
	Field   string // the field, dotted from the root; empty for the schema as a whole or a lone type
	Message string
	Err     error // what the JSON decoder found, or nil
}

func (e *ParseError) Error() string {
	where := ""
	if e.Field != "" {
		where = " of field " + strconv.Quote(e.Field)
	}
	text := "schema: invalid type" + where + ": " + e.Message
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *ParseError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrInvalid}
	}
	return []error{ErrInvalid, e.Err}
}

// Parse reads the schema of a metaData action: its schemaString, partitionColumns and configuration. It keeps the
// latter two. An error is a [*ParseError].
func Parse(schemaString string, partitionColumns []string, configuration map[string]string) (*Table, error) {
	dec := json.NewDecoder(strings.NewReader(schemaString))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return nil, &ParseError{Message: "not JSON", Err: err}
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, &ParseError{Message: "text after the end of the JSON"}
	}
	p := parser{}
	switch mode := configuration[mappingModeKey]; mode {
	case "", "none":
	case "name", "id":
		p.mapped = true
	default:
		return nil, &ParseError{Message: fmt.Sprintf("%s is %q, which is none of none, name and id", mappingModeKey, mode)}
	}
	typ, err := p.typ(root, nil)
	if err != nil {
		return nil, err
	}
	if typ.Kind != Struct {
		return nil, &ParseError{Message: "the root is a " + typ.String() + ", not a struct"}
	}
	t := &Table{
		Fields:             typ.Nested.Fields,
		PartitionColumns:   partitionColumns,
		Configuration:      configuration,
		StringPrefixLength: prefixLength(configuration[prefixLengthKey]),
	}
	for _, name := range partitionColumns {
		if _, err := t.Lookup(name); err != nil {
			return nil, &ParseError{Field: name, Message: "partition column", Err: err}
		}
	}
	return t, nil
}

// prefixLength is the number of characters from which a bound may be cut. A smaller setting may have been in force when
// a statistic was written, so the default caps the present one; an unreadable setting counts as the default.
func prefixLength(setting string) int {
	n, err := strconv.Atoi(strings.TrimSpace(setting))
	if err != nil || n < 0 {
		return defaultPrefixLength
	}
	return min(n, defaultPrefixLength)
}

type parser struct {
	mapped bool     // column mapping is on: fields have physical names
	path   []string // of the field being parsed
}

func (p *parser) fail(format string, args ...any) error {
	return &ParseError{Field: strings.Join(p.path, "."), Message: fmt.Sprintf(format, args...)}
}

// typ reads a type; f is the field whose metadata describes it, nil at the root.
func (p *parser) typ(v any, f *Field) (Type, error) {
	if len(p.path) > MaxDepth {
		return Type{}, p.fail("types nest more than %d deep", MaxDepth)
	}
	switch v := v.(type) {
	case string:
		return primitive(v), nil
	case map[string]any:
		switch v["type"] {
		case "struct":
			return p.structure(v)
		case "array":
			elem, err := p.element(v, "elementType", "element", f)
			return Type{Kind: Array, Nested: &Nested{Elem: elem}}, err
		case "map":
			key, err := p.element(v, "keyType", "key", f)
			if err != nil {
				return Type{}, err
			}
			elem, err := p.element(v, "valueType", "value", f)
			return Type{Kind: Map, Nested: &Nested{Key: key, Elem: elem}}, err
		}
		// Not a shape that we know, such as a user defined type: the reader cannot say what its values are.
		name, _ := v["type"].(string)
		return Type{Kind: Unknown, Nested: &Nested{Name: name}}, nil
	}
	return Type{}, p.fail("a type is a name or an object, not %s", jsonKind(v))
}

// element reads the type of an array's elements, a map's keys or its values.
func (p *parser) element(v map[string]any, key, name string, f *Field) (Type, error) {
	elem, ok := v[key]
	if !ok {
		return Type{}, p.fail("%s is missing", key)
	}
	p.path = append(p.path, name)
	defer func() { p.path = p.path[:len(p.path)-1] }()
	return p.typ(elem, f)
}

func (p *parser) structure(v map[string]any) (Type, error) {
	list, ok := v["fields"].([]any)
	if !ok {
		return Type{}, p.fail("a struct's fields are a list, not %s", jsonKind(v["fields"]))
	}
	fields := make([]*Field, len(list))
	for i, item := range list {
		f, err := p.field(item)
		if err != nil {
			return Type{}, err
		}
		fields[i] = f
	}
	return Type{Kind: Struct, Nested: &Nested{Fields: fields}}, nil
}

func (p *parser) field(v any) (*Field, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, p.fail("a field is an object, not %s", jsonKind(v))
	}
	name, ok := object["name"].(string)
	if !ok {
		return nil, p.fail("a field's name is a string, not %s", jsonKind(object["name"]))
	}
	p.path = append(p.path, name)
	defer func() { p.path = p.path[:len(p.path)-1] }()

	f := &Field{Name: name, PhysicalName: name, Nullable: true}
	if nullable, ok := object["nullable"].(bool); ok {
		f.Nullable = nullable
	}
	f.Metadata, _ = object["metadata"].(map[string]any)
	var err error
	if f.Type, err = p.typ(object["type"], f); err != nil {
		return nil, err
	}
	if p.mapped {
		// A mapped table whose field has no physical name breaks the protocol; a guess would read another column.
		if f.PhysicalName, ok = f.Metadata[physicalNameKey].(string); !ok {
			return nil, p.fail("%s is missing though column mapping is on", physicalNameKey)
		}
		f.ID = metadataInt(f.Metadata[fieldIDKey])
	}
	if spelled, ok := f.Metadata[charVarcharKey].(string); ok {
		f.applyCharVarchar(spelled)
	} else if spelled, ok := object["type"].(string); ok {
		f.applyCharVarchar(spelled)
	}
	f.applyCollations()
	f.TypeChanges = p.typeChanges(f.Metadata[typeChangesKey])
	return f, nil
}

// applyCharVarchar sets Char or Varchar of a string field that is spelled char(n) or varchar(n).
func (f *Field) applyCharVarchar(spelled string) {
	name, args, _ := strings.Cut(strings.ToLower(strings.TrimSpace(spelled)), "(")
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(args, ")")))
	if err != nil || n < 1 || f.Type.Kind != String {
		return // char or varchar inside an array or a map: its values are not compared as a column
	}
	switch strings.TrimSpace(name) {
	case "char", "character":
		f.Char = n
	case "varchar":
		f.Varchar = n
	}
}

// applyCollations gives the strings inside f the collations that its metadata lists by path, such as
// {"c": "spark.UTF8_LCASE", "c.element": "icu.UNICODE"}.
func (f *Field) applyCollations() {
	collations, ok := f.Metadata[collationsKey].(map[string]any)
	if !ok {
		return
	}
	for path, v := range collations {
		provided, _ := v.(string)
		t := &f.Type
		rest, ok := strings.CutPrefix(path, f.Name)
		for ok && rest != "" {
			switch {
			case strings.HasPrefix(rest, ".element") && t.Kind == Array:
				rest, t = rest[len(".element"):], &t.Nested.Elem
			case strings.HasPrefix(rest, ".key") && t.Kind == Map:
				rest, t = rest[len(".key"):], &t.Nested.Key
			case strings.HasPrefix(rest, ".value") && t.Kind == Map:
				rest, t = rest[len(".value"):], &t.Nested.Elem
			default:
				ok = false
			}
		}
		if ok && t.Kind == String {
			t.Collation = collationName(provided)
		}
	}
}

// collationName drops the provider of "icu.UNICODE_CI" and the version of "icu.UNICODE_CI.75.1". The default
// collation is the empty name; one that is not readable stays a name, so that the column counts as collated.
func collationName(provided string) string {
	name := provided
	if provider, rest, ok := strings.Cut(provided, "."); ok && (provider == "spark" || provider == "icu") {
		name, _, _ = strings.Cut(rest, ".")
	}
	switch name {
	case "UTF8_BINARY":
		return ""
	case "":
		return "UNKNOWN"
	}
	return name
}

// typeChanges reads the history of type widening. What cannot be read becomes a change from and to an unknown type, which makes
// statistics ineligible: they may be in a type that we did not understand.
func (p *parser) typeChanges(v any) []TypeChange {
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return []TypeChange{{From: primitive(""), To: primitive(""), Version: -1}}
	}
	changes := make([]TypeChange, len(list))
	for i, item := range list {
		object, _ := item.(map[string]any)
		from, _ := object["fromType"].(string)
		to, _ := object["toType"].(string)
		path, _ := object["fieldPath"].(string)
		changes[i] = TypeChange{From: primitive(from), To: primitive(to), Path: path, Version: -1}
		if n, ok := object["tableVersion"].(json.Number); ok {
			if version, err := n.Int64(); err == nil {
				changes[i].Version = version
			}
		}
	}
	return changes
}

func metadataInt(v any) int {
	n, ok := v.(json.Number)
	if !ok {
		return 0
	}
	i, err := n.Int64()
	if err != nil || i < 0 || i > math.MaxInt32 {
		return 0
	}
	return int(i)
}

func jsonKind(v any) string {
	switch v.(type) {
	case nil:
		return "missing"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a boolean"
	case []any:
		return "a list"
	}
	return "an object"
}

// primitive reads a type's name as schema strings spell it ("long", "decimal(10,2)").
func primitive(name string) Type {
	switch name {
	case "long":
		return Type{Kind: Long}
	case "integer":
		return Type{Kind: Integer}
	case "short":
		return Type{Kind: Short}
	case "byte":
		return Type{Kind: Byte}
	}
	if t, err := ParseType(name); err == nil && !strings.Contains(name, "<") {
		return t
	}
	// A name of the future, or a shape that only DDL spells this way.
	return Type{Kind: Unknown, Nested: &Nested{Name: name}}
}
