package embed_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/executor/embed"
	"github.com/hotcell/hotcell/internal/testutil"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes a host with the skill greet and ends it with the test.
func open(t *testing.T, o embed.Options) *embed.Host {
	t.Helper()
	o.Plugins = append(o.Plugins, greeter{})
	set := map[string]any{"data_dir": t.TempDir(), "sandbox.driver": "docker"}
	for k, v := range o.Set {
		set[k] = v
	}
	o.Set = set
	h, err := embed.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return h
}

const greetLine = `{"type":"skill/call/req","id":"g1","name":"greet","arguments":{"name":"Ada"}}` + "\n"

// greeted reads lines until the answer to greetLine.
func greeted(t *testing.T, r io.Reader) {
	t.Helper()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var m embed.Response
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		if m.Type == "skill/call/resp" {
			if m.Error != nil || m.ReqID != "g1" || m.Data.Data != "Hello, Ada!" {
				t.Errorf("%s", lines.Bytes())
			}
			return
		}
	}
	t.Error("no answer came")
}

func TestStdio(t *testing.T) {
	h := open(t, embed.Options{})
	var out strings.Builder
	if err := h.ServeStdio(t.Context(), strings.NewReader(greetLine), &out); err != nil {
		t.Fatal(err)
	}
	greeted(t, strings.NewReader(out.String()))
}

