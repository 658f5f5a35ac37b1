package bench

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/deltaskip/deltaskip/action"
)

// WriteLog writes the workload's log below dir: version 0 creates the table, and each commit after it adds perCommit files
// (0 means all of them in one). progress, which may be nil, is told after each commit how many files are written. It
// returns the log's last version. A folder that has a log already is left alone: that is an error.
func (w Workload) WriteLog(dir string, perCommit int, progress func(adds int)) (version int64, err error) {
	w, err = w.defaults()
	if err != nil {
		return 0, err
	}
	if perCommit == 0 {
		perCommit = w.Adds
	}
	if perCommit < 0 {
		return 0, fmt.Errorf("bench: %d adds in a commit: give a positive number, or 0 for all", perCommit)
	}
	files, err := w.Files()
	if err != nil {
		return 0, err
	}
	metadata, err := w.Metadata()
	if err != nil {
		return 0, err
	}
	log := filepath.Join(dir, "_delta_log")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	if err := os.Mkdir(log, 0o777); err != nil {
		return 0, fmt.Errorf("bench: a synthetic log needs a folder without one: %w", err)
	}
	c := &commits{log: log}
	defer func() {
		if cerr := c.close(); err == nil {
			err = cerr
		}
	}()
	if err := c.begin(0, "CREATE TABLE"); err != nil {
		return 0, err
	}
	c.append(w.Protocol())
	c.append(metadata)
	written := 0
	for add := range files {
		if written%perCommit == 0 {
			version++
			if err := c.begin(version, "WRITE"); err != nil {
				return 0, err
			}
		}
		c.append(add)
		written++
		if progress != nil && (written%perCommit == 0 || written == w.Adds) {
			progress(written)
		}
	}
	return version, nil
}

// commits writes commit files one after the other; the first error sticks and close returns it.
type commits struct {
	log  string
	file *os.File
	buf  *bufio.Writer
	line []byte
}

func (c *commits) begin(version int64, operation string) error {
	if err := c.close(); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(c.log, fmt.Sprintf("%020d.json", version)))
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	c.file, c.buf = f, bufio.NewWriterSize(f, 1<<20)
	info := &action.CommitInfo{}
	info.SetInt("timestamp", Epoch.Add(time.Duration(version)*time.Second).UnixMilli())
	info.SetString("operation", operation)
	info.SetInt("readVersion", max(0, version-1))
	info.SetString("isolationLevel", "Serializable")
	info.SetBool("isBlindAppend", true)
	info.SetString("engineInfo", "deltaskip-bench")
	c.append(info)
	return nil
}

func (c *commits) append(a action.Action) {
	c.line = append(action.Append(c.line[:0], a), '\n')
	_, _ = c.buf.Write(c.line) // bufio keeps the error for Flush
}

func (c *commits) close() error {
	if c.file == nil {
		return nil
	}
	flushed, closed := c.buf.Flush(), c.file.Close()
	c.file = nil
	if flushed != nil {
		return fmt.Errorf("bench: %w", flushed)
	}
	if closed != nil {
		return fmt.Errorf("bench: %w", closed)
	}
	return nil
}
