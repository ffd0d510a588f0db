package main

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

// oneTool is a catalogue of the skill "probe".
type oneTool struct{ catalog.Reader }

func (oneTool) Callable(_ context.Context, who a2e.Caller) ([]catalog.Entry, error) {
	d := a2e.Definition{Name: "probe", Description: "Probes for " + who.Principal + who.Agent + "."}
	return []catalog.Entry{{Definition: d, ReadOnly: true}}, nil
}

func (oneTool) Skills(context.Context, a2e.Caller, int64) ([]catalog.Summary, error) { return nil, nil }
func (oneTool) Version() uint64                                                      { return 1 }

// oneToken lets in who has it.
type oneToken string

func (o oneToken) Authenticate(_ context.Context, c auth.Credentials) (auth.Identity, error) {
	switch c.Bearer.Reveal() {
	case string(o):
		return auth.Identity{Principal: "alice", Agent: "bot", Scopes: []auth.Scope{auth.Calls}}, nil
	case "reader":
		return auth.Identity{Principal: "alice", Scopes: []auth.Scope{auth.SkillsRead}}, nil
	case "":
		return auth.Identity{}, auth.ErrMissing
	}
	return auth.Identity{}, auth.ErrRefused
}

// mcpSession connects the SDK's client, and tries a tool.
func mcpSession(t *testing.T, transport mcp.Transport) (*mcp.ClientSession, *mcp.Tool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := session.ListTools(ctx, nil)
	if err != nil || len(list.Tools) != 1 {
		t.Fatalf("tools: %v, %v", list, err)
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "probe"})
	if err != nil || res.IsError {
		t.Fatalf("call: %+v, %v", res, err)
	}
	return session, list.Tools[0]
}

// onPipes runs a command whose stdin and stdout are the SDK client's.
func onPipes(t *testing.T, b *bench, args ...string) (*running, mcp.Transport) {
	stdin, toServer := io.Pipe()
	fromServer, stdout := io.Pipe()
	b.app.stdin, b.app.stdout = stdin, stdout
	b.reader = oneTool{}
	t.Cleanup(func() { _ = fromServer.Close() })
	return start(t, b, args...), &mcp.IOTransport{Reader: fromServer, Writer: toServer}
}

func (r *running) ends(t *testing.T, want int) {
	t.Helper()
	select {
	case code := <-r.code:
		if code != want {
			t.Errorf("exit %d: %s", code, r.stderr.String())
		}
	case <-time.After(time.Minute):
		t.Fatalf("it did not end: %s", r.stderr.String())
	}
}

// The end of stdin ends the server, with the calls in flight.
func TestMCPOnStdio(t *testing.T) {
	started, killed := make(chan struct{}, 2), make(chan struct{})
	b := newBench(t, func(ctx context.Context, req *a2e.CallRequest, _ fs.FS, _ a2e.EventWriter) *a2e.CallResponse {
		if req.Arguments["wait"] != nil {
			started <- struct{}{}
			<-ctx.Done()
			close(killed)
		}
		return a2e.Failure(req.ID, req.Name, a2e.Errorf(a2e.RuntimeError, "cancelled"), 0)
	})
	succeeding := succeed(nil, "done")
	waiting := b.super.run
	b.super.run = func(ctx context.Context, req *a2e.CallRequest, in fs.FS, w a2e.EventWriter) *a2e.CallResponse {
		if req.Arguments["wait"] == nil {
			return succeeding(ctx, req, in, w)
		}
		return waiting(ctx, req, in, w)
	}
	r, transport := onPipes(t, b, "mcp", "--agent", "bot")
	session, tool := mcpSession(t, transport)
	if tool.Description != "Probes for bot." {
		t.Errorf("the caller is another one: %s", tool.Description)
	}
	var calling sync.WaitGroup
	calling.Go(func() {
		_, _ = session.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: "probe", Arguments: map[string]any{"wait": 1}})
	})
	<-started
	_ = transport.(*mcp.IOTransport).Writer.Close()
	<-killed
	r.ends(t, 0)
	_ = b.app.stdout.(io.Closer).Close()
	calling.Wait()
	_ = session.Close()
}

// oneAgent is a host that has the agent "bot".
type oneAgent struct{ catalog.Agents }

func (oneAgent) ID(_ context.Context, _ a2e.Caller, name string) (int64, error) {
	if name != "bot" {
		return 0, &catalog.Error{Code: catalog.AgentNotFound, Message: "no such agent"}
	}
	return 1, nil
}

