package simulator

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/logstore"
)

var (
	runsFlag = flag.Int("runs", 0, "runs of the simulator in each mode; 0 means a few hundred")
	seedFlag = flag.Uint64("seed", 1, "seed of the first run")
	modeFlag = flag.String("mode", "", "the only mode to run; empty means all")
)

// TestSimulator plays many runs in each mode. A run that fails prints the command that plays it again.
func TestSimulator(t *testing.T) {
	runs := *runsFlag
	switch {
	case runs > 0:
	case testing.Short():
		runs = 15
	default:
		runs = 60
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // much short-lived garbage, and little that stays
	for _, mode := range Modes {
		if *modeFlag != "" && *modeFlag != mode.Name {
			continue
		}
		t.Run(mode.Name, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer mem.AssertSize(t, 0)
			mode.Options.Memory = mem
			var total, calm Report
			start := time.Now()
			for i := range runs {
				c := Config{Seed: *seedFlag + uint64(i), Mode: mode}
				r, err := Run(t.Context(), c)
				total.Add(r)
				if !r.Faults {
					calm.Add(r)
				}
				if err != nil {
					t.Fatalf("go test ./internal/simulator -run TestSimulator -mode %s -seed %d -runs 1\n%v", mode.Name, c.Seed, shortest(t.Context(), c, err))
				}
			}
			t.Logf("%s, %.1f ms each", summary(runs, total, calm), float64(time.Since(start).Microseconds())/1000/float64(runs))
		})
	}
}

// shortest leaves out transactions as long as the run still fails.
func shortest(ctx context.Context, c Config, err error) error {
	var a *Anomaly
	if !errors.As(err, &a) {
		return err
	}
	c.Skip = map[int64]bool{}
	for again := true; again; {
		again = false
		for n := int64(1); n <= MaxTransactions; n++ {
			if c.Skip[n] {
				continue
			}
			c.Skip[n] = true
			if _, shorter := Run(ctx, c); errors.As(shorter, &a) {
				err, again = shorter, true
			} else {
				delete(c.Skip, n)
			}
		}
	}
	return fmt.Errorf("without transactions %v: %w", slices.Sorted(maps.Keys(c.Skip)), err)
}

// summary tells of all runs, and of conflicts in those without faults: faults add some of their own.
func summary(runs int, all, r Report) string {
	share := func(n int) string { return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(r.Transactions)) }
	text := fmt.Sprintf("%d runs: %d transactions, %d commits, %d conflicts, %d unknown, %d failed; without faults %d transactions, "+
		"of which %s are in conflict; for an oracle %s, of which %s would do the same if their files were written again; for one that knows the reads alone %s",
		runs, all.Transactions, all.Commits, all.Conflicts, all.Unknown, all.Failed, r.Transactions,
		share(r.Conflicts), share(r.Conflicts-r.Needless), share(r.Redoable), share(r.Conflicts-r.Blameless))
	type why struct {
		what string
		n    int
	}
	var list []why
	for k, n := range r.Why {
		list = append(list, why{k, n})
	}
	slices.SortFunc(list, func(a, b why) int {
		if a.n != b.n {
			return b.n - a.n
		}
		return strings.Compare(a.what, b.what)
	})
	for _, w := range list[:min(len(list), 12)] {
		text += fmt.Sprintf("\n    needless %s: %d", w.what, w.n)
	}
	return text
}

// TestRunsRepeat checks that a seed and a mode decide everything.
func TestRunsRepeat(t *testing.T) {
	for seed := range uint64(3 * len(Modes)) {
		mode := Modes[int(seed)%len(Modes)]
		var histories [2]string
		for i := range histories {
			r, err := play(t.Context(), Config{Seed: seed, Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			histories[i] = r.history()
		}
		if histories[0] != histories[1] {
			t.Errorf("seed %d, mode %s: two runs differ:\n%s\n%s", seed, mode.Name, histories[0], histories[1])
		}
	}
}

// TestLocalStore plays runs on files.
func TestLocalStore(t *testing.T) {
	for seed := range uint64(2) {
		for _, mode := range []Mode{Modes[0], Modes[len(Modes)-1]} {
			store, err := logstore.OpenLocal(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Run(t.Context(), Config{Seed: seed, Mode: mode, Store: store}); err != nil {
				t.Errorf("seed %d, mode %s: %v", seed, mode.Name, err)
			}
		}
	}
}
