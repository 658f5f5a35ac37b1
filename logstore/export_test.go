package logstore

import "context"

// PutIfAbsentNamed is PutIfAbsent on systems without unnamed files.
func (l *Local) PutIfAbsentNamed(ctx context.Context, name string, data []byte) error {
	return l.write(ctx, name, func(dir, base string) error { return l.viaTemp(ctx, dir, base, data, l.root.Link) })
}
