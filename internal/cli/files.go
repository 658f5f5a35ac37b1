package cli

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/vectorized"
)

// filesFlags are the flags of deltaskip files.
type filesFlags struct {
	where      []string
	foreign    foreign
	queries    string
	at         moment
	nanOrdered bool
	first      bool
	count      bool
	workers    int
	verdict    bool
}

func (a *app) filesCommand() *cobra.Command {
	var f filesFlags
	cmd := &cobra.Command{
		Use:   "files TABLE {--where SQL … | --queries FILE}",
		Short: "List the files that may hold a row that a predicate matches",
		Long: `files evaluates a predicate on the statistics and partition values of every file of the
table and lists the files that may hold a matching row. Files that are not listed hold
none: that is proven. Several --where are alternatives: a file is listed if one of them
may match.

--format arrow writes a stream of Arrow IPC with a row for every file, skipped or not: path,
size, numRecords, partition values, verdict, and the bounds that the predicates asked for.`,
		Example: `  deltaskip files ./events --where "id < 50 AND country IN ('DE', 'FR')"
  deltaskip files ./events --where "id < 50" --where "ts >= TIMESTAMP '2026-01-01'" --format json
  deltaskip files ./events --where "id = 7" --first
  deltaskip files ./events --where "id = 7" --format arrow > files.arrows
  echo '{"id":"q1","predicate":"id < 50"}' | deltaskip files ./events --queries -`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.queries == "" && len(f.where)+f.foreign.count() == 0:
				return usagef("give --where SQL or --queries FILE")
			case f.queries != "" && len(f.where)+f.foreign.count() > 0:
				return usagef("give --where or --queries, not both")
			case f.first && (f.count || f.verdict):
				return usagef("--first stops at the first file: leave out --count and --verdict")
			case a.format == "arrow" && (f.queries != "" || f.first || f.count):
				return usagef("--format arrow lists every file of --where with its verdict: leave out --queries, --first and --count")
			case f.workers < 0:
				return usagef("--workers %d: give a positive number, or 0 for one per processor", f.workers)
			}
			return a.files(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.where, "where", nil, "predicate in Spark `SQL`; several are alternatives (OR)")
	f.foreign.addTo(flags)
	flags.StringVar(&f.queries, "queries", "", ``+"`FILE`"+` of JSON lines {"id","predicate"} to answer one by one; - is standard input`)
	f.at.addTo(flags)
	flags.BoolVar(&f.nanOrdered, "nan-ordered", false, "trust that the writer let NaN count for the maximum, as Spark does")
	flags.BoolVar(&f.first, "first", false, "stop at the first file in log order")
	flags.BoolVar(&f.count, "count", false, "print only how many files")
	flags.IntVar(&f.workers, "workers", 0, "batches evaluated at once; 0 means one per processor")
	flags.BoolVar(&f.verdict, "verdict", false, "also tell None, Some and All: how many rows of each file match")
	return cmd
}

func (a *app) files(ctx context.Context, table string, f filesFlags) error {
	t, err := a.openTable(ctx, table, f.at)
	if err != nil {
		return err
	}
	defer t.Close()
	if f.queries != "" {
		return a.answerQueries(ctx, t, f)
	}
	reads := make([]*predicate.Predicate, len(f.where))
	for i, sql := range f.where {
		if reads[i], err = t.bind(sql); err != nil {
			return err
		}
	}
	others, err := t.bindForeign(f.foreign)
	if err != nil {
		return err
	}
	reads = append(reads, others...)
	f.verdict = f.verdict || a.format == "arrow"
	search, err := newSearch(t, reads, f)
	if err != nil {
		return err
	}
	switch {
	case a.format == "arrow":
		return a.printFilesArrow(ctx, search)
	case f.first:
		return a.printFirst(ctx, search)
	case f.count:
		return a.printCount(ctx, search)
	case a.json():
		return a.printFilesJSON(ctx, search)
	default:
		return a.printFilesText(ctx, search)
	}
}

// A search is a program over the adds of one snapshot.
type search struct {
	table   *table
	program *vectorized.Program
	stats   colstats.Options
	verdict bool
}

func newSearch(t *table, reads []*predicate.Predicate, f filesFlags) (*search, error) {
	program, err := vectorized.Compile(reads, vectorized.Options{Workers: f.workers, Verdicts: f.verdict})
	if err != nil {
		return nil, err
	}
	stats := colstats.Options{Zone: t.zone}
	if f.nanOrdered {
		stats.NaN = colstats.NaNOrdered
	}
	return &search{table: t, program: program, stats: stats, verdict: f.verdict}, nil
}

