package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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
