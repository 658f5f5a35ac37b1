package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	goccy "github.com/goccy/go-json"
	"github.com/valyala/fastjson"

	"github.com/deltaskip/deltaskip/bench"
)

// goPeers are the libraries of Go, a contestant each.
var goPeers = map[string]func(dir string, s *settings) map[string]func() (func() (int64, error), error){
	"goccy": func(dir string, _ *settings) map[string]func() (func() (int64, error), error) {
		return unmarshals(dir, goccy.Unmarshal)
	},
	"encoding/json": func(dir string, _ *settings) map[string]func() (func() (int64, error), error) {
		return unmarshals(dir, json.Unmarshal)
	},
	"fastjson": visits,
	"pqarrow":  leavesByArrow,
	"roaring":  clashByRoaring,
	"fsync":    floor,
}

type addLine struct {
	Add struct {
		Path  string `json:"path"`
		Stats string `json:"stats"`
	} `json:"add"`
}

// unmarshals decodes action lines, and the statistics in them, into structs: dates and times stay text.
func unmarshals(dir string, unmarshal func([]byte, any) error) map[string]func() (func() (int64, error), error) {
	return map[string]func() (func() (int64, error), error){
		"json 2": func() (func() (int64, error), error) {
			return decode(dir, unmarshal, func(s *bench.Statistics[bench.Values2, bench.Nulls2]) bool { return s.MinValues.ID != nil })
		},
		"json 16": func() (func() (int64, error), error) {
			return decode(dir, unmarshal, func(s *bench.Statistics[bench.Values16, bench.Nulls16]) bool { return s.MinValues.Sequence != nil })
		},
	}
}

func decode[S any](dir string, unmarshal func([]byte, any) error, found func(*S) bool) (func() (int64, error), error) {
	lines, err := commitLines(dir)
	return func() (n int64, err error) {
		for _, line := range lines {
			var a addLine
			if err := unmarshal(line, &a); err != nil {
				return 0, err
			}
			var s S
			if err := unmarshal([]byte(a.Add.Stats), &s); err != nil {
				return 0, err
			}
			if found(&s) {
				n++
			}
		}
		return n, nil
	}, err
}

// visits looks at every leaf of the statistics without making anything of them.
func visits(dir string, _ *settings) map[string]func() (func() (int64, error), error) {
	return map[string]func() (func() (int64, error), error){
		"json 16": func() (func() (int64, error), error) {
			lines, err := commitLines(dir)
			var line, stats fastjson.Parser
			return func() (n int64, err error) {
				for _, text := range lines {
					action, err := line.ParseBytes(text)
					if err != nil {
						return 0, err
					}
					s, err := stats.ParseBytes(action.GetStringBytes("add", "stats"))
					if err != nil {
						return 0, err
					}
					leaves := 0
					for _, kind := range []string{"minValues", "maxValues", "nullCount"} {
						s.GetObject(kind).Visit(func([]byte, *fastjson.Value) { leaves++ })
					}
					if leaves == 3*len(columns) {
						n++
					}
				}
				return n, nil
			}, err
		},
	}
}

// leavesByArrow reads four leaves of a checkpoint with Arrow's own reader for Go.
func leavesByArrow(dir string, _ *settings) map[string]func() (func() (int64, error), error) {
	read := func() (n int64, err error) {
		f, err := os.Open(filepath.Join(dir, "struct/_delta_log", fmt.Sprintf("%020d.checkpoint.parquet", 1)))
		if err != nil {
			return 0, err
		}
		defer f.Close()
		parquet, err := file.NewParquetReader(f)
		if err != nil {
			return 0, err
		}
		r, err := pqarrow.NewFileReader(parquet, pqarrow.ArrowReadProperties{BatchSize: 64 << 10}, memory.DefaultAllocator)
		if err != nil {
			return 0, err
		}
		var leaves []int
		for _, leaf := range []string{"minValues.id", "maxValues.id", "nullCount.id", "numRecords"} {
			leaves = append(leaves, parquet.MetaData().Schema.ColumnIndexByName("add.stats_parsed."+leaf))
		}
		records, err := r.GetRecordReader(background, leaves, nil)
		if err != nil {
			return 0, err
		}
		defer records.Release()
		for records.Next() {
			n += records.RecordBatch().NumRows()
		}
		return n - 2, nil // the protocol's row and the metadata's
	}
	return map[string]func() (func() (int64, error), error){
		"leaves": func() (func() (int64, error), error) { return read, nil },
	}
}

// clashByRoaring looks for common rows with the library alone, which checks nothing of what it reads.
func clashByRoaring(dir string, _ *settings) map[string]func() (func() (int64, error), error) {
	clash := func(shape string) func() (func() (int64, error), error) {
		return func() (func() (int64, error), error) {
			var blobs [2][]byte
			for i, name := range []string{"a", "b"} {
				var err error
				if blobs[i], err = os.ReadFile(filepath.Join(dir, shape, name)); err != nil {
					return nil, err
				}
			}
			return func() (int64, error) {
				a, b := roaring.New(), roaring.New()
				if _, err := a.FromUnsafeBytes(blobs[0]); err != nil {
					return 0, err
				}
				if _, err := b.FromUnsafeBytes(blobs[1]); err != nil {
					return 0, err
				}
				return int64(a.AndCardinality(b)), nil
			}, nil
		}
	}
	return map[string]func() (func() (int64, error), error){"clash random": clash("random"), "clash runs": clash("runs")}
}

// floor is what a disk allows who commits one after the other: a file written and synced, and its folder synced.
func floor(dir string, s *settings) map[string]func() (func() (int64, error), error) {
	return map[string]func() (func() (int64, error), error){"append 64": func() (func() (int64, error), error) {
		dir, err := os.MkdirTemp(dir, "append-")
		if err != nil {
			return nil, err
		}
		data := make([]byte, 500)
		run := 0
		return func() (int64, error) {
			run++
			folder, err := os.Open(dir)
			if err != nil {
				return 0, err
			}
			defer folder.Close()
			for i := range s.Appends {
				f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d-%d", run, i)))
				if err != nil {
					return 0, err
				}
				if _, err := f.Write(data); err != nil {
					return 0, err
				}
				if err := f.Sync(); err != nil {
					return 0, err
				}
				if err := f.Close(); err != nil {
					return 0, err
				}
				if runtime.GOOS != "windows" {
					if err := folder.Sync(); err != nil {
						return 0, err
					}
				}
			}
			return int64(s.Appends), nil
		}, nil
	}}
}
