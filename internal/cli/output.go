package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-json"
	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
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

// width is how many columns of a terminal text may take.
const width = 100

// wrap writes text in lines of up to width columns, after indent spaces, and where a line goes on, hanging more. Words that are
// longer stay whole: a path that is cut cannot be copied.
func wrap(w *bufio.Writer, indent, hanging int, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		column := 0
		for i, word := range strings.Split(line, " ") {
			n := utf8.RuneCountInString(word)
			switch {
			case i == 0:
				column = indent
				w.WriteString(strings.Repeat(" ", indent))
			case column+1+n > width:
				column = indent + hanging
				w.WriteString("\n" + strings.Repeat(" ", column))
			default:
				column++
				w.WriteByte(' ')
			}
			w.WriteString(word)
			column += n
		}
		w.WriteByte('\n')
	}
}

// paint returns what switches a colour on and off again: nothing unless output goes to a terminal that wants colours. See
// https://no-color.org.
func (a *app) paint(c text.Color) (on, off string) {
	f, isFile := a.stdout.(*os.File)
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !isFile || !term.IsTerminal(int(f.Fd())) {
		return "", ""
	}
	return c.EscapeSeq(), text.Reset.EscapeSeq()
}

// count says how many there are of a thing: "1 file", "3 files". Without a plural it ends in s.
func count[N ~int | ~int64](n N, one string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(many) > 0:
		return fmt.Sprint(n, " ", many[0])
	}
	return fmt.Sprint(n, " ", one, "s")
}

// newTable returns a table for text output: columns apart by spaces, a line under the header, nothing else.
func newTable() pretty.Writer {
	t := pretty.NewWriter()
	style := pretty.StyleLight
	style.Options = pretty.Options{SeparateHeader: true, SeparateFooter: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header, style.Format.Footer = text.FormatDefault, text.FormatDefault
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	return t
}
