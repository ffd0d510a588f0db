package rest

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

type (
	agentList struct {
		Agents []catalog.Agent `json:"agents"`
	}
	agentShown struct {
		Agent catalog.Agent `json:"agent"`
	}
	agentDraft struct {
		Name        string `json:"name" doc:"the agent_id that tokens and handshakes have; not all digits"`
		PrincipalID *int64 `json:"principal_id,omitempty" doc:"whose agent it is: the caller's own where it is absent"`
	}
	removedBody struct {
		Deleted bool   `json:"deleted"`
		Name    string `json:"name,omitempty"`
	}
)

const agentBase = "/api/v1/agents"

// agentRoutes are the agents and the three flows of what they may use.
func (a *api) agentRoutes() []route {
	if a.agents == nil {
		return nil
	}
	one := []out{good(data[agentShown]{})}
	flow := func(method, id, path, summary, about string, serve func(http.ResponseWriter, *http.Request) error) route {
		return route{
			method: method, path: agentBase + path, id: id, tag: tagAgents, summary: summary, about: about, scope: auth.SkillsWrite,
			params: []param{ifMatch}, in: nothing{}, optional: true, outs: one, serve: a.byPeople(serve),
			fails: []int{http.StatusNotFound, http.StatusPreconditionFailed, http.StatusUnprocessableEntity},
		}
	}
	return append([]route{
		{
			method: http.MethodGet, path: agentBase, id: "list-agents", tag: tagAgents, scope: auth.SkillsRead,
			summary: "List agents", params: []param{ifNoneMatch}, outs: []out{good(data[agentList]{}), same}, serve: a.listAgents,
		},
		{
			method: http.MethodPost, path: agentBase, id: "create-agent", tag: tagAgents, scope: auth.SkillsWrite,
			summary: "Create an agent", about: "An agent that exists may use what its allowlist has: nothing at first, unless its principal has a default.",
			in: agentDraft{}, outs: []out{{http.StatusCreated, "the agent", "", data[agentShown]{}}},
			fails: []int{http.StatusConflict, http.StatusUnprocessableEntity}, serve: a.byPeople(a.createAgent),
		},
		{
			method: http.MethodGet, path: agentBase + "/{id}", id: "show-agent", tag: tagAgents, scope: auth.SkillsRead,
			summary: "Show an agent", about: "An agent is named by its id or its name, here and below.", params: []param{ifNoneMatch},
			outs: append(one, same), fails: []int{http.StatusNotFound}, serve: a.showAgent,
		},
		{
			method: http.MethodDelete, path: agentBase + "/{id}", id: "delete-agent", tag: tagAgents, scope: auth.SkillsWrite,
			summary: "Delete an agent", about: "One that live tokens are bound to stays: AGENT_IN_USE.", params: []param{ifMatch},
			outs: []out{good(data[removedBody]{})}, fails: []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed},
			serve: a.byPeople(a.deleteAgent),
		},
		{
			method: http.MethodGet, path: "/api/v1/tools", id: "list-tools", tag: tagAgents, scope: auth.SkillsRead,
			summary: "List the tools of this host", outs: []out{good(data[toolList]{})}, serve: a.listTools,
		},
		flow(http.MethodPut, "allow-skill", "/{id}/skills/{slug}", "Let an agent use a skill",
			"Switches the skill tool on, if it is off, and puts this one slug on the allowlist.", a.skillOn),
		flow(http.MethodDelete, "disallow-skill", "/{id}/skills/{slug}", "Keep a skill from an agent",
			"Takes this one slug off the allowlist. The skill tool stays on.", a.skillOff),
		flow(http.MethodPost, "enable-tool", "/{id}/tools/{tool}/enable", "Switch a tool of an agent on", "", a.setTool(true)),
		flow(http.MethodDelete, "disable-tool", "/{id}/tools/{tool}/enable", "Switch a tool of an agent off",
			"Takes the slugs off the allowlist that this tool recommends and no other tool of the agent that is on.", a.setTool(false)),
	}, a.overrideRoutes()...)
}

// agent is the id of the agent in the path, which may be its name.
func (a *api) agent(r *http.Request) (int64, error) {
	name := r.PathValue("id")
	if strings.Trim(name, "0123456789") == "" && name != "" {
		if id, err := strconv.ParseInt(name, 10, 64); err == nil && id > 0 {
			return id, nil
		}
		return 0, noAgent(name)
	}
	if !auth.Name(name) {
		return 0, noAgent(name)
	}
	return a.agents.ID(r.Context(), caller(r.Context()), name)
}

