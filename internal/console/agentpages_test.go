package console

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/hotcell/hotcell/internal/catalog"
)

// switchOf is the switch of what an element of its row names: its state, and whether it can be used.
func switchOf(t *testing.T, page *html.Node, name string) (on, usable bool) {
	t.Helper()
	for _, b := range all(page, "button", "role", "switch") {
		if label := find(page, attr(b, "aria-labelledby")); label != nil && said(label) == name {
			return attr(b, "aria-checked") == "true", attr(b, "aria-disabled") != "true"
		}
	}
	t.Fatalf("there is no switch %q", name)
	return false, false
}

func hasSwitch(page *html.Node, name string) bool {
	return slices.ContainsFunc(all(page, "button", "role", "switch"), func(b *html.Node) bool {
		label := find(page, attr(b, "aria-labelledby"))
		return label != nil && said(label) == name
	})
}

// The three flows, by forms and by htmx alike.
func TestSwitchesOfAgents(t *testing.T) {
	for _, htmx := range []bool{false, true} {
		t.Run(fmt.Sprint("htmx=", htmx), func(t *testing.T) {
			c := newCrew(t)
			b := c.as(t, "alice")
			w := b.post("/console/agents", "name", " bot ")
			if w.Code != 303 || w.Header().Get("Location") != "/console/agents/1?done=agent-created" {
				t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
			}
			page := pageOf(t, b.get("/console/agents/1"), 200)
			if hasSwitch(page, "Typst") {
				t.Error("a tool that is off has rows")
			}
			flip := func(what string, fields ...string) *html.Node {
				t.Helper()
				revision := attr(all(page, "input", "name", "revision")[0], "value")
				b.htmx = htmx
				w := b.post("/console/agents/1/"+what, append(fields, "revision", revision)...)
				b.htmx = false
				if htmx && (w.Code != 200 || strings.Contains(w.Body.String(), "<html")) || !htmx && w.Code != 303 {
					t.Fatalf("%d %s", w.Code, w.Body)
				}
				if htmx {
					part := pageOf(t, w, 200)
					harmless(t, part)
					if n := find(part, "notice"); n == nil || attr(n, "hx-swap-oob") != "innerHTML" || !strings.Contains(said(n), " is o") {
						t.Error("what was done is not said in the place that screen readers listen to")
					}
				}
				page = pageOf(t, b.get("/console/agents/1"), 200)
				return page
			}
			flip("tool", "tool", "mcp:media", "on", "true")
			if on, usable := switchOf(t, page, "Typst"); on || !usable {
				t.Error("typst", on, usable)
			}
			if on, usable := switchOf(t, page, "Not Here"); on || usable {
				t.Error("a skill that nobody installed", on, usable)
			}
			has(t, page, "media-library", "Skill not installed", "The skill tool is off")
			flip("skill", "slug", "typst", "on", "true")
			if on, _ := switchOf(t, page, "Typst"); !on {
				t.Error("typst is off")
			}
			if on, _ := switchOf(t, page, "skill"); !on {
				t.Error("the skill tool did not go on with it")
			}
			lacks(t, page, "Missing config", "The skill tool is off")
			flip("skill", "slug", "typst", "on", "false")
			has(t, page, "Missing config")
			if on, _ := switchOf(t, page, "skill"); !on || len(c.allowed(t, "alice", 1)) != 0 {
				t.Error("the skill tool went off, or the list is", c.allowed(t, "alice", 1))
			}
			flip("skill", "slug", "typst", "on", "true")
			flip("skill", "slug", "media-library", "on", "true")
			flip("tool", "tool", "mcp:print", "on", "true")
			flip("tool", "tool", "mcp:media", "on", "false")
			if got := c.allowed(t, "alice", 1); !slices.Equal(got, []string{"typst"}) {
				t.Errorf("a shared skill stays, one that only this tool recommends goes: %v", got)
			}
			flip("tool", "tool", "mcp:print", "on", "false")
			if got := c.allowed(t, "alice", 1); len(got) != 0 || hasSwitch(page, "Typst") {
				t.Errorf("%v", got)
			}
			if on, _ := switchOf(t, page, "skill"); !on {
				t.Error("the skill tool went off")
			}
		})
	}
}

