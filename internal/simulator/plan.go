package simulator

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deletionvector"
)

// A planner turns a transaction on rows into one on files, as some engine would.
type planner struct {
	world *world
	d     dice
	name  string
	at    *version
	ids   int64 // above all ids
	habit habit
	marks int // of 4 files, so many have deleted rows marked; the others are written anew

	// What the kind of transaction asks for beyond changed rows.
	firstID    int64 // of new rows
	dataChange bool
	restored   map[string]*file // the files that are to be there afterwards; nil where nothing is restored
	compact    [][]string       // groups of files, each to become one
	sorts      bool             // compaction sorts the rows
	recompute  []string
	record     []conflict.CompactedFile // what compaction tells of its files

	actions []action.Action
	marked  []*action.Add
	vectors []*deletionvector.Vector
	written int
}

// plan makes a random transaction that read a version.
func (w *world) plan(ctx context.Context, d dice, name string, number int64, at *version) (*work, error) {
	spark := d.once(3)
	p := &planner{
		world: w, d: d, name: name, at: at, firstID: number * idsOfOne, dataChange: true,
		habit: d.habit(spark), marks: pick(d, 0, 2, 4, 4),
	}
	if w.hot {
		p.marks = pick(d, 2, 4, 4, 4)
	}
	for id := range at.rows {
		p.ids = max(p.ids, id+1)
	}
	p.ids = max(p.ids, 1)
	k := d.kind()
	t := &work{name: name, kind: k.name, at: at}
	k.make(p, t)
	t.changes = t.does(sorted(at.rows))
	var err error
	switch {
	case p.restored != nil:
		p.restoreFiles()
	case len(p.compact) > 0:
		err = p.compactFiles(ctx)
	case len(p.recompute) > 0:
		p.recomputeFiles()
	default:
		err = p.changeFiles(ctx, t.changes)
	}
	if err == nil {
		err = p.writeVectors(ctx)
	}
	if err != nil {
		return nil, err
	}
	t.sorts, t.vectors = p.sorts, map[string]*deletionvector.Vector{}
	for i, a := range p.marked {
		t.vectors[a.Path] = p.vectors[i]
	}
	for path, f := range p.restored {
		t.vectors[path] = f.deleted
	}
	t.txn = &conflict.Transaction{
		ReadVersion: at.number, Protocol: protocol, Metadata: w.metadata, Reads: t.reads(), ReadFiles: p.readFiles(t),
		ReadWholeTable: t.whole, Actions: p.actions, CommitInfo: &action.CommitInfo{},
	}
	t.txn.CommitInfo.SetString("txnId", name)
	t.txn.CommitInfo.SetString("operation", t.operation)
	if len(p.record) > 0 {
		conflict.RecordCompaction(t.txn.CommitInfo, p.record)
	}
	if spark {
		t.txn.CommitInfo.SetString("engineInfo", "Apache-Spark/4.1.0 Delta-Lake/4.4.0")
	}
	return t, nil
}

// readFiles are the files that a transaction looks into: at least those that hold rows which it reads.
func (p *planner) readFiles(t *work) (list []conflict.ReadFile) {
	deletedToo := p.d.once(2) // as if found by statistics that are wide
	for _, path := range p.at.paths() {
		f := p.at.files[path]
		rows := f.live()
		if deletedToo {
			rows = f.rows
		}
		reads := slices.Contains(t.files, path) || len(t.opaque) > 0 && !t.whole
		for i := range rows {
			for _, c := range t.conds {
				reads = reads || c.matches(&rows[i])
			}
		}
		if !reads && len(t.conds) > 0 {
			reads = p.d.once(300) // for no reason that it tells
		}
		if reads || t.whole && p.d.once(2) {
			read := conflict.ReadFile{Path: path, PartitionValues: f.add.PartitionValues}
			if f.add.DeletionVector != nil {
				read.DeletionVector = f.add.DeletionVector.UniqueID()
			}
			list = append(list, read)
		}
	}
	return list
}

func (p *planner) remove(f *file) {
	size, extended := f.add.Size, true
	p.actions = append(p.actions, &action.Remove{
		Path: f.path, DataChange: p.dataChange, ExtendedFileMetadata: &extended, PartitionValues: f.add.PartitionValues, Size: &size,
		DeletionVector: f.add.DeletionVector,
	})
}

// again adds a file as an action had it.
func (p *planner) again(a *action.Add) *action.Add {
	c := *a
	c.DataChange = p.dataChange
	p.actions = append(p.actions, &c)
	return &c
}

// write adds a new file with rows of one partition.
func (p *planner) write(ctx context.Context, rows []row, sources ...source) error {
	path := fmt.Sprintf("%s-%d.parquet", p.name, p.written)
	p.written++
	d, err := p.world.create(ctx, path, rows, sources...)
	if err != nil {
		return err
	}
	a := &action.Add{
		Path: path, PartitionValues: p.world.partitionValues(d.partition), Size: 1000, DataChange: p.dataChange,
		Stats: p.habit.gather(rows, len(rows), p.world.partitioned),
	}
	if len(sources) > 0 {
		c := conflict.CompactedFile{Path: path}
		for _, s := range sources {
			f := p.at.files[s.path]
			c.Sources = append(c.Sources, conflict.CompactionSource{Path: f.path, NumRecords: int64(len(f.rows)), DeletionVector: f.add.DeletionVector})
		}
		p.record = append(p.record, c)
	}
	p.actions = append(p.actions, a)
	return nil
}