// An agent's name that is misspelt opens everything, so it is said.
func TestMCPOfAnUnknownAgent(t *testing.T) {
	for agent, warned := range map[string]bool{"bot": false, "bto": true, "": false} {
		b := newBench(t, nil)
		b.reader, b.agents = oneTool{}, oneAgent{}
		if code := b.run("mcp", "--agent", agent); code != exitOK {
			t.Errorf("%q: exit %d: %s", agent, code, b.err.String())
		}
		if got := strings.Contains(b.err.String(), "there is no agent bto, so no allowlist applies to it"); got != warned {
			t.Errorf("%q: %s", agent, b.err.String())
		}
	}
}

// Who starts it by hand is told what it waits for.
func TestMCPOnATerminal(t *testing.T) {
	b := newBench(t, nil)
	b.reader = oneTool{}
	master, slave := openPTY(t)
	defer master.Close()
	defer slave.Close()
	b.app.stdin = slave
	if _, err := master.Write([]byte{4}); err != nil { // Ctrl-D
		t.Fatal(err)
	}
	if code := b.run("mcp"); code != exitOK || !strings.Contains(b.err.String(), "MCP is spoken here by an agent host") {
		t.Errorf("exit %d: %s", code, b.err.String())
	}
}

// A signal lets calls end, and their answers get out.
func TestMCPStopsOnSignal(t *testing.T) {
	b := newBench(t, succeed(nil, "done"))
	r, transport := onPipes(t, b, "mcp")
	session, _ := mcpSession(t, transport)
	if code := r.stop(t); code != 0 {
		t.Errorf("exit %d: %s", code, r.stderr.String())
	}
	_ = b.app.stdout.(io.Closer).Close()
	_ = session.Close()
}

func TestMCPGivesUpOnNoise(t *testing.T) {
	b := newBench(t, nil)
	b.reader = oneTool{}
	b.app.stdin = strings.NewReader(strings.Repeat("noise\n", 200))
	if code := b.run("mcp"); code != exitUsage || !strings.Contains(b.err.String(), "no MCP client") {
		t.Errorf("exit %d: %s", code, b.err.String())
	}
	for line := range strings.Lines(b.out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("stdout has %q", line)
		}
	}
	if code := newBench(t, nil).run("mcp", "--agent", "no name"); code != exitUsage {
		t.Errorf("exit %d", code)
	}
}

// bearing adds a token to requests, as a host does that was told to.
type bearing struct {
	http.RoundTripper
	header map[string]string
}

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range b.header {
		r.Header.Set(k, v)
	}
	return b.RoundTripper.RoundTrip(r)
}

func httpTransport(base string, header map[string]string) (*mcp.StreamableClientTransport, func()) {
	plain := &http.Transport{}
	return &mcp.StreamableClientTransport{Endpoint: base + "/mcp", HTTPClient: &http.Client{Transport: bearing{plain, header}}}, plain.CloseIdleConnections
}

// The daemon's listener guards its MCP door as it does the others, and the daemon ends though a client still listens.
func TestMCPOverHTTP(t *testing.T) {
	b := newBench(t, succeed(nil, "done"))
	b.reader, b.auth = oneTool{}, oneToken("tok")
	r := start(t, b, "serve", "--listen", "127.0.0.1:0", "--socket", filepath.Join(t.TempDir(), "s"))
	base := r.ready(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	for name, c := range map[string]struct {
		status int
		header map[string]string
	}{
		"no token":         {401, nil},
		"a wrong token":    {401, map[string]string{"Authorization": "Bearer x"}},
		"no scope":         {403, map[string]string{"Authorization": "Bearer reader"}},
		"another origin":   {403, map[string]string{"Authorization": "Bearer tok", "Origin": "https://evil.example"}},
		"a page's fetch":   {403, map[string]string{"Authorization": "Bearer tok", "Sec-Fetch-Site": "cross-site"}},
		"another host":     {421, map[string]string{"Authorization": "Bearer tok", "Host": "evil.example"}},
		"another content":  {415, map[string]string{"Authorization": "Bearer tok", "Content-Type": "text/plain"}},
		"nothing that is":  {400, map[string]string{"Authorization": "Bearer tok"}},
		"no such session":  {404, map[string]string{"Authorization": "Bearer tok", "Mcp-Session-Id": "x"}},
		"an unknown token": {401, map[string]string{"Authorization": "Bearer ", "Mcp-Session-Id": "x"}},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		for k, v := range c.header {
			req.Header.Set(k, v)
		}
		req.Host = c.header["Host"]
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s: %s", name, resp.Status)
		}
	}
	transport, idle := httpTransport(base, map[string]string{"Authorization": "Bearer tok"})
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	if code := r.stop(t); code != 0 { // while the session's stream is open
		t.Errorf("exit %d: %s", code, r.stderr.String())
	}
	_ = session.Close()
	idle()
}

