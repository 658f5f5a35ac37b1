package bench

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deltaskip/deltaskip/action"
)

// A Workload describes a synthetic table. The zero value of every field is usable; equal workloads give equal bytes.
type Workload struct {
	Adds       int    // files of the table; 0 means 10,000
	Seed       uint64 // of everything random
	Columns    int    // statistics columns, 1 to 16; 0 means 16
	Partitions int    // distinct values of the partition column p; 0 means unpartitioned
	// Shuffled scatters the ranges of the column id over the files in random order. Otherwise the table is clustered by
	// id: file i holds the ids from i*RowsPerFile.
	Shuffled bool
	// SortBy is a column by whose lower bounds the files come in ascending order, those without statistics last; empty leaves
	// them as they are. It is how a log of any size is clustered without holding it in memory.
	SortBy string
	// DVShare of the files carry a deletion vector and wide bounds, NoStatsShare of them no statistics; both 0 to 1.
	DVShare, NoStatsShare float64
}

// RowsPerFile is the number of rows that each synthetic file claims to have.
const RowsPerFile = 1000

// Epoch is the first moment of every synthetic table.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A column of the synthetic table writes the bounds of one file to its statistics. at is the file's position in the
// order of id, so columns may follow it (clustered with id) or not.
type column struct {
	name, typ string
	bounds    func(r *rand.Rand, at int64) (lower, upper string)
}

// columns are the sixteen statistics columns, one or more of every type that has bounds.
var columns = [...]column{
	{"id", "long", func(_ *rand.Rand, at int64) (string, string) {
		return decimal(at * RowsPerFile), decimal(at*RowsPerFile + RowsPerFile - 1)
	}},
	{"ts", "timestamp", func(r *rand.Rand, at int64) (string, string) {
		from := Epoch.Add(time.Duration(at)*time.Minute + time.Duration(r.IntN(1000))*time.Millisecond)
		const layout = `"2006-01-02T15:04:05.000Z"`
		return from.Format(layout), from.Add(time.Minute).Format(layout)
	}},
	{"day", "date", func(_ *rand.Rand, at int64) (string, string) {
		day := Epoch.AddDate(0, 0, int(at/1440)).Format(`"2006-01-02"`)
		return day, day
	}},
	{"user", "string", func(r *rand.Rand, _ int64) (string, string) {
		a, b := ordered(r, 1<<40)
		return fmt.Sprintf(`"user-%012x"`, a), fmt.Sprintf(`"user-%012x"`, b)
	}},
	{"country", "string", func(r *rand.Rand, _ int64) (string, string) {
		a, b := ordered(r, int64(len(countries)))
		return strconv.Quote(countries[a]), strconv.Quote(countries[b])
	}},
	{"amount", "decimal(18,2)", func(r *rand.Rand, _ int64) (string, string) {
		a, b := ordered(r, 1e12)
		return fmt.Sprintf("%d.%02d", a/100, a%100), fmt.Sprintf("%d.%02d", b/100, b%100)
	}},
	{"price", "double", func(r *rand.Rand, _ int64) (string, string) {
		a := r.Float64() * 1e4
		return strconv.FormatFloat(a, 'g', -1, 64), strconv.FormatFloat(a+r.Float64()*100, 'g', -1, 64)
	}},
	{"quantity", "integer", integers(1 << 20)},
	{"score", "float", func(r *rand.Rand, _ int64) (string, string) {
		a := r.Float32()
		return strconv.FormatFloat(float64(a), 'g', -1, 32), strconv.FormatFloat(float64(a+r.Float32()), 'g', -1, 32)
	}},
	{"session", "string", func(r *rand.Rand, _ int64) (string, string) {
		// Longer than a bound may be: cut at 32 characters, the maximum with the tie-breaker that Spark appends.
		a, b := ordered(r, 1<<60)
		return fmt.Sprintf(`"%016x-%015x"`, a, a>>4), fmt.Sprintf("\"%016x-%015x\uFFFD\"", b, b>>4)
	}},
	{"latitude", "double", degrees(90)},
	{"longitude", "double", degrees(180)},
	{"small", "short", integers(1 << 15)},
	{"tiny", "byte", integers(1 << 7)},
	{"local", "timestamp_ntz", func(r *rand.Rand, at int64) (string, string) {
		from := Epoch.Add(time.Duration(at)*time.Minute + time.Duration(r.IntN(1e6))*time.Second)
		const layout = `"2006-01-02T15:04:05.000"`
		return from.Format(layout), from.Add(time.Hour).Format(layout)
	}},
	{"sequence", "long", integers(1 << 62)},
}

var countries = []string{"AR", "AU", "BR", "CA", "CH", "CN", "DE", "ES", "FR", "GB", "IN", "IT", "JP", "KR", "MX", "NG", "US", "VN", "ZA"}

func decimal(i int64) string { return strconv.FormatInt(i, 10) }

