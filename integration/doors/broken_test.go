package doors

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// broken is a request that nobody's client makes, and how a door refuses it in its own words.
type broken struct {
	name, path, body string
	header           map[string]string
	status           int
	says             string
}

const (
	cut     = `{"type":"skill/call/req","id":"b1","name":"echo","arguments":{"text":"`
	other   = `{"type":"skill/call/req","id":"b2","version":"9.0","name":"echo","arguments":{"text":"a"}}`
	no      = `{"type":"skill/nonsense","id":"b3"}`
	rpcCut  = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{`
	toolCut = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`
)

func brokenRequests() []broken {
	const json = "application/json"
	var all []broken
	for _, accept := range []string{json, "application/x-ndjson", "text/event-stream"} {
		h := map[string]string{"Accept": accept}
		all = append(all,
			broken{"REST, parse_error, " + accept, "/v1/calls", cut, h, http.StatusBadRequest, `"code":"parse_error"`},
			broken{"REST, version_mismatch, " + accept, "/v1/calls", other, h, http.StatusBadRequest, `"code":"version_mismatch"`},
			broken{"REST, invalid_message, " + accept, "/v1/calls", no, h, http.StatusBadRequest, `"code":"invalid_message"`},
		)
	}
	return append(all,
		broken{"MCP, cut off", "/mcp", toolCut, map[string]string{"Accept": json + ", text/event-stream"}, http.StatusBadRequest, ""},
		broken{"MCP, another revision", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			map[string]string{"Accept": json + ", text/event-stream", "MCP-Protocol-Version": "1999-01-01"}, http.StatusBadRequest, ""},
		broken{"A2A JSON-RPC, cut off", "/a2a/rpc", rpcCut, nil, http.StatusOK, `-32700`},
		broken{"A2A JSON-RPC, another version", "/a2a/rpc", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`, map[string]string{"A2A-Version": "9.0"}, http.StatusOK, `-32009`},
		broken{"A2A REST, cut off", "/a2a/message:send", `{"message":{`, nil, http.StatusBadRequest, `"error"`},
		broken{"A2A REST, another version", "/a2a/message:send", `{}`, map[string]string{"A2A-Version": "9.0"}, http.StatusBadRequest, `VERSION_NOT_SUPPORTED`},
	)
}

// Requests that are broken off, that name another version or mean nothing are refused at once, in each door's own words, and
// good calls beside them through the same doors do not notice.
func TestBrokenRequestsAreRefused(t *testing.T) {
	d := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	good := map[string]caller{}
	for _, column := range doorsOf() {
		if column.needs == "" {
			good[column.name] = column.open(t, d)
		}
	}
	var group sync.WaitGroup
	for name, through := range good {
		group.Go(func() {
			for i := range 20 {
				got, err := through(ctx, call{Skill: "skill", Args: map[string]any{"name": "book", "filename": page(i)}})
				data, _ := plain(got).Data.(map[string]any)
				if err != nil || data["content"] != content(i) {
					t.Errorf("%s: %v, %+v", name, err, got)
				}
			}
		})
	}
	for _, b := range brokenRequests() {
		for range 5 {
			group.Go(func() { d.refuses(ctx, t, b) })
		}
	}
	group.Go(func() { d.refusesLines(t) })
	group.Wait()
}

func (d *daemon) refuses(ctx context.Context, t *testing.T, b broken) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+b.path, strings.NewReader(b.body))
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range b.header {
		req.Header.Set(name, value)
	}
	resp, err := d.http.Do(req)
	if err != nil {
		t.Errorf("%s: %v", b.name, err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != b.status || !strings.Contains(string(body), b.says) {
		t.Errorf("%s: %v, %s %s", b.name, err, resp.Status, body)
	}
}

// refusesLines sends the same over the unix socket: each is refused with its code, and the session goes on.
func (d *daemon) refusesLines(t *testing.T) {
	conn, err := net.Dial("unix", d.socket)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Error(err)
	}
	lines := bufio.NewScanner(conn)
	for _, tt := range []struct{ line, want string }{
		{cut, `"code":"parse_error"`}, {other, `"code":"version_mismatch"`}, {no, `"code":"invalid_message"`}, {`{"type":"ping","id":"p"}`, `"pong"`},
	} {
		if _, err := fmt.Fprintln(conn, tt.line); err != nil {
			t.Error(err)
			return
		}
		if !lines.Scan() || !strings.Contains(lines.Text(), tt.want) {
			t.Errorf("%s: %s %v, want %s", tt.line, lines.Text(), lines.Err(), tt.want)
			return
		}
	}
}
