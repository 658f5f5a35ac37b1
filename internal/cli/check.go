package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/internal/txnfile"
	"github.com/deltaskip/deltaskip/predicate"
)

// checkFlags are the flags of deltaskip check.
type checkFlags struct {
	txn         string
	readVersion int64
	where       []string
	foreign     foreign
	readFiles   []string
	wholeTable  bool
	isolation   string
	alias       string
	version     int64
	mode        string

	rowLevel, removedRows, rearranged, compaction bool
}

func (a *app) checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check TABLE {--txn FILE | --read-version R --where SQL …}",
		Short: "Decide whether a transaction conflicts with the commits that beat it, and say why",
		Long: `check takes a transaction that read version R and decides whether it may still commit after
the commits R+1 and later that are in the log. Nothing is written.

The transaction is a JSON file (--txn) or is described by flags. Mode off decides by
partition values as Delta does; mode stats also uses column statistics; mode exact also reads
the rows of the files that statistics cannot exclude.

By itself a file that both sides touch is a conflict. --row-level lets both mark different
rows of it by deletion vectors; --removed-rows lets a winner remove rows that were not read
(mode exact); --rearranged lets a winner move rows about; --compaction moves marks between the
sources of a compaction that recorded them and its files. Deletion vectors that a commit would
need are listed under files in JSON, and not written.

Exit code 0: it may commit. 3: it conflicts. 1: there is no answer, which a committer must
take for a conflict.`,
		Example: `  deltaskip check ./events --txn txn.json --mode stats
  deltaskip check ./events --read-version 4 --where "site = 'a' AND id < 50" --mode stats
  deltaskip check ./events --read-version 4 --where-json predicate.json --mode stats
  deltaskip check ./events --txn txn.json --format json`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			described := cmd.Flags().Changed("read-version")
			switch {
			case f.txn == "" && !described:
				return usagef("give --txn FILE, or --read-version R with --where SQL")
			case f.txn != "" && (described || len(f.where)+f.foreign.count()+len(f.readFiles) > 0 || f.wholeTable || f.isolation != ""):
				return usagef("--txn FILE describes the whole transaction: leave out the other flags about it")
			case described && f.readVersion < 0:
				return usagef("--read-version %d: versions begin at 0; a transaction that creates the table is given by --txn", f.readVersion)
			case described && len(f.where)+f.foreign.count()+len(f.readFiles) == 0 && !f.wholeTable:
				return usagef("say what the transaction read: --where SQL, --read-file PATH or --whole-table")
			}
			if f.removedRows && f.mode != conflict.Exact.String() {
				return usagef("--removed-rows reads rows: give --mode exact with it")
			}
			return a.check(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.txn, "txn", "", "the transaction as JSON in `FILE`; - is standard input")
	flags.Int64Var(&f.readVersion, "read-version", 0, "version that the transaction read")
	flags.StringArrayVar(&f.where, "where", nil, "what it read, a predicate in Spark `SQL`; several are separate reads")
	f.foreign.addTo(flags)
	flags.StringArrayVar(&f.readFiles, "read-file", nil, "`PATH` of a file that it read, as the log spells it")
	flags.BoolVar(&f.wholeTable, "whole-table", false, "it read the whole table")
	flags.StringVar(&f.isolation, "isolation", "", "isolation `LEVEL`; the table's by default")
	flags.StringVar(&f.alias, "alias", "", "what the predicates call the table, such as t in t.id; `NAME`s before other columns are of other tables")
	flags.Int64Var(&f.version, "version", latest, "last version that counts as a winner; the latest by default")
	flags.StringVar(&f.mode, "mode", "off", "how closely added files are looked at: `off|stats|exact`")
	flags.BoolVar(&f.rowLevel, "row-level", false, "merge deletion vectors of one file where both sides mark different rows")
	flags.BoolVar(&f.removedRows, "removed-rows", false, "a file that was read may lose rows that were not; needs --mode exact")
	flags.BoolVar(&f.rearranged, "rearranged", false, "a winner that only moves rows (OPTIMIZE, REORG) is nothing to who only adds, or has not read them")
	flags.BoolVar(&f.compaction, "compaction", false, "changes of rows follow them into the file of a compaction that recorded its sources")
	return cmd
}

