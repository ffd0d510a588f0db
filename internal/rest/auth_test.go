package rest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// doorkeeper knows tokens by their texts.
type doorkeeper map[string]auth.Identity

var errDisk = errors.New("disk /secret is full")

func (d doorkeeper) Authenticate(_ context.Context, c auth.Credentials) (auth.Identity, error) {
	id, ok := d[c.Bearer.Reveal()]
	switch {
	case c.Bearer.Empty():
		return auth.Identity{}, auth.ErrMissing
	case c.Bearer.Reveal() == "broken":
		return auth.Identity{}, errDisk
	case !ok:
		return auth.Identity{}, auth.ErrRefused
	}
	return id, nil
}

var house = doorkeeper{
	"alice": {Principal: "alice", Scopes: []auth.Scope{auth.Calls}},
	"reads": {Principal: "alice", Scopes: []auth.Scope{auth.SkillsRead}},
	"root":  {Principal: "root", Scopes: []auth.Scope{auth.Admin}},
}

func shows(values ...string) func(*http.Request) {
	return func(r *http.Request) {
		for _, v := range values {
			r.Header.Add("Authorization", v)
		}
	}
}

func TestTokensAreWanted(t *testing.T) {
	const realm = `Bearer realm="hotcell"`
	for name, tt := range map[string]struct {
		method, target string
		shown          []string
		status         int
		challenge      string
		whose          []string
	}{
		"none":              {"GET", "/v1/calls", nil, 401, realm, nil},
		"bad":               {"GET", "/v1/calls", []string{"Bearer mallory"}, 401, realm + `, error="invalid_token"`, nil},
		"basic":             {"GET", "/v1/calls", []string{"Basic YWxpY2U6"}, 401, realm + `, error="invalid_token"`, nil},
		"no scheme":         {"GET", "/v1/calls", []string{"alice"}, 401, realm + `, error="invalid_token"`, nil},
		"empty":             {"GET", "/v1/calls", []string{"Bearer "}, 401, realm + `, error="invalid_token"`, nil},
		"two":               {"GET", "/v1/calls", []string{"Bearer alice", "Bearer alice"}, 401, realm + `, error="invalid_token"`, nil},
		"no scope":          {"GET", "/v1/calls", []string{"Bearer reads"}, 403, realm + `, error="insufficient_scope", scope="calls"`, nil},
		"store is broken":   {"GET", "/v1/calls", []string{"Bearer broken"}, 503, "", nil},
		"list":              {"GET", "/v1/calls", []string{"Bearer alice"}, 200, "", []string{"alice"}},
		"list of all":       {"GET", "/v1/calls", []string{"bearer root"}, 200, "", nil},
		"show":              {"GET", "/v1/calls/x", []string{"Bearer alice"}, 200, "", []string{"alice"}},
		"show unknown":      {"GET", "/v1/calls/x", nil, 401, realm, nil},
		"events":            {"GET", "/v1/calls/x/events", []string{"Bearer alice"}, 200, "", []string{"alice"}},
		"events of nobody":  {"GET", "/v1/calls/x/events", nil, 401, realm, nil},
		"cancel":            {"DELETE", "/v1/calls/x", []string{"Bearer alice"}, 202, "", []string{"alice"}},
		"cancel by nobody":  {"DELETE", "/v1/calls/x", nil, 401, realm, nil},
		"metrics":           {"GET", "/metrics", []string{"Bearer root"}, 200, "", nil},
		"metrics of others": {"GET", "/metrics", []string{"Bearer alice"}, 403, realm + `, error="insufficient_scope", scope="admin"`, nil},
		"health":            {"GET", "/healthz", nil, 200, "", nil},
		"ready":             {"GET", "/readyz", nil, 503, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			f := fake{calls: []control.Call{aCall()}}
			h := New(Options{
				Control: &f, Auth: house, Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
				Ready: func(context.Context) error { return errors.New("engine of 10.1.2.3") },
				Log:   slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			})
			w := ask(h, tt.method, tt.target, shows(tt.shown...))
			if w.Code != tt.status || w.Header().Get("WWW-Authenticate") != tt.challenge {
				t.Errorf("status %d, challenge %s\n%s", w.Code, w.Header().Get("WWW-Authenticate"), w.Body)
			}
			if d := cmp.Diff(tt.whose, f.whose); d != "" {
				t.Error(d)
			}
			if tt.status >= 400 && len(f.asked) > 0 {
				t.Errorf("the supervisor was asked: %v", f.asked)
			}
			for _, s := range tt.shown {
				_, token, _ := strings.Cut(s, " ")
				if said := log.String() + w.Body.String(); token != "" && token != "alice" && strings.Contains(said, token) {
					t.Errorf("a token was told: %s", said)
				}
			}
			if strings.Contains(w.Body.String(), "/secret") || strings.Contains(w.Body.String(), "10.1.2.3") {
				t.Errorf("too much is told: %s", w.Body)
			}
		})
	}
}

