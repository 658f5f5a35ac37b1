package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/logstore"
)

// A textFile is the top level of a V2 checkpoint in JSON, one action a line.
type textFile struct {
	name    string
	actions []textAction
}

type textAction struct {
	text []byte
	line int // counted from 1
	kind colstats.LineKind
}

// kindNames are the kinds of lines under the names of their actions.
var kindNames = map[colstats.LineKind]string{
	colstats.AddLine: "add", colstats.RemoveLine: "remove", colstats.MetadataLine: "metaData",
	colstats.ProtocolLine: "protocol", colstats.TxnLine: "txn", colstats.DomainMetadataLine: "domainMetadata",
	colstats.CheckpointMetadataLine: "checkpointMetadata", colstats.SidecarLine: "sidecar",
}

func openText(ctx context.Context, store logstore.Store, name string, limit int64) (*textFile, error) {
	t := &textFile{name: name}
	data, e, err := store.Get(ctx, name, limit)
	if errors.Is(err, logstore.ErrTooLarge) {
		return nil, t.fail(0, &action.LimitError{What: "a checkpoint in JSON", Size: e.Size, Unit: "bytes", Max: limit, Option: "MaxJSONBytes"})
	}
	if err != nil {
		return nil, t.fail(0, err)
	}
	var line colstats.Line
	for text, err := range action.Texts(bytes.NewReader(data), len(data)) {
		if err != nil {
			return nil, t.fail(text.Line, corrupt("%v", err))
		}
		if err := line.Scan(text.Data); err != nil {
			return nil, t.fail(text.Line, corrupt("%v", err))
		}
		t.actions = append(t.actions, textAction{bytes.Clone(text.Data), text.Line, line.Kind})
	}
	return t, nil
}

// fail says in which line something went wrong; 0 is the file as a whole.
func (t *textFile) fail(line int, err error) error {
	if line > 0 {
		err = fmt.Errorf("line %d: %w", line, err)
	}
	return &Error{File: t.name, RowGroup: -1, Err: err}
}

// lines yields the actions of some kinds. It reports whether to go on.
func (t *textFile) lines(ctx context.Context, kinds []string, seen Seen, yield func([]byte, error) bool) bool {
	var line colstats.Line
	for i, a := range t.actions {
		if i%(1<<12) == 0 && ctx.Err() != nil {
			yield(nil, fmt.Errorf("checkpoint: %w", ctx.Err()))
			return false
		}
		if !slices.Contains(kinds, kindNames[a.kind]) {
			continue
		}
		if seen != nil && (a.kind == colstats.AddLine || a.kind == colstats.RemoveLine) {
			if err := line.Scan(a.text); err != nil {
				yield(nil, t.fail(a.line, corrupt("%v", err)))
				return false
			}
			if seen(line.Path, line.DeletionVector) {
				continue
			}
		}
		if !yield(a.text, nil) {
			return false
		}
	}
	return true
}
