package mcphost

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/testutil"
)

const (
	hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	ready = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ask   = `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
)

// plain is a client that can send anything.
type plain struct {
	t        *testing.T
	endpoint string
	client   *http.Client
	session  string
}

func newPlain(t *testing.T, r *rig, who auth.Identity) *plain {
	p := &plain{t: t, endpoint: listen(t, r, who), client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(p.client.CloseIdleConnections)
	return p
}

func (p *plain) request(ctx context.Context, method, body string, header ...string) *http.Response {
	p.t.Helper()
	resp, err := p.client.Do(p.build(ctx, method, body, header...))
	if err != nil {
		p.t.Error(err)
		return &http.Response{Body: http.NoBody, Header: http.Header{}}
	}
	p.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func (p *plain) build(ctx context.Context, method, body string, header ...string) *http.Request {
	p.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, p.endpoint, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if p.session != "" {
		req.Header.Set(sessionHeader, p.session)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

// post returns status and whole answer.
func (p *plain) post(body string, header ...string) (int, string) {
	p.t.Helper()
	resp := p.request(p.t.Context(), "POST", body, header...)
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Error(err)
	}
	return resp.StatusCode, string(b)
}

func (p *plain) open() *plain {
	p.t.Helper()
	resp := p.request(p.t.Context(), "POST", hello)
	_, _ = io.Copy(io.Discard, resp.Body)
	if p.session = resp.Header.Get(sessionHeader); resp.StatusCode != 200 || p.session == "" {
		p.t.Fatalf("no session: %s", resp.Status)
	}
	if status, body := p.post(ready); status != 202 {
		p.t.Fatalf("%d %s", status, body)
	}
	return p
}

// A session is there for the identity that opened it and for nobody else, in the same words as one that never was.
func TestSessionsBelongToWhoOpenedThem(t *testing.T) {
	r := newRig(t, skill("a"))
	hers := newPlain(t, r, alice).open()
	if status, body := hers.post(ask); status != 200 || !strings.Contains(body, `"name":"a"`) {
		t.Fatalf("%d %s", status, body)
	}
	group := auth.Identity{Principal: "alice", Scopes: []auth.Scope{auth.Calls}, Groups: []auth.Membership{{Group: "g", Role: auth.RoleOwner}}}
	for name, who := range map[string]auth.Identity{
		"bob": {Principal: "bob", Scopes: []auth.Scope{auth.Calls}}, "an admin": {Principal: "root", Scopes: []auth.Scope{auth.Admin}}, "nobody": {},
		"another agent": {Principal: "alice", Agent: "x", Scopes: []auth.Scope{auth.Calls}}, "another scope": {Principal: "alice", Scopes: []auth.Scope{auth.Admin}},
		"another group": group,
	} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			other := newPlain(t, r, who)
			answer := func(session string) string {
				other.session = session
				resp := other.request(t.Context(), method, map[string]string{"POST": ask}[method])
				b, _ := io.ReadAll(resp.Body)
				return resp.Status + " " + string(b)
			}
			theirs, none := answer(hers.session), answer("NOSUCHSESSION")
			if theirs != none || !strings.HasPrefix(theirs, "404 ") || !json.Valid([]byte(theirs[len("404 Not Found "):])) {
				t.Errorf("%s, %s: %s, and for none: %s", name, method, theirs, none)
			}
		}
	}
	same := auth.Identity{Principal: "alice", Scopes: []auth.Scope{auth.Calls}}
	again := newPlain(t, r, same)
	again.session = hers.session
	if status, _ := again.post(ask); status != 200 {
		t.Errorf("herself: %d", status)
	}
}

func TestOwnersAreTheWholeIdentity(t *testing.T) {
	a := auth.Identity{Scopes: []auth.Scope{"x", "y"}, Groups: []auth.Membership{{Group: "g"}, {Group: "h", Role: "r"}}}
	b := auth.Identity{Scopes: []auth.Scope{"y", "x"}, Groups: []auth.Membership{{Group: "h", Role: "r"}, {Group: "g"}}}
	if owner(a) != owner(b) {
		t.Error("the order makes a difference")
	}
	if a.Scopes[0] != "x" || a.Groups[0].Group != "g" {
		t.Error("an identity was changed")
	}
}

func TestWhatIsNoMessage(t *testing.T) {
	r := newRig(t, skill("a"))
	p := newPlain(t, r, alice)
	outside := []struct {
		body   string
		status int
		text   string
	}{
		{"", 400, "not JSON"}, {"{", 400, "not JSON"}, {"\x00", 400, "not JSON"}, {strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), 400, "not JSON"},
		{"{}", 400, "JSON-RPC"}, {"[]", 400, "1 to 64"}, {"7", 400, "JSON-RPC"}, {"null", 400, "JSON-RPC"}, {ask, 400, "initialize"}, {"[" + ask + "]", 400, "initialize"},
		{`{"method":"initialize"}`, 400, ""}, {`{"jsonrpc":"2.0","method":"initialize"}`, 400, ""}, {`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, 400, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`, 200, "error"},
		{"[" + strings.TrimSuffix(strings.Repeat(ask+",", maxBatch+1), ",") + "]", 400, "1 to 64"},
		{`"` + strings.Repeat("x", MaxBody) + `"`, 413, "larger than"},
	}
	for _, c := range outside {
		if status, body := p.post(c.body); status != c.status || !strings.Contains(body, c.text) {
			t.Errorf("%.60s: %d %.200s", c.body, status, body)
		}
	}
	testutil.Poll(t, time.Minute, func() bool { return r.count() == 0 }) // none of these opened a session
	p.open()
	for _, c := range outside[:9] {
		if status, body := p.post(c.body); c.body != ask && status != 400 {
			t.Errorf("in a session: %.60s: %d %.200s", c.body, status, body)
		}
	}
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":3,"method":"nonsense","params":{}}`, `{"jsonrpc":"2.0","id":4,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":7}}`, `{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":{}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":5}}`, `{"jsonrpc":"2.0","id":{},"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":8,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
	} {
		if status, answer := p.post(body); status >= 500 {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	if status, body := p.post(ask); status != 200 || !strings.Contains(body, `"name":"a"`) {
		t.Errorf("afterwards: %d %s", status, body)
	}
}

// count is how many sessions are open.
func (r *rig) count() int {
	r.sessions.mu.Lock()
	defer r.sessions.mu.Unlock()
	return len(r.sessions.sessions)
}

// Who opens more sessions than it may have loses the one that it did not use for longest, unless that has work to do.
func TestSessionsAreBounded(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	r := answering(t, func(context.Context, *a2e.CallRequest, say) *a2e.CallResponse {
		close(started)
		<-release
		return done("x")
	})
	p := newPlain(t, r, alice)
	busy := newPlain(t, r, alice).open()
	var calling sync.WaitGroup
	calling.Go(func() {
		if status, body := busy.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`); status != 200 || !strings.Contains(body, `"x"`) {
			t.Errorf("%d %s", status, body)
		}
	})
	<-started
	var ids []string
	for range maxOwn {
		p.session = ""
		ids = append(ids, p.open().session)
	}
	bob := newPlain(t, r, auth.Identity{Principal: "bob"}).open()
	if n := r.count(); n != maxOwn+1 {
		t.Errorf("%d sessions", n)
	}
	p.session = ids[0]
	if status, _ := p.post(ask); status != 404 {
		t.Errorf("the oldest: %d", status)
	}
	p.session = ids[1]
	if status, _ := p.post(ask); status != 200 {
		t.Errorf("the next one: %d", status)
	}
	if status, _ := bob.post(ask); status != 200 {
		t.Errorf("somebody else's: %d", status)
	}
	close(release)
	calling.Wait()
}

