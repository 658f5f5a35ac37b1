package colstats

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/internal/corpus"
)

func TestLineScan(t *testing.T) {
	dv := func(s string) string { return `{"add":{"path":"p","deletionVector":` + s + `}}` }
	tests := []struct {
		name   string
		line   string
		kind   LineKind
		path   string
		vector string
	}{
		{name: "nothing", line: ""},
		{name: "white space", line: " \t\r"},
		{name: "an empty object", line: "{}"},
		{name: "an unknown action", line: `{"zzz":{"path":"x"}}`},
		{name: "metaData", line: `{"metaData":{"id":"i","schemaString":"{\"path\":\"x\"}"}}`, kind: MetadataLine},
		{name: "protocol", line: `{"protocol":{}}`, kind: ProtocolLine},
		{name: "txn", line: `{"txn":{}}`, kind: TxnLine},
		{name: "domainMetadata", line: `{"domainMetadata":{}}`, kind: DomainMetadataLine},
		{name: "commitInfo", line: `{"commitInfo":{"a":[1,2.5e3,null,true,false,{"b":[]}]}}`, kind: CommitInfoLine},
		{name: "checkpointMetadata", line: `{"checkpointMetadata":{}}`, kind: CheckpointMetadataLine},
		{name: "sidecar", line: `{"sidecar":{}}`, kind: SidecarLine},
		{name: "add", line: `{"add":{"path":"a%20b","dataChange":true}}`, kind: AddLine, path: "a%20b"},
		{name: "remove", line: `{"remove":{"path":"a"}}`, kind: RemoveLine, path: "a"},
		{name: "cdc", line: `{"cdc":{"path":"a"}}`, kind: CDCLine, path: "a"},
		{name: "absent actions are null", line: `{"txn":null,"add":{"path":"a"},"remove":null}`, kind: AddLine, path: "a"},
		{name: "unknown keys beside the action", line: `{"a\\dd":1,"\u0061dd":{"path":"a"},"z":[{"add":{"path":"b"}}]}`, kind: AddLine, path: "a"},
		{name: "an escaped path", line: `{"add":{"p\u0061th":"\u0061\/\ud83c\udf3c\n"}}`, kind: AddLine, path: "a/\U0001F33C\n"},
		{name: "path is the last one", line: `{"add":{"path":"a","path":"b"}}`, kind: AddLine, path: "b"},
		{name: "no vector", line: dv("null"), kind: AddLine, path: "p"},
		{name: "a vector with an offset", line: dv(`{"offset":4,"storageType":"u","pathOrInlineDv":"ab^-aqEH.-t@S}K{vb[*k^"}`), kind: AddLine, path: "p", vector: "uab^-aqEH.-t@S}K{vb[*k^@4"},
		{name: "a vector without an offset", line: dv(`{"storageType":"i","pathOrInlineDv":"wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L","offset":null,"sizeInBytes":40,"cardinality":6}`), kind: AddLine, path: "p", vector: "iwi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"},
		{name: "a vector with escapes", line: dv(`{"storageType":"p","pathOrInlineDv":"s3:\/\/b\u0061","offset":0}`), kind: AddLine, path: "p", vector: "ps3://ba@0"},
		{name: "keys of other objects are not the action's", line: `{"add":{"tags":{"path":"x","stats":"{"},"path":"a","partitionValues":{"path":"y"}}}`, kind: AddLine, path: "a"},
		{name: "statistics of odd types", line: `{"add":{"path":"a","stats":{"numRecords":1}}}`, kind: AddLine, path: "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var l Line
			if err := l.Scan([]byte(tt.line)); err != nil {
				t.Fatal(err)
			}
			if l.Kind != tt.kind || string(l.Path) != tt.path || string(l.DeletionVector) != tt.vector {
				t.Errorf("%d %q %q, want %d %q %q", l.Kind, l.Path, l.DeletionVector, tt.kind, tt.path, tt.vector)
			}
			if got, want := l.DataChange, strings.Contains(tt.line, `"dataChange":true`); got != want {
				t.Errorf("dataChange %t", got)
			}
		})
	}
}