// Each way to add hotcell to an agent host that docs/mcp.md shows is tried.
func TestMCPSnippets(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "mcp.md"))
	if err != nil {
		t.Fatal(err)
	}
	var commands [][]string
	var headers []map[string]string
	for _, s := range snippets(t, string(doc)) {
		if s.url == "" {
			commands = append(commands, s.command)
			continue
		}
		if s.url != "http://127.0.0.1:8765/mcp" {
			t.Errorf("the URL is %s", s.url)
		}
		headers = append(headers, s.header)
	}
	if len(commands) != 5 || len(headers) != 4 {
		t.Fatalf("docs/mcp.md has %d commands and %d URLs", len(commands), len(headers))
	}
	for _, command := range commands {
		if command[0] != "hotcell" {
			t.Errorf("the command is %q", command)
		}
		b := newBench(t, succeed(nil, "done"))
		r, transport := onPipes(t, b, command[1:]...)
		session, _ := mcpSession(t, transport)
		_ = transport.(*mcp.IOTransport).Writer.Close()
		r.ends(t, 0)
		_ = b.app.stdout.(io.Closer).Close()
		_ = session.Close()
	}
	b := newBench(t, succeed(nil, "done"))
	b.reader, b.auth = oneTool{}, oneToken("tok")
	r := start(t, b, "serve", "--listen", "127.0.0.1:0", "--socket", filepath.Join(t.TempDir(), "s"))
	base := r.ready(t)
	for _, header := range headers {
		transport, idle := httpTransport(base, header)
		session, tool := mcpSession(t, transport)
		if tool.Description != "Probes for alicebot." {
			t.Errorf("the caller is another one: %s", tool.Description)
		}
		_ = session.Close()
		idle()
	}
	if code := r.stop(t); code != 0 {
		t.Errorf("exit %d: %s", code, r.stderr.String())
	}
}

// snippet is how a host is told to reach a server.
type snippet struct {
	command []string
	url     string
	header  map[string]string
}

var (
	variable  = regexp.MustCompile(`\$\{?[A-Za-z:_]+\}?`)
	addHTTP   = regexp.MustCompile(`(?m)^    \w+ mcp add --transport http hotcell (\S+) --header "(\w+): (.*)"$`)
	addStdio  = regexp.MustCompile(`(?m)^    \w+ mcp add hotcell -- (.*)$`)
	fenced    = regexp.MustCompile("(?s)```(json|toml)\n(.*?)```")
	tomlEntry = regexp.MustCompile(`(?m)^(\w+) = (.*)$`)
)

// snippets reads the servers out of the document, with the token in the place of each variable.
func snippets(t *testing.T, doc string) (all []snippet) {
	t.Helper()
	token := func(s string) string { return variable.ReplaceAllString(s, "tok") }
	for _, m := range addStdio.FindAllStringSubmatch(doc, -1) {
		all = append(all, snippet{command: strings.Fields(m[1])})
	}
	for _, m := range addHTTP.FindAllStringSubmatch(doc, -1) {
		all = append(all, snippet{url: m[1], header: map[string]string{m[2]: token(m[3])}})
	}
	type server struct {
		Type, Command, URL string
		Args               []string
		Headers            map[string]string
		Token              string `json:"bearer_token_env_var"`
	}
	for _, block := range fenced.FindAllStringSubmatch(doc, -1) {
		file := struct{ Servers, McpServers map[string]server }{}
		text := block[2]
		if block[1] == "toml" {
			var members []string
			for _, m := range tomlEntry.FindAllStringSubmatch(text, -1) {
				members = append(members, `"`+m[1]+`":`+m[2])
			}
			text = `{"servers":{"hotcell":{` + strings.Join(members, ",") + `}}}`
		}
		if err := json.Unmarshal([]byte(text), &file); err != nil {
			t.Errorf("%v: %s", err, block[2])
		}
		for _, servers := range []map[string]server{file.Servers, file.McpServers} {
			if s, ok := servers["hotcell"]; ok {
				one := snippet{url: s.URL, header: map[string]string{}}
				if s.URL == "" {
					one.command = append([]string{s.Command}, s.Args...)
				}
				for k, v := range s.Headers {
					one.header[k] = token(v)
				}
				if s.Token != "" {
					one.header["Authorization"] = "Bearer tok"
				}
				all = append(all, one)
			}
		}
	}
	return all
}
