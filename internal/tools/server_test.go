package tools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
)

// envServer makes this test's program an MCP server; its value says how it behaves.
const envServer = "HOTCELL_TEST_MCP"

type echoIn struct {
	Text string `json:"text"`
}

// testServer has the tools echo (reads only), write, fail, image, env, slow and die.
type testServer struct {
	*mcp.Server
	stopped chan struct{} // one for each use of slow that was cancelled
	end     chan struct{} // ends slow at last: the client may be gone before it can cancel
}

func newTestServer() *testServer {
	ts := &testServer{stopped: make(chan struct{}, 9), end: make(chan struct{})}
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it again.", Annotations: reads},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, map[string]any, error) {
			if in.Text == "a number" {
				return nil, map[string]any{"said": 1234567890}, nil
			}
			return nil, map[string]any{"said": in.Text}, nil
		})
	plain := func(name string, annotations *mcp.ToolAnnotations, f func(ctx context.Context) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}, Annotations: annotations},
			func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return f(ctx) })
	}
	text := func(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }
	plain("write", nil, func(context.Context) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: append(text("one"), text("two")...)}, nil
	})
	plain("fail", reads, func(context.Context) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: text("the disk is full")}, nil
	})
	plain("image", reads, func(context.Context) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}}, nil
	})
	plain("env", reads, func(context.Context) (*mcp.CallToolResult, error) {
		env := os.Environ()
		slices.Sort(env)
		dir, _ := os.Getwd()
		return &mcp.CallToolResult{Content: text(strings.Join(append(env, dir), "\n"))}, nil
	})
	plain("quote", reads, func(context.Context) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: text("not authorized: " + os.Getenv("LONG_KEY"))}, nil
	})
	plain("slow", reads, func(ctx context.Context) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
			ts.stopped <- struct{}{}
		case <-ts.end:
		}
		return nil, errors.New("stopped")
	})
	plain("die", reads, func(context.Context) (*mcp.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	ts.Server = s
	return ts
}

func serveStdio() {
	fmt.Fprintln(os.Stderr, "up")
	if os.Getenv(envServer) == "mute" {
		time.Sleep(time.Hour)
	}
	_ = newTestServer().Run(context.Background(), &mcp.StdioTransport{})
}

// program is this test's program as an MCP server.
func program(t *testing.T) Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Command: []string{self}, Env: map[string]string{envServer: "test:1", "API_KEY": "test:s3cret", "LONG_KEY": `test:long-"s3cret"`, "ROOT": "test:/srv/reports", "PIN_TOKEN": "test:1234567890"}}
}

// inProcess serves a server over HTTP; the headers that it saw last are in the returned value.
func inProcess(t *testing.T, s *testServer) (Server, *atomic.Value) {
	t.Helper()
	var seen atomic.Value
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.Server }, &mcp.StreamableHTTPOptions{Logger: slog.New(slog.DiscardHandler)})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Authorization"))
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { close(s.end); web.CloseClientConnections(); web.Close() })
	return Server{URL: web.URL, Headers: map[string]string{"Authorization": "test:Bearer s3cret"}}, &seen
}

const useMCP = "toolkits: ['mcp:srv']\nwrites: true\n"

func TestServerAsAProgram(t *testing.T) {
	b := newBench(t, Options{}, map[string]Server{"srv": program(t)}, "a", useMCP)
	g := b.grant(b.ask("a"))
	for _, tt := range [][3]string{
		{"mcp:srv/echo", `{"text":"hi"}`, `{"said":"hi"}`},
		{"mcp:srv/echo", `{"text":"a number"}`, `tool_execution_failure: the tool's answer holds what only its server may know`},
		{"mcp:srv/echo", `{"text":1}`, `validation_error: arguments.text: expected string, got number`},
		{"mcp:srv/echo", `{}`, `validation_error: arguments.text: required property is missing`},
		{"mcp:srv/write", ``, `"one\ntwo"`},
		{"mcp:srv/fail", ``, `tool_execution_failure: the disk is full`},
		{"mcp:srv/quote", ``, `tool_execution_failure: not authorized: [redacted]`},
		{"mcp:srv/image", ``, `{"content":[{"type":"image","mimeType":"image/png","data":"eA=="}]}`},
		{"mcp:srv/gone", ``, `permission_denied: the skill "a" declares no tool "mcp:srv/gone": it has [mcp:srv/die mcp:srv/echo mcp:srv/env mcp:srv/fail mcp:srv/image mcp:srv/quote mcp:srv/slow mcp:srv/write]`},
		{"mcp:srv/env", ``, `"API_KEY=s3cret\nHOME=` + os.Getenv("HOME") + `\nHOTCELL_TEST_MCP=1\nLANG=C.UTF-8\nLONG_KEY=[redacted]\nPATH=` + os.Getenv("PATH") + `\nPIN_TOKEN=[redacted]\nROOT=/srv/reports\n/"`},
	} {
		if got := tell(g, tt[0], tt[1]); got != tt[2] {
			t.Errorf("%s %s\n got %s\nwant %s", tt[0], tt[1], got, tt[2])
		}
	}
	if got := tell(g, "mcp:srv/die", ""); got != `tool_execution_failure: the MCP server "srv" went away in the middle: what it did is not known` {
		t.Errorf("got %s", got)
	}
	if got := tell(g, "mcp:srv/echo", `{"text":"again"}`); got != `{"said":"again"}` {
		t.Errorf("after its death: %s", got)
	}
}

