package corpus

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOwnTests holds README.md to naming every input of the bugs corpus, and only tests that exist.
func TestOwnTests(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]bool{}
	number := regexp.MustCompile(`\b\d\d\b`)
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !number.MatchString(cells[1]) {
			continue
		}
		for _, n := range number.FindAllString(cells[1], -1) {
			inputs[n] = true
		}
		name, folder := strings.Trim(cells[2], " `"), strings.TrimSpace(cells[3])
		if folder == "" {
			continue // the corpus alone
		}
		files, err := filepath.Glob(filepath.Join("..", "..", folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			source, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(source), "func "+name+"(")
		}
		if !found {
			t.Errorf("package %s has no %s", folder, name)
		}
	}
	if len(inputs) != 77 {
		t.Errorf("%d of 77 inputs are named", len(inputs))
	}
}
