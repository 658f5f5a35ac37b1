package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deltaskip/deltaskip/clustering"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/history"
	"github.com/deltaskip/deltaskip/internal/cell"
	"github.com/deltaskip/deltaskip/internal/chart"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
	"github.com/deltaskip/deltaskip/vectorized"
)

// maxCharted bounds how many files a chart shows, and how many columns where none are asked for.
const (
	maxCharted        = 10_000
	maxChartedColumns = 20
)

// drawFlags say where pictures go: the flags --html and --svg.
type drawFlags struct{ html, svg string }

// addTo adds the flags; html and svg say what is drawn.
func (d *drawFlags) addTo(flags *pflag.FlagSet, html, svg string) {
	flags.StringVar(&d.html, "html", "", "also draw "+html+" to `FILE`, a page that needs no network")
	flags.StringVar(&d.svg, "svg", "", "also draw "+svg+" to `FILE`, a picture")
}

func (d *drawFlags) asked() bool { return d.html != "" || d.svg != "" }

// draw writes what is asked for.
func draw[T any](d drawFlags, data T, html, svg func(io.Writer, T) error) error {
	for _, out := range []struct {
		name  string
		write func(io.Writer, T) error
	}{{d.html, html}, {d.svg, svg}} {
		if out.name == "" {
			continue
		}
		f, err := os.Create(out.name)
		if err != nil {
			return err
		}
		if err := errors.Join(buffered(f, func(w *bufio.Writer) error { return out.write(w, data) }), f.Close()); err != nil {
			return fmt.Errorf("%s: %w", out.name, err)
		}
	}
	return nil
}

// A chartedFile is one file with its ranges, by column.
type chartedFile struct {
	path    string
	verdict string
	ranges  []chartedRange
}

type chartedRange struct {
	low, high predicate.Value
	bounded   bool
	text      string
}

// chartRanges draws the ranges of a table's files: of the columns that are given, or of all that have bounds. Predicates are
// alternatives; without any, files have no verdict.
func chartRanges(ctx context.Context, d drawFlags, t *table, columns []*schema.Column, where []string) error {
	table, err := t.snapshot.Table()
	if err != nil {
		return err
	}
	if columns == nil {
		columns = clustering.Columns(table)
		columns = columns[:min(len(columns), maxChartedColumns)]
	}
	c := &charting{table: t, columns: columns}
	if err := c.compile(where); err != nil {
		return err
	}
	total, err := c.count(ctx)
	if err != nil {
		return err
	}
	every := (total + maxCharted - 1) / maxCharted
	if err := c.read(ctx, max(every, 1)); err != nil {
		return err
	}
	page := chart.Ranges{
		Title: fmt.Sprintf("Ranges of the files of %s, version %d", t.dir, t.snapshot.Version),
		Note:  fmt.Sprintf("%s; each bar is one file, pale where nothing is known of it.", count(total, "file")),
		Where: strings.Join(where, " OR "),
	}
	if every > 1 {
		page.Note += fmt.Sprintf(" Shown is one in %d, in log order.", every)
	}
	if len(where) > 0 {
		page.Note += " Red: every row matches. Orange: some may. Grey: none can."
		page.Verdicts = []string{}
	}
	for _, f := range c.files {
		page.Paths = append(page.Paths, f.path)
		if len(where) > 0 {
			page.Verdicts = append(page.Verdicts, f.verdict)
		}
	}
	for i, column := range columns {
		if drawn, ok := c.column(i, column); ok {
			page.Columns = append(page.Columns, drawn)
		}
	}
	return draw(d, page, chart.WriteRanges, chart.WriteRangesSVG)
}

type charting struct {
	table   *table
	columns []*schema.Column
	search  *search // nil without a predicate
	files   []chartedFile
}

func (c *charting) compile(where []string) error {
	if len(where) == 0 {
		return nil
	}
	reads := make([]*predicate.Predicate, len(where))
	for i, sql := range where {
		var err error
		if reads[i], err = c.table.bind(sql); err != nil {
			return err
		}
	}
	var err error
	c.search, err = newSearch(c.table, reads, filesFlags{verdict: true})
	return err
}

