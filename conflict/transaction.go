package conflict

import (
	"fmt"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/predicate"
)

// A Transaction is what one writer read at a version of a table and wants to commit. The caller keeps it unchanged while
// it is being checked or committed; this package never changes it.
type Transaction struct {
	ReadVersion int64            // the version that was read; -1 when there was no table
	Protocol    *action.Protocol // in force at ReadVersion; nil when there was no table
	Metadata    *action.Metadata // likewise
	// RowIDHighWaterMark is row tracking's high-water mark at ReadVersion (domain delta.rowTracking), nil without one.
	RowIDHighWaterMark *int64

	// ReadTimestamp is the in-commit timestamp of ReadVersion, in milliseconds since 1970-01-01T00:00:00Z; nil where it has
	// none or it is not known.
	ReadTimestamp *int64

	// What it read. A transaction that read nothing and only adds is a blind append.
	Reads          []Read
	ReadFiles      []ReadFile
	ReadWholeTable bool     // without a filter, or in a way that no filter describes
	ReadAppIDs     []string // application ids whose progress (txn) it looked up
	ReadDomains    []string // metadata domains that it looked up

	// Actions is what it wants to commit, prepared for version ReadVersion+1, without commitInfo.
	Actions []action.Action
	// CommitInfo describes the transaction; nil stands for an empty one. isBlindAppend false makes a transaction that read
	// nothing count as one that doesn't tell what it read.
	CommitInfo *action.CommitInfo
	// Isolation overrides the table's level, nil doesn't. A transaction that changes no data runs at SnapshotIsolation all
	// the same, see [Isolation.For].
	Isolation *Isolation
	// Env is what the read predicates were evaluated with: the session's time zone and clock, and the name that they call
	// the table by. Names qualified by anything else are columns of other tables, as in the condition of a MERGE, and bound
	// nothing.
	Env predicate.Env
}

// A Read is one read of the table: the files in which its predicate may be TRUE for some row were looked at. Reads are
// alternatives: a file counts when some read may have seen it.
type Read struct {
	SQL  string         // Spark SQL, used when Expr is nil
	Expr predicate.Expr // unbound
}

// String returns the predicate's text.
func (r Read) String() string {
	if r.Expr != nil {
		return r.Expr.String()
	}
	return r.SQL
}

// A ReadFile is a file that the transaction looked into.
type ReadFile struct {
	Path            string             // as the log spells it
	PartitionValues map[string]*string // by physical name; for messages, may be nil
	DeletionVector  string             // unique id of its vector at ReadVersion, empty without one
}

// operation is the transaction's kind of work as its commitInfo says.
func (t *Transaction) operation() string {
	if t.CommitInfo == nil {
		return ""
	}
	return t.CommitInfo.Operation()
}

// readsSomething reports whether the transaction says that it read rows or files.
func (t *Transaction) readsSomething() bool {
	return len(t.Reads) > 0 || len(t.ReadFiles) > 0 || t.ReadWholeTable
}

// blindAppend reports whether the transaction read nothing and only adds. A flag that claims so of another transaction is
// an error, for winners' checks would rely on it once it is in the log.
func (t *Transaction) blindAppend() (bool, error) {
	blind := !t.readsSomething()
	for _, a := range t.Actions {
		switch a.(type) {
		case *action.Remove, *action.CDC:
			blind = false
		}
	}
	var flag *bool
	if t.CommitInfo != nil {
		flag = t.CommitInfo.IsBlindAppend()
	}
	if flag == nil {
		return blind, nil
	}
	if *flag && !blind {
		return false, invalid("commitInfo says isBlindAppend, but the transaction reads or removes files")
	}
	return *flag, nil
}

