package deletionvector

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/internal/corpus"
)

// below opens vector files of the table in dir. Absolute paths are looked up by their last element: the corpora were
// made elsewhere.
func below(dir string) Opener {
	return func(_ context.Context, name string, absolute bool) (File, error) {
		if absolute {
			base, err := url.PathUnescape(path.Base(name))
			if err != nil {
				return nil, err
			}
			var found string
			err = filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
				if filepath.Base(p) == base {
					found = p
				}
				return err
			})
			if err != nil {
				return nil, err
			}
			name = strings.TrimPrefix(found, dir)
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		return &memoryFile{data: data}, err
	}
}

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestBugCorpus decodes the vectors that have broken other implementations.
func TestBugCorpus(t *testing.T) {
	root := corpus.Dir(t, "bugs")
	names, err := filepath.Glob(filepath.Join(root, "*", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, name := range names {
		var c struct {
			Check string
			Items []struct {
				Descriptor                  action.DeletionVector
				Expected                    string
				Rows                        []int64
				RowCount, FirstRow, LastRow *int64
				NumRecords                  *int64
			}
			Union, Intersection *struct {
				Of                            []int
				Cardinality                   int64
				First, Last                   int64
				CRC32OfLittleEndianUint64Rows uint32
			}
		}
		if readJSON(t, name, &c); c.Check != "deletion-vector" {
			continue
		}
		dir := filepath.Dir(name)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			vectors := make([]*Vector, len(c.Items))
			for i, item := range c.Items {
				cases++
				records := int64(-1)
				if item.NumRecords != nil {
					records = *item.NumRecords
				}
				v, err := Load(t.Context(), &item.Descriptor, records, Limits{}, below(dir))
				if item.Expected != "rows" {
					if !errors.Is(err, ErrCorrupt) {
						t.Errorf("%d: vector %v, error %v", i, v, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%d: %v", i, err)
					continue
				}
				vectors[i] = v
				if item.RowCount == nil {
					if d := cmp.Diff(item.Rows, append([]int64{}, rowsIn(v)...)); d != "" {
						t.Errorf("%d: rows (-want +got):\n%s", i, d)
					}
					continue
				}
				first, _ := v.Select(0)
				last, _ := v.Max()
				if v.Cardinality() != *item.RowCount || first != *item.FirstRow || last != *item.LastRow {
					t.Errorf("%d: %v", i, v)
				}
			}
			if c.Union != nil {
				var union *Vector
				for _, i := range c.Union.Of {
					union = union.Union(vectors[i])
				}
				sum := crc32.NewIEEE()
				for row := range union.All() {
					sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(row)))
				}
				if union.Cardinality() != c.Union.Cardinality || sum.Sum32() != c.Union.CRC32OfLittleEndianUint64Rows {
					t.Errorf("union %v", union)
				}
			}
			if c.Intersection != nil {
				a, b := vectors[c.Intersection.Of[0]], vectors[c.Intersection.Of[1]]
				if got := OverlapOf(a, b, nil); got.Count != c.Intersection.Cardinality {
					t.Errorf("intersection %v", got)
				}
			}
		})
	}
	if cases < 30 {
		t.Errorf("only %d vectors found", cases)
	}
}

// TestGoldenCorpus decodes the vectors of published tables to the rows that several readers agreed on.
func TestGoldenCorpus(t *testing.T) {
	root := corpus.Dir(t, "golden")
	cases := 0
	err := filepath.WalkDir(filepath.Join(root, "expected"), func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".json") {
			return err
		}
		var table struct {
			Files []struct {
				Path       string
				NumRecords int64
				DV         *action.DeletionVector
				DVRows     json.RawMessage
			}
		}
		readJSON(t, name, &table)
		relative := strings.TrimPrefix(name, filepath.Join(root, "expected"))
		dir := filepath.Join(root, strings.TrimSuffix(relative, ".json"))
		if before, _, historic := strings.Cut(dir, "@"); historic {
			dir = before
		}
		for _, f := range table.Files {
			if f.DV == nil || string(f.DVRows) == "null" {
				continue
			}
			cases++
			v, err := Load(t.Context(), f.DV, f.NumRecords, Limits{}, below(dir))
			if err != nil {
				t.Errorf("%s %s: %v", relative, f.Path, err)
				continue
			}
			var list []int64
			var many struct {
				Count  int64
				SHA256 string
			}
			if json.Unmarshal(f.DVRows, &list) == nil {
				if d := cmp.Diff(list, rowsIn(v)); d != "" {
					t.Errorf("%s %s: rows (-want +got):\n%s", relative, f.Path, d)
				}
				continue
			}
			if err := json.Unmarshal(f.DVRows, &many); err != nil {
				return err
			}
			var text []string
			for row := range v.All() {
				text = append(text, strconv.FormatInt(row, 10))
			}
			sum := sha256.Sum256([]byte(strings.Join(text, "\n")))
			if v.Cardinality() != many.Count || hex.EncodeToString(sum[:]) != many.SHA256 {
				t.Errorf("%s %s: %v", relative, f.Path, v)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if cases < 30 {
		t.Errorf("only %d vectors found", cases)
	}
}

// TestSparkCorpora decodes every vector that the logs of the other corpora name, and encodes it byte for byte as Spark did.
func TestSparkCorpora(t *testing.T) {
	for _, name := range []string{"skipping", "conflicts"} {
		root := corpus.Dir(t, name)
		logs, err := filepath.Glob(filepath.Join(root, "*", "table", "_delta_log", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		cases := 0
		for _, log := range logs {
			data, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Dir(filepath.Dir(log))
			for text := range action.Texts(bytes.NewReader(data), 0) {
				a, err := action.Parse(text.Data)
				if err != nil {
					t.Fatalf("%s: %v", log, err)
				}
				add, ok := a.(*action.Add)
				if !ok || add.DeletionVector == nil {
					continue
				}
				cases++
				var stats struct{ NumRecords int64 }
				if err := json.Unmarshal([]byte(add.Stats), &stats); err != nil {
					t.Fatal(err)
				}
				v, err := Load(t.Context(), add.DeletionVector, stats.NumRecords, Limits{}, below(dir))
				if err != nil {
					t.Errorf("%s: %v", log, err)
					continue
				}
				blob, _, err := fetch(t.Context(), add.DeletionVector, below(dir))
				if err != nil {
					t.Fatal(err)
				}
				if own := v.AppendBlob(nil); !slices.Equal(blob, own) {
					t.Errorf("%s: %v is encoded as %x, by Spark as %x", log, v, own, blob)
				}
			}
		}
		if cases < 30 {
			t.Errorf("%s: only %d vectors found", name, cases)
		}
	}
}
