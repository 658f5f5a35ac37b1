package leaf

import (
	"errors"
	"fmt"

	"github.com/deltaskip/deltaskip/action"
)

var (
	// ErrCorrupt matches errors about bytes that are not what the format says.
	ErrCorrupt = errors.New("corrupt parquet file")
	// ErrUnsupported matches errors about parts of the format that this package cannot read.
	ErrUnsupported = errors.New("unsupported parquet feature")
)

// A ChunkError is about what a footer says of one leaf.
type ChunkError struct {
	Node *Node
	Err  error
}

func (e *ChunkError) Error() string { return fmt.Sprintf("column %s: %v", e.Node, e.Err) }
func (e *ChunkError) Unwrap() error { return e.Err }

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}

func tooLarge(what string, size, limit int64, option string) error {
	return &action.LimitError{What: what, Size: size, Unit: "bytes", Max: limit, Option: option}
}
