package rest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

// host is a handler whose calls do what a test says.
type host struct {
	call   func(ctx context.Context, who a2e.Caller, req *a2e.CallRequest, w a2e.EventWriter) *a2e.CallResponse
	inputs map[string]string // of the last Run
}

func (h *host) Discover(context.Context, a2e.Caller, *a2e.DiscoverRequest) ([]a2e.Definition, error) {
	return nil, nil
}

func (h *host) Call(ctx context.Context, who a2e.Caller, req *a2e.CallRequest, w a2e.EventWriter) *a2e.CallResponse {
	return h.call(ctx, who, req, w)
}

// filer is a host that takes files.
type filer struct{ host }

func (h *filer) Run(ctx context.Context, who a2e.Caller, req *a2e.CallRequest, inputs fs.FS, w a2e.EventWriter) *a2e.CallResponse {
	h.inputs = map[string]string{}
	_ = fs.WalkDir(inputs, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, _ := fs.ReadFile(inputs, name)
			h.inputs[name] = string(b)
		}
		return err
	})
	return h.call(ctx, who, req, w)
}

func succeeded(req *a2e.CallRequest) *a2e.CallResponse {
	return &a2e.CallResponse{ReqID: req.ID, Name: req.Name, Data: &a2e.Result{Success: true}}
}

func failing(e *a2e.Error) *host {
	return &host{call: func(_ context.Context, _ a2e.Caller, req *a2e.CallRequest, _ a2e.EventWriter) *a2e.CallResponse {
		return a2e.Failure(req.ID, req.Name, e, 0)
	}}
}

// Every code and every reason has its status, as docs/rest.md says.
func TestStatusOfCalls(t *testing.T) {
	for code, want := range map[a2e.Code]int{
		a2e.ParseError: 400, a2e.InvalidMessage: 400, a2e.VersionMismatch: 400, a2e.SchemaViolation: 422, a2e.Unauthorized: 403,
		a2e.UnknownSkill: 404, a2e.SkillError: 502, a2e.OutOfMemory: 502, a2e.SandboxCrash: 502, a2e.Timeout: 504, a2e.RuntimeError: 500,
	} {
		w := tell(New(Options{Control: &fake{}, Handler: failing(a2e.Errorf(code, "so"))}), "POST", "/v1/calls", `{"name":"x","id":"r"}`)
		var answer a2e.CallResponse
		if err := json.Unmarshal(w.Body.Bytes(), &answer); w.Code != want || err != nil || answer.Error.Code != code || answer.ReqID != "r" || *answer.Data.ErrorCode != string(code) {
			t.Errorf("%s: %d %s", code, w.Code, w.Body)
		}
	}
	for reason, want := range map[string]int{
		a2e.ReasonQuota: 429, a2e.ReasonQueueFull: 429, a2e.ReasonQueueTimeout: 429, a2e.ReasonDraining: 503, a2e.ReasonEngineUnavailable: 503,
		a2e.ReasonImageUnavailable: 503, a2e.ReasonStartFailed: 503, a2e.ReasonSupervisorRestart: 503, a2e.ReasonToolUnavailable: 503,
		a2e.ReasonNodeLost: 503, a2e.ReasonEvicted: 503, a2e.ReasonPreempted: 503, a2e.ReasonCellDeleted: 503, a2e.ReasonUnschedulable: 503, a2e.ReasonClusterQuota: 503,
		a2e.ReasonUnsupported: 501, a2e.ReasonBlocked: 501, a2e.ReasonDuplicateID: 409, a2e.ReasonCancelled: 409, a2e.ReasonInternal: 500, "else": 500,
	} {
		e := a2e.Errorf(a2e.RuntimeError, "so").Because(reason).Transient()
		if reason == a2e.ReasonQuota {
			e.With("retry_after", int64(60))
		}
		w := tell(New(Options{Control: &fake{}, Handler: failing(e)}), "POST", "/v1/calls", `{"name":"x"}`)
		after := map[int]string{429: "1", 503: "1"}[want]
		if reason == a2e.ReasonQuota {
			after = "60"
		}
		if w.Code != want || w.Header().Get("Retry-After") != after {
			t.Errorf("%s: %d, Retry-After %q", reason, w.Code, w.Header().Get("Retry-After"))
		}
	}
	kept := a2e.Errorf(a2e.RuntimeError, "so").Because(a2e.ReasonQuota).With("retry_after", json.Number("7"))
	if w := tell(New(Options{Control: &fake{}, Handler: failing(kept)}), "POST", "/v1/calls", `{"name":"x"}`); w.Header().Get("Retry-After") != "7" {
		t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
	}
}

