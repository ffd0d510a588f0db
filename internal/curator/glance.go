package curator

import (
	"context"
	"errors"
	"io/fs"
	"reflect"
	"slices"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

// mostListed is how much one list tells of custom skills, in bytes, roughly. What is beyond that is found by its name.
const mostListed = 16 << 20

// glance is what lists tell of a custom skill: all of it that is needed to find and to call it. It never changes.
type glance struct {
	skill     *skills.Skill // without instructions, files and compiled schemas
	principal int64
	files     int
	bytes     int64

	alone          bool
	shipped, tools uint64 // their versions
	pack           int64
}

// fits reports whether a glance is still what it would be now.
func (g *glance) fits(shipped, tools uint64, pack int64) bool {
	return g != nil && (g.alone || g.shipped == shipped && g.tools == tools && g.pack == pack)
}

// glance returns what lists tell of the skill in a slot; nil if it is there no more. Unlike [Curator.make] it keeps nothing
// else of it in memory: a list may be of thousands.
func (c *Curator) glance(ctx context.Context, p *pack, s *slot) (*glance, error) {
	now := glance{pack: p.version, shipped: c.shipped.Version(), tools: c.tools.Version()}
	s.short.use()
	old := s.glanced.Load()
	if old.fits(now.shipped, now.tools, now.pack) {
		return old, nil
	}
	e, done, err := c.peek(ctx, p, s, now)
	if e == nil {
		return done, err
	}
	others := finder{c, ctx, p, nil}
	skill := e.part.Compose(c.tools, others.find)
	if others.err != nil {
		return nil, others.err
	}
	return c.keepGlance(s, e, now, skill), nil
}

// peek reads a slot for a glance, one reader at a time. The glance is done unless the skill needs others.
func (c *Curator) peek(ctx context.Context, p *pack, s *slot, now glance) (*entry, *glance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.glanced.Load(); g.fits(now.shipped, now.tools, now.pack) {
		return nil, g, nil
	}
	e := s.part.Load()
	if e == nil {
		r, err := c.store.CustomSkill(ctx, p.id, s.label.Name)
		switch {
		case errors.Is(err, catalog.ErrNone):
			return nil, nil, nil
		case err != nil:
			return nil, nil, err
		}
		e = c.read(p.owner, r)
	}
	if e.part.Alone() {
		return nil, c.keepGlance(s, e, now, e.part.Skill()), nil
	}
	return e, nil, nil
}

// keepGlance keeps what lists tell of a skill as it is now.
func (c *Curator) keepGlance(s *slot, e *entry, now glance, skill *skills.Skill) *glance {
	short := *skill
	short.Instructions, short.Bundle.FS, short.Input, short.Output = "", noFiles{}, nil, nil
	short.Findings = slices.Clone(skill.Findings[:min(len(skill.Findings), 1)])
	g := &now
	g.skill, g.principal, g.files, g.alone, g.bytes = &short, e.record.Principal, len(e.files), e.part.Alone(), e.told
	if old := s.glanced.Load(); old != nil && reflect.DeepEqual(old.skill, g.skill) {
		g.skill = old.skill
	}
	s.glanced.Store(g)
	c.glances.filled(&s.short, g.bytes)
	return g
}

// noFiles stands where a list has no files.
type noFiles struct{}

func (noFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("lists have no files: find the skill by its name")}
}

// told is about how many bytes a glance takes: what SKILL.md says at its top, and what skill.yaml says.
func told(files map[string]string, body string) int64 {
	return overhead/4 + 2*int64(len(files[entryFile])-len(body)+len(files["skill.yaml"]))
}

// listed tells what a list tells of the custom skills in some places, until that is too much; of one that can't be read, the
// error. It stops where tell fails.
func (c *Curator) listed(ctx context.Context, places []place, tell func(at place, g *glance, err error) error) error {
	room := c.room
	for _, at := range places {
		g, err := c.glance(ctx, at.pack, at.slot)
		if err == nil && g == nil {
			continue
		}
		if g != nil {
			if room -= g.bytes; room < 0 {
				return nil
			}
		}
		if err := tell(at, g, err); err != nil {
			return err
		}
	}
	return nil
}
