package conflict

import (
	"slices"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/schema"
)

// A candidate is a transaction as it would be committed next: rebased over the winners checked so far.
type candidate struct {
	// What stays.
	txn                  *Transaction
	table                string          // for messages
	known                map[string]bool // table features that the writer honours
	isolation            Isolation
	blind                bool
	changesMetadata      bool
	backfill, unbackfill bool      // the operations of row tracking that give existing files row ids, or take them away
	read                 readState // what the checks look up

	// What rebasing changes.
	next     int64 // the version to commit as
	info     *action.CommitInfo
	actions  []action.Action  // own slice of shared actions: replace, don't write
	protocol *action.Protocol // to be in force: as read, or as adopted from a winner, or the transaction's own
	metadata *action.Metadata // likewise
	mark     int64            // row tracking's high-water mark that the transaction has seen; -1 without one

	ids    []string // transaction ids by which a winner turns out to be this transaction's own commit
	appIDs []string // application ids that count as read

	// vectors are those that rebasing made for files that the transaction adds, by canonical path; packed holds them as files
	// to be written, which the actions name unless they are stale.
	vectors map[string]*deletionvector.Vector
	packed  []deletionvector.PackedFile
	stale   bool
	// compacted is what became of rows in a transaction that is a compaction and says so; nil in any other.
	compacted *compactionRecord
	unseen    map[string]bool // files with rows that the transaction neither saw nor had to, by canonical path

	compiled *probe           // of the reads, bound to bound
	bound    *action.Metadata // nil before the first
	counts   Counts
}

// A readState is about the read version, and about what is to be made of it.
type readState struct {
	features   map[string]bool // supported at the read version
	partitions []partitionColumn
	files      map[string]*ReadFile // by canonical path
	// What the transaction does to files, by canonical path. Rebasing renumbers actions, but only a backfill loses some.
	adds    map[string]bool
	removes map[string]*action.Remove
}

type partitionColumn struct{ logical, physical string }

const noMark = -1

// newCandidate checks a transaction and prepares it for its first winner.
func (checker *Checker) newCandidate(t *Transaction) (*candidate, error) {
	if err := t.validate(); err != nil {
		return nil, err
	}
	blind, err := t.blindAppend()
	if err != nil {
		return nil, err
	}
	c := &candidate{
		txn: t, table: checker.o.Table, known: checker.features, blind: blind,
		read: readState{
			features: supported(t.Protocol), files: map[string]*ReadFile{}, adds: map[string]bool{}, removes: map[string]*action.Remove{},
		},
		next: t.ReadVersion + 1, info: &action.CommitInfo{}, actions: slices.Clone(t.Actions),
		protocol: t.Protocol, metadata: t.Metadata, mark: noMark, appIDs: t.ReadAppIDs,
		vectors: map[string]*deletionvector.Vector{}, unseen: map[string]bool{},
	}
	if c.compacted, err = newOwnCompaction(t); err != nil {
		return nil, err
	}
	if t.CommitInfo != nil {
		*c.info = *t.CommitInfo
		c.info.Fields = slices.Clone(t.CommitInfo.Fields)
	}
	if t.RowIDHighWaterMark != nil {
		c.mark = *t.RowIDHighWaterMark
	}
	for i := range t.ReadFiles {
		c.read.files[action.CanonicalPath(t.ReadFiles[i].Path)] = &t.ReadFiles[i]
	}
	for _, a := range t.Actions {
		switch a := a.(type) {
		case *action.Add:
			c.read.adds[action.CanonicalPath(a.Path)] = true
		case *action.Remove:
			c.read.removes[action.CanonicalPath(a.Path)] = a
		}
	}
	if p := first[*action.Protocol](c.actions); p != nil {
		c.protocol = p
	}
	if m := first[*action.Metadata](c.actions); m != nil {
		c.metadata, c.changesMetadata = m, true
	}
	c.backfill = t.operation() == backfillOperation && onlyReadds(t.Actions)
	c.unbackfill = t.operation() == unbackfillOperation && onlyReadds(t.Actions)
	if t.Metadata != nil {
		c.read.partitions = partitionColumns(t.Metadata)
	}
	var level Isolation
	switch {
	case t.Isolation != nil:
		level = *t.Isolation
	case t.Metadata != nil:
		level = TableIsolation(t.Metadata)
	}
	c.isolation = level.For(t.Actions, t.operation())
	return c, nil
}

// partitionColumns pairs the logical names of a table's partition columns with those that partitionValues is keyed by.
func partitionColumns(m *action.Metadata) []partitionColumn {
	// Without a readable schema the logical names will do: they are only for messages then, for nothing can be bound.
	table, err := schema.Parse(m.SchemaString, m.PartitionColumns, m.Configuration)
	columns := make([]partitionColumn, len(m.PartitionColumns))
	for i, name := range m.PartitionColumns {
		columns[i] = partitionColumn{name, name}
		if err != nil {
			continue
		}
		if c, err := table.Lookup(name); err == nil {
			columns[i].physical = c.Physical[0]
		}
	}
	return columns
}

// probe returns the reads, bound to the metadata that the next winner's files are under: the reads' own, or the last that was
// adopted. Metadata that the transaction itself writes comes later.
func (c *candidate) probe(checker *Checker) *probe {
	m := c.metadata
	if c.changesMetadata {
		m = c.txn.Metadata
	}
	if c.bound != m {
		c.compiled, c.bound = checker.newProbe(c.txn.Reads, c.txn.Env, m), m
	}
	return c.compiled
}

// rewrite replaces each action by what edit returns for it; the same action leaves it as it is, nil takes it away.
func (c *candidate) rewrite(edit func(action.Action) action.Action) {
	kept := make([]action.Action, 0, len(c.actions)+1)
	for _, a := range c.actions {
		if a = edit(a); a != nil {
			kept = append(kept, a)
		}
	}
	c.actions = kept
}

// first returns the first action of a type, or its zero value.
func first[T action.Action](actions []action.Action) (none T) {
	for _, a := range actions {
		if a, ok := a.(T); ok {
			return a
		}
	}
	return none
}
