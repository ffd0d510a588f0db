package curator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// manageTool is the tool that asks for writes of custom skills.
const manageTool = "manage_skill"

// Tools implements [catalog.Agents]: the catalog's own tools, and then those of the host.
func (a *Agents) Tools(context.Context, a2e.Caller) ([]catalog.ToolInfo, error) { return a.all(), nil }

func (a *Agents) all() []catalog.ToolInfo {
	return append([]catalog.ToolInfo{
		{Name: catalog.SkillToolName, Description: aboutSkill, InputSchema: json.RawMessage(skillSchema)},
		{Name: manageTool, Description: aboutManage, Writes: true, InputSchema: json.RawMessage(manageSchema)},
	}, a.tools()...)
}

func (a *Agents) tool(name string) (catalog.ToolInfo, error) {
	for _, t := range a.all() {
		if t.Name == name {
			return t, nil
		}
	}
	return catalog.ToolInfo{}, refuse(catalog.ToolNotFound, "Tool '%s' not found.", shown(name))
}

// Override implements [catalog.Agents].
func (a *Agents) Override(ctx context.Context, who a2e.Caller, id, principal int64, tool string) (*catalog.Override, error) {
	if id == 0 {
		return a.defaults(ctx, who, principal, tool)
	}
	r, _, err := a.readable(ctx, who, id)
	if err == nil {
		_, err = a.tool(tool)
	}
	if err != nil {
		return nil, err
	}
	return a.override(ctx, r, tool)
}

// override is what an agent's settings are, wherever they come from.
func (a *Agents) override(ctx context.Context, r catalog.AgentRecord, tool string) (*catalog.Override, error) {
	o := &catalog.Override{Source: fromDefault, Revision: r.Revision}
	if tool != catalog.SkillToolName {
		return o, nil
	}
	inherited, err := a.inherited(ctx, r.Principal)
	switch {
	case err != nil:
		return nil, err
	case r.Allowed != nil:
		o.Allowed, o.Source = r.Allowed, fromAgent
	case inherited != nil:
		o.Allowed, o.Source = inherited, fromPrincipal
	}
	return o, nil
}

// inherited is the list of agents of a principal that have none of their own; nil where there is none.
func (a *Agents) inherited(ctx context.Context, principal int64) (*[]string, error) {
	seen, err := a.book.look(ctx)
	if err != nil {
		return nil, err
	}
	if pack := seen.ids[principal]; pack != nil {
		return pack.Default, nil
	}
	return nil, nil
}

// defaults is what is set for all agents of a principal that the caller sees.
func (a *Agents) defaults(ctx context.Context, who a2e.Caller, principal int64, tool string) (*catalog.Override, error) {
	at, err := a.principal(ctx, who, principal)
	if err == nil {
		_, err = a.tool(tool)
	}
	if err != nil {
		return nil, err
	}
	o := &catalog.Override{Source: fromDefault}
	seen, err := a.book.look(ctx)
	if err != nil {
		return nil, err
	}
	if pack := seen.ids[at.id]; pack != nil && pack.Default != nil && tool == catalog.SkillToolName {
		o.Allowed, o.Source, o.Revision = pack.Default, fromPrincipal, pack.DefaultRevision
	}
	return o, nil
}

// principal returns the principal of a number, the caller's own for 0, if the caller sees it.
func (a *Agents) principal(ctx context.Context, who a2e.Caller, principal int64) (owned, error) {
	if principal == 0 {
		ids, err := a.store.EnsurePrincipals(ctx, []catalog.Owner{self(who)})
		if err != nil {
			return owned{}, err
		}
		return owned{ids[0], self(who)}, nil
	}
	owner, err := a.store.Principal(ctx, principal)
	if errors.Is(err, catalog.ErrNone) || err == nil && !who.Admin && role(who, owner) == "" {
		return owned{}, refuse(catalog.AgentNotFound, "Principal '%d' not found.", principal)
	}
	return owned{principal, owner}, err
}

// SetOverride implements [catalog.Agents].
func (a *Agents) SetOverride(ctx context.Context, who a2e.Caller, id, principal int64, tool string, match int64, allowed *[]string) (*catalog.Override, error) {
	if id == 0 {
		return a.setDefaults(ctx, who, principal, tool, match, allowed)
	}
	r, _, err := a.writable(ctx, who, id)
	if err == nil {
		allowed, err = a.settable(tool, allowed)
	}
	if err != nil {
		return nil, err
	}
	r, err = a.change(ctx, r, match, func(r *catalog.AgentRecord, _ *[]string) (bool, error) {
		same := r.Allowed == nil && allowed == nil || r.Allowed != nil && allowed != nil && slices.Equal(*r.Allowed, *allowed)
		r.Allowed = allowed
		return !same, nil
	})
	if err != nil {
		return nil, err
	}
	return a.override(ctx, r, tool)
}