func TestMCP(t *testing.T) {
	h := open(t, embed.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	in, toHost := io.Pipe()
	fromHost, out := io.Pipe()
	var group sync.WaitGroup
	defer group.Wait()
	defer toHost.Close()
	group.Go(func() { _ = out.CloseWithError(h.ServeMCP(ctx, in, out)) })
	lines := bufio.NewScanner(fromHost)
	for _, step := range []struct{ say, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, `"serverInfo"`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}`, "Hello, Ada!"},
	} {
		if _, err := io.WriteString(toHost, step.say+"\n"); err != nil {
			t.Fatal(err)
		}
		for said := ""; !strings.Contains(said, step.want); said = lines.Text() {
			if !lines.Scan() {
				t.Fatalf("no %s came: %v", step.want, lines.Err())
			}
		}
	}
}

func TestSocket(t *testing.T) {
	h := open(t, embed.Options{})
	path := filepath.Join(t.TempDir(), "s")
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() {
		if err := h.ServeSocket(ctx, path); err != nil {
			t.Error(err)
		}
	})
	var conn net.Conn
	testutil.Poll(t, 10*time.Second, func() (ok bool) {
		var err error
		conn, err = net.Dial("unix", path)
		return err == nil
	})
	defer conn.Close()
	if _, err := io.WriteString(conn, greetLine); err != nil {
		t.Fatal(err)
	}
	greeted(t, conn)
}

func TestHTTP(t *testing.T) {
	h := open(t, embed.Options{Version: "1.2.3"})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() {
		if err := h.ServeHTTPOn(ctx, ln); err != nil {
			t.Error(err)
		}
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, tt := range []struct{ method, path, body, want string }{
		{http.MethodGet, "/health", "", `"status":"ok"`},
		{http.MethodGet, "/v1/skills", "", `"name":"greet"`},
		{http.MethodPost, "/v1/calls", strings.TrimSpace(greetLine), "Hello, Ada!"},
		{http.MethodGet, "/.well-known/agent-card.json", "", `"greet"`},
		{http.MethodGet, "/openapi.json", "", `"install-skill"`},
		{http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
			`"clientInfo":{"name":"t","version":"1"}}}`, `"serverInfo"`},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://"+ln.Addr().String()+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Add("Accept", "application/json, text/event-stream;q=0.5")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s %s: %d %s %v", tt.method, tt.path, resp.StatusCode, body, err)
		}
	}
}

// What listens elsewhere asks who calls.
func TestHTTPIsNotForEverybody(t *testing.T) {
	h := open(t, embed.Options{})
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.ServeHTTPOn(t.Context(), ln); err == nil || !strings.Contains(err.Error(), "auth.mode is none") {
		t.Errorf("got %v", err)
	}
	if _, err := ln.Accept(); err == nil {
		t.Error("the listener is open")
	}
}

// A skill of the program's own and one in a cell are called in the same way, from one list.
func TestBesideCells(t *testing.T) {
	testutil.Require(t, "docker")
	testutil.Require(t, "image-python")
	programs := os.DirFS("../../cmd/hotcell/embed")
	if built, _ := filepath.Glob("../../cmd/hotcell/embed/hotcell-runner-*"); len(built) == 0 {
		t.Fatal("no runner is built: run 'make build' first")
	}
	dir := filepath.Join(t.TempDir(), "skills")
	write(t, filepath.Join(dir, "shout"), map[string]string{
		"SKILL.md": "---\nname: shout\ndescription: says it louder\n---\n",
		"main.py":  "import json, os\nprint(json.dumps(json.load(open(os.environ['HOTCELL_REQUEST']))['arguments']['text'].upper()))\n",
	})
	h := open(t, embed.Options{Programs: programs, Set: map[string]any{"skills.dirs": []string{dir}, "skills.bundled": false, "pool.max": 0}})
	found, err := h.Discover(t.Context(), embed.Caller{})
	var names []string
	for _, def := range found {
		names = append(names, def.Name)
	}
	if err != nil || !slices.Contains(names, "greet") || !slices.Contains(names, "shout") {
		t.Errorf("found %v, %v", names, err)
	}
	for name, tt := range map[string]struct {
		args map[string]any
		want string
	}{
		"greet": {map[string]any{"name": "Ada"}, "Hello, Ada!"},
		"shout": {map[string]any{"text": "é"}, "É"},
	} {
		answer := h.Call(t.Context(), embed.Caller{}, &embed.Request{Name: name, Arguments: tt.args}, nil)
		if answer.Error != nil {
			t.Errorf("%s: %v", name, answer.Error)
			continue
		}
		raw, err := json.Marshal(answer.Data.Data)
		var said string
		if err = errors.Join(err, json.Unmarshal(raw, &said)); err != nil || said != tt.want {
			t.Errorf("%s: %s, %v", name, raw, err)
		}
	}
}

// Without programs a skill in a cell says what is missing, and the others go on.
func TestWithoutPrograms(t *testing.T) {
	testutil.Require(t, "docker")
	testutil.Require(t, "image-python")
	h := open(t, embed.Options{})
	answer := h.Call(t.Context(), embed.Caller{}, &embed.Request{Name: "code-review", Arguments: map[string]any{"code": "x"}}, nil)
	if answer.Error == nil || !strings.Contains(answer.Error.Message, "built without its runner") {
		t.Errorf("got %+v", answer.Error)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	write(t, dir, map[string]string{"bad.yaml": "no_such_key: 1\n"})
	for want, o := range map[string]embed.Options{
		"no_such_key":  {Config: bad},
		"nothing.yaml": {Config: filepath.Join(dir, "nothing.yaml")},
		"sandbox":      {Set: map[string]any{"sandbox.driver": "magic"}},
	} {
		h, err := embed.Open(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if h != nil {
			_ = h.Close(context.Background())
		}
	}
}

// The environment and files of the working folder decide nothing.
func TestNothingOfTheEnvironment(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", map[string]string{"hotcell.yaml": "no_such_key: 1\n"})
	t.Setenv("HOTCELL__AUTH__MODE", "nonsense")
	open(t, embed.Options{})
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Another module can import the package, and a plugin needs nothing but its names: the example is built as a program there.
func TestAnotherModuleImportsIt(t *testing.T) {
	testutil.Require(t, "go")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module github.com/hotcell/hotcell", "module example.org/other", 1)
	text = regexp.MustCompile(`(?ms)^tool .*?$|^tool \(.*?^\)$`).ReplaceAllString(text, "")
	program := strings.Replace(string(example), "package embed_test", "package main", 1)
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod":  text + fmt.Sprintf("\nrequire github.com/hotcell/hotcell v0.0.0\n\nreplace github.com/hotcell/hotcell => %s\n", root),
		"go.sum":  string(sum),
		"main.go": strings.Replace(program, "func Example() {", "func main() {", 1),
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "run", "-mod=mod", "-buildvcs=false", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := "progress looking up the name\n\"Hello, Ada!\"\nschema_violation\n"; string(out) != want {
		t.Errorf("it said %q, want %q", out, want)
	}
}