// batches yields the files without those that a checkpoint's footers rule out. The census, which may be nil, counts these.
func (s *search) batches(ctx context.Context, census *vectorized.Census) iter.Seq2[*colstats.Batch, error] {
	o := deltalog.BatchOptions{Stats: s.stats, Prune: s.program.Prune()}
	if census != nil {
		o.Left = &checkpoint.Left{Layout: census.Layout(), Take: census.Count}
	}
	return s.table.snapshot.Batches(ctx, s.program.Layout(), o)
}

// each calls fn for every file that may match, in log order.
func (s *search) each(ctx context.Context, fn func(b *colstats.Batch, row int, v vectorized.Verdict) error) (vectorized.Stats, error) {
	return s.scan(ctx, func(b *colstats.Batch, r vectorized.Result) error {
		return eachBit(r.May, func(row int) error { return fn(b, row, r.Verdict(row)) })
	})
}

// scan calls fn for batches, in log order, which together hold every file that may match. Files are counted whether they
// are in one or not.
func (s *search) scan(ctx context.Context, fn func(*colstats.Batch, vectorized.Result) error) (vectorized.Stats, error) {
	census := s.program.Census()
	stats, err := s.program.Scan(ctx, s.batches(ctx, census), func(b *colstats.Batch, _ int64, r vectorized.Result) error { return fn(b, r) })
	stats.Add(census.Stats())
	return stats, err
}

// count looks at every file and keeps none.
func (s *search) count(ctx context.Context) (vectorized.Stats, error) {
	return s.scan(ctx, func(*colstats.Batch, vectorized.Result) error { return nil })
}

// kept is how many files may match.
func kept(s vectorized.Stats) int64 { return s.Considered - s.SkippedByPartition - s.SkippedByStats }

// eachBit calls fn with the position of every set bit, in order, until it fails.
func eachBit(words []uint64, fn func(i int) error) error {
	for w, word := range words {
		for ; word != 0; word &= word - 1 {
			if err := fn(w*64 + bits.TrailingZeros64(word)); err != nil {
				return err
			}
		}
	}
	return nil
}

// candidates returns the paths of the files that may match, sorted, as the log spells them.
func (s *search) candidates(ctx context.Context) ([]string, vectorized.Stats, error) {
	paths := []string{}
	stats, err := s.each(ctx, func(b *colstats.Batch, row int, _ vectorized.Verdict) error {
		path, err := b.Path(row)
		paths = append(paths, strings.Clone(path))
		return err
	})
	slices.Sort(paths)
	return paths, stats, err
}

func (a *app) printFirst(ctx context.Context, s *search) error {
	census := s.program.Census()
	hit, stats, err := s.program.First(ctx, s.batches(ctx, census))
	if err != nil {
		return err
	}
	if hit == nil { // otherwise it depends on how far reading was ahead
		stats.Add(census.Stats())
	}
	if a.json() {
		out := struct {
			Version    int64   `json:"version"`
			First      *string `json:"first"`
			Where      *int    `json:"where,omitempty"`
			Considered int64   `json:"considered"`
		}{Version: s.table.snapshot.Version, Considered: stats.Considered}
		if hit != nil {
			out.First, out.Where = &hit.Path, &hit.Read
		}
		return printJSON(a.stdout, out)
	}
	if hit == nil {
		_, err = fmt.Fprintf(a.stdout, "no file of %d can hold a matching row\n", stats.Considered)
	} else {
		_, err = fmt.Fprintf(a.stdout, "%s\n", hit.Path)
	}
	return err
}

func (a *app) printCount(ctx context.Context, s *search) error {
	stats, err := s.count(ctx)
	if err != nil {
		return err
	}
	if a.json() {
		return printJSON(a.stdout, struct {
			Version int64 `json:"version"`
			Total   int64 `json:"total"`
			Count   int64 `json:"count"`
		}{s.table.snapshot.Version, stats.Considered, kept(stats)})
	}
	_, err = fmt.Fprintf(a.stdout, "%d of %d files may match\n", kept(stats), stats.Considered)
	return err
}

// skippedJSON, unusableJSON and filesJSON are the documented form of the answer.
type skippedJSON struct {
	Partition int64 `json:"partition"`
	Stats     int64 `json:"stats"`
}

type unusableJSON struct {
	Where    int    `json:"where"`
	Conjunct string `json:"conjunct"`
	Reason   string `json:"reason"`
}

type filesJSON struct {
	Version    int64             `json:"version"`
	Total      int64             `json:"total"`
	Candidates []string          `json:"candidates"`
	Skipped    skippedJSON       `json:"skipped"`
	Unusable   []unusableJSON    `json:"unusable"`
	Verdicts   map[string]string `json:"verdicts,omitempty"` // with --verdict: of every file
}

