package cli

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/deltaskip/deltaskip/internal/chart"
)

// pageData returns what a page was made of.
func pageData(t *testing.T, file string, into any) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "<script>const data = ")
	data, _, closed := strings.Cut(rest, ";</script>")
	if !found || !closed {
		t.Fatal("the page has no data")
	}
	if err := json.Unmarshal([]byte(data), into); err != nil {
		t.Fatal(err)
	}
}

func TestStatsDrawsRanges(t *testing.T) {
	table := writeTable(t, sites(``, ``), lines(testAdd("b", 100, 199), testAdd("a", 0, 99), testAdd("wide", 0, 500),
		`{"add":{"path":"bare","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`))
	file := filepath.Join(t.TempDir(), "ranges.html")
	out, stderr, code := deltaskip(t, "stats", table, "--where", "id < 100", "--html", file)
	if code != exitDone || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	checkSays(t, out, "id < 100 keeps 3 of 4 files")
	var page chart.Ranges
	pageData(t, file, &page)
	if len(page.Columns) != 1 || page.Columns[0].Name != "id" || page.Columns[0].Axis != "value" || page.Where != "id < 100" {
		t.Fatalf("%+v", page)
	}
	var got []string
	for _, b := range page.Columns[0].Bars {
		place := "nowhere"
		if b.Low != nil {
			place = fmt.Sprintf("%g-%g", *b.Low, *b.High)
		}
		got = append(got, page.Paths[b.File]+" "+place+" "+page.Verdicts[b.File])
	}
	if want := "[a 0-99 All wide 0-500 Some b 100-199 None bare nowhere Some]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	if text := page.Columns[0].Bars[0].Text; text != "id in [0, 99], no NULL" {
		t.Errorf("hover says %q", text)
	}
}

func TestStatsDrawsEveryKindOfAxis(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ranges.html")
	if _, stderr, code := deltaskip(t, "stats", eventsTable, "--html", file); code != exitDone {
		t.Fatal(stderr)
	}
	var page chart.Ranges
	pageData(t, file, &page)
	axes := map[string]string{}
	for _, c := range page.Columns {
		axes[c.Name] = c.Axis
		for _, b := range c.Bars {
			if b.Low != nil && *b.Low > *b.High {
				t.Errorf("%s: %g is above %g", c.Name, *b.Low, *b.High)
			}
		}
		if c.Axis == "time" {
			if at := time.UnixMilli(int64(*c.Bars[0].Low)).UTC(); at.Year() != 2026 {
				t.Errorf("%s begins at %s", c.Name, at)
			}
		}
		if c.Axis == "place" && (len(c.Labels) == 0 || c.Labels[0] != "moved") {
			t.Errorf("%s: places %q", c.Name, c.Labels)
		}
	}
	if want := map[string]string{"id": "value", "site": "place", "at": "time", "amount": "value"}; fmt.Sprint(axes) != fmt.Sprint(want) {
		t.Errorf("axes %v, want %v", axes, want)
	}
	if page.Verdicts != nil {
		t.Errorf("verdicts without a predicate: %v", page.Verdicts)
	}
}

// TestStatsDrawsASample: of many files an even share is shown, and the page says so.
func TestStatsDrawsASample(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	if _, stderr, code := deltaskip(t, "gen", dir, "--adds", fmt.Sprint(maxCharted+2)); code != exitDone {
		t.Fatal(stderr)
	}
	file := filepath.Join(t.TempDir(), "ranges.html")
	if _, stderr, code := deltaskip(t, "stats", dir, "--column", "id", "--where", "id < 100000", "--html", file); code != exitDone {
		t.Fatal(stderr)
	}
	var page chart.Ranges
	pageData(t, file, &page)
	if n := len(page.Paths); n != maxCharted/2+1 || len(page.Verdicts) != n || len(page.Columns[0].Bars) != n || !strings.Contains(page.Note, "one in 2") {
		t.Errorf("%d files, %d verdicts: %s", n, len(page.Verdicts), page.Note)
	}
}

