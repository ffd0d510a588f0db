package curator

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// The roles that may write what is a group's.
const (
	roleAdmin = "admin"
	roleOwner = "owner"
)

// owned is a principal that a caller asked for.
type owned struct {
	id    int64 // 0: it has none yet
	owner catalog.Owner
}

// role returns what a caller is to a principal, "" for a stranger. That it is an operator counts for nothing.
func role(who a2e.Caller, o catalog.Owner) string {
	switch {
	case o == self(who):
		return roleOwner
	case o.Kind == catalog.KindGroup:
		return who.Groups[o.Name]
	}
	return ""
}

func writes(role string) bool { return role == roleAdmin || role == roleOwner }

// readable returns the principal of a number, the caller's own for 0, if the caller can see it. [catalog.ErrNone] if it
// can't, or if there is none.
func (c *Curator) readable(ctx context.Context, who a2e.Caller, principal int64) (owned, error) {
	o, id := self(who), principal
	var err error
	if principal <= 0 {
		id, err = c.store.PrincipalID(ctx, o)
	} else if o, err = c.store.Principal(ctx, principal); err == nil && role(who, o) == "" {
		err = catalog.ErrNone
	}
	if err != nil {
		return owned{id, o}, err
	}
	group, err := c.group(ctx, who)
	if err == nil && group != "" && o != (catalog.Owner{Kind: catalog.KindGroup, Name: group}) {
		err = catalog.ErrNone
	}
	return owned{id, o}, err
}

// writable returns the same if the caller may write there. It fails with Forbidden where the caller may not, and where there
// is no such principal.
func (c *Curator) writable(ctx context.Context, who a2e.Caller, principal int64) (owned, error) {
	at, err := c.readable(ctx, who, principal)
	switch {
	case errors.Is(err, catalog.ErrNone) && principal <= 0:
		return owned{0, self(who)}, nil // the first write gives it a number
	case errors.Is(err, catalog.ErrNone), err == nil && !writes(role(who, at.owner)):
		return owned{}, forbidden()
	}
	return at, err
}

// Principals implements [catalog.Reader].
func (c *Curator) Principals(ctx context.Context, who a2e.Caller) ([]catalog.Principal, error) {
	owners := []catalog.Owner{self(who)}
	for _, group := range slices.Sorted(maps.Keys(who.Groups)) {
		owners = append(owners, catalog.Owner{Kind: catalog.KindGroup, Name: group})
	}
	ids, err := c.store.EnsurePrincipals(ctx, owners)
	if err != nil {
		return nil, err
	}
	out := make([]catalog.Principal, len(owners))
	for i, o := range owners {
		r := role(who, o)
		out[i] = catalog.Principal{ID: ids[i], Kind: o.Kind, Name: o.Name, Role: r, Write: writes(r)}
	}
	return out, nil
}