// writeByPartition adds new files for rows of any partition.
func (p *planner) writeByPartition(ctx context.Context, rows []row) error {
	groups := map[opt[int32]][]row{}
	for _, r := range rows {
		part := opt[int32]{}
		if p.world.partitioned {
			part = r.p
		}
		groups[part] = append(groups[part], r)
	}
	for _, part := range slices.SortedFunc(maps.Keys(groups), comparePartitions) {
		group := groups[part]
		if len(group) > 2 && p.d.once(3) {
			if err := p.write(ctx, group[:2]); err != nil {
				return err
			}
			group = group[2:]
		}
		if err := p.write(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

func comparePartitions(a, b opt[int32]) int {
	if a.ok != b.ok {
		if a.ok {
			return 1
		}
		return -1
	}
	return int(a.v - b.v)
}

// changeFiles makes the actions that change rows: files are written anew, or their rows marked.
func (p *planner) changeFiles(ctx context.Context, c changes) error {
	var fresh []row
	done := map[int64]bool{}
	for _, path := range p.at.paths() {
		f := p.at.files[path]
		var touched []int64
		var kept, moved []row
		for i, r := range f.rows {
			if f.deleted.Contains(int64(i)) {
				continue
			}
			now, changed := c[r.id]
			if !changed {
				kept = append(kept, r)
				continue
			}
			touched = append(touched, int64(i))
			done[r.id] = true
			switch {
			case !now.ok:
			case p.world.partitioned && now.v.p != f.partition:
				moved = append(moved, now.v)
			default:
				kept = append(kept, now.v)
			}
		}
		if len(touched) == 0 {
			continue
		}
		p.remove(f)
		if p.d.IntN(4) < p.marks && int64(len(touched))+f.deleted.Cardinality() < int64(len(f.rows)) {
			for _, i := range touched {
				if now := c[f.rows[i].id]; now.ok {
					fresh = append(fresh, now.v)
				}
			}
			a := p.again(f.add)
			deleted := f.deleted.Union(deletionvector.Of(touched...))
			if p.d.once(4) { // some gather statistics of the rows that are left
				a.Stats = p.habit.gather((&file{data: f.data, deleted: deleted}).live(), len(f.rows), p.world.partitioned)
			} else {
				a.Stats = wide(a.Stats, p.d.Int64N)
			}
			p.marked = append(p.marked, a)
			p.vectors = append(p.vectors, deleted)
			continue
		}
		fresh = append(fresh, moved...)
		if len(kept) > 0 {
			if err := p.write(ctx, kept); err != nil {
				return err
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c)) {
		if r := c[id]; r.ok && !done[id] {
			fresh = append(fresh, r.v)
		}
	}
	return p.writeByPartition(ctx, fresh)
}

// restoreFiles makes the actions that lead back to other files.
func (p *planner) restoreFiles() {
	for _, path := range p.at.paths() {
		if f, then := p.at.files[path], p.restored[path]; then == nil || then.add.Key() != f.add.Key() {
			p.remove(f)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(p.restored)) {
		if f, then := p.at.files[path], p.restored[path]; f == nil || then.add.Key() != f.add.Key() {
			p.again(then.add)
		}
	}
}

func (p *planner) compactFiles(ctx context.Context) error {
	for _, group := range p.compact {
		var rows []row
		var sources []source
		for _, path := range group {
			f := p.at.files[path]
			p.remove(f)
			rows = append(rows, f.live()...)
			sources = append(sources, source{path, f.deleted})
		}
		if p.sorts {
			slices.SortFunc(rows, func(a, b row) int { return int(a.k - b.k) })
			sources = nil
		}
		if err := p.write(ctx, rows, sources...); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) recomputeFiles() {
	for _, path := range p.recompute {
		f := p.at.files[path]
		a := p.again(f.add)
		a.Stats = p.habit.gather(f.live(), len(f.rows), p.world.partitioned)
		if p.d.once(3) {
			a.Stats = wide(p.habit.gather(f.rows, len(f.rows), p.world.partitioned), p.d.Int64N)
		}
	}
}

// writeVectors stores the vectors of the files whose rows were marked.
func (p *planner) writeVectors(ctx context.Context) error {
	if len(p.vectors) == 0 {
		return nil
	}
	o := deletionvector.PackOptions{NewID: func() (uuid.UUID, error) {
		var random [16]byte
		for i := range random {
			random[i] = byte(p.d.Uint32())
		}
		return uuid.NewRandomFromReader(bytes.NewReader(random[:]))
	}}
	if p.d.once(3) {
		o.Inline = 1 << 10
	}
	files, descriptors, err := deletionvector.Pack(p.vectors, o)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := p.world.store.PutIfAbsent(ctx, f.Path, f.Data); err != nil {
			return err
		}
	}
	for i, a := range p.marked {
		a.DeletionVector = &descriptors[i]
	}
	return nil
}
