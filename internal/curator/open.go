package curator

import (
	"context"
	"errors"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// Open implements [catalog.Custom].
func (c custom) Open(ctx context.Context, who a2e.Caller, principal int64, name string) (*catalog.Opened, error) {
	at, r, err := c.find(ctx, who, principal, name)
	if err != nil {
		return nil, err
	}
	o := &catalog.Opened{CustomSkill: c.present(ctx, at.owner, r), Content: r.Content}
	if o.Creator, err = c.nameOf(ctx, r.CreatedBy); err != nil {
		return nil, err
	}
	if o.Updater, err = c.nameOf(ctx, r.UpdatedBy); err != nil {
		return nil, err
	}
	if !r.HasPrevious || !writes(role(who, at.owner)) {
		return o, nil
	}
	switch before, err := c.store.PreviousCustomSkill(ctx, r.ID); {
	case err == nil:
		o.Previous = &before
	case !errors.Is(err, catalog.ErrNone):
		return nil, err
	}
	return o, nil
}

func (c custom) nameOf(ctx context.Context, principal int64) (string, error) {
	o, err := c.store.Principal(ctx, principal)
	if errors.Is(err, catalog.ErrNone) {
		return "", nil
	}
	return o.Name, err
}

// Check implements [catalog.Custom], with the very checks that writes go through.
func (c custom) Check(ctx context.Context, who a2e.Caller, principal int64, name string, d catalog.Draft) ([]catalog.Finding, error) {
	if name == "" {
		at, err := c.writable(ctx, who, principal)
		if err != nil {
			return nil, err
		}
		r, err := c.newRecord(ctx, who, at, d)
		if err != nil {
			return nil, err
		}
		return c.present(ctx, at.owner, r).Warnings, nil
	}
	at, r, err := c.toWrite(ctx, who, principal, name, catalog.AnyRevision)
	if err != nil {
		return nil, err
	}
	if r.Content, err = c.changed(at, r, d); err == nil {
		err = c.check(at.owner, r.Name, r.Content)
	}
	if err != nil {
		return nil, err
	}
	return c.present(ctx, at.owner, r).Warnings, nil
}
