package console

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// usual is the policy of a skill that says nothing, with some choices in the place of the usual ones.
func usual(other ...control.Choice) *control.Ran {
	all := []control.Choice{
		{Field: "limits.memory", Value: "256Mi", From: "default"}, {Field: "limits.cpu", Value: "1", From: "default"}, {Field: "limits.pids", Value: "64", From: "default"},
		{Field: "limits.files", Value: "256", From: "default"}, {Field: "limits.workspace", Value: "64Mi", From: "default"}, {Field: "limits.out", Value: "32Mi", From: "default"},
		{Field: "limits.output", Value: "8Mi", From: "default"}, {Field: "timeout", Value: "60s", From: "default"}, {Field: "network", Value: "none", From: "default"},
		{Field: "llm", Value: "none", From: "default"}, {Field: "secrets", Value: "none", From: "default"}, {Field: "runtime", Value: "the engine's default", From: "default"},
	}
	for _, o := range other {
		for i := range all {
			if all[i].Field == o.Field {
				all[i] = o
			}
		}
	}
	return &control.Ran{Digest: "sha256:" + strings.Repeat("ab", 32), Choices: all, Clamps: nil}
}

// add puts a call on a desk that ended after it had run for took, with an answer.
func (d *desk) add(id, skill string, took time.Duration, fail *a2e.Error, data any, u *control.Usage) *control.Call {
	c := control.Call{
		ID: id, ReqID: "req-" + id, Skill: skill, Principal: "alice", Agent: "planner", Door: "rest", State: control.Succeeded, Cell: "hc-" + id,
		Accepted: noon, Started: noon.Add(120 * time.Millisecond), Ended: noon.Add(120*time.Millisecond + took), Usage: u, Confidence: "kernel",
		Phases: []control.Phase{
			{Name: "plan", Took: 3 * time.Millisecond}, {Name: "queue", From: 3 * time.Millisecond, Took: 40 * time.Millisecond}, {Name: "prepare", From: 43 * time.Millisecond, Took: 20 * time.Millisecond},
			{Name: "start", From: 63 * time.Millisecond, Took: 57 * time.Millisecond}, {Name: "run", From: 120 * time.Millisecond, Took: took}, {Name: "answer", From: 120*time.Millisecond + took, Took: 2 * time.Millisecond},
		},
	}
	answer := &a2e.CallResponse{ReqID: c.ReqID, Name: skill, Data: &a2e.Result{Success: fail == nil, Data: data}, Error: fail}
	if fail != nil {
		c.State, c.Code, c.Reason = control.Failed, fail.Code, fail.Reason()
		answer.Data.Error = &fail.Message
	}
	if d.answers == nil {
		d.answers, d.events = map[string]*a2e.CallResponse{}, map[string][]a2e.Event{}
		d.requests, d.ran = map[string]*control.Request{}, map[string]*control.Ran{}
	}
	d.answers[id], d.ran[id] = answer, usual()
	d.requests[id] = &control.Request{Args: json.RawMessage(`{"path":"data.csv","rows":1200}`)}
	d.calls = append(d.calls, c)
	return &d.calls[len(d.calls)-1]
}

// say adds an event of a call.
func (d *desk) say(id, kind string, after time.Duration, data map[string]any) {
	n := len(d.events[id])
	d.events[id] = append(d.events[id], a2e.Event{Header: a2e.Header{TS: a2e.Timestamp(noon.Add(after))}, Kind: kind, Seq: n, Data: data})
	for i := range d.calls {
		if d.calls[i].ID == id {
			d.calls[i].Events = n + 1
		}
	}
}

func (d *desk) file(id, name, kind, content string) {
	d.say(id, a2e.KindArtifact, time.Second, map[string]any{"name": name, "mime": kind, "final": true, "chunk": base64.StdEncoding.EncodeToString([]byte(content))})
}

