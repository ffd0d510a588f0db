package console

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
)

// clerk is a desk that searches as a supervisor does and remembers what it was asked.
type clerk struct {
	*desk
	mu    sync.Mutex
	whose []control.Whose
	asked []control.CallQuery
	stats []control.StatsQuery
}

func (c *clerk) Search(_ context.Context, whose control.Whose, q control.CallQuery) (page control.CallPage, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whose, c.asked = append(c.whose, whose), append(c.asked, q)
	if q.Before != "" && q.Before != "older" {
		return page, control.ErrCursor
	}
	for _, one := range c.calls {
		if !whose.Has(one.Principal) || !q.Matches(&one) {
			continue
		}
		if len(page.Calls) == q.Most() {
			page.Next = "older"
			break
		}
		page.Calls = append(page.Calls, one)
	}
	return page, nil
}

func (c *clerk) Stats(ctx context.Context, whose control.Whose, q control.StatsQuery) (*control.Stats, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whose, c.stats = append(c.whose, whose), append(c.stats, q)
	s := q.Empty()
	add := func(i int, code string, n int) {
		b := &s.Buckets[i]
		b.Codes[code] += n
		b.Calls += n
		s.Total.Calls += n
		if code != okCode && code != control.VerdictCanceled {
			b.Failed += n
			s.Total.Failed += n
		}
		b.P50, b.P95 = 40*time.Millisecond, 1300*time.Millisecond
		s.Codes = append(s.Codes, control.CodeCount{Code: code, N: n})
	}
	for i, one := range c.calls {
		if code := one.Verdict(); whose.Has(one.Principal) && one.State.Terminal() {
			if code == control.VerdictSucceeded {
				code = okCode
			}
			add(i%q.Buckets, code, 1+i)
		}
	}
	s.Skills = c.desk.stats.Skills
	return s, nil
}

func (c *clerk) put(calls ...control.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(calls, c.calls...)
}

func (c *clerk) options() Options { return Options{Control: c.desk, Book: c, Pulse: c.desk} }

// aCall is a call of a while ago.
func aCall(id, principal string, state control.State, code a2e.Code) control.Call {
	c := control.Call{ID: id, Skill: "skill-of-" + id, Principal: principal, Door: "http", State: state, Code: code, Accepted: time.Now().Add(-time.Minute), Events: 3}
	if state.Terminal() {
		c.Ended = c.Accepted.Add(1500 * time.Millisecond)
	}
	return c
}

func newClerk() *clerk {
	return &clerk{desk: &desk{
		calls: []control.Call{
			aCall("R1", "alice", control.Running, ""), aCall("Q1", "bob", control.Queued, ""), aCall("S1", "alice", control.Succeeded, ""),
			aCall("F1", "bob", control.Failed, a2e.OutOfMemory), aCall("F2", "alice", control.Failed, a2e.Timeout),
		},
		stats: control.Stats{Skills: []control.SkillStat{
			{Skill: "slow", Tally: control.Tally{Calls: 10, P50: time.Second, P95: time.Minute}},
			{Skill: "bad", Tally: control.Tally{Calls: 8, Failed: 6, P50: time.Millisecond, P95: 2 * time.Millisecond}},
		}},
		pulse: control.Pulse{
			Running: 7, Queued: 9, MaxCells: 12, Memory: 16e9, Reserved: 15e9, Waiting: 3, MaxWarm: 5, Leases: 30, Cold: 10, Poisoned: 2,
			NotReady: "engine: no answer", Driver: "the-driver", Runtime: "the-runtime", Instances: 3,
		},
	}}
}

