package a2ahost

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// task is a task in flight. One goroutine serves its call, and it alone writes to the streams.
type task struct {
	id       identity
	question bool
	who      a2e.Caller
	skill    string
	accepted time.Time
	patience time.Duration
	cancel   context.CancelFunc
	teller   *teller
	done     chan struct{} // closed once end stands and every stream has got it

	mu      sync.Mutex
	seq     int // of the last event that was told; -1: none
	streams map[*stream]struct{}
	over    bool
	end     *record
}

// stream is one listener of a task.
type stream struct {
	updates chan a2a.Event // closed at its end
	gone    chan struct{}  // closed by a listener that leaves
	lagged  bool           // it did not read and was cut off; looked at once updates is closed
}

// mostUpdates is how many updates wait for a listener that is slower than its skill.
const mostUpdates = 8

// work runs what a task is about.
type work func(ctx context.Context, w a2e.EventWriter) *a2e.CallResponse

// begin starts a task, with its first stream already open.
func (h *Host) begin(who a2e.Caller, id identity, question bool, skill string, do work) (*task, *stream, error) {
	ctx, cancel := context.WithCancel(h.life)
	t := &task{
		id: id, question: question, who: who, skill: skill, accepted: time.Now(), patience: h.opts.Patience, cancel: cancel,
		teller: newTeller(id), done: make(chan struct{}), seq: -1, streams: map[*stream]struct{}{},
	}
	s, _, _ := t.join()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed || len(h.live) >= mostLive:
		cancel()
		return nil, nil, &fault{kind: errBusy, message: errBusy.Error()}
	case h.live[id.task] != nil:
		cancel()
		return nil, nil, faultf(a2a.ErrUnsupportedOperation, "the task is at work and takes no further messages").of(id.task)
	}
	h.live[id.task] = t
	if w := h.awaited[id.task]; w != nil && !question {
		close(w.begun)
		delete(h.awaited, id.task)
	}
	h.group.Go(func() {
		defer cancel()
		end := h.conclude(t, do(ctx, t))
		h.mu.Lock()
		delete(h.live, id.task) // first of all: who is told of the end may ask, or go on, at once
		h.mu.Unlock()
		t.finish(end)
	})
	return t, s, nil
}

// conclude returns the record of a call that has its answer. One that no journal knows is remembered here.
func (h *Host) conclude(t *task, answer *a2e.CallResponse) *record {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	call, _, err := h.own(t.who).Show(ctx, t.request())
	if err == nil && call.ReqID == t.request() && call.State.Terminal() {
		return &record{id: t.id, question: t.question, call: call, answer: answer}
	}
	if err != nil && !errors.Is(err, control.ErrNotFound) {
		h.log.Warn("a task's call can't be looked up", "task", t.id.task, "error", err)
	}
	r := ended(t.id, t.question, t.skill, t.accepted, answer)
	if raw, err := json.Marshal(answer); err == nil && len(raw) < rememberedBytes/4 {
		h.memory.settle(t.who.Principal, r, len(raw))
	}
	return r
}

// request is the request id of a task's call.
func (t *task) request() string {
	if t.question {
		return t.id.question()
	}
	return t.id.task
}

// WriteEvent implements [a2e.EventWriter].
func (t *task) WriteEvent(_ context.Context, ev *a2e.Event) error {
	update := t.teller.tell(ev)
	t.mu.Lock()
	t.seq = ev.Seq
	streams := slices.Collect(maps.Keys(t.streams))
	t.mu.Unlock()
	t.send(streams, update)
	return nil
}

// send hands an update to each stream. Listeners that do not read are waited for once, all together, and then cut off.
func (t *task) send(streams []*stream, update a2a.Event) {
	var full []*stream
	for _, s := range streams {
		select {
		case s.updates <- update:
		default:
			full = append(full, s)
		}
	}
	if len(full) == 0 {
		return
	}
	timer := time.NewTimer(t.patience)
	defer timer.Stop()
	late := false
	for _, s := range full {
		if !late {
			select {
			case s.updates <- update:
				continue
			case <-s.gone:
				continue
			case <-timer.C:
				late = true
			}
		}
		select {
		case s.updates <- update:
		default:
			s.lagged = true
			t.drop(s)
		}
	}
}

// drop ends a stream, if nobody did.
func (t *task) drop(s *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, there := t.streams[s]; there {
		delete(t.streams, s)
		close(s.updates)
	}
}

// finish tells the streams how the task ended.
func (t *task) finish(r *record) {
	t.mu.Lock()
	t.over, t.end = true, r
	streams := slices.Collect(maps.Keys(t.streams))
	t.mu.Unlock()
	for _, update := range r.ends() {
		t.send(streams, update)
	}
	for _, s := range streams {
		t.drop(s)
	}
	close(t.done)
}

// join opens a stream that gets all updates from now on, and returns the sequence number of the last event before. It
// reports false where there will be none.
func (t *task) join() (*stream, int, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, 0, false
	}
	s := &stream{updates: make(chan a2a.Event, mostUpdates), gone: make(chan struct{})}
	t.streams[s] = struct{}{}
	return s, t.seq, true
}

// leave ends a stream from its listener's side.
func (t *task) leave(s *stream) {
	close(s.gone)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.streams, s)
}

// submitted is the task before anything is known of its call.
func (t *task) submitted() *record {
	return &record{id: t.id, question: t.question, call: control.Call{Skill: t.skill, State: control.Queued, Accepted: t.accepted}}
}

var errLagged = errors.New("the stream was not read and was cut off: subscribe to the task again")

// follow hands the updates of a stream on until its end, or until ctx ends.
func (t *task) follow(ctx context.Context, s *stream, emit func(a2a.Event) error) error {
	defer t.leave(s)
	for {
		select {
		case update, more := <-s.updates:
			switch {
			case !more && s.lagged:
				return &fault{kind: errBusy, message: errLagged.Error(), task: t.id.task}
			case !more:
				return nil
			}
			if err := emit(update); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
