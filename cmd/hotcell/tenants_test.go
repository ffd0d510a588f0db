package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/rest"
	"github.com/hotcell/hotcell/internal/testutil"
)

// badge is an authenticator that takes a token for a name.
type badge map[string]auth.Identity

func (b badge) Authenticate(_ context.Context, c auth.Credentials) (auth.Identity, error) {
	id, ok := b[c.Bearer.Reveal()]
	if !ok {
		return auth.Identity{}, auth.ErrRefused
	}
	return id, nil
}

// waiter is a plugin whose one skill runs until its call is cancelled.
type waiter struct{}

func (waiter) ListSkills(context.Context, a2e.Caller) ([]a2e.Definition, error) {
	return []a2e.Definition{{Name: "slow", Version: "1", Description: "Waits.", Status: a2e.StatusPublished}}, nil
}

func (waiter) ExecuteSkill(ctx context.Context, _ a2e.Caller, ex a2e.Execution) (*a2e.Result, error) {
	_ = ex.EmitEvent(a2e.KindArtifact, map[string]any{"name": "a.txt", "mime": "text/plain", "chunk": "Q0FOQVJZ", "final": true})
	<-ctx.Done()
	return nil, ctx.Err()
}

// house is a daemon's HTTP door over a real catalog, store and supervisor, without an engine.
type house struct {
	t    *testing.T
	url  string
	sys  *host.System
	door http.Handler
}

func newHouse(t *testing.T, who auth.Authenticator) *house {
	t.Helper()
	t.Setenv("DOCKER_HOST", "unix:///nowhere.sock")
	sys, err := host.Open(t.Context(), config.Default(false, t.TempDir(), ""), host.Options{Log: slog.New(slog.DiscardHandler), Plugins: []a2e.Plugin{waiter{}}})
	if err != nil {
		t.Fatal(err)
	}
	c := sys.Catalog
	door := rest.New(rest.Options{
		Control: sys.Supervisor, Handler: sys.Supervisor, Auth: who, Reader: c.Reader, Custom: c.Custom, Agents: c.Agents, Approvals: c.Approvals,
		Installer: sys.Installer, Audit: sys.Audit, Book: sys.Supervisor, Metrics: sys.Metrics,
	})
	srv := httptest.NewServer(door)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(sys.Supervisor.Drain(ctx), sys.Close()); err != nil {
			t.Error(err)
		}
	})
	return &house{t, srv.URL, sys, door}
}

// asked is a request, and told an answer.
type asked struct{ method, target, body string }

type response struct {
	status int
	body   string
	header http.Header
}

func (h *house) ask(who string, a asked, headers ...string) response {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), a.method, h.url+a.target, strings.NewReader(a.body))
	if err != nil {
		h.t.Fatalf("%+v: %v", a, err)
	}
	r.Header.Set("Authorization", "Bearer "+who)
	if a.method != http.MethodGet && (a.method != http.MethodDelete || a.body != "") {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		h.t.Fatalf("%+v: %v", a, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatalf("%+v: %v", a, err)
	}
	return response{resp.StatusCode, string(b), resp.Header}
}

// must is ask for what has to work, and reads the answer.
func (h *house) must(who string, a asked, into any) {
	h.t.Helper()
	got := h.ask(who, a)
	if got.status/100 != 2 {
		h.t.Fatalf("%s: %+v: %d %s", who, a, got.status, got.body)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(got.body), into); err != nil {
			h.t.Fatal(err)
		}
	}
}

// world is what one tenant has, and the names of what nobody has, one for each.
type world struct {
	*house
	foreign, none []string
}

