package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/host"
)

// enableCmd switches tools of an agent on, or off.
func (a *app) enableCmd(on bool) *cobra.Command {
	var w whose
	c := &cobra.Command{
		Use: "enable AGENT TOOL...", Short: "Switch tools of an agent on, such as manage_skill",
		Long: "Switch tools of an agent on. With manage_skill it may ask for changes of custom skills, which wait for an approval; with\n" +
			"skill, which 'agents allow' switches on too, it may use what is on its allowlist.",
	}
	if !on {
		c.Use, c.Short, c.Long = "disable AGENT TOOL...", "Switch tools of an agent off", ""
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) < 2 {
			return usagef("%sexpected an agent and the names of tools (see '%s')", prefix(c), helpFor(c))
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.atDesk(c.Context(), func(ctx context.Context, d *host.Desk) error {
			return a.enable(ctx, d, &w, args[0], args[1:], on)
		})
	}
	w.flags(c, "needed where several have an agent of that name")
	return c
}

func (a *app) enable(ctx context.Context, d *host.Desk, w *whose, name string, tools []string, on bool) error {
	who, agent, err := w.agent(ctx, d, name)
	if err != nil {
		return err
	}
	var known []string
	for _, t := range agent.Tools {
		known = append(known, t.Tool)
	}
	for _, tool := range tools {
		changed, err := d.Agents.SetTool(ctx, who, agent.ID, catalog.AnyRevision, tool, on)
		var told *catalog.Error
		if errors.As(err, &told) && told.Code == catalog.ToolNotFound {
			return usagef("there is no tool %s: expected one of %s", oneLine(tool, 80), strings.Join(known, ", "))
		}
		if err != nil {
			return err
		}
		agent = changed
	}
	now := "none"
	if names := switchedOn(agent.Tools); len(names) > 0 {
		now = strings.Join(names, ", ")
	}
	a.errs.line(fmt.Sprintf("%s has these tools on: %s", oneLine(agent.Name, 80), now))
	return nil
}
