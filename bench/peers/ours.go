package main

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
	"github.com/deltaskip/deltaskip/vectorized"
)

// ours are deltaskip's own steps, as its users would write them.
func ours(dir string, s *settings, threads int) map[string]func() (func() (int64, error), error) {
	o := &engine{dir: dir, s: s, threads: threads}
	kernel := func(table, sql string) func() (func() (int64, error), error) {
		return func() (func() (int64, error), error) { return o.kernel(table, sql) }
	}
	once := func(f func() (int64, error)) func() (func() (int64, error), error) {
		return func() (func() (int64, error), error) { return f, nil }
	}
	idIn := func(b [2]int64) string { return fmt.Sprintf("id BETWEEN %d AND %d", b[0], b[1]) }
	return map[string]func() (func() (int64, error), error){
		"kernel range": kernel("struct", idIn(s.Range)),
		"kernel large": kernel("large", idIn(s.Range)),
		"kernel pairs": kernel("struct", fmt.Sprintf("(p = 3 AND country = 'DE' AND quantity < 100000) OR "+
			"(p = 50 AND price < 100) OR (p = 77 AND id BETWEEN %d AND %d)", s.Pair[0], s.Pair[1])),
		"kernel prefix": kernel("struct", "user LIKE 'user-000%'"),
		"kernel timestamp": kernel("struct",
			fmt.Sprintf("ts >= TIMESTAMP '%s' AND ts < TIMESTAMP '%s'", s.Timestamp[0], s.Timestamp[1])),
		"kernel isnull": kernel("struct", "amount IS NULL"),
		"json 2":        func() (func() (int64, error), error) { return o.json("id", "ts") },
		"json 16":       func() (func() (int64, error), error) { return o.json(s.names()...) },
		"leaves":        o.leaves,
		"cold struct":   once(func() (int64, error) { return o.files("struct", idIn(s.Range)) }),
		"cold json":     once(func() (int64, error) { return o.files("json", idIn(s.Range)) }),
		"commit":        once(func() (int64, error) { return o.files("commit", idIn(s.InCommit)) }),
		"first struct":  once(func() (int64, error) { return o.first("struct", idIn(s.First)) }),
		"first json":    once(func() (int64, error) { return o.first("json", idIn(s.First)) }),
		"check cold":    func() (func() (int64, error), error) { return o.check(true) },
		"check cached":  func() (func() (int64, error), error) { return o.check(false) },
		"append 1":      func() (func() (int64, error), error) { return o.append(1) },
		"append 8":      o.appendProcesses,
		"append 64":     func() (func() (int64, error), error) { return o.append(64) },
		"clash random":  func() (func() (int64, error), error) { return o.clash("random") },
		"clash runs":    func() (func() (int64, error), error) { return o.clash("runs") },
	}
}

type engine struct {
	dir     string
	s       *settings
	threads int
}

var background = context.Background()

// open opens a table of the run.
func (o *engine) open(table string) (*logstore.Local, *deltalog.Log, error) {
	store, err := logstore.OpenLocal(filepath.Join(o.dir, table))
	if err != nil {
		return nil, nil, err
	}
	return store, deltalog.Open(store, deltalog.Options{}), nil
}

