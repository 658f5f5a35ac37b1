package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/rows"
	"github.com/deltaskip/deltaskip/schema"
)

// latest is the --version that stands for the newest one.
const latest = -1

// A moment says which state of a table a command is about: the flags --version and --timestamp.
type moment struct {
	version   int64
	timestamp string
}

func (m *moment) addTo(flags *pflag.FlagSet) {
	flags.Int64Var(&m.version, "version", latest, "table version; the latest by default")
	flags.StringVar(&m.timestamp, "timestamp", "", "the table as of this `TIME`, such as '2026-01-31 12:00:00'; --zone says where")
}

func (m *moment) options(zone *time.Location) (at deltalog.SnapshotOptions, err error) {
	switch {
	case m.version < latest:
		return at, usagef("--version %d: versions begin at 0", m.version)
	case m.version != latest && m.timestamp != "":
		return at, usagef("give --version or --timestamp, not both")
	case m.version != latest:
		at.Version = &m.version
	case m.timestamp != "":
		v, err := predicate.CastValue(predicate.StringOf(m.timestamp), schema.Type{Kind: schema.Timestamp}, &predicate.Env{Zone: zone})
		if err != nil {
			return at, usagef("--timestamp %q: give a time such as '2026-01-31 12:00:00' or 2026-01-31T12:00:00Z", m.timestamp)
		}
		at.Time = time.UnixMicro(v.I)
	}
	return at, nil
}

// A table is an open table at one version.
type table struct {
	dir      string
	store    Store
	log      *deltalog.Log
	snapshot *deltalog.Snapshot
	zone     *time.Location
}

// A Store is the store of an open table.
type Store interface {
	logstore.Store
	io.Closer
}

// OpenStore opens the store of a table, as the command line names it. Symbolic links in a folder may lead to the folders follow
// as well. The caller closes the store.
type OpenStore func(ctx context.Context, table string, follow []string) (Store, error)

// OpenLocal opens the folder of a table.
func OpenLocal(_ context.Context, dir string, follow []string) (Store, error) {
	dir = strings.TrimPrefix(dir, "file://")
	if strings.Contains(dir, "://") {
		return nil, usagef("this command opens folders; the one of module github.com/deltaskip/deltaskip/cloud opens URLs")
	}
	store, err := logstore.OpenLocal(dir, follow...)
	if err != nil {
		return nil, err
	}
	return store, nil
}

// openLog opens the log of a table. The caller closes the store.
func (a *app) openLog(ctx context.Context, name string) (Store, *deltalog.Log, error) {
	var follow []string
	for _, root := range a.alsoRead {
		if !strings.Contains(root, "://") {
			follow = append(follow, root)
		}
	}
	store, err := a.open(ctx, name, follow)
	if err != nil {
		return nil, nil, fmt.Errorf("%s is not a table: %w", name, err)
	}
	return store, deltalog.Open(store, a.logOptions()), nil
}

// source is where the files of an open table are read from: the table, also by absolute paths, and the folders that the command
// line allows. They stay open until the command ends.
func (a *app) source(ctx context.Context, dir string, table Store) (rows.Source, error) {
	s := rows.Source{Table: table, Limits: a.limits.Limits}
	for i, uri := range append([]string{dir}, a.alsoRead...) {
		store := table
		if i > 0 {
			var err error
			if store, err = a.open(ctx, uri, nil); err != nil {
				return s, fmt.Errorf("--also-read %s: %w", uri, err)
			}
			a.stop = append(a.stop, store.Close)
		}
		if !strings.Contains(uri, "://") {
			var err error
			if uri, err = filepath.Abs(uri); err != nil {
				return s, err
			}
		}
		s.Roots = append(s.Roots, rows.Root{URI: filepath.ToSlash(uri), Store: store})
	}
	return s, nil
}

// openTable opens the table in folder dir at a moment.
func (a *app) openTable(ctx context.Context, dir string, m moment) (_ *table, err error) {
	zone, err := a.location()
	if err != nil {
		return nil, err
	}
	at, err := m.options(zone)
	if err != nil {
		return nil, err
	}
	store, log, err := a.openLog(ctx, dir)
	if err != nil {
		return nil, err
	}
	t := &table{dir: dir, store: store, log: log, zone: zone}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", dir, err), store.Close())
		}
	}()
	if t.snapshot, err = t.log.Snapshot(ctx, at); err != nil {
		return nil, err
	}
	return t, nil
}

// Close closes the snapshot and the store.
func (t *table) Close() error { return errors.Join(t.snapshot.Close(), t.store.Close()) }

// bind parses a predicate and binds it to the table.
func (t *table) bind(sql string) (*predicate.Predicate, error) {
	expr, err := predicate.Parse(sql, predicate.ParseOptions{})
	if err != nil {
		return nil, err
	}
	return t.bindExpr(expr)
}

func (t *table) bindExpr(expr predicate.Expr) (*predicate.Predicate, error) {
	table, err := t.snapshot.Table()
	if err != nil {
		return nil, err
	}
	return predicate.Bind(expr, table, predicate.Env{Zone: t.zone, Now: time.Now()})
}

// bindForeign binds predicates of other programs.
func (t *table) bindForeign(f foreign) (list []*predicate.Predicate, err error) {
	table, err := t.snapshot.Table()
	if err != nil {
		return nil, err
	}
	exprs, err := f.read(table)
	if err != nil {
		return nil, err
	}
	for _, e := range exprs {
		p, err := t.bindExpr(e)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}
