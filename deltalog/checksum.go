package deltalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/internal/jsonscan"
)

// maxChecksumBytes bounds a checksum file, which may list all files of a table.
const maxChecksumBytes = 1 << 30

// A Checksum is what the file N.crc says of version N (Delta protocol, "Version Checksum File Schema"). What a writer left
// out is nil.
type Checksum struct {
	NumFiles       *int64
	TableSizeBytes *int64
	Protocol       *action.Protocol
	Metadata       *action.Metadata
	TxnID          string
}

// A ChecksumError says that a snapshot is not what the version's checksum file says it is: the log, the file, or this reader
// is wrong.
type ChecksumError struct {
	Version   int64
	Field     string // of the checksum file
	Got, Want string
}

func (e *ChecksumError) Error() string {
	return fmt.Sprintf("deltalog: version %d differs from its checksum file: %s is %s, not %s", e.Version, e.Field, e.Got, e.Want)
}

// Checksum reads the version's checksum file; nil where there is none.
func (s *Snapshot) Checksum(ctx context.Context) (*Checksum, error) {
	if s.segment.checksum == nil {
		return nil, nil
	}
	name := s.segment.checksum.Entry.Name
	data, _, err := s.log.store.Get(ctx, name, maxChecksumBytes)
	if err != nil {
		return nil, fmt.Errorf("deltalog: %w", err)
	}
	sum, err := parseChecksum(data)
	if err != nil {
		return nil, corrupt(name, 0, err)
	}
	return sum, nil
}

func parseChecksum(data []byte) (*Checksum, error) {
	text, err := jsonscan.Text(data)
	if err != nil {
		return nil, err
	}
	var sum Checksum
	_, err = jsonscan.Object(text, 0, func(key []byte, start, end int) (err error) {
		value := text[start:end]
		if string(value) == "null" {
			return nil
		}
		switch string(key) {
		case "numFiles":
			sum.NumFiles, err = integer(value)
		case "tableSizeBytes":
			sum.TableSizeBytes, err = integer(value)
		case "protocol":
			sum.Protocol, err = parse[*action.Protocol](wrap("protocol", value))
		case "metadata":
			sum.Metadata, err = parse[*action.Metadata](wrap("metaData", value))
		case "txnId":
			var id []byte
			if value[0] == '"' {
				id, err = jsonscan.Unquote(nil, value, 0, len(value))
			}
			sum.TxnID = string(id)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &sum, nil
}

func integer(value []byte) (*int64, error) {
	v, err := strconv.ParseInt(string(value), 10, 64)
	return &v, err
}

// wrap makes the text of an action from the text of its members.
func wrap(name string, members []byte) []byte {
	return slices.Concat([]byte(`{"`+name+`":`), members, []byte("}"))
}

// Validate compares the snapshot with its version's checksum file, which costs a pass over all adds. It returns nil where
// there is no such file, and a [ChecksumError] for the first difference.
func (s *Snapshot) Validate(ctx context.Context) error {
	sum, err := s.Checksum(ctx)
	if sum == nil || err != nil {
		return err
	}
	if sum.NumFiles != nil || sum.TableSizeBytes != nil {
		var files, bytes int64
		for a, err := range s.Adds(ctx) {
			if err != nil {
				return err
			}
			files++
			bytes += a.Size
		}
		if err := errors.Join(s.differs("numFiles", files, sum.NumFiles), s.differs("tableSizeBytes", bytes, sum.TableSizeBytes)); err != nil {
			return err
		}
	}
	if sum.Protocol != nil {
		if got, want := sortedFeatures(s.Protocol), sortedFeatures(sum.Protocol); got != want {
			return &ChecksumError{s.Version, "protocol", got, want}
		}
	}
	if sum.Metadata != nil {
		if got, want := string(action.Append(nil, s.Metadata)), string(action.Append(nil, sum.Metadata)); got != want {
			return &ChecksumError{s.Version, "metadata", got, want}
		}
	}
	return nil
}

func (s *Snapshot) differs(field string, got int64, want *int64) error {
	if want == nil || got == *want {
		return nil
	}
	return &ChecksumError{s.Version, field, strconv.FormatInt(got, 10), strconv.FormatInt(*want, 10)}
}

// sortedFeatures writes a protocol so that the order of its features, which means nothing, is always the same.
func sortedFeatures(p *action.Protocol) string {
	sorted := *p
	sorted.ReaderFeatures = slices.Sorted(slices.Values(p.ReaderFeatures))
	sorted.WriterFeatures = slices.Sorted(slices.Values(p.WriterFeatures))
	return string(action.Append(nil, &sorted))
}
