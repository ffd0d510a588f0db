package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The examples of the A2E document, as they stand there.
const wireExamples = `{"type":"skill/discover/req","id":"sd1","version":"1.0","ts":1716123456.789,"filter_tags":["coding"],"filter_categories":[]}
{"type":"skill/call/req","id":"sc1","version":"1.0","ts":1716123457.100,"name":"code_review","arguments":{"code":"def add(a, b): return a + b"},"correlation_id":"","timeout":60,"streaming":true,"llm_override":null,"metadata":{}}
`

// shape is a message's type and its fields in order, with those of the objects that the document shows.
func shape(t *testing.T, line string) (kind string, fields []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if key == "type" {
			_ = json.Unmarshal(v, &kind)
		}
		fields = append(fields, key.(string))
	}
	return kind, fields
}

func TestTheDocumentsWireExamples(t *testing.T) {
	r := command(t, binary(t), wireExamples, "stdio")
	if r.Exit != 0 {
		t.Fatalf("%+v", r)
	}
	checkExamples(t, r.Stdout)
}

// checkExamples checks what the examples of the document were answered with, a message a line.
func checkExamples(t *testing.T, said string) {
	t.Helper()
	want := map[string][]string{
		"skill/discover/resp": {"type", "id", "version", "ts", "req_id", "skills"},
		"skill/event":         {"type", "id", "version", "ts", "kind", "req_id", "data", "seq"},
		"skill/call/resp":     {"type", "id", "version", "ts", "req_id", "name", "data", "created_at"},
	}
	seen := map[string]int{}
	last := ""
	for line := range strings.Lines(said) {
		kind, fields := shape(t, line)
		if d := cmp.Diff(want[kind], fields); d != "" {
			t.Errorf("%s (-want +got):\n%s", kind, d)
		}
		seen[kind]++
		if kind == "skill/call/resp" {
			last = line
		}
	}
	if seen["skill/discover/resp"] != 1 || seen["skill/event"] == 0 || seen["skill/call/resp"] != 1 {
		t.Errorf("messages: %v", seen)
	}
	for _, part := range []string{`"req_id":"sc1"`, `"name":"code_review"`, `{"success":true,"data":{"issues":[]},"summary":"No issues found","duration_ms":`} {
		if !strings.Contains(last, part) {
			t.Errorf("the answer lacks %s: %.400s", part, last)
		}
	}
}

// Bad input gets one line that says what to do, and the exit status of the design.
func TestBadInput(t *testing.T) {
	bin := binary(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("skills/typo/SKILL.md", "---\nname: typo\ndescription: has a typo\n---\n")
	write("skills/typo/skill.yaml", "version: 1.0.0\nlimts: {memory: 64Mi}\n")
	write("skills/typo/main.py", "pass\n")
	write("skills/nowhere/SKILL.md", "---\nname: nowhere\ndescription: its image is not to be had\n---\n")
	write("skills/nowhere/skill.yaml", "run: {image: '127.0.0.1:1/acme/none:1', command: [x]}\n")
	file := write("file", "not a folder")
	conf := write("bad.yaml", "listen: 127.0.0.1:8765\nsandbox: {drvier: docker}\n")
	skills := filepath.Join(dir, "skills")

	tests := []struct {
		name  string
		stdin string
		args  []string
		exit  int
		says  []string // all in one line of stderr
	}{
		{name: "unknown skill", args: []string{"run", "code-revew"}, exit: 2, says: []string{"code-revew", `did you mean "code-review"`}},
		{name: "bad JSON", args: []string{"run", "code-review", "--args", "{"}, exit: 2, says: []string{"--args", "JSON"}},
		{name: "missing field", args: []string{"run", "code-review", "--args", "{}"}, exit: 2, says: []string{"code", "required"}},
		{name: "wrong type", args: []string{"run", "code-review", "--args", `{"code":7}`}, exit: 2, says: []string{"code", "string"}},
		{name: "typo in skill.yaml", args: []string{"--skills", skills, "run", "typo"}, exit: 1, says: []string{"skill.yaml:2:1", "limts", "limits"}},
		{name: "image", args: []string{"--skills", skills, "run", "nowhere"}, exit: 1, says: []string{"127.0.0.1:1/acme/none:1", "build or pull it first"}},
		{name: "data folder", args: []string{"--data-dir", filepath.Join(file, "sub"), "run", "code-review", "--arg", "code=1"}, exit: 1, says: []string{file, "--data-dir"}},
		{name: "typo in configuration", args: []string{"--config", conf, "config", "check"}, exit: 2, says: []string{"bad.yaml:2:11", "drvier", "driver"}},
		{name: "no such configuration", args: []string{"--config", filepath.Join(dir, "none.yaml"), "config", "check"}, exit: 2, says: []string{"none.yaml"}},
		{name: "unknown command", args: []string{"rum"}, exit: 2, says: []string{"rum", "run"}},
		{name: "no daemon", args: []string{"calls", "list", "--url", "http://127.0.0.1:1"}, exit: 1, says: []string{"127.0.0.1:1", "hotcell serve"}},
		{name: "no such input", args: []string{"run", "data-profile", "--input", filepath.Join(dir, "none.csv")}, exit: 2, says: []string{"none.csv"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := command(t, bin, tt.stdin, tt.args...)
			if r.Exit != tt.exit {
				t.Errorf("exit %d, want %d", r.Exit, tt.exit)
			}
			lines := strings.Split(strings.TrimSpace(r.Stderr), "\n")
			if len(lines) > 2 || strings.Contains(r.Stderr, "goroutine") {
				t.Errorf("stderr is not one line and a hint: %s", r.Stderr)
			}
			for _, word := range tt.says {
				if !strings.Contains(lines[0], word) {
					t.Errorf("%q does not say %q", lines[0], word)
				}
			}
			if r.Stdout != "" {
				t.Errorf("stdout: %s", r.Stdout)
			}
		})
	}
}

func TestNoEngine(t *testing.T) {
	bin := binary(t)
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	r := command(t, bin, "", "run", "code-review", "--arg", "code=1")
	if r.Exit != 5 || !strings.Contains(r.Stderr, "unix:///nowhere/docker.sock") || !strings.Contains(r.Stderr, "start it") {
		t.Errorf("%+v", r)
	}
	r = command(t, bin, wireExamples, "stdio")
	if r.Exit != 0 || !strings.Contains(r.Stdout, `"code":"sandbox_crash"`) || !strings.Contains(r.Stdout, `"reason":"engine_unavailable"`) {
		t.Errorf("%+v", r)
	}
}

// With --json stdout carries the messages of the wire and nothing else, also when the call fails.
func TestJSONOutputIsTheWire(t *testing.T) {
	bin := binary(t)
	for _, args := range [][]string{{"run", "code-review", "--json", "--args", `{"code":"import os"}`}, {"run", "nobody", "--json"}} {
		r := command(t, bin, "", args...)
		lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
		for i, line := range lines {
			kind, _ := shape(t, line)
			if want := map[bool]string{true: "skill/call/resp", false: "skill/event"}[i == len(lines)-1]; kind != want {
				t.Errorf("%v: line %d is %s, want %s", args, i, kind, want)
			}
		}
	}
}
