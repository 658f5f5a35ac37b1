package conflict

import "fmt"

// A Mode says how closely a winner's added files are looked at.
type Mode uint8

const (
	// Off looks at partition values only, as Delta does: on an unpartitioned table any added file conflicts. It is the
	// zero Mode, so that linking this package changes nothing until it is asked to.
	Off Mode = iota
	// Stats also looks at the files' column statistics.
	Stats
	// Exact also reads the live rows of the files that statistics cannot exclude: those columns, row groups and pages that
	// a read may match. A file that cannot be read, and a predicate that cannot be evaluated on a row, conflict.
	Exact
)

func (m Mode) String() string {
	switch m {
	case Off:
		return "off"
	case Stats:
		return "stats"
	case Exact:
		return "exact"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// ParseMode reads a mode's name.
func ParseMode(name string) (Mode, error) {
	for _, m := range []Mode{Off, Stats, Exact} {
		if name == m.String() {
			return m, nil
		}
	}
	return Off, fmt.Errorf("conflict: unknown mode %q, want off, stats or exact", name)
}
