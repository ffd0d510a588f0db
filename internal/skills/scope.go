package skills

import (
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/pattern"
)

// Owner is the principal that a custom skill belongs to.
type Owner struct {
	Group bool
	Name  string // "": whoever calls where nothing authenticates
}

// ScopeCustom is how a pattern of custom skills begins.
const ScopeCustom = "custom:"

// Custom reports whether a skill is a principal's own, who has chosen its name.
func (s *Skill) Custom() bool { return s.Owner != nil || s.Source == SourceUser }

// In reports whether one of a setting's patterns stands for the skill. All settings that name skills go by it.
//
//	report-*                  skills that are shipped: those of folders
//	custom:report-*           custom skills, whoever's
//	custom:alice/report-*     alice's; custom:group:team/* a group's
//
// So nobody gets with the name of a custom skill what is meant for a shipped one.
func (s *Skill) In(patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		whose, name, custom := splitScope(p)
		var o Owner
		if s.Owner != nil {
			o = *s.Owner
		}
		return custom == s.Custom() && pattern.Match(name, s.Name) && pattern.Principal(whose, o.Group, o.Name)
	})
}

// Scoped is the narrowest pattern that stands for the skill.
func (s *Skill) Scoped() string {
	o := s.Owner
	switch {
	case !s.Custom():
		return s.Name
	case o != nil && o.Group:
		return ScopeCustom + pattern.Group + o.Name + "/" + s.Name
	case o != nil && pattern.Principal(o.Name, false, o.Name):
		return ScopeCustom + o.Name + "/" + s.Name
	}
	return ScopeCustom + s.Name
}

// GoodScope reports whether a text is a pattern of skills: principal judges the part that names whose.
func GoodScope(p string, principal func(string) bool) bool {
	whose, name, _ := splitScope(p)
	return name != "" && len(name) <= maxScope && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-*") == "" && principal(whose)
}

const maxScope = 64 // bytes, as long as a skill's name may be

// SplitScoped splits PATTERN:WHAT, which is what skills of a pattern get. The pattern may have a colon, what they get has none.
func SplitScoped(entry string) (scope, what string, ok bool) {
	i := strings.LastIndexByte(entry, ':')
	if i < 0 {
		return "", "", false
	}
	return entry[:i], entry[i+1:], true
}

// splitScope splits a pattern. Principals may have a / in their names, skills have none.
func splitScope(p string) (whose, name string, custom bool) {
	rest, custom := strings.CutPrefix(p, ScopeCustom)
	if i := strings.LastIndexByte(rest, '/'); custom && i >= 0 {
		return rest[:i], rest[i+1:], true
	}
	return "*", rest, custom
}
