package chart

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/go-analyze/charts/chartdraw"
	"github.com/go-analyze/charts/chartdraw/drawing"
)

// Pictures are drawn by chartdraw, which escapes text and leaves out what XML does not allow: no browser and no program takes
// part, and the file needs nothing else. All shapes of one colour are one path, so that ten thousand bars stay a small file.

const (
	pictureWidth  = 1100
	timelineRow   = 40 // height of an operation's row
	maxShownRunes = 400
)

// The colours and words of the pages.
var (
	verdictKeys = []hue{
		{"", "2980b9", "range of a file"},
		{"None", "95a5a6", "no row matches"},
		{"Some", "e67e22", "some rows may match"},
		{"All", "c0392b", "every row matches"},
	}
	outcomeKeys = []hue{
		{"", "95a5a6", "did not race"},
		{"ok", "27ae60", "raced, no conflict"},
		{"avoidable", "e67e22", "conflict, but not by statistics"},
		{"conflict", "c0392b", "conflict"},
		{"?", "8e44ad", "not known"},
	}
)

// A hue is the colour of a verdict or outcome, in the order in which they are drawn: what matters comes last, on top.
type hue struct{ key, hex, words string }

func (h hue) colour() drawing.Color { return drawing.ColorFromHex(h.hex) }

// used keeps the hues whose key some item has.
func used(hues []hue, has func(key string) bool) []hue {
	return slices.DeleteFunc(slices.Clone(hues), func(h hue) bool { return !has(h.key) })
}

// WriteRangesSVG writes the ranges as one picture, a panel for each column.
func WriteRangesSVG(w io.Writer, r Ranges) error {
	verdict := func(file int) string {
		if r.Verdicts == nil {
			return ""
		}
		return r.Verdicts[file]
	}
	hues := used(verdictKeys, func(key string) bool {
		return slices.ContainsFunc(r.Columns, func(c Column) bool {
			return slices.ContainsFunc(c.Bars, func(b Bar) bool { return verdict(b.File) == key })
		})
	})
	p := picture{}
	note := r.Note
	if r.Where != "" {
		note += "\nPredicate: " + r.Where
	}
	if err := p.heading(r.Title, note, hues); err != nil {
		return err
	}
	height := 600
	if len(r.Columns) > 1 {
		height = 360
	}
	for _, column := range r.Columns {
		low, high := column.ends()
		s := &bars{column: column, verdict: verdict, hues: hues, low: low, high: high}
		x := chartdraw.XAxis{Name: shown(column.Name), Ticks: column.ticks(low, high)}
		rows := max(1, len(column.Bars))
		y := chartdraw.YAxis{Name: "files", Ticks: numberTicks(0, float64(rows), 6, 1)}
		if err := p.chart(height, s, x, y, [2]float64{low, high}, [2]float64{0, float64(rows)}); err != nil {
			return err
		}
	}
	return p.write(w)
}

// ends are those of the axis: of all bounds, and apart.
func (c Column) ends() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, b := range c.Bars {
		if b.Low != nil && b.High != nil {
			low, high = min(low, *b.Low), max(high, *b.High)
		}
	}
	if low > high {
		return 0, 1
	}
	if low == high {
		apart := max(1, math.Abs(low)/100)
		return low - apart, high + apart
	}
	return low, high
}

func (c Column) ticks(low, high float64) []chartdraw.Tick {
	switch c.Axis {
	case "time":
		return timeTicks(low, high)
	case "place":
		ticks := numberTicks(low, high, 6, 1)
		for i, t := range ticks {
			if ticks[i].Label = ""; t.Value >= 0 && int(t.Value) < len(c.Labels) {
				ticks[i].Label = shown(c.Labels[int(t.Value)])
			}
		}
		return ticks
	}
	return numberTicks(low, high, 8, 0)
}

// WriteTimelineSVG writes the timeline as a picture.
func WriteTimelineSVG(w io.Writer, t Timeline) error {
	hues := used(outcomeKeys, func(key string) bool {
		return slices.ContainsFunc(t.Commits, func(c Commit) bool { return c.Outcome == key })
	})
	p := picture{}
	if err := p.heading(t.Title, t.Note, hues); err != nil {
		return err
	}
	if len(t.Commits) == 0 {
		return p.write(w)
	}
	s := &commits{hues: hues, commits: t.Commits, at: map[int64]float64{}, row: map[string]int{}}
	low, high := math.Inf(1), math.Inf(-1)
	var operations []string
	for _, c := range t.Commits {
		s.at[c.Version] = float64(c.Time)
		low, high = min(low, float64(c.Time)), max(high, float64(c.Time))
		operations = append(operations, c.operation())
	}
	slices.Sort(operations)
	operations = slices.Compact(operations)
	y := chartdraw.YAxis{}
	for i, name := range operations {
		s.row[name] = i
		y.Ticks = append(y.Ticks, chartdraw.Tick{Value: float64(i), Label: clip(name, 24)})
	}
	low, high = Column{Bars: []Bar{{Low: &low, High: &high}}}.ends()
	day := func(at float64) string { return time.UnixMilli(int64(at)).UTC().Format(time.DateOnly) }
	x := chartdraw.XAxis{Name: fmt.Sprintf("UTC, %s to %s", day(low), day(high)), Ticks: timeTicks(low, high)}
	height := 100 + timelineRow*len(operations)
	if err := p.chart(height, s, x, y, [2]float64{low, high}, [2]float64{-1, float64(len(operations))}); err != nil {
		return err
	}
	return p.write(w)
}

