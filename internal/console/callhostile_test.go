package console

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// payload is what a stranger writes into each field that is theirs.
const payload = `"'><script>alert(1)</script><img src=x onerror=alert(2)><a href="javascript:alert(3)">x</a>{{.CSRF}}` + "\u202e\x1b[31m"

// hostileCall is a desk with a call in which strangers wrote every field.
func hostileCall() *desk {
	d := &desk{}
	fail := a2e.Errorf(a2e.SkillError, "%s", payload+" is not in network.allow").Because(a2e.ReasonExit).With("exit_code", 1).With("stderr", payload).With("skill_code", payload)
	c := d.add("evil", payload, time.Second, fail, map[string]any{payload: payload}, &control.Usage{MemoryPeakBytes: 255 << 20})
	c.ReqID, c.Principal, c.Agent, c.Door, c.Cell = payload, "alice"+payload, payload, payload, payload
	c.Notes = map[string]any{payload: payload, "output_over": payload}
	c.Phases = []control.Phase{{Name: payload, Took: time.Second}}
	c.Account = &control.Account{Ref: payload, Version: payload, Uses: &control.Uses{Hosts: map[string]int{payload: 1}, Tools: map[string]int{payload: 1}, Providers: map[string]int{payload: 1}}}
	d.answers["evil"].Data.Summary = payload
	d.requests["evil"] = &control.Request{Args: mustJSON(map[string]any{payload: payload})}
	d.ran["evil"] = usual(control.Choice{Field: "network", Value: payload, From: payload})
	d.ran["evil"].Digest = payload
	d.ran["evil"].Clamps = []control.Clamp{{Field: payload, By: payload, Asker: payload, Asked: payload, Granted: payload}}
	d.say("evil", a2e.KindLog, time.Second, map[string]any{"level": payload, "message": payload, payload: payload})
	d.say("evil", a2e.KindProgress, time.Second, map[string]any{"pct": payload, "message": map[string]any{payload: payload}})
	d.say("evil", payload, time.Second, map[string]any{"message": payload + strings.Repeat("\n"+payload, 50)})
	d.file("evil", payload, payload, payload)
	d.file("evil", "x.html", "text/html", payload)
	return d
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// sealed asserts that nothing of the payload became an element or an attribute of a page.
func sealed(t *testing.T, what, page string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			if n.Data == "script" && n.FirstChild != nil {
				t.Errorf("%s: an inline script: %s", what, n.FirstChild.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:") && (a.Key == "href" || a.Key == "src" || a.Key == "action") {
					t.Errorf("%s: <%s %s=%q>", what, n.Data, a.Key, a.Val)
				}
				if n.Data == "img" && a.Key == "src" && !strings.HasPrefix(a.Val, "/console/") || (a.Key == "href" || a.Key == "action") && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") {
					t.Errorf("%s: <%s %s=%q> leads elsewhere", what, n.Data, a.Key, a.Val)
				}
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(doc)
	if strings.Contains(page, "\u202e") || strings.Contains(page, "\x1b") {
		at := strings.IndexAny(page, "\u202e\x1b")
		t.Errorf("%s: characters that turn or control the text come through: %.300q", what, page[max(0, at-200):])
	}
}

func TestWhatStrangersSayIsText(t *testing.T) {
	o := shown(hostileCall())
	b := open(t, o)
	for _, path := range []string{"", "/files", "/file?name=x.html", "/file?name=" + escape(payload), "?from=1"} {
		w := b.get("/console/calls/evil" + path)
		if w.Code != 200 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		sealed(t, path, w.Body.String())
	}
	w := b.get("/console/calls/evil/live")
	if !strings.Contains(w.Body.String(), "event: end") {
		t.Errorf("%s", w.Body)
	}
	for line := range strings.SplitSeq(w.Body.String(), "\n") {
		sealed(t, "live", strings.TrimPrefix(line, "data: "))
	}
	d := hostileCall()
	d.calls[0].Code, d.calls[0].Reason = a2e.Code(payload), payload
	d.answers["evil"].Error.Code = a2e.Code(payload)
	sealed(t, "an unknown code", open(t, shown(d)).get("/console/calls/evil").Body.String())
}

func escape(s string) string {
	return strings.TrimPrefix(named("x", "y", s), "/console/calls/x/y?name=")
}

// auditor is an audit that has what a call used.
type auditor struct{ rows []control.AuditRow }

func (a auditor) AuditRows(context.Context, control.AuditQuery) ([]control.AuditRow, error) {
	return nil, nil
}
func (a auditor) VerifyAudit(context.Context, control.AuditHead) (control.AuditReport, error) {
	return control.AuditReport{}, nil
}
func (a auditor) AuditUses(_ context.Context, q control.AuditQuery) (all []control.AuditRow, err error) {
	for _, r := range a.rows {
		if r.Call == q.Call {
			all = append(all, r)
		}
	}
	return all, nil
}

func TestWhatItUsedOutside(t *testing.T) {
	d := ends()
	c := d.add("agent", "research", 3*time.Second, a2e.Errorf(a2e.SkillError, "no luck"), nil, nil)
	c.Account = nil
	row := func(kind, data string) control.AuditRow {
		return control.AuditRow{At: noon.Add(time.Second), Kind: kind, Call: "agent", Data: json.RawMessage(data)}
	}
	o := shown(d)
	o.Audit = auditor{[]control.AuditRow{
		row("llm.request", `{"provider":"openai","model":"small","status":200,"tokens_in":1200,"tokens_out":300,"ms":800,"cost":0.0021}`),
		row("llm.request", `{"provider":"openai","model":"small","status":200,"tokens_in":10,"tokens_out":30,"ms":800,"cost":0.0004}`),
		row("egress.connect", `{"host":"rates.example.net","port":443,"verdict":"refused","reason":"rates.example.net:443 is not in network.allow"}`),
		row("tool.call", `{"tool":"fetch","code":"ok","ms":5}`), row("agent.turn", `{}`), row("tool.call", `[`),
	}}
	text := wordsOf(t, open(t, o).get("/console/calls/agent").Body.String())
	for _, want := range []string{"Cost of models 0.0025", "openai / small", "refused by hotcell: rates.example.net:443 is not in network.allow", "done, 5 ms",
		"failed after hotcell had refused it the host rates.example.net:443", `network: allow: ["rates.example.net:443"]`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	o.Auth = doorman{"alice": {Principal: "alice", Scopes: []auth.Scope{auth.Calls}}}
	b := open(t, o)
	b.get("/console/login")
	b.post("/console/login", "token", "alice")
	if text := wordsOf(t, b.get("/console/calls/agent").Body.String()); strings.Contains(text, "rates.example.net") || strings.Contains(text, "0.0025") {
		t.Errorf("the audit is for admins: %s", text)
	}
}

func TestALivePageDoesNotGrow(t *testing.T) {
	d := ends()
	run := d.add("run", "slow", 0, nil, nil, nil)
	run.State, run.Ended = control.Running, time.Time{}
	delete(d.answers, "run")
	for range 1500 {
		d.say("run", a2e.KindLog, time.Second, map[string]any{"level": "info", "message": "on it goes"})
	}
	o := shown(d)
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	page := (&browser{t: t, h: c}).get("/console/calls/run").Body.String()
	if n := strings.Count(page, "<li id=\"e"); n != eventsLive || !strings.Contains(page, "the newest 200 are shown, 1\u202f300 came before") || !strings.Contains(page, "#1499") {
		t.Errorf("%d rows: %.2000s", n, page)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := httptest.NewRecorder()
	go func() { time.Sleep(50 * time.Millisecond); cancel() }()
	c.ServeHTTP(w, httptest.NewRequest("GET", "/console/calls/run/live", nil).WithContext(ctx))
	for _, name := range []string{"state", "head", "actions", "why", "phases", "usage", "result", "files", "events", "policy"} {
		if !strings.Contains(w.Body.String(), "event: "+name+"\n") || !strings.Contains(page, `sse-swap="`+name+`"`) {
			t.Errorf("%s is not live", name)
		}
	}
	if strings.Contains(w.Body.String(), "event: end") {
		t.Error("it has not ended")
	}
}
