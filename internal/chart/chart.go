// Package chart writes pages with charts that open without a network, the chart library (Apache ECharts 5.6.0, see
// echarts/LICENSE) standing in them, and the same charts as SVG pictures.
//
// What comes from a table (paths, values, names of columns) may be anything, and reaches a page only as JSON whose angle
// brackets are escaped, and the document only as text. That is why the library is called from here and not by way of a Go
// package that puts such strings into the program of the page.
package chart

import (
	"embed"
	"encoding/json"
	"html/template"
	"io"
)

//go:embed echarts/echarts.min.js page.html ranges.js timeline.js
var files embed.FS

// Ranges are what the files of a table hold, column by column.
type Ranges struct {
	Title   string   `json:"title"`
	Note    string   `json:"note"`  // below the title
	Paths   []string `json:"paths"` // of the files that are shown
	Columns []Column `json:"columns"`
	// Verdicts says of each file how many of its rows match Where: None, Some or All; nil without a predicate.
	Verdicts []string `json:"verdicts"`
	Where    string   `json:"where"`
}

// A Column is one column's ranges. Its axis is one of numbers, of times in milliseconds, or of the places of Labels.
type Column struct {
	Name   string   `json:"name"`
	Axis   string   `json:"axis"` // value, time or place
	Labels []string `json:"labels,omitempty"`
	Bars   []Bar    `json:"bars"`
}

// A Bar is the range of one file; without bounds Low and High are nil.
type Bar struct {
	File int      `json:"f"` // index into Paths
	Low  *float64 `json:"l"`
	High *float64 `json:"h"`
	Text string   `json:"t"` // the range as people read it
}

// Timeline is the commits of a table, and which of them raced.
type Timeline struct {
	Title   string   `json:"title"`
	Note    string   `json:"note"`
	Commits []Commit `json:"commits"`
}

// A Commit is one point of a timeline.
type Commit struct {
	Version   int64    `json:"v"`
	Time      int64    `json:"t"` // milliseconds since 1970
	Operation string   `json:"o"`
	Outcome   string   `json:"r"` // what mode off says of a race: ok, avoidable, conflict, ?; empty if it did not race
	Read      int64    `json:"b"` // the version that it read, if it raced
	Lines     []string `json:"d"` // of the hover
}

// WriteRanges writes the page of ranges.
func WriteRanges(w io.Writer, r Ranges) error { return write(w, r.Title, "ranges.js", r) }

// WriteTimeline writes the page of a timeline.
func WriteTimeline(w io.Writer, t Timeline) error { return write(w, t.Title, "timeline.js", t) }

var page = template.Must(template.ParseFS(files, "page.html"))

func write(w io.Writer, title, script string, data any) error {
	library, err := files.ReadFile("echarts/echarts.min.js")
	if err != nil {
		return err
	}
	program, err := files.ReadFile(script)
	if err != nil {
		return err
	}
	text, err := json.Marshal(data) // escapes <, > and &, so that nothing ends the script that holds it
	if err != nil {
		return err
	}
	return page.Execute(w, map[string]any{
		"Title": title, "Library": template.JS(library), "Program": template.JS(program), "Data": template.JS(text),
	})
}
