package conflict

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore/storetest"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// A randomFile is a file with its rows: id and x, nil for NULL, in partition p.
type randomFile struct {
	path string
	p    *int64
	rows [][2]*int64
	drop string // which statistics its writer left out
}

// line returns the file's add action, with or without statistics.
func (f randomFile) line(withStats bool) string {
	p := "null"
	if f.p != nil {
		p = fmt.Sprintf(`"%d"`, *f.p)
	}
	line := strings.Replace(add(f.path), `"partitionValues":{}`, `"partitionValues":{"p":`+p+`}`, 1)
	if withStats && f.drop != "all" {
		line = strings.TrimSuffix(line, "}}") + fmt.Sprintf(`,"stats":%q}}`, f.stats())
	}
	return line
}

func (f randomFile) stats() string {
	var low, high, nulls []string
	for i, name := range []string{"id", "x"} {
		var values []int64
		for _, r := range f.rows {
			if r[i] != nil {
				values = append(values, *r[i])
			}
		}
		if f.drop == name {
			continue
		}
		nulls = append(nulls, fmt.Sprintf(`%q:%d`, name, len(f.rows)-len(values)))
		if len(values) > 0 && f.drop != "bounds" {
			low = append(low, fmt.Sprintf(`%q:%d`, name, slices.Min(values)))
			high = append(high, fmt.Sprintf(`%q:%d`, name, slices.Max(values)))
		}
	}
	return fmt.Sprintf(`{"numRecords":%d,"minValues":{%s},"maxValues":{%s},"nullCount":{%s}}`,
		len(f.rows), strings.Join(low, ","), strings.Join(high, ","), strings.Join(nulls, ","))
}

// A fileRow is one row of a file.
type fileRow struct {
	f randomFile
	i int
}

func (r fileRow) Value(c *schema.Column) predicate.Value {
	v := map[string]*int64{"id": r.f.rows[r.i][0], "x": r.f.rows[r.i][1], "p": r.f.p}[c.Path[0]]
	if v == nil {
		return predicate.NullOf(c.Type)
	}
	return predicate.IntOf(c.Type.Kind, *v)
}

type randomWinner struct {
	info  string
	files []randomFile
	other []string
}

func (w randomWinner) lines(withStats bool) []string {
	list := append([]string{w.info}, w.other...)
	for _, f := range w.files {
		list = append(list, f.line(withStats))
	}
	return list
}

func drawWinner(t *rapid.T, v int) randomWinner {
	w := randomWinner{info: rapid.SampledFrom([]string{`{"commitInfo":{}}`, `{"commitInfo":{"isBlindAppend":true}}`, `{"commitInfo":{"operation":"UPDATE","isBlindAppend":false}}`}).Draw(t, "info")}
	small := rapid.Ptr(rapid.Int64Range(0, 12), true)
	for i := range rapid.IntRange(0, 4).Draw(t, "files") {
		f := randomFile{path: fmt.Sprintf("w%d-%d", v, i), p: rapid.Ptr(rapid.Int64Range(0, 2), true).Draw(t, "p"),
			drop: rapid.SampledFrom([]string{"", "", "", "all", "id", "x", "bounds"}).Draw(t, "drop")}
		for range rapid.IntRange(1, 3).Draw(t, "rows") {
			f.rows = append(f.rows, [2]*int64{small.Draw(t, "id"), small.Draw(t, "x")})
		}
		w.files = append(w.files, f)
	}
	if rapid.IntRange(0, 4).Draw(t, "removes") == 0 {
		w.other = append(w.other, remove(rapid.SampledFrom([]string{"f0", "f1", "g"}).Draw(t, "removed")))
	}
	return w
}