func TestTooManySessionsAtWork(t *testing.T) {
	r := newRig(t, skill("a"))
	var open []*session
	for range maxOwn {
		s, err := r.sessions.open(alice)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, s)
	}
	p := newPlain(t, r, alice)
	resp := p.request(t.Context(), "POST", hello)
	b, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(b), "too many sessions") {
		t.Errorf("%s %s", resp.Status, b)
	}
	for _, s := range open {
		r.sessions.leave(s)
	}
	p.open()
}

// A client that asks for the end of its session ends its calls too.
func TestDelete(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	r := answering(t, func(ctx context.Context, _ *a2e.CallRequest, _ say) *a2e.CallResponse {
		close(started)
		<-ctx.Done()
		close(ended)
		return failed(a2e.Errorf(a2e.RuntimeError, "cancelled"))
	})
	p := newPlain(t, r, alice).open()
	var calling sync.WaitGroup
	calling.Go(func() { p.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`) })
	<-started
	if resp := p.request(t.Context(), "DELETE", ""); resp.StatusCode != 204 {
		t.Errorf("delete: %s", resp.Status)
	}
	<-ended
	calling.Wait()
	if status, _ := p.post(ask); status != 404 {
		t.Errorf("afterwards: %d", status)
	}
	if n := r.count(); n != 0 {
		t.Errorf("%d sessions", n)
	}
}

// A call goes on when the connection breaks that asked for it, and its answer can be fetched by who comes back.
func TestAClientThatComesBack(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	r := answering(t, func(ctx context.Context, _ *a2e.CallRequest, say say) *a2e.CallResponse {
		say(a2e.KindProgress, map[string]any{"pct": 10})
		close(started)
		<-release
		if ctx.Err() != nil {
			t.Error("the call was cancelled")
		}
		say(a2e.KindProgress, map[string]any{"pct": 20})
		return done("the answer")
	})
	p := newPlain(t, r, alice).open()
	ctx, hangUp := context.WithCancel(t.Context())
	resp := p.request(ctx, "POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":"t"}}}`, versionHeader, "2025-11-25")
	<-started
	last := ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan() && !strings.Contains(lines.Text(), "progress"); {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			last = id
		}
	}
	hangUp()
	close(release)
	var got strings.Builder
	testutil.Poll(t, time.Minute, func() bool { // the server may not have seen yet that the connection is gone
		got.Reset()
		again := p.request(t.Context(), "GET", "", "Last-Event-ID", last, versionHeader, "2025-11-25")
		_, err := io.Copy(&got, again.Body)
		return err == nil && again.StatusCode == 200
	})
	for _, want := range []string{`"progress":20`, "the answer"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("%s is missing: %s", want, got.String())
		}
	}
	if strings.Contains(got.String(), `"progress":10`) && !strings.HasSuffix(last, "_0") {
		t.Errorf("what was seen came again: %s", got.String())
	}
}

