package rest

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

const maxFilter = 256 // bytes of a filter's value

type (
	requestBody struct {
		Request *control.Request `json:"request"`
	}
	policyBody struct {
		Policy *control.Ran `json:"policy"` // null where the call had none, or it is not kept
	}
)

// listParams are those of the list of calls.
func (a *api) listParams() []param {
	params := []param{{"limit", "query", "integer", "At most so many: 100 if absent, 10,000 at most."}}
	if a.book == nil {
		return params
	}
	return append(params, []param{
		{"skill", "query", "string", "Only calls of this skill."},
		{"principal", "query", "string", "Only calls of this principal; for admins."},
		{"agent", "query", "string", "Only calls on behalf of this agent."},
		{"door", "query", "string", "Only calls that came this way: http, mcp, a2a, ..."},
		{"verdict", "query", "string", "Only running, succeeded, failed or canceled calls, or those that failed with this code."},
		{"since", "query", "string", "Only calls that were accepted from this time on, as RFC 3339."},
		{"until", "query", "string", "Only before this time."},
		{"before", "query", "string", "Only older calls: next of an earlier answer."},
	}...)
}

// bookRoutes are what is kept of one call beside its answer and its events.
func (a *api) bookRoutes() []route {
	if a.book == nil {
		return nil
	}
	bad, none := http.StatusBadRequest, http.StatusNotFound
	return []route{
		{
			method: http.MethodGet, path: "/v1/calls/{id}/request", id: "show-call-request", tag: tagCalls, scope: auth.Calls,
			summary: "Show what a call was asked", about: "As far as it is kept: missing says what is not.",
			outs: []out{good(requestBody{})}, fails: []int{bad, none}, serve: a.request,
		},
		{
			method: http.MethodGet, path: "/v1/calls/{id}/policy", id: "show-call-policy", tag: tagCalls, scope: auth.Calls,
			summary: "Show the policy that a call ran under", about: "Null where it had none, or it is not kept.",
			outs: []out{good(policyBody{})}, fails: []int{bad, none}, serve: a.policy,
		},
	}
}

// search answers with a page of calls, made of as many of the book's as are needed.
func (a *api) search(w http.ResponseWriter, r *http.Request, limit int) error {
	q, err := callQuery(r)
	if err != nil {
		return err
	}
	body := listBody{Calls: []control.Call{}}
	for room := cmp.Or(limit, maxList); room > 0; room = cmp.Or(limit, maxList) - len(body.Calls) {
		q.Limit = min(room, control.MaxPage)
		page, err := a.book.Search(r.Context(), whose(r.Context()), q)
		if err != nil {
			return badQuery(err)
		}
		body.Calls, body.Next = append(body.Calls, page.Calls...), page.Next
		if q.Before = page.Next; q.Before == "" {
			break
		}
	}
	reply(w, http.StatusOK, body)
	return nil
}

// badQuery is a query that means nothing, in the words of this API.
func badQuery(err error) error {
	var fault *control.Fault
	switch {
	case errors.Is(err, control.ErrCursor):
		return badArgument(errors.New("before: expected next of an earlier answer"))
	case errors.As(err, &fault):
		return badArgument(fault)
	}
	return err
}

// callQuery reads which calls are meant.
func callQuery(r *http.Request) (q control.CallQuery, err error) {
	values := r.URL.Query()
	for _, f := range []struct {
		name string
		to   *string
	}{{"skill", &q.Skill}, {"principal", &q.Principal}, {"agent", &q.Agent}, {"door", &q.Door}, {"verdict", &q.Verdict}, {"before", &q.Before}} {
		if *f.to = values.Get(f.name); len(*f.to) > maxFilter || len(values[f.name]) > 1 {
			return q, badArgument(fmt.Errorf("%s: expected one text of at most %d bytes", f.name, maxFilter))
		}
	}
	for _, t := range []struct {
		name string
		to   *time.Time
	}{{"since", &q.Since}, {"until", &q.Until}} {
		if *t.to, err = moment(r, t.name); err != nil {
			return q, err
		}
	}
	if own, only := whose(r.Context()).One(); only && q.Principal != "" && q.Principal != own {
		return q, badArgument(errors.New("principal: expected your own: only admins see the calls of others"))
	}
	return q, nil
}

// queryOf is a query as callQuery reads it.
func queryOf(q *control.CallQuery) url.Values {
	values := url.Values{"limit": {strconv.Itoa(min(q.Limit, maxList))}}
	for name, value := range map[string]string{
		"skill": q.Skill, "principal": q.Principal, "agent": q.Agent, "door": q.Door, "verdict": q.Verdict, "before": q.Before,
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for name, t := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !t.IsZero() {
			values.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	return values
}

func (a *api) request(w http.ResponseWriter, r *http.Request) error {
	id, err := callID(r)
	if err != nil {
		return err
	}
	asked, err := a.book.Request(r.Context(), whose(r.Context()), id)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, requestBody{asked})
	return nil
}

func (a *api) policy(w http.ResponseWriter, r *http.Request) error {
	id, err := callID(r)
	if err != nil {
		return err
	}
	ran, err := a.book.Policy(r.Context(), whose(r.Context()), id)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, policyBody{ran})
	return nil
}
