package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/internal/leaf"
	"github.com/deltaskip/deltaskip/logstore"
)

const (
	logDir             = "_delta_log"
	sidecarDir         = logDir + "/_sidecars"
	lastCheckpointName = logDir + "/_last_checkpoint"
)

// A Checkpoint is the state of a table at one version, in files. It is safe for concurrent use.
type Checkpoint struct {
	o     Options
	text  *textFile // a V2 checkpoint's top level in JSON, else nil
	top   []*part   // top level in parquet
	files []*part   // those that may hold adds and removes: top, then sidecars
}

// Seen reports that newer commits have added or removed a file already, so that what the checkpoint says of it is dead. Path
// is as the log spells it and deletionVector the unique id, empty without one; both are lent for the call. It is called from
// several goroutines at once. A nil Seen says that no file was seen.
type Seen func(path, deletionVector []byte) bool

// A part is one parquet file of a checkpoint.
type part struct {
	*leaf.File
	name string
	r    logstore.File
}

// Open opens a checkpoint by the names of its top-level files: one, or all parts of a multi-part checkpoint in order.
// It reads their footers and, of a V2 checkpoint, the actions that name its sidecars, and theirs. The reads of all later
// calls, too, end with ctx. The caller closes the result.
func Open(ctx context.Context, store logstore.Store, names []string, o Options) (_ *Checkpoint, err error) {
	c := &Checkpoint{o: o.withDefaults()}
	defer func() {
		if err != nil {
			c.Close() // what went wrong before says more
		}
	}()
	if len(names) == 1 && strings.HasSuffix(names[0], ".json") {
		if c.text, err = openText(ctx, store, names[0], c.o.MaxJSONBytes); err != nil {
			return nil, err
		}
	} else {
		c.top, err = c.openParts(ctx, store, names)
		c.files = c.top
		if err != nil {
			return nil, err
		}
	}
	var sidecars []string
	known := map[string]bool{}
	for line, err := range c.lines(ctx, c.top, []string{"sidecar"}, nil) {
		if err != nil {
			return nil, err
		}
		name, err := sidecarName(line)
		if err != nil {
			return nil, &Error{File: names[0], RowGroup: -1, Err: err}
		}
		switch {
		case known[name]: // its adds would count twice
			err = corrupt("the sidecar %q is named twice", name)
		case len(sidecars) == c.o.MaxSidecars:
			err = &action.LimitError{What: "a checkpoint", Size: -1, Unit: "sidecars", Max: int64(c.o.MaxSidecars), Option: "MaxSidecars"}
		}
		if err != nil {
			return nil, &Error{File: names[0], RowGroup: -1, Err: err}
		}
		known[name] = true
		sidecars = append(sidecars, name)
	}
	parts, err := c.openParts(ctx, store, sidecars)
	c.files = append(c.files[:len(c.files):len(c.files)], parts...)
	return c, err
}

// sidecarName returns the name of the file that a sidecar action means. They all lie in one folder, so that only the last
// name of what may be a whole URI counts (protocol, "Sidecar File Information").
func sidecarName(line []byte) (string, error) {
	a, err := action.Parse(line)
	if err != nil {
		return "", corrupt("%v", err)
	}
	s, ok := a.(*action.Sidecar)
	if !ok {
		return "", corrupt("a %s where a sidecar should be", a.Name())
	}
	base := path.Base(action.CanonicalPath(s.Path))
	if name := sidecarDir + "/" + base; s.Path != "" && logstore.CheckName(name) == nil {
		return name, nil
	}
	return "", corrupt("a sidecar called %q", s.Path)
}

// openParts opens files side by side. It returns those that it has opened, also beside an error.
func (c *Checkpoint) openParts(ctx context.Context, store logstore.Store, names []string) ([]*part, error) {
	parts := make([]*part, len(names))
	var g errgroup.Group
	g.SetLimit(max(4, c.o.Workers)) // opening is waiting for the store more than working
	for i, name := range names {
		g.Go(func() (err error) {
			parts[i], err = openPart(ctx, store, name, c.o.limits())
			return err
		})
	}
	err := g.Wait()
	opened := parts[:0]
	for _, p := range parts {
		if p != nil {
			opened = append(opened, p)
		}
	}
	return opened, err
}

