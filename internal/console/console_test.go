package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// desk is a supervisor that has what tests put there. Of others' calls it tells whoever asks for their own nothing.
type desk struct {
	mu       sync.Mutex
	calls    []control.Call
	answers  map[string]*a2e.CallResponse
	events   map[string][]a2e.Event
	requests map[string]*control.Request
	ran      map[string]*control.Ran
	stats    control.Stats
	pulse    control.Pulse
	canceled []string
}

func (d *desk) find(id string, whose control.Whose) (*control.Call, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.calls {
		if (d.calls[i].ID == id || d.calls[i].ReqID == id) && whose.Has(d.calls[i].Principal) {
			return &d.calls[i], nil
		}
	}
	return nil, control.ErrNotFound
}

// put adds a call.
func (d *desk) put(c control.Call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, c)
}

// of is a desk as one principal sees it.
type of struct {
	*desk
	whose control.Whose
}

func (d *desk) Of(principal string) control.Control { return of{d, control.Only(principal)} }
func (d *desk) List(ctx context.Context, limit int) ([]control.Call, error) {
	return of{d, control.Whose{}}.List(ctx, limit)
}
func (d *desk) Show(ctx context.Context, id string) (control.Call, *a2e.CallResponse, error) {
	return of{d, control.Whose{}}.Show(ctx, id)
}
func (d *desk) Events(ctx context.Context, id string, from int) ([]a2e.Event, error) {
	return of{d, control.Whose{}}.Events(ctx, id, from)
}
func (d *desk) Cancel(ctx context.Context, id string) error {
	return of{d, control.Whose{}}.Cancel(ctx, id)
}

func (o of) List(context.Context, int) (all []control.Call, err error) {
	for _, c := range o.calls {
		if o.whose.Has(c.Principal) {
			all = append(all, c)
		}
	}
	return all, nil
}

func (o of) Show(_ context.Context, id string) (control.Call, *a2e.CallResponse, error) {
	c, err := o.find(id, o.whose)
	if err != nil {
		return control.Call{}, nil, err
	}
	return *c, o.answers[c.ID], nil
}

func (o of) Events(_ context.Context, id string, from int) (all []a2e.Event, err error) {
	c, err := o.find(id, o.whose)
	if err != nil {
		return nil, err
	}
	for _, e := range o.events[c.ID] {
		if e.Seq >= from {
			all = append(all, e)
		}
	}
	return all, nil
}

func (o of) Cancel(_ context.Context, id string) error {
	c, err := o.find(id, o.whose)
	if err != nil {
		return err
	}
	if c.State.Terminal() {
		return control.ErrEnded
	}
	o.canceled = append(o.canceled, c.ID)
	return nil
}

func (d *desk) Search(_ context.Context, whose control.Whose, q control.CallQuery) (control.CallPage, error) {
	if q.Before != "" && q.Before != "older" {
		return control.CallPage{}, control.ErrCursor
	}
	var page control.CallPage
	for _, c := range d.calls {
		if whose.Has(c.Principal) && (q.Skill == "" || q.Skill == c.Skill) && (q.Principal == "" || q.Principal == c.Principal) {
			page.Calls = append(page.Calls, c)
		}
	}
	if q.Limit > 0 && len(page.Calls) > q.Limit {
		page.Calls, page.Next = page.Calls[:q.Limit], "older"
	}
	return page, nil
}

func (d *desk) Stats(context.Context, control.Whose, control.StatsQuery) (*control.Stats, error) {
	s := d.stats
	return &s, nil
}

func (d *desk) Request(_ context.Context, whose control.Whose, id string) (*control.Request, error) {
	c, err := d.find(id, whose)
	if err != nil {
		return nil, err
	}
	if r := d.requests[c.ID]; r != nil {
		return r, nil
	}
	return &control.Request{Missing: "it is not kept any more"}, nil
}

func (d *desk) Policy(_ context.Context, whose control.Whose, id string) (*control.Ran, error) {
	c, err := d.find(id, whose)
	if err != nil {
		return nil, err
	}
	return d.ran[c.ID], nil
}

func (d *desk) Pulse(context.Context) control.Pulse { return d.pulse }

// doorman knows tokens by their text.
type doorman map[string]auth.Identity

func (d doorman) Authenticate(_ context.Context, c auth.Credentials) (auth.Identity, error) {
	if c.Bearer.Empty() {
		return auth.Identity{}, auth.ErrMissing
	}
	if id, ok := d[c.Bearer.Reveal()]; ok {
		return id, nil
	}
	return auth.Identity{}, auth.ErrRefused
}

// browser is a client that keeps cookies and sends the mark that forms have.
type browser struct {
	t      *testing.T
	h      http.Handler
	cookie string
	mark   string
	htmx   bool
}

func open(t *testing.T, o Options) *browser {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, h: c}
}

var markIn = regexp.MustCompile(`"X-CSRF-Token": "([^"]*)"`)

