package history

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// A Source says where it is known from what a commit read.
type Source uint8

const (
	Unknown   Source = iota // the log doesn't tell: taken to be the whole table
	Nothing                 // it appended blindly, or changed no files
	Predicate               // the operation's predicate
	Files                   // it rearranged rows, and so read the files that it removed
	Whole                   // its operation reads the whole table
)

func (s Source) String() string {
	return [...]string{Unknown: "unknown", Nothing: "nothing", Predicate: "predicate", Files: "files", Whole: "whole table"}[s]
}

// Reads are what a commit is taken to have read. The files that it removed are read in any case.
type Reads struct {
	Source Source
	// Predicate is the part of the operation's predicate that counts, as SQL; empty for other sources.
	Predicate string
	// Note says in plain words what the log leaves open: why the source is unknown, or which conjuncts don't count.
	Note string
}

// String is the predicate, or where else it is known from.
func (r Reads) String() string {
	if r.Source == Predicate {
		return r.Predicate
	}
	return r.Source.String()
}

// readsOf reconstructs what a commit read, from the operation and its parameters. table is the schema that it read under.
//
// Source: the parameters that Delta on Spark writes for each operation (DeltaOperations), which others follow.
func readsOf(c *deltalog.Commit, table *schema.Table, env predicate.Env) (Reads, error) {
	if c.Info == nil {
		return Reads{Note: "it has no commitInfo"}, nil
	}
	files := c.NumAdds() + len(c.Removes) + len(c.CDC)
	changes, err := changesData(c)
	if err != nil {
		return Reads{}, err
	}
	blind := c.Info.IsBlindAppend()
	parameters := c.Info.OperationParameters()
	conjuncts := conjunctsOf(parameters["predicate"])
	operation := strings.ToUpper(c.Info.Operation())
	switch {
	case blind != nil && *blind && len(c.Removes) == 0:
		return Reads{Source: Nothing}, nil
	case operation == "MERGE":
		return Reads{Note: "the condition of a MERGE compares with its source, which the log doesn't have"}, nil
	case len(conjuncts) > 0 && (changes || files == 0): // a DELETE that found nothing has read all the same
	case operation == "DELETE", operation == "UPDATE", operation == "TRUNCATE":
		return Reads{Source: Whole}, nil
	case operation == "WRITE" && strings.EqualFold(parameters["mode"], "Overwrite"):
		return Reads{Source: Whole}, nil
	case files == 0:
		return Reads{Source: Nothing}, nil
	case !changes:
		return Reads{Source: Files}, nil
	case operation == "":
		return Reads{Note: "the log doesn't tell what it did"}, nil
	default:
		return Reads{Note: fmt.Sprintf("the log doesn't tell what this %s read", c.Info.Operation())}, nil
	}
	var usable []predicate.Expr
	var dropped []string
	for _, text := range conjuncts {
		ok, not := parseConjunct(text, table, env)
		usable, dropped = append(usable, ok...), append(dropped, not...)
	}
	reads := Reads{Source: Predicate, Predicate: predicate.AllOf(usable...).String()}
	if len(dropped) > 0 {
		reads.Note = "cannot be read back from the log: " + strings.Join(dropped, "; ")
	}
	if len(usable) == 0 {
		reads.Source, reads.Predicate = Unknown, ""
	}
	return reads, nil
}

// changesData reports whether some file action of a commit does more than rearrange rows.
func changesData(c *deltalog.Commit) (bool, error) {
	for _, r := range c.Removes {
		if r.DataChange {
			return true, nil
		}
	}
	for a, err := range c.Adds() {
		if err != nil {
			return false, err
		}
		if a.DataChange {
			return true, nil
		}
	}
	return false, nil
}

// conjunctsOf takes apart the parameter predicate: one text, or a JSON list of them.
func conjunctsOf(parameter string) []string {
	var list []string
	if strings.HasPrefix(parameter, "[") && json.Unmarshal([]byte(parameter), &list) == nil {
		return list
	}
	if parameter == "" {
		return nil
	}
	return []string{parameter}
}

// transaction makes of a commit the transaction that it was when it had read its version, as far as can be told.
func transaction(c *deltalog.Commit, r Reads, env predicate.Env) (*conflict.Transaction, error) {
	txn := &conflict.Transaction{Env: env, CommitInfo: &action.CommitInfo{}}
	if c.Info != nil {
		txn.CommitInfo.SetString("operation", c.Info.Operation())
	}
	switch r.Source {
	case Unknown, Whole:
		txn.ReadWholeTable = true
	case Predicate:
		txn.Reads = []conflict.Read{{SQL: r.Predicate}}
	}
	if c.Metadata != nil {
		txn.Actions = append(txn.Actions, c.Metadata)
	}
	if c.Protocol != nil {
		txn.Actions = append(txn.Actions, c.Protocol)
	}
	for _, a := range c.Txns { // who sets it has looked it up
		txn.ReadAppIDs = append(txn.ReadAppIDs, a.AppID)
		txn.Actions = append(txn.Actions, a)
	}
	for _, a := range c.Domains {
		txn.Actions = append(txn.Actions, a)
	}
	for _, a := range c.Removes {
		txn.ReadFiles = append(txn.ReadFiles, conflict.ReadFile{Path: a.Path, PartitionValues: a.PartitionValues, DeletionVector: a.DeletionVector.UniqueID()})
		txn.Actions = append(txn.Actions, a)
	}
	for a, err := range c.Adds() {
		if err != nil {
			return nil, err
		}
		txn.Actions = append(txn.Actions, a)
	}
	for _, a := range c.CDC {
		txn.Actions = append(txn.Actions, a)
	}
	return txn, nil
}
