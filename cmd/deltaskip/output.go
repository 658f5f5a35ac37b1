package main

import (
	"bufio"
	"io"
	"os"
	"time"

	"github.com/goccy/go-json"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// printJSON writes v as one line.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// buffered calls fn with a buffered writer onto w and flushes it, whatever fn returns.
func buffered(w io.Writer, fn func(*bufio.Writer) error) error {
	buf := bufio.NewWriterSize(w, 1<<16)
	err := fn(buf)
	if flushErr := buf.Flush(); err == nil {
		err = flushErr
	}
	return err
}

// progress returns a bar over total units that appears on stderr once work has lasted a second, and only on a terminal.
// total -1 shows a spinner. Call Finish at the end.
func (a *app) progress(total int64, what string) *progressbar.ProgressBar {
	f, isFile := a.stderr.(*os.File)
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionSetVisibility(isFile && term.IsTerminal(int(f.Fd()))),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(time.Second),
		progressbar.OptionClearOnFinish(),
	)
}