func TestCallIsHandedOn(t *testing.T) {
	var got *a2e.CallRequest
	var by a2e.Caller
	h := &filer{}
	h.call = func(_ context.Context, who a2e.Caller, req *a2e.CallRequest, _ a2e.EventWriter) *a2e.CallResponse {
		got, by = req, who
		return succeeded(req)
	}
	who := doorkeeper{"alice": {Principal: "alice", Scopes: []auth.Scope{auth.Calls}, Groups: []auth.Membership{{Group: "team", Role: auth.RoleMember}}}}
	door := New(Options{Control: &fake{}, Handler: h, Auth: who})
	w := tell(door, "POST", "/v1/calls", `{"name":"x","id":"r1","arguments":{"n":12345678901234567890},"timeout":7,"correlation_id":"c","metadata":{"k":"v"},
		"llm_override":{"provider_name":"p"},"agent_id":"bot","files":{"a/b.txt":"aGk=","c":""}}`, "Authorization", "Bearer alice")
	if w.Code != 200 || got.Name != "x" || got.ID != "r1" || got.Arguments["n"] != json.Number("12345678901234567890") || *got.Timeout != 7 ||
		got.CorrelationID != "c" || got.Metadata["k"] != "v" || got.LLMOverride.ProviderName != "p" || !got.Streams() {
		t.Errorf("%d %s\n%+v", w.Code, w.Body, got)
	}
	if by.Principal != "alice" || by.Agent != "bot" || by.Door != "http" || by.Groups["team"] != "member" || by.Admin {
		t.Errorf("%+v", by)
	}
	if h.inputs["a/b.txt"] != "hi" || h.inputs["c"] != "" || len(h.inputs) != 2 {
		t.Errorf("%v", h.inputs)
	}
	whole := `{"type":"skill/call/req","id":"r2","version":"1.0","ts":1.5,"name":"y","arguments":{},"correlation_id":"","timeout":60,"streaming":true,"llm_override":null,"metadata":{}}`
	if w := tell(door, "POST", "/v1/calls", whole, "Authorization", "Bearer alice"); w.Code != 200 || got.Name != "y" || got.Timeout == nil {
		t.Errorf("a whole message: %d %s", w.Code, w.Body)
	}
}

