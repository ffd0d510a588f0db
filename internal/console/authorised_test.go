package console

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/rest"
)

// What becomes of a request, as far as it is about who asks.
const (
	mustSignIn   = "has to sign in"
	isRefused    = "is refused"
	findsNothing = "finds nothing"
	isAllowed    = "is allowed"
)

// twin is a page and what REST has in its place: one request or several, all of which have to be allowed. A page without any is
// for admins alone; one that is free is for everybody. What writes says something that changes nothing, such as an old revision.
type twin struct {
	pattern string // of the page
	path    string // where it differs from the pattern
	form    string // of a page that writes
	rest    []string
	free    bool
	hides   bool // it reads before it writes, so it finds nothing where REST refuses
	people  bool // admins that are bound to an agent are refused
}

const oldState = `If-Match: "9.9"`

// twins has a row for each page of the console, and none besides.
var twins = []twin{
	{pattern: "GET /console/login", free: true}, {pattern: "POST /console/login", free: true}, {pattern: "POST /console/logout", free: true},
	{pattern: "GET /console/{$}", path: "/console/", rest: []string{"GET /v1/calls"}},
	{pattern: "GET /console/live/overview", rest: []string{"GET /v1/calls"}},
	{pattern: "GET /console/calls", rest: []string{"GET /v1/calls"}},
	{pattern: "GET /console/live/calls", rest: []string{"GET /v1/calls"}},
	{pattern: "GET /console/calls/{id}", path: "/console/calls/c-1", rest: []string{"GET /v1/calls/c-1"}},
	{pattern: "GET /console/calls/{id}/live", path: "/console/calls/c-1/live", rest: []string{"GET /v1/calls/c-1/events"}},
	{pattern: "POST /console/calls/{id}/cancel", path: "/console/calls/c-1/cancel", rest: []string{"DELETE /v1/calls/c-1"}},
	{pattern: "POST /console/calls/{id}/again", path: "/console/calls/c-1/again", rest: []string{"GET /v1/calls/c-1/request", "POST /v1/calls {}"}},
	{pattern: "GET /console/calls/{id}/result", path: "/console/calls/c-1/result", rest: []string{"GET /v1/calls/c-1"}},
	{pattern: "GET /console/calls/{id}/files", path: "/console/calls/c-1/files", rest: []string{"GET /v1/calls/c-1/artifacts"}},
	{pattern: "GET /console/calls/{id}/file", path: "/console/calls/c-1/file?name=a.txt", rest: []string{"GET /v1/calls/c-1/artifacts/a.txt"}},
	{pattern: "GET /console/calls/{id}/picture", path: "/console/calls/c-1/picture?name=a.png", rest: []string{"GET /v1/calls/c-1/artifacts/a.png"}},
	{pattern: "GET /console/calls/{id}/download", path: "/console/calls/c-1/download?name=a.txt", rest: []string{"GET /v1/calls/c-1/artifacts/a.txt"}},
	{pattern: "GET /console/skills", rest: []string{"GET /api/v1/skills"}},
	{pattern: "GET /console/skills/{name}", path: "/console/skills/typst", rest: []string{"GET /api/v1/skills/typst"}},
	{pattern: "GET /console/skills/{name}/files/{path...}", path: "/console/skills/typst/files/SKILL.md", rest: []string{"GET /api/v1/skills/typst/files/SKILL.md"}},
	{pattern: "GET /console/skills/{name}/try", path: "/console/skills/typst/try", rest: []string{"POST /v1/calls {}"}},
	{pattern: "POST /console/skills/{name}/try", path: "/console/skills/typst/try", rest: []string{"POST /v1/calls {}"}},
	{pattern: "POST /console/skills/{name}/rollback", path: "/console/skills/typst/rollback", form: "version=v9", rest: []string{`POST /v1/skills/typst/rollback {"version":"v9"}`}},
	{pattern: "GET /console/custom", rest: []string{"GET /api/v1/custom-skills"}},
	{pattern: "GET /console/custom/{name}", path: "/console/custom/notes", rest: []string{"GET /api/v1/custom-skills/notes"}},
	{pattern: "GET /console/custom/{name}", path: "/console/custom/notes?principal=ALICE", rest: []string{"GET /api/v1/custom-skills/notes?principal_id=ALICE"}},
	{pattern: "POST /console/custom/{name}/edit", path: "/console/custom/notes/edit?principal=ALICE", form: "revision=99", hides: true, rest: []string{"PUT /api/v1/custom-skills/notes?principal_id=ALICE {} " + oldState}},
	{pattern: "GET /console/custom/{name}/files/{path...}", path: "/console/custom/notes/files/SKILL.md", rest: []string{"GET /api/v1/custom-skills/notes/files/SKILL.md"}},
	{pattern: "GET /console/custom/-/new", rest: []string{"POST /api/v1/custom-skills {}"}},
	{pattern: "POST /console/custom/-/new", rest: []string{"POST /api/v1/custom-skills {}"}},
	{pattern: "POST /console/custom/-/check", rest: []string{"POST /api/v1/custom-skills {}"}},
	{pattern: "GET /console/custom/{name}/edit", path: "/console/custom/notes/edit", rest: []string{"PUT /api/v1/custom-skills/notes {} " + oldState}},
	{pattern: "POST /console/custom/{name}/edit", path: "/console/custom/notes/edit", form: "revision=99", rest: []string{"PUT /api/v1/custom-skills/notes {} " + oldState}},
	{pattern: "GET /console/custom/{name}/changes", path: "/console/custom/notes/changes", rest: []string{"POST /api/v1/custom-skills/notes/restore {} " + oldState}},
	{pattern: "POST /console/custom/{name}/restore", path: "/console/custom/notes/restore", form: "revision=99", rest: []string{"POST /api/v1/custom-skills/notes/restore {} " + oldState}},
	{pattern: "GET /console/custom/{name}/delete", path: "/console/custom/notes/delete", rest: []string{"DELETE /api/v1/custom-skills/notes " + oldState}},
	{pattern: "POST /console/custom/{name}/delete", path: "/console/custom/notes/delete", form: "revision=99", rest: []string{"DELETE /api/v1/custom-skills/notes " + oldState}},
	{pattern: "GET /console/agents", rest: []string{"GET /api/v1/agents"}},
	{pattern: "POST /console/agents", form: "name=42", rest: []string{`POST /api/v1/agents {"name":"42"}`}},
	{pattern: "GET /console/agents/{id}", path: "/console/agents/1", rest: []string{"GET /api/v1/agents/1"}},
	{pattern: "POST /console/agents/{id}/delete", path: "/console/agents/1/delete", form: "revision=99", rest: []string{"DELETE /api/v1/agents/1 " + oldState}},
	{pattern: "POST /console/agents/{id}/tool", path: "/console/agents/1/tool", form: "revision=99&tool=mcp:media&on=true", rest: []string{"POST /api/v1/agents/1/tools/mcp:media/enable " + oldState}},
	{pattern: "POST /console/agents/{id}/skill", path: "/console/agents/1/skill", form: "revision=99&slug=typst&on=true", rest: []string{"PUT /api/v1/agents/1/skills/typst " + oldState}},
	{pattern: "POST /console/agents/{id}/allowed", path: "/console/agents/1/allowed", form: "revision=99&do=save", rest: []string{`PUT /api/v1/agents/1/tools/skill/override {"settings":{"allowed_skills":[]}} ` + oldState}},
	{pattern: "GET /console/agents/principal/{principal}/defaults", path: "/console/agents/principal/ALICE/defaults", rest: []string{"GET /api/v1/principals/ALICE/tools/skill/override"}},
	{pattern: "POST /console/agents/principal/{principal}/defaults", path: "/console/agents/principal/ALICE/defaults", form: "revision=99&do=save",
		rest: []string{`PUT /api/v1/principals/ALICE/tools/skill/override {"settings":{"allowed_skills":[]}} ` + oldState}},
	{pattern: "GET /console/approvals", rest: []string{"GET /api/v1/approvals"}},
	{pattern: "GET /console/approvals/{id}", path: "/console/approvals/ASKED", rest: []string{"GET /api/v1/approvals/ASKED"}},
	{pattern: "POST /console/approvals/{id}/approve", path: "/console/approvals/ASKED/approve", rest: []string{"POST /api/v1/approvals/ASKED/approve"}},
	{pattern: "POST /console/approvals/{id}/deny", path: "/console/approvals/ASKED/deny", rest: []string{"POST /api/v1/approvals/ASKED/deny"}},
	{pattern: "GET /console/audit", rest: []string{"GET /v1/audit"}},
	{pattern: "GET /console/audit/{n}", path: "/console/audit/1", rest: []string{"GET /v1/audit"}},
	{pattern: "POST /console/audit/verify", rest: []string{"GET /v1/audit/verify"}},
	{pattern: "GET /console/policies", path: "/console/policies?skill=typst"},
	{pattern: "GET /console/images"}, {pattern: "GET /console/images/live"},
	{pattern: "POST /console/images/ask", people: true}, {pattern: "POST /console/images/pull", people: true}, {pattern: "POST /console/images/pin", people: true},
	{pattern: "POST /console/images/unpin", people: true}, {pattern: "POST /console/images/prune", people: true},
	{pattern: "GET /console/doctor"}, {pattern: "GET /console/doctor/live"}, {pattern: "POST /console/doctor"},
}

