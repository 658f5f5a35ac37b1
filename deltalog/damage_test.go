package deltalog_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/thrift/lib/go/thrift"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/internal/corpus"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
	"github.com/deltaskip/deltaskip/schema"
)

var damageAll = flag.Bool("damage.all", false, "damage every region of every file of the golden logs, which takes an hour, instead of a sample")

// What is damaged without the flag: one table in so many, and this share of the cases in it.
const (
	sampledTables = 40
	sampledCases  = 0.02
)

// A zone is a part of a file that means one thing. Each is damaged in every way of damages.
type zone struct {
	kind     string
	from, to int
	checked  bool // by a checksum: no damage to it may pass for other contents
}

var damages = []struct {
	name string
	do   func(data []byte, z zone) []byte
}{
	{"first bit", func(d []byte, z zone) []byte { d[z.from] ^= 1; return d }},
	{"middle bit", func(d []byte, z zone) []byte { d[(z.from+z.to)/2] ^= 0x10; return d }},
	{"last bit", func(d []byte, z zone) []byte { d[z.to-1] ^= 0x80; return d }},
	{"ones", func(d []byte, z zone) []byte { fillBytes(d[z.from:min(z.to, z.from+16)], 0xff); return d }},
	{"zeros", func(d []byte, z zone) []byte { fillBytes(d[z.from:z.to], 0); return d }},
	{"removed", func(d []byte, z zone) []byte { return slices.Delete(d, z.from, z.to) }},
	{cutBefore, func(d []byte, z zone) []byte { return d[:z.from] }},
	{cutWithin, func(d []byte, z zone) []byte { return d[:(z.from+z.to)/2] }},
}

const (
	cutBefore = "cut before"
	cutWithin = "cut within"
)

func fillBytes(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// zones divides a file of the log.
func zones(name string, data []byte) []zone {
	if strings.HasSuffix(name, ".parquet") {
		return parquetZones(data)
	}
	return jsonZones(data)
}

// jsonZones divides JSON lines into tokens, up to where they are none.
func jsonZones(data []byte) (list []zone) {
	dec := json.NewDecoder(bytes.NewReader(data))
	at := 0
	for {
		token, err := dec.Token()
		end := int(dec.InputOffset())
		if err != nil || end <= at {
			break
		}
		kind := fmt.Sprintf("JSON %T", token)
		if i := bytes.IndexByte(data[at:end], '\n'); i >= 0 {
			list = append(list, zone{kind: "line end", from: at + i, to: at + i + 1})
		}
		list = append(list, zone{kind: kind, from: at, to: end})
		at = end
	}
	if at < len(data) {
		list = append(list, zone{kind: "JSON rest", from: at, to: len(data)})
	}
	return list
}

// parquetZones divides a parquet file, as far as its own words go, for there are some that nobody can read.
func parquetZones(data []byte) []zone {
	n := len(data)
	if n < 12 {
		return []zone{{kind: "no parquet", to: n}}
	}
	list := []zone{
		{kind: "magic", to: 4}, {kind: "tail", from: n - 4, to: n}, {kind: "footer length", from: n - 8, to: n - 4},
	}
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		return list
	}
	defer r.Close()
	meta := r.MetaData()
	footer := n - 8 - meta.Size()
	for i := range 8 {
		list = append(list, zone{kind: "footer", from: footer + i*meta.Size()/8, to: footer + (i+1)*meta.Size()/8})
	}
	section := func(kind string, offset int64, length int32) {
		if offset > 0 && length > 0 {
			list = append(list, zone{kind: kind, from: int(offset), to: int(offset) + int(length)})
		}
	}
	for g := range meta.NumRowGroups() {
		group := meta.RowGroup(g)
		for i := range group.NumColumns() {
			c, err := group.ColumnChunk(i)
			if err != nil {
				continue
			}
			if at, ok := group.ColumnIndexLocation(i); ok {
				section("column index", at.Offset, at.Length)
			}
			if at, ok := group.OffsetIndexLocation(i); ok {
				section("offset index", at.Offset, at.Length)
			}
			from := c.DataPageOffset()
			if c.HasDictionaryPage() && c.DictionaryPageOffset() > 0 {
				from = min(from, c.DictionaryPageOffset())
			}
			column := meta.Schema.Column(i)
			list = append(list, pageZones(
				data, int(from), int(from+c.TotalCompressedSize()), c.Compression() == compress.Codecs.Uncompressed,
				column.MaxRepetitionLevel(), column.MaxDefinitionLevel())...)
		}
	}
	return slices.DeleteFunc(list, func(z zone) bool { return z.from < 0 || z.to > n || z.from >= z.to })
}

