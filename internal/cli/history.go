package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/history"
)

// historyFlags are the flags of deltaskip history.
type historyFlags struct {
	from, to int64
	txnID    string
	draw     drawFlags
}

func (a *app) historyCommand() *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:   "history TABLE",
		Short: "Replay the log: which commits raced, and what each mode and level would have said",
		Long: `history looks for commits that raced: others committed between the version that they read
and their own. It judges each of them again, by mode off (partitions, as Delta does) and by
mode stats (column statistics as well), under Serializable and under WriteSerializable.

What a commit read is taken from its operation and predicate in the log. Where the log
doesn't tell, the answer is ? if the commit would conflict had it read everything.

The log holds only commits that succeeded. Aborted transactions left nothing in it: history
shows contention and what-if, not the aborts that people had.

With --txn-id it looks for one transaction instead: a commit failed, but are its rows there?`,
		Example: `  deltaskip history ./events
  deltaskip history ./events --from 1200 --to 1300 --format json
  deltaskip history ./events --html history.html --svg history.svg
  deltaskip history ./events --txn-id 9f2c1b1e-5d0c-4a52-9c59-2f5e8f6f2a11`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.from < 0 || f.to < latest:
				return usagef("--from %d --to %d: versions begin at 0", f.from, f.to)
			case f.to != latest && f.to < f.from:
				return usagef("--to %d is before --from %d", f.to, f.from)
			case f.draw.asked() && f.txnID != "":
				return usagef("--html and --svg draw the whole history: leave out --txn-id")
			}
			return a.history(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.Int64Var(&f.from, "from", 0, "first version that counts; the oldest in the log by default")
	flags.Int64Var(&f.to, "to", latest, "last version that counts; the latest by default")
	f.draw.addTo(flags, "a timeline of the commits and their conflicts", "the same")
	flags.StringVar(&f.txnID, "txn-id", "", "look for the transaction of this `ID` (commitInfo.txnId)")
	return cmd
}

func (a *app) history(ctx context.Context, dir string, f historyFlags) error {
	zone, err := a.location()
	if err != nil {
		return err
	}
	store, log, err := a.openLog(ctx, dir)
	if err != nil {
		return err
	}
	defer store.Close()
	bar := a.progress(-1, "commits")
	o := history.Options{Table: dir, From: f.from, Zone: zone, Progress: func() { _ = bar.Add(1) }}
	if f.to != latest {
		o.To = &f.to
	}
	if f.txnID != "" {
		found, err := history.Find(ctx, log, f.txnID, o)
		if err = errors.Join(err, bar.Finish()); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		return a.printFound(f.txnID, found)
	}
	report, err := history.Replay(ctx, log, o)
	if err = errors.Join(err, bar.Finish()); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if f.draw.asked() {
		if err := chartHistory(f.draw, dir, report); err != nil {
			return err
		}
	}
	if a.json() {
		return printJSON(a.stdout, newHistoryJSON(report))
	}
	return buffered(a.stdout, func(w *bufio.Writer) error { printHistory(w, dir, report); return nil })
}

func (a *app) printFound(txnID string, found *history.Found) error {
	if a.json() {
		out := struct {
			TxnID   string      `json:"txnId"`
			Version *int64      `json:"version"` // null: in none of the versions
			From    int64       `json:"from"`
			To      int64       `json:"to"`
			Commit  *commitJSON `json:"commit,omitempty"`
		}{TxnID: txnID, From: found.From, To: found.To}
		if found.Commit != nil {
			c := newCommitJSON(*found.Commit)
			out.Version, out.Commit = &c.Version, &c
		}
		return printJSON(a.stdout, out)
	}
	return buffered(a.stdout, func(w *bufio.Writer) error {
		if found.Commit != nil {
			wrap(w, 0, 0, fmt.Sprintf("Transaction %s is committed: %s. Its rows are in the table from version %d on: don't write them again.",
				txnID, found.Commit, found.Commit.Version))
			return nil
		}
		wrap(w, 0, 0, fmt.Sprintf("Transaction %s is not in versions %d to %d.", txnID, found.From, found.To))
		wrap(w, 0, 0, "If its writer never learned what became of its commit, the commit may still be under way: look again before you write "+
			"its rows again or delete its files.")
		return nil
	})
}

const historyNote = "The log holds only commits that succeeded; transactions that were aborted left nothing in it. This shows contention and " +
	"what-if, not the aborts that people had."

// commitJSON, verdictJSON, raceJSON, groupJSON and historyJSON are the documented form of the answer.
type commitJSON struct {
	Version   int64     `json:"version"`
	Operation string    `json:"operation,omitempty"`
	Engine    string    `json:"engine,omitempty"`
	TxnID     string    `json:"txnId,omitempty"`
	Timestamp time.Time `json:"timestamp"`
}

func newCommitJSON(i conflict.WinnerInfo) commitJSON {
	return commitJSON{i.Version, i.Operation, i.Engine, i.TxnID, i.Timestamp.UTC()}
}

