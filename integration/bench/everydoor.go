package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/executor/embed"
	"github.com/hotcell/hotcell/internal/a2e"
)

// throughDoor is a door by the key that its overhead is followed under.
type throughDoor struct{ key, name string }

// The doors, and what they are compared with: a call without one. The skill is one of this process's own, so that hotcell's
// share is all that there is.
const hostedDirect = "hosted skill, called in the process"

func everyDoor() []throughDoor {
	return []throughDoor{
		{"a2e_stdio", "hosted skill, A2E over a pair of pipes"},
		{"a2e_unix", "hosted skill, A2E over a unix socket"},
		{"a2e_http", "hosted skill, A2E over HTTP"},
		{"mcp_stdio", "hosted skill, MCP over a pair of pipes"},
		{"mcp_http", "hosted skill, MCP over HTTP"},
		{"a2a_jsonrpc", "hosted skill, A2A over JSON-RPC"},
		{"a2a_rest", "hosted skill, A2A over HTTP with JSON"},
		{"rest_json", "hosted skill, REST with JSON"},
		{"rest_ndjson", "hosted skill, REST with NDJSON"},
		{"rest_sse", "hosted skill, REST with server-sent events"},
	}
}

// hosted is the skill: it says one thing and succeeds.
type hosted struct{}

func (hosted) ListSkills(context.Context, embed.Caller) ([]embed.SkillDefinition, error) {
	return []embed.SkillDefinition{{
		Name: skillNumber(0), Description: "says one thing",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
	}}, nil
}

func (hosted) ExecuteSkill(_ context.Context, _ embed.Caller, ex embed.Execution) (*embed.SkillResult, error) {
	err := ex.EmitEvent(embed.EventStatus, map[string]any{"message": "here"})
	return &embed.SkillResult{Success: true, Data: 42}, err
}

// doorway is a host with all its doors open, and clients behind them.
type doorway struct {
	host *embed.Host
	url  string
	http *http.Client
	end  []func()
	wait sync.WaitGroup
}

// openDoorway opens the doors in a folder of its own.
func openDoorway(ctx context.Context, dir string) (*doorway, error) {
	host, err := embed.Open(ctx, embed.Options{
		Plugins: []embed.Plugin{hosted{}},
		Set:     map[string]any{"data_dir": filepath.Join(dir, "data"), "sandbox.driver": "docker", "skills.bundled": false, "skills.dirs": []string{}},
	})
	if err != nil {
		return nil, err
	}
	d := &doorway{host: host, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	server := httptest.NewServer(host.Handler())
	d.url = server.URL
	d.end = append(d.end, server.Close, server.CloseClientConnections, d.http.CloseIdleConnections)
	return d, nil
}

// close ends what was opened, the last first.
func (d *doorway) close() error {
	for i := len(d.end) - 1; i >= 0; i-- {
		d.end[i]()
	}
	d.wait.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return d.host.Close(ctx)
}

// every returns the doors as contenders.
func (d *doorway) every(ctx context.Context, dir string) ([]contender, error) {
	opened := map[string]func(context.Context) (timing, error){}
	for key, open := range map[string]func(context.Context, string) (func(context.Context) (timing, error), error){
		"a2e_stdio": d.a2eStdio, "a2e_unix": d.a2eUnix, "a2e_http": d.a2eHTTP, "mcp_stdio": d.mcpStdio, "mcp_http": d.mcpHTTP,
		"a2a_jsonrpc": d.a2a(a2a.TransportProtocolJSONRPC), "a2a_rest": d.a2a(a2a.TransportProtocolHTTPJSON),
		"rest_json": d.rest("application/json"), "rest_ndjson": d.rest("application/x-ndjson"), "rest_sse": d.rest("text/event-stream"),
	} {
		call, err := open(ctx, dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		opened[key] = call
	}
	all := []contender{{hostedDirect, calmly(d.direct)}}
	for _, door := range everyDoor() {
		all = append(all, contender{door.name, calmly(opened[door.key])})
	}
	return all, nil
}

func (d *doorway) direct(ctx context.Context) (t timing, err error) {
	began := time.Now()
	answer := d.host.Call(ctx, embed.Caller{Door: "bench"}, &embed.Request{Name: skillNumber(0), Arguments: map[string]any{"text": text}}, func(*embed.Event) {
		if t.first == 0 {
			t.first = time.Since(began)
		}
	})
	t.done = time.Since(began)
	if answer.Error != nil {
		return t, answer.Error
	}
	return t, nil
}

func (d *doorway) a2eStdio(ctx context.Context, _ string) (func(context.Context) (timing, error), error) {
	in, toHost, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromHost, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), toHost.Close())
	}
	d.wait.Go(func() { _ = d.host.ServeStdio(ctx, in, out) })
	d.end = append(d.end, func() { closeAll(toHost, in, fromHost, out) })
	return (&session{a2e.NewEncoder(toHost), a2e.NewDecoder(fromHost, 0)}).call, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