// visitors are all kinds of principals, by their tokens. What there is belongs to alice.
var visitors = doorman{
	"calls":   {Principal: "alice", Scopes: []auth.Scope{auth.Calls}},
	"read":    {Principal: "alice", Scopes: []auth.Scope{auth.SkillsRead}},
	"write":   {Principal: "alice", Scopes: []auth.Scope{auth.SkillsWrite}},
	"alice":   {Principal: "alice", Scopes: []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}},
	"bound":   {Principal: "alice", Agent: "bot", Scopes: []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}},
	"boundop": {Principal: "root", Agent: "bot", Scopes: []auth.Scope{auth.Admin}},
	"bob":     {Principal: "bob", Scopes: []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}},
	"admin":   {Principal: "root", Scopes: []auth.Scope{auth.Admin}},
}

// keeper keeps no bundles.
type keeper struct{ catalog.Installer }

func (keeper) Versions(context.Context, string) ([]catalog.Installed, error) { return nil, nil }
func (keeper) Rollback(context.Context, string, string, string) (*catalog.Installed, error) {
	return nil, &catalog.Error{Code: catalog.ValidationError, Message: "no such version"}
}

type noCalls struct{}

func (noCalls) Call(_ context.Context, _ a2e.Caller, req *a2e.CallRequest, _ a2e.EventWriter) *a2e.CallResponse {
	return a2e.Failure(req.ID, req.Name, a2e.Errorf(a2e.SchemaViolation, "not that"), 0)
}

