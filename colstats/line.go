package colstats

import "fmt"

// A LineKind says which action a line of a commit holds.
type LineKind uint8

// The kinds of lines. OtherLine is an action that this version does not know, or none at all.
const (
	OtherLine LineKind = iota
	AddLine
	RemoveLine
	CDCLine
	MetadataLine
	ProtocolLine
	TxnLine
	DomainMetadataLine
	CommitInfoLine
	CheckpointMetadataLine
	SidecarLine
)

// A Line is what replaying a log needs to know of one line of a commit, found in a single walk. The slices belong to the
// line's text or to the Line itself: they are good until the next Scan and as long as the text is.
type Line struct {
	Kind       LineKind
	Path       []byte // of an add, remove or cdc: JSON escapes resolved, percent escapes not
	DataChange bool   // of an add or remove: dataChange is there and true

	// DeletionVector is the unique id of an add's or remove's deletion vector (protocol, "Deletion Vector Descriptor
	// Schema": storageType, pathOrInlineDv, and @offset where there is one); empty without a vector.
	DeletionVector []byte
}

// Scan reads one line. The whole line must be one JSON object in UTF-8, else a *SyntaxError says where it isn't.
func (l *Line) Scan(text []byte) error { panic("TODO") }

// A SyntaxError says where a line is not what the protocol wants of an action.
type SyntaxError struct {
	Offset  int // in bytes from the start of the line
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("colstats: invalid action at byte %d: %s", e.Offset, e.Message)
}
