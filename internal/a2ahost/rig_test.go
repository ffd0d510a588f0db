package a2ahost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/testutil"
)

// rig is a door on a listener.
type rig struct {
	t    *testing.T
	f    *fake
	h    *Host
	url  string
	http *http.Client
}

// open serves a door. Who calls is in the header X-Test-Principal; "" is nobody.
func open(t *testing.T, f *fake, change ...func(*Options)) *rig {
	t.Helper()
	o := Options{Handler: f, Control: f, Skills: f, Lenient: true, Version: "1.2.3"}
	for _, c := range change {
		c(&o)
	}
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+CardPath, h.Card())
	mux.HandleFunc(BasePath+"/", func(w http.ResponseWriter, r *http.Request) {
		id := auth.Nobody()
		if p := r.Header.Get("X-Test-Principal"); p != "" {
			id = auth.Identity{Principal: p, Scopes: []auth.Scope{auth.Calls}}
		}
		h.Operations().ServeHTTP(w, r.WithContext(auth.NewContext(r.Context(), id)))
	})
	srv := httptest.NewServer(mux)
	r := &rig{t: t, f: f, h: h, url: srv.URL, http: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(func() {
		r.http.CloseIdleConnections()
		srv.CloseClientConnections()
		srv.Close()
		h.Close()
	})
	return r
}

// bindings are the ways to speak to the door.
func bindings() []a2a.TransportProtocol {
	return []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON}
}

// both runs a test over each binding, with a door and a supervisor of its own.
func both(t *testing.T, f func(t *testing.T, r *rig, c *a2aclient.Client)) {
	for _, b := range bindings() {
		t.Run(strings.ReplaceAll(string(b), "+", "-"), func(t *testing.T) {
			r := open(t, usual())
			f(t, r, r.client(b, ""))
		})
	}
}

// asPrincipal adds who calls to each request.
type asPrincipal struct {
	name string
	next http.RoundTripper
}

func (a asPrincipal) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Test-Principal", a.name)
	return a.next.RoundTrip(r)
}

// client is the official one, made from the card.
func (r *rig) client(binding a2a.TransportProtocol, principal string) *a2aclient.Client {
	r.t.Helper()
	web := &http.Client{Transport: asPrincipal{principal, r.http.Transport}}
	card, err := agentcard.NewResolver(web).Resolve(context.Background(), r.url)
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := a2aclient.NewFromCard(context.Background(), card,
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}}),
		a2aclient.WithJSONRPCTransport(web), a2aclient.WithRESTTransport(web))
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// asks is a request for a skill.
func asks(skill string, parts ...*a2a.Part) *a2a.SendMessageRequest {
	if len(parts) == 0 {
		parts = []*a2a.Part{a2a.NewDataPart(map[string]any{})}
	}
	m := a2a.NewMessage(a2a.MessageRoleUser, parts...)
	if skill != "" {
		m.SetMeta("skill_id", skill)
	}
	return &a2a.SendMessageRequest{Message: m}
}

// at once makes a request return immediately.
func atOnce(q *a2a.SendMessageRequest) *a2a.SendMessageRequest {
	q.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	return q
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// sent is a message that must give a task.
func sent(t *testing.T, c *a2aclient.Client, q *a2a.SendMessageRequest) *a2a.Task {
	t.Helper()
	got, err := c.SendMessage(within(t), q)
	if err != nil {
		t.Fatal(err)
	}
	task, ok := got.(*a2a.Task)
	if !ok {
		t.Fatalf("got %T", got)
	}
	return task
}

// streamed collects a stream.
func streamed(t *testing.T, c *a2aclient.Client, q *a2a.SendMessageRequest) []a2a.Event {
	t.Helper()
	var all []a2a.Event
	for ev, err := range c.SendStreamingMessage(within(t), q) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
	}
	return all
}

// state waits until a task is in a state.
func (r *rig) state(c *a2aclient.Client, id a2a.TaskID, want a2a.TaskState) *a2a.Task {
	r.t.Helper()
	var task *a2a.Task
	testutil.Poll(r.t, patience, func() bool {
		var err error
		task, err = c.GetTask(context.Background(), &a2a.GetTaskRequest{ID: id})
		if err != nil {
			r.t.Fatal(err)
		}
		return task.Status.State == want
	})
	return task
}

func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

// reply is an answer as it came.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// raw sends a request as it is written here.
func (r *rig) raw(method, path, body string, headers ...string) reply {
	r.t.Helper()
	req, err := http.NewRequestWithContext(within(r.t), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body == "" {
		req.Body, req.ContentLength = http.NoBody, 0
	} else {
		req.Header.Set("Content-Type", mediaJSON)
	}
	req.Header.Set("A2A-Version", "1.0")
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "-" {
			req.Header.Del(headers[i])
		} else {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := r.http.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, b}
}

// rpcReply is what JSON-RPC answers.
type rpcReply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcReplyError  `json:"error"`
	Extra   map[string]any  `json:"-"`
}

type rpcReplyError struct {
	Code    int              `json:"code"`
	Message string           `json:"message"`
	Data    []map[string]any `json:"data"`
}

// rpc sends one request of JSON-RPC.
func (r *rig) rpc(body string, headers ...string) rpcReply {
	r.t.Helper()
	got := r.raw(http.MethodPost, "/a2a/rpc", body, headers...)
	var out rpcReply
	if err := json.Unmarshal(got.body, &out); err != nil {
		r.t.Fatalf("status %d: %v: %s", got.status, err, got.body)
	}
	return out
}

// call is a request of JSON-RPC with these parameters.
func rpcCall(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// message is a SendMessageRequest around parts and further fields.
func sendBody(parts string, more ...string) string {
	var b bytes.Buffer
	b.WriteString(`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[` + parts + `]`)
	for _, m := range more {
		b.WriteString("," + m)
	}
	b.WriteString(`}}`)
	return b.String()
}

// fields are the paths of a fault's violations.
func fields(details []map[string]any) []string {
	var out []string
	for _, d := range details {
		if d["@type"] != badRequestType {
			continue
		}
		for _, v := range d["fieldViolations"].([]any) {
			out = append(out, v.(map[string]any)["field"].(string))
		}
	}
	return out
}

// reason is the reason in a fault's ErrorInfo.
func reason(details []map[string]any) string {
	for _, d := range details {
		if d["@type"] == "type.googleapis.com/google.rpc.ErrorInfo" && d["domain"] == "a2a-protocol.org" {
			return d["reason"].(string)
		}
	}
	return ""
}
