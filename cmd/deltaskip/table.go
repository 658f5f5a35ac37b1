package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// latest is the --version that stands for the newest one.
const latest = -1

// A table is an open table at one version.
type table struct {
	store    *logstore.Local
	log      *deltalog.Log
	snapshot *deltalog.Snapshot
	schema   *schema.Table
	zone     *time.Location
}

// openTable opens the table in folder dir at a version, or at the latest.
func (a *app) openTable(ctx context.Context, dir string, version int64) (_ *table, err error) {
	zone, err := a.location()
	if err != nil {
		return nil, err
	}
	if version < latest {
		return nil, usagef("--version %d: versions begin at 0", version)
	}
	store, err := logstore.OpenLocal(dir)
	if err != nil {
		return nil, fmt.Errorf("%s is not a table: %w", dir, err)
	}
	t := &table{store: store, log: deltalog.Open(store, deltalog.Options{}), zone: zone}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", dir, err), store.Close())
		}
	}()
	var at deltalog.SnapshotOptions
	if version != latest {
		at.Version = &version
	}
	if t.snapshot, err = t.log.Snapshot(ctx, at); err != nil {
		return nil, err
	}
	if t.schema, err = t.snapshot.Table(); err != nil {
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
	return predicate.Bind(expr, t.schema, predicate.Env{Zone: t.zone, Now: time.Now()})
}