// snapshot lends the newest snapshot of a table to f.
func (o *engine) snapshot(table string, f func(s *deltalog.Snapshot) error) error {
	store, log, err := o.open(table)
	if err != nil {
		return err
	}
	defer store.Close()
	s, err := log.Snapshot(background, deltalog.SnapshotOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	return f(s)
}

// program compiles a predicate for a snapshot's table.
func (o *engine) program(s *deltalog.Snapshot, sql string) (*vectorized.Program, error) {
	table, err := s.Table()
	if err != nil {
		return nil, err
	}
	expr, err := predicate.Parse(sql, predicate.ParseOptions{})
	if err != nil {
		return nil, err
	}
	read, err := predicate.Bind(expr, table, predicate.Env{})
	if err != nil {
		return nil, err
	}
	return vectorized.Compile([]*predicate.Predicate{read}, vectorized.Options{Workers: o.threads})
}

// kernel evaluates batches that are in memory.
func (o *engine) kernel(table, sql string) (func() (int64, error), error) {
	var p *vectorized.Program
	var batches []*colstats.Batch
	err := o.snapshot(table, func(s *deltalog.Snapshot) (err error) {
		if p, err = o.program(s, sql); err != nil {
			return err
		}
		for b, err := range s.Batches(background, p.Layout(), deltalog.BatchOptions{}) {
			if err != nil {
				return err
			}
			b.Retain()
			batches = append(batches, b)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	runtime.GC()
	part := func(from int, n *int64, scratch *vectorized.Scratch) error {
		for i := from; i < len(batches); i += o.threads {
			r, err := p.Eval(batches[i], scratch)
			if err != nil {
				return err
			}
			for _, w := range r.May {
				*n += int64(bits.OnesCount64(w))
			}
		}
		return nil
	}
	scratch := make([]vectorized.Scratch, o.threads)
	counts, errs := make([]int64, o.threads), make([]error, o.threads)
	return func() (int64, error) {
		var group sync.WaitGroup
		clear(counts)
		for i := 1; i < o.threads; i++ {
			group.Go(func() { errs[i] = part(i, &counts[i], &scratch[i]) })
		}
		errs[0] = part(0, &counts[0], &scratch[0])
		group.Wait()
		sum := int64(0)
		for _, n := range counts {
			sum += n
		}
		return sum, errors.Join(errs...)
	}, nil
}

// json decodes the action lines of a commit that are in memory.
func (o *engine) json(columns ...string) (func() (int64, error), error) {
	lines, err := commitLines(o.dir)
	if err != nil {
		return nil, err
	}
	table, err := o.s.table()
	if err != nil {
		return nil, err
	}
	layout := &colstats.Layout{Table: table}
	for _, name := range columns {
		c, err := table.Lookup(name)
		if err != nil {
			return nil, err
		}
		layout.Demands = append(layout.Demands, colstats.Demand{Column: c, Bounds: true, Nulls: true})
	}
	builder := colstats.NewBuilder(layout, colstats.Options{})
	return func() (n int64, err error) {
		var l colstats.Line
		for _, line := range lines {
			if builder.Len() == colstats.MaxBatchLen {
				builder.Flush().Release()
			}
			if err := builder.AppendLine(line, &l); err != nil {
				return 0, err
			}
			n++
		}
		builder.Flush().Release()
		return n, nil
	}, nil
}

// leaves reads four leaves of a checkpoint into batches.
func (o *engine) leaves() (func() (int64, error), error) {
	table, err := o.s.table()
	if err != nil {
		return nil, err
	}
	id, err := table.Lookup("id")
	if err != nil {
		return nil, err
	}
	layout := &colstats.Layout{Table: table, Demands: []colstats.Demand{{Column: id, Bounds: true, Nulls: true}}}
	return func() (n int64, err error) {
		err = o.snapshot("struct", func(s *deltalog.Snapshot) error {
			for b, err := range s.Batches(background, layout, deltalog.BatchOptions{}) {
				if err != nil {
					return err
				}
				n += int64(b.Len())
			}
			return nil
		})
		return n, err
	}, nil
}

// files opens a table and counts the files that may match.
func (o *engine) files(table, sql string) (n int64, err error) {
	err = o.snapshot(table, func(s *deltalog.Snapshot) error {
		p, err := o.program(s, sql)
		if err != nil {
			return err
		}
		src := s.Batches(background, p.Layout(), deltalog.BatchOptions{Prune: p.Prune()})
		_, err = p.Scan(background, src, func(_ *colstats.Batch, _ int64, r vectorized.Result) error {
			for _, w := range r.May {
				n += int64(bits.OnesCount64(w))
			}
			return nil
		})
		return err
	})
	return n, err
}

// first opens a table and finds the first file that may match.
func (o *engine) first(table, sql string) (n int64, err error) {
	err = o.snapshot(table, func(s *deltalog.Snapshot) error {
		p, err := o.program(s, sql)
		if err != nil {
			return err
		}
		hit, _, err := p.First(background, s.Batches(background, p.Layout(), deltalog.BatchOptions{Prune: p.Prune()}))
		if err == nil && hit != nil {
			n = 1
		}
		return err
	})
	return n, err
}

// check checks a transaction that read version 0 against every commit since.
func (o *engine) check(cold bool) (func() (int64, error), error) {
	_, log, err := o.open("winners")
	if err != nil {
		return nil, err
	}
	base := int64(0)
	s, err := log.Snapshot(background, deltalog.SnapshotOptions{Version: &base})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	txn := &conflict.Transaction{
		Reads:      []conflict.Read{{SQL: "id < 0"}},
		Actions:    []action.Action{&action.Add{Path: "new.parquet", PartitionValues: map[string]*string{}, DataChange: true}},
		CommitInfo: &action.CommitInfo{},
	}
	txn.CommitInfo.SetBool("isBlindAppend", false)
	if err := txn.ReadFrom(s); err != nil {
		return nil, err
	}
	fresh := func() (*conflict.Checker, error) {
		return conflict.NewChecker(log, conflict.Options{Mode: conflict.Stats, Cache: conflict.NewWinnerCache(1 << 30)})
	}
	checker, err := fresh()
	if err != nil {
		return nil, err
	}
	run := func() (int64, error) {
		if cold {
			if checker, err = fresh(); err != nil {
				return 0, err
			}
		}
		r, err := checker.Check(background, txn, conflict.Newest)
		if err != nil {
			return 0, err
		}
		if r.Outcome != conflict.Clear {
			return 0, r.Conflict
		}
		return r.Counts.Winners, nil
	}
	_, err = run()
	return run, err
}

// clash looks for rows that two vectors have in common, from their bytes.
func (o *engine) clash(shape string) (func() (int64, error), error) {
	var blobs [2][]byte
	for i, name := range []string{"a.dv", "b.dv"} {
		var err error
		if blobs[i], err = os.ReadFile(filepath.Join(o.dir, shape, name)); err != nil {
			return nil, err
		}
	}
	return func() (int64, error) {
		a, err := deletionvector.Decode(blobs[0])
		if err != nil {
			return 0, err
		}
		b, err := deletionvector.Decode(blobs[1])
		if err != nil {
			return 0, err
		}
		return deletionvector.OverlapOf(a, b, nil).Count, nil
	}, nil
}

// newTable makes an empty table to append to.
func (o *engine) newTable() (dir string, err error) {
	if dir, err = os.MkdirTemp(o.dir, "append-"); err != nil {
		return "", err
	}
	store, err := logstore.CreateLocal(dir)
	if err != nil {
		return "", err
	}
	defer store.Close()
	create := action.Append(nil, &action.Protocol{MinReaderVersion: 1, MinWriterVersion: 2})
	create = action.Append(append(create, '\n'), &action.Metadata{
		ID: "append", Format: action.Format{Provider: "parquet", Options: map[string]string{}}, PartitionColumns: []string{},
		SchemaString:  `{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}`,
		Configuration: map[string]string{},
	})
	return dir, store.PutIfAbsent(background, deltalog.CommitName(0), append(create, '\n'))
}

// appendTo has n committers of this process append rows to a table: each a data file, as large as that of delta-rs and not
// synced either, and a commit.
func appendTo(dir string, committers, commits int) (int64, error) {
	store, err := logstore.OpenLocal(dir)
	if err != nil {
		return 0, err
	}
	defer store.Close()
	log := deltalog.Open(store, deltalog.Options{})
	o := conflict.CommitOptions{SkipProbe: true}
	commit := func(context.Context, *conflict.Transaction) (conflict.Committed, error) {
		return conflict.Committed{}, nil
	}
	if committers > 1 {
		g, err := conflict.NewGroupCommitter(background, log, conflict.GroupOptions{CommitOptions: o})
		if err != nil {
			return 0, err
		}
		defer g.Close()
		commit = g.Commit
	} else {
		c, err := conflict.NewCommitter(background, log, o)
		if err != nil {
			return 0, err
		}
		commit = c.Commit
	}
	s, err := log.Snapshot(background, deltalog.SnapshotOptions{})
	if err != nil {
		return 0, err
	}
	base := &conflict.Transaction{}
	if err := errors.Join(base.ReadFrom(s), s.Close()); err != nil {
		return 0, err
	}
	data := make([]byte, 500) // what a parquet file of one row takes
	var left, done atomic.Int64
	left.Store(int64(commits))
	errs := make([]error, committers)
	var group sync.WaitGroup
	for i := range committers {
		group.Go(func() {
			txn := *base
			for left.Add(-1) >= 0 {
				name := fmt.Sprintf("part-%d-%d-%d.parquet", os.Getpid(), i, done.Load())
				if errs[i] = os.WriteFile(filepath.Join(dir, name), data, 0o666); errs[i] != nil {
					return
				}
				txn.Actions = []action.Action{&action.Add{
					Path: name, PartitionValues: map[string]*string{}, Size: 500, DataChange: true,
					Stats: `{"numRecords":1,"minValues":{"id":1},"maxValues":{"id":1},"nullCount":{"id":0}}`,
				}}
				got, err := commit(background, &txn)
				if errs[i] = err; err != nil {
					return
				}
				txn.ReadVersion = got.Version
				done.Add(1)
			}
		})
	}
	group.Wait()
	return done.Load(), errors.Join(errs...)
}

func (o *engine) append(committers int) (func() (int64, error), error) {
	dir, err := o.newTable()
	if err != nil {
		return nil, err
	}
	commits := o.s.Appends
	if committers > 1 {
		commits *= 20 // or it is over before it has begun
	}
	return func() (int64, error) { return appendTo(dir, committers, commits) }, nil
}

// appendProcesses has eight processes append, each for itself. Starting them is part of it.
func (o *engine) appendProcesses() (func() (int64, error), error) {
	dir, err := o.newTable()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	each := o.s.Appends / 8
	return func() (int64, error) {
		errs := make([]error, 8)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() { errs[i] = exec.Command(self, "append", dir, fmt.Sprint(each)).Run() })
		}
		group.Wait()
		return int64(8 * each), errors.Join(errs...)
	}, nil
}

// table is the schema of the run's tables.
func (s *settings) table() (*schema.Table, error) {
	m, err := s.workload().Metadata()
	if err != nil {
		return nil, err
	}
	return schema.Parse(m.SchemaString, m.PartitionColumns, m.Configuration)
}
