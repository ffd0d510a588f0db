package console

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

// Base is the path below which the console is.
const Base = "/console"

// MaxBody is what a form may carry, in bytes.
const MaxBody = 2 << 20

// Bounds of what is served at once; a principal may have half of each.
const (
	maxRequests = 256
	maxStreams  = 128
	maxReads    = 16               // of what calls said and gave: that may be much, and is read whole
	readWait    = 10 * time.Second // for one of these
)

// Options are what the console shows. Control, Book and Pulse are required; pages of what is nil are absent.
type Options struct {
	Control control.Limited
	Book    control.Book
	Pulse   control.Pulsing
	Handler a2e.Handler
	Auth    auth.Authenticator // nil: nobody has to show anything

	Reader    catalog.Reader
	Custom    catalog.Custom
	Installer catalog.Installer
	Agents    catalog.Agents
	Approvals catalog.Approvals
	Audit     control.Auditor
	Explain   control.Explainer
	Images    control.Images
	Doctor    control.Examiner

	Version string
	Log     *slog.Logger // nil: none
}

// Console serves the pages. It is for as long as [Console.Run] runs that live pages are kept up to date.
type Console struct {
	o        Options
	mux      *http.ServeMux
	drawn    *drawings
	sessions *sessions
	key      []byte       // of the marks against forged requests
	requests *auth.Shares // a place for each request that is served
	streams  *auth.Shares // and for each live page
	reads    *auth.Shares // and for who reads what calls said
	starts   *starts      // calls that pages started
	figures  *figures
	pulls    pulls         // of images
	exams    exams         // of this host
	desk     chan struct{} // holds one while images are asked about or pruned
	verify   chan struct{} // holds one while the audit is verified
	closing  chan struct{}
}

// New makes the console.
func New(o Options) (*Console, error) {
	switch {
	case o.Control == nil || o.Book == nil || o.Pulse == nil:
		return nil, errors.New("console: no supervisor to show")
	case o.Log == nil:
		o.Log = slog.New(slog.DiscardHandler)
	}
	drawn, err := draw()
	if err != nil {
		return nil, err
	}
	c := &Console{
		o: o, mux: http.NewServeMux(), drawn: drawn, sessions: newSessions(), key: make([]byte, 32),
		requests: auth.NewShares(maxRequests, maxRequests/2), streams: auth.NewShares(maxStreams, maxStreams/2),
		reads:  auth.NewShares(maxReads, maxReads/2),
		starts: newStarts(), figures: newFigures(), closing: make(chan struct{}),
		desk: make(chan struct{}, 1), verify: make(chan struct{}, 1),
	}
	_, _ = rand.Read(c.key) // never fails
	for _, p := range c.pages() {
		c.mux.Handle(p.pattern, c.serving(p))
	}
	c.mux.Handle("GET "+Base+"/static/{name}", http.HandlerFunc(c.static))
	c.mux.Handle(Base+"/", c.serving(page{serve: (*visit).nowhere}))
	return c, nil
}

// Patterns are the paths that belong to the console, as [http.ServeMux] takes them.
func Patterns() []string { return []string{Base, Base + "/"} }

// Content are the content types of its forms.
func Content() []string { return []string{"application/x-www-form-urlencoded", "multipart/form-data"} }

// ServeHTTP implements [http.Handler].
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers send forms of ours with "Origin: null", which is refused
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	if r.URL.Path == Base {
		http.Redirect(w, r, Base+"/", http.StatusSeeOther)
		return
	}
	c.mux.ServeHTTP(w, r)
}

// policy lets a page have this listener's own styles, scripts and forms, and nothing else.
var policy = strings.Join([]string{
	"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'", "form-action 'self'",
	"base-uri 'none'", "frame-ancestors 'none'",
}, "; ")

// Run ends the live pages, and the calls that pages started, when ctx ends.
func (c *Console) Run(ctx context.Context) error {
	<-ctx.Done()
	close(c.closing)
	c.starts.end()
	return nil
}

// page is one route.
type page struct {
	pattern string     // of [http.ServeMux]
	scope   auth.Scope // that it needs; "": none, and nobody has to be signed in
	people  bool       // it is not for who may speak as one agent alone
	serve   func(*visit) error
}

// pages are all routes. Each area of the console has its own.
func (c *Console) pages() []page {
	return slices.Concat(
		c.loginPages(),
		c.overviewPages(),
		c.agentPages(),
		c.approvalPages(),
		c.policyPages(),
		c.imagePages(),
		c.auditPages(),
		c.doctorPages(),
		c.callsPages(),
		c.callPages(),
		c.skillPages(),
		c.customPages(),
	)
}
