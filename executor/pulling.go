package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/hotcell/hotcell/executor/relay"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
)

// How often a call hears of the pull that it waits for, and how often at most.
const (
	pullEvery  = time.Second
	mostPulled = 600
)

// kindPull is what the status events of a pull are of.
const kindPull = "image.pull"

// voice is the relay of a call, made when it is first needed: for its cell, or before that for the pull that it waits for. Where
// that cell died of waiting the next one has a relay of its own, which goes on behind what the call was told before.
func (s *Supervisor) voice(ctx context.Context, c *call, p *plan, w a2e.EventWriter) *relay.Relay {
	if r := c.early; r != nil {
		c.early = nil
		return r
	}
	r := relay.New(relay.Options{
		ReqID: c.req.ID, First: c.now().Events, Output: int64(p.policy.Limits.Output), Out: int64(p.policy.Limits.Out), Frames: p.skill.Run.Frames,
		Keep: s.keep(c, p), Deliver: s.deliver(c, w), Redact: p.grants.values(ctx),
	})
	before, delivered := c.delivered, make(chan struct{})
	c.delivered = delivered
	s.tidying.Go(func() {
		defer close(delivered)
		if before != nil {
			<-before
		}
		r.Deliver(c.listener)
	})
	return r
}

// silence ends the events of a call that got no cell.
func (s *Supervisor) silence(c *call) {
	if c.early != nil {
		c.early.Close()
		s.relayed(c.early)
	}
}

// pulling returns what tells a call's listener how the pull goes that the call waits for. Nobody hears of it before the journal
// has taken the call in.
func (s *Supervisor) pulling(ctx context.Context, c *call, p *plan, w a2e.EventWriter) func(images.Progress) {
	var last images.Progress
	var said time.Time
	n := 0
	return func(now images.Progress) {
		c.taking.begin()
		select {
		case <-c.taking.done:
		default:
			return
		}
		if !c.taking.in() || n >= mostPulled || now.Step == last.Step && time.Since(said) < pullEvery {
			return
		}
		last, said = now, time.Now()
		n++
		if c.early == nil {
			c.early = s.voice(ctx, c, p, w)
		}
		c.early.Status(kindPull, pullText(now), map[string]any{"image": now.Ref, "step": now.Step, "done": now.Done, "total": now.Total})
	}
}

// pullText is how far a pull is, for people.
func pullText(p images.Progress) string {
	if p.Total <= 0 {
		return fmt.Sprintf("pulling image %s: %s", p.Ref, p.Step)
	}
	return fmt.Sprintf("pulling image %s: %s, %.1f of %.1f MB", p.Ref, p.Step, float64(p.Done)/1e6, float64(p.Total)/1e6)
}