// furnish makes alice's belongings, all with a canary in them.
func furnish(t *testing.T, h *house) *world {
	skill := func(name, whose string) string {
		return fmt.Sprintf(`{"name":%q,"description":"CANARY of %s","body":"CANARY\n","files":{"notes.md":"CANARY"}%s}`, name, name, whose)
	}
	var ps struct {
		Data struct{ Principals []catalog.Principal }
	}
	h.must("alice", asked{"POST", "/api/v1/custom-skills", skill("alpha", "")}, nil)
	h.must("alice", asked{"GET", "/api/v1/principals", ""}, &ps)
	alice, red := ps.Data.Principals[0].ID, ps.Data.Principals[1].ID
	h.must("alice", asked{"POST", "/api/v1/custom-skills", skill("ruby", fmt.Sprintf(`,"principal_id":%d`, red))}, nil)
	h.must("alice", asked{"PUT", "/api/v1/custom-skills/alpha", `{"body":"CANARY 2\n"}`}, nil)
	var agent struct{ Data struct{ Agent catalog.Agent } }
	h.must("alice", asked{"POST", "/api/v1/agents", `{"name":"a-bot"}`}, &agent)
	h.must("alice", asked{"PUT", "/api/v1/agents/a-bot/skills/alpha", ""}, nil)
	h.must("alice", asked{"PUT", "/api/v1/agents/a-bot/skills/manage_skill", ""}, nil)
	h.must("alice", asked{"POST", "/api/v1/agents/a-bot/tools/manage_skill/enable", ""}, nil)
	h.must("alice", asked{"POST", "/v1/calls", `{"name":"manage_skill","agent_id":"a-bot","arguments":{"action":"create","name":"amber","description":"CANARY","body":"CANARY"}}`}, nil)
	var approvals struct {
		Data struct{ Approvals []catalog.Approval }
	}
	h.must("alice", asked{"GET", "/api/v1/approvals", ""}, &approvals)
	if len(approvals.Data.Approvals) != 1 {
		t.Fatalf("approvals: %+v", approvals)
	}
	approval := approvals.Data.Approvals[0].ID
	h.must("alice", asked{"POST", "/v1/calls", `{"id":"req-aaa","name":"skill","arguments":{"action":"read","name":"alpha"}}`}, nil)
	ids := []string{fmt.Sprint(alice), fmt.Sprint(red), fmt.Sprint(agent.Data.Agent.ID)}
	return &world{
		house:   h,
		foreign: append(ids, "alpha", "ruby", "a-bot", approval, "req-aaa", "req-wait"),
		none:    []string{"70001", "70002", "70003", "omega", "rust", "z-bot", strings.Repeat("0", len(approval)), "req-zzz", "req-nope"},
	}
}

// Whatever an intruder asks for, of what another tenant has and of what nobody has: the answers are the same, nothing of the
// other's is in them, and nothing of the other's changes.
func TestTenantsDoNotSeeEachOther(t *testing.T) {
	all := []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}
	h := newHouse(t, badge{
		"alice":   {Principal: "alice", Scopes: all, Groups: []auth.Membership{{Group: "red", Role: auth.RoleOwner}}},
		"mallory": {Principal: "mallory", Scopes: all, Groups: []auth.Membership{{Group: "blue", Role: auth.RoleOwner}}},
		"ops":     {Principal: "ops", Scopes: []auth.Scope{auth.Admin}},
	})
	w := furnish(t, h)
	waiting, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() { w.wait(waiting) })
	w.untilRunning()
	before := w.snapshot()
	doc := w.routes()
	seed := uint64(time.Now().UnixNano())
	dice := rand.New(rand.NewPCG(seed, 7))
	telling := 0
	for n := range 600 {
		route := doc[n%len(doc)]
		a := w.invent(dice, route)
		theirs := h.ask("mallory", a)
		w.tidy()
		nobodys := h.ask("mallory", w.ofNobody(a))
		w.tidy()
		if got, want := w.plain(theirs), w.plain(nobodys); got != want {
			t.Errorf("seed %d: %+v\nof another's: %s\nof nobody's:  %s", seed, a, got, want)
		}
		if strings.Contains(theirs.body, "CANARY") || strings.Contains(theirs.body, "Q0FOQVJZ") {
			t.Errorf("seed %d: %+v tells: %s", seed, a, theirs.body)
		}
		if a.method == http.MethodGet && strings.Contains(h.ask("alice", a).body, "CANARY") {
			telling++
		}
	}
	if telling < 40 {
		t.Errorf("seed %d: only %d of the requests tell alice something of hers: they prove little", seed, telling)
	}
	if after := w.snapshot(); after != before {
		t.Errorf("seed %d: what alice has changed\nbefore %s\nafter  %s", seed, before, after)
	}
}

