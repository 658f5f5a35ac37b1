package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deltaskip/deltaskip/bench"
	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/logstore"
)

// genFlags are the flags of deltaskip gen that are not those of the workload.
type genFlags struct {
	perCommit  int
	checkpoint string
	stats      string
	parts      int
	rowGroup   int
}

// The forms in which a checkpoint can hold statistics, and its shapes.
var (
	genStats  = map[string]checkpoint.StatsForm{"json": checkpoint.StatsAsJSON, "struct": checkpoint.StatsAsStruct, "both": checkpoint.StatsAsBoth}
	genShapes = []string{"classic", "multipart", "v2"}
)

func (a *app) genCommand() *cobra.Command {
	var w bench.Workload
	var f genFlags
	cmd := &cobra.Command{
		Use:   "gen DIR",
		Short: "Write a synthetic log for benchmarks: same seed, same bytes",
		Long: `gen writes a Delta log without data files below DIR. Its adds carry statistics of up to
sixteen columns of every type. Equal flags give equal bytes. They go into commits or, with
--checkpoint, into a checkpoint.`,
		Example: `  deltaskip gen /tmp/log --adds 1000000
  deltaskip gen /tmp/winners --adds 100000 --per-commit 100 --shuffled --seed 7
  deltaskip gen /tmp/table --adds 1000000 --shuffled --sort-by user --checkpoint v2 --stats struct`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("give one DIR to write to, not %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			_, isForm := genStats[f.stats]
			switch {
			case f.checkpoint != "" && !slices.Contains(genShapes, f.checkpoint):
				return usagef("--checkpoint %s: give one of %s", f.checkpoint, strings.Join(genShapes, ", "))
			case f.checkpoint != "" && f.perCommit != 0:
				return usagef("give --per-commit or --checkpoint, not both")
			case !isForm:
				return usagef("--stats %s: give one of %s", f.stats, strings.Join(slices.Sorted(maps.Keys(genStats)), ", "))
			case f.parts < 1:
				return usagef("--parts %d: give a positive number", f.parts)
			}
			bar := a.progress(int64(w.Adds), "adds")
			version, err := int64(1), error(nil)
			if told := func(adds int) { _ = bar.Set(adds) }; f.checkpoint != "" {
				err = genCheckpoint(cmd.Context(), args[0], w, f, told)
			} else {
				version, err = w.WriteLog(args[0], f.perCommit, told)
			}
			if err != nil {
				return err
			}
			_ = bar.Finish()
			if a.json() {
				return printJSON(a.stdout, map[string]any{"version": version, "adds": w.Adds})
			}
			_, err = fmt.Fprintf(a.stdout, "wrote %d adds up to version %d of %s\n", w.Adds, version, args[0])
			return err
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&w.Adds, "adds", 10_000, "files of the table")
	flags.IntVar(&f.perCommit, "per-commit", 0, "adds in each commit; 0 puts all of them into one")
	flags.Uint64Var(&w.Seed, "seed", 1, "of everything random")
	flags.IntVar(&w.Columns, "columns", 16, "statistics columns, 1 to 16")
	flags.IntVar(&w.Partitions, "partitions", 0, "distinct values of a partition column p; 0 leaves the table unpartitioned")
	flags.BoolVar(&w.Shuffled, "shuffled", false, "scatter the ranges of id over the files instead of clustering by id")
	flags.StringVar(&w.SortBy, "sort-by", "", "write the files in the order of this `COLUMN`'s lower bounds, such as user")
	flags.Float64Var(&w.DVShare, "dv-share", 0, "share of files with a deletion vector and wide bounds")
	flags.Float64Var(&w.NoStatsShare, "no-stats-share", 0, "share of files without statistics")
	flags.StringVar(&f.checkpoint, "checkpoint", "", "write the adds as a checkpoint of this `SHAPE`: classic, multipart or v2")
	flags.StringVar(&f.stats, "stats", "both", "`FORM` of statistics in a checkpoint: json, struct or both")
	flags.IntVar(&f.parts, "parts", 8, "files of a multi-part checkpoint")
	flags.IntVar(&f.rowGroup, "row-group", 0, "adds in a row group of a checkpoint; 0 means 16 Ki")
	return cmd
}

func genCheckpoint(ctx context.Context, dir string, w bench.Workload, f genFlags, progress func(adds int)) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	store, err := logstore.OpenLocal(dir)
	if err != nil {
		return err
	}
	defer store.Close()
	o := checkpoint.WriteOptions{Stats: genStats[f.stats], V2: f.checkpoint == "v2", RowGroupRows: f.rowGroup}
	if f.checkpoint == "multipart" {
		o.Parts = f.parts
	}
	return w.WriteCheckpoint(ctx, store, o, progress)
}
