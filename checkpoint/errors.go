package checkpoint

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrCorrupt matches every error about bytes that are no checkpoint, or a damaged one.
	ErrCorrupt = errors.New("corrupt checkpoint")
	// ErrLimit matches every error about a checkpoint that asks for more memory than Options allow.
	ErrLimit = errors.New("checkpoint exceeds a limit")
)

// An Error says where in a checkpoint reading failed. It matches [ErrCorrupt] when the bytes are to blame, [ErrLimit]
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

func (e *Error) Unwrap() error { return e.Err }
