package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/store"
)

// maxNamesakes is how many agents of one name a message lists.
const maxNamesakes = 5

// agent finds the agent that an argument means: by its number, which no name is, or by its name where that is one agent's alone.
func (w *whose) agent(ctx context.Context, d *host.Desk, named string) (a2e.Caller, *catalog.Agent, error) {
	who, err := w.caller()
	if err != nil {
		return who, nil, err
	}
	all, err := d.Agents.List(ctx, who)
	if err != nil {
		return who, nil, err
	}
	named = strings.TrimSpace(named)
	id, _ := strconv.ParseInt(named, 10, 64)
	var found []catalog.Agent
	for _, one := range all {
		if one.Name != named && (id <= 0 || one.ID != id) {
			continue
		}
		owner, err := d.Store.Principal(ctx, one.Principal)
		if err != nil {
			return who, nil, err
		}
		if w.group == "" || owner == (catalog.Owner{Kind: catalog.KindGroup, Name: w.group}) {
			found = append(found, one)
		}
	}
	switch len(found) {
	case 0:
		return who, nil, usagef("there is no agent %s%s: 'hotcell agents list' shows those that there are", oneLine(named, 80), w.ofWhom())
	case 1:
		return who, &found[0], nil
	}
	var each []string
	for i, one := range found {
		if i == maxNamesakes {
			each = append(each, "...")
			break
		}
		owner, err := ownerName(ctx, d, one.Principal)
		if err != nil {
			return who, nil, err
		}
		each = append(each, fmt.Sprintf("%d (%s)", one.ID, oneLine(owner, 80)))
	}
	return who, nil, usagef("%d agents are called %s: say which with --principal, --group or its number: %s", len(found), oneLine(named, 80), strings.Join(each, ", "))
}

// ofWhom is the principal that the flags name, for messages.
func (w *whose) ofWhom() string {
	switch {
	case w.group != "":
		return " of the group " + oneLine(w.group, 80)
	case w.principal != "":
		return " of " + oneLine(w.principal, 80)
	}
	return ""
}

// warnOfUnknown says which of the names that were put on an allowlist are no skills that the agent's principal can call now.
// They may become some later.
func (a *app) warnOfUnknown(ctx context.Context, d *host.Desk, agent *catalog.Agent, names []string) error {
	owner, err := d.Store.Principal(ctx, agent.Principal)
	if err != nil {
		return err
	}
	who := a2e.Caller{Principal: owner.Name, Door: "cli"}
	if owner.Kind == catalog.KindGroup {
		who = a2e.Caller{Door: "cli", Groups: map[string]string{owner.Name: string(auth.RoleOwner)}}
	}
	callable, err := d.Reader.Callable(ctx, who)
	if err != nil {
		return err
	}
	known, listed := map[string]bool{}, map[string]bool{}
	for _, entry := range callable {
		known[catalog.Fold(entry.Definition.Name)], listed[catalog.Fold(entry.Definition.Name)] = true, !entry.Hosted
	}
	off := map[string]bool{}
	for _, t := range agent.Tools {
		off[t.Tool] = !t.Enabled
	}
	for _, name := range names {
		if off[catalog.Fold(name)] && !listed[catalog.Fold(name)] {
			a.errs.line(fmt.Sprintf("hotcell: warning: %s is a tool, which no allowlist opens: 'hotcell agents enable' switches it on", oneLine(name, 80)))
			continue
		}
		if known[catalog.Fold(name)] {
			continue
		}
		hint := "'hotcell skills list' shows those that are shipped"
		if near := strings.ReplaceAll(catalog.Fold(name), "_", "-"); known[near] {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		a.errs.line(fmt.Sprintf("hotcell: warning: there is no skill %s that it could call now: %s", oneLine(name, 80), hint))
	}
	return nil
}

// warnOfUnbounded says that the agent which a token is bound to has no allowlist, since nobody made that agent.
func (a *app) warnOfUnbounded(ctx context.Context, journal *store.Store, t auth.Token) {
	if t.Agent == "" {
		return
	}
	holdings, _, err := journal.AgentHoldings(ctx, 0)
	if err != nil {
		a.errs.line("hotcell: warning: the agents can't be read: " + oneLine(err.Error(), 300))
		return
	}
	for _, h := range holdings {
		its := h.Owner == (catalog.Owner{Kind: catalog.KindUser, Name: t.Principal})
		for _, m := range t.Groups {
			its = its || h.Owner == (catalog.Owner{Kind: catalog.KindGroup, Name: m.Group})
		}
		if its && slices.ContainsFunc(h.Agents, func(r catalog.AgentRecord) bool { return r.Name == t.Agent }) {
			return
		}
	}
	a.errs.line(fmt.Sprintf("hotcell: warning: there is no agent %s, so no allowlist applies to it: 'hotcell agents create %s --principal %s' makes it", t.Agent, t.Agent, t.Principal))
}