func (d *doorway) a2eUnix(ctx context.Context, dir string) (func(context.Context) (timing, error), error) {
	path := filepath.Join(dir, "every")
	own, stop := context.WithCancel(ctx)
	d.end = append(d.end, stop)
	d.wait.Go(func() { _ = d.host.ServeSocket(own, path) })
	for {
		conn, err := net.Dial("unix", path)
		if err == nil {
			d.end = append(d.end, func() { _ = conn.Close() })
			return (&session{a2e.NewEncoder(conn), a2e.NewDecoder(conn, 0)}).call, nil
		}
		if err := rest(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// post makes a request and returns its answer, whose body the caller closes.
func (d *doorway) post(ctx context.Context, path string, headers map[string]string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := d.http.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return nil, errors.Join(fmt.Errorf("%s: %s %s", path, resp.Status, text), resp.Body.Close())
	}
	return resp, err
}

func (d *doorway) mcpStdio(ctx context.Context, _ string) (func(context.Context) (timing, error), error) {
	in, toHost := io.Pipe()
	fromHost, out := io.Pipe()
	d.wait.Go(func() { _ = out.CloseWithError(d.host.ServeMCP(ctx, in, out)) })
	return d.mcp(ctx, &mcp.IOTransport{Reader: fromHost, Writer: toHost})
}

func (d *doorway) mcpHTTP(ctx context.Context, _ string) (func(context.Context) (timing, error), error) {
	return d.mcp(ctx, &mcp.StreamableClientTransport{Endpoint: d.url + "/mcp", HTTPClient: d.http})
}

func (d *doorway) mcp(ctx context.Context, transport mcp.Transport) (func(context.Context) (timing, error), error) {
	client, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return nil, err
	}
	d.end = append(d.end, func() { _ = client.Close() })
	return func(ctx context.Context) (t timing, err error) {
		began := time.Now()
		res, err := client.CallTool(ctx, &mcp.CallToolParams{Name: skillNumber(0), Arguments: map[string]any{"text": text}})
		t.done = time.Since(began)
		if err == nil && res.IsError {
			err = fmt.Errorf("the tool failed: %v", res.StructuredContent)
		}
		return t, err
	}, nil
}

func (d *doorway) a2a(binding a2a.TransportProtocol) func(context.Context, string) (func(context.Context) (timing, error), error) {
	return func(ctx context.Context, _ string) (func(context.Context) (timing, error), error) {
		card, err := agentcard.NewResolver(d.http).Resolve(ctx, d.url)
		if err != nil {
			return nil, err
		}
		client, err := a2aclient.NewFromCard(ctx, card,
			a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}}),
			a2aclient.WithJSONRPCTransport(d.http), a2aclient.WithRESTTransport(d.http))
		if err != nil {
			return nil, err
		}
		d.end = append(d.end, func() { _ = client.Destroy() })
		return func(ctx context.Context) (t timing, err error) {
			message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"text": text}))
			message.SetMeta("skill_id", skillNumber(0))
			began := time.Now()
			got, err := client.SendMessage(ctx, &a2a.SendMessageRequest{Message: message})
			t.done = time.Since(began)
			if task, ok := got.(*a2a.Task); err == nil && (!ok || task.Status.State != a2a.TaskStateCompleted) {
				err = fmt.Errorf("expected a task that is done, got %+v", got)
			}
			return t, err
		}, nil
	}
}
