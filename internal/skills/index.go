package skills

import (
	"sort"
	"strings"
)

// index is one picture of all skills. It never changes.
type index struct {
	skills []*Skill
	exact  map[string]*Skill
	folded map[string][]*Skill
}

func newIndex(skills []*Skill) *index {
	sort.SliceStable(skills, func(i, j int) bool { return skills[i].Name < skills[j].Name })
	x := &index{skills: skills, exact: map[string]*Skill{}, folded: map[string][]*Skill{}}
	for _, s := range skills {
		if x.exact[s.Name] != nil {
			// A second copy: the one that is not Blocked is meant.
			if x.exact[s.Name].Status == Blocked && s.Status != Blocked {
				x.exact[s.Name] = s
			}
			continue
		}
		x.exact[s.Name] = s
		x.folded[fold(s.Name)] = append(x.folded[fold(s.Name)], s)
	}
	return x
}

// fold makes names equal that mean the same skill.
func fold(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
}

// lookup returns the skill of a name, or nil.
func (x *index) lookup(name string) *Skill {
	if len(name) > maxWord {
		return nil
	}
	name = strings.TrimSpace(name)
	if s := x.exact[name]; s != nil {
		return s
	}
	if s := x.exact[strings.ToLower(name)]; s != nil {
		return s
	}
	if same := x.folded[fold(name)]; len(same) == 1 {
		return same[0]
	}
	return nil
}

func (x *index) find(name string) (*Skill, string) {
	if s := x.lookup(name); s != nil || len(name) > maxWord {
		return s, ""
	}
	var names []string
	for _, s := range x.skills {
		if s.Status == Published {
			names = append(names, s.Name)
		}
	}
	return nil, closest(fold(name), names)
}

// Fold makes names equal by which a [Catalog] finds the same skill.
func Fold(name string) string { return fold(name) }
