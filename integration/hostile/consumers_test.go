package hostile

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/executor"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// chatty is a skill that tells 5 MB in events, and then gives a result.
var chatty = row{name: "chatty", what: "tells 5 MB and gives a result", stops: "the relay, which waits for no listener", python: `import json
for i in range(5000):
    print(json.dumps({"type": "skill/event", "kind": "log", "data": {"message": "m" * 1000, "i": i}}), flush=True)
print(json.dumps({"type": "skill/result", "success": True, "data": "all told"}))
`}

// patience is how long these tests' supervisor waits for a listener.
const patience = 2 * time.Second

func consumerHouse(t *testing.T) *house {
	return newHouse(t, []row{chatty}, func(cfg *executor.Config) { cfg.Patience = patience })
}

// unaffected makes sure that the skill told all it had to tell, whatever its listener did.
func unaffected(t *testing.T, h *house, got told) {
	t.Helper()
	call, _, err := h.Show(t.Context(), got.answer.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.answer.Error != nil || call.Events != 5000 {
		t.Errorf("%d events, %v", call.Events, got.answer.Error)
	}
}

// A listener that rests from the first event on until the verdict stands holds nobody up, and gets every event in the end.
func TestAListenerThatRests(t *testing.T) {
	t.Parallel()
	h := consumerHouse(t)
	var once sync.Once
	got := h.call(t.Context(), &chatty, nil, func(*a2e.Event) {
		once.Do(func() {
			testutil.Poll(t, 2*time.Minute, func() bool {
				calls, err := h.List(t.Context(), 1)
				return err == nil && !calls[0].Ended.IsZero()
			})
		})
	})
	unaffected(t, h, got)
	numbered(t, got)
	if len(got.events) != 5000 {
		t.Errorf("%d events came, want 5000", len(got.events))
	}
}

// A listener that takes nothing for ever has no part in the verdict, and the answer comes nevertheless.
func TestAListenerThatIsDead(t *testing.T) {
	t.Parallel()
	h := consumerHouse(t)
	free := make(chan struct{})
	defer close(free)
	var got told
	got.answer = h.Run(t.Context(), a2e.Caller{Door: "test"}, chatty.request(nil), nil, a2e.EventWriterFunc(func(context.Context, *a2e.Event) error {
		<-free
		return nil
	}))
	unaffected(t, h, got)
	if n := len(got.answer.Data.Events); n < 500 || n > 1001 {
		t.Errorf("the answer holds %d events, want about as many as fit in 1 MiB", n)
	}
}

// A listener that keeps to its context is gone at once with it.
func TestAListenerThatIsCutOff(t *testing.T) {
	t.Parallel()
	h := consumerHouse(t)
	got := chatty
	got.hear = func(ctx context.Context, _ *a2e.Event) error { <-ctx.Done(); return ctx.Err() }
	unaffected(t, h, h.call(t.Context(), &got, nil, nil))
}

// A listener that fails gets no more events, and the call goes on.
func TestAListenerThatFails(t *testing.T) {
	t.Parallel()
	h := consumerHouse(t)
	r := chatty
	r.hear = func(context.Context, *a2e.Event) error { return errors.New("broken pipe") }
	got := h.call(t.Context(), &r, nil, nil)
	unaffected(t, h, got)
	if len(got.events) != 1 {
		t.Errorf("%d events came after the first had failed", len(got.events)-1)
	}
}
