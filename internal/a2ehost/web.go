package a2ehost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// WebOptions are what a [Web] works with. A zero value means the default that its comment names.
type WebOptions struct {
	SessionIdle  time.Duration // a session that nobody listens to and that has nothing to do ends after so long; 0: 10m
	Handshake    time.Duration // for a session to show a token, where one is wanted; 0: 30s
	MaxSessions  int           // in all; 0: 256
	PerPrincipal int           // sessions of one principal; 0: 64. Does not apply where nothing authenticates
	Recheck      time.Duration // how often the token of a connected stream is looked at again; 0: 1m
	Unknown      int           // sessions that showed no token yet, where one is wanted; 0: 64
	Queued       int           // bytes that wait for the stream of one session; 0: twice the host's MaxLine
	QueuedInAll  int           // the same of all sessions together; 0: 128 MiB
}

// Web is A2E over HTTP: POST /session, POST /send, GET /stream and GET /health. It serves sessions while [Web.Serve] runs.
type Web struct {
	host   *Host
	opt    WebOptions
	queued *budget
	mux    *http.ServeMux
	table  *table

	births  chan func(base context.Context)
	stopped chan struct{} // closed once Serve serves no more
	once    sync.Once
}

// Web makes the HTTP door of a host whose Door says how it is to be called. It fails when an option has no meaning.
func (h *Host) Web(opt WebOptions) (*Web, error) {
	if min(opt.SessionIdle, opt.Handshake, opt.Recheck) < 0 ||
		min(opt.MaxSessions, opt.PerPrincipal, opt.Unknown, opt.Queued, opt.QueuedInAll) < 0 {
		return nil, errors.New("a2e over http: a limit is negative")
	}
	orDefault(&opt.SessionIdle, 10*time.Minute)
	orDefault(&opt.Handshake, 30*time.Second)
	orDefault(&opt.Recheck, time.Minute)
	orDefault(&opt.MaxSessions, 256)
	orDefault(&opt.PerPrincipal, 64)
	orDefault(&opt.Unknown, 64)
	orDefault(&opt.Queued, 2*h.opt.MaxLine)
	orDefault(&opt.QueuedInAll, 128<<20)
	w := &Web{
		host: h, opt: opt, queued: newBudget(opt.QueuedInAll), mux: http.NewServeMux(), table: newTable(opt, h.opt.IdleTimeout),
		births: make(chan func(context.Context)), stopped: make(chan struct{}),
	}
	w.mux.HandleFunc("POST /session", w.open)
	w.mux.HandleFunc("POST /send", w.send)
	w.mux.HandleFunc("GET /stream", w.stream)
	w.mux.HandleFunc("GET /health", func(rw http.ResponseWriter, _ *http.Request) {
		reply(rw, http.StatusOK, map[string]string{"status": "ok"})
	})
	return w, nil
}

// ServeHTTP implements [http.Handler].
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) { w.mux.ServeHTTP(rw, r) }

// sweepEvery is how often sessions are looked at that may have expired.
const sweepEvery = 5 * time.Second

// Serve runs the sessions until ctx ends, which cancels their calls, and waits for them. It is to be called once.
func (w *Web) Serve(ctx context.Context) error {
	var sessions sync.WaitGroup
	defer sessions.Wait()
	defer w.once.Do(func() { close(w.stopped) })
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case run := <-w.births:
			sessions.Go(func() { run(ctx) })
		case <-tick.C:
			w.table.sweep()
		case <-ctx.Done():
			return nil
		}
	}
}

// open answers POST /session.
func (w *Web) open(rw http.ResponseWriter, r *http.Request) {
	id, known, header, ok := w.newcomer(rw, r)
	if !ok {
		return
	}
	ws, run := w.newSession(context.WithoutCancel(r.Context()), clientOf(r))
	if known {
		ws.owner, ws.header = &owner{id.Principal, id.Agent}, header
	}
	if !w.table.add(ws) {
		w.table.end(ws, errEvicted)
		w.busy(rw, tooMany)
		return
	}
	served := func(base context.Context) {
		defer w.table.remove(ws)
		run(base)
	}
	select {
	case w.births <- served:
		reply(rw, http.StatusOK, map[string]string{"session_id": ws.id})
		return
	case <-w.stopped:
	case <-r.Context().Done():
	}
	w.table.end(ws, errEvicted)
	w.busy(rw, "sessions are not served at the moment")
}

// send answers POST /send.
func (w *Web) send(rw http.ResponseWriter, r *http.Request) {
	ws, header, ok := w.session(rw, r)
	if !ok {
		return
	}
	if n := ws.out.unheard(); n >= maxUnheard {
		w.busy(rw, fmt.Sprintf("%d answers wait for a stream: connect one", n))
		return
	}
	body, release, ok := w.body(rw, r, ws)
	if !ok {
		return
	}
	switch err := ws.take(a2e.WithTrace(r.Context(), a2e.HeaderTrace(r.Header)), body, header, release); {
	case errors.Is(err, errFull):
		w.busy(rw, "too many requests of this session wait for their turn: try again later")
	case err != nil:
		notFound(rw)
	default:
		reply(rw, http.StatusOK, map[string]bool{"ok": true})
	}
}

var (
	// errFull: a session has no room for another request, or a principal for another session.
	errFull = errors.New("no room")
	// errOthers: a session belongs to somebody else.
	errOthers = errors.New("session is another's")
)
