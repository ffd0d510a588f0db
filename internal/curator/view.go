package curator

import (
	"context"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

// View implements [skills.Shelf].
func (c *Curator) View(ctx context.Context, who a2e.Caller) (skills.View, error) {
	v, _, err := c.look(ctx, who)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// look is the shelf as a caller sees it, and the picture that it is taken from.
func (c *Curator) look(ctx context.Context, who a2e.Caller) (*view, *picture, error) {
	seen, err := c.roster.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	v := &view{Curator: c}
	if c.Gate != nil {
		if v.allows, err = c.Gate.Gate(ctx, who); err != nil {
			return nil, nil, err
		}
	}
	group, err := c.group(ctx, who)
	if err != nil {
		return nil, nil, err
	}
	v.packs = seen.of(who, group)
	return v, seen, nil
}

// group is the group whose agent a caller speaks as, "" where it is none's.
func (c *Curator) group(ctx context.Context, who a2e.Caller) (string, error) {
	if c.Gate == nil || who.Agent == "" {
		return "", nil
	}
	return c.Gate.Group(ctx, who)
}

// of returns what a caller sees: its own, and then what its groups have, in the order of their names. Who speaks for a group's
// agent sees what that group has.
func (p *picture) of(who a2e.Caller, agentOf string) []*pack {
	if len(p.owners) == 0 {
		return nil
	}
	if agentOf != "" {
		if have := p.owners[catalog.Owner{Kind: catalog.KindGroup, Name: agentOf}]; have != nil {
			return []*pack{have}
		}
		return nil
	}
	var packs []*pack
	for group := range who.Groups {
		if have := p.owners[catalog.Owner{Kind: catalog.KindGroup, Name: group}]; have != nil {
			packs = append(packs, have)
		}
	}
	slices.SortFunc(packs, func(a, b *pack) int { return strings.Compare(a.owner.Name, b.owner.Name) })
	if own := p.owners[self(who)]; own != nil {
		packs = slices.Insert(packs, 0, own)
	}
	return packs
}

// self is the principal that a caller is.
func self(who a2e.Caller) catalog.Owner {
	return catalog.Owner{Kind: catalog.KindUser, Name: who.Principal}
}

// view is the shelf as one caller sees it at one moment.
type view struct {
	*Curator
	packs  []*pack
	allows func(name string) bool
}

// Allows implements [skills.View]. The catalog's own skills are no matter of lists: an agent has them switched on or off.
func (v *view) Allows(s *skills.Skill) bool {
	return v.allows == nil || v.allows(s.Name) || s.Source == skills.SourceHosted && own(s.Name)
}

// own reports whether a name is one of the catalog's own skills.
func own(name string) bool {
	return name == catalog.SkillToolName || name == manageTool || name == catalogTool
}

// Find implements [skills.Catalog].
func (v *view) Find(name string) (skill *skills.Skill, suggestion string) {
	if s := v.Lookup(name); s != nil {
		return s, ""
	}
	return v.shipped.Find(name)
}

// Lookup is Find without a suggestion.
func (v *view) Lookup(name string) *skills.Skill {
	if s := v.shipped.Lookup(name); s != nil {
		return s
	}
	return v.own(name)
}

// own finds a custom skill.
func (v *view) own(name string) *skills.Skill {
	places := v.named(name)
	if len(places) == 0 {
		return nil
	}
	ctx, cancel := brief(context.Background())
	defer cancel()
	for _, at := range places {
		if s := v.skill(ctx, at); s != nil {
			return s
		}
	}
	return nil
}

// place is a skill in a pack.
type place struct {
	*pack
	*slot
}

// named returns where a name is, the one that counts first.
func (v *view) named(name string) (places []place) {
	if len(v.packs) == 0 || len(name) > maxQuery {
		return nil
	}
	key := skills.Fold(name)
	for _, p := range v.packs {
		if s := p.slots[key]; s != nil {
			places = append(places, place{p, s})
		}
	}
	return places
}

// maxQuery is the length in bytes of what can be a skill's name, with some blanks around.
const maxQuery = 256

// skill returns what is in a place. One that can't be read now is Blocked, and says so.
func (v *view) skill(ctx context.Context, at place) *skills.Skill {
	m, err := v.make(ctx, at.pack, at.slot)
	switch {
	case err != nil:
		return v.unread(at, err)
	case m == nil:
		return nil
	}
	return m.skill
}

// unread is what stands for a skill that can't be read. Why is the log's business.
func (v *view) unread(at place, err error) *skills.Skill {
	v.log.Error("a custom skill can't be read", "skill", at.label.Name, "principal", at.id, "error", err)
	return &skills.Skill{
		Name: at.label.Name, Source: skills.SourceUser, Status: skills.Blocked, BlockedWhy: "it can't be read from the store now: hotcell's log says why",
	}
}

// List implements [skills.Catalog]. Of custom skills it has what lists tell: their files come with [view.Find].
func (v *view) List() []*skills.Skill {
	all := v.shipped.List()
	if len(v.packs) == 0 {
		return all
	}
	ctx, cancel := brief(context.Background())
	defer cancel()
	_ = v.listed(ctx, v.places(), func(at place, g *glance, err error) error { // which never fails
		if err != nil {
			all = append(all, v.unread(at, err))
			return nil
		}
		all = append(all, g.skill)
		return nil
	})
	slices.SortStableFunc(all, func(a, b *skills.Skill) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// places returns the custom skills that count: those whose name nobody has before them.
func (v *view) places() (places []place) {
	taken := map[string]bool{}
	for _, p := range v.packs {
		for _, name := range p.names {
			if taken[name] || v.shipped.Lookup(name) != nil {
				continue
			}
			taken[name] = true
			places = append(places, place{p, p.slots[name]})
		}
	}
	return places
}
