package conflict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Kind is a class of conflict, named as Delta names it. It is an error so that errors.Is(err, ConcurrentAppend) asks
// whether err is a [Conflict] of that kind.
type Kind uint8

const (
	// ConcurrentAppend: a winner added a file that the transaction should have read.
	ConcurrentAppend Kind = iota + 1
	// ConcurrentDeleteRead: a winner removed a file that the transaction read.
	ConcurrentDeleteRead
	// ConcurrentDeleteDelete: a winner removed a file that the transaction removes.
	ConcurrentDeleteDelete
	// ConcurrentTransaction: a winner moved an application's progress, or a domain, that the transaction depends on.
	ConcurrentTransaction
	// MetadataChanged: a winner changed the table's metadata in a way that the transaction cannot take over.
	MetadataChanged
	// ProtocolChanged: a winner changed the table's protocol in a way that the transaction cannot take over.
	ProtocolChanged
	// UnsupportedFeature: a winner made the table depend on a feature that this writer doesn't know.
	UnsupportedFeature
	// ConcurrentWrite: a winner did something that the transaction's kind of operation cannot be combined with.
	ConcurrentWrite
)

// kinds has what Delta calls each kind: the exception, the error class, and whether the class has subclasses that tell
// whether the message names a partition.
var kinds = [...]struct {
	exception, class string
	hinted           bool
}{
	ConcurrentAppend:       {"ConcurrentAppendException", "DELTA_CONCURRENT_APPEND", true},
	ConcurrentDeleteRead:   {"ConcurrentDeleteReadException", "DELTA_CONCURRENT_DELETE_READ", true},
	ConcurrentDeleteDelete: {"ConcurrentDeleteDeleteException", "DELTA_CONCURRENT_DELETE_DELETE", true},
	ConcurrentTransaction:  {"ConcurrentTransactionException", "DELTA_CONCURRENT_TRANSACTION", false},
	MetadataChanged:        {"MetadataChangedException", "DELTA_METADATA_CHANGED", false},
	ProtocolChanged:        {"ProtocolChangedException", "DELTA_PROTOCOL_CHANGED", false},
	UnsupportedFeature:     {"DeltaUnsupportedTableFeatureException", "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE", false},
	ConcurrentWrite:        {"ConcurrentWriteException", "DELTA_CONCURRENT_WRITE", false},
}

// Exception is the name of Delta's exception, such as "ConcurrentAppendException".
func (k Kind) Exception() string { return kinds[k].exception }

// Error is the name of Delta's exception.
func (k Kind) Error() string { return kinds[k].exception }

// SQLState is what SQL clients see of every conflict.
const SQLState = "2D521"

// A Reason says in one word why a conflict could not be ruled out.
type Reason string

// The reasons.
const (
	// Added files.
	WholeTableRead      Reason = "WHOLE_TABLE_READ"      // the transaction read the whole table
	EmptyReadPredicates Reason = "EMPTY_READ_PREDICATES" // it read, but doesn't say what
	UnpartitionedTable  Reason = "UNPARTITIONED_TABLE"   // mode Off has nothing to tell files apart by
	PartitionsOverlap   Reason = "PARTITIONS_OVERLAP"    // mode Off: a read may touch the file's partition
	PredicateNotUsable  Reason = "PREDICATE_NOT_USABLE"  // nothing in the read predicate excludes any file
	StatisticsMissing   Reason = "STATISTICS_MISSING"    // the file has no statistics for a column that the predicate needs
	RangesOverlap       Reason = "RANGES_OVERLAP"        // the file's values and the predicate's overlap
	SkippingFailed      Reason = "SKIPPING_FAILED"       // skipping failed, so the answer is that of mode Off
	RowsMatch           Reason = "ROWS_MATCH"            // a row of the file makes the predicate true
	SameRows            Reason = "SAME_ROWS"             // both marked a row of one file

	// Removed files.
	FileRemoved      Reason = "FILE_REMOVED"       // a file that the transaction read is gone
	FileRemovedTwice Reason = "FILE_REMOVED_TWICE" // a file that the transaction removes is gone
	ReaddedFile      Reason = "READDED_FILE"       // a file that the transaction adds again was removed

	// The rest.
	MetadataChange      Reason = "METADATA_CHANGE"       // see Conflict.Metadata
	MetadataChangeBoth  Reason = "METADATA_CHANGE_BOTH"  // both changed the metadata
	ProtocolChangeBoth  Reason = "PROTOCOL_CHANGE_BOTH"  // both changed the protocol
	FeatureRemoved      Reason = "FEATURE_REMOVED"       // the winner removed a table feature
	FeatureAdded        Reason = "FEATURE_ADDED"         // the winner added one that the transaction had to honour
	FeatureUnknown      Reason = "FEATURE_UNKNOWN"       // the winner added one that this writer doesn't know
	FeatureDropped      Reason = "FEATURE_DROPPED"       // the transaction drops one: that nothing uses it was validated before the winner, whatever that did
	TableCreated        Reason = "TABLE_CREATED"         // another writer created the table
	ApplicationAdvanced Reason = "APPLICATION_ADVANCED"  // a txn that the transaction read was updated
	DomainChanged       Reason = "DOMAIN_CHANGED"        // both sides deal with one metadata domain
	BackfillRunning     Reason = "ROW_TRACKING_BACKFILL" // row tracking is being filled in while it is being taken out
)