func drawPredicate(t *rapid.T, depth int) string {
	column := rapid.SampledFrom([]string{"id", "x", "p"})
	leaf := func() string {
		c, v := column.Draw(t, "column"), rapid.IntRange(-1, 13).Draw(t, "literal")
		switch rapid.IntRange(0, 7).Draw(t, "leaf") {
		case 0:
			return fmt.Sprintf("%s IS NULL", c)
		case 1:
			return fmt.Sprintf("%s IN (%d, %d)", c, v, v+3)
		case 2:
			return fmt.Sprintf("%s <=> %d", c, v)
		case 3:
			return fmt.Sprintf("%s < %s", c, column.Draw(t, "other"))
		case 4:
			return "rand() < 2.0"
		}
		return fmt.Sprintf("%s %s %d", c, rapid.SampledFrom([]string{"<", "<=", "=", ">", ">=", "<>"}).Draw(t, "op"), v)
	}
	if depth == 0 || rapid.IntRange(0, 2).Draw(t, "deeper") == 0 {
		return leaf()
	}
	switch rapid.IntRange(0, 2).Draw(t, "connective") {
	case 0:
		return "NOT (" + drawPredicate(t, depth-1) + ")"
	case 1:
		return "(" + drawPredicate(t, depth-1) + ") OR (" + drawPredicate(t, depth-1) + ")"
	}
	return "(" + drawPredicate(t, depth-1) + ") AND (" + drawPredicate(t, depth-1) + ")"
}

// TestRandomTransactions checks relations between answers: mode Off does not look at statistics; Stats only removes
// conflicts; less statistics only add them; a winner's row that a read is TRUE for is never missed; and neither the number of
// workers, nor a cache, nor company changes an answer.
func TestRandomTransactions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		partitioned := rapid.Bool().Draw(rt, "partitioned")
		level := rapid.SampledFrom([]string{"Serializable", "WriteSerializable"}).Draw(rt, "level")
		m := partitionedTable(isolationProperty + "=" + level)
		if !partitioned {
			m = strings.Replace(m, `"partitionColumns":["p"]`, `"partitionColumns":[]`, 1)
		}
		var winners []randomWinner
		for v := range rapid.IntRange(1, 4).Draw(rt, "winners") {
			winners = append(winners, drawWinner(rt, v))
		}
		reads := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawPredicate(t, 2) }), 0, 3).Draw(rt, "reads")
		r := race{table: m, loser: []string{remove("mine"), add("new")}, reads: func(txn *Transaction) {
			for _, sql := range reads {
				txn.Reads = append(txn.Reads, Read{SQL: sql})
			}
			txn.ReadFiles = []ReadFile{{Path: "f0"}}
		}}
		txn := r.transaction(t)
		with, without := logOfRandom(rt, winners, true), logOfRandom(rt, winners, false)
		check := func(log *deltalog.Log, o Options) Result {
			c, err := NewChecker(log, o)
			if err != nil {
				rt.Fatal(err)
			}
			defer c.o.Cache.Close()
			got, err := c.Check(context.Background(), txn, Newest)
			if err != nil {
				rt.Fatal(err)
			}
			return got
		}
		off, stats := check(with, Options{}), check(with, Options{Mode: Stats})
		same(rt, "off with and without statistics", off, check(without, Options{}))
		if off.Outcome == Clear {
			same(rt, "what off lets pass, stats does", off, stats)
		}
		if bare := check(without, Options{Mode: Stats}); bare.Outcome == Clear && stats.Outcome != Clear {
			rt.Errorf("statistics added a conflict: %v", stats.Conflict)
		}
		for _, workers := range []int{1, 7} {
			same(rt, "workers", stats, check(with, Options{Mode: Stats, Workers: workers}))
		}
		if version, missed := missedRow(rt, txn, winners, level); missed && (stats.Outcome == Clear || stats.Conflict.Winner.Version > version) {
			rt.Errorf("version %d holds a row that was read, and the answer is %v: %v", version, stats.Outcome, stats.Conflict)
		}
		c, err := NewChecker(with, Options{Mode: Stats})
		if err != nil {
			rt.Fatal(err)
		}
		defer c.o.Cache.Close()
		blind := race{table: m, loser: []string{add("blind")}}.transaction(t)
		many := c.CheckMany(context.Background(), []*Transaction{txn, blind, txn}, Newest)
		same(rt, "in company", stats, many[0])
		same(rt, "in company", stats, many[2])
		if many[1].Outcome != Clear {
			rt.Errorf("a blind append: %v", many[1].Conflict)
		}
		explained(rt, c, txn, stats)
	})
}

