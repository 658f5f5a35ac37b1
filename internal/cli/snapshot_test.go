package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deltaskip/deltaskip/deltalog"
)

func TestSnapshotIsComparedWithItsChecksum(t *testing.T) {
	for _, tt := range []struct {
		name, checksum string
		says           string // the warning, or error; empty for none
	}{
		{"no checksum file", "", ""},
		{"the right one", `{"tableSizeBytes":1,"numFiles":1,"numMetadata":1,"numProtocol":1}`, ""},
		{"another number of files", `{"tableSizeBytes":1,"numFiles":2,"numMetadata":1,"numProtocol":1}`, "numFiles is 1, not 2"},
		{"not JSON", `{"numFiles":`, "00000000000000000001.crc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := writeTable(t, testCreate, testAdd("a", 0, 9))
			if tt.checksum != "" {
				name := filepath.Join(table, deltalog.Dir, "00000000000000000001.crc")
				if err := os.WriteFile(name, []byte(tt.checksum), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, stderr, code := deltaskip(t, "snapshot", table)
			if code != exitDone || !strings.Contains(out, "files 1") || !strings.Contains(stderr, tt.says) || (stderr == "") != (tt.says == "") {
				t.Errorf("exit %d, stderr %q", code, stderr)
			}
			if tt.says != "" && !strings.HasPrefix(stderr, "deltaskip: warning: ") {
				t.Errorf("stderr %q", stderr)
			}
			want := exitDone
			if tt.says != "" {
				want = exitError
			}
			for _, format := range []string{"text", "json"} {
				if _, stderr, code := deltaskip(t, "snapshot", table, "--validate", "--format", format); code != want || !strings.Contains(stderr, tt.says) {
					t.Errorf("%s with --validate: exit %d, stderr %q", format, code, stderr)
				}
			}
			if _, stderr, code := deltaskip(t, "snapshot", table, "--format", "json"); code != exitDone || stderr != "" {
				t.Errorf("json: exit %d, stderr %q", code, stderr)
			}
		})
	}
}

func TestTimestamp(t *testing.T) {
	table := writeTable(t, testCreate, testAdd("a", 0, 9), testAdd("b", 0, 9))
	for v := range 3 {
		at := time.Date(2026, 1, 1+v, 12, 0, 0, 0, time.UTC)
		if err := os.Chtimes(filepath.Join(table, deltalog.CommitName(int64(v))), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		time, zone string
		version    int64
	}{
		{"2026-01-01T12:00:00Z", "UTC", 0},
		{"2026-01-02 11:59:59.999", "UTC", 0},
		{"2026-01-02 12:00", "UTC", 1},
		{"2026-01-02 12:59", "Europe/Berlin", 0},
		{"2026-01-02 13:00", "Europe/Berlin", 1},
		{"2026-01-03", "UTC", 1},
		{"2030-01-01", "UTC", 2},
	} {
		out, stderr, code := deltaskip(t, "snapshot", table, "--timestamp", tt.time, "--zone", tt.zone, "--format", "json")
		var got snapshotJSON
		if err := json.Unmarshal([]byte(out), &got); err != nil || got.Version != tt.version {
			t.Errorf("%s %s: version %d, want %d; exit %d, %s", tt.time, tt.zone, got.Version, tt.version, code, stderr)
		}
		out, _, _ = deltaskip(t, "files", table, "--where", "id = 5", "--timestamp", tt.time, "--zone", tt.zone, "--format", "json")
		var files filesJSON
		if err := json.Unmarshal([]byte(out), &files); err != nil || files.Version != tt.version || files.Total != tt.version {
			t.Errorf("files at %s: %s", tt.time, out)
		}
	}
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--timestamp", "2025-01-01"}, exitError, "the oldest is of 2026-01-01T12:00:00Z"},
		{[]string{"--timestamp", "yesterday noon"}, exitUsage, "give a time such as"},
		{[]string{"--timestamp", "2026-01-01", "--version", "1"}, exitUsage, "not both"},
		{[]string{"--version", "-2"}, exitUsage, "begin at 0"},
	} {
		if _, stderr, code := deltaskip(t, append([]string{"snapshot", table}, tt.args...)...); code != tt.code || !strings.Contains(stderr, tt.says) {
			t.Errorf("%v: exit %d, %s", tt.args, code, stderr)
		}
	}
}