func (a *app) check(ctx context.Context, dir string, f checkFlags) error {
	mode, err := conflict.ParseMode(f.mode)
	if err != nil {
		return usagef("--mode: %v", err)
	}
	txn, err := f.transaction()
	if err != nil {
		return err
	}
	zone, err := a.location()
	if err != nil {
		return err
	}
	store, log, err := a.openLog(ctx, dir)
	if err != nil {
		return err
	}
	defer store.Close()
	source, err := a.source(ctx, dir, store)
	if err != nil {
		return err
	}
	if err := readFrom(ctx, log, txn, f.foreign); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	txn.Env = predicate.Env{Zone: zone, Now: time.Now(), Alias: f.alias}
	c := checking{
		table: dir, log: log, txn: txn, last: conflict.Newest,
		options: conflict.Options{
			Mode: mode, PartitionZone: zone, Cache: conflict.NewWinnerCache(0),
			Roots: source.Roots, Limits: source.Limits, MaxMemoryBytes: a.limits.maxMemoryBytes,
			RowLevel: f.rowLevel, RemovedRows: f.removedRows, Rearranged: f.rearranged, Compaction: f.compaction,
		},
	}
	defer c.options.Cache.Close()
	if f.version != latest {
		c.last = f.version
	}
	result, err := c.run(ctx)
	if f.txn == "" {
		result.Actions, result.Files = nil, nil // of a transaction that is described by flags there are none
	}
	if a.json() {
		out := newCheckJSON(result, err, c.seen)
		out.explain(&c)
		err = errors.Join(err, printJSON(a.stdout, out))
	} else if err == nil {
		err = buffered(a.stdout, func(w *bufio.Writer) error { c.print(w, result, a.paint); return nil })
	}
	if err == nil && result.Outcome == conflict.Conflicting {
		err = errConflict
	}
	return err
}

// readFrom fills in what the transaction read of the table's state, and the predicates that only that state gives a meaning.
// One that read version -1 found no table.
func readFrom(ctx context.Context, log *deltalog.Log, txn *conflict.Transaction, f foreign) error {
	if txn.ReadVersion < 0 {
		return nil
	}
	snapshot, err := log.Snapshot(ctx, deltalog.SnapshotOptions{Version: &txn.ReadVersion})
	if err != nil {
		return err
	}
	defer snapshot.Close()
	if f.count() > 0 {
		table, err := snapshot.Table()
		if err != nil {
			return err
		}
		exprs, err := f.read(table)
		if err != nil {
			return err
		}
		for _, e := range exprs {
			txn.Reads = append(txn.Reads, conflict.Read{Expr: e})
		}
	}
	return txn.ReadFrom(snapshot)
}

// transaction reads or makes the transaction that the flags describe.
func (f checkFlags) transaction() (*conflict.Transaction, error) {
	if f.txn == "" {
		return f.described()
	}
	in, name, err := openInput(f.txn)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	txn, err := txnfile.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return txn, nil
}

// described makes a transaction from flags. It is taken to change data: the file that stands for that is in no answer.
func (f checkFlags) described() (*conflict.Transaction, error) {
	txn := &conflict.Transaction{
		ReadVersion:    f.readVersion,
		ReadWholeTable: f.wholeTable,
		Actions:        []action.Action{&action.Add{Path: "a-file-of-this-transaction", PartitionValues: map[string]*string{}, DataChange: true}},
		CommitInfo:     &action.CommitInfo{},
	}
	txn.CommitInfo.SetBool("isBlindAppend", false)
	for _, sql := range f.where {
		txn.Reads = append(txn.Reads, conflict.Read{SQL: sql})
	}
	for _, path := range f.readFiles {
		txn.ReadFiles = append(txn.ReadFiles, conflict.ReadFile{Path: path})
	}
	if f.isolation != "" {
		level, err := conflict.ParseLevel(f.isolation)
		if err != nil {
			return nil, usagef("--isolation: %v", err)
		}
		txn.Isolation = &conflict.Isolation{Level: level, Source: "given by --isolation"}
	}
	return txn, nil
}

// events collects what a check tells its observer. A check of one transaction tells it in order.
type events []conflict.Event

func (e *events) Observe(_ context.Context, event conflict.Event) { *e = append(*e, event) }

