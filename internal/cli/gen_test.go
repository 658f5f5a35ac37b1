package cli

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/bench"
)

// TestGenCheckpoints asks one question of one workload in every shape and form: the answer, its counts included, is that of the
// commits, where nothing can be pruned. A commit after the checkpoint, in which files die, makes no difference to that.
func TestGenCheckpoints(t *testing.T) {
	workload := []string{"--adds", "600", "--partitions", "6", "--dv-share", "0.1", "--no-stats-share", "0.01", "--shuffled", "--sort-by", "id"}
	gen := func(t *testing.T, more ...string) string {
		dir := filepath.Join(t.TempDir(), "table")
		if _, stderr, code := deltaskip(t, append(append([]string{"gen", dir}, workload...), more...)...); code != exitDone {
			t.Fatal(stderr)
		}
		return dir
	}
	where := []string{
		fmt.Sprintf("id < %d", 50*bench.RowsPerFile),
		fmt.Sprintf("p = 1 AND id BETWEEN %d AND %d", 150*bench.RowsPerFile, 160*bench.RowsPerFile),
		fmt.Sprintf("p <> 1 AND id BETWEEN %d AND %d", 150*bench.RowsPerFile, 350*bench.RowsPerFile),
		"id < 0",
		"amount IS NULL AND p < 4",
	}
	if testing.Short() {
		where = where[1:3]
	}
	answers := func(t *testing.T, dir string) (answers []string) {
		for _, sql := range where {
			for _, more := range [][]string{{"--format", "json"}, {"--format", "json", "--count"}, {"--verdict"}, {"--verdict", "--format", "json"}, {"--first"}} {
				out, stderr, code := deltaskip(t, append([]string{"files", dir, "--where", sql}, more...)...)
				if code != exitDone {
					t.Fatal(stderr)
				}
				answers = append(answers, out)
			}
		}
		return answers
	}
	// die removes every tenth of the files that are listed, in version 2.
	die := func(t *testing.T, dir string, files []string) {
		var lines strings.Builder
		for i := 0; i < len(files); i += 10 {
			fmt.Fprintf(&lines, `{"remove":{"path":%q,"dataChange":true,"deletionTimestamp":1}}`+"\n", files[i])
		}
		if err := os.WriteFile(filepath.Join(dir, "_delta_log", fmt.Sprintf("%020d.json", 2)), []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commits := gen(t)
	want := answers(t, commits)
	if _, _, code := deltaskip(t, "files", commits, "--where", "dataless = 1 OR id >= 0"); code == exitDone {
		t.Fatal("a column that is not there passes")
	}
	out, stderr, code := deltaskip(t, "files", commits, "--where", "rand() < 2")
	if code != exitDone {
		t.Fatal(stderr)
	}
	var plain []string // a file with a deletion vector is another key
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if name, _, _ := strings.Cut(line, "  "); strings.HasSuffix(name, ".parquet") {
			plain = append(plain, name)
		}
	}
	if len(plain) != 600 {
		t.Fatalf("%d files", len(plain))
	}
	die(t, commits, plain)
	wantDead := answers(t, commits)
	for _, shape := range genShapes {
		for form := range genStats {
			t.Run(shape+"/"+form, func(t *testing.T) {
				if testing.Short() && (shape == "classic") == (form == "struct") {
					t.Skip("-short")
				}
				dir := gen(t, "--checkpoint", shape, "--stats", form, "--row-group", "20", "--parts", "3")
				compare(t, want, answers(t, dir))
				die(t, dir, plain)
				compare(t, wantDead, answers(t, dir))
			})
		}
	}
}

// compare compares outputs whatever the order of their lines: that of a multi-part checkpoint is another. The first file of one is
// another, too.
func compare(t *testing.T, want, got []string) {
	t.Helper()
	for i := range want {
		if w, g := sortedLines(want[i]), sortedLines(got[i]); w != g && !(strings.Count(w, "\n") == 0 && strings.HasSuffix(g, ".parquet") && strings.HasSuffix(w, ".parquet")) {
			t.Errorf("answer %d:\n%s\nwant\n%s", i, g, w)
		}
	}
}

// TestGenSameBytes writes each shape twice.
func TestGenSameBytes(t *testing.T) {
	for _, shape := range genShapes {
		sums := func() map[string][32]byte {
			dir := filepath.Join(t.TempDir(), "table")
			args := []string{"gen", dir, "--adds", "300", "--shuffled", "--sort-by", "country", "--checkpoint", shape, "--row-group", "50", "--parts", "2"}
			if _, stderr, code := deltaskip(t, args...); code != exitDone {
				t.Fatal(stderr)
			}
			sums := map[string][32]byte{}
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				rel, _ := filepath.Rel(dir, path)
				sums[rel] = sha256.Sum256(data)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return sums
		}
		if one, two := sums(), sums(); len(one) < 4 || !maps.Equal(one, two) {
			t.Errorf("%s: %d files, which differ", shape, len(one))
		}
	}
}

func sortedLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
