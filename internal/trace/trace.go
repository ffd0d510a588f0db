package trace

import (
	"context"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// Tracer keeps spans. It is safe for concurrent use, and returns at once.
type Tracer interface {
	// Begin begins the first span of hotcell's in a trace: one of from, a caller's, or a new one. Nil: it is not kept.
	Begin(from a2e.Trace, name string, at time.Time) Recorder
}

// Recorder is one span of a [Tracer]. It is safe for concurrent use, and nothing of it waits.
type Recorder interface {
	// Begin begins a span within this one. Nil: no more are kept.
	Begin(name string, at time.Time) Recorder
	// Text, Number and Flag add to what is told of it. A text that is too long is cut.
	Text(key, value string)
	Number(key string, n int64)
	Flag(key string, is bool)
	// Fail says that what the span is about failed; why is a code, such as timeout.
	Fail(why string)
	// End ends it, once. It may end after the span around it.
	End(at time.Time)
	// Place is what a request says that belongs to this span.
	Place() a2e.Trace
	// ID is the trace's, in hexadecimal.
	ID() string
	// Sampled reports whether the trace is among those that are exported.
	Sampled() bool
}

// Span is a piece of work. The zero value is told to nobody.
type Span struct{ r Recorder }

// Root begins the first span of hotcell's in a trace. A nil tracer keeps none.
func Root(t Tracer, from a2e.Trace, name string, at time.Time) Span {
	if t == nil {
		return Span{}
	}
	return Span{t.Begin(from, name, at)}
}

// On reports whether somebody keeps the span.
func (s Span) On() bool { return s.r != nil }

// Begin begins a span within this one.
func (s Span) Begin(name string, at time.Time) Span {
	if s.r == nil {
		return Span{}
	}
	return Span{s.r.Begin(name, at)}
}

// Text adds a text; an empty one says nothing.
func (s Span) Text(key, value string) {
	if s.r != nil && value != "" {
		s.r.Text(key, value)
	}
}

// Number adds a number.
func (s Span) Number(key string, n int64) {
	if s.r != nil {
		s.r.Number(key, n)
	}
}

// Flag adds a yes or no.
func (s Span) Flag(key string, is bool) {
	if s.r != nil {
		s.r.Flag(key, is)
	}
}

// Fail says that it failed, and the code of that.
func (s Span) Fail(why string) {
	if s.r != nil {
		s.r.Fail(why)
	}
}

// End ends it now.
func (s Span) End() {
	if s.r != nil {
		s.r.End(time.Now())
	}
}

// EndAt ends it at a time that has passed.
func (s Span) EndAt(at time.Time) {
	if s.r != nil {
		s.r.End(at)
	}
}

// Place is what a request says that belongs to this span; the zero value where nobody keeps it.
func (s Span) Place() a2e.Trace {
	if s.r == nil {
		return a2e.Trace{}
	}
	return s.r.Place()
}

// ID is the trace's, "" where nobody keeps it.
func (s Span) ID() string {
	if s.r == nil {
		return ""
	}
	return s.r.ID()
}

// Exemplar is the trace's id for who wants to look the trace up: "" for one that is not exported, which nobody finds.
func (s Span) Exemplar() string {
	if s.r == nil || !s.r.Sampled() {
		return ""
	}
	return s.r.ID()
}

type spanKey struct{}

// With returns a context for what belongs to a span.
func With(ctx context.Context, s Span) context.Context {
	if s.r == nil {
		return ctx
	}
	return context.WithValue(ctx, spanKey{}, s)
}

// Of returns the span that ctx belongs to.
func Of(ctx context.Context) Span {
	s, _ := ctx.Value(spanKey{}).(Span)
	return s
}

// Start begins a span within that of ctx, and returns a context for what belongs to it.
func Start(ctx context.Context, name string) (context.Context, Span) {
	around := Of(ctx)
	if !around.On() {
		return ctx, around
	}
	s := around.Begin(name, time.Now())
	return With(ctx, s), s
}
