package simulator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

const (
	maxWriters = 5
	maxEach    = 6
	// MaxTransactions is the highest number that a transaction of a run can have.
	MaxTransactions = maxWriters * maxEach
)

// Config says which run it is.
type Config struct {
	Seed uint64 // decides everything that the other fields don't
	Mode Mode
	Skip map[int64]bool // transactions to leave out, by their number from 1: for finding the shortest run that fails
	// Store is the table's store; nil means a new one in memory, into which data files are only written when they are read.
	Store logstore.Store
}

// A Mode is a name for some options of the checks.
type Mode struct {
	Name    string
	Options conflict.Options
}

// Modes are what the project has on offer: from what Delta does to all that it can.
var Modes = []Mode{
	{"off", conflict.Options{}},
	{"stats", conflict.Options{Mode: conflict.Stats}},
	{"exact", conflict.Options{Mode: conflict.Exact}},
	{"merged marks", conflict.Options{Mode: conflict.Stats, RowLevel: true}},
	{"removed rows", conflict.Options{Mode: conflict.Exact, RemovedRows: true}},
	{"rearranged", conflict.Options{Mode: conflict.Stats, Rearranged: true, Compaction: true}},
	{"row level", conflict.Options{Mode: conflict.Exact, RemovedRows: true, RowLevel: true, Rearranged: true, Compaction: true}},
}

// A Report says what became of a run's transactions.
type Report struct {
	Faults       bool // things went wrong in the store
	Transactions int
	Commits      int // acknowledged
	Conflicts    int
	Unknown      int // whose outcome their writers never learnt
	Failed       int // because of the store, or for want of patience
	// Needless conflicts are those of transactions whose actions a perfect oracle, which knows the rows, would have let
	// commit; of Redoable ones the rows say that they change nothing, but their files would have to be written again.
	Needless int
	Redoable int
	// Blameless conflicts are those of transactions none of whose reads any row matches that changed, and whose actions could
	// be brought to bear: what is left to who knows the rows and the reads, but not what a transaction makes of them.
	Blameless int
	Why       map[string]int // needless conflicts by the kind of the transaction and the reason
}

// Add counts another run's transactions in.
func (r *Report) Add(o Report) {
	r.Transactions += o.Transactions
	r.Commits += o.Commits
	r.Conflicts += o.Conflicts
	r.Unknown += o.Unknown
	r.Failed += o.Failed
	r.Needless += o.Needless
	r.Redoable += o.Redoable
	r.Blameless += o.Blameless
	if r.Why == nil {
		r.Why = map[string]int{}
	}
	for k, n := range o.Why {
		r.Why[k] += n
	}
}

// protocol is the table's.
var protocol = &action.Protocol{
	MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"deletionVectors"}, WriterFeatures: []string{"deletionVectors"},
}

const schemaString = `{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},` +
	`{"name":"k","type":"integer","nullable":true,"metadata":{}},{"name":"x","type":"integer","nullable":true,"metadata":{}},` +
	`{"name":"f","type":"double","nullable":true,"metadata":{}},{"name":"s","type":"string","nullable":true,"metadata":{}},` +
	`{"name":"by","type":"string","nullable":true,"metadata":{}},{"name":"p","type":"integer","nullable":true,"metadata":{}}]}`

// An Anomaly is what must not happen.
type Anomaly struct {
	What    error
	History string
}

func (a *Anomaly) Error() string { return a.What.Error() + "\n" + a.History }
func (a *Anomaly) Unwrap() error { return a.What }

// A run is a table with its writers.
type run struct {
	Config
	world  *world
	stage  *stage
	works  map[string]*work                           // by transaction id
	acks   map[string]int64                           // versions of those that were told that they are committed
	open   map[string][]*conflict.OutcomeUnknownError // of those whose outcome is unknown: one for each time that they were told so
	level  conflict.Level
	faulty bool
	report Report
	wrong  error // found on the way
	told   []rejected
}

// rejected is a transaction with the conflict that ended it.
type rejected struct {
	work *work
	err  error
}

// Run plays one run and checks what came of it. The error is an [*Anomaly] or comes from this package.
func Run(ctx context.Context, c Config) (Report, error) {
	r, err := play(ctx, c)
	return r.report, err
}