// pageZones divides the pages of a column chunk: their bodies too, where nothing is compressed.
func pageZones(data []byte, at, end int, open bool, reps, defs int16) (list []zone) {
	for at < end && end <= len(data) {
		h, size := readPageHeader(data[at:end])
		if size == 0 {
			break
		}
		list = append(list, zone{kind: "page header", from: at, to: at + size})
		at += size
		body := min(at+int(h[3]), end)
		kind := "dictionary"
		if h[1] != 2 {
			kind = "values"
			levels := at
			if h[1] == 3 {
				levels += int(h[85] + h[86])
			} else if open {
				for _, most := range []int16{reps, defs} {
					if most > 0 && levels+4 <= body {
						levels += 4 + int(data[levels]) + int(data[levels+1])<<8
					}
				}
			}
			if levels > at && levels <= body {
				list = append(list, zone{kind: "levels", from: at, to: levels, checked: h[4] != 0})
				at = levels
			}
		}
		if !open {
			kind += " compressed"
		}
		if at < body {
			list = append(list, zone{kind: kind, from: at, to: body, checked: h[4] != 0})
		}
		at = body
	}
	return list
}

// readPageHeader returns the integer fields of a PageHeader (parquet.thrift) by their numbers, those of its structs at ten times
// the struct's number, and its length in bytes, 0 for no header. Field 4 is the checksum.
func readPageHeader(data []byte) (fields map[int]int64, size int) {
	ctx := context.Background()
	buf := &thrift.TMemoryBuffer{Buffer: bytes.NewBuffer(slices.Clone(data[:min(len(data), 1<<12)]))}
	total := buf.Len()
	p := thrift.NewTCompactProtocolConf(buf, nil)
	fields = map[int]int64{}
	var read func(base int) error
	read = func(base int) error {
		if _, err := p.ReadStructBegin(ctx); err != nil {
			return err
		}
		for {
			_, t, id, err := p.ReadFieldBegin(ctx)
			if err != nil {
				return err
			}
			switch t {
			case thrift.STOP:
				return p.ReadStructEnd(ctx)
			case thrift.I32:
				v, err := p.ReadI32(ctx)
				if err != nil {
					return err
				}
				fields[base+int(id)] = int64(v)
			case thrift.STRUCT:
				if base > 0 {
					err = p.Skip(ctx, t)
				} else {
					err = read(10 * int(id))
				}
				if err != nil {
					return err
				}
			default:
				if err := p.Skip(ctx, t); err != nil {
					return err
				}
			}
		}
	}
	if read(0) != nil {
		return nil, 0
	}
	return fields, total - buf.Len()
}

