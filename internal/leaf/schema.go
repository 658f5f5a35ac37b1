package leaf

import "strings"

// A Physical is a parquet physical type, numbered as in parquet.thrift.
type Physical uint8

// The physical types.
const (
	Boolean Physical = iota
	Int32
	Int64
	Int96
	Float
	Double
	ByteArray
	FixedLenByteArray
)

// A Logical says what a value of a physical type means.
type Logical uint8

// The logical types; Plain is the absence of one. UnknownLogical has one that this package does not know.
const (
	Plain Logical = iota
	String
	Enum
	JSON
	Date
	TimeOfDay
	TimestampMillis
	TimestampMicros
	TimestampNanos
	Decimal
	Signed
	Unsigned
	List
	Map
	UnknownLogical
)

// A Node is a group or a leaf of a file's schema.
type Node struct {
	Name     string
	Parent   *Node // nil for the root
	Children []*Node
	Leaf     int   // position among the file's leaves; -1 for a group
	FieldID  int64 // by which column mapping finds a column; -1 when the file gives none

	// Def is the definition level from which on an entry has a value of this node, and Rep the repetition level at which
	// its innermost repeated ancestor (or the node itself) goes on. Optional and Repeated are the node's own.
	Def, Rep           uint8
	Optional, Repeated bool

	Physical         Physical // leaves only, as what follows
	Width            int      // bytes of a FixedLenByteArray
	Logical          Logical  // groups: List, Map or Plain
	Precision, Scale int      // Decimal
	UTC              bool     // timestamps: an instant, not a wall clock's reading
}

