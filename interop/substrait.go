package interop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// Only the messages of Substrait are taken from a library (substrait-protobuf, which needs protobuf alone): its types and
// functions in substrait-go would bring the YAML of all extensions for the dozen functions that mean something here.

// FromSubstrait reads a predicate from a serialized Substrait ExtendedExpression with one boolean expression, such as
// PyArrow's Expression.to_substrait(schema) gives. Columns are found by the names of its schema, in any case.
//
// Understood are comparisons of a column with a literal or another column, and, or, not, is_null, is_not_null, between,
// starts_with, and lists of options, over booleans, integers, floats, decimals, strings, dates and timestamps. All else is
// opaque. The error matches [ErrMalformed], or is about a column.
func FromSubstrait(data []byte, t *schema.Table) (predicate.Expr, error) {
	n, err := substraitNode(data, t)
	var lookup *lookupError
	switch {
	case errors.As(err, &lookup):
		return nil, lookup.err
	case err != nil:
		return nil, &MalformedError{Format: "Substrait", Err: err}
	}
	return n.mayHold(), nil
}

func substraitNode(data []byte, t *schema.Table) (*node, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%d bytes, more than %d", len(data), MaxBytes)
	}
	var message substraitpb.ExtendedExpression
	if err := (proto.UnmarshalOptions{RecursionLimit: 4 * maxDepth}).Unmarshal(data, &message); err != nil {
		return nil, err
	}
	if n := len(message.GetReferredExpr()); n != 1 {
		return nil, fmt.Errorf("%d expressions, want one", n)
	}
	root := message.ReferredExpr[0].GetExpression()
	if root == nil {
		return nil, errors.New("no scalar expression")
	}
	calls, err := functions(&message)
	if err != nil {
		return nil, err
	}
	s := substrait{table: t, names: message.GetBaseSchema().GetNames(), functions: calls}
	s.fields(message.GetBaseSchema().GetStruct())
	if s.err != nil {
		return nil, s.err
	}
	if len(s.names) > 0 {
		return nil, fmt.Errorf("the schema has %d more names than fields", len(s.names))
	}
	n := s.node(root, 0)
	return n, s.err
}

// functions are the names of those that Substrait itself defines, by anchor. Another extension may call anything "equal".
// PyArrow names extensions by URI still, which the messages no longer have: these fields are among the unknown ones.
func functions(m *substraitpb.ExtendedExpression) (map[uint32]string, error) {
	own := map[string]bool{} // by what names the extension, urn or uri, and its anchor
	for _, u := range m.GetExtensionUrns() {
		own[fmt.Sprint("urn", u.GetExtensionUrnAnchor())] = strings.HasPrefix(u.GetUrn(), "extension:io.substrait:functions_")
	}
	err := unknownFields(m, 1, func(field []byte) error { // SimpleExtensionURI: anchor = 1, uri = 2
		var anchor uint64
		var uri string
		err := eachField(field, func(n protowire.Number, number uint64, text []byte) {
			switch n {
			case 1:
				anchor = number
			case 2:
				uri = string(text)
			}
		})
		own[fmt.Sprint("uri", uint32(anchor))] = strings.HasPrefix(uri, "https://github.com/substrait-io/substrait/blob/main/extensions/functions_")
		return err
	})
	if err != nil {
		return nil, err
	}
	names := map[uint32]string{}
	for _, e := range m.GetExtensions() {
		f := e.GetExtensionFunction()
		if f == nil {
			continue
		}
		extension := fmt.Sprint("urn", f.GetExtensionUrnReference())
		if f.GetExtensionUrnReference() == 0 && len(m.GetExtensionUrns()) == 0 {
			var reference uint64 // extension_uri_reference = 1
			if err := eachField(f.ProtoReflect().GetUnknown(), func(n protowire.Number, number uint64, _ []byte) {
				if n == 1 {
					reference = number
				}
			}); err != nil {
				return nil, err
			}
			extension = fmt.Sprint("uri", uint32(reference))
		}
		name, _, _ := strings.Cut(f.GetName(), ":") // of a signature such as lt:any_any
		if !own[extension] {
			name = "another extension's " + name
		}
		if _, twice := names[f.GetFunctionAnchor()]; twice {
			return nil, fmt.Errorf("function %d is declared twice", f.GetFunctionAnchor())
		}
		names[f.GetFunctionAnchor()] = name
	}
	return names, nil
}