func play(ctx context.Context, c Config) (*run, error) {
	d := newDice(c.Seed)
	r := &run{
		Config: c, works: map[string]*work{}, acks: map[string]int64{}, open: map[string][]*conflict.OutcomeUnknownError{},
		stage:  &stage{d: newDice(c.Seed, 1), now: time.UnixMilli(1_700_000_000_000)},
		level:  pick(d, conflict.Serializable, conflict.WriteSerializable),
		faulty: d.once(3),
		world:  &world{store: c.Store, partitioned: d.once(2), hot: d.once(3), eager: c.Store != nil, data: map[string]*data{}},
	}
	r.report.Why, r.report.Faults = map[string]int{}, r.faulty
	if c.Store == nil {
		r.world.store = &storetest.Mem{}
	}
	if err := r.create(ctx, newDice(c.Seed, 2)); err != nil {
		return r, err
	}
	actors := make([]*actor, 2+d.IntN(maxWriters-1))
	each := 2 + d.IntN(maxEach-1)
	for i := range actors {
		actors[i] = &actor{stage: r.stage, number: i, faulty: r.faulty, d: newDice(c.Seed, 3, uint64(i)), seed: c.Seed}
	}
	cache := conflict.NewWinnerCache(0)
	defer cache.Close()
	r.stage.play(actors, func(a *actor) {
		for i := range each {
			number := int64(a.number*each + i + 1)
			if r.wrong == nil && !c.Skip[number] {
				if err := r.transaction(ctx, a, number, cache); err != nil {
					r.wrong = err
				}
			}
		}
	})
	err := r.wrong
	if err == nil {
		err = r.verify(ctx)
	}
	if err != nil {
		return r, &Anomaly{err, r.history()}
	}
	return r, nil
}

// create writes version 0: the table with some files.
func (r *run) create(ctx context.Context, d dice) error {
	r.world.metadata = &action.Metadata{
		ID: "simulated", Format: action.Format{Provider: "parquet"}, SchemaString: schemaString, PartitionColumns: []string{},
		Configuration: map[string]string{"delta.isolationLevel": r.level.String(), "delta.enableDeletionVectors": "true"},
	}
	if r.world.partitioned {
		r.world.metadata.PartitionColumns = []string{"p"}
	}
	p := &planner{world: r.world, d: d, name: "first", dataChange: true, habit: d.habit(false), at: &version{}}
	files, each := 2+d.IntN(4), 2+d.IntN(5)
	if r.world.hot {
		files, each = 1+d.IntN(2), 8
	}
	for range files {
		centre := d.small(keys)
		var rows []row
		partition := d.partition()
		for range each {
			rows = append(rows, d.row(p.firstID, centre, partition, p.name))
			p.firstID++
		}
		if err := p.writeByPartition(ctx, rows); err != nil {
			return err
		}
	}
	text := append(action.Append(nil, protocol), '\n')
	text = append(action.Append(text, r.world.metadata), '\n')
	for _, a := range p.actions {
		text = append(action.Append(text, a), '\n')
	}
	return r.world.store.PutIfAbsent(ctx, deltalog.CommitName(0), text)
}

// transaction has an actor read the table, make a transaction, and commit it.
func (r *run) transaction(ctx context.Context, a *actor, number int64, cache *conflict.WinnerCache) error {
	d := newDice(r.Seed, 4, uint64(number))
	for range d.IntN(3) {
		a.pause()
	}
	at, err := r.world.newest(ctx)
	if err != nil {
		return err
	}
	if lag := int64(d.IntN(5) - 2); lag > 0 {
		at = r.world.versions[max(at.number-lag, 0)]
	}
	name := fmt.Sprintf("w%d-%d", a.number, number)
	w, err := r.world.plan(ctx, d, name, number+1, at)
	if err != nil {
		return fmt.Errorf("simulator: planning %s: %w", name, err)
	}
	r.works[name] = w
	for range d.IntN(5) {
		a.pause()
	}
	o := conflict.CommitOptions{
		Options: r.Mode.Options, SkipProbe: true, Clock: a, Random: a.d.Float64, Retries: 50,
		NewID: func() string { panic("every transaction has its id") },
	}
	o.Table, o.Cache, o.Workers, o.PartialCompaction = "t", cache, 1, r.Mode.Options.Compaction && d.once(2)
	if r.faulty {
		// What is in a cache depends on how far goroutines had come, and so does what a fault can befall.
		o.Cache = conflict.NewWinnerCache(0)
		defer o.Cache.Close()
		o.Retries = pick(d, -1, 0, 50)
	}
	committer, err := conflict.NewCommitter(ctx, deltalog.Open(a.store(lazyStore{r.world.store, r.world}), deltalog.Options{Workers: 1}), o)
	if err != nil {
		return err
	}
	commit := func() (conflict.Committed, error) {
		a.epoch = 0
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		a.cancel = cancel
		return committer.Commit(ctx, w.txn)
	}
	done, err := commit()
	var open *conflict.OutcomeUnknownError
	for err != nil && errors.As(err, &open) {
		r.open[w.name] = append(r.open[w.name], open)
		if d.once(2) {
			break
		}
		// This finds out what became of it, or does it. A failure doesn't tell: the first write may still be made.
		if again, failure := commit(); failure == nil || errors.As(failure, &open) {
			done, err = again, failure
		} else {
			break
		}
	}
	return r.outcome(w, done, err)
}