// wait makes a call of alice's that runs until ctx ends.
func (w *world) wait(ctx context.Context) {
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/v1/calls", strings.NewReader(`{"id":"req-wait","name":"slow"}`))
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Content-Type", "application/json")
	if resp, err := http.DefaultTransport.RoundTrip(r); err == nil {
		_ = resp.Body.Close()
		w.t.Errorf("the call of alice's has ended: %d", resp.StatusCode)
	}
}

func (w *world) untilRunning() {
	testutil.Poll(w.t, time.Minute, func() bool {
		return strings.Contains(w.ask("alice", asked{"GET", "/v1/calls/req-wait/artifacts", ""}).body, "a.txt")
	})
}

// snapshot is all that alice can see of what she has.
func (w *world) snapshot() string {
	var all strings.Builder
	for _, target := range []string{
		"/api/v1/skills", "/api/v1/custom-skills", "/api/v1/custom-skills?principal_id=" + w.foreign[1], "/api/v1/custom-skills/alpha",
		"/api/v1/custom-skills/alpha/files/notes.md", "/api/v1/custom-skills/alpha/allowlist", "/api/v1/agents", "/api/v1/agents/a-bot/tools/skill/override",
		"/api/v1/principals/" + w.foreign[0] + "/tools/skill/override", "/api/v1/approvals", "/v1/calls", "/v1/calls/req-aaa", "/v1/calls/req-wait",
		"/v1/calls/req-aaa/request", "/v1/calls/req-aaa/policy", "/v1/calls?skill=skill&verdict=succeeded",
	} {
		got := w.ask("alice", asked{"GET", target, ""})
		fmt.Fprintf(&all, "%s %d %s\n", target, got.status, timePasses.ReplaceAllString(got.body, ""))
	}
	return all.String()
}

// timePasses is what changes by itself while a call runs.
var timePasses = regexp.MustCompile(`"took_ns":[0-9]+`)

// routes are all of the document, those of operators too.
func (w *world) routes() []string { return w.routesAs("mallory") }