// Who changes what somebody else has changed meanwhile changes nothing, and is shown how it is.
func TestAgentThatChangedMeanwhile(t *testing.T) {
	c := newCrew(t)
	made := c.agent(t, "alice", "bot")
	b := c.as(t, "alice")
	old := strconv.FormatInt(made.Revision, 10)
	if _, err := c.agents.SetTool(t.Context(), caller("alice"), made.ID, catalog.AnyRevision, "mcp:print", true); err != nil {
		t.Fatal(err)
	}
	for _, form := range [][]string{
		{"tool", "tool", "mcp:media", "on", "true"}, {"skill", "slug", "typst", "on", "true"}, {"allowed", "do", "save", "skill", "typst"}, {"delete"},
	} {
		for _, htmx := range []bool{false, true} {
			b.htmx = htmx
			w := b.post("/console/agents/1/"+form[0], append(form[1:], "revision", old)...)
			page := pageOf(t, w, 412)
			has(t, page, "Your change was not made", "mcp:print")
			if on, _ := switchOf(t, page, "mcp:print"); !on {
				t.Errorf("%v: what is shown is old", form)
			}
			if htmx && w.Header().Get("HX-Retarget") != "#agent" {
				t.Errorf("%v", w.Header())
			}
		}
	}
	b.htmx = false
	now, err := c.agents.Show(t.Context(), caller("alice"), 1)
	if err != nil || now.Revision != made.Revision+1 || len(c.allowed(t, "alice", 1)) != 0 {
		t.Errorf("%+v, %v", now, err)
	}
	for _, bad := range [][]string{{"tool", "tool", "x", "on", "maybe"}, {"tool", "tool", "x", "on", "true", "revision", "-1"}, {"allowed", "do", "else"}, {"allowed", "do", "save", "more", "a\x01b"}} {
		if w := b.post("/console/agents/1/"+bad[0], bad[1:]...); w.Code != 400 {
			t.Errorf("%v: %d", bad, w.Code)
		}
	}
	if w := b.post("/console/agents/1/tool", "tool", "none", "on", "true"); w.Code != 404 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// What may not be changed says why, in words on the page; and is not changed.
func TestAgentsOfOthers(t *testing.T) {
	c := newCrew(t)
	team := c.number(t, "olga", 1)
	if _, err := c.agents.Create(t.Context(), caller("olga"), team, "crew"); err != nil {
		t.Fatal(err)
	}
	c.agent(t, "alice", "mine", "mcp:media")
	for _, tt := range []struct{ token, path, why string }{
		{"mia", "/console/agents/1", "Its owners and admins change its agents."}, {"read", "/console/agents/2", "skills:write"},
		{"bound", "/console/agents/2", "speaks for the agent helper"},
	} {
		b := c.as(t, tt.token)
		page := pageOf(t, b.get(tt.path), 200)
		has(t, page, tt.why)
		lacks(t, page, "Delete this agent")
		switches := all(page, "button", "role", "switch")
		for _, s := range switches {
			why := find(page, attr(s, "aria-describedby"))
			if attr(s, "aria-disabled") != "true" || attr(s, "type") != "button" || why == nil ||
				!strings.Contains(said(why), tt.why) && !strings.Contains(said(why), "Skill not installed") {
				t.Errorf("%s: a switch that can't be used does not say why: %v", tt.token, s.Attr)
			}
		}
		if w := b.post(tt.path+"/tool", "tool", "mcp:print", "on", "true"); w.Code != 403 || len(switches) < 5 {
			t.Errorf("%s: %d %s", tt.token, w.Code, w.Body)
		}
	}
	b := c.as(t, "olga")
	for _, path := range []string{"/console/agents/2", "/console/agents/mine", "/console/agents/99", "/console/agents/x%20y", "/console/agents/99999999999999999999"} {
		if w := b.get(path); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	has(t, pageOf(t, b.get("/console/agents/crew"), 200), "group team")
	for token, n := range map[string]int{"alice": 1, "mia": 1, "olga": 1, "root": 2} {
		if got := len(all(mainOf(c.as(t, token).get("/console/agents")), "tr", "", "")) - 1; got != n {
			t.Errorf("%s sees %d agents, want %d", token, got, n)
		}
	}
	page := pageOf(t, c.as(t, "mia").get("/console/agents"), 200)
	for _, option := range all(page, "option", "", "") {
		if said(option) == "group team" {
			t.Error("a member may choose the group")
		}
	}
}

func TestListsOfSkills(t *testing.T) {
	c := newCrew(t)
	made := c.agent(t, "alice", "bot", catalog.SkillToolName)
	b := c.as(t, "alice")
	mine := strconv.FormatInt(c.number(t, "alice", 0), 10)
	page := pageOf(t, b.get("/console/agents/1"), 200)
	has(t, page, "Nothing is set, neither here nor in the default list of alice", "Sets type.")
	// The default of the principal.
	page = pageOf(t, b.get("/console/agents/principal/"+mine+"/defaults"), 200)
	has(t, page, "Default skills of alice", "Nothing is set")
	revision := attr(all(page, "input", "name", "revision")[0], "value")
	if w := b.post("/console/agents/principal/"+mine+"/defaults", "do", "save", "skill", "typst", "revision", revision); w.Code != 303 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	page = pageOf(t, b.post("/console/agents/principal/"+mine+"/defaults", "do", "save", "skill", "plain", "revision", revision), 412)
	has(t, page, "Your change was not made")
	has(t, pageOf(t, b.get("/console/agents/1"), 200), "it has the default list of alice")
	if got := c.allowed(t, "alice", 1); !slices.Equal(got, []string{"typst"}) {
		t.Errorf("%v", got)
	}
	// Its own: what is on it and nobody knows stays on it.
	form := url.Values{"csrf": {b.mark}, "do": {"save"}, "skill": {"plain", "Typst"}, "more": {"later, soon"}, "revision": {strconv.FormatInt(made.Revision, 10)}}
	if w := b.send("/console/agents/1/allowed", form); w.Code != 303 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if got := c.allowed(t, "alice", 1); !slices.Equal(got, []string{"plain", "typst", "later", "soon"}) {
		t.Errorf("%v", got)
	}
	page = pageOf(t, b.get("/console/agents/1"), 200)
	has(t, page, "a list of its own", "No skill that you can see has this name.", "4 are on the list")
	if w := b.post("/console/agents/1/allowed", "do", "inherit"); w.Code != 303 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if got := c.allowed(t, "alice", 1); !slices.Equal(got, []string{"typst"}) {
		t.Errorf("%v", got)
	}
	if w := b.post("/console/agents/principal/"+mine+"/defaults", "do", "inherit"); w.Code != 303 || len(c.allowed(t, "alice", 1)) != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for path, code := range map[string]int{"principal/0/defaults": 404, "principal/x/defaults": 404, "principal/999/defaults": 404} {
		if w := b.get("/console/agents/" + path); w.Code != code {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestMakingAndDeletingAgents(t *testing.T) {
	c := newCrew(t)
	b := c.as(t, "alice")
	has(t, pageOf(t, b.get("/console/agents"), 200), "No agents yet.", "hotcell tokens create")
	for _, name := range []string{"", "42", strangers} {
		page := pageOf(t, b.post("/console/agents", "name", name), 422)
		if attr(find(page, "name"), "aria-invalid") != "true" || attr(find(page, "name"), "value") != clip(name, 200) && name != strangers {
			t.Errorf("%q: the field does not say so", name)
		}
		has(t, page, "name: expected")
	}
	c.agent(t, "alice", "bot")
	has(t, pageOf(t, b.post("/console/agents", "name", "bot"), 409), "has an agent named 'bot' already")
	if w := b.post("/console/agents", "name", "x", "principal", "-3"); w.Code != 400 {
		t.Errorf("%d", w.Code)
	}
	if w := b.post("/console/agents", "name", "x", "principal", "999"); w.Code != 403 {
		t.Errorf("%d", w.Code)
	}
	page := pageOf(t, b.get("/console/agents/bot"), 200)
	has(t, page, "Delete bot for good")
	if w := b.post("/console/agents/1/delete", filled(page)...); w.Code != 303 || w.Header().Get("Location") != "/console/agents?done=agent-deleted" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	has(t, pageOf(t, b.get("/console/agents?done=agent-deleted"), 200), "The agent is deleted.", "No agents yet.")
	for i := range 60 {
		c.agent(t, "alice", fmt.Sprintf("bot-%02d", i))
	}
	page = pageOf(t, b.get("/console/agents"), 200)
	has(t, page, "bot-49", "Page 1 of 2")
	lacks(t, page, "bot-50")
	page = pageOf(t, b.get("/console/agents?page=2"), 200)
	has(t, page, "bot-50", "bot-59")
}