// ErrConflict matches every [Conflict].
var ErrConflict = errors.New("conflict with a concurrent transaction")

// A WinnerInfo describes a commit that got in first, as far as its commitInfo does.
type WinnerInfo struct {
	Version     int64
	Operation   string // empty when the commit doesn't say
	Engine      string
	TxnID       string
	Timestamp   time.Time // of commitInfo, or of the commit file
	BlindAppend bool
}

// A Difference is one thing that differs between two versions of a table's metadata.
type Difference struct {
	Field    string // such as "schemaString", or "delta.appendOnly" for a table property
	Was, Now string // as text; empty when absent
}

// A Conflict says that a transaction may not commit and why. It matches [ErrConflict] and its Kind.
type Conflict struct {
	Kind      Kind
	Reason    Reason
	Table     string // as [Options].Table
	Isolation Isolation
	Winner    WinnerInfo

	Path      string // the winner's file, as its commit spells it
	Partition string // of that file, such as "[p=1]"; empty on an unpartitioned table
	Read      int    // index of the read that may have missed the file; -1 where none is to blame
	Predicate string // that read's predicate as SQL
	Conjunct  string // the part of it that is to blame, if it is not all of it
	Ranges    string // what was known about the file's columns, for people
	Rows      string // ROWS_MATCH, SAME_ROWS: which rows of the file, by position, for people
	Note      string // why its rows did not settle the matter, where that was tried and they could not

	Feature  string       // FEATURE_…: the table feature
	App      string       // APPLICATION_ADVANCED: the application id
	Domain   string       // DOMAIN_CHANGED: the domain
	Metadata []Difference // METADATA_CHANGE: what the winner changed
	// Repeats says of METADATA_CHANGE_BOTH that the transaction's own metadata is no other than what it read: leave it out.
	Repeats bool
	// Maintenance says that both only rearrange rows: two maintenance jobs run at once, and this one may be skipped this time.
	Maintenance bool
}

// ErrorClass is Delta's error class, such as "DELTA_CONCURRENT_APPEND.WITH_PARTITION_HINT".
func (c *Conflict) ErrorClass() string {
	k := kinds[c.Kind]
	switch {
	case !k.hinted:
		return k.class
	case c.Partition != "":
		return k.class + ".WITH_PARTITION_HINT"
	}
	return k.class + ".WITHOUT_HINT"
}

// Is makes a conflict match [ErrConflict] and its kind.
func (c *Conflict) Is(target error) bool { return target == ErrConflict || target == c.Kind }

