package conflict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/logstore"
)

// setVector gives the loser's add of a file another deletion vector.
func (t *candidate) setVector(path string, v *deletionvector.Vector) {
	t.vectors[path] = v
	t.packed, t.stale = nil, true
}

// dropVector forgets the vector of a file that the loser no longer adds.
func (t *candidate) dropVector(path string) {
	delete(t.vectors, path)
	t.packed, t.stale = nil, true
}

// pack lays out the vectors that rebasing made, and describes them in the actions. It does nothing when they are as before.
func (t *candidate) pack() error {
	if !t.stale {
		return nil
	}
	paths := slices.Sorted(maps.Keys(t.vectors))
	vectors := make([]*deletionvector.Vector, len(paths))
	for i, path := range paths {
		vectors[i] = t.vectors[path]
	}
	files, descriptors, err := deletionvector.Pack(vectors, deletionvector.PackOptions{Prefix: prefixFor(t.metadata)})
	if err != nil {
		return fmt.Errorf("conflict: %w", err)
	}
	t.rewrite(func(a action.Action) action.Action {
		a2, ok := a.(*action.Add)
		if !ok {
			return a
		}
		i, ok := slices.BinarySearch(paths, action.CanonicalPath(a2.Path))
		if !ok {
			return a
		}
		b := *a2
		b.DeletionVector = &descriptors[i]
		return &b
	})
	t.packed, t.stale = files, false
	return nil
}

// prefixFor returns the folder for a new file of vectors: a random one where the table wants its files spread.
func prefixFor(m *action.Metadata) string {
	if !enabled(m, "delta.randomizeFilePrefixes") {
		return ""
	}
	length, err := strconv.Atoi(m.Configuration["delta.randomPrefixLength"])
	if err != nil || length < 1 {
		length = 2
	}
	id := uuid.New()
	return fmt.Sprintf("%x", id[:])[:min(length, 12)]
}

// writeVectors writes the vectors that a commit is about to name, apart from those that are there since an earlier attempt.
func (u *unit) writeVectors(ctx context.Context, files []deletionvector.PackedFile) error {
	for _, f := range files {
		if slices.Contains(u.written, f.Path) {
			continue
		}
		u.written = append(u.written, f.Path)
		if err := putVector(ctx, u.c.log.Store(), f); err != nil {
			return fmt.Errorf("conflict: writing deletion vectors to %s: %w", f.Path, err)
		}
	}
	return nil
}

// putVector writes a file under a name that nobody else has. A store that says it exists, or that does not know, may have
// written it. What comes out is no answer about the commit.
func putVector(ctx context.Context, store logstore.Store, f deletionvector.PackedFile) error {
	err := store.PutIfAbsent(ctx, f.Path, f.Data)
	if !errors.Is(err, logstore.ErrExists) && !errors.Is(err, logstore.ErrOutcomeUnknown) {
		return err
	}
	if err := store.Put(ctx, f.Path, f.Data); err != nil {
		return fmt.Errorf("%v", err)
	}
	got, _, err := store.Get(ctx, f.Path, int64(len(f.Data)))
	if err != nil || !bytes.Equal(got, f.Data) {
		return fmt.Errorf("it is not there as written: %v", err)
	}
	return nil
}

// sweep deletes, as far as it can, the vectors that this unit wrote and no commit names: those of attempts that are known to
// have had no effect. Where a write may still take effect, what it names stays.
func (u *unit) sweep(ctx context.Context) {
	for _, path := range u.written {
		if (u.open || u.landed) && slices.ContainsFunc(u.named, func(f deletionvector.PackedFile) bool { return f.Path == path }) {
			continue
		}
		// A file that stays is no harm: nothing refers to it, and VACUUM takes it.
		_ = u.c.log.Store().Delete(context.WithoutCancel(ctx), path)
	}
}
