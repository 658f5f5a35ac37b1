package deltalog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/ordered"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/schema"
)

// SnapshotOptions say which version is wanted. The zero value asks for the newest.
type SnapshotOptions struct {
	Version *int64
	Time    time.Time // the newest version that is not of a later time; not together with Version
}

// A Snapshot is the state of a table at one version. It is immutable; many goroutines may use it at once. Close ends it.
type Snapshot struct {
	Version  int64
	Protocol *action.Protocol
	Metadata *action.Metadata
	Txns     map[string]*action.Txn            // by application id
	Domains  map[string]*action.DomainMetadata // by domain, without those that were removed
	Info     *action.CommitInfo                // of the commit that made the version; nil where it has none or is gone

	log     *Log
	segment *segment
	replay  *replay
	state   *checkpoint.Checkpoint // nil without one
	table   func() (*schema.Table, error)
}

// Snapshot reads the table's state at a version. Where a checkpoint turns out to be damaged or incomplete and older ones or
// the commits themselves give the version as well, those are used. The caller closes the result.
func (l *Log) Snapshot(ctx context.Context, o SnapshotOptions) (*Snapshot, error) {
	version := o.Version
	if !o.Time.IsZero() {
		if version != nil {
			return nil, errors.New("deltalog: a snapshot by version and by time at once")
		}
		at, err := l.versionAt(ctx, o.Time)
		if err != nil {
			return nil, err
		}
		version = &at
	}
	if hint := l.hint(ctx); hint > 0 && (version == nil || hint <= *version) {
		// What goes wrong here is told better, or does not go wrong, with the whole listing.
		if ls, err := l.list(ctx, hint); err == nil && len(ls.checkpoints) > 0 {
			if ways, err := ls.segments(version); err == nil && len(ways[0].checkpoint.names) > 0 {
				if s, err := l.build(ctx, ways[0]); err == nil || !avoidable(err) {
					return s, err
				}
			}
		}
	}
	ls, err := l.list(ctx, 0)
	if err != nil {
		return nil, err
	}
	ways, err := ls.segments(version)
	if err != nil {
		return nil, err
	}
	var first error
	for _, way := range ways {
		s, err := l.build(ctx, way)
		if err == nil || !avoidable(err) {
			return s, err
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// avoidable reports whether an error is about a checkpoint, so that another way to the same version may not meet it.
func avoidable(err error) bool {
	var c *checkpoint.Error
	return errors.As(err, &c) && (errors.Is(err, checkpoint.ErrCorrupt) || errors.Is(err, logstore.ErrNotFound))
}

// build reads what a snapshot holds in memory.
func (l *Log) build(ctx context.Context, way *segment) (_ *Snapshot, err error) {
	s := &Snapshot{
		Version: way.version,
		Txns:    map[string]*action.Txn{},
		Domains: map[string]*action.DomainMetadata{},
		log:     l,
		segment: way,
	}
	defer func() {
		if err != nil {
			s.Close() // what went wrong before says more
		}
	}()
	if len(way.checkpoint.names) > 0 {
		if s.state, err = checkpoint.Open(ctx, l.store, way.checkpoint.names, l.o.Checkpoint); err != nil {
			return nil, fmt.Errorf("deltalog: %w", err)
		}
		for text, err := range s.state.Actions(ctx) {
			if err != nil {
				return nil, fmt.Errorf("deltalog: %w", err)
			}
			a, err := action.Parse(text)
			if err != nil {
				return nil, corrupt(way.checkpoint.names[0], 0, err)
			}
			s.apply(a)
		}
	}
	s.replay, err = l.replay(ctx, way.commits, s.state != nil, s.apply)
	if s.Protocol != nil {
		if unsupported := CheckReadable(s.Protocol); unsupported != nil {
			return nil, unsupported // also where a line is in error: what looks broken may be what the feature brings
		}
	}
	if err != nil {
		return nil, err
	}
	if way.head != nil && len(way.commits) == 0 { // the checkpoint has all of it but its commitInfo
		if s.Info, err = l.info(ctx, *way.head); err != nil && !errors.Is(err, ErrCorrupt) {
			return nil, err
		}
	}
	if s.Protocol == nil {
		return nil, fmt.Errorf("deltalog: version %d: %w", s.Version, ErrNoProtocol)
	}
	if s.Metadata == nil {
		return nil, fmt.Errorf("deltalog: version %d: %w", s.Version, ErrNoMetadata)
	}
	s.table = sync.OnceValues(func() (*schema.Table, error) {
		return schema.Parse(s.Metadata.SchemaString, s.Metadata.PartitionColumns, s.Metadata.Configuration)
	})
	return s, nil
}

// apply takes in an action that is not about files. Later ones override earlier ones.
func (s *Snapshot) apply(a action.Action) {
	switch a := a.(type) {
	case *action.Protocol:
		s.Protocol = a
	case *action.Metadata:
		s.Metadata = a
	case *action.Txn:
		s.Txns[a.AppID] = a
	case *action.DomainMetadata:
		if a.Removed {
			delete(s.Domains, a.Domain)
		} else {
			s.Domains[a.Domain] = a
		}
	case *action.CommitInfo:
		s.Info = a
	}
}

// Close releases the checkpoint's files. It must not be called while the snapshot is read, nor while a batch is held.
func (s *Snapshot) Close() error {
	if s.state == nil {
		return nil
	}
	return s.state.Close()
}

// Table returns the schema. The result is the same one each time.
func (s *Snapshot) Table() (*schema.Table, error) { return s.table() }

// BatchOptions say how the adds of a snapshot are read.
type BatchOptions struct {
	Stats  colstats.Options
	Prune  func(rowGroups *colstats.Batch) []uint64 // as in [checkpoint.Scan]
	Left   *checkpoint.Left                         // as in [checkpoint.Scan]
	Report *checkpoint.Report                       // as in [checkpoint.Scan]
}

// Batches yields the adds of the snapshot in log order, with what the layout demands of their statistics. Each batch is
// lent until the next step: who keeps it retains it. After an error nothing follows.
func (s *Snapshot) Batches(ctx context.Context, layout *colstats.Layout, o BatchOptions) iter.Seq2[*colstats.Batch, error] {
	return func(yield func(*colstats.Batch, error) bool) {
		if s.state != nil {
			scan := checkpoint.Scan{Layout: layout, Stats: o.Stats, Seen: s.seen(), Prune: o.Prune, Left: o.Left, Report: o.Report}
			for b, err := range s.state.Batches(ctx, scan) {
				if err != nil {
					yield(nil, fmt.Errorf("deltalog: %w", err))
					return
				}
				if !yield(b, nil) {
					return
				}
			}
		}
		read := func(_ context.Context, c *chunk) (*colstats.Batch, error) {
			return s.batch(layout, o.Stats, c)
		}
		for b, err := range ordered.Map(ctx, s.log.o.Workers, s.live(s.replay.adds), read, (*colstats.Batch).Release) {
			if err != nil {
				yield(nil, err)
				return
			}
			more := yield(b, nil)
			b.Release()
			if !more {
				return
			}
		}
	}
}

// seen is the callback for a checkpoint: nil where no commit follows it.
func (s *Snapshot) seen() checkpoint.Seen {
	if len(s.replay.last) == 0 {
		return nil
	}
	return s.replay.seen
}

// live returns the chunks of the commits' lines that are in some set.
func (s *Snapshot) live(lines []lineSet) func(context.Context) iter.Seq2[*chunk, error] {
	return func(ctx context.Context) iter.Seq2[*chunk, error] {
		wanted := func(commit int) bool { return lines[commit].any() }
		keep := func(p place) bool { return lines[p.commit].has(p.line) }
		return s.log.chunks(ctx, s.segment.commits, wanted, keep)
	}
}

// batch decodes a chunk of adds.
func (s *Snapshot) batch(layout *colstats.Layout, o colstats.Options, c *chunk) (*colstats.Batch, error) {
	defer spare.Put(c)
	b := colstats.NewBuilder(layout, o)
	defer b.Close()
	var line colstats.Line
	for at, text := range c.lines() {
		if err := b.AppendLine(text, &line); err != nil {
			b.Flush().Release()
			return nil, corrupt(s.segment.commits[at.commit].Entry.Name, int(at.line), err)
		}
	}
	return b.Flush(), nil
}

// Adds yields the adds of the snapshot in log order, whole. Each is the caller's.
func (s *Snapshot) Adds(ctx context.Context) iter.Seq2[*action.Add, error] {
	return actions[*action.Add](ctx, s, s.replay.adds, (*checkpoint.Checkpoint).Adds)
}

// State presents the snapshot as what a checkpoint of it holds. The snapshot must stay open while that is written.
func (s *Snapshot) State(ctx context.Context) (*checkpoint.State, error) {
	table, err := s.Table()
	if err != nil {
		return nil, err
	}
	state := &checkpoint.State{
		Version: s.Version, Protocol: s.Protocol, Metadata: s.Metadata, Table: table, Adds: s.Adds(ctx), Removes: s.Removes(ctx),
	}
	for _, id := range slices.Sorted(maps.Keys(s.Txns)) {
		state.Others = append(state.Others, s.Txns[id])
	}
	for _, domain := range slices.Sorted(maps.Keys(s.Domains)) {
		state.Others = append(state.Others, s.Domains[domain])
	}
	return state, nil
}

// Removes yields the tombstones of the snapshot in log order. Each is the caller's.
func (s *Snapshot) Removes(ctx context.Context) iter.Seq2[*action.Remove, error] {
	return actions[*action.Remove](ctx, s, s.replay.removes, (*checkpoint.Checkpoint).Removes)
}

// actions yields the file actions of one kind: those of the checkpoint that no commit overrides, and some of the commits'.
func actions[A action.Action](
	ctx context.Context, s *Snapshot, lines []lineSet,
	stored func(*checkpoint.Checkpoint, context.Context, checkpoint.Seen) iter.Seq2[[]byte, error],
) iter.Seq2[A, error] {
	return func(yield func(A, error) bool) {
		var none A
		if s.state != nil {
			for text, err := range stored(s.state, ctx, s.seen()) {
				if err != nil {
					yield(none, fmt.Errorf("deltalog: %w", err))
					return
				}
				a, err := parse[A](text)
				if err != nil {
					yield(none, corrupt(s.segment.checkpoint.names[0], 0, err))
					return
				}
				if !yield(a, nil) {
					return
				}
			}
		}
		read := func(_ context.Context, c *chunk) ([]A, error) {
			defer spare.Put(c)
			list := make([]A, 0, len(c.ends))
			for at, text := range c.lines() {
				a, err := parse[A](text)
				if err != nil {
					return nil, corrupt(s.segment.commits[at.commit].Entry.Name, int(at.line), err)
				}
				list = append(list, a)
			}
			return list, nil
		}
		for list, err := range ordered.Map(ctx, s.log.o.Workers, s.live(lines), read, nil) {
			if err != nil {
				yield(none, err)
				return
			}
			for _, a := range list {
				if !yield(a, nil) {
					return
				}
			}
		}
	}
}

// parse reads an action that is known to be an A.
func parse[A action.Action](text []byte) (A, error) {
	a, err := action.Parse(text)
	if err != nil {
		var none A
		return none, err
	}
	typed, ok := a.(A)
	if !ok {
		return typed, fmt.Errorf("an action of another kind: %s", a.Name())
	}
	return typed, nil
}
