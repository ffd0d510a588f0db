package rest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

// The bodies of the read surface. Keys and their order are Spora's.
type (
	skillRow struct {
		Name          string   `json:"name"`
		Slug          string   `json:"slug"`
		Description   string   `json:"description"`
		Source        string   `json:"source" doc:"project, core, a plugin's name, installed or custom-skills"`
		License       *string  `json:"license"`
		FilesCount    int      `json:"files_count"`
		HasWarnings   bool     `json:"has_warnings"`
		RequiredTools []string `json:"required_tools"`
	}
	skillDetail struct {
		Name          string            `json:"name"`
		Description   string            `json:"description"`
		License       *string           `json:"license"`
		Compatibility *string           `json:"compatibility"`
		Metadata      map[string]string `json:"metadata"`
		AllowedTools  *string           `json:"allowed_tools" doc:"as SKILL.md has it"`
		RequiredTools []string          `json:"required_tools" doc:"the legal names in allowed_tools"`
		Body          string            `json:"body"`
		BodyBytes     int               `json:"body_bytes"`
		Files         []catalog.File    `json:"files"`
		Warnings      []catalog.Finding `json:"warnings"`
	}
	skillList struct {
		Skills []skillRow `json:"skills"`
	}
	skillShown struct {
		Skill  skillDetail `json:"skill"`
		Source string      `json:"source"`
	}
	fileShown struct {
		Path     string `json:"path"`
		Content  string `json:"content"`
		Bytes    int    `json:"bytes"`
		Encoding string `json:"encoding,omitempty" doc:"base64 where the file is no UTF-8 text; absent otherwise"`
	}
	toolList struct {
		Tools []catalog.ToolInfo `json:"tools"`
	}
	principalList struct {
		Principals []catalog.Principal `json:"principals"`
	}
)

var narrowed = param{"principal_id", "query", "integer", "Only what is shipped and what this principal owns. What is malformed or not above 0 " +
	"counts as absent; one that the caller can't see leaves only what is shipped."}

// skillRoutes is the read surface.
func (a *api) skillRoutes() []route {
	if a.reader == nil {
		return nil
	}
	return []route{
		{
			method: http.MethodGet, path: "/api/v1/skills", id: "list-skills", tag: tagSkills, scope: auth.SkillsRead,
			summary: "List skills", about: "Shipped and custom skills that the caller can see, by name.",
			params: []param{narrowed, ifNoneMatch}, outs: []out{good(data[skillList]{}), same}, serve: a.listSkills,
		},
		{
			method: http.MethodGet, path: "/api/v1/skills/{slug}", id: "show-skill", tag: tagSkills, scope: auth.SkillsRead,
			summary: "Show a skill", params: []param{narrowed, ifNoneMatch}, outs: []out{good(data[skillShown]{}), same},
			fails: []int{http.StatusNotFound}, serve: a.showSkill,
		},
		{
			method: http.MethodGet, path: "/api/v1/skills/{slug}/files/{path}", deep: true, id: "read-skill-file", tag: tagSkills, scope: auth.SkillsRead,
			summary: "Read a file of a skill",
			about: "At most 50,000 bytes. The path may have slashes, as they are or percent-encoded. An unknown skill, a path that is " +
				"not listed and a file that is too large are one and the same SKILL_FILE_NOT_FOUND. With Accept: application/octet-stream the " +
				"answer is the file's bytes.",
			params: []param{narrowed, ifNoneMatch}, outs: []out{good(data[fileShown]{}), {http.StatusOK, "the bytes themselves", kindBytes, nil}, same},
			fails: []int{http.StatusNotFound}, serve: a.readSkillFile,
		},
		{
			method: http.MethodGet, path: "/api/v1/principals", id: "list-principals", tag: tagSkills, scope: auth.SkillsRead,
			summary: "List the principals that the caller can see", about: "The caller itself first, then its groups.",
			outs: []out{good(data[principalList]{})}, serve: a.listPrincipals,
		},
	}
}

func (a *api) listSkills(w http.ResponseWriter, r *http.Request) error {
	who, narrow := caller(r.Context()), principal(r)
	tag := a.stateTag(who, narrow)
	if unchanged(w, r, tag) {
		return nil
	}
	found, err := a.reader.Skills(r.Context(), who, narrow)
	if err != nil {
		return err
	}
	rows := make([]skillRow, 0, len(found))
	for _, s := range found {
		rows = append(rows, skillRow{
			s.Name, s.Slug, s.Description, s.Source, optional(s.License), s.Files, s.HasWarnings, listed(s.RequiredTools),
		})
	}
	return give(w, http.StatusOK, skillList{rows})
}

// stateTag is the ETag of the list: of who asks, for what, and of the state of all skills in this process.
func (a *api) stateTag(who a2e.Caller, narrow int64) string {
	var groups []byte
	for _, g := range slices.Sorted(maps.Keys(who.Groups)) {
		groups = fmt.Appendf(groups, "%q=%q ", g, who.Groups[g])
	}
	return contentTag(fmt.Appendf(nil, "%s %d %d %q %q %t ", a.life, a.reader.Version(), narrow, who.Principal, who.Agent, who.Admin), groups)
}

func (a *api) showSkill(w http.ResponseWriter, r *http.Request) error {
	d, err := a.reader.Skill(r.Context(), caller(r.Context()), folded(r, "slug"), principal(r))
	if err != nil {
		return err
	}
	shown := skillShown{Source: d.Source, Skill: skillDetail{
		Name: d.Name, Description: d.Description, License: optional(d.License), Compatibility: optional(d.Compatibility),
		Metadata: filled(d.Metadata), AllowedTools: optional(d.AllowedTools), RequiredTools: listed(d.RequiredTools),
		Body: d.Body, BodyBytes: len(d.Body), Files: listed(d.Files), Warnings: listed(d.Warnings),
	}}
	b, err := encoded(data[skillShown]{shown})
	if err != nil {
		return err
	}
	return tagged(w, r, contentTag(b), shown)
}

func (a *api) readSkillFile(w http.ResponseWriter, r *http.Request) error {
	path := r.PathValue("path")
	b, err := a.reader.File(r.Context(), caller(r.Context()), folded(r, "slug"), path, principal(r))
	if err != nil {
		return err
	}
	return giveFile(w, r, path, b)
}

// giveFile answers with a file: in the envelope, or as it is to who asks for bytes.
func giveFile(w http.ResponseWriter, r *http.Request, path string, b []byte) error {
	w.Header().Set("Vary", "Accept")
	if preferred(r, kindJSON, kindBytes) == kindBytes {
		if !unchanged(w, r, contentTag([]byte("bytes "), b)) {
			w.Header().Set("Content-Disposition", "attachment")
			send(w, http.StatusOK, kindBytes, b)
		}
		return nil
	}
	shown := fileShown{Path: path, Content: string(b), Bytes: len(b)}
	if !utf8.Valid(b) {
		shown.Content, shown.Encoding = base64.StdEncoding.EncodeToString(b), "base64"
	}
	return tagged(w, r, contentTag(bytes.TrimSpace([]byte(path)), []byte{0}, b), shown)
}

func (a *api) listPrincipals(w http.ResponseWriter, r *http.Request) error {
	found, err := a.reader.Principals(r.Context(), caller(r.Context()))
	if err != nil {
		return err
	}
	return give(w, http.StatusOK, principalList{listed(found)})
}

// optional makes "" null.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// filled makes no members {} and not null.
func filled(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