func noAgent(name string) *catalog.Error {
	return &catalog.Error{Code: catalog.AgentNotFound, Message: "Agent '" + clip(strings.ToValidUTF8(name, ""), 128) + "' not found."}
}

func (a *api) listAgents(w http.ResponseWriter, r *http.Request) error {
	all, err := a.agents.List(r.Context(), caller(r.Context()))
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Tools = listed(all[i].Tools)
	}
	return hashed(w, r, agentList{listed(all)})
}

func (a *api) createAgent(w http.ResponseWriter, r *http.Request) error {
	f, err := readFields(r, false)
	if err != nil {
		return err
	}
	name, whose := f.text("name"), f.id("principal_id")
	if err := f.end(); err != nil {
		return err
	}
	if name == nil {
		return invalid("name: expected the agent's name")
	}
	made, err := a.agents.Create(r.Context(), caller(r.Context()), whose, *name)
	if err != nil {
		return err
	}
	w.Header().Set("Location", agentBase+"/"+strconv.FormatInt(made.ID, 10))
	return wroteAgent(w, http.StatusCreated, made)
}

func wroteAgent(w http.ResponseWriter, status int, made *catalog.Agent) error {
	w.Header().Set("ETag", revisionTag(made.ID, made.Revision))
	shown := *made
	shown.Tools = listed(made.Tools)
	return give(w, status, agentShown{shown})
}

func (a *api) showAgent(w http.ResponseWriter, r *http.Request) error {
	id, err := a.agent(r)
	if err != nil {
		return err
	}
	found, err := a.agents.Show(r.Context(), caller(r.Context()), id)
	if err != nil {
		return err
	}
	if unchanged(w, r, revisionTag(found.ID, found.Revision)) {
		return nil
	}
	return wroteAgent(w, http.StatusOK, found)
}

// agentWanted is the revision of an agent that a write replaces.
func (a *api) agentWanted(r *http.Request, id int64) int64 {
	return wanted(r, func() (int64, int64, error) {
		found, err := a.agents.Show(r.Context(), caller(r.Context()), id)
		if err != nil {
			return 0, 0, err
		}
		return found.ID, found.Revision, nil
	})
}

func (a *api) deleteAgent(w http.ResponseWriter, r *http.Request) error {
	if err := readNothing(r); err != nil {
		return err
	}
	id, err := a.agent(r)
	if err != nil {
		return err
	}
	if err := a.agents.Delete(r.Context(), caller(r.Context()), id, a.agentWanted(r, id)); err != nil {
		return err
	}
	return give(w, http.StatusOK, removedBody{Deleted: true})
}

func (a *api) listTools(w http.ResponseWriter, r *http.Request) error {
	all, err := a.agents.Tools(r.Context(), caller(r.Context()))
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Recommends = listed(all[i].Recommends)
	}
	return give(w, http.StatusOK, toolList{listed(all)})
}

// flow is one of the three flows: a write of an agent that takes nothing but what the path says.
func (a *api) flow(w http.ResponseWriter, r *http.Request, write func(id, match int64) (*catalog.Agent, error)) error {
	if err := readNothing(r); err != nil {
		return err
	}
	id, err := a.agent(r)
	if err != nil {
		return err
	}
	made, err := write(id, a.agentWanted(r, id))
	if err != nil {
		return err
	}
	return wroteAgent(w, http.StatusOK, made)
}

func (a *api) skillOn(w http.ResponseWriter, r *http.Request) error {
	return a.flow(w, r, func(id, match int64) (*catalog.Agent, error) {
		return a.agents.SkillOn(r.Context(), caller(r.Context()), id, match, folded(r, "slug"))
	})
}

func (a *api) skillOff(w http.ResponseWriter, r *http.Request) error {
	return a.flow(w, r, func(id, match int64) (*catalog.Agent, error) {
		return a.agents.SkillOff(r.Context(), caller(r.Context()), id, match, folded(r, "slug"))
	})
}

func (a *api) setTool(on bool) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		return a.flow(w, r, func(id, match int64) (*catalog.Agent, error) {
			return a.agents.SetTool(r.Context(), caller(r.Context()), id, match, r.PathValue("tool"), on)
		})
	}
}