func TestWhyNotReadyIsForAdmins(t *testing.T) {
	h := New(Options{Control: &fake{}, Auth: house, Ready: func(context.Context) error { return errors.New("no engine") }})
	for shown, want := range map[string]bool{"Bearer root": true, "Bearer alice": false, "Bearer x": false} {
		if w := ask(h, "GET", "/readyz", shows(shown)); strings.Contains(w.Body.String(), "no engine") != want {
			t.Errorf("%s: %s", shown, w.Body)
		}
	}
}

func TestTheClientShowsItsToken(t *testing.T) {
	srv := httptest.NewServer(New(Options{Control: &fake{}, Auth: house}))
	defer srv.Close()
	for text, want := range map[string]error{"": auth.ErrMissing, "mallory": auth.ErrRefused, "reads": auth.ErrScope, "alice": nil} {
		c, err := NewClient(srv.URL, auth.NewSecret(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.List(t.Context(), 1); !errors.Is(err, want) || err != nil && strings.Contains(err.Error(), "mallory") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A literal address in Host is taken when it is the one that the client connected to: another one may be anybody's.
func TestHostIsTheAddressThatWasReached(t *testing.T) {
	h := guard(nil, bodies(nil), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	at := func(ip string) context.Context {
		return context.WithValue(context.Background(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.ParseIP(ip), Port: 8765}))
	}
	for host, tt := range map[string]struct {
		local string
		want  int
	}{
		"10.1.2.3:8765":          {"10.1.2.3", 200},
		"10.1.2.3":               {"::ffff:10.1.2.3", 200},
		"[2001:db8::1]:8765":     {"2001:db8::1", 200},
		"10.1.2.4:8765":          {"10.1.2.3", 421},
		"evil.example:8765":      {"10.1.2.3", 421},
		"10.1.2.3.evil.example":  {"10.1.2.3", 421},
		"[2001:db8::1%eth0]:876": {"2001:db8::1", 421},
		"":                       {"10.1.2.3", 421},
	} {
		r := httptest.NewRequest("GET", "/", nil).WithContext(at(tt.local))
		r.Host = host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != tt.want {
			t.Errorf("%q at %s: status %d, want %d", host, tt.local, w.Code, tt.want)
		}
	}
}

// Whatever Authorization says, it is none, or one token that has no blank before it.
func FuzzBearer(f *testing.F) {
	for _, s := range []string{"", "Bearer x", "bearer  x", "Basic eDp5", "Bearer", "Bearer \t", "Bearer a b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["Authorization"] = []string{s}
		got := bearer(r).Reveal()
		if got == "" || strings.HasPrefix(got, " ") || got != "none" && !strings.HasSuffix(s, got) {
			t.Errorf("%q is %q", s, got)
		}
	})
}

// One principal's requests leave room for others', however many it has under way.
func TestOnePrincipalLeavesRoom(t *testing.T) {
	a := newAPI(Options{Control: &fake{}, Auth: house})
	serve := a.needs(auth.Calls, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	as := func(token string) *httptest.ResponseRecorder {
		return ask(serve, "GET", "/v1/calls", shows("Bearer "+token))
	}
	done, ok := a.requests.Take("alice", maxConns/2)
	if !ok {
		t.Fatal("no room at all")
	}
	if w := as("alice"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"busy"`) {
		t.Errorf("one more: %d %s", w.Code, w.Body)
	}
	if w := as("root"); w.Code != http.StatusNoContent {
		t.Errorf("another: %d %s", w.Code, w.Body)
	}
	done()
	for range 2 {
		if w := as("alice"); w.Code != http.StatusNoContent {
			t.Errorf("later: %d %s", w.Code, w.Body)
		}
	}
}
