package logstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
)

// Local is a table in a folder of a local file system that has hard links.
//
// Symbolic links are followed as long as they stay inside the table; one that leads out of it is an error that matches
// [ErrOutside], so that a hostile table cannot have other files of the machine read or written. The root itself may be one.
type Local struct {
	root    *os.Root
	escapes error // what the root says of a link that leads out of it
	follow  []*os.Root
}

// OpenLocal opens the table in folder dir, which must exist. Symbolic links in it may lead to the folders follow, too, for
// reading. Close releases it.
func OpenLocal(dir string, follow ...string) (_ *Local, err error) {
	l := &Local{}
	defer func() {
		if err != nil {
			l.Close() // what went wrong before says more
		}
	}()
	if l.root, err = os.OpenRoot(dir); err != nil {
		return nil, wrap(dir, err)
	}
	_, err = l.root.Lstat("..") // the error has no name of its own
	l.escapes = errors.Unwrap(err)
	for _, to := range follow {
		if to, err = filepath.EvalSymlinks(to); err == nil {
			to, err = filepath.Abs(to)
		}
		if err != nil {
			return nil, wrap(dir, err)
		}
		root, err := os.OpenRoot(to)
		if err != nil {
			return nil, wrap(to, err)
		}
		l.follow = append(l.follow, root)
	}
	return l, nil
}

// CreateLocal is [OpenLocal] for a table that may not exist yet.
func CreateLocal(dir string) (*Local, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, wrap(dir, err)
	}
	return OpenLocal(dir)
}

// Close releases the folder. Files that are open stay open.
func (l *Local) Close() error {
	var errs []error
	for _, root := range append(l.follow, l.root) {
		if root != nil {
			errs = append(errs, root.Close())
		}
	}
	return errors.Join(errs...)
}

// within applies do to the place of a file: in the root, or where a link in it leads that may be followed.
func within[T any](l *Local, name string, do func(root *os.Root, name string) (T, error)) (T, error) {
	got, err := do(l.root, name)
	if err == nil || !errors.Is(err, l.escapes) {
		return got, err
	}
	target, resolveErr := filepath.EvalSymlinks(filepath.Join(l.root.Name(), filepath.FromSlash(name)))
	if resolveErr == nil {
		target, resolveErr = filepath.Abs(target)
	}
	for _, root := range l.follow {
		// Where the link leads by now is looked at again by the root that it is opened in.
		if below, err := filepath.Rel(root.Name(), target); resolveErr == nil && err == nil && filepath.IsLocal(below) {
			return do(root, below)
		}
	}
	return got, err
}

// List implements [Store].
func (l *Local) List(ctx context.Context, dir, startAfter string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		folder, names, err := l.readDir(dir, startAfter)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Entry{}, l.wrap(dir, err))
			return
		}
		defer folder.Close()
		slices.Sort(names)
		for _, base := range names {
			name := path.Join(dir, base)
			if err := ctx.Err(); err != nil {
				yield(Entry{}, l.wrap(dir, err))
				return
			}
			info, err := folder.Lstat(base) // one system call, where the way from the root would be three
			if err == nil && info.Mode()&fs.ModeSymlink != 0 {
				info, err = within(l, name, (*os.Root).Stat) // follows links: their targets are what counts
			}
			if errors.Is(err, fs.ErrNotExist) {
				continue // gone since
			}
			if err != nil {
				yield(Entry{}, l.wrap(name, err))
				return
			}
			if info.Mode().IsRegular() && !yield(entry(name, info), nil) {
				return
			}
		}
	}
}

// readDir opens a folder and returns, in no order, the last parts of the names greater than startAfter of what is in it and no
// folder itself. The caller closes the folder.
func (l *Local) readDir(dir, startAfter string) (_ *os.Root, names []string, err error) {
	if err := CheckName(dir); err != nil {
		return nil, nil, err
	}
	folder, err := within(l, dir, (*os.Root).OpenRoot)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			folder.Close() // what went wrong before says more
		}
	}()
	f, err := folder.Open(".")
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	for _, e := range entries {
		if path.Join(dir, e.Name()) > startAfter && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return folder, names, err
}

// Get implements [Store].
func (l *Local) Get(ctx context.Context, name string, limit int64) ([]byte, Entry, error) {
	f, err := l.Open(ctx, name)
	if err != nil {
		return nil, Entry{}, err
	}
	defer f.Close()
	e := f.Entry()
	if e.Size > limit {
		return nil, e, fmt.Errorf("logstore: %s has %d bytes, more than %d: %w", name, e.Size, limit, ErrTooLarge)
	}
	data := make([]byte, e.Size)
	if _, err := io.ReadFull(NewReader(f), data); err != nil {
		return nil, e, l.wrap(name, err)
	}
	return data, e, nil
}