func (w *world) routesAs(who string) (all []string) {
	var doc struct {
		Paths map[string]map[string]any
	}
	w.must(who, asked{"GET", "/openapi.json", ""}, &doc)
	for path, item := range doc.Paths {
		for method := range item {
			all = append(all, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(all)
	if len(all) < 35 {
		w.t.Fatalf("%d routes", len(all))
	}
	return all
}

var inBraces = regexp.MustCompile(`\{[a-z]+\}`)

// invent makes a request that means something of alice's.
func (w *world) invent(dice *rand.Rand, route string) asked {
	pick := func(of ...string) string { return of[dice.IntN(len(of))] }
	alice, red, agent, approval := w.foreign[0], w.foreign[1], w.foreign[2], w.foreign[6]
	name := func() string { return pick("alpha", "ruby", "ALPHA", " alpha ") }
	method, path, _ := strings.Cut(route, " ")
	target := inBraces.ReplaceAllStringFunc(path, func(p string) string {
		v := name()
		switch {
		case p == "{id}" && strings.Contains(path, "/agents/"):
			v = pick(agent, "a-bot")
		case p == "{id}" && strings.Contains(path, "/principals/"):
			v = pick(alice, red)
		case p == "{id}" && strings.Contains(path, "/approvals/"):
			v = approval
		case p == "{id}":
			v = pick("req-aaa", "req-wait")
		case p == "{path}":
			v = pick("SKILL.md", "notes.md", "../ruby/SKILL.md", "nope", "%00")
		case p == "{tool}":
			v = pick("skill", "skill", "manage_skill", "nope")
		case p == "{name}" && strings.Contains(path, "artifacts"):
			v = "a.txt"
		}
		return url.PathEscape(v)
	})
	query := url.Values{}
	if whose := pick(alice, red, alice, "", "-1", "x"); whose != "" {
		query.Set("principal_id", whose)
	}
	if dice.IntN(3) == 0 {
		query.Set(pick("raw", "limit", "from", "state", "skill", "verdict", "principal"), pick("true", "1", "pending", "skill", "running", "alice"))
	}
	a := asked{method: method, target: target + "?" + query.Encode()}
	if method == http.MethodPost || method == http.MethodPut {
		a.body = pick(
			`{}`, `{"body":"mine now"}`, `{"name":"alpha"}`, `{"name":"alpha","description":"d","body":"b"}`, `{"name":"a-bot"}`, `{"settings":{"allowed_skills":["alpha"]}}`,
			`{"settings":{"allowed_skills":null}}`, fmt.Sprintf(`{"name":"alpha","description":"d","principal_id":%s}`, pick(alice, red)),
			fmt.Sprintf(`{"name":"a-bot","principal_id":%s}`, pick(alice, red)), `{"why":"x"}`, `{"version":"v1"}`, `{"name":"alpha","arguments":{}}`,
			`{"name":"skill","arguments":{"action":"read","name":"alpha"}}`, `{"name":"skill","agent_id":"a-bot","arguments":{"action":"files","name":"ruby"}}`,
			`{"name":"manage_skill","agent_id":"a-bot","arguments":{"action":"delete","name":"alpha"}}`, `{"name":"skill-catalog"}`, ``,
		)
	}
	return a
}

// ofNobody is the same request of what nobody has.
func (w *world) ofNobody(a asked) asked {
	swap := func(s string) string {
		for i := 3; i < len(w.foreign); i++ {
			s = strings.ReplaceAll(s, w.foreign[i], w.none[i])
			s = strings.ReplaceAll(s, strings.ToUpper(w.foreign[i]), strings.ToUpper(w.none[i]))
		}
		for i := range 3 { // numbers, where they stand for something
			s = regexp.MustCompile(`(principal_id"?[=:]|agents/|principals/)`+w.foreign[i]+`\b`).ReplaceAllString(s, "${1}"+w.none[i])
		}
		return s
	}
	return asked{a.method, swap(a.target), swap(a.body)}
}

var passing = []*regexp.Regexp{
	regexp.MustCompile(`"(id|ts|created_at|updated_at|accepted|started|ended|deadline|call_id|duration_ms|seq|req_id|bytes|body_bytes)":("[^"]*"|[0-9.]+)`),
	regexp.MustCompile(`"[0-9A-HJKMNP-TV-Z]{26}"`),
	regexp.MustCompile(`Agent '[0-9]+'|principal '?[0-9]+'?`),
}

// plain is an answer without what differs each time, in alice's names.
func (w *world) plain(got response) string {
	s := got.body
	for i := range w.none {
		s = strings.ReplaceAll(s, w.none[i], w.foreign[i])
		s = strings.ReplaceAll(s, strings.ToUpper(w.none[i]), strings.ToUpper(w.foreign[i]))
	}
	for _, p := range passing {
		s = p.ReplaceAllString(s, "~")
	}
	var names []string
	for k := range got.header {
		names = append(names, k)
	}
	slices.Sort(names)
	return fmt.Sprint(got.status, " ", names, " ", s)
}

// tidy removes what the intruder made of her own, so that it stays out of the next answers.
func (w *world) tidy() {
	var made struct {
		Data struct {
			Skills []struct{ Name string }
			Agents []struct{ Name string }
		}
	}
	w.must("mallory", asked{"GET", "/api/v1/custom-skills", ""}, &made)
	for _, s := range made.Data.Skills {
		w.must("mallory", asked{"DELETE", "/api/v1/custom-skills/" + s.Name, ""}, nil)
	}
	w.must("mallory", asked{"GET", "/api/v1/agents", ""}, &made)
	for _, a := range made.Data.Agents {
		w.must("mallory", asked{"DELETE", "/api/v1/agents/" + a.Name, ""}, nil)
	}
}

// What is written over REST is read back to the byte, over each route that reads it and by a call of the skill tool.
func TestRoundTripsAreLossless(t *testing.T) {
	h := newHouse(t, badge{"alice": {Principal: "alice", Scopes: []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}}})
	texts := []string{
		"plain", "", "\n\n  leading\n", "trailing  \n\n", "a\r\nb\r", "é 😀 \u2028 \u200b\ufeff", `"quotes" \ <script>&amp;`, "---\nname: other\n---\n", "\t: # {yaml} [x] | > *a &b !c %d @e `f`",
		strings.Repeat("0123456789", 4000), "\x00\x01\x7f",
	}
	for i, text := range texts {
		name := fmt.Sprint("skill-", i)
		files := map[string]string{"a.md": text, "deep/er/é b+%41.md": text + "2"}
		draft := map[string]any{"name": name, "description": "d" + singleLine(text), "body": text, "files": files, "metadata": map[string]any{"k": singleLine(text)}}
		b, err := json.Marshal(draft)
		if err != nil {
			t.Fatal(err)
		}
		h.must("alice", asked{"POST", "/api/v1/custom-skills", string(b)}, nil)
		var shown struct {
			Data struct {
				Skill struct {
					Body        string
					Description string
					Metadata    map[string]string
					BodyBytes   int `json:"body_bytes"`
				}
			}
		}
		h.must("alice", asked{"GET", "/api/v1/custom-skills/" + name, ""}, &shown)
		if s := shown.Data.Skill; s.Body != text || s.BodyBytes != len(text) || s.Metadata["k"] != singleLine(text) || s.Description != strings.TrimSpace("d"+singleLine(text)) {
			t.Errorf("%q came back as %+v", text, s)
		}
		h.must("alice", asked{"GET", "/api/v1/skills/" + name, ""}, &shown)
		if shown.Data.Skill.Body != text {
			t.Errorf("%q came back as %q from the skills", text, shown.Data.Skill.Body)
		}
		for path, want := range files {
			h.readEverywhere(name, path, want)
		}
	}
}

// readEverywhere reads a file over both routes, in both forms, and by a call.
func (h *house) readEverywhere(name, path, want string) {
	h.t.Helper()
	for _, base := range []string{"/api/v1/custom-skills/", "/api/v1/skills/"} {
		for _, p := range []string{url.PathEscape(path), (&url.URL{Path: path}).EscapedPath()} {
			var shown struct {
				Data struct{ Path, Content string }
			}
			h.must("alice", asked{"GET", base + name + "/files/" + p, ""}, &shown)
			if shown.Data.Content != want || shown.Data.Path != path {
				h.t.Errorf("%s: %q came back as %q", base, want, shown.Data.Content)
			}
			if got := h.ask("alice", asked{"GET", base + name + "/files/" + p, ""}, "Accept", "application/octet-stream"); got.status != 200 || got.body != want {
				h.t.Errorf("%s: %q came back as the bytes %q", base, want, got.body)
			}
		}
	}
	call, _ := json.Marshal(map[string]any{"name": "skill", "arguments": map[string]any{"action": "read", "name": name, "filename": path}})
	got := h.ask("alice", asked{"POST", "/v1/calls", string(call)})
	text, _ := json.Marshal(want)
	var answer struct {
		Data struct{ Data json.RawMessage }
	}
	if err := json.Unmarshal([]byte(got.body), &answer); err != nil || !holds(answer.Data.Data, want) {
		h.t.Errorf("a call reads %s, not %s", got.body, text)
	}
}

// holds reports whether a JSON value is a text, or has a member that is it.
func holds(raw json.RawMessage, want string) bool {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text == want
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members)
	for _, m := range members {
		if json.Unmarshal(m, &text) == nil && text == want {
			return true
		}
	}
	return false
}

// singleLine is a text without what a frontmatter does not take.
func singleLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == 0x2028 || r == 0xfeff {
			return -1
		}
		return r
	}, s[:min(len(s), 900)]))
}

