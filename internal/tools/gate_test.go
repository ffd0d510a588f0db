package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/internal/wall"
)

const three = "tools: [calculator, time, read_file]\n"

func TestASkillWithoutToolsIsGrantedNone(t *testing.T) {
	b := newBench(t, Options{}, nil, "plain", "")
	if g, err := b.tools.Grant(b.ask("plain")); g != nil || err != nil {
		t.Errorf("got %v %v", g, err)
	}
}

func TestWhatACellIsTold(t *testing.T) {
	b := newBench(t, Options{}, nil, "a", three)
	g := b.granted(b.ask("a"))
	if diff := cmp.Diff([]string{"tools"}, g.Ports()); diff != "" {
		t.Error(diff)
	}
	env := g.Env(func(port string) string { return "127.0.0.1:41001/" + port }, "the-token")
	if diff := cmp.Diff([]string{"HOTCELL_TOOLS_URL=http://127.0.0.1:41001/tools", "HOTCELL_TOKEN=the-token"}, env); diff != "" {
		t.Error(diff)
	}
	var l wall.Lease
	g.Lease(&l)
	var names []string
	for _, d := range l.Tools {
		names = append(names, d.Name)
		if d.Description == "" || !json.Valid(d.InputSchema) || d.Writes {
			t.Errorf("%+v", d)
		}
	}
	if diff := cmp.Diff([]string{"calculator", "time", "read_file"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestToolsOverHTTP(t *testing.T) {
	b := newBench(t, Options{Calls: answers(nil)}, nil, "a", three+"writes: true\nincludes: [c]\n", "b", "input_schema: {type: object, required: [x]}\nwrites: true\n", "c", "tools: ['skill:b']\nwrites: true\n")
	g := b.grant(b.ask("a"))
	status, body := do(t, g, "GET", "/v1/tools", token, "")
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       json.RawMessage `json:"input_schema"`
			Writes            *bool
		}
	}
	if err := json.Unmarshal([]byte(body), &list); status != 200 || err != nil || len(list.Tools) != 4 {
		t.Fatalf("%d %s %v", status, body, err)
	}
	if last := list.Tools[3]; last.Name != "skill:b" || last.Description != "About b." || !*last.Writes || string(last.InputSchema) != `{"type":"object","required":["x"]}` {
		t.Errorf("got %+v", last)
	}
	for _, tt := range []struct {
		method, path, token, body string
		status                    int
		want                      string
	}{
		{"POST", "/v1/tools/calculator", token, `{"expression":"1/3+1"}`, 200, `{"success":true,"data":{"exact":false,"fraction":"4/3","result":"1.333333333333333333333333333333333"}}`},
		{"POST", "/v1/tools/time", token, ``, 200, `{"success":true,"data":{"abbreviation":"UTC","local":"2026-07-01T12:00:00Z","unix":1782907200,"utc":"2026-07-01T12:00:00Z","weekday":"Wednesday","zone":"UTC"}}`},
		{"POST", "/v1/tools/time", token, `{"zone":"Asia/Kolkata"}`, 200, `{"success":true,"data":{"abbreviation":"IST","local":"2026-07-01T17:30:00+05:30","unix":1782907200,"utc":"2026-07-01T12:00:00Z","weekday":"Wednesday","zone":"Asia/Kolkata"}}`},
		{"POST", "/v1/tools/read_file", token, `{"path":"references/guide.md"}`, 200, `{"success":true,"data":{"path":"references/guide.md","size":17,"text":"# Guide\nRead me.\n","truncated":false}}`},
		{"POST", "/v1/tools/skill%3Ab", token, `{"x":1}`, 404, `{"success":false,"error":"unknown skill \"b\": there are []","code":"skill_not_found"}`},
		{"POST", "/v1/tools/time", token, `{"zone":"Mars/Base"}`, 400, `{"success":false,"error":"arguments.zone: \"Mars/Base\" is no IANA time zone; expected one such as Europe/Berlin","code":"validation_error"}`},
		{"POST", "/v1/tools/time", token, `{"zone":3}`, 400, `{"success":false,"error":"arguments.zone: expected string, got number","code":"validation_error"}`},
		{"POST", "/v1/tools/calculator", token, `{"expression":"1+"}`, 400, `{"success":false,"error":"expression, column 3: expected a number, got the end","code":"validation_error"}`},
		{"POST", "/v1/tools/calculator", token, `[1]`, 400, `{"success":false,"error":"arguments: expected a JSON object","code":"validation_error"}`},
		{"POST", "/v1/tools/calculator", token, `{} {}`, 400, `{"success":false,"error":"arguments: expected one JSON object and nothing behind it","code":"validation_error"}`},
		{"POST", "/v1/tools/calculator", token, `{"expression":"` + strings.Repeat("1", maxArguments) + `"}`, 413, `{"success":false,"error":"arguments: more than 524288 bytes","code":"validation_error"}`},
		{"POST", "/v1/tools/rm", token, `{}`, 403, `{"success":false,"error":"the skill \"a\" declares no tool \"rm\": it has [calculator time read_file skill:b]","code":"permission_denied"}`},
		{"POST", "/v1/tools/time", "", ``, 403, `{"success":false,"error":"not this cell's token: send Authorization: Bearer $HOTCELL_TOKEN","code":"permission_denied"}`},
		{"POST", "/v1/tools/time", token + "0", ``, 403, `{"success":false,"error":"not this cell's token: send Authorization: Bearer $HOTCELL_TOKEN","code":"permission_denied"}`},
		{"GET", "/v1/tools", "hc-other", ``, 403, `{"success":false,"error":"not this cell's token: send Authorization: Bearer $HOTCELL_TOKEN","code":"permission_denied"}`},
		{"GET", "/v1/tools/time", token, ``, 405, `{"success":false,"error":"GET is not possible here","code":"validation_error"}`},
		{"DELETE", "/v1/tools", token, ``, 405, `{"success":false,"error":"DELETE is not possible here","code":"validation_error"}`},
		{"GET", "/etc/passwd", token, ``, 404, `{"success":false,"error":"there is nothing here: GET /v1/tools and POST /v1/tools/NAME are served","code":"validation_error"}`},
	} {
		if status, body := do(t, g, tt.method, tt.path, tt.token, tt.body); status != tt.status || body != tt.want {
			t.Errorf("%s %s %.60s\n got %d %s\nwant %d %s", tt.method, tt.path, tt.body, status, body, tt.status, tt.want)
		}
	}
}

func TestReadFileStaysInTheBundle(t *testing.T) {
	b := newBench(t, Options{}, nil, "a", three, "other", "")
	g := b.grant(b.ask("a"))
	for args, want := range map[string]string{
		`{"path":"/skill/references/../main.py"}`: `{"path":"main.py","size":9,"text":"print(1)\n","truncated":false}`,
		`{"path":"."}`:           `{"entries":["SKILL.md","data.bin","main.py","references/","skill.yaml"],"path":"."}`,
		`{"path":"references/"}`: `{"entries":["guide.md"],"path":"references"}`,
		`{"path":"data.bin"}`:    `{"base64":"/wD+","path":"data.bin","size":3,"truncated":false}`,
		`{"path":"references/guide.md","offset":2,"limit":5}`: `{"path":"references/guide.md","size":17,"text":"Guide","truncated":true}`,
		`{"path":"references/guide.md","offset":99}`:          `{"path":"references/guide.md","size":17,"text":"","truncated":false}`,
		`{"path":"references/guide.md","offset":1e1}`:         `{"path":"references/guide.md","size":17,"text":"ad me.\n","truncated":false}`,
		`{"path":"../other/main.py"}`:                         `validation_error: arguments.path: "../other/main.py" does not lie in the skill's bundle; expected a path such as references/guide.md`,
		`{"path":"/etc/passwd"}`:                              `validation_error: arguments.path: "/etc/passwd" does not lie in the skill's bundle; expected a path such as references/guide.md`,
		`{"path":"/skill/../../etc/passwd"}`:                  `validation_error: arguments.path: "/skill/../../etc/passwd" does not lie in the skill's bundle; expected a path such as references/guide.md`,
		`{"path":"nothing"}`:                                  `validation_error: arguments.path: the skill's bundle has no file "nothing" (symbolic links and dot files are not part of it)`,
		`{"path":"\u0000"}`:                                   `validation_error: arguments.path: the skill's bundle has no file "\x00" (symbolic links and dot files are not part of it)`,
		`{"path":"a","offset":-1}`:                            `validation_error: arguments.offset: expected at least 0, got -1`,
		`{"path":"a","mode":"w"}`:                             `validation_error: arguments.mode: unknown property`,
		`{}`:                                                  `validation_error: arguments.path: required property is missing`,
	} {
		if got := tell(g, "read_file", args); got != want {
			t.Errorf("%s\n got %s\nwant %s", args, got, want)
		}
	}
}

func TestNothingBeforeTheLeaseAndAfterTheEnd(t *testing.T) {
	b := newBench(t, Options{}, nil, "a", three)
	g := b.granted(b.ask("a"))
	const refused = `{"success":false,"error":"tools may be used during the call alone: neither before nor after it","code":"permission_denied"}`
	check := func(when string) {
		t.Helper()
		for _, bearer := range []string{token, ""} {
			if status, body := do(t, g, "POST", "/v1/tools/time", bearer, ""); status != 403 || body != refused {
				t.Errorf("%s: %d %s", when, status, body)
			}
		}
		if status, _ := do(t, g, "GET", "/v1/tools", token, ""); status != 403 {
			t.Errorf("%s: the list answers %d", when, status)
		}
		if got := tell(g, "time", ""); !strings.HasPrefix(got, "permission_denied: ") {
			t.Errorf("%s: %s", when, got)
		}
	}
	check("before")
	ctx, cancel := context.WithCancel(t.Context())
	g.Activate(ctx, token)
	if status, body := do(t, g, "POST", "/v1/tools/time", token, ""); status != 200 {
		t.Errorf("during: %d %s", status, body)
	}
	cancel()
	check("after the call's context")
	g.Revoke()
	g.Revoke()
	check("after")
	g.Activate(t.Context(), token)
	check("activated again")
	never := b.granted(b.ask("a"))
	never.Revoke()
	if status, _ := do(t, never, "GET", "/v1/tools", "", ""); status != 403 {
		t.Errorf("an empty token gets %d", status)
	}
	if len(b.diary.lines()) != 1 {
		t.Errorf("the audit has %q", b.diary.lines())
	}
}

func TestTheEndStopsWhatIsUnderWay(t *testing.T) {
	began := make(chan struct{})
	b := newBench(t, Options{Calls: answers(map[string]func(context.Context, *a2e.CallRequest) *a2e.CallResponse{
		"slow": func(ctx context.Context, req *a2e.CallRequest) *a2e.CallResponse {
			close(began)
			<-ctx.Done()
			return a2e.Failure(req.ID, req.Name, a2e.Errorf(a2e.RuntimeError, "cancelled").Because(a2e.ReasonCancelled), 0)
		},
	})}, nil, "a", "tools: ['skill:slow']\n", "slow", "")
	g := b.grant(b.ask("a"))
	done := make(chan error)
	go func() {
		_, _, err := send(g, "POST", "/v1/tools/skill:slow", token, "{}")
		done <- err
	}()
	<-began
	g.Revoke()
	<-done // with an answer or a broken connection: what counts is that it ends
	if diff := cmp.Diff([]string{"skill:slow resolution_failure 0"}, eventually(b.diary.lines, 1)); diff != "" {
		t.Error(diff)
	}
}

// eventually waits until a list has n entries.
func eventually(list func() []string, n int) []string {
	for {
		if got := list(); len(got) >= n {
			return got
		}
		yield()
	}
}

func TestForgedLinesGetNothing(t *testing.T) {
	b := newBench(t, Options{}, map[string]Server{"files": {Command: []string{"/does/not/exist"}}}, "a", "tools: [time]\n", "other", "writes: true\n")
	g := b.grant(b.ask("a"))
	for _, name := range []string{
		"calculator", "read_file", "skill:other", "skill:a", "mcp:files/write", "mcp:files", "", "TIME", "time ", "../time", "time\x00",
		strings.Repeat("x", 1<<20),
	} {
		got := tell(g, name, `{"path":"/etc/passwd"}`)
		if want := fmt.Sprintf("permission_denied: the skill \"a\" declares no tool %q: it has [time]", clip(name)); got != want {
			t.Errorf("%.40q: %.300s", name, got)
		}
	}
	if got := tell(g, "time", `{"zone":"UTC"`); got != "validation_error: arguments: expected a JSON object" {
		t.Error(got)
	}
	if got := tell(g, "time", `"`+strings.Repeat("x", maxArguments)+`"`); got != "validation_error: arguments: 524290 bytes, at most 524288 are allowed" {
		t.Error(got)
	}
	for _, line := range b.diary.lines() {
		if len(line) > 200 {
			t.Errorf("the audit keeps %d bytes", len(line))
		}
	}
}

func TestUsesAreCounted(t *testing.T) {
	b := newBench(t, Options{Uses: 3}, nil, "a", "tools: [time]\n")
	g := b.grant(b.ask("a"))
	for range 2 {
		tell(g, "time", "")
	}
	tell(g, "nothing", "") // what is refused counts, too
	want := "permission_denied: a call may use tools 3 times"
	if got := tell(g, "time", ""); got != want {
		t.Errorf("got %s", got)
	}
	if diff := cmp.Diff([]string{"time ok 135", "time ok 135", "nothing permission_denied 0", "time permission_denied 0"}, b.diary.lines()); diff != "" {
		t.Error(diff)
	}
	if got := tell(b.grant(b.ask("a")), "time", ""); strings.HasPrefix(got, "perm") {
		t.Errorf("another call: %s", got)
	}
}

func TestUsesAtOnceAreBounded(t *testing.T) {
	hold, entered := make(chan struct{}), make(chan struct{}, 100)
	b := newBench(t, Options{AtOnce: 2, Nested: 100, Calls: answers(map[string]func(context.Context, *a2e.CallRequest) *a2e.CallResponse{
		"b": func(_ context.Context, req *a2e.CallRequest) *a2e.CallResponse {
			entered <- struct{}{}
			<-hold
			return success(req, 1)
		},
	})}, nil, "a", "tools: ['skill:b']\n", "b", "")
	g := b.grant(b.ask("a"))
	results := make(chan string, 100)
	var all sync.WaitGroup
	for range 2 + 2*waiters {
		all.Go(func() { results <- tell(g, "skill:b", "") })
	}
	<-entered
	<-entered
	for {
		g.mu.Lock()
		full := g.waiting == 2*waiters
		g.mu.Unlock()
		if full {
			break
		}
		yield()
	}
	if got := tell(g, "skill:b", ""); got != "permission_denied: 2 uses of tools are under way and 16 wait: use fewer at once" {
		t.Errorf("got %s", got)
	}
	if len(entered) != 0 {
		t.Error("more than two are under way")
	}
	g.mu.Lock()
	g.waiting-- // room for one that waits
	g.mu.Unlock()
	gone, cancel := context.WithCancel(t.Context())
	cancel() // arguments become twenty times as large when they are decoded: not while they wait
	if got := told(g.Tool(gone, &wall.Tool{ID: "1", Name: "skill:b", Arguments: json.RawMessage("[1]")})); got != "tool_execution_failure: context canceled" {
		t.Errorf("got %s", got)
	}
	g.mu.Lock()
	g.waiting++
	g.mu.Unlock()
	close(hold)
	all.Wait()
	for range 2 + 2*waiters {
		if got := <-results; got != "1" {
			t.Errorf("got %s", got)
		}
	}
}

func TestLargeDataIsRefused(t *testing.T) {
	b := newBench(t, Options{Calls: answers(map[string]func(context.Context, *a2e.CallRequest) *a2e.CallResponse{
		"b": func(_ context.Context, req *a2e.CallRequest) *a2e.CallResponse {
			return success(req, strings.Repeat("x", maxData))
		},
	})}, nil, "a", "tools: ['skill:b']\n", "b", "")
	want := "tool_execution_failure: the tool's data has 524290 bytes, at most 524288 are handed on: ask it for less"
	if got := tell(b.grant(b.ask("a")), "skill:b", ""); got != want {
		t.Errorf("got %.200s", got)
	}
}

func TestAToolThatWritesInReadOnlyHands(t *testing.T) {
	called := false
	b := newBench(t, Options{Calls: answers(map[string]func(context.Context, *a2e.CallRequest) *a2e.CallResponse{
		"w": func(_ context.Context, req *a2e.CallRequest) *a2e.CallResponse {
			called = true
			return success(req, nil)
		},
	})}, nil, "a", "tools: ['skill:w']\nwrites: true\n", "w", "writes: true\n")
	ask := b.ask("a")
	ask.Policy.Writes = false // the operator, or the caller, took the right away
	g := b.grant(ask)
	if got := tell(g, "skill:w", ""); got != `permission_denied: "skill:w" writes, and the skill "a" is read-only` || called {
		t.Errorf("got %s, called: %t", got, called)
	}
	if status, body := do(t, g, "POST", "/v1/tools/skill:w", token, "{}"); status != 403 || !strings.Contains(body, `"code":"permission_denied"`) || called {
		t.Errorf("%d %s, called: %t", status, body, called)
	}

	skill := *ask.Skill // a library would have blocked it
	skill.Policy.Writes = false
	ask.Skill = &skill
	_, err := b.tools.Grant(ask)
	var e *a2e.Error
	if !errors.As(err, &e) || e.Code != a2e.RuntimeError || e.Reason() != a2e.ReasonBlocked || e.Retryable {
		t.Errorf("got %v", err)
	}
}

func TestAnotherPortIsClosed(t *testing.T) {
	b := newBench(t, Options{}, nil, "a", three)
	g := b.grant(b.ask("a"))
	ours, theirs := pipe()
	g.Serve("egress", theirs)
	if _, err := ours.Read(make([]byte, 1)); err == nil {
		t.Error("it is open")
	}
}

func TestASkillThatIsGone(t *testing.T) {
	b := newBench(t, Options{}, nil, "a", "tools: ['skill:b', time]\n", "b", "")
	g := b.grant(b.ask("a"))
	b.tools.opt.Shelf = skills.Open(without{b.lib})
	if got := tell(g, "skill:b", ""); got != `skill_not_found: skill "b" not found` {
		t.Errorf("got %s", got)
	}
	if got := g.definitions(); len(got) != 1 || got[0].Name != "time" {
		t.Errorf("still told: %v", got)
	}
}

// without is a catalogue whose skills went away.
type without struct{ skills.Catalog }

func (without) Find(string) (*skills.Skill, string) { return nil, "" }

// Whatever a cell asks for, it is answered, and nothing but what was granted is used.
func FuzzToolLine(f *testing.F) {
	for _, s := range []string{`{}`, `{"zone":"UTC"}`, `[`, `{"zone":{"a":[1,2]}}`, `null`, ``, `{"zone":"../../etc/passwd"}`} {
		f.Add("time", s)
		f.Add("read_file", s)
	}
	box := NewBox(BoxOptions{})
	defer box.Close()
	skill := &skills.Skill{Name: "a", ToolNames: []string{"time"}}
	granted, err := New(Options{Box: box, Uses: 1 << 30}).Grant(service.Ask{Skill: skill})
	if err != nil {
		f.Fatal(err)
	}
	granted.Activate(f.Context(), token)
	defer granted.Revoke()
	f.Fuzz(func(t *testing.T, name, args string) {
		res := granted.(service.Tooler).Tool(t.Context(), &wall.Tool{ID: "1", Name: name, Arguments: json.RawMessage(args)})
		if (res.Success && name != "time") || (!res.Success && (res.Error == "" || res.Code == "")) || len(res.Error) > 2*maxError {
			t.Errorf("%q %q: %+v", name, args, res)
		}
	})
}

// A cell that asks and asks when it may no more fills nobody's audit.
func TestDeniedUsesDoNotFillTheAudit(t *testing.T) {
	b := newBench(t, Options{Uses: 3}, nil, "a", three)
	g := b.grant(b.ask("a"))
	for range 3 * mostDenied {
		tell(g, "time", "")
	}
	if n := len(b.diary.lines()); n != 3+mostDenied {
		t.Errorf("%d entries", n)
	}
}

// A cell has far more connections than uses at once: what it sends through them waits outside, and so does what it doesn't read.
func TestRequestsAtOnceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{AtOnce: 1}, nil, "a", three)
		g := b.grant(b.ask("a"))
		var serving sync.WaitGroup
		var held []net.Conn
		for range desks {
			ours, theirs := pipe()
			serving.Go(func() { g.Serve(Port, theirs) })
			held = append(held, ours)
			if _, err := fmt.Fprintf(ours, "POST /v1/tools/time HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Length: 9\r\n\r\n{", token); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		answered := make(chan int, 1)
		go func() {
			status, _, _ := send(g, "GET", "/v1/tools", token, "")
			answered <- status
		}()
		synctest.Wait()
		if len(answered) > 0 {
			t.Errorf("one more was answered: %d", <-answered)
		}
		held[0].Close()
		if status := <-answered; status != 200 {
			t.Errorf("got %d", status)
		}
		for _, c := range held {
			c.Close()
		}
		serving.Wait()
	})
}
