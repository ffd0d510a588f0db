package executor

import (
	"context"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// keep notes each event as it comes, whether anybody listens or not: for the answer, and in the journal.
func (s *Supervisor) keep(c *call, p *plan) func(*a2e.Event) {
	transcribe := s.transcript(c, p)
	return func(ev *a2e.Event) {
		s.journal.Say(c.id, ev.Seq, ev.Kind == a2e.KindArtifact, c.keep(ev))
		if transcribe != nil {
			transcribe(ev)
		}
	}
}

// deliver hands an event on to a listener that wants events while the skill runs. It stops at the first that it cannot
// take.
func (s *Supervisor) deliver(c *call, w a2e.EventWriter) func(context.Context, *a2e.Event) {
	listens := w != nil && c.req.Streams()
	return func(ctx context.Context, ev *a2e.Event) {
		defer c.taken.Add(1)
		if !listens {
			return
		}
		if err := w.WriteEvent(ctx, ev); err != nil {
			listens = false
			s.logOf(c).Debug("nobody listens to a call's events", "error", err)
		}
	}
}

// lastEvent is how long an answer waits for the event that a listener is just taking, once it gets no others.
const lastEvent = time.Second

// awaitListener lets a listener read the events of a call that has ended, so that none follows the answer. A listener that
// takes no event for so long as the configuration's patience loses the others: the answer, which stands already, must
// reach it, or whoever else asks for it.
func (s *Supervisor) awaitListener(c *call) {
	if c.delivered == nil {
		return // it never had a cell
	}
	defer func() {
		if left := c.now().Events - int(c.taken.Load()); left > 0 {
			s.watch.Undelivered(left)
		}
	}()
	tick := time.NewTicker(s.cfg.Patience)
	defer tick.Stop()
	for taken, waits := c.taken.Load(), true; waits; {
		select {
		case <-c.delivered:
			return
		case <-c.listener.Done():
			waits = false
		case <-tick.C:
			now := c.taken.Load()
			if waits = now != taken; !waits {
				s.logOf(c).Warn("a listener takes no events; the rest of them is dropped", "taken", now, "patience", s.cfg.Patience)
				c.deafen()
			}
			taken = now
		}
	}
	select {
	case <-c.delivered:
	case <-time.After(lastEvent):
	}
}
