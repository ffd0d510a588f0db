package a2ehost

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

// call runs one call and sends its answer behind its events.
func (s *session) call(ctx context.Context, c claim, req *a2e.CallRequest) {
	who, why := s.caller(ctx, c, auth.Calls)
	if why != nil {
		s.answer(req.ID, req.Name, a2e.Failure(req.ID, req.Name, why, 0))
		return
	}
	events := &eventWriter{session: s, reqID: req.ID, mute: !req.Streams()}
	resp, err := s.invoke(ctx, who, req, events)
	events.end()
	if err != nil {
		resp = a2e.Failure(req.ID, req.Name, a2e.AsError(err), 0)
	}
	s.answer(req.ID, req.Name, resp)
}

// invoke calls the handler. A panic there ends the call and not the process.
func (s *session) invoke(ctx context.Context, who a2e.Caller, req *a2e.CallRequest, w a2e.EventWriter) (resp *a2e.CallResponse, err error) {
	defer s.survive("call", &err)
	resp = s.host.opt.Handler.Call(ctx, who, req, w)
	if resp == nil {
		s.log.Error("handler gave no answer", "req_id", req.ID)
		return nil, errors.New("handler gave no answer")
	}
	return resp, nil
}

func (s *session) discover(ctx context.Context, c claim, req *a2e.DiscoverRequest) {
	who, why := s.caller(ctx, c, auth.SkillsRead)
	if why != nil {
		_ = s.send(a2e.ErrorReport(req.ID, why))
		return
	}
	found, err := s.find(ctx, who, req)
	if err == nil {
		if s.encodable(&a2e.DiscoverResponse{ReqID: req.ID, Skills: found}) {
			return
		}
		err = errors.New("skills have no JSON form")
	}
	e := a2e.AsError(err)
	if e.Reason() == a2e.ReasonInternal {
		s.log.Error("discover", "req_id", req.ID, "err", err)
	}
	_ = s.send(a2e.ErrorReport(req.ID, e))
}

func (s *session) find(ctx context.Context, who a2e.Caller, req *a2e.DiscoverRequest) (found []a2e.Definition, err error) {
	defer s.survive("discover", &err)
	return s.host.opt.Handler.Discover(ctx, who, req)
}

// survive turns a panic into an error for *err. It is to be deferred.
func (s *session) survive(what string, err *error) {
	if p := recover(); p != nil {
		s.log.Error("handler panicked", "during", what, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = fmt.Errorf("panic: %v", p)
	}
}

// answer sends the one terminal answer of a call, as a response or, where that is configured and it failed, as an
// error.
func (s *session) answer(reqID, name string, resp *a2e.CallResponse) {
	out := *resp
	if out.ReqID == "" {
		out.ReqID = reqID
	}
	if out.Name == "" {
		out.Name = name
	}
	if out.Error != nil && s.host.opt.ErrorsAs == ErrorsAsMessage {
		report := a2e.ErrorReport(out.ReqID, out.Error)
		report.ID = out.ID
		if s.encodable(report) {
			return
		}
	} else if s.encodable(&out) {
		return
	}
	s.log.Error("answer has no JSON form", "req_id", reqID, "skill", name)
	_ = s.send(a2e.Failure(reqID, name, a2e.AsError(errors.New("answer has no JSON form")), 0))
}

// encodable sends m and reports false when it could not be encoded.
func (s *session) encodable(m a2e.Message) bool {
	var unencodable *a2e.EncodeError
	return !errors.As(s.send(m), &unencodable)
}

var errEnded = errors.New("call has ended")

// eventWriter sends the events of one call, until it ends.
type eventWriter struct {
	session *session
	reqID   string
	mute    bool // the request asked for no events

	mu    sync.Mutex
	ended bool
}

// WriteEvent implements [a2e.EventWriter].
func (w *eventWriter) WriteEvent(_ context.Context, ev *a2e.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ended:
		return errEnded
	case w.mute:
		return nil
	}
	out := *ev
	if out.ReqID == "" {
		out.ReqID = w.reqID
	}
	return w.session.send(&out)
}

// end waits for the event that is being written and refuses all others, so that none follows the answer.
func (w *eventWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}
