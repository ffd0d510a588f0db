package integration

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// longFile is Python of about n lines with one unused import and one bare except.
func longFile(n int) string {
	var b strings.Builder
	b.WriteString("import os\nimport sys\n\nprint(sys.argv)\n")
	for i := 0; b.Len() < n*30; i++ {
		fmt.Fprintf(&b, "\ndef function_%d(a, b):\n    total = a + b\n    for i in range(total):\n        total += i * %d\n    return total\n", i, i)
	}
	b.WriteString("\ntry:\n    print(1)\nexcept:\n    pass\n")
	return b.String()
}

// The bundled review tells how far it is while it works, not all at the end.
func TestCodeReviewStreamsItsProgress(t *testing.T) {
	r := newRig(t, rig.Options{})
	code := longFile(2000)
	if n := strings.Count(code, "\n"); n < 2000 {
		t.Fatalf("the sample has only %d lines", n)
	}
	req := request("code_review", 120)
	req.Arguments = map[string]any{"code": code}
	got := ask(t.Context(), r, req, nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	if got.answer.Name != "code_review" {
		t.Errorf("name = %q, want it as asked", got.answer.Name)
	}
	progress, last := 0, -1
	for _, ev := range got.events {
		if ev.Kind != a2e.KindProgress {
			continue
		}
		pct := ev.Data["pct"].(int)
		if pct < last {
			t.Errorf("progress went back from %d to %d", last, pct)
		}
		last = pct
		progress++
	}
	if progress < 5 {
		t.Errorf("%d progress events, want at least 5", progress)
	}
	issues := got.data(t).(map[string]any)["issues"].([]any)
	rules := map[string]bool{}
	for _, i := range issues {
		rules[i.(map[string]any)["rule"].(string)] = true
	}
	if !rules["unused-import"] || !rules["bare-except"] || len(issues) != 2 {
		t.Errorf("issues = %v, want the unused import and the bare except", issues)
	}
	if k := got.kinds(); k[a2e.KindLog] == 0 || k[a2e.KindArtifact] == 0 {
		t.Errorf("kinds = %v, want a log and the report among them", k)
	}
}

// Progress is heard while the skill runs: this one would never end by itself.
func TestProgressArrivesWhileTheSkillRuns(t *testing.T) {
	script := `import json, time
for i in range(5):
    print(json.dumps({"type": "skill/event", "kind": "progress", "data": {"pct": 10 * i, "message": "on"}}))
time.sleep(300)
`
	r := newRig(t, rig.Options{Skills: rig.PythonSkill("endless", "", script)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard := 0
	answer := r.Call(ctx, a2e.Caller{}, request("endless", 60), a2e.EventWriterFunc(func(context.Context, *a2e.Event) error {
		if heard++; heard == 5 {
			cancel()
		}
		return nil
	}))
	if heard != 5 || answer.Error == nil || answer.Error.Reason() != a2e.ReasonCancelled {
		t.Errorf("%d events, then %+v", heard, answer.Error)
	}
}

func TestDataProfileReadsAFileThatWasHandedIn(t *testing.T) {
	r := newRig(t, rig.Options{})
	req := request("data-profile", 60)
	req.Arguments = map[string]any{"file": "people.csv"}
	in := fstest.MapFS{"people.csv": {Data: []byte("name,age\nann,31\nbob,\nann,31\n"), Mode: 0o644}}
	got := ask(t.Context(), r, req, in)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	data := got.data(t).(map[string]any)
	if data["rows"] != float64(3) || data["duplicates"] != float64(1) {
		t.Errorf("data = %v, want 3 rows and 1 duplicate", data)
	}
}

// Files go in and out byte by byte, folders and large ones included.
func TestFilesInAndOut(t *testing.T) {
	script := `import os, shutil
src, dst = os.environ["HOTCELL_INPUT"], os.environ["HOTCELL_OUT"]
shutil.copytree(src, dst, dirs_exist_ok=True)
os.symlink("/etc/passwd", dst + "/link")
os.mkfifo(dst + "/pipe")
`
	r := newRig(t, rig.Options{Skills: rig.PythonSkill("copy", "", script)})
	large := []byte(strings.Repeat("0123456789abcdef", 100_000))
	in := fstest.MapFS{"a/b/large.bin": {Data: large, Mode: 0o600}, "empty": {Mode: 0o644}, "naïve name": {Data: []byte{0, 255, 10}, Mode: 0o644}}
	got := ask(t.Context(), r, request("copy", 60), in)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	out := map[string]string{}
	finals := map[string]int{}
	for _, ev := range got.events {
		if ev.Kind != a2e.KindArtifact {
			continue
		}
		name := ev.Data["name"].(string)
		chunk, err := base64.StdEncoding.DecodeString(ev.Data["chunk"].(string))
		if err != nil {
			t.Fatal(err)
		}
		out[name] += string(chunk)
		if ev.Data["final"].(bool) {
			finals[name]++
		}
	}
	want := map[string]string{"a/b/large.bin": string(large), "empty": "", "naïve name": "\x00\xff\n"}
	if d := cmp.Diff(want, out); d != "" {
		t.Errorf("artifacts (-want +got):\n%.2000s", d)
	}
	for name := range want {
		if finals[name] != 1 {
			t.Errorf("%s was final %d times", name, finals[name])
		}
	}
}

// An image without the runner speaks the wall itself.
func TestAFramesSkill(t *testing.T) {
	testutil.Require(t, "image-word-count")
	r := newRig(t, rig.Options{Skills: folder(t, "skills")})
	req := request("word-count", 60)
	req.Arguments = map[string]any{"text": "one two two"}
	got := ask(t.Context(), r, req, nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	if len(got.events) == 0 || got.answer.Data.Data == nil {
		t.Errorf("%d events, data %v", len(got.events), got.answer.Data.Data)
	}
}

// What a skill finds in its cell is what the docs promise, and nothing of the host.
func TestInsideTheCell(t *testing.T) {
	script := `import json, os, socket
def attempt(f):
    try:
        f()
        return "ok"
    except OSError as e:
        return e.__class__.__name__ if not e.errno else os.strerror(e.errno)
print(json.dumps({
    "cwd": os.getcwd(), "home": os.environ["HOME"], "uid_ok": 65600 <= os.getuid() <= 66599, "host": socket.gethostname(),
    "root": attempt(lambda: open("/x", "w")), "tmp": attempt(lambda: open("/tmp/x", "w")), "bundle": attempt(lambda: open("/skill/x", "w")), "runner": attempt(lambda: open("/hotcell/x", "w")),
    "workspace": attempt(lambda: open("/workspace/x", "w")), "out": attempt(lambda: open("/out/x", "w")),
    "net": attempt(lambda: socket.create_connection(("192.0.2.1", 80), 2)), "interfaces": [n for _, n in socket.if_nameindex()],
    "pid1_fds": attempt(lambda: os.listdir("/proc/1/fd")), "pid1_mem": attempt(lambda: open("/proc/1/mem", "rb")),
    "request": json.load(open(os.environ["HOTCELL_REQUEST"]))["name"],
    "env": sorted(k for k in os.environ if k not in ("LC_CTYPE",)),
}))
`
	r := newRig(t, rig.Options{Skills: rig.PythonSkill("looks", "", script)})
	req := request("looks", 60)
	req.CorrelationID = "turn-7"
	got := ask(t.Context(), r, req, nil)
	if got.answer.Error != nil {
		t.Fatal(got.answer.Error)
	}
	want := map[string]any{
		"cwd": "/workspace", "home": "/workspace", "uid_ok": true, "host": "skill",
		"root": "Read-only file system", "tmp": "Read-only file system", "bundle": "Read-only file system", "runner": "Read-only file system",
		"workspace": "ok", "out": "ok", "net": "Network is unreachable", "interfaces": []any{"lo"},
		"pid1_fds": "Permission denied", "pid1_mem": "Permission denied", "request": "looks",
		"env": []any{"HOME", "HOTCELL_INPUT", "HOTCELL_OUT", "HOTCELL_REQUEST", "LANG", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONUNBUFFERED", "SKILL_CORRELATION_ID", "TMPDIR"},
	}
	if underRunsc() {
		// Its owner comes before the file system's state, and a directory's names are free; what they lead to is not.
		for _, place := range []string{"root", "tmp", "bundle", "runner"} {
			want[place] = "Permission denied"
		}
		want["pid1_fds"] = "ok"
	}
	if d := cmp.Diff(want, got.data(t)); d != "" {
		t.Errorf("inside (-want +got):\n%s", d)
	}
}