func (c Commit) operation() string { return cmp.Or(c.Operation, "(unknown)") }

// A picture is panels from the top down. Each is an SVG document of its own, placed in the outer one.
type picture struct {
	panels [][]byte
	height []int
}

func (p *picture) add(height int, panel []byte) {
	p.panels, p.height = append(p.panels, panel), append(p.height, height)
}

func (p *picture) write(w io.Writer) error {
	total := 0
	for _, h := range p.height {
		total += h
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %d">`+"\n", pictureWidth, total, total)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", pictureWidth, total)
	y := 0
	for i, panel := range p.panels {
		fmt.Fprintf(&out, `<svg y="%d" width="%d" height="%d">`, y, pictureWidth, p.height[i])
		out.Write(panel)
		out.WriteString("</svg>\n")
		y += p.height[i]
	}
	out.WriteString("</svg>\n")
	_, err := out.WriteTo(w)
	return err
}

func fontStyle(size float64) chartdraw.Style {
	return chartdraw.Style{
		FontStyle: chartdraw.FontStyle{Font: chartdraw.GetDefaultFont(), FontSize: size, FontColor: drawing.ColorFromHex("222222")},
		TextWrap:  chartdraw.TextWrapWord,
	}
}

// heading says what the picture shows and what the colours mean.
func (p *picture) heading(title, note string, hues []hue) error {
	const margin = 16
	measure := chartdraw.SVG(1, 1)
	heads := chartdraw.Text.WrapFit(measure, shown(title), pictureWidth-2*margin, fontStyle(13))
	notes := chartdraw.Text.WrapFit(measure, shown(note), pictureWidth-2*margin, fontStyle(9))
	height := margin + 22*len(heads) + 17*len(notes) + 28
	r := chartdraw.SVG(pictureWidth, height)
	y := margin
	for _, line := range heads {
		y += 20
		chartdraw.Draw.Text(r, line, margin, y, fontStyle(13))
	}
	for _, line := range notes {
		y += 17
		chartdraw.Draw.Text(r, line, margin, y, fontStyle(9))
	}
	x := margin
	y += 24
	for _, h := range hues {
		r.SetFillColor(h.colour())
		rectangle(r, x, y-10, x+12, y+1)
		r.Fill()
		chartdraw.Draw.Text(r, h.words, x+18, y, fontStyle(9))
		x += 18 + chartdraw.Draw.MeasureText(r, h.words, fontStyle(9)).Width() + 24
	}
	var out bytes.Buffer
	if err := r.Save(&out); err != nil {
		return err
	}
	p.add(height, out.Bytes())
	return nil
}

// chart draws one panel. The vertical axis stands on the left, which the library calls secondary.
func (p *picture) chart(height int, s chartdraw.Series, x chartdraw.XAxis, y chartdraw.YAxis, xEnds, yEnds [2]float64) error {
	x.Style, y.Style, x.NameStyle, y.NameStyle = fontStyle(8), fontStyle(8), fontStyle(9), fontStyle(9)
	x.Style.StrokeColor, y.Style.StrokeColor = drawing.ColorFromHex("888888"), drawing.ColorFromHex("888888")
	y.NameStyle.TextRotationDegrees = 270
	x.Range = &axis{chartdraw.ContinuousRange{Min: xEnds[0], Max: xEnds[1]}}
	y.Range = &axis{chartdraw.ContinuousRange{Min: yEnds[0], Max: yEnds[1], Descending: true}}
	grid := chartdraw.Style{StrokeColor: drawing.ColorFromHex("eeeeee"), StrokeWidth: 1}
	x.GridMajorStyle, x.GridMinorStyle, y.GridMajorStyle, y.GridMinorStyle = grid, grid, grid, grid
	c := chartdraw.Chart{
		Width: pictureWidth, Height: height,
		Background:     chartdraw.Style{Padding: chartdraw.Box{Top: 8, Left: 70, Right: 40, Bottom: 16, IsSet: true}},
		XAxis:          x,
		YAxis:          chartdraw.YAxis{Style: chartdraw.Hidden(), Range: &chartdraw.ContinuousRange{Max: 1}},
		YAxisSecondary: y,
		Series:         []chartdraw.Series{s},
	}
	var out bytes.Buffer
	if err := c.Render(chartdraw.SVG, &out); err != nil {
		return err
	}
	p.add(height, out.Bytes())
	return nil
}

// An axis keeps its ends, which the library would otherwise take from the outermost ticks.
type axis struct{ chartdraw.ContinuousRange }