// ends is a desk with calls that ended in the ways that people ask about.
func ends() *desk {
	d := &desk{}
	d.add("timeout", "report", time.Minute, a2e.Errorf(a2e.Timeout, "the skill did not finish within 1m0s"), nil, &control.Usage{MemoryPeakBytes: 41 << 20, CPUMS: 340, PIDsPeak: 12})
	d.say("timeout", a2e.KindProgress, 2*time.Second, map[string]any{"pct": json.Number("30"), "message": "Reading"})
	d.say("timeout", a2e.KindLog, 3*time.Second, map[string]any{"level": "info", "message": "asking https://slow.example.org for the rates"})
	d.add("oom", "tables", 2300*time.Millisecond, a2e.Errorf(a2e.OutOfMemory, "the skill used more than its 256Mi of memory"), nil, &control.Usage{MemoryPeakBytes: 256 << 20, CPUMS: 2100, PIDsPeak: 9, ThrottledMS: 20})
	d.say("oom", a2e.KindLog, time.Second, map[string]any{"level": "info", "message": "loading data.csv"})
	d.add("crash", "render", 400*time.Millisecond, a2e.Errorf(a2e.SandboxCrash, "the skill was ended by signal 11 (segmentation fault)").Because(a2e.ReasonSignal).With("signal", 11), nil, &control.Usage{MemoryPeakBytes: 30 << 20, CPUMS: 100, PIDsPeak: 8})
	tail := "Traceback (most recent call last):\n  File \"/skill/scripts/main.py\", line 8, in <module>\n    urlopen(\"https://rates.example.net/today\")\n" +
		"urllib.error.URLError: <urlopen error Tunnel connection failed: 403 rates.example.net:443 is not in network.allow>"
	egress := d.add("egress", "rates", 700*time.Millisecond, a2e.Errorf(a2e.SkillError, "the skill exited with 1: urllib.error.URLError: <urlopen error Tunnel connection failed: 403 rates.example.net:443 is not in network.allow>").
		Because(a2e.ReasonExit).With("exit_code", 1).With("stderr", tail), nil, &control.Usage{MemoryPeakBytes: 22 << 20, CPUMS: 150, PIDsPeak: 8})
	egress.Account = &control.Account{Uses: &control.Uses{Hosts: map[string]int{"rates.example.net:443": 1}, Refused: 1}}
	schema := d.add("schema", "greet", 0, a2e.Errorf(a2e.SchemaViolation, "arguments: /name: expected a string of at least 1 character, got \"\"; /age: expected a number, got the text \"seven\""), nil, nil)
	schema.Cell, schema.Confidence, schema.Started, schema.Phases = "", "", time.Time{}, nil
	flood := d.add("flood", "chatty", 800*time.Millisecond, a2e.Errorf(a2e.SkillError, "the skill exceeded its output budget").Because(a2e.ReasonOutputLimit).With("budget", "output"), nil, nil)
	d.ran["flood"] = usual(control.Choice{Field: "limits.output", Value: "1Mi", From: "operator"})
	d.ran["flood"].Clamps = []control.Clamp{{Field: "limits.output", By: "operator", Asker: "skill", Asked: "32Mi", Granted: "1Mi"}}
	for i := range 350 {
		d.say(flood.ID, a2e.KindLog, time.Duration(i)*time.Millisecond, map[string]any{"level": "info", "message": fmt.Sprintf("line %d", i)})
	}
	ok := d.add("ok", "report", 1500*time.Millisecond, nil, map[string]any{"rows": 12, "title": "A & B <c>"}, &control.Usage{MemoryPeakBytes: 250 << 20, CPUMS: 900, PIDsPeak: 10, ThrottledMS: 600})
	ok.Notes, ok.Unenforced = map[string]any{"oom_child": true}, []string{"seccomp", "network"}
	d.answers["ok"].Data.Summary = "12 rows were written"
	d.say("ok", a2e.KindProgress, time.Second, map[string]any{"pct": 50, "message": "Half way"})
	d.file("ok", "report.txt", "text/plain", "one\ntwo\n")
	d.file("ok", "a/b/plot.png", "image/png", string(pixel))
	d.file("ok", "page.html", "text/html", "<script>alert(1)</script>")
	d.file("ok", "logo.svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`)
	return d
}

// pixel is the smallest PNG.
var pixel, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

func shown(d *desk) Options {
	return Options{Control: d, Book: d, Pulse: d, Handler: &maker{desk: d, free: closed()}}
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// wordsOf is the text of a page without its marks, with single blanks.
func wordsOf(t *testing.T, page string) string {
	t.Helper()
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.Join(strings.Fields(b.String()), " ")
		case html.TextToken:
			b.WriteString(html.UnescapeString(string(z.Raw())) + " ")
		}
	}
}

