package executor

import (
	"context"
	"errors"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// A principal lists, finds and cancels its own calls alone, also by request ids that others use too.
func TestAPrincipalHasItsOwnCalls(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"in memory": nil, "journalled": func(c *Config) { c.Journal = journalAt(t, dbPath(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			b := setUp(t, well, change)
			alice, bob, eve := b.Of("alice"), b.Of("bob"), b.Of("eve")
			answers := map[string]string{}
			for _, who := range []string{"alice", "bob"} {
				answer := b.Call(t.Context(), a2e.Caller{Principal: who, Door: "test"}, sent("free", "r1"), nil)
				if verdict(answer) != "ok" {
					t.Fatalf("%s: %s", who, verdict(answer))
				}
				answers[who] = answer.ID
			}
			for who, c := range map[string]control.Control{"alice": alice, "bob": bob} {
				for _, id := range []string{"r1", answers[who]} {
					call, answer, err := c.Show(t.Context(), id)
					if err != nil || call.ID != answers[who] || answer == nil || call.Principal != who {
						t.Errorf("%s shows %s: %+v, %v", who, id, call, err)
					}
					if events, err := c.Events(t.Context(), id, 0); err != nil || len(events) != 2 {
						t.Errorf("%s: %d events of %s, %v", who, len(events), id, err)
					}
					if err := c.Cancel(t.Context(), id); !errors.Is(err, control.ErrEnded) {
						t.Errorf("%s cancels %s: %v", who, id, err)
					}
				}
				if calls, err := c.List(t.Context(), 0); err != nil || len(calls) != 1 || calls[0].ID != answers[who] {
					t.Errorf("%s lists %+v, %v", who, calls, err)
				}
			}
			for id, c := range map[string]control.Control{answers["bob"]: alice, answers["alice"]: bob, "r1": eve} {
				nothing(t, c, id)
			}
			if calls, err := eve.List(t.Context(), 0); err != nil || len(calls) != 0 {
				t.Errorf("eve lists %+v, %v", calls, err)
			}
			if calls, err := b.List(t.Context(), 0); err != nil || len(calls) != 2 {
				t.Errorf("all: %+v, %v", calls, err)
			}
			b.settle(t)
		})
	}
}

// nothing makes sure that a call does not exist for c, with the words that one has that never was.
func nothing(t *testing.T, c control.Control, id string) {
	t.Helper()
	_, _, show := c.Show(t.Context(), id)
	_, events := c.Events(t.Context(), id, 0)
	for what, err := range map[string]error{"show": show, "events": events, "cancel": c.Cancel(t.Context(), id)} {
		if !errors.Is(err, control.ErrNotFound) {
			t.Errorf("%s %s: %v", what, id, err)
		}
	}
}

func TestNobodyCancelsAnothersCall(t *testing.T) {
	b := setUp(t, hang, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan *a2e.CallResponse, 1)
	go func() {
		done <- b.Call(ctx, a2e.Caller{Principal: "alice", Door: "test"}, sent("free", "r1"), nil)
	}()
	for {
		if calls, err := b.List(t.Context(), 0); err != nil || len(calls) == 1 {
			break
		}
	}
	if err := b.Of("bob").Cancel(t.Context(), "r1"); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("another: %v", err)
	}
	if err := b.Of("alice").Cancel(t.Context(), "r1"); err != nil {
		t.Errorf("oneself: %v", err)
	}
	if got := <-done; verdict(got) != "runtime_error/cancelled" || got.Error.Message != "cancelled by the caller" {
		t.Errorf("got %s, %+v", verdict(got), got.Error)
	}
}
