package a2ehost

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

func newWebKeeper() *doorkeeper {
	keeper := newDoorkeeper()
	keeper.tokens["bobs-key"] = auth.Identity{Principal: "bob", Scopes: []auth.Scope{auth.Calls}}
	keeper.tokens["alices-other-key"] = auth.Identity{Principal: "alice", Scopes: []auth.Scope{auth.SkillsRead}}
	return keeper
}

func serveKeyed(t *testing.T, opt WebOptions) (*webDoor, *fake, *doorkeeper) {
	f, keeper := newFake(), newWebKeeper()
	return serveWeb(t, newHost(t, Options{Handler: f, Auth: keeper, Door: "http"}), opt), f, keeper
}

// A client that can't send headers shows its token in the handshake; without it nothing runs.
func TestAHandshakeOverHTTP(t *testing.T) {
	d, f, keeper := serveKeyed(t, WebOptions{})
	p := d.session("")
	st := p.connect()
	p.send(callLine("c0", "echo"))
	if got := heard[*a2e.CallResponse](st); got.Error == nil || got.Error.Code != a2e.Unauthorized {
		t.Errorf("before the handshake: %+v", got)
	}
	p.send(shake("me", "alices-key"), callLine("c1", "echo"))
	if got := heard[*a2e.HandshakeResponse](st); !got.OK || got.SessionID != p.id {
		t.Errorf("handshake = %+v", got)
	}
	heard[*a2e.CallResponse](st)
	want := []a2e.Caller{{Principal: "alice", Agent: "me", Door: "http", Groups: map[string]string{"team": "admin"}}}
	if diff := cmp.Diff(want, f.saw); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	keeper.revoke("alices-key")
	p.send(callLine("c2", "echo"))
	if got := heard[*a2e.CallResponse](st); got.Error == nil || got.Error.Code != a2e.Unauthorized {
		t.Errorf("after the revocation: %+v", got)
	}
	p.drop()
	if st, code := p.tryConnect(); st != nil || code != http.StatusUnauthorized {
		t.Errorf("a stream after the revocation = %d", code)
	}
}

func TestARefusedHandshakeEndsTheSession(t *testing.T) {
	d, f, _ := serveKeyed(t, WebOptions{})
	for name, line := range map[string]string{"bad": shake("", "mallorys-key"), "another agent": shake("intruder", "bound-key")} {
		p := d.session("")
		st := p.connect()
		p.send(line)
		if got := heard[*a2e.HandshakeResponse](st); got.OK || got.Reason != reasonAuth || len(got.AcceptedCaps) != 0 {
			t.Errorf("%s: handshake = %+v", name, got)
		}
		if _, err := st.line(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: the stream ended with %v", name, err)
		}
		p.drop()
	}
	if len(f.saw) != 0 {
		t.Errorf("the handler saw %+v", f.saw)
	}
}

// A session id is of no use to another principal, and does not tell whether it is one.
func TestASessionIsItsPrincipals(t *testing.T) {
	d, f, _ := serveKeyed(t, WebOptions{})
	byHeader, byHandshake := d.session("alices-key"), d.session("")
	st := byHandshake.connect()
	byHandshake.send(shake("", "alices-key"))
	heard[*a2e.HandshakeResponse](st)
	_, none, _ := d.do("POST", "/send", ping("p"), map[string]string{sessionHeader: strings.Repeat("f", 32), "Authorization": "Bearer bobs-key"})
	for _, id := range []string{byHeader.id, byHandshake.id} {
		thief := &webPeer{t: t, d: d, id: id, token: "bobs-key"}
		if code, body := thief.post(callLine("c1", "echo")); code != http.StatusNotFound || body != none {
			t.Errorf("another's POST = %d %s, want %s", code, body, none)
		}
		if st, code := thief.tryConnect(); st != nil || code != http.StatusNotFound {
			t.Errorf("another's stream = %d", code)
		}
		thief.token = "mallorys-key"
		if code, body := thief.post(callLine("c1", "echo")); code != http.StatusUnauthorized || strings.Contains(body, "mallory") {
			t.Errorf("with a bad token: %d %s", code, body)
		}
	}
	if code, body := (&webPeer{t: t, d: d, id: byHeader.id}).post(ping("p")); code != http.StatusUnauthorized {
		t.Errorf("without the token: %d %s", code, body)
	}
	byHandshake.send(shake("", "bobs-key"))
	if got := heard[*a2e.HandshakeResponse](st); got.OK || got.Reason != reasonAuth {
		t.Errorf("another's handshake = %+v", got)
	}
	if len(f.saw) != 0 {
		t.Errorf("the handler saw %+v", f.saw)
	}
}