func TestServerAtAURL(t *testing.T) {
	cfg, seen := inProcess(t, newTestServer())
	b := newBench(t, Options{}, map[string]Server{"srv": cfg}, "a", "tools: ['mcp:srv/echo']\n")
	g := b.grant(b.ask("a"))
	if got := tell(g, "mcp:srv/echo", `{"text":"hi"}`); got != `{"said":"hi"}` || seen.Load() != "Bearer s3cret" {
		t.Errorf("got %s, seen %v", got, seen.Load())
	}
	if got := tell(g, "mcp:srv/write", ""); !strings.HasPrefix(got, "permission_denied: ") {
		t.Errorf("got %s", got)
	}
}

func TestTheOperatorHasTheLastWord(t *testing.T) {
	cfg, _ := inProcess(t, newTestServer())
	cfg.Tools, cfg.ReadOnly = []string{"e*", "write"}, []string{"w*"}
	b := newBench(t, Options{}, map[string]Server{"srv": cfg}, "a", useMCP)
	g := b.granted(b.ask("a"))
	got := map[string]bool{}
	for _, d := range g.definitions() {
		got[d.Name] = d.Writes
	}
	if diff := cmp.Diff(map[string]bool{"mcp:srv/echo": true, "mcp:srv/env": true, "mcp:srv/write": false}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTimeouts(t *testing.T) {
	s := newTestServer()
	cfg, _ := inProcess(t, s)
	cfg.Timeout = 50 * time.Millisecond
	b := newBench(t, Options{}, map[string]Server{"srv": cfg}, "a", useMCP)
	if got := tell(b.grant(b.ask("a")), "mcp:srv/slow", ""); got != "tool_execution_failure: no answer within 50ms" {
		t.Errorf("got %s", got)
	}
	<-s.stopped // the server is told
}

func TestACallsEndEndsItsUse(t *testing.T) {
	s := newTestServer()
	cfg, _ := inProcess(t, s)
	b := newBench(t, Options{}, map[string]Server{"srv": cfg}, "a", useMCP)
	g := b.granted(b.ask("a"))
	ctx, cancel := context.WithCancelCause(t.Context())
	g.Activate(ctx, token)
	time.AfterFunc(20*time.Millisecond, func() { cancel(errors.New("the call is over")) })
	if got := tell(g, "mcp:srv/slow", ""); !strings.HasPrefix(got, "tool_execution_failure: ") {
		t.Errorf("got %s", got)
	}
	g.Revoke()
	<-s.stopped
}

// refusal returns the answer that a call gets for its grant.
func refusal(t *testing.T, b *bench, name string) *a2e.Error {
	t.Helper()
	_, err := b.tools.Grant(b.ask(name))
	var e *a2e.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	return e
}

func TestServersThatAreNotThere(t *testing.T) {
	b := newBench(t, Options{}, map[string]Server{
		"none":   {Command: []string{"/does/not/exist", "--key=s3cret"}},
		"quits":  {Command: []string{"false"}},
		"url":    {URL: "http://127.0.0.1:1/?key=s3cret"},
		"secret": {Command: []string{"true"}, Env: map[string]string{"KEY": "nothing:x"}},
	}, "none", "toolkits: ['mcp:none']\n", "quits", "tools: ['mcp:quits/x']\n", "url", "toolkits: ['mcp:url']\n", "secret", "toolkits: ['mcp:secret']\n")
	for name, want := range map[string]string{
		"none":   `skill "none" needs "mcp:none": the MCP server "none" does not answer: `,
		"quits":  `skill "quits" needs "mcp:quits/x": the MCP server "quits" does not answer: `,
		"url":    `skill "url" needs "mcp:url": the MCP server "url" does not answer: `,
		"secret": `skill "secret" needs "mcp:secret": the MCP server "secret" does not answer: KEY: no such reference`,
	} {
		e := refusal(t, b, name)
		if !strings.HasPrefix(e.Message, want) || e.Code != a2e.RuntimeError || e.Reason() != a2e.ReasonToolUnavailable || !e.Retryable {
			t.Errorf("%s: %v %s", name, e, e.Reason())
		}
		if strings.Contains(e.Message, "s3cret") {
			t.Errorf("%s: the configuration is in %q", name, e.Message)
		}
	}
}

func TestWhatOnlyTheServerKnows(t *testing.T) {
	s := newTestServer()
	cfg, _ := inProcess(t, s)
	b := newBench(t, Options{}, map[string]Server{"srv": cfg}, "missing", "tools: ['mcp:srv/nothing']\n", "reader", "toolkits: ['mcp:srv']\n", "good", "tools: ['mcp:srv/echo']\n")
	for name, want := range map[string]string{
		"missing": `skill "missing" is blocked: tools: the MCP server "srv" has no tool "nothing"`,
		"reader":  `skill "reader" is blocked: "mcp:srv/write" writes, and this skill is read-only: set writes: true, or do without it`,
	} {
		if e := refusal(t, b, name); e.Message != want || e.Reason() != a2e.ReasonBlocked || e.Retryable {
			t.Errorf("%s: %v", name, e)
		}
	}
	if err := b.lib.Refresh(); err != nil { // now that it is known, the library says so by itself
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"missing": `tools[0]: the MCP server "srv" has no tool "nothing"`,
		"reader":  `toolkits[0]: "mcp:srv/write" writes, and this skill is read-only: set writes: true, or do without it`,
		"good":    "",
	} {
		if skill, _ := b.lib.Find(name); skill.BlockedWhy != want {
			t.Errorf("%s: %q", name, skill.BlockedWhy)
		}
	}

	// The server changes its mind in the middle of a call: the gate goes by what is so now.
	g := b.grant(b.ask("good"))
	before := b.box.Version()
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	for b.box.Version() == before {
		yield()
	}
	if got := tell(g, "mcp:srv/echo", ""); got != `permission_denied: "mcp:srv/echo" writes, and the skill "good" is read-only` {
		t.Errorf("got %s", got)
	}
	before = b.box.Version()
	s.RemoveTools("echo")
	for b.box.Version() == before {
		yield()
	}
	if got := tell(g, "mcp:srv/echo", ""); got != `tool_activation_failure: activation of mcp:srv/echo: the MCP server "srv" has no tool "echo"` {
		t.Errorf("got %s", got)
	}
	if got := g.definitions(); len(got) != 0 {
		t.Errorf("still told: %v", got)
	}
}

// SKILL.md names a server's tool without the server.
func TestBareNames(t *testing.T) {
	cfg, _ := inProcess(t, newTestServer())
	b := newBench(t, Options{}, map[string]Server{"srv": cfg}, "good", "tools: ['mcp:srv/echo']\n")
	if got := b.box.Named("echo"); !got.Open || got.Missing != "" {
		t.Errorf("before anybody asked the server: %+v", got)
	}
	b.grant(b.ask("good"))
	for name, missing := range map[string]bool{"echo": false, "time": false, "calculator": false, "gone": true, "srv": true, "mcp:srv/echo": true} {
		if got := b.box.Named(name); (got.Missing != "") != missing || got.Open {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestBoxWords(t *testing.T) {
	empty, one := NewBox(BoxOptions{}), NewBox(BoxOptions{Servers: map[string]Server{"srv": {URL: "http://127.0.0.1:1"}}})
	defer empty.Close()
	defer one.Close()
	for _, tt := range []struct {
		got, want skills.Found
	}{
		{empty.Tool("time"), skills.Found{Tools: []skills.Tool{{Name: "time", Source: "builtin"}}}},
		{empty.Tool("bash"), skills.Found{Missing: `this host has no tool "bash": there are calculator, read_file, time, skill:NAME`}},
		{one.Tool("bash"), skills.Found{Missing: `this host has no tool "bash": there are calculator, read_file, time, skill:NAME, mcp:SERVER/TOOL`}},
		{empty.Tool("mcp:x/y"), skills.Found{Missing: `there is no MCP server "x": the configuration has none (tools.mcp)`}},
		{one.Tool("mcp:x/y"), skills.Found{Missing: `there is no MCP server "x": the configuration (tools.mcp) has srv`}},
		{one.Tool("mcp:srv"), skills.Found{Missing: `"mcp:srv" is a whole server: it goes under toolkits`}},
		{one.Tool("mcp:srv/y"), skills.Found{Open: true}},
		{one.Toolkit("mcp:srv"), skills.Found{Open: true}},
		{one.Toolkit("mcp:srv/y"), skills.Found{Missing: `"mcp:srv/y" is one tool of a server: it goes under tools`}},
		{one.Toolkit("mcp:x"), skills.Found{Missing: `there is no MCP server "x": the configuration (tools.mcp) has srv`}},
		{one.Toolkit("time"), skills.Found{Missing: `this host has no toolkit "time": a toolkit is a server of the configuration (tools.mcp), such as mcp:SERVER`}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if one.Version() != 0 {
		t.Error("somebody was connected to")
	}
}

func TestCloseEndsServers(t *testing.T) {
	mute := program(t)
	mute.Env = map[string]string{envServer: "test:mute"}
	b := newBench(t, Options{}, map[string]Server{"srv": mute}, "a", "toolkits: ['mcp:srv']\n")
	done := make(chan error)
	go func() {
		_, err := b.tools.Grant(b.ask("a"))
		done <- err
	}()
	for {
		s := b.box.servers["srv"]
		s.mu.Lock()
		busy := s.attempt != nil
		s.mu.Unlock()
		if busy {
			break
		}
		yield()
	}
	b.box.Close()
	if err := <-done; err == nil {
		t.Error("a server that says nothing was reached")
	}
}

// A server can have more tools than a cell is told of, and names that are too long for it.
func TestMoreToolsThanACellTakes(t *testing.T) {
	s := newTestServer()
	add := func(name string) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	}
	long := strings.Repeat("n", wall.MaxToolName)
	add(long)
	cfg, _ := inProcess(t, s)
	b := newBench(t, Options{}, map[string]Server{"srv": cfg}, "a", useMCP, "b", useMCP)
	for _, name := range b.granted(b.ask("a")).names {
		if len(name) > wall.MaxToolName {
			t.Errorf("%s is offered", name)
		}
	}
	before := b.box.Version()
	for i := range wall.MaxTools {
		add(fmt.Sprintf("t%d", i))
	}
	for b.box.Version() == before || len(b.box.Toolkit("mcp:srv").Tools) <= wall.MaxTools {
		yield()
	}
	const want = `skill "a" is blocked: it has 136 tools, and a call can be told of 128: name those that it needs under tools`
	if e := refusal(t, b, "a"); e.Message != want || e.Reason() != a2e.ReasonBlocked {
		t.Errorf("%v", e)
	}
}

// A server that tells again and again that its list has changed is asked one thing at a time.
func TestAFloodOfChanges(t *testing.T) {
	s := newTestServer()
	var asked atomic.Int64
	hold := make(chan struct{})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" && asked.Add(1) > 1 {
				<-hold
			}
			return next(ctx, method, req)
		}
	})
	cfg, _ := inProcess(t, s)
	b := newBench(t, Options{}, map[string]Server{"srv": cfg}, "a", useMCP)
	b.granted(b.ask("a"))
	srv := b.box.servers["srv"]
	session, err := srv.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	srv.relist(session)
	for asked.Load() < 2 {
		yield()
	}
	for range 200 {
		srv.relist(session)
	}
	close(hold)
	for listing := true; listing; yield() {
		srv.mu.Lock()
		listing = srv.listing
		srv.mu.Unlock()
	}
	if n := asked.Load(); n != 3 { // at the start, for the first change, and for all that came meanwhile
		t.Errorf("it was asked %d times", n)
	}
}
