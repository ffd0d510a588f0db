package console

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/network"

	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/testutil"
)

// Updates that a live page gets before it is weighed for the first time, and for the last.
const (
	firstUpdates = 6
	allUpdates   = 24
)

// updated is how many server-sent events have come into the tab.
func (s *sheet) updated() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updates
}

// told counts what comes by server-sent events.
func (s *sheet) told(event any) {
	if _, ok := event.(*network.EventEventSourceMessageReceived); ok {
		s.mu.Lock()
		s.updates++
		s.mu.Unlock()
	}
}

// The overview and the list of calls are kept up to date while calls come and go, and do not grow.
func TestLivePages(t *testing.T) {
	d := openDaemon(t)
	for name, path := range map[string]string{"overview": "/console/", "calls": "/console/calls"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
			defer cancel()
			small := map[string]any{"name": "skill-catalog", "arguments": map[string]any{}}
			for range 60 { // more than a page has, so that it is full from the beginning
				if _, err := d.as("").call(ctx, small); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, d, path, look{})
			s.until("the page is live", `document.querySelector("[sse-connect]")`)
			var before weight
			for seen := 0; seen < allUpdates; {
				if _, err := d.as("").call(ctx, small); err != nil {
					t.Fatal(err)
				}
				testutil.Poll(t, patience, func() bool { return s.updated() > seen })
				if seen = s.updated(); before == (weight{}) && seen >= firstUpdates {
					before = s.weighed()
				}
			}
			s.flat(before, s.weighed())
			s.sound()
		})
	}
}

// The page of a call that says very much does not grow with it, nor does the daemon send it everything: what it shows is bounded.
func TestALongCallsPageDoesNotGrow(t *testing.T) {
	d := openDaemon(t)
	ctx := soon(t)
	c := d.as("")
	call, err := c.begin(ctx, "says-very-much", map[string]any{"name": "ticker", "arguments": map[string]any{"n": 100000, "pause": 0.02}}, control.Running)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.end(ctx, call.ID); err != nil {
			t.Error(err)
		}
	}()
	s := open(t, d, "/console/calls/"+call.ID, look{})
	tick := func(n int) {
		t.Helper()
		s.until(fmt.Sprintf("tick %d", n), fmt.Sprintf(`[...document.querySelector("#events").innerText.matchAll(/this is tick (\d+)/g)].some(m => +m[1] >= %d)`, n))
	}
	tick(400)
	before := s.weighed()
	tick(1200)
	s.flat(before, s.weighed())
	s.shoot("call-long-running")
}

// A page shows what runs and what waits for a cell.
func TestAFullHouse(t *testing.T) {
	d := openDaemon(t)
	running, queued, end, err := d.crowd(soon(t), "")
	defer func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	}()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []look{{dark: true}, {width: narrow}} {
		t.Run(l.String(), func(t *testing.T) {
			s := open(t, d, "/console/", l)
			s.until("the figures", fmt.Sprintf(`/^%d\s+running/.test(document.querySelector(".figure").innerText) && /^1\s+waiting/.test(document.querySelectorAll(".figure")[1].innerText)`, len(running)))
			s.sound()
			s.judged()
			s.shoot("overview-full")
			s.visit("/console/calls?verdict=running")
			s.shows("ticker", "queued")
			s.sound()
			s.judged()
			s.shoot("calls-running")
			s.visit("/console/calls/" + queued.ID)
			s.shows("queued")
			s.settle()
			s.sound()
			s.judged()
			s.shoot("call-queued")
		})
	}
}
