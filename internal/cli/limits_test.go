package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/deletionvector"
)

// hostile makes a table whose version 1 adds the files of given paths, with a vector of each if it has one.
func hostile(t *testing.T, adds ...string) string {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "_delta_log")
	first := `{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":["deletionVectors"]}}
{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{"delta.enableDeletionVectors":"true"}}}
`
	for _, err := range []error{
		os.Mkdir(log, 0o777),
		os.WriteFile(filepath.Join(log, fmt.Sprintf("%020d.json", 0)), []byte(first), 0o666),
		os.WriteFile(filepath.Join(log, fmt.Sprintf("%020d.json", 1)), []byte(strings.Join(adds, "\n")+"\n"), 0o666),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func hostileAdd(path, vector string) string {
	return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":1,"modificationTime":0,"dataChange":true%s}}`, path, vector)
}

func TestAlsoRead(t *testing.T) {
	// A vector in a file elsewhere.
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "v.bin"), vectorFileOf(t), 0o666); err != nil {
		t.Fatal(err)
	}
	uri := "file://" + filepath.ToSlash(elsewhere) + "/v.bin"
	vector := fmt.Sprintf(`,"deletionVector":{"storageType":"p","pathOrInlineDv":%q,"offset":1,"sizeInBytes":%d,"cardinality":2}`, uri, len(vectorFileOf(t))-9)
	table := hostile(t, hostileAdd("f", vector))
	out, stderr, code := deltaskip(t, "dv", table, "f")
	if code != exitError || !strings.Contains(stderr, "--also-read") || strings.Contains(out, "deleted") {
		t.Errorf("exit %d, %q, %q", code, out, stderr)
	}
	out, stderr, code = deltaskip(t, "dv", table, "f", "--also-read", elsewhere)
	if code != exitDone || !strings.Contains(out, "2 deleted of") {
		t.Errorf("exit %d, %q, %q", code, out, stderr)
	}
	_, stderr, code = deltaskip(t, "dv", table, "f", "--also-read", filepath.Join(elsewhere, "missing"))
	if code != exitError {
		t.Errorf("a folder that is missing: exit %d, %q", code, stderr)
	}
	// The same table by a link that leads out.
	linked := t.TempDir()
	if err := os.Symlink(filepath.Join(table, "_delta_log"), filepath.Join(linked, "_delta_log")); err != nil {
		t.Skip(err)
	}
	_, stderr, code = deltaskip(t, "snapshot", linked)
	if code != exitError || !strings.Contains(stderr, "symbolic link") || !strings.Contains(stderr, "--also-read") {
		t.Errorf("a link: exit %d, %q", code, stderr)
	}
	out, stderr, code = deltaskip(t, "snapshot", linked, "--also-read", table)
	if code != exitDone || out == "" {
		t.Errorf("a link that is allowed: exit %d, %q, %q", code, out, stderr)
	}
}

func TestLimit(t *testing.T) {
	table := hostile(t, hostileAdd("f", ""))
	for _, tt := range []struct {
		limit string
		code  int
		says  string
	}{
		{"MaxActionBytes=50", exitError, "option MaxActionBytes allows"},
		{"MaxActionBytes=5000", exitDone, ""},
		{"MaxActionBytes=0", exitUsage, "more than 0"},
		{"MaxActionBytes", exitUsage, "NAME=N"},
		{"MaxNothing=1", exitUsage, "MaxVectorRows"},
	} {
		_, stderr, code := deltaskip(t, "snapshot", table, "--limit", tt.limit)
		if code != tt.code || !strings.Contains(stderr, tt.says) {
			t.Errorf("--limit %s: exit %d, %q", tt.limit, code, stderr)
		}
	}
}

// vectorFileOf is a file with one deletion vector, of rows 1 and 2.
func vectorFileOf(t *testing.T) []byte {
	t.Helper()
	files, _, err := deletionvector.Pack([]*deletionvector.Vector{deletionvector.Of(1, 2)}, deletionvector.PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return files[0].Data
}
