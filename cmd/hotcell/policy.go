package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/skills"
	"github.com/hotcell/hotcell/policies"
)

func (a *app) policyCmd() *cobra.Command {
	c := &cobra.Command{Use: "policy", Short: "Explain what a call may use"}
	group(c)
	var timeout string
	var asJSON, spec bool
	explain := &cobra.Command{
		Use:   "explain SKILL",
		Short: "Show what a call of a skill gets, who decided it, and what was cut",
		Args:  exactly("SKILL"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.explain(args[0], timeout, asJSON, spec)
		},
	}
	explain.Flags().StringVar(&timeout, "timeout", "", "as the call would ask for: `30s`")
	explain.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	explain.Flags().BoolVar(&spec, "spec", false, "print the OCI runtime-spec that a cell gets, but for the ports and variables of what is granted outside of it")
	c.AddCommand(explain)
	return c
}

// explained is what `hotcell policy explain --json` prints.
type explained struct {
	Skill   string            `json:"skill"`
	Status  skills.Status     `json:"status"`
	Why     string            `json:"why,omitempty"`
	Image   string            `json:"image"`
	Granted host.Granted      `json:"granted"`
	Choices []policies.Choice `json:"choices"`
	Clamps  []policies.Clamp  `json:"clamps"`
}

func (a *app) explain(name, timeout string, asJSON, spec bool) error {
	limit, err := seconds(timeout)
	if err != nil {
		return usagef("--timeout %s: %w", oneLine(timeout, 40), err)
	}
	skill, cfg, err := a.findSkill(name)
	if err != nil {
		return err
	}
	var call policies.Policy
	if limit != nil {
		call.Timeout = time.Duration(*limit) * time.Second
	}
	blocked := skill.Status == skills.Blocked
	if blocked && spec {
		return fmt.Errorf("skill %q is blocked: %s", oneLine(skill.Name, 80), oneLine(skill.BlockedWhy, 300))
	}
	e, err := host.Explain(cfg, skill, call)
	if err != nil {
		return usagef("skill %q: %w", oneLine(skill.Name, 80), err)
	}
	if spec {
		return a.printSpec(skill, e.Effective, e.Image)
	}
	told := e.Granted(cfg, a.logger(cfg, slog.LevelWarn))
	if asJSON {
		err = a.printJSON(explained{
			skill.Name, skill.Status, skill.BlockedWhy, e.Image, told,
			append([]policies.Choice{}, e.Effective.Choices...), append([]policies.Clamp{}, e.Effective.Clamps...),
		})
	} else {
		err = a.printExplained(skill, e.Image, told, e.Effective)
	}
	if err == nil && blocked {
		return silent(exitFailed)
	}
	return err
}

// printExplained writes the table of what a call gets. A blocked skill gets nothing: what it asks for is shown where it can
// be worked out.
func (a *app) printExplained(skill *skills.Skill, image string, g host.Granted, effective policies.Effective) error {
	status := ""
	if skill.Status != skills.Published {
		status = statusText(skill)
	}
	facts(a.out, [][2]string{
		{"skill", oneLine(skill.Name, 80)}, {"status", status}, {"image", oneLine(image, 300)},
		{"model", oneLine(g.Model, 400)}, {"budget", g.Budget}, {"secrets", oneLine(g.Secrets, 400)},
		{"tools", oneLine(cmp.Or(g.NoTools, strings.Join(g.Tools, ", ")), 400)},
	})
	if len(effective.Choices) == 0 {
		return nil
	}
	return effective.Explain(a.out)
}
