package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/google/uuid"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/schema"
)

// WriteCheckpoint writes the workload's files as a checkpoint of version 1, beside a log of two commits that hold none of
// them. It holds about 40 bytes a file in memory if the workload is shuffled or sorted. progress, which may be nil, is told now
// and then how many files are written. A store that has a log already is left alone: that is an error.
func (w Workload) WriteCheckpoint(ctx context.Context, store logstore.Store, o checkpoint.WriteOptions, progress func(adds int)) error {
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
	protocol := w.Protocol()
	if o.V2 {
		protocol.ReaderFeatures = append(protocol.ReaderFeatures, "v2Checkpoint")
		protocol.WriterFeatures = append(protocol.WriterFeatures, "v2Checkpoint")
	}
	ids := rand.New(rand.NewPCG(w.Seed, 2))
	o.NewID = func() string {
		var id uuid.UUID
		binary.BigEndian.PutUint64(id[:8], ids.Uint64())
		binary.BigEndian.PutUint64(id[8:], ids.Uint64())
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4
		return id.String()
	}
	o.Now = Epoch
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
		n := 0
		for a := range files {
			add := *a // files reuses it
			if !yield(&add, nil) {
				return
			}
			if n++; progress != nil && (n%(1<<14) == 0 || n == w.Adds) {
				progress(n)
			}
		}
	}
	_, err = checkpoint.Write(ctx, store, &checkpoint.State{
		Version: 1, Protocol: protocol, Metadata: metadata, Table: table, Adds: adds,
		Removes: func(func(*action.Remove, error) bool) {},
	}, o)
	return err
}
