package simulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A habit is how a writer gathers statistics.
type habit struct {
	none    bool            // it writes none
	without map[string]bool // columns that it leaves out
	spark   bool            // NaN counts for maxima, as the greatest value
}

func (d dice) habit(spark bool) habit {
	h := habit{spark: spark, without: map[string]bool{}}
	switch d.IntN(12) {
	case 0:
		h.none = true
	case 1:
		h.without[pick(d, "id", "k", "x", "f", "s", "p")] = true
	}
	return h
}

// statistics are those of one data file.
type statistics struct {
	NumRecords  int64            `json:"numRecords"`
	MinValues   map[string]any   `json:"minValues"`
	MaxValues   map[string]any   `json:"maxValues"`
	NullCount   map[string]int64 `json:"nullCount"`
	TightBounds *bool            `json:"tightBounds,omitempty"`
}

// gather returns the text of a file's statistics about some of its rows, of which it has records in all.
func (h habit) gather(rows []row, records int, partitioned bool) string {
	if h.none {
		return ""
	}
	s := statistics{NumRecords: int64(records), MinValues: map[string]any{}, MaxValues: map[string]any{}, NullCount: map[string]int64{}}
	collect(&s, h, rows, "id", func(r *row) opt[int64] { return some(r.id) }, cmp.Compare[int64])
	collect(&s, h, rows, "k", columnK, cmp.Compare[int32])
	collect(&s, h, rows, "x", columnX, cmp.Compare[int32])
	if !partitioned {
		collect(&s, h, rows, "p", columnP, cmp.Compare[int32])
	}
	h.collectDoubles(&s, rows)
	collect(&s, h, rows, "s", columnS, cmp.Compare[string])
	if low, ok := s.MinValues["s"].(string); ok {
		s.MinValues["s"], s.MaxValues["s"] = cutDown(low), cutUp(s.MaxValues["s"].(string))
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // of strings and numbers
	}
	return string(text)
}

func collect[T comparable](s *statistics, h habit, rows []row, name string, get func(*row) opt[T], order func(a, b T) int) {
	if h.without[name] {
		return
	}
	var low, high opt[T]
	nulls := int64(0)
	for i := range rows {
		v := get(&rows[i])
		if !v.ok {
			nulls++
			continue
		}
		if !low.ok || order(v.v, low.v) < 0 {
			low = v
		}
		if !high.ok || order(v.v, high.v) > 0 {
			high = v
		}
	}
	s.NullCount[name] = nulls
	if low.ok {
		s.MinValues[name], s.MaxValues[name] = low.v, high.v
	}
}

// collectDoubles gathers f. Where NaN doesn't count, a file of nothing else has no bounds.
func (h habit) collectDoubles(s *statistics, rows []row) {
	column := columnF
	if !h.spark {
		column = func(r *row) opt[double] {
			if r.f.ok && math.IsNaN(r.f.v.float()) {
				return opt[double]{}
			}
			return r.f
		}
	}
	collect(s, h, rows, "f", column, compareDoubles)
	if h.without["f"] {
		return
	}
	s.NullCount["f"] = 0
	for _, r := range rows {
		if !r.f.ok {
			s.NullCount["f"]++
		}
	}
	for _, bounds := range []map[string]any{s.MinValues, s.MaxValues} {
		if d, ok := bounds["f"].(double); ok {
			if bounds["f"] = d.float(); math.IsNaN(d.float()) {
				bounds["f"] = "NaN"
			}
		}
	}
}

// prefixLength is how many characters of a string go into statistics.
const prefixLength = 32

func cutDown(s string) string {
	if r := []rune(s); len(r) > prefixLength {
		return string(r[:prefixLength])
	}
	return s
}

// cutUp keeps an upper bound: the prefix and a character above all others.
func cutUp(s string) string {
	if r := []rune(s); len(r) > prefixLength {
		return string(r[:prefixLength]) + string(utf8.MaxRune)
	}
	return s
}

