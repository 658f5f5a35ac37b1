package bench

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSameSeedSameBytes(t *testing.T) {
	w := Workload{Adds: 300, Seed: 7, Partitions: 3, Shuffled: true, DVShare: 0.1, NoStatsShare: 0.1}
	read := func(w Workload) map[string][]byte {
		dir := t.TempDir()
		version, err := w.WriteLog(dir, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		if version != 3 {
			t.Fatalf("300 adds in commits of 100 end at version %d, want 3", version)
		}
		files := map[string][]byte{}
		names, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(name)] = data
		}
		return files
	}
	one, two := read(w), read(w)
	if len(one) != 4 {
		t.Fatalf("%d files, want 4", len(one))
	}
	for name, data := range one {
		if !bytes.Equal(data, two[name]) {
			t.Errorf("%s differs between two runs", name)
		}
	}
	w.Seed++
	if other := read(w); bytes.Equal(one["00000000000000000001.json"], other["00000000000000000001.json"]) {
		t.Error("another seed gave the same adds")
	}
}

func TestStatisticsAreOrderedAndParse(t *testing.T) {
	files, err := Workload{Adds: 500, Seed: 1}.Files()
	if err != nil {
		t.Fatal(err)
	}
	ids, n := int64(-1), 0
	for add := range files {
		var stats struct {
			NumRecords           int64
			MinValues, MaxValues map[string]any
			NullCount            map[string]int64
		}
		if err := json.Unmarshal([]byte(add.Stats), &stats); err != nil {
			t.Fatalf("%s: %v in %s", add.Path, err, add.Stats)
		}
		if len(stats.MinValues) != len(columns) || len(stats.MaxValues) != len(columns) || len(stats.NullCount) != len(columns) {
			t.Fatalf("statistics of %d, %d, %d columns, want %d", len(stats.MinValues), len(stats.MaxValues), len(stats.NullCount), len(columns))
		}
		for name, lower := range stats.MinValues {
			switch lower := lower.(type) {
			case string:
				if upper := stats.MaxValues[name].(string); lower > upper {
					t.Errorf("%s: minimum %s is above maximum %s", name, lower, upper)
				}
			case float64:
				if upper := stats.MaxValues[name].(float64); lower > upper {
					t.Errorf("%s: minimum %v is above maximum %v", name, lower, upper)
				}
			}
		}
		if id := int64(stats.MinValues["id"].(float64)); id <= ids {
			t.Errorf("id %d follows %d in a clustered table", id, ids)
		} else {
			ids = id
		}
		n++
	}
	if n != 500 {
		t.Errorf("%d files, want 500", n)
	}
}

func TestBadWorkloads(t *testing.T) {
	for name, w := range map[string]Workload{
		"negative adds":     {Adds: -1},
		"too many columns":  {Columns: 17},
		"share above one":   {DVShare: 1.5},
		"negative parts":    {Partitions: -1},
		"negative no-stats": {NoStatsShare: -0.1},
		"unknown column":    {SortBy: "nope"},
		"column left out":   {SortBy: "ts", Columns: 1},
	} {
		if _, err := w.Files(); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := w.WriteLog(t.TempDir(), 0, nil); err == nil {
			t.Errorf("%s: no error from WriteLog", name)
		}
	}
	dir := t.TempDir()
	if _, err := (Workload{Adds: 1}).WriteLog(dir, 0, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := (Workload{Adds: 1}).WriteLog(dir, 0, nil); err == nil {
		t.Error("a second log was written over the first")
	}
}

// TestSorted reads a shuffled workload in the order of each column: the files are the same, and their minima ascend.
func TestSorted(t *testing.T) {
	w := Workload{Adds: 300, Seed: 3, Shuffled: true, NoStatsShare: 0.05}
	collect := func(w Workload) (stats []string, all map[string]string) {
		files, err := w.Files()
		if err != nil {
			t.Fatal(err)
		}
		all = map[string]string{}
		for add := range files {
			stats, all[add.Path] = append(stats, add.Stats), add.Stats
		}
		return stats, all
	}
	_, want := collect(w)
	if len(want) != w.Adds {
		t.Fatalf("%d files", len(want))
	}
	for _, c := range columns {
		w.SortBy = c.name
		stats, got := collect(w)
		if !maps.Equal(got, want) {
			t.Errorf("%s: other files", c.name)
		}
		var last any
		for i, s := range stats {
			if s == "" {
				if rest := slices.Compact(slices.Clone(stats[i:])); len(rest) != 1 {
					t.Errorf("%s: a file without statistics at %d of %d", c.name, i, len(stats))
				}
				break
			}
			var parsed struct{ MinValues map[string]any }
			if err := json.Unmarshal([]byte(s), &parsed); err != nil {
				t.Fatal(err)
			}
			value := parsed.MinValues[c.name]
			switch v := value.(type) {
			case string:
				if before, ok := last.(string); ok && before > v {
					t.Errorf("%s: %s after %s", c.name, v, before)
				}
			case float64:
				if before, ok := last.(float64); ok && before > v {
					t.Errorf("%s: %v after %v", c.name, v, before)
				}
			}
			last = value
		}
	}
}