func (a *Agents) setDefaults(ctx context.Context, who a2e.Caller, principal int64, tool string, match int64, allowed *[]string) (*catalog.Override, error) {
	at, err := a.principal(ctx, who, principal)
	if err == nil {
		err = people(who)
	}
	if err == nil && !governs(who, at.owner) {
		err = noControl()
	}
	if err == nil {
		allowed, err = a.settable(tool, allowed)
	}
	if err != nil {
		return nil, err
	}
	revision, err := a.store.SetAgentDefault(ctx, at.id, match, allowed)
	if errors.Is(err, catalog.ErrStale) {
		return nil, refuse(catalog.Conflict, "The settings have changed meanwhile: read them again.")
	}
	if err != nil {
		return nil, err
	}
	a.book.again(ctx)
	if allowed == nil {
		return &catalog.Override{Source: fromDefault}, nil
	}
	return &catalog.Override{Allowed: allowed, Source: fromPrincipal, Revision: revision}, nil
}

// settable checks a new list, which only the skill tool has.
func (a *Agents) settable(tool string, allowed *[]string) (*[]string, error) {
	if _, err := a.tool(tool); err != nil {
		return nil, err
	}
	if tool != catalog.SkillToolName {
		return nil, refuse(catalog.ValidationError, "Tool '%s' has no setting %s.", shown(tool), catalog.SettingAllowed)
	}
	if allowed == nil {
		return nil, nil
	}
	checked, err := catalog.CheckAllowed(*allowed)
	if err != nil {
		return nil, refuse(catalog.ValidationError, "%s: %v.", catalog.SettingAllowed, err)
	}
	return checked, nil
}

// change writes an agent and has everybody see it.
func (a *Agents) change(ctx context.Context, r catalog.AgentRecord, match int64,
	f func(r *catalog.AgentRecord, inherited *[]string) (changed bool, err error)) (catalog.AgentRecord, error) {
	kept, err := a.store.ChangeAgent(ctx, r.ID, match, f)
	if err != nil {
		return kept, a.explain(err, r.Name)
	}
	a.book.again(ctx)
	return kept, nil
}

// flow is one of the three: a change of an agent that may start from the list that it inherits.
func (a *Agents) flow(ctx context.Context, who a2e.Caller, id, match int64, f func(r *catalog.AgentRecord, list []string) (next []string)) (*catalog.Agent, error) {
	r, _, err := a.writable(ctx, who, id)
	if err != nil {
		return nil, err
	}
	r, err = a.change(ctx, r, match, func(r *catalog.AgentRecord, inherited *[]string) (bool, error) {
		tools := maps.Clone(r.Tools)
		list := entries(cmp.Or(r.Allowed, inherited))
		next := f(r, slices.Clone(list))
		switch {
		case slices.Equal(next, list):
			return !maps.Equal(tools, r.Tools), nil
		case len(next) > catalog.MaxAllowed:
			return false, refuse(catalog.ValidationError, "%s: there are %d names already.", catalog.SettingAllowed, catalog.MaxAllowed)
		}
		r.Allowed = &next
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return a.present(r), nil
}

// SkillOn implements [catalog.Agents]: the skill tool is on, and the one slug on the list.
func (a *Agents) SkillOn(ctx context.Context, who a2e.Caller, id, match int64, slug string) (*catalog.Agent, error) {
	checked, err := catalog.CheckAllowed([]string{slug})
	if err != nil {
		return nil, refuse(catalog.ValidationError, "%v.", err)
	}
	slug = (*checked)[0]
	return a.flow(ctx, who, id, match, func(r *catalog.AgentRecord, list []string) []string {
		toggle(r, catalog.SkillToolName, true)
		if slices.Contains(list, slug) {
			return list
		}
		return append(list, slug)
	})
}

// SkillOff implements [catalog.Agents]: the one slug is off the list, and the skill tool stays as it is.
func (a *Agents) SkillOff(ctx context.Context, who a2e.Caller, id, match int64, slug string) (*catalog.Agent, error) {
	return a.flow(ctx, who, id, match, func(_ *catalog.AgentRecord, list []string) []string {
		return slices.DeleteFunc(list, func(s string) bool { return s == catalog.Fold(slug) })
	})
}

// SetTool implements [catalog.Agents]. A tool that goes off takes the slugs along that no other tool that is on recommends,
// too; the skill tool stays as it is.
func (a *Agents) SetTool(ctx context.Context, who a2e.Caller, id, match int64, tool string, on bool) (*catalog.Agent, error) {
	if _, _, err := a.writable(ctx, who, id); err != nil {
		return nil, err
	}
	t, err := a.tool(tool)
	if err != nil {
		return nil, err
	}
	all := a.all()
	return a.flow(ctx, who, id, match, func(r *catalog.AgentRecord, list []string) []string {
		was := r.Tools[tool]
		toggle(r, tool, on)
		if on || !was {
			return list
		}
		shared := map[string]bool{}
		for _, other := range all {
			for _, slug := range other.Recommends {
				shared[catalog.Fold(slug)] = shared[catalog.Fold(slug)] || other.Name != tool && r.Tools[other.Name]
			}
		}
		return slices.DeleteFunc(list, func(s string) bool {
			return !shared[s] && slices.ContainsFunc(t.Recommends, func(slug string) bool { return catalog.Fold(slug) == s })
		})
	})
}

// toggle switches a tool. What is off is not kept.
func toggle(r *catalog.AgentRecord, tool string, on bool) {
	r.Tools = maps.Clone(r.Tools)
	if r.Tools == nil {
		r.Tools = map[string]bool{}
	}
	if on {
		r.Tools[tool] = true
	} else {
		delete(r.Tools, tool)
	}
}
