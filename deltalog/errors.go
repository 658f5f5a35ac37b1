package deltalog

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deltaskip/deltaskip/action"
)

// What callers can act on.
var (
	ErrNoTable    = errors.New("no Delta table here: the log holds no commit and no checkpoint")
	ErrNoProtocol = errors.New("the log holds no protocol action")
	ErrNoMetadata = errors.New("the log holds no metaData action")
	ErrCorrupt    = errors.New("corrupt log")
	// ErrCatalogManaged matches the error about a table whose commits only its catalog knows.
	ErrCatalogManaged = errors.New("the table is managed by a catalog, and its log cannot be read without it")
)

// A CorruptError says which part of a log file is not what it should be. It matches [ErrCorrupt].
type CorruptError struct {
	File string // relative to the table's root
	Line int    // counted from 1; 0 for the file as a whole
	Err  error
}

func (e *CorruptError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("deltalog: %s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("deltalog: %s, line %d: %v", e.File, e.Line, e.Err)
}

func (e *CorruptError) Unwrap() error        { return e.Err }
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// corrupt names the file in an error about one of its lines.
func corrupt(file string, line int, err error) error {
	var at *action.CorruptError
	if errors.As(err, &at) {
		at.Line = 0 // named here
	}
	return &CorruptError{File: file, Line: line, Err: err}
}

// A Range is a run of versions, both ends included.
type Range struct{ First, Last int64 }

func (r Range) String() string {
	if r.First == r.Last {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d to %d", r.First, r.Last)
}

// A GapError says that commits which a version builds on are missing from the log. It matches [ErrCorrupt].
type GapError struct {
	Version int64   // wanted
	Missing []Range // ascending
}

func (e *GapError) Error() string {
	var names []string
	for i, r := range e.Missing {
		if i == 8 {
			names = append(names, "…")
			break
		}
		names = append(names, r.String())
	}
	return fmt.Sprintf("deltalog: version %d cannot be built: missing commits %s", e.Version, strings.Join(names, ", "))
}

// Is reports whether target is [ErrCorrupt].
func (e *GapError) Is(target error) bool { return target == ErrCorrupt }

// A VersionError says that the table has no such version, or no longer.
type VersionError struct {
	Version        int64
	Oldest, Newest int64 // that can be read
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("deltalog: no version %d: the log holds %s", e.Version, Range{e.Oldest, e.Newest})
}

// A TimeError says that the table had no version yet at some time, or that the log no longer tells.
type TimeError struct {
	Time   time.Time
	Oldest time.Time // of the oldest version that can be read
}

func (e *TimeError) Error() string {
	return fmt.Sprintf("deltalog: no version at %s: the oldest is of %s", e.Time.Format(time.RFC3339Nano), e.Oldest.UTC().Format(time.RFC3339Nano))
}

// An UnsupportedError says what a table asks of its readers that this package does not do.
type UnsupportedError struct {
	ReaderVersion int      // set when the version itself is too high
	Features      []string // in alphabetical order
}

func (e *UnsupportedError) Error() string {
	if e.ReaderVersion != 0 {
		return fmt.Sprintf("deltalog: the table needs reader version %d, and this library knows up to %d", e.ReaderVersion, maxReaderVersion)
	}
	return fmt.Sprintf("deltalog: the table needs reader features that this library does not know: %s", strings.Join(e.Features, ", "))
}
