package rest

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

// The settings of a tool, with where each comes from, or as they are. A list of skills is a string that holds JSON, as Spora
// has it.
type (
	setting struct {
		Value  *string `json:"value" doc:"a JSON list in a string; null: nothing is set"`
		Source string  `json:"source" doc:"agent, principal or default"`
	}
	settingsBody struct {
		Settings map[string]setting `json:"settings"`
	}
	rawSettings struct {
		Settings map[string]string `json:"settings"`
	}
	// rawBody has the settings twice: in the envelope, where Spora's client looks, and flat, as its documentation has it.
	rawBody struct {
		Data     rawSettings       `json:"data"`
		Settings map[string]string `json:"settings"`
	}
	settingsDraft struct {
		Settings struct {
			AllowedSkills any `json:"allowed_skills" doc:"a list of slugs, or a string that holds one as JSON; null: nothing is set"`
		} `json:"settings"`
	}
)

var raw = param{"raw", "query", "boolean", "true: the values alone, of what is set here."}

func (a *api) overrideRoutes() []route {
	make := func(base, id, of string) []route {
		path := base + "/{id}/tools/{tool}/override"
		return []route{
			{
				method: http.MethodGet, path: path, id: "show-" + id, tag: tagAgents, scope: auth.SkillsRead,
				summary: "Show the settings of a tool " + of, params: []param{raw, ifNoneMatch},
				outs:  []out{good(data[settingsBody]{}), {http.StatusOK, "with ?raw=true", "", rawBody{}}, same},
				fails: []int{http.StatusNotFound}, serve: a.showOverride,
			},
			{
				method: http.MethodPut, path: path, id: "set-" + id, tag: tagAgents, scope: auth.SkillsWrite,
				summary: "Set the settings of a tool " + of, params: []param{ifMatch}, in: settingsDraft{},
				outs:  []out{good(data[settingsBody]{})},
				fails: []int{http.StatusNotFound, http.StatusPreconditionFailed, http.StatusUnprocessableEntity}, serve: a.byPeople(a.setOverride),
			},
		}
	}
	return append(make(agentBase, "override", "of an agent"), make("/api/v1/principals", "default", "that a principal's agents start from")...)
}

// whoseSettings are those of an agent, or of a principal where the path says so: then agent is 0.
func (a *api) whoseSettings(r *http.Request) (agent, whose int64, err error) {
	if !strings.HasPrefix(r.URL.Path, "/api/v1/principals/") {
		agent, err = a.agent(r)
		return agent, 0, err
	}
	whose, err = strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || whose <= 0 {
		return 0, 0, noAgent(r.PathValue("id"))
	}
	return 0, whose, nil
}

func (a *api) showOverride(w http.ResponseWriter, r *http.Request) error {
	agent, whose, err := a.whoseSettings(r)
	if err != nil {
		return err
	}
	o, err := a.agents.Override(r.Context(), caller(r.Context()), agent, whose, r.PathValue("tool"))
	if err != nil {
		return err
	}
	if unchanged(w, r, overrideTag(agent, whose, o)) {
		return nil
	}
	return giveSettings(w, r, o)
}

// overrideTag has the source in it too: what is inherited changes without a write of the agent.
func overrideTag(agent, whose int64, o *catalog.Override) string {
	return contentTag([]byte(strconv.FormatInt(agent, 10)+" "+strconv.FormatInt(whose, 10)+" "+strconv.FormatInt(o.Revision, 10)+" "+o.Source), []byte(asText(o.Allowed)))
}

// asText is a list of skills as a string that holds JSON.
func asText(allowed *[]string) string {
	if allowed == nil {
		return ""
	}
	b, _ := encoded(listed(*allowed))
	return string(bytes.TrimSpace(b))
}

func giveSettings(w http.ResponseWriter, r *http.Request, o *catalog.Override) error {
	if r.Method == http.MethodGet && flag(r, "raw") {
		values := map[string]string{}
		if o.Allowed != nil && o.Source == sourceOf(r) {
			values[catalog.SettingAllowed] = asText(o.Allowed)
		}
		reply(w, http.StatusOK, rawBody{rawSettings{values}, values})
		return nil
	}
	s := setting{Source: o.Source}
	if o.Allowed != nil {
		text := asText(o.Allowed)
		s.Value = &text
	}
	return give(w, http.StatusOK, settingsBody{map[string]setting{catalog.SettingAllowed: s}})
}

// sourceOf is the source of what is set at the path itself.
func sourceOf(r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, "/api/v1/principals/") {
		return "principal"
	}
	return "agent"
}

func (a *api) setOverride(w http.ResponseWriter, r *http.Request) error {
	allowed, err := readSettings(r)
	if err != nil {
		return err
	}
	agent, whose, err := a.whoseSettings(r)
	if err != nil {
		return err
	}
	tool := r.PathValue("tool")
	match := a.overrideWanted(r, agent, whose, tool)
	o, err := a.agents.SetOverride(r.Context(), caller(r.Context()), agent, whose, tool, match, allowed)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", overrideTag(agent, whose, o))
	return giveSettings(w, r, o)
}

// overrideWanted is the revision of the settings that a write replaces.
func (a *api) overrideWanted(r *http.Request, agent, whose int64, tool string) int64 {
	lines := r.Header.Values("If-Match")
	if len(lines) == 0 {
		return catalog.AnyRevision
	}
	o, err := a.agents.Override(r.Context(), caller(r.Context()), agent, whose, tool)
	if err != nil || !matchesStrongly(lines, overrideTag(agent, whose, o)) {
		return noRevision
	}
	return o.Revision
}

// readSettings reads {"settings": {"allowed_skills": ...}}: a list, a string that holds one, or null for nothing.
func readSettings(r *http.Request) (*[]string, error) {
	f, err := readFields(r, false)
	if err != nil {
		return nil, err
	}
	in := f.object("settings")
	if err := f.end(); err != nil {
		return nil, err
	}
	if in == nil {
		return nil, invalid("settings: expected an object")
	}
	value := in.get(catalog.SettingAllowed)
	if err := in.end(); err != nil {
		return nil, err
	}
	if value == nil {
		return nil, invalid("settings.allowed_skills: expected a list of slugs, a string that holds one as JSON, or null")
	}
	allowed, err := catalog.ParseAllowed(value)
	if err != nil {
		return nil, invalid("settings.allowed_skills: %v", err)
	}
	return allowed, nil
}
