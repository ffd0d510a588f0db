package console

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

func (c *Console) agentPages() []page {
	if c.o.Agents == nil {
		return nil
	}
	const base = Base + "/agents"
	write := func(pattern string, serve func(*visit) error) page {
		return page{pattern: "POST " + pattern, scope: auth.SkillsWrite, people: true, serve: serve}
	}
	return []page{
		{pattern: "GET " + base, scope: auth.SkillsRead, serve: (*visit).agents},
		write(base, (*visit).createAgent),
		{pattern: "GET " + base + "/{id}", scope: auth.SkillsRead, serve: (*visit).agent},
		write(base+"/{id}/delete", (*visit).deleteAgent),
		write(base+"/{id}/tool", (*visit).toggleTool),
		write(base+"/{id}/skill", (*visit).toggleSkill),
		write(base+"/{id}/allowed", (*visit).allowSkills),
		{pattern: "GET " + base + "/principal/{principal}/defaults", scope: auth.SkillsRead, serve: (*visit).defaults},
		write(base+"/principal/{principal}/defaults", (*visit).setDefaults),
	}
}

// perPage is how many rows a page of a list has.
const perPage = 50

// paged is a slice of a list that is there as a whole.
type paged struct {
	Page, Pages int
	Path        string // with its query, "page=" last
}

// cut returns the rows of the page that was asked for.
func cut[T any](v *visit, all []T, path string) ([]T, paged) {
	n, _ := strconv.Atoi(v.query("page", 8))
	pages := max(1, (len(all)+perPage-1)/perPage)
	n = min(max(n, 1), pages)
	return all[(n-1)*perPage : min(n*perPage, len(all))], paged{n, pages, path}
}

// After is the next page; 0: there is none.
func (p paged) After() int {
	if p.Page < p.Pages {
		return p.Page + 1
	}
	return 0
}

// Before is the page before this one; 0: there is none.
func (p paged) Before() int { return p.Page - 1 }

// principals are the ones that the visitor sees; none where no catalog is there.
func (v *visit) principals() ([]catalog.Principal, error) {
	if v.o.Reader == nil {
		return nil, nil
	}
	return v.o.Reader.Principals(v.ctx(), v.caller())
}

// ownerName is a principal in words.
func ownerName(owners []catalog.Principal, id int64) string {
	for _, o := range owners {
		switch {
		case o.ID != id:
		case o.Name == "":
			return "everybody here"
		case o.Kind == "group":
			return "group " + o.Name
		default:
			return o.Name
		}
	}
	return "principal " + strconv.FormatInt(id, 10)
}

// cannotWrite says why the visitor can't change what a principal has, "" where it can. The catalog decides: this is for what is shown.
func (v *visit) cannotWrite(owners []catalog.Principal, principal int64) string {
	switch {
	case v.who.Agent != "":
		return "This token speaks for the agent " + v.who.Agent + ". People change agents, with a token of their own."
	case !v.who.May(auth.SkillsWrite):
		return "This token may look and not change: its scopes do not include " + string(auth.SkillsWrite) + "."
	case v.who.May(auth.Admin):
		return ""
	}
	for _, o := range owners {
		if o.ID == principal {
			if o.Write {
				return ""
			}
			return "You are a member of this group. Its owners and admins change its agents."
		}
	}
	return "This belongs to somebody else."
}

// agentsView is the list of agents.
type agentsView struct {
	Agents  []agentLine
	Owners  []ownerLine
	Locked  string // why no agent can be created
	Fault   string // of the form
	Name    string // in it
	Whose   int64
	Several bool // principals
	Any     bool // there is an agent
	Paged   paged
}

type agentLine struct {
	catalog.Agent
	Owner string
	On    []string // tools
}

type ownerLine struct {
	ID    int64
	Name  string
	Write bool
}

func (v *visit) agents() error { return v.agentList(http.StatusOK, agentsView{}) }

func (v *visit) agentList(status int, view agentsView) error {
	owners, err := v.principals()
	if err != nil {
		return err
	}
	all, err := v.o.Agents.List(v.ctx(), v.caller())
	if err != nil {
		return err
	}
	view.Any = len(all) > 0
	all, view.Paged = cut(v, all, at("agents")+"?page=")
	for _, a := range all {
		line := agentLine{Agent: a, Owner: ownerName(owners, a.Principal)}
		for _, t := range a.Tools {
			if t.Enabled {
				line.On = append(line.On, t.Tool)
			}
		}
		view.Agents = append(view.Agents, line)
	}
	for _, o := range owners {
		view.Owners = append(view.Owners, ownerLine{o.ID, ownerName(owners, o.ID), v.cannotWrite(owners, o.ID) == ""})
	}
	view.Several = len(owners) > 1
	if len(owners) > 0 {
		view.Locked = v.cannotWrite(owners, owners[0].ID)
	} else {
		view.Locked = v.cannotWrite([]catalog.Principal{{Write: true}}, 0)
	}
	return v.renderAs(status, "agents", "Agents", view)
}

func (v *visit) createAgent() error {
	view := agentsView{Name: clip(v.form("name"), 200)}
	if text := v.form("principal"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return wrong("principal: expected the number of a principal, as the form has it")
		}
		view.Whose = n
	}
	made, err := v.o.Agents.Create(v.ctx(), v.caller(), view.Whose, v.form("name"))
	var refused *catalog.Error
	if errors.As(err, &refused) && refused.Code != catalog.Forbidden && !v.htmx() {
		view.Fault = refused.Message
		return v.agentList(statusOf(refused.Code), view)
	}
	if err != nil {
		return err
	}
	return v.done(agentPath(made.ID), "agent-created")
}

func agentPath(id int64) string { return at("agents", strconv.FormatInt(id, 10)) }

// agentID is the agent that the path names, by its number or its name as in REST.
func (v *visit) agentID() (int64, error) {
	name := v.r.PathValue("id")
	if name != "" && strings.Trim(name, "0123456789") == "" {
		if id := v.number("id"); id > 0 {
			return id, nil
		}
		return 0, noAgent(name)
	}
	if !auth.Name(name) {
		return 0, noAgent(name)
	}
	return v.o.Agents.ID(v.ctx(), v.caller(), name)
}

func noAgent(name string) error {
	return &catalog.Error{Code: catalog.AgentNotFound, Message: fmt.Sprintf("Agent '%s' not found.", clip(name, 128))}
}

// match is the state that a form was made from: a write replaces that and no other.
func (v *visit) match() (int64, error) {
	text := v.form("revision")
	if text == "" {
		return catalog.AnyRevision, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, wrong("revision: expected the number that the page's form has: load the page again")
	}
	return n, nil
}

func (v *visit) deleteAgent() error {
	id, err := v.agentID()
	if err != nil {
		return err
	}
	match, err := v.match()
	if err != nil {
		return err
	}
	err = v.o.Agents.Delete(v.ctx(), v.caller(), id, match)
	if isConflict(err) {
		return v.agentAgain(id)
	}
	if err != nil {
		return err
	}
	return v.done(at("agents"), "agent-deleted")
}

func isConflict(err error) bool { return errors.Is(err, &catalog.Error{Code: catalog.Conflict}) }
