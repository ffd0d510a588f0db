package trace_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/trace"
)

// Where nobody keeps spans they cost nothing.
func TestNobodysSpansCostNothing(t *testing.T) {
	ctx, now := t.Context(), time.Now()
	allocations := testing.AllocsPerRun(100, func() {
		s := trace.Root(nil, a2e.Trace{}, "call", now)
		s.Text("k", "v")
		s.Number("n", 1)
		s.Flag("f", true)
		s.Fail("why")
		inner, child := trace.Start(trace.With(ctx, s), "tool")
		child.Begin("llm", now).EndAt(now)
		child.End()
		if inner != ctx || s.On() || child.On() || s.ID() != "" || s.Exemplar() != "" || s.Place() != (a2e.Trace{}) || trace.Of(inner).On() {
			t.Error("somebody keeps a span")
		}
		s.End()
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestAbout(t *testing.T) {
	if trace.AboutOf(t.Context()) != nil {
		t.Error("a context is about a call")
	}
	a := &trace.About{Call: "1", Skill: "s"}
	if trace.AboutOf(trace.WithAbout(t.Context(), a)) != a {
		t.Error("a context is about no call")
	}
	want := []string{"call=1", "skill=s"}
	var got []string
	for _, attr := range a.Attrs() {
		got = append(got, slog.Attr(attr).String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
