// Command peers runs deltaskip and what people use today on the same generated logs, in turn, and prints how they compare.
// README.md says how.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// A step is one thing to be done, by everybody who can.
type step struct {
	name    string
	what    string // for people
	threads int
	unit    string // what is done so many times a second
	amount  func(s *settings, answer int64) float64
	agree   bool // all answers must be the same
	slow    bool // some contestants take seconds: run it a third as often
}

func adds(s *settings, _ int64) float64    { return float64(s.Adds) }
func answers(_ *settings, n int64) float64 { return float64(n) }

var steps = []step{
	{"kernel range", "a range of one long column, in memory", 1, "adds", adds, true, false},
	{"kernel pairs", "three (P AND D) pairs, in memory", 1, "adds", adds, true, false},
	{"kernel prefix", "a string prefix, in memory", 1, "adds", adds, true, false},
	{"kernel timestamp", "a range of timestamps, in memory", 1, "adds", adds, true, false},
	{"kernel isnull", "IS NULL, in memory", 1, "adds", adds, true, false},
	{"kernel large", "a range over the large table, in memory", 1, "adds", func(s *settings, _ int64) float64 { return float64(s.Large) }, true, false},
	{"kernel large", "the same on two threads", 2, "adds", func(s *settings, _ int64) float64 { return float64(s.Large) }, true, false},
	{"json 2", "action lines to two columns", 1, "adds", answers, true, false},
	{"json 16", "action lines to all sixteen columns", 1, "adds", answers, true, false},
	{"leaves", "four leaves of a checkpoint", 1, "adds", answers, true, false},
	{"cold struct", "checkpoint on disk to answer, struct statistics", 2, "adds", adds, true, true},
	{"cold json", "checkpoint on disk to answer, JSON statistics", 2, "adds", adds, true, true},
	{"commit", "one JSON commit on disk to answer", 2, "adds", func(s *settings, _ int64) float64 { return float64(s.Commit) }, true, true},
	{"first struct", "first file that may match, struct statistics", 2, "answers", answers, true, false},
	{"first json", "first file that may match, JSON statistics", 2, "answers", answers, true, false},
	{"check cold", "one loser against all winners", 2, "winners", answers, true, true},
	{"check cached", "the same, winners cached", 2, "winners", answers, true, false},
	{"append 1", "append one row, in a loop", 2, "commits", answers, false, true},
	{"append 8", "append one row, eight processes", 2, "commits", answers, false, true},
	{"append 64", "append one row, 64 goroutines, group commit", 2, "commits", answers, false, true},
	{"clash random", "clash of two vectors, random rows", 1, "clashes", func(*settings, int64) float64 { return 1 }, true, false},
	{"clash runs", "clash of two vectors, runs of rows", 1, "clashes", func(*settings, int64) float64 { return 1 }, true, false},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "worker": // worker NAME DIR THREADS
		return work(args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "append": // append DIR COMMITS, a process of the step "append 8"
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		_, err = appendTo(args[1], 1, n)
		return err
	}
	s := &settings{}
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	dir := flags.String("dir", filepath.Join(os.TempDir(), "deltaskip-peers"), "where the logs are made and kept for the next run")
	rounds := flags.Int("rounds", 9, "how often each step is run by each contestant")
	only := flags.String("step", "", "run only the steps whose names match this regular expression")
	python := flags.String("python", ".venv/bin/python", "the Python that setup.sh made")
	markdown := flags.Bool("markdown", false, "print the table for a document")
	flags.IntVar(&s.Adds, "adds", 1_000_000, "adds of the table with a checkpoint")
	flags.IntVar(&s.Large, "large", 10_000_000, "adds of the large table")
	flags.IntVar(&s.Commit, "commit", 100_000, "adds of the one commit")
	flags.IntVar(&s.Winners, "winners", 1000, "commits of a hundred adds to lose to")
	flags.IntVar(&s.Appends, "appends", 80, "commits of one run")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if *dir, err = filepath.Abs(*dir); err != nil {
		return err
	}
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	// Another size is another set of logs.
	*dir = filepath.Join(*dir, fmt.Sprintf("%d-%d-%d-%d", s.Adds, s.Large, s.Commit, s.Winners))
	if err := s.make(*dir, say); err != nil {
		return err
	}
	t := table.NewWriter()
	t.SetOutputMirror(os.Stdout)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"step", "contestant", "minimum", "median", "per second", "times ours", "peak MiB"})
	for _, st := range steps {
		if !wanted.MatchString(st.name) {
			continue
		}
		say("%s, %d threads", st.name, st.threads)
		list, err := st.run(s, *dir, *python, *rounds, say)
		if err != nil {
			return err
		}
		st.report(t, s, list)
	}
	if *markdown {
		t.RenderMarkdown()
	} else {
		t.Render()
	}
	return removeAppends(*dir)
}

