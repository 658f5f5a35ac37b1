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
		old: "	if !t.countsAdds(w) {\n", new: "	if true {\n",
	},
	{
		name: "files that a winner removes are not looked at", mode: "stats", file: "conflict/check_removed.go",
		old: "	if len(w.Removes) == 0 {\n", new: "	if true {\n",
	},
	{
		name: "every winner that removes no file counts as blind", mode: "stats", file: "conflict/winner.go",
		old: "	return flag != nil && *flag\n}", new: "	return flag == nil || *flag || !*flag\n}",
	},
	{
		name: `"exists" is the last word`, mode: "stats", file: "conflict/committer.go",
		old: "	u.open = u.late || errors.Is(err, logstore.ErrExists)", new: "	u.open = u.late",
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