func (c *charting) count(ctx context.Context) (n int, err error) {
	table, err := c.table.snapshot.Table()
	if err != nil {
		return 0, err
	}
	for b, err := range c.table.snapshot.Batches(ctx, &colstats.Layout{Table: table}, deltalog.BatchOptions{}) {
		if err != nil {
			return 0, err
		}
		n += b.Len()
	}
	return n, nil
}

// read notes every n-th file, with its ranges and verdict.
func (c *charting) read(ctx context.Context, every int) error {
	table, err := c.table.snapshot.Table()
	if err != nil {
		return err
	}
	layout := &colstats.Layout{Table: table}
	for _, column := range c.columns {
		layout.Demands = append(layout.Demands, colstats.Demand{Column: column, Bounds: true, Nulls: true})
	}
	at := 0
	for b, err := range c.table.snapshot.Batches(ctx, layout, deltalog.BatchOptions{Stats: colstats.Options{Zone: c.table.zone}}) {
		if err != nil {
			return err
		}
		for row := range b.Len() {
			if at++; (at-1)%every != 0 {
				continue
			}
			path, err := b.Path(row)
			if err != nil {
				return err
			}
			f := chartedFile{path: strings.Clone(path)}
			for i, column := range c.columns {
				f.ranges = append(f.ranges, rangeAt(b.Facts(i), column, row))
			}
			c.files = append(c.files, f)
		}
	}
	if c.search == nil {
		return nil
	}
	verdicts, err := c.verdicts(ctx, every)
	for i := range c.files {
		if err == nil {
			c.files[i].verdict = verdicts[i]
		}
	}
	return err
}

// verdicts are those of the same files, in the same order.
func (c *charting) verdicts(ctx context.Context, every int) (list []string, err error) {
	var scratch vectorized.Scratch
	var dst []vectorized.Verdict
	at := 0
	// All files, unlike the search's own: what footers rule out has a place, too.
	all := c.table.snapshot.Batches(ctx, c.search.program.Layout(), deltalog.BatchOptions{Stats: c.search.stats})
	for b, err := range all {
		if err != nil {
			return nil, err
		}
		dst = slices.Grow(dst[:0], b.Len())[:b.Len()]
		if err := c.search.program.Verdicts(dst, b, &scratch); err != nil {
			return nil, err
		}
		for _, v := range dst {
			if at%every == 0 {
				list = append(list, v.String())
			}
			at++
		}
	}
	if len(list) != len(c.files) {
		return nil, fmt.Errorf("%d verdicts on %d files", len(list), len(c.files))
	}
	return list, nil
}

func rangeAt(f *colstats.Facts, column *schema.Column, row int) (r chartedRange) {
	known := vectorized.Range{Column: column, NoNull: colstats.IsSet(f.NoNull, row), AllNull: colstats.IsSet(f.AllNull, row)}
	if colstats.IsSet(f.Bounded, row) && f.Lower != nil && !known.AllNull {
		r.bounded = true
		r.low, r.high = cell.At(f.Lower, column.Type, row), cell.At(f.Upper, column.Type, row)
		r.low.S, r.high.S = strings.Clone(r.low.S), strings.Clone(r.high.S)
		known.Bounded, known.Lower, known.Upper = true, r.low, r.high
	}
	r.text = known.String()
	if known.NoNull {
		r.text += ", no NULL"
	}
	return r
}

