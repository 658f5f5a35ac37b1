package deltalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/ordered"
	"github.com/deltaskip/deltaskip/logstore"
)

// A Commit is one commit of a table, read whole: its adds as text, of which Batches decodes what a program demands, the
// rest as actions. It is immutable; many goroutines may use it at once.
type Commit struct {
	Version int64
	Entry   logstore.Entry // the file: with the version, what a cache can know it by

	Info     *action.CommitInfo // nil where there is none
	Protocol *action.Protocol   // nil unless the commit changes it
	Metadata *action.Metadata   // nil unless the commit changes it
	Txns     []*action.Txn
	Domains  []*action.DomainMetadata
	Removes  []*action.Remove
	CDC      []*action.CDC
	Unknown  []*action.Unknown

	adds []addText
}

// An addText is an add in the text of its commit, known to be a line of JSON.
type addText struct {
	text []byte
	line int
}

// Commit reads the commit of a version. One that does not exist, or no longer, is [logstore.ErrNotFound].
func (l *Log) Commit(ctx context.Context, version int64) (*Commit, error) {
	data, entry, err := l.store.Get(ctx, CommitName(version), l.o.MaxCommitBytes)
	if errors.Is(err, logstore.ErrTooLarge) {
		return nil, corrupt(CommitName(version), 0, &action.LimitError{
			What: "a commit", Size: entry.Size, Unit: "bytes", Max: l.o.MaxCommitBytes, Option: "MaxCommitBytes",
		})
	}
	if err != nil {
		return nil, fmt.Errorf("deltalog: %w", err)
	}
	return parseCommit(version, entry, data, l.o.MaxActionBytes)
}

// ParseCommit reads a commit that is in memory, such as one that this program has just written. It keeps data. Large commits
// are read by all processors.
func ParseCommit(version int64, entry logstore.Entry, data []byte) (*Commit, error) {
	return parseCommit(version, entry, data, 0)
}

func parseCommit(version int64, entry logstore.Entry, data []byte, maxActionBytes int) (*Commit, error) {
	c := &Commit{Version: version, Entry: entry}
	parse := func(_ context.Context, data []byte) (piece, error) { return parsePiece(data, maxActionBytes), nil }
	parsed := ordered.Map(context.Background(), runtime.GOMAXPROCS(0), pieces(data), parse, nil)
	if len(data) <= pieceBytes { // most commits: nothing is worth starting
		parsed = func(yield func(piece, error) bool) { yield(parsePiece(data, maxActionBytes), nil) }
	}
	lines := 0
	for p, err := range parsed {
		if err == nil && p.err != nil {
			err = corrupt(entry.Name, lines+p.lines, p.err)
		}
		if err != nil {
			return nil, err
		}
		if c.adds == nil && lines == 0 {
			c.adds = p.adds
		} else {
			for _, add := range p.adds {
				c.adds = append(c.adds, addText{add.text, lines + add.line})
			}
		}
		for _, a := range p.actions {
			c.put(a)
		}
		lines += p.lines
	}
	return c, nil
}

// pieceBytes is about how much of a commit is parsed at once.
const pieceBytes = 1 << 20

// pieces cuts a commit between lines.
func pieces(data []byte) func(context.Context) iter.Seq2[[]byte, error] {
	return func(context.Context) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for len(data) > 0 {
				end := len(data)
				if end > pieceBytes {
					if i := bytes.IndexByte(data[pieceBytes:], '\n'); i >= 0 {
						end = pieceBytes + i + 1
					}
				}
				if !yield(data[:end], nil) {
					return
				}
				data = data[end:]
			}
		}
	}
}

// A piece is what some lines of a commit say. Line numbers are counted from its first.
type piece struct {
	lines   int
	adds    []addText
	actions []action.Action // others
	err     error           // of the last line
}

