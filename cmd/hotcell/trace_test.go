package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil/collector"
)

// parentOf is a traceparent whose trace has a number.
func parentOf(n int) string { return fmt.Sprintf("00-%032x-b7ad6b7169203331-01", n) }

// Every door takes a caller's trace in: from its headers, or from what the request itself says, which comes first. What is no
// trace costs the call nothing. The lines of the log name the trace.
func TestEveryDoorTakesATraceIn(t *testing.T) {
	c := collector.New(t)
	t.Setenv("DOCKER_HOST", "unix:///nowhere.sock")
	b := newBench(t, nil)
	b.app.open = open
	b.env["HOTCELL__TELEMETRY__OTLP__ENDPOINT"], b.env["HOTCELL__LOG__FORMAT"] = c.URL, "json"
	socket := filepath.Join(t.TempDir(), "s")
	r := start(t, b, "serve", "--listen", "127.0.0.1:0", "--socket", socket, "--driver", "docker", "--data-dir", t.TempDir())
	base := r.ready(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	post := func(path, body string, header ...string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s %v", path, resp.Status, text, err)
		}
		return string(text)
	}
	const call = `{"name":"skill-catalog"}`
	post("/v1/calls", call, "traceparent", parentOf(1))
	post("/v1/calls", `{"name":"skill-catalog","metadata":{"traceparent":"`+parentOf(2)+`"}}`, "traceparent", parentOf(99))
	post("/v1/calls", call, "traceparent", "00-hostile", "tracestate", strings.Repeat("x", 1<<10))

	session := strings.Split(post("/session", ""), `"`)[3]
	post("/send", `{"type":"skill/call/req","id":"c3","name":"skill-catalog"}`, "X-Session-Id", session, "traceparent", parentOf(3))
	post("/send", `{"type":"skill/call/req","id":"c4","name":"skill-catalog","metadata":{"traceparent":"`+parentOf(4)+`"}}`, "X-Session-Id", session, "traceparent", parentOf(99))
	talk(t, socket, `{"type":"skill/call/req","id":"c5","name":"skill-catalog","metadata":{"traceparent":"`+parentOf(5)+`"}}`)

	transport, idle := httpTransport(base, map[string]string{"traceparent": parentOf(6)})
	agent, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, meta := range []mcp.Meta{nil, {"traceparent": parentOf(7)}} {
		if res, err := agent.CallTool(t.Context(), &mcp.CallToolParams{Meta: meta, Name: "skill-catalog"}); err != nil || res.IsError {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	_ = agent.Close()
	idle()

	message := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{}}]},"metadata":{"skill":"skill-catalog"%s}}`
	post("/a2a/message:send", fmt.Sprintf(message, ""), "A2A-Version", "1.0", "traceparent", parentOf(8))
	post("/a2a/message:send", fmt.Sprintf(message, `,"traceparent":"`+parentOf(9)+`"`), "A2A-Version", "1.0", "traceparent", parentOf(99))
	rpc := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + fmt.Sprintf(message, "") + `}`
	post("/a2a/rpc", rpc, "A2A-Version", "1.0", "traceparent", parentOf(10))
	if code := r.stop(t); code != 0 {
		t.Errorf("exit %d: %s", code, r.stderr.String())
	}
	checkDoors(t, c.Spans(), r.stderr.String())
}

// checkDoors looks for a call in each of the traces, of the door that it came through, and in the log.
func checkDoors(t *testing.T, spans []collector.Span, log string) {
	t.Helper()
	doors := map[string]any{}
	for _, s := range spans {
		if s.Name == "call" && (s.Parent == "b7ad6b7169203331") == (s.Attributes["hotcell.code"] == "ok" && strings.HasPrefix(s.Trace, "000000")) {
			doors[s.Trace] = s.Attributes["hotcell.door"]
		}
	}
	for i, door := range []string{"http", "http", "http", "http", "socket", "mcp", "mcp", "a2a", "a2a", "a2a"} {
		if trace := parentOf(i + 1)[3:35]; doors[trace] != door || !strings.Contains(log, `"trace_id":"`+trace+`"`) {
			t.Errorf("trace %d: got %v, want %s", i+1, doors[trace], door)
		}
	}
	if len(doors) != 11 {
		t.Errorf("%d traces: %v", len(doors), doors)
	}
	for line := range bytes.Lines([]byte(log)) {
		if entry := map[string]any{}; !strings.HasPrefix(string(line), "hotcell: ") && json.Unmarshal(line, &entry) != nil {
			t.Errorf("no JSON: %s", line)
		}
	}
}

// A collector that takes requests and answers none holds up no call, and the end of the daemon for a few seconds alone. What was
// not told is counted in the log.
func TestACollectorThatHangs(t *testing.T) {
	held := make(chan struct{}, 1)
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case held <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	}))
	t.Cleanup(hangs.Close)
	t.Setenv("DOCKER_HOST", "unix:///nowhere.sock")
	b := newBench(t, nil)
	b.app.open = open
	b.env["HOTCELL__TELEMETRY__OTLP__ENDPOINT"] = hangs.URL
	socket := filepath.Join(t.TempDir(), "s")
	r := start(t, b, "serve", "--listen", "127.0.0.1:0", "--socket", socket, "--driver", "docker", "--data-dir", t.TempDir())
	r.ready(t)
	call := func(id string) {
		t.Helper()
		if got := talk(t, socket, `{"type":"skill/call/req","id":"`+id+`","name":"skill-catalog"}`); !strings.Contains(got, `"success":true`) {
			t.Errorf("got %s", got)
		}
	}
	call("first")
	select {
	case <-held: // the exporter waits, and does not see the end of it while the calls go on
	case <-time.After(time.Minute):
		t.Fatal("no span was exported")
	}
	for i := range 20 {
		call(fmt.Sprint("c", i))
	}
	if code := r.stop(t); code != 0 {
		t.Errorf("exit %d: %s", code, r.stderr.String())
	}
	if !strings.Contains(r.stderr.String(), "spans of traces were lost") {
		t.Errorf("nothing is said of the loss: %s", r.stderr.String())
	}
}

// `hotcell run` belongs to the trace of whoever runs it.
func TestRunIsPartOfATrace(t *testing.T) {
	var got a2e.Trace
	b := newBench(t, func(ctx context.Context, _ *a2e.CallRequest, _ fs.FS, _ a2e.EventWriter) *a2e.CallResponse {
		got = a2e.TraceOf(ctx)
		return &a2e.CallResponse{Data: &a2e.Result{Success: true}}
	})
	b.env["TRACEPARENT"], b.env["TRACESTATE"] = parentOf(1), "a=1"
	if code := b.run("run", "probe"); code != 0 || got != (a2e.Trace{Parent: parentOf(1), State: "a=1"}) {
		t.Errorf("exit %d, %+v: %s", code, got, b.err.String())
	}
}