// A checkJSON is the documented form of the answer. Members of other outcomes are left out.
type checkJSON struct {
	Outcome string            `json:"outcome"`
	Version *int64            `json:"version,omitempty"`
	Actions []json.RawMessage `json:"actions,omitempty"`
	Files   []vectorFile      `json:"files,omitempty"` // of deletion vectors, to be written before the commit

	Error          string       `json:"error,omitempty"` // the exception's name; of the outcome error what happened
	ErrorClass     string       `json:"errorClass,omitempty"`
	Reason         string       `json:"reason,omitempty"`
	Winner         *int64       `json:"winner,omitempty"`
	Operation      string       `json:"winnerOperation,omitempty"`
	Engine         string       `json:"winnerEngine,omitempty"`
	TxnID          string       `json:"winnerTxnId,omitempty"`
	IsolationLevel string       `json:"isolationLevel,omitempty"`
	Path           string       `json:"path,omitempty"`
	Partition      string       `json:"partition,omitempty"`
	Read           *int         `json:"read,omitempty"`
	Predicate      string       `json:"predicate,omitempty"`
	Conjunct       string       `json:"conjunct,omitempty"`
	Ranges         string       `json:"ranges,omitempty"`
	Rows           string       `json:"rows,omitempty"`
	Note           string       `json:"note,omitempty"`
	Metadata       []difference `json:"metadata,omitempty"`
	Message        string       `json:"message,omitempty"`
	Hint           string       `json:"hint,omitempty"`

	Unusable []unusableReadJSON `json:"unusable,omitempty"`
	Winners  []reachJSON        `json:"winners,omitempty"`
	WhatIf   []verdictJSON      `json:"whatIf,omitempty"`
	Events   []any              `json:"events"`
}

// A vectorFile is a file of deletion vectors that the actions name.
type vectorFile struct {
	Path string `json:"path"` // from the table's root
	Data []byte `json:"data"` // in base64
}

type difference struct {
	Field string `json:"field"`
	Was   string `json:"was"`
	Now   string `json:"now"`
}

func newCheckJSON(r conflict.Result, err error, seen events) checkJSON {
	out := checkJSON{Events: seen.json()}
	switch {
	case err != nil || r.Outcome == conflict.Undetermined:
		out.Outcome = "error"
		out.Error = fmt.Sprint(err)
	case r.Outcome == conflict.Clear:
		out.Outcome = "commit"
		out.Version = &r.Version
		for _, f := range r.Files {
			out.Files = append(out.Files, vectorFile{f.Path, f.Data})
		}
		for _, a := range r.Actions {
			out.Actions = append(out.Actions, action.Append(nil, a))
		}
	default:
		c := r.Conflict
		out.Outcome = "conflict"
		out.Error, out.ErrorClass, out.Reason = c.Kind.Exception(), c.ErrorClass(), string(c.Reason)
		out.Winner, out.Operation, out.Engine, out.TxnID = &c.Winner.Version, c.Winner.Operation, c.Winner.Engine, c.Winner.TxnID
		out.IsolationLevel = c.Isolation.Level.String()
		out.Path, out.Partition, out.Predicate, out.Conjunct, out.Ranges = c.Path, c.Partition, c.Predicate, c.Conjunct, c.Ranges
		out.Rows, out.Note = c.Rows, c.Note
		if c.Read >= 0 && c.Predicate != "" {
			out.Read = &c.Read
		}
		for _, d := range c.Metadata {
			out.Metadata = append(out.Metadata, difference{d.Field, d.Was, d.Now})
		}
		out.Message, out.Hint = c.Error(), c.Hint()
	}
	return out
}

// json returns the events that the answer lists: fallbacks, and conflicts that skipping removed.
func (e events) json() []any {
	list := []any{}
	for _, event := range e {
		switch event := event.(type) {
		case conflict.Fallback:
			list = append(list, map[string]any{"event": "fallback", "winner": event.Winner, "class": event.Class, "message": event.Message})
		case conflict.NoConflict:
			list = append(list, map[string]any{"event": "noConflict", "winner": event.Winner, "filesConsidered": event.FilesConsidered,
				"filesSkipped": event.FilesSkipped, "tier": event.Tier.String()})
		}
	}
	return list
}
