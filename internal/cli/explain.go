package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/history"
)

// A checking is the check of one transaction, with what an explanation of the answer is made of.
type checking struct {
	table   string
	log     *deltalog.Log
	txn     *conflict.Transaction
	last    int64
	options conflict.Options

	seen events // what the check told
	// facts are the winners' files, nil where looking at them failed: an answer stands without.
	facts  *conflict.Explanation
	whatIf []whatIf
}

// A whatIf is the answer to the same transaction in another mode or at another level.
type whatIf struct {
	question history.Question
	verdict  history.Verdict
}

// run checks the transaction and gathers what explains the answer.
func (c *checking) run(ctx context.Context) (conflict.Result, error) {
	c.options.Observer = &c.seen
	checker, err := conflict.NewChecker(c.log, c.options)
	if err != nil {
		return conflict.Result{}, err
	}
	result, err := checker.Check(ctx, c.txn, c.last)
	if err != nil {
		return result, err
	}
	if c.facts, err = checker.Explain(ctx, c.txn, c.last); err != nil {
		c.facts = nil
		return result, ctx.Err()
	}
	if len(c.facts.Winners) > 0 && c.facts.Isolation.Level != conflict.SnapshotIsolation {
		c.ask(ctx)
	}
	return result, ctx.Err()
}

// ask asks what the modes and levels that were not asked for would have said, without reading rows.
func (c *checking) ask(ctx context.Context) {
	asked := history.Question{Mode: c.options.Mode, Level: c.facts.Isolation.Level}
	questions := slices.Clone(history.Questions[:])
	if !slices.ContainsFunc(questions, func(q history.Question) bool { return q.Mode == asked.Mode }) {
		questions = append(questions, history.Question{Mode: asked.Mode, Level: conflict.Serializable + conflict.WriteSerializable - asked.Level})
	}
	for _, q := range questions {
		if q == asked {
			continue
		}
		o, txn := c.options, *c.txn
		o.Mode, o.Observer = q.Mode, nil
		txn.Isolation = &conflict.Isolation{Level: q.Level, Source: "what if"}
		checker, err := conflict.NewChecker(c.log, o)
		if err != nil {
			continue // the options make no sense in that mode
		}
		result, err := checker.Check(ctx, &txn, c.last)
		c.whatIf = append(c.whatIf, whatIf{q, history.Verdict{Outcome: result.Outcome, Conflict: result.Conflict, Err: err}})
	}
}

// judged returns what the check said of a winner that it got to.
func (e events) judged(version int64) (conflict.Judged, bool) {
	for _, event := range e {
		if j, ok := event.(conflict.Judged); ok && j.Winner.Version == version {
			return j, true
		}
	}
	return conflict.Judged{}, false
}

// print explains the answer: what was read, winner by winner what was looked at, the outcome, and what would have changed it.
func (c *checking) print(w *bufio.Writer, r conflict.Result, paint func(text.Color) (on, off string)) {
	c.printTransaction(w)
	if c.facts != nil {
		for _, reach := range c.facts.Winners {
			c.printWinner(w, reach)
		}
		c.printTotal(w)
	}
	fmt.Fprintln(w)
	if r.Outcome == conflict.Clear {
		on, off := paint(text.FgGreen)
		fmt.Fprintf(w, "%sNo conflict%s: it may commit as version %d.\n", on, off, r.Version)
	} else {
		on, off := paint(text.FgRed)
		w.WriteString(on)
		wrap(w, 0, 2, fmt.Sprintf("Conflict with version %d: %s [%s], SQLSTATE %s",
			r.Conflict.Winner.Version, r.Conflict.Kind.Exception(), r.Conflict.ErrorClass(), conflict.SQLState))
		w.WriteString(off)
		printConflict(w, r.Conflict)
	}
	for i, other := range c.whatIf {
		if i == 0 {
			fmt.Fprintln(w, "What if:")
		}
		wrap(w, 2, 2, fmt.Sprintf("mode %s, %s: %s", other.question.Mode, other.question.Level, inWords(other.verdict)))
	}
}

func (c *checking) printTransaction(w *bufio.Writer) {
	what := "A transaction"
	if c.txn.CommitInfo != nil && c.txn.CommitInfo.Operation() != "" {
		what = c.txn.CommitInfo.Operation()
	}
	found := fmt.Sprintf("read version %d of %s", c.txn.ReadVersion, c.table)
	if c.txn.ReadVersion < 0 {
		found = fmt.Sprintf("found no table in %s", c.table)
	}
	wrap(w, 0, 2, fmt.Sprintf("%s that %s, checked in mode %s", what, found, c.options.Mode))
	if c.facts != nil {
		wrap(w, 2, 2, fmt.Sprintf("isolation level %s", c.facts.Isolation))
	}
	for i, read := range c.txn.Reads {
		wrap(w, 2, 4, fmt.Sprintf("read %d: %s", i, read))
		if c.facts == nil {
			continue
		}
		for _, u := range c.facts.Unusable {
			if u.Read == i {
				wrap(w, 4, 2, fmt.Sprintf("not usable: %s: %s", u.Conjunct, u.Reason))
			}
		}
	}
	if c.txn.ReadWholeTable {
		fmt.Fprintln(w, "  read the whole table")
	}
	if n := len(c.txn.ReadFiles); n > 0 {
		fmt.Fprintf(w, "  looked into %s\n", count(n, "file"))
	}
}

