package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/deltaskip/deltaskip/bench"
	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
)

// settings is what all contestants are told, as steps.json.
type settings struct {
	Adds      int               `json:"adds"`      // of the tables struct and json
	Large     int               `json:"large"`     // of the table large
	Commit    int               `json:"commit"`    // adds in the one commit of the table commit
	Winners   int               `json:"winners"`   // commits of 100 adds each
	Appends   int               `json:"appends"`   // commits in one run of a step that appends
	Range     [2]int64          `json:"range"`     // of id, both ends included
	InCommit  [2]int64          `json:"in_commit"` // the same for the table commit
	Pair      [2]int64          `json:"pair"`
	First     [2]int64          `json:"first"`     // of id, in the first file
	Timestamp [2]string         `json:"timestamp"` // without the second end
	Columns   map[string]string `json:"columns"`   // the sixteen, with DuckDB's types
}

// columns are the statistics columns as DuckDB calls their types, in order.
var columns = [][2]string{
	{"id", "BIGINT"}, {"ts", "TIMESTAMPTZ"}, {"day", "DATE"}, {"user", "VARCHAR"}, {"country", "VARCHAR"},
	{"amount", "DECIMAL(18,2)"}, {"price", "DOUBLE"}, {"quantity", "INTEGER"}, {"score", "FLOAT"}, {"session", "VARCHAR"},
	{"latitude", "DOUBLE"}, {"longitude", "DOUBLE"}, {"small", "SMALLINT"}, {"tiny", "TINYINT"}, {"local", "TIMESTAMP"},
	{"sequence", "BIGINT"},
}

func (s *settings) names() (names []string) {
	for _, c := range columns {
		names = append(names, c[0])
	}
	return names
}

func (s *settings) workload() bench.Workload {
	return bench.Workload{Adds: s.Adds, Seed: 1, Partitions: 100, Shuffled: true}
}

// make writes what the steps need below dir, once: what is there already is taken to be whole.
func (s *settings) make(dir string, say func(format string, args ...any)) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	fileInTheMiddle := func(adds int) [2]int64 {
		middle := int64(adds) / 2 * bench.RowsPerFile
		return [2]int64{middle, middle + bench.RowsPerFile - 1}
	}
	s.Range, s.InCommit = fileInTheMiddle(s.Adds), fileInTheMiddle(s.Commit)
	s.Pair = [2]int64{int64(s.Adds) * 77 / 100 * bench.RowsPerFile, int64(s.Adds) * 78 / 100 * bench.RowsPerFile}
	from := bench.Epoch.Add(time.Duration(s.Adds/2) * time.Minute) // a file a minute
	to := from.Add(time.Duration(min(s.Adds/4, 12*60)) * time.Minute)
	s.Timestamp = [2]string{from.Format("2006-01-02 15:04:05+00:00"), to.Format("2006-01-02 15:04:05+00:00")}
	s.Columns = map[string]string{}
	for _, c := range columns {
		s.Columns[c[0]] = c[1]
	}
	files, err := s.workload().Files()
	if err != nil {
		return err
	}
	for add := range files {
		var stats struct {
			MinValues struct{ ID int64 } `json:"minValues"`
		}
		if err := json.Unmarshal([]byte(add.Stats), &stats); err != nil {
			return err
		}
		s.First = [2]int64{stats.MinValues.ID, stats.MinValues.ID}
		break
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "steps.json"), text, 0o666); err != nil {
		return err
	}
	large := bench.Workload{Adds: s.Large, Seed: 2, Columns: 1, Shuffled: true}
	commit := bench.Workload{Adds: s.Commit, Seed: 3, Shuffled: true}
	winners := bench.Workload{Adds: 100 * s.Winners, Seed: 4, Shuffled: true}
	for _, part := range []struct {
		name string
		make func(dir string) error
	}{
		{"struct", func(dir string) error {
			return writeCheckpoint(s.workload(), dir, checkpoint.WriteOptions{Stats: checkpoint.StatsAsStruct})
		}},
		{"json", func(dir string) error {
			return writeCheckpoint(s.workload(), dir, checkpoint.WriteOptions{Stats: checkpoint.StatsAsJSON})
		}},
		{"large", func(dir string) error {
			return writeCheckpoint(large, dir, checkpoint.WriteOptions{Stats: checkpoint.StatsAsStruct, V2: true})
		}},
		{"commit", func(dir string) error { _, err := commit.WriteLog(dir, 0, nil); return err }},
		{"winners", func(dir string) error { _, err := winners.WriteLog(dir, 100, nil); return err }},
		{"random", func(dir string) error { return writeVectors(dir, 100_000, 1) }},
		{"runs", func(dir string) error { return writeVectors(dir, 1_000_000, 1000) }},
	} {
		final := filepath.Join(dir, part.name)
		if _, err := os.Stat(final); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		say("making %s", part.name)
		half := final + ".half"
		if err := errors.Join(os.RemoveAll(half), os.MkdirAll(half, 0o777)); err != nil {
			return err
		}
		if err := part.make(half); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		if err := os.Rename(half, final); err != nil {
			return err
		}
	}
	for name, table := range map[string]string{"small": "struct", "large": "large"} {
		if err := s.writeBounds(dir, name, table); err != nil {
			return err
		}
	}
	return nil
}

