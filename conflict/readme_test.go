package conflict_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadmeShowsTheExample keeps the README's Go code the code of [Example], which is compiled and run.
func TestReadmeShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "```go\n")
	code, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the README has no Go code")
	}
	var body strings.Builder
	for line := range strings.Lines(string(example)) {
		body.WriteString(strings.TrimPrefix(line, "\t"))
	}
	if !strings.Contains(body.String(), code) {
		t.Errorf("the README's code is not that of the example:\n%s", code)
	}
}
