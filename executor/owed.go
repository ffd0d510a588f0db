package executor

import (
	"bytes"
	"context"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// How long an answer waits for the journal, which may be written for longer than a server is away when it is restarted, and how
// long lie between two tries after that.
const (
	answerLimit = 2 * time.Second
	serverLimit = 10 * time.Second

	longestPause   = 10 * time.Second
	longestWithout = time.Second // of an answer that was not given
)

// write journals a call's end, and returns the record that stands.
func (s *Supervisor) write(c *call, r control.Record) (control.Record, error) {
	limit := answerLimit
	if s.shares() {
		limit = serverLimit
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	stands, err := s.journal.End(ctx, r)
	if err != nil {
		s.logOf(c).Error("an answer is not journalled yet", "error", err)
	}
	return stands, err
}

// settled returns the record and the answer that stand. They are others than the call's own only if somebody took this supervisor for
// dead and closed its call.
func (s *Supervisor) settled(c *call, mine, stands control.Record, answer *a2e.CallResponse) (control.Record, *a2e.CallResponse) {
	if bytes.Equal(stands.Answer, mine.Answer) {
		return mine, answer
	}
	if theirs := answerOf(stands.Answer); theirs != nil {
		s.logOf(c).Error("a call was closed by another supervisor while it ran here")
		return stands, theirs
	}
	return mine, answer
}

// owe has an answer journalled that is given before that: nobody else closes a call whose supervisor lives.
func (s *Supervisor) owe(c *call, r control.Record) {
	c.owed.Store(true)
	s.insisting.Add(1)
	s.tidying.Go(func() {
		defer c.owed.Store(false)
		stands, err := s.insist(r, longestPause)
		switch {
		case err != nil:
			s.logOfRecord(&r).Error("an answer was given and never journalled", "error", err)
		case !bytes.Equal(stands.Answer, r.Answer):
			s.logOfRecord(&r).Error("an answer was given, and another one stands: another supervisor has closed the call meanwhile", "stands", stands.Reason)
		}
	})
}

// withhold keeps an answer back until the journal has it. Others may have taken this supervisor for dead, since the server did not hear of
// it: then their answer stands, and nobody has heard this one. The call has not ended before that, here neither; its caller
// is told to ask again.
func (s *Supervisor) withhold(c *call, r control.Record, answer *a2e.CallResponse) *a2e.CallResponse {
	close(c.withheld)
	c.owed.Store(true)
	s.insisting.Add(1)
	told := refusal(c, unheard())
	s.tidying.Go(func() {
		defer c.owed.Store(false)
		stands, err := s.insist(r, longestWithout)
		if err != nil {
			s.logOfRecord(&r).Error("an answer was never journalled, and was not given: whoever asks again is told how the call was closed", "error", err)
			stands, answer = r, told
			stands.Again = true
		} else {
			stands, answer = s.settled(c, r, stands, answer)
		}
		s.close(c, stands, answer)
	})
	return told
}

func unheard() *a2e.Error {
	return a2e.Errorf(a2e.RuntimeError, "the call has ended, and hotcell's store could not be reached to keep its answer: send the same request again, with the same id, to hear it").
		Because(a2e.ReasonInternal).Transient()
}

// insist journals an answer until that succeeds or the supervisor gives up, and returns the record that stands.
func (s *Supervisor) insist(r control.Record, longest time.Duration) (control.Record, error) {
	defer s.insisting.Add(-1)
	for wait := 200 * time.Millisecond; ; wait = min(2*wait, longest) {
		last := false
		select {
		case <-time.After(wait):
		case <-s.base.Done():
			last = true
		}
		ctx, cancel := context.WithTimeout(context.Background(), journalLimit)
		stands, err := s.journal.End(ctx, r)
		cancel()
		switch {
		case err == nil:
			if bytes.Equal(stands.Answer, r.Answer) {
				s.logOfRecord(&r).Info("an answer is journalled at last")
			}
			return stands, nil
		case last:
			s.unwritten.Add(1)
			return r, err
		}
	}
}