// Open implements [Store].
func (l *Local) Open(ctx context.Context, name string) (File, error) {
	if err := errors.Join(CheckName(name), ctx.Err()); err != nil {
		return nil, l.wrap(name, err)
	}
	f, err := within(l, name, func(root *os.Root, name string) (*os.File, error) {
		return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // O_NONBLOCK: a named pipe must not block us
	})
	if err != nil {
		return nil, l.wrap(name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, l.wrap(name, err)
	}
	return &localFile{ctx: ctx, file: f, entry: entry(name, info)}, nil
}

type localFile struct {
	ctx   context.Context
	file  *os.File
	entry Entry
}

func (f *localFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, wrap(f.entry.Name, err)
	}
	n, err := f.file.ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = wrap(f.entry.Name, err)
	}
	return n, err
}

func (f *localFile) Close() error { return f.file.Close() }
func (f *localFile) Size() int64  { return f.entry.Size }
func (f *localFile) Entry() Entry { return f.entry }

// PutIfAbsent implements [Store]. The data is written and synced under no name, or where the system can't do that under a
// temporary one, and then linked to name, which is atomic and refuses a name that is taken. Creating name itself with
// O_EXCL would show readers half a commit.
func (l *Local) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return l.write(ctx, name, func(dir, base string) error {
		if _, err := l.root.Lstat(name); err == nil {
			return ErrExists // as creating it would say, after the data was synced
		}
		err := createUnnamed(ctx, l.root, dir, base, data)
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		return l.viaTemp(ctx, dir, base, data, l.root.Link)
	})
}

// Put implements [Store].
func (l *Local) Put(ctx context.Context, name string, data []byte) error {
	return l.write(ctx, name, func(dir, base string) error {
		return l.viaTemp(ctx, dir, base, data, l.root.Rename)
	})
}

// write has create make the file base in folder dir, and sees to what is the same for all ways of doing that.
func (l *Local) write(ctx context.Context, name string, create func(dir, base string) error) error {
	if err := errors.Join(CheckName(name), ctx.Err()); err != nil {
		return l.wrap(name, err)
	}
	dir, base := path.Dir(name), path.Base(name)
	if err := l.makeDir(dir); err != nil {
		return l.wrap(name, err)
	}
	if err := create(dir, base); err != nil {
		return l.wrap(name, err)
	}
	if err := l.syncDir(dir); err != nil {
		return fmt.Errorf("logstore: %s is there, but may not survive a crash: %w: %w", name, ErrOutcomeUnknown, err)
	}
	return nil
}

// makeDir creates a folder and those above it, for good.
func (l *Local) makeDir(dir string) error {
	if _, err := l.root.Stat(dir); err == nil || dir == "." {
		return err
	}
	parent := path.Dir(dir)
	if err := l.makeDir(parent); err != nil {
		return err
	}
	if err := l.root.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return l.syncDir(parent)
}

// viaTemp writes a temporary file and has publish (link or rename) give it its name.
func (l *Local) viaTemp(ctx context.Context, dir, base string, data []byte, publish func(temp, name string) error) error {
	f, temp, err := l.createTemp(dir, base)
	if err != nil {
		return err
	}
	defer l.root.Remove(temp) // it is gone already after a rename, and nobody reads it if it stays
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close(), ctx.Err()); err != nil {
		return err
	}
	return published(publish(temp, path.Join(dir, base)))
}

// createTemp creates a file beside base. The leading dot of its name keeps readers of a log away from what a killed process
// leaves behind.
func (l *Local) createTemp(dir, base string) (f *os.File, name string, err error) {
	name = path.Join(dir, fmt.Sprintf(".%s.%016x.tmp", base, rand.Uint64()))
	f, err = l.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	return f, name, err
}

func (l *Local) syncDir(dir string) error {
	f, err := l.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// published says what an error of link or rename means. A network file system may have done the work and lost the answer.
func published(err error) error {
	if err == nil {
		return nil
	}
	for _, refused := range []error{
		fs.ErrExist, fs.ErrNotExist, fs.ErrPermission, syscall.ENOSPC, syscall.EROFS, syscall.EMLINK, syscall.ENOTDIR,
		syscall.ENAMETOOLONG, syscall.EXDEV, syscall.EDQUOT, syscall.ELOOP, syscall.EINVAL, syscall.EISDIR, syscall.ENOTSUP,
	} {
		if errors.Is(err, refused) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}

// Delete implements [Store].
func (l *Local) Delete(ctx context.Context, name string) error {
	if err := errors.Join(CheckName(name), ctx.Err()); err != nil {
		return l.wrap(name, err)
	}
	if err := l.root.Remove(name); err != nil {
		return l.wrap(name, err)
	}
	return nil
}

func entry(name string, info fs.FileInfo) Entry {
	return Entry{Name: name, Size: info.Size(), ModTime: info.ModTime()}
}

// wrap is the function wrap, for errors of the root.
func (l *Local) wrap(name string, err error) error {
	if errors.Is(err, l.escapes) {
		return fmt.Errorf("logstore: %s: %w; option follow of OpenLocal (--also-read) can allow the folder it leads to", name, ErrOutside)
	}
	return wrap(name, err)
}

// wrap adds the name of the file, and replaces what callers can act on by this package's word for it.
func wrap(name string, err error) error {
	if errors.Is(err, ErrInvalidName) {
		return err
	}
	return fmt.Errorf("logstore: %s: %w", name, cause(err))
}

func cause(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotFound
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
