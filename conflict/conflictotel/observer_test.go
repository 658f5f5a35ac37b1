package conflictotel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/logstore"
)

func TestObserver(t *testing.T) {
	reader := metric.NewManualReader()
	o, err := New(metric.NewMeterProvider(metric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	spans := tracetest.NewSpanRecorder()
	ctx, span := trace.NewTracerProvider(trace.WithSpanProcessor(spans)).Tracer("test").Start(context.Background(), "commit")

	lost := &conflict.Conflict{Kind: conflict.ConcurrentAppend, Reason: conflict.RangesOverlap, Winner: conflict.WinnerInfo{Version: 7}}
	for _, e := range []conflict.Event{
		conflict.Fallback{Winner: 3, Class: "CAST_INVALID_INPUT"},
		conflict.NoConflict{Winner: 4, FilesConsidered: 5, FilesSkipped: 4, Tier: conflict.Stats},
		conflict.Checked{Outcome: conflict.Conflicting, Conflict: lost, Duration: time.Second,
			Counts: conflict.Counts{Winners: 2, FilesConsidered: 10, SkippedByPartition: 2, SkippedByStats: 6, SkippedByRows: 1, BytesDecoded: 1000}},
		conflict.Attempted{Err: nil, Members: 3},
		conflict.Attempted{Err: fmt.Errorf("put: %w", logstore.ErrExists)},
		conflict.Attempted{Err: fmt.Errorf("put: %w", logstore.ErrOutcomeUnknown)},
		conflict.Attempted{Err: errors.New("disk full")},
		conflict.Waited{Duration: time.Second},
		conflict.Finished{Version: 9, Passed: 2},
		conflict.Finished{Err: lost},
		conflict.Finished{Err: &conflict.OutcomeUnknownError{}},
		conflict.Finished{Err: conflict.ErrClosed},
	} {
		o.Observe(ctx, e)
	}
	span.End()

	var data metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &data); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range d.DataPoints {
				key := m.Name
				for _, a := range p.Attributes.ToSlice() {
					key += " " + a.Value.String()
				}
				got[key] = p.Value
			}
		case metricdata.Histogram[float64]:
			got[m.Name] = int64(d.DataPoints[0].Count)
		}
	}
	for key, want := range map[string]int64{
		"deltaskip.check.count ConcurrentAppendException conflicting RANGES_OVERLAP": 1,
		"deltaskip.check.winners": 2, "deltaskip.check.bytes": 1000, "deltaskip.check.duration": 1,
		"deltaskip.check.files partition": 2, "deltaskip.check.files statistics": 6, "deltaskip.check.files rows": 1, "deltaskip.check.files nothing": 1,
		"deltaskip.check.fallbacks CAST_INVALID_INPUT": 1, "deltaskip.check.avoided stats": 1,
		"deltaskip.commit.attempts written": 1, "deltaskip.commit.attempts taken": 1, "deltaskip.commit.attempts unknown": 1, "deltaskip.commit.attempts failed": 1,
		"deltaskip.commit.members": 3, "deltaskip.commit.passed": 2, "deltaskip.commit.wait": 1, "deltaskip.commit.duration": 4,
		"deltaskip.commit.count committed": 1, "deltaskip.commit.count conflict": 1, "deltaskip.commit.count unknown": 1, "deltaskip.commit.count failed": 1,
	} {
		if got[key] != want {
			t.Errorf("%s: %d, want %d", key, got[key], want)
		}
	}
	var events []string
	for _, e := range spans.Ended()[0].Events() {
		events = append(events, e.Name)
	}
	want := []string{"deltaskip.fallback", "deltaskip.noConflict", "deltaskip.conflict", "deltaskip.finished", "deltaskip.finished", "deltaskip.finished", "deltaskip.finished"}
	if !slices.Equal(events, want) {
		t.Errorf("span events %v, want %v", events, want)
	}
}