func TestLineErrors(t *testing.T) {
	tests := []struct {
		name    string
		line    string
		offset  int
		message string
	}{
		{"cut", `{"add":{"path":"a"`, 18, "unexpected end"},
		{"cut in a string", `{"add":{"path":"a`, 17, "unexpected end"},
		{"cut in an escape", `{"add":{"path":"a\u12`, 21, "unexpected end"},
		{"cut in a surrogate pair", `{"add":{"path":"\uD83C`, 22, "unexpected end"},
		{"cut in a number", `{"add":{"path":"x","size":-`, 27, "unexpected end"},
		{"cut in a word", `{"add":{"path":"x","dataChange":tru`, 35, "unexpected end"},
		{"no object", `["add"]`, 0, "unexpected '['"},
		{"trailing garbage", `{"add":{"path":"x"}}}`, 20, "unexpected '}'"},
		{"two objects", `{"txn":{}}{"txn":{}}`, 10, "unexpected '{'"},
		{"byte order mark", "\ufeff{}", 0, "unexpected '\\ufeff'"},
		{"invalid UTF-8 in a path", "{\"add\":{\"path\":\"a\xffb\"}}", 17, "invalid UTF-8"},
		{"invalid UTF-8 in statistics", "{\"add\":{\"path\":\"a\",\"stats\":\"{\\\"a\xff\"}}", 32, "invalid UTF-8"},
		{"invalid UTF-8 outside strings", "{\"zzz\":\xff}", 7, "invalid UTF-8"},
		{"a tab in a string", "{\"add\":{\"path\":\"a\tb\"}}", 17, "unexpected '\\t'"},
		{"a line feed in statistics", "{\"add\":{\"path\":\"a\",\"stats\":\"{\n}\"}}", 29, "unexpected '\\n'"},
		{"an unknown escape", `{"add":{"path":"a\x"}}`, 18, "unexpected 'x'"},
		{"add is no object", `{"add":5}`, 7, "an action that is not an object"},
		{"two actions", `{"add":{"path":"a"},"remove":{"path":"a"}}`, 29, "a second action"},
		{"add without a path", `{"add":{"size":1}}`, 7, "an action without a path"},
		{"path is null", `{"add":{"path":null}}`, 15, "expected a string"},
		{"half a surrogate pair in a path", `{"add":{"path":"a\udc00"}}`, 15, "half a surrogate pair"},
		{"a path beyond all stores", `{"add":{"path":"` + strings.Repeat("a", 20000) + `"}}`, 15, "a path that is too long"},
		{"a vector that is no object", `{"add":{"path":"a","deletionVector":5}}`, 36, "unexpected '5'"},
		{"a vector without a path", `{"add":{"path":"a","deletionVector":{"storageType":"u"}}}`, 36, "a deletion vector without storageType or pathOrInlineDv"},
		{"a vector with an odd offset", `{"add":{"path":"a","deletionVector":{"offset":1.5}}}`, 46, "a deletion vector's offset that is not a count of bytes"},
		{"too deep", `{"txn":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + "}", 7, "an action that is not an object"},
		{"too deep elsewhere", `{"z":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + "}", 5 + maxDepth - 1, "unexpected '['"},
	}
	layout := newLayout(t, "x long")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var l Line
			b := NewBuilder(layout, Options{Allocator: checkedAllocator(t)})
			for _, err := range []error{l.Scan([]byte(tt.line)), b.AppendLine([]byte(tt.line), &l)} {
				var syntax *SyntaxError
				if !errors.As(err, &syntax) {
					t.Fatalf("error %v", err)
				}
				if syntax.Offset != tt.offset || syntax.Message != tt.message {
					t.Errorf("%q at %d, want %q at %d", syntax.Message, syntax.Offset, tt.message, tt.offset)
				}
			}
			if b.Len() != 0 {
				t.Errorf("%d files of a broken line", b.Len())
			}
		})
	}
}