// The header stands for the handshake, and each request for itself.
func TestTheHeaderOfARequestCounts(t *testing.T) {
	d, f, keeper := serveKeyed(t, WebOptions{})
	p := d.session("alices-key")
	st := p.connect()
	p.send(callLine("c1", "echo"))
	heard[*a2e.CallResponse](st)
	p.token = "alices-other-key" // of the same principal, without the scope
	p.send(callLine("c2", "echo"))
	if got := heard[*a2e.CallResponse](st); got.Error == nil || got.Error.Code != a2e.Unauthorized {
		t.Errorf("answer = %+v", got)
	}
	p.token = "bound-key" // speaks for an agent that the session does not have
	if code, _ := p.post(callLine("c3", "echo")); code != http.StatusNotFound {
		t.Errorf("another agent's POST = %d", code)
	}
	p.token = "alices-key"
	keeper.revoke("alices-key")
	if code, _ := p.post(callLine("c4", "echo")); code != http.StatusUnauthorized {
		t.Errorf("after the revocation: %d", code)
	}
	if len(f.saw) != 1 || f.saw[0].Principal != "alice" {
		t.Errorf("the handler saw %+v", f.saw)
	}
}

// A stream ends soon after its token, whether that was shown in the handshake or comes with each request.
func TestAStreamEndsWithItsToken(t *testing.T) {
	for _, token := range []string{"", "alices-key"} {
		d, _, keeper := serveKeyed(t, WebOptions{Recheck: 5 * time.Millisecond})
		p := d.session(token)
		st := p.connect()
		if token == "" {
			p.send(shake("me", "alices-key"))
			if got := heard[*a2e.HandshakeResponse](st); !got.OK {
				t.Fatalf("handshake = %+v", got)
			}
		}
		p.send(callLine("c1", "echo"))
		heard[*a2e.CallResponse](st)
		keeper.revoke("alices-key")
		late := time.AfterFunc(time.Minute, st.end)
		if rest, err := io.ReadAll(st.r); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("token %q: the stream said %q, %v", token, rest, err)
		}
		late.Stop()
	}
}

// Upstream's client asks for its session before it sets its headers.
func TestASessionIsTakenByTheFirstToken(t *testing.T) {
	d, f, _ := serveKeyed(t, WebOptions{})
	p := d.session("")
	p.token = "bound-key"
	st := p.connect()
	p.send(callLine("c1", "echo"))
	heard[*a2e.CallResponse](st)
	if len(f.saw) != 1 || f.saw[0].Agent != "reviewer" {
		t.Errorf("the handler saw %+v", f.saw)
	}
	p.token = ""
	if code, _ := p.post(callLine("c2", "echo")); code != http.StatusUnauthorized {
		t.Errorf("without the token: %d", code)
	}
}

func TestAnAgentKeepsItsSession(t *testing.T) {
	f := newFake()
	d := serveWeb(t, newHost(t, Options{Handler: f, Door: "http"}), WebOptions{})
	p := d.session("")
	st := p.connect()
	p.send(shake("me", "ignored"), callLine("c1", "echo"))
	if got := heard[*a2e.HandshakeResponse](st); !got.OK {
		t.Errorf("handshake = %+v", got)
	}
	heard[*a2e.CallResponse](st)
	if len(f.saw) != 1 || f.saw[0].Agent != "me" || f.saw[0].Principal != "" {
		t.Errorf("the handler saw %+v", f.saw)
	}
}

func TestTokensThatCannotBeChecked(t *testing.T) {
	var log bytes.Buffer
	keeper := newWebKeeper()
	d := serveWeb(t, newHost(t, Options{Handler: newFake(), Auth: keeper, Door: "http", Log: testLog(&log)}), WebOptions{})
	p := d.session("alices-key")
	keeper.mu.Lock()
	keeper.err = errors.New("disk /secret")
	keeper.mu.Unlock()
	for _, path := range []string{"/session", "/send"} {
		if code, body, _ := d.do("POST", path, ping("p"), p.header()); code != http.StatusServiceUnavailable || strings.Contains(body, "secret") {
			t.Errorf("%s = %d %s", path, code, body)
		}
	}
	d.stop()
	if strings.Contains(log.String(), "-key") || strings.Contains(log.String(), p.id) {
		t.Errorf("the log has a token or a session's id: %s", log.String())
	}
}
