package rest

import (
	"net/http"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

// customSkill is a custom skill as it is shown. Keys and their order are Spora's.
type customSkill struct {
	ID            int64             `json:"id"`
	PrincipalID   int64             `json:"principal_id"`
	Name          string            `json:"name"`
	Slug          string            `json:"slug"`
	Description   string            `json:"description"`
	License       *string           `json:"license"`
	Compatibility *string           `json:"compatibility"`
	AllowedTools  *string           `json:"allowed_tools"`
	Metadata      map[string]string `json:"metadata"`
	Body          string            `json:"body"`
	BodyBytes     int               `json:"body_bytes"`
	Provenance    string            `json:"provenance" enum:"human,agent"`
	CreatedBy     int64             `json:"created_by_user_id"`
	UpdatedBy     int64             `json:"updated_by_user_id"`
	CreatedAt     string            `json:"created_at" doc:"2026-01-31 23:59:59, UTC"`
	UpdatedAt     string            `json:"updated_at" doc:"2026-01-31 23:59:59, UTC"`
	Files         []catalog.File    `json:"files" doc:"SKILL.md first, then sorted"`
	HasPrevious   bool              `json:"has_previous"`
	Warnings      []catalog.Finding `json:"warnings"`
	WarningCount  int               `json:"warning_count"`
}

func customOf(s *catalog.CustomSkill) customSkill {
	return customSkill{
		ID: s.ID, PrincipalID: s.Principal, Name: s.Name, Slug: s.Name, Description: s.Description, License: optional(s.License),
		Compatibility: optional(s.Compatibility), AllowedTools: s.AllowedTools, Metadata: filled(s.Metadata),
		Body: s.Body, BodyBytes: len(s.Body), Provenance: s.Provenance, CreatedBy: s.CreatedBy, UpdatedBy: s.UpdatedBy,
		CreatedAt: s.Created.UTC().Format(time.DateTime), UpdatedAt: s.Updated.UTC().Format(time.DateTime),
		Files: listed(s.Files), HasPrevious: s.HasPrevious, Warnings: listed(s.Warnings), WarningCount: len(s.Warnings),
	}
}

type (
	customList struct {
		Skills []customSkill `json:"skills"`
	}
	customShown struct {
		Skill customSkill `json:"skill"`
	}
	fileList struct {
		Files []catalog.File `json:"files"`
	}
	allowlistBody struct {
		Agents []catalog.AllowlistRow `json:"agents"`
	}
	deletedBody struct {
		Deleted          bool                   `json:"deleted"`
		Name             string                 `json:"name"`
		ScrubbedAgents   []catalog.AllowlistRow `json:"scrubbed_agents"`
		PrincipalDefault bool                   `json:"scrubbed_principal_default"`
	}
)

var owner = param{"principal_id", "query", "integer", "Whose skills: the caller's own where it is absent or malformed."}

// maxDraft bounds a write of a custom skill, in bytes of JSON: 200 KB in all, of which each byte may be an escape of six.
const maxDraft = 2 << 20

// customRoutes are Spora's nine routes of custom skills.
func (a *api) customRoutes() []route {
	if a.custom == nil {
		return nil
	}
	const base = "/api/v1/custom-skills"
	read := func(id, path, summary string, outs []out, fails []int, serve func(http.ResponseWriter, *http.Request) error) route {
		return route{
			method: http.MethodGet, path: base + path, id: id, tag: tagCustom, summary: summary, scope: auth.SkillsRead,
			params: []param{owner, ifNoneMatch}, outs: append(outs, same), fails: fails, serve: serve,
		}
	}
	write := func(method, id, path, summary string, outs []out, fails []int, serve func(http.ResponseWriter, *http.Request) error) route {
		return route{
			method: method, path: base + path, id: id, tag: tagCustom, summary: summary, scope: auth.SkillsWrite,
			params: []param{owner, ifMatch}, outs: outs, fails: append(fails, http.StatusUnprocessableEntity), serve: a.byPeople(serve),
		}
	}
	gone := []int{http.StatusNotFound}
	lost := []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed}
	create := write(http.MethodPost, "create-custom-skill", "", "Create a custom skill",
		[]out{{http.StatusCreated, "the skill", "", data[customShown]{}}}, []int{http.StatusConflict}, a.createCustom)
	create.in, create.takes.max, create.params = draftBody{}, maxDraft, []param{owner}
	update := write(http.MethodPut, "update-custom-skill", "/{name}", "Update a custom skill", []out{good(data[customShown]{})}, lost, a.updateCustom)
	update.in, update.takes.max = draftBody{}, maxDraft
	update.about = "A field that is absent stays as it is. files absent keeps the files, {} removes all, anything else replaces all. allowed_tools null revokes it."
	restore := write(http.MethodPost, "restore-custom-skill", "/{name}/restore", "Restore the previous state of a custom skill",
		[]out{good(data[customShown]{})}, lost, a.restoreCustom)
	restore.optional, restore.in = true, nothing{}
	restore.about = "The state that is replaced becomes the previous one. allowed_tools stays as it is: content is restored, not permissions."
	list := read("list-custom-skills", "", "List custom skills", []out{good(data[customList]{})}, nil, a.listCustom)
	read1 := read("read-custom-skill-file", "/{name}/files/{path}", "Read a file of a custom skill",
		[]out{good(data[fileShown]{}), {http.StatusOK, "the bytes themselves", kindBytes, nil}}, []int{http.StatusNotFound, http.StatusRequestEntityTooLarge}, a.readCustomFile)
	read1.deep = true
	return []route{
		list, create, update, restore, read1,
		read("show-custom-skill", "/{name}", "Show a custom skill", []out{good(data[customShown]{})}, gone, a.showCustom),
		read("list-custom-skill-files", "/{name}/files", "List the files of a custom skill", []out{good(data[fileList]{})}, gone, a.listCustomFiles),
		read("show-custom-skill-allowlist", "/{name}/allowlist", "List the agents that a custom skill is on the allowlist of",
			[]out{good(data[allowlistBody]{})}, gone, a.customAllowlist),
		write(http.MethodDelete, "delete-custom-skill", "/{name}", "Delete a custom skill, and its name from every allowlist of its principal",
			[]out{good(data[deletedBody]{})}, lost, a.deleteCustom),
	}
}

