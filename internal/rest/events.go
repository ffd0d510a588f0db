package rest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

const (
	maxWait      = 60 // seconds
	followEvery  = 200 * time.Millisecond
	maxFollowers = 256 // requests that wait for events at once, half as many of one principal
)

// events answers with what a skill said, or follows it.
func (a *api) events(w http.ResponseWriter, r *http.Request) error {
	id, err := callID(r)
	if err != nil {
		return err
	}
	from, err := start(r)
	if err != nil {
		return err
	}
	wait, err := number(r, "wait", 0, maxWait)
	if err != nil {
		return err
	}
	calls := a.calls(r.Context())
	kind := preferred(r, kindJSON, kindNDJSON, kindSSE)
	if r.Method == http.MethodHead { // has no body to wait for
		kind, wait = kindJSON, 0
	}
	if kind == kindJSON && wait == 0 {
		done, err := a.reading(r)
		if err != nil {
			return err
		}
		defer done()
		events, err := calls.Events(r.Context(), id, from)
		if err != nil {
			return err
		}
		reply(w, http.StatusOK, eventsBody{listed(events)})
		return nil
	}
	leave, ok := a.followers.Take(auth.FromContext(r.Context()).Principal, 1)
	if !ok {
		p := problemf(http.StatusServiceUnavailable, "busy", "too many requests wait for events already: try again later")
		p.retryAfter = busyFor
		return p
	}
	defer leave()
	f := &follower{calls: calls, id: id, from: from}
	if kind == kindJSON {
		return f.page(w, r, time.Duration(wait)*time.Second)
	}
	return f.stream(w, r, kind)
}

// start is the first event that a request asks for.
func start(r *http.Request) (int, error) {
	q := r.URL.Query()
	if q.Has("after") && q.Has("from") {
		return 0, badArgument(errors.New("after, from: expected one of them"))
	}
	after, err := number(r, "after", -1, maxFrom-1)
	if err != nil {
		return 0, err
	}
	if q.Has("after") {
		return after + 1, nil
	}
	from, err := number(r, "from", 0, maxFrom)
	if err != nil || q.Has("from") {
		return from, err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		n, err := strconv.Atoi(last)
		if err != nil || n < 0 || n >= maxFrom {
			return 0, badArgument(errors.New("Last-Event-ID: expected the seq of an event"))
		}
		return n + 1, nil
	}
	return 0, nil
}

// follower reads the events of a call as they come. It looks again and again: a call may run in another process, of which
// only the journal tells.
type follower struct {
	calls control.Control
	id    string
	from  int
}

// next waits for events, or for the end of the call: then it returns none, and the answer, which may be gone.
func (f *follower) next(ctx context.Context) ([]a2e.Event, *a2e.CallResponse, error) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		call, answer, err := f.calls.Show(ctx, f.id) // before the events: what comes after it is the next round's
		if err != nil {
			return nil, nil, err
		}
		if call.State.Terminal() || call.Events > f.from {
			events, err := f.calls.Events(ctx, f.id, f.from)
			if err != nil {
				return nil, nil, err
			}
			if n := len(events); n > 0 && events[n-1].Seq >= f.from {
				f.from = events[n-1].Seq + 1
				return events, nil, nil
			}
		}
		if call.State.Terminal() {
			return nil, answer, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-closing(ctx):
			return nil, nil, errClosing
		case <-tick.C:
		}
	}
}

// page answers with the next events, or with none where there are none in time.
func (f *follower) page(w http.ResponseWriter, r *http.Request, wait time.Duration) error {
	c := lifted(w)
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	events, _, err := f.next(ctx)
	_ = c.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err != nil && (r.Context().Err() != nil || ctx.Err() == nil) {
		return err
	}
	reply(w, http.StatusOK, eventsBody{listed(events)})
	return nil
}

// stream sends events until the call has ended, then its answer.
func (f *follower) stream(w http.ResponseWriter, r *http.Request, kind string) error {
	if _, _, err := f.calls.Show(r.Context(), f.id); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := newStream(w, kind, cancel)
	defer s.beating(ctx)()
	for {
		events, answer, err := f.next(ctx)
		switch {
		case err != nil:
			return s.abort(err)
		case len(events) > 0:
			for i := range events {
				if s.WriteEvent(ctx, &events[i]) != nil {
					return nil
				}
			}
			continue
		}
		s.finish(http.StatusOK, answer)
		return nil
	}
}
