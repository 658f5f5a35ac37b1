// Package cli is the command deltaskip, for any kind of store: programs differ in how they open tables.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// The exit codes. Scripts rely on them.
const (
	exitDone     = 0
	exitError    = 1
	exitUsage    = 2
	exitConflict = 3
)

// Main runs the command of the process's arguments and ends the process.
func Main(open OpenStore) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, open, os.Args[1:], os.Stdout, os.Stderr))
}

// errConflict ends a command whose answer, already printed, is a conflict.
var errConflict = errors.New("conflict")

// A usageError is about the command line rather than about a table.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run is Main without the process around it.
func run(ctx context.Context, open OpenStore, args []string, stdout, stderr io.Writer) int {
	a := &app{open: open, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if stopErr := a.stopProfiles(); err == nil {
		err = stopErr
	}
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errConflict):
		return exitConflict
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "deltaskip: %s (see deltaskip %s--help)\n", oneLine(err), commandPrefix(root, args))
		return exitUsage
	default:
		fmt.Fprintf(stderr, "deltaskip: %s\n", oneLine(err))
		return exitError
	}
}

// commandPrefix names the subcommand that args call, with a space behind it, or nothing.
func commandPrefix(root *cobra.Command, args []string) string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd == root {
		return ""
	}
	return cmd.Name() + " "
}

// oneLine joins the lines of an error so that scripts that read stderr line by line get one. A caret that points into the line
// above it would point nowhere and is left out: the text says the column.
func oneLine(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" && strings.Trim(line, "^") != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, " ")
}

// app holds what the commands share: where output goes and the persistent flags.
type app struct {
	open           OpenStore
	stdout, stderr io.Writer

	format, zone                    string
	alsoRead                        []string
	limits                          limits
	cpuProfile, memProfile, traceTo string
	stop                            []func() error
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "deltaskip",
		Short: "Prove from column statistics that Delta Lake transactions do not conflict",
		Long: `deltaskip reads the log of a Delta table and answers two questions from the column
statistics in it: which files may hold a row that a predicate matches, and whether a
transaction conflicts with the commits that beat it, and why.`,
		Example: `  deltaskip files ./events --where "id < 50 AND day = DATE '2026-01-01'"
  deltaskip check ./events --txn txn.json --mode stats
  deltaskip check ./events --read-version 4 --where "site = 'a' AND id < 50"
  deltaskip snapshot ./events`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q", args[0])
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd.Name()) },
	}
	// Flags' descriptions are wrapped as all text is; children inherit the template.
	root.SetUsageTemplate(strings.NewReplacer(".LocalFlags.FlagUsages", fmt.Sprintf(".LocalFlags.FlagUsagesWrapped %d", width),
		".InheritedFlags.FlagUsages", fmt.Sprintf(".InheritedFlags.FlagUsagesWrapped %d", width)).Replace(root.UsageTemplate()))
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	flags := root.PersistentFlags()
	flags.StringVar(&a.format, "format", "text", "output as `text|json`; of files also arrow")
	flags.StringVar(&a.zone, "zone", "UTC", "session time zone `NAME`, for literals and partition values without one")
	flags.StringArrayVar(&a.alsoRead, "also-read", nil, "`FOLDER` outside the table whose files the log may name, or links lead to; the default is none")
	flags.Var(&a.limits, "limit", "let a table ask for more: `NAME=N`, with the name of a limit that an error tells")
	flags.StringVar(&a.cpuProfile, "cpuprofile", "", "write a CPU profile to `FILE`")
	flags.StringVar(&a.memProfile, "memprofile", "", "write a heap profile to `FILE`")
	flags.StringVar(&a.traceTo, "trace", "", "write an execution trace to `FILE`")
	root.AddCommand(a.filesCommand(), a.checkCommand(), a.snapshotCommand(), a.statsCommand(), a.disjointCommand(), a.historyCommand(), a.dvCommand(), a.genCommand(), a.manCommand())
	return root
}

// prepare checks the persistent flags and starts the profiles.
func (a *app) prepare(command string) error {
	if a.format == "arrow" && command != "files" {
		return usagef("--format arrow is for deltaskip files only: give text or json")
	}
	if a.format != "text" && a.format != "json" && a.format != "arrow" {
		return usagef("--format %q: give text or json", a.format)
	}
	if _, err := a.location(); err != nil {
		return err
	}
	if a.cpuProfile != "" {
		f, err := os.Create(a.cpuProfile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return errors.Join(err, f.Close())
		}
		a.stop = append(a.stop, func() error { pprof.StopCPUProfile(); return f.Close() })
	}
	if a.traceTo != "" {
		f, err := os.Create(a.traceTo)
		if err != nil {
			return err
		}
		if err := trace.Start(f); err != nil {
			return errors.Join(err, f.Close())
		}
		a.stop = append(a.stop, func() error { trace.Stop(); return f.Close() })
	}
	if a.memProfile != "" {
		a.stop = append(a.stop, func() error {
			f, err := os.Create(a.memProfile)
			if err != nil {
				return err
			}
			runtime.GC() // so that the profile shows what is live
			return errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
		})
	}
	return nil
}

func (a *app) stopProfiles() error {
	var errs []error
	for _, stop := range a.stop {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}

func (a *app) location() (*time.Location, error) {
	loc, err := time.LoadLocation(a.zone)
	if err != nil {
		return nil, usagef("--zone %q: %v", a.zone, err)
	}
	return loc, nil
}

func (a *app) json() bool { return a.format == "json" }

// oneTable is the Args of commands about a table.
func oneTable(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("give one TABLE, the folder that holds _delta_log, not %d arguments", len(args))
	}
	return nil
}
