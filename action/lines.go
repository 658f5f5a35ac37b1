package action

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/deltaskip/deltaskip/internal/jsonscan"
)

// A Text is the text of one action in a file of them.
type Text struct {
	Data []byte // lent until the next step
	Line int    // where it begins, counted from 1
}

// Texts splits a commit file, or any other file of actions, into the texts of its actions, which are not checked yet. One
// action a line is what the protocol asks for and what is fast; an action spread over several lines is read as well, and
// blank lines are passed over.
//
// maxBytes bounds one action; 0 means 64 MiB. A longer one is a [CorruptError], other errors are those of r.
func Texts(r io.Reader, maxBytes int) iter.Seq2[Text, error] {
	if maxBytes <= 0 {
		maxBytes = 64 << 20
	}
	return func(yield func(Text, error) bool) {
		lines := bufio.NewReaderSize(r, 64<<10)
		var buf []byte // what spans reads of the bufio.Reader
		first := 1     // line where buf begins
		for line := 1; ; line++ {
			if len(buf) == 0 {
				first = line
			}
			part, long, err := readLine(lines, &buf, maxBytes)
			if long {
				yield(Text{Line: first}, &CorruptError{Line: first, Reason: fmt.Sprintf("an action of more than %d bytes", maxBytes)})
				return
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Text{Line: first}, err)
				return
			}
			end := err != nil
			if text := bytes.TrimSpace(part); len(text) == 0 {
				buf = buf[:0]
			} else if end || complete(text) {
				if !yield(Text{Data: text, Line: first}, nil) {
					return
				}
				buf = buf[:0]
			} else if len(buf) == 0 {
				buf = append(buf, part...)
			}
			if end {
				return
			}
		}
	}
}

// readLine reads the next line, end included. While buf is empty the result may lie inside r's own buffer; otherwise, and
// for lines longer than that, the line is appended to buf and the result is all of buf.
func readLine(r *bufio.Reader, buf *[]byte, maxBytes int) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(*buf)+len(part) > maxBytes {
			return nil, true, nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			*buf = append(*buf, part...)
			continue
		}
		if len(*buf) == 0 {
			return part, false, err
		}
		*buf = append(*buf, part...)
		return *buf, false, err
	}
}

// complete reports whether text holds the whole of the object that it begins with. Counting braces settles it for nearly
// every line; where strings hold unequal numbers of them, the text is read.
func complete(text []byte) bool {
	if bytes.Count(text, []byte{'{'}) == bytes.Count(text, []byte{'}'}) {
		return true
	}
	_, err := jsonscan.Value(text, 0)
	var syntax *jsonscan.Error
	// Broken anywhere but at its end, more lines won't mend it.
	return err == nil || errors.As(err, &syntax) && syntax.Offset < len(text)
}

// All reads every action of a file, as [Texts] and [Parse] do. It stops after the first error.
func All(r io.Reader, maxBytes int) iter.Seq2[Action, error] {
	return func(yield func(Action, error) bool) {
		for text, err := range Texts(r, maxBytes) {
			if err != nil {
				yield(nil, err)
				return
			}
			a, err := text.Parse()
			if errors.Is(err, ErrEmpty) {
				continue
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
	}
}

// Parse is [Parse] for t, with the line in its errors.
func (t Text) Parse() (Action, error) {
	a, err := Parse(t.Data)
	var c *CorruptError
	if errors.As(err, &c) {
		c.Line = t.Line
	}
	return a, err
}
