package colstats

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

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

func kindOf(key []byte) LineKind {
	switch string(key) {
	case "add":
		return AddLine
	case "remove":
		return RemoveLine
	case "cdc":
		return CDCLine
	case "metaData":
		return MetadataLine
	case "protocol":
		return ProtocolLine
	case "txn":
		return TxnLine
	case "domainMetadata":
		return DomainMetadataLine
	case "commitInfo":
		return CommitInfoLine
	case "checkpointMetadata":
		return CheckpointMetadataLine
	case "sidecar":
		return SidecarLine
	}
	return OtherLine
}

// maxPathBytes bounds a path, so that a batch of them fits an Arrow array. It is far beyond what stores allow.
const maxPathBytes = 16 << 10

// A Line is what replaying a log needs to know of one line of a commit, found in a single walk. The slices belong to the
// line's text or to the Line itself: they are good until the next Scan and as long as the text is.
type Line struct {
	Kind       LineKind
	Path       []byte // of an add, remove or cdc: JSON escapes resolved, percent escapes not
	DataChange bool   // of an add or remove: dataChange is there and true

	// DeletionVector is the unique id of an add's or remove's deletion vector (protocol, "Deletion Vector Descriptor
	// Schema": storageType, pathOrInlineDv, and @offset where there is one); empty without a vector.
	DeletionVector []byte

	path, vector, token []byte // scratch
	problem             string // what is wrong with a line that is JSON
}

// Scan reads one line. The line must be white space, or one JSON object in UTF-8 with one action; else a *SyntaxError
// says where it isn't.
func (l *Line) Scan(text []byte) error { return l.scan(text, nil) }

// scan reads one line, and the statistics and partition values of an add into the current row of r, if there is one.
func (l *Line) scan(text []byte, r *reader) error {
	l.Kind, l.Path, l.DataChange, l.DeletionVector, l.problem = OtherLine, nil, false, nil, ""
	i := space(text, 0, plain)
	if i == len(text) {
		return nil
	}
	i = members(text, i, plain, &l.token, func(key []byte, i int) int {
		kind := kindOf(key)
		switch c := at(text, i); {
		case kind == OtherLine || c == 'n': // null stands for an action that isn't there
			return value(text, i, plain, maxDepth-1)
		case c != '{':
			return l.fail(i, "an action that is not an object")
		case l.Kind != OtherLine:
			return l.fail(i, "a second action")
		}
		if l.Kind = kind; kind > CDCLine {
			return nested(text, i, plain, maxDepth-1)
		}
		end := l.file(text, i, r)
		if end >= 0 && l.Path == nil {
			return l.fail(i, "an action without a path")
		}
		return end
	})
	if i >= 0 {
		if i = space(text, i, plain); i == len(text) {
			return nil
		}
		i = ^i
	}
	l.Kind = OtherLine
	return &SyntaxError{Offset: ^i, Message: l.complaint(text, ^i)}
}

func (l *Line) fail(i int, problem string) int {
	l.problem = problem
	return ^i
}

func (l *Line) complaint(text []byte, i int) string {
	if l.problem != "" {
		return l.problem
	}
	if i >= len(text) {
		return "unexpected end"
	}
	c, _ := utf8.DecodeRune(text[i:])
	if c == utf8.RuneError {
		return "invalid UTF-8"
	}
	return fmt.Sprintf("unexpected %q", c)
}

// file reads an add, remove or cdc that starts at i.
func (l *Line) file(s []byte, i int, r *reader) int {
	if l.Kind != AddLine {
		r = nil
	}
	statistics, partitionValues := 0, 0
	end := members(s, i, plain, &l.token, func(key []byte, i int) int {
		c := at(s, i)
		switch string(key) {
		case "path":
			end := l.text(s, i, &l.Path, &l.path)
			if end >= 0 && len(l.Path) > maxPathBytes {
				return l.fail(i, "a path that is too long")
			}
			return end
		case "dataChange":
			end := value(s, i, plain, maxDepth-2)
			l.DataChange = end >= 0 && c == 't'
			return end
		case "deletionVector":
			if l.DeletionVector = nil; c != 'n' {
				return l.deletionVector(s, i)
			}
		case "stats":
			if statistics++; r != nil && c == '"' {
				return r.escapedStatistics(s, i)
			}
		case "partitionValues":
			if partitionValues++; r != nil && c == '{' {
				return r.partitionValues(s, i)
			}
		}
		return value(s, i, plain, maxDepth-2)
	})
	// Readers disagree on which one counts when a key comes twice.
	if r != nil && statistics > 1 {
		r.forget(false)
	}
	if r != nil && partitionValues > 1 {
		r.forget(true)
	}
	return end
}

// text reads a string at i whose characters matter to what an action means.
func (l *Line) text(s []byte, i int, to, scratch *[]byte) int {
	if at(s, i) != '"' {
		return l.fail(i, "expected a string")
	}
	end, plainText := stringAt(s, i, plain)
	if end < 0 {
		return end
	}
	*to = s[i+1 : end-1]
	if !plainText {
		broken := false
		if *scratch, broken = unescape((*scratch)[:0], *to); broken {
			return l.fail(i, "half a surrogate pair")
		}
		*to = *scratch
	}
	return end
}

// deletionVector reads a deletion vector's descriptor, which starts at i.
func (l *Line) deletionVector(s []byte, i int) int {
	var storage, path, offset []byte
	var storageScratch, pathScratch []byte // descriptors have no escapes, so these stay empty
	end := members(s, i, plain, &l.token, func(key []byte, i int) int {
		switch string(key) {
		case "storageType":
			return l.text(s, i, &storage, &storageScratch)
		case "pathOrInlineDv":
			return l.text(s, i, &path, &pathScratch)
		case "offset":
			end := value(s, i, plain, maxDepth-3)
			if offset = nil; end >= 0 && at(s, i) != 'n' {
				offset = s[i:end]
				if n, ok := parseInt(offset); !ok || n < 0 {
					return l.fail(i, "a deletion vector's offset that is not a count of bytes")
				}
			}
			return end
		}
		return value(s, i, plain, maxDepth-3)
	})
	if end < 0 {
		return end
	}
	if len(storage) == 0 || len(path) == 0 {
		return l.fail(i, "a deletion vector without storageType or pathOrInlineDv")
	}
	l.vector = append(append(l.vector[:0], storage...), path...)
	if offset != nil {
		l.vector = append(append(l.vector, '@'), bytes.TrimLeft(offset, "-")...)
	}
	l.DeletionVector = l.vector
	return end
}

// A SyntaxError says where a line is not what the protocol wants of an action.
type SyntaxError struct {
	Offset  int // in bytes from the start of the line
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("colstats: invalid action at byte %d: %s", e.Offset, e.Message)
}