type verdictJSON struct {
	Mode      string `json:"mode"`
	Isolation string `json:"isolationLevel"`
	Outcome   string `json:"outcome"` // commit, conflict, or unknown
	Error     string `json:"error,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Winner    *int64 `json:"winner,omitempty"`
	Path      string `json:"path,omitempty"`
	Message   string `json:"message,omitempty"`
}

type raceJSON struct {
	commitJSON
	ReadVersion int64         `json:"readVersion"`
	Winners     int64         `json:"winners"`
	Isolation   string        `json:"tableIsolationLevel,omitempty"`
	ReadsFrom   string        `json:"readsFrom"`
	Predicate   string        `json:"predicate,omitempty"`
	Note        string        `json:"note,omitempty"`
	Verdicts    []verdictJSON `json:"verdicts"`
}

type groupJSON struct {
	Operation   string `json:"operation"`
	Engine      string `json:"engine"`
	Commits     int    `json:"commits"`
	Races       int    `json:"races"`
	Conflicting int    `json:"conflicting"` // in mode off at the table's level
	Avoidable   int    `json:"avoidable"`   // of these, in mode stats
}

type historyJSON struct {
	From    int64       `json:"from"`
	To      int64       `json:"to"`
	Commits int         `json:"commits"`
	Untold  int         `json:"withoutReadVersion"`
	Races   []raceJSON  `json:"races"`
	Groups  []groupJSON `json:"groups"`
	Note    string      `json:"note"`
}

func newHistoryJSON(r *history.Report) historyJSON {
	out := historyJSON{From: r.From, To: r.To, Commits: r.Commits(), Untold: r.Untold, Races: []raceJSON{}, Groups: []groupJSON{}, Note: historyNote}
	for _, race := range r.Races {
		j := raceJSON{
			commitJSON: newCommitJSON(race.Commit), ReadVersion: race.ReadVersion, Winners: race.Winners(),
			ReadsFrom: race.Reads.Source.String(), Predicate: race.Reads.Predicate, Note: race.Reads.Note,
		}
		if race.Isolation.Source != "" {
			j.Isolation = race.Isolation.Level.String()
		}
		for i, q := range history.Questions {
			j.Verdicts = append(j.Verdicts, newVerdictJSON(q, race.Verdicts[i]))
		}
		out.Races = append(out.Races, j)
	}
	for _, g := range r.Groups {
		out.Groups = append(out.Groups, groupJSON{g.Operation, g.Engine, g.Commits, g.Races, g.Conflicting, g.Avoidable})
	}
	return out
}

func newVerdictJSON(q history.Question, v history.Verdict) verdictJSON {
	out := verdictJSON{Mode: q.Mode.String(), Isolation: q.Level.String(), Outcome: outcomeWord(v)}
	if c := v.Conflict; c != nil {
		out.Error, out.Reason, out.Winner, out.Path = c.Kind.Exception(), string(c.Reason), &c.Winner.Version, c.Path
	}
	if v.Err != nil {
		out.Message = v.Err.Error()
	}
	return out
}

func outcomeWord(v history.Verdict) string {
	switch v.Outcome {
	case conflict.Clear:
		return "commit"
	case conflict.Conflicting:
		return "conflict"
	}
	return "unknown"
}

// short is a verdict in a table.
func short(v history.Verdict) string {
	switch v.Outcome {
	case conflict.Clear:
		return "ok"
	case conflict.Conflicting:
		return "conflict"
	}
	return "?"
}

func printHistory(w *bufio.Writer, dir string, r *history.Report) {
	wrap(w, 0, 0, fmt.Sprintf("Versions %d to %d of %s: %s, %d of them raced.", r.From, r.To, dir, count(r.Commits(), "commit"), len(r.Races)))
	if r.Untold > 0 {
		wrap(w, 0, 0, fmt.Sprintf("%s no version that it read (readVersion): whether it raced is not known.", count(r.Untold, "commit tells", "commits tell")))
	}
	if len(r.Races) > 0 {
		printRaces(w, r.Races)
		printGroups(w, r)
		fmt.Fprintln(w)
		wrap(w, 0, 0, "S is Serializable, WS WriteSerializable. Avoidable: what mode off calls a conflict at the table's own level and "+
			"statistics clear. ?: the log doesn't tell what it read; had it read everything it would conflict.")
	}
	wrap(w, 0, 0, historyNote)
}

func printRaces(w *bufio.Writer, races []*history.Race) {
	if n := len(races) - maxListed; n > 0 {
		fmt.Fprintf(w, "The last %d of them, --format json lists all:\n", maxListed)
		races = races[n:]
	}
	t := newTable()
	t.AppendHeader(pretty.Row{"version", "read", "lost to", "operation", "what it read", "off S", "off WS", "stats S", "stats WS"})
	for _, race := range races {
		row := pretty.Row{race.Commit.Version, race.ReadVersion, count(race.Winners(), "commit"), race.Commit.Operation, race.Reads.String()}
		for _, v := range race.Verdicts {
			row = append(row, short(v))
		}
		t.AppendRow(row)
	}
	t.SetColumnConfigs([]pretty.ColumnConfig{
		{Name: "operation", WidthMax: 16, WidthMaxEnforcer: text.WrapSoft},
		{Name: "what it read", WidthMax: 24, WidthMaxEnforcer: text.WrapSoft},
	})
	fmt.Fprintf(w, "\n%s\n", t.Render())
}

func printGroups(w *bufio.Writer, r *history.Report) {
	t := newTable()
	t.AppendHeader(pretty.Row{"operation", "engine", "commits", "raced", "conflicts, off", "avoidable"})
	row := func(g history.Group) pretty.Row {
		share := fmt.Sprint(g.Avoidable)
		if g.Conflicting > 0 {
			share += fmt.Sprintf(" (%d %%)", g.Avoidable*100/g.Conflicting)
		}
		return pretty.Row{g.Operation, g.Engine, g.Commits, g.Races, g.Conflicting, share}
	}
	for _, g := range r.Groups {
		if g.Races > 0 {
			t.AppendRow(row(g))
		}
	}
	total := r.Total()
	total.Operation = "all"
	t.AppendFooter(row(total))
	t.SetColumnConfigs([]pretty.ColumnConfig{
		{Name: "operation", WidthMax: 16, WidthMaxEnforcer: text.WrapSoft},
		{Name: "engine", WidthMax: 38, WidthMaxEnforcer: text.WrapSoft},
	})
	fmt.Fprintf(w, "\n%s\n", t.Render())
}
