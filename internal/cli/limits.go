package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/deltaskip/deltaskip/checkpoint"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/rows"
)

// limits are what --limit sets: bounds on what a table may ask for, under the names by which errors tell them. Zeroes are the
// defaults.
type limits struct {
	rows.Limits
	maxActionBytes, maxJSONBytes, maxSidecars int
	maxCommitBytes, maxMemoryBytes            int64
	given                                     []string
}

func (l *limits) byName() map[string]any {
	return map[string]any{
		"MaxActionBytes": &l.maxActionBytes, "MaxCommitBytes": &l.maxCommitBytes, "MaxMemoryBytes": &l.maxMemoryBytes,
		"MaxJSONBytes": &l.maxJSONBytes, "MaxSidecars": &l.maxSidecars, "MaxPageBytes": &l.MaxPageBytes,
		"MaxFooterBytes": &l.MaxFooterBytes, "MaxRows": &l.MaxRows,
		"MaxVectorBytes": &l.MaxVectorBytes, "MaxVectorRows": &l.MaxVectorRows,
	}
}

// Set implements [pflag.Value].
func (l *limits) Set(text string) error {
	name, value, _ := strings.Cut(text, "=")
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n <= 0 || int64(int(n)) != n {
		return fmt.Errorf("give NAME=N, where N is more than 0")
	}
	switch to := l.byName()[name].(type) {
	case *int:
		*to = int(n)
	case *int64:
		*to = n
	default:
		return fmt.Errorf("there is no limit %s, only %s", name, strings.Join(slices.Sorted(maps.Keys(l.byName())), ", "))
	}
	l.given = append(l.given, text)
	return nil
}

// String implements [pflag.Value].
func (l *limits) String() string { return strings.Join(l.given, ",") }

// Type implements [pflag.Value].
func (l *limits) Type() string { return "NAME=N" }

func (a *app) logOptions() deltalog.Options {
	l := &a.limits
	return deltalog.Options{
		MaxActionBytes: l.maxActionBytes, MaxCommitBytes: l.maxCommitBytes,
		Checkpoint: checkpoint.Options{
			MaxPageBytes: l.MaxPageBytes, MaxFooterBytes: l.MaxFooterBytes, MaxJSONBytes: int64(l.maxJSONBytes), MaxRows: l.MaxRows,
			MaxSidecars: l.maxSidecars,
		},
	}
}