// Error says what happened, between whom, and what to do, in words that people search for.
func (c *Conflict) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "conflict: %s [%s] SQLSTATE %s: %s", c.Kind.Exception(), c.ErrorClass(), SQLState, c.What())
	fmt.Fprintf(&b, " Winner: %s.", c.Winner)
	if c.Isolation.Source != "" {
		fmt.Fprintf(&b, " Isolation level: %s.", c.Isolation)
	}
	fmt.Fprintf(&b, " Reason: %s.", c.Reason)
	if c.Note != "" {
		fmt.Fprintf(&b, " Its rows did not settle it: %s.", c.Note)
	}
	fmt.Fprintf(&b, " %s", c.Hint())
	return b.String()
}

func (w WinnerInfo) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d", w.Version)
	if w.Operation != "" {
		fmt.Fprintf(&b, ", %s", w.Operation)
	}
	if w.Engine != "" {
		fmt.Fprintf(&b, " by %s", w.Engine)
	}
	if w.TxnID != "" {
		fmt.Fprintf(&b, ", transaction %s", w.TxnID)
	}
	if !w.Timestamp.IsZero() {
		fmt.Fprintf(&b, ", at %s", w.Timestamp.UTC().Format(time.RFC3339))
	}
	return b.String()
}

// What says in one sentence what was in conflict with what. [Conflict.Error] begins with it.
func (c *Conflict) What() string {
	table := "the table"
	if c.Table != "" {
		table = "table " + c.Table
	}
	switch c.Kind {
	case ConcurrentAppend:
		to := "the root of " + table
		if c.Partition != "" {
			to = "partition " + c.Partition + " of " + table
		}
		return fmt.Sprintf("files were added to %s by a concurrent update: %s%s.", to, c.Path, c.readPart(" may hold rows of"))
	case ConcurrentDeleteRead:
		if c.Reason == SameRows {
			return fmt.Sprintf("rows that this transaction deletes were deleted from %s by a concurrent update: in %s, %s.", c.where(table), c.Path, c.Rows)
		}
		return fmt.Sprintf("a file that this transaction read was deleted from %s by a concurrent update: %s%s.", c.where(table), c.Path, c.readPart(""))
	case ConcurrentDeleteDelete:
		return fmt.Sprintf("a file that this transaction deletes was deleted from %s by a concurrent update: %s.", c.where(table), c.Path)
	case ConcurrentTransaction:
		if c.Domain != "" {
			return fmt.Sprintf("metadata domain %q of %s was changed by a concurrent update.", c.Domain, table)
		}
		return fmt.Sprintf("application %q committed to %s concurrently: several writers use one transaction id or checkpoint.", c.App, table)
	case MetadataChanged:
		return fmt.Sprintf("the metadata of %s was changed by a concurrent update%s.", table, c.differences())
	case ProtocolChanged, UnsupportedFeature:
		if c.Reason == TableCreated {
			same := c.differences()
			if same == "" {
				same = ", with the same schema, partitioning and properties"
			}
			return fmt.Sprintf("another writer created %s: version 0 already exists%s.", table, same)
		}
		return fmt.Sprintf("the protocol version of %s was changed by a concurrent update%s.", table, c.featurePart())
	}
	return fmt.Sprintf("a concurrent transaction has written to %s.", table)
}

func (c *Conflict) where(table string) string {
	if c.Partition == "" {
		return table
	}
	return "partition " + c.Partition + " of " + table
}

func (c *Conflict) readPart(verb string) string {
	if c.Predicate == "" {
		return ""
	}
	s := fmt.Sprintf("%s read %d (%s)", verb, c.Read, c.Predicate)
	if c.Reason == RowsMatch {
		s = fmt.Sprintf(": %s matches read %d (%s)", c.Rows, c.Read, c.Predicate)
	}
	if c.Ranges != "" {
		s += ", as it has " + c.Ranges
	}
	if c.Conjunct != "" && c.Conjunct != c.Predicate {
		s += ", in which " + c.Conjunct + " excludes no file"
	}
	return s
}

func (c *Conflict) featurePart() string {
	if c.Feature == "" {
		return ""
	}
	return " (table feature " + c.Feature + ")"
}

