package simulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
)

// A data file: its rows in their order, those that deletion vectors mark included.
type data struct {
	path      string
	partition opt[int32] // where the table has partitions
	rows      []row
	sources   []source // of a file that a compaction wrote
}

// A source is a part of a compacted file: the rows of a file that were live under a vector.
type source struct {
	path    string
	deleted *deletionvector.Vector
}

// A file of one version of the table.
type file struct {
	*data
	add     *action.Add
	deleted *deletionvector.Vector
}

// live returns the rows that are not deleted, in order.
func (f *file) live() []row {
	rows := make([]row, 0, len(f.rows))
	for i, r := range f.rows {
		if !f.deleted.Contains(int64(i)) {
			rows = append(rows, r)
		}
	}
	return rows
}

// A version is the table as the log has it, read by this package's own replay. It never changes.
type version struct {
	number  int64
	info    *action.CommitInfo
	adds    []*action.Add
	removes []*action.Remove
	files   map[string]*file // by path
	rows    map[int64]row
	// unseen tells of rows that a blind append added, by id, the version, as long as no commit that changes data has written
	// their file again: under WriteSerializable, transactions that read an earlier version don't see them.
	unseen map[int64]int64
}

func (v *version) paths() []string { return slices.Sorted(maps.Keys(v.files)) }

// blind reports whether the commit says that it appended without reading, as conflicts.md section 3 has it.
func (v *version) blind() bool {
	flag := v.info.IsBlindAppend()
	return flag != nil && *flag && len(v.removes) == 0
}

// A world is the table in its store, and what this package knows about it without asking the project.
type world struct {
	store       logstore.Store // without faults
	metadata    *action.Metadata
	partitioned bool
	hot         bool // few files, in which most writers mark rows
	eager       bool // data files are written at once, not when they are first opened

	mu       sync.Mutex
	data     map[string]*data // by path
	versions []*version       // as far as they were looked at
}

// create adds a data file with rows of one partition.
func (w *world) create(ctx context.Context, path string, rows []row, sources ...source) (*data, error) {
	d := &data{path: path, rows: rows, sources: sources}
	if w.partitioned {
		d.partition = rows[0].p
	}
	w.mu.Lock()
	w.data[path] = d
	w.mu.Unlock()
	if w.eager {
		return d, w.materialise(ctx, path)
	}
	return d, nil
}

// materialise writes a data file if it isn't there yet. Few are ever read, and encoding parquet costs more than all the rest.
func (w *world) materialise(ctx context.Context, path string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.data[path]
	if d == nil {
		return nil
	}
	if f, err := w.store.Open(ctx, path); err == nil {
		return f.Close()
	}
	encoded, err := encode(d.rows, w.partitioned, 4)
	if err != nil {
		return err
	}
	return w.store.PutIfAbsent(ctx, path, encoded)
}

// lazyStore is a world's store as writers see it.
type lazyStore struct {
	logstore.Store
	world *world
}

// Open implements [logstore.Store].
func (s lazyStore) Open(ctx context.Context, name string) (logstore.File, error) {
	if err := s.world.materialise(ctx, name); err != nil {
		return nil, err
	}
	return s.Store.Open(ctx, name)
}

// newest returns the newest version in the log.
func (w *world) newest(ctx context.Context) (*version, error) {
	for {
		v, err := w.next(ctx)
		if err != nil {
			return nil, err
		}
		if v == nil {
			return w.versions[len(w.versions)-1], nil
		}
		w.versions = append(w.versions, v)
	}
}

