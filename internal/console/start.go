package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// Bounds of the calls that pages started and that still run; a principal may have a quarter of them.
const (
	maxStarted   = 64
	planPatience = time.Second     // for a call to get past its plan, so that what is refused at once is told in the form
	seenPatience = 5 * time.Second // for a call to be known at all
	lookEvery    = 10 * time.Millisecond
)

// starts are the calls that pages started. They outlive their requests, and end with [Console.Run].
type starts struct {
	places *auth.Shares
	base   context.Context
	stop   context.CancelFunc

	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
}

func newStarts() *starts {
	s := &starts{places: auth.NewShares(maxStarted, maxStarted/4)}
	s.base, s.stop = context.WithCancel(context.Background())
	return s
}

// end cancels what runs and waits for it. Nothing is started any more.
func (s *starts) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.stop()
	s.running.Wait()
}

// run calls f in the background, with what ctx carries but not its end. It reports whether it did.
func (s *starts) run(ctx context.Context, f func(context.Context)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.running.Go(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(s.base, cancel)()
		f(ctx)
	})
	return true
}

// start starts a call for who visits and returns once there is a page of it: its id for at("calls", id). The call goes on when
// the browser leaves. What was refused at once, before anything was made for it, is an [*a2e.Error] that a form can show: a
// [*trouble] says that there was no place for it.
func (v *visit) start(req *a2e.CallRequest) (id string, err error) { return v.startAs(v.who, req) }

// startAs is start for a visitor who speaks as an agent.
func (v *visit) startAs(who auth.Identity, req *a2e.CallRequest) (id string, err error) {
	if v.o.Handler == nil {
		return "", &trouble{status: http.StatusNotImplemented, title: "Not here", message: "This hotcell takes no calls."}
	}
	own := *req
	own.Header = a2e.Header{Type: a2e.TypeCallRequest, ID: a2e.NewID(), Version: a2e.Version, TS: a2e.Now()}
	give, ok := v.starts.places.Take(who.Principal, 1)
	if !ok {
		return "", &trouble{status: http.StatusServiceUnavailable, title: "Busy", message: fmt.Sprintf(
			"Pages have started as many calls as may run at once: %d, of one principal %d. Wait until one of them has ended.", maxStarted, maxStarted/4)}
	}
	answered := make(chan *a2e.CallResponse, 1)
	began := v.starts.run(v.ctx(), func(ctx context.Context) {
		defer give()
		answered <- v.invoke(ctx, who.Caller(door), &own)
	})
	if !began {
		give()
		return "", &trouble{status: http.StatusServiceUnavailable, title: "Shutting down", message: "hotcell is shutting down. Try again once it is back."}
	}
	return v.accepted(own.ID, answered)
}

// invoke calls the handler. A panic there ends the call and not the process.
func (c *Console) invoke(ctx context.Context, who a2e.Caller, req *a2e.CallRequest) (answer *a2e.CallResponse) {
	defer func() {
		if p := recover(); p != nil {
			c.o.Log.Error("console: handler panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			answer = nil
		}
		if answer == nil {
			answer = a2e.Failure(req.ID, req.Name, a2e.AsError(errors.New("handler gave no answer")), 0)
		}
	}()
	return c.o.Handler.Call(ctx, who, req, a2e.EventWriterFunc(func(context.Context, *a2e.Event) error { return nil }))
}

// accepted waits until a call that was started is known and planned, or refused.
func (v *visit) accepted(reqID string, answered <-chan *a2e.CallResponse) (id string, err error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for began := time.Now(); ; {
		select {
		case answer := <-answered:
			return v.atOnce(reqID, answer)
		case <-v.ctx().Done():
			return "", v.ctx().Err()
		case <-tick.C:
		}
		call, _, err := v.calls().Show(v.ctx(), reqID)
		waited := time.Since(began)
		switch {
		case err == nil && call.State.Terminal() && waited < seenPatience: // its answer is on the way
		case err == nil && (call.State != control.Queued || waited > planPatience):
			return call.ID, nil
		case err != nil && !errors.Is(err, control.ErrNotFound):
			return "", err
		case waited > seenPatience:
			return reqID, nil // its page will be there
		}
	}
}

// refusals are the codes of what is wrong with a request: a form says so, where it can be mended.
var refusals = []a2e.Code{a2e.UnknownSkill, a2e.SchemaViolation, a2e.InvalidMessage, a2e.ParseError, a2e.Unauthorized}

// atOnce is what became of a call that had its answer before it was seen to run.
func (v *visit) atOnce(reqID string, answer *a2e.CallResponse) (id string, err error) {
	if answer.Error != nil && slices.Contains(refusals, answer.Error.Code) {
		return "", answer.Error
	}
	call, _, err := v.calls().Show(v.ctx(), reqID)
	switch {
	case err == nil:
		return call.ID, nil
	case answer.Error != nil && errors.Is(err, control.ErrNotFound):
		return "", answer.Error // no call was made of it
	}
	return "", err
}
