package executor

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// journalLimit is how long a call waits for its journal before it starts.
const journalLimit = 10 * time.Second

// taking is whether the journal takes a call in. Who needs to know waits for the answer.
type taking struct {
	ask     func()
	asked   atomic.Bool
	done    chan struct{} // closed once it is known
	cell    string        // that the journal was told of then
	earlier awaiter       // the journal knows the same request from another supervisor or from an earlier life
	refused *a2e.Error    // it can't be written, or the request id stands for another request
	over    *a2e.Error    // it is written, and does not run: its principal has its calls elsewhere
}

// begin asks, beside whoever calls it, where nobody has yet.
func (t *taking) begin() {
	if !t.asked.Swap(true) {
		t.ask()
	}
}

// wait asks where nobody has yet, and waits for the answer.
func (t *taking) wait() *taking {
	t.begin()
	<-t.done
	return t
}

// in reports whether the journal has the call, and it may run.
func (t *taking) in() bool { return t.earlier == nil && t.refused == nil && t.over == nil }

// remember sees to it that a call that was registered is journalled, before anything depends on it or is waited for. Nothing is made for the
// call before that, and nothing that a cell says is heard.
func (s *Supervisor) remember(c *call) {
	t := &taking{done: make(chan struct{})}
	t.ask = func() {
		s.tidying.Go(func() {
			defer close(t.done)
			defer func() {
				if r := recover(); r != nil { // of the journal
					t.refused = unjournalled()
					s.logOf(c).Error("a call met a fault of hotcell's own", "panic", r, "stack", string(debug.Stack()))
				}
			}()
			t.earlier, t.refused = s.enter(c, t)
		})
	}
	c.taking = t
}

func (s *Supervisor) enter(c *call, t *taking) (earlier awaiter, refused *a2e.Error) {
	ctx, cancel := context.WithTimeout(context.Background(), journalLimit)
	defer cancel()
	record := c.record(s.cfg.Instance)
	record.Share = c.share
	t.cell = record.Cell
	old, err := s.journal.Accept(ctx, record, c.accepted.Add(-Replay))
	var over *control.OverError
	if errors.As(err, &over) {
		t.over, err = s.overShare(over), nil
	}
	switch {
	case err == nil && old == nil:
		s.watch.CallAccepted(c.who.Door)
		s.tellInFlight()
		return nil, nil
	case err != nil:
		s.logOf(c).Error("a call was refused: it can't be journalled", "error", err)
		return nil, unjournalled()
	case old.Digest != c.digest():
		return nil, duplicate(c.key.reqID)
	}
	return &stored{s: s, record: *old}, nil
}

// spare takes back that a call has a cell, which heard its request and is not heard: nobody pays for it.
func (c *call) spare() {
	c.to(control.Stopping)
	c.update(func(v *control.Call) { v.Cell, v.Unenforced, v.Started, v.Deadline = "", nil, time.Time{}, time.Time{} })
}

// unjournalled refuses a call that would have no record.
func unjournalled() *a2e.Error {
	return a2e.Errorf(a2e.RuntimeError, "the call was not started, since hotcell's journal can't be written: its log says why").
		Because(a2e.ReasonInternal).Transient()
}

// record is the call as the journal keeps it.
func (c *call) record(instance string) control.Record {
	view := c.now()
	return control.Record{Call: view, Digest: c.digest(), Instance: instance}
}

// note tells the journal how far a call is.
func (s *Supervisor) note(c *call) {
	view := c.now()
	s.journal.Note(view)
}

// conclude makes the record of a call's end, with its answer.
func (s *Supervisor) conclude(c *call, answer *a2e.CallResponse) (control.Record, *a2e.CallResponse) {
	raw, err := json.Marshal(answer)
	if err != nil { // data that has no JSON form cannot come from a cell
		answer = response(c, nil, 0, a2e.AsError(err))
		raw, _ = json.Marshal(answer)
	}
	mine := c.record(s.cfg.Instance)
	mine.Account, mine.Ran = s.account(c, &c.ran), ranUnder(c.ran.policy)
	settle(&mine, raw, answer.Error)
	mine.Phases = c.course.phases(c.accepted, mine.Ended)
	c.ran = ran{} // the record has what is to be kept of it
	return mine, answer
}

// settle makes r the record of a call that has its answer.
func settle(r *control.Record, answer json.RawMessage, e *a2e.Error) {
	r.Answer, r.State, r.Ended = answer, control.Succeeded, time.Now()
	if e == nil {
		return
	}
	r.State, r.Code, r.Reason = control.Failed, e.Code, e.Reason()
	if r.Reason == a2e.ReasonCancelled {
		r.State = control.Canceled
	}
	ran := r.Cell != "" || r.Hosted && !r.Started.IsZero()
	r.Again = r.Reason == a2e.ReasonCancelled || e.Retryable && !ran
}

// answerOf reads an answer that was kept, nil where there is none. What a cell put into it stays as it is written: decoded,
// it would be twenty times as large.
func answerOf(raw json.RawMessage) *a2e.CallResponse {
	var kept struct {
		a2e.CallResponse
		Data *struct {
			a2e.Result
			Data   json.RawMessage   `json:"data"`
			Events []json.RawMessage `json:"events"`
		} `json:"data"`
	}
	if raw == nil || decode(raw, &kept) != nil {
		return nil
	}
	answer := kept.CallResponse
	if kept.Data == nil {
		return &answer
	}
	result := kept.Data.Result
	result.Data = rawOrNil(kept.Data.Data)
	for _, b := range kept.Data.Events {
		if ev, ok := eventOf(b); ok {
			result.Events = append(result.Events, ev)
		}
	}
	answer.Data = &result
	return &answer
}