func (c *Conflict) differences() string {
	if len(c.Metadata) == 0 {
		return ""
	}
	parts := make([]string, len(c.Metadata))
	for i, d := range c.Metadata {
		parts[i] = d.String()
	}
	same := ""
	if !slices.ContainsFunc(c.Metadata, func(d Difference) bool { return d.Field == "schemaString" }) {
		same = "; the schema is the same"
	}
	return ", which differs in " + strings.Join(parts, "; ") + same
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: %s, now %s", d.Field, quoteShort(d.Was), quoteShort(d.Now))
}

// quoteShort quotes a value for people; schemas are long.
func quoteShort(s string) string {
	if s == "" {
		return "unset"
	}
	const limit = 120
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// Hint says what to do about the conflict.
func (c *Conflict) Hint() string {
	hint := hints[c.Reason]
	if c.Repeats {
		hint = "This transaction's own metadata repeats what it read, unchanged: leave it out of the commit."
	}
	if c.Maintenance {
		hint += fmt.Sprintf(" The winner is another maintenance job (%s), as this one is: two of them run on this table. Skip this "+
			"one, or run them one after the other.", cmp.Or(c.Winner.Operation, "operation unknown"))
	}
	if c.Kind == ConcurrentAppend && c.Winner.BlindAppend && c.Isolation.Level == Serializable {
		hint += " Under WriteSerializable this winner, a blind append, would not count."
	}
	return hint
}

var hints = map[Reason]string{
	WholeTableRead: "The transaction read the whole table (a scan without filter, or NOT MATCHED BY SOURCE), so every " +
		"added file counts. Give it a filter, or try the operation again.",
	EmptyReadPredicates: "The transaction read but carries no read predicates, so every added file counts. Pass the " +
		"filters it read by; for a MERGE, ReadKeys makes one from the source's keys.",
	UnpartitionedTable: "Mode off looks at partitions only, and this table has none: any added file counts, disjoint or " +
		"not. Mode stats compares column statistics.",
	PartitionsOverlap: "Mode off looks at partitions only. Put the partition values into the condition as literals, or " +
		"use mode stats to compare column statistics as well.",
	PredicateNotUsable: "Nothing in the read predicate can exclude a file. Add a comparison of a column with literals, " +
		"such as t.site IN ('a', 'b'); a comparison with source columns (t.k = s.k) bounds nothing.",
	StatisticsMissing: "The file has no minimum and maximum for a column that the predicate needs. Statistics are kept " +
		"for the first 32 columns unless delta.dataSkippingStatsColumns says otherwise, and some writers write none.",
	RangesOverlap: "The file's range of values overlaps the read predicate. Cluster or partition by the filtered " +
		"columns so that writers touch disjoint files, or try the operation again.",
	SkippingFailed: "Column statistics could not be used because evaluating the read predicate failed (see the fallback " +
		"event), so the answer is that of mode off.",
	RowsMatch: "A row that the winner wrote or took away makes the read predicate true, so the transaction would have read " +
		"something else after it. Try the operation again from a fresh read.",
	SameRows:         "Both sides delete or change the same rows. Try the operation again from a fresh read.",
	FileRemoved:      "The winner rewrote or deleted what this transaction read. Try the operation again from a fresh read.",
	FileRemovedTwice: "Both delete or rewrite one file. Try the operation again from a fresh read.",
	ReaddedFile: "The transaction adds a file again that the winner removed; committing it would bring deleted rows " +
		"back. Try the operation again from a fresh read.",
	MetadataChange: "Read the table again and redo the work under its new metadata. Setting the same property or comment " +
		"with every batch makes every batch conflict.",
	MetadataChangeBoth: "Both transactions write the table's metadata. If yours repeats it unchanged, leave it out of " +
		"the commit.",
	ProtocolChangeBoth: "Both transactions write the table's protocol. If yours repeats it unchanged, leave it out of " +
		"the commit; create or upgrade the table ahead of time.",
	FeatureRemoved: "A table feature was dropped. Read the table again and redo the work.",
	FeatureAdded:   "The table now demands more of its writers. Read the table again and redo the work.",
	FeatureUnknown: "Upgrade this writer before it writes to the table again.",
	FeatureDropped: "The check that the feature is unused has to run again. Try the operation again.",
	TableCreated:   "Read version 0 and append to it; creating the table ahead of time avoids this.",
	ApplicationAdvanced: "Two runs of one streaming query, or two writers with one application id, are active at the same " +
		"time. Stop one of them, or give each its own id or checkpoint.",
	DomainChanged:   "Both transactions write one metadata domain. Try the operation again from a fresh read.",
	BackfillRunning: "Row tracking is being enabled and dropped at the same time. Try again when the backfill is done.",
}

// ErrTransaction matches every [TransactionError].
var ErrTransaction = errors.New("invalid transaction")

// A TransactionError says why a transaction cannot be committed whatever others did: nothing was written.
type TransactionError struct {
	Reason string
	Path   string // the file that is to blame, if one is
}

func (e *TransactionError) Error() string {
	if e.Path != "" {
		return fmt.Sprintf("conflict: invalid transaction: %s: %s", e.Path, e.Reason)
	}
	return "conflict: invalid transaction: " + e.Reason
}

// Is makes the error match [ErrTransaction].
func (e *TransactionError) Is(target error) bool { return target == ErrTransaction }

func invalid(format string, args ...any) error {
	return &TransactionError{Reason: fmt.Sprintf(format, args...)}
}

// ErrOutcomeUnknown matches every [OutcomeUnknownError].
var ErrOutcomeUnknown = errors.New("nobody knows whether the transaction was committed")

// An OutcomeUnknownError says that a commit may have been written, or may still be: neither retrying the work nor cleaning
// up after it is safe. [Committer.Resolve] tells later what became of it.
type OutcomeUnknownError struct {
	Version int64  // that it was to be
	TxnID   string // of the commit, in commitInfo
	Err     error  // why nobody knows
}

func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("conflict: it is unknown whether version %d was committed by transaction %s: read its commitInfo before retrying or cleaning up: %v",
		e.Version, e.TxnID, e.Err)
}

