package a2ahost

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// subscribe is SubscribeToTask.
func (h *Host) subscribe(ctx context.Context, who a2e.Caller, p *taskParams, emit func(a2a.Event) error) error {
	if err := checkTask(p); err != nil {
		return err
	}
	leave, ok := h.subscribers.Take(who.Principal, 1)
	if !ok {
		return &fault{kind: errBusy, message: "too many subscriptions are open already: end some of them, or try again later", task: p.ID}
	}
	defer leave()
	r, t, err := h.locate(ctx, who, p.ID)
	if err != nil {
		return err
	}
	if r.state().Terminal() {
		return faultf(a2a.ErrUnsupportedOperation, "the task has ended: there is nothing to subscribe to").of(p.ID)
	}
	if t == nil {
		return h.watch(ctx, who, r, emit)
	}
	s, seq, ok := t.join()
	if !ok {
		return faultf(a2a.ErrUnsupportedOperation, "the task has ended: there is nothing to subscribe to").of(p.ID)
	}
	if seq >= 0 && r.call.ID == "" { // it has a call by now
		if r, err = h.again(ctx, who, r); err != nil {
			t.leave(s)
			return err
		}
	}
	if err := h.opening(ctx, who, r, seq, emit); err != nil {
		t.leave(s)
		return err
	}
	leased(ctx).end()
	return t.follow(ctx, s, emit)
}

func (h *Host) again(ctx context.Context, who a2e.Caller, r *record) (*record, error) {
	newer, err := h.shown(ctx, who, r.id, r.question)
	if newer == nil {
		return r, err
	}
	return newer, err
}

// opening is how a stream begins that joins late: the task as it stands after an event. Artifacts that are too large for
// one event follow in pieces.
func (h *Host) opening(ctx context.Context, who a2e.Caller, r *record, seq int, emit func(a2a.Event) error) error {
	p := &pieces{}
	if seq >= 0 {
		var err error
		if p, err = h.pieces(ctx, who, r, seq); err != nil {
			return err
		}
	}
	early := *r
	if early.state().Terminal() { // it ended meanwhile, which the stream tells
		early.call.State, early.call.Ended, early.answer = control.Running, time.Time{}, nil
		early.call.Code, early.call.Reason = "", ""
	}
	if p.bytes <= mostInEvent {
		return emit(early.task(p, h.memory.history(who.Principal, r.id), nil))
	}
	files := p.artifacts(false)
	p.order = nil
	if err := emit(early.task(p, h.memory.history(who.Principal, r.id), nil)); err != nil {
		return err
	}
	for _, one := range files {
		if err := repeat(r.id, one, emit); err != nil {
			return err
		}
	}
	return nil
}

// repeat sends an artifact again in pieces.
func repeat(id identity, one *a2a.Artifact, emit func(a2a.Event) error) error {
	content := one.Parts[0].Raw()
	for from := 0; from == 0 || from < len(content); from += slice {
		piece, part := *one, *one.Parts[0]
		part.Content = a2a.Raw(content[from:min(from+slice, len(content))])
		piece.Parts = a2a.ContentParts{&part}
		err := emit(&a2a.TaskArtifactUpdateEvent{TaskID: a2a.TaskID(id.task), ContextID: id.context, Artifact: &piece, Append: from > 0})
		if err != nil {
			return err
		}
	}
	return nil
}

// watch follows a task that runs in another process of the same journal, or that waits for its client.
func (h *Host) watch(ctx context.Context, who a2e.Caller, r *record, emit func(a2a.Event) error) error {
	p, err := h.pieces(ctx, who, r, -1)
	if err == nil {
		err = emit(r.task(p, h.memory.history(who.Principal, r.id), nil))
	}
	if err != nil {
		return err
	}
	leased(ctx).end()
	if r.state() == a2a.TaskStateInputRequired {
		return h.answered(ctx, who, r.id, emit)
	}
	return h.tail(ctx, who, r, p, emit)
}

// tail follows a task of another process from where what is known of it ends.
func (h *Host) tail(ctx context.Context, who a2e.Caller, r *record, p *pieces, emit func(a2a.Event) error) (err error) {
	tell, next := newTeller(r.id), p.next
	for _, one := range p.order {
		tell.begun[one.Name] = true
	}
	for {
		if r, err = h.again(ctx, who, r); err != nil {
			return err
		}
		var events []a2e.Event
		if r.call.ID != "" { // else it has no call, and its end is all there is
			if events, err = h.own(who).Events(ctx, r.call.ID, next); err != nil {
				return err
			}
		}
		for _, ev := range events {
			next = ev.Seq + 1
			if err := emit(tell.tell(&ev)); err != nil {
				return err
			}
		}
		switch {
		case len(events) > 0:
		case r.call.State.Terminal() && lately(r.call) < next:
			return emitAll(r.ends(), emit)
		default:
			if err := pause(ctx, remotely); err != nil {
				return err
			}
		}
	}
}

// answered follows a question from when its client has answered it.
func (h *Host) answered(ctx context.Context, who a2e.Caller, id identity, emit func(a2a.Event) error) error {
	for {
		begun, stop := h.awaits(id.task)
		r, t, err := h.locate(ctx, who, id.task)
		if err == nil && r.state() == a2a.TaskStateInputRequired && (t == nil || t.question) {
			select {
			case <-begun:
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(elsewhere):
			}
			r = nil
		}
		stop()
		switch {
		case err != nil:
			return err
		case r == nil:
			continue
		case t == nil:
			return h.tail(ctx, who, r, &pieces{}, emit)
		}
		s, seq, open := t.join()
		if !open {
			continue
		}
		if r, err = h.again(ctx, who, r); err == nil && seq >= 0 {
			tell := newTeller(id)
			err = h.events(ctx, who, r, seq, func(ev *a2e.Event) error { return emit(tell.tell(ev)) })
		}
		if err != nil {
			t.leave(s)
			return err
		}
		return t.follow(ctx, s, emit)
	}
}

// awaits returns a channel that is closed when a task is begun here. It is to be stopped.
func (h *Host) awaits(task string) (begun <-chan struct{}, stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.awaited[task]
	if w == nil {
		w = &wait{begun: make(chan struct{})}
		h.awaited[task] = w
	}
	w.listeners++
	return w.begun, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if w.listeners--; w.listeners == 0 && h.awaited[task] == w {
			delete(h.awaited, task)
		}
	}
}

// wait is for the beginning of a task.
type wait struct {
	begun     chan struct{}
	listeners int
}

func emitAll(updates []a2a.Event, emit func(a2a.Event) error) error {
	for _, update := range updates {
		if err := emit(update); err != nil {
			return err
		}
	}
	return nil
}