func parsePiece(data []byte, maxActionBytes int) (p piece) {
	var scanned colstats.Line
	for text := range bytes.Lines(data) {
		p.lines++
		if p.err = action.CheckLength(text, maxActionBytes); p.err != nil {
			return p
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		if p.err = scanned.Scan(text); p.err != nil {
			return p
		}
		if scanned.Kind == colstats.AddLine {
			if escapes(scanned.Path) {
				p.err = fmt.Errorf("path %q: %w", scanned.Path, action.ErrOutside)
				return p
			}
			if p.adds == nil { // lines of adds are much alike in length
				p.adds = make([]addText, 0, len(data)/len(text)+1)
			}
			p.adds = append(p.adds, addText{text, p.lines})
			continue
		}
		switch a, err := action.Parse(text); {
		case errors.Is(err, action.ErrEmpty):
		case err != nil:
			p.err = err
			return p
		default:
			p.actions = append(p.actions, a)
		}
	}
	return p
}

func (c *Commit) put(a action.Action) {
	switch a := a.(type) {
	case *action.CommitInfo:
		c.Info = a
	case *action.Protocol:
		c.Protocol = a
	case *action.Metadata:
		c.Metadata = a
	case *action.Txn:
		c.Txns = append(c.Txns, a)
	case *action.DomainMetadata:
		c.Domains = append(c.Domains, a)
	case *action.Remove:
		c.Removes = append(c.Removes, a)
	case *action.CDC:
		c.CDC = append(c.CDC, a)
	case *action.Unknown:
		c.Unknown = append(c.Unknown, a)
	}
}

// NumAdds returns the number of adds.
func (c *Commit) NumAdds() int { return len(c.adds) }

// Add returns the i-th add whole. It is the caller's.
func (c *Commit) Add(i int) (*action.Add, error) {
	a, err := parse[*action.Add](c.adds[i].text)
	if err != nil {
		return nil, corrupt(c.Entry.Name, c.adds[i].line, err)
	}
	return a, nil
}

// Adds yields the adds whole, in order. Each is the caller's. After an error nothing follows.
func (c *Commit) Adds() iter.Seq2[*action.Add, error] {
	return func(yield func(*action.Add, error) bool) {
		for i := range c.adds {
			if a, err := c.Add(i); !yield(a, err) || err != nil {
				return
			}
		}
	}
}

// batchFiles is how many adds are decoded at once.
const batchFiles = 8 << 10

// Batches yields the adds in order, with what the layout demands of their statistics. Each batch is lent until the next
// step: who keeps it retains it. More than one batch are decoded by all processors.
func (c *Commit) Batches(ctx context.Context, layout *colstats.Layout, o colstats.Options) iter.Seq2[*colstats.Batch, error] {
	decode := func(ctx context.Context, adds []addText) (*colstats.Batch, error) {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("deltalog: %w", err)
		}
		b := colstats.NewBuilder(layout, o)
		defer b.Close()
		var scanned colstats.Line
		for _, add := range adds {
			if err := b.AppendLine(add.text, &scanned); err != nil {
				b.Flush().Release()
				return nil, corrupt(c.Entry.Name, add.line, err)
			}
		}
		return b.Flush(), nil
	}
	return func(yield func(*colstats.Batch, error) bool) {
		hand := func(b *colstats.Batch, err error) bool {
			if err != nil {
				return yield(nil, err)
			}
			defer b.Release()
			return yield(b, nil)
		}
		if len(c.adds) <= batchFiles { // as above
			if len(c.adds) > 0 {
				hand(decode(ctx, c.adds))
			}
			return
		}
		chunks := func(context.Context) iter.Seq2[[]addText, error] {
			return func(yield func([]addText, error) bool) {
				for adds := range slices.Chunk(c.adds, batchFiles) {
					if !yield(adds, nil) {
						return
					}
				}
			}
		}
		for b, err := range ordered.Map(ctx, runtime.GOMAXPROCS(0), chunks, decode, (*colstats.Batch).Release) {
			if !hand(b, err) || err != nil {
				return
			}
		}
	}
}

// Timestamp returns the time of the commit in milliseconds since 1970-01-01T00:00:00Z: its in-commit timestamp, or else the
// file's.
func (c *Commit) Timestamp() int64 {
	if c.Info != nil {
		if t := c.Info.InCommitTimestamp(); t != nil {
			return *t
		}
	}
	return c.Entry.ModTime.UnixMilli()
}
