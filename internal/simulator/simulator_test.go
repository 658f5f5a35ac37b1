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

	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
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
		runs = 25
	default:
		runs = 100
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // much short-lived garbage, and little that stays
	for _, mode := range Modes {
		if *modeFlag != "" && *modeFlag != mode.Name {
			continue
		}
		t.Run(mode.Name, func(t *testing.T) {
			var total Report
			start := time.Now()
			for i := range runs {
				c := Config{Seed: *seedFlag + uint64(i), Mode: mode}
				r, err := Run(t.Context(), c)
				total.Add(r)
				if err != nil {
					t.Fatalf("go test ./internal/simulator -run TestSimulator -mode %s -seed %d -runs 1\n%v", mode.Name, c.Seed, shortest(t.Context(), c, err))
				}
			}
			t.Logf("%s, %.1f ms each", summary(runs, total), float64(time.Since(start).Microseconds())/1000/float64(runs))
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

func summary(runs int, r Report) string {
	share := func(n int) string { return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(r.Transactions)) }
	text := fmt.Sprintf("%d runs, %d transactions: %d committed, %s in conflict, %d unknown, %d failed; an oracle aborts %s; %s need only be written again",
		runs, r.Transactions, r.Commits, share(r.Conflicts), r.Unknown, r.Failed, share(r.Conflicts-r.Needless), share(r.Redoable))
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
	for seed := range uint64(20) {
		mode := Modes[int(seed)%len(Modes)]
		var logs [2]string
		for i := range logs {
			store := &storetest.Mem{}
			if _, err := Run(t.Context(), Config{Seed: seed, Mode: mode, Store: store}); err != nil {
				t.Fatal(err)
			}
			for e, err := range store.List(t.Context(), deltalog.Dir, "") {
				if err != nil {
					t.Fatal(err)
				}
				text, _, err := store.Get(t.Context(), e.Name, 1<<30)
				if err != nil {
					t.Fatal(err)
				}
				logs[i] += e.Name + "\n" + string(text)
			}
		}
		if logs[0] != logs[1] {
			t.Errorf("seed %d, mode %s: two runs wrote different logs:\n%s\n%s", seed, mode.Name, logs[0], logs[1])
		}
	}
}

// TestLocalStore plays runs on files.
func TestLocalStore(t *testing.T) {
	for seed := range uint64(2) {
		for _, mode := range Modes {
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
