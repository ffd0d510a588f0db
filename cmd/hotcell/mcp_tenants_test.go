package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/mcphost"
	"github.com/hotcell/hotcell/internal/rest"
)

// overMCP opens the MCP door of a house, and returns what connects to it.
func overMCP(t *testing.T, h *house, who auth.Authenticator) func(token, revision string, o ...*mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	host, err := mcphost.New(mcphost.Options{Handler: h.sys.Supervisor, Catalog: h.sys.Catalog.Reader, Control: h.sys.Supervisor, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	door := rest.Mount{Patterns: mcphost.Patterns(), Scope: auth.Calls, MaxBody: mcphost.MaxBody, Handler: host}
	srv := httptest.NewServer(rest.New(rest.Options{Control: h.sys.Supervisor, Auth: who, Mounts: []rest.Mount{door}}))
	t.Cleanup(func() { host.Close(); srv.CloseClientConnections(); srv.Close() })
	return func(token, revision string, o ...*mcp.ClientOptions) *mcp.ClientSession {
		t.Helper()
		o = append(o, nil)
		transport, idle := httpTransport(srv.URL, map[string]string{"Authorization": "Bearer " + token})
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o[0])
		for _, method := range []string{"skills/list", "skills/get"} {
			if err := mcp.AddSendingCustomMethod[*aboutSkills, *toldOfSkills](client, method); err != nil {
				t.Fatal(err)
			}
		}
		session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close(); idle() })
		return session
	}
}

// aboutSkills and toldOfSkills are what the extension for skills asks and answers.
type aboutSkills struct {
	mcp.ParamsBase
	URI string `json:"uri,omitempty"`
}

type toldOfSkills struct {
	mcp.ResultBase
	Skills []json.RawMessage `json:"skills,omitempty"`
	Skill  struct {
		Resources []struct {
			URI    string `json:"uri"`
			Digest string `json:"digest"`
			Size   int    `json:"size"`
		} `json:"resources"`
	} `json:"skill"`
}

// said is an answer as a client sees it, whatever it is.
func said(v any, err error) string {
	if err != nil {
		return err.Error()
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// Whatever an intruder asks over MCP of what another tenant has, and of what nobody has, gets the same answer.
func TestTenantsOverMCP(t *testing.T) {
	all := []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}
	who := badge{
		"alice":   {Principal: "alice", Scopes: all, Groups: []auth.Membership{{Group: "red", Role: auth.RoleOwner}}},
		"mallory": {Principal: "mallory", Scopes: all, Groups: []auth.Membership{{Group: "blue", Role: auth.RoleOwner}}},
		"ops":     {Principal: "ops", Scopes: []auth.Scope{auth.Admin}},
	}
	h := newHouse(t, who)
	furnish(t, h)
	var kept struct{ Calls []control.Call }
	h.must("alice", asked{"GET", "/v1/calls", ""}, &kept)
	if len(kept.Calls) == 0 {
		t.Fatal("alice has made no call")
	}
	call := kept.Calls[0].ID
	open := overMCP(t, h, who)
	names := strings.NewReplacer("alpha", "omega", "ruby", "rust", call, strings.Repeat("0", len(call)), "req-aaa", "req-zzz")
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		session := open("mallory", revision)
		ask := func(text string) string {
			method, argument, _ := strings.Cut(text, " ")
			switch method {
			case "call":
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: argument})
				return said(res, err)
			case "ask":
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "skill", Arguments: map[string]any{"name": argument}})
				if res != nil {
					return said(res.StructuredContent, err)
				}
				return said(res, err)
			case "get":
				return said(mcp.CallCustomMethod[*aboutSkills, *toldOfSkills](t.Context(), session, "skills/get", &aboutSkills{URI: argument}))
			}
			return said(session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: argument}))
		}
		for _, text := range []string{
			"call alpha", "call ruby", "call Alpha", "call al_pha", "ask alpha", "ask ruby", "get skill://alpha/SKILL.md", "get skill://ruby/SKILL.md",
			"read skill://alpha/SKILL.md", "read skill://alpha/notes.md", "read skill://ruby/SKILL.md", "read skill://alpha/none.md",
			"read hotcell://calls/" + call + "/artifacts/a.txt", "read hotcell://calls/req-aaa/artifacts/a.txt",
		} {
			theirs, nobodys := ask(text), ask(names.Replace(strings.ReplaceAll(text, "Alpha", "Omega")))
			theirs = strings.ReplaceAll(names.Replace(theirs), "Alpha", "Omega")
			theirs, nobodys = strings.ReplaceAll(theirs, "al_pha", "om_ega"), strings.ReplaceAll(nobodys, "al_pha", "om_ega")
			if idless(theirs) != idless(nobodys) || strings.Contains(theirs, "CANARY") {
				t.Errorf("%s, %s:\nof another's: %s\nof nobody's:  %s", revision, text, theirs, nobodys)
			}
		}
		lists := said(session.ListTools(t.Context(), nil)) + said(session.ListResources(t.Context(), nil)) +
			said(mcp.CallCustomMethod[*aboutSkills, *toldOfSkills](t.Context(), session, "skills/list", &aboutSkills{})) +
			said(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "skill-catalog"}))
		if strings.Contains(lists, "CANARY") || strings.Contains(lists, "alpha") || !strings.Contains(lists, "code-review") {
			t.Errorf("%s: the lists say %s", revision, lists)
		}
		hers := open("alice", revision)
		if list := said(hers.ListTools(t.Context(), nil)); !strings.Contains(list, `"alpha"`) || !strings.Contains(list, `"ruby"`) {
			t.Errorf("%s: alice's own are missing: %s", revision, list)
		}
	}
}

