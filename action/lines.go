package action

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// DefaultMaxBytes is the length that a text may have by default: 64 MiB.
const DefaultMaxBytes = 64 << 20

// A Text is a line of a file of actions.
type Text struct {
	Data []byte // without white space around it; lent until the next step
	Line int    // counted from 1
}

// Texts splits a commit file, or any other file of actions, into its lines and passes over blank ones. The protocol wants
// one action on each line, so an action that is spread over several does not parse.
//
// maxBytes bounds one line; 0 means [DefaultMaxBytes]. A longer one is a [LimitError], other errors are those of r.
func Texts(r io.Reader, maxBytes int) iter.Seq2[Text, error] {
	if maxBytes <= 0 {
		maxBytes = DefaultMaxBytes
	}
	return func(yield func(Text, error) bool) {
		lines := bufio.NewReaderSize(r, 64<<10)
		var long []byte // lines that the reader's own buffer cannot hold
		for n := 1; ; n++ {
			data, err := lines.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				long = long[:0]
				for errors.Is(err, bufio.ErrBufferFull) && len(long)+len(data) <= maxBytes {
					long = append(long, data...)
					data, err = lines.ReadSlice('\n')
				}
				long = append(long, data...)
				data = long
			}
			if err := CheckLength(data, maxBytes); err != nil {
				yield(Text{Line: n}, err) // the text's line says where
				return
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Text{Line: n}, err)
				return
			}
			if text := bytes.TrimSpace(data); len(text) > 0 && !yield(Text{Data: text, Line: n}, nil) {
				return
			}
			if err != nil {
				return
			}
		}
	}
}

// CheckLength returns a [LimitError] for a line of more than maxBytes; 0 means [DefaultMaxBytes].
func CheckLength(line []byte, maxBytes int) error {
	if maxBytes <= 0 {
		maxBytes = DefaultMaxBytes
	}
	if len(line) <= maxBytes {
		return nil
	}
	return &LimitError{What: "an action", Size: -1, Unit: "bytes", Max: int64(maxBytes), Option: "MaxActionBytes"}
}

// All reads every action of a file, as [Texts] and [Parse] do. It stops after the first error.
func All(r io.Reader, maxBytes int) iter.Seq2[Action, error] {
	return func(yield func(Action, error) bool) {
		for text, err := range Texts(r, maxBytes) {
			var a Action
			if err == nil {
				a, err = text.Parse()
			} else if errors.Is(err, ErrLimit) {
				err = fmt.Errorf("action: line %d: %w", text.Line, err)
			}
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
