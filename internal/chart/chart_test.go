package chart

import (
	"regexp"
	"strings"
	"testing"
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