// ordered returns two random numbers below n, the smaller first.
func ordered(r *rand.Rand, n int64) (int64, int64) {
	a, b := r.Int64N(n), r.Int64N(n)
	return min(a, b), max(a, b)
}

func integers(n int64) func(*rand.Rand, int64) (string, string) {
	return func(r *rand.Rand, _ int64) (string, string) {
		a, b := ordered(r, n)
		return decimal(a), decimal(b)
	}
}

func degrees(limit float64) func(*rand.Rand, int64) (string, string) {
	return func(r *rand.Rand, _ int64) (string, string) {
		a := (r.Float64()*2 - 1) * limit
		return strconv.FormatFloat(a, 'f', 6, 64), strconv.FormatFloat(min(limit, a+r.Float64()), 'f', 6, 64)
	}
}

// defaults returns w with its zero values filled in, or an error that names the field that makes no sense.
func (w Workload) defaults() (Workload, error) {
	if w.Adds == 0 {
		w.Adds = 10_000
	}
	if w.Columns == 0 {
		w.Columns = len(columns)
	}
	switch {
	case w.Adds < 0:
		return w, fmt.Errorf("bench: %d adds: give a positive number", w.Adds)
	case w.Columns < 1 || w.Columns > len(columns):
		return w, fmt.Errorf("bench: %d columns: give 1 to %d", w.Columns, len(columns))
	case w.Partitions < 0:
		return w, fmt.Errorf("bench: %d partitions: give 0 for none or a positive number", w.Partitions)
	case !(w.DVShare >= 0 && w.DVShare <= 1) || !(w.NoStatsShare >= 0 && w.NoStatsShare <= 1):
		return w, fmt.Errorf("bench: shares of files are from 0 to 1, not %v and %v", w.DVShare, w.NoStatsShare)
	}
	if w.SortBy != "" && w.sortColumn() < 0 {
		return w, fmt.Errorf("bench: no statistics column %q to sort by", w.SortBy)
	}
	return w, nil
}

// sortColumn returns the position of the column to sort by, or -1.
func (w Workload) sortColumn() int {
	return slices.IndexFunc(columns[:w.Columns], func(c column) bool { return c.name == w.SortBy })
}

// Files yields the adds of the table in log order. The add and its partition values are reused: a caller that keeps one
// clones it.
func (w Workload) Files() (iter.Seq[*action.Add], error) {
	w, err := w.defaults()
	if err != nil {
		return nil, err
	}
	return func(yield func(*action.Add) bool) {
		m := w.maker()
		add := action.Add{DataChange: true}
		for i := range m.order() {
			m.file(&add, i)
			if !yield(&add) {
				return
			}
		}
	}, nil
}

// A maker makes the files of a workload, in whatever order: each has a source of random numbers of its own.
type maker struct {
	w     Workload
	at    []int32 // of each file, its position in the order of id; nil where that is its number
	pcg   *rand.PCG
	rng   *rand.Rand
	stats []byte
}

func (w Workload) maker() *maker {
	m := &maker{w: w, pcg: rand.NewPCG(w.Seed, 0)}
	m.rng = rand.New(m.pcg)
	if w.Shuffled {
		m.at = make([]int32, w.Adds)
		for i := range m.at {
			m.at[i] = int32(i)
		}
		m.rng.Shuffle(len(m.at), func(i, j int) { m.at[i], m.at[j] = m.at[j], m.at[i] })
	}
	return m
}

// file makes file i.
func (m *maker) file(add *action.Add, i int) {
	w, rng := m.w, m.rng
	m.pcg.Seed(w.Seed, uint64(i)+1)
	at := i
	if m.at != nil {
		at = int(m.at[i])
	}
	name := uuidLike(rng)
	add.Path = fmt.Sprintf("part-%05d-%s-c000.snappy.parquet", i%100_000, name)
	add.PartitionValues = map[string]*string{}
	if w.Partitions > 0 {
		p := strconv.Itoa(at * w.Partitions / w.Adds)
		add.PartitionValues["p"] = &p
		add.Path = "p=" + p + "/" + add.Path
	}
	add.Size = 90<<20 + rng.Int64N(20<<20)
	add.ModificationTime = Epoch.UnixMilli() + int64(i)
	add.DeletionVector, add.Stats = nil, ""
	wide := rng.Float64() < w.DVShare
	if wide {
		offset := int32(1)
		add.DeletionVector = &action.DeletionVector{
			StorageType: "u", PathOrInlineDV: vectorName(rng), Offset: &offset, SizeInBytes: 40, Cardinality: 5,
		}
	}
	if rng.Float64() >= w.NoStatsShare {
		m.stats = w.appendStats(m.stats[:0], rng, int64(at), wide)
		add.Stats = string(m.stats)
	}
}

