package executor

import (
	"context"
	"time"

	"github.com/hotcell/hotcell/internal/cleanup"
	"github.com/hotcell/hotcell/internal/wall"
)

const (
	politeness   = 500 * time.Millisecond // for a cell that was told to go, before it is killed
	destroyLimit = 30 * time.Second       // of one attempt
	undoLimit    = 10 * time.Second       // for giving back what is only counted here
)

// retire ends a cell in the background: tell it, destroy it, give back what it held. A cell that will not die is poisoned:
// it keeps its reservation and is tried again until the supervisor gives up; then it is the next one's to reap.
func (s *Supervisor) retire(c *call, cl *cell, f facts) {
	began := time.Now()
	span := c.spans.call.Begin(spanTeardown, began)
	s.tidying.Go(func() {
		defer span.End()
		defer cl.cancel()
		if cl.lines != nil {
			s.farewell(cl, f)
		}
		if !s.destroy(c, cl) {
			span.Fail("poisoned")
			return
		}
		s.watch.CellDestroyed()
		s.watch.Phase("teardown", time.Since(began), span.Exemplar())
		ctx, cancel := context.WithTimeout(context.Background(), undoLimit)
		defer cancel()
		if err := cl.undo(ctx); err != nil {
			s.logOf(c).Error("a call's share was not given back", "error", err)
		}
	})
}

// farewell tells a cell that it may go. One that was cancelled, or has said its last word, gets a moment to end by itself:
// that costs less than killing it. One that overstayed its deadline or its budget gets none.
func (s *Supervisor) farewell(cl *cell, f facts) {
	word := wall.TypeDone
	if f.Cancelled {
		word = wall.TypeCancel
	}
	s.tell(cl, word)
	if !f.Cancelled && f.Exit == nil && f.Result == nil {
		return
	}
	select {
	case <-cl.exited:
	case <-time.After(politeness):
	case <-s.base.Done():
	}
}

// tell says a word to a cell and does not wait for it to listen: one that does not read blocks it until it is destroyed.
func (s *Supervisor) tell(cl *cell, word string) {
	s.tidying.Go(func() { _ = cl.lines.Encode(wall.Control{Type: word}) })
}

// destroy tries until the cell is gone, and reports whether it is.
func (s *Supervisor) destroy(c *call, cl *cell) bool {
	for wait := 200 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), destroyLimit)
		err := cl.box.Destroy(ctx)
		cancel()
		if err == nil {
			s.gone(cl.name)
			return true
		}
		s.logOf(c).Warn("a cell will not die and keeps its reservation", "cell", cl.box.ID(), "error", err)
		if err := s.held.poison(cl.name); err != nil {
			s.log.Error("a poisoned cell is not on record", "cell", cl.name, "error", err)
		}
		select {
		case <-time.After(wait):
		case <-s.base.Done():
			return false
		}
	}
}

// gone notes that a cell is destroyed, or was never made.
func (s *Supervisor) gone(name string) {
	if err := s.held.free(name); err != nil {
		s.log.Error("a cell that is gone is on record as poisoned", "cell", name, "error", err)
	}
}

// tellPoisoned tells the other supervisors which cells of ours will not die.
func (s *Supervisor) tellPoisoned(names []string) error {
	s.watch.Poisoned(len(names))
	if s.cfg.Owners == nil {
		return nil
	}
	return s.cfg.Owners.Poisoned(names)
}

// undo runs the undo steps of a call that never had a cell.
func (s *Supervisor) undo(stack *cleanup.Stack) {
	if err := stack.Run(context.Background(), undoLimit); err != nil {
		s.log.Error("a call's share was not given back", "error", err)
	}
}