// column draws one column; one without any bounds is left out.
func (c *charting) column(i int, column *schema.Column) (drawn chart.Column, ok bool) {
	drawn.Name, drawn.Axis = column.String(), axisOf(column.Type.Kind)
	var bounds []predicate.Value
	for _, f := range c.files {
		if r := f.ranges[i]; r.bounded {
			bounds = append(bounds, r.low, r.high)
		}
	}
	if len(bounds) == 0 {
		return drawn, false
	}
	if drawn.Axis == "place" {
		slices.SortFunc(bounds, predicate.Value.Compare)
		bounds = slices.CompactFunc(bounds, func(a, b predicate.Value) bool { return a.Compare(b) == 0 })
		for _, v := range bounds {
			drawn.Labels = append(drawn.Labels, label(v))
		}
	}
	place := func(v predicate.Value) *float64 {
		p := position(v, drawn.Axis, bounds)
		return &p
	}
	for n, f := range c.files {
		bar := chart.Bar{File: n, Text: f.ranges[i].text}
		if r := f.ranges[i]; r.bounded {
			bar.Low, bar.High = place(r.low), place(r.high)
		}
		drawn.Bars = append(drawn.Bars, bar)
	}
	slices.SortStableFunc(drawn.Bars, func(a, b chart.Bar) int {
		switch {
		case a.Low == nil || b.Low == nil: // those without bounds last
			return cmp.Compare(b2i(a.Low == nil), b2i(b.Low == nil))
		}
		return cmp.Or(cmp.Compare(*a.Low, *b.Low), cmp.Compare(*a.High, *b.High))
	})
	return drawn, true
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// axisOf says what kind of axis shows a type: its numbers, times, or only the order of its values.
func axisOf(k schema.Kind) string {
	switch k {
	case schema.Byte, schema.Short, schema.Integer, schema.Long, schema.Float, schema.Double, schema.Decimal:
		return "value"
	case schema.Date, schema.Timestamp, schema.TimestampNTZ:
		return "time"
	}
	return "place"
}

// position is where a value stands on its axis, about: it is for the eye.
func position(v predicate.Value, axis string, places []predicate.Value) float64 {
	if axis == "place" {
		i, _ := slices.BinarySearchFunc(places, v, predicate.Value.Compare)
		return float64(i)
	}
	const day = 24 * 60 * 60 * 1000
	switch v.Type.Kind {
	case schema.Float, schema.Double:
		const far = 1e300 // infinities have no place
		return min(max(v.F, -far), far)
	case schema.Decimal:
		f, _ := strconv.ParseFloat(v.String(), 64)
		return f
	case schema.Date:
		return float64(v.I) * day
	case schema.Timestamp, schema.TimestampNTZ:
		return float64(v.I) / 1000
	}
	return float64(v.I)
}

// label is a value on an axis, short.
func label(v predicate.Value) string {
	s := "…" // beyond what writers keep of a string
	if b := bound(v); b != nil {
		s = *b
	}
	if r := []rune(s); len(r) > 24 {
		s = string(r[:23]) + "…"
	}
	return s
}

// chartHistory draws the commits of a table over time, and how those that raced fared.
func chartHistory(d drawFlags, dir string, r *history.Report) error {
	races := map[int64]*history.Race{}
	for _, race := range r.Races {
		races[race.Commit.Version] = race
	}
	page := chart.Timeline{
		Title:   fmt.Sprintf("Commits of %s, versions %d to %d", dir, r.From, r.To),
		Note:    historyNote,
		Commits: []chart.Commit{},
	}
	for _, info := range r.Infos {
		page.Commits = append(page.Commits, newChartCommit(info, races[info.Version]))
	}
	return draw(d, page, chart.WriteTimeline, chart.WriteTimelineSVG)
}

func newChartCommit(info conflict.WinnerInfo, race *history.Race) chart.Commit {
	c := chart.Commit{Version: info.Version, Time: info.Timestamp.UnixMilli(), Operation: info.Operation, Lines: []string{info.String()}}
	if race == nil {
		return c
	}
	c.Read = race.ReadVersion
	c.Lines = append(c.Lines, fmt.Sprintf("read version %d: %s; %s got in first", race.ReadVersion, race.Reads, count(race.Winners(), "commit")))
	off, stats := race.At(conflict.Off), race.At(conflict.Stats)
	switch {
	case off.Outcome == conflict.Clear:
		c.Outcome = "ok"
	case off.Outcome == conflict.Undetermined:
		c.Outcome = "?"
	case stats.Outcome == conflict.Clear:
		c.Outcome = "avoidable"
	default:
		c.Outcome = "conflict"
	}
	c.Lines = append(c.Lines, "mode off: "+inWords(off), "mode stats: "+inWords(stats))
	return c
}
