package js

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/engine"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// said is what a script's process wrote.
type said struct {
	ok        bool
	events    []string // "log info: text", "progress 30: text", "status text {...}", "artifact NAME MIME BYTES"
	data      string
	summary   string
	err, code string
	retryable *bool
}

// bench runs scripts in a folder that stands for a cell.
type bench struct {
	root string
	env  []string
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	b := &bench{root: t.TempDir()}
	for name, text := range files {
		if !strings.HasPrefix(name, "/") {
			name = "/skill/" + name
		}
		file := filepath.Join(b.root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *bench) run(ctx context.Context, t *testing.T, arguments string) said {
	t.Helper()
	var out bytes.Buffer
	request := io.Reader(strings.NewReader(`{"type":"skill/call/req","name":"demo","arguments":` + arguments + `,"correlation_id":"c1"}` + "\n"))
	cfg := engine.Config{Stdin: request, Stdout: &out, Env: b.env, Root: b.root}
	s := said{ok: Run(ctx, cfg, "/skill/main.js")}
	for line := range strings.Lines(out.String()) {
		s.read(t, line)
	}
	return s
}

func (s *said) read(t *testing.T, line string) {
	t.Helper()
	var l struct {
		Type, Kind, Error string
		Success           *bool
		Data              json.RawMessage
		Summary           string
		ErrorCode         string `json:"error_code"`
		Retryable         *bool
	}
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if l.Type == "skill/result" {
		if s.data != "" || s.err != "" {
			t.Errorf("a second result: %s", line)
		}
		if l.Success == nil || *l.Success != s.ok {
			t.Errorf("reported %v: %s", s.ok, line)
		}
		s.data, s.summary, s.err, s.code, s.retryable = string(l.Data), l.Summary, l.Error, l.ErrorCode, l.Retryable
		return
	}
	var d map[string]any
	if err := json.Unmarshal(l.Data, &d); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	message := d["message"]
	switch l.Kind {
	case "log":
		s.events = append(s.events, fmt.Sprintf("log %v: %v", d["level"], message))
	case "progress":
		s.events = append(s.events, fmt.Sprintf("progress %v: %v", d["pct"], message))
	case "artifact":
		s.events = append(s.events, fmt.Sprintf("artifact %v %v %v", d["name"], d["mime"], d["chunk"]))
	default:
		delete(d, "message")
		rest, _ := json.Marshal(d)
		s.events = append(s.events, fmt.Sprintf("%s %v %s", l.Kind, message, rest))
	}
}

// result runs one file and expects a result.
func result(t *testing.T, script string) string {
	t.Helper()
	s := newBench(t, map[string]string{"main.js": script}).run(t.Context(), t, `{"n":1}`)
	if !s.ok {
		t.Fatalf("failed: %s (%s) %q", s.err, s.code, s.events)
	}
	return s.data
}
