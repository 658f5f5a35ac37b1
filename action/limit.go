package action

import (
	"errors"
	"fmt"
)

// ErrLimit matches every error about a table that asks for more than the options of whoever reads it allow.
var ErrLimit = errors.New("more than an option allows")

// A LimitError says what a table asks too much of, and which option allows more. It matches [ErrLimit].
type LimitError struct {
	What   string // such as "a page"
	Size   int64  // asked for; negative where it was not counted to the end
	Unit   string // of both, such as "bytes"
	Max    int64  // allowed
	Option string // the name of the field that says so
}

func (e *LimitError) Error() string {
	if e.Size < 0 {
		return fmt.Sprintf("%s of more than the %d %s that option %s allows", e.What, e.Max, e.Unit, e.Option)
	}
	return fmt.Sprintf("%s of %d %s, more than the %d that option %s allows", e.What, e.Size, e.Unit, e.Max, e.Option)
}

// Is reports whether target is [ErrLimit].
func (e *LimitError) Is(target error) bool { return target == ErrLimit }
