package executor

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// longest is how long after its acceptance a call without a known deadline is presumed to be still on its way: more than
// any queue, pull and run together.
const longest = time.Hour

// Recover closes the calls that dead supervisors left in flight, so that each has its one answer. It never touches one that
// this supervisor or another works on. Whoever owns the supervisor runs it at boot and now and then.
func (s *Supervisor) Recover(ctx context.Context) error {
	records, err := s.journal.InFlight(ctx)
	if err != nil {
		return err
	}
	closed := 0
	var errs []error
	for _, r := range records {
		fail, again := s.orphaned(r)
		if fail == nil {
			continue
		}
		if _, err := s.bury(ctx, r, fail, again); err != nil {
			errs = append(errs, err)
			continue
		}
		if !again {
			closed++
		}
	}
	if closed > 0 {
		s.log.Info("calls of a hotcell that is gone were closed", "calls", closed, "reason", a2e.ReasonSupervisorRestart)
	}
	return errors.Join(errs...)
}

// Recall takes over what principals have used of today's quotas before this supervisor was there. Whoever owns the supervisor
// runs it at boot, once.
func (s *Supervisor) Recall(ctx context.Context) error {
	if s.cfg.Spent == nil {
		return nil
	}
	return s.cfg.Spent.Spent(ctx, s.quotas.Since(), s.quotas.Recall)
}

// Trim removes from the journal what has been kept long enough.
func (s *Supervisor) Trim(ctx context.Context) error { return s.journal.Trim(ctx) }

// orphaned says how a call in flight ended that nobody works on, and whether its request may be made again. It is nil for
// one that somebody works on.
func (s *Supervisor) orphaned(r control.Record) (fail *a2e.Error, again bool) {
	switch {
	case r.Instance == s.cfg.Instance:
		if s.calls.find(r.ID, control.Whose{}) == nil { // taken in though the journal had reported a failure
			return unjournalled(), true
		}
	case s.abandoned(r, time.Now()):
		return lostWithSupervisor(), false
	}
	return nil, false
}

// abandoned reports whether nobody works on a call in flight any more. Of a supervisor that is not known here, time alone
// tells.
func (s *Supervisor) abandoned(r control.Record, now time.Time) bool {
	if s.cfg.Owners != nil {
		if alive, known := s.cfg.Owners.Alive(r.Instance); known {
			return !alive
		}
	}
	end := r.Deadline
	if end.IsZero() {
		end = r.Accepted.Add(longest)
	}
	return now.After(end.Add(expiry))
}

func lostWithSupervisor() *a2e.Error {
	return a2e.Errorf(a2e.SandboxCrash, "hotcell itself stopped before the call had ended; what the skill had done by then is not known").
		Because(a2e.ReasonSupervisorRestart)
}

// bury gives a call that nobody works on its answer, and returns the record that stands. Unless again is set the same
// request sent again gets this answer: whether the skill ran is not known, so it does not run twice.
func (s *Supervisor) bury(ctx context.Context, r control.Record, fail *a2e.Error, again bool) (control.Record, error) {
	answer := answerTo(r.ID, r.ReqID, r.Skill, 0, fail)
	kept, err := s.journal.Events(ctx, r.ID, 0)
	if err != nil {
		return r, err
	}
	if events := eventsOf(kept, keepEvents, keepEventBytes); len(events) > 0 {
		r.Events = max(r.Events, events[len(events)-1].Seq+1)
		if s.cfg.EmbedEvents {
			answer.Data.Events = events
		}
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return r, err
	}
	settle(&r, raw, fail)
	r.Again = again
	return s.journal.End(ctx, r)
}

// eventsOf reads events that were kept, at most so many and so many bytes of them.
func eventsOf(kept []json.RawMessage, most, bytes int) []a2e.Event {
	var events []a2e.Event
	for _, b := range kept {
		if bytes -= len(b); bytes < 0 || len(events) == most {
			break
		}
		if ev, ok := eventOf(b); ok {
			events = append(events, ev)
		}
	}
	return events
}

// stored is an earlier call that the journal knows: one of another supervisor, or of an earlier life of this one.
type stored struct {
	s      *Supervisor
	record control.Record
}

// await waits for the answer by looking into the journal. A call whose supervisor has died meanwhile is closed here.
func (w *stored) await(ctx context.Context) *a2e.CallResponse {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		if w.record.Answer == nil {
			w.close(ctx)
		}
		if answer := answerOf(w.record.Answer); answer != nil {
			if w.record.Again {
				return nil
			}
			return answer
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return w.refuse(cancelledBy(canceller(ctx)))
		case <-w.s.base.Done():
			return w.refuse(cancelledBy(errGivenUp.Error()))
		}
		r, err := w.s.journal.Find(ctx, w.record.ID, control.Whose{})
		switch {
		case err == nil:
			w.record = r
		case errors.Is(err, control.ErrNotFound):
			return nil // it was kept long enough
		case ctx.Err() == nil:
			w.s.logOfRecord(&w.record).Error("the journal can't be read", "error", err)
			return w.refuse(unread())
		}
	}
}

// close gives the call its answer if nobody else will.
func (w *stored) close(ctx context.Context) {
	fail, again := w.s.orphaned(w.record)
	if fail == nil {
		return
	}
	r, err := w.s.bury(ctx, w.record, fail, again)
	if err != nil {
		w.s.logOfRecord(&w.record).Error("an abandoned call can't be closed", "error", err)
		return
	}
	w.record = r
}

func (w *stored) refuse(fail *a2e.Error) *a2e.CallResponse {
	return answerTo(w.record.ID, w.record.ReqID, w.record.Skill, 0, fail)
}

func unread() *a2e.Error {
	return a2e.Errorf(a2e.RuntimeError, "this request was made before, and hotcell's journal can't be read for its answer: its log says why").
		Because(a2e.ReasonInternal).Transient()
}
