package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
)

// What the benchmarks of checkpoints obey.
const (
	addsVariable = "DELTASKIP_BENCH_ADDS" // how many adds a checkpoint has, such as 10000000
	dirVariable  = "DELTASKIP_BENCH_DIR"  // a folder in which checkpoints are kept and found again
	runVariable  = "DELTASKIP_BENCH_RUN"  // internal: see peakOf
)

func TestMain(m *testing.M) {
	if os.Getenv(runVariable) != "" {
		os.Exit(runMeasured(os.Args[1:]))
	}
	code := m.Run()
	if fixtures.temporary {
		os.RemoveAll(fixtures.dir)
	}
	os.Exit(code)
}

// checkpointAdds returns how many adds the checkpoints of benchmarks have.
func checkpointAdds(b *testing.B) int {
	text := os.Getenv(addsVariable)
	switch {
	case text == "" && testing.Short():
		return 20_000
	case text == "":
		return 1_000_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		b.Fatalf("%s=%s: give a number of adds", addsVariable, text)
	}
	return n
}

// fixtures are made by processes of their own, so that they leave nothing behind in the memory of the one that is measured.
var fixtures struct {
	sync.Mutex
	dir       string
	temporary bool
	command   string // deltaskip
}

func fixtureDir(tb testing.TB) string {
	if fixtures.dir != "" {
		return fixtures.dir
	}
	if fixtures.dir = os.Getenv(dirVariable); fixtures.dir == "" {
		dir, err := os.MkdirTemp("", "deltaskip-bench-")
		if err != nil {
			tb.Fatal(err)
		}
		fixtures.dir, fixtures.temporary = dir, true
	}
	return fixtures.dir
}

// deltaskip builds the command and returns its path.
func deltaskip(tb testing.TB) string {
	tb.Helper()
	fixtures.Lock()
	defer fixtures.Unlock()
	if fixtures.command == "" {
		name := filepath.Join(fixtureDir(tb), "deltaskip")
		if out, err := exec.Command("go", "build", "-o", name, "../cmd/deltaskip").CombinedOutput(); err != nil {
			tb.Fatalf("building the command: %v\n%s", err, out)
		}
		fixtures.command = name
	}
	return fixtures.command
}

// fixture returns the folder of a table that deltaskip gen makes with some flags.
func fixture(tb testing.TB, flags ...string) string {
	tb.Helper()
	command := deltaskip(tb)
	fixtures.Lock()
	defer fixtures.Unlock()
	dir := filepath.Join(fixtures.dir, strings.ReplaceAll(strings.TrimLeft(strings.Join(flags, "-"), "-"), "--", "_"))
	done := dir + ".complete"
	if _, err := os.Stat(done); err == nil {
		return dir
	}
	if err := os.RemoveAll(dir); err != nil { // one that was interrupted
		tb.Fatal(err)
	}
	if out, err := exec.Command(command, append([]string{"gen", dir}, flags...)...).CombinedOutput(); err != nil {
		tb.Fatalf("gen: %v\n%s", err, out)
	}
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// openLog opens the log of a table, to be read by so many workers, 0 for one per processor.
func openLog(tb testing.TB, dir string, workers int) *deltalog.Log {
	tb.Helper()
	store, err := logstore.OpenLocal(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { store.Close() })
	o := deltalog.Options{Workers: workers}
	o.Checkpoint.Workers = workers
	return deltalog.Open(store, o)
}

// peakOf runs a command and returns the largest resident set that it had, in bytes, as the system counts it for whoever waits
// for it; 0 where it doesn't.
//
// Linux starts that count with the resident set of the process that forks. So this process, which may be large, has a small
// one fork: its own program, which runMeasured takes over.
func peakOf(tb testing.TB, command ...string) int64 {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(self, command...)
	cmd.Env = append(os.Environ(), runVariable+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("%v: %v\n%s", command, err, &stderr)
	}
	peak, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return peak
}

// runMeasured runs a command, and prints the bytes that it had resident at most.
func runMeasured(command []string) int {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(maxResident(cmd.ProcessState))
	return 0
}

// TestPeakOf measures a process whatever the size of this one.
func TestPeakOf(t *testing.T) {
	big := make([]byte, 256<<20)
	for i := range big {
		big[i] = 1
	}
	peak := peakOf(t, deltaskip(t), "--help")
	if PeakRSS() == 0 || peak == 0 {
		t.Skip("the system does not say")
	}
	if peak > 100<<20 || PeakRSS() < 256<<20 || big[1] != 1 {
		t.Errorf("the command takes %d MiB, this process %d", peak>>20, PeakRSS()>>20)
	}
}
