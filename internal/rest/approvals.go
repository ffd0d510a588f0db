package rest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

type (
	approvalList struct {
		Approvals []catalog.Approval `json:"approvals"`
	}
	approvalShown struct {
		Approval catalog.Approval `json:"approval"`
	}
	denial struct {
		Why string `json:"why,omitempty"`
	}
)

const (
	approvalBase = "/api/v1/approvals"
	maxWhy       = 1024 // bytes
)

var approvalStates = []string{"pending", "approved", "denied", "expired", "failed"}

// approvalRoutes are the writes that agents asked for.
func (a *api) approvalRoutes() []route {
	if a.approvals == nil {
		return nil
	}
	one := []out{good(data[approvalShown]{})}
	decided := []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}
	return []route{
		{
			method: http.MethodGet, path: approvalBase, id: "list-approvals", tag: tagApprovals, scope: auth.SkillsRead,
			summary: "List the writes that agents asked for", outs: []out{good(data[approvalList]{}), same}, fails: []int{http.StatusUnprocessableEntity},
			params: []param{{"state", "query", "string", "pending, approved, denied, expired or failed; all where it is absent."}, ifNoneMatch},
			serve:  a.listApprovals,
		},
		{
			method: http.MethodGet, path: approvalBase + "/{id}", id: "show-approval", tag: tagApprovals, scope: auth.SkillsRead,
			summary: "Show a write that an agent asked for", params: []param{ifNoneMatch}, outs: append(one, same), fails: []int{http.StatusNotFound}, serve: a.showApproval,
		},
		{
			method: http.MethodPost, path: approvalBase + "/{id}/approve", id: "approve", tag: tagApprovals, scope: auth.SkillsWrite,
			summary: "Approve a write, which carries it out", about: "Where the write fails, the state is failed and why says why.",
			in: nothing{}, optional: true, outs: one, fails: decided, serve: a.byPeople(a.approve),
		},
		{
			method: http.MethodPost, path: approvalBase + "/{id}/deny", id: "deny", tag: tagApprovals, scope: auth.SkillsWrite,
			summary: "Deny a write", in: denial{}, optional: true, outs: one, fails: decided, serve: a.byPeople(a.deny),
		},
	}
}

func (a *api) listApprovals(w http.ResponseWriter, r *http.Request) error {
	state := r.URL.Query().Get("state")
	if state != "" && !slices.Contains(approvalStates, state) {
		return invalid("state: expected %s", oneOf(approvalStates))
	}
	all, err := a.approvals.List(r.Context(), caller(r.Context()), state)
	if err != nil {
		return err
	}
	return hashed(w, r, approvalList{listed(all)})
}

func (a *api) showApproval(w http.ResponseWriter, r *http.Request) error {
	found, err := a.approvals.Show(r.Context(), caller(r.Context()), r.PathValue("id"))
	if err != nil {
		return err
	}
	return hashed(w, r, approvalShown{*found})
}

func (a *api) approve(w http.ResponseWriter, r *http.Request) error {
	if err := readNothing(r); err != nil {
		return err
	}
	found, err := a.approvals.Approve(r.Context(), caller(r.Context()), r.PathValue("id"))
	if err != nil {
		return err
	}
	return give(w, http.StatusOK, approvalShown{*found})
}

func (a *api) deny(w http.ResponseWriter, r *http.Request) error {
	f, err := readFields(r, true)
	if err != nil {
		return err
	}
	why := f.text("why")
	if err := f.end(); err != nil {
		return err
	}
	if why == nil {
		why = new(string)
	}
	if len(*why) > maxWhy {
		return invalid("why: expected at most %d bytes, got %d", maxWhy, len(*why))
	}
	found, err := a.approvals.Deny(r.Context(), caller(r.Context()), r.PathValue("id"), strings.TrimSpace(*why))
	if err != nil {
		return err
	}
	return give(w, http.StatusOK, approvalShown{*found})
}
