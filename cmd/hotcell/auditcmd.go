package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/control"
)

func (a *app) auditCmd() *cobra.Command {
	c := &cobra.Command{Use: "audit", Short: "Show what calls used outside of their cells"}
	group(c)
	var call string
	var asJSON bool
	list := &cobra.Command{
		Use: "list", Short: "List the newest entries of the journal, the oldest of them first", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return a.listAudit(c.Context(), call, asJSON) },
	}
	list.Flags().StringVar(&call, "call", "", "only what one call used: its `ID`, or its request's")
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.AddCommand(list)
	return c
}

// listAudit reads the journal itself: no daemon need run.
func (a *app) listAudit(ctx context.Context, call string, asJSON bool) error {
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	if _, err := os.Stat(cfg.JournalPath()); errors.Is(err, fs.ErrNotExist) {
		return usagef("there is no journal yet: %s", oneLine(cfg.JournalPath(), 300))
	}
	journal, err := openJournal(ctx, cfg, a.logger(slog.LevelWarn))
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
	return a.printAudit(entries, asJSON)
}

func (a *app) printAudit(entries []audit.Entry, asJSON bool) error {
	if asJSON {
		return a.printJSON(append([]audit.Entry{}, entries...))
	}
	rows := make([][]string, 0, len(entries))
	for _, e := range entries {
		data, err := json.Marshal(e.Data)
		if err != nil {
			return err
		}
		rows = append(rows, []string{e.At.Local().Format(time.DateTime), e.Call, oneLine(e.Kind, 40), oneLine(string(data), 300)})
	}
	table(a.out, []string{"AT", "CALL", "KIND", "DATA"}, rows)
	return nil
}