func (noCalls) Discover(context.Context, a2e.Caller, *a2e.DiscoverRequest) ([]a2e.Definition, error) {
	return nil, nil
}

// house is a console and REST over the same things.
type house struct {
	console, rest http.Handler
	pages         []page
	names         *strings.Replacer
}

func newHouse(t *testing.T) *house {
	t.Helper()
	c := newCrew(t)
	c.desk.events = map[string][]a2e.Event{}
	c.desk.calls = []control.Call{{ID: "c-1", ReqID: "r-1", Skill: "typst", Principal: "alice", Door: "http", State: control.Succeeded, Accepted: time.Now(), Ended: time.Now()}}
	c.desk.answers = map[string]*a2e.CallResponse{"c-1": {ReqID: "r-1", Name: "typst", Data: &a2e.Result{Success: true, Data: map[string]any{"n": 1}}}}
	for i, name := range []string{"a.txt", "a.png"} {
		c.desk.events["c-1"] = append(c.desk.events["c-1"], a2e.Event{
			Seq: i + 1, Kind: a2e.KindArtifact, Data: map[string]any{"name": name, "mime": "", "final": true, "chunk": base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))},
		})
	}
	bot := c.agent(t, "alice", "bot")
	if _, err := c.agents.SkillOn(t.Context(), caller("alice"), bot.ID, catalog.AnyRevision, "typst"); err != nil {
		t.Fatal(err)
	}
	c.write(t, "alice", 0, catalog.Draft{Name: ptr("notes"), Description: ptr("Notes."), Body: ptr("One.\n")})
	asked := c.ask(t, "alice", "bot", map[string]any{"action": "create", "name": "poems", "description": "Poems.", "body": "x\n"})
	o := c.options
	doctor := &physician{began: make(chan struct{}, 1000), let: make(chan error)}
	close(doctor.let)
	o.Auth, o.Handler, o.Explain, o.Images, o.Doctor, o.Installer = visitors, noCalls{}, oracle{"typst": {Skill: "typst"}}, &depot{}, doctor, keeper{}
	con, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(con.starts.end)
	return &house{
		console: con, pages: con.pages(), names: strings.NewReplacer("ASKED", asked, "ALICE", fmt.Sprint(c.number(t, "alice", 0))),
		rest: rest.New(rest.Options{
			Control: o.Control, Auth: visitors, Handler: o.Handler, Reader: o.Reader, Custom: o.Custom, Agents: o.Agents, Approvals: o.Approvals,
			Installer: o.Installer, Audit: o.Audit, Book: o.Book,
		}),
	}
}

