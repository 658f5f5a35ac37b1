package checkpoint

import (
	"errors"
	"fmt"
	"strings"

	"github.com/deltaskip/deltaskip/internal/leaf"
)

var (
	// ErrCorrupt matches every error about bytes that are no checkpoint, a damaged one, or one written in a way that this
	// version cannot read.
	ErrCorrupt = errors.New("corrupt checkpoint")
)

// An Error says where in a checkpoint reading failed. It matches [ErrCorrupt] when the bytes are to blame, [action.ErrLimit]
// when they ask for too much, and neither when the store failed.
type Error struct {
	File     string // relative to the table's root
	RowGroup int    // counted from 0; -1 for the footer or the file as a whole
	Column   string // dotted path in the parquet schema; empty where no single column is to blame
	Err      error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("checkpoint: ")
	b.WriteString(e.File)
	if e.RowGroup >= 0 {
		fmt.Fprintf(&b, ", row group %d", e.RowGroup)
	}
	if e.Column != "" {
		fmt.Fprintf(&b, ", column %s", e.Column)
	}
	b.WriteString(": ")
	b.WriteString(e.Err.Error())
	return b.String()
}

func (e *Error) Unwrap() []error {
	if errors.Is(e.Err, leaf.ErrCorrupt) || errors.Is(e.Err, leaf.ErrUnsupported) {
		return []error{ErrCorrupt, e.Err}
	}
	return []error{e.Err}
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// recovered turns a panic into an error of the file. Bytes should cause none; but a worker's panic could not be caught by
// anybody else.
func recovered(file string, err *error) {
	if p := recover(); p != nil {
		*err = &Error{File: file, RowGroup: -1, Err: corrupt("reading it panicked: %v", p)}
	}
}
