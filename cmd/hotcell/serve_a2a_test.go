package main

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/a2ahost"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/front"
)

// shelfOfOne has one skill for everybody.
type shelfOfOne struct{ catalog.Reader }

func (shelfOfOne) Callable(context.Context, a2e.Caller) ([]catalog.Entry, error) {
	return []catalog.Entry{{Definition: a2e.Definition{Name: "probe", Description: "Probes.", Status: a2e.StatusPublished}, Shared: true}}, nil
}
func (shelfOfOne) Version() uint64 { return 1 }

// doorman knows two tokens, of which one is good for calls.
type doorman struct{}

func (doorman) Authenticate(_ context.Context, c auth.Credentials) (auth.Identity, error) {
	switch {
	case c.Bearer.Empty():
		return auth.Identity{}, auth.ErrMissing
	case c.Bearer.Reveal() == "caller":
		return auth.Identity{Principal: "alice", Scopes: []auth.Scope{auth.Calls}}, nil
	case c.Bearer.Reveal() == "reader":
		return auth.Identity{Principal: "bob", Scopes: []auth.Scope{auth.SkillsRead}}, nil
	}
	return auth.Identity{}, auth.ErrRefused
}

// a2aListener serves A2A as the daemon does.
func a2aListener(t *testing.T, cfg *config.Config, who auth.Authenticator) *httptest.Server {
	t.Helper()
	super := &fakeSupervisor{run: func(_ context.Context, req *a2e.CallRequest, _ fs.FS, _ a2e.EventWriter) *a2e.CallResponse {
		return &a2e.CallResponse{ReqID: req.ID, Name: req.Name, Data: &a2e.Result{Success: true, Data: "probed"}}
	}}
	web, err := front.New(front.Options{Config: cfg, Supervisor: super, Reader: shelfOfOne{}, Auth: who, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(web)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- web.Run(ctx) }()
	t.Cleanup(func() {
		srv.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return srv
}

// ask sends a request, and returns its status, its header and its body.
func ask(t *testing.T, srv *httptest.Server, method, path, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequest(method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body == "" {
		req.Body, req.ContentLength = http.NoBody, 0
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	req.Host = req.Header.Get("Host")
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

const a2aMessage = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{}}]}}`

func TestA2AWantsTokens(t *testing.T) {
	cfg := &config.Config{Listen: "127.0.0.1:0", Auth: config.Auth{Mode: config.AuthToken}}
	srv := a2aListener(t, cfg, doorman{})
	code, header, card := ask(t, srv, "GET", "/.well-known/agent-card.json", "")
	if code != 200 || !strings.Contains(card, `"httpAuthSecurityScheme":{"`) || !strings.Contains(card, `"probe"`) || !strings.Contains(header.Get("Cache-Control"), "max-age") {
		t.Errorf("the card is everybody's: %d %v %s", code, header, card)
	}
	for _, path := range []string{"/a2a/message:send", "/a2a/message:stream", "/a2a/rpc", "/a2a/rpc/", "/a2a/tenant/message:send"} {
		if code, header, _ := ask(t, srv, "POST", path, a2aMessage); code != 401 || header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s without a token: %d", path, code)
		}
		if code, _, _ := ask(t, srv, "POST", path, a2aMessage, "Authorization", "Bearer nonsense"); code != 401 {
			t.Errorf("%s with another token: %d", path, code)
		}
		if code, _, _ := ask(t, srv, "POST", path, a2aMessage, "Authorization", "Bearer reader"); code != 403 {
			t.Errorf("%s without the scope: %d", path, code)
		}
	}
	for _, path := range []string{"/a2a/tasks", "/a2a/tasks/x", "/a2a/extendedAgentCard"} {
		if code, _, _ := ask(t, srv, "GET", path, ""); code != 401 {
			t.Errorf("%s without a token: %d", path, code)
		}
	}
	code, _, body := ask(t, srv, "POST", "/a2a/message:send", a2aMessage, "Authorization", "Bearer caller")
	if code != 200 || !strings.Contains(body, `"data":"probed"`) {
		t.Errorf("got %d %s", code, body)
	}
	if code, _, body := ask(t, srv, "GET", "/a2a/extendedAgentCard", "", "Authorization", "Bearer caller"); code != 200 || !strings.Contains(body, `"probe"`) {
		t.Errorf("got %d %s", code, body)
	}
}

