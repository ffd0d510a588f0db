package a2ehost

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

var (
	// errExpired: a session was idle for too long.
	errExpired = errors.New("session has expired")
	// errEvicted: an idle session made room for another.
	errEvicted = errors.New("session made room for another")
)

// lastWord is how long a session that is over waits for a stream that takes its last messages.
const lastWord = 30 * time.Second

// webSession is a session whose messages come one by one and leave through streams.
type webSession struct {
	id      string
	host    *Host
	from    string // the client's address, without a port
	began   time.Time
	in      *inbox
	out     *outbox
	seen    *seen
	act     *activity
	writing chan struct{}           // held by the stream that writes
	leave   context.CancelCauseFunc // ends the session
	forget  context.CancelFunc      // ends its wait for a stream that takes its last messages

	mu     sync.Mutex
	owner  *owner // nil: nobody yet
	header bool   // each request has to show a token
	claim  *claim // of the handshake, where that showed a token
}

// owner is who a session belongs to.
type owner struct{ principal, agent string }

func (w *Web) newSession(ctx context.Context, from string) (*webSession, func(base context.Context)) {
	own, leave := context.WithCancelCause(ctx)
	waits, forget := context.WithCancel(ctx)
	ws := &webSession{
		host: w.host, from: from, began: time.Now(), in: newInbox(own.Done()), seen: newSeen(), act: newActivity(),
		writing: make(chan struct{}, 1), leave: leave, forget: forget,
	}
	ws.out = newOutbox(w.opt.Queued, w.queued, ws.seen.done)
	s := w.host.newSession(ws.act, ws.in, ws.out, leave)
	ws.id, ws.in.header = s.id, &s.claim.header
	s.ended = ws.in.close
	s.log = w.host.opt.Log.With("session", ws.short()) // whoever knows the whole id may speak in its name
	s.owner = func(id auth.Identity, c claim) error { return w.handshaken(ws, id, c) }
	return ws, func(base context.Context) {
		defer forget()
		defer leave(nil)
		ws.end(waits, base, ws.run(own, base, s))
	}
}

// run serves the session until its end. base is the door's.
func (ws *webSession) run(ctx, base context.Context, s *session) error {
	stop := context.AfterFunc(base, func() { ws.leave(context.Cause(base)) })
	defer stop()
	err := s.run(ctx)
	if err != nil {
		s.log.Debug("session ended", "door", ws.host.opt.Door, "why", err.Error())
	}
	return err
}

// end gives a stream the time to take what was said last, and returns once nothing of the session is left. why is what ended it.
func (ws *webSession) end(waits, base context.Context, why error) {
	defer ws.out.close()
	patience := lastWord
	switch {
	case errors.Is(why, errExpired), errors.Is(why, errEvicted), base.Err() != nil && !ws.out.attached():
		return
	case base.Err() != nil:
		patience = ws.host.opt.FlushTimeout
	}
	waits, cancel := context.WithTimeout(waits, patience)
	defer cancel()
	stop := context.AfterFunc(base, func() { time.AfterFunc(ws.host.opt.FlushTimeout, cancel) })
	defer stop()
	ws.out.finish(waits)
}

// idle returns for how long nobody has listened, nothing was in flight and nothing came.
func (ws *webSession) idle() time.Duration {
	if ws.out.attached() {
		return 0
	}
	return ws.act.idle()
}

// belongs reports whether an identity may use the session.
func (o *owner) belongs(id auth.Identity) bool {
	return o.principal == id.Principal && (id.Agent == "" || id.Agent == o.agent)
}

// owned returns whose the session is, and whether each request has to show a token.
func (ws *webSession) owned() (o *owner, header bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.owner, ws.header
}

// shown returns the claim of a handshake that showed a token, where no request has to show one.
func (ws *webSession) shown() (claim, bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.header || ws.claim == nil {
		return claim{}, false
	}
	return *ws.claim, true
}

// take puts a request behind those that came before.
func (ws *webSession) take(ctx context.Context, body []byte, header auth.Secret, release func()) error {
	m, err := a2e.Parse(body)
	id := ""
	var bad *a2e.DecodeError
	switch {
	case errors.As(err, &bad):
		id = bad.ReqID
	case err == nil:
		id = a2e.HeaderOf(m).ID
	}
	if !ws.seen.add(id, body, time.Now()) {
		release()
		return nil
	}
	if call, ok := m.(*a2e.CallRequest); ok {
		call.Traced(a2e.TraceOf(ctx))
	}
	if !ws.in.put(ctx, letter{m: m, err: err, size: len(body), header: header, release: release}) {
		ws.seen.done(id)
		release()
		if ws.in.isShut() {
			return errClosed
		}
		return errFull
	}
	ws.act.touch()
	return nil
}
