package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/vectorized"
)

// disjointFlags are the flags of deltaskip disjoint.
type disjointFlags struct {
	where   []string
	queries string
	at      moment
}

func (a *app) disjointCommand() *cobra.Command {
	var f disjointFlags
	cmd := &cobra.Command{
		Use:   "disjoint TABLE {--where SQL --where SQL … | --queries FILE}",
		Short: "Tell which of several predicates may touch a common file",
		Long: `disjoint compares predicates pair by pair: is there a file of the table that may hold rows
of both? Where there is none, two jobs that change the rows of these predicates rewrite
different files and do not conflict on what is there now. Ask before a fan-out, with one
predicate for each job.

Rows that the jobs add are another matter: see deltaskip check.`,
		Example: `  deltaskip disjoint ./events --where "id < 1000" --where "id BETWEEN 1000 AND 1999"
  deltaskip disjoint ./events --queries jobs.jsonl --format json
  jq -c '{id: .day, predicate: .condition}' jobs.json | deltaskip disjoint ./events --queries -`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.queries == "" && len(f.where) < 2:
				return usagef("give at least two --where SQL, or --queries FILE")
			case f.queries != "" && len(f.where) > 0:
				return usagef("give --where or --queries, not both")
			}
			return a.disjoint(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.where, "where", nil, "predicate of one job in Spark `SQL`; give one for each")
	flags.StringVar(&f.queries, "queries", "", "`FILE`"+` of JSON lines {"id","predicate"}; - is standard input`)
	f.at.addTo(flags)
	return cmd
}

// A contender is one of the predicates that are compared.
type contender struct {
	ID        any            `json:"id,omitempty"` // of the queries file
	Predicate string         `json:"predicate"`
	Files     int64          `json:"files"` // that may hold a row of it
	Unusable  []unusableJSON `json:"unusable,omitempty"`
}

// A meeting is a pair of predicates that may both have rows in some files.
type meeting struct {
	A     int    `json:"a"` // which predicate, counted from 0
	B     int    `json:"b"`
	Files int64  `json:"files"`
	First string `json:"first"` // of the files in log order
}

type disjointJSON struct {
	Version    int64       `json:"version"`
	Total      int64       `json:"total"`
	Disjoint   bool        `json:"disjoint"` // pairwise
	Predicates []contender `json:"predicates"`
	Meetings   []meeting   `json:"meetings"`
}

func (a *app) disjoint(ctx context.Context, dir string, f disjointFlags) error {
	contenders, err := f.contenders()
	if err != nil {
		return err
	}
	t, err := a.openTable(ctx, dir, f.at)
	if err != nil {
		return err
	}
	defer t.Close()
	reads := make([]*predicate.Predicate, len(contenders))
	for i, c := range contenders {
		if reads[i], err = t.bind(c.Predicate); err != nil {
			return fmt.Errorf("predicate %s: %w", c.name(i), err)
		}
	}
	out := disjointJSON{Version: t.snapshot.Version, Predicates: contenders}
	if err := out.compare(ctx, t, reads); err != nil {
		return err
	}
	if a.json() {
		return printJSON(a.stdout, out)
	}
	return buffered(a.stdout, func(w *bufio.Writer) error { out.print(w); return nil })
}

// contenders are the predicates that the flags ask about.
func (f disjointFlags) contenders() (list []contender, err error) {
	for _, sql := range f.where {
		list = append(list, contender{Predicate: sql})
	}
	if f.queries == "" {
		return list, nil
	}
	for q, err := range readQueries(f.queries) {
		if err != nil {
			return nil, err
		}
		list = append(list, contender{ID: q.ID, Predicate: q.Predicate})
	}
	if len(list) < 2 {
		return nil, fmt.Errorf("%s: %s: give at least two", f.queries, count(len(list), "predicate"))
	}
	return list, nil
}

