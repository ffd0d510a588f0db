package mcphost

import (
	"context"
	"encoding/json"
	"fmt"
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

func errorIs(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text) && !strings.Contains(err.Error(), "secret")
}

type say = func(kind string, data map[string]any)

// answers makes a rig whose skill "echo" answers so.
func answering(t *testing.T, run func(ctx context.Context, req *a2e.CallRequest, say say) *a2e.CallResponse) *rig {
	r := newRig(t, skill("echo"))
	r.exec.run = run
	return r
}

func texts(res *mcp.CallToolResult) (list []string) {
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			list = append(list, text.Text)
		}
	}
	return list
}

func TestResults(t *testing.T) {
	long := strings.Repeat("x", maxText)
	for name, c := range map[string]struct {
		result     a2e.Result
		text       []string
		structured string // with sessions
		any        string // without; "": the same
	}{
		"object":         {result: a2e.Result{Data: map[string]any{"a": json.Number("1"), "b": "<é>"}}, text: []string{`{"a":1,"b":"<é>"}`}, structured: `{"a":1,"b":"<é>"}`},
		"raw object":     {result: a2e.Result{Data: json.RawMessage(`{"n":12345678901234567890}`)}, text: []string{`{"n":12345678901234567890}`}, structured: `{"n":12345678901234567890}`},
		"text":           {result: a2e.Result{Data: "hello\n"}, text: []string{"hello\n"}, any: `"hello\n"`},
		"list":           {result: a2e.Result{Data: []any{1, "x"}}, text: []string{`[1,"x"]`}, any: `[1,"x"]`},
		"nothing":        {result: a2e.Result{}},
		"summary":        {result: a2e.Result{Summary: "all well"}, text: []string{"all well"}},
		"data, summary":  {result: a2e.Result{Data: 5, Summary: "five"}, text: []string{"5", "five"}, any: `5`},
		"summary twice":  {result: a2e.Result{Data: "same", Summary: "same"}, text: []string{"same"}, any: `"same"`},
		"number summary": {result: a2e.Result{Summary: 5}, text: []string{"5"}},
		"large": {
			result: a2e.Result{Data: map[string]any{"x": long}}, structured: `{"x":"` + long + `"}`,
			text: []string{`{"x":"` + long[6:] + "... (1048584 bytes; the whole is in structuredContent)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.result.Success = true
			doors(t, func(t *testing.T, open func(*rig, auth.Identity, *mcp.ClientOptions) *mcp.ClientSession) {
				r := answering(t, func(context.Context, *a2e.CallRequest, say) *a2e.CallResponse {
					result := c.result
					return &a2e.CallResponse{Data: &result}
				})
				s := open(r, alice, nil)
				res := call(t, s, "echo", map[string]any{})
				if diff := cmp.Diff(c.text, texts(res)); diff != "" || res.IsError {
					t.Errorf("text (-want +got):\n%s", diff)
				}
				want := c.structured
				if want == "" && strings.Contains(t.Name(), statelessRevision) {
					want = c.any
				}
				if got := jsonOf(t, res.StructuredContent); got != canonical(t, want) {
					t.Errorf("structuredContent %.100s, want %.100s", got, want)
				}
				if res.Meta["hotcell/call_id"] != "call1" || res.Meta["hotcell/request_id"] == "" {
					t.Errorf("_meta %v", res.Meta)
				}
			})
		})
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	if v == nil {
		return ""
	}
	b, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// canonical is JSON as it comes out when it was decoded by the client.
func canonical(t *testing.T, s string) string {
	t.Helper()
	var v any
	if s != "" && json.Unmarshal([]byte(s), &v) != nil {
		t.Fatalf("%s is not JSON", s)
	}
	return jsonOf(t, v)
}

// Every code is a result that says so, for a model and for a program.
func TestErrorsOfCalls(t *testing.T) {
	for _, c := range []a2e.Code{
		a2e.SkillError, a2e.RuntimeError, a2e.ParseError, a2e.InvalidMessage, a2e.SchemaViolation, a2e.Timeout, a2e.OutOfMemory,
		a2e.SandboxCrash, a2e.Unauthorized, a2e.VersionMismatch, a2e.UnknownSkill, // of an argument: the skill itself is there
	} {
		t.Run(string(c), func(t *testing.T) {
			doors(t, func(t *testing.T, open func(*rig, auth.Identity, *mcp.ClientOptions) *mcp.ClientSession) {
				r := answering(t, func(context.Context, *a2e.CallRequest, say) *a2e.CallResponse {
					return failed(a2e.Errorf(c, "it went wrong").Because("why"))
				})
				res := call(t, open(r, alice, nil), "echo", nil)
				want := map[string]any{
					"error_code": string(c), "message": "it went wrong", "retryable": c.Retryable(), "detail": map[string]any{"reason": "why"},
				}
				if diff := cmp.Diff(want, res.StructuredContent); diff != "" || !res.IsError {
					t.Errorf("isError %v (-want +got):\n%s", res.IsError, diff)
				}
				if diff := cmp.Diff([]string{string(c) + ": it went wrong"}, texts(res)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAFailureThatOnlyTheDataTells(t *testing.T) {
	r := answering(t, func(context.Context, *a2e.CallRequest, say) *a2e.CallResponse {
		return &a2e.CallResponse{Data: &a2e.Result{Error: ptr("no"), ErrorCode: ptr("timeout"), Truncated: true}}
	})
	res := call(t, overStdio(t, r, alice, revisions[0], nil), "echo", nil)
	if got := jsonOf(t, res.StructuredContent); got != `{"error_code":"timeout","message":"no","retryable":true}` || !res.IsError {
		t.Errorf("got %s", got)
	}
	if res.Meta["hotcell/truncated"] != true {
		t.Errorf("_meta %v", res.Meta)
	}
}

// What is not there for a caller is unknown, whatever the reason; what its agent may not use is refused.
func TestToolsThatMayNotBeCalled(t *testing.T) {
	doors(t, func(t *testing.T, open func(*rig, auth.Identity, *mcp.ClientOptions) *mcp.ClientSession) {
		r := newRig(t, skill("shared"), skill("his").of("bob"))
		r.shelf.denied["bot shared"] = true
		s := open(r, auth.Identity{Principal: "alice", Agent: "bot"}, nil)
		var messages []string
		unknown := []string{"his", "hit", strings.Repeat("n", 5000)}
		if !strings.Contains(t.Name(), "http_"+statelessRevision) { // there a header has the name
			unknown = append(unknown, "", "a\nb")
		}
		for _, name := range unknown {
			_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
			if code(err) != -32602 || !errorIs(err, "unknown tool") {
				t.Errorf("%.20q: %v", name, err)
				continue
			}
			messages = append(messages, strings.ReplaceAll(err.Error(), name, "NAME"))
		}
		if len(messages) > 1 && messages[0] != messages[1] {
			t.Errorf("somebody's skill and none at all are told apart: %q", messages[:2])
		}
		res := call(t, s, "shared", nil)
		if m, _ := res.StructuredContent.(map[string]any); !res.IsError || m["error_code"] != "unauthorized" {
			t.Errorf("got %v", res.StructuredContent)
		}
	})
}

func TestTheRequest(t *testing.T) {
	doors(t, func(t *testing.T, open func(*rig, auth.Identity, *mcp.ClientOptions) *mcp.ClientSession) {
		r := answering(t, func(context.Context, *a2e.CallRequest, say) *a2e.CallResponse { return done(nil) })
		id := auth.Identity{Principal: "alice", Agent: "bot", Groups: []auth.Membership{{Group: "team", Role: auth.RoleAdmin}}, Scopes: []auth.Scope{auth.Calls}}
		s := open(r, id, nil)
		_, err := s.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "echo", Arguments: json.RawMessage(`{"n":12345678901234567890,"s":"é<"}`),
			Meta: mcp.Meta{
				"hotcell/timeout": 30, "hotcell/request_id": "mine", "hotcell/correlation_id": "c", "hotcell/metadata": map[string]any{"k": "v"},
				"hotcell/name": "other", "hotcell/type": "ping", "timeout": 1,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		who, req := r.exec.last()
		if diff := cmp.Diff(a2e.Caller{Principal: "alice", Agent: "bot", Door: "mcp", Groups: map[string]string{"team": "admin"}}, who); diff != "" {
			t.Errorf("caller (-want +got):\n%s", diff)
		}
		if *req.Timeout != 30 || req.ID != "mine" || req.CorrelationID != "c" || req.Metadata["k"] != "v" || req.Name != "echo" {
			t.Errorf("request %+v", req)
		}
		if diff := cmp.Diff(map[string]any{"n": json.Number("12345678901234567890"), "s": "é<"}, req.Arguments); diff != "" {
			t.Errorf("arguments (-want +got):\n%s", diff)
		}
		call(t, s, "echo", nil)
		_, first := r.exec.last()
		call(t, s, "echo", nil)
		if _, second := r.exec.last(); first.ID == second.ID || first.ID == "mine" {
			t.Errorf("two calls have the ids %q and %q", first.ID, second.ID)
		}
	})
}

// Arguments that are none never reach a skill, and a model is told why.
func TestBadArguments(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	r := answering(t, func(context.Context, *a2e.CallRequest, say) *a2e.CallResponse { return done(nil) })
	s := overStdio(t, r, alice, revisions[0], nil)
	for name, c := range map[string]struct {
		args string
		meta mcp.Meta
		want string
	}{
		"a list":       {args: `[1]`, want: "schema_violation: arguments"},
		"text":         {args: `"x"`, want: "schema_violation: arguments"},
		"deep":         {args: deep, want: "invalid_message: message is nested deeper"},
		"a key twice":  {args: `{"a":1,"a":2}`, want: "invalid_message: key \"a\" stands twice"},
		"time-out":     {args: `{}`, meta: mcp.Meta{"hotcell/timeout": -1}, want: "schema_violation: timeout"},
		"metadata":     {args: `{}`, meta: mcp.Meta{"hotcell/metadata": 1}, want: "schema_violation: metadata"},
		"long id":      {args: `{}`, meta: mcp.Meta{"hotcell/request_id": strings.Repeat("x", 300)}, want: "invalid_message: id"},
		"llm override": {args: `{}`, meta: mcp.Meta{"hotcell/llm_override": "x"}, want: "schema_violation: llm_override"},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: json.RawMessage(c.args), Meta: c.meta})
			if err != nil || !res.IsError || !strings.HasPrefix(texts(res)[0], c.want) {
				t.Errorf("%v, %v", err, res)
			}
		})
	}
	if len(r.exec.reqs) != 0 {
		t.Errorf("%d calls reached the handler", len(r.exec.reqs))
	}
}

func TestAPanicEndsOneRequest(t *testing.T) {
	doors(t, func(t *testing.T, open func(*rig, auth.Identity, *mcp.ClientOptions) *mcp.ClientSession) {
		r := answering(t, func(_ context.Context, req *a2e.CallRequest, _ say) *a2e.CallResponse {
			if req.Arguments["panic"] != nil {
				panic("secret")
			}
			return done(nil)
		})
		s := open(r, alice, nil)
		if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"panic": 1}}); code(err) != -32603 || !errorIs(err, "internal") {
			t.Errorf("got %v", err)
		}
		call(t, s, "echo", nil)
	})
}

func TestManyCallsAtOnce(t *testing.T) {
	doors(t, func(t *testing.T, open func(*rig, auth.Identity, *mcp.ClientOptions) *mcp.ClientSession) {
		const many = 100
		var all sync.WaitGroup
		all.Add(many)
		r := answering(t, func(ctx context.Context, req *a2e.CallRequest, say say) *a2e.CallResponse {
			all.Done()
			all.Wait() // all of them are in flight
			say(a2e.KindProgress, map[string]any{"pct": 50, "message": fmt.Sprint(req.Arguments["n"])})
			return done(map[string]any{"n": req.Arguments["n"]})
		})
		var mu sync.Mutex
		told := map[string]bool{}
		s := open(r, alice, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			told[fmt.Sprint(n.Params.ProgressToken, " ", n.Params.Message)] = true
		}})
		var clients sync.WaitGroup
		for i := range many {
			clients.Go(func() {
				p := &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"n": i}}
				p.SetProgressToken(fmt.Sprintf("t%d", i))
				res, err := s.CallTool(t.Context(), p)
				if err != nil || jsonOf(t, res.StructuredContent) != fmt.Sprintf(`{"n":%d}`, i) {
					t.Errorf("call %d: %v %v", i, err, res)
				}
			})
		}
		clients.Wait()
		testutil.Poll(t, time.Minute, func() bool { mu.Lock(); defer mu.Unlock(); return len(told) == many })
		for i := range many {
			if !told[fmt.Sprintf("t%d %d", i, i)] {
				t.Errorf("the progress of call %d went elsewhere", i)
			}
		}
	})
}

// A session has a bounded number of calls in flight; what is beyond is told so at once.
func TestTooManyCalls(t *testing.T) {
	release := make(chan struct{})
	r := answering(t, func(ctx context.Context, _ *a2e.CallRequest, _ say) *a2e.CallResponse {
		<-release
		return done(nil)
	})
	s := overStdio(t, r, alice, revisions[0], nil)
	var clients sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	const beyond = 10
	for range maxCalls + beyond {
		clients.Go(func() {
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"})
			if err != nil {
				t.Error(err)
				return
			}
			if res.IsError {
				mu.Lock()
				defer mu.Unlock()
				if refused++; refused == beyond {
					close(release)
				}
				if m := res.StructuredContent.(map[string]any); m["retryable"] != true || m["detail"].(map[string]any)["reason"] != "queue_full" {
					t.Errorf("got %v", m)
				}
			}
		})
	}
	clients.Wait()
	if refused != beyond {
		t.Errorf("%d calls were refused", refused)
	}
}