// pageText is what a page says, and its links.
func pageText(t *testing.T, page string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for n := range root.Descendants() {
		switch n.Type {
		case html.TextNode:
			b.WriteString(strings.ReplaceAll(n.Data, "\u202f", " ") + " ")
		case html.ElementNode:
			for _, a := range n.Attr {
				if a.Key == "href" {
					b.WriteString("[" + a.Val + "] ")
				}
			}
		default:
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func tells(t *testing.T, page string, want ...string) {
	t.Helper()
	text := pageText(t, page)
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not on the page:\n%s", w, text)
		}
	}
}

func hides(t *testing.T, page string, secrets ...string) {
	t.Helper()
	for _, s := range secrets {
		if strings.Contains(page, s) {
			t.Errorf("%q is on the page", s)
		}
	}
}

func TestOverviewOfAnAdmin(t *testing.T) {
	c := newClerk()
	w := open(t, c.options()).get("/console/")
	tells(t, w.Body.String(),
		"New calls are not taken at the moment. engine: no answer", "2 cells would not die.", "7 running, of 12 cells", "9 waiting for a cell",
		"14 GiB reserved, of 14.9 GiB memory", "3 warm cells ready, 5 at most", "75 % of calls got a warm cell (30 of 40)",
		"the-driver engine, cells in the-runtime; 3 hotcells share the journal", "12 ended within the last hour", "9 failed, 75 % of them",
		"[/console/calls?last=1h&skill=slow] slow 1 s 1 min 0 s 10", "[/console/calls?last=1h&skill=bad&verdict=failed] bad 6 75 % 8",
		"[/console/calls/F1] skill-of-F1 out_of_memory it used more memory than it may", "[/console/calls/F2] skill-of-F2 timeout it took longer than it may",
		"out_of_memory 4", "timeout 5", "succeeded 3",
	)
	if !strings.Contains(w.Body.String(), `sse-connect="/console/live/overview?window=1h"`) {
		t.Error("the page is not live")
	}
	if q := c.stats[0]; q.Until.Sub(q.Since) != time.Hour || q.Buckets != 30 || q.Until.Before(time.Now()) || !q.Since.Equal(q.Since.Truncate(2*time.Minute)) {
		t.Errorf("%+v", q)
	}
	if w := open(t, c.options()).get("/console/?window=7d&live=off"); strings.Contains(w.Body.String(), "sse-connect") || !strings.Contains(w.Body.String(), "last 7 days") {
		t.Errorf("%s", w.Body)
	}
}

// Of others' calls, and of what they share, those who are no admins are told nothing.
func TestOverviewOfOthers(t *testing.T) {
	c := newClerk()
	o := c.options()
	o.Auth = doorman{"tok": {Principal: "alice", Scopes: []auth.Scope{auth.Calls}}}
	b := open(t, o)
	b.get("/console/login")
	b.post("/console/login", "token", "tok")
	page := b.get("/console/").Body.String()
	tells(t, page, "1 of your calls running", "0 of your calls waiting", "An administrator can see why.", "8 ended within the last hour", "skill-of-F2")
	hides(t, page, "engine: no answer", "the-driver", "the-runtime", "would not die", "of 12 cells", "14.9 GiB", "warm", "journal", "skill-of-F1", "out_of_memory", "doctor")
	b.get("/console/calls?principal=bob")
	for i, whose := range c.whose {
		if p, only := whose.One(); !only || p != "alice" {
			t.Errorf("question %d was about %q, %v", i, p, only)
		}
	}
	for _, q := range c.asked {
		if q.Principal != "" {
			t.Errorf("%+v", q)
		}
	}
}

// callables are what can be called.
type callables struct {
	catalog.Reader
	names []string
}

func (s callables) Callable(context.Context, a2e.Caller) (all []catalog.Entry, err error) {
	for _, n := range s.names {
		all = append(all, catalog.Entry{Definition: a2e.Definition{Name: n}})
	}
	return all, nil
}

func TestFirstCall(t *testing.T) {
	for _, tt := range map[string]struct {
		names []string
		host  string
		want  []string
	}{
		"shipped": {[]string{"x", "code-review"}, "hot.example:8765", []string{
			"hotcell run code-review --arg 'code=import os'", `curl -s http://hot.example:8765/v1/calls -H 'Content-Type: application/json' \ -d '{"name":"code-review","arguments":{"code":"import os"}}'`,
		}},
		"other":        {[]string{"my-skill"}, "[::1]:80", []string{"hotcell run my-skill --arg KEY=VALUE", "http://[::1]:80/v1/calls"}},
		"hostile name": {[]string{"x'; rm -rf /; '"}, "127.0.0.1", []string{"hotcell run SKILL --arg KEY=VALUE", `'{"name":"SKILL"`}},
		"hostile host": {nil, "x;$(rm)", []string{"http://127.0.0.1:8765/v1/calls"}},
	} {
		o := empty()
		o.Reader = callables{names: tt.names}
		b := open(t, o)
		for _, path := range []string{"/console/", "/console/calls"} {
			r := httptest.NewRequest("GET", path, nil)
			r.Host = tt.host
			page := b.do(r).Body.String()
			tells(t, page, append(tt.want, "Nothing has been called yet", "[/console/skills] list of skills")...)
			hides(t, page, "rm -rf", "$(rm)", "HOTCELL_TOKEN")
		}
	}
	o := empty()
	o.Auth = doorman{"tok": {Principal: "alice", Scopes: []auth.Scope{auth.Calls}}}
	b := open(t, o)
	b.get("/console/login")
	b.post("/console/login", "token", "tok")
	page := b.get("/console/").Body.String()
	tells(t, page, `-H "Authorization: Bearer $HOTCELL_TOKEN"`, "hotcell run SKILL")
	hides(t, page, "tok\"", "/console/skills")
}

// Whatever a stranger has a say in stays text.
func TestHostileCallsAndOverview(t *testing.T) {
	for _, payload := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onfocus='alert(1)' autofocus='`, `javascript:alert(1)`, `</table></main><iframe src=//evil>`,
		`</title></svg><svg onload=alert(1)>`, `{{.}}`, "\x1b[31m\u202egnp.exe", `"/><a href="//evil.example">x</a>`, `</option></datalist><b>`,
	} {
		c := newClerk()
		for i := range c.calls {
			k := &c.calls[i]
			k.ID, k.Skill, k.Principal, k.Agent, k.Door, k.Reason, k.Code = payload, payload, payload, payload, payload, payload, a2e.Code(payload)
			if k.State == control.Succeeded {
				k.Code = ""
			}
		}
		c.desk.stats.Skills[0].Skill, c.desk.stats.Skills[1].Skill = payload, payload
		c.pulse.Driver, c.pulse.Runtime, c.pulse.NotReady = payload, payload, payload
		b := open(t, c.options())
		ask := func(path string, fields ...string) string {
			r := httptest.NewRequest("GET", path, nil)
			q := r.URL.Query()
			for _, f := range fields {
				q.Set(f, payload)
			}
			r.URL.RawQuery = q.Encode()
			return b.do(r).Body.String()
		}
		for _, page := range []string{
			ask("/console/"), ask("/console/calls"), ask("/console/calls", "skill", "principal", "agent", "door"), ask("/console/calls", "since"),
			ask("/console/calls", "verdict"), ask("/console/calls", "before"), ask("/console/calls", "last"), ask("/console/", "window", "live"),
		} {
			inert(t, payload, page)
		}
	}
}