// Lines are read on their own: what a good one says does not depend on the broken ones before it.
func TestBrokenLinesBetweenGoodOnes(t *testing.T) {
	const good = `{"add":{"path":"f%d","partitionValues":{},"stats":"{\"numRecords\":%d,\"minValues\":{\"x\":%d,\"s\":\"%d\"},\"maxValues\":{\"x\":%d,\"s\":\"%d\"},\"nullCount\":{\"x\":0,\"s\":0}}"}}`
	layout := newLayout(t, "x long, s string")
	b := NewBuilder(layout, Options{Allocator: checkedAllocator(t)})
	var l Line
	for i := range 200 {
		line := []byte(fmt.Sprintf(good, i, i+1, i, i%10, i, i%10))
		if err := b.AppendLine(line[:i%len(line)], &l); err == nil && i%len(line) > 0 {
			t.Errorf("%s is no line", line[:i%len(line)])
		}
		if err := b.AppendLine(line, &l); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			b.DropLast()
			if err := b.AppendLine(line, &l); err != nil {
				t.Fatal(err)
			}
		}
	}
	batch := b.Flush()
	defer batch.Release()
	for row := range batch.Len() {
		path, err := batch.Path(row)
		if err != nil || path != fmt.Sprintf("f%d", row) {
			t.Errorf("path %q in row %d: %v", path, row, err)
		}
		for i, want := range []string{fmt.Sprintf("[%d, %d], no NULL", row, row), fmt.Sprintf("[%d, %d], no NULL", row%10, row%10)} {
			if got := describe(batch.Facts(i), row); got != want {
				t.Errorf("row %d: %s, want %s", row, got, want)
			}
		}
	}
}

func TestFullBuilder(t *testing.T) {
	b := NewBuilder(newLayout(t, "x long"), Options{Allocator: checkedAllocator(t)})
	line := []byte(`{"add":{"path":"p"}}`)
	var l Line
	for range MaxBatchLen {
		if err := b.AppendLine(line, &l); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.AppendLine(line, &l); !errors.Is(err, ErrFull) {
		t.Errorf("error %v", err)
	}
	if err := b.Append(&File{}); !errors.Is(err, ErrFull) {
		t.Errorf("error %v", err)
	}
	batch := b.Flush()
	if batch.Len() != MaxBatchLen {
		t.Errorf("%d files", batch.Len())
	}
	batch.Release()
	if err := b.AppendLine(line, &l); err != nil {
		t.Error(err)
	}
	b.Flush().Release()
}

// The lines that have broken other readers.
func TestBugCorpusLines(t *testing.T) {
	dir := corpus.Dir(t, "bugs")
	cut, err := filepath.Glob(filepath.Join(dir, "28-line-cut-in-an-escape", "cut-*.json"))
	if err != nil || len(cut) == 0 {
		t.Fatalf("no cut lines: %v", err)
	}
	for _, name := range cut {
		line, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		line = []byte(strings.TrimRight(string(line), "\n"))
		var l Line
		if err := l.Scan(line); (err == nil) != (len(line) == 0) {
			t.Errorf("%s: %q gives error %v", filepath.Base(name), line, err)
		}
	}
	sequence, err := os.ReadFile(filepath.Join(dir, "50-broken-lines-between-good-ones", "sequence.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(newLayout(t, "x long"), Options{Allocator: checkedAllocator(t)})
	var l Line
	for i, line := range strings.Split(strings.TrimRight(string(sequence), "\n"), "\n") {
		if err := b.AppendLine([]byte(line), &l); (err != nil) != (i%3 == 0) {
			t.Errorf("line %d: error %v", i+1, err)
		}
	}
	if b.Len() != 80 {
		t.Errorf("%d adds, want 80", b.Len())
	}
	b.Flush().Release()
}
