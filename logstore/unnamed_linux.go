package logstore

import (
	"context"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// createUnnamed writes a file without a name and links it to base in folder dir, so that a process that is killed leaves
// nothing behind. Where the file system or the machine can't do that it returns errors.ErrUnsupported and has done nothing.
func createUnnamed(ctx context.Context, root *os.Root, dir, base string, data []byte) error {
	f, err := root.OpenFile(dir, os.O_WRONLY|unix.O_TMPFILE, 0o666)
	if err != nil {
		return errors.ErrUnsupported // whatever it is, the other way meets it again or works
	}
	defer f.Close()
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), ctx.Err()); err != nil {
		return err
	}
	folder, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	self := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	err = unix.Linkat(unix.AT_FDCWD, self, int(folder.Fd()), base, unix.AT_SYMLINK_FOLLOW)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EXDEV) {
		return errors.ErrUnsupported // no /proc
	}
	return published(err)
}