// Writers at the same time, each with the ETag of what it read, lose nothing of each other.
func TestNoUpdateIsLost(t *testing.T) {
	h := newHouse(t, badge{"alice": {Principal: "alice", Scopes: []auth.Scope{auth.SkillsRead, auth.SkillsWrite}}})
	h.must("alice", asked{"POST", "/api/v1/custom-skills", `{"name":"shared","description":"d","body":""}`}, nil)
	const writers = 8
	var group sync.WaitGroup
	for n := range writers {
		group.Go(func() {
			for {
				got := h.ask("alice", asked{"GET", "/api/v1/custom-skills/shared", ""})
				var shown struct {
					Data struct{ Skill struct{ Body string } }
				}
				if err := json.NewDecoder(bytes.NewBufferString(got.body)).Decode(&shown); err != nil {
					t.Error(err)
					return
				}
				b, _ := json.Marshal(map[string]string{"body": shown.Data.Skill.Body + fmt.Sprintf("line %d\n", n)})
				put := h.ask("alice", asked{"PUT", "/api/v1/custom-skills/shared", string(b)}, "If-Match", got.header.Get("ETag"))
				if put.status == http.StatusOK {
					return
				}
				if put.status != http.StatusPreconditionFailed {
					t.Errorf("%d %s", put.status, put.body)
					return
				}
			}
		})
	}
	group.Wait()
	got := h.ask("alice", asked{"GET", "/api/v1/custom-skills/shared", ""})
	for n := range writers {
		if strings.Count(got.body, fmt.Sprintf(`line %d\n`, n)) != 1 {
			t.Errorf("line %d is lost: %s", n, got.body)
		}
	}
}

