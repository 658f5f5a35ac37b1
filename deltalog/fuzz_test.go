package deltalog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
)

// FuzzChecksum validates a table by checksum files of any bytes: it is what the file says, or there is an error of a known kind.
func FuzzChecksum(f *testing.F) {
	f.Add([]byte(`{"tableSizeBytes":1,"numFiles":1,"numMetadata":1,"numProtocol":1,"txnId":"a\u0062","protocol":{"minReaderVersion":1,"minWriterVersion":2}}`))
	f.Add([]byte(`{"numFiles":1,"metadata":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"{}","partitionColumns":[],"configuration":{}}}`))
	f.Add([]byte(`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["b","a"],"writerFeatures":[]},"allFiles":[{"path":"a"}]}`))
	f.Add([]byte(`{"numFiles":null,"tableSizeBytes":1e3,"txnId":5}`))
	mem := newTable(f, []string{addLine("a")})
	name := strings.TrimSuffix(deltalog.CommitName(0), ".json") + ".crc"
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := mem.Put(t.Context(), name, data); err != nil {
			t.Fatal(err)
		}
		s, err := deltalog.Open(mem, deltalog.Options{Workers: 1}).Snapshot(t.Context(), deltalog.SnapshotOptions{})
		if err != nil {
			t.Fatal(err) // the file is looked at on demand alone
		}
		defer s.Close()
		err = s.Validate(t.Context())
		var differs *deltalog.ChecksumError
		if err != nil && !errors.Is(err, deltalog.ErrCorrupt) && !errors.As(err, &differs) {
			t.Errorf("an error of no type: %v", err)
		}
		if sum, err := s.Checksum(t.Context()); err == nil && sum.NumFiles != nil && *sum.NumFiles != 1 && differs == nil {
			t.Errorf("%d files pass for one", *sum.NumFiles)
		}
	})
}

// FuzzListing opens logs of any file names, all of them empty but the first commit.
func FuzzListing(f *testing.F) {
	f.Add("00000000000000000001.json\n00000000000000000002.json\n00000000000000000001.crc\n_last_checkpoint")
	f.Add("00000000000000000001.checkpoint.parquet\n00000000000000000002.checkpoint.0000000001.0000000002.parquet")
	f.Add("00000000000000000001.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json\n00000000000000000003.json\n99999999999999999999.json")
	f.Add("00000000000000000001.00000000000000000005.compacted.json\n_staged_commits/00000000000000000001.80a083e8-7026-4e79-81be-64bd76c43a11.json\n9223372036854775807.json\n09223372036854775807.json")
	f.Fuzz(func(t *testing.T, names string) {
		mem := newTable(t, []string{addLine("a")})
		for i, name := range strings.Split(names, "\n") {
			if i == 1<<8 {
				break
			}
			if err := mem.PutIfAbsent(t.Context(), deltalog.Dir+"/"+name, nil); err != nil && !errors.Is(err, logstore.ErrInvalidName) && !errors.Is(err, logstore.ErrExists) {
				t.Fatal(err)
			}
			if n, ok := checkpoint.ParseName(name); ok && n.String() != name {
				t.Errorf("%q is read as %q", name, n)
			}
		}
		l := deltalog.Open(mem, deltalog.Options{Workers: 1})
		s, err := l.Snapshot(t.Context(), deltalog.SnapshotOptions{})
		if err != nil {
			known(t, err)
		} else {
			if got, err := paths(s.Adds(t.Context())); err != nil || len(got) != 1 {
				t.Errorf("%q, %v", got, err) // nothing but empty commits came after the first
			}
			s.Close()
		}
		commits, err := l.Since(t.Context(), 0)
		if err != nil {
			known(t, err)
		}
		for i, c := range commits {
			if c.Version != int64(i+1) || c.Entry.Name != deltalog.CommitName(c.Version) {
				t.Errorf("commit %d is %+v", i+1, c)
			}
		}
	})
}

func known(t *testing.T, err error) {
	t.Helper()
	for _, want := range []error{deltalog.ErrCorrupt, deltalog.ErrNoProtocol, deltalog.ErrNoMetadata, deltalog.ErrNoTable, checkpoint.ErrCorrupt, action.ErrLimit} {
		if errors.Is(err, want) {
			return
		}
	}
	t.Errorf("an error of no type: %v", err)
}
