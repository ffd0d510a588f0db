package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// ledger is an audit of one row.
type ledger struct {
	asked  control.AuditQuery
	anchor control.AuditHead
	enter  chan struct{} // closed once somebody verifies
	leave  chan struct{}
}

func (l *ledger) AuditRows(_ context.Context, q control.AuditQuery) ([]control.AuditRow, error) {
	l.asked = q
	return []control.AuditRow{{N: 7, At: time.Unix(1, 0).UTC(), Kind: "call.end", Data: json.RawMessage(`{}`), Hash: control.Sum{1, 2}}}, nil
}

func (l *ledger) VerifyAudit(_ context.Context, anchor control.AuditHead) (control.AuditReport, error) {
	l.anchor = anchor
	if l.enter != nil {
		close(l.enter)
		<-l.leave
	}
	return control.AuditReport{OK: true, Rows: 1}, nil
}

// keyring knows two tokens.
type keyring struct{}

func (keyring) Authenticate(_ context.Context, c auth.Credentials) (auth.Identity, error) {
	scope := auth.Calls
	if c.Bearer.Reveal() == "ops" {
		scope = auth.Admin
	}
	return auth.Identity{Principal: c.Bearer.Reveal(), Scopes: []auth.Scope{scope}}, nil
}

func auditDoor(l control.Auditor) func(target, token string) (int, string) {
	door := New(Options{Control: &fake{}, Auth: keyring{}, Audit: l})
	return func(target, token string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+target, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		door.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
}

func TestAuditOverHTTP(t *testing.T) {
	l := &ledger{}
	get := auditDoor(l)
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for target, want := range map[string]control.AuditQuery{
		"/v1/audit":                  {Limit: 100, Newest: true},
		"/v1/audit?after=0&limit=5":  {Limit: 5},
		"/v1/audit?before=9":         {Limit: 100, Before: 9, Newest: true},
		"/v1/audit?after=3&before=9": {Limit: 100, After: 3, Before: 9},
		"/v1/audit?since=2030-01-02T03:04:05Z&until=2030-01-02T03:04:05Z&principal=p&skill=s&kind=k&call=c": {
			Limit: 100, Newest: true, Since: at, Until: at, Principal: "p", Skill: "s", Kind: "k", Call: "c",
		},
	} {
		code, body := get(target, "ops")
		if code != http.StatusOK || body != `{"rows":[{"n":7,"at":"1970-01-01T00:00:01Z","kind":"call.end","data":{},"hash":"0102"}]}`+"\n" {
			t.Errorf("%s: %d %s", target, code, body)
		}
		if d := cmp.Diff(want, l.asked); d != "" {
			t.Errorf("%s (-want +got):\n%s", target, d)
		}
	}
	if code, body := get("/v1/audit?limit=0", "ops"); code != http.StatusOK || body != `{"rows":[]}`+"\n" {
		t.Errorf("none: %d %s", code, body)
	}
	hash := strings.Repeat("ab", 32)
	if code, body := get("/v1/audit/verify?head=7:"+hash, "ops"); code != http.StatusOK || !strings.Contains(body, `"ok":true`) || l.anchor.String() != "7:"+hash {
		t.Errorf("verify: %d %s, %s", code, body, l.anchor)
	}
	for _, target := range []string{
		"/v1/audit?limit=1001", "/v1/audit?after=-1", "/v1/audit?after=x", "/v1/audit?before=", "/v1/audit?since=now", "/v1/audit?skill=" + strings.Repeat("x", 257),
		"/v1/audit/verify?head=", "/v1/audit/verify?head=7", "/v1/audit/verify?head=0:" + hash, "/v1/audit/verify?head=7:xyz", "/v1/audit/verify?head=7:abcd",
	} {
		if code, body := get(target, "ops"); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", target, code, body)
		}
		if code, body := get(target, "alice"); code != http.StatusForbidden {
			t.Errorf("%s by a caller: %d %s", target, code, body)
		}
	}
}

// The whole chain is read by one request at a time.
func TestOneVerifiesAtATime(t *testing.T) {
	l := &ledger{enter: make(chan struct{}), leave: make(chan struct{})}
	get := auditDoor(l)
	first := make(chan int)
	go func() { code, _ := get("/v1/audit/verify", "ops"); first <- code }()
	<-l.enter
	if code, body := get("/v1/audit/verify", "ops"); code != http.StatusServiceUnavailable || !strings.Contains(body, "busy") {
		t.Errorf("the second: %d %s", code, body)
	}
	close(l.leave)
	if code := <-first; code != http.StatusOK {
		t.Errorf("the first: %d", code)
	}
}
