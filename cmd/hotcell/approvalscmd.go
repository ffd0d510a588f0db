package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/host"
)

func (a *app) approvalsCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "approvals", Short: "Decide about writes of skills that agents asked for",
		Long: "Decide about writes of skills that agents asked for. Nothing is written before somebody has approved it. Who has the\n" +
			"data folder decides for every principal.",
	}
	group(c)
	c.AddCommand(a.listApprovalsCmd(), a.showApprovalCmd(), a.approveCmd(), a.denyCmd())
	return c
}

func (a *app) listApprovalsCmd() *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List what waits for a decision", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.atDesk(c.Context(), func(ctx context.Context, d *host.Desk) error { return a.listApprovals(ctx, d, all, asJSON) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "list those too that are decided or have expired")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

const pendingApproval = "pending"

func (a *app) listApprovals(ctx context.Context, d *host.Desk, all, asJSON bool) error {
	kept, err := d.Store.EveryApproval(ctx)
	if err != nil {
		return err
	}
	list := []catalog.Approval{}
	for _, one := range kept {
		if all || one.State == pendingApproval {
			list = append(list, one)
		}
	}
	if asJSON {
		return a.printJSON(list)
	}
	rows := make([][]string, len(list))
	for i, one := range list {
		owner, err := ownerName(ctx, d, one.Principal)
		if err != nil {
			return err
		}
		rows[i] = []string{one.ID, one.State, one.Action, oneLine(one.Skill, 64), owner, oneLine(one.Agent, 80), one.Expires.Local().Format(time.DateTime), oneLine(one.Why, 200)}
	}
	table(a.out, []string{"ID", "STATE", "ACTION", "SKILL", "PRINCIPAL", "AGENT", "EXPIRES", "WHY"}, rows)
	return a.out.failed()
}

// standIn finds a request, and is an operator who decides in the place of its principal.
func standIn(ctx context.Context, d *host.Desk, id string) (a2e.Caller, error) {
	who := a2e.Caller{Door: "cli", Admin: true}
	found, err := d.Store.Approval(ctx, id)
	if errors.Is(err, catalog.ErrNone) {
		return who, usagef("there is no approval %s: 'hotcell approvals list --all' shows those that are kept", oneLine(id, 60))
	}
	if err != nil {
		return who, err
	}
	owner, err := d.Store.Principal(ctx, found.Principal)
	if owner.Kind == catalog.KindGroup {
		who.Groups = map[string]string{owner.Name: string(auth.RoleOwner)}
	} else {
		who.Principal = owner.Name
	}
	return who, err
}

func (a *app) showApprovalCmd() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Print a request as JSON: what would be written", Args: exactly("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.atDesk(c.Context(), func(ctx context.Context, d *host.Desk) error {
				who, err := standIn(ctx, d, args[0])
				if err != nil {
					return err
				}
				found, err := d.Approvals.Show(ctx, who, args[0])
				if err != nil {
					return err
				}
				return a.printJSON(found)
			})
		},
	}
}

func (a *app) approveCmd() *cobra.Command {
	return &cobra.Command{
		Use: "approve ID", Short: "Approve a write, which carries it out", Args: exactly("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.decide(c.Context(), args[0], func(ctx context.Context, d *host.Desk, who a2e.Caller) (*catalog.Approval, error) {
				return d.Approvals.Approve(ctx, who, args[0])
			})
		},
	}
}

func (a *app) denyCmd() *cobra.Command {
	var why string
	c := &cobra.Command{
		Use: "deny ID", Short: "Deny a write", Args: exactly("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.decide(c.Context(), args[0], func(ctx context.Context, d *host.Desk, who a2e.Caller) (*catalog.Approval, error) {
				return d.Approvals.Deny(ctx, who, args[0], why)
			})
		},
	}
	c.Flags().StringVar(&why, "why", "", "`TEXT` that the agent is told")
	return c
}

func (a *app) decide(ctx context.Context, id string, do func(context.Context, *host.Desk, a2e.Caller) (*catalog.Approval, error)) error {
	return a.atDesk(ctx, func(ctx context.Context, d *host.Desk) error {
		who, err := standIn(ctx, d, id)
		if err != nil {
			return err
		}
		got, err := do(ctx, d, who)
		if err != nil {
			return err
		}
		a.errs.line(fmt.Sprintf("%s: %s %s", got.State, got.Action, oneLine(got.Skill, 64)))
		if got.State == "failed" {
			return fmt.Errorf("the write failed: %s", oneLine(got.Why, 500))
		}
		return nil
	})
}
