package crash

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// ErrUnsupported says that this system, or what encloses it, does not let a program be watched.
var ErrUnsupported = errors.New("crash: programs cannot be watched here")

// An Op is what a system call does.
type Op string

// The calls that change files, and what the program says to the outside.
const (
	Create   Op = "create"   // a file, with or without a name
	Mkdir    Op = "mkdir"    //
	Write    Op = "write"    //
	Truncate Op = "truncate" //
	Sync     Op = "sync"     // a file or a folder
	Link     Op = "link"     // gives From the name Path
	Rename   Op = "rename"   // gives From the name Path
	Unlink   Op = "unlink"   //
	Say      Op = "say"      // writes to standard output
)

// A Call is a system call of the program that was run.
type Call struct {
	Op     Op
	Path   string // relative to the folder; of a file without a name it begins with a number sign
	From   string // of Link and Rename
	Failed bool   // it was refused, or the program was killed before it
}

func (c Call) String() string {
	s := string(c.Op) + " " + c.Path
	if c.From != "" {
		s = fmt.Sprintf("%s %s as %s", c.Op, c.From, c.Path)
	}
	if c.Failed {
		s += " (failed)"
	}
	return s
}

// A Result is what a program did.
type Result struct {
	Calls  []Call // in the order in which they began; if it was killed, the last is the one before which it was
	Killed bool
	Stdout string
	Stderr string
	Status int // of the exit, if it was not killed
}

// Durable returns an error when the calls leave to the machine's caches what the program had said: when a file is given a name
// before its data is synced, or something is said before the folder of a name is synced.
func (r Result) Durable() error {
	var dirty []string // files and folders that have changed since they were synced
	changed := func(path string) {
		dirty = append(dirty, path)
	}
	isDirty := func(path string) bool {
		for _, d := range dirty {
			if d == path {
				return true
			}
		}
		return false
	}
	for i, c := range r.Calls {
		if c.Failed {
			continue
		}
		switch c.Op {
		case Write, Truncate:
			changed(c.Path)
		case Create:
			changed(c.Path)
			if !strings.HasPrefix(filepath.Base(c.Path), "#") {
				changed(filepath.Dir(c.Path))
			}
		case Mkdir, Unlink:
			changed(filepath.Dir(c.Path))
		case Sync:
			kept := dirty[:0]
			for _, d := range dirty {
				if d != c.Path {
					kept = append(kept, d)
				}
			}
			dirty = kept
		case Link, Rename:
			if isDirty(c.From) {
				return fmt.Errorf("call %d: %s, which has not been synced", i+1, c)
			}
			changed(filepath.Dir(c.Path))
		case Say:
			for _, d := range dirty {
				if !temporary(d) {
					return fmt.Errorf("call %d: %s, before %s has been synced", i+1, c, d)
				}
			}
		}
	}
	return nil
}

// temporary reports whether it is no matter if a file is lost: it has no name, or one that readers pass over.
func temporary(path string) bool {
	base := filepath.Base(path)
	return strings.HasPrefix(base, "#") || strings.HasPrefix(base, ".") && base != "."
}
