package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHelpOfEveryCommand: each command has an example that calls it, and its help fits the width.
func TestHelpOfEveryCommand(t *testing.T) {
	for _, cmd := range (&app{}).root().Commands() {
		if cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		out, stderr, code := deltaskip(t, cmd.Name(), "--help")
		if code != exitDone || stderr != "" {
			t.Errorf("%s --help: exit %d, %s", cmd.Name(), code, stderr)
		}
		if !strings.Contains(cmd.Example, "deltaskip "+cmd.Name()) {
			t.Errorf("%s has no example", cmd.Name())
		}
		checkWidth(t, out)
		if !strings.Contains(out, "Examples:") {
			t.Errorf("%s --help shows no example", cmd.Name())
		}
	}
}

// TestExamplesParse: what help shows is a line of flags that the command has.
func TestExamplesParse(t *testing.T) {
	for _, cmd := range (&app{}).root().Commands() {
		for line := range strings.Lines(cmd.Example) {
			_, call, found := strings.Cut(line, "deltaskip "+cmd.Name())
			if !found {
				t.Errorf("%s: the example %q does not call it", cmd.Name(), line)
				continue
			}
			for _, word := range strings.Fields(call) {
				name, isFlag := strings.CutPrefix(word, "--")
				if name, _, _ = strings.Cut(name, "="); isFlag && cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
					t.Errorf("%s has no flag --%s: %s", cmd.Name(), name, line)
				}
			}
		}
	}
}

func TestManualPages(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1767225600")
	dir := filepath.Join(t.TempDir(), "man1")
	if _, stderr, code := deltaskip(t, "man", dir); code != exitDone {
		t.Fatal(stderr)
	}
	for _, cmd := range []string{"", "-files", "-check", "-history", "-man"} {
		page, err := os.ReadFile(filepath.Join(dir, "deltaskip"+cmd+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		if text := string(page); !strings.Contains(text, ".SH SYNOPSIS") || !strings.Contains(text, "Jan 2026") {
			t.Errorf("deltaskip%s.1: %s", cmd, text)
		}
	}
	if _, stderr, code := deltaskip(t, "man"); code != exitUsage || !strings.Contains(stderr, "DIR") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

func TestShellCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, stderr, code := deltaskip(t, "completion", shell); code != exitDone || !strings.Contains(out, "deltaskip") {
			t.Errorf("%s: exit %d, %s", shell, code, stderr)
		}
	}
	out, _, _ := deltaskip(t, cobra.ShellCompRequestCmd, "che")
	if !strings.Contains(out, "check") {
		t.Errorf("completing che: %s", out)
	}
}

// TestNoColours: what is no terminal gets no escape sequences.
func TestNoColours(t *testing.T) {
	for _, args := range [][]string{
		{"check", eventsTable, "--read-version", "2", "--where", "id = 2500"},
		{"check", eventsTable, "--read-version", "2", "--where", "id < 500", "--mode", "stats"},
		{"stats", eventsTable}, {"history", eventsTable},
	} {
		if out, stderr, _ := deltaskip(t, args...); strings.Contains(out+stderr, "\x1b") {
			t.Errorf("%q prints escape sequences: %q", args, out+stderr)
		}
	}
}
