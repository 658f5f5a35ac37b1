package simulator

import (
	"maps"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
)

// same reports whether a transaction would do to the rows of a later version what it did to those that it read. One that
// runs at SnapshotIsolation doesn't depend on them.
func (w *work) same(level conflict.Level, now *version) bool {
	return level == conflict.SnapshotIsolation || maps.Equal(w.does(now.visible(level, w.at.number)), w.changes)
}

// readsChanged reports whether a row that the transaction reads, as far as it tells, is not in a later version what it was.
func (w *work) readsChanged(level conflict.Level, now *version) bool {
	if level == conflict.SnapshotIsolation {
		return false
	}
	rows := map[int64]row{}
	for _, r := range now.visible(level, w.at.number) {
		rows[r.id] = r
	}
	inFiles := map[int64]bool{}
	for _, path := range w.files {
		for id := range w.at.in(path) {
			inFiles[id] = true
		}
	}
	reads := func(r row) bool {
		if w.whole || len(w.opaque) > 0 || inFiles[r.id] {
			return true
		}
		for _, c := range w.conds {
			if c.matches(&r) {
				return true
			}
		}
		return false
	}
	for id, is := range rows {
		if was, there := w.at.rows[id]; (!there || was != is) && (reads(is) || there && reads(was)) {
			return true
		}
	}
	for id, was := range w.at.rows {
		if _, there := rows[id]; !there && reads(was) {
			return true
		}
	}
	return false
}

// applicable reports whether a transaction's file actions could be brought to bear on a later version without writing any
// data file again: vectors may be merged, and moved to where compactions have put their rows and told so.
func (w *work) applicable(now *version) bool {
	adds := map[string]*action.Add{}
	for _, a := range w.txn.Actions {
		if a, ok := a.(*action.Add); ok {
			adds[a.Path] = a
		}
	}
	for _, a := range w.txn.Actions {
		r, ok := a.(*action.Remove)
		if !ok {
			continue
		}
		was, is, again := w.at.files[r.Path], now.files[r.Path], adds[r.Path]
		delete(adds, r.Path)
		switch {
		case w.kind == "optimize":
			if is == nil || !was.deleted.SubsetOf(is.deleted) || w.sorts && !was.deleted.Equal(is.deleted) {
				return false
			}
		case again == nil:
			if is == nil || !was.deleted.Equal(is.deleted) {
				return false
			}
		case is == nil:
			if back := was.deleted.AndNot(w.vectors[r.Path]); back.Cardinality() > 0 {
				return false
			}
			for i := range w.vectors[r.Path].AndNot(was.deleted).All() {
				if !now.moved(r.Path, was.rows[i]) {
					return false
				}
			}
		default:
			then := w.vectors[r.Path]
			if then.AndNot(was.deleted).Intersects(is.deleted) || !was.deleted.AndNot(then).SubsetOf(is.deleted) {
				return false
			}
		}
	}
	for path := range adds { // those of paths that it doesn't remove
		was, is := w.at.files[path], now.files[path]
		if (was == nil) != (is == nil) || was != nil && !was.deleted.Equal(is.deleted) {
			return false
		}
	}
	return true
}

// moved reports whether a row that was in a file is now in one to which compactions moved that file's rows.
func (v *version) moved(path string, r row) bool {
	for _, f := range v.files {
		for _, s := range f.sources {
			if s.path != path {
				continue
			}
			for _, l := range f.live() {
				if l == r {
					return true
				}
			}
		}
	}
	return false
}
