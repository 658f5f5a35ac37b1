package colstats

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAppendLine(t *testing.T) {
	layout := newLayout(t, "x long, s string, p timestamp", "p")
	b := NewBuilder(layout, Options{Allocator: checkedAllocator(t)})
	var l Line
	var kinds []LineKind
	for _, line := range []string{
		`{"commitInfo":{"operation":"WRITE"}}`,
		`{"add":{"path":"a","partitionValues":{"p":"2020-01-01 00:00:00"},"dataChange":true,"stats":"{\"numRecords\":2,\"minValues\":{\"x\":1,\"s\":\"a\"},\"maxValues\":{\"x\":2},\"nullCount\":{\"x\":0,\"s\":1}}"}}`,
		`{"remove":{"path":"r"}}`,
		`{"add":{"path":"\u0062","partitionValues":{"p":null},"dataChange":true,"stats":"{\"numRecords\":2,\"minValues\":{\"x\":1,\"s\":\"\\\"q\"},\"maxValues\":{\"x\":2},\"nullCount\":{\"x\":0,\"s\":0}}"}}`,
	} {
		if err := b.AppendLine([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, l.Kind)
	}
	if want := []LineKind{CommitInfoLine, AddLine, RemoveLine, AddLine}; !cmp.Equal(kinds, want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
	batch := b.Flush()
	defer batch.Release()
	var got [][]string
	for row := range batch.Len() {
		path, err := batch.Path(row)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, []string{path, describe(batch.Facts(0), row), describe(batch.Facts(1), row), describe(batch.Facts(2), row)})
	}
	want := [][]string{
		{"a", "[1, 2], no NULL", `[a, \xff]`, "[2020-01-01T00:00:00Z, 2020-01-01T00:00:00Z], no NULL"},
		{"b", "[1, 2], no NULL", `["q, \xff], no NULL`, "all NULL"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if b.Len() != 0 {
		t.Errorf("%d files left after Flush", b.Len())
	}
}

// TestClosedBuilders are handed out again only where a new one would read alike, and with other memory at most.
func TestClosedBuilders(t *testing.T) {
	layout := newLayout(t, "x long, s string")
	first := Options{NaN: NaNOrderedIfOwn, Zone: time.UTC}
	b := NewBuilder(layout, first)
	again := *layout
	fewer, other := again, *newLayout(t, "x long, s string")
	fewer.Demands = fewer.Demands[:1]
	for _, tt := range []struct {
		name   string
		layout *Layout
		o      Options
		serves bool
	}{
		{"the same", layout, first, true},
		{"an equal layout", &again, first, true},
		{"another allocator", layout, Options{NaN: NaNOrderedIfOwn, Zone: time.UTC, Allocator: checkedAllocator(t)}, true},
		{"the same limit", layout, Options{NaN: NaNOrderedIfOwn, Zone: time.UTC, MaxStatsBytes: DefaultMaxStatsBytes}, true},
		{"another limit", layout, Options{NaN: NaNOrderedIfOwn, Zone: time.UTC, MaxStatsBytes: 10}, false},
		{"another zone", layout, Options{NaN: NaNOrderedIfOwn}, false},
		{"another order of NaN", layout, Options{Zone: time.UTC}, false},
		{"fewer demands", &fewer, first, false},
		{"another table", &other, first, false},
	} {
		if got := b.serves(tt.layout, tt.o); got != tt.serves {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
	layout.Demands[0].Bounds = !layout.Demands[0].Bounds
	if b.serves(layout, first) {
		t.Error("demands were changed in place")
	}
	if err := b.Append(&File{Path: "a"}); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if next := NewBuilder(&again, first); next.Len() != 0 {
		t.Error("files that were not flushed came back")
	}
}