// inert fails the test unless a page has the elements and attributes that pages of the console have, and links to them alone.
func inert(t *testing.T, payload, page string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.TextNode && strings.ContainsAny(n.Data, "\x1b\u202e") {
			t.Errorf("%q: a control character in %q", payload, n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		if slices.Contains([]string{"img", "iframe", "object", "embed"}, n.Data) {
			t.Errorf("%q became <%s>", payload, n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "autofocus", n.Data == "script" && a.Key != "defer" && a.Key != "src":
				t.Errorf("%q: <%s %s=%q>", payload, n.Data, a.Key, a.Val)
			case (a.Key == "href" || a.Key == "src" || a.Key == "action" || a.Key == "sse-connect") && !strings.HasPrefix(a.Val, "/console/") && a.Val != "/docs" && a.Val != "#main":
				t.Errorf("%q: <%s %s=%q>", payload, n.Data, a.Key, a.Val)
			}
		}
		if n.Data == "script" && n.FirstChild != nil {
			t.Errorf("%q: a script within the page", payload)
		}
	}
}

// listen opens a live page and returns what comes, by name, one message at a time.
func listen(t *testing.T, o Options, path string) <-chan [2]string {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(c)
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "GET", s.URL+path, nil)
	resp, err := s.Client().Do(r)
	if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v %v", resp, err)
	}
	messages, done := make(chan [2]string, 64), make(chan struct{})
	go func() {
		defer close(done)
		var name, data string
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, "event: "):
				name = line[7:]
			case strings.HasPrefix(line, "data: "):
				data += line[6:] + "\n"
			case line == "" && name != "":
				messages <- [2]string{name, data}
				name, data = "", ""
			}
		}
	}()
	t.Cleanup(func() { cancel(); resp.Body.Close(); <-done; s.Close() })
	return messages
}

// await takes messages until one of a name has a text.
func await(t *testing.T, messages <-chan [2]string, name, text string) string {
	t.Helper()
	var last string
	for late := time.After(time.Minute); ; {
		select {
		case m := <-messages:
			if m[0] != name {
				continue
			}
			if last = m[1]; strings.Contains(last, text) {
				return last
			}
		case <-late:
			t.Fatalf("no %s with %q came; the last was\n%s", name, text, last)
		}
	}
}

func TestOverviewIsLive(t *testing.T) {
	c := newClerk()
	messages := listen(t, c.options(), "/console/live/overview?window=15m")
	await(t, messages, "now", "of 12 cells")
	await(t, messages, "sums", "last 15 minutes")
	c.put(aCall("F9", "carol", control.Failed, a2e.SandboxCrash))
	await(t, messages, "failed", "skill-of-F9")
	await(t, messages, "sums", "sandbox_crash")
}
