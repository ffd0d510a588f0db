package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

// maxWhy is the longest reason of a denial, in bytes; as in REST.
const maxWhy = 1024

var approvalStates = []string{"pending", "approved", "denied", "expired", "failed"}

func (c *Console) approvalPages() []page {
	if c.o.Approvals == nil {
		return nil
	}
	const base = Base + "/approvals"
	return []page{
		{pattern: "GET " + base, scope: auth.SkillsRead, serve: (*visit).approvals},
		{pattern: "GET " + base + "/{id}", scope: auth.SkillsRead, serve: (*visit).approval},
		{pattern: "POST " + base + "/{id}/approve", scope: auth.SkillsWrite, people: true, serve: (*visit).approve},
		{pattern: "POST " + base + "/{id}/deny", scope: auth.SkillsWrite, people: true, serve: (*visit).deny},
	}
}

// approvalsView is the list of what agents asked for.
type approvalsView struct {
	Approvals []catalog.Approval
	State     string
	States    []string
	Pending   int
	Any       bool
	Paged     paged
}

func (v *visit) approvals() error {
	state := v.query("state", 20)
	if state != "" && !slices.Contains(approvalStates, state) {
		return wrong("state: expected " + strings.Join(approvalStates, ", ") + ", or nothing for all.")
	}
	all, err := v.o.Approvals.List(v.ctx(), v.caller(), "")
	if err != nil {
		return err
	}
	view := approvalsView{State: state, States: approvalStates, Any: len(all) > 0}
	for _, a := range all {
		if a.State == "pending" {
			view.Pending++
		}
	}
	if state != "" {
		all = slices.DeleteFunc(all, func(a catalog.Approval) bool { return a.State != state })
	}
	slices.SortStableFunc(all, func(a, b catalog.Approval) int { // what waits comes first, the oldest of it first
		switch {
		case a.State == "pending" && b.State == "pending":
			return a.Created.Compare(b.Created)
		case a.State == "pending":
			return -1
		case b.State == "pending":
			return 1
		}
		return b.Created.Compare(a.Created)
	})
	path := at("approvals") + "?page="
	if state != "" {
		path = at("approvals") + "?state=" + state + "&page="
	}
	view.Approvals, view.Paged = cut(v, all, path)
	return v.render("approvals", "Approvals", view)
}

// approvalView is one write that an agent asked for.
type approvalView struct {
	catalog.Approval
	Owner   string
	Locked  string // why the visitor can't decide
	Changes []change
	Stale   string // why the write would not be what the agent meant
	Rest    string // arguments that are no part of a skill, as JSON
}