// outcome notes down what a writer was told.
func (r *run) outcome(w *work, done conflict.Committed, err error) error {
	r.report.Transactions++
	var f *conflict.Conflict
	switch {
	case err == nil:
		r.report.Commits++
		r.acks[w.name] = done.Version
	case errors.As(err, &f):
		r.report.Conflicts++
		r.told = append(r.told, rejected{w, err})
		return r.judge(w, f)
	case errors.Is(err, conflict.ErrOutcomeUnknown):
		r.report.Unknown++
	case !r.faulty:
		return fmt.Errorf("%s failed: %w", w.describe(), err)
	default:
		r.report.Failed++
	}
	return nil
}

// judge asks the oracle about a conflict.
func (r *run) judge(w *work, f *conflict.Conflict) error {
	now, err := r.world.newest(context.Background())
	if err != nil {
		return err
	}
	if w.same(f.Isolation.Level, now) {
		if w.applicable(now) {
			r.report.Needless++
			r.report.Why[fmt.Sprintf("%s: %s", w.kind, f.Reason)]++
		} else {
			r.report.Redoable++
		}
	}
	if !w.readsChanged(f.Isolation.Level, now) && w.applicable(now) {
		r.report.Blameless++
	}
	if err := r.truthful(w, f); err != nil {
		return fmt.Errorf("%s is told what is not true: %w: %w", w.describe(), err, f)
	}
	return nil
}

// truthful checks what a conflict says about rows.
func (r *run) truthful(w *work, f *conflict.Conflict) error {
	before, after := r.world.versions[f.Winner.Version-1], r.world.versions[f.Winner.Version]
	switch f.Reason {
	case conflict.SameRows:
		if w.same(f.Isolation.Level, after) && w.applicable(after) {
			return errors.New("it marks none of the rows that the winner marked")
		}
	case conflict.RowsMatch:
		if f.Read >= len(w.conds) {
			return nil // who knows which rows that one matches?
		}
		for _, row := range union(before.in(f.Path), after.in(f.Path)) {
			if w.conds[f.Read].matches(&row) {
				return nil
			}
		}
		return errors.New("no row that the winner added or removed matches")
	}
	return nil
}

// in returns the rows of a file that are not deleted.
func (v *version) in(path string) map[int64]row {
	rows := map[int64]row{}
	if f := v.files[path]; f != nil {
		for _, r := range f.live() {
			rows[r.id] = r
		}
	}
	return rows
}

// describe says for people what a transaction is.
func (w *work) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s at version %d", w.name, w.kind, w.operation, w.at.number)
	for _, read := range w.txn.Reads {
		fmt.Fprintf(&b, "; reads %s", read)
	}
	if w.whole {
		b.WriteString("; reads the whole table")
	}
	for _, f := range w.txn.ReadFiles {
		fmt.Fprintf(&b, "; file %s", f.Path)
	}
	b.WriteString("\n")
	for _, id := range slices.Sorted(maps.Keys(w.changes)) {
		fmt.Fprintf(&b, "      %d becomes %s\n", id, w.changes[id])
	}
	return b.String()
}

// history tells of all versions, for people.
func (r *run) history() string {
	var b strings.Builder
	fmt.Fprintf(&b, "mode %s, %s, partitioned %t, faults %t\n", r.Mode.Name, r.level, r.world.partitioned, r.faulty)
	for _, v := range r.world.versions {
		fmt.Fprintf(&b, "version %d", v.number)
		if w := r.works[v.info.TxnID()]; w != nil {
			fmt.Fprintf(&b, " (%s, blind %t): %s", v.info.IsolationLevel(), v.blind(), w.describe())
		} else {
			b.WriteString("\n")
		}
		for _, a := range v.removes {
			fmt.Fprintf(&b, "    - %s\n", a.Path)
		}
		for _, a := range v.adds {
			f := v.files[a.Path]
			fmt.Fprintf(&b, "    + %s dataChange %t, deleted %s, stats %s\n", a.Path, a.DataChange, f.deleted, a.Stats)
			for i, row := range f.rows {
				fmt.Fprintf(&b, "        %d %t %s\n", i, f.deleted.Contains(int64(i)), row)
			}
		}
	}
	for _, t := range r.told {
		fmt.Fprintf(&b, "conflict: %s    %v\n", t.work.describe(), t.err)
	}
	return b.String()
}
