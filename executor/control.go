package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// List implements [control.Control].
func (s *Supervisor) List(_ context.Context, limit int) ([]control.Call, error) {
	calls := []control.Call{}
	for _, c := range s.calls.newest(limit) {
		view, _ := c.snapshot()
		calls = append(calls, view)
	}
	return calls, nil
}

// Show implements [control.Control].
func (s *Supervisor) Show(_ context.Context, id string) (control.Call, *a2e.CallResponse, error) {
	c, err := s.look(id)
	if err != nil {
		return control.Call{}, nil, err
	}
	view, answer := c.snapshot()
	return view, answer, nil
}

// Events implements [control.Control].
func (s *Supervisor) Events(_ context.Context, id string, from int) ([]a2e.Event, error) {
	c, err := s.look(id)
	if err != nil {
		return nil, err
	}
	events, _ := c.told(from)
	return events, nil
}

// Cancel implements [control.Control].
func (s *Supervisor) Cancel(_ context.Context, id string) error {
	c, err := s.look(id)
	if err != nil {
		return err
	}
	if c.hasEnded() {
		return fmt.Errorf("%s: %w", clip(id, 80), control.ErrEnded)
	}
	c.cancel(errOperator)
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
	case errOperator, errGivenUp:
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

func (s *Supervisor) look(id string) (*call, error) {
	if c := s.calls.find(id); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("%q: %w", clip(id, 80), control.ErrNotFound)
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

// Drain refuses new calls, waits for those in flight and for their clean-up, and returns. When ctx ends first the calls
// that are left are cancelled, their cells destroyed, and ctx's error returned. Cells that live even then are poisoned.
func (s *Supervisor) Drain(ctx context.Context) error {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	defer s.giveUp()
	defer s.leave()
	idle := s.idle()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	for _, c := range s.calls.running() {
		c.cancel(errGivenUp)
	}
	select {
	case <-idle:
	case <-time.After(lastWords):
		s.log.Error("cells are left behind", "calls", s.calls.inFlight())
	}
	return ctx.Err()
}

// leave puts on record what this supervisor could not destroy, or does not know to be gone.
func (s *Supervisor) leave() {
	if err := s.held.abandon(); err != nil {
		s.log.Error("cells that are left behind are not on record", "error", err)
	}
}