func TestHistoryDrawsATimeline(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history.html")
	if _, stderr, code := deltaskip(t, "history", racingTable(t), "--html", file); code != exitDone {
		t.Fatal(stderr)
	}
	var page chart.Timeline
	pageData(t, file, &page)
	var got []string
	for _, c := range page.Commits {
		got = append(got, fmt.Sprint(c.Version, c.Outcome))
	}
	if want := "[1 2 3avoidable 4? 5]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	if text := strings.Join(page.Commits[2].Lines, "\n"); !strings.Contains(text, "id < 50") || !strings.Contains(text, "mode stats: no conflict") {
		t.Errorf("hover says %s", text)
	}
	for _, flag := range []string{"--html", "--svg"} {
		if _, _, code := deltaskip(t, "history", eventsTable, flag, file, "--txn-id", "x"); code != exitUsage {
			t.Errorf("%s: exit %d", flag, code)
		}
	}
}

// TestPictures: both pictures are XML and say what they show.
func TestPictures(t *testing.T) {
	file := filepath.Join(t.TempDir(), "picture.svg")
	for _, tt := range []struct {
		args []string
		says []string
	}{
		{[]string{"stats", eventsTable, "--where", "id < 1500", "--svg", file}, []string{"Ranges of the files of", "3 files", "Predicate: id < 1500", "every row matches", "no row matches", "site-6", "2026-01-02", "amount"}},
		{[]string{"stats", eventsTable, "--column", "id", "--svg", file}, []string{"range of a file", "2500"}},
		{[]string{"history", racingTable(t), "--svg", file}, []string{"versions 1 to 5", "not the aborts that people had", "DELETE", "conflict, but not by statistics", "not known", "did not race"}},
	} {
		if _, stderr, code := deltaskip(t, tt.args...); code != exitDone {
			t.Fatal(stderr)
		}
		picture, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var drawn struct {
			XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
			Panels  []struct {
				Inner string `xml:",innerxml"`
			} `xml:"svg"`
		}
		if err := xml.Unmarshal(picture, &drawn); err != nil || len(drawn.Panels) < 2 {
			t.Fatalf("%q: %d panels: %v", tt.args, len(drawn.Panels), err)
		}
		for _, want := range tt.says {
			if !strings.Contains(html.UnescapeString(string(picture)), want) {
				t.Errorf("%q: the picture lacks %q", tt.args, want)
			}
		}
	}
	nowhere := filepath.Join(t.TempDir(), "none", "x.svg")
	if _, stderr, code := deltaskip(t, "stats", eventsTable, "--svg", nowhere); code != exitError || !strings.Contains(stderr, nowhere) {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// TestPagesInABrowser opens the pages where there is a browser: no message on the console, and the chart is drawn.
func TestPagesInABrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium here")
	}
	dir := t.TempDir()
	ranges, timeline := filepath.Join(dir, "ranges.html"), filepath.Join(dir, "history.html")
	for _, args := range [][]string{{"stats", eventsTable, "--where", "id < 1500", "--html", ranges}, {"history", racingTable(t), "--html", timeline}} {
		if _, stderr, code := deltaskip(t, args...); code != exitDone {
			t.Fatal(stderr)
		}
	}
	for _, page := range []string{ranges, timeline} {
		cmd := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr",
			"--user-data-dir="+t.TempDir(), "--timeout=20000", "--dump-dom", "file://"+page)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		dom, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		if said := regexp.MustCompile(`(?m)^.*CONSOLE.*$`).FindString(stderr.String()); said != "" {
			t.Errorf("%s: %s", filepath.Base(page), said)
		}
		if !strings.Contains(string(dom), `data-drawn="yes"`) || !strings.Contains(string(dom), "<canvas") {
			t.Errorf("%s is not drawn", filepath.Base(page))
		}
	}
}