// name is what a predicate is called: by its id, or by its place.
func (c contender) name(i int) string {
	if c.ID == nil {
		return fmt.Sprint(i)
	}
	return fmt.Sprint(c.ID)
}

// compare finds the meetings in one pass over the table's files.
func (d *disjointJSON) compare(ctx context.Context, t *table, reads []*predicate.Predicate) error {
	program, err := vectorized.Compile(reads, vectorized.Options{})
	if err != nil {
		return err
	}
	for _, u := range program.Unusable() {
		c := &d.Predicates[u.Read]
		c.Unusable = append(c.Unusable, unusableJSON{u.Read, u.Conjunct, u.Reason})
	}
	met := map[[2]int]*meeting{}
	survivors := make([][]uint64, len(reads))
	var scratch vectorized.Scratch
	for b, err := range t.snapshot.Batches(ctx, program.Layout(), deltalog.BatchOptions{Stats: colstats.Options{Zone: t.zone}}) {
		if err != nil {
			return err
		}
		if err := program.EvalEach(survivors, b, &scratch); err != nil {
			return err
		}
		d.Total += int64(b.Len())
		for i, in := range survivors {
			d.Predicates[i].Files += ones(in)
			for j, also := range survivors[:i] {
				if err := meet(met, [2]int{j, i}, also, in, b); err != nil {
					return err
				}
			}
		}
	}
	d.Meetings = []meeting{}
	for _, m := range met {
		d.Meetings = append(d.Meetings, *m)
	}
	slices.SortFunc(d.Meetings, func(x, y meeting) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	d.Disjoint = len(d.Meetings) == 0
	return nil
}

func ones(words []uint64) (n int64) {
	for _, w := range words {
		n += int64(bits.OnesCount64(w))
	}
	return n
}

// meet counts the files of a batch that are in both a and b.
func meet(met map[[2]int]*meeting, pair [2]int, a, b []uint64, batch *colstats.Batch) error {
	for w := range a {
		both := a[w] & b[w]
		if both == 0 {
			continue
		}
		m := met[pair]
		if m == nil {
			path, err := batch.Path(w*64 + bits.TrailingZeros64(both))
			if err != nil {
				return err
			}
			m = &meeting{A: pair[0], B: pair[1], First: strings.Clone(path)}
			met[pair] = m
		}
		m.Files += int64(bits.OnesCount64(both))
	}
	return nil
}

// maxListed bounds the lists of text output; JSON has them whole.
const maxListed = 50

func (d *disjointJSON) print(w *bufio.Writer) {
	n := len(d.Predicates)
	if d.Disjoint {
		wrap(w, 0, 0, fmt.Sprintf("These %d predicates are pairwise disjoint by statistics: no file of version %d may hold rows of two of them.", n, d.Version))
	} else {
		wrap(w, 0, 0, fmt.Sprintf("%d of %d pairs of predicates meet in version %d: the jobs may rewrite the same file.", len(d.Meetings), n*(n-1)/2, d.Version))
	}
	for i, m := range d.Meetings {
		if i == maxListed {
			fmt.Fprintf(w, "  and %s more, which --format json lists\n", count(len(d.Meetings)-i, "pair"))
			break
		}
		wrap(w, 2, 2, fmt.Sprintf("%s and %s in %s, the first %s", d.Predicates[m.A].name(m.A), d.Predicates[m.B].name(m.B), count(m.Files, "file"), m.First))
	}
	fmt.Fprintf(w, "Of %s\n", count(d.Total, "file"))
	for i, c := range d.Predicates {
		if i == maxListed {
			fmt.Fprintf(w, "  and %s more\n", count(n-i, "predicate"))
			break
		}
		wrap(w, 2, 2, fmt.Sprintf("%s keeps %d: %s", c.name(i), c.Files, c.Predicate))
		for _, u := range c.Unusable {
			wrap(w, 4, 2, fmt.Sprintf("not usable: %s: %s", u.Conjunct, u.Reason))
		}
	}
}
