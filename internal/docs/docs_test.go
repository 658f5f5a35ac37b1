// Package docs runs what the documentation shows: nobody should copy a line that doesn't work.
package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// A snippet is a code block. A comment in front of it says what to make of it:
//
//	<!-- conflict/example_test.go -->  Go code that stands in this file, which is compiled and run
//	<!-- exit 3 -->                    shell commands that end with this exit code
//	<!-- main job -->, <!-- tests -->  what CI runs by itself
type snippet struct {
	file, language, comment, code string
	line                          int
}

func snippets(t *testing.T) (list []snippet) {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		comment, open := "", (*snippet)(nil)
		for i, line := range strings.Split(string(text), "\n") {
			trimmed := strings.TrimSpace(line)
			switch {
			case open != nil && trimmed == "```":
				list, open, comment = append(list, *open), nil, ""
			case open != nil:
				open.code += line + "\n"
			case strings.HasPrefix(trimmed, "```"):
				open = &snippet{file: strings.TrimPrefix(file, root+"/"), language: strings.TrimPrefix(trimmed, "```"), comment: comment, line: i + 1}
			case strings.HasPrefix(trimmed, "<!--"):
				comment = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(trimmed, "<!--"), "-->"))
			case trimmed != "":
				comment = ""
			}
		}
		if open != nil {
			t.Errorf("%s:%d: the code block has no end", open.file, open.line)
		}
	}
	return list
}

// TestGoSnippetsAreExamples: Go code in the documentation is part of a program or example that the tests run.
func TestGoSnippetsAreExamples(t *testing.T) {
	n := 0
	for _, s := range snippets(t) {
		if s.language != "go" {
			continue
		}
		n++
		source, err := os.ReadFile(filepath.Join(root, s.comment))
		if s.comment == "" || err != nil {
			t.Errorf("%s:%d: a comment has to say which file the code is in: %v", s.file, s.line, err)
			continue
		}
		if !strings.Contains(flush(string(source)), flush(s.code)) {
			t.Errorf("%s:%d: this is not in %s:\n%s", s.file, s.line, s.comment, s.code)
		}
	}
	if n == 0 {
		t.Error("no Go code found")
	}
}

// flush takes away indentation.
func flush(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return strings.TrimSpace(b.String())
}

// TestShellSnippetsRun runs every block of shell commands in the root of the repository, with deltaskip in the path.
func TestShellSnippetsRun(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "deltaskip"), root+"/cmd/deltaskip").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	n := 0
	for _, s := range snippets(t) {
		if s.language != "sh" || s.comment == "main job" || s.comment == "tests" {
			continue
		}
		n++
		t.Run(fmt.Sprintf("%s line %d", s.file, s.line), func(t *testing.T) {
			want := 0
			if code, ok := strings.CutPrefix(s.comment, "exit "); ok {
				if want, err = strconv.Atoi(code); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(shell, "-euo", "pipefail", "-c", s.code)
			cmd.Dir = root
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "TMPDIR="+t.TempDir(), "NO_COLOR=1")
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != want {
				t.Errorf("exit %d, want %d, %v:\n%s", code, want, err, out)
			}
		})
	}
	if n == 0 {
		t.Error("no shell commands found")
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// TestLinksLeadSomewhere: relative links name files that are there.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		files, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range link.FindAllStringSubmatch(string(text), -1) {
				if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
					t.Errorf("%s: link to %s: %v", file, m[1], err)
				}
			}
		}
	}
}