// order yields the numbers of the files in the order in which they come.
func (m *maker) order() iter.Seq[int] {
	return func(yield func(int) bool) {
		if m.w.SortBy == "" {
			for i := range m.w.Adds {
				if !yield(i) {
					return
				}
			}
			return
		}
		type keyed struct {
			key [sortKeyBytes]byte
			i   int32
		}
		keys := make([]keyed, m.w.Adds)
		var add action.Add
		for i := range keys {
			m.file(&add, i)
			keys[i] = keyed{sortKey(add.Stats, m.w.SortBy), int32(i)}
		}
		slices.SortFunc(keys, func(a, b keyed) int {
			return cmp.Or(bytes.Compare(a.key[:], b.key[:]), cmp.Compare(a.i, b.i))
		})
		for _, k := range keys {
			if !yield(int(k.i)) {
				return
			}
		}
	}
}

// sortKeyBytes is how much of a bound counts for SortBy: more than the bounds of text columns have in common.
const sortKeyBytes = 24

// sortKey returns bytes that sort as the lower bound of a column does.
func sortKey(stats, column string) (key [sortKeyBytes]byte) {
	_, mins, _ := strings.Cut(stats, `"minValues":{`)
	_, value, ok := strings.Cut(mins, `"`+column+`":`)
	if !ok {
		for i := range key {
			key[i] = 0xff
		}
		return key
	}
	if end := strings.IndexAny(value, ",}"); end >= 0 {
		value = value[:end]
	}
	if text, quoted := strings.CutPrefix(value, `"`); quoted {
		copy(key[:], text)
		return key
	}
	whole, _ := strconv.ParseInt(value, 10, 64) // exact, and 0 for numbers with a fraction
	float, _ := strconv.ParseFloat(value, 64)
	bits := math.Float64bits(float)
	if float < 0 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	binary.BigEndian.PutUint64(key[:], bits)
	binary.BigEndian.PutUint64(key[8:], uint64(whole)^1<<63)
	return key
}

// appendStats appends the statistics of the file at position at, as Spark orders them.
func (w Workload) appendStats(dst []byte, rng *rand.Rand, at int64, wide bool) []byte {
	var lower, upper [len(columns)]string
	for i, c := range columns[:w.Columns] {
		lower[i], upper[i] = c.bounds(rng, at)
	}
	object := func(key string, value func(i int) string) {
		dst = append(dst, `,"`+key+`":{`...)
		for i, c := range columns[:w.Columns] {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `"`+c.name+`":`...)
			dst = append(dst, value(i)...)
		}
		dst = append(dst, '}')
	}
	dst = append(dst, `{"numRecords":`...)
	dst = strconv.AppendInt(dst, RowsPerFile, 10)
	object("minValues", func(i int) string { return lower[i] })
	object("maxValues", func(i int) string { return upper[i] })
	object("nullCount", func(i int) string {
		if i == 0 || rng.IntN(4) > 0 {
			return "0"
		}
		return strconv.Itoa(rng.IntN(RowsPerFile))
	})
	if wide {
		dst = append(dst, `,"tightBounds":false`...)
	}
	return append(dst, '}')
}

func uuidLike(rng *rand.Rand) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], rng.Uint64())
	binary.BigEndian.PutUint64(b[8:], rng.Uint64())
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// vectorName returns twenty characters of the alphabet that the file names of deletion vectors are written in.
func vectorName(rng *rand.Rand) string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	var b [20]byte
	for i := range b {
		b[i] = letters[rng.IntN(len(letters))]
	}
	return string(b[:])
}

// Metadata returns the table's metaData action.
func (w Workload) Metadata() (*action.Metadata, error) {
	w, err := w.defaults()
	if err != nil {
		return nil, err
	}
	var fields []string
	field := func(name, typ string) {
		fields = append(fields, fmt.Sprintf(`{"name":%q,"type":%q,"nullable":true,"metadata":{}}`, name, typ))
	}
	var partitions []string
	if w.Partitions > 0 {
		field("p", "integer")
		partitions = []string{"p"}
	}
	for _, c := range columns[:w.Columns] {
		field(c.name, c.typ)
	}
	configuration := map[string]string{}
	if w.DVShare > 0 {
		configuration["delta.enableDeletionVectors"] = "true"
	}
	created := Epoch.UnixMilli()
	return &action.Metadata{
		ID:               uuidLike(rand.New(rand.NewPCG(w.Seed, 1))),
		Format:           action.Format{Provider: "parquet", Options: map[string]string{}},
		SchemaString:     `{"type":"struct","fields":[` + strings.Join(fields, ",") + `]}`,
		PartitionColumns: append([]string{}, partitions...),
		Configuration:    configuration,
		CreatedTime:      &created,
	}, nil
}

// Protocol returns the table's protocol action.
func (w Workload) Protocol() *action.Protocol {
	features := []string{"timestampNtz"}
	if w.DVShare > 0 {
		features = append(features, "deletionVectors")
	}
	return &action.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: features, WriterFeatures: features}
}
