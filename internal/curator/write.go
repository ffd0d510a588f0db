package curator

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// The provenances.
const (
	byHuman = "human"
	byAgent = "agent"
)

// Create implements [catalog.Custom].
func (c custom) Create(ctx context.Context, who a2e.Caller, principal int64, d catalog.Draft) (*catalog.CustomSkill, error) {
	at, err := c.writable(ctx, who, principal)
	if err != nil {
		return nil, err
	}
	r, err := c.newRecord(ctx, who, at, d)
	if err != nil {
		return nil, err
	}
	kept, err := c.store.AddCustomSkill(ctx, self(who), r, mostSkills)
	switch {
	case errors.Is(err, catalog.ErrFull):
		return nil, full()
	case errors.Is(err, catalog.ErrTaken):
		return nil, taken(r.Name)
	case err != nil:
		return nil, err
	}
	return c.written(ctx, at.owner, kept), nil
}

func full() error {
	return refuse(catalog.LimitReached, "This principal already has the maximum of %d custom skills. Delete one before creating another.", mostSkills)
}

func taken(name string) error {
	return refuse(catalog.NameTaken, "A skill named '%s' already exists on this principal.", shown(name))
}

// newRecord checks a draft in the documented order: quota, name, files, taken, reserved, description, total, frontmatter.
func (c custom) newRecord(ctx context.Context, who a2e.Caller, at owned, d catalog.Draft) (catalog.Record, error) {
	var r catalog.Record
	n, err := c.count(ctx, at)
	if err != nil {
		return r, err
	}
	if n >= mostSkills {
		return r, full()
	}
	name, err := requiredName(d)
	if err != nil {
		return r, err
	}
	if d.Files != nil {
		if err := checkFiles(*d.Files); err != nil {
			return r, err
		}
		if err := c.checkCode(at.owner, *d.Files); err != nil {
			return r, err
		}
	}
	if err := c.free(ctx, who, at, name); err != nil {
		return r, err
	}
	content, err := merge(catalog.Content{}, d)
	if err != nil {
		return r, err
	}
	if err := c.check(at.owner, name, content); err != nil {
		return r, err
	}
	return catalog.Record{Principal: at.id, Name: name, Content: content, Provenance: provenance(d)}, nil
}

func (c custom) count(ctx context.Context, at owned) (int, error) {
	if at.id == 0 {
		return 0, nil
	}
	return c.store.CountCustomSkills(ctx, at.id)
}

// free makes sure that a name is neither a skill of the principal's nor a shipped one's.
func (c custom) free(ctx context.Context, who a2e.Caller, at owned, name string) error {
	if at.id != 0 {
		switch _, err := c.store.CustomSkill(ctx, at.id, name); {
		case err == nil:
			return taken(name)
		case !errors.Is(err, catalog.ErrNone):
			return err
		}
	}
	reserved, err := c.reserved(ctx, who, name)
	if err == nil && reserved {
		err = refuse(catalog.NameReserved, "'%s' is the name of a shipped skill. A custom skill cannot shadow it.", shown(name))
	}
	return err
}

func provenance(d catalog.Draft) string {
	if d.Provenance == byAgent {
		return byAgent
	}
	return byHuman
}

// written has everybody see what was written, and returns it.
func (c custom) written(ctx context.Context, o catalog.Owner, r catalog.Record) *catalog.CustomSkill {
	c.roster.again(ctx)
	s := c.present(ctx, o, r)
	return &s
}

// mostTries bounds how often a write that names no revision is tried again, since others write the same skill.
const mostTries = 20

// replace changes a skill: change says what it becomes.
func (c custom) replace(ctx context.Context, who a2e.Caller, principal int64, name string, match int64, by string,
	change func(at owned, old catalog.Record) (catalog.Content, error)) (*catalog.CustomSkill, error) {
	for range mostTries {
		at, old, err := c.toWrite(ctx, who, principal, name, match)
		if err != nil {
			return nil, err
		}
		content, err := change(at, old)
		if err == nil {
			err = c.check(at.owner, old.Name, content)
		}
		if err != nil {
			return nil, err
		}
		next := old
		next.Content, next.Provenance = content, by
		kept, err := c.store.ReplaceCustomSkill(ctx, self(who), next, old.Content)
		switch {
		case err == nil:
			return c.written(ctx, at.owner, kept), nil
		case !errors.Is(err, catalog.ErrStale):
			return nil, err
		}
	}
	return nil, conflict(name)
}

