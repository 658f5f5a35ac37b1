package bench

import (
	"context"
	"fmt"
	"iter"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/schema"
)

// WriteCheckpoint writes the workload's files as a checkpoint of version 1, beside a log of two commits that hold none of
// them. ClusterBy names columns; o.ClusterBy is set from it.
func (w Workload) WriteCheckpoint(ctx context.Context, store logstore.Store, o checkpoint.WriteOptions, clusterBy ...string) error {
	w, err := w.defaults()
	if err != nil {
		return err
	}
	files, err := w.Files()
	if err != nil {
		return err
	}
	metadata, err := w.Metadata()
	if err != nil {
		return err
	}
	table, err := schema.Parse(metadata.SchemaString, metadata.PartitionColumns, metadata.Configuration)
	if err != nil {
		return err
	}
	for _, name := range clusterBy {
		c, err := table.Lookup(name)
		if err != nil {
			return err
		}
		o.ClusterBy = append(o.ClusterBy, c)
	}
	protocol := w.Protocol()
	if o.V2 {
		protocol.ReaderFeatures = append(protocol.ReaderFeatures, "v2Checkpoint")
		protocol.WriterFeatures = append(protocol.WriterFeatures, "v2Checkpoint")
	}
	create := action.Append(append(action.Append(nil, protocol), '\n'), metadata)
	operation := `{"commitInfo":{"timestamp":%d,"operation":"WRITE"}}` + "\n"
	if err := store.PutIfAbsent(ctx, "_delta_log/00000000000000000000.json", append(create, '\n')); err != nil {
		return err
	}
	write := fmt.Appendf(nil, operation, Epoch.UnixMilli())
	if err := store.PutIfAbsent(ctx, "_delta_log/00000000000000000001.json", write); err != nil {
		return err
	}
	var adds iter.Seq2[*action.Add, error] = func(yield func(*action.Add, error) bool) {
		for a := range files {
			add := *a // files reuses it
			if !yield(&add, nil) {
				return
			}
		}
	}
	_, err = checkpoint.Write(ctx, store, &checkpoint.State{
		Version: 1, Protocol: protocol, Metadata: metadata, Table: table, Adds: adds,
		Removes: func(func(*action.Remove, error) bool) {},
	}, o)
	return err
}