func (*axis) SetMin(float64) {}
func (*axis) SetMax(float64) {}
func (*axis) IsZero() bool   { return false }

// onAxis is what the two series have in common.
type onAxis struct{}

func (onAxis) GetName() string               { return "" }
func (onAxis) GetYAxis() chartdraw.YAxisType { return chartdraw.YAxisSecondary }
func (onAxis) GetStyle() chartdraw.Style     { return chartdraw.Style{} }
func (onAxis) Validate() error               { return nil }

// bars draws the files of a column.
type bars struct {
	onAxis
	column    Column
	verdict   func(file int) string
	hues      []hue
	low, high float64
}

func (s *bars) Render(r chartdraw.Renderer, box chartdraw.Box, x, y chartdraw.Range, _ chartdraw.Style) {
	for _, h := range s.hues {
		for _, known := range []bool{false, true} {
			found := false
			for row, b := range s.column.Bars {
				bounded := b.Low != nil && b.High != nil
				if bounded != known || s.verdict(b.File) != h.key {
					continue
				}
				from, to := s.low, s.high
				if bounded {
					from, to = *b.Low, *b.High
				}
				left, right := box.Left+x.Translate(from), box.Left+x.Translate(to)
				top := box.Bottom - y.Translate(float64(row))
				bottom := box.Bottom - y.Translate(float64(row)+0.8)
				rectangle(r, left, top, max(right, left+2), max(bottom, top+1))
				found = true
			}
			if !found {
				continue
			}
			colour := h.colour()
			if !known {
				colour = colour.WithAlpha(64)
			}
			r.SetStrokeWidth(0)
			r.SetFillColor(colour)
			r.Fill()
		}
	}
}

func rectangle(r chartdraw.Renderer, left, top, right, bottom int) {
	r.MoveTo(left, top)
	r.LineTo(right, top)
	r.LineTo(right, bottom)
	r.LineTo(left, bottom)
	r.Close()
}

// commits draws a timeline: a dot for each commit, and a line since when its read version was committed.
type commits struct {
	onAxis
	hues    []hue
	commits []Commit
	at      map[int64]float64 // of a version
	row     map[string]int    // of an operation
}

func (s *commits) Render(r chartdraw.Renderer, box chartdraw.Box, x, y chartdraw.Range, _ chartdraw.Style) {
	place := func(at float64, c Commit) (int, int) {
		return box.Left + x.Translate(at), box.Bottom - y.Translate(float64(s.row[c.operation()]))
	}
	for _, c := range s.commits {
		if from, ok := s.at[c.Read]; ok && c.Outcome != "" {
			r.MoveTo(place(from, c))
			r.LineTo(place(float64(c.Time), c))
		}
	}
	r.SetStrokeColor(drawing.ColorFromHex("bdc3c7"))
	r.SetStrokeWidth(2)
	r.Stroke()
	r.SetStrokeWidth(0)
	for _, h := range s.hues {
		for _, c := range s.commits {
			if c.Outcome == h.key {
				left, top := place(float64(c.Time), c)
				r.Circle(4.5, left, top)
			}
		}
		r.SetFillColor(h.colour())
		r.Fill()
	}
}

// numberTicks are round numbers from low to high, about n of them, and no closer than step.
func numberTicks(low, high float64, n int, step float64) (ticks []chartdraw.Tick) {
	raw := (high/float64(n) - low/float64(n)) // the difference may be more than a float holds
	size := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, f := range []float64{1, 2, 5, 10} {
		if size*f >= raw {
			size *= f
			break
		}
	}
	size = max(size, step)
	for k := math.Ceil(low / size); k*size <= high && len(ticks) <= 2*n; k++ {
		v := k * size
		ticks = append(ticks, chartdraw.Tick{Value: v, Label: strconv.FormatFloat(v+0, 'g', 15, 64)})
	}
	return ticks
}

// timeTicks are round times; low and high are milliseconds.
func timeTicks(low, high float64) (ticks []chartdraw.Tick) {
	const second, day = 1000.0, 24 * 60 * 60 * 1000.0
	const most = 7
	steps := []float64{1, 10, 100, second, 10 * second, 60 * second, 600 * second, 3600 * second, 6 * 3600 * second, day, 7 * day, 30 * day, 365 * day}
	for step := steps[len(steps)-1]; ; step *= 10 {
		for _, s := range steps {
			if (high-low)/s <= most {
				step = s
				break
			}
		}
		if (high-low)/step > most {
			continue
		}
		layout := time.DateOnly
		switch {
		case step < second:
			layout = "15:04:05.000"
		case step < day && high-low < day:
			layout = time.TimeOnly
		case step < day:
			layout = "2006-01-02 15:04"
		}
		for k := math.Ceil(low / step); k*step <= high; k++ {
			ticks = append(ticks, chartdraw.Tick{Value: k * step, Label: time.UnixMilli(int64(k * step)).UTC().Format(layout)})
		}
		return ticks
	}
}

// shown is text that is not longer than a picture has room for.
func shown(s string) string { return clip(s, maxShownRunes) }

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
