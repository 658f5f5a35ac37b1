package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/schema"
)

func (a *app) snapshotCommand() *cobra.Command {
	var at moment
	var validate bool
	cmd := &cobra.Command{
		Use:   "snapshot TABLE",
		Short: "Show the table at a version: protocol, metadata, files",
		Long: `snapshot reads the log up to a version and shows what the table is made of. With
--format json it lists every file with its partition values, statistics and deletion
vector, sorted by path.

Where the version has a checksum file (.crc) the snapshot is compared with it. A difference is
a warning; with --validate it is an error.`,
		Example: `  deltaskip snapshot ./events
  deltaskip snapshot ./events --timestamp '2026-01-31 12:00:00'
  deltaskip snapshot ./events --validate
  deltaskip snapshot ./events --version 3 --format json`,
		Args: oneTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.openTable(cmd.Context(), args[0], at)
			if err != nil {
				return err
			}
			defer t.Close()
			if a.json() {
				err = a.printSnapshotJSON(cmd.Context(), t.snapshot)
			} else {
				err = a.printSnapshotText(cmd.Context(), t.snapshot)
			}
			if err != nil || a.json() && !validate {
				return err
			}
			var differs *deltalog.ChecksumError
			err = t.snapshot.Validate(cmd.Context())
			if !validate && (errors.As(err, &differs) || errors.Is(err, deltalog.ErrCorrupt)) {
				fmt.Fprintf(a.stderr, "deltaskip: warning: %s\n", oneLine(err))
				return nil
			}
			return err
		},
	}
	at.addTo(cmd.Flags())
	cmd.Flags().BoolVar(&validate, "validate", false, "fail where the snapshot differs from the version's checksum file")
	return cmd
}

// A fileJSON is what the answer says of a file, spelled as in the log.
type fileJSON struct {
	Path            string                 `json:"path"`
	PartitionValues map[string]*string     `json:"partitionValues"`
	Size            int64                  `json:"size"`
	Stats           *string                `json:"stats"`
	DeletionVector  *action.DeletionVector `json:"deletionVector"`
}

type snapshotJSON struct {
	Version  int64           `json:"version"`
	Protocol json.RawMessage `json:"protocol"`
	Metadata json.RawMessage `json:"metadata"`
	NumFiles int             `json:"numFiles"`
	Files    []fileJSON      `json:"files"`
}

func (a *app) printSnapshotJSON(ctx context.Context, s *deltalog.Snapshot) error {
	out := snapshotJSON{Version: s.Version, Protocol: body(s.Protocol), Metadata: body(s.Metadata), Files: []fileJSON{}}
	bar := a.progress(-1, "files")
	for add, err := range s.Adds(ctx) {
		if err != nil {
			return err
		}
		out.Files = append(out.Files, newFileJSON(add))
		_ = bar.Add(1)
	}
	_ = bar.Finish()
	slices.SortFunc(out.Files, func(x, y fileJSON) int { return strings.Compare(x.Path, y.Path) })
	out.NumFiles = len(out.Files)
	return buffered(a.stdout, func(w *bufio.Writer) error { return printJSON(w, out) })
}

func newFileJSON(add *action.Add) fileJSON {
	f := fileJSON{Path: add.Path, PartitionValues: add.PartitionValues, Size: add.Size, DeletionVector: add.DeletionVector}
	if f.PartitionValues == nil {
		f.PartitionValues = map[string]*string{}
	}
	if add.Stats != "" {
		f.Stats = &add.Stats
	}
	return f
}

// body returns the JSON of an action without the object around it that names it.
func body(a action.Action) json.RawMessage {
	line := action.Append(nil, a)
	return line[len(`{"":`)+len(a.Name()) : len(line)-len(`}`)]
}

func (a *app) printSnapshotText(ctx context.Context, s *deltalog.Snapshot) error {
	table := &schema.Table{} // some old tables have no schema
	if s.Metadata.SchemaString != "" {
		var err error
		if table, err = s.Table(); err != nil {
			return err
		}
	}
	var files, bytes, withStats, withVector int64
	for add, err := range s.Adds(ctx) {
		if err != nil {
			return err
		}
		files++
		bytes += add.Size
		if add.Stats != "" {
			withStats++
		}
		if add.DeletionVector != nil {
			withVector++
		}
	}
	return buffered(a.stdout, func(w *bufio.Writer) error {
		fmt.Fprintf(w, "version %d\n", s.Version)
		fmt.Fprintf(w, "protocol reader %d, writer %d", s.Protocol.MinReaderVersion, s.Protocol.MinWriterVersion)
		if features := s.Protocol.WriterFeatures; len(features) > 0 {
			fmt.Fprintf(w, " (%s)", strings.Join(features, ", "))
		}
		fmt.Fprintf(w, "\nfiles %d, %d bytes; %d with statistics, %d with a deletion vector\n", files, bytes, withStats, withVector)
		if len(s.Metadata.PartitionColumns) > 0 {
			fmt.Fprintf(w, "partitioned by %s\n", strings.Join(s.Metadata.PartitionColumns, ", "))
		}
		for _, field := range table.Fields {
			fmt.Fprintf(w, "  %s %s\n", field.Name, field.Type)
		}
		for _, key := range slices.Sorted(maps.Keys(s.Metadata.Configuration)) {
			fmt.Fprintf(w, "  %s = %s\n", key, s.Metadata.Configuration[key])
		}
		return nil
	})
}