// Child returns the child of that name, or nil; a nil node has none. Names are compared exactly.
func (n *Node) Child(name string) *Node {
	if n == nil {
		return nil
	}
	for _, c := range n.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Find returns the node below n that the names lead to, or nil.
func (n *Node) Find(path ...string) *Node {
	for _, name := range path {
		n = n.Child(name)
	}
	return n
}

// FlatLeaf reports that n is a leaf with one entry a row.
func (n *Node) FlatLeaf() bool { return n != nil && n.Leaf >= 0 && n.Rep == 0 }

// String returns the names from the root, joined by dots.
func (n *Node) String() string {
	if n.Parent == nil {
		return ""
	}
	if n.Parent.Parent == nil {
		return n.Name
	}
	var b strings.Builder
	b.WriteString(n.Parent.String())
	b.WriteByte('.')
	b.WriteString(n.Name)
	return b.String()
}

// A schemaElement is parquet.thrift's SchemaElement, a node of the schema's depth-first list.
type schemaElement struct {
	node     Node
	children int64
	typed    bool
}

func (w *wire) schemaElement() schemaElement {
	e := schemaElement{node: Node{Leaf: -1}}
	var physical, width, repetition, scale, precision int64
	converted, fieldID := int64(-1), int64(-1)
	var name []byte
	logical := Plain
	var hasLogical bool
	w.structField(wireStruct, func(id int16, t wireType) {
		switch id {
		case 1:
			w.intField(t, &physical)
			e.typed = true
		case 2:
			w.intField(t, &width)
		case 3:
			w.intField(t, &repetition)
		case 4:
			w.bytesField(t, &name)
		case 5:
			w.intField(t, &e.children)
		case 6:
			w.intField(t, &converted)
		case 7:
			w.intField(t, &scale)
		case 8:
			w.intField(t, &precision)
		case 9:
			w.intField(t, &fieldID)
		case 10:
			logical = w.logicalType(t, &e.node, &scale, &precision)
			hasLogical = true
		default:
			w.skip(t, 0)
		}
	})
	if !hasLogical {
		logical = convertedType(converted, &e.node)
	}
	if e.typed && (physical < 0 || physical > int64(FixedLenByteArray)) {
		w.fail(corrupt("physical type %d", physical))
	}
	if width < 0 || width > 1<<20 {
		w.fail(corrupt("values of %d bytes", width))
	}
	if logical == Decimal && (precision < 1 || scale < 0 || scale > precision) {
		w.fail(corrupt("a decimal of %d digits, %d of them after the point", precision, scale))
	}
	n := &e.node
	n.Name, n.FieldID = string(name), fieldID
	n.Physical, n.Width, n.Logical = Physical(physical), int(width), logical
	n.Precision, n.Scale = int(min(precision, 1<<20)), int(min(scale, 1<<20))
	n.Optional, n.Repeated = repetition == 1, repetition == 2
	return e
}

// logicalType reads the union LogicalType.
func (w *wire) logicalType(t wireType, n *Node, scale, precision *int64) Logical {
	logical := UnknownLogical
	w.structField(t, func(id int16, t wireType) {
		switch id {
		case 1:
			logical = String
		case 2:
			logical = Map
		case 3:
			logical = List
		case 4:
			logical = Enum
		case 5:
			logical = Decimal
			w.structField(t, func(id int16, t wireType) {
				switch id {
				case 1:
					w.intField(t, scale)
				case 2:
					w.intField(t, precision)
				default:
					w.skip(t, 0)
				}
			})
			return
		case 6:
			logical = Date
		case 7:
			logical = TimeOfDay
		case 8:
			w.structField(t, func(id int16, t wireType) {
				switch id {
				case 1:
					n.UTC = t == wireTrue
					w.skip(t, 0)
				case 2:
					w.structField(t, func(id int16, t wireType) {
						if id >= 1 && id <= 3 {
							logical = TimestampMillis + Logical(id-1)
						}
						w.skip(t, 0)
					})
				default:
					w.skip(t, 0)
				}
			})
			return
		case 10:
			logical = Unsigned
			w.structField(t, func(id int16, t wireType) {
				if id == 2 && t == wireTrue {
					logical = Signed
				}
				w.skip(t, 0)
			})
			return
		case 12:
			logical = JSON
		}
		w.skip(t, 0)
	})
	return logical
}

// convertedType translates the older annotation.
func convertedType(converted int64, n *Node) Logical {
	switch converted {
	case -1:
		return Plain
	case 0:
		return String
	case 1, 2: // MAP_KEY_VALUE was used for MAP
		return Map
	case 3:
		return List
	case 4:
		return Enum
	case 5:
		return Decimal
	case 6:
		return Date
	case 7, 8:
		return TimeOfDay
	case 9:
		n.UTC = true
		return TimestampMillis
	case 10:
		n.UTC = true
		return TimestampMicros
	case 11, 12, 13, 14:
		return Unsigned
	case 15, 16, 17, 18:
		return Signed
	case 19:
		return JSON
	}
	return UnknownLogical
}

// buildSchema makes the tree of a depth-first list and returns its root and leaves.
func buildSchema(elements []schemaElement) (root *Node, leaves []*Node, err error) {
	if len(elements) == 0 {
		return nil, nil, corrupt("no schema")
	}
	next := 0
	var build func(parent *Node, depth int) (*Node, error)
	build = func(parent *Node, depth int) (*Node, error) {
		if next == len(elements) {
			return nil, corrupt("the schema ends early")
		}
		if depth > maxDepth {
			return nil, corrupt("a schema deeper than %d", maxDepth)
		}
		e := &elements[next]
		next++
		n := &e.node
		n.Parent = parent
		if parent != nil {
			n.Def, n.Rep = parent.Def, parent.Rep
			if n.Optional || n.Repeated {
				n.Def++
			}
			if n.Repeated {
				n.Rep++
			}
		}
		if e.children == 0 && parent != nil {
			if !e.typed {
				return nil, corrupt("leaf %s has no type", n)
			}
			n.Leaf = len(leaves)
			leaves = append(leaves, n)
			return n, nil
		}
		for i := int64(0); i < e.children; i++ {
			c, err := build(n, depth+1)
			if err != nil {
				return nil, err
			}
			n.Children = append(n.Children, c)
		}
		return n, nil
	}
	if root, err = build(nil, 0); err != nil {
		return nil, nil, err
	}
	if next != len(elements) {
		return nil, nil, corrupt("the schema has more elements than its root says")
	}
	return root, leaves, nil
}
