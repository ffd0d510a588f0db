package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
	"github.com/hotcell/hotcell/internal/host"
)

func (a *app) auditCmd() *cobra.Command {
	c := &cobra.Command{Use: "audit", Short: "Show what calls used outside of their cells"}
	group(c)
	var call string
	var limit int
	var asJSON bool
	list := &cobra.Command{
		Use:   "list",
		Short: "List the newest entries of the journal, the oldest of them first",
		Long: "List the newest entries of the journal, the oldest of them first, at most 10,000: which call asked which model, host and\n" +
			"tool, what became of it, tokens in + out, and the cost where the configuration has a price.",
		Example: "  hotcell audit list --call 01M8NY82V13BFT9F7J736452VN\n" +
			"  hotcell audit list --json | jq 'group_by(.skill)[] | {skill: .[0].skill, tokens: map(.data.tokens_in + .data.tokens_out) | add}'",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return a.listAudit(c.Context(), call, limit, asJSON) },
	}
	list.Flags().StringVar(&call, "call", "", "only what one call used: its `ID`, or its request's")
	list.Flags().IntVar(&limit, "limit", 0, "only so many, the newest; 0 for all")
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON, with all that is kept")
	c.AddCommand(list)
	return c
}

// listAudit reads the journal itself: no daemon need run.
func (a *app) listAudit(ctx context.Context, call string, limit int, asJSON bool) error {
	if limit < 0 {
		return usagef("--limit %d: expected 0 or more", limit)
	}
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	if _, err := os.Stat(cfg.JournalPath()); errors.Is(err, fs.ErrNotExist) {
		return usagef("there is no journal yet: %s", oneLine(cfg.JournalPath(), 300))
	}
	journal, err := host.OpenJournal(ctx, cfg, a.logger(cfg, slog.LevelWarn))
	if err != nil {
		return err
	}
	defer journal.Close()
	if call != "" {
		r, err := journal.Find(ctx, call, control.Whose{})
		if errors.Is(err, control.ErrNotFound) {
			return usagef("there is no call %q: 'hotcell calls list' shows those of the daemon", oneLine(call, 80))
		}
		if err != nil {
			return err
		}
		call = r.ID
	}
	entries, err := journal.Audit(ctx, call)
	if err != nil {
		return err
	}
	if limit > 0 && len(entries) > limit {
		entries = entries[len(entries)-limit:]
	}
	return a.printAudit(entries, asJSON)
}

func (a *app) printAudit(entries []audit.Entry, asJSON bool) error {
	if asJSON {
		return a.printJSON(append([]audit.Entry{}, entries...))
	}
	rows := make([][]string, 0, len(entries))
	for _, e := range entries {
		rows = append(rows, []string{
			e.At.Local().Format(time.DateTime), e.Call, oneLine(e.Skill, 64), oneLine(e.Kind, 40), oneLine(auditText(e), 300),
		})
	}
	whole(a.out, []string{"AT", "CALL", "SKILL", "KIND", "WHAT"}, rows)
	return nil
}
