package logstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
)

// ErrNotExclusive says that a store let one name be created twice, so that two commits could take one version.
var ErrNotExclusive = errors.New("the store does not refuse a second creation of one name")

// Probe tries whether s keeps its promise for PutIfAbsent, with a file in folder dir that it deletes again. The name
// begins with a dot and says what it is for, so that readers of the log pass over it.
func Probe(ctx context.Context, s Store, dir string) (err error) {
	name := fmt.Sprintf("%s/.probe-of-put-if-absent-%016x.tmp", dir, rand.Uint64())
	defer func() {
		if gone := s.Delete(context.WithoutCancel(ctx), name); err == nil && gone != nil && !errors.Is(gone, ErrNotFound) {
			err = fmt.Errorf("logstore: removing the probe: %w", gone)
		}
	}()
	if err := s.PutIfAbsent(ctx, name, []byte("first")); err != nil {
		return fmt.Errorf("logstore: probing: %w", err)
	}
	switch err := s.PutIfAbsent(ctx, name, []byte("second")); {
	case err == nil:
		return fmt.Errorf("logstore: %w", ErrNotExclusive)
	case !errors.Is(err, ErrExists):
		return fmt.Errorf("logstore: probing: %w", err)
	}
	data, _, err := s.Get(ctx, name, 64)
	if err != nil {
		return fmt.Errorf("logstore: probing: %w", err)
	}
	if string(data) != "first" {
		return fmt.Errorf("logstore: a refused write replaced the file: %w", ErrNotExclusive)
	}
	return nil
}
