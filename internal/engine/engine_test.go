package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/wall"
)

// Every line is one that the wall takes, whatever it carries.
func TestVoice(t *testing.T) {
	var out bytes.Buffer
	v := NewVoice(&out)
	long := strings.Repeat("é\"", 300<<10)
	v.Log("info", long)
	v.Status("bad \xff", map[string]any{"message": "no", "n": 1})
	v.Event("status", map[string]any{"message": long})
	v.Event("status", map[string]any{"x": func() {}})
	v.Artifact("a", "x/y", make([]byte, wall.FileChunk+1))
	v.Artifact("empty", "x/y", nil)
	v.Fail(Finalf("code", "why"))
	v.Log("info", "too late")
	v.Result(json.RawMessage("1"), "", false)
	lines := bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
	if len(lines) != 8 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines[:7] {
		e, err := wall.DecodeEvent(line)
		if err != nil || len(line) > wall.MaxLine {
			t.Fatalf("line %d of %d bytes: %v", i, len(line), err)
		}
		if i == 2 || i == 3 {
			if e.Kind != "log" || !bytes.Contains(e.Data, []byte("was left out")) {
				t.Errorf("line %d: %.100s", i, line)
			}
		}
	}
	if !bytes.Contains(lines[1], []byte(`"message":"bad `+"\uFFFD"+`","n":1`)) {
		t.Errorf("status: %s", lines[1])
	}
	r, err := wall.DecodeResult(lines[7])
	if err != nil || *r.Success || r.Error != "why" || r.ErrorCode != "code" || r.Retryable == nil || *r.Retryable {
		t.Errorf("result %+v, %v", r, err)
	}
}

func TestRequest(t *testing.T) {
	req, err := ReadRequest(t.Context(), strings.NewReader(`{"name":"x","arguments":{"a":1.50}}`))
	if err != nil || string(req.Arguments) != `{"a":1.50}` || req.Name != "x" {
		t.Errorf("got %+v, %v", req, err)
	}
	req, err = ReadRequest(t.Context(), strings.NewReader(`{"name":"x","arguments":null}`+"\nmore"))
	if err != nil || string(req.Arguments) != `{}` {
		t.Errorf("got %+v, %v", req, err)
	}
	for _, bad := range []string{"", "\n", "[1]\n", "text\n"} {
		var f *Failure
		if _, err := ReadRequest(t.Context(), strings.NewReader(bad)); !errors.As(err, &f) || f.Code != CodeBadRequest {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestLease(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lease.json")
	if l, err := ReadLease(file); err != nil || l.Model != nil {
		t.Errorf("none: %v", err)
	}
	if err := os.WriteFile(file, []byte(`{"type":"cell/lease","model":{"provider":"p","kind":"openai","model":"m"},"max_turns":3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := ReadLease(file); err != nil || l.Model.Model != "m" || l.MaxTurns != 3 {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(file, []byte(`{`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLease(file); err == nil {
		t.Error("a broken lease was read")
	}
}

// Nothing outside of a folder is read, whatever leads there.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"in/a/b.txt": "b", "in/c.txt": "cc", "secret": "s"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(dir, "in/link")); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFiles(filepath.Join(dir, "in"), "/skill")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, want := range map[string]string{"a/b.txt": "b", "/skill/a/b.txt": "b", "./c.txt": "cc", "a/../c.txt": "cc"} {
		if got, err := f.Read(name, 2); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "..", "../secret", "/skill/../secret", "/etc/passwd", "link", "a", "none", "a/b.txt/x"} {
		if got, err := f.Read(name, 100); err == nil {
			t.Errorf("%s: read %q", name, got)
		}
	}
	if _, err := f.Read("c.txt", 1); err == nil || !strings.Contains(err.Error(), "more than 1 bytes") {
		t.Errorf("too long: %v", err)
	}
	all, more := f.List(1)
	if len(all) != 1 || !more || all[0] != (File{"a/b.txt", 1}) {
		t.Errorf("list: %v, %v", all, more)
	}
	none, err := OpenFiles(filepath.Join(dir, "none"), "/skill")
	if err != nil {
		t.Fatal(err)
	}
	if all, more := none.List(9); len(all) != 0 || more {
		t.Errorf("a folder that is not there lists %v", all)
	}
	if _, err := none.Read("x", 1); err == nil {
		t.Error("a folder that is not there has files")
	}
}
