package executor

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/sandbox"
)

// allTurns takes the turns to start a cell that there are.
func allTurns(t *testing.T, b *bench) (turns []func(up bool)) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		done, err := b.gate.starts.Acquire(ctx, "")
		cancel()
		if err != nil {
			return turns
		}
		turns = append(turns, done)
	}
}

// A call for which a cell waits takes no turn, also where it may have that only once the journal has the call.
func TestWhoHasACellTakesNoTurn(t *testing.T) {
	b, _, _, requests := aheadRig(t)
	turns := allTurns(t, b)
	b.refused.note("alice", time.Now())
	who := a2e.Caller{Principal: "alice", Door: "test"}
	if got := b.Call(t.Context(), who, req("free"), nil); verdict(got) != "ok" || requests.Load() != 1 {
		t.Errorf("%s, %d requests: %+v", verdict(got), requests.Load(), got.Error)
	}
	for _, done := range turns {
		done(true)
	}
}

// A call waits for its turn to start a cell, no longer than it may queue; the time is told as such.
func TestCallsTakeTurnsToStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, well, func(c *Config) { c.QueueTimeout = 10 * time.Second })
		b.driver.SetCapabilities(sandbox.Capabilities{OS: "linux", Arch: "amd64", CPUs: 100, Memory: 1 << 40})
		turns := allTurns(t, b)
		queued := func(answer *a2e.CallResponse) (took time.Duration) {
			t.Helper()
			view, _, err := b.Show(t.Context(), answer.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range view.Phases {
				if p.Name == spanQueue {
					took += p.Took
				}
			}
			return took
		}
		who := a2e.Caller{Principal: "alice", Door: "test"}
		late := b.Call(t.Context(), who, req("free"), nil)
		if verdict(late) != "runtime_error/queue_timeout" || !late.Error.Retryable || !strings.Contains(late.Error.Message, "still starting") {
			t.Errorf("%s: %+v", verdict(late), late.Error)
		}
		if took := queued(late); took != 10*time.Second || b.driver.Stats().Created != 0 {
			t.Errorf("it queued for %v, want 10 s, and %d cells were made", took, b.driver.Stats().Created)
		}
		time.AfterFunc(3*time.Second, func() { turns[0](true) })
		if got := b.Call(t.Context(), who, req("free"), nil); verdict(got) != "ok" || queued(got) != 3*time.Second {
			t.Errorf("%s after %v in the queue, want 3 s", verdict(got), queued(got))
		}
		ctx, hangUp := context.WithTimeout(t.Context(), time.Second)
		defer hangUp()
		turns[0], _ = b.gate.starts.Acquire(t.Context(), "")
		if got := b.Call(ctx, who, req("free"), nil); verdict(got) != "runtime_error/cancelled" {
			t.Error(verdict(got))
		}
		for _, done := range turns {
			done(true)
		}
		if out, _, waiting := b.gate.starts.Use(); out != 0 || waiting != 0 {
			t.Errorf("%d start and %d wait", out, waiting)
		}
		if calls, err := b.List(t.Context(), 3); err != nil || len(calls) != 3 || calls[0].State != control.Canceled {
			t.Errorf("%+v, %v", calls, err)
		}
	})
}
