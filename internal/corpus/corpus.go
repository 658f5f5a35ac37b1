// Package corpus finds the shared corpora that some tests read when they are there.
package corpus

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Dir returns the folder of the named corpus, ../shared/corpus/name as seen from the module's root, and skips the test
// with a message when it isn't there.
func Dir(t testing.TB, name string) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("corpus: no caller information")
	}
	dir := filepath.Join(filepath.Dir(file), "..", "..", "..", "shared", "corpus", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("SKIPPED: the corpus %q is not beside this checkout (%v)", name, err)
	}
	return dir
}
