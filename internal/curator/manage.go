package curator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// The actions of manage_skill.
const (
	actionCreate = "create"
	actionUpdate = "update"
	actionDelete = "delete"
	actionStatus = "status"
)

const aboutManage = "Asks to create, update or delete a custom skill of your principal. Each write waits until a person who controls the " +
	"principal approves it: the answer is a pending approval, and the action status tells what became of it. What an update leaves out stays."

const manageSchema = `{"type":"object","additionalProperties":false,"required":["action"],"properties":{` +
	`"action":{"type":"string","enum":["create","update","delete","status"]},` +
	`"name":{"type":"string","description":"of the skill: lower-case letters, digits and single hyphens, at most 64"},` +
	`"description":{"type":"string","description":"what the skill does and when to use it, at most 1024 characters"},` +
	`"body":{"type":"string","description":"the instructions, in Markdown, without frontmatter"},` +
	`"license":{"type":"string"},"compatibility":{"type":"string"},` +
	`"allowed_tools":{"type":["string","null"],"description":"names of tools that the skill expects to use, separated by blanks; null takes them away"},` +
	`"metadata":{"type":"object","additionalProperties":{"type":"string"}},` +
	`"files":{"type":"object","additionalProperties":{"type":"string"},"description":"sidecar files by their path, such as references/more.md; all of them, since those that are left out go"},` +
	`"principal_id":{"type":"integer","minimum":1,"description":"whose skill it is; left out: the one that you work for"},` +
	`"approval_id":{"type":"string","description":"for status: one request; left out: all of yours"}}}`

// manage is what manage_skill is asked.
type manage struct {
	Action        string             `json:"action"`
	Name          *string            `json:"name"`
	Description   *string            `json:"description"`
	Body          *string            `json:"body"`
	License       *string            `json:"license"`
	Compatibility *string            `json:"compatibility"`
	AllowedTools  json.RawMessage    `json:"allowed_tools"`
	Metadata      *map[string]string `json:"metadata"`
	Files         *map[string]string `json:"files"`
	Principal     int64              `json:"principal_id"`
	Approval      string             `json:"approval_id"`
	Revision      *int64             `json:"revision"` // of the skill when the agent asked; ours
}

func (m *manage) read(arguments []byte) error {
	if err := json.Unmarshal(arguments, m); err != nil {
		return refuse(catalog.ValidationError, "The arguments can't be read.")
	}
	return nil
}

// draft is the write of a custom skill.
func (m *manage) draft() catalog.Draft {
	d := catalog.Draft{
		Name: m.Name, Description: m.Description, License: m.License, Compatibility: m.Compatibility, Body: m.Body, Metadata: m.Metadata, Files: m.Files,
		Provenance: byAgent,
	}
	switch {
	case m.AllowedTools == nil:
	case bytes.Equal(m.AllowedTools, []byte("null")):
		d.RevokeTools = true
	default:
		var text string
		if json.Unmarshal(m.AllowedTools, &text) == nil {
			d.AllowedTools = &text
		}
	}
	return d
}

// manage runs manage_skill.
func (h *Hosted) manage(ctx context.Context, who a2e.Caller, ex a2e.Execution) (*a2e.Result, error) {
	raw, err := json.Marshal(ex.Arguments)
	if err != nil {
		return nil, err
	}
	var m manage
	if err := m.read(raw); err != nil {
		return nil, answered(err)
	}
	if m.Action == actionStatus {
		return h.status(ctx, who, m.Approval)
	}
	if m.Name == nil || strings.TrimSpace(*m.Name) == "" {
		return nil, a2e.Errorf(a2e.SchemaViolation, "name is required.")
	}
	if m.Action == actionDelete && !h.opt.Approvals.opt.Delete {
		return nil, a2e.Errorf(a2e.Unauthorized, "Deleting skills is not allowed to agents on this host (approvals.delete).")
	}
	r := request{principal: m.Principal, action: m.Action, skill: strings.TrimSpace(*m.Name), arguments: ex.Arguments}
	if r.principal == 0 {
		if r.principal, err = h.opt.Agents.principalOf(ctx, who); err != nil {
			return nil, err
		}
	}
	if err := h.sane(ctx, who, &r); err != nil {
		return nil, answered(err)
	}
	found, err := h.opt.Approvals.ask(ctx, who, r)
	if err != nil {
		return nil, answered(err)
	}
	text := fmt.Sprintf("Asked for approval to %s skill [%s]. Somebody who controls the principal has to approve %s by %s; "+
		"the action status tells what became of it.", found.Action, found.Skill, found.ID, found.Expires.Format("2006-01-02 15:04 MST"))
	return &a2e.Result{Success: true, Data: map[string]any{"message": text, "approval": approvalData(*found)}, Summary: text}, nil
}