// wide returns statistics of a file of which more rows have been deleted since: they are still bounds, but no longer of
// certain rows. Null counts between none and all mean nothing any more, and spoil makes use of that.
func wide(text string, spoil func(records int64) int64) string {
	if text == "" {
		return ""
	}
	var s statistics
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic(fmt.Sprintf("statistics that this package wrote: %v: %s", err, text))
	}
	tight := false
	s.TightBounds = &tight
	for _, name := range slices.Sorted(maps.Keys(s.NullCount)) {
		if n := s.NullCount[name]; 0 < n && n < s.NumRecords {
			s.NullCount[name] = 1 + spoil(s.NumRecords-1)
		}
	}
	out, err := json.Marshal(s)
	if err != nil {
		panic(err) // of what has just been read
	}
	return string(out)
}

// claims checks that what an add action says about its rows is true: live are those that are not deleted, of records.
func claims(text string, live []row, records int) error {
	if text == "" {
		return nil
	}
	var s statistics
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return fmt.Errorf("statistics %s: %w", text, err)
	}
	if s.NumRecords != int64(records) {
		return fmt.Errorf("statistics count %d records, and the file has %d: %s", s.NumRecords, records, text)
	}
	tight := s.TightBounds == nil || *s.TightBounds
	var failure error
	check := func(name string, low, high func(bound any, r *row) (int, bool)) {
		nulls, known := s.NullCount[name]
		min, max := s.MinValues[name], s.MaxValues[name]
		var liveNulls int64
		atLow, atHigh, any := false, false, false
		for i := range live {
			r := &live[i]
			n, ok := low(min, r)
			m, _ := high(max, r)
			if !ok {
				liveNulls++
				continue
			}
			if min == nil || max == nil {
				continue
			}
			if name == "f" && r.f.ok && math.IsNaN(r.f.v.float()) {
				if max == "NaN" {
					any, atHigh = true, true
				}
				continue
			}
			if any = true; n < 0 || m > 0 {
				failure = fmt.Errorf("%s of %s lies outside the bounds: %s", name, r, text)
			}
			atLow, atHigh = atLow || n == 0, atHigh || m == 0
		}
		if !known {
			return
		}
		switch {
		case nulls == 0 && liveNulls != 0, nulls == s.NumRecords && liveNulls != int64(len(live)):
			failure = fmt.Errorf("%d of %d rows are NULL in %s: %s", liveNulls, len(live), name, text)
		case tight && nulls != liveNulls:
			failure = fmt.Errorf("bounds are called tight, but %d rows are NULL in %s: %s", liveNulls, name, text)
		case tight && any && name != "s" && (!atLow && min != "NaN" || !atHigh):
			failure = fmt.Errorf("bounds are called tight, but no row has those of %s: %s", name, text)
		}
	}
	number := func(get func(*row) (float64, bool)) func(any, *row) (int, bool) {
		return func(bound any, r *row) (int, bool) {
			v, ok := get(r)
			switch b := bound.(type) {
			case float64:
				return cmp.Compare(v, b), ok
			case string: // "NaN", above all numbers
				return -1, ok
			}
			return 0, ok
		}
	}
	integer := func(get func(*row) opt[int32]) func(any, *row) (int, bool) {
		return number(func(r *row) (float64, bool) { v := get(r); return float64(v.v), v.ok })
	}
	id := number(func(r *row) (float64, bool) { return float64(r.id), true })
	check("id", id, id)
	for name, get := range map[string]func(*row) opt[int32]{"k": columnK, "x": columnX, "p": columnP} {
		check(name, integer(get), integer(get))
	}
	f := func(r *row) (float64, bool) { return r.f.v.float(), r.f.ok }
	check("f", func(bound any, r *row) (int, bool) {
		if bound == "NaN" {
			v, ok := f(r)
			if math.IsNaN(v) {
				return 0, ok
			}
			return -1, ok
		}
		return number(f)(bound, r)
	}, number(f))
	check("s", func(bound any, r *row) (int, bool) {
		b, _ := bound.(string)
		return strings.Compare(r.s.v, b), r.s.ok
	}, func(bound any, r *row) (int, bool) {
		b, _ := bound.(string)
		return strings.Compare(r.s.v, b), r.s.ok
	})
	return failure
}
