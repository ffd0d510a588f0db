package executor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/sandbox"
)

// List implements [control.Control]: the calls that this process knows best, and those that only the journal knows.
func (s *Supervisor) List(ctx context.Context, limit int) ([]control.Call, error) {
	return s.list(ctx, control.Whose{}, limit)
}

func (s *Supervisor) list(ctx context.Context, whose control.Whose, limit int) ([]control.Call, error) {
	kept, err := s.journal.List(ctx, limit, whose)
	if err != nil {
		return nil, err
	}
	calls, here := []control.Call{}, map[string]bool{}
	for _, c := range s.calls.newest(limit, whose) {
		view := c.shown()
		calls, here[c.id] = append(calls, view), true
	}
	for _, v := range kept {
		if !here[v.ID] {
			calls = append(calls, v)
		}
	}
	slices.SortStableFunc(calls, func(a, b control.Call) int { return b.Accepted.Compare(a.Accepted) })
	if limit > 0 && len(calls) > limit {
		calls = calls[:limit]
	}
	return calls, nil
}

// Show implements [control.Control].
func (s *Supervisor) Show(ctx context.Context, id string) (control.Call, *a2e.CallResponse, error) {
	return s.show(ctx, control.Whose{}, id)
}

func (s *Supervisor) show(ctx context.Context, whose control.Whose, id string) (control.Call, *a2e.CallResponse, error) {
	c, r, err := s.look(ctx, id, whose)
	switch {
	case err != nil:
		return control.Call{}, nil, err
	case c == nil:
		return r.Call, answerOf(r.Answer), nil
	}
	view, answer := c.snapshot()
	return view, answer, nil
}

// Events implements [control.Control]. The journal has more events of a call than this process keeps, and this process
// has the newest.
func (s *Supervisor) Events(ctx context.Context, id string, from int) ([]a2e.Event, error) {
	return s.events(ctx, control.Whose{}, id, from)
}

func (s *Supervisor) events(ctx context.Context, whose control.Whose, id string, from int) ([]a2e.Event, error) {
	c, r, err := s.look(ctx, id, whose)
	if err != nil {
		return nil, err
	}
	var here []a2e.Event
	if c != nil {
		r.ID = c.id
		here, _ = c.told(from)
	}
	kept, err := s.journal.Events(ctx, r.ID, from)
	if err != nil && c == nil {
		return nil, err
	}
	return merged(eventsOf(kept, math.MaxInt, math.MaxInt), here), nil
}

// merged puts two ordered lists of a call's events into one. Behind the end of what the journal gave it takes only what
// follows without a gap: the rest may be on the journal's next page, or on its way there.
func merged(kept, here []a2e.Event) []a2e.Event {
	if len(kept) == 0 {
		return here
	}
	all := make([]a2e.Event, 0, len(kept)+len(here))
	for len(kept) > 0 {
		next := &kept
		if len(here) > 0 && here[0].Seq <= kept[0].Seq {
			if here[0].Seq == kept[0].Seq {
				kept = kept[1:]
			}
			next = &here
		}
		all, *next = append(all, (*next)[0]), (*next)[1:]
	}
	for len(here) > 0 && here[0].Seq == all[len(all)-1].Seq+1 {
		all, here = append(all, here[0]), here[1:]
	}
	return all
}

// Cancel implements [control.Control].
func (s *Supervisor) Cancel(ctx context.Context, id string) error {
	return s.cancel(ctx, control.Whose{}, id)
}

func (s *Supervisor) cancel(ctx context.Context, whose control.Whose, id string) error {
	c, r, err := s.look(ctx, id, whose)
	switch {
	case err != nil:
		return err
	case c == nil && r.Answer == nil:
		if s.askCancel(ctx, r.ID, whose) {
			return nil
		}
		return fmt.Errorf("%s: %w", clip(id, 80), control.ErrElsewhere)
	case c == nil || c.hasEnded():
		return fmt.Errorf("%s: %w", clip(id, 80), control.ErrEnded)
	}
	if _, own := whose.One(); own {
		c.cancel(nil) // by the caller, if through another door
		return nil
	}
	c.cancel(errOperator)
	s.recordCancel(ctx, c)
	return nil
}

// The causes with which a call's context is cancelled. A caller that hangs up has none.
var (
	errOperator = errors.New("an operator")
	errGivenUp  = errors.New("hotcell, which is stopping")
)

// canceller says who ended a call's context.
func canceller(ctx context.Context) string {
	switch cause := context.Cause(ctx); cause {
	case errOperator, errGivenUp, errAround:
		return cause.Error()
	}
	return "the caller"
}

func cancelledBy(whom string) *a2e.Error {
	e := a2e.Errorf(a2e.RuntimeError, "cancelled by %s", whom).Because(a2e.ReasonCancelled)
	if whom == errGivenUp.Error() {
		e.Transient() // another supervisor, or this one after its restart, may take it
	}
	return e
}

// look finds a call: here, or only in the journal. A request id may name a newer call of another supervisor.
func (s *Supervisor) look(ctx context.Context, id string, whose control.Whose) (*call, control.Record, error) {
	c := s.calls.find(id, whose)
	if c != nil && c.id == id {
		return c, control.Record{}, nil
	}
	r, err := s.journal.Find(ctx, id, whose)
	switch {
	case c != nil && (err != nil || !r.Accepted.After(c.accepted)):
		return c, control.Record{}, nil
	case errors.Is(err, control.ErrNotFound):
		return nil, r, fmt.Errorf("%q: %w", clip(id, 80), control.ErrNotFound)
	}
	return nil, r, err
}

// idle returns a channel that is closed once a draining supervisor has neither calls nor cells left.
func (s *Supervisor) idle() <-chan struct{} {
	s.idling.Do(func() {
		s.atRest = make(chan struct{})
		go func() { // ends with the last cell, whoever waits for it
			s.serving.Wait()
			s.tidying.Wait()
			close(s.atRest)
		}()
	})
	return s.atRest
}

// lastWords is how long a supervisor that gave up waits for the cells that it is destroying.
const lastWords = 15 * time.Second

// ErrUnjournalled: calls have ended with answers that the journal could not take until the end.
var ErrUnjournalled = errors.New("answers of calls could not be journalled: the log says which and why")

// Drain refuses new calls, waits for those in flight and for their clean-up, and returns. When ctx ends first the calls
// that are left are cancelled, their cells destroyed, and ctx's error returned. Cells that live even then are poisoned.
// Where nothing is left but the journalling of answers, that is tried a last time: [ErrUnjournalled] if in vain.
func (s *Supervisor) Drain(ctx context.Context) error {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	defer s.giveUp()
	defer s.leave()
	defer s.heedMeanwhile()()
	if pool, ok := s.cfg.Driver.(sandbox.Pool); ok {
		s.tidying.Go(pool.Drain)
	}
	idle := s.idle()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	left := s.calls.running()
	for _, c := range left {
		c.cancel(errGivenUp)
	}
	err := ctx.Err()
	if len(left) == 0 && s.held.none() && s.insisting.Load() > 0 {
		s.giveUp() // which ends the insisting
		err = nil
	}
	select {
	case <-idle:
	case <-time.After(lastWords):
		s.log.Error("cells are left behind", "calls", s.calls.inFlight())
		return ctx.Err()
	}
	if err == nil && s.unwritten.Load() > 0 {
		err = ErrUnjournalled
	}
	return err
}

// leave puts on record what this supervisor could not destroy, or does not know to be gone.
func (s *Supervisor) leave() {
	if err := s.held.abandon(); err != nil {
		s.log.Error("cells that are left behind are not on record", "error", err)
	}
}
