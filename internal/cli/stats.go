package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/deltaskip/deltaskip/clustering"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// statsFlags are the flags of deltaskip stats.
type statsFlags struct {
	columns []string
	where   []string
	at      moment
	draw    drawFlags
}

func (a *app) statsCommand() *cobra.Command {
	var f statsFlags
	cmd := &cobra.Command{
		Use:   "stats TABLE",
		Short: "Tell how well statistics tell the table's files apart, column by column",
		Long: `stats shows for every column in how many files it has bounds, and why not in all of them; how
many files hold one value only (points); how wide a file's range is, as a share of all values;
and how deep the ranges lie over one another: how many files a lookup of one value has to
keep. The less of a table a lookup keeps, the fewer transactions meet.

With --where it also says how many files that predicate keeps.`,
		Example: `  deltaskip stats ./events
  deltaskip stats ./events --column id --column address.city
  deltaskip stats ./events --where "id < 50 AND site = 'a'"
  deltaskip stats ./events --column id --where "id < 50" --html ranges.html --svg ranges.svg`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error { return a.stats(cmd.Context(), args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.columns, "column", nil, "only this `COLUMN`; give one for each")
	flags.StringArrayVar(&f.where, "where", nil, "also say how much this predicate in Spark `SQL` keeps; several are looked at one by one")
	f.draw.addTo(flags, "the files' ranges, coloured by what --where keeps,", "the same")
	f.at.addTo(flags)
	return cmd
}

// columnJSON, keptJSON and statsJSON are the documented form of the answer.
type columnJSON struct {
	Column    string   `json:"column"`
	Type      string   `json:"type"`
	Partition bool     `json:"partition"`
	Bounded   int64    `json:"bounded"` // files with bounds
	AllNull   int64    `json:"allNull"` // files in which every row is NULL
	NoNull    int64    `json:"noNull"`  // files without a NULL
	Points    int64    `json:"points"`  // files with one value only
	Low       *string  `json:"low"`
	High      *string  `json:"high"`
	Width     *float64 `json:"width"` // median, as a share of low to high; null where that means nothing
	Depth     float64  `json:"depth"` // files that a lookup of one value keeps, on average
	MaxDepth  int64    `json:"maxDepth"`
	Reason    string   `json:"reason,omitempty"` // why some files have no bounds
}

type keptJSON struct {
	Where    string         `json:"where"`
	Kept     int64          `json:"kept"`
	Share    float64        `json:"share"` // of the files; 0 of none
	Skipped  skippedJSON    `json:"skipped"`
	Unusable []unusableJSON `json:"unusable"`
	Columns  []string       `json:"columns"`
}

type statsJSON struct {
	Version int64        `json:"version"`
	Files   int64        `json:"files"`
	Columns []columnJSON `json:"columns"`
	Where   []keptJSON   `json:"where"`
}

func (a *app) stats(ctx context.Context, dir string, f statsFlags) error {
	t, err := a.openTable(ctx, dir, f.at)
	if err != nil {
		return err
	}
	defer t.Close()
	o := clustering.Options{Stats: colstats.Options{Zone: t.zone}}
	for _, name := range f.columns {
		c, err := t.column(name)
		if err != nil {
			return err
		}
		o.Columns = append(o.Columns, c)
	}
	out := statsJSON{Columns: []columnJSON{}, Where: []keptJSON{}}
	for i, sql := range f.where {
		kept, err := keptBy(ctx, t, i, sql)
		if err != nil {
			return err
		}
		out.Where = append(out.Where, kept)
	}
	report, err := clustering.Measure(ctx, t.snapshot, o)
	if err != nil {
		return err
	}
	if f.draw.asked() {
		if err := chartRanges(ctx, f.draw, t, o.Columns, f.where); err != nil {
			return err
		}
	}
	out.Version, out.Files = report.Version, report.Files
	for _, c := range report.Columns {
		out.Columns = append(out.Columns, newColumnJSON(c))
	}
	if a.json() {
		return printJSON(a.stdout, out)
	}
	return buffered(a.stdout, func(w *bufio.Writer) error { out.print(w); return nil })
}

// column finds a column by its name as SQL spells it, such as address.city or `a.b`.
func (t *table) column(name string) (*schema.Column, error) {
	e, err := predicate.Parse(name, predicate.ParseOptions{})
	if err != nil {
		return nil, err
	}
	c, ok := e.(*predicate.Column)
	if !ok {
		return nil, usagef("--column %q is an expression: give a column's name", name)
	}
	table, err := t.snapshot.Table()
	if err != nil {
		return nil, err
	}
	return table.Lookup(c.Name...)
}

func keptBy(ctx context.Context, t *table, i int, sql string) (keptJSON, error) {
	read, err := t.bind(sql)
	if err != nil {
		return keptJSON{}, err
	}
	s, err := newSearch(t, []*predicate.Predicate{read}, filesFlags{})
	if err != nil {
		return keptJSON{}, err
	}
	stats, err := s.count(ctx)
	if err != nil {
		return keptJSON{}, err
	}
	out := keptJSON{Where: sql, Kept: kept(stats), Skipped: skippedJSON{stats.SkippedByPartition, stats.SkippedByStats}, Unusable: []unusableJSON{}, Columns: []string{}}
	if stats.Considered > 0 {
		out.Share = float64(out.Kept) / float64(stats.Considered)
	}
	for _, u := range s.program.Unusable() {
		out.Unusable = append(out.Unusable, unusableJSON{i, u.Conjunct, u.Reason})
	}
	for _, c := range read.Columns() {
		out.Columns = append(out.Columns, c.String())
	}
	return out, nil
}

func newColumnJSON(c clustering.Column) columnJSON {
	out := columnJSON{
		Column: c.Column.String(), Type: c.Column.Type.String(), Partition: c.Column.Partition,
		Bounded: c.Bounded, AllNull: c.AllNull, NoNull: c.NoNull, Points: c.Points,
		Depth: c.Depth, MaxDepth: c.MaxDepth, Reason: c.Reason,
	}
	if c.Bounded > 0 {
		out.Low, out.High = bound(c.Low), bound(c.High)
	}
	if c.Width >= 0 {
		out.Width = &c.Width
	}
	return out
}

// bound is the text of a bound, nil for a maximum that is not known.
func bound(v predicate.Value) *string {
	s := v.String()
	if v.Type.Kind == schema.String {
		if s = v.S; s == colstats.MaxString {
			return nil
		}
	}
	return &s
}

// percent says a share for people: never 0 or 100 for what is a little more or less.
func percent(share float64) string {
	p := share * 100
	switch {
	case p > 0 && p < 0.1:
		return "<0.1 %"
	case p < 10 && p > 0:
		return fmt.Sprintf("%.1f %%", p)
	case p > 99 && p < 100:
		return ">99 %"
	}
	return fmt.Sprintf("%.0f %%", p)
}

func (s *statsJSON) print(w *bufio.Writer) {
	fmt.Fprintf(w, "version %d, %s\n", s.Version, count(s.Files, "file"))
	t := newTable()
	t.AppendHeader(pretty.Row{"column", "type", "bounds in", "points", "width", "depth", "max", "from", "to"})
	for _, c := range s.Columns {
		row := pretty.Row{c.Column, c.Type, "-", c.Points, "-", fmt.Sprintf("%.1f", c.Depth), c.MaxDepth, "-", "-"}
		if s.Files > 0 {
			row[2] = percent(float64(c.Bounded+c.AllNull) / float64(s.Files))
		}
		if c.Width != nil {
			row[4] = percent(*c.Width)
		}
		if c.Low != nil {
			row[7] = *c.Low
		}
		if c.High != nil {
			row[8] = *c.High
		}
		t.AppendRow(row)
	}
	right := func(name string) pretty.ColumnConfig {
		return pretty.ColumnConfig{Name: name, Align: text.AlignRight}
	}
	narrow := func(name string, width int) pretty.ColumnConfig {
		return pretty.ColumnConfig{Name: name, WidthMax: width, WidthMaxEnforcer: func(s string, n int) string { return text.Snip(s, n, "…") }}
	}
	t.SetColumnConfigs([]pretty.ColumnConfig{
		narrow("column", 22), narrow("type", 13), narrow("from", 12), narrow("to", 12), right("bounds in"), right("width"), right("depth"),
	})
	fmt.Fprintf(w, "%s\n\n", t.Render())
	wrap(w, 0, 0, "width: a file's range, the median, as a share of all values. depth: files that a lookup of one value keeps, on average.")
	s.printReasons(w)
	for _, k := range s.Where {
		s.printKept(w, k)
	}
}

// printReasons says once what holds for several columns.
func (s *statsJSON) printReasons(w *bufio.Writer) {
	type why struct {
		files  int64
		reason string
	}
	var order []why
	columns := map[why][]string{}
	for _, c := range s.Columns {
		if c.Reason == "" {
			continue
		}
		y := why{s.Files - c.Bounded - c.AllNull, c.Reason}
		if columns[y] == nil {
			order = append(order, y)
		}
		columns[y] = append(columns[y], c.Column)
	}
	for _, y := range order {
		wrap(w, 0, 2, fmt.Sprintf("%s: %s: %s", strings.Join(columns[y], ", "),
			count(y.files, "file has no bounds", "files have no bounds"), y.reason))
	}
}

func (s *statsJSON) printKept(w *bufio.Writer, k keptJSON) {
	fmt.Fprintln(w)
	wrap(w, 0, 2, fmt.Sprintf("%s keeps %d of %s (%s). As many of the files that others add would count against a transaction that reads it, "+
		"if they are like these.", k.Where, k.Kept, count(s.Files, "file"), percent(k.Share)))
	for _, u := range k.Unusable {
		wrap(w, 2, 2, fmt.Sprintf("not usable: %s: %s", u.Conjunct, u.Reason))
	}
	for _, name := range k.Columns {
		for _, c := range s.Columns {
			if c.Column == name && !c.Partition && c.Bounded > 1 && c.Depth > float64(s.Files)/2 {
				wrap(w, 2, 2, fmt.Sprintf("The table is not clustered by %s: a value lies in the ranges of %.1f of %s. Clustering by it would keep fewer.",
					name, c.Depth, count(s.Files, "file")))
			}
		}
	}
}