func TestA2ASecurity(t *testing.T) {
	for mode, want := range map[string]a2ahost.Security{
		config.AuthNone: {}, config.AuthToken: {Tokens: true}, config.AuthOIDC: {Tokens: true, Issuer: "https://i.example"},
	} {
		cfg := &config.Config{Auth: config.Auth{Mode: mode, OIDC: config.OIDC{Issuer: "https://i.example"}}}
		if got := front.Security(cfg); got != want {
			t.Errorf("%s: got %+v", mode, got)
		}
	}
}

// The listener's rules hold for this door, and what it has to refuse itself gets in.
func TestA2AOnTheListener(t *testing.T) {
	srv := a2aListener(t, &config.Config{Listen: "127.0.0.1:0", Auth: config.Auth{Mode: config.AuthNone}}, nil)
	for name, test := range map[string]struct {
		method, path, body string
		headers            []string
		code               int
		want               string
	}{
		"another host":       {"POST", "/a2a/rpc", a2aMessage, []string{"Host", "evil.example"}, 421, "host_not_allowed"},
		"another host, card": {"GET", "/.well-known/agent-card.json", "", []string{"Host", "evil.example"}, 421, "host_not_allowed"},
		"another origin":     {"POST", "/a2a/rpc", a2aMessage, []string{"Origin", "https://evil.example"}, 403, "origin_not_allowed"},
		"another type":       {"POST", "/a2a/rpc", a2aMessage, []string{"Content-Type", "text/plain"}, 200, "-32005"},
		"a form":             {"POST", "/a2a/rpc", "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"},
		"no body":            {"POST", "/a2a/tasks/x:cancel", "", nil, 404, "TASK_NOT_FOUND"},
		"no body, subscribe": {"POST", "/a2a/tasks/x:subscribe", "", nil, 404, "TASK_NOT_FOUND"},
		"too much":           {"POST", "/a2a/message:send", strings.Repeat(" ", 2<<20), nil, 413, "too_large"},
		"no version":         {"GET", "/a2a/tasks", "", nil, 200, "nextPageToken"},
		"an old version":     {"GET", "/a2a/tasks", "", []string{"A2A-Version", "0.3"}, 400, "VERSION_NOT_SUPPORTED"},
		"no card with a key": {"GET", "/a2a/extendedAgentCard", "", nil, 400, "UNSUPPORTED_OPERATION"},
	} {
		if code, _, body := ask(t, srv, test.method, test.path, test.body, test.headers...); code != test.code || !strings.Contains(body, test.want) {
			t.Errorf("%s: got %d %s", name, code, body)
		}
	}
	_, _, card := ask(t, srv, "GET", "/.well-known/agent-card.json", "")
	if strings.Contains(card, "securitySchemes") || !strings.Contains(card, srv.URL+"/a2a/rpc") {
		t.Errorf("got %s", card)
	}
	elsewhere := a2aListener(t, &config.Config{Listen: "0.0.0.0:0", Auth: config.Auth{Mode: config.AuthToken}, A2A: config.A2A{URL: "https://cells.example"}}, doorman{})
	if code, _, body := ask(t, elsewhere, "GET", "/a2a/tasks", "", "Authorization", "Bearer caller"); code != 400 || !strings.Contains(body, "VERSION_NOT_SUPPORTED") {
		t.Errorf("a request without a version means 0.3: %d %s", code, body)
	}
	if _, _, card := ask(t, elsewhere, "GET", "/.well-known/agent-card.json", ""); !strings.Contains(card, `"https://cells.example/a2a/rpc"`) {
		t.Errorf("got %s", card)
	}
}
