package hostile

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox"
)

// runRows runs each row, as often as the environment says.
func runRows(t *testing.T, rows []row) {
	t.Helper()
	h := newHouse(t, rows)
	n, _ := rounds(t)
	for i := range rows {
		r := &rows[i]
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for _, part := range r.needs {
				testutil.Require(t, part)
			}
			var got told
			for range n {
				got = h.attack(t, r)
			}
			if h.Pool != nil {
				h.attackWarm(t, r, got)
			}
		})
	}
}

// attackWarm runs a row, which ended with got before, in a cell that waited for it.
func (h *house) attackWarm(t *testing.T, r *row, got told) {
	t.Helper()
	call, _, err := h.Show(t.Context(), got.answer.ID)
	if err != nil || call.Cell == "" || r.verdict(h.runtime).cold != "" {
		return // it was refused a cell, or none can wait for it
	}
	for range 10 { // others may be quicker: rows share skills
		testutil.Poll(t, settlesWithin(), func() bool { return len(h.Pool.Waiting(r.skill())) > 0 })
		got := h.attack(t, r)
		if call, _, err := h.Show(t.Context(), got.answer.ID); err != nil || h.Waited(call.Cell) || t.Failed() {
			return
		}
	}
	t.Error("no call got a cell that waited")
}

// attack runs a row once and holds the answer against what must be.
func (h *house) attack(t *testing.T, r *row) told {
	t.Helper()
	failed := t.Failed()
	facts, free := h.besiege(t, r)
	got := h.strike(t, r, facts)
	free()
	want := r.verdict(h.runtime)
	code, reason := got.verdict()
	if want.or != nil && !want.fits(code, reason) {
		want = *want.or
	}
	wrong := !want.fits(code, reason)
	switch {
	case wrong:
		t.Errorf("%s\ngot %q, reason %q: %+v\nwant %q, %q", r, code, reason, got.answer.Error, want.code, want.reason)
	case want.says != "" && !strings.Contains(got.answer.Error.Message, want.says):
		t.Errorf("message = %q, want it to say %q", got.answer.Error.Message, want.says)
	case want.check != nil:
		want.check(t, got)
	}
	h.figures.counted(wrong)
	h.inTime(t, got)
	if t.Failed() && !failed {
		for _, s := range got.messages()[:min(20, len(got.messages()))] {
			t.Logf("it said %.300q", s)
		}
	}
	return got
}

// besiege starts the row's victim and returns what it says of itself, and what ends it.
func (h *house) besiege(t *testing.T, r *row) (facts any, free func()) {
	t.Helper()
	if len(r.victim) == 0 {
		return nil, func() {}
	}
	up := make(chan any, 1)
	ended := make(chan told, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- h.call(ctx, bomb(r.victim), nil, func(ev *a2e.Event) {
			if ev.Data["message"] == "up" {
				up <- ev.Data["facts"]
			}
		})
	}()
	select {
	case facts = <-up:
	case got := <-ended:
		cancel()
		t.Fatalf("the victim did not come up: %v", got.answer.Error)
	}
	return facts, func() {
		cancel()
		if got := <-ended; got.answer.Error == nil || got.answer.Error.Reason() != a2e.ReasonCancelled {
			t.Errorf("the victim ended with %+v, want it alive until it is cancelled", got.answer.Error)
		}
	}
}

// strike makes the row's call, with a neighbour beside where it has one.
func (h *house) strike(t *testing.T, r *row, facts any) told {
	t.Helper()
	if len(r.neighbour) == 0 {
		return h.call(t.Context(), r, facts, nil)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	armed := make(chan struct{}, 1)
	ended := make(chan told, 1)
	go func() {
		ended <- h.call(ctx, r, facts, func(ev *a2e.Event) {
			if ev.Data["message"] == "armed" {
				armed <- struct{}{}
			}
		})
	}()
	select {
	case <-armed:
	case got := <-ended:
		return got
	}
	beside := h.call(t.Context(), bomb(r.neighbour), nil, nil)
	cancel()
	got := <-ended
	if beside.answer.Error != nil {
		t.Errorf("%s\nits neighbour ended with %v, want success", r, beside.answer.Error)
	} else {
		held(1)(t, beside)
	}
	return got
}

// inTime holds the answer to the call's deadline and waits for its cell to be gone.
func (h *house) inTime(t *testing.T, got told) {
	t.Helper()
	call, _, err := h.Show(t.Context(), got.answer.ID)
	if err != nil {
		t.Fatal(err)
	}
	late := time.Duration(0)
	if !call.Deadline.IsZero() {
		late = call.Ended.Sub(call.Deadline)
	}
	h.figures.longest(&h.figures.overrun, late)
	limit := 10 * time.Second
	if _, strict := rounds(t); strict {
		limit = time.Second
	}
	if late > limit {
		t.Errorf("answered %v after the deadline, want at most %v", late, limit)
	}
	testutil.Poll(t, settlesWithin(), func() bool {
		all, err := h.Cells.List(t.Context())
		for _, l := range all {
			if l.Kind == "cell" && (l.Labels[sandbox.LabelCall] == got.answer.ID || l.ID == call.Cell) {
				return false
			}
		}
		return err == nil
	})
}
