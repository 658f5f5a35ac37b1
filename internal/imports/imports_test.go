// Package imports keeps the arrows between the packages one way.
package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/deltaskip/deltaskip/"

// mayImport says which packages of the module each package may import directly. A package that is missing here fails the
// test: deciding where a new one stands is part of adding it. Under internal/, what two packages share imports only what
// both may.
var mayImport = map[string][]string{
	"schema":             {},
	"predicate":          {"schema"},
	"interop":            {"schema", "predicate"},
	"colstats":           {"schema"},
	"vectorized":         {"schema", "predicate", "colstats"},
	"deletionvector":     {"action"},
	"action":             {},
	"logstore":           {},
	"logstore/storetest": {"logstore"},
	"checkpoint":         {"schema", "action", "colstats", "logstore"},
	"deltalog":           {"schema", "action", "checkpoint", "colstats", "logstore"},
	"rows":               {"schema", "predicate", "colstats", "vectorized", "action", "deletionvector", "logstore"},
	"conflict":           {"schema", "predicate", "colstats", "vectorized", "deletionvector", "action", "logstore", "checkpoint", "deltalog", "rows"},
	"clustering":         {"schema", "predicate", "action", "colstats", "deltalog"},
	"history":            {"schema", "predicate", "action", "logstore", "deltalog", "conflict"},
	"bench":              {"*"},
	"cmd/deltaskip":      {"internal/cli"},
	"internal/cli":       {"*"},
	"examples/dml":       {"*"},
	"examples/ingest":    {"*"},
	"internal/civil":     {},
	"internal/chart":     {},
	"internal/corpus":    {},
	"internal/crash":     {}, // for tests alone
	"internal/docs":      {}, // tests alone
	"internal/cell":      {"schema", "predicate"},
	"internal/jsonscan":  {},
	"internal/leaf":      {"action"},
	"internal/ordered":   {},
	"internal/txnfile":   {"action", "conflict"},
	"internal/simulator": {"action", "deletionvector", "logstore", "logstore/storetest", "deltalog", "conflict"}, // it plays all of them against each other
}

// A listed package is what `go list -json` tells of it.
type listed struct {
	ImportPath string
	Imports    []string
}

func TestArrowsPointOneWay(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	seen := 0
	for dec := json.NewDecoder(bytes.NewReader(out)); ; seen++ {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, module)
		if name == "internal/imports" {
			continue
		}
		allowed, known := mayImport[name]
		if !known {
			t.Errorf("%s is not in the table of packages: say what it may import", name)
			continue
		}
		for _, imp := range p.Imports {
			to, ours := strings.CutPrefix(imp, module)
			switch {
			case !ours || slices.Contains(allowed, to) || slices.Contains(allowed, "*"):
			case strings.HasPrefix(to, "internal/") && to != "internal/imports":
			default:
				t.Errorf("%s imports %s, which it may not", name, to)
			}
		}
	}
	if seen == 0 {
		t.Error("go list named no package")
	}
}

// TestCoreIsLight keeps the core free of cgo and of heavy dependencies.
func TestCoreIsLight(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if .CgoFiles}}{{.ImportPath}}{{end}}", module+"conflict")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range strings.Fields(string(out)) {
		// The standard library has a cgo resolver and user lookup that CGO_ENABLED=0 replaces.
		if strings.Contains(pkg, ".") {
			t.Errorf("conflict needs cgo through %s", pkg)
		}
	}
}