// removeAppends removes the tables of the steps that append.
func removeAppends(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, "append-*"))
	for _, name := range left {
		err = errors.Join(err, os.RemoveAll(name))
	}
	return err
}

// contestants are the command lines of all contestants, ours first.
func contestants(s *settings, dir, python string, threads int) ([]string, map[string][]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	n := strconv.Itoa(threads)
	list := map[string][]string{"deltaskip": {self, "worker", "deltaskip", dir, n}}
	for name := range goPeers {
		list[name] = []string{self, "worker", name, dir, n}
	}
	for _, name := range []string{"duckdb", "pyarrow", "polars", "delta-rs", "croaring"} {
		list[name] = []string{python, "peers.py", name, dir, n}
	}
	list["C"] = []string{"./limit/range", dir, n, fmt.Sprint(s.Range[0]), fmt.Sprint(s.Range[1])}
	list["kernel (Rust)"] = []string{"./kernel/target/release/kernel-worker", dir}
	names := slices.Sorted(maps.Keys(list))
	slices.SortStableFunc(names, func(a, b string) int {
		rank := func(n string) int {
			if n == "deltaskip" {
				return 0
			}
			return 1
		}
		return rank(a) - rank(b)
	})
	return names, list, nil
}

// run has every contestant who takes part do the step, in turn.
func (st step) run(s *settings, dir, python string, rounds int, say func(string, ...any)) ([]*contestant, error) {
	names, commands, err := contestants(s, dir, python, st.threads)
	if err != nil {
		return nil, err
	}
	var list []*contestant
	defer func() {
		for _, c := range list {
			c.close()
		}
	}()
	threads := strconv.Itoa(st.threads)
	for _, name := range names {
		c, err := start(name, commands[name], "POLARS_MAX_THREADS="+threads, "GOMAXPROCS="+threads)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
			say("  %s is not here: setup.sh brings it", name)
			continue
		}
		if err != nil {
			return list, err
		}
		if _, err := c.ask("prepare", st.name); errors.Is(err, errUnsupported) {
			c.close()
			continue
		} else if err != nil {
			c.err = err
		}
		list = append(list, c)
	}
	if st.slow {
		rounds = max(1, rounds/3)
	}
	for range rounds {
		for _, c := range list {
			for begin := time.Now(); c.err == nil; { // what takes microseconds is done often enough to be warm
				if c.run(st.name); time.Since(begin) > 20*time.Millisecond {
					break
				}
			}
		}
	}
	for _, c := range list {
		if c.err != nil {
			say("  %s: %v", c.name, c.err)
		} else if st.agree && list[0].err == nil && c.answer != list[0].answer {
			say("  %s answers %d, %s %d", c.name, c.answer, list[0].name, list[0].answer)
		}
	}
	return list, nil
}

// report adds a step's rows to the table: how many times as long as ours the others took, by the medians.
func (st step) report(t table.Writer, s *settings, list []*contestant) {
	perAmount := func(c *contestant, d time.Duration) float64 {
		return d.Seconds() / st.amount(s, max(1, c.answer))
	}
	var ours float64
	for _, c := range list {
		if c.err != nil || len(c.times) == 0 {
			t.AppendRow(table.Row{st.what, c.name, "failed", "", "", "", ""})
			continue
		}
		slices.Sort(c.times)
		median := perAmount(c, c.times[len(c.times)/2])
		if c.name == "deltaskip" {
			ours = median
		}
		ratio := ""
		if ours > 0 {
			ratio = fmt.Sprintf("%.2f", median/ours)
		}
		t.AppendRow(table.Row{
			fmt.Sprintf("%s (%d)", st.what, st.threads), c.name, round(c.times[0]), round(c.times[len(c.times)/2]),
			metric(1/median) + " " + st.unit, ratio, c.peakRSS >> 20,
		})
	}
	t.AppendSeparator()
}

func round(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

func metric(v float64) string {
	for _, unit := range []struct {
		v float64
		s string
	}{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if v >= unit.v {
			return fmt.Sprintf("%.3g%s", v/unit.v, unit.s)
		}
	}
	return fmt.Sprintf("%.3g", v)
}

// work makes this process a contestant.
func work(name, dir, threads string) error {
	n, err := strconv.Atoi(threads)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, "steps.json"))
	if err != nil {
		return err
	}
	s := &settings{}
	if err := json.Unmarshal(text, s); err != nil {
		return err
	}
	runtime.GOMAXPROCS(n)
	if name == "deltaskip" {
		return serve(ours(dir, s, n))
	}
	if peer := goPeers[name]; peer != nil {
		return serve(peer(dir, s))
	}
	return fmt.Errorf("no contestant %q", strings.TrimSpace(name))
}