// maxShown is how many files of a winner the text names.
const maxShown = 3

func (c *checking) printWinner(w *bufio.Writer, r conflict.Reach) {
	blind := ""
	if r.Winner.BlindAppend {
		blind = ", a blind append"
	}
	wrap(w, 0, 2, fmt.Sprintf("%s%s", r.Winner, blind))
	if r.Rearranged {
		wrap(w, 2, 2, "only rearranged rows: every file that it adds or removes says dataChange=false")
	}
	if r.Err == nil {
		c.printAdded(w, r)
		if r.Removes > 0 {
			wrap(w, 2, 2, removed(r, c.txn))
		}
	}
	verdict := "not judged: an earlier winner stands in the way"
	if j, ok := c.seen.judged(r.Winner.Version); ok {
		verdict = judgement(j)
	}
	wrap(w, 2, 2, verdict)
}

func (c *checking) printAdded(w *bufio.Writer, r conflict.Reach) {
	switch {
	case r.Adds == 0:
		fmt.Fprintln(w, "  added no file")
		return
	case r.Exempt != "":
		wrap(w, 2, 2, fmt.Sprintf("added %s, which don't count: %s", count(r.Adds, "file"), r.Exempt))
		return
	}
	wrap(w, 2, 2, fmt.Sprintf("added %s: skipped %d by partition, %d by statistics; %d of %d files of version %d could hold a row of yours (%d of %d without statistics)",
		count(r.Adds, "file"), r.SkippedByPartition, r.SkippedByStats, r.Reached(), r.Adds, r.Winner.Version, int64(r.Adds)-r.SkippedByPartition, r.Adds))
	if r.Failure != nil {
		wrap(w, 2, 2, fmt.Sprintf("skipping failed, so partitions decide: %v", r.Failure))
	}
	for i, f := range r.Files {
		if i == maxShown {
			break
		}
		wrap(w, 4, 2, reached(f))
	}
	if n := r.Reached() - maxShown; n > 0 {
		fmt.Fprintf(w, "    and %d more\n", n)
	}
}

// reached says why a file counts.
func reached(f conflict.ReachedFile) string {
	var b strings.Builder
	b.WriteString(f.Path)
	if f.Partition != "" {
		b.WriteString(" in partition " + f.Partition)
	}
	if f.Ranges != "" {
		b.WriteString(" has " + f.Ranges)
	}
	fmt.Fprintf(&b, ": %s", f.Reason)
	if f.Predicate != "" {
		fmt.Fprintf(&b, ", read %d (%s)", f.Read, f.Predicate)
	}
	if f.Conjunct != "" && f.Conjunct != f.Predicate {
		fmt.Fprintf(&b, ": %s excludes nothing", f.Conjunct)
	}
	return b.String()
}

// removed says which of a winner's removed files matter.
func removed(r conflict.Reach, txn *conflict.Transaction) string {
	s := fmt.Sprintf("removed %s", count(r.Removes, "file"))
	switch {
	case txn.ReadWholeTable:
		return s + ", and this transaction read the whole table"
	case r.RemovedRead == 0 && r.RemovedTwice == 0:
		return s + ", none that this transaction read or removes"
	}
	if n := len(txn.ReadFiles); n > 0 {
		s += fmt.Sprintf(", %d of the %d that this transaction read", r.RemovedRead, n)
	}
	if r.RemovedTwice > 0 {
		s += fmt.Sprintf(", %d that it removes too", r.RemovedTwice)
	}
	if rest := removes(txn) - r.RemovedTwice; r.RemovedTwice > 0 && rest > 0 && !changesData(txn) {
		s += fmt.Sprintf(": the rearranging of the other %d could be committed by itself", rest)
	}
	return s
}

func removes(txn *conflict.Transaction) (n int64) {
	for _, a := range txn.Actions {
		if _, ok := a.(*action.Remove); ok {
			n++
		}
	}
	return n
}

// changesData reports whether some file action does more than rearrange rows.
func changesData(txn *conflict.Transaction) bool {
	return slices.ContainsFunc(txn.Actions, func(a action.Action) bool {
		switch a := a.(type) {
		case *action.Add:
			return a.DataChange
		case *action.Remove:
			return a.DataChange
		}
		return false
	})
}

// printTotal adds the winners up, where there are several.
func (c *checking) printTotal(w *bufio.Writer) {
	if len(c.facts.Winners) < 2 {
		return
	}
	var files, reached, partitions int64
	for _, r := range c.facts.Winners {
		if r.Err == nil && r.Exempt == "" {
			files += int64(r.Adds)
			reached += r.Reached()
			partitions += int64(r.Adds) - r.SkippedByPartition
		}
	}
	wrap(w, 0, 2, fmt.Sprintf("All winners: %s added that count; %d could hold a row of yours (%d without statistics)", count(files, "file"), reached, partitions))
}

