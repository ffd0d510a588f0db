package executor

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/trace"
)

// The names of a call's spans. Its phases follow each other without a gap.
const (
	spanCall     = "call"
	spanPlan     = "plan"    // resolve the skill, check the arguments, narrow the policy, grant
	spanQueue    = "queue"   // wait for a share of the host, and once more for a turn to make a cell
	spanPrepare  = "prepare" // have the image, wait for the journal
	spanLease    = "lease"   // take a cell that waits
	spanStart    = "start"   // make one
	spanRun      = "run"     // from the request to the verdict
	spanAnswer   = "answer"  // journal the end, let the listener read the rest
	spanTeardown = "teardown"
)

// spans are those of one call. The goroutine that serves the call uses them alone.
type spans struct {
	call  trace.Span
	phase trace.Span // that the call is in
	from  a2e.Trace  // what the caller said of its own trace
}

// callerTrace is where in its own trace a caller says that the request is: the request itself has it, or what it came with.
func callerTrace(ctx context.Context, req *a2e.CallRequest) a2e.Trace {
	if t := a2e.MetadataTrace(req.Metadata); t.Parent != "" {
		return t
	}
	return a2e.TraceOf(ctx)
}

// begin begins the span of a call: within what a skill does where a skill calls, else where the caller says.
func (s *Supervisor) begin(ctx context.Context, c *call) {
	c.course.enter(spanPlan, c.accepted)
	if s.cfg.Tracer == nil {
		return
	}
	if around := trace.Of(ctx); around.On() {
		c.spans.call = around.Begin(spanCall, c.accepted)
	} else {
		c.spans.call = trace.Root(s.cfg.Tracer, c.spans.from, spanCall, c.accepted)
	}
	span := c.spans.call
	if !span.On() {
		return
	}
	span.Text("hotcell.call.id", c.id)
	span.Text("hotcell.skill", c.req.Name)
	span.Text("hotcell.principal", c.who.Principal)
	span.Text("hotcell.agent", c.who.Agent)
	span.Text("hotcell.door", c.who.Door)
	c.spans.phase = span.Begin(spanPlan, c.accepted)
}

// phase ends the phase that the call is in, and begins the next.
func (c *call) phase(name string, at time.Time) {
	c.course.enter(name, at)
	if !c.spans.call.On() {
		return
	}
	c.spans.phase.EndAt(at)
	c.spans.phase = c.spans.call.Begin(name, at)
}

// next is phase for one that begins now.
func (c *call) next(name string) { c.phase(name, time.Now()) }

// endSpans ends what is open; answer is nil for a call that was not taken in.
func (c *call) endSpans(answer *a2e.CallResponse) {
	span := c.spans.call
	if !span.On() {
		return
	}
	view := c.now()
	span.Text("hotcell.skill", view.Skill)
	switch {
	case answer == nil:
		span.Text("hotcell.code", "not_taken")
	case answer.Error != nil:
		span.Text("hotcell.code", string(answer.Error.Code))
		span.Text("hotcell.reason", answer.Error.Reason())
		span.Fail(string(answer.Error.Code))
	default:
		span.Text("hotcell.code", "ok")
	}
	if view.Hosted {
		span.Flag("hotcell.hosted", true)
	}
	tellUsage(span, view.Usage)
	now := time.Now()
	c.spans.phase.EndAt(now)
	span.EndAt(now)
}

// tellUsage tells what a cell used, as far as it was measured.
func tellUsage(span trace.Span, u *control.Usage) {
	if u == nil {
		return
	}
	for _, one := range []struct {
		key string
		n   int64
	}{
		{"hotcell.memory_peak_bytes", u.MemoryPeakBytes}, {"hotcell.cpu_ms", u.CPUMS}, {"hotcell.throttled_ms", u.ThrottledMS}, {"hotcell.pids_peak", int64(u.PIDsPeak)},
	} {
		if one.n > 0 {
			span.Number(one.key, one.n)
		}
	}
}

// phaseOf is the phase in which a call gets its cell.
func phaseOf(waited bool) string {
	if waited {
		return spanLease
	}
	return spanStart
}

// around is the context of what a call uses: with the secrets that are not to be told, the trace, and whose log lines they are.
func around(ctx context.Context, c *call, secrets [][]byte) context.Context {
	ctx = trace.WithAbout(context.WithValue(ctx, aroundKey{}, secrets), c.about())
	return trace.With(ctx, c.spans.phase)
}

// tellCell tells what cell a call got.
func (s *Supervisor) tellCell(c *call, cl *cell) {
	if span := c.spans.phase; span.On() {
		span.Flag("hotcell.warm", cl.waited)
		span.Text("hotcell.driver", s.cfg.Driver.Name())
		span.Text("hotcell.cell", cl.box.ID())
	}
}

// place is what the skill is told of the trace: its own spans go below the phase in which it runs. Where nobody keeps traces it
// is what the caller said.
func (c *call) place() a2e.Trace {
	if t := c.spans.phase.Place(); t.Parent != "" {
		return t
	}
	return c.spans.from
}

// metadata is the request's, with the place in the trace where there is one.
func (c *call) metadata(at a2e.Trace) map[string]any {
	if at.Parent == "" {
		at = c.spans.from
	}
	if at.Parent == "" {
		return c.req.Metadata
	}
	own := maps.Clone(c.req.Metadata)
	if own == nil {
		own = map[string]any{}
	}
	own[a2e.KeyTraceParent] = at.Parent
	delete(own, a2e.KeyTraceState)
	if at.State != "" {
		own[a2e.KeyTraceState] = at.State
	}
	return own
}

// about says in a log what a line is about.
func (c *call) about() *trace.About {
	view := c.now()
	return &trace.About{
		Call: c.id, Principal: clip(c.who.Principal, 80), Skill: clip(view.Skill, 80), Trace: c.spans.call.ID(),
	}
}

// logOf logs what is about a call.
func (s *Supervisor) logOf(c *call) *slog.Logger { return s.logAbout(c.about()) }

// logOfRecord logs what is about a call of which only the record is left.
func (s *Supervisor) logOfRecord(r *control.Record) *slog.Logger {
	return s.logAbout(&trace.About{Call: r.ID, Principal: clip(r.Principal, 80), Skill: clip(r.Skill, 80)})
}

func (s *Supervisor) logAbout(a *trace.About) *slog.Logger {
	attrs := a.Attrs()
	args := make([]any, len(attrs))
	for i, a := range attrs {
		args[i] = a
	}
	return s.log.With(args...)
}
