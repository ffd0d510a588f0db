package executor

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/skills"
)

// found is a skill that may be called: one for a cell, or one of a plugin.
type found struct {
	skill *skills.Skill
	host  *host // nil for a cell
}

// Discover implements [a2e.Handler]: the Published skills that the caller may use and that match.
func (s *Supervisor) Discover(ctx context.Context, who a2e.Caller, req *a2e.DiscoverRequest) ([]a2e.Definition, error) {
	view, err := s.cfg.Shelf.View(ctx, who)
	if err != nil {
		s.log.Error("the skills of a caller can't be read", "error", err)
		return nil, unshelved()
	}
	all := slices.DeleteFunc(slices.Clone(view.List()), func(sk *skills.Skill) bool { return !view.Allows(sk) })
	defs := []a2e.Definition{}
	for _, sk := range skills.Filter(all, req.FilterTags, req.FilterCategories) {
		defs = append(defs, sk.Definition())
	}
	for _, h := range s.hosted(ctx, who, view) {
		if len(skills.Filter([]*skills.Skill{h.skill}, req.FilterTags, req.FilterCategories)) > 0 {
			defs = append(defs, h.def)
		}
	}
	slices.SortStableFunc(defs, func(a, b a2e.Definition) int { return cmp.Compare(a.Name, b.Name) })
	return defs, nil
}

// find returns a skill that the caller may call. What it can't see does not exist for it; what its agent may not use is
// refused (protocols decisions 9 and 30). slow is called before a plugin is asked, which may take long.
func (s *Supervisor) find(ctx context.Context, who a2e.Caller, name string, slow func()) (found, *a2e.Error) {
	view, err := s.cfg.Shelf.View(ctx, who)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Error("the skills of a caller can't be read", "error", err)
		}
		return found{}, unshelved()
	}
	skill := skills.Lookup(view, name)
	hidden := skill != nil && (skill.Status == skills.Created || skill.Status == skills.Archived)
	if hidden {
		skill = nil
	}
	if skill == nil || skill.Name != strings.ToLower(strings.TrimSpace(name)) {
		one, by, fail := s.plugged(ctx, who, name, skill != nil, slow)
		switch {
		case fail != nil:
			return found{}, fail
		case one != nil && !view.Allows(one.skill):
			return found{}, notAllowed(one.skill.Name, who.Agent)
		case one != nil && one.skill.Status == skills.Blocked:
			return found{}, blocked(one.skill)
		case one != nil:
			return found{one.skill, by}, nil
		}
	}
	switch {
	case skill == nil && hidden:
		return found{}, unknown(name, "")
	case skill == nil:
		_, near := view.Find(name)
		return found{}, unknown(name, near)
	case !view.Allows(skill):
		return found{}, notAllowed(skill.Name, who.Agent)
	case skill.Status == skills.Blocked:
		return found{}, blocked(skill)
	}
	return found{skill: skill}, nil
}

func unknown(name, near string) *a2e.Error {
	if near == "" {
		return a2e.Errorf(a2e.UnknownSkill, "unknown skill %q", clip(name, 80))
	}
	return a2e.Errorf(a2e.UnknownSkill, "unknown skill %q: did you mean %q?", clip(name, 80), near).With("suggestion", near)
}

func blocked(skill *skills.Skill) *a2e.Error {
	return a2e.Errorf(a2e.RuntimeError, "skill %q is blocked: %s", skill.Name, cmp.Or(skill.BlockedWhy, "whoever serves it says so")).Because(a2e.ReasonBlocked)
}

func notAllowed(skill, agent string) *a2e.Error {
	return a2e.Errorf(a2e.Unauthorized, "skill %q is not in the allowed_skills list for agent %q: who controls the agent can add it", skill, clip(agent, 80))
}

func unshelved() *a2e.Error {
	return a2e.Errorf(a2e.RuntimeError, "which skills there are can't be read: hotcell's log says why").Because(a2e.ReasonInternal).Transient()
}
