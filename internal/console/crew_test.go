package console

import (
	"context"
	"testing"

	"golang.org/x/net/html"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/curator"
)

// strangers is what strangers may call things.
const strangers = "\u202e\x1b[31m\"><img src=x onerror=alert(1)><script>alert(2)</script><a href=\"javascript:alert(3)\">x</a>{{.CSRF}}"

// crew is a shelf with agents, the host's tools and what agents ask for.
type crew struct {
	*shelf
	approvals *curator.Approvals
	hosted    *curator.Hosted
}

// hostTools are a host's: two of them recommend typst.
func hostTools() []catalog.ToolInfo {
	return []catalog.ToolInfo{
		{Name: "mcp:media", Description: "Finds media. " + strangers, Recommends: []string{"media-library", "typst", "not-here"}},
		{Name: "mcp:print", Description: "Prints.", Writes: true, Recommends: []string{"typst"}},
		{Name: "mcp:" + strangers, Description: strangers, Recommends: []string{"plain", strangers}},
	}
}

func newCrew(t testing.TB) *crew {
	t.Helper()
	c := &crew{shelf: newShelf(t,
		"media-library/SKILL.md", skillMD("media-library", "Sorts media. "+strangers, "Do it."),
		"typst/SKILL.md", skillMD("typst", "Sets type.", "Do it."), "plain/SKILL.md", skillMD("plain", "Is plain.", "Do it."))}
	c.agents = curator.NewAgents(c.db, hostTools)
	c.reader.Gate = c.agents
	c.approvals = curator.NewApprovals(curator.ApprovalOptions{Store: c.db, Custom: c.custom, Delete: true})
	c.hosted = curator.NewHosted(curator.HostedOptions{Reader: c.reader, Custom: c.custom, Agents: c.agents, Approvals: c.approvals})
	c.options.Agents, c.options.Approvals, c.options.Audit = c.agents, c.approvals, c.db
	return c
}

// agent makes one with its tools that are to be on.
func (c *crew) agent(t testing.TB, token, name string, tools ...string) *catalog.Agent {
	t.Helper()
	made, err := c.agents.Create(context.Background(), caller(token), 0, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if made, err = c.agents.SetTool(context.Background(), caller(token), made.ID, catalog.AnyRevision, tool, true); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// allowed is the list of an agent.
func (c *crew) allowed(t testing.TB, token string, id int64) []string {
	t.Helper()
	o, err := c.agents.Override(context.Background(), caller(token), id, 0, catalog.SkillToolName)
	if err != nil {
		t.Fatal(err)
	}
	return slugsOf(o.Allowed)
}

// ask has an agent ask for a write, and returns the id of the request.
func (c *crew) ask(t testing.TB, token, agent string, arguments map[string]any) string {
	t.Helper()
	who := caller(token)
	who.Agent = agent
	got, err := c.hosted.ExecuteSkill(context.Background(), who, a2e.Execution{Name: "manage_skill", Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return got.Data.(map[string]any)["approval"].(map[string]any)["id"].(string)
}

// all returns the elements of a kind that have an attribute with a value ("" any).
func all(n *html.Node, element, name, value string) (found []*html.Node) {
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode && n.Data == element && (value == "" || attr(n, name) == value) {
			found = append(found, n)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return found
}