// What can't be a call is answered as one that failed, and says which field is wrong. Nothing is called.
func TestBadCalls(t *testing.T) {
	called := false
	h := &host{call: func(_ context.Context, _ a2e.Caller, req *a2e.CallRequest, _ a2e.EventWriter) *a2e.CallResponse {
		called = true
		return succeeded(req)
	}}
	who := doorkeeper{"t": {Principal: "p", Agent: "bot", Scopes: []auth.Scope{auth.Calls}}}
	for body, want := range map[string]string{
		``:                                       "400 parse_error line is not JSON",
		`{`:                                      "400 parse_error line is not JSON",
		`[]`:                                     "400 parse_error expected a JSON object",
		`{}`:                                     "422 schema_violation name: expected the name of a skill",
		`{"name":7}`:                             "422 schema_violation name: expected a string",
		`{"name":"x","arguments":[]}`:            "422 schema_violation arguments: expected an object",
		`{"name":"x","timeout":0}`:               "422 schema_violation timeout: expected a whole number",
		`{"name":"x","name":"y"}`:                "400 invalid_message key",
		`{"name":"x","nope":1}`:                  `422 schema_violation unknown field "nope": expected name, arguments`,
		`{"name":"x","Name":1}`:                  `422 schema_violation unknown field "Name"`,
		`{"name":"x","type":"ping"}`:             "400 invalid_message type: expected skill/call/req",
		`{"name":"x","type":7}`:                  "400 parse_error message has no type",
		`{"name":"x","version":"2.0"}`:           "400 version_mismatch",
		`{"name":"x","agent_id":7}`:              "422 schema_violation agent_id",
		`{"name":"x","agent_id":" "}`:            "422 schema_violation agent_id",
		`{"name":"x","agent_id":"other"}`:        "403 unauthorized agent_id: the token is bound to another agent",
		`{"name":"x","files":[]}`:                "422 schema_violation files: expected an object",
		`{"name":"x","files":{"../a":""}}`:       `422 schema_violation files: "../a" is no path`,
		`{"name":"x","files":{"/a":""}}`:         "422 schema_violation files:",
		`{"name":"x","files":{"a\\b":""}}`:       "422 schema_violation files:",
		`{"name":"x","files":{"":""}}`:           "422 schema_violation files:",
		`{"name":"x","files":{".":""}}`:          "422 schema_violation files:",
		`{"name":"x","files":{"a\u0000":""}}`:    "422 schema_violation files:",
		`{"name":"x","files":{"a":"*"}}`:         `422 schema_violation files: "a": expected base64`,
		`{"name":"x","files":{"a":null}}`:        `422 schema_violation files: "a": expected base64`,
		`{"name":"x","files":{"a":"","a/b":""}}`: `422 schema_violation files: "a" is a file, and "a/b" lies below it`,
		`{"name":"x","files":{"a":""}}`:          "501 runtime_error files: this host takes no input files",
	} {
		w := tell(New(Options{Control: &fake{}, Handler: h, Auth: who}), "POST", "/v1/calls", body, "Authorization", "Bearer t")
		var answer a2e.CallResponse
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Error == nil {
			t.Errorf("%s: %v %s", body, err, w.Body)
			continue
		}
		if got := fmt.Sprint(w.Code, " ", answer.Error.Code, " ", answer.Error.Message); !strings.HasPrefix(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", body, got, want)
		}
	}
	if called {
		t.Error("something was called")
	}
	many := `{"name":"x","files":{"0":""`
	for i := range maxInputs {
		many += fmt.Sprintf(`,"f%d":""`, i)
	}
	if w := tell(New(Options{Control: &fake{}, Handler: &filer{*h}}), "POST", "/v1/calls", many+"}}"); w.Code != 422 || !strings.Contains(w.Body.String(), "at most 1000 files") {
		t.Errorf("many files: %d %s", w.Code, w.Body)
	}
}

func TestAHandlerThatFails(t *testing.T) {
	for name, h := range map[string]*host{
		"panics":    {call: func(context.Context, a2e.Caller, *a2e.CallRequest, a2e.EventWriter) *a2e.CallResponse { panic("boom") }},
		"no answer": {call: func(context.Context, a2e.Caller, *a2e.CallRequest, a2e.EventWriter) *a2e.CallResponse { return nil }},
		"unencodable": {call: func(_ context.Context, _ a2e.Caller, req *a2e.CallRequest, _ a2e.EventWriter) *a2e.CallResponse {
			return &a2e.CallResponse{ReqID: req.ID, Data: &a2e.Result{Data: make(chan int)}}
		}},
	} {
		for _, accept := range []string{kindJSON, kindSSE, kindNDJSON} {
			w := tell(New(Options{Control: &fake{}, Handler: h}), "POST", "/v1/calls", `{"name":"x","id":"r"}`, "Accept", accept)
			if !strings.Contains(w.Body.String(), `"req_id":"r"`) || !strings.Contains(w.Body.String(), `"message":"internal error"`) ||
				w.Code != 500 && name != "unencodable" {
				t.Errorf("%s %s: %d %s", name, accept, w.Code, w.Body)
			}
		}
	}
}

