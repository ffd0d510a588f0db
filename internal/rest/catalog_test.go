package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

var noon = time.Date(2026, 1, 31, 23, 59, 58, 0, time.FixedZone("", 3600)) // not UTC: what is shown is

// shop is a catalog in memory, simple and strict: one shipped skill, users and groups, custom skills, agents.
type shop struct {
	err     error            // what every call returns instead
	ids     map[string]int64 // of principals
	custom  map[string]*catalog.CustomSkill
	files   map[string]map[string]string
	before  map[string]catalog.CustomSkill
	agents  map[int64]*catalog.Agent
	allowed map[int64]*[]string
	asked   []catalog.Approval
	bundles map[string][]catalog.Installed
	version uint64
	drafts  []catalog.Draft
}

func newShop() *shop {
	return &shop{
		ids: map[string]int64{"": 1, "alice": 2, "bob": 3, "group:team": 4}, custom: map[string]*catalog.CustomSkill{},
		files: map[string]map[string]string{}, before: map[string]catalog.CustomSkill{}, agents: map[int64]*catalog.Agent{},
		allowed: map[int64]*[]string{}, bundles: map[string][]catalog.Installed{},
	}
}

func no(code catalog.Code, format string, args ...any) error {
	return &catalog.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (s *shop) sees(who a2e.Caller, id int64) bool {
	return id == s.ids[who.Principal] || who.Groups["team"] != "" && id == s.ids["group:team"]
}

func (s *shop) controls(who a2e.Caller, id int64) bool {
	return id == s.ids[who.Principal] || (who.Groups["team"] == "admin" || who.Groups["team"] == "owner") && id == s.ids["group:team"]
}

func (s *shop) own(who a2e.Caller, id int64) int64 {
	if id == 0 {
		return s.ids[who.Principal]
	}
	return id
}

func at(principal int64, name string) string { return fmt.Sprint(principal, " ", name) }

type shopReader struct{ *shop }

var shipped = catalog.Detail{
	Summary: catalog.Summary{
		Name: "time-arithmetic", Slug: "time-arithmetic", Description: "Adds <days> & hours.", Source: "core", Files: 2, HasWarnings: true,
		RequiredTools: []string{"calculator"}, Version: "2.0", Status: "Published",
	},
	AllowedTools: "calculator x,", Body: "# Time\n", Files: []catalog.File{{Path: "SKILL.md", Bytes: 80}, {Path: "references/a b.md", Bytes: 3}},
	Warnings: []catalog.Finding{{Code: "ALLOWED_TOOLS_INVALID", Severity: "error", Message: "'x,' is no tool name", Path: "allowed-tools"}},
}

func (s shopReader) Skills(_ context.Context, who a2e.Caller, principal int64) ([]catalog.Summary, error) {
	all := []catalog.Summary{shipped.Summary}
	for _, k := range slices.Sorted(maps.Keys(s.custom)) {
		if c := s.custom[k]; s.sees(who, c.Principal) && (principal == 0 || principal == c.Principal) {
			all = append(all, catalog.Summary{Name: c.Name, Slug: c.Name, Description: c.Description, Source: "custom-skills", License: c.License, Files: len(c.Files)})
		}
	}
	return all, s.err
}

func (s shopReader) Skill(_ context.Context, _ a2e.Caller, slug string, _ int64) (*catalog.Detail, error) {
	switch {
	case s.err != nil:
		return nil, s.err
	case slug != shipped.Name:
		return nil, no(catalog.SkillNotFound, "Skill '%s' not found.", slug)
	}
	d := shipped
	return &d, nil
}

func (s shopReader) File(_ context.Context, _ a2e.Caller, slug, path string, _ int64) ([]byte, error) {
	switch {
	case s.err != nil:
		return nil, s.err
	case slug == shipped.Name && path == "references/a b.md":
		return []byte("é\n"), nil
	case slug == shipped.Name && path == "logo.png":
		return []byte{0x89, 'P', 0xff}, nil
	}
	return nil, no(catalog.SkillFileNotFound, "Skill '%s' has no file '%s'.", slug, path)
}

func (s shopReader) Callable(context.Context, a2e.Caller) ([]catalog.Entry, error) { return nil, s.err }
func (s shopReader) Version() uint64                                               { return s.version }

func (s shopReader) Principals(_ context.Context, who a2e.Caller) ([]catalog.Principal, error) {
	all := []catalog.Principal{{ID: s.ids[who.Principal], Kind: "user", Name: who.Principal, Role: "owner", Write: true}}
	for g, role := range who.Groups {
		all = append(all, catalog.Principal{ID: s.ids["group:"+g], Kind: "group", Name: g, Role: role, Write: role != "member"})
	}
	return all, s.err
}

type shopCustom struct {
	*shop
	catalog.Custom // nil: what routes do not ask
}

func (s shopCustom) List(_ context.Context, who a2e.Caller, principal int64) (all []catalog.CustomSkill, err error) {
	principal = s.own(who, principal)
	for _, k := range slices.Sorted(maps.Keys(s.custom)) {
		if c := s.custom[k]; c.Principal == principal && s.sees(who, principal) {
			all = append(all, *c)
		}
	}
	return all, s.err
}

func (s shopCustom) Show(_ context.Context, who a2e.Caller, principal int64, name string) (*catalog.CustomSkill, error) {
	principal = s.own(who, principal)
	c := s.custom[at(principal, name)]
	switch {
	case s.err != nil:
		return nil, s.err
	case c == nil || !s.sees(who, principal):
		return nil, no(catalog.SkillNotFound, "Skill '%s' not found.", name)
	}
	out := *c
	return &out, nil
}

func (s shopCustom) Read(ctx context.Context, who a2e.Caller, principal int64, name, path string) ([]byte, error) {
	c, err := s.Show(ctx, who, principal, name)
	if err != nil {
		return nil, err
	}
	content, ok := s.files[at(c.Principal, name)][path]
	switch {
	case path == "SKILL.md":
		return []byte("---\nname: " + name + "\n---\n" + c.Body), nil
	case !ok:
		return nil, no(catalog.FileNotFound, "File '%s' not found.", path)
	case len(content) > catalog.MaxRead:
		return nil, no(catalog.FileTooLarge, "File '%s' is too large.", path)
	}
	return []byte(content), nil
}

func (s shopCustom) Allowlist(ctx context.Context, who a2e.Caller, principal int64, name string) ([]catalog.AllowlistRow, error) {
	if _, err := s.Show(ctx, who, principal, name); err != nil {
		return nil, err
	}
	bot := "bot"
	return []catalog.AllowlistRow{{ID: 7, Name: &bot, Scope: "agent"}, {Scope: "principal"}}, nil
}

func (s shopCustom) Create(_ context.Context, who a2e.Caller, principal int64, d catalog.Draft) (*catalog.CustomSkill, error) {
	principal = s.own(who, principal)
	switch {
	case s.err != nil:
		return nil, s.err
	case !s.controls(who, principal):
		return nil, no(catalog.Forbidden, "Writing there needs more rights.")
	case d.Name == nil || *d.Name == "":
		return nil, no(catalog.ValidationError, "name is required.")
	case s.custom[at(principal, *d.Name)] != nil:
		return nil, no(catalog.NameTaken, "taken")
	}
	c := &catalog.CustomSkill{ID: int64(len(s.custom) + 10), Principal: principal, Name: *d.Name, CreatedBy: s.ids[who.Principal], Created: noon}
	s.custom[at(principal, c.Name)] = c
	return s.write(who, c, d), nil
}

func (s shopCustom) write(who a2e.Caller, c *catalog.CustomSkill, d catalog.Draft) *catalog.CustomSkill {
	s.drafts = append(s.drafts, d)
	for to, from := range map[*string]*string{&c.Description: d.Description, &c.License: d.License, &c.Compatibility: d.Compatibility, &c.Body: d.Body} {
		if from != nil {
			*to = *from
		}
	}
	if d.AllowedTools != nil || d.RevokeTools {
		c.AllowedTools = d.AllowedTools
	}
	if d.Metadata != nil {
		c.Metadata = *d.Metadata
	}
	if d.Files != nil {
		s.files[at(c.Principal, c.Name)] = *d.Files
	}
	c.Files = []catalog.File{{Path: "SKILL.md", Bytes: int64(len(c.Body) + 20)}}
	for _, p := range slices.Sorted(maps.Keys(s.files[at(c.Principal, c.Name)])) {
		c.Files = append(c.Files, catalog.File{Path: p, Bytes: int64(len(s.files[at(c.Principal, c.Name)][p]))})
	}
	c.Provenance, c.UpdatedBy, c.Updated = d.Provenance, s.ids[who.Principal], noon
	c.Revision++
	s.version++
	out := *c
	return &out
}

// writable finds what a write means.
func (s shopCustom) writable(who a2e.Caller, principal int64, name string, match int64) (*catalog.CustomSkill, error) {
	principal = s.own(who, principal)
	c := s.custom[at(principal, name)]
	switch {
	case s.err != nil:
		return nil, s.err
	case !s.controls(who, principal):
		return nil, no(catalog.Forbidden, "Writing there needs more rights.")
	case c == nil:
		return nil, no(catalog.SkillNotFound, "Skill '%s' not found.", name)
	case match != catalog.AnyRevision && match != c.Revision:
		return nil, no(catalog.Conflict, "Skill '%s' has changed.", name)
	}
	return c, nil
}

func (s shopCustom) Update(_ context.Context, who a2e.Caller, principal int64, name string, match int64, d catalog.Draft) (*catalog.CustomSkill, error) {
	c, err := s.writable(who, principal, name, match)
	switch {
	case err != nil:
		return nil, err
	case d.Name != nil && *d.Name != name:
		return nil, no(catalog.ValidationError, "name cannot be changed")
	}
	s.before[at(c.Principal, name)] = *c
	c.HasPrevious = true
	return s.write(who, c, d), nil
}

func (s shopCustom) Restore(_ context.Context, who a2e.Caller, principal int64, name string, match int64) (*catalog.CustomSkill, error) {
	c, err := s.writable(who, principal, name, match)
	switch {
	case err != nil:
		return nil, err
	case !c.HasPrevious:
		return nil, no(catalog.NoPrevious, "no previous version")
	}
	old := s.before[at(c.Principal, name)]
	s.before[at(c.Principal, name)] = *c
	return s.write(who, c, catalog.Draft{Body: &old.Body, Description: &old.Description, Provenance: "human"}), nil
}

func (s shopCustom) Delete(_ context.Context, who a2e.Caller, principal int64, name string, match int64) (*catalog.Deleted, error) {
	c, err := s.writable(who, principal, name, match)
	if err != nil {
		return nil, err
	}
	delete(s.custom, at(c.Principal, name))
	bot := "bot"
	return &catalog.Deleted{Name: name, Agents: []catalog.AllowlistRow{{ID: 7, Name: &bot, Scope: "agent"}}, PrincipalDefault: true}, nil
}

type shopAgents struct{ *shop }

func (s shopAgents) List(_ context.Context, who a2e.Caller) (all []catalog.Agent, err error) {
	for _, id := range slices.Sorted(maps.Keys(s.agents)) {
		if s.sees(who, s.agents[id].Principal) {
			all = append(all, *s.agents[id])
		}
	}
	return all, s.err
}

func (s shopAgents) Show(_ context.Context, who a2e.Caller, id int64) (*catalog.Agent, error) {
	a := s.agents[id]
	switch {
	case s.err != nil:
		return nil, s.err
	case a == nil || !s.sees(who, a.Principal):
		return nil, no(catalog.AgentNotFound, "Agent '%d' not found.", id)
	}
	out := *a
	return &out, nil
}

func (s shopAgents) ID(_ context.Context, who a2e.Caller, name string) (int64, error) {
	for id, a := range s.agents {
		if a.Name == name && s.sees(who, a.Principal) {
			return id, nil
		}
	}
	return 0, no(catalog.AgentNotFound, "Agent '%s' not found.", name)
}

func (s shopAgents) Create(_ context.Context, who a2e.Caller, principal int64, name string) (*catalog.Agent, error) {
	principal = s.own(who, principal)
	switch {
	case s.err != nil:
		return nil, s.err
	case !s.controls(who, principal):
		return nil, no(catalog.Forbidden, "no")
	}
	a := &catalog.Agent{ID: int64(len(s.agents) + 7), Name: name, Principal: principal, Created: noon.UTC(), Updated: noon.UTC(), Revision: 1}
	s.agents[a.ID] = a
	return a, nil
}

func (s shopAgents) change(who a2e.Caller, id, match int64, f func(a *catalog.Agent)) (*catalog.Agent, error) {
	a, err := s.Show(context.Background(), who, id)
	switch {
	case err != nil:
		return nil, err
	case match != catalog.AnyRevision && match != a.Revision:
		return nil, no(catalog.Conflict, "Agent '%d' has changed.", id)
	}
	f(s.agents[id])
	s.agents[id].Revision++
	return s.Show(context.Background(), who, id)
}

func (s shopAgents) Delete(_ context.Context, who a2e.Caller, id, match int64) error {
	_, err := s.change(who, id, match, func(*catalog.Agent) {})
	delete(s.agents, id)
	return err
}

func (s shopAgents) Tools(context.Context, a2e.Caller) ([]catalog.ToolInfo, error) {
	return []catalog.ToolInfo{
		{Name: "calculator", Description: "Calculates.", InputSchema: json.RawMessage(`{"type":"object"}`), Recommends: []string{"time-arithmetic"}},
		{Name: "skill", Description: "Reads skills."},
	}, s.err
}

func (s shopAgents) Override(_ context.Context, who a2e.Caller, id, principal int64, tool string) (*catalog.Override, error) {
	switch {
	case s.err != nil:
		return nil, s.err
	case id != 0 && (s.agents[id] == nil || !s.sees(who, s.agents[id].Principal)), id == 0 && !s.sees(who, principal):
		return nil, no(catalog.AgentNotFound, "Agent not found.")
	case tool != catalog.SkillToolName:
		return nil, no(catalog.ToolNotFound, "Tool '%s' has no settings.", tool)
	}
	o := &catalog.Override{Source: "default", Revision: 1}
	if id != 0 {
		principal = s.agents[id].Principal
		o.Revision = s.agents[id].Revision
		if o.Allowed = s.allowed[id]; o.Allowed != nil {
			o.Source = "agent"
			return o, nil
		}
	}
	if o.Allowed = s.allowed[-principal]; o.Allowed != nil {
		o.Source = "principal"
	}
	return o, nil
}

func (s shopAgents) SetOverride(ctx context.Context, who a2e.Caller, id, principal int64, tool string, match int64, allowed *[]string) (*catalog.Override, error) {
	o, err := s.Override(ctx, who, id, principal, tool)
	switch {
	case err != nil:
		return nil, err
	case match != catalog.AnyRevision && match != o.Revision:
		return nil, no(catalog.Conflict, "The settings have changed.")
	}
	if id == 0 {
		id = -principal
	} else {
		s.agents[id].Revision++
	}
	s.allowed[id] = allowed
	return s.Override(ctx, who, max(id, 0), principal, tool)
}

func (s shopAgents) SkillOn(_ context.Context, who a2e.Caller, id, match int64, slug string) (*catalog.Agent, error) {
	return s.change(who, id, match, func(a *catalog.Agent) {
		a.Tools = []catalog.Toggle{{Tool: "skill", Enabled: true}}
		s.allowed[id] = &[]string{slug}
	})
}

func (s shopAgents) SkillOff(_ context.Context, who a2e.Caller, id, match int64, _ string) (*catalog.Agent, error) {
	return s.change(who, id, match, func(*catalog.Agent) { s.allowed[id] = &[]string{} })
}

func (s shopAgents) SetTool(_ context.Context, who a2e.Caller, id, match int64, tool string, on bool) (*catalog.Agent, error) {
	return s.change(who, id, match, func(a *catalog.Agent) { a.Tools = []catalog.Toggle{{Tool: tool, Enabled: on}} })
}

type shopApprovals struct{ *shop }

func (s shopApprovals) List(_ context.Context, who a2e.Caller, state string) (all []catalog.Approval, err error) {
	for _, a := range s.asked {
		if s.sees(who, a.Principal) && (state == "" || state == a.State) {
			all = append(all, a)
		}
	}
	return all, s.err
}

func (s shopApprovals) find(who a2e.Caller, id string) (*catalog.Approval, error) {
	for i := range s.asked {
		if s.asked[i].ID == id && s.sees(who, s.asked[i].Principal) {
			return &s.asked[i], s.err
		}
	}
	return nil, no(catalog.ApprovalNotFound, "Approval '%s' not found.", id)
}

func (s shopApprovals) Show(_ context.Context, who a2e.Caller, id string) (*catalog.Approval, error) {
	return s.find(who, id)
}

func (s shopApprovals) decide(who a2e.Caller, id, state, why string) (*catalog.Approval, error) {
	a, err := s.find(who, id)
	switch {
	case err != nil:
		return nil, err
	case a.State != "pending":
		return nil, no(catalog.ApprovalDecided, "It was decided already.")
	}
	a.State, a.Why, a.Decided, a.DecidedBy = state, why, noon.UTC(), s.ids[who.Principal]
	return a, nil
}

func (s shopApprovals) Approve(_ context.Context, who a2e.Caller, id string) (*catalog.Approval, error) {
	return s.decide(who, id, "approved", "")
}

func (s shopApprovals) Deny(_ context.Context, who a2e.Caller, id, why string) (*catalog.Approval, error) {
	return s.decide(who, id, "denied", why)
}

type shopInstaller struct{ *shop }

func (s shopInstaller) Install(_ context.Context, name, kind string, archive io.Reader, match string) (*catalog.Installed, error) {
	b, err := io.ReadAll(archive)
	had := s.bundles[name]
	switch {
	case err != nil || s.err != nil:
		return nil, cmpErr(err, s.err)
	case !bytes.HasPrefix(b, []byte(kind)):
		return nil, &catalog.Error{Code: catalog.BundleInvalid, Message: "That is no bundle.", Errors: []catalog.Finding{{Code: "NOT_AN_ARCHIVE", Severity: "error", Message: "not a " + kind}}}
	case match != "" && (len(had) == 0 || had[len(had)-1].Digest != match):
		return nil, no(catalog.Conflict, "another version is there")
	}
	for i := range had {
		had[i].Current = false
	}
	v := catalog.Installed{Name: name, Version: fmt.Sprint("v", len(had)+1), Digest: strings.Repeat(fmt.Sprint(len(had)+1), 8), Current: true, Uploaded: noon.UTC(), Files: 1, Bytes: int64(len(b))}
	s.bundles[name] = append(had, v)
	return &v, nil
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s shopInstaller) Versions(_ context.Context, name string) ([]catalog.Installed, error) {
	if s.bundles[name] == nil {
		return nil, no(catalog.SkillNotFound, "Skill '%s' not found.", name)
	}
	return s.bundles[name], s.err
}

func (s shopInstaller) Rollback(_ context.Context, name, version, _ string) (*catalog.Installed, error) {
	for i := range s.bundles[name] {
		if v := &s.bundles[name][i]; v.Version == version {
			return v, nil
		}
	}
	return nil, no(catalog.VersionNotFound, "Skill '%s' has no version '%s'.", name, version)
}

func (s shopInstaller) Remove(_ context.Context, name, _ string) error {
	if s.bundles[name] == nil {
		return no(catalog.SkillNotFound, "Skill '%s' not found.", name)
	}
	delete(s.bundles, name)
	return s.err
}

// stocked is a door with all of a shop behind it.
func stocked(s *shop, o Options) Options {
	if o.Control == nil {
		o.Control = &fake{}
	}
	o.Reader, o.Custom, o.Agents, o.Approvals, o.Installer = shopReader{s}, shopCustom{shop: s}, shopAgents{s}, shopApprovals{s}, shopInstaller{s}
	return o
}
