package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A tested package is what `go list -json` tells of one and its tests.
type tested struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, Deps                      []string
}

func (p *tested) tests() []string { return append(slices.Clone(p.TestGoFiles), p.XTestGoFiles...) }

// TestLeaksAreLookedFor: the tests of every package that starts goroutines, or uses one of ours that does, end with a look for
// goroutines that are left; those of every package that makes Arrow buffers take checked allocators.
func TestLeaksAreLookedFor(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports,Deps", module+"...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []*tested
	starts := map[string]bool{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &tested{}
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
		starts[p.ImportPath] = slices.ContainsFunc(p.GoFiles, func(file string) bool { return startsGoroutines(t, filepath.Join(p.Dir, file)) })
	}
	looked := 0
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module)
		if len(p.tests()) == 0 || strings.HasPrefix(name, "bench") || name == "internal/docs" || name == "internal/imports" {
			continue // no tests, measurements, and tests of text
		}
		holds := func(text string) bool {
			return slices.ContainsFunc(p.tests(), func(file string) bool {
				data, err := os.ReadFile(filepath.Join(p.Dir, file))
				if err != nil {
					t.Fatal(err)
				}
				return bytes.Contains(data, []byte(text))
			})
		}
		if starts[p.ImportPath] || slices.ContainsFunc(p.Deps, func(dep string) bool { return starts[dep] }) {
			looked++
			if !holds("goleak.VerifyTestMain(m)") {
				t.Errorf("the tests of %s don't look for goroutines that are left: see leak_test.go of other packages", name)
			}
		}
		if name != "internal/cli" && /* its buffers end with the process */ slices.Contains(p.Imports, "github.com/apache/arrow-go/v18/arrow/memory") && !holds("memory.NewCheckedAllocator(") {
			t.Errorf("the tests of %s don't look for Arrow buffers that are left: they take no checked allocator", name)
		}
	}
	if looked < 10 {
		t.Errorf("only %d packages start goroutines", looked)
	}
}

// startsGoroutines reports whether a file has a go statement or calls a method Go, as of sync.WaitGroup and errgroup.Group.
func startsGoroutines(t *testing.T, file string) (starts bool) {
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" {
				starts = true
			}
		}
		return !starts
	})
	return starts
}
