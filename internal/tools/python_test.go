package tools

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/wall"
)

// runPython runs a script that finds the module, and returns what it says.
func runPython(t *testing.T, g *grant, script string) (lines []string) {
	t.Helper()
	testutil.Require(t, "python3")
	dir := t.TempDir()
	for name, text := range map[string][]byte{"hotcell.py": Python(), "main.py": []byte(script), "notes.txt": []byte("hello")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() { g.Serve(Port, conn) })
		}
	})
	cmd := exec.Command("python3", "main.py")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1", "HTTP_PROXY=http://127.0.0.1:1"}
	if g != nil {
		cmd.Env = append(cmd.Env, g.Env(func(string) string { return ln.Addr().String() }, token)...)
	}
	cmd.Stdin = strings.NewReader(`{"type":"skill/call/req","arguments":{"n":3}}` + "\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	ln.Close()
	all.Wait()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

func TestPythonSpeaksTheWall(t *testing.T) {
	lines := runPython(t, nil, `
import hotcell
hotcell.progress(33.7, "a third")
hotcell.progress(400)
hotcell.status("busy")
hotcell.log("seven", level="warn")
hotcell.artifact(b"hello", "a.txt")
hotcell.artifact("notes.txt")
hotcell.artifact(b"", "empty.bin")
hotcell.artifact(bytes(600_000), "large.bin", mime="x/y")
try:
    hotcell.artifact(b"x")
except ValueError as e:
    hotcell.log(e)
try:
    hotcell.result(float("nan"))
except ValueError:
    hotcell.log("no number")
try:
    hotcell.tool("time")
except hotcell.ToolError as e:
    hotcell.log(f"{e.code}: {e}")
hotcell.result({"n": hotcell.arguments()["n"]}, summary="three")
hotcell.fail("no column", code="no_column", retryable=False)
`)
	var got []string
	for _, line := range lines {
		if e, err := wall.DecodeEvent([]byte(line)); err == nil {
			text := string(e.Data)
			if len(text) > 200 {
				text = text[:40] + "..." + text[len(text)-16:]
			}
			got = append(got, e.Kind+" "+text)
		} else if r, err := wall.DecodeResult([]byte(line)); err == nil && r.Success != nil {
			got = append(got, line)
		} else {
			t.Errorf("neither an event nor a result: %.200s", line)
		}
	}
	want := []string{
		`progress {"pct":33,"message":"a third"}`,
		`progress {"pct":100,"message":""}`,
		`status {"message":"busy"}`,
		`log {"level":"warn","message":"seven"}`,
		`artifact {"name":"a.txt","mime":"text/plain","chunk":"aGVsbG8=","final":true}`,
		`artifact {"name":"notes.txt","mime":"text/plain","chunk":"aGVsbG8=","final":true}`,
		`artifact {"name":"empty.bin","mime":"application/octet-stream","chunk":"","final":true}`,
		`artifact {"name":"large.bin","mime":"x/y","chunk"...","final":false}`,
		`artifact {"name":"large.bin","mime":"x/y","chunk"...","final":false}`,
		`artifact {"name":"large.bin","mime":"x/y","chunk"...=","final":true}`,
		`log {"level":"info","message":"artifact: bytes need a name"}`,
		`log {"level":"info","message":"no number"}`,
		`log {"level":"info","message":"permission_denied: time: this skill has no tools: skill.yaml declares none"}`,
		`{"type":"skill/result","success":true,"data":{"n":3},"summary":"three"}`,
		`{"type":"skill/result","success":false,"error":"no column","error_code":"no_column","retryable":false}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPythonUsesTools(t *testing.T) {
	b := newBench(t, Options{}, nil, "a", three+"writes: true\nincludes: [c]\n", "c", "tools: ['skill:b']\n", "b", "")
	lines := runPython(t, b.grant(b.ask("a")), `
import concurrent.futures, hotcell
print([t["name"] for t in hotcell.tools()])
print(hotcell.tool("calculator", expression="1/4")["result"])
print(hotcell.tool("time", zone="Europe/Berlin")["local"])
print(hotcell.tool("read_file", path="references/guide.md")["text"].split("\n")[0])
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(sum(int(r["result"]) for r in pool.map(lambda n: hotcell.tool("calculator", expression=f"{n}*{n}"), range(20))))
for name, args in [("calculator", {"expression": "1/"}), ("rm", {"name": "x"}), ("skill:b", {"x": 1}), ("../../etc/passwd", {})]:
    try:
        print(hotcell.tool(name, **args))
    except hotcell.ToolError as e:
        print(e.tool, e.code, e.message[:60])
`)
	want := []string{
		"['calculator', 'time', 'read_file', 'skill:b']", "0.25", "2026-07-01T14:00:00+02:00", "# Guide", "2470",
		"calculator validation_error expression, column 3: expected a number, got the end",
		`rm permission_denied the skill "a" declares no tool "rm": it has [calculator time`,
		"skill:b tool_activation_failure activation of skill:b: this host runs no nested calls",
		`../../etc/passwd permission_denied the skill "a" declares no tool "../../etc/passwd": it has [c`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPythonOutsideOfItsCall(t *testing.T) {
	b := newBench(t, Options{}, nil, "a", three)
	lines := runPython(t, b.granted(b.ask("a")), `
import hotcell
for ask in hotcell.tools, lambda: hotcell.tool("time"):
    try:
        print(ask())
    except hotcell.ToolError as e:
        print(repr(e.tool), e.code, e)
`)
	want := []string{
		"'' permission_denied tools may be used during the call alone: neither before nor after it",
		"'time' permission_denied time: tools may be used during the call alone: neither before nor after it",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Without a model the module says so, and what to do.
func TestPythonWithoutAModel(t *testing.T) {
	got := runPython(t, nil, "import hotcell\ntry:\n    hotcell.model()\nexcept RuntimeError as e:\n    print(e)\n")
	if diff := cmp.Diff([]string{"this skill has no model: skill.yaml must ask for one with llm"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
