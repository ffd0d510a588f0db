package tools

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/trace"
)

// fixed is a tracer whose spans are all at one place.
type fixed struct{ span spot }

func (f fixed) Begin(a2e.Trace, string, time.Time) trace.Recorder { return f.span }

type spot struct {
	trace.Recorder
	at a2e.Trace
}

func (s spot) Place() a2e.Trace { return s.at }

// An operator's server is told which trace a use belongs to, where somebody keeps that trace.
func TestAServerIsToldOfTheTrace(t *testing.T) {
	if got := placed(t.Context()); got != nil {
		t.Errorf("without a trace: %v", got)
	}
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for state, want := range map[string]mcp.Meta{"": {"traceparent": parent}, "a=1": {"traceparent": parent, "tracestate": "a=1"}} {
		span := trace.Root(fixed{spot{at: a2e.Trace{Parent: parent, State: state}}}, a2e.Trace{}, "tool", time.Now())
		if diff := cmp.Diff(want, placed(trace.With(t.Context(), span))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
