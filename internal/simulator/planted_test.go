package simulator

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var plantedFlag = flag.Bool("planted", false, "plant bugs in the project, one after another, and see that the simulator finds each: takes minutes")

// A bug is one that is planted: in a file, a text that stands there exactly once is replaced.
type bug struct {
	name     string
	file     string // from the module's root
	old, new string
	mode     string // in which it shows
}

var bugs = []bug{
	{
		name: "files that a winner adds are not looked at", mode: "stats", file: "conflict/check_added.go",
		old: "	if !t.countsAdds(w) ||", new: "	if true || !t.countsAdds(w) ||",
	},
	{
		name: "a file that a winner removes is not one that was read", mode: "stats", file: "conflict/check_removed.go",
		old: "		if f, ok := t.read.files[path]; ok {", new: "		if f, ok := t.read.files[path]; ok && false {",
	},
	{
		name: "every winner that removes no file counts as blind", mode: "stats", file: "conflict/winner.go",
		old: "	return flag != nil && *flag\n}", new: "	return flag == nil || *flag || !*flag\n}",
	},
	{
		name: `"exists" is the last word`, mode: "stats", file: "conflict/committer.go",
		old: "	u.open = u.late || errors.Is(err, logstore.ErrExists)", new: "	u.open = u.late",
	},
	{
		name: "bounds stay tight when rows have gone (the wide-bounds rule)", mode: "row level", file: "conflict/merge.go",
		old: `	if err != nil || strings.TrimSpace(stats) == "" {`, new: `	if true || err != nil || strings.TrimSpace(stats) == "" {`,
	},
	{
		name: "a row that the winner marked may be one that the loser read (the write-skew rule)", mode: "merged marks", file: "conflict/merge.go",
		old: "	if gone.Cardinality() == 0 ||", new: "	if true || gone.Cardinality() == 0 ||",
	},
	{
		name: "rows that were gone before count as marked by both (the base subtraction)", mode: "merged marks", file: "deletionvector/merge.go",
		old: "	if winner.common(current) != base.Cardinality() {\n		return nil, OverlapOf(winner, current, base), nil",
		new: "	if winner.common(current) != 0 {\n		return nil, OverlapOf(winner, current, nil), nil",
	},
	{
		name: "a compaction's source is taken for untouched before (the base subtraction)", mode: "rearranged", file: "conflict/compaction.go",
		old: "	return g.move(index, after.AndNot(base))", new: "	return g.move(index, after)",
	},
	{
		name: "a winner's vector need not have grown (the grown-only rule)", mode: "merged marks", file: "deletionvector/merge.go",
		old: "	if n := base.Cardinality() - base.common(winner); n != 0 {", new: "	if n := base.Cardinality() - base.common(winner); false {",
	},
	{
		name: "a loser's vector need not have grown (the grown-only rule)", mode: "merged marks", file: "deletionvector/merge.go",
		old: "	if n := base.Cardinality() - base.common(current); n != 0 {", new: "	if n := base.Cardinality() - base.common(current); false {",
	},
	{
		name: "rows clear a file that both sides write again (check 9 under RemovedRows)", mode: "removed rows", file: "conflict/removed_rows.go",
		old: "	return !t.read.adds[path] && t.read.removes[path] == nil", new: "	return true",
	},
	{
		name: "a compacted file may be added again (the known-path rule under Rearranged)", mode: "rearranged", file: "conflict/rearranged.go",
		old: "	return !t.bringsBack(f) &&", new: "	return",
	},
	{
		name: "a commit that only adds files can rearrange rows", mode: "rearranged", file: "conflict/explain.go",
		old: "	if w.NumAdds() == 0 || len(w.Removes) == 0 ||", new: "	if w.NumAdds() == 0 ||",
	},
}

// TestPlantedBugs plants each bug, without touching the module's files, and runs the simulator on it.
//
//	go test ./internal/simulator -run TestPlantedBugs -planted -v -timeout 60m
func TestPlantedBugs(t *testing.T) {
	if !*plantedFlag {
		t.Skip("SKIPPED: takes minutes; run it with -planted")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			path := filepath.Join(root, filepath.FromSlash(b.file))
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), b.old); n != 1 {
				t.Fatalf("the text to replace stands %d times in %s:\n%s", n, b.file, b.old)
			}
			dir := t.TempDir()
			broken := filepath.Join(dir, filepath.Base(b.file))
			if err := os.WriteFile(broken, []byte(strings.Replace(string(text), b.old, b.new, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: broken}})
			if err != nil {
				t.Fatal(err)
			}
			list := filepath.Join(dir, "overlay.json")
			if err := os.WriteFile(list, overlay, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", list, "-vet=off", "./internal/simulator",
				"-run", "TestSimulator/"+b.mode+"$", "-runs", "3000", "-seed", fmt.Sprint(*seedFlag))
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			switch {
			case err == nil:
				t.Errorf("nothing was found:\n%s", out)
			case !strings.Contains(string(out), "without transactions"):
				t.Errorf("the test failed for another reason:\n%s", out)
			default:
				lines := strings.SplitN(string(out), "\n", 6)
				t.Logf("found:\n%s", strings.Join(lines[:len(lines)-1], "\n"))
			}
		})
	}
}