// uncompressed is a parquet file with the same contents and nothing compressed or checked, so that damage reaches what lies in its pages.
func uncompressed(t *testing.T, data []byte, version parquet.DataPageVersion) []byte {
	t.Helper()
	mem := memory.DefaultAllocator
	table, err := pqarrow.ReadTable(t.Context(), bytes.NewReader(data), nil, pqarrow.ArrowReadProperties{}, mem)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	var out bytes.Buffer
	props := parquet.NewWriterProperties(
		parquet.WithDataPageVersion(version), parquet.WithDataPageSize(256), parquet.WithBatchSize(8), parquet.WithPageIndexEnabled(true),
		parquet.WithMaxRowGroupLength(64),
	)
	if err := pqarrow.WriteTable(table, &out, 64, props, pqarrow.DefaultWriterProps()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// reading is a store in memory that notes which files are read.
type reading struct {
	storetest.Mem
	mu    sync.Mutex
	names map[string]bool
}

func (r *reading) note(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names[name] = true
}

func (r *reading) Get(ctx context.Context, name string, limit int64) ([]byte, logstore.Entry, error) {
	r.note(name)
	return r.Mem.Get(ctx, name, limit)
}

func (r *reading) Open(ctx context.Context, name string) (logstore.File, error) {
	r.note(name)
	return r.Mem.Open(ctx, name)
}

// replace puts a file in the place of another, or removes it.
func (r *reading) replace(t *testing.T, name string, data []byte) {
	t.Helper()
	err := r.Put(t.Context(), name, data)
	if data == nil {
		err = r.Delete(t.Context(), name)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// load copies a table's log into memory.
func load(t *testing.T, dir string) (*reading, []string) {
	t.Helper()
	r := &reading{names: map[string]bool{}}
	var names []string
	err := filepath.WalkDir(filepath.Join(dir, deltalog.Dir), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		names = append(names, filepath.ToSlash(name))
		return r.Put(t.Context(), names[len(names)-1], data)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, names
}

// An answer is all that a snapshot says, or the error that it ends with.
type answer struct {
	sum       [sha256.Size]byte
	version   int64
	err       error
	allocated uint64 // bytes
}

// ask reads whatever can be read of a table at a version.
func ask(ctx context.Context, store logstore.Store, o deltalog.SnapshotOptions) (a answer) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	before := allocated()
	defer func() {
		a.allocated = allocated() - before
		if n := mem.CurrentAlloc(); n != 0 {
			a.err = fmt.Errorf("%d bytes are still held after %v", n, a.err)
		}
	}()
	h := sha256.New()
	limits := checkpoint.Options{Allocator: mem, Workers: 2, MaxPageBytes: 4 << 20, MaxFooterBytes: 4 << 20, MaxRows: 1 << 20, MaxJSONBytes: 16 << 20}
	s, err := deltalog.Open(store, deltalog.Options{Workers: 2, Checkpoint: limits}).Snapshot(ctx, o)
	if err != nil {
		return answer{err: err}
	}
	defer s.Close()
	fmt.Fprintf(h, "%d\n%s\n%s\n", s.Version, action.Append(nil, s.Protocol), action.Append(nil, s.Metadata))
	state, err := s.State(ctx)
	if err != nil {
		return answer{err: err}
	}
	for _, other := range state.Others {
		fmt.Fprintf(h, "%s\n", action.Append(nil, other))
	}
	for _, err := range s.Removes(ctx) { // which of them have expired differs between checkpoints and commits
		if err != nil {
			return answer{err: err}
		}
	}
	var lines []string // sorted: commits have another order than checkpoints
	for add, err := range s.Adds(ctx) {
		if err != nil {
			return answer{err: err}
		}
		lines = append(lines, string(action.Append(nil, add)))
	}
	layout := &colstats.Layout{Table: state.Table}
	for _, f := range state.Table.Fields {
		if c, err := state.Table.Lookup(f.Name); err == nil {
			layout.Demands = append(layout.Demands, colstats.Demand{Column: c, Bounds: true, Nulls: true})
		}
	}
	all := func(b *colstats.Batch) []uint64 {
		words := make([]uint64, (b.Len()+63)/64)
		for i := range words {
			words[i] = ^uint64(0)
		}
		return words
	}
	for b, err := range s.Batches(ctx, layout, deltalog.BatchOptions{Prune: all, Stats: colstats.Options{Allocator: mem}}) {
		if err != nil {
			return answer{err: err}
		}
		for i := range b.Len() {
			p, err := b.Path(i)
			if err != nil {
				return answer{err: err}
			}
			lines = append(lines, strings.Clone(p))
		}
	}
	slices.Sort(lines)
	fmt.Fprintln(h, strings.Join(lines, "\n"))
	if err := s.Validate(ctx); err != nil {
		var differs *deltalog.ChecksumError
		if !errors.As(err, &differs) {
			return answer{err: err}
		}
	}
	a.sum, a.version = [sha256.Size]byte(h.Sum(nil)), s.Version
	return a
}

// typed reports whether an error is of a kind that damage explains and that a caller can tell from others.
func typed(err error) bool {
	var unsupported *deltalog.UnsupportedError
	var version *deltalog.VersionError
	var differs *deltalog.ChecksumError
	for _, known := range []error{
		deltalog.ErrCorrupt, deltalog.ErrNoTable, deltalog.ErrNoProtocol, deltalog.ErrNoMetadata, deltalog.ErrCatalogManaged,
		checkpoint.ErrCorrupt, action.ErrLimit, schema.ErrInvalid, action.ErrOutside, logstore.ErrNotFound,
	} {
		if errors.Is(err, known) {
			return !strings.Contains(err.Error(), "panicked")
		}
	}
	return errors.As(err, &unsupported) || errors.As(err, &version) || errors.As(err, &differs)
}

// allocated is how much this process has ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// outcomes counts what came of damage, by the kind of file and zone: right, error, other.
type outcomes map[string]*[3]int

func (o outcomes) add(kind string, i int) {
	if o[kind] == nil {
		o[kind] = new([3]int)
	}
	o[kind][i]++
}

// TestDamagedLogs damages the files of the golden logs zone by zone. What is read of them then is what was there, or an error of a
// known type; where no checksum guards a zone that holds contents, it may be other contents. Nothing panics, and nothing
// allocates more than the limits allow.
func TestDamagedLogs(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join(corpus.Dir(t, "golden"), "*", "*", deltalog.Dir))
	if err != nil {
		t.Fatal(err)
	}
	tables := float64(sampledTables)
	if testing.Short() {
		tables *= 4
	}
	seen := outcomes{}
	for _, log := range logs {
		table, err := filepath.Rel(filepath.Dir(filepath.Dir(filepath.Dir(log))), filepath.Dir(log))
		if err != nil {
			t.Fatal(err)
		}
		if *damageAll || tables*chance(table) < 1 {
			t.Run(table, func(t *testing.T) { damageTable(t, table, filepath.Dir(log), seen) })
		}
	}
	total := [3]int{}
	for _, kind := range slices.Sorted(maps.Keys(seen)) {
		c := seen[kind]
		t.Logf("%-55s right %6d, error %6d, other %6d", kind, c[0], c[1], c[2])
		for i := range total {
			total[i] += c[i]
		}
	}
	t.Logf("right %d, error %d, other %d", total[0], total[1], total[2])
}

// fileKind says what a file of the log is; empty for others.
func fileKind(name string) string {
	base := path.Base(name)
	_, isCheckpoint := checkpoint.ParseName(base)
	switch {
	case base == "_last_checkpoint":
		return "hint"
	case strings.HasPrefix(base, "."): // Hadoop's checksums
		return ""
	case strings.Contains(name, "_sidecars/"):
		return "sidecar"
	case isCheckpoint && strings.HasSuffix(base, ".json"):
		return "checkpoint.json"
	case isCheckpoint:
		return "checkpoint.parquet"
	case strings.HasSuffix(base, ".crc"):
		return "checksum"
	case strings.HasSuffix(base, ".json"):
		return "commit"
	}
	return ""
}

// A readFile is a file of a table and a version whose reading needs it.
type readFile struct {
	name string
	kind string // by fileKind
	at   deltalog.SnapshotOptions
}

// readFiles finds for each file of the log a version at which it is read: the newest, or one of those that files are named after.
func readFiles(t *testing.T, store *reading, names []string) (files []readFile) {
	t.Helper()
	options := []deltalog.SnapshotOptions{{}}
	for _, name := range names {
		var v int64
		if _, err := fmt.Sscanf(path.Base(name), "%020d.", &v); err == nil {
			options = append(options, at(v))
		}
	}
	found := map[string]bool{}
	for _, o := range options {
		clear(store.names)
		ask(t.Context(), store, o)
		for _, name := range names {
			if kind := fileKind(name); store.names[name] && !found[name] && kind != "" {
				found[name] = true
				files = append(files, readFile{name, kind, o})
			}
		}
	}
	return files
}

// damageTable damages a sample of the zones of all files of a table, or all.
func damageTable(t *testing.T, table, dir string, seen outcomes) {
	store, names := load(t, dir)
	for _, f := range readFiles(t, store, names) {
		data, _, err := store.Mem.Get(t.Context(), f.name, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		store.replace(t, f.name, nil)
		without := ask(t.Context(), store, f.at)
		store.replace(t, f.name, data)
		want := ask(t.Context(), store, f.at)
		damageFile(t, table, store, f, "", data, seen, want, without)
		if strings.HasSuffix(f.name, ".parquet") && want.err == nil {
			for form, version := range map[string]parquet.DataPageVersion{" v1": parquet.DataPageV1, " v2": parquet.DataPageV2} {
				plain := uncompressed(t, data, version)
				store.replace(t, f.name, plain)
				if a := ask(t.Context(), store, f.at); a.err != nil || a.sum != want.sum {
					t.Errorf("%s: uncompressed it reads differently: %v", f.name, a.err)
				}
				damageFile(t, table, store, f, form, plain, seen, want, without)
			}
		}
		store.replace(t, f.name, data)
	}
}

// damageFile reads the table with one file, of which data are the contents, damaged in each way. want and without are what was read
// before, and without the file: many tables do as well then, though statistics may be spelled in another way.
func damageFile(t *testing.T, table string, store *reading, f readFile, form string, data []byte, seen outcomes, want, without answer) {
	for _, z := range zones(f.name, data) {
		for _, d := range damages {
			if !*damageAll && chance(table, f.name, form, z, d.name) >= sampledCases {
				continue
			}
			damaged := d.do(slices.Clone(data), z)
			if bytes.Equal(damaged, data) || d.name == cutWithin && z.to == z.from+1 {
				continue // no damage, or that of cutBefore
			}
			store.replace(t, f.name, damaged)
			got := ask(t.Context(), store, f.at)
			result := 0
			switch {
			case got.err != nil:
				result = 1
			case want.err == nil && got.sum == want.sum:
			case without.err == nil && got.sum == without.sum && without.version == want.version:
			default:
				result = 2
			}
			seen.add(fmt.Sprintf("%s%s, %s: %s", f.kind, form, z.kind, d.name), result)
			what := fmt.Sprintf("%s%s: %s at %d: %s", f.name, form, z.kind, z.from, d.name)
			if result == 1 && !typed(got.err) || result == 1 && f.kind == "hint" && want.err == nil {
				t.Errorf("%s: %T: %v", what, got.err, got.err)
			}
			if result == 2 && !mayDiffer(f.kind, z, d.name) {
				t.Errorf("%s: it reads differently", what)
			}
			if most := uint64(64<<20) + 4*want.allocated; got.allocated > most {
				t.Errorf("%s: allocated %d MiB, not %d", what, got.allocated>>20, want.allocated>>20)
			}
		}
	}
}

// mayDiffer reports whether damage may pass for other contents: there is nothing that would tell.
func mayDiffer(kind string, z zone, damage string) bool {
	switch kind {
	case "hint", "checksum":
		return false
	case "commit", "checkpoint.json":
		return true
	}
	switch strings.TrimSuffix(z.kind, " compressed") {
	case "dictionary", "values", "levels", "footer":
		return !z.checked && damage != cutBefore && damage != cutWithin
	}
	return false
}

// chance gives each case a number from 0 to 1 that never changes.
func chance(parts ...any) float64 {
	sum := sha256.Sum256(fmt.Append(nil, parts...))
	return float64(binary.BigEndian.Uint32(sum[:])) / (1 << 32)
}
