package deletionvector

import (
	"errors"
	"fmt"
)

// ErrCorrupt matches every error about bytes or descriptors that break the Delta protocol.
var ErrCorrupt = errors.New("corrupt deletion vector")

// A CorruptError says which bytes of which vector were wrong. It matches [ErrCorrupt].
type CorruptError struct {
	Path string // as the descriptor gives it, see [Path]; empty for an inline vector or a blob alone
	// Offset is in bytes from the start of the vector's own blob: negative in the frame before it, and 0 when the
	// descriptor itself is wrong.
	Offset int64
	Err    error // what was found there; may wrap an I/O error
}

func (e *CorruptError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("deletionvector: byte %d: %v", e.Offset, e.Err)
	}
	return fmt.Sprintf("deletionvector: %s at byte %d: %v", e.Path, e.Offset, e.Err)
}

// Unwrap makes errors.Is find both [ErrCorrupt] and the cause.
func (e *CorruptError) Unwrap() []error { return []error{ErrCorrupt, e.Err} }

// corrupt makes a CorruptError about the byte at offset of a blob whose file is not known yet.
func corrupt(offset int, format string, args ...any) *CorruptError {
	return &CorruptError{Offset: int64(offset), Err: fmt.Errorf(format, args...)}
}