func talking() *host {
	return &host{call: func(ctx context.Context, _ a2e.Caller, req *a2e.CallRequest, w a2e.EventWriter) *a2e.CallResponse {
		for i := range 2 {
			_ = w.WriteEvent(ctx, &a2e.Event{Header: a2e.Header{ID: "e", TS: 1}, Kind: "log", ReqID: req.ID, Seq: i, Data: map[string]any{"message": "a\nb"}})
		}
		r := succeeded(req)
		r.ID, r.TS, r.CreatedAt = "x", 1, 1
		return r
	}}
}

func TestStreams(t *testing.T) {
	const (
		e0     = `{"type":"skill/event","id":"e","version":"1.0","ts":1,"kind":"log","req_id":"r","data":{"message":"a\nb"},"seq":0}`
		e1     = `{"type":"skill/event","id":"e","version":"1.0","ts":1,"kind":"log","req_id":"r","data":{"message":"a\nb"},"seq":1}`
		answer = `{"type":"skill/call/resp","id":"x","version":"1.0","ts":1,"req_id":"r","name":"x","data":{"success":true,"data":null,"summary":null,"duration_ms":0},"created_at":1}`
	)
	for accept, want := range map[string]string{
		kindNDJSON:                   e0 + "\n" + e1 + "\n" + answer + "\n",
		kindSSE:                      "event: skill/event\nid: 0\ndata: " + e0 + "\n\nevent: skill/event\nid: 1\ndata: " + e1 + "\n\nevent: skill/call/resp\ndata: " + answer + "\n\n",
		"*/*":                        answer + "\n",
		"text/event-stream;q=0, */*": answer + "\n",
	} {
		w := tell(New(Options{Control: &fake{}, Handler: talking()}), "POST", "/v1/calls", `{"name":"x","id":"r"}`, "Accept", accept)
		if w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: %d\n%s", accept, w.Code, w.Body)
		}
	}
	w := tell(New(Options{Control: &fake{}, Handler: failing(a2e.Errorf(a2e.UnknownSkill, "no"))}), "POST", "/v1/calls", `{"name":"x"}`, "Accept", kindNDJSON)
	if w.Code != 404 || w.Header().Get("Content-Type") != kindNDJSON || strings.Count(w.Body.String(), "\n") != 1 {
		t.Errorf("an answer before anything was said: %d %s", w.Code, w.Body)
	}
}

// served runs a door on synctest's clock and returns a connection to it.
func served(t *testing.T, h http.Handler, request string) (answer *bufio.Reader, hangUp func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ln, ended := &pipes{make(chan net.Conn), make(chan struct{})}, make(chan error, 1)
	go func() { ended <- Serve(ctx, ln, h, slog.New(slog.DiscardHandler)) }()
	ours, theirs := net.Pipe()
	ln.conns <- theirs
	if _, err := io.WriteString(ours, request); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = ours.Close()
		stop()
		<-ended
	})
	return bufio.NewReader(ours), func() { _ = ours.Close() }
}

const postSSE = "POST /v1/calls HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: 12\r\n\r\n{\"name\":\"x\"}"