// toWrite returns a skill that the caller may write, if it has the revision that the caller names.
func (c custom) toWrite(ctx context.Context, who a2e.Caller, principal int64, name string, match int64) (owned, catalog.Record, error) {
	name = strings.TrimSpace(name)
	at, err := c.writable(ctx, who, principal)
	if err != nil {
		return at, catalog.Record{}, err
	}
	r, err := c.store.CustomSkill(ctx, at.id, name)
	switch {
	case errors.Is(err, catalog.ErrNone):
		err = notFound(name)
	case err == nil && match != catalog.AnyRevision && match != r.Revision:
		err = conflict(name)
	}
	return at, r, err
}

// Update implements [catalog.Custom].
func (c custom) Update(ctx context.Context, who a2e.Caller, principal int64, name string, match int64, d catalog.Draft) (*catalog.CustomSkill, error) {
	return c.replace(ctx, who, principal, name, match, provenance(d), func(at owned, old catalog.Record) (catalog.Content, error) {
		return c.changed(at, old, d)
	})
}

// changed is what a skill becomes by an update.
func (c custom) changed(at owned, old catalog.Record, d catalog.Draft) (catalog.Content, error) {
	if d.Name != nil && strings.TrimSpace(*d.Name) != old.Name {
		return old.Content, refuse(catalog.ValidationError, "name cannot be changed by update. Delete '%s' and create '%s' instead.",
			old.Name, shown(strings.TrimSpace(*d.Name)))
	}
	if d.Files != nil {
		if err := checkFiles(*d.Files); err != nil {
			return old.Content, err
		}
	}
	content, err := merge(old.Content, d)
	return content, cmp.Or(err, c.checkCode(at.owner, content.Files))
}

// Restore implements [catalog.Custom]. What the skill may use is no content, and stays.
func (c custom) Restore(ctx context.Context, who a2e.Caller, principal int64, name string, match int64) (*catalog.CustomSkill, error) {
	return c.replace(ctx, who, principal, name, match, byHuman, func(at owned, old catalog.Record) (catalog.Content, error) {
		before, err := c.store.PreviousCustomSkill(ctx, old.ID)
		if errors.Is(err, catalog.ErrNone) {
			return before, refuse(catalog.NoPrevious, "Skill '%s' has no previous version to restore.", old.Name)
		}
		before.AllowedTools = old.Content.AllowedTools
		return before, cmp.Or(err, c.checkCode(at.owner, before.Files))
	})
}

// Delete implements [catalog.Custom].
func (c custom) Delete(ctx context.Context, who a2e.Caller, principal int64, name string, match int64) (*catalog.Deleted, error) {
	for range mostTries {
		_, r, err := c.toWrite(ctx, who, principal, name, match)
		if err != nil {
			return nil, err
		}
		rows, err := c.store.DropCustomSkill(ctx, r)
		if errors.Is(err, catalog.ErrStale) {
			continue
		}
		if err != nil {
			return nil, err
		}
		c.roster.again(ctx)
		if a, ok := c.Gate.(*Agents); ok {
			a.book.again(ctx) // what agents may use has changed with it
		}
		d := &catalog.Deleted{Name: r.Name, Agents: []catalog.AllowlistRow{}}
		for _, row := range rows {
			if row.Scope == scopeAgent {
				d.Agents = append(d.Agents, row)
			} else {
				d.PrincipalDefault = true
			}
		}
		return d, nil
	}
	return nil, conflict(name)
}

// scopeAgent is an [catalog.AllowlistRow] of an agent's own.
const scopeAgent = "agent"