func (v *visit) approval() error {
	found, err := v.o.Approvals.Show(v.ctx(), v.caller(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	view, err := v.approvalView(found)
	if err != nil {
		return err
	}
	return v.render("approval", "Approval", view)
}

func (v *visit) approvalView(found *catalog.Approval) (*approvalView, error) {
	owners, err := v.principals()
	if err != nil {
		return nil, err
	}
	view := &approvalView{Approval: *found, Owner: ownerName(owners, found.Principal), Locked: v.cannotDecide(owners, found.Principal)}
	var asked askedFor
	if err := json.Unmarshal(found.Arguments, &asked); err != nil {
		view.Rest = "The arguments can't be read: " + string(bytes.ToValidUTF8(found.Arguments[:min(len(found.Arguments), 4000)], []byte("\uFFFD")))
		return view, nil
	}
	view.Rest = asked.rest(found.Arguments)
	if found.State != "pending" { // what it would have changed then is not known any more
		view.Changes = changes(&catalog.Content{}, asked.over(&catalog.Content{}))
		return view, nil
	}
	return view, v.compareNow(view, &asked)
}

// compareNow says what would become of the skill as it is at this moment.
func (v *visit) compareNow(view *approvalView, asked *askedFor) error {
	if v.o.Custom == nil {
		view.Changes = changes(&catalog.Content{}, asked.over(&catalog.Content{}))
		return nil
	}
	now, err := v.o.Custom.Open(v.ctx(), v.caller(), view.Principal, view.Skill)
	if errors.Is(err, &catalog.Error{Code: catalog.SkillNotFound}) {
		now, err = nil, nil
	}
	if err != nil {
		return err
	}
	view.Stale = stale(view.Action, now, asked)
	before, after := &catalog.Content{}, &catalog.Content{}
	if now != nil && view.Action != "create" {
		before = &now.Content
	}
	if view.Action != "delete" {
		after = asked.over(before)
	}
	view.Changes = changes(before, after)
	return nil
}

// cannotDecide says why the visitor decides about nothing of a principal, "" where it may. The catalog has the last word.
func (v *visit) cannotDecide(owners []catalog.Principal, principal int64) string {
	switch {
	case v.who.Agent != "":
		return "This token speaks for the agent " + v.who.Agent + ". People decide about this, with a token of their own."
	case !v.who.May(auth.SkillsWrite):
		return "This token may look and not decide: its scopes do not include " + string(auth.SkillsWrite) + "."
	}
	for _, o := range owners {
		if o.ID == principal && !o.Write {
			return "You are a member of this group. Its owners and admins decide."
		}
	}
	return ""
}

// stale says why a write will fail, or surprise: the skill is another one than the agent saw.
func stale(action string, now *catalog.Opened, asked *askedFor) string {
	switch {
	case action == "create" && now != nil:
		return "A skill of this name exists by now, so this will fail if you approve it."
	case action != "create" && now == nil:
		return "There is no skill of this name any more, so this will fail if you approve it."
	case action != "create" && asked.Revision != nil && now.Revision != *asked.Revision:
		return "The skill has been changed since the agent asked, so this will fail if you approve it. Deny it: the agent can ask again."
	}
	return ""
}

// askedFor is what an agent wants a skill to be. A nil field stays as it is.
type askedFor struct {
	Description   *string            `json:"description"`
	Body          *string            `json:"body"`
	License       *string            `json:"license"`
	Compatibility *string            `json:"compatibility"`
	AllowedTools  json.RawMessage    `json:"allowed_tools"`
	Metadata      *map[string]string `json:"metadata"`
	Files         *map[string]string `json:"files"`
	Revision      *int64             `json:"revision"`
}

// over is a skill with what was asked for in the place of what it was. Files that are left out go.
func (q *askedFor) over(before *catalog.Content) *catalog.Content {
	after := *before
	set := func(to *string, text *string) {
		if text != nil {
			*to = *text
		}
	}
	set(&after.Description, q.Description)
	set(&after.Body, q.Body)
	set(&after.License, q.License)
	set(&after.Compatibility, q.Compatibility)
	if tools := q.tools(); tools != nil {
		after.AllowedTools = tools
	}
	if q.Metadata != nil {
		after.Metadata = *q.Metadata
	}
	if q.Files != nil {
		after.Files = *q.Files
	}
	return &after
}

// tools are the allowed tools that were asked for; nil: they stay.
func (q *askedFor) tools() *string {
	if q.AllowedTools == nil {
		return nil
	}
	var text string
	_ = json.Unmarshal(q.AllowedTools, &text) // null takes them away
	return &text
}

// rest is what the arguments have beside the parts of a skill, as JSON; "" where there is nothing.
func (q *askedFor) rest(arguments []byte) string {
	var all map[string]any
	if json.Unmarshal(arguments, &all) != nil {
		return ""
	}
	for _, known := range []string{"action", "name", "description", "body", "license", "compatibility", "allowed_tools", "metadata", "files", "principal_id", "revision"} {
		delete(all, known)
	}
	if len(all) == 0 {
		return ""
	}
	return jsonText(all)
}

func (v *visit) approve() error {
	id := v.r.PathValue("id")
	found, err := v.o.Approvals.Approve(v.ctx(), v.caller(), id)
	if err != nil {
		return err
	}
	notice := "approved"
	if found.State != "approved" {
		notice = "" // the page says what went wrong
	}
	return v.done(at("approvals", found.ID), notice)
}

func (v *visit) deny() error {
	why := strings.TrimSpace(v.form("why"))
	if len(why) > maxWhy {
		return &trouble{status: http.StatusUnprocessableEntity, title: "This can't be taken", message: fmt.Sprintf("The reason is too long: expected at most %d bytes, got %d.", maxWhy, len(why))}
	}
	found, err := v.o.Approvals.Deny(v.ctx(), v.caller(), v.r.PathValue("id"), why)
	if err != nil {
		return err
	}
	return v.done(cmp.Or(at("approvals", found.ID), at("approvals")), "denied")
}