// Each row of the visibility table: who may read and write the custom skills of a principal.
func TestVisibilityTable(t *testing.T) {
	all := []auth.Scope{auth.SkillsRead, auth.SkillsWrite}
	in := func(role auth.Role) auth.Identity {
		return auth.Identity{Principal: "u-" + string(role), Scopes: all, Groups: []auth.Membership{{Group: "red", Role: role}}}
	}
	h := newHouse(t, badge{
		"owner": in(auth.RoleOwner), "admin": in(auth.RoleAdmin), "member": in(auth.RoleMember), "stranger": {Principal: "stranger", Scopes: all},
		"operator": {Principal: "ops", Scopes: []auth.Scope{auth.Admin}},
	})
	var ps struct {
		Data struct{ Principals []catalog.Principal }
	}
	h.must("owner", asked{"GET", "/api/v1/principals", ""}, &ps)
	red := fmt.Sprint("?principal_id=", ps.Data.Principals[1].ID)
	h.must("owner", asked{"POST", "/api/v1/custom-skills" + red, `{"name":"ruby","description":"d","body":"b"}`}, nil)
	for who, want := range map[string][2]int{
		"owner": {200, 200}, "admin": {200, 200}, "member": {200, 403}, "stranger": {404, 403}, "operator": {404, 403},
	} {
		listed := strings.Contains(h.ask(who, asked{"GET", "/api/v1/custom-skills" + red, ""}).body, "ruby")
		for _, target := range []string{"", "/files", "/files/SKILL.md", "/allowlist"} {
			if got := h.ask(who, asked{"GET", "/api/v1/custom-skills/ruby" + target + red, ""}); got.status != want[0] || listed != (want[0] == 200) {
				t.Errorf("%s reads %q: %d %s", who, target, got.status, got.body)
			}
		}
		if got := h.ask(who, asked{"GET", "/api/v1/skills/ruby", ""}); got.status != want[0] {
			t.Errorf("%s reads the skill: %d", who, got.status)
		}
		if got := h.ask(who, asked{"PUT", "/api/v1/custom-skills/ruby" + red, `{"body":"by ` + who + `"}`}); got.status != want[1] {
			t.Errorf("%s writes: %d %s", who, got.status, got.body)
		}
		if got := h.ask(who, asked{"DELETE", "/api/v1/custom-skills/none" + red, ""}); got.status != map[int]int{200: 404, 403: 403}[want[1]] {
			t.Errorf("%s deletes what is not there: %d %s", who, got.status, got.body)
		}
	}
}

// Where nobody authenticates, whoever calls is one principal of its own, and has what it wrote.
func TestNobodyHasSkillsToo(t *testing.T) {
	h := newHouse(t, auth.Open{})
	h.must("", asked{"POST", "/api/v1/custom-skills", `{"name":"mine","description":"d","body":"b\n"}`}, nil)
	h.must("", asked{"GET", "/api/v1/custom-skills/mine", ""}, nil)
	h.must("", asked{"POST", "/v1/calls", `{"name":"skill","arguments":{"name":"mine"}}`}, nil)
	h.must("", asked{"POST", "/api/v1/agents", `{"name":"bot"}`}, nil)
	if got := h.ask("", asked{"POST", "/v1/calls", `{"name":"skill","agent_id":"bot","arguments":{"name":"mine"}}`}); got.status != 403 && got.status != 404 {
		t.Errorf("an agent whose allowlist is empty: %d %s", got.status, got.body)
	}
	h.must("", asked{"PUT", "/api/v1/agents/bot/skills/mine", ""}, nil)
	h.must("", asked{"POST", "/v1/calls", `{"name":"skill","agent_id":"bot","arguments":{"name":"mine"}}`}, nil)
	h.must("", asked{"DELETE", "/api/v1/custom-skills/mine", ""}, nil)
	if got := h.ask("", asked{"GET", "/api/v1/agents/bot/tools/skill/override?raw=true", ""}); !strings.Contains(got.body, `"settings":{"allowed_skills":"[]"}`) {
		t.Errorf("a deleted skill is on the allowlist: %s", got.body)
	}
}