func TestAPersonCanTellWhatToChange(t *testing.T) {
	b := open(t, shown(ends()))
	for id, wants := range map[string][]string{
		"timeout": {"was not done after 60 s", "the default, since skill.yaml says nothing", "used 340 ms of processor time in 60 s: nearly all the time it waited", "asking https://slow.example.org for the rates", "timeout_seconds: 120"},
		"oom":     {"more than its 256 MiB of memory", "The kernel killed a process", "The kernel itself counted that", "most that it had at once was 256 MiB", "limits: memory: 512Mi", "256 MiB of 256 MiB"},
		"crash":   {"ended by signal 11", "hotcell did not send that signal", "segmentation fault", "native code"},
		"egress":  {"The skill was refused a host on the network.", "exit code 1", "It was rates.example.net:443", `network: allow: ["rates.example.net:443"]`, `policy: network: allow: ["rates.example.net:443"]`, "line 8, in <module>", "Refused by hotcell 1 request"},
		"schema":  {"do not fit what the skill takes", "the skill did not run", "/age: expected a number", `"path": "data.csv"`, "No cell was made"},
		"flood":   {"printed more text or sent more events than it may", "1 MiB (limits.output: set by the operator in hotcell.yaml; 32 MiB was asked for and cut", "raise policy.limits.output", "policy: limits: output: 2Mi", "350 events in all; 300 before these, 0 after"},
		"ok":      {"12 rows were written", "Worth knowing", "cell reached its memory limit", "wanted more processor than its limit", "A & B <c>", "report.txt", "Not enforced in it seccomp network accepted by the operator"},
	} {
		w := b.get("/console/calls/" + id)
		text := wordsOf(t, w.Body.String())
		if w.Code != 200 {
			t.Errorf("%s: %d %s", id, w.Code, text)
		}
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing in\n%s", id, want, text)
			}
		}
	}
}

func TestACancelledCallIsNoFailure(t *testing.T) {
	d := ends()
	d.add("gone", "report", time.Second, a2e.Errorf(a2e.RuntimeError, "cancelled by an operator").Because(a2e.ReasonCancelled), nil, nil).State = control.Canceled
	page := open(t, shown(d)).get("/console/calls/gone").Body.String()
	if text := wordsOf(t, page); !strings.Contains(page, "why calm") || !strings.Contains(text, "It did not fail") || !strings.Contains(text, "cancelled by an operator") {
		t.Errorf("%s", text)
	}
}

func TestNotesOfFailures(t *testing.T) {
	d := ends()
	for _, id := range []string{"oom", "timeout", "egress", "crash"} {
		c, _ := d.find(id, control.Whose{})
		c.Notes = map[string]any{"oom_child": true, "signal": 9}
		d.answers[id].Data.Data = json.RawMessage("null")
	}
	b := open(t, shown(d))
	for id, want := range map[string]bool{"oom": false, "timeout": true, "egress": true, "crash": false} {
		text := wordsOf(t, b.get("/console/calls/"+id).Body.String())
		if got := strings.Contains(text, "That may be why it failed."); got != want || strings.Contains(text, "The result stands") || strings.Contains(text, " Result ") {
			t.Errorf("%s: %v, %s", id, got, text)
		}
	}
	for data, want := range map[any]string{nil: "", "a\nb": "a\nb", 12: "12"} {
		if got, _, _ := resultText(data); got != want {
			t.Errorf("%v: %q", data, got)
		}
	}
	if got, _, plain := resultText(json.RawMessage(`"a\nb"`)); got != "a\nb" || !plain {
		t.Errorf("%q", got)
	}
	tail, more := tailOf(strings.Repeat("line\n", 30), 12)
	if strings.Count(tail, "line") != 12 || !more {
		t.Errorf("%q %v", tail, more)
	}
}

func TestPagesOfEvents(t *testing.T) {
	b := open(t, shown(ends()))
	first := b.get("/console/calls/flood?from=0").Body.String()
	if n := strings.Count(first, "<li id=\"e"); n != eventsPage || !strings.Contains(first, "?from=100#events") || strings.Contains(first, "Earlier events") {
		t.Errorf("%d rows", n)
	}
	last := b.get("/console/calls/flood").Body.String()
	if n := strings.Count(last, "<li id=\"e"); n != 50 || !strings.Contains(last, "?from=200#events") || strings.Contains(last, "Later events") {
		t.Errorf("%d rows", n)
	}
	for _, bad := range []string{"-1", "x", "99999999999"} {
		if w := b.get("/console/calls/flood?from=" + bad); bad != "99999999999" && w.Code != 400 || w.Code >= 500 {
			t.Errorf("from %s: %d", bad, w.Code)
		}
	}
	if w := b.get("/console/calls/nobody"); w.Code != 404 {
		t.Errorf("%d", w.Code)
	}
}

