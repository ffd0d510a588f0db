package executor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// heedEvery is how often a supervisor looks for what others want cancelled.
const heedEvery = 500 * time.Millisecond

// messenger is a [Journal] through which supervisors ask one another to cancel calls.
type messenger interface {
	// AskCancel asks whoever runs a call to cancel it, and reports whether there is a way to.
	AskCancel(ctx context.Context, call string, operator bool) (bool, error)
	// Cancels takes what others asked a supervisor to cancel.
	Cancels(ctx context.Context, instance string, tell func(call string, operator bool)) error
}

// askCancel asks another supervisor to cancel its call, and reports whether there is a way to. The call ends some time soon.
func (s *Supervisor) askCancel(ctx context.Context, id string, whose control.Whose) bool {
	m, ok := s.journal.(messenger)
	if !ok {
		return false
	}
	_, own := whose.One()
	asked, err := m.AskCancel(ctx, id, !own)
	if err != nil {
		s.log.Warn("another supervisor can't be asked to cancel a call", "call", id, "error", err)
	}
	return asked
}

// shares reports whether others know of this supervisor by a server's word alone: they may take it for dead while it works. Who
// shares a file knows better, and asks nobody.
func (s *Supervisor) shares() bool { return s.deaths() != nil }

// learnEvery is how many looks lie between two looks at what principals have used.
const learnEvery = 10

// heed cancels the calls of this supervisor that others were asked to cancel, and learns what principals use elsewhere, until
// ctx ends.
func (s *Supervisor) heed(ctx context.Context) {
	m, ok := s.journal.(messenger)
	if !ok || !s.shares() {
		return
	}
	tick := time.NewTicker(heedEvery)
	defer tick.Stop()
	failing := false
	for n := 1; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		var errs []error
		if s.calls.inFlight() > 0 {
			errs = append(errs, m.Cancels(ctx, s.cfg.Instance, func(id string, operator bool) { s.obey(ctx, id, operator) }))
		}
		if n%learnEvery == 0 && s.cfg.Spent != nil {
			errs = append(errs, s.cfg.Spent.Spent(ctx, s.quotas.Since(), s.quotas.Learn))
		}
		err := errors.Join(errs...)
		if err != nil && !failing && ctx.Err() == nil {
			s.log.Warn("what other supervisors say can't be read", "error", err)
		}
		failing = err != nil
	}
}

// heedMeanwhile is [Supervisor.heed] until stop is called: calls that outlast [Supervisor.Tend] are cancelled through others, too.
func (s *Supervisor) heedMeanwhile() (stop func()) {
	ctx, cancel := context.WithCancel(s.base)
	var beside sync.WaitGroup
	beside.Go(func() { s.heed(ctx) })
	return func() { cancel(); beside.Wait() }
}

// obey cancels a call because another supervisor was asked to.
func (s *Supervisor) obey(ctx context.Context, id string, operator bool) {
	c := s.calls.find(id, control.Whose{})
	switch {
	case c == nil || c.hasEnded():
	case operator:
		c.cancel(errOperator)
		s.recordCancel(ctx, c)
	default:
		c.cancel(nil)
	}
}
