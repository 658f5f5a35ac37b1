// Package conflictotel reports what conflict checks and commits do to OpenTelemetry.
//
//	conflict.Checker, Committer ── events ──► Observer ──► metrics (deltaskip.check.*, deltaskip.commit.*)
//	                                              └──────► events on the span of the caller's context
//
// It is a module of its own, so that the core stays free of OpenTelemetry.
//
// Invariants:
//  1. Attributes have few values: kinds, reasons, outcomes; never a path, a version or a transaction id. Those stand in span
//     events only.
//  2. Observing never fails: an instrument that cannot be made is an error of New.
package conflictotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/logstore"
)

const scope = "github.com/deltaskip/deltaskip/conflict"

// An Observer is a [conflict.Observer]. Make it with [New].
type Observer struct {
	checks, checkFiles, checkBytes, winners metric.Int64Counter
	fallbacks, avoided                      metric.Int64Counter
	attempts, members, commits, passed      metric.Int64Counter
	checkTime, writeTime, waits, commitTime metric.Float64Histogram
}

// New returns an observer that makes its instruments from a provider, such as otel.GetMeterProvider().
func New(provider metric.MeterProvider) (*Observer, error) {
	meter := provider.Meter(scope)
	o := &Observer{}
	var failures []error
	counter := func(to *metric.Int64Counter, name, unit, description string) {
		var err error
		*to, err = meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		failures = append(failures, err)
	}
	histogram := func(to *metric.Float64Histogram, name, description string) {
		var err error
		*to, err = meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description))
		failures = append(failures, err)
	}
	counter(&o.checks, "deltaskip.check.count", "{check}", "Checks by outcome and, of conflicts, kind and reason.")
	counter(&o.winners, "deltaskip.check.winners", "{commit}", "Commits that transactions were checked against.")
	counter(&o.checkFiles, "deltaskip.check.files", "{file}", "Files that winners added, by what excluded them.")
	counter(&o.checkBytes, "deltaskip.check.bytes", "By", "Bytes of the winners' commit files.")
	counter(&o.fallbacks, "deltaskip.check.fallbacks", "{commit}", "Winners against which skipping failed, by the failure's class.")
	counter(&o.avoided, "deltaskip.check.avoided", "{commit}", "Winners with which only skipping avoided a conflict.")
	counter(&o.attempts, "deltaskip.commit.attempts", "{attempt}", "Writes of commits by result.")
	counter(&o.members, "deltaskip.commit.members", "{transaction}", "Transactions in the commits that were written.")
	counter(&o.commits, "deltaskip.commit.count", "{transaction}", "Transactions by outcome.")
	counter(&o.passed, "deltaskip.commit.passed", "{commit}", "Versions that others took while transactions waited.")
	histogram(&o.checkTime, "deltaskip.check.duration", "Duration of checks.")
	histogram(&o.writeTime, "deltaskip.commit.write.duration", "Duration of writes of commits.")
	histogram(&o.waits, "deltaskip.commit.wait", "Waits between attempts.")
	histogram(&o.commitTime, "deltaskip.commit.duration", "Duration of commits, waits included.")
	return o, errors.Join(failures...)
}

// Observe implements [conflict.Observer].
func (o *Observer) Observe(ctx context.Context, e conflict.Event) {
	span := trace.SpanFromContext(ctx)
	switch e := e.(type) {
	case conflict.Fallback:
		o.fallbacks.Add(ctx, 1, metric.WithAttributes(attribute.String("class", e.Class)))
		span.AddEvent("deltaskip.fallback", trace.WithAttributes(
			attribute.String("txnId", e.TxnID), attribute.Int64("winner", e.Winner), attribute.String("class", e.Class), attribute.String("message", e.Message)))
	case conflict.NoConflict:
		o.avoided.Add(ctx, 1, metric.WithAttributes(attribute.String("tier", e.Tier.String())))
		span.AddEvent("deltaskip.noConflict", trace.WithAttributes(
			attribute.String("txnId", e.TxnID), attribute.Int64("winner", e.Winner), attribute.String("tier", e.Tier.String()),
			attribute.Int64("filesConsidered", e.FilesConsidered), attribute.Int64("filesSkipped", e.FilesSkipped)))
	case conflict.Checked:
		o.checked(ctx, span, e)
	case conflict.Attempted:
		o.attempts.Add(ctx, 1, metric.WithAttributes(attribute.String("result", resultOf(e.Err))))
		o.writeTime.Record(ctx, e.Duration.Seconds())
		if e.Err == nil {
			o.members.Add(ctx, int64(e.Members))
		}
	case conflict.Waited:
		o.waits.Record(ctx, e.Duration.Seconds())
	case conflict.Finished:
		o.commits.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", outcomeOf(e.Err))))
		o.passed.Add(ctx, e.Passed)
		o.commitTime.Record(ctx, e.Duration.Seconds())
		span.AddEvent("deltaskip.finished", trace.WithAttributes(
			attribute.String("txnId", e.TxnID), attribute.String("outcome", outcomeOf(e.Err)), attribute.Int64("version", e.Version), attribute.Int("attempts", e.Attempts)))
	}
}

func (o *Observer) checked(ctx context.Context, span trace.Span, e conflict.Checked) {
	attributes := []attribute.KeyValue{attribute.String("outcome", e.Outcome.String())}
	if f := e.Conflict; f != nil {
		attributes = append(attributes, attribute.String("kind", f.Kind.Exception()), attribute.String("reason", string(f.Reason)))
		span.AddEvent("deltaskip.conflict", trace.WithAttributes(
			attribute.String("txnId", e.TxnID), attribute.Int64("winner", f.Winner.Version), attribute.String("kind", f.Kind.Exception()),
			attribute.String("reason", string(f.Reason)), attribute.String("path", f.Path), attribute.String("predicate", f.Predicate)))
	}
	o.checks.Add(ctx, 1, metric.WithAttributes(attributes...))
	o.checkTime.Record(ctx, e.Duration.Seconds())
	o.winners.Add(ctx, e.Counts.Winners)
	o.checkBytes.Add(ctx, e.Counts.BytesDecoded)
	kept := e.Counts.FilesConsidered - e.Counts.SkippedByPartition - e.Counts.SkippedByStats - e.Counts.SkippedByRows
	for excludedBy, n := range map[string]int64{
		"partition": e.Counts.SkippedByPartition, "statistics": e.Counts.SkippedByStats, "rows": e.Counts.SkippedByRows, "nothing": kept,
	} {
		o.checkFiles.Add(ctx, n, metric.WithAttributes(attribute.String("excludedBy", excludedBy)))
	}
}

// resultOf names how a write ended.
func resultOf(err error) string {
	switch {
	case err == nil:
		return "written"
	case errors.Is(err, logstore.ErrExists):
		return "taken"
	case errors.Is(err, logstore.ErrOutcomeUnknown):
		return "unknown"
	}
	return "failed"
}

// outcomeOf names how a transaction ended.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "committed"
	case errors.Is(err, conflict.ErrOutcomeUnknown):
		return "unknown"
	case errors.Is(err, conflict.ErrConflict):
		return "conflict"
	}
	return "failed"
}
