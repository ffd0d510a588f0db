package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/host"
)

// whose are the flags that name a principal.
type whose struct{ principal, group string }

func (w *whose) flags(c *cobra.Command, otherwise string) {
	c.Flags().StringVar(&w.principal, "principal", "", "`NAME` of the user whose agent it is ("+otherwise+")")
	c.Flags().StringVar(&w.group, "group", "", "`NAME` of the group whose agent it is")
}

// caller is an operator who stands in for a principal, or for all where none is named.
func (w *whose) caller() (a2e.Caller, error) {
	who := a2e.Caller{Principal: w.principal, Door: "cli", Admin: w.principal == "" && w.group == ""}
	if w.principal != "" && !auth.Name(w.principal) {
		return who, usagef("--principal: %s is no name of a principal", oneLine(w.principal, 60))
	}
	if w.group == "" {
		return who, nil
	}
	if w.principal != "" || !auth.Name(w.group) {
		return who, usagef("--group: expected the name of a group, and no --principal beside it")
	}
	who.Groups = map[string]string{w.group: string(auth.RoleOwner)}
	return who, nil
}

func (a *app) agentsCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "agents", Short: "Say which skills agents may use",
		Long: "Say which skills agents may use. An agent that is known here has an allowlist: its own, or that of its principal. It\n" +
			"finds, reads and calls what is on it, and nothing else. An agent that is not known here has none. A daemon that has\n" +
			"the same data folder follows within a second. AGENT is a name or, as 'agents list' shows it, a number.",
	}
	group(c)
	c.AddCommand(a.listAgentsCmd(), a.createAgentCmd(), a.allowCmd(true), a.allowCmd(false), a.enableCmd(true), a.enableCmd(false), a.deleteAgentCmd())
	return c
}

func (a *app) listAgentsCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the agents and what they may use", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.atDesk(c.Context(), func(ctx context.Context, d *host.Desk) error { return a.listAgents(ctx, d, asJSON) })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// atDesk opens the catalog for one command. What it refuses is the user's to mend.
func (a *app) atDesk(ctx context.Context, do func(context.Context, *host.Desk) error) error {
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	d, err := host.OpenDesk(ctx, cfg, a.logger(slog.LevelWarn))
	var bad *host.ConfigError
	if errors.As(err, &bad) {
		return usagef("%w", err)
	}
	if err != nil {
		return err
	}
	err = do(ctx, d)
	var e *catalog.Error
	if errors.As(err, &e) {
		err = usagef("%s", oneLine(e.Message, 500))
	}
	return errors.Join(err, d.Close())
}

// allowedAgent is an agent with what it may use.
type allowedAgent struct {
	catalog.Agent
	Owner   string    `json:"principal"`
	Allowed *[]string `json:"allowed_skills"`
	Source  string    `json:"allowed_from"`
}

func (a *app) listAgents(ctx context.Context, d *host.Desk, asJSON bool) error {
	who := a2e.Caller{Door: "cli", Admin: true}
	all, err := d.Agents.List(ctx, who)
	if err != nil {
		return err
	}
	list := make([]allowedAgent, 0, len(all))
	for _, one := range all {
		o, err := d.Agents.Override(ctx, who, one.ID, 0, catalog.SkillToolName)
		if err != nil {
			return err
		}
		owner, err := ownerName(ctx, d, one.Principal)
		if err != nil {
			return err
		}
		list = append(list, allowedAgent{one, owner, o.Allowed, o.Source})
	}
	if asJSON {
		return a.printJSON(list)
	}
	rows := make([][]string, len(list))
	for i, one := range list {
		rows[i] = []string{fmt.Sprint(one.ID), one.Name, one.Owner, strings.Join(switchedOn(one.Tools), ","), one.uses()}
	}
	table(a.out, []string{"ID", "NAME", "PRINCIPAL", "TOOLS", "SKILLS"}, rows)
	return a.out.failed()
}

// ownerName is a principal in words: "alice", "group:team", or "-" for whoever calls where nothing authenticates.
func ownerName(ctx context.Context, d *host.Desk, principal int64) (string, error) {
	o, err := d.Store.Principal(ctx, principal)
	switch {
	case err != nil:
		return "", err
	case o.Kind == catalog.KindGroup:
		return "group:" + o.Name, nil
	case o.Name == "":
		return "-", nil
	}
	return o.Name, nil
}