// sane looks at what can be said before anybody decides: whether the caller sees the principal, and whether the skill is there.
// An update and a deletion are meant for the skill as it is now.
func (h *Hosted) sane(ctx context.Context, who a2e.Caller, r *request) error {
	if r.principal != 0 {
		o, err := h.opt.Agents.store.Principal(ctx, r.principal)
		if errors.Is(err, catalog.ErrNone) || err == nil && role(who, o) == "" {
			return forbidden()
		}
		if err != nil {
			return err
		}
	}
	person := who
	person.Agent = "" // what it may use is one thing, what it may ask to write another
	s, err := h.opt.Custom.Show(ctx, person, r.principal, r.skill)
	var e *catalog.Error
	switch {
	case err != nil && !(errors.As(err, &e) && e.Code == catalog.SkillNotFound):
		return err
	case err == nil && r.action == actionCreate:
		return taken(r.skill)
	case err != nil && r.action != actionCreate:
		return err
	case err != nil:
		return nil
	}
	arguments := map[string]any{"revision": s.Revision}
	for k, v := range r.arguments {
		if k != "revision" {
			arguments[k] = v
		}
	}
	r.arguments = arguments
	return nil
}

// status tells what became of an agent's requests.
func (h *Hosted) status(ctx context.Context, who a2e.Caller, id string) (*a2e.Result, error) {
	var found []catalog.Approval
	if id == "" {
		all, err := h.opt.Approvals.List(ctx, who, "")
		if err != nil {
			return nil, err
		}
		found = all[:min(len(all), mostPending)]
	} else {
		one, err := h.opt.Approvals.Show(ctx, who, id)
		if err != nil {
			return nil, answered(err)
		}
		found = []catalog.Approval{*one}
	}
	list, lines := []any{}, []string{}
	for _, a := range found {
		list, lines = append(list, approvalData(a)), append(lines, became(a))
	}
	if len(lines) == 0 {
		lines = append(lines, "You have asked for nothing yet.")
	}
	text := strings.Join(lines, "\n")
	return &a2e.Result{Success: true, Data: map[string]any{"message": text, "approvals": list}, Summary: lines[0]}, nil
}

func approvalData(a catalog.Approval) map[string]any {
	return map[string]any{
		"id": a.ID, "state": a.State, "action": a.Action, "skill": a.Skill, "principal_id": a.Principal, "why": a.Why,
		"created_at": a.Created, "expires_at": a.Expires,
	}
}

// became is one request in words.
func became(a catalog.Approval) string {
	done := map[string]string{actionCreate: "Created", actionUpdate: "Updated", actionDelete: "Deleted"}[a.Action]
	switch a.State {
	case approved:
		text := fmt.Sprintf("%s skill [%s].", done, a.Skill)
		if a.Action == actionCreate {
			text += " Add it to an agent's allowed_skills to make it available."
		}
		return text
	case denied, failed:
		why := a.Why
		if why != "" {
			why = ": " + why
		}
		return fmt.Sprintf("The request to %s skill [%s] (%s) %s%s", a.Action, a.Skill, a.ID, map[string]string{denied: "was denied", failed: "was approved and failed"}[a.State], why)
	case expired:
		return fmt.Sprintf("The request to %s skill [%s] (%s) has expired: nobody decided about it.", a.Action, a.Skill, a.ID)
	}
	return fmt.Sprintf("The request to %s skill [%s] (%s) waits for approval.", a.Action, a.Skill, a.ID)
}