func writeCheckpoint(w bench.Workload, dir string, o checkpoint.WriteOptions) error {
	store, err := logstore.CreateLocal(dir)
	if err != nil {
		return err
	}
	defer store.Close()
	return w.WriteCheckpoint(background, store, o, nil)
}

// writeVectors writes two vectors of n of 10 M rows, in runs of the given length: as Delta stores them (.dv), and the roaring
// bitmap in them alone.
func writeVectors(dir string, n, run int) error {
	const rows = 10_000_000
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for _, name := range []string{"a", "b"} {
		var v *deletionvector.Vector
		if run == 1 {
			positions := make([]int64, n)
			for i, p := range r.Perm(rows)[:n] {
				positions[i] = int64(p)
			}
			v = deletionvector.Of(positions...)
		}
		if run > 1 {
			for _, block := range r.Perm(rows / run)[:n/run] {
				v = v.Union(deletionvector.Range(int64(block*run), int64(block*run+run)))
			}
		}
		blob := v.AppendBlob(nil)
		const head = 4 + 8 + 4 // magic number, number of bitmaps, key of the only one
		if err := errors.Join(
			os.WriteFile(filepath.Join(dir, name+".dv"), blob, 0o666),
			os.WriteFile(filepath.Join(dir, name), blob[head:], 0o666),
		); err != nil {
			return err
		}
	}
	return nil
}

// writeBounds writes the bounds of a table's column id as two arrays of 64-bit integers, for C.
func (s *settings) writeBounds(dir, name, table string) error {
	if _, err := os.Stat(filepath.Join(dir, name+".max")); err == nil {
		return nil
	}
	o := &engine{dir: dir, s: s, threads: 1}
	var buffers [2]bytes.Buffer
	err := o.snapshot(table, func(snapshot *deltalog.Snapshot) error {
		t, err := snapshot.Table()
		if err != nil {
			return err
		}
		id, err := t.Lookup("id")
		if err != nil {
			return err
		}
		layout := &colstats.Layout{Table: t, Demands: []colstats.Demand{{Column: id, Bounds: true}}}
		for b, err := range snapshot.Batches(background, layout, deltalog.BatchOptions{}) {
			if err != nil {
				return err
			}
			f := b.Facts(0)
			for i, a := range []any{f.Lower, f.Upper} {
				_ = binary.Write(&buffers[i], binary.LittleEndian, a.(*array.Int64).Int64Values()) // a buffer takes everything
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, name+".min"), buffers[0].Bytes(), 0o666),
		os.WriteFile(filepath.Join(dir, name+".max"), buffers[1].Bytes(), 0o666),
	)
}

// commitLines are the add actions of the table commit.
func commitLines(dir string) (lines [][]byte, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "commit", deltalog.CommitName(1)))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte(`{"add":`)) {
			lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
		}
	}
	return lines, nil
}