// idless is an answer without the ids that each call has of its own.
func idless(s string) string {
	for _, key := range []string{`"call_id":"`, `"hotcell/call_id":"`, `"hotcell/request_id":"`} {
		for {
			before, rest, found := strings.Cut(s, key)
			_, after, closed := strings.Cut(rest, `"`)
			if !found || !closed {
				break
			}
			s = before + after
		}
	}
	return s
}

// What was written over REST is read over MCP to the byte, and with the digest that the extension gives.
func TestRoundTripsOverMCP(t *testing.T) {
	who := badge{"alice": {Principal: "alice", Scopes: []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}}}
	h := newHouse(t, who)
	session := overMCP(t, h, who)("alice", "2025-11-25")
	texts := []string{"plain", "", "\n\n  leading\n", "a\r\nb\r", "é 😀 \u2028 \u200b\ufeff", `"quotes" \ <script>&amp;`, strings.Repeat("0123456789", 4000), "\x00\x01\x7f"}
	files := map[string]string{".dot": "hidden"}
	for i, text := range texts {
		files[fmt.Sprintf("deep/é b+%%41 %d.md", i)] = text
	}
	b, err := json.Marshal(map[string]any{"name": "kept", "description": "d", "body": "# Body\n", "files": files})
	if err != nil {
		t.Fatal(err)
	}
	h.must("alice", asked{"POST", "/api/v1/custom-skills", string(b)}, nil)
	entry, err := mcp.CallCustomMethod[*aboutSkills, *toldOfSkills](t.Context(), session, "skills/get", &aboutSkills{URI: "skill://kept/SKILL.md"})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(entry.Skill.Resources); n != len(files)+1 {
		t.Errorf("%d files, want %d: %+v", n, len(files)+1, entry.Skill.Resources)
	}
	seen := map[string]bool{}
	for _, f := range entry.Skill.Resources {
		res, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: f.URI})
		if err != nil {
			t.Errorf("%s: %v", f.URI, err)
			continue
		}
		content := res.Contents[0].Text + string(res.Contents[0].Blob)
		sum := sha256.Sum256([]byte(content))
		if f.Digest != "sha256:"+hex.EncodeToString(sum[:]) || f.Size != len(content) {
			t.Errorf("%s is not what its digest says", f.URI)
		}
		seen[content] = true
	}
	for name, want := range files {
		if !seen[want] {
			t.Errorf("%q was not read: %q", name, want)
		}
	}
	got := h.ask("alice", asked{"GET", "/api/v1/skills/kept/files/SKILL.md", ""}, "Accept", "application/octet-stream")
	if !seen[got.body] {
		t.Errorf("SKILL.md over REST is %q, and another over MCP", got.body)
	}
}