// Without sessions there is no coming back: the end of the connection ends the call.
func TestAClientWithoutSessionThatHangsUp(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	r := answering(t, func(ctx context.Context, _ *a2e.CallRequest, _ say) *a2e.CallResponse {
		close(started)
		<-ctx.Done()
		close(ended)
		return failed(a2e.Errorf(a2e.RuntimeError, "cancelled"))
	})
	p := newPlain(t, r, alice)
	ctx, hangUp := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	calling.Go(func() {
		body := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		req, _ := http.NewRequestWithContext(ctx, "POST", p.endpoint, strings.NewReader(body))
		for k, v := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", versionHeader: statelessRevision,
			"Mcp-Method": "tools/call", "Mcp-Name": "echo",
		} {
			req.Header.Set(k, v)
		}
		if resp, err := p.client.Do(req); err == nil {
			b, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != 200 {
				t.Errorf("%s %s", resp.Status, b)
				close(started)
			}
			_ = resp.Body.Close()
		}
	})
	<-started
	hangUp()
	<-ended
	calling.Wait()
}

func TestMethodsOfHTTP(t *testing.T) {
	mux := http.NewServeMux()
	for _, p := range Patterns() {
		mux.Handle(p, as(newRig(t), alice))
	}
	for method, want := range map[string]int{"PUT": 405, "PATCH": 405, "GET": 400, "DELETE": 400, "POST": 400} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(method, "/mcp", nil))
		if w.Code != want {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	for _, method := range []string{"GET", "DELETE"} { // where there are no sessions
		w, req := httptest.NewRecorder(), httptest.NewRequest(method, "/mcp", nil)
		req.Header.Set(versionHeader, statelessRevision)
		if mux.ServeHTTP(w, req); w.Code != 405 || w.Header().Get("Allow") != "POST" {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
}

// A request that is cut off leaves nothing behind.
func TestRequestsThatAreCutOff(t *testing.T) {
	r := newRig(t, skill("a"))
	p := newPlain(t, r, alice).open()
	for _, sent := range []string{"POST /mcp HTTP/1.1\r\n", "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{", "GET /mcp HTTP/1.1\r\nHost: x\r\n" +
		"Accept: text/event-stream\r\nMcp-Session-Id: " + p.session + "\r\n\r\n"} {
		conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(p.endpoint, "http://"), "/mcp"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, sent)
		_ = conn.Close()
	}
	testutil.Poll(t, time.Minute, func() bool {
		r.sessions.mu.Lock()
		defer r.sessions.mu.Unlock()
		return len(r.sessions.sessions) == 1 && r.sessions.sessions[p.session].requests == 0
	})
	if status, _ := p.post(ask); status != 200 {
		t.Errorf("afterwards: %d", status)
	}
}

// What is kept for clients that come back has bounds, and never comes in part.
func TestEventsAreBounded(t *testing.T) {
	e, ctx := newEvents(), t.Context()
	after := func(session, stream string, index int) string {
		var all []string
		for b, err := range e.After(ctx, session, stream, index) {
			if err != nil {
				return "error"
			}
			all = append(all, string(b))
		}
		return strings.Join(all, ",")
	}
	for _, s := range []string{"", "a"} {
		_ = e.Open(ctx, "s", s)
	}
	for i := range 3 {
		_ = e.Append(ctx, "s", "a", []byte(fmt.Sprint(i)))
	}
	got := []string{after("s", "a", -1), after("s", "a", 0), after("s", "a", 2), after("s", "a", 3), after("s", "a", -2), after("s", "b", 0), after("t", "a", 0), after("s", "", -1)}
	if diff := cmp.Diff([]string{"0,1,2", "1,2", "", "error", "error", "error", "error", ""}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	large := make([]byte, keptOfSession/2)
	for range 3 {
		_ = e.Append(ctx, "s", "b", large)
	}
	if after("s", "a", 0) != "error" || e.sessions["s"].bytes > keptOfSession {
		t.Errorf("%d bytes are kept of a session", e.sessions["s"].bytes)
	}
	for i := range 2 * keptOfAll / keptOfSession {
		_ = e.Open(ctx, fmt.Sprint(i), "x")
		_ = e.Append(ctx, fmt.Sprint(i), "x", make([]byte, keptOfSession-1))
	}
	if e.bytes > keptOfAll {
		t.Errorf("%d bytes are kept", e.bytes)
	}
	_ = e.Open(ctx, "many", "")
	for i := range keptItems + 5 {
		_ = e.Append(ctx, "many", "", []byte{byte(i)})
	}
	if after("many", "", keptItems/4-2) != "error" || after("many", "", keptItems/4-1) == "error" {
		t.Error("the wrong ones were dropped")
	}
	if after("many", "", -1) != "" { // a client that begins anew
		t.Error("a new client got a part")
	}
	_ = e.Append(ctx, "many", "", []byte("new"))
	if got := after("many", "", -1); got != "new" {
		t.Errorf("a new client got %q", got)
	}
	for i := range 2 * keptStreams {
		_ = e.Open(ctx, "streams", fmt.Sprint(i))
		_ = e.Open(ctx, "streams", "")
	}
	if s := e.sessions["streams"]; len(s.streams) > keptStreams || len(s.order) > keptStreams || s.streams[""] == nil {
		t.Errorf("%d streams, %d in order", len(s.streams), len(s.order))
	}
	_ = e.Append(ctx, "streams", "0", []byte("late")) // its beginning is not known any more
	if after("streams", "0", 0) != "error" || after("streams", "0", -1) != "error" {
		t.Error("a part came")
	}
	for session := range e.sessions {
		_ = e.SessionClosed(ctx, session)
	}
	_ = e.Append(ctx, "many", "", []byte("a last word"))
	if e.bytes != 0 || len(e.sessions) != 0 {
		t.Errorf("%d bytes are left of %d sessions", e.bytes, len(e.sessions))
	}
}

// A request that was under way when its session ended leaves nothing behind, whatever it says meanwhile.
func TestNothingIsKeptOfASessionThatEnded(t *testing.T) {
	h := newRig(t).Host
	s, err := h.sessions.open(alice)
	if err != nil {
		t.Fatal(err)
	}
	if again, ok := h.sessions.enter(s.id, alice); !ok || again != s {
		t.Fatal("the session is not found")
	}
	h.sessions.leave(s)
	h.sessions.end(s)
	_ = h.kept.Open(t.Context(), s.id, "late")
	_ = h.kept.Append(t.Context(), s.id, "late", []byte("word"))
	h.sessions.leave(s)
	if h.kept.bytes != 0 || len(h.kept.sessions) != 0 {
		t.Errorf("%d bytes are left of %d sessions", h.kept.bytes, len(h.kept.sessions))
	}
}

// A session that nobody uses ends, and one that is used does not.
func TestIdleSessionsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		s, err := r.sessions.open(alice)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * idleSessions)
		r.sessions.leave(s)
		time.Sleep(idleSessions - time.Second)
		if _, ok := r.sessions.enter(s.id, alice); !ok {
			t.Fatal("it ended too early")
		}
		time.Sleep(2 * idleSessions)
		r.sessions.leave(s)
		time.Sleep(idleSessions + time.Second)
		if _, ok := r.sessions.enter(s.id, alice); ok || s.life.Err() == nil || r.count() != 0 {
			t.Error("it did not end")
		}
	})
}