// unknownFields calls fn with the bytes of every unknown field of a message that has the given number.
func unknownFields(m proto.Message, number protowire.Number, fn func([]byte) error) (err error) {
	failed := eachField(m.ProtoReflect().GetUnknown(), func(n protowire.Number, _ uint64, text []byte) {
		if n == number && err == nil {
			err = fn(text)
		}
	})
	return errors.Join(failed, err)
}

// eachField calls fn with the varints and bytes of a message.
func eachField(b []byte, fn func(n protowire.Number, number uint64, text []byte)) error {
	for len(b) > 0 {
		n, t, size := protowire.ConsumeTag(b)
		if size < 0 {
			return protowire.ParseError(size)
		}
		b = b[size:]
		var number uint64
		var text []byte
		switch t {
		case protowire.VarintType:
			number, size = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			text, size = protowire.ConsumeBytes(b)
		default:
			size = protowire.ConsumeFieldValue(n, t, b)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		fn(n, number, text)
		b = b[size:]
	}
	return nil
}

type substrait struct {
	table     *schema.Table
	names     []string // of the schema that are left: depth first, those of structs in front of those of their members
	functions map[uint32]string
	columns   [][]string // the top-level fields' paths; those below are opaque
	err       error      // the first; about the message, or a *lookupError
}

// fields gives the schema's names to its fields.
func (s *substrait) fields(root *substraitpb.Type_Struct) {
	for _, t := range root.GetTypes() {
		if len(s.names) == 0 {
			s.fail(errors.New("the schema has fewer names than fields"))
			return
		}
		s.columns = append(s.columns, s.names[:1])
		s.skip(t, 0)
	}
}

// skip passes over the names of a field and of those below it.
func (s *substrait) skip(t *substraitpb.Type, depth int) {
	if len(s.names) > 0 && depth == 0 {
		s.names = s.names[1:]
	}
	if depth > maxDepth {
		return
	}
	for _, member := range t.GetStruct().GetTypes() {
		if len(s.names) > 0 {
			s.names = s.names[1:]
		}
		s.skip(member, depth+1)
	}
	if l := t.GetList(); l != nil {
		s.skip(l.GetType(), depth+1)
	}
	if m := t.GetMap(); m != nil {
		s.skip(m.GetKey(), depth+1)
		s.skip(m.GetValue(), depth+1)
	}
}

func (s *substrait) fail(err error) *node {
	if s.err == nil {
		s.err = err
	}
	return opaque("", "")
}

var substraitOps = map[string]predicate.CompareOp{
	"equal": predicate.EQ, "not_equal": predicate.NE, "lt": predicate.LT, "lte": predicate.LE, "gt": predicate.GT, "gte": predicate.GE,
}

// mirrored is the operator with its sides exchanged.
var mirrored = map[predicate.CompareOp]predicate.CompareOp{
	predicate.EQ: predicate.EQ, predicate.NE: predicate.NE, predicate.LT: predicate.GT,
	predicate.GT: predicate.LT, predicate.LE: predicate.GE, predicate.GE: predicate.LE,
}

func (s *substrait) node(e *substraitpb.Expression, depth int) *node {
	if depth > maxDepth {
		return s.fail(fmt.Errorf("nested more than %d deep", maxDepth))
	}
	if f := e.GetScalarFunction(); f != nil {
		return s.function(f, depth)
	}
	if l := e.GetSingularOrList(); l != nil {
		return s.options(l)
	}
	if l := e.GetLiteral(); l != nil {
		if b, ok := l.GetLiteralType().(*substraitpb.Expression_Literal_Boolean); ok && b.Boolean {
			return &node{kind: always}
		} else if ok {
			return &node{kind: never}
		}
		return opaque("a literal", "a literal that is no boolean")
	}
	if c := s.column(e); c != nil && c.Type.Kind == schema.Boolean {
		return comparison(predicate.EQ, c, predicate.BoolOf(true))
	}
	return opaque("an expression", "of Substrait's expressions only functions, lists of options, columns and literals are known here")
}

// function is a call. A name or a number of arguments that is not known makes it opaque.
func (s *substrait) function(f *substraitpb.Expression_ScalarFunction, depth int) *node {
	name, ok := s.functions[f.GetFunctionReference()]
	if !ok {
		return s.fail(fmt.Errorf("function %d is not declared", f.GetFunctionReference()))
	}
	var args []*substraitpb.Expression
	for _, a := range f.GetArguments() {
		if a.GetValue() == nil {
			return opaque(name+"(…)", "an argument that is no expression")
		}
		args = append(args, a.GetValue())
	}
	if n, ok := s.junction(name, args, depth); ok {
		return n
	}
	op, isComparison := substraitOps[name]
	switch {
	case isComparison && len(args) == 2:
		return s.comparison(op, args[0], args[1])
	case name == "between" && len(args) == 3:
		return &node{kind: and, args: []*node{s.comparison(predicate.GE, args[0], args[1]), s.comparison(predicate.LE, args[0], args[2])}}
	case name == "is_null" && len(args) == 1, name == "is_not_null" && len(args) == 1:
		c := s.column(args[0])
		if c == nil {
			return opaque(name+"(…)", "its argument is no column")
		}
		if n := (&node{kind: isNull, left: c}); name == "is_null" {
			return n
		} else {
			return &node{kind: not, args: []*node{n}}
		}
	case name == "starts_with" && len(args) == 2 && !insensitive(f):
		c := s.column(args[0])
		if v, ok := value(args[1].GetLiteral()); ok && c != nil {
			return prefixed(c, v)
		}
	}
	return opaque(name+"(…)", "the function "+name+" of these arguments is not known here")
}

func (s *substrait) junction(name string, args []*substraitpb.Expression, depth int) (*node, bool) {
	k, ok := map[string]kind{"and": and, "or": or, "not": not}[name]
	if !ok || len(args) == 0 || k == not && len(args) != 1 {
		return nil, false
	}
	n := &node{kind: k}
	for _, a := range args {
		n.args = append(n.args, s.node(a, depth+1))
	}
	return n, true
}

// insensitive says whether an option may make a function of strings ignore their case.
func insensitive(f *substraitpb.Expression_ScalarFunction) bool {
	for _, o := range f.GetOptions() {
		if len(o.GetPreference()) != 1 || o.GetPreference()[0] != "CASE_SENSITIVE" {
			return true
		}
	}
	return false
}

func (s *substrait) comparison(op predicate.CompareOp, l, r *substraitpb.Expression) *node {
	left, right := s.column(l), s.column(r)
	switch {
	case left != nil && right != nil:
		if reason := incomparable(left, right.Type); reason != "" || incomparable(right, left.Type) != "" {
			return opaque(fmt.Sprintf("%s %s %s", left, op, right), reason+incomparable(right, left.Type))
		}
		return &node{kind: compare, op: op, left: left, right: right}
	case left != nil:
		if v, ok := value(r.GetLiteral()); ok {
			return comparison(op, left, v)
		}
	case right != nil:
		if v, ok := value(l.GetLiteral()); ok {
			return comparison(mirrored[op], right, v)
		}
	}
	return opaque("a comparison", "not of a column with a literal or a column")
}

// options is a SingularOrList.
func (s *substrait) options(l *substraitpb.Expression_SingularOrList) *node {
	c := s.column(l.GetValue())
	if c == nil {
		return opaque("a list of options", "not for a column")
	}
	var values []predicate.Value
	for _, o := range l.GetOptions() {
		v, ok := value(o.GetLiteral())
		if !ok {
			return opaque(c.String()+" IN (…)", "an option that is no literal")
		}
		values = append(values, v)
	}
	return membership(c, values)
}

// column is the table's column that e is a plain reference to, or a wider integer made of one, which is the same number.
func (s *substrait) column(e *substraitpb.Expression) *schema.Column {
	if cast := e.GetCast(); cast != nil {
		c := s.column(cast.GetInput())
		if c == nil || class(c.Type.Kind) != class(schema.Long) {
			return nil
		}
		bits := map[bool]int{cast.GetType().GetI16() != nil: 2, cast.GetType().GetI32() != nil: 3, cast.GetType().GetI64() != nil: 4}[true]
		have := map[schema.Kind]int{schema.Byte: 1, schema.Short: 2, schema.Integer: 3, schema.Long: 4}[c.Type.Kind]
		if bits < have {
			return nil
		}
		return c
	}
	f := e.GetSelection()
	field := f.GetDirectReference().GetStructField()
	if f.GetRootReference() == nil || field == nil || field.GetChild() != nil {
		return nil
	}
	i := int(field.GetField())
	if i < 0 || i >= len(s.columns) {
		s.fail(fmt.Errorf("field %d of a schema with %d", i, len(s.columns)))
		return nil
	}
	c, err := s.table.Lookup(s.columns[i]...)
	if err != nil {
		s.fail(&lookupError{err})
		return nil
	}
	return c
}

// value is that of a literal, as far as it is one of the types that compare.
func value(l *substraitpb.Expression_Literal) (v predicate.Value, ok bool) {
	if l == nil || l.GetTypeVariationReference() != 0 {
		return v, false
	}
	switch x := l.GetLiteralType().(type) {
	case *substraitpb.Expression_Literal_Boolean:
		return predicate.BoolOf(x.Boolean), true
	case *substraitpb.Expression_Literal_I8:
		return predicate.IntOf(schema.Long, int64(x.I8)), true
	case *substraitpb.Expression_Literal_I16:
		return predicate.IntOf(schema.Long, int64(x.I16)), true
	case *substraitpb.Expression_Literal_I32:
		return predicate.IntOf(schema.Long, int64(x.I32)), true
	case *substraitpb.Expression_Literal_I64:
		return predicate.IntOf(schema.Long, x.I64), true
	case *substraitpb.Expression_Literal_Fp32:
		return predicate.FloatOf(schema.Double, float64(x.Fp32)), !math.IsNaN(float64(x.Fp32))
	case *substraitpb.Expression_Literal_Fp64:
		return predicate.FloatOf(schema.Double, x.Fp64), !math.IsNaN(x.Fp64)
	case *substraitpb.Expression_Literal_String_:
		return predicate.StringOf(x.String_), true
	case *substraitpb.Expression_Literal_Date:
		return predicate.IntOf(schema.Date, int64(x.Date)), true
	case *substraitpb.Expression_Literal_Timestamp:
		//lint:ignore SA1019 PyArrow writes it
		return predicate.IntOf(schema.TimestampNTZ, x.Timestamp), true
	case *substraitpb.Expression_Literal_TimestampTz:
		//lint:ignore SA1019 PyArrow writes it
		return predicate.IntOf(schema.Timestamp, x.TimestampTz), true
	case *substraitpb.Expression_Literal_PrecisionTimestamp_:
		micros, ok := micros(x.PrecisionTimestamp)
		return predicate.IntOf(schema.TimestampNTZ, micros), ok
	case *substraitpb.Expression_Literal_PrecisionTimestampTz:
		micros, ok := micros(x.PrecisionTimestampTz)
		return predicate.IntOf(schema.Timestamp, micros), ok
	case *substraitpb.Expression_Literal_Decimal_:
		return decimalLiteral(x.Decimal)
	}
	return v, false
}

// micros converts to microseconds what they can say exactly.
func micros(t *substraitpb.Expression_Literal_PrecisionTimestamp) (int64, bool) {
	v := t.GetValue()
	switch t.GetPrecision() {
	case 0:
		return v * 1_000_000, v > math.MinInt64/1_000_000 && v < math.MaxInt64/1_000_000
	case 3:
		return v * 1000, v > math.MinInt64/1000 && v < math.MaxInt64/1000
	case 6:
		return v, true
	case 9:
		return v / 1000, v%1000 == 0
	}
	return 0, false
}

func decimalLiteral(d *substraitpb.Expression_Literal_Decimal) (v predicate.Value, ok bool) {
	p, scale := d.GetPrecision(), d.GetScale()
	if len(d.GetValue()) != 16 || p < 1 || p > 38 || scale < 0 || scale > p {
		return v, false
	}
	n := decimal128.New(int64(binary.LittleEndian.Uint64(d.Value[8:])), binary.LittleEndian.Uint64(d.Value))
	// What it claims to be it must be.
	if !n.FitsInPrecision(p) {
		return v, false
	}
	return predicate.DecimalOf(n, uint8(p), uint8(scale)), true
}
