package conflict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deltaskip/deltaskip/action"
)

// A Level is an isolation level. The zero Level is the strictest.
type Level uint8

const (
	// Serializable: the table's history is as if transactions had run one after another in log order.
	Serializable Level = iota
	// WriteSerializable: as Serializable, but blind appends may be ordered after a transaction that did not see them.
	WriteSerializable
	// SnapshotIsolation: only what was removed counts. It is for transactions that change no data.
	SnapshotIsolation
)

func (l Level) String() string {
	switch l {
	case Serializable:
		return "Serializable"
	case WriteSerializable:
		return "WriteSerializable"
	case SnapshotIsolation:
		return "SnapshotIsolation"
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// ParseLevel reads a level's name in any letter case.
func ParseLevel(name string) (Level, error) {
	for l := Serializable; l <= SnapshotIsolation; l++ {
		if strings.EqualFold(name, l.String()) {
			return l, nil
		}
	}
	return Serializable, fmt.Errorf("conflict: unknown isolation level %q", name)
}

// Isolation is a level and where it came from, in words that finish the sentence "isolation level … (…)".
type Isolation struct {
	Level  Level
	Source string
}

func (i Isolation) String() string {
	if i.Source == "" {
		return i.Level.String()
	}
	return i.Level.String() + " (" + i.Source + ")"
}

const isolationProperty = "delta.isolationLevel"

// dataOperations are the operations that change data even where their actions don't, such as a DELETE that found nothing.
// Names are as Delta writes them to commitInfo.
var dataOperations = []string{
	"WRITE", "STREAMING UPDATE", "DELETE", "TRUNCATE", "CONVERT", "MERGE", "UPDATE", "RESTORE", "CLONE",
	"CREATE TABLE AS SELECT", "REPLACE TABLE", "REPLACE TABLE AS SELECT", "CREATE OR REPLACE TABLE",
	"CREATE OR REPLACE TABLE AS SELECT",
}

// TableIsolation returns the level that a table asks for: Serializable unless its property says WriteSerializable.
func TableIsolation(m *action.Metadata) Isolation {
	name, set := m.Configuration[isolationProperty]
	if !set {
		return Isolation{Serializable, "default, " + isolationProperty + " is unset"}
	}
	level, err := ParseLevel(name)
	if err != nil || level == SnapshotIsolation { // Delta allows no table to be that weak
		return Isolation{Serializable, fmt.Sprintf("default, the table property %s has the invalid value %q", isolationProperty, name)}
	}
	return Isolation{level, "table property " + isolationProperty}
}

// For returns the level that a transaction runs at on a table of level i: SnapshotIsolation if it changes no data, which on
// a WriteSerializable table its kind of operation must not do either, and else i.
func (i Isolation) For(actions []action.Action, operation string) Isolation {
	if changesData(actions) || i.Level == WriteSerializable && isDataOperation(operation) {
		return i
	}
	return Isolation{SnapshotIsolation, "the transaction changes no data"}
}

// changesData reports whether some action does more than rearrange rows or keep row tracking's own books.
func changesData(actions []action.Action) bool {
	return slices.ContainsFunc(actions, func(a action.Action) bool {
		switch a := a.(type) {
		case *action.Add:
			return a.DataChange
		case *action.Remove:
			return a.DataChange
		case *action.CDC:
			return a.DataChange
		case *action.DomainMetadata:
			return a.Domain != rowTrackingDomain
		}
		return true
	})
}

func isDataOperation(operation string) bool {
	return slices.ContainsFunc(dataOperations, func(o string) bool { return strings.EqualFold(o, operation) })
}
