package curator

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// Custom returns the catalog's custom skills.
func (c *Curator) Custom() catalog.Custom { return custom{c} }

// custom is the [catalog.Custom] of a curator.
type custom struct{ *Curator }

// List implements [catalog.Custom].
func (c custom) List(ctx context.Context, who a2e.Caller, principal int64) ([]catalog.CustomSkill, error) {
	at, err := c.readable(ctx, who, principal)
	if errors.Is(err, catalog.ErrNone) {
		return []catalog.CustomSkill{}, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := c.store.CustomNames(ctx, at.id)
	if err != nil {
		return nil, err
	}
	allows, err := c.allows(ctx, who)
	if err != nil {
		return nil, err
	}
	out := make([]catalog.CustomSkill, 0, len(names))
	for _, name := range names { // one at a time: none stays with all its files
		if !allows(name) {
			continue
		}
		r, err := c.store.CustomSkill(ctx, at.id, name)
		switch {
		case errors.Is(err, catalog.ErrNone): // deleted meanwhile
		case err != nil:
			return nil, err
		default:
			out = append(out, c.present(ctx, at.owner, r))
		}
	}
	return out, nil
}

// Show implements [catalog.Custom].
func (c custom) Show(ctx context.Context, who a2e.Caller, principal int64, name string) (*catalog.CustomSkill, error) {
	at, r, err := c.find(ctx, who, principal, name)
	if err != nil {
		return nil, err
	}
	s := c.present(ctx, at.owner, r)
	return &s, nil
}

// Read implements [catalog.Custom].
func (c custom) Read(ctx context.Context, who a2e.Caller, principal int64, name, path string) ([]byte, error) {
	_, r, err := c.find(ctx, who, principal, name)
	if err != nil {
		return nil, err
	}
	content, listed := r.Content.Files[path]
	if path == entryFile {
		content, listed = skillMD(r.Name, r.Content), true
	}
	switch {
	case !listed || !safePath(path):
		return nil, refuse(catalog.FileNotFound, "'%s' is not a file of this skill.", shown(path))
	case len(content) > catalog.MaxRead:
		return nil, tooLarge(path)
	}
	return []byte(content), nil
}

// Allowlist implements [catalog.Custom].
func (c custom) Allowlist(ctx context.Context, who a2e.Caller, principal int64, name string) ([]catalog.AllowlistRow, error) {
	at, r, err := c.find(ctx, who, principal, name)
	if err != nil {
		return nil, err
	}
	rows, err := c.store.Allowlist(ctx, at.id, r.Name)
	if rows == nil {
		rows = []catalog.AllowlistRow{}
	}
	return rows, err
}

// allows says what a caller's agent may use: what it may not, it does not read either.
func (c *Curator) allows(ctx context.Context, who a2e.Caller) (func(name string) bool, error) {
	var gate func(string) bool
	var err error
	if c.Gate != nil {
		gate, err = c.Gate.Gate(ctx, who)
	}
	if gate == nil {
		gate = func(string) bool { return true }
	}
	return gate, err
}

// find returns a custom skill that the caller can see. A name that is not there and a principal that can't be seen are one.
func (c custom) find(ctx context.Context, who a2e.Caller, principal int64, name string) (owned, catalog.Record, error) {
	name = strings.TrimSpace(name)
	at, err := c.readable(ctx, who, principal)
	if err == nil {
		var r catalog.Record
		if r, err = c.store.CustomSkill(ctx, at.id, name); err == nil {
			var allows func(string) bool
			if allows, err = c.allows(ctx, who); err == nil && allows(name) {
				return at, r, nil
			}
			err = cmp.Or(err, catalog.ErrNone)
		}
	}
	if errors.Is(err, catalog.ErrNone) {
		err = notFound(name)
	}
	return owned{}, catalog.Record{}, err
}

// present is a record as callers see it.
func (c *Curator) present(ctx context.Context, o catalog.Owner, r catalog.Record) catalog.CustomSkill {
	e := c.read(o, r)
	s := e.part.Skill()
	if !e.part.Alone() {
		others := finder{c, ctx, c.known(ctx, r.Principal), nil}
		if whole := e.part.Compose(c.tools, others.find); others.err == nil {
			s = whole
		}
	}
	return catalog.CustomSkill{
		ID: r.ID, Principal: r.Principal, Name: r.Name, Description: r.Content.Description, License: r.Content.License,
		Compatibility: r.Content.Compatibility, AllowedTools: r.Content.AllowedTools, Metadata: r.Content.Metadata, Body: r.Content.Body,
		Provenance: r.Provenance, CreatedBy: r.CreatedBy, UpdatedBy: r.UpdatedBy, Created: r.Created, Updated: r.Updated,
		Files: e.files, HasPrevious: r.HasPrevious, Warnings: findings(s.Findings), Revision: r.Revision,
	}
}

// known is what a principal has, as far as it can be told now.
func (c *Curator) known(ctx context.Context, principal int64) *pack {
	if p, err := c.roster.look(ctx); err == nil {
		return p.ids[principal]
	}
	return nil
}