// Large messages have a bounded room together; small ones always get in.
func TestManyLargeMessages(t *testing.T) {
	r := newRig(t, skill("a"))
	var give []func()
	for range allBodies / MaxBody {
		done, ok := r.room("", -1)
		if !ok {
			t.Fatal("too little room")
		}
		give = append(give, done)
	}
	if _, ok := r.room("other", ownBody); !ok {
		t.Error("a small one finds no room")
	}
	p := newPlain(t, r, alice).open()
	large := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","arguments":{"x":"` + strings.Repeat("x", 7<<20) + `"}}}`
	if resp := p.request(t.Context(), "POST", large); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("got %s", resp.Status)
	}
	for _, done := range give {
		done()
	}
	if status, body := p.post(large); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	testutil.Poll(t, time.Minute, func() bool {
		all, ok := r.bodies.Take("", allBodies)
		if ok {
			all()
		}
		return ok
	})
}

// Parameters that can't be read are not repeated at length, by whatever door they come.
func TestLongMessagesAreCalls(t *testing.T) {
	r := newRig(t, skill("a"))
	p, onStdio := newPlain(t, r, alice).open(), newPipe(t, r).hello()
	long := strings.Repeat("x", longMessage)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":3,"method":"ping","params":{"x":"` + long + `"}}`, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":"` + long + `"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":["` + long + `"]}}`, `{"jsonrpc":"2.0","id":3,"result":"` + long + `"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","_meta":"` + long + `"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","inputResponses":"` + long + `"}}`,
	} {
		if status, answer := p.post(body); status != 400 || len(answer) > 200 {
			t.Errorf("%.80s: %d, %d bytes", body, status, len(answer))
		}
		onStdio.send(body)
		if m := onStdio.next(); m.Error == nil || len(m.Error.Message) > 200 {
			t.Errorf("%.80s: %+v", body, m)
		}
	}
}

// Requests that wait for the client's end, whose client has gone, have a bound in each session.
func TestRequestsOfOneSession(t *testing.T) {
	p := newRig(t).newPeer(t.Context(), alice.Caller(Door), "")
	p.asked.Store(maxUnanswered)
	handle := p.receive(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil })
	if _, err := handle(t.Context(), "ping", nil); !errors.Is(err, errBusy) {
		t.Errorf("got %v", err)
	}
	if _, err := handle(t.Context(), "notifications/cancelled", nil); err != nil || p.asked.Load() != maxUnanswered {
		t.Errorf("%v, %d", err, p.asked.Load())
	}
	p.asked.Store(maxUnanswered - 1)
	if _, err := handle(t.Context(), "ping", nil); err != nil {
		t.Errorf("got %v", err)
	}
}
