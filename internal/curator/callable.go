package curator

import (
	"context"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

// Callable implements [catalog.Reader].
func (c *Curator) Callable(ctx context.Context, who a2e.Caller) ([]catalog.Entry, error) {
	hosted, err := c.hosted(ctx, who)
	if err != nil {
		return nil, err
	}
	v, _, err := c.look(ctx, who)
	if err != nil {
		return nil, err
	}
	var entries []catalog.Entry
	names, entered := map[string]bool{}, map[string]bool{}
	for _, s := range v.List() {
		names[s.Name] = names[s.Name] || s.Status != skills.Created && s.Status != skills.Archived
		if s.Status == skills.Published && !entered[s.Name] && v.Allows(s) {
			entered[s.Name] = true
			entries = append(entries, callable(s))
		}
	}
	for _, e := range hosted { // like the executor: a name of the shelf's is not a plugin's
		if name := e.Definition.Name; !names[name] && (own(name) || v.allows == nil || v.allows(name)) {
			names[name] = true
			entries = append(entries, e)
		}
	}
	slices.SortStableFunc(entries, func(a, b catalog.Entry) int { return strings.Compare(a.Definition.Name, b.Definition.Name) })
	return entries, nil
}

// ReadOnly is the key of a manifest's metadata by which a plugin says that a skill changes nothing.
const ReadOnly = "read_only"

// hosted returns what the plugins offer to a caller.
func (c *Curator) hosted(ctx context.Context, who a2e.Caller) (entries []catalog.Entry, err error) {
	for _, p := range c.Plugins {
		defs, err := p.ListSkills(ctx, who)
		if err != nil {
			return nil, err
		}
		for _, d := range defs {
			if d.Status == "" { // which a plugin may leave out, as the executor has it
				d.Status = a2e.StatusPublished
			}
			if d.Status != a2e.StatusPublished {
				continue
			}
			readOnly, _ := d.Metadata[ReadOnly].(bool)
			entries = append(entries, catalog.Entry{Definition: d, ReadOnly: readOnly, Hosted: true, Shared: true})
		}
	}
	return entries, nil
}

func callable(s *skills.Skill) catalog.Entry {
	return catalog.Entry{
		Definition: s.Definition(), ReadOnly: !s.Policy.Writes, Shared: s.Source != skills.SourceUser, Examples: s.Examples,
		InputModes: s.InputModes, OutputModes: s.OutputModes, Annotations: s.Annotations,
	}
}

// reserved reports whether a custom skill of a name would never be found, or would stand before one of the host's own. That
// an agent has a tool switched off gives nobody its name.
func (c *Curator) reserved(ctx context.Context, who a2e.Caller, name string) (bool, error) {
	name = skills.Fold(name)
	if c.shipped.Lookup(name) != nil {
		return true, nil
	}
	for _, taken := range []string{catalog.SkillToolName, manageTool, catalogTool} {
		if name == skills.Fold(taken) {
			return true, nil
		}
	}
	who.Agent = ""
	hosted, err := c.hosted(ctx, who)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(hosted, func(e catalog.Entry) bool { return skills.Fold(e.Definition.Name) == name }), nil
}