// byPeople keeps out who speaks as an agent: what agents write goes through manage_skill, where a person approves it, and an
// agent does not widen its own allowlist.
func (a *api) byPeople(serve func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if auth.FromContext(r.Context()).Agent != "" {
			return &catalog.Error{Code: catalog.Forbidden, Message: "a token that is bound to an agent writes nothing here: its agent asks with the skill manage_skill"}
		}
		return serve(w, r)
	}
}

func skillName(r *http.Request) string { return strings.TrimSpace(r.PathValue("name")) }

func (a *api) listCustom(w http.ResponseWriter, r *http.Request) error {
	found, err := a.custom.List(r.Context(), caller(r.Context()), principal(r))
	if err != nil {
		return err
	}
	all := make([]customSkill, 0, len(found))
	for i := range found {
		all = append(all, customOf(&found[i]))
	}
	return hashed(w, r, customList{all})
}

// hashed gives an answer whose ETag is made of itself.
func hashed[T any](w http.ResponseWriter, r *http.Request, value T) error {
	b, err := encoded(data[T]{value})
	if err != nil {
		return err
	}
	if !unchanged(w, r, contentTag(b)) {
		send(w, http.StatusOK, kindJSON, b)
	}
	return nil
}

func (a *api) showCustom(w http.ResponseWriter, r *http.Request) error {
	s, err := a.custom.Show(r.Context(), caller(r.Context()), principal(r), skillName(r))
	if err != nil {
		return err
	}
	return tagged(w, r, revisionTag(s.ID, s.Revision), customShown{customOf(s)})
}

func (a *api) listCustomFiles(w http.ResponseWriter, r *http.Request) error {
	s, err := a.custom.Show(r.Context(), caller(r.Context()), principal(r), skillName(r))
	if err != nil {
		return err
	}
	return tagged(w, r, revisionTag(s.ID, s.Revision), fileList{listed(s.Files)})
}

func (a *api) readCustomFile(w http.ResponseWriter, r *http.Request) error {
	path := r.PathValue("path")
	b, err := a.custom.Read(r.Context(), caller(r.Context()), principal(r), skillName(r), path)
	if err != nil {
		return err
	}
	return giveFile(w, r, path, b)
}

func (a *api) customAllowlist(w http.ResponseWriter, r *http.Request) error {
	rows, err := a.custom.Allowlist(r.Context(), caller(r.Context()), principal(r), skillName(r))
	if err != nil {
		return err
	}
	return hashed(w, r, allowlistBody{listed(rows)})
}

// wrote answers a write with the skill as it is now.
func wrote(w http.ResponseWriter, status int, s *catalog.CustomSkill) error {
	w.Header().Set("ETag", revisionTag(s.ID, s.Revision))
	return give(w, status, customShown{customOf(s)})
}

func (a *api) createCustom(w http.ResponseWriter, r *http.Request) error {
	d, whose, err := readDraft(r)
	if err != nil {
		return err
	}
	s, err := a.custom.Create(r.Context(), caller(r.Context()), whose, d)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/v1/custom-skills/"+s.Name)
	return wrote(w, http.StatusCreated, s)
}

func (a *api) updateCustom(w http.ResponseWriter, r *http.Request) error {
	d, whose, err := readDraft(r)
	if err != nil {
		return err
	}
	s, err := a.custom.Update(r.Context(), caller(r.Context()), whose, skillName(r), a.customWanted(r, whose), d)
	if err != nil {
		return err
	}
	return wrote(w, http.StatusOK, s)
}

// customWanted is the revision of a custom skill that a write replaces.
func (a *api) customWanted(r *http.Request, whose int64) int64 {
	return wanted(r, func() (int64, int64, error) {
		s, err := a.custom.Show(r.Context(), caller(r.Context()), whose, skillName(r))
		if err != nil {
			return 0, 0, err
		}
		return s.ID, s.Revision, nil
	})
}

func (a *api) restoreCustom(w http.ResponseWriter, r *http.Request) error {
	if err := readNothing(r); err != nil {
		return err
	}
	whose := principal(r)
	s, err := a.custom.Restore(r.Context(), caller(r.Context()), whose, skillName(r), a.customWanted(r, whose))
	if err != nil {
		return err
	}
	return wrote(w, http.StatusOK, s)
}

func (a *api) deleteCustom(w http.ResponseWriter, r *http.Request) error {
	if err := readNothing(r); err != nil {
		return err
	}
	whose := principal(r)
	d, err := a.custom.Delete(r.Context(), caller(r.Context()), whose, skillName(r), a.customWanted(r, whose))
	if err != nil {
		return err
	}
	return give(w, http.StatusOK, deletedBody{true, d.Name, listed(d.Agents), d.PrincipalDefault})
}
