package checkpoint_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/corpus"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/schema"
)

// checkedAllocator fails the test when a buffer is still held at its end.
func checkedAllocator(t testing.TB) *memory.CheckedAllocator {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

// checkpoints calls f for every complete checkpoint below a folder of tables.
func checkpoints(t *testing.T, dir string, f func(t *testing.T, store logstore.Store, names []string)) {
	type set struct {
		root    string
		version int64
		parts   int
		uuid    string
	}
	sets := map[set][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if n, ok := checkpoint.ParseName(d.Name()); err == nil && ok {
			s := set{filepath.Dir(filepath.Dir(path)), n.Version, n.Parts, n.UUID}
			sets[s] = append(sets[s], "_delta_log/"+d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for s, names := range sets {
		if s.parts > 0 && len(names) != s.parts {
			continue
		}
		slices.Sort(names)
		name, _ := filepath.Rel(dir, s.root)
		t.Run(fmt.Sprintf("%s@%d%s", name, s.version, s.uuid), func(t *testing.T) {
			store, err := logstore.OpenLocal(s.root)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			f(t, store, names)
		})
	}
}

// collect copies the lines of an iterator. An error ends the test: as a failure if it is not of a kind that damage explains.
func collect(t *testing.T, lines func(func([]byte, error) bool)) [][]byte {
	t.Helper()
	var all [][]byte
	for line, err := range lines {
		if err != nil {
			checkError(t, err)
			t.Skip(err)
		}
		all = append(all, bytes.Clone(line))
	}
	return all
}

// layoutOf demands everything of every column.
func layoutOf(t *testing.T, c *checkpoint.Checkpoint) *colstats.Layout {
	t.Helper()
	for _, line := range collect(t, c.Actions(t.Context())) {
		a, err := action.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := a.(*action.Metadata); ok && m.SchemaString != "" {
			table, err := schema.Parse(m.SchemaString, m.PartitionColumns, m.Configuration)
			if err != nil {
				t.Skip(err)
			}
			return layoutOfTable(table)
		}
	}
	return &colstats.Layout{}
}

func layoutOfTable(table *schema.Table) *colstats.Layout {
	layout := &colstats.Layout{Table: table}
	var walk func(path []string, fields []*schema.Field)
	walk = func(path []string, fields []*schema.Field) {
		for _, f := range fields {
			path := append(path[:len(path):len(path)], f.Name)
			column, err := table.Lookup(path...)
			if err != nil {
				continue // two columns that differ in case alone
			}
			if f.Type.Kind == schema.Struct {
				walk(path, f.Type.Nested.Fields)
				continue
			}
			ok, _ := column.BoundsUsable()
			layout.Demands = append(layout.Demands, colstats.Demand{Column: column, Bounds: ok, Nulls: true})
		}
	}
	walk(nil, table.Fields)
	return layout
}

// describe writes down all that batches say.
func describe(t *testing.T, b *colstats.Batch) []string {
	t.Helper()
	lines := make([]string, b.Len())
	for row := range lines {
		path, err := b.Path(row)
		if err != nil {
			t.Fatal(err)
		}
		lines[row] = path
		for i := range b.Layout().Demands {
			f := b.Facts(i)
			lines[row] += fmt.Sprintf("; %s: %t %t %t ", f.Column, is(f.NoNull, row), is(f.AllNull, row), is(f.MayNaN, row))
			if is(f.Bounded, row) {
				lines[row] += fmt.Sprintf("[%s,%s]", f.Lower.ValueStr(row), f.Upper.ValueStr(row))
			}
		}
	}
	return lines
}

func is(bitmap []uint64, i int) bool { return bitmap != nil && bitmap[i/64]>>(i%64)&1 == 1 }

// TestBatchesSayWhatTheActionsSay compares the facts from leaves with those from whole actions as JSON.
func TestBatchesSayWhatTheActionsSay(t *testing.T) {
	for _, name := range []string{"golden", "skipping", "bugs"} {
		t.Run(name, func(t *testing.T) {
			checkpoints(t, corpus.Dir(t, name), func(t *testing.T, store logstore.Store, names []string) {
				mem := checkedAllocator(t)
				c, err := checkpoint.Open(t.Context(), store, names, checkpoint.Options{Allocator: mem})
				if err != nil {
					checkError(t, err)
					t.Skip(err)
				}
				defer c.Close()
				layout := layoutOf(t, c)
				var seenPaths []string
				for pass, seen := range []checkpoint.Seen{
					nil,
					func(path, dv []byte) bool { return false },
					func(path, dv []byte) bool { return strings.Contains(string(path), "1") },
				} {
					b := colstats.NewBuilder(layout, colstats.Options{Allocator: mem})
					var line colstats.Line
					for _, text := range collect(t, c.Adds(t.Context(), seen)) {
						if err := b.AppendLine(text, &line); err != nil {
							t.Fatalf("%s: %v", text, err)
						}
					}
					batch := b.Flush()
					want := describe(t, batch)
					batch.Release()
					var got []string
					var report checkpoint.Report
					for b, err := range c.Batches(t.Context(), checkpoint.Scan{Layout: layout, Seen: seen, Report: &report}) {
						if err != nil {
							t.Fatal(err)
						}
						got = append(got, describe(t, b)...)
					}
					if !slices.Equal(got, want) {
						t.Errorf("pass %d:\ngot\n%s\nwant\n%s", pass, strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
					if n := report.Adds.Load(); n != int64(len(want)) {
						t.Errorf("the report counts %d adds of %d", n, len(want))
					}
					if pass == 0 {
						seenPaths = want
					} else if n := report.Adds.Load() + report.Dead.Load(); n != int64(len(seenPaths)) {
						t.Errorf("%d adds alive or dead, of %d", n, len(seenPaths))
					}
				}
			})
		})
	}
}

// checkError fails the test unless the error names a file and a reason to give it up.
func checkError(t *testing.T, err error) {
	t.Helper()
	var e *checkpoint.Error
	if !errors.As(err, &e) || !errors.Is(err, checkpoint.ErrCorrupt) && !errors.Is(err, action.ErrLimit) && !errors.Is(err, logstore.ErrNotFound) {
		t.Errorf("%T: %v", err, err)
	}
}