func (e *OutcomeUnknownError) Unwrap() error        { return e.Err }
func (e *OutcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

// ErrRetriesExhausted matches every [RetriesExhaustedError].
var ErrRetriesExhausted = errors.New("gave up after too many attempts to commit")

// A RetriesExhaustedError says that others kept taking the versions that a transaction tried to commit as, without ever being
// in conflict with it. Nothing was written.
type RetriesExhaustedError struct {
	Attempts int // MaxCommitAttempts, as other libraries say
	Elapsed  time.Duration
	Version  int64 // that was tried last
	Err      error // how the last attempt ended
}

func (e *RetriesExhaustedError) Error() string {
	return fmt.Sprintf("conflict: failed to commit transaction: %d attempts in %s, the last for version %d: %v: allow more retries or time, or group commits",
		e.Attempts, e.Elapsed.Round(time.Millisecond), e.Version, e.Err)
}

func (e *RetriesExhaustedError) Unwrap() error        { return e.Err }
func (e *RetriesExhaustedError) Is(target error) bool { return target == ErrRetriesExhausted }

// ErrUnsupportedMode is returned for a mode that this version cannot answer in.
var ErrUnsupportedMode = errors.New("conflict: mode is not supported yet")

// conflict starts a conflict with what every one says.
func (c *candidate) conflict(w *winner, kind Kind, reason Reason) *Conflict {
	return &Conflict{
		Kind: kind, Reason: reason, Table: c.table, Isolation: c.isolation, Winner: w.info(), Read: -1,
		Maintenance: c.rearranges() && w.rearranged(),
	}
}

// partition renders a file's partition values as Delta does, such as "[p=1, q=null]", and "" where it says nothing.
func (c *candidate) partition(values map[string]*string) string {
	if len(values) == 0 || len(c.read.partitions) == 0 {
		return ""
	}
	parts := make([]string, len(c.read.partitions))
	for i, p := range c.read.partitions {
		value := "null"
		if v := values[p.physical]; v != nil {
			value = *v
		}
		parts[i] = p.logical + "=" + value
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
