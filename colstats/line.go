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

var actionKeys = map[string]int{
	"add":                int(AddLine),
	"remove":             int(RemoveLine),
	"cdc":                int(CDCLine),
	"metaData":           int(MetadataLine),
	"protocol":           int(ProtocolLine),
	"txn":                int(TxnLine),
	"domainMetadata":     int(DomainMetadataLine),
	"commitInfo":         int(CommitInfoLine),
	"checkpointMetadata": int(CheckpointMetadataLine),
	"sidecar":            int(SidecarLine),
}

// The keys of adds, removes and cdc actions, and of deletion vectors, that matter here.
const (
	pathKey = iota
	dataChangeKey
	vectorKey
	statsKey
	partitionValuesKey

	storageTypeKey
	pathOrInlineKey
	offsetKey
)

var fileKeys = map[string]int{
	"path":            pathKey,
	"dataChange":      dataChangeKey,
	"deletionVector":  vectorKey,
	"stats":           statsKey,
	"partitionValues": partitionValuesKey,
}

var vectorKeys = map[string]int{
	"storageType":    storageTypeKey,
	"pathOrInlineDv": pathOrInlineKey,
	"offset":         offsetKey,
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

	action       object
	files        [CDCLine + 1]object // by kind
	descriptor   object
	path, vector []byte // scratch
	problem      string // what is wrong with a line that is JSON
}

// Scan reads one line. The line must be white space, or one JSON object in UTF-8 with one action; else a *SyntaxError
// says where it isn't.
func (l *Line) Scan(text []byte) error { return l.scan(text, nil) }

// scan reads one line, and the statistics and partition values of an add into the current row of r, if there is one.
func (l *Line) scan(text []byte, r *reader) error {
	if l.action.wanted == nil {
		l.action.wanted, l.descriptor.wanted = actionKeys, vectorKeys
		for kind := range l.files {
			l.files[kind].wanted = fileKeys
		}
	}
	l.Kind, l.Path, l.DataChange, l.DeletionVector, l.problem = OtherLine, nil, false, nil, ""
	i := space(text, 0, plain)
	if i == len(text) {
		return nil
	}
	i = l.action.read(text, i, plain, maxDepth, func(id, i int) int {
		switch c := at(text, i); {
		case c == 'n': // null stands for an action that isn't there
			return literal(text, i)
		case c != '{':
			return l.fail(i, "an action that is not an object")
		case l.Kind != OtherLine:
			return l.fail(i, "a second action")
		}
		if l.Kind = LineKind(id); l.Kind > CDCLine {
			return nested(text, i, plain, maxDepth-1)
		}
		end := l.fileAt(text, i, r)
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

// fileAt reads an add, remove or cdc that starts at i.
func (l *Line) fileAt(s []byte, i int, r *reader) int {
	if l.Kind != AddLine {
		r = nil
	}
	var times [partitionValuesKey + 1]int // that each key came
	end := l.files[l.Kind].read(s, i, plain, maxDepth-1, func(id, i int) int {
		times[id]++
		switch c := at(s, i); {
		case id == pathKey:
			end := l.textAt(s, i, &l.Path, &l.path)
			if end >= 0 && len(l.Path) > maxPathBytes {
				return l.fail(i, "a path that is too long")
			}
			return end
		case id == dataChangeKey:
			l.DataChange = c == 't'
		case id == vectorKey:
			if l.DeletionVector = nil; c != 'n' {
				return l.vectorAt(s, i)
			}
		case id == statsKey && c == '"':
			if r != nil {
				return r.statisticsString(s, i)
			}
			end, _ := longCharacters(s, i+1)
			if end >= 0 {
				end++ // the closing quote
			}
			return end
		case id == partitionValuesKey && r != nil && c == '{':
			return r.partitionValuesAt(s, i)
		}
		return value(s, i, plain, maxDepth-2)
	})
	// Readers disagree on which one counts when a key comes twice.
	if r != nil && times[statsKey] > 1 {
		r.forget(false)
	}
	if r != nil && times[partitionValuesKey] > 1 {
		r.forget(true)
	}
	return end
}

// textAt reads a string at i whose characters matter to what an action means.
func (l *Line) textAt(s []byte, i int, to, scratch *[]byte) int {
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

// vectorAt reads a deletion vector's descriptor, which starts at i.
func (l *Line) vectorAt(s []byte, i int) int {
	var storage, path, offset []byte
	var storageScratch, pathScratch []byte // descriptors have few escapes
	end := l.descriptor.read(s, i, plain, maxDepth-2, func(id, i int) int {
		switch id {
		case storageTypeKey:
			return l.textAt(s, i, &storage, &storageScratch)
		case pathOrInlineKey:
			return l.textAt(s, i, &path, &pathScratch)
		}
		end := value(s, i, plain, maxDepth-3)
		if offset = nil; end >= 0 && at(s, i) != 'n' {
			offset = s[i:end]
			if n, ok := parseInt(offset); !ok || n < 0 {
				return l.fail(i, "a deletion vector's offset that is not a count of bytes")
			}
		}
		return end
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
