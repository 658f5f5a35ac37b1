// Command ratios runs pairs of benchmarks and warns of those whose ratio has become worse: a time says as much of the
// machine as of the code, a ratio of two that were measured together doesn't.
//
//	go run -C tools ./ratios ../bench/ratios.txt
//
// A line of the file names a package, the benchmark of a peer, ours, a unit ("sec/op", or "B/s" where they do different
// amounts of work), and how many times as good ours has been.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// A pair is a line of the file.
type pair struct {
	pkg, peer, ours, unit string
	recorded              float64
}

func main() {
	count := flag.Int("count", 3, "runs of each benchmark; the best counts")
	benchtime := flag.String("benchtime", "100ms", "time of a run")
	worse := flag.Float64("worse", 0.7, "warn of ratios that are less than this times the recorded one")
	strict := flag.Bool("strict", false, "fail where there is something to warn of")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: ratios [flags] FILE")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	warned, err := run(flag.Arg(0), *worse, "-count", fmt.Sprint(*count), "-benchtime", *benchtime)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ratios:", err)
		os.Exit(2)
	}
	if warned && *strict {
		os.Exit(1)
	}
}

func run(name string, worse float64, args ...string) (warned bool, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return false, err
	}
	pairs, err := parse(text)
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	best := map[string]map[string]float64{} // by package
	for _, p := range pairs {
		if best[p.pkg] == nil {
			if best[p.pkg], err = measure(filepath.Dir(name), p.pkg, pairs, args); err != nil {
				return false, err
			}
		}
		peer, ours := best[p.pkg][p.peer+" "+p.unit], best[p.pkg][p.ours+" "+p.unit]
		if peer == 0 || ours == 0 {
			return false, fmt.Errorf("%s: no %s of %s and %s", p.pkg, p.unit, p.peer, p.ours)
		}
		ratio := peer / ours
		if p.unit == "B/s" {
			ratio = ours / peer
		}
		mark := ""
		if ratio < worse*p.recorded {
			mark, warned = "  WARNING: slower than it was", true
		}
		fmt.Printf("%8.2f times %s (was %.3g): %s%s\n", ratio, p.peer, p.recorded, p.ours, mark)
	}
	return warned, nil
}

// parse reads the file's lines; # begins a comment.
func parse(text []byte) (pairs []pair, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		var p pair
		if _, err := fmt.Sscan(line, &p.pkg, &p.peer, &p.ours, &p.unit, &p.recorded); err != nil {
			return nil, fmt.Errorf("line %d: want a package, two benchmarks, a unit and a number: %w", n, err)
		}
		pairs = append(pairs, p)
	}
	return pairs, lines.Err()
}

// measure runs a package's benchmarks of all pairs and returns the best of each, by its name and unit.
func measure(dir, pkg string, pairs []pair, args []string) (map[string]float64, error) {
	// go test takes a pattern apart at slashes, so every benchmark has its own run.
	best := map[string]float64{}
	for _, p := range pairs {
		if p.pkg != pkg {
			continue
		}
		for _, name := range []string{p.peer, p.ours} {
			if _, done := best[name+" sec/op"]; done {
				continue
			}
			var parts []string
			for part := range strings.SplitSeq("Benchmark"+name, "/") {
				parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
			}
			cmd := exec.Command("go", append([]string{"test", "-short", "-run", "^$", "-bench", strings.Join(parts, "/"), pkg}, args...)...)
			cmd.Dir, cmd.Stderr = dir, os.Stderr
			out, err := cmd.Output()
			if err != nil {
				return nil, fmt.Errorf("%v: %w\n%s", cmd, err, out)
			}
			if err := read(best, name, bytes.NewReader(out)); err != nil {
				return nil, err
			}
		}
	}
	return best, nil
}

// read keeps the best of each of a benchmark's units.
func read(best map[string]float64, name string, out io.Reader) error {
	r := benchfmt.NewReader(out, name)
	for r.Scan() {
		result, ok := r.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		for _, v := range result.Values {
			key := name + " " + v.Unit
			old, seen := best[key]
			if !seen || v.Unit == "B/s" && v.Value > old || v.Unit != "B/s" && v.Value < old {
				best[key] = v.Value
			}
		}
	}
	if _, seen := best[name+" sec/op"]; !seen && r.Err() == nil {
		return errors.New("no benchmark " + name)
	}
	return r.Err()
}