func openPart(ctx context.Context, store logstore.Store, name string, lim leaf.Limits) (_ *part, err error) {
	defer recovered(name, &err)
	r, err := store.Open(ctx, name)
	if err != nil {
		return nil, &Error{File: name, RowGroup: -1, Err: err}
	}
	f, err := leaf.Open(r, r.Size(), lim)
	if err != nil {
		r.Close()
		return nil, &Error{File: name, RowGroup: -1, Err: err}
	}
	return &part{File: f, name: name, r: r}, nil
}

// fail says where in the part something went wrong.
func (p *part) fail(group int, n *leaf.Node, err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var chunk *leaf.ChunkError
	if errors.As(err, &chunk) {
		n, err = chunk.Node, chunk.Err
	}
	e = &Error{File: p.name, RowGroup: group, Err: err}
	if n != nil {
		e.Column = n.String()
	}
	return e
}

// Close closes the checkpoint's files. It must not be called while something is read, nor while a batch is held.
func (c *Checkpoint) Close() error {
	var errs []error
	for _, p := range c.files {
		errs = append(errs, p.r.Close())
	}
	c.top, c.files = nil, nil
	return errors.Join(errs...)
}

// Actions yields all actions but adds and removes (protocol, metaData, txn, domainMetadata, checkpointMetadata, sidecar)
// as lines of JSON in checkpoint order. A line is lent until the next step.
func (c *Checkpoint) Actions(ctx context.Context) iter.Seq2[[]byte, error] {
	return c.lines(ctx, c.top, []string{"protocol", "metaData", "txn", "domainMetadata", "checkpointMetadata", "sidecar"}, nil)
}

// Adds yields whole add actions as lines of JSON, in checkpoint order, without those that seen (which may be nil)
// reports. Statistics that the checkpoint holds as a struct only are written as JSON. A line is lent until the next step.
func (c *Checkpoint) Adds(ctx context.Context, seen Seen) iter.Seq2[[]byte, error] {
	return c.lines(ctx, c.files, []string{"add"}, seen)
}

// Removes yields the tombstones as lines of JSON, like Adds.
func (c *Checkpoint) Removes(ctx context.Context, seen Seen) iter.Seq2[[]byte, error] {
	return c.lines(ctx, c.files, []string{"remove"}, seen)
}

// lines yields the actions of some kinds that the top level in JSON and the given files hold.
func (c *Checkpoint) lines(ctx context.Context, files []*part, kinds []string, seen Seen) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if c.text != nil && !c.text.lines(ctx, kinds, seen, yield) {
			return
		}
		for _, p := range files {
			for group := range p.RowGroups() {
				if err := ctx.Err(); err != nil {
					yield(nil, fmt.Errorf("checkpoint: %w", err))
					return
				}
				more, err := c.groupLines(ctx, p, group, kinds, seen, yield)
				if err != nil {
					yield(nil, err)
				}
				if err != nil || !more {
					return
				}
			}
		}
	}
}

// groupLines yields the actions of some kinds in a row group, row by row.
func (c *Checkpoint) groupLines(
	ctx context.Context, p *part, group int, kinds []string, seen Seen, yield func([]byte, error) bool,
) (more bool, err error) {
	var readers []*rowReader
	defer func() {
		for _, r := range readers {
			r.close()
		}
	}()
	in, err := p.kindsIn(group, kinds)
	if err != nil || len(in) == 0 {
		return err == nil, err
	}
	for _, kind := range in {
		r, err := c.newRowReader(p, group, kind)
		if err != nil {
			return false, err
		}
		readers = append(readers, r)
	}
	for row, polled := int64(0), int64(0); row < p.GroupRows(group); row++ {
		if row >= polled {
			if ctx.Err() != nil {
				return false, fmt.Errorf("checkpoint: %w", ctx.Err())
			}
			polled = row + 1<<12
		}
		// Other kinds of actions come in long runs.
		none := p.GroupRows(group) - row
		for _, r := range readers {
			if none, err = r.action.lead.nulls(none); err != nil {
				return false, err
			}
		}
		if none > 0 {
			for _, r := range readers {
				r.pass(none)
			}
			row += none - 1
			continue
		}
		for _, r := range readers {
			line, err := r.next(seen)
			if err != nil {
				return false, err
			}
			if line != nil && !yield(line, nil) {
				return false, nil
			}
		}
	}
	return true, nil
}
