package chart

import (
	"encoding/xml"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-analyze/charts/chartdraw"
)

// TestPagesStandAlone: nothing is loaded from elsewhere, and what a table says cannot leave the data.
func TestPagesStandAlone(t *testing.T) {
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(2)>`
	var ranges, timeline strings.Builder
	low := 1.0
	if err := WriteRanges(&ranges, Ranges{Title: evil, Note: evil, Paths: []string{evil}, Columns: []Column{{Name: evil, Axis: "place", Labels: []string{evil}, Bars: []Bar{{Low: &low, High: &low, Text: evil}}}}, Verdicts: []string{"All"}, Where: evil}); err != nil {
		t.Fatal(err)
	}
	if err := WriteTimeline(&timeline, Timeline{Title: evil, Note: evil, Commits: []Commit{{Operation: evil, Lines: []string{evil}}}}); err != nil {
		t.Fatal(err)
	}
	loads := regexp.MustCompile(`(?i)<(script|link|img|iframe)[^>]+(src|href)=`)
	for name, page := range map[string]string{"ranges": ranges.String(), "timeline": timeline.String()} {
		if strings.Contains(page, evil) || strings.Contains(page, "<img src=x") {
			t.Errorf("%s: text of the table reaches the document", name)
		}
		if library, err := files.ReadFile("echarts/echarts.min.js"); err != nil || !strings.Contains(page, string(library)) {
			t.Errorf("%s lacks the library: %v", name, err)
		} else if found := loads.FindString(strings.Replace(page, string(library), "", 1)); found != "" {
			t.Errorf("%s loads something: %s", name, found)
		}
		if n := strings.Count(page, "<script>"); n != 3 {
			t.Errorf("%s has %d scripts, want 3", name, n)
		}
		for _, want := range []string{"Content-Security-Policy", "const data = {", "Licensed to the Apache Software Foundation"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
}

// hostile is text that is dangerous in markup, or not allowed in XML at all.
const hostile = "</text><script>alert(1)</script>]]>&amp;\"'\x00\x1b\x0b\ufffe\xff\u202e名前"

// checkXML fails unless picture is well-formed and consists of shapes and text alone; it returns the text.
func checkXML(t *testing.T, picture string) (text string) {
	t.Helper()
	allowed := map[string]bool{"svg": true, "rect": true, "path": true, "circle": true, "text": true}
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return text
		}
		if err != nil {
			t.Fatalf("%v:\n%.2000s", err, picture)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if !allowed[token.Name.Local] {
				t.Errorf("element %s", token.Name.Local)
			}
			for _, a := range token.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || strings.Contains(a.Value, "url(") || strings.Contains(a.Value, "NaN") {
					t.Errorf("attribute %s=%q", a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			text += string(token) + "\n"
		}
	}
}

func TestPicturesOfHostileText(t *testing.T) {
	low, high := 0.0, 1.0
	columns := []Column{
		{Name: hostile, Axis: "place", Labels: []string{hostile, hostile}, Bars: []Bar{{File: 0, Low: &low, High: &high, Text: hostile}, {File: 1}}},
		{Name: "none", Axis: "value", Bars: []Bar{{File: 1}}},
	}
	for _, v := range []float64{0, -1e300, 1e300, 5e-324, 1 << 60} { // ends that are far apart, or hardly
		for _, axis := range []string{"value", "time"} {
			columns = append(columns, Column{Name: axis, Axis: axis, Bars: []Bar{{File: 0, Low: &v, High: &v}, {File: 1, Low: &v, High: &high}}})
		}
	}
	var ranges, timeline, empty strings.Builder
	r := Ranges{Title: hostile, Note: hostile, Paths: []string{hostile, hostile}, Columns: columns, Verdicts: []string{"All", "Some"}, Where: strings.Repeat(hostile, 1000)}
	if err := WriteRangesSVG(&ranges, r); err != nil {
		t.Fatal(err)
	}
	commits := []Commit{{Operation: hostile, Lines: []string{hostile}}, {Version: 1, Time: math.MaxInt64, Outcome: "?", Read: 0}, {Version: 2, Time: math.MinInt64, Outcome: "ok", Read: 9}}
	if err := WriteTimelineSVG(&timeline, Timeline{Title: hostile, Note: hostile, Commits: commits}); err != nil {
		t.Fatal(err)
	}
	if err := WriteTimelineSVG(&empty, Timeline{Title: "nothing"}); err != nil {
		t.Fatal(err)
	}
	for _, picture := range []string{ranges.String(), timeline.String()} {
		if text := checkXML(t, picture); !strings.Contains(text, "<script>alert(1)</script>") {
			t.Errorf("the text is not shown as it is: %.500s", text)
		}
		if len(picture) > 100_000 {
			t.Errorf("%d bytes", len(picture))
		}
	}
	checkXML(t, empty.String())
}

func TestTicksAreRound(t *testing.T) {
	labels := func(ticks []chartdraw.Tick) (list []string) {
		for _, tick := range ticks {
			list = append(list, tick.Label)
		}
		return list
	}
	day := float64(time.Date(2026, 1, 31, 6, 0, 0, 0, time.UTC).UnixMilli())
	for _, tt := range []struct {
		name string
		got  []chartdraw.Tick
		want string
	}{
		{"numbers", numberTicks(3, 97, 5, 0), "20 40 60 80"},
		{"around zero", numberTicks(-0.25, 0.25, 5, 0), "-0.2 -0.1 0 0.1 0.2"},
		{"whole numbers", numberTicks(0, 2, 6, 1), "0 1 2"},
		{"large", numberTicks(1764547200000, 1764547200004, 4, 0), "1764547200000 1764547200001 1764547200002 1764547200003 1764547200004"},
		{"days", timeTicks(day, day+3*86_400_000), "2026-02-01 2026-02-02 2026-02-03"},
		{"minutes", timeTicks(day, day+130_000), "06:00:00 06:01:00 06:02:00"},
		{"thousands of years", timeTicks(0, 86_400_000*365*5000), "1970-01-01 2969-05-03 3968-09-03 4968-01-04 5967-05-07 6966-09-06"},
	} {
		if got := strings.Join(labels(tt.got), " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
