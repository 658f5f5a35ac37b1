package simulator

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
)

// verify checks what a run left behind.
func (r *run) verify(ctx context.Context) error {
	newest, err := r.world.newest(ctx)
	if err != nil {
		return err
	}
	if err := r.verifyLog(ctx, newest.number); err != nil {
		return err
	}
	for _, v := range r.world.versions[1:] {
		if err := r.verifyVersion(v); err != nil {
			return err
		}
	}
	if r.Seed%16 == 0 {
		if err := r.world.readBack(ctx); err != nil {
			return err
		}
		return r.world.compareSnapshot(ctx, newest)
	}
	return nil
}

// verifyLog checks that the log consists of commits without a gap, each by another transaction that was told so or does not
// know, and that each of those who were told so is there.
func (r *run) verifyLog(ctx context.Context, newest int64) error {
	number := int64(0)
	for e, err := range r.world.store.List(ctx, deltalog.Dir, "") {
		if err != nil {
			return err
		}
		if e.Name != deltalog.CommitName(number) || path.Dir(e.Name) != deltalog.Dir {
			return fmt.Errorf("the log holds %s where version %d is expected", e.Name, number)
		}
		number++
	}
	if number != newest+1 {
		return fmt.Errorf("the log holds %d versions, and %d is the newest", number, newest)
	}
	in := map[string]int64{}
	for _, v := range r.world.versions[1:] {
		name := v.info.TxnID()
		if was, twice := in[name]; twice {
			return fmt.Errorf("%s is committed twice, as versions %d and %d", name, was, v.number)
		}
		in[name] = v.number
		if told, ok := r.acks[name]; ok && told != v.number {
			return fmt.Errorf("%s is version %d and was told %d", name, v.number, told)
		} else if !ok && len(r.open[name]) == 0 {
			return fmt.Errorf("%s is version %d and was told that it is not committed", name, v.number)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.acks)) {
		if _, ok := in[name]; !ok {
			return fmt.Errorf("%s was told that it is version %d, which is not there", name, r.acks[name])
		}
	}
	committer, err := conflict.NewCommitter(ctx, deltalog.Open(r.world.store, deltalog.Options{}), conflict.CommitOptions{SkipProbe: true})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r.open)) {
		if r.acks[name] > 0 {
			continue // it was found out later
		}
		landed := false
		for _, e := range r.open[name] {
			fate, err := committer.Resolve(ctx, e)
			if err != nil {
				return err
			}
			landed = landed || fate == conflict.Landed
		}
		if v, there := in[name]; landed != there {
			return fmt.Errorf("%s is version %d in the log, %t, and its fate is told as landed, %t", name, v, there, landed)
		}
	}
	return nil
}

// verifyVersion checks that a version is what its transaction makes of the rows that its level lets it see.
func (r *run) verifyVersion(v *version) error {
	w := r.works[v.info.TxnID()]
	level, err := conflict.ParseLevel(v.info.IsolationLevel())
	if err != nil {
		return err
	}
	before := r.world.versions[v.number-1]
	c := w.changes // at SnapshotIsolation, those at the version that was read
	if level != conflict.SnapshotIsolation {
		c = w.does(before.visible(level, w.at.number))
	}
	want := c.apply(before.rows)
	if maps.Equal(want, v.rows) {
		return nil
	}
	text := ""
	for _, id := range slices.Sorted(maps.Keys(union(want, v.rows))) {
		a, expected := want[id]
		b, there := v.rows[id]
		if a != b || expected != there {
			text += fmt.Sprintf("\n  row %d should be %s, and is %s", id, opt[row]{a, expected}, opt[row]{b, there})
		}
	}
	return fmt.Errorf("version %d is not what %s would have made of version %d:%s", v.number, w, before.number, text)
}

func union(a, b map[int64]row) map[int64]row {
	u := maps.Clone(a)
	maps.Copy(u, b)
	return u
}

// compareSnapshot compares the table as this package replayed it with what deltalog makes of it.
func (w *world) compareSnapshot(ctx context.Context, newest *version) error {
	s, err := deltalog.Open(w.store, deltalog.Options{}).Snapshot(ctx, deltalog.SnapshotOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	seen := 0
	for a, err := range s.Adds(ctx) {
		if err != nil {
			return err
		}
		if f := newest.files[a.Path]; f == nil || f.add.Key() != a.Key() {
			return fmt.Errorf("deltalog has %v in the table, and it isn't", a.Key())
		}
		seen++
	}
	if s.Version != newest.number || seen != len(newest.files) {
		return fmt.Errorf("deltalog has version %d with %d files, and it is %d with %d", s.Version, seen, newest.number, len(newest.files))
	}
	return nil
}