func switchedOn(tools []catalog.Toggle) (names []string) {
	for _, t := range tools {
		if t.Enabled {
			names = append(names, t.Tool)
		}
	}
	return names
}

// uses says in words what an agent may use.
func (one *allowedAgent) uses() string {
	on := false
	for _, t := range one.Tools {
		on = on || t.Tool == catalog.SkillToolName && t.Enabled
	}
	if !on || one.Allowed == nil || len(*one.Allowed) == 0 {
		return "none"
	}
	text := oneLine(strings.Join(*one.Allowed, ","), 500)
	if one.Source == "principal" {
		text += " (its principal's)"
	}
	return text
}

func (a *app) createAgentCmd() *cobra.Command {
	var w whose
	c := &cobra.Command{
		Use: "create NAME", Short: "Make an agent, which may use nothing yet", Args: exactly("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			who, err := w.caller()
			if err != nil {
				return err
			}
			return a.atDesk(c.Context(), func(ctx context.Context, d *host.Desk) error {
				principal, err := numberOf(ctx, d, w)
				if err != nil {
					return err
				}
				made, err := d.Agents.Create(ctx, who, principal, args[0])
				if err != nil {
					return err
				}
				a.errs.line(fmt.Sprintf("made agent %s, number %d: it may use nothing until 'hotcell agents allow'", made.Name, made.ID))
				return nil
			})
		},
	}
	w.flags(c, "default: whoever calls where nothing authenticates")
	return c
}

// numberOf is the number of the principal that the flags name.
func numberOf(ctx context.Context, d *host.Desk, w whose) (int64, error) {
	o := catalog.Owner{Kind: catalog.KindUser, Name: w.principal}
	if w.group != "" {
		o = catalog.Owner{Kind: catalog.KindGroup, Name: w.group}
	}
	ids, err := d.Store.EnsurePrincipals(ctx, []catalog.Owner{o})
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

func (a *app) allowCmd(on bool) *cobra.Command {
	var w whose
	c := &cobra.Command{Use: "allow AGENT SKILL...", Short: "Put skills on an agent's allowlist"}
	if !on {
		c.Use, c.Short = "deny AGENT SKILL...", "Take skills off an agent's allowlist"
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) < 2 {
			return usagef("%sexpected an agent and the names of skills (see '%s')", prefix(c), helpFor(c))
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.atDesk(c.Context(), func(ctx context.Context, d *host.Desk) error { return a.allow(ctx, d, &w, args[0], args[1:], on) })
	}
	w.flags(c, "needed where several have an agent of that name")
	return c
}

func (a *app) allow(ctx context.Context, d *host.Desk, w *whose, name string, skills []string, on bool) error {
	who, agent, err := w.agent(ctx, d, name)
	if err != nil {
		return err
	}
	flow := d.Agents.SkillOff
	if on {
		flow = d.Agents.SkillOn
	}
	for _, skill := range skills {
		if agent, err = flow(ctx, who, agent.ID, catalog.AnyRevision, skill); err != nil {
			return err
		}
	}
	o, err := d.Agents.Override(ctx, who, agent.ID, 0, catalog.SkillToolName)
	if err != nil {
		return err
	}
	now := "nothing"
	if o.Allowed != nil && len(*o.Allowed) > 0 {
		now = strings.Join(*o.Allowed, ", ")
	}
	a.errs.line(fmt.Sprintf("%s may use %s", oneLine(agent.Name, 80), oneLine(now, 500)))
	if on {
		return a.warnOfUnknown(ctx, d, agent, skills)
	}
	return nil
}

func (a *app) deleteAgentCmd() *cobra.Command {
	var w whose
	c := &cobra.Command{
		Use: "delete AGENT", Short: "Forget an agent: no allowlist applies to it any more", Args: exactly("AGENT"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.atDesk(c.Context(), func(ctx context.Context, d *host.Desk) error {
				who, agent, err := w.agent(ctx, d, args[0])
				if err == nil {
					err = d.Agents.Delete(ctx, who, agent.ID, catalog.AnyRevision)
				}
				if err == nil {
					a.errs.line(fmt.Sprintf("deleted: %s, number %d", oneLine(agent.Name, 80), agent.ID))
				}
				return err
			})
		},
	}
	w.flags(c, "needed where several have an agent of that name")
	return c
}
