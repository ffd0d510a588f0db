package telemetry

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/trace"
)

// Bounds on what one call tells.
const (
	mostUses = 512 // spans of tools, requests to models and connections: a cell makes as many of those as it likes
	mostText = 256 // bytes
)

// kinds are the spans that are not internal. Those that a cell brings about are outgoing.
var kinds = map[string]oteltrace.SpanKind{
	"call": oteltrace.SpanKindServer, "tool": oteltrace.SpanKindClient, "llm": oteltrace.SpanKindClient, "egress": oteltrace.SpanKindClient,
}

// tracer is a [trace.Tracer] over OpenTelemetry.
type tracer struct{ otel oteltrace.Tracer }

// Begin implements [trace.Tracer].
func (t *tracer) Begin(from a2e.Trace, name string, at time.Time) trace.Recorder {
	ctx := context.Background()
	if from.Parent != "" {
		ctx = oteltrace.ContextWithRemoteSpanContext(ctx, remote(from))
	}
	return &recorder{t: t, span: t.start(ctx, name, at), uses: &uses{}, root: true}
}

func (t *tracer) start(ctx context.Context, name string, at time.Time) oteltrace.Span {
	_, span := t.otel.Start(ctx, name, oteltrace.WithTimestamp(at), oteltrace.WithSpanKind(kinds[name]))
	return span
}

// remote is a caller's place in a trace. What is in it is valid; a state that OpenTelemetry doesn't take is left out.
func remote(from a2e.Trace) oteltrace.SpanContext {
	id, _ := oteltrace.TraceIDFromHex(from.Parent[3:35])
	span, _ := oteltrace.SpanIDFromHex(from.Parent[36:52])
	cfg := oteltrace.SpanContextConfig{TraceID: id, SpanID: span, Remote: true}
	if strings.HasSuffix(from.Parent, "1") {
		cfg.TraceFlags = oteltrace.FlagsSampled
	}
	if state, err := oteltrace.ParseTraceState(from.State); err == nil {
		cfg.TraceState = state
	}
	return oteltrace.NewSpanContext(cfg)
}

// uses counts, for a call and all within it, the spans that its cells bring about.
type uses struct{ kept, dropped atomic.Int64 }

type recorder struct {
	t    *tracer
	span oteltrace.Span
	uses *uses
	root bool
}

// Begin implements [trace.Recorder].
func (r *recorder) Begin(name string, at time.Time) trace.Recorder {
	if kinds[name] == oteltrace.SpanKindClient && r.uses.kept.Add(1) > mostUses {
		r.uses.dropped.Add(1)
		return nil
	}
	return &recorder{t: r.t, span: r.t.start(oteltrace.ContextWithSpan(context.Background(), r.span), name, at), uses: r.uses}
}

// Text implements [trace.Recorder].
func (r *recorder) Text(key, value string) {
	if len(value) > mostText {
		value = value[:mostText]
	}
	r.span.SetAttributes(attribute.String(key, strings.ToValidUTF8(value, "?")))
}

// Number implements [trace.Recorder].
func (r *recorder) Number(key string, n int64) { r.span.SetAttributes(attribute.Int64(key, n)) }

// Flag implements [trace.Recorder].
func (r *recorder) Flag(key string, is bool) { r.span.SetAttributes(attribute.Bool(key, is)) }

// Fail implements [trace.Recorder].
func (r *recorder) Fail(why string) { r.span.SetStatus(codes.Error, why) }

// End implements [trace.Recorder].
func (r *recorder) End(at time.Time) {
	if n := r.uses.dropped.Load(); r.root && n > 0 {
		r.Number("hotcell.spans_dropped", n)
	}
	r.span.End(oteltrace.WithTimestamp(at))
}

// Place implements [trace.Recorder].
func (r *recorder) Place() a2e.Trace {
	at := r.span.SpanContext()
	return a2e.Trace{
		Parent: "00-" + at.TraceID().String() + "-" + at.SpanID().String() + "-" + (at.TraceFlags() & oteltrace.FlagsSampled).String(),
		State:  at.TraceState().String(),
	}
}

// ID implements [trace.Recorder].
func (r *recorder) ID() string { return r.span.SpanContext().TraceID().String() }

// Sampled implements [trace.Recorder].
func (r *recorder) Sampled() bool { return r.span.SpanContext().IsSampled() }
