package integration

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// chapters uses everything that the module for Python has.
const chapters = `import os, hotcell
hotcell.progress(10, "reading")
text = hotcell.tool("read_file", path="references/text.md")["text"]
words = hotcell.tool("skill:word-count", text=text, top=1)
share = hotcell.tool("calculator", expression=f"round(100 * {words['top'][0]['count']} / {words['words']}, 1)")["result"]
hotcell.status("counted")
hotcell.log("one word leads", level="debug")
now = hotcell.tool("time", zone="Europe/Berlin")
hotcell.artifact(b"the list", "list.txt")
refused = []
for name, arguments in [("read_file", {"path": "../../etc/passwd"}), ("skill:word-count", {"txt": 1}), ("skill:other", {})]:
    try:
        hotcell.tool(name, **arguments)
    except hotcell.ToolError as e:
        refused.append(e.code)
hotcell.result({
    "who": hotcell.arguments()["who"], "words": words["words"], "top": words["top"][0]["word"], "share": share,
    "zone": now["zone"], "refused": refused, "tools": [t["name"] for t in hotcell.tools()], "module": hotcell.__file__,
}, summary="done")
`

func TestTheModuleForPython(t *testing.T) {
	testutil.Require(t, "image-word-count")
	kept := &diary{}
	folder := rig.PythonSkill("chapters", "tools: [time, calculator]\nincludes: [counting]\n", chapters)
	folder["chapters/references/text.md"] = &fstest.MapFile{Data: []byte("tick tock tick\ntock tick boom\n"), Mode: 0o644}
	r := newToolRig(t, kept, folder, rig.PythonSkill("counting", "tools: [read_file, 'skill:word-count']\n", "pass\n"),
		copied(t, "skills/word-count", "word-count"), rig.PythonSkill("other", "", "pass\n"))
	req := request("chapters", 60)
	req.Arguments = map[string]any{"who": "ada"}
	got := ask(t.Context(), r, req, nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	want := map[string]any{
		"who": "ada", "words": 6.0, "top": "tick", "share": "50", "zone": "Europe/Berlin", "module": "/hotcell/lib/hotcell.py",
		"refused": []any{"validation_error", "validation_error", "permission_denied"},
		"tools":   []any{"time", "calculator", "read_file", "skill:word-count"},
	}
	if d := cmp.Diff(want, got.data(t)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string]int{"progress": 1, "status": 1, "log": 1, "artifact": 1}, got.kinds()); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	var used []string
	kept.mu.Lock()
	defer kept.mu.Unlock()
	for _, e := range kept.entries {
		used = append(used, e.Data["tool"].(string)+" "+e.Data["code"].(string))
	}
	if d := cmp.Diff([]string{
		"read_file ok", "skill:word-count ok", "calculator ok", "time ok", "read_file validation_error", "skill:word-count validation_error",
		"skill:other permission_denied",
	}, used); d != "" {
		t.Errorf("the audit (-want +got):\n%s", d)
	}
}

// copied is a folder of a skill, such as one of the documentation's.
func copied(t *testing.T, dir, name string) fstest.MapFS {
	t.Helper()
	out, source := fstest.MapFS{}, os.DirFS(dir)
	err := fs.WalkDir(source, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(source, file)
		out[name+"/"+file] = &fstest.MapFile{Data: data, Mode: 0o644}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheExampleWithTools(t *testing.T) {
	r := newToolRig(t, audit.Nobody, copied(t, "../docs/examples/shares", "shares"))
	req := request("shares", 60)
	req.Arguments = map[string]any{"amount": "100", "weights": map[string]any{"ada": 2, "bob": 1}}
	got := ask(t.Context(), r, req, nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	data := got.data(t).(map[string]any)
	if d := cmp.Diff(map[string]any{"ada": "66.67", "bob": "33.33"}, data["shares"]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A skill that is started ahead of its call has the gate's address, and may use it from then on.
func TestToolsOfASkillThatWaits(t *testing.T) {
	const script = `import hotcell
early = "granted"
try:
    hotcell.tool("time")
except hotcell.ToolError as e:
    early = e.code
n = hotcell.arguments()["n"]
hotcell.result([early, hotcell.tool("calculator", expression=f"{n}*{n}")["result"]])
`
	r := newRoomyToolRig(t, audit.Nobody, 4, rig.Options{Warm: warm.Options{Max: 1}},
		rig.PythonSkill("eager", "tools: [calculator, time]\nrun: {script: main.py, prestart: true}\n", script))
	for _, n := range []int{3, 4} {
		req := request("eager", 60)
		req.Arguments = map[string]any{"n": n}
		got := ask(t.Context(), r, req, nil)
		if got.answer.Error != nil {
			t.Fatal(got.answer.Error)
		}
		data := got.data(t).([]any)
		if data[1] != strconv.Itoa(n*n) {
			t.Errorf("%d: %v", n, data)
		}
		if early := data[0]; early != "granted" && early != "permission_denied" { // as the lease came before or after it
			t.Errorf("before its lease the skill was told %v", early)
		}
		awaitWaiting(t, r, "eager")
	}
}

// down calls the next skill of a chain and hands on what that says.
const down = `import hotcell
next = hotcell.arguments().get("next", [])
try:
    hotcell.result(hotcell.tool("skill:" + next[0], next=next[1:]) if next else "bottom")
except hotcell.ToolError as e:
    hotcell.result(e.code + ": " + e.message)
`

func TestChainsOfSkillsInCells(t *testing.T) {
	var folders []fstest.MapFS
	for name, yaml := range map[string]string{
		"a": "tools: ['skill:b', 'skill:a']\n", "b": "tools: ['skill:c', 'skill:a']\n", "c": "tools: ['skill:d']\n", "d": "tools: ['skill:e']\n", "e": "",
	} {
		folders = append(folders, rig.PythonSkill(name, yaml, down))
	}
	r := newRoomyToolRig(t, audit.Nobody, 4, rig.Options{}, folders...)
	for way, want := range map[string]string{
		"b c d":   "bottom",
		"b c d e": "permission_denied: a → b → c → d → e: calls may be nested 3 deep",
		"b a":     "cycle_detected: a → b → a is a cycle of calls",
	} {
		req := request("a", 60)
		req.Arguments = map[string]any{"next": strings.Fields(way)}
		got := ask(t.Context(), r, req, nil)
		if got.answer.Error != nil {
			t.Errorf("%s: %v", way, got.answer.Error)
		} else if data := got.data(t); data != want {
			t.Errorf("%s: %v, want %s", way, data, want)
		}
	}
}

// A nested call ends with the one around it: its cell is gone, like the other.
func TestANestedCallEndsWithItsParent(t *testing.T) {
	r := newToolRig(t, audit.Nobody,
		rig.PythonSkill("hurried", "tools: ['skill:slow']\n", "import hotcell\nhotcell.tool('skill:slow')\n"),
		rig.PythonSkill("slow", "timeout_seconds: 300\n", "import time\ntime.sleep(300)\n"))
	got := ask(t.Context(), r, request("hurried", 4), nil)
	if code, _ := got.code(); code != a2e.Timeout {
		t.Errorf("got %v", got.answer.Error)
	}
	// newRig waits a minute for all cells to be gone, and says so if they are not
}
