package action

import "strconv"

// An Action is one of the pointer types of this package. The set is closed; what the protocol adds later is [Unknown].
type Action interface {
	// Name is the action's key in a commit file, such as "add".
	Name() string
	decode(*decoder)
	encode(*encoder)
	rest() *Rest
}

// A Field is a member of a JSON object that is kept as text.
type Field struct {
	Name  string
	Value []byte // valid JSON on one line
}

// Rest keeps what this package does not know about an action, so that it can be written back.
type Rest struct {
	Fields   []Field // members of the action
	Siblings []Field // members beside the action, in the object around it
}

func (r *Rest) rest() *Rest { return r }

// An Add makes a logical file part of the table, or replaces what is known of it.
type Add struct {
	Path             string             // as the log spells it: a URI, percent-encoded, relative to the table root or absolute
	PartitionValues  map[string]*string // by physical column name; nil is the null value
	Size             int64              // bytes
	ModificationTime int64              // milliseconds since 1970-01-01T00:00:00Z
	// DataChange is false when the commit only rearranges rows. A writer that leaves it out has not said so: true.
	DataChange              bool
	Stats                   string // JSON text, empty when there is none
	Tags                    map[string]*string
	DeletionVector          *DeletionVector
	BaseRowID               *int64
	DefaultRowCommitVersion *int64
	ClusteringProvider      *string
	Rest
}

// A Remove ends a logical file's part in the table. In a snapshot it is a tombstone.
type Remove struct {
	Path                    string             // as [Add.Path]
	DeletionTimestamp       *int64             // milliseconds since 1970-01-01T00:00:00Z
	DataChange              bool               // as [Add.DataChange]
	ExtendedFileMetadata    *bool              // PartitionValues and Size are there
	PartitionValues         map[string]*string // nil when absent
	Size                    *int64             // bytes
	Stats                   string             // JSON text, empty when there is none
	Tags                    map[string]*string
	DeletionVector          *DeletionVector
	BaseRowID               *int64
	DefaultRowCommitVersion *int64
	Rest
}

// A CDC names a file with the rows that a commit changed.
type CDC struct {
	Path            string             // as [Add.Path]
	PartitionValues map[string]*string // as [Add.PartitionValues]
	Size            int64              // bytes
	DataChange      bool               // always false, but kept as read
	Tags            map[string]*string
	Rest
}

// A Key identifies a logical file: a data file together with the rows that are deleted in it. It is comparable.
type Key struct {
	Path string // as the log spells it; see deltalog for when two spellings name one file
	DV   string // [DeletionVector.UniqueID], empty without one
}

// Key returns the identity of the file.
func (a *Add) Key() Key { return Key{Path: a.Path, DV: a.DeletionVector.UniqueID()} }

// Key returns the identity of the file.
func (r *Remove) Key() Key { return Key{Path: r.Path, DV: r.DeletionVector.UniqueID()} }

// A DeletionVector describes where the set of a file's deleted rows is stored. It marshals as the protocol spells it, without
// Fields. Source: Delta protocol, "Deletion Vector Descriptor Schema".
type DeletionVector struct {
	StorageType    string  `json:"storageType"`      // "u": relative path from a UUID, "p": absolute path, "i": inline
	PathOrInlineDV string  `json:"pathOrInlineDv"`   // by StorageType: an optional prefix and the Base85 of a UUID, a URI, the Base85 of the vector
	Offset         *int32  `json:"offset,omitempty"` // bytes into the file; absent for inline vectors
	SizeInBytes    int32   `json:"sizeInBytes"`      // of the vector, before Base85 where it is inline
	Cardinality    int64   `json:"cardinality"`      // rows deleted
	Fields         []Field `json:"-"`
}

// UniqueID returns the identity of the vector's contents that the protocol defines ("Derived Fields"), and the empty string
// for a nil descriptor.
func (d *DeletionVector) UniqueID() string {
	switch {
	case d == nil:
		return ""
	case d.Offset == nil:
		return d.StorageType + d.PathOrInlineDV
	}
	return d.StorageType + d.PathOrInlineDV + "@" + strconv.Itoa(int(*d.Offset))
}

// Metadata is the table's schema, partitioning and configuration from its version on.
type Metadata struct {
	ID               string
	TableName        *string
	Description      *string
	Format           Format
	SchemaString     string // JSON text; empty when absent, which some old tables are
	PartitionColumns []string
	Configuration    map[string]string
	CreatedTime      *int64 // milliseconds since 1970-01-01T00:00:00Z
	Rest
}

// A Format names the encoding of data files; "parquet" without options is the only one in use.
type Format struct {
	Provider string
	Options  map[string]string
	Fields   []Field
}

// A Protocol says what a client must implement to read or write the table.
type Protocol struct {
	MinReaderVersion int
	MinWriterVersion int
	ReaderFeatures   []string // nil when absent: reader versions below 3
	WriterFeatures   []string // nil when absent: writer versions below 7
	Rest
}

// A Txn records how far an application has come, so that it can be idempotent.
type Txn struct {
	AppID       string
	Version     int64
	LastUpdated *int64 // milliseconds since 1970-01-01T00:00:00Z
	Rest
}

// DomainMetadata is the configuration of a named domain, or its end.
type DomainMetadata struct {
	Domain        string
	Configuration string
	Removed       bool
	Rest
}

// A Sidecar names a file with some of a V2 checkpoint's file actions.
type Sidecar struct {
	Path             string // a URI, usually only a name, relative to _delta_log/_sidecars
	SizeInBytes      int64
	ModificationTime int64 // milliseconds since 1970-01-01T00:00:00Z
	Tags             map[string]*string
	Rest
}

// CheckpointMetadata says which version a V2 checkpoint describes.
type CheckpointMetadata struct {
	Version int64
	Tags    map[string]*string
	Rest
}

// Unknown is an action that this package has no type for. The protocol promises that it need not be understood.
type Unknown struct {
	Key  string
	Text []byte // valid JSON on one line
	Rest
}

func (*Add) Name() string                { return "add" }
func (*Remove) Name() string             { return "remove" }
func (*CDC) Name() string                { return "cdc" }
func (*Metadata) Name() string           { return "metaData" }
func (*Protocol) Name() string           { return "protocol" }
func (*Txn) Name() string                { return "txn" }
func (*DomainMetadata) Name() string     { return "domainMetadata" }
func (*CommitInfo) Name() string         { return "commitInfo" }
func (*Sidecar) Name() string            { return "sidecar" }
func (*CheckpointMetadata) Name() string { return "checkpointMetadata" }
func (u *Unknown) Name() string          { return u.Key }

// blank returns an empty action of the type that name asks for, with the defaults of absent fields, or nil.
func blank(name string) Action {
	switch name {
	case "add":
		return &Add{DataChange: true}
	case "remove":
		return &Remove{DataChange: true}
	case "cdc":
		return &CDC{}
	case "metaData":
		return &Metadata{}
	case "protocol":
		return &Protocol{}
	case "txn":
		return &Txn{}
	case "domainMetadata":
		return &DomainMetadata{}
	case "commitInfo":
		return &CommitInfo{}
	case "sidecar":
		return &Sidecar{}
	case "checkpointMetadata":
		return &CheckpointMetadata{}
	}
	return nil
}
