package rest

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// readyTimeout bounds a readiness check.
const readyTimeout = 5 * time.Second

// Options is what [New] serves. Control is required.
type Options struct {
	Control control.Limited
	Auth    auth.Authenticator              // nil: nobody has to show anything
	Ready   func(ctx context.Context) error // nil: always ready. The error's first line is shown to admins
	Metrics http.Handler                    // nil: no /metrics
	Hosts   []string                        // what Host may name beside loopback and the address that was connected to, without port
	Mounts  []Mount                         // other doors on the same listener
	Log     *slog.Logger                    // nil: none
	Version string                          // for the Server header; "": no such header
}

// Mount is another door on the listener. The rules about Host, Origin and content types hold for it too.
type Mount struct {
	Patterns []string   // of [http.ServeMux]: "POST /send", "/mcp"
	Scope    auth.Scope // that a request needs; its identity is in the context. "": none, and the door asks for itself
	Content  []string   // content types of writes, "" for one that carries nothing; nil: application/json
	MaxBody  int64      // bytes of a request; 0: 1 MiB
	Handler  http.Handler
}

// New returns the door: its routes behind the listener rules.
func New(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &api{control: o.Control, auth: o.Auth, ready: o.Ready, log: o.Log}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", a.health)
	mux.HandleFunc("GET /readyz", a.readiness)
	if o.Metrics != nil {
		mux.Handle("GET /metrics", a.needs(auth.Admin, o.Metrics.ServeHTTP))
	}
	mux.HandleFunc("GET /v1/calls", a.needs(auth.Calls, a.list))
	mux.HandleFunc("GET /v1/calls/{id}", a.needs(auth.Calls, a.show))
	mux.HandleFunc("DELETE /v1/calls/{id}", a.needs(auth.Calls, a.cancel))
	mux.HandleFunc("GET /v1/calls/{id}/events", a.needs(auth.Calls, a.events))
	for _, m := range o.Mounts {
		h := m.Handler
		if m.Scope != "" {
			h = a.needs(m.Scope, h.ServeHTTP)
		}
		for _, p := range m.Patterns {
			mux.Handle(p, h)
		}
	}
	return headers(o.Version, recovered(o.Log, guard(o.Hosts, bodies(o.Mounts), plainErrors(mux))))
}

// plainErrors answers in JSON where the mux has no route, with the status and Allow header that the mux would give.
func plainErrors(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		probe := &statusOnly{header: http.Header{}}
		h.ServeHTTP(probe, r)
		if probe.status != http.StatusMethodNotAllowed {
			fail(w, http.StatusNotFound, "not_found", "no such path")
			return
		}
		allow := probe.header.Get("Allow")
		w.Header().Set("Allow", allow)
		fail(w, http.StatusMethodNotAllowed, "method_not_allowed", "expected "+allow)
	})
}

// statusOnly takes an answer's head and drops its body.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }
func (s *statusOnly) WriteHeader(status int)      { s.status = status }
