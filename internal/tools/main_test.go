package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
)

// TestMain is also the MCP server that tests start as a program.
func TestMain(m *testing.M) {
	if os.Getenv(envServer) != "" {
		serveStdio()
		return
	}
	goleak.VerifyTestMain(m)
}

const token = "hc-0123456789"

var clock = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// diary keeps audit entries.
type diary struct {
	mu      sync.Mutex
	entries []audit.Entry
}

func (d *diary) Write(e audit.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, e)
}

// lines renders the entries as "tool code bytes".
func (d *diary) lines() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, e := range d.entries {
		if _, ok := e.Data["ms"].(int64); !ok || e.Call != "call-1" || e.Kind != "tool.call" || e.At.IsZero() {
			out = append(out, fmt.Sprintf("unexpected: %+v", e))
		}
		out = append(out, fmt.Sprintf("%s %s %d", e.Data["tool"], e.Data["code"], e.Data["bytes"]))
	}
	return out
}

// bench is a host with skills and tools.
type bench struct {
	t     *testing.T
	box   *Box
	lib   *skills.Library
	tools *Tools
	diary *diary
}

// newBench makes a host whose skills are given as name, skill.yaml. Each has a script, and a file in its bundle.
func newBench(t *testing.T, opt Options, servers map[string]Server, pairs ...string) *bench {
	t.Helper()
	files := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		for file, text := range map[string]string{
			"SKILL.md": "---\nname: " + pairs[i] + "\ndescription: About " + pairs[i] + ".\n---\n", "main.py": "print(1)\n", "skill.yaml": pairs[i+1],
			"references/guide.md": "# Guide\nRead me.\n", "data.bin": "\xff\x00\xfe",
		} {
			files[pairs[i]+"/"+file] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
		}
	}
	b := &bench{t: t, diary: &diary{}}
	b.box = NewBox(BoxOptions{Servers: servers, Now: func() time.Time { return clock }, Resolve: func(ref string) (string, error) {
		if value, ok := strings.CutPrefix(ref, "test:"); ok {
			return value, nil
		}
		return "", fmt.Errorf("no such reference")
	}})
	t.Cleanup(b.box.Close)
	var err error
	if b.lib, err = skills.LoadWith([]skills.Source{{Label: skills.SourceProject, FS: files, Path: "test"}}, b.box, nil); err != nil {
		t.Fatal(err)
	}
	opt.Box, opt.Skills, opt.Log = b.box, b.lib, b.diary
	b.tools = New(opt)
	return b
}

// ask is a call of a skill.
func (b *bench) ask(name string, chain ...string) service.Ask {
	b.t.Helper()
	skill, _ := b.lib.Find(name)
	if skill == nil || skill.Status != skills.Published {
		b.t.Fatalf("skill %s: %+v", name, skill)
	}
	return service.Ask{
		Call: "call-1", Who: a2e.Caller{Principal: "ada", Agent: "agent", Door: "http"}, Skill: skill,
		Policy: policies.Effective{Writes: skill.Policy.Writes}, Chain: chain,
	}
}

// grant grants a call and activates it; it ends with the test.
func (b *bench) grant(ask service.Ask) *grant {
	b.t.Helper()
	g := b.granted(ask)
	ctx, cancel := context.WithCancel(b.t.Context())
	g.Activate(ctx, token)
	b.t.Cleanup(func() { cancel(); g.Revoke() })
	return g
}

func (b *bench) granted(ask service.Ask) *grant {
	b.t.Helper()
	got, err := b.tools.Grant(ask)
	if err != nil || got == nil {
		b.t.Fatalf("grant: %v %v", got, err)
	}
	return got.(*grant)
}

// do sends one request over a stream of its own and returns status and body.
func do(t *testing.T, g service.Grant, method, path, bearer, body string) (int, string) {
	t.Helper()
	status, text, err := send(g, method, path, bearer, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return status, text
}

func send(g service.Grant, method, path, bearer, body string) (int, string, error) {
	ours, theirs := net.Pipe()
	served := make(chan struct{})
	go func() { defer close(served); g.Serve(Port, theirs) }()
	defer func() { ours.Close(); <-served }()
	req, err := http.NewRequest(method, "http://127.0.0.1:41001"+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Close = true
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	go func() { _ = req.Write(ours) }()
	resp, err := http.ReadResponse(bufio.NewReader(ours), req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSuffix(string(raw), "\n"), err
}

// tell uses a tool by a line and renders what comes back.
func tell(g service.Grant, name, args string) string {
	return told(g.(service.Tooler).Tool(context.Background(), &wall.Tool{Type: wall.TypeTool, ID: "1", Name: name, Arguments: json.RawMessage(args)}))
}

func told(res *wall.ToolResult) string {
	switch {
	case res.ID != "1" || res.Type != wall.TypeToolResult:
		return fmt.Sprintf("unexpected: %+v", res)
	case res.Success:
		return string(res.Data)
	}
	return res.Code + ": " + res.Error
}

// answers returns a Calls function that answers from a map, by skill.
func answers(by map[string]func(ctx context.Context, req *a2e.CallRequest) *a2e.CallResponse) func(context.Context, a2e.Caller, *a2e.CallRequest) *a2e.CallResponse {
	return func(ctx context.Context, _ a2e.Caller, req *a2e.CallRequest) *a2e.CallResponse {
		if f := by[req.Name]; f != nil {
			return f(ctx, req)
		}
		return a2e.Failure(req.ID, req.Name, a2e.Errorf(a2e.UnknownSkill, "unknown skill %q: there are %v", req.Name, slices.Sorted(maps.Keys(by))), 0)
	}
}

func success(req *a2e.CallRequest, data any) *a2e.CallResponse {
	return &a2e.CallResponse{ReqID: req.ID, Name: req.Name, Data: &a2e.Result{Success: true, Data: data}}
}
