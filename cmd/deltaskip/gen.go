package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deltaskip/deltaskip/bench"
)

func (a *app) genCommand() *cobra.Command {
	var w bench.Workload
	var perCommit int
	cmd := &cobra.Command{
		Use:   "gen DIR",
		Short: "Write a synthetic log for benchmarks: same seed, same bytes",
		Long: `gen writes a Delta log without data files below DIR. Its adds carry statistics of up to
sixteen columns of every type. Equal flags give equal bytes.`,
		Example: `  deltaskip gen /tmp/log --adds 1000000
  deltaskip gen /tmp/winners --adds 100000 --per-commit 100 --shuffled --seed 7`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("give one DIR to write to, not %d arguments", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			bar := a.progress(int64(w.Adds), "adds")
			version, err := w.WriteLog(args[0], perCommit, func(adds int) { _ = bar.Set(adds) })
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
	flags.IntVar(&perCommit, "per-commit", 0, "adds in each commit; 0 puts all of them into one")
	flags.Uint64Var(&w.Seed, "seed", 1, "of everything random")
	flags.IntVar(&w.Columns, "columns", 16, "statistics columns, 1 to 16")
	flags.IntVar(&w.Partitions, "partitions", 0, "distinct values of a partition column p; 0 leaves the table unpartitioned")
	flags.BoolVar(&w.Shuffled, "shuffled", false, "scatter the ranges of id over the files instead of clustering by id")
	flags.Float64Var(&w.DVShare, "dv-share", 0, "share of files with a deletion vector and wide bounds")
	flags.Float64Var(&w.NoStatsShare, "no-stats-share", 0, "share of files without statistics")
	return cmd
}
