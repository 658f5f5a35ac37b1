package schema

import "sync"

// A Kind is the outermost shape of a [Type].
type Kind uint8

// The kinds of Delta types. The zero Kind is Invalid.
const (
	Invalid Kind = iota
	Boolean
	Byte    // 8-bit signed
	Short   // 16-bit signed
	Integer // 32-bit signed
	Long    // 64-bit signed
	Float   // IEEE 754 binary32
	Double  // IEEE 754 binary64
	Decimal // Precision up to 38 digits, Scale of them after the point
	String
	Binary
	Date         // days since 1970-01-01
	Timestamp    // an instant, microseconds since 1970-01-01T00:00:00Z
	TimestampNTZ // a wall clock reading, microseconds as if it were UTC
	Void
	Variant
	Interval
	Struct
	Array
	Map
	Unknown // a type name that this version does not know; never eligible for anything
)

// A Type is a Delta data type. Types are comparable with == except for nested ones, where == compares identity.
type Type struct {
	Kind      Kind
	Precision uint8  // Decimal only, 1 to 38
	Scale     uint8  // Decimal only, 0 to Precision
	Collation string // String only; empty is UTF8_BINARY, the only collation whose bounds are usable
	Nested    *Nested
}

// Nested holds what only Struct, Array, Map, Interval and Unknown types have.
type Nested struct {
	Fields []*Field // Struct
	Key    Type     // Map
	Elem   Type     // Array and Map
	Name   string   // Interval and Unknown: the type's name as the schema spells it
}

// A Field is one member of a struct, the table's root included.
type Field struct {
	Name         string // logical
	PhysicalName string // the key of statistics, partition values and parquet columns; Name without column mapping
	ID           int    // delta.columnMapping.id, 0 without
	Type         Type
	Nullable     bool
	Char         int // n of char(n), else 0; such values are padded when read
	Varchar      int // n of varchar(n), else 0
	TypeChanges  []TypeChange
	Metadata     map[string]any // as parsed; integers are json.Number
}

// A TypeChange records one step of type widening (Delta protocol, "Type Widening").
type TypeChange struct {
	From, To Type
	Path     string // "", "key", "element", …: which part of a nested type changed
	Version  int64  // tableVersion of older writers; -1 when absent
}

// A Table is what binding a predicate and reading statistics need to know of a table's metaData action.
type Table struct {
	Fields           []*Field
	PartitionColumns []string          // logical names, in the order of metaData
	Configuration    map[string]string // metaData.configuration
	// StringPrefixLength is the length in characters from which a string bound may be cut:
	// delta.dataSkippingStringPrefixLength where that is smaller, else 32.
	StringPrefixLength int

	mu      sync.Mutex // guards columns
	columns map[columnKey]*Column
}

// A Column is a field found by its path from the root. One Table yields one *Column per path, so pointers compare.
type Column struct {
	Path      []string // logical names as the schema spells them
	Physical  []string // physical names, the keys into statistics
	Type      Type
	Field     *Field
	Partition bool // a partition column: always at the root
	Nullable  bool // false only when the field and every parent is declared NOT NULL
}