// inWords is an answer in one line.
func inWords(v history.Verdict) string {
	switch {
	case v.Conflict != nil:
		return fmt.Sprintf("conflict with version %d: %s, %s", v.Conflict.Winner.Version, v.Conflict.Kind.Exception(), v.Conflict.Reason)
	case v.Outcome == conflict.Clear:
		return "no conflict"
	}
	return fmt.Sprintf("no answer: %v", v.Err)
}

// judgement is what the check concluded about one winner.
func judgement(e conflict.Judged) string {
	var c *conflict.Conflict
	switch {
	case errors.As(e.Err, &c):
		return fmt.Sprintf("stands in the way: %s, %s", c.Kind.Exception(), c.Reason)
	case e.Err != nil:
		return e.Err.Error()
	}
	if e.Settled > 0 {
		return fmt.Sprintf("passed: %d of its file actions go together with yours by the rows in them", e.Settled)
	}
	if n := e.Counts.FilesRead; n > 0 {
		return fmt.Sprintf("passed: read %s of %s, %d of which hold no row of yours", count(e.Counts.RowsRead, "row"), count(n, "file"), e.Counts.SkippedByRows)
	}
	return "passed"
}

// printConflict says what stands in the way and what to do about it, one fact a line.
func printConflict(w *bufio.Writer, c *conflict.Conflict) {
	fact := func(name, value string) {
		if value != "" {
			wrap(w, 2, 11, fmt.Sprintf("%-10s %s", name, value))
		}
	}
	fact("what", c.What())
	fact("file", c.Path)
	fact("partition", c.Partition)
	fact("range", c.Ranges)
	fact("rows", c.Rows)
	fact("note", c.Note)
	if c.Predicate != "" {
		fact(fmt.Sprintf("read %d", c.Read), c.Predicate)
	}
	fact("conjunct", c.Conjunct)
	fact("winner", c.Winner.String())
	fact("isolation", c.Isolation.String())
	fact("reason", string(c.Reason))
	fact("what to do", c.Hint())
}

// unusableReadJSON and reachJSON are the documented form of the facts.
type unusableReadJSON struct {
	Read     int    `json:"read"`
	Conjunct string `json:"conjunct"`
	Reason   string `json:"reason"`
}

type reachJSON struct {
	commitJSON
	Adds         int               `json:"adds"`
	Removes      int               `json:"removes"`
	Rearranged   bool              `json:"rearranged,omitempty"`
	Exempt       string            `json:"exempt,omitempty"` // why the added files don't count
	Skipped      skippedJSON       `json:"skipped"`
	Reached      int64             `json:"reached"` // added files that could hold a row that was read
	Files        []reachedFileJSON `json:"files,omitempty"`
	RemovedRead  int64             `json:"removedRead"`
	RemovedTwice int64             `json:"removedTwice"`
	Fallback     string            `json:"fallback,omitempty"` // why statistics had no say
	Error        string            `json:"error,omitempty"`    // what kept its files from being looked at
}

type reachedFileJSON struct {
	Path      string `json:"path"`
	Partition string `json:"partition,omitempty"`
	Read      int    `json:"read"` // -1: the transaction doesn't tell what it read
	Predicate string `json:"predicate,omitempty"`
	Reason    string `json:"reason"`
	Conjunct  string `json:"conjunct,omitempty"`
	Ranges    string `json:"ranges,omitempty"`
}

// explain adds the facts to an answer.
func (out *checkJSON) explain(c *checking) {
	for _, other := range c.whatIf {
		out.WhatIf = append(out.WhatIf, newVerdictJSON(other.question, other.verdict))
	}
	if c.facts == nil {
		return
	}
	out.IsolationLevel = c.facts.Isolation.Level.String()
	for _, u := range c.facts.Unusable {
		out.Unusable = append(out.Unusable, unusableReadJSON(u))
	}
	for _, r := range c.facts.Winners {
		out.Winners = append(out.Winners, newReachJSON(r))
	}
}

func newReachJSON(r conflict.Reach) reachJSON {
	out := reachJSON{
		commitJSON: newCommitJSON(r.Winner), Adds: r.Adds, Removes: r.Removes, Rearranged: r.Rearranged, Exempt: r.Exempt,
		Skipped: skippedJSON{r.SkippedByPartition, r.SkippedByStats}, Reached: r.Reached(), RemovedRead: r.RemovedRead, RemovedTwice: r.RemovedTwice,
	}
	for _, f := range r.Files {
		out.Files = append(out.Files, reachedFileJSON{f.Path, f.Partition, f.Read, f.Predicate, string(f.Reason), f.Conjunct, f.Ranges})
	}
	if r.Failure != nil {
		out.Fallback = r.Failure.Error()
	}
	if r.Err != nil {
		out.Error = r.Err.Error()
	}
	return out
}
