package crash

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Run runs a program and kills it before the n-th of its calls that change or sync something in folder dir, or write to
// standard output; 0 means never. The command's Stdout and Stderr must be unset. An error is about running, not about what the
// program did.
func Run(cmd *exec.Cmd, dir string, n int) (Result, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Result{}, err
	}
	outputs, err := os.MkdirTemp("", "crash")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(outputs)
	if outputs, err = filepath.EvalSymlinks(outputs); err != nil {
		return Result{}, err
	}
	var files [2]*os.File
	for i, name := range []string{"stdout", "stderr"} {
		if files[i], err = os.Create(filepath.Join(outputs, name)); err != nil {
			return Result{}, err
		}
		defer files[i].Close()
	}
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	w := &watch{dir: dir, stdout: files[0].Name(), n: n, pending: map[int]int{}, inside: map[int]bool{}}
	// All requests about a program must come from the thread that started it. It is not given back: the program's threads end
	// with it if something goes wrong here.
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- w.run(cmd)
	}()
	if err := <-done; err != nil {
		return Result{}, err
	}
	for i, into := range []*string{&w.result.Stdout, &w.result.Stderr} {
		text, err := os.ReadFile(files[i].Name())
		if err != nil {
			return Result{}, err
		}
		*into = string(text)
	}
	return w.result, nil
}

// A watch follows one program.
type watch struct {
	dir, stdout string
	n           int
	pid         int
	result      Result
	inside      map[int]bool // threads that are in a system call
	pending     map[int]int  // of these, in which of the calls of the result
}

func (w *watch) run(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
			return fmt.Errorf("%w: %w", ErrUnsupported, err)
		}
		return err
	}
	w.pid = cmd.Process.Pid
	defer cmd.Process.Release() // it is waited for here
	defer w.reap()
	var status unix.WaitStatus
	if _, err := unix.Wait4(w.pid, &status, unix.WALL, nil); err != nil {
		return err
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(w.pid, options); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	w.inside[w.pid] = false
	if err := unix.PtraceSyscall(w.pid, 0); err != nil {
		return err
	}
	for {
		thread, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		signal := 0
		switch {
		case status.Exited() || status.Signaled():
			if thread == w.pid {
				w.result.Status = status.ExitStatus()
				w.pid = 0
				return nil
			}
			continue
		case status.StopSignal() == unix.SIGTRAP|0x80: // of TRACESYSGOOD
			die, err := w.call(thread)
			if err != nil && err != unix.ESRCH {
				return err
			}
			if die {
				w.result.Killed = true
				return nil
			}
		case status.StopSignal() == unix.SIGTRAP: // a thread was started
		case status.StopSignal() == unix.SIGSTOP && !w.known(thread): // and begins
			w.inside[thread] = false
		default:
			signal = int(status.StopSignal())
		}
		if err := unix.PtraceSyscall(thread, signal); err != nil && err != unix.ESRCH {
			return err
		}
	}
}

func (w *watch) known(thread int) bool {
	_, ok := w.inside[thread]
	return ok
}

// reap kills the program, if it still runs, and waits for it.
func (w *watch) reap() {
	if w.pid == 0 {
		return
	}
	_ = unix.Kill(w.pid, unix.SIGKILL) // it may have ended by itself
	for {
		var status unix.WaitStatus
		thread, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		if err != nil && err != unix.EINTR || thread == w.pid && (status.Exited() || status.Signaled()) {
			return
		}
	}
}

// syscallInfo is struct ptrace_syscall_info of linux/ptrace.h, the same on all machines.
type syscallInfo struct {
	op   uint8
	_    [3]uint8
	arch uint32
	_    [2]uint64
	// On entry the number and the arguments, on exit the result and whether it is an error.
	values [7]uint64
	_      [4]uint64
}

const (
	getSyscallInfo = 0x420e // PTRACE_GET_SYSCALL_INFO
	onEntry        = 1
)

// call looks at a thread that enters or leaves a system call. It reports whether this is where the program ends.
func (w *watch) call(thread int) (die bool, err error) {
	var info syscallInfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(thread), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return false, errno
	}
	if info.op != onEntry {
		if i, ok := w.pending[thread]; ok {
			w.result.Calls[i].Failed = uint8(info.values[1]) != 0
			delete(w.pending, thread)
		}
		return false, nil
	}
	c, ok, err := w.describe(info.values[0], info.values[1:])
	if !ok || err != nil {
		return false, err
	}
	c.Failed = true // until it returns
	w.pending[thread] = len(w.result.Calls)
	w.result.Calls = append(w.result.Calls, c)
	return len(w.result.Calls) == w.n, nil
}

// describe says what a call does; false if that is nothing that matters.
func (w *watch) describe(number uint64, args []uint64) (c Call, ok bool, err error) {
	at := func(fd, path int) string {
		var name string
		if err == nil {
			name, err = w.text(args[path])
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(w.open(args[fd]), name)
		}
		return name
	}
	var path, from string
	switch number {
	case unix.SYS_OPENAT:
		switch {
		case args[2]&unix.O_TMPFILE == unix.O_TMPFILE:
			c.Op, path = Create, filepath.Join(at(0, 1), "#")
		case args[2]&unix.O_CREAT != 0:
			c.Op, path = Create, at(0, 1)
		default:
			return c, false, nil
		}
	case unix.SYS_MKDIRAT:
		c.Op, path = Mkdir, at(0, 1)
	case unix.SYS_UNLINKAT:
		c.Op, path = Unlink, at(0, 1)
	case unix.SYS_LINKAT:
		c.Op, from, path = Link, at(0, 1), at(2, 3)
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		c.Op, from, path = Rename, at(0, 1), at(2, 3)
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV:
		c.Op, path = Write, w.open(args[0])
	case unix.SYS_FTRUNCATE:
		c.Op, path = Truncate, w.open(args[0])
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		c.Op, path = Sync, w.open(args[0])
	default:
		return c, false, nil
	}
	if path == w.stdout && c.Op == Write {
		return Call{Op: Say}, true, err
	}
	if c.Path, ok = w.relative(path); !ok {
		return c, false, err
	}
	if from != "" {
		if fd, ok := strings.CutPrefix(from, "/proc/self/fd/"); ok {
			from, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", w.pid, fd))
		}
		if c.From, ok = w.relative(from); !ok {
			c.From = from
		}
	}
	return c, true, err
}

// relative returns the path from the folder that is watched.
func (w *watch) relative(path string) (string, bool) {
	path = strings.TrimSuffix(path, " (deleted)") // as /proc says of files without a name
	if path == w.dir {
		return ".", true
	}
	name, ok := strings.CutPrefix(path, w.dir+"/")
	return name, ok
}

// open returns what a descriptor of the program stands for.
func (w *watch) open(fd uint64) string {
	link := fmt.Sprintf("/proc/%d/fd/%d", w.pid, int32(fd))
	if int32(fd) == unix.AT_FDCWD {
		link = fmt.Sprintf("/proc/%d/cwd", w.pid)
	}
	path, _ := os.Readlink(link) // one that is not open makes the call fail
	return path
}

// text reads a string of the program.
func (w *watch) text(address uint64) (string, error) {
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", w.pid))
	if err != nil {
		return "", err
	}
	defer mem.Close()
	var out []byte
	for word := make([]byte, 8); ; {
		n, err := mem.ReadAt(word[:8-address%8], int64(address))
		if err != nil {
			return "", err
		}
		if i := bytes.IndexByte(word[:n], 0); i >= 0 {
			return string(append(out, word[:i]...)), nil
		}
		out, address = append(out, word[:n]...), address+uint64(n)
	}
}