// explained checks that an explanation tells the same story as the answer of mode Stats.
func explained(t *rapid.T, c *Checker, txn *Transaction, stats Result) {
	e, err := c.Explain(context.Background(), txn, Newest)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range e.Winners {
		if r.Err != nil {
			t.Fatalf("version %d: %v", r.Winner.Version, r.Err)
		}
		if n := r.Reached(); int64(len(r.Files)) != min(n, maxReached) || n < 0 {
			t.Errorf("version %d: %d files reached, %d listed", r.Winner.Version, n, len(r.Files))
		}
		f := stats.Conflict
		switch {
		case f == nil && r.Reached() > 0, f != nil && r.Winner.Version < f.Winner.Version && r.Reached() > 0:
			t.Errorf("version %d passed, and reaches %+v", r.Winner.Version, r.Files)
		case f != nil && r.Winner.Version == f.Winner.Version && f.Kind == ConcurrentAppend:
			if r.Reached() == 0 || r.Files[0].Path != f.Path || r.Files[0].Reason != f.Reason || r.Files[0].Ranges != f.Ranges {
				t.Errorf("the conflict is %+v, the explanation %+v", f, r)
			}
		case f != nil && r.Winner.Version == f.Winner.Version && r.Reached() > 0:
			t.Errorf("%s although added files are reached: %+v", f.Kind, r.Files)
		}
	}
}

func logOfRandom(t *rapid.T, winners []randomWinner, withStats bool) *deltalog.Log {
	store := &storetest.Mem{}
	for i, w := range winners {
		if err := store.PutIfAbsent(context.Background(), deltalog.CommitName(int64(i)+2), []byte(strings.Join(w.lines(withStats), "\n"))); err != nil {
			t.Fatal(err)
		}
	}
	return deltalog.Open(store, deltalog.Options{})
}

// same compares answers as callers see them.
func same(t *rapid.T, what string, a, b Result) {
	t.Helper()
	show := func(r Result) string {
		if f := r.Conflict; f != nil {
			return fmt.Sprintf("%s %d %s %d", f.Kind, f.Winner.Version, f.Path, f.Read)
		}
		return fmt.Sprintf("%s %d %s", r.Outcome, r.Version, text(r.Actions))
	}
	if x, y := show(a), show(b); x != y {
		t.Errorf("%s: %s, and %s", what, x, y)
	}
}

// missedRow returns the first winner that counts and holds a row for which some read is TRUE, evaluated row by row.
func missedRow(t *rapid.T, txn *Transaction, winners []randomWinner, level string) (int64, bool) {
	table, err := schema.Parse(txn.Metadata.SchemaString, txn.Metadata.PartitionColumns, txn.Metadata.Configuration)
	if err != nil {
		t.Fatal(err)
	}
	for v, w := range winners {
		blind := strings.Contains(w.info, "true") && len(w.other) == 0
		if level == "WriteSerializable" && blind {
			continue
		}
		for _, read := range txn.Reads {
			e, err := predicate.Parse(read.SQL, predicate.ParseOptions{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := predicate.Bind(e, table, txn.Env)
			if err != nil {
				t.Fatalf("%s: %v", read, err)
			}
			for _, f := range w.files {
				for i := range f.rows {
					if got, err := p.Eval(fileRow{f, i}); err == nil && !got.Null && got.I == 1 {
						return int64(v) + 2, true
					}
				}
			}
		}
	}
	return 0, false
}
