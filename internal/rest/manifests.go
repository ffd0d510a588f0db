package rest

import (
	"net/http"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
)

// manifestList is what a caller may call.
type manifestList struct {
	Skills []a2e.Definition `json:"skills"`
}

// manifestRoutes are what POST /v1/calls takes the names of.
func (a *api) manifestRoutes() []route {
	if a.handler == nil {
		return nil
	}
	return []route{{
		method: http.MethodGet, path: "/v1/skills", id: "discover-skills", tag: tagCalls, scope: auth.Calls,
		summary: "Discover the skills that can be called",
		about: "The manifests, with the schema of their arguments, of the skills that the caller can see and its agent may use. A skill has to have " +
			"one of the tags and one of the categories, where any are named.",
		params: []param{
			{"tag", "query", "string", "May be there several times."}, {"category", "query", "string", "May be there several times."},
			{"agent_id", "query", "string", "On behalf of which agent; another one than a token is bound to is unauthorized."},
		},
		outs: []out{good(manifestList{})}, fails: []int{http.StatusBadRequest, http.StatusForbidden}, serve: a.manifests,
	}}
}

const maxFilters = 100 // of each kind

func (a *api) manifests(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if len(q["tag"]) > maxFilters || len(q["category"]) > maxFilters || len(q["agent_id"]) > 1 {
		return problemf(http.StatusBadRequest, "invalid_argument", "expected at most %d of tag and category, and one agent_id", maxFilters)
	}
	agent := q.Get("agent_id")
	if agent != "" && !auth.Name(agent) {
		return problemf(http.StatusBadRequest, "invalid_argument", "agent_id: expected the name of an agent")
	}
	id, err := auth.FromContext(r.Context()).As(agent)
	if err != nil {
		return problemf(http.StatusForbidden, "unauthorized", "agent_id: the token is bound to another agent")
	}
	found, err := a.handler.Discover(r.Context(), id.Caller(doorName), &a2e.DiscoverRequest{FilterTags: q["tag"], FilterCategories: q["category"]})
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, manifestList{listed(found)})
	return nil
}
