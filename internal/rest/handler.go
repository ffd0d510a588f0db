package rest

import (
	"context"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/singleflight"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
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
	Version string                          // for the Server header and the docs; "": no such header

	Handler   a2e.Handler    // runs calls. Where it has Run, as a supervisor does, calls may bring files; nil: no POST /v1/calls
	Reader    catalog.Reader // these are the catalog: the routes of one that is nil are absent
	Custom    catalog.Custom
	Agents    catalog.Agents
	Approvals catalog.Approvals
	Installer catalog.Installer
	Audit     control.Auditor
	Book      control.Book // searches calls; nil: they are listed without filters and pages
}

// Mount is another door on the listener. The rules about Host, Origin and content types hold for it too.
type Mount struct {
	Patterns []string   // of [http.ServeMux]: "POST /send", "/mcp"
	Scope    auth.Scope // that a request needs; its identity is in the context. "": none, and the door asks for itself
	Content  []string   // content types of writes, "" for one that carries nothing; nil: application/json
	MaxBody  int64      // bytes of a request; 0: 1 MiB
	Pages    bool       // it has pages for people, which links of other sites may lead to
	Home     string     // the path where browsers are led that ask for /; "": nowhere
	Handler  http.Handler
}

// New returns the door: its routes behind the listener rules.
func New(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := newAPI(o)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", a.health)
	mux.HandleFunc("GET /readyz", a.readiness)
	if o.Metrics != nil {
		mux.Handle("GET /metrics", a.needs(auth.Admin, o.Metrics.ServeHTTP))
	}
	routes := a.routes()
	home := homeOf(o.Mounts)
	described := a.mounted(mux, o.Version, routes)
	describedAt(mux, described, routes)
	if a.custom != nil { // Spora's documentation has the list with a slash at its end
		mux.HandleFunc("/api/v1/custom-skills/{$}", func(w http.ResponseWriter, r *http.Request) {
			to := r.Clone(r.Context())
			to.URL.Path, to.URL.RawPath = "/api/v1/custom-skills", ""
			plainErrors(mux, home).ServeHTTP(w, to)
		})
	}
	for _, m := range o.Mounts {
		h := m.Handler
		if m.Scope != "" {
			h = a.needs(m.Scope, h.ServeHTTP)
		}
		for _, p := range m.Patterns {
			mux.Handle(p, h)
		}
	}
	return headers(o.Version, recovered(o.Log, guard(o.Hosts, bodies(o.Mounts, routes...), plainErrors(mux, home))))
}

// api serves the routes.
type api struct {
	control   control.Limited
	handler   a2e.Handler
	auth      auth.Authenticator
	reader    catalog.Reader
	custom    catalog.Custom
	agents    catalog.Agents
	approvals catalog.Approvals
	installer catalog.Installer
	audit     control.Auditor
	book      control.Book
	ready     func(context.Context) error
	log       *slog.Logger

	life      string        // tells the states of this process from those of others
	followers *auth.Shares  // a place for each that follows a call
	reads     *auth.Shares  // a place for each large answer
	requests  *auth.Shares  // and for each that is served, with a scope
	uploads   chan struct{} // a place for each upload
	verifying chan struct{} // a place for one who verifies the audit
	readying  singleflight.Group
	memory    memory
}

func newAPI(o Options) *api {
	return &api{
		control: o.Control, handler: o.Handler, auth: o.Auth, reader: o.Reader, custom: o.Custom, agents: o.Agents,
		approvals: o.Approvals, installer: o.Installer, audit: o.Audit, book: o.Book, ready: o.Ready, log: o.Log, life: a2e.NewID(),
		followers: auth.NewShares(maxFollowers, maxFollowers/2), requests: auth.NewShares(maxConns, maxConns/2),
		reads:   auth.NewShares(maxReads, maxReads/2),
		uploads: make(chan struct{}, maxUploads), verifying: make(chan struct{}, 1), memory: newMemory(),
	}
}

func (a *api) routes() []route {
	return slices.Concat(
		a.callRoutes(), a.manifestRoutes(), a.controlRoutes(), a.artifactRoutes(), a.skillRoutes(), a.customRoutes(), a.agentRoutes(), a.approvalRoutes(), a.bundleRoutes(), a.auditRoutes(),
	)
}

// describedAt serves the description of the routes. It is the same for everybody, so nobody has to show anything. It is written
// when somebody first asks: few do, and it is large.
func describedAt(mux *http.ServeMux, described huma.API, routes []route) {
	written := sync.OnceValue(func() description { return writtenDown(described, routes) })
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, kindJSON, written().doc) })
	mux.HandleFunc("GET /docs", func(w http.ResponseWriter, r *http.Request) { written().page.ServeHTTP(w, r) })
}

// description is what tells of the routes: for programs, and for people.
type description struct {
	doc  []byte
	page *page
}

func writtenDown(described huma.API, routes []route) description {
	doc, err := document(described)
	if err != nil {
		panic(err) // a route that can't be described: the tests ask for it
	}
	shown, err := docs(described, routes)
	if err != nil {
		panic(err)
	}
	return description{doc, shown}
}

// homeOf returns the first home that a mount has.
func homeOf(mounts []Mount) string {
	for _, m := range mounts {
		if m.Home != "" {
			return m.Home
		}
	}
	return ""
}

// plainErrors answers in JSON where the mux has no route, with the status and Allow header that the mux would give. A browser
// that asks for / is led home, if there is one.
func plainErrors(mux *http.ServeMux, home string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if unclean(r.URL.EscapedPath()) {
			failUnclean(w, r)
			return
		}
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		probe := &statusOnly{header: http.Header{}}
		h.ServeHTTP(probe, r)
		if probe.status != http.StatusMethodNotAllowed {
			message := "no such path"
			if r.URL.Path == "/" {
				if home != "" && browses(r) {
					http.Redirect(w, r, home, http.StatusSeeOther)
					return
				}
				message += ": /docs describes what there is"
			}
			fail(w, r, http.StatusNotFound, "not_found", message)
			return
		}
		allow := probe.header.Get("Allow")
		w.Header().Set("Allow", allow)
		fail(w, r, http.StatusMethodNotAllowed, "method_not_allowed", "expected "+allow)
	})
}

// browses reports whether a request is a browser's, for a page.
func browses(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && preferred(r, kindJSON, "text/html") == "text/html"
}

// unclean reports whether a path has elements that lead nowhere, or elsewhere. The mux would redirect to what it takes for
// meant; here no path is another one.
func unclean(p string) bool {
	clean := path.Clean(p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean != p
}

// failUnclean answers as for a file that is not there, where a file was asked for.
func failUnclean(w http.ResponseWriter, r *http.Request) {
	p := r.URL.EscapedPath()
	code := "not_found"
	switch {
	case !strings.Contains(p, "/files/"):
	case strings.HasPrefix(p, "/api/v1/skills/"):
		code = string(catalog.SkillFileNotFound)
	case strings.HasPrefix(p, "/api/v1/custom-skills/"):
		code = string(catalog.FileNotFound)
	}
	fail(w, r, http.StatusNotFound, code, "no such path")
}

// statusOnly takes an answer's head and drops its body.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }
func (s *statusOnly) WriteHeader(status int)      { s.status = status }