// A call may be silent for longer than the listener's deadlines, and who waits for it hears signs of life.
func TestALongSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{call: func(ctx context.Context, _ a2e.Caller, req *a2e.CallRequest, _ a2e.EventWriter) *a2e.CallResponse {
			select {
			case <-time.After(10 * time.Minute):
				return succeeded(req)
			case <-ctx.Done():
				return a2e.Failure(req.ID, req.Name, a2e.Errorf(a2e.RuntimeError, "cancelled"), 0)
			}
		}}
		answer, _ := served(t, New(Options{Control: &fake{}, Handler: h}), strings.Replace(postSSE, "Host", "Connection: close\r\nHost", 1))
		resp, err := http.ReadResponse(answer, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if n := strings.Count(string(b), ": \n\n"); err != nil || n != 40 || !strings.Contains(string(b), `"success":true`) {
			t.Errorf("%d signs of life, %v\n%s", n, err, b)
		}
	})
}

func TestWhoHangsUpCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan struct{})
		h := &host{call: func(ctx context.Context, _ a2e.Caller, req *a2e.CallRequest, _ a2e.EventWriter) *a2e.CallResponse {
			<-ctx.Done()
			close(cancelled)
			return succeeded(req)
		}}
		for _, request := range []string{postSSE, strings.Replace(postSSE, kindSSE, kindJSON, 1)} {
			cancelled = make(chan struct{})
			_, hangUp := served(t, New(Options{Control: &fake{}, Handler: h}), request)
			synctest.Wait()
			hangUp()
			<-cancelled
		}
	})
}

// A client that takes nothing is cut off, and with it its call.
func TestSlowReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		h := &host{call: func(ctx context.Context, _ a2e.Caller, req *a2e.CallRequest, w a2e.EventWriter) *a2e.CallResponse {
			for {
				if err := w.WriteEvent(ctx, &a2e.Event{Kind: "log"}); err != nil {
					ended <- err
					<-ctx.Done()
					return succeeded(req)
				}
			}
		}}
		start := time.Now()
		served(t, New(Options{Control: &fake{}, Handler: h}), postSSE)
		<-ended
		if took := time.Since(start); took != slowReader {
			t.Errorf("cut off after %v", took)
		}
	})
}

// One principal's large requests leave room for others'.
func TestMemoryIsDivided(t *testing.T) {
	m := newMemory()
	as := func(principal string) *http.Request {
		r := httptest.NewRequest("POST", "/", nil)
		r.ContentLength = -1
		return r.WithContext(auth.NewContext(r.Context(), auth.Identity{Principal: principal}))
	}
	for range allMemory / maxCall / 2 {
		if _, err := m.take(as("greedy"), maxCall); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.take(as("greedy"), maxCall); err == nil {
		t.Error("one principal may take all of it")
	}
	if _, err := m.take(as("other"), maxCall); err != nil {
		t.Error(err)
	}
}

func TestMemoryIsShared(t *testing.T) {
	m := newMemory()
	var all []func()
	for range allMemory / maxCall {
		r := httptest.NewRequest("POST", "/", nil)
		r.ContentLength = -1
		give, err := m.take(r, maxCall)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, give)
	}
	r := httptest.NewRequest("POST", "/", nil)
	r.ContentLength = ownMemory + 1
	if _, err := m.take(r, maxCall); err == nil {
		t.Error("more than there is was given")
	}
	r.ContentLength = ownMemory
	if _, err := m.take(r, maxCall); err != nil {
		t.Errorf("a small one: %v", err)
	}
	slices.Reverse(all)
	for _, give := range all {
		give()
	}
	r.ContentLength = maxCall
	if _, err := m.take(r, maxCall); err != nil {
		t.Errorf("after they were given back: %v", err)
	}
}

func FuzzParseCall(f *testing.F) {
	for _, s := range []string{`{}`, `{"name":"x"}`, ` { "name":"x" , "files":{"a":"aGk="}}`, `{"type":"ping"}`, `[`, `{"name":"x","agent_id":"a"}`, "{\"\x80\":1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, why := parseCall(b)
		if p.req == nil {
			t.Fatal("no request")
		}
		if why == nil && (p.req.Name == "" || !json.Valid(b)) {
			t.Errorf("%q was taken: %+v", b, p.req)
		}
	})
}