// The allowlist of an agent holds over MCP: for the lists, for reading and for calls.
func TestAnAgentHasItsAllowlistOverMCP(t *testing.T) {
	all := []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}
	who := badge{"alice": {Principal: "alice", Scopes: all}, "bot": {Principal: "alice", Agent: "bot", Scopes: all}}
	h := newHouse(t, who)
	for _, name := range []string{"alpha", "omega"} {
		h.must("alice", asked{"POST", "/api/v1/custom-skills", fmt.Sprintf(`{"name":%q,"description":"d","body":"b"}`, name)}, nil)
	}
	h.must("alice", asked{"POST", "/api/v1/agents", `{"name":"bot"}`}, nil)
	h.must("alice", asked{"PUT", "/api/v1/agents/bot/skills/alpha", ""}, nil)
	session := overMCP(t, h, who)("bot", "2025-11-25")
	lists := said(session.ListTools(t.Context(), nil)) + said(session.ListResources(t.Context(), nil))
	if strings.Contains(lists, "omega") || strings.Contains(lists, "code-review") || !strings.Contains(lists, `"alpha"`) || !strings.Contains(lists, "skill://alpha/SKILL.md") {
		t.Errorf("the lists say %s", lists)
	}
	if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://alpha/SKILL.md"}); err != nil {
		t.Error(err)
	}
	if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://omega/SKILL.md"}); err == nil {
		t.Error("what is not allowed was read")
	}
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "omega"})
	if err != nil || !res.IsError || !strings.Contains(said(res.StructuredContent, nil), `"error_code":"unauthorized"`) {
		t.Errorf("a call of what is not allowed: %s", said(res, err))
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "none"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("a call of what is not there: %v", err)
	}
}

// A hundred clients, each with a session of its own, are told their own.
func TestManySessionsOverMCP(t *testing.T) {
	all := []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}
	who := badge{}
	for i := range 20 {
		name := fmt.Sprintf("user%d", i)
		who[name] = auth.Identity{Principal: name, Scopes: all}
	}
	h := newHouse(t, who)
	open := overMCP(t, h, who)
	var group sync.WaitGroup
	for name := range who {
		h.must(name, asked{"POST", "/api/v1/custom-skills", fmt.Sprintf(`{"name":"own","description":"of %s","body":"of %s"}`, name, name)}, nil)
		for range 5 {
			session := open(name, "2025-11-25")
			group.Go(func() {
				list := said(session.ListTools(t.Context(), nil))
				read := said(session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://own/SKILL.md"}))
				for _, text := range []string{list, read} {
					if !strings.Contains(text, "of "+name+`"`) && !strings.Contains(text, "of "+name+`\n`) || strings.Count(text, "of user") > strings.Count(text, "of "+name) {
						t.Errorf("%s is told %s", name, text)
					}
				}
			})
		}
	}
	group.Wait()
}

// Who writes a skill changes the lists of who sees it, and of nobody else.
func TestChangesOverMCP(t *testing.T) {
	all := []auth.Scope{auth.Calls, auth.SkillsRead, auth.SkillsWrite}
	who := badge{"alice": {Principal: "alice", Scopes: all}, "mallory": {Principal: "mallory", Scopes: all}}
	h := newHouse(t, who)
	open := overMCP(t, h, who)
	told := map[string]chan struct{}{}
	for name := range who {
		told[name] = make(chan struct{}, 9)
		session := open(name, "2025-11-25", &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told[name] <- struct{}{} }})
		if _, err := session.ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range []asked{
		{"POST", "/api/v1/custom-skills", `{"name":"new","description":"d","body":"b"}`}, {"PUT", "/api/v1/custom-skills/new", `{"description":"another"}`},
		{"DELETE", "/api/v1/custom-skills/new", ""},
	} {
		h.must("alice", a, nil)
		select {
		case <-told["alice"]:
		case <-time.After(time.Minute):
			t.Fatalf("%s told her nothing", a.method)
		}
	}
	if len(told["mallory"]) > 0 {
		t.Error("somebody else was told")
	}
}
