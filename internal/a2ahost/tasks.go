package a2ahost

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// Bounds of what is read to put a task together.
const (
	mostInTask  = 48 << 20 // bytes of artifacts
	mostInEvent = 4 << 20  // bytes of artifacts in the first event of a stream; more follow as updates
	slice       = 1 << 20  // bytes of an update that repeats an artifact
	lag         = 20 * time.Millisecond
	mostLag     = 2 * time.Second // that the journal is behind
	remotely    = 250 * time.Millisecond
	elsewhere   = 5 * time.Second  // between looks whether another process has begun a task
	cancelling  = 10 * time.Second // until a cancelled task has ended
)

// own is the control over a caller's own calls. Admins are no exception: tasks are whose they are.
func (h *Host) own(who a2e.Caller) control.Control { return h.control.Of(who.Principal) }

// locate finds a task, and its live part where it is in flight here. What does not exist and what is somebody else's is one.
func (h *Host) locate(ctx context.Context, who a2e.Caller, task string) (*record, *task, error) {
	id, ok := parseTask(task)
	if !ok {
		return nil, nil, notFound(task)
	}
	if t := h.inFlight(who, id); t != nil {
		r, err := h.shown(ctx, who, id, t.question)
		if r == nil && err == nil {
			r = t.submitted()
		}
		return r, t, err
	}
	if r, err := h.shown(ctx, who, id, false); r != nil || err != nil {
		return r, nil, err
	}
	if r := h.memory.settled(who.Principal, id.task); r != nil {
		return r, nil, nil
	}
	if r, err := h.shown(ctx, who, id, true); r != nil || err != nil {
		return r, nil, err
	}
	return nil, nil, notFound(task)
}

func (h *Host) inFlight(who a2e.Caller, id identity) *task {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.live[id.task]; t != nil && t.who.Principal == who.Principal {
		return t
	}
	return nil
}

