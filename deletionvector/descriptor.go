package deletionvector

import (
	"fmt"
	"io/fs"
	"path"

	"github.com/google/uuid"

	"github.com/deltaskip/deltaskip/action"
)

// The storage types of a descriptor ([action.DeletionVector]).
const (
	uuidRelative = "u" // in a file below the table's root, named by a UUID
	inlineText   = "i" // in the log itself
	absolutePath = "p" // in a file named by its absolute path
)

// uuidDigits is the length of a UUID in Z85. What stands before it is the file's random prefix, a folder.
const uuidDigits = 20

// Path returns the path of the file of the vector that d describes, slash-separated: relative to the table's root, wherever the data file is,
// or, when absolute is set, as the log spells it (percent-encoded, perhaps with a scheme). An inline vector has none.
// The error is a [*CorruptError].
func Path(d *action.DeletionVector) (name string, absolute bool, err error) {
	switch d.StorageType {
	case uuidRelative:
		split := len(d.PathOrInlineDV) - uuidDigits
		if split < 0 {
			return "", false, corrupt(0, "%q is too short for a UUID of %d characters", d.PathOrInlineDV, uuidDigits)
		}
		data, err := decodeZ85(d.PathOrInlineDV[split:])
		if err != nil {
			return "", false, corrupt(0, "UUID %q: %w", d.PathOrInlineDV[split:], err)
		}
		return relativePath(d.PathOrInlineDV[:split], uuid.UUID(data))
	case absolutePath:
		if d.PathOrInlineDV == "" {
			return "", false, corrupt(0, "empty path")
		}
		return d.PathOrInlineDV, true, nil
	case inlineText:
		return "", false, corrupt(0, "an inline vector has no file")
	default:
		return "", false, corrupt(0, "unknown storage type %q", d.StorageType)
	}
}

// relativePath names a vector file in the table's root. The prefix must not lead out of it.
func relativePath(prefix string, id uuid.UUID) (name string, absolute bool, err error) {
	name = path.Join(prefix, fmt.Sprintf("deletion_vector_%s.bin", id))
	if prefix != "" && !fs.ValidPath(prefix) {
		return "", false, corrupt(0, "prefix %q is no relative path", prefix)
	}
	return name, false, nil
}