// next reads the commit after those that are known; nil when there is none.
func (w *world) next(ctx context.Context) (*version, error) {
	number := int64(len(w.versions))
	text, _, err := w.store.Get(ctx, deltalog.CommitName(number), 1<<30)
	if errors.Is(err, logstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := &version{number: number, info: &action.CommitInfo{}, files: map[string]*file{}, rows: map[int64]row{}, unseen: map[int64]int64{}}
	if number > 0 {
		maps.Copy(v.files, w.versions[number-1].files)
	}
	for a, err := range action.All(bytes.NewReader(text), 0) {
		if err != nil {
			return nil, fmt.Errorf("version %d: %w", number, err)
		}
		switch a := a.(type) {
		case *action.CommitInfo:
			v.info = a
		case *action.Add:
			v.adds = append(v.adds, a)
		case *action.Remove:
			v.removes = append(v.removes, a)
		}
	}
	if err := w.replay(ctx, v); err != nil {
		return nil, fmt.Errorf("version %d: %w", number, err)
	}
	return v, nil
}

// replay applies a commit's file actions: all removes are of what is there, and then all adds of what is not.
func (w *world) replay(ctx context.Context, v *version) error {
	for _, r := range v.removes {
		f := v.files[r.Path]
		if f == nil || f.add.Key() != r.Key() {
			return fmt.Errorf("it removes %v, which is not in the table", r.Key())
		}
		delete(v.files, r.Path)
	}
	for _, a := range v.adds {
		if f := v.files[a.Path]; f != nil && f.add.Key() != a.Key() {
			return fmt.Errorf("it adds %v, and %v is still in the table", a.Key(), f.add.Key())
		}
		d := w.data[a.Path]
		if d == nil {
			return fmt.Errorf("it adds %s, which nobody wrote", a.Path)
		}
		deleted, err := deletionvector.Load(ctx, a.DeletionVector, int64(len(d.rows)), deletionvector.Limits{}, func(ctx context.Context, path string, _ bool) (deletionvector.File, error) {
			return w.store.Open(ctx, path)
		})
		if err != nil {
			return fmt.Errorf("it adds %s: %w", a.Path, err)
		}
		f := &file{data: d, add: a, deleted: deleted}
		if err := f.check(w.partitioned); err != nil {
			return fmt.Errorf("it adds %s: %w", a.Path, err)
		}
		v.files[a.Path] = f
	}
	for _, path := range v.paths() {
		for _, r := range v.files[path].live() {
			if other, twice := v.rows[r.id]; twice {
				return fmt.Errorf("row %d is in the table twice: %s and %s", r.id, other, r)
			}
			v.rows[r.id] = r
		}
	}
	if v.number > 0 {
		v.see(w.versions[v.number-1])
	}
	return nil
}

// see notes down which rows nobody need have seen.
func (v *version) see(before *version) {
	for id, since := range before.unseen {
		if _, ok := v.rows[id]; ok {
			v.unseen[id] = since
		}
	}
	if v.blind() {
		for id := range v.rows {
			if _, ok := before.rows[id]; !ok {
				v.unseen[id] = v.number
			}
		}
		return
	}
	for _, a := range v.adds {
		if a.DataChange {
			for _, r := range v.files[a.Path].live() {
				delete(v.unseen, r.id)
			}
		}
	}
}

// visible returns the rows that a transaction sees which read version at and takes its place right after v.
func (v *version) visible(level conflict.Level, at int64) []row {
	rows := sorted(v.rows)
	if level == conflict.WriteSerializable {
		rows = slices.DeleteFunc(rows, func(r row) bool { return v.unseen[r.id] > at })
	}
	return rows
}

// check checks what an add action says about its file.
func (f *file) check(partitioned bool) error {
	if partitioned {
		value, ok := f.add.PartitionValues["p"]
		if !ok || (value != nil) != f.partition.ok || value != nil && *value != fmt.Sprint(f.partition.v) {
			return fmt.Errorf("partition values %v, and the file is in %s", f.add.PartitionValues, f.partition)
		}
	}
	return claims(f.add.Stats, f.live(), len(f.rows))
}

// partitionValues are those of a file in the log.
func (w *world) partitionValues(p opt[int32]) map[string]*string {
	switch {
	case !w.partitioned:
		return map[string]*string{}
	case !p.ok:
		return map[string]*string{"p": nil}
	}
	text := strconv.Itoa(int(p.v))
	return map[string]*string{"p": &text}
}

// readBack compares the data files that lie in the store with what they should hold.
func (w *world) readBack(ctx context.Context) error {
	for _, path := range slices.Sorted(maps.Keys(w.data)) {
		d := w.data[path]
		f, err := w.store.Open(ctx, path)
		if errors.Is(err, logstore.ErrNotFound) {
			continue // nobody opened it
		}
		if err != nil {
			return err
		}
		encoded, err := io.ReadAll(logstore.NewReader(f))
		f.Close()
		if err != nil {
			return err
		}
		rows, err := decode(ctx, encoded, w.partitioned, d.partition)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if !slices.Equal(rows, d.rows) {
			return fmt.Errorf("%s holds %v, not %v", path, rows, d.rows)
		}
	}
	return nil
}
