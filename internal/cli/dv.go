package cli

import (
	"bufio"
	"context"
	"fmt"

	"encoding/json"
	"github.com/spf13/cobra"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deletionvector"
)

// maxRanges bounds how many ranges of positions dv lists without --all.
const maxRanges = 20

func (a *app) dvCommand() *cobra.Command {
	var at moment
	var all bool
	cmd := &cobra.Command{
		Use:   "dv TABLE PATH",
		Short: "Show which rows of a file are deleted by its deletion vector",
		Long: `dv reads the deletion vector of one file: how many of its rows are deleted, which positions
(physical rows, counted from 0), and where the vector is stored. PATH is the data file as the
log spells it; deltaskip files and deltaskip snapshot list them.`,
		Example: `  deltaskip dv ./events part-00000-5f1c.c000.snappy.parquet
  deltaskip dv ./events day=2026-01-01/part-00000-5f1c.c000.snappy.parquet --all --format json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("give TABLE and the PATH of a file in it, not %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.openTable(cmd.Context(), args[0], at)
			if err != nil {
				return err
			}
			defer t.Close()
			add, err := a.findAdd(cmd.Context(), t, args[1])
			if err != nil {
				return err
			}
			out, err := a.describeVector(cmd.Context(), t, add, all)
			if err != nil {
				return err
			}
			if a.json() {
				return printJSON(a.stdout, out)
			}
			return buffered(a.stdout, func(w *bufio.Writer) error { out.print(w); return nil })
		},
	}
	at.addTo(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, fmt.Sprintf("list all ranges of positions, not only the first %d", maxRanges))
	return cmd
}

// findAdd finds a file of the table by its path.
func (a *app) findAdd(ctx context.Context, t *table, path string) (*action.Add, error) {
	wanted := action.CanonicalPath(path)
	bar := a.progress(-1, "files")
	defer func() { _ = bar.Finish() }()
	for add, err := range t.snapshot.Adds(ctx) {
		if err != nil {
			return nil, err
		}
		if add.Path == path || action.CanonicalPath(add.Path) == wanted {
			return add, nil
		}
		_ = bar.Add(1)
	}
	return nil, fmt.Errorf("version %d has no file %s: give a path as deltaskip files lists it", t.snapshot.Version, path)
}

// A dvJSON is the documented form of the answer.
type dvJSON struct {
	Version     int64                  `json:"version"`
	Path        string                 `json:"path"`
	NumRecords  *int64                 `json:"numRecords"`           // physical rows by the file's statistics; null where they don't say
	Cardinality int64                  `json:"cardinality"`          // deleted rows
	PastEnd     int64                  `json:"pastEnd,omitempty"`    // of these, positions that the file doesn't have
	Storage     *action.DeletionVector `json:"storage"`              // null without a vector
	StoredIn    string                 `json:"storedIn,omitempty"`   // the vector's file, from the table's root or, absolute, as in the log; empty for one in the log itself
	Ranges      [][2]int64             `json:"ranges"`               // of positions, both ends included
	MoreRanges  int64                  `json:"moreRanges,omitempty"` // that are not listed
}

func (a *app) describeVector(ctx context.Context, t *table, add *action.Add, all bool) (*dvJSON, error) {
	out := &dvJSON{Version: t.snapshot.Version, Path: add.Path, Storage: add.DeletionVector, Ranges: [][2]int64{}}
	var stats struct {
		NumRecords *int64 `json:"numRecords"`
	}
	if json.Unmarshal([]byte(add.Stats), &stats) == nil {
		out.NumRecords = stats.NumRecords
	}
	source, err := a.source(ctx, t.dir, t.store)
	if err != nil {
		return nil, err
	}
	vector, err := source.Vector(ctx, add.DeletionVector, -1)
	if err != nil {
		return nil, err
	}
	if add.DeletionVector != nil {
		out.StoredIn, _, _ = deletionvector.Path(add.DeletionVector) // an error is about one that has no file
	}
	out.Cardinality = vector.Cardinality()
	if out.NumRecords != nil && *out.NumRecords >= 0 {
		out.PastEnd = out.Cardinality - vector.Rank(*out.NumRecords)
	}
	for first, last := range ranges(vector) {
		if !all && len(out.Ranges) == maxRanges {
			out.MoreRanges++
			continue
		}
		out.Ranges = append(out.Ranges, [2]int64{first, last})
	}
	return out, nil
}

// ranges yields the runs of positions that follow one another, both ends included.
func ranges(v *deletionvector.Vector) func(yield func(first, last int64) bool) {
	return func(yield func(first, last int64) bool) {
		first, last := int64(-1), int64(-1)
		for p := range v.All() {
			if first >= 0 && p != last+1 {
				if !yield(first, last) {
					return
				}
				first = -1
			}
			if first < 0 {
				first = p
			}
			last = p
		}
		if first >= 0 {
			yield(first, last)
		}
	}
}

func (d *dvJSON) print(w *bufio.Writer) {
	fmt.Fprintln(w, d.Path)
	rows := "an unknown number of rows (no statistics)"
	if d.NumRecords != nil {
		rows = count(*d.NumRecords, "row")
	}
	if d.Storage == nil {
		fmt.Fprintf(w, "  no deletion vector: all of %s are there\n", rows)
		return
	}
	fmt.Fprintf(w, "  %d deleted of %s", d.Cardinality, rows)
	if d.NumRecords != nil && *d.NumRecords > 0 {
		fmt.Fprintf(w, " (%.1f %%)", 100*float64(d.Cardinality)/float64(*d.NumRecords))
	}
	if d.PastEnd > 0 {
		fmt.Fprintf(w, "\n  %s past the end of the file: the vector or the statistics are wrong", count(d.PastEnd, "position is", "positions are"))
	}
	where := "in the log itself"
	if d.StoredIn != "" {
		where = "in " + d.StoredIn
		if d.Storage.Offset != nil {
			where += fmt.Sprintf(" at byte %d", *d.Storage.Offset)
		}
	}
	fmt.Fprintln(w)
	wrap(w, 2, 2, fmt.Sprintf("stored %s, %s", where, count(int64(d.Storage.SizeInBytes), "byte")))
	fmt.Fprintln(w, "  positions")
	for _, r := range d.Ranges {
		if r[0] == r[1] {
			fmt.Fprintf(w, "    %d\n", r[0])
		} else {
			fmt.Fprintf(w, "    %d to %d\n", r[0], r[1])
		}
	}
	if d.MoreRanges > 0 {
		fmt.Fprintf(w, "    and %s more; --all lists them\n", count(d.MoreRanges, "range"))
	}
}
