package deltalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
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
	if err != nil {
		return nil, fmt.Errorf("deltalog: %w", err)
	}
	return ParseCommit(version, entry, data)
}

// ParseCommit reads a commit that is in memory, such as one that this program has just written. It keeps data.
func ParseCommit(version int64, entry logstore.Entry, data []byte) (*Commit, error) {
	c, name := &Commit{Version: version, Entry: entry}, entry.Name
	var scanned colstats.Line
	n := 0
	for text := range bytes.Lines(data) {
		n++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		if err := scanned.Scan(text); err != nil {
			return nil, corrupt(name, n, err)
		}
		if scanned.Kind == colstats.AddLine {
			if escapes(scanned.Path) {
				return nil, corrupt(name, n, fmt.Errorf("path %q: %w", scanned.Path, action.ErrOutside))
			}
			c.adds = append(c.adds, addText{text, n})
			continue
		}
		switch a, err := action.Parse(text); {
		case errors.Is(err, action.ErrEmpty):
		case err != nil:
			return nil, corrupt(name, n, err)
		default:
			c.put(a)
		}
	}
	return c, nil
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

// Batches yields the adds in order, with what the layout demands of their statistics. Each batch is lent until the next
// step: who keeps it retains it.
func (c *Commit) Batches(ctx context.Context, layout *colstats.Layout, o colstats.Options) iter.Seq2[*colstats.Batch, error] {
	return func(yield func(*colstats.Batch, error) bool) {
		b := colstats.NewBuilder(layout, o)
		hand := func() bool {
			batch := b.Flush()
			defer batch.Release()
			return yield(batch, nil)
		}
		var scanned colstats.Line
		for _, add := range c.adds {
			if b.Len() == colstats.MaxBatchLen {
				if !hand() {
					return
				}
				if err := ctx.Err(); err != nil {
					yield(nil, fmt.Errorf("deltalog: %w", err))
					return
				}
			}
			if err := b.AppendLine(add.text, &scanned); err != nil {
				b.Flush().Release()
				yield(nil, corrupt(c.Entry.Name, add.line, err))
				return
			}
		}
		if b.Len() > 0 {
			hand()
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