// shown returns the record of a task's call, or of its question's, nil where there is none.
func (h *Host) shown(ctx context.Context, who a2e.Caller, id identity, question bool) (*record, error) {
	request := id.task
	if question {
		request = id.question()
	}
	call, answer, err := h.own(who).Show(ctx, request)
	switch {
	case errors.Is(err, control.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case call.ReqID != request || call.Door != door:
		return nil, nil
	}
	return &record{id: id, question: question, call: call, answer: answer}, nil
}

// pieces reads what a task's skill said, up to an event, or as much as there is where that is -1.
func (h *Host) pieces(ctx context.Context, who a2e.Caller, r *record, upto int) (*pieces, error) {
	p, tell := &pieces{}, newTeller(r.id)
	err := h.events(ctx, who, r, upto, func(ev *a2e.Event) error {
		p.gap = p.gap || ev.Seq != p.next
		p.next = ev.Seq + 1
		p.take(tell.tell(ev))
		switch {
		case p.full:
			return errEnough
		case !leased(ctx).holds(p.bytes):
			return &fault{kind: errBusy, message: "too many large tasks are being read already: try again later", task: r.id.task}
		}
		return nil
	})
	p.gap = p.gap || upto >= p.next
	if errors.Is(err, errEnough) {
		err = nil
	}
	return p, err
}

var errEnough = errors.New("no more events are wanted")

// events hands on a task's events from the first to one, for which it waits a while, or all that there are where that is -1.
func (h *Host) events(ctx context.Context, who a2e.Caller, r *record, upto int, take func(*a2e.Event) error) error {
	if r.call.ID == "" {
		return nil
	}
	next := 0
	for patience := mostLag; ; {
		events, err := h.own(who).Events(ctx, r.call.ID, next)
		if err != nil && !errors.Is(err, control.ErrNotFound) {
			return err
		}
		for _, ev := range events {
			if upto >= 0 && ev.Seq > upto {
				return nil
			}
			next = ev.Seq + 1
			if err := take(&ev); err != nil {
				return err
			}
		}
		switch {
		case len(events) > 0:
		case next > upto || patience <= 0:
			return nil
		default:
			patience -= lag
			if err := pause(ctx, lag); err != nil {
				return err
			}
		}
	}
}

// lately returns the last event of a call that ended a moment ago, for which the journal is worth waiting, else -1.
func lately(c control.Call) int {
	if !c.Ended.IsZero() && time.Since(c.Ended) < mostLag {
		return c.Events - 1
	}
	return -1
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// getTask is GetTask.
func (h *Host) getTask(ctx context.Context, who a2e.Caller, p *taskParams) (*a2a.Task, error) {
	if err := checkTask(p); err != nil {
		return nil, err
	}
	r, _, err := h.locate(ctx, who, p.ID)
	if err != nil {
		return nil, err
	}
	return h.whole(ctx, who, r, p.HistoryLength)
}

func checkTask(p *taskParams) error {
	if p.ID == "" {
		return invalid("id", "the id of a task is required")
	}
	return checkHistory("historyLength", p.HistoryLength)
}

// whole is a task with everything that is kept of it.
func (h *Host) whole(ctx context.Context, who a2e.Caller, r *record, length *int) (*a2a.Task, error) {
	p, err := h.pieces(ctx, who, r, lately(r.call))
	if err != nil {
		return nil, err
	}
	return r.task(p, h.memory.history(who.Principal, r.id), length), nil
}

// cancelTask is CancelTask. It waits a while for the task's end.
func (h *Host) cancelTask(ctx context.Context, who a2e.Caller, p *taskParams) (*a2a.Task, error) {
	if err := checkTask(p); err != nil {
		return nil, err
	}
	r, t, err := h.locate(ctx, who, p.ID)
	if err != nil {
		return nil, err
	}
	switch {
	case r.state().Terminal():
		return nil, faultf(a2a.ErrTaskNotCancelable, "the task has ended").of(p.ID)
	case t != nil:
		t.cancel()
		wait, stop := context.WithTimeout(ctx, cancelling)
		defer stop()
		select {
		case <-t.done:
			return h.whole(ctx, who, t.end, nil)
		case <-wait.Done():
		}
	case r.question && r.call.State.Terminal():
		return h.withdraw(ctx, who, r)
	default:
		err := h.own(who).Cancel(ctx, r.call.ID)
		switch {
		case errors.Is(err, control.ErrEnded):
			return nil, faultf(a2a.ErrTaskNotCancelable, "the task has ended").of(p.ID)
		case errors.Is(err, control.ErrElsewhere):
			return nil, faultf(a2a.ErrTaskNotCancelable, "the task runs in another hotcell process").of(p.ID)
		case err != nil:
			return nil, err
		}
	}
	if r, _, err = h.locate(ctx, who, p.ID); err != nil {
		return nil, err
	}
	return h.whole(ctx, who, r, nil)
}

// withdraw cancels a question. It is put on record as a call that was cancelled before it began; where that can't be, it
// is remembered.
func (h *Host) withdraw(ctx context.Context, who a2e.Caller, r *record) (*a2a.Task, error) {
	gone, cancel := context.WithCancel(h.life)
	cancel()
	t, s, err := h.begin(who, r.id, false, r.call.Skill, func(_ context.Context, _ a2e.EventWriter) *a2e.CallResponse {
		req := &a2e.CallRequest{
			Header: a2e.Header{Type: a2e.TypeCallRequest, ID: r.id.task, Version: a2e.Version, TS: a2e.Now()},
			Name:   r.call.Skill, Arguments: map[string]any{},
		}
		if r.call.ID != "" {
			if answer := h.handler.Call(gone, who, req, nil); answer.Error != nil && answer.Error.Reason() == a2e.ReasonCancelled {
				return answer
			}
		}
		return a2e.Failure(req.ID, req.Name, a2e.Errorf(a2e.RuntimeError, "cancelled by the caller").Because(a2e.ReasonCancelled), 0)
	})
	if err != nil {
		return nil, err
	}
	if err := t.follow(ctx, s, func(a2a.Event) error { return nil }); err != nil {
		return nil, err
	}
	return t.end.task(nil, h.memory.history(who.Principal, r.id), nil), nil
}
