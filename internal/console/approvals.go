package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

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
	Gone    bool   // time is up
}

// change is a part of a skill, before and after.
type change struct {
	Name          string
	Before, After string
	New, Removed  bool
	Only          bool // it is what was asked for, then: nothing is compared
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
	owners, err := v.owners()
	if err != nil {
		return nil, err
	}
	view := &approvalView{Approval: *found, Owner: ownerName(owners, found.Principal), Gone: !found.Expires.IsZero() && found.Expires.Before(time.Now())}
	view.Locked = v.cannotDecide(owners, found.Principal)
	var asked askedFor
	if err := json.Unmarshal(found.Arguments, &asked); err != nil {
		view.Rest = "The arguments can't be read: " + string(clipBytes(found.Arguments, 4000))
		return view, nil
	}
	now, err := v.skillNow(found)
	if err != nil {
		return nil, err
	}
	if found.State == "pending" {
		view.Stale = stale(found, now, &asked)
	}
	view.Changes = asked.changes(found, now)
	view.Rest = asked.rest(found.Arguments)
	return view, nil
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

// skillNow is the custom skill as it is; nil where there is none.
func (v *visit) skillNow(a *catalog.Approval) (*skillAsIs, error) {
	if v.o.Custom == nil {
		return nil, nil
	}
	s, err := v.o.Custom.Show(v.ctx(), v.caller(), a.Principal, a.Skill)
	if errors.Is(err, &catalog.Error{Code: catalog.SkillNotFound}) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	now := &skillAsIs{CustomSkill: s, files: map[string]string{}}
	for _, f := range s.Files {
		if f.Path == "SKILL.md" {
			continue
		}
		text, err := v.o.Custom.Read(v.ctx(), v.caller(), a.Principal, a.Skill, f.Path)
		if err != nil {
			now.files[f.Path] = ""
			continue
		}
		now.files[f.Path] = string(text)
	}
	return now, nil
}

// skillAsIs is a custom skill with its files.
type skillAsIs struct {
	*catalog.CustomSkill
	files map[string]string
}

// stale says why a write will fail, or surprise: the skill is another one than the agent saw.
func stale(a *catalog.Approval, now *skillAsIs, asked *askedFor) string {
	switch {
	case a.Action == "create" && now != nil:
		return "A skill of this name exists by now, so this will fail if you approve it."
	case a.Action != "create" && now == nil:
		return "There is no skill of this name any more, so this will fail if you approve it."
	case a.Action != "create" && asked.Revision != nil && now.Revision != *asked.Revision:
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

// changes lists what would become of the parts of a skill; of a request that is decided, what was asked for.
func (q *askedFor) changes(a *catalog.Approval, now *skillAsIs) []change {
	waits := a.State == "pending"
	if a.Action == "delete" {
		if !waits {
			return nil
		}
		return removal(now)
	}
	was := &skillAsIs{CustomSkill: &catalog.CustomSkill{}}
	fresh := a.Action == "create" || !waits
	if !fresh && now != nil {
		was = now
	}
	var all []change
	add := func(name, before string, after *string) {
		if after != nil && (before != *after || fresh) {
			all = append(all, change{Name: name, Before: before, After: *after, New: fresh || before == ""})
		}
	}
	add("Description", was.Description, q.Description)
	add("Instructions", was.Body, q.Body)
	add("Allowed tools", deref(was.AllowedTools), q.tools())
	add("License", was.License, q.License)
	add("Compatibility", was.Compatibility, q.Compatibility)
	if q.Metadata != nil {
		after := pairs(*q.Metadata)
		add("Metadata", pairs(was.Metadata), &after)
	}
	all = append(all, fileChanges(was.files, q.Files)...)
	for i := range all {
		all[i].Only = !waits
	}
	return all
}

func removal(now *skillAsIs) []change {
	if now == nil {
		return nil
	}
	all := []change{{Name: "Description", Before: now.Description, Removed: true}, {Name: "Instructions", Before: now.Body, Removed: true}}
	for _, path := range slices.Sorted(maps.Keys(now.files)) {
		all = append(all, change{Name: path, Before: now.files[path], Removed: true})
	}
	return all
}

// fileChanges compares the files beside SKILL.md. Those that are left out go; nil leaves all as they are.
func fileChanges(before map[string]string, after *map[string]string) []change {
	if after == nil {
		return nil
	}
	var all []change
	for _, path := range slices.Sorted(maps.Keys(*after)) {
		was, there := before[path]
		if text := (*after)[path]; !there || was != text {
			all = append(all, change{Name: "File " + path, Before: was, After: text, New: !there})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if _, stays := (*after)[path]; !stays {
			all = append(all, change{Name: "File " + path, Before: before[path], Removed: true})
		}
	}
	return all
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

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// pairs is a map as sorted lines.
func pairs(m map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s: %s\n", k, m[k])
	}
	return b.String()
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

func clipBytes(b []byte, most int) []byte {
	return bytes.ToValidUTF8(b[:min(len(b), most)], []byte("\uFFFD"))
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
