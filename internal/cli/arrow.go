package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/goccy/go-json"
	"golang.org/x/term"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/schema"
	"github.com/deltaskip/deltaskip/vectorized"
)

// printFilesArrow writes a stream of Arrow IPC with a row for every file, those that are skipped as well.
func (a *app) printFilesArrow(ctx context.Context, s *search) error {
	if f, isFile := a.stdout.(*os.File); isFile && term.IsTerminal(int(f.Fd())) {
		return usagef("--format arrow is no text: send it to a file or a program, such as > files.arrows")
	}
	table, err := s.table.snapshot.Table()
	if err != nil {
		return err
	}
	return buffered(a.stdout, func(w *bufio.Writer) error {
		out, err := newArrowFiles(table, s)
		if err != nil {
			return err
		}
		defer out.release()
		out.writer = ipc.NewWriter(w, ipc.WithSchema(out.schema), ipc.WithAllocator(memory.DefaultAllocator))
		bar := a.progress(-1, "files")
		for add, err := range s.table.snapshot.Adds(ctx) {
			if err == nil {
				err = out.add(add)
			}
			if err != nil {
				return errors.Join(err, bar.Finish())
			}
			_ = bar.Add(1)
		}
		// The end of a stream says that it is whole, so only one that is whole gets it.
		err = out.flush()
		if err == nil {
			err = out.writer.Close()
		}
		return errors.Join(err, bar.Finish())
	})
}

// arrowFiles collects adds and writes them in batches:
//
//	path, size, numRecords, verdict
//	partitionValues   a struct of texts as in the log, of tables that are partitioned
//	c.lower, c.upper  of each column c whose statistics the predicates ask for, where its type has bounds
//	c.noNull, c.allNull
type arrowFiles struct {
	search     *search
	schema     *arrow.Schema
	partitions []*schema.Column
	layout     *colstats.Layout
	stats      *colstats.Builder
	scratch    vectorized.Scratch
	columns    *array.RecordBuilder // the columns that don't come from statistics
	writer     *ipc.Writer
}

// own is how many columns come before those of statistics and partitions.
const own = 4

func newArrowFiles(table *schema.Table, s *search) (*arrowFiles, error) {
	out := &arrowFiles{search: s, layout: s.program.Layout()}
	fields := []arrow.Field{
		{Name: "path", Type: arrow.BinaryTypes.String},
		{Name: "size", Type: arrow.PrimitiveTypes.Int64},
		{Name: "numRecords", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "verdict", Type: arrow.BinaryTypes.String},
	}
	var values []arrow.Field
	for _, name := range table.PartitionColumns {
		c, err := table.Lookup(name)
		if err != nil {
			return nil, err
		}
		out.partitions = append(out.partitions, c)
		values = append(values, arrow.Field{Name: c.String(), Type: arrow.BinaryTypes.String, Nullable: true})
	}
	if len(values) > 0 {
		fields = append(fields, arrow.Field{Name: "partitionValues", Type: arrow.StructOf(values...)})
	}
	out.stats = colstats.NewBuilder(out.layout, s.stats)
	out.columns = array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	// An empty batch says which columns one has.
	empty := out.stats.Flush()
	defer empty.Release()
	for _, f := range empty.Record().Schema().Fields() {
		if name, ok := out.statistic(f.Name); ok {
			fields = append(fields, arrow.Field{Name: name, Type: f.Type, Nullable: true})
		}
	}
	unusable := []unusableJSON{}
	for _, u := range s.program.Unusable() {
		unusable = append(unusable, unusableJSON{u.Read, u.Conjunct, u.Reason})
	}
	text, err := json.Marshal(unusable)
	if err != nil {
		return nil, err
	}
	about := arrow.NewMetadata([]string{"deltaskip.version", "deltaskip.unusable"}, []string{fmt.Sprint(s.table.snapshot.Version), string(text)})
	out.schema = arrow.NewSchema(fields, &about)
	return out, nil
}

// statistic names a column of a batch's record, such as 0.lower, by the column of the table. The paths are none.
func (out *arrowFiles) statistic(name string) (string, bool) {
	at, what, found := strings.Cut(name, ".")
	i, err := strconv.Atoi(at)
	if !found || err != nil || i >= len(out.layout.Demands) {
		return "", false
	}
	return out.layout.Demands[i].Column.String() + "." + what, true
}

func (out *arrowFiles) add(add *action.Add) error {
	if out.stats.Len() == colstats.MaxBatchLen {
		if err := out.flush(); err != nil {
			return err
		}
	}
	if err := out.stats.Append(&colstats.File{Path: add.Path, PartitionValues: add.PartitionValues, Stats: add.Stats}); err != nil {
		return err
	}
	out.columns.Field(0).(*array.StringBuilder).Append(add.Path)
	out.columns.Field(1).(*array.Int64Builder).Append(add.Size)
	records := out.columns.Field(2).(*array.Int64Builder)
	var stats struct {
		NumRecords *int64 `json:"numRecords"`
	}
	// Malformed statistics are none.
	if err := json.Unmarshal([]byte(add.Stats), &stats); err == nil && stats.NumRecords != nil && *stats.NumRecords >= 0 {
		records.Append(*stats.NumRecords)
	} else {
		records.AppendNull()
	}
	if len(out.partitions) > 0 {
		values := out.columns.Field(own).(*array.StructBuilder)
		values.Append(true)
		for i, c := range out.partitions {
			if text := add.PartitionValues[c.Physical[0]]; text != nil {
				values.FieldBuilder(i).(*array.StringBuilder).Append(*text)
			} else {
				values.FieldBuilder(i).AppendNull()
			}
		}
	}
	return nil
}

// flush writes what has been collected.
func (out *arrowFiles) flush() error {
	b := out.stats.Flush()
	defer b.Release()
	if b.Len() == 0 {
		return nil
	}
	verdicts := make([]vectorized.Verdict, b.Len())
	if err := out.search.program.Verdicts(verdicts, b, &out.scratch); err != nil {
		return err
	}
	for _, v := range verdicts {
		out.columns.Field(own - 1).(*array.StringBuilder).Append(v.String())
	}
	first := out.columns.NewRecordBatch()
	defer first.Release()
	columns := first.Columns()
	for i, f := range b.Record().Schema().Fields() {
		if _, ok := out.statistic(f.Name); ok {
			column := knownTexts(b.Record().Column(i))
			defer column.Release()
			columns = append(columns, column)
		}
	}
	rec := array.NewRecordBatch(out.schema, columns, int64(b.Len()))
	defer rec.Release()
	return out.writer.Write(rec)
}

func (out *arrowFiles) release() {
	out.stats.Flush().Release()
	out.columns.Release()
}

// knownTexts makes the maximum of strings that nobody knows null: no text says it, and readers refuse what is not UTF-8.
func knownTexts(column arrow.Array) arrow.Array {
	texts, ok := column.(*array.String)
	if !ok {
		column.Retain()
		return column
	}
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	for i := range texts.Len() {
		if texts.IsNull(i) || texts.Value(i) == colstats.MaxString {
			b.AppendNull()
		} else {
			b.Append(texts.Value(i))
		}
	}
	return b.NewArray()
}
