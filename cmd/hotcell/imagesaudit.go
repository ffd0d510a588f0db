package main

import (
	"context"
	"log/slog"

	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/store"
)

// audited opens the journal, whose audit hears of what do does. What nobody could record is not done.
func (a *app) audited(ctx context.Context, cfg *config.Config, do func(journal *store.Store) error) error {
	if err := host.DataFolder(cfg.DataDir); err != nil {
		return err
	}
	journal, err := host.OpenJournal(ctx, cfg, a.logger(cfg, slog.LevelWarn))
	if err != nil {
		return err
	}
	defer journal.Close()
	return do(journal)
}