func (b *browser) do(r *http.Request) *httptest.ResponseRecorder {
	b.t.Helper()
	if b.cookie != "" {
		r.AddCookie(&http.Cookie{Name: cookieName, Value: b.cookie})
	}
	if b.htmx {
		r.Header.Set("HX-Request", "true")
	}
	w := httptest.NewRecorder()
	b.h.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if c.Name == cookieName {
			b.cookie = c.Value
		}
	}
	if m := markIn.FindStringSubmatch(w.Body.String()); m != nil {
		b.mark = m[1]
	}
	return w
}

func (b *browser) get(path string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.do(httptest.NewRequest("GET", path, nil))
}

// post sends a form: key, value, ...
func (b *browser) post(path string, fields ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	form := url.Values{"csrf": {b.mark}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r := httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(r)
}

func empty() Options { d := &desk{}; return Options{Control: d, Book: d, Pulse: d} }

func TestPagesWithoutSignIn(t *testing.T) {
	b := open(t, empty())
	w := b.get("/console/")
	if w.Code != 200 || !strings.Contains(w.Body.String(), "<h1>Overview</h1>") || !strings.Contains(w.Header().Get("Content-Security-Policy"), "script-src 'self'") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if strings.Contains(w.Body.String(), "Sign out") {
		t.Error("nobody has signed in")
	}
	if w := b.get("/console"); w.Code != 303 || w.Header().Get("Location") != "/console/" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := b.get("/console/nothing"); w.Code != 404 || !strings.Contains(w.Body.String(), "No such page") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := b.get("/console/login?next=/console/calls"); w.Code != 303 || w.Header().Get("Location") != "/console/calls" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestSigningIn(t *testing.T) {
	o := empty()
	men := doorman{"tok": {Principal: "alice", Scopes: []auth.Scope{auth.Calls}}, "weak": {Principal: "bob", Scopes: []auth.Scope{auth.SkillsRead}}}
	o.Auth = men
	b := open(t, o)
	if w := b.get("/console/?a=b"); w.Code != 303 || w.Header().Get("Location") != "/console/login?next=%2Fconsole%2F%3Fa%3Db" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	w := b.get("/console/login?next=/console/calls")
	if w.Code != 200 || b.mark == "" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	before := b.cookie
	if w := b.post("/console/login", "token", "nonsense"); w.Code != 401 || strings.Contains(w.Body.String(), "nonsense") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := b.post("/console/login", "token", "tok", "next", "//evil.example/"); w.Code != 303 || w.Header().Get("Location") != "/console/" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if b.cookie == before {
		t.Error("the cookie from before the sign-in is still good")
	}
	if w := b.get("/console/"); w.Code != 200 || !strings.Contains(w.Body.String(), "alice") || !strings.Contains(w.Body.String(), "Sign out") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	delete(men, "tok") // revoked
	if w := b.get("/console/"); w.Code != 303 {
		t.Errorf("a revoked token: %d", w.Code)
	}
	b.get("/console/login")
	b.post("/console/login", "token", "weak")
	if w := b.get("/console/"); w.Code != 403 || !strings.Contains(w.Body.String(), "calls") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := b.post("/console/logout"); w.Code != 303 {
		t.Errorf("%d", w.Code)
	}
	if w := b.get("/console/"); w.Code != 303 {
		t.Errorf("after signing out: %d", w.Code)
	}
}

func TestForgedForms(t *testing.T) {
	o := empty()
	o.Auth = doorman{"tok": {Principal: "alice", Scopes: []auth.Scope{auth.Calls}}}
	b := open(t, o)
	b.get("/console/login")
	b.post("/console/login", "token", "tok")
	b.get("/console/")
	good := b.mark
	for _, mark := range []string{"", "x", good[1:], (&Console{key: []byte("k")}).markOf(b.cookie)} {
		b.mark = mark
		if w := b.post("/console/logout"); w.Code != 403 || !strings.Contains(w.Body.String(), "too old") {
			t.Errorf("%q: %d %s", mark, w.Code, w.Body)
		}
	}
	b.mark = good
	if w := b.post("/console/logout"); w.Code != 303 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestInside(t *testing.T) {
	for next, want := range map[string]string{
		"/console/calls?skill=x": "/console/calls?skill=x", "": "/console/", "https://evil.example/console/": "/console/", "//evil.example/console/": "/console/",
		"/console/../api": "/console/", "/consolex": "/console/", `/console/\evil`: "/console/", "javascript:alert(1)": "/console/", "/console//evil": "/console/",
	} {
		if got := inside(next); got != want {
			t.Errorf("%q: %q, want %q", next, got, want)
		}
	}
}

// send sends a form as it is.
func (b *browser) send(path string, form url.Values) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(r)
}

// A page's templates are read when it is asked for, so that a mistake in one would be seen late.
func TestEachPageCanBeRead(t *testing.T) {
	d, err := draw()
	if err != nil || len(d.pages) < 20 {
		t.Fatal(len(d.pages), err)
	}
	for name, read := range d.pages {
		page, err := read()
		if err != nil {
			t.Error(err)
			continue
		}
		if page.Lookup("frame") == nil || page.Lookup("content") == nil {
			t.Errorf("page %s has%s", name, page.DefinedTemplates())
		}
	}
}