// left is a browser that leaves once it has the beginning of an answer: live pages end then.
type left struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (l left) WriteHeader(code int) {
	l.ResponseRecorder.WriteHeader(code)
	l.leave()
}

func (h *house) ask(t *testing.T, door http.Handler, token, method, path, body, content string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, h.names.Replace(path), strings.NewReader(body))
	r.Host = "localhost"
	if body != "" || method == "POST" || method == "PUT" {
		r.Header.Set("Content-Type", content)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	w := httptest.NewRecorder()
	if strings.Contains(path, "/live") {
		door.ServeHTTP(left{w, cancel}, r.WithContext(ctx))
	} else {
		door.ServeHTTP(w, r)
	}
	return w
}

// page is what the console says.
func (h *house) page(t *testing.T, token string, row twin) string {
	t.Helper()
	method, path, _ := strings.Cut(row.pattern, " ")
	if row.path != "" {
		path = row.path
	}
	w := h.ask(t, h.console, token, method, path, row.form, "application/x-www-form-urlencoded")
	if w.Code == 303 && strings.HasPrefix(w.Header().Get("Location"), Base+"/login") && !row.free {
		return mustSignIn
	}
	return verdictIn(t, w)
}

// api is what REST says in its place.
func (h *house) api(t *testing.T, token string, row twin) string {
	t.Helper()
	for _, line := range row.rest {
		line, header, _ := strings.Cut(line, " If-Match: ")
		parts := strings.SplitN(line, " ", 3)
		body := ""
		if len(parts) == 3 {
			body = parts[2]
		}
		var headers []string
		if header != "" {
			headers = []string{"If-Match: " + header}
		}
		w := h.ask(t, h.rest, token, parts[0], parts[1], body, "application/json", headers...)
		if got := verdictIn(t, w); got != isAllowed {
			return got
		}
	}
	return isAllowed
}

func verdictIn(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	switch {
	case w.Code == 401:
		return mustSignIn
	case w.Code == 403:
		return isRefused
	case w.Code == 404:
		return findsNothing
	case w.Code >= 500 && w.Code != 503:
		t.Errorf("%d %.600s", w.Code, w.Body)
	}
	return isAllowed
}

// Each page is for whom REST answers the same for, and for nobody else; a page without a row in the table fails.
func TestEachPageIsForWhomRESTIs(t *testing.T) {
	h := newHouse(t)
	known := map[string]bool{}
	for _, row := range twins {
		known[row.pattern] = true
	}
	var there []string
	for _, p := range h.pages {
		there = append(there, p.pattern)
		if !known[p.pattern] {
			t.Errorf("page %q has no row in the table: say what REST has in its place", p.pattern)
		}
	}
	for _, row := range twins {
		if !slices.Contains(there, row.pattern) {
			t.Errorf("there is no page %q", row.pattern)
			continue
		}
		some := false
		for token, who := range visitors {
			want := h.api(t, token, row)
			some = some || want == isAllowed
			switch {
			case row.free:
				want = isAllowed
			case row.hides && want == isRefused && who.May(auth.SkillsWrite) && who.Agent == "":
				want = findsNothing
			case len(row.rest) > 0:
			case !who.May(auth.Admin), row.people && who.Agent != "":
				want = isRefused
			}
			if got := h.page(t, token, row); got != want {
				t.Errorf("%s: %s %s, want that it %s", row.pattern, token, got, want)
			}
		}
		if len(row.rest) > 0 && !some {
			t.Errorf("%s: REST gives that to nobody, so nothing is compared", row.rest)
		}
		for _, token := range []string{"", "expired"} {
			want := mustSignIn
			if row.free {
				want = isAllowed
			}
			if len(row.rest) > 0 && h.api(t, token, row) != mustSignIn {
				t.Errorf("%s: REST answers %q", row.rest, token)
			}
			got := h.page(t, token, row)
			if row.free && row.pattern[:4] == "POST" { // their forms need a mark
				want, got = isAllowed, isAllowed
			}
			if got != want {
				t.Errorf("%s: %q %s, want that it %s", row.pattern, token, got, want)
			}
		}
	}
}