func TestFilesOfACall(t *testing.T) {
	b := open(t, shown(ends()))
	for _, one := range []struct {
		path   string
		status int
		kind   string
		body   string
	}{
		{"file?name=report.txt", 200, "text/html; charset=utf-8", "one\ntwo"},
		{"file?name=page.html", 200, "text/html; charset=utf-8", "&lt;script&gt;alert(1)"},
		{"file?name=logo.svg", 200, "text/html; charset=utf-8", "&lt;svg xmlns"},
		{"file?name=a%2Fb%2Fplot.png", 200, "text/html; charset=utf-8", "/console/calls/ok/picture?name=a%2Fb%2Fplot.png"},
		{"picture?name=a%2Fb%2Fplot.png", 200, "image/png", string(pixel)},
		{"picture?name=logo.svg", 404, "text/html; charset=utf-8", "No image"},
		{"picture?name=page.html", 404, "text/html; charset=utf-8", "No image"},
		{"download?name=page.html", 200, "application/octet-stream", "<script>alert(1)</script>"},
		{"download?name=..%2F..%2Fetc", 404, "text/html; charset=utf-8", "No such file"},
	} {
		w := b.get("/console/calls/ok/" + one.path)
		if w.Code != one.status || w.Header().Get("Content-Type") != one.kind || !strings.Contains(w.Body.String(), one.body) {
			t.Errorf("%s: %d %v %s", one.path, w.Code, w.Header(), w.Body)
		}
		if own := one.kind == "image/png" || one.kind == "application/octet-stream"; own &&
			(w.Header().Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "sandbox")) {
			t.Errorf("%s: %v", one.path, w.Header())
		}
	}
	if w := b.get("/console/calls/ok/download?name=a%2Fb%2Fplot.png"); w.Header().Get("Content-Disposition") != "attachment; filename=plot.png" || w.Body.String() != string(pixel) {
		t.Errorf("%v", w.Header())
	}
	for name, want := range map[string]string{
		"../../x": "attachment; filename=x", "a\r\nb": `attachment; filename=a__b`, `c:\d"e`: `attachment; filename="d\"e"`, "..": "attachment; filename=artifact",
		"\u202egpj.exe": "attachment; filename=_gpj.exe", "": "attachment; filename=artifact",
	} {
		if got := saved(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func TestCancelAndRunAgain(t *testing.T) {
	d := ends()
	run := d.add("run", "slow", 0, nil, nil, nil)
	run.State, run.Ended = control.Running, time.Time{}
	delete(d.answers, "run")
	m := &maker{desk: d, free: closed()}
	b := open(t, Options{Control: d, Book: d, Pulse: d, Handler: m})
	if w := b.get("/console/calls/run"); !strings.Contains(w.Body.String(), `sse-connect="/console/calls/run/live"`) || !strings.Contains(w.Body.String(), "Cancel this call") {
		t.Errorf("%s", w.Body)
	}
	if w := b.post("/console/calls/run/cancel"); w.Code != 303 || len(d.canceled) != 1 || w.Header().Get("Location") != "/console/calls/run?done=cancelling" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := b.post("/console/calls/ok/cancel"); w.Code != 409 {
		t.Errorf("%d", w.Code)
	}
	w := b.post("/console/calls/ok/again")
	if w.Code != 303 || len(m.asked) != 1 || !strings.HasPrefix(w.Header().Get("Location"), "/console/calls/call-") {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if got := m.asked[0]; got.Name != "report" || fmt.Sprint(got.Arguments["rows"]) != "1200" || m.who[0].Agent != "planner" {
		t.Errorf("%+v %+v", got, m.who[0])
	}
	d.requests["ok"] = &control.Request{Missing: "it came with secrets, which are not kept"}
	if w := b.get("/console/calls/ok"); strings.Contains(w.Body.String(), "Run again") || !strings.Contains(w.Body.String(), "which are not kept") {
		t.Errorf("%s", w.Body)
	}
	if w := b.post("/console/calls/ok/again"); w.Code != 409 || !strings.Contains(w.Body.String(), "which are not kept") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestCallsOfOthers(t *testing.T) {
	o := shown(ends())
	o.Auth = doorman{"bob": {Principal: "bob", Scopes: []auth.Scope{auth.Calls}}, "alice": {Principal: "alice", Scopes: []auth.Scope{auth.Calls}}, "read": {Principal: "alice", Scopes: []auth.Scope{auth.SkillsRead}}}
	for token, want := range map[string]int{"bob": 404, "alice": 200, "read": 403} {
		b := open(t, o)
		b.get("/console/login")
		b.post("/console/login", "token", token)
		for _, path := range []string{"", "/live", "/files", "/file?name=report.txt", "/picture?name=a%2Fb%2Fplot.png", "/download?name=report.txt", "/result"} {
			if w := b.get("/console/calls/ok" + path); w.Code != want {
				t.Errorf("%s %s: %d, want %d", token, path, w.Code, want)
			}
		}
		if token != "alice" {
			for _, path := range []string{"/cancel", "/again"} {
				if w := b.post("/console/calls/ok" + path); w.Code != want {
					t.Errorf("%s %s: %d, want %d", token, path, w.Code, want)
				}
			}
		}
	}
}