func (a *app) printFilesJSON(ctx context.Context, s *search) error {
	out := filesJSON{Version: s.table.snapshot.Version, Candidates: []string{}, Unusable: []unusableJSON{}}
	var stats vectorized.Stats
	var err error
	if s.verdict {
		stats, err = s.verdicts(ctx, &out)
	} else {
		out.Candidates, stats, err = s.candidates(ctx)
	}
	if err != nil {
		return err
	}
	out.Total, out.Skipped = stats.Considered, skippedJSON{stats.SkippedByPartition, stats.SkippedByStats}
	for _, u := range s.program.Unusable() {
		out.Unusable = append(out.Unusable, unusableJSON{u.Read, u.Conjunct, u.Reason})
	}
	return printJSON(a.stdout, out)
}

// verdicts fills in the verdict on every file by path, and the candidates. Each file must be read for that, if only for its
// name.
func (s *search) verdicts(ctx context.Context, out *filesJSON) (vectorized.Stats, error) {
	out.Verdicts = map[string]string{}
	all := s.table.snapshot.Batches(ctx, s.program.Layout(), deltalog.BatchOptions{Stats: s.stats})
	stats, err := s.program.Scan(ctx, all, func(b *colstats.Batch, _ int64, r vectorized.Result) error {
		for row := range b.Len() {
			path, err := b.Path(row)
			if err != nil {
				return err
			}
			v := r.Verdict(row)
			path = strings.Clone(path)
			out.Verdicts[path] = v.String()
			if v != vectorized.None {
				out.Candidates = append(out.Candidates, path)
			}
		}
		return nil
	})
	slices.Sort(out.Candidates)
	return stats, err
}

func (a *app) printFilesText(ctx context.Context, s *search) error {
	return buffered(a.stdout, func(w *bufio.Writer) error {
		kept := 0
		stats, err := s.each(ctx, func(b *colstats.Batch, row int, v vectorized.Verdict) error {
			path, err := b.Path(row)
			if err != nil {
				return err
			}
			kept++
			fmt.Fprint(w, path)
			if s.verdict {
				fmt.Fprintf(w, "  %s", v)
			}
			reason, ok, err := s.program.Why(b, row)
			if err != nil {
				return err
			}
			if ok {
				for i, r := range reason.Ranges {
					fmt.Fprint(w, []string{"  ", ", "}[min(i, 1)], r)
				}
			}
			return w.WriteByte('\n')
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "kept %d of %d (partition %d, statistics %d)\n", kept, stats.Considered, stats.SkippedByPartition, stats.SkippedByStats)
		for _, u := range s.program.Unusable() {
			fmt.Fprintf(w, "not usable: %s: %s\n", u.Conjunct, u.Reason)
		}
		return nil
	})
}

// A query is a line of a --queries file, an answer the line that answers it.
type query struct {
	ID        any    `json:"id"`
	Predicate string `json:"predicate"`
}

type answer struct {
	ID         any         `json:"id"`
	Candidates []string    `json:"candidates"` // null when there is an error
	Error      *errorClass `json:"error"`
}

type errorClass struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

// maxQueryBytes bounds a line of a queries file.
const maxQueryBytes = 16 << 20

// readQueries yields the queries of a file, or of standard input for -. After an error nothing follows.
func readQueries(name string) iter.Seq2[query, error] {
	return func(yield func(query, error) bool) {
		in, name, err := openInput(name)
		if err != nil {
			yield(query{}, err)
			return
		}
		defer in.Close()
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, maxQueryBytes)
		for n := 1; lines.Scan(); n++ {
			if len(strings.TrimSpace(lines.Text())) == 0 {
				continue
			}
			var q query
			if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
				yield(query{}, fmt.Errorf("%s line %d: not a query: %w", name, n, err))
				return
			}
			if !yield(q, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(query{}, fmt.Errorf("%s: %w", name, err))
		}
	}
}

func (a *app) answerQueries(ctx context.Context, t *table, f filesFlags) error {
	return buffered(a.stdout, func(w *bufio.Writer) error {
		bar := a.progress(-1, "queries")
		for q, err := range readQueries(f.queries) {
			if err != nil {
				return err
			}
			ans := answer{ID: q.ID}
			if ans.Candidates, err = answerOne(ctx, t, q.Predicate, f); err != nil {
				// A partition predicate may also fail on a partition of the table, as it fails in Spark.
				class := predicate.ErrorClass(err)
				if class == "" {
					return fmt.Errorf("query %v: %w", q.ID, err)
				}
				ans.Error = &errorClass{Class: class, Message: err.Error()}
			}
			if err := printJSON(w, ans); err != nil {
				return err
			}
			_ = bar.Add(1)
		}
		return bar.Finish()
	})
}

func answerOne(ctx context.Context, t *table, sql string, f filesFlags) ([]string, error) {
	read, err := t.bind(sql)
	if err != nil {
		return nil, err
	}
	s, err := newSearch(t, []*predicate.Predicate{read}, f)
	if err != nil {
		return nil, err
	}
	paths, _, err := s.candidates(ctx)
	return paths, err
}