// The allowlist of an agent holds over every route that its token opens: discover, read and call.
func TestAnAgentHasItsAllowlistOverHTTP(t *testing.T) {
	all := []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}
	h := newHouse(t, badge{"alice": {Principal: "alice", Scopes: all}, "bot": {Principal: "alice", Agent: "bot", Scopes: all}})
	for _, name := range []string{"alpha", "omega"} {
		h.must("alice", asked{"POST", "/api/v1/custom-skills", fmt.Sprintf(`{"name":%q,"description":"d","body":"b"}`, name)}, nil)
	}
	h.must("alice", asked{"POST", "/api/v1/agents", `{"name":"bot"}`}, nil)
	h.must("alice", asked{"PUT", "/api/v1/agents/bot/skills/alpha", ""}, nil)
	h.must("alice", asked{"PUT", "/api/v1/agents/bot/skills/time-arithmetic", ""}, nil)
	for target, want := range map[string][2]int{ // of what is allowed, and of what is not
		"/api/v1/skills/NAME": {200, 404}, "/api/v1/skills/NAME/files/SKILL.md": {200, 404}, "/api/v1/custom-skills/NAME": {200, 404},
		"/api/v1/custom-skills/NAME/files/SKILL.md": {200, 404}, "/api/v1/custom-skills/NAME/allowlist": {200, 404},
	} {
		for i, name := range []string{"alpha", "omega"} {
			if got := h.ask("bot", asked{"GET", strings.ReplaceAll(target, "NAME", name), ""}); got.status != want[i] {
				t.Errorf("%s of %s: %d %s", target, name, got.status, got.body)
			}
		}
	}
	for _, target := range []string{"/api/v1/skills", "/api/v1/custom-skills", "/v1/skills"} {
		if got := h.ask("bot", asked{"GET", target, ""}); got.status != 200 || strings.Contains(got.body, "omega") || strings.Contains(got.body, "code-review") || !strings.Contains(got.body, `"alpha"`) && target != "/v1/skills" {
			t.Errorf("%s: %d %s", target, got.status, got.body)
		}
	}
	for call, want := range map[string]int{
		`{"name":"skill","arguments":{"name":"alpha"}}`: 200, `{"name":"skill","arguments":{"name":"omega"}}`: 403,
		`{"name":"skill","arguments":{"name":"none"}}`: 403, `{"name":"code-review","arguments":{"code":"x"}}`: 403, `{"name":"none"}`: 404,
		`{"name":"skill","agent_id":"other","arguments":{"name":"alpha"}}`: 403,
	} {
		if got := h.ask("bot", asked{"POST", "/v1/calls", call}); got.status != want {
			t.Errorf("%s: %d %s", call, got.status, got.body)
		}
	}
	for _, a := range []asked{
		{"PUT", "/api/v1/agents/bot/skills/omega", ""}, {"PUT", "/api/v1/agents/bot/tools/skill/override", `{"settings":{"allowed_skills":["omega"]}}`},
		{"POST", "/api/v1/custom-skills", `{"name":"new","description":"d","body":"b"}`}, {"DELETE", "/api/v1/custom-skills/omega", ""},
		{"POST", "/api/v1/agents/bot/tools/manage_skill/enable", ""}, {"POST", "/api/v1/approvals/x/approve", ""}, {"DELETE", "/api/v1/agents/bot", ""},
	} {
		if got := h.ask("bot", a); got.status != 403 {
			t.Errorf("%+v: %d %s", a, got.status, got.body)
		}
	}
}
