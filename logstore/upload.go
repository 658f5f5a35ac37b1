package logstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
)

// Create implements [Creator].
func (l *Local) Create(ctx context.Context, name string) (Upload, error) {
	if err := errors.Join(CheckName(name), ctx.Err()); err != nil {
		return nil, l.wrap(name, err)
	}
	dir := path.Dir(name)
	if err := l.makeDir(dir); err != nil {
		return nil, l.wrap(name, err)
	}
	f, temp, err := l.createTemp(dir, path.Base(name))
	if err != nil {
		return nil, l.wrap(name, err)
	}
	return &localUpload{ctx: ctx, l: l, name: name, temp: temp, file: f, buffer: bufio.NewWriterSize(f, 256<<10)}, nil
}

type localUpload struct {
	ctx        context.Context
	l          *Local
	name, temp string
	file       *os.File // nil when it has ended
	buffer     *bufio.Writer
}

func (u *localUpload) Write(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, u.l.wrap(u.name, err)
	}
	n, err := u.buffer.Write(p)
	if err != nil {
		err = u.l.wrap(u.name, err)
	}
	return n, err
}

func (u *localUpload) Commit() error {
	defer u.l.root.Remove(u.temp) // it is gone already after a rename
	f := u.file
	u.file = nil
	if err := errors.Join(u.buffer.Flush(), f.Sync(), f.Close(), u.ctx.Err()); err != nil {
		return u.l.wrap(u.name, err)
	}
	if err := published(u.l.root.Rename(u.temp, u.name)); err != nil {
		return u.l.wrap(u.name, err)
	}
	if err := u.l.syncDir(path.Dir(u.name)); err != nil {
		return fmt.Errorf("logstore: %s is there, but may not survive a crash: %w: %w", u.name, ErrOutcomeUnknown, err)
	}
	return nil
}

func (u *localUpload) Discard() {
	if u.file != nil {
		u.file.Close()
		u.l.root.Remove(u.temp)
		u.file = nil
	}
}