// validate checks what must hold before any winner is looked at.
func (t *Transaction) validate() error {
	if t.ReadVersion < -1 {
		return invalid("read version %d", t.ReadVersion)
	}
	if t.ReadVersion >= 0 && (t.Protocol == nil || t.Metadata == nil) {
		return invalid("protocol and metadata of read version %d are missing", t.ReadVersion)
	}
	var protocols, metadata int
	apps, domains := map[string]bool{}, map[string]bool{}
	for i, a := range t.Actions {
		switch a := a.(type) {
		case nil:
			return invalid("action %d is nil", i)
		case *action.CommitInfo:
			return invalid("commitInfo stands among the actions; it belongs into Transaction.CommitInfo")
		case *action.Sidecar, *action.CheckpointMetadata:
			return invalid("a %s action does not belong into a commit", a.Name())
		case *action.Protocol:
			protocols++
		case *action.Metadata:
			metadata++
		case *action.Txn:
			if apps[a.AppID] {
				return invalid("application id %q is updated twice", a.AppID)
			}
			apps[a.AppID] = true
		case *action.DomainMetadata:
			if domains[a.Domain] {
				return invalid("metadata domain %q is set twice", a.Domain)
			}
			domains[a.Domain] = true
		}
	}
	if protocols > 1 || metadata > 1 {
		return invalid("%d protocol and %d metaData actions; at most one of each is allowed", protocols, metadata)
	}
	if t.ReadVersion < 0 && (protocols == 0 || metadata == 0) {
		return invalid("the first commit of a table needs a protocol and a metaData action")
	}
	return nil
}

// A Result is the answer of a check. Its zero value is undetermined.
type Result struct {
	Outcome Outcome
	// Version is the version to commit as: one past the last winner. Of a conflict, zero.
	Version int64
	// Actions are the rebased actions, commitInfo first. Of a conflict, nil.
	Actions []action.Action
	// Files hold deletion vectors that Actions name: whoever commits writes them first, and makes sure that they last.
	Files []deletionvector.PackedFile
	// Conflict says what stands in the way, nil unless Outcome is Conflicting.
	Conflict *Conflict
	Err      error // why there is no answer, nil unless Outcome is Undetermined
	Counts   Counts
}

// An Outcome is what a check found. The zero Outcome says nothing, and is to be treated as a conflict.
type Outcome uint8

// The outcomes.
const (
	Undetermined Outcome = iota // the check did not finish
	Clear                       // the transaction may commit as Result.Version with Result.Actions
	Conflicting                 // see Result.Conflict
)

func (o Outcome) String() string {
	switch o {
	case Clear:
		return "clear"
	case Conflicting:
		return "conflicting"
	}
	return "undetermined"
}

// Counts are what a check looked at, over all winners.
type Counts struct {
	Winners int64
	// Of the files that winners added and the isolation level makes count, up to the first conflict:
	FilesConsidered    int64
	SkippedByPartition int64 // no read may touch their partition
	SkippedByStats     int64 // some read may, but statistics prove that no row matches
	SkippedByRows      int64 // statistics don't, but no live row matches
	FilesRead          int64 // whose rows were looked at
	RowsRead           int64 // that predicates were evaluated on
	BytesDecoded       int64 // of commit files
}

// since returns what was added to the counts after they were as before.
func (c Counts) since(before Counts) Counts {
	return Counts{
		Winners:            c.Winners - before.Winners,
		FilesConsidered:    c.FilesConsidered - before.FilesConsidered,
		SkippedByPartition: c.SkippedByPartition - before.SkippedByPartition,
		SkippedByStats:     c.SkippedByStats - before.SkippedByStats,
		SkippedByRows:      c.SkippedByRows - before.SkippedByRows,
		FilesRead:          c.FilesRead - before.FilesRead,
		RowsRead:           c.RowsRead - before.RowsRead,
		BytesDecoded:       c.BytesDecoded - before.BytesDecoded,
	}
}

// ReadFrom fills in what a transaction needs to know of the version it read, from its snapshot: the version, the protocol, the
// metadata, the in-commit timestamp, and the high-water mark of row ids.
func (t *Transaction) ReadFrom(s *deltalog.Snapshot) error {
	t.ReadVersion, t.Protocol, t.Metadata, t.RowIDHighWaterMark = s.Version, s.Protocol, s.Metadata, nil
	if t.ReadTimestamp = nil; s.Info != nil {
		t.ReadTimestamp = s.Info.InCommitTimestamp()
	}
	if d := s.Domains[rowTrackingDomain]; d != nil {
		mark, err := readMark(d)
		if err != nil {
			return fmt.Errorf("conflict: version %d: %w", s.Version, err)
		}
		t.RowIDHighWaterMark = &mark
	}
	return nil
}
